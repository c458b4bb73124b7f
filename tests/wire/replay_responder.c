/* SPDX-License-Identifier: Apache-2.0 */
/* The asking side's frames to the engine; what it answers is compared, and its memory. */
#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"
#include "replay.h"

/* ---- what the capture says about the responder ----------------------------------------------------------------------
 */

/* The answer to request i: the next one that is about its PSN. NULL: none was captured. */
static const struct sn_burst *answer_to(const struct vector *v, unsigned i)
{
    for (unsigned j = i + 1; j < v->count; j++)
        if (!replay_is_request(v, j) && v->frame[j].packet.psn == v->frame[i].packet.psn)
            return &v->frame[j].packet;
    return NULL;
}

static uint8_t refusal_of(const struct vector *v, unsigned i)
{
    const struct sn_burst *a = answer_to(v, i);

    return a != NULL && a->kind == SN_KIND_ACK && (a->syndrome & 0x60) == 0x60 && a->syndrome != SN_AETH_NAK_SEQUENCE
               ? a->syndrome
               : 0;
}

static bool is_atomic_kind(uint8_t kind)
{
    return kind == SN_KIND_ATOMIC_CS || kind == SN_KIND_ATOMIC_FA;
}

static bool names_memory(const struct sn_burst *p)
{
    return p->kind == SN_KIND_READ_REQUEST || is_atomic_kind(p->kind) ||
           (p->kind == SN_KIND_WRITE && (p->flags & SN_BURST_FIRST));
}

static uint32_t memory_bytes(const struct sn_burst *p)
{
    return is_atomic_kind(p->kind) ? 8 : p->dmalen;
}

static struct options options_of(const struct vector *v)
{
    struct options o = defaults;
    const struct sn_burst *first = &v->frame[0].packet;

    o.mtu = replay_mtu(v);
    o.service = (enum sn_service)first->service;
    o.qkey = first->qkey;
    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (!replay_is_request(v, i)) {
            if (p->kind == SN_KIND_ACK && sn_aeth_is_rnr(p->syndrome))
                o.min_rnr = p->syndrome & 0x1f;
            continue;
        }
        if (refusal_of(v, i) != SN_AETH_NAK_INVALID)
            continue;
        o.no_rwe |= p->kind == SN_KIND_WRITE; /* "invalid request" without anything wrong in it: not enabled (10.2.3) */
        o.no_rre |= p->kind == SN_KIND_READ_REQUEST;
        o.no_rae |= is_atomic_kind(p->kind);
    }
    return o;
}

/* ---- remote memory
 * ---------------------------------------------------------------------------------------------------- */

static void find_range(struct replay *r)
{
    uint64_t low = UINT64_MAX, high = 0;

    for (unsigned i = 0; i < r->v->count; i++) {
        const struct sn_burst *p = &r->v->frame[i].packet;
        if (!replay_is_request(r->v, i) || !names_memory(p))
            continue;
        low = p->va < low ? p->va : low;
        high = p->va + memory_bytes(p) > high ? p->va + memory_bytes(p) : high;
    }
    if (low >= high)
        return;
    assert_true(high - low <= REPLAY_REGION);
    r->va = low & ~4095ull;
    r->region_bytes = (size_t)(high - r->va);
}

/* What a READ brought was there, and what an atomic found. Later requests see what earlier ones left. */
static void fill_from_answers(struct replay *r)
{
    const struct vector *v = r->v;

    for (unsigned i = v->count; i-- > 0;) {
        const struct sn_burst *q = &v->frame[i].packet;
        if (!replay_is_request(v, i))
            continue;
        for (unsigned j = i + 1; j < v->count; j++) {
            const struct sn_burst *a = &v->frame[j].packet;
            int32_t d = sn_psn_diff(a->psn, q->psn);
            if (replay_is_request(v, j) || d < 0 || !names_memory(q) || memory_bytes(q) == 0)
                continue;
            uint8_t *at = r->region + (q->va - r->va);
            if (q->kind == SN_KIND_READ_REQUEST && a->kind == SN_KIND_READ_RESPONSE && a->length != 0 &&
                ((uint64_t)d << (7 + r->mtu)) + a->length <= q->dmalen)
                memcpy(at + ((size_t)d << (7 + r->mtu)), a->iov[0].addr, a->length);
            if (is_atomic_kind(q->kind) && a->kind == SN_KIND_ATOMIC_ACK && d == 0)
                memcpy(at, &a->atomic_orig, 8);
        }
    }
}

