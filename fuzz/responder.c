/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile peer: any sequence of packets and bursts into connected queue pairs, between state changes, receives, keys that
 * go, and time. No byte outside what the keys allow changes or leaves, and the witness goes on (rig.h).
 */
#include <string.h>

#include "rig.h"

enum control { /* which fields the input spoils */
    RAW_PSN = 1 << 0,
    RAW_KEY = 1 << 1,
    RAW_VA = 1 << 2,
    NO_MTU = 1 << 3, /* as from a frame */
    RAW_COUNT = 1 << 4,
    RAW_ADDRESS = 1 << 5, /* QPNs, GIDs, Q_Key, service */
    RAW_PIECES = 1 << 6,
    RAW_SIZES = 1 << 7, /* dmalen, atomic size */
};

static void address(struct fuzz_world *w, struct fuzz_in *in, struct sn_burst *b)
{
    switch (fuzz_u8(in) % 9) {
    case 0:
        b->sqpn = fuzz_u32(in);
        break;
    case 1:
        b->sgid[fuzz_u8(in) % 16] ^= (uint8_t)(1 + fuzz_u8(in));
        break;
    case 2:
        b->dqpn = fuzz_u32(in);
        break;
    case 3:
        b->dqpn = w->witness[0].qpn; /* the attacker's GID, and the QPN that the witness expects */
        b->sqpn = w->witness[1].qpn;
        break;
    case 4:
        b->service = fuzz_u8(in);
        break;
    case 5:
        b->qkey = fuzz_u32(in);
        break;
    case 6:
        b->mtu = fuzz_u8(in);
        break;
    case 7:
        b->sqpn = 0;
        break;
    default:
        b->tclass = fuzz_u8(in);
        b->pkey = fuzz_u16(in);
        b->udp_sport = fuzz_u16(in);
        break;
    }
}

static void spoil_pieces(struct fuzz_in *in, struct sn_burst *b)
{
    switch (fuzz_u8(in) % 3) {
    case 0:
        b->length += fuzz_u32(in);
        break;
    case 1:
        b->iov_count = fuzz_u8(in) % 3 == 0 ? b->iov_count * 2u : fuzz_u32(in) | 0x80;
        break;
    default:
        b->iov[0].length += fuzz_u32(in) | (size_t)fuzz_u8(in) << 56;
        break;
    }
}

static uint32_t packets_of(const struct fuzz_world *w, uint32_t bytes)
{
    uint32_t mtu = 128u << w->mtu;
    return bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
}

static void packet(struct fuzz_world *w, struct fuzz_in *in)
{
    struct fuzz_qp *q = &w->qp[fuzz_u8(in) % FUZZ_TARGETS];
    uint8_t control = fuzz_u8(in), area = fuzz_u8(in);
    struct sn_burst b;
    uint32_t length;
    bool in_order;

    fuzz_packet(w, q, &b);
    b.kind = fuzz_u8(in) % (SN_KIND_COUNT + 1);
    b.flags = fuzz_u8(in);
    b.psn = control & RAW_PSN ? fuzz_u32(in) : (q->rcv_psn + (uint32_t)(int8_t)fuzz_u8(in)) & 0xffffff;
    in_order = b.psn == q->rcv_psn;
    b.rkey = control & RAW_KEY ? fuzz_u32(in) : w->key[area % FUZZ_KEYS];
    b.va = control & RAW_VA ? fuzz_u64(in) : w->iova[area % FUZZ_AREAS] + (uint64_t)(int16_t)fuzz_u16(in);
    length = fuzz_u16(in) % 9000;
    b.dmalen = length;
    if (b.kind == SN_KIND_READ_REQUEST) {
        b.npackets = control & NO_MTU ? 0 : packets_of(w, length);
        length = 0;
    } else if (b.kind != SN_KIND_SEND && b.kind != SN_KIND_WRITE && b.kind != SN_KIND_READ_RESPONSE) {
        b.atomic_size = area & 0x80 ? 4 : 8;
        b.swap_add = b.compare = length;
        b.swap_mask = b.compare_mask = UINT64_MAX;
        length = 0;
    } else {
        b.npackets = packets_of(w, length);
    }
    fuzz_payload(&b, length, 1 + (area >> 5) % 3);
    b.syndrome = fuzz_u8(in);
    b.msn = b.imm = fuzz_u8(in);
    if (control & NO_MTU)
        b.mtu = 0;
    if (control & RAW_COUNT)
        b.npackets = fuzz_u32(in);
    if (control & RAW_ADDRESS)
        address(w, in, &b);
    if (control & RAW_PIECES)
        spoil_pieces(in, &b);
    if (control & RAW_SIZES) {
        b.dmalen = fuzz_u32(in);
        b.atomic_size = fuzz_u8(in);
    }
    sn_port_lock(w->port);
    sn_nic_receive(w->nic[0], &b);
    sn_port_unlock(w->port);
    if (in_order)
        q->rcv_psn = (q->rcv_psn + (b.npackets == 0 ? packets_of(w, b.dmalen) : b.npackets)) & 0xffffff;
}

static void move(struct fuzz_world *w, struct fuzz_in *in)
{
    struct fuzz_qp *q = &w->qp[fuzz_u8(in) % FUZZ_TARGETS];
    uint8_t to = fuzz_u8(in);

    if (q->qpn == 0)
        return;
    sn_port_lock(w->port);
    if (to & 0x80)
        (void)sn_qp_modify(q->nic, q->qpn, to % 7, NULL, 0); /* refused if there is no such way */
    else
        fuzz_connect(w, q);
    sn_port_unlock(w->port);
}

static void step(struct fuzz_world *w, struct fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);

    switch (op % 16) {
    case 10:
        fuzz_run(w, op >> 4);
        break;
    case 11:
        w->now += (uint64_t)fuzz_u16(in) << 12;
        fuzz_run(w, 2);
        break;
    case 12:
        fuzz_post_recv(w, &w->qp[(op >> 4) % FUZZ_TARGETS], fuzz_u16(in), fuzz_u16(in), w->key[fuzz_u8(in) % FUZZ_KEYS]);
        break;
    case 13:
        move(w, in);
        break;
    case 14:
        w->wire_full = op & 0x10;
        break;
    case 15:
        sn_port_lock(w->port);
        fuzz_rekey(w, (op >> 4) % FUZZ_AREAS);
        sn_port_unlock(w->port);
        break;
    default:
        packet(w, in);
        break;
    }
}

static void post_receives(struct fuzz_world *w)
{
    fuzz_post_recv(w, &w->qp[FUZZ_RC], 0, 4096, w->key[FUZZ_LANDING]);
    fuzz_post_recv(w, &w->qp[FUZZ_RC_SRQ], 4096, 256, w->key[FUZZ_LANDING]);
    fuzz_post_recv(w, &w->qp[FUZZ_UC], 0, 4096, w->key[FUZZ_LANDING]);
    fuzz_post_recv(w, &w->qp[FUZZ_UD], 0, 4096, w->key[FUZZ_LANDING]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_world_play(data, size, post_receives, step);
}
