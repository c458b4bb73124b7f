/* SPDX-License-Identifier: Apache-2.0 */
/* The same work requests posted to the engine; what it asks is compared, and it is given the captured answers. */
#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"
#include "replay.h"

enum { PATIENCE_NS = 100000, LONGEST_NS = 2000000000 };

struct work {
    uint32_t first, next; /* PSNs */
    uint32_t index;       /* of the WQE */
    uint8_t kind;
    uint8_t *local; /* payload, or where the answer goes */
    uint32_t length;
};

/* ---- work requests out of packets ---------------------------------------------------------------------------------
 */

/* The whole message that begins with frame i: length, and its last packet. The payload goes to `out`. */
static const struct sn_burst *gather(const struct replay *r, unsigned i, uint8_t *out, uint32_t *length)
{
    const struct vector *v = r->v;
    uint32_t psn = v->frame[i].packet.psn;

    *length = 0;
    for (; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (!replay_is_request(v, i) || p->psn != psn)
            continue;
        if (p->length != 0)
            memcpy(out + *length, p->iov[0].addr, p->length);
        *length += p->length;
        psn = sn_psn_add(psn, 1);
        if (p->flags & SN_BURST_LAST)
            return p;
    }
    fail_msg("%s: a message without an end", v->name);
    return NULL;
}

static uint8_t opcode_of(const struct sn_burst *first, const struct sn_burst *last)
{
    switch (first->kind) {
    case SN_KIND_SEND:
        return last->flags & SN_BURST_INVALIDATE ? SN_OPCODE_SEND_INVAL
               : last->flags & SN_BURST_IMM      ? SN_OPCODE_SEND_IMM
                                                 : SN_OPCODE_SEND;
    case SN_KIND_WRITE:
        return last->flags & SN_BURST_IMM ? SN_OPCODE_RDMA_WRITE_IMM : SN_OPCODE_RDMA_WRITE;
    case SN_KIND_READ_REQUEST:
        return SN_OPCODE_RDMA_READ;
    case SN_KIND_ATOMIC_CS:
        return SN_OPCODE_ATOMIC_CS;
    case SN_KIND_ATOMIC_FA:
        return SN_OPCODE_ATOMIC_FA;
    default:
        fail_msg("a request of kind %u", first->kind);
        return 0;
    }
}

/* A datagram's WQE has an address vector, which wr has not. */
static uint32_t post_datagram(struct replay *r, const struct sn_burst *p, const struct wr *wr)
{
    uint8_t raw[128] __attribute__((aligned(64))) = {0};
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;
    struct sn_av_seg *av = (struct sn_av_seg *)(void *)(raw + 16);
    struct sn_data_seg *data = (struct sn_data_seg *)(void *)(raw + 64);
    uint32_t index = r->e.pi, mask = (1u << r->e.o.log_sq) - 1;

    ctrl->opmod_idx_opcode = sn_put32((index & 0xffff) << 8 | wr->opcode);
    ctrl->qpn_ds = sn_put32(r->e.qpn << 8 | 5);
    ctrl->fm_ce_se = wr->fm_ce_se;
    ctrl->imm = wr->imm;
    av->qkey = sn_put32(p->qkey);
    av->dqp_dct = sn_put32(p->dqpn | SN_AV_EXTENDED);
    av->rlid_udp_sport = sn_put16(p->udp_sport);
    av->tclass = p->tclass;
    av->hop_limit = p->hop_limit;
    av->grh_gid_fl = sn_put32(SN_AV_GRH | p->flow_label);
    memcpy(av->rgid, p->dgid, 16);
    data->byte_count = sn_put32(wr->sge[0].length);
    data->lkey = sn_put32(wr->sge[0].lkey);
    data->addr = sn_put64(wr->sge[0].addr);
    for (uint32_t i = 0; i < 2; i++)
        memcpy(r->e.sq + ((index + i) & mask) * 64, raw + i * 64, 64);
    r->e.pi += 2;
    ring(&r->e);
    return index;
}