/* What the requests make of it, each PSN once. */
static void expect_effects(struct replay *r)
{
    const struct vector *v = r->v;
    uint32_t next = v->frame[0].packet.psn;
    uint64_t va = 0, word;

    memcpy(r->expected, r->region, r->region_bytes);
    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (!replay_is_request(v, i) || p->psn != next || refusal_of(v, i) != 0)
            continue;
        next = sn_psn_add(next, p->kind == SN_KIND_READ_REQUEST ? sn_mtu_packets(p->dmalen, r->mtu) : 1);
        if (names_memory(p))
            va = p->va;
        uint8_t *at = r->expected + (p->kind == SN_KIND_SEND ? 0 : va - r->va);
        if (p->kind == SN_KIND_WRITE && p->length != 0) {
            memcpy(at, p->iov[0].addr, p->length);
            va += p->length;
        } else if (is_atomic_kind(p->kind)) {
            memcpy(&word, at, 8);
            word = p->kind == SN_KIND_ATOMIC_FA ? word + p->swap_add : word == p->compare ? p->swap_add : word;
            memcpy(at, &word, 8);
        }
    }
}

static void make_region(struct replay *r)
{
    find_range(r);
    if (r->region_bytes == 0)
        return;
    r->region = aligned_alloc(4096, (r->region_bytes + 4095) & ~(size_t)4095); /* atomics need their alignment */
    r->expected = malloc(r->region_bytes);
    assert_non_null(r->region);
    assert_non_null(r->expected);
    memset(r->region, 0, r->region_bytes);
    fill_from_answers(r);
    expect_effects(r);
    r->rkey = end_key(&r->e, r->region, r->region_bytes, r->va,
                      SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ | SN_ACCESS_REMOTE_ATOMIC);
}

/* ---- receives
 * ----------------------------------------------------------------------------------------------------------- */

static bool takes_receive(const struct sn_burst *p)
{
    return (p->kind == SN_KIND_SEND && (p->flags & SN_BURST_FIRST)) ||
           (p->kind == SN_KIND_WRITE && (p->flags & SN_BURST_IMM));
}

static bool is_rnr(const struct sn_burst *answer)
{
    return answer != NULL && answer->kind == SN_KIND_ACK && sn_aeth_is_rnr(answer->syndrome);
}

struct receives {
    unsigned posted;
    uint32_t psn[REPLAY_RECEIVES]; /* of the packet that each is for */
};

/* One for each message, from the time on when the capture's responder had one. */
static void post_for(struct replay *r, struct receives *q, unsigned i)
{
    const struct sn_burst *p = &r->v->frame[i].packet;
    uint32_t length = REPLAY_RECEIVE;

    if (!takes_receive(p) || is_rnr(answer_to(r->v, i)))
        return;
    for (unsigned n = 0; n < q->posted; n++)
        if (q->psn[n] == p->psn)
            return;
    assert_true(q->posted < REPLAY_RECEIVES);
    if (p->kind == SN_KIND_SEND && refusal_of(r->v, i) != 0)
        length = p->length / 4;
    post_recv(&r->e, r->e.mem + (size_t)q->posted * REPLAY_RECEIVE, length, r->e.mkey);
    q->psn[q->posted++] = p->psn;
}

