/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SOFTNIC_DATAGRAM_H
#define TESTS_SOFTNIC_DATAGRAM_H

#include "harness.h"

/* A datagram WQE by hand: control, address vector, one gather entry. */
struct datagram {
    uint8_t gid[16];
    uint32_t qpn, qkey, from, length, imm;
    uint8_t opcode, sgid_index, tclass, hops;
    uint32_t flow;
    uint16_t sport;
    bool compact, no_grh;
};

/* At the producer index, two basic blocks; nothing is rung. */
static inline uint32_t put_datagram(struct end *e, const struct datagram *d)
{
    uint32_t index = e->pi, mask = (1u << e->o.log_sq) - 1;
    uint8_t raw[128] __attribute__((aligned(64))) = {0};
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;
    struct sn_av_seg *av = (struct sn_av_seg *)(void *)(raw + 16);
    struct sn_data_seg *data = (struct sn_data_seg *)(void *)(raw + 64);

    ctrl->opmod_idx_opcode = sn_put32((index & 0xffff) << 8 | (d->opcode != 0 ? d->opcode : SN_OPCODE_SEND));
    ctrl->qpn_ds = sn_put32(e->qpn << 8 | 5);
    ctrl->fm_ce_se = 8;
    ctrl->imm = d->imm;
    av->qkey = sn_put32(d->qkey);
    av->dqp_dct = sn_put32(d->qpn | (d->compact ? 0 : SN_AV_EXTENDED));
    av->rlid_udp_sport = sn_put16(d->sport);
    av->tclass = d->tclass;
    av->hop_limit = d->hops;
    av->grh_gid_fl = sn_put32((d->no_grh ? 0 : SN_AV_GRH) | (uint32_t)d->sgid_index << 20 | d->flow);
    memcpy(av->rgid, d->gid, 16);
    data->byte_count = sn_put32(d->length);
    data->lkey = sn_put32(e->mkey);
    data->addr = sn_put64((uintptr_t)e->mem + d->from);
    for (uint32_t k = 0; k < 2; k++)
        memcpy(e->sq + ((index + k) & mask) * 64, raw + k * 64, 64);
    e->pi += 2;
    return index;
}

#endif
