/* SPDX-License-Identifier: Apache-2.0 */
/* The same work requests posted to the engine; what it asks is compared, and it is given the captured answers. */
#include <stdlib.h>

#include "exchange.h"
#include "format/bth.h"
#include "replay.h"

enum { PATIENCE_NS = 200000, LOG_SQ_MOST = 15 };
static const uint64_t LONGEST_NS = 2000000000;

struct work {
    const struct message *m;
    uint32_t index; /* of the WQE */
    uint8_t *local; /* payload, or where the answer goes */
    uint8_t seen;   /* syndrome of its completion */
};

enum { NOT_COMPLETED = 0xff };

struct works {
    struct work *work;
    unsigned posted, completed;
    /* The oldest READ or atomic that is not answered in full by what the engine has been given, and how far it is. */
    unsigned oldest;
    uint32_t arrived;
    unsigned *late; /* answers that are held back, in order */
    unsigned late_first, late_count;
    unsigned answers; /* that have come */
    unsigned swapped; /* an answer that the next one overtakes; UINT32_MAX: none */
};

/* ---- work requests out of packets --------------------------------------------------------------------------------- */

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
    default:
        return SN_OPCODE_ATOMIC_FA;
    }
}

/* The payload that the capture shows of each message, at its place; the works in order. */
static bool make_works(struct replay *r, struct works *q)
{
    const struct story *s = r->s;
    uint64_t at = 0;

    q->work = calloc(s->messages + 1, sizeof(*q->work));
    q->late = calloc(2 * s->v->count + 1, sizeof(*q->late)); /* one may come twice */
    assert_true(q->work != NULL && q->late != NULL);
    q->swapped = UINT32_MAX;
    if (!replay_local(r, s->bytes))
        return false;
    for (unsigned n = 0; n < s->messages; n++) {
        q->work[n] = (struct work){.m = &s->message[n], .local = r->mem + at, .seen = NOT_COMPLETED};
        at += (s->message[n].length + STORY_ALIGN - 1) & ~(uint64_t)(STORY_ALIGN - 1);
    }
    for (unsigned i = 0; i < s->v->count; i++) {
        const struct sn_burst *p = &s->v->frame[i].packet;
        if (exchange_is_request(p) && p->length != 0)
            memcpy(q->work[s->of[i]].local + story_offset(s, i), p->iov[0].addr, p->length);
    }
    return true;
}