/* The messages that were received, one after the other: bytes and completions. */
static bool check_receives(struct replay *r, const struct receives *q)
{
    const struct vector *v = r->v;
    size_t head = r->e.o.service == SN_SERVICE_UD ? 40 : 0; /* GRH */

    for (unsigned n = 0; n < q->posted; n++) {
        const struct sn_cqe64 *c;
        size_t at = head;
        uint32_t psn = q->psn[n];
        bool over = false, bad = false;

        for (unsigned i = 0; i < v->count && !over; i++) {
            const struct sn_burst *p = &v->frame[i].packet;
            if (!replay_is_request(v, i) || p->psn != psn)
                continue;
            bad = refusal_of(v, i) != 0;
            if (!bad && p->kind == SN_KIND_SEND && p->length != 0 &&
                memcmp(r->e.mem + (size_t)n * REPLAY_RECEIVE + at, p->iov[0].addr, p->length) != 0) {
                snprintf(r->why, sizeof(r->why), "receive %u: other bytes from %zu on", n, at);
                return false;
            }
            at += p->length;
            psn = sn_psn_add(psn, 1);
            over = bad || (p->flags & SN_BURST_LAST);
            if (!over)
                continue;
            c = next_rcqe(&r->e);
            if (c == NULL || (cqe_opcode(c) == SN_CQE_RESP_ERR) != bad ||
                (!bad && (p->flags & SN_BURST_IMM) && c->imm != p->imm) ||
                (!bad && p->kind == SN_KIND_SEND && sn_get32(c->byte_cnt) != at)) {
                snprintf(r->why, sizeof(r->why), "receive %u: completion is missing or another", n);
                return false;
            }
        }
    }
    return true;
}

/* ---- the exchange
 * --------------------------------------------------------------------------------------------------------- */

static void deliver(struct replay *r, struct receives *q, unsigned i)
{
    const struct sn_burst *p = &r->v->frame[i].packet;
    bool stranger = refusal_of(r->v, i) == SN_AETH_NAK_ACCESS;

    post_for(r, q, i);
    replay_in(r, i, names_memory(p) ? r->rkey ^ (stranger ? 0x5a5a5a5a : 0) : p->rkey);
}

static unsigned next_request(const struct vector *v, unsigned i)
{
    for (i++; i < v->count && !replay_is_request(v, i); i++)
        ;
    return i;
}

static bool run(struct replay *r, struct receives *q, enum replay_fault fault, unsigned at)
{
    const struct vector *v = r->v;
    unsigned request = 0;

    for (unsigned i = 0; i < v->count; i++) {
        if (!replay_is_request(v, i)) {
            if (!replay_out(r, i))
                return false;
            continue;
        }
        unsigned n = request++, other = next_request(v, i);
        bool here = fault != FAULT_NONE && n == at;
        if (here && fault == FAULT_DROP)
            continue;
        if (here && fault == FAULT_SWAP && other < v->count)
            deliver(r, q, other);
        if (fault != FAULT_SWAP || n != at + 1)
            deliver(r, q, i);
        if (here && fault == FAULT_TWICE)
            deliver(r, q, i);
    }
    if (r->read != r->count) {
        snprintf(r->why, sizeof(r->why), "%u frames too many were sent, first kind %u psn 0x%06x syndrome 0x%02x",
                 r->count - r->read, r->sent[r->read].b.kind, r->sent[r->read].b.psn, r->sent[r->read].b.syndrome);
        return false;
    }
    return true;
}

bool replay_responder(struct replay *r, const struct vector *v, enum replay_fault fault, unsigned at)
{
    struct options o = options_of(v);
    const struct sn_burst *first = &v->frame[0].packet;
    struct sn_burst local = *first;
    struct sn_qp_params more = {.rcv_psn = first->psn, .snd_psn = 0x200000};
    struct receives q = {.posted = 0};

    memcpy(local.sgid, first->dgid, 16);
    memcpy(local.dgid, first->sgid, 16);
    local.dqpn = first->service == SN_SERVICE_UD ? first->sqpn : first->dqpn;
    for (unsigned i = 0; i < v->count; i++)
        if (!replay_is_request(v, i)) { /* its addressing, and so the requester's QP number */
            local = v->frame[i].packet;
            break;
        }
    replay_open(r, v, &local, &o, &more);
    make_region(r);
    if (!run(r, &q, fault, at) || !check_receives(r, &q))
        return false;
    if (r->region_bytes != 0 && memcmp(r->region, r->expected, r->region_bytes) != 0) {
        snprintf(r->why, sizeof(r->why), "the answers are right, but memory is not");
        return false;
    }
    return true;
}
