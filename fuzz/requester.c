/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile answers to real requests: acknowledgements, refusals, responses of any kind, size and order. Responses may change
 * only the memory that the request named.
 */
#include <string.h>

#include "format/wqe.h"
#include "rig.h"

static const uint8_t opcodes[] = {SN_OPCODE_RDMA_WRITE, SN_OPCODE_RDMA_WRITE_IMM, SN_OPCODE_SEND, SN_OPCODE_SEND_IMM,
                                  SN_OPCODE_RDMA_READ, SN_OPCODE_ATOMIC_FA, SN_OPCODE_ATOMIC_CS, SN_OPCODE_RDMA_READ};

static void put_data(struct fuzz_world *w, uint8_t *seg, unsigned area, uint32_t offset, uint32_t length)
{
    struct sn_data_seg *data = (struct sn_data_seg *)(void *)seg;

    data->byte_count = sn_put32(length);
    data->lkey = sn_put32(w->key[area]);
    data->addr = sn_put64(w->iova[area] + offset);
}

/* A correct WQE with a gather list of two. */
static void post(struct fuzz_world *w, struct fuzz_qp *q, struct fuzz_in *in)
{
    uint8_t how = fuzz_u8(in), opcode = opcodes[how % 8];
    uint32_t length = fuzz_u16(in) % 6000, offset = fuzz_u8(in) * 8u, ds = 1;
    unsigned area = opcode >= SN_OPCODE_RDMA_READ ? FUZZ_LANDING : how & 8 ? FUZZ_SOURCE : FUZZ_OPEN;
    uint8_t raw[128] __attribute__((aligned(8))) = {0};
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;
    bool atomic = opcode == SN_OPCODE_ATOMIC_FA || opcode == SN_OPCODE_ATOMIC_CS;

    if (opcode != SN_OPCODE_SEND && opcode != SN_OPCODE_SEND_IMM) {
        struct sn_raddr_seg *remote = (struct sn_raddr_seg *)(void *)(raw + 16);
        remote->raddr = sn_put64(0x10000);
        remote->rkey = sn_put32(0x1234);
        ds++;
    }
    ds += atomic;
    if (atomic) {
        put_data(w, raw + (size_t)16 * ds++, area, offset, 8);
    } else {
        put_data(w, raw + (size_t)16 * ds++, area, offset, length / 3);
        put_data(w, raw + (size_t)16 * ds++, area, offset + length / 3, length - length / 3);
    }
    ctrl->opmod_idx_opcode = sn_put32((q->pi & 0xffff) << 8 | opcode);
    ctrl->qpn_ds = sn_put32(q->qpn << 8 | ds);
    ctrl->fm_ce_se = 8;
    for (unsigned i = 0; i < (ds + 3) / 4; i++)
        memcpy(q->sq + (size_t)64 * ((q->pi + i) & ((1u << FUZZ_LOG_SQ) - 1)), raw + (size_t)64 * i, 64);
    q->pi += (ds + 3) / 4;
    fuzz_ring(q);
    if (how & 16)
        fuzz_run(w, 1);
}

static void answer(struct fuzz_world *w, struct fuzz_qp *q, struct fuzz_in *in)
{
    static const uint8_t kinds[] = {SN_KIND_ACK, SN_KIND_ACK, SN_KIND_READ_RESPONSE, SN_KIND_READ_RESPONSE, SN_KIND_ATOMIC_ACK};
    uint8_t how = fuzz_u8(in), what = fuzz_u8(in);
    uint32_t length = fuzz_u16(in) % 9000, mtu = 128u << w->mtu;
    struct sn_burst b;

    fuzz_packet(w, q, &b);
    b.kind = kinds[what % 5];
    b.flags = how & 1 ? fuzz_u8(in) : SN_BURST_FIRST | SN_BURST_LAST;
    b.psn = (w->last_psn[q - w->qp] + (uint32_t)(int8_t)fuzz_u8(in)) & 0xffffff;
    b.syndrome = how & 2 ? fuzz_u8(in) : 0x1f;
    b.msn = how & 4 ? fuzz_u32(in) : 1;
    b.atomic_orig = what * 0x0101010101010101ull;
    b.npackets = 1;
    if (b.kind == SN_KIND_READ_RESPONSE) {
        b.npackets = length == 0 ? 1 : (length + mtu - 1) / mtu;
        fuzz_payload(&b, length, 1 + (what >> 5) % 3);
    }
    if (how & 8)
        b.npackets = fuzz_u32(in);
    if (how & 16)
        b.mtu = 0;
    if (how & 32)
        b.tclass = 3; /* congestion */
    if (how & 64)
        b.kind = fuzz_u8(in);
    sn_port_lock(w->port);
    sn_nic_receive(w->nic[0], &b);
    if (how & 128)
        sn_nic_receive(w->nic[0], &b);
    sn_port_unlock(w->port);
}

static void step(struct fuzz_world *w, struct fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);
    struct fuzz_qp *q = &w->qp[(op >> 4) % 3]; /* datagrams have no answers */

    switch (op % 12) {
    case 0:
    case 1:
    case 2:
        post(w, q, in);
        break;
    case 3:
        fuzz_run(w, 1 + fuzz_u8(in) % 16);
        break;
    case 4:
        w->now += (uint64_t)fuzz_u16(in) << 12;
        fuzz_run(w, 2);
        break;
    case 5:
        w->wire_full = op & 0x10;
        break;
    case 6:
        sn_port_lock(w->port);
        if (op & 0x80)
            (void)sn_qp_modify(q->nic, q->qpn, fuzz_u8(in) % 7, NULL, 0);
        else
            fuzz_connect(w, q);
        sn_port_unlock(w->port);
        break;
    case 7:
        sn_port_lock(w->port);
        fuzz_rekey(w, fuzz_u8(in) % FUZZ_AREAS);
        sn_port_unlock(w->port);
        break;
    default:
        answer(w, q, in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_world_play(data, size, NULL, step);
}
