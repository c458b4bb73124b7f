/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bursts into rings. A long burst goes in pieces of whole packets, so that the peer copies the first while we write the
 * next, and so that a burst may be larger than the room there is: what is already in the ring is remembered until the
 * transport offers the same burst again.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "gpu/gpu.h"
#include "softnic/exec/order.h"
#include "softnic/wire/shm_internal.h"

enum { PIECE_BYTES = 32768 };
#define FULL_LIMIT_NS 1000000000ull /* a peer that takes nothing for a second is as good as a cut cable */

struct source { /* payload of a burst from `base` on */
    const struct sn_burst *burst;
    uint64_t base;
};

static int copy_piece(uint8_t *dst, const struct sn_iov *iov, size_t from, size_t n)
{
    const uint8_t *src = (const uint8_t *)iov->addr + from;
    if (iov->space != SN_SPACE_HOST)
        return gdaki_gpu_current(NULL)->copy(dst, src, n);
    sn_dma_read(dst, src, n);
    return 0;
}

static int copy_payload(void *arg, void *dst, uint64_t from, uint64_t n)
{
    struct source *s = arg;
    uint8_t *out = dst;
    from += s->base;
    for (uint32_t i = 0; i < s->burst->iov_count && n; i++) {
        const struct sn_iov *iov = &s->burst->iov[i];
        if (from >= iov->length) {
            from -= iov->length;
            continue;
        }
        size_t part = iov->length - from < n ? iov->length - from : n;
        int rc = copy_piece(out, iov, from, part);
        if (rc)
            return rc;
        out += part;
        n -= part;
        from = 0;
    }
    return n ? -EFAULT : 0; /* the burst's length and its references disagree */
}

/* A datagram has no remote address, so what it has instead goes in those fields. */
static void datagram_fields(struct shm_header *h, const struct sn_burst *b)
{
    h->rkey = b->qkey;
    h->dmalen = b->flow_label;
    h->va = (uint64_t)b->hop_limit << 8 | b->tclass;
}

static struct shm_header header_of(const struct shm_connection *c, const struct sn_burst *b)
{
    int sgid = shm_peer_index(&c->endpoint->identity, b->sgid);
    int dgid = c->connector && !memcmp(b->dgid, c->target, 16) ? SHM_ACCEPTED_GID : shm_peer_index(&c->peer, b->dgid);
    struct shm_header h = {.dqpn = (b->dqpn & 0xffffff) | (uint32_t)dgid << 24,
                           .sqpn = (b->sqpn & 0xffffff) | (uint32_t)sgid << 24,
                           .kind = b->kind,
                           .flags = b->flags,
                           .mtu_service = (uint8_t)(b->mtu | b->service << 4),
                           .syndrome = b->syndrome,
                           .psn = (b->psn & 0xffffff) | (uint32_t)b->atomic_size << 24,
                           .npackets = b->npackets,
                           .length = b->length,
                           .va = b->va,
                           .rkey = b->rkey,
                           .dmalen = b->dmalen,
                           .imm = b->imm,
                           .msn = b->msn & 0xffffff,
                           .inlined = b->kind == SN_KIND_ATOMIC_ACK ? b->atomic_orig : 0};
    if (b->service == SN_SERVICE_UD)
        datagram_fields(&h, b);
    return h;
}

/* The piece that starts at payload byte `from`: PSNs counted as if every packet had been sent by itself. */
static struct shm_header cut(const struct shm_header *whole, uint32_t from, uint32_t piece)
{
    struct shm_header h = *whole;
    uint32_t mtu = 128u << (whole->mtu_service & 15), before = from / mtu;
    bool first = from == 0, last = from + piece == whole->length;
    h.psn = (whole->psn & 0xff000000) | ((whole->psn + before) & 0xffffff);
    h.length = piece;
    h.npackets = last ? whole->npackets - before : piece / mtu;
    if (!first)
        h.flags &= (uint8_t)~SN_BURST_FIRST;
    if (!last)
        h.flags &=
            (uint8_t) ~(SN_BURST_LAST | SN_BURST_IMM | SN_BURST_INVALIDATE | SN_BURST_SOLICITED | SN_BURST_ACKREQ);
    return h;
}

static uint32_t piece_limit(const struct shm_connection *c, const struct shm_header *h)
{
    uint32_t mtu = 128u << (h->mtu_service & 15);
    uint64_t limit = c->tx.size / 4 < PIECE_BYTES ? c->tx.size / 4 : PIECE_BYTES;
    return (uint32_t)(limit / mtu * mtu);
}

