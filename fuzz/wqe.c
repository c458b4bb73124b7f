/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile producer: any bytes in a send ring, any values in record and registers, executed by the engine. The owner of a
 * queue may harm its own queue and the memory of its own keys, and nothing else.
 *
 * The first bytes of a WQE's description choose what is mended (identity, keys, addresses), so that the deeper parts of the
 * parser and of execution are reached.
 */
#include <string.h>

#include "format/doorbell.h"
#include "format/wqe.h"
#include "rig.h"

enum { BLOCKS = 1 << FUZZ_LOG_SQ };

static uint8_t *block_at(struct fuzz_qp *q, uint32_t index)
{
    return q->sq + (size_t)64 * (index & (BLOCKS - 1));
}

/* A 16-byte segment: a small number where a key belongs names one of the world's keys; a small address is an offset. */
static void mend_segment(struct fuzz_world *w, uint8_t *seg, bool remote)
{
    sn_be32 *key = (sn_be32 *)(void *)(seg + (remote ? 8 : 4));
    sn_be64 *addr = (sn_be64 *)(void *)(seg + (remote ? 0 : 8));
    uint32_t number = sn_get32(*key);
    uint64_t at = sn_get64(*addr);

    if (number >= FUZZ_KEYS)
        return;
    if (at >> 16 == 0)
        at = w->iova[number % FUZZ_AREAS] + (uint64_t)(int16_t)at;
    *key = sn_put32(w->key[number]);
    *addr = sn_put64(at);
}

static void write_wqe(struct fuzz_world *w, struct fuzz_qp *q, struct fuzz_in *in)
{
    uint8_t how = fuzz_u8(in), blocks = 1 + (how >> 6);
    uint8_t raw[256] __attribute__((aligned(8))) = {0};

    fuzz_bytes(in, raw, (size_t)16 * (1 + fuzz_u8(in) % (blocks * 4u)));
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;
    if (!(how & 1)) { /* own index and number; opcode, opmod and segments as the input has them */
        uint32_t word0 = sn_get32(ctrl->opmod_idx_opcode), word1 = sn_get32(ctrl->qpn_ds);
        ctrl->opmod_idx_opcode = sn_put32((word0 & 0xff0000ffu) | (q->pi & 0xffff) << 8);
        ctrl->qpn_ds = sn_put32(q->qpn << 8 | (how & 2 ? word1 & 0xff : (word1 & 0xff) % (blocks * 4u) + 1));
    }
    if (how & 4)
        mend_segment(w, raw + 16, true);
    for (unsigned i = how & 4 ? 2 : 1; how & 8 && i < blocks * 4u; i++)
        mend_segment(w, raw + (size_t)16 * i, false);
    for (unsigned i = 0; i < blocks; i++)
        memcpy(block_at(q, q->pi + i), raw + (size_t)64 * i, 64);
    q->pi += how & 16 ? blocks : sn_get32(ctrl->qpn_ds) % 64 / 4 + 1;
    if (how & 32)
        fuzz_ring(q);
}

static void doorbell(struct fuzz_qp *q, struct fuzz_in *in)
{
    uint8_t what = fuzz_u8(in);
    uint64_t value = what & 4 ? fuzz_u64(in) : sn_doorbell_build(q->qpn, q->pi + (uint32_t)(int8_t)fuzz_u8(in));

    if (what & 1)
        __atomic_store_n(&q->record[1], sn_swap32(fuzz_u16(in)), __ATOMIC_RELEASE);
    if (what & 2)
        __atomic_store_n((uint64_t *)q->uar.reg, value, __ATOMIC_RELEASE);
    if (what & 8)
        __atomic_store_n((uint64_t *)q->uar.dbrless, value, __ATOMIC_RELEASE);
}

/* An answer as an honest peer would give it to the last request, so that queues get further. */
static void answer(struct fuzz_world *w, struct fuzz_qp *q, uint8_t what)
{
    struct sn_burst b;

    if (q->qpn == 0)
        return;
    fuzz_packet(w, q, &b);
    b.kind = what & 1 ? SN_KIND_ATOMIC_ACK : what & 2 ? SN_KIND_READ_RESPONSE : SN_KIND_ACK;
    b.psn = w->last_psn[q - w->qp];
    b.syndrome = what & 4 ? 0x60 + (what >> 3 & 3) : 0x1f;
    b.atomic_orig = what;
    if (b.kind == SN_KIND_READ_RESPONSE) {
        b.npackets = w->last.npackets;
        fuzz_payload(&b, w->last.dmalen & 0x3fff, 2);
    }
    sn_port_lock(w->port);
    sn_nic_receive(w->nic[0], &b);
    sn_port_unlock(w->port);
}

static void step(struct fuzz_world *w, struct fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);
    struct fuzz_qp *q = &w->qp[(op >> 4) % FUZZ_TARGETS];

    if (q->qpn == 0)
        q = &w->qp[FUZZ_RC];
    switch (op % 10) {
    case 0:
        doorbell(q, in);
        break;
    case 1:
        fuzz_run(w, 1 + fuzz_u8(in) % 16);
        break;
    case 2:
        w->now += (uint64_t)fuzz_u16(in) << 12;
        fuzz_run(w, 2);
        break;
    case 3:
        sn_port_lock(w->port);
        fuzz_connect(w, q);
        sn_port_unlock(w->port);
        break;
    case 4:
        answer(w, q, fuzz_u8(in));
        break;
    case 5: /* the producer changes what it has posted */
        fuzz_bytes(in, block_at(q, fuzz_u8(in)), 64);
        break;
    case 6:
        sn_port_lock(w->port);
        fuzz_rekey(w, fuzz_u8(in) % FUZZ_AREAS);
        sn_port_unlock(w->port);
        break;
    default:
        write_wqe(w, q, in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_world_play(data, size, NULL, step);
}