static void free_works(struct works *q)
{
    free(q->work);
    free(q->late);
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

static void post_work(struct replay *r, struct work *w)
{
    const struct sn_burst *p = &r->v->frame[w->m->first].packet, *last = &r->v->frame[w->m->last].packet;
    struct wr wr = {
        .fm_ce_se = 8, .raddr = p->va, .rkey = p->rkey, .swap_add = p->swap_add, .compare = p->compare, .sges = 1};

    wr.opcode = opcode_of(p, last);
    wr.imm = last->imm;
    wr.fm_ce_se |= last->flags & SN_BURST_SOLICITED ? SN_WQE_SOLICITED : 0;
    wr.sge[0].addr = (uintptr_t)w->local;
    wr.sge[0].lkey = r->lkey;
    wr.sge[0].length = w->m->length;
    w->index = p->service == SN_SERVICE_UD ? post_datagram(r, p, &wr) : post(&r->e, &wr);
    replay_run(r);
}

static bool collect(struct replay *r, struct works *q)
{
    const struct sn_cqe64 *c;

    while ((c = next_cqe(&r->e)) != NULL) {
        struct work *w = &q->work[q->completed];
        if (q->completed == q->posted || sn_get16(c->wqe_counter) != (w->index & 0xffff))
            return replay_no(r, REASON_COMPLETION, "a completion of WQE %u, which is not the next one's", sn_get16(c->wqe_counter));
        w->seen = cqe_opcode(c) == SN_CQE_REQ ? SN_SYND_OK : cqe_syndrome(c);
        q->completed++;
    }
    return true;
}

/* What the send queue needs room for: the most works that the capture has under way at a time, WAITs and the like aside. */
static uint8_t log_of(unsigned n)
{
    uint8_t log = 4;

    while (log < LOG_SQ_MOST && (1u << log) < 2 * n)
        log++;
    return log;
}

/* ---- what should come of it --------------------------------------------------------------------------------------- */

/* The PSN before which everything is acknowledged, as the capture's answers say. */
static uint32_t acknowledged(const struct story *s)
{
    uint32_t upto = s->message[0].psn;

    for (unsigned i = 0; i < s->v->count; i++) {
        const struct sn_burst *a = &s->v->frame[i].packet;
        bool whole = a->kind == SN_KIND_READ_RESPONSE || a->kind == SN_KIND_ATOMIC_ACK || sn_aeth_is_ack(a->syndrome);
        uint32_t end = whole ? sn_psn_add(a->psn, 1) : a->psn;
        if (!exchange_is_request(a) && sn_psn_diff(end, upto) > 0)
            upto = end;
    }
    return upto;
}

/* A refusal for good: works before it succeeded, those behind it are flushed. */
static uint8_t syndrome_of(const struct replay *r, const struct work *w)
{
    static const uint8_t by_code[] = {SN_SYND_REMOTE_INVALID, SN_SYND_REMOTE_ACCESS, SN_SYND_REMOTE_OP};
    const struct story *s = r->s;
    int32_t d = sn_psn_diff(s->refused_psn, w->m->psn);

    if (s->v->frame[w->m->first].packet.service != SN_SERVICE_RC) /* it has gone, that is all */
        return w->m->whole ? SN_SYND_OK : NOT_COMPLETED;
    if (s->refusal != 0 && d < (int32_t)w->m->packets)
        return d < 0 ? SN_SYND_FLUSH : by_code[(s->refusal - SN_AETH_NAK_INVALID) % 3];
    return sn_psn_diff(acknowledged(s), story_next_psn(w->m)) >= 0 ? SN_SYND_OK : NOT_COMPLETED;
}

/* A READ's bytes as they came in its responses. */
static bool check_read(struct replay *r, const struct work *w)
{
    for (unsigned i = 0; i < r->v->count; i++) {
        const struct sn_burst *a = &r->v->frame[i].packet;
        uint32_t at = ((a->psn - w->m->psn) & 0xffffff) << (7 + r->s->mtu);
        if (a->kind != SN_KIND_READ_RESPONSE || ((a->psn - w->m->psn) & 0xffffff) >= w->m->packets || a->length == 0)
            continue;
        if (memcmp(w->local + at, a->iov[0].addr, a->length) != 0)
            return replay_no(r, REASON_MEMORY, "READ of frame %u: other bytes from %u on", w->m->first + 1, at);
    }
    return true;
}

static bool check_atomic(struct replay *r, const struct work *w)
{
    for (unsigned i = 0; i < r->v->count; i++) {
        const struct sn_burst *a = &r->v->frame[i].packet;
        if (a->kind == SN_KIND_ATOMIC_ACK && a->psn == w->m->psn && memcmp(w->local, &a->atomic_orig, 8) == 0)
            return true;
    }
    return replay_no(r, REASON_MEMORY, "atomic of frame %u: another value came back", w->m->first + 1);
}

static bool check_work(struct replay *r, const struct work *w)
{
    uint8_t expected = syndrome_of(r, w), kind = r->v->frame[w->m->first].packet.kind;

    if (w->seen != expected)
        return replay_no(r, REASON_COMPLETION, "request of frame %u: completion 0x%02x instead of 0x%02x (0xff: none)",
                         w->m->first + 1, w->seen, expected);
    if (expected != SN_SYND_OK)
        return true;
    return kind == SN_KIND_READ_REQUEST ? check_read(r, w) : story_is_atomic(kind) ? check_atomic(r, w) : true;
}

/* ---- answers -------------------------------------------------------------------------------------------------------- */

static bool is_nak(const struct sn_burst *a)
{
    return a->kind == SN_KIND_ACK && !sn_aeth_is_ack(a->syndrome);
}

static bool is_response(const struct sn_burst *a)
{
    return a->kind == SN_KIND_READ_RESPONSE || a->kind == SN_KIND_ATOMIC_ACK;
}

/* The response that comes next, if the requester has asked for one. */
static bool expects(const struct replay *r, struct works *q, uint32_t *psn)
{
    while (q->oldest != q->posted) {
        const struct message *m = q->work[q->oldest].m;
        uint8_t kind = r->v->frame[m->first].packet.kind;
        *psn = sn_psn_add(m->psn, q->arrived);
        if ((kind == SN_KIND_READ_REQUEST || story_is_atomic(kind)) && q->arrived != m->packets)
            return true;
        q->oldest++;
        q->arrived = 0;
    }
    return false;
}

static bool give(struct replay *r, struct works *q, unsigned i)
{
    struct sn_burst p = r->v->frame[i].packet;
    uint32_t psn;

    if (is_response(&p) && expects(r, q, &psn) && p.psn == psn)
        q->arrived++;
    p.rkey = 0;
    replay_in(r, &p, false);
    return collect(r, q);
}

/* The PSN that an answer makes the requester go on from. */
static uint32_t goes_on_at(const struct sn_burst *a)
{
    return is_nak(a) ? a->psn : sn_psn_add(a->psn, 1);
}

/* The request behind place `now` of the capture. UINT32_MAX: none. */
static unsigned next_request(const struct vector *v, unsigned now)
{
    for (now++; now < v->count; now++)
        if (exchange_is_request(&v->frame[now].packet))
            return now;
    return UINT32_MAX;
}

/* Something from `psn` on, or from before it, is asked again behind place `now`. */
static bool is_asked_again(const struct vector *v, unsigned now, uint32_t psn)
{
    while ((now = next_request(v, now)) != UINT32_MAX)
        if (sn_psn_diff(v->frame[now].packet.psn, psn) <= 0)
            return true;
    return false;
}

/*
 * A NAK, or an answer behind one that was lost (9.7.5.2.1: as a NAK of that), of which the requester had not heard yet when
 * it sent what follows in the capture: that is farther on than what this answer makes it go back to.
 */
static bool comes_late(const struct replay *r, struct works *q, unsigned i, unsigned now)
{
    const struct sn_burst *a = &r->v->frame[i].packet;
    unsigned next = next_request(r->v, now);
    uint32_t from = a->psn, psn;

    if (next == UINT32_MAX)
        return false;
    if (is_nak(a)) {
        for (i++; i < next; i++) { /* the others that came with it */
            psn = goes_on_at(&r->v->frame[i].packet);
            from = sn_psn_diff(psn, from) > 0 ? psn : from;
        }
        return sn_psn_diff(r->v->frame[next].packet.psn, from) > 0;
    }
    if (!expects(r, q, &psn) || sn_psn_diff(a->psn, psn) < (is_response(a) ? 1 : 0))
        return false;
    return sn_psn_diff(r->v->frame[next].packet.psn, psn) > 0 && is_asked_again(r->v, now, psn);
}

/* What is sent again because of this lies behind the capture's end. */
static bool is_cut_off(const struct vector *v, unsigned i, unsigned now)
{
    const struct sn_burst *a = &v->frame[i].packet;

    return is_nak(a) && a->syndrome == SN_AETH_NAK_SEQUENCE && next_request(v, now) == UINT32_MAX;
}

/* Does a packet with this PSN show that the requester has heard of what is held back? */
static bool shows_effect(const struct replay *r, struct works *q, uint32_t psn)
{
    uint32_t missing;

    if (q->late_first != q->late_count && expects(r, q, &missing) && sn_psn_diff(psn, missing) <= 0)
        return true;
    for (unsigned n = q->late_first; n != q->late_count; n++) {
        const struct sn_burst *a = &r->v->frame[q->late[n]].packet;
        if (is_nak(a) && sn_psn_diff(psn, a->psn) <= 0)
            return true;
    }
    return false;
}

static bool give_late(struct replay *r, struct works *q, unsigned now)
{
    while (q->late_first != q->late_count) {
        unsigned i = q->late[q->late_first++];
        if (!is_cut_off(r->v, i, now) && !give(r, q, i))
            return false;
    }
    return true;
}

/* An answer has arrived, at place `now` of the capture. */
static bool arrive(struct replay *r, struct works *q, unsigned i, unsigned now)
{
    bool late = comes_late(r, q, i, now);

    if (late || q->late_first != q->late_count) {
        r->liberty[LIBERTY_LATE_NAK] += late;
        q->late[q->late_count++] = i;
        return true;
    }
    return is_cut_off(r->v, i, now) || give(r, q, i);
}

static bool take_answer(struct replay *r, struct works *q, unsigned i, enum replay_fault fault, unsigned at)
{
    bool here = fault != FAULT_NONE && q->answers++ == at;
    unsigned swapped = q->swapped;

    r->in++;
    if (here && fault == FAULT_DROP)
        return true;
    if (here && fault == FAULT_SWAP) {
        q->swapped = i;
        return true;
    }
    if (!arrive(r, q, i, i) || (here && fault == FAULT_TWICE && !arrive(r, q, i, i)))
        return false;
    q->swapped = UINT32_MAX;
    return swapped == UINT32_MAX || arrive(r, q, swapped, i);
}

/* ---- the exchange --------------------------------------------------------------------------------------------------- */

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

static bool ask(struct replay *r, struct works *q, unsigned i)
{
    const struct sn_burst *p = &r->v->frame[i].packet;

    if (shows_effect(r, q, p->psn) && !give_late(r, q, i - 1))
        return false;
    if (q->posted != r->s->messages && q->work[q->posted].m->first == i) {
        if (q->posted - q->completed >= 1u << (r->e.o.log_sq - 1))
            return replay_no(r, REASON_LIMIT, "more than %u works under way", 1u << (r->e.o.log_sq - 1));
        post_work(r, &q->work[q->posted++]);
    }
    let_one_out(r);
    return replay_out(r, i) && collect(r, q);
}

static bool run(struct replay *r, struct works *q, enum replay_fault fault, unsigned at)
{
    const struct vector *v = r->v;
    const struct message *end = &r->s->message[r->s->messages - 1];

    r->room = 0;
    for (unsigned i = 0; i < v->count; i++) {
        bool asks = exchange_is_request(&v->frame[i].packet);
        if (!(asks ? ask(r, q, i) : take_answer(r, q, i, fault, at)))
            return false;
    }
    if (!give_late(r, q, v->count))
        return false;
    if (end->whole || r->s->refusal != 0) {
        r->room = UINT32_MAX;
        replay_run(r);
    }
    r->asked_for = true; /* whatever is sent now was not captured */
    return replay_no_more(r) && collect(r, q);
}

bool replay_requester(struct replay *r, const struct story *s, enum replay_fault fault, unsigned at)
{
    const struct sn_burst *first = &s->v->frame[s->message[0].first].packet;
    struct sn_qp_params more = {.rcv_psn = 0x200000, .snd_psn = first->psn};
    struct options o = defaults;
    struct works q = {.posted = 0};
    bool fits;

    o.mtu = s->mtu;
    o.service = (enum sn_service)first->service;
    o.rnr_retry = 7;
    o.ack_timeout = 14;
    o.log_sra = 7;
    o.log_sq = log_of(2 * s->messages);
    o.log_cq = (uint8_t)(o.log_sq + 1);
    replay_open(r, s, first, &o, &more);
    fits = make_works(r, &q) && run(r, &q, fault, at);
    for (unsigned n = 0; fits && n < q.posted; n++)
        fits = check_work(r, &q.work[n]);
    free_works(&q);
    return fits;
}