static void wake(struct shm_connection *c)
{
    static const uint8_t byte;
    shm_add(&shm_totals.wakes, 1);
    if (send(c->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* full of earlier wakes, or hung up: the helper thread learns of the latter */
}

static bool same(const struct shm_partial *p, const struct sn_burst *b)
{
    return p->used && p->sqpn == b->sqpn && p->dqpn == b->dqpn && p->psn == b->psn && p->kind == b->kind &&
           p->length == b->length && p->epoch == b->epoch;
}

static struct shm_partial *find_partial(struct shm_connection *c, const struct sn_burst *b)
{
    for (unsigned i = 0; i < SHM_PARTIALS; i++)
        if (same(&c->partial[i], b))
            return &c->partial[i];
    return NULL;
}

/* Remembers that `sent` bytes are in the ring. If a memory is lost, packets are sent twice, which the peer sorts out.
 */
static void remember(struct shm_connection *c, struct shm_partial *p, const struct sn_burst *b, uint32_t sent)
{
    if (!sent)
        return;
    if (!p)
        p = &c->partial[c->next_partial++ % SHM_PARTIALS];
    *p = (struct shm_partial){true, b->kind, b->epoch, b->dqpn, b->sqpn, b->psn, b->length, sent};
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* No room. A consumer that is stopped or hostile must not hold a queue pair for ever. */
static int full(struct shm_wire *w, struct shm_connection *c)
{
    if (c->tx.bad) {
        shm_add(&shm_totals.bad_records, 1);
        shm_peer_kill(w, c);
        return -EHOSTUNREACH;
    }
    uint64_t now = now_ns();
    if (!c->full_since || c->full_head != c->tx.head) {
        c->full_since = now;
        c->full_head = c->tx.head;
    }
    return now - c->full_since > FULL_LIMIT_NS ? -EHOSTUNREACH : -EAGAIN;
}

static int put_piece(struct shm_wire *w, struct shm_connection *c, const struct shm_header *h, const struct sn_burst *b,
                     uint32_t from)
{
    const struct shm_operands operands = {b->swap_add, b->compare, b->swap_mask, b->compare_mask};
    struct source source = {b, from};
    if (!shm_tx_room(&c->tx, shm_record_bytes(h)))
        return full(w, c);
    c->full_since = 0;
    int rc = shm_tx_put(&c->tx, h, &operands, copy_payload, &source);
    if (rc < 0)
        return -EHOSTUNREACH; /* payload could not be read: as a packet that was never sent */
    if (rc)
        wake(c);
    shm_add(&shm_totals.bursts_sent, 1);
    shm_add(&shm_totals.bytes_sent, h->length);
    if (h->flags & SHM_BY_REFERENCE)
        shm_add(&shm_totals.bytes_by_reference, h->length);
    return 0;
}

static int send_cut(struct shm_wire *w, struct shm_connection *c, const struct shm_header *whole,
                    const struct sn_burst *b, uint32_t limit)
{
    struct shm_partial *p = find_partial(c, b);
    uint32_t sent = p ? p->sent : 0;
    while (sent < b->length) {
        uint32_t piece = b->length - sent < limit ? b->length - sent : limit;
        struct shm_header h = cut(whole, sent, piece);
        int rc = put_piece(w, c, &h, b, sent);
        if (rc) {
            remember(c, p, b, sent);
            return rc;
        }
        sent += piece;
    }
    if (p)
        p->used = false;
    return 0;
}

int shm_send(struct sn_wire *wire, const struct sn_burst *burst)
{
    struct shm_wire *w = (struct shm_wire *)wire;
    int error;
    struct shm_connection *c = shm_peer_find(w, burst, &error);
    if (!c)
        return error;
    struct shm_header h = header_of(c, burst);
    uint32_t limit = piece_limit(c, &h);
    if (burst->length >= SHM_WINDOW_MIN && !find_partial(c, burst) && shm_window_refer(w, c, burst, &h))
        limit = burst->length;
    int rc = burst->length > limit ? send_cut(w, c, &h, burst, limit) : put_piece(w, c, &h, burst, 0);
    if (c->dead && !w->delivering)
        shm_peer_reap(w);
    return rc;
}

/* The indices of both GIDs, and the connection as shm_send would choose it. False: there is none yet. */
static bool find_route(struct shm_wire *w, const struct sn_burst *b, struct sn_route *route)
{
    struct shm_connection *c = shm_peer_at(w, b);
    if (!c)
        return false;
    struct shm_header h = header_of(c, b);
    *route = (struct sn_route){c->id, h.dqpn, h.sqpn};
    w->last = c;
    return true;
}

bool shm_send_short(struct sn_wire *wire, const struct sn_burst *header, struct sn_route *route, const struct sn_short *m)
{
    struct shm_wire *w = (struct shm_wire *)wire;
    if ((!w->last || w->last->id != route->id) && !find_route(w, header, route))
        return false;
    struct shm_connection *c = w->last;
    if (!shm_tx_room(&c->tx, SHM_LINE))
        return false;
    struct shm_header *h = shm_tx_line(&c->tx); /* in place: a copy would wait until what it copies has been stored */
    h->dqpn = route->to;
    h->sqpn = route->from;
    h->kind = m->kind;
    h->flags = m->flags;
    h->mtu_service = m->mtu;
    h->syndrome = m->syndrome;
    h->psn = m->psn;
    h->npackets = m->npackets;
    h->length = m->length;
    h->va = m->va;
    h->rkey = m->rkey;
    h->dmalen = m->dmalen;
    h->imm = m->imm;
    h->msn = m->msn;
    h->inlined = m->word;
    c->full_since = 0;
    if (shm_tx_commit_line(&c->tx))
        wake(c);
    shm_add(&shm_totals.bursts_sent, 1);
    shm_add(&shm_totals.bytes_sent, m->length);
    return true;
}
