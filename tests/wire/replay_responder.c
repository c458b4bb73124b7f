/* SPDX-License-Identifier: Apache-2.0 */
/* The asking side's frames to the engine; what it answers is compared, and its memory. */
#include <stdlib.h>

#include "exchange.h"
#include "format/bth.h"
#include "replay.h"

enum { GRH = 40 };

/* ---- what the capture says about the responder -------------------------------------------------------------------- */

static struct options options_of(const struct story *s)
{
    struct options o = defaults;
    const struct vector *v = s->v;
    const struct sn_burst *first = &v->frame[s->message[0].first].packet;

    o.mtu = s->mtu;
    o.service = (enum sn_service)first->service;
    o.qkey = first->qkey;
    o.log_rq = 8;
    o.log_cq = 9;
    o.log_rra = 7;
    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (p->kind == SN_KIND_ACK && sn_aeth_is_rnr(p->syndrome))
            o.min_rnr = p->syndrome & 0x1f;
        if (!exchange_is_request(p) || s->refusal != SN_AETH_NAK_INVALID || p->psn != s->refused_psn)
            continue;
        o.no_rwe |= p->kind == SN_KIND_WRITE; /* "invalid request" without anything wrong in it: not enabled (10.2.3) */
        o.no_rre |= p->kind == SN_KIND_READ_REQUEST;
        o.no_rae |= story_is_atomic(p->kind);
    }
    return o;
}

/* ---- receives ------------------------------------------------------------------------------------------------------- */

struct receive {
    unsigned message;
    size_t at; /* in r->mem */
};

struct completion {
    uint8_t opcode;
    uint32_t imm, bytes;
};

struct receives {
    struct receive *receive;
    struct completion *completion;
    unsigned count, posted, completed;
};

static const struct sn_burst *last_of(const struct story *s, const struct message *m)
{
    return &s->v->frame[m->whole ? m->last : m->first].packet;
}

static bool takes_receive(const struct story *s, const struct message *m)
{
    const struct sn_burst *p = last_of(s, m);

    return p->kind == SN_KIND_SEND || (p->kind == SN_KIND_WRITE && m->whole && (p->flags & SN_BURST_IMM));
}

static size_t head_of(const struct replay *r)
{
    return r->e.o.service == SN_SERVICE_UD ? GRH : 0;
}

static bool make_receives(struct replay *r, struct receives *q)
{
    const struct story *s = r->s;
    uint64_t bytes = 0;

    q->receive = calloc(s->messages + 1, sizeof(*q->receive));
    q->completion = calloc(s->messages + 1, sizeof(*q->completion));
    assert_true(q->receive != NULL && q->completion != NULL);
    for (unsigned n = 0; n < s->messages; n++)
        if (takes_receive(s, &s->message[n])) {
            q->receive[q->count++] = (struct receive){.message = n, .at = (size_t)bytes};
            bytes += ((s->message[n].length + STORY_ALIGN - 1) & ~(uint64_t)(STORY_ALIGN - 1)) + 2 * STORY_ALIGN;
        }
    return replay_local(r, bytes);
}

static void free_receives(struct receives *q)
{
    free(q->receive);
    free(q->completion);
}

/* As long as the message; one that was refused for its length does not fit from the packet on that was refused. */
static uint32_t length_of(const struct replay *r, const struct message *m)
{
    const struct story *s = r->s;
    bool is_send = last_of(s, m)->kind == SN_KIND_SEND;
    uint32_t d = (s->refused_psn - m->psn) & 0xffffff;

    if (!is_send)
        return 0;
    if (s->refusal == 0 || s->refusal == SN_AETH_NAK_ACCESS || d >= m->packets)
        return m->length;
    d <<= 7 + s->mtu;
    return d + (m->length - d < 4 ? 0 : 1);
}

/* The packet that needs the receive: a SEND's first, a WRITE's last. */
static unsigned needed_by(const struct story *s, const struct message *m)
{
    return last_of(s, m)->kind == SN_KIND_SEND ? m->first : m->last;
}

/*
 * The next message's, when the packet comes that needs it, from the time on when the capture's responder had one. Not before
 * that: the message before it would take it.
 */
static bool post_for(struct replay *r, struct receives *q, unsigned i)
{
    const struct message *m;

    if (q->posted == q->count)
        return true;
    m = &r->s->message[q->receive[q->posted].message];
    if (r->v->frame[i].packet.psn != r->v->frame[needed_by(r->s, m)].packet.psn)
        return true;
    if (story_refusal_of(r->s, i) != 0 && sn_aeth_is_rnr(story_refusal_of(r->s, i)))
        return true;
    if (r->s->refusal != 0 && sn_psn_diff(m->psn, r->s->refused_psn) > 0)
        return true; /* the connection has ended */
    if (q->posted - q->completed >= 1u << r->e.o.log_rq)
        return replay_no(r, REASON_LIMIT, "more than %u receives wait", 1u << r->e.o.log_rq);
    post_recv(&r->e, r->mem + q->receive[q->posted].at, length_of(r, m) + (uint32_t)head_of(r), r->lkey);
    q->posted++;
    return true;
}