/* Posts what frame i begins. */
static void post_work(struct replay *r, unsigned i, uint8_t *local, struct work *w)
{
    const struct sn_burst *p = &r->v->frame[i].packet, *last = p;
    bool reads = p->kind == SN_KIND_READ_REQUEST;
    struct wr wr = {
        .fm_ce_se = 8, .raddr = p->va, .rkey = p->rkey, .swap_add = p->swap_add, .compare = p->compare, .sges = 1};

    *w = (struct work){.first = p->psn, .kind = p->kind, .local = local};
    if (p->kind == SN_KIND_SEND || p->kind == SN_KIND_WRITE)
        last = gather(r, i, local, &w->length);
    else
        w->length = reads ? p->dmalen : 8;
    w->next = sn_psn_add(
        p->psn, p->kind == SN_KIND_ATOMIC_CS || p->kind == SN_KIND_ATOMIC_FA ? 1 : sn_mtu_packets(w->length, r->mtu));
    wr.opcode = opcode_of(p, last);
    wr.imm = last->imm;
    wr.fm_ce_se |= last->flags & SN_BURST_SOLICITED ? SN_WQE_SOLICITED : 0;
    wr.sge[0].addr = (uintptr_t)local;
    wr.sge[0].lkey = r->e.mkey;
    wr.sge[0].length = w->length;
    w->index = p->service == SN_SERVICE_UD ? post_datagram(r, p, &wr) : post(&r->e, &wr);
    replay_run(r);
}

/* ---- what should come of it
 * ------------------------------------------------------------------------------------------ */

/* The last frame may refuse one of the works: those before it succeeded, those behind it are flushed. */
static uint8_t syndrome_of(const struct vector *v, const struct work *w)
{
    static const uint8_t by_code[] = {SN_SYND_REMOTE_INVALID, SN_SYND_REMOTE_ACCESS, SN_SYND_REMOTE_OP};
    const struct sn_burst *last = &v->frame[v->count - 1].packet;

    if (last->kind != SN_KIND_ACK || (last->syndrome & 0x60) != 0x60 || last->syndrome == SN_AETH_NAK_SEQUENCE ||
        sn_psn_diff(last->psn, w->next) >= 0)
        return SN_SYND_OK;
    return sn_psn_diff(last->psn, w->first) < 0 ? SN_SYND_FLUSH : by_code[(last->syndrome - SN_AETH_NAK_INVALID) % 3];
}

/* A READ's bytes as they came in its responses. */
static bool check_read(struct replay *r, const struct work *w)
{
    for (unsigned i = 0; i < r->v->count; i++) {
        const struct sn_burst *a = &r->v->frame[i].packet;
        uint32_t at = ((a->psn - w->first) & 0xffffff) << (7 + r->mtu);
        if (replay_is_request(r->v, i) || a->kind != SN_KIND_READ_RESPONSE || at >= w->length || a->length == 0)
            continue;
        if (memcmp(w->local + at, a->iov[0].addr, a->length) != 0) {
            snprintf(r->why, sizeof(r->why), "READ: other bytes from %u on", at);
            return false;
        }
    }
    return true;
}

static bool check_atomic(struct replay *r, const struct work *w)
{
    for (unsigned i = 0; i < r->v->count; i++) {
        const struct sn_burst *a = &r->v->frame[i].packet;
        if (a->kind != SN_KIND_ATOMIC_ACK || a->psn != w->first)
            continue;
        if (memcmp(w->local, &a->atomic_orig, 8) == 0)
            return true;
    }
    snprintf(r->why, sizeof(r->why), "atomic: another value came back");
    return false;
}

static bool check_work(struct replay *r, const struct work *w)
{
    const struct sn_cqe64 *c = next_cqe(&r->e);
    uint8_t expected = syndrome_of(r->v, w);
    uint8_t seen = c == NULL ? 0xff : cqe_opcode(c) == SN_CQE_REQ ? SN_SYND_OK : cqe_syndrome(c);

    if (c == NULL || seen != expected || sn_get16(c->wqe_counter) != (w->index & 0xffff)) {
        snprintf(r->why, sizeof(r->why), "completion 0x%02x instead of 0x%02x (0xff: none)", seen, expected);
        return false;
    }
    if (expected != SN_SYND_OK)
        return true;
    return w->kind == SN_KIND_READ_REQUEST                                ? check_read(r, w)
           : w->kind == SN_KIND_ATOMIC_CS || w->kind == SN_KIND_ATOMIC_FA ? check_atomic(r, w)
                                                                          : true;
}

/* ---- the exchange
 * ------------------------------------------------------------------------------------------------------ */

/* One frame, now or when a timer has run out. */
static void let_one_out(struct replay *r)
{
    r->room = 1;
    replay_run(r);
    for (uint64_t waited = 0; r->room != 0 && waited < LONGEST_NS; waited += PATIENCE_NS) {
        r->w.now += PATIENCE_NS;
        replay_run(r);
    }
    r->room = 0;
}

static unsigned next_answer(const struct vector *v, unsigned i)
{
    for (i++; i < v->count && replay_is_request(v, i); i++)
        ;
    return i;
}

static void answer(struct replay *r, unsigned i, unsigned n, enum replay_fault fault, unsigned at)
{
    unsigned other = next_answer(r->v, i);
    bool here = fault != FAULT_NONE && n == at;

    if (here && fault == FAULT_DROP)
        return;
    if (here && fault == FAULT_SWAP && other < r->v->count)
        replay_in(r, other, 0);
    if (fault != FAULT_SWAP || n != at + 1)
        replay_in(r, i, 0);
    if (here && fault == FAULT_TWICE)
        replay_in(r, i, 0);
}

static bool run(struct replay *r, struct work *work, unsigned *works, enum replay_fault fault, unsigned at)
{
    const struct vector *v = r->v;
    uint32_t next = v->frame[0].packet.psn;
    unsigned answers = 0;
    uint8_t *local = r->e.mem;

    r->room = 0;
    for (unsigned i = 0; i < v->count; i++) {
        if (!replay_is_request(v, i)) {
            answer(r, i, answers++, fault, at);
            continue;
        }
        if (v->frame[i].packet.psn == next && (v->frame[i].packet.flags & SN_BURST_FIRST)) {
            assert_true(*works < REPLAY_RECEIVES);
            post_work(r, i, local, &work[*works]);
            next = work[*works].next;
            local += (work[(*works)++].length + 4095) & ~4095u;
        }
        let_one_out(r);
        if (!replay_out(r, i))
            return false;
    }
    r->room = REPLAY_SENT - r->count;
    replay_run(r);
    if (r->read == r->count)
        return true;
    snprintf(r->why, sizeof(r->why), "%u frames too many were sent, first kind %u psn 0x%06x", r->count - r->read,
             r->sent[r->read].b.kind, r->sent[r->read].b.psn);
    return false;
}

bool replay_requester(struct replay *r, const struct vector *v, enum replay_fault fault, unsigned at)
{
    const struct sn_burst *first = &v->frame[0].packet;
    struct sn_qp_params more = {.rcv_psn = 0x200000, .snd_psn = first->psn};
    struct options o = defaults;
    struct work work[REPLAY_RECEIVES];
    unsigned works = 0;

    o.mtu = replay_mtu(v);
    o.service = (enum sn_service)first->service;
    o.rnr_retry = 7;
    o.ack_timeout = 14;
    replay_open(r, v, first, &o, &more);
    if (!run(r, work, &works, fault, at))
        return false;
    for (unsigned i = 0; i < works; i++)
        if (!check_work(r, &work[i]))
            return false;
    return true;
}