static bool collect(struct replay *r, struct receives *q)
{
    const struct sn_cqe64 *c;

    while ((c = next_rcqe(&r->e)) != NULL) {
        if (q->completed == q->posted)
            return replay_no(r, REASON_COMPLETION, "a completion without a receive");
        q->completion[q->completed++] =
            (struct completion){.opcode = cqe_opcode(c), .imm = c->imm, .bytes = sn_get32(c->byte_cnt)};
    }
    return true;
}

/* The bytes of a SEND as far as they were taken. */
static bool check_bytes(struct replay *r, const struct receive *receive, const struct message *m, uint32_t taken)
{
    const uint8_t *to = r->mem + receive->at + head_of(r);

    for (unsigned i = 0; i < r->v->count; i++) {
        const struct sn_burst *p = &r->v->frame[i].packet;
        if (r->s->of[i] == UINT32_MAX || &r->s->message[r->s->of[i]] != m || p->length == 0)
            continue;
        uint32_t at = story_offset(r->s, i);
        if (at + p->length <= taken && memcmp(to + at, p->iov[0].addr, p->length) != 0)
            return replay_no(r, REASON_MEMORY, "the answers are right, but not the receive of frame %u", i + 1);
    }
    return true;
}

static bool check_receive(struct replay *r, const struct receives *q, unsigned n)
{
    const struct message *m = &r->s->message[q->receive[n].message];
    const struct completion *c = &q->completion[n];
    const struct sn_burst *last = last_of(r->s, m);
    bool is_send = last->kind == SN_KIND_SEND;
    bool refused = r->s->refusal != 0 && sn_psn_diff(r->s->refused_psn, story_next_psn(m)) < 0;

    if (n >= q->completed && !m->whole && !refused)
        return true; /* the capture ended */
    if (n >= q->completed || (c->opcode == SN_CQE_RESP_ERR) != refused)
        return replay_no(r, REASON_COMPLETION, "receive %u: its completion is %s", n,
                         n >= q->completed ? "missing" : refused ? "no error" : "an error");
    if (refused)
        return true;
    if (((last->flags & SN_BURST_IMM) && c->imm != last->imm) || c->bytes != m->length + (is_send ? head_of(r) : 0))
        return replay_no(r, REASON_COMPLETION, "receive %u: %u bytes, immediate 0x%08x instead of %u, 0x%08x", n, c->bytes,
                         sn_swap32(c->imm), m->length, sn_swap32(last->imm));
    return !is_send || check_bytes(r, &q->receive[n], m, m->length);
}

/* The messages that were received, one after the other: bytes and completions. */
static bool check_receives(struct replay *r, struct receives *q)
{
    if (!collect(r, q))
        return false;
    for (unsigned n = 0; n < q->posted; n++)
        if (!check_receive(r, q, n))
            return false;
    return true;
}

/* ---- the exchange --------------------------------------------------------------------------------------------------- */

static bool deliver(struct replay *r, struct receives *q, unsigned i)
{
    struct sn_burst p = r->v->frame[i].packet;

    if (r->s->nobody) {
        replay_in(r, &p, true);
        return true;
    }
    if (!post_for(r, q, i))
        return false;
    if (replay_names_memory(&p))
        p.rkey = replay_key_of(r, i);
    if (p.flags & SN_BURST_INVALIDATE)
        p.imm = sn_swap32(replay_key_of(r, i));
    replay_in(r, &p, false);
    return collect(r, q);
}

static bool run(struct replay *r, struct receives *q, enum replay_fault fault, unsigned at)
{
    const struct vector *v = r->v;
    unsigned held = UINT32_MAX; /* a frame that the next one overtakes */

    for (unsigned i = 0; i < v->count; i++) {
        if (!exchange_is_request(&v->frame[i].packet)) {
            if (!replay_out(r, i))
                return false;
            continue;
        }
        unsigned n = r->in++;
        bool here = fault != FAULT_NONE && n == at;
        if (here && fault == FAULT_DROP)
            continue;
        if (here && fault == FAULT_SWAP) {
            held = i;
            continue;
        }
        if (!deliver(r, q, i) || (here && fault == FAULT_TWICE && !deliver(r, q, i)))
            return false;
        if (held != UINT32_MAX && !deliver(r, q, held))
            return false;
        held = UINT32_MAX;
    }
    return replay_no_more(r);
}

bool replay_responder(struct replay *r, const struct story *s, enum replay_fault fault, unsigned at)
{
    struct options o = options_of(s);
    const struct vector *v = s->v;
    const struct sn_burst *first = &v->frame[s->message[0].first].packet;
    struct sn_burst local = *first;
    struct sn_qp_params more = {.rcv_psn = first->psn, .snd_psn = 0x200000};
    struct receives q = {.posted = 0};
    bool fits;

    memcpy(local.sgid, first->dgid, 16);
    memcpy(local.dgid, first->sgid, 16);
    local.dqpn = first->service == SN_SERVICE_UD ? first->sqpn : first->dqpn;
    for (unsigned i = 0; i < v->count; i++)
        if (!exchange_is_request(&v->frame[i].packet)) { /* its addressing, and so the requester's QP number */
            local = v->frame[i].packet;
            break;
        }
    replay_open(r, s, &local, &o, &more);
    fits = replay_memory_make(r) && make_receives(r, &q) && run(r, &q, fault, at) && check_receives(r, &q) &&
           replay_memory_check(r);
    free_receives(&q);
    return fits;
}
