/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With many NICs each event finds another one's memory out of the cache. The next events are known in order, so what they
 * will touch is asked for ahead: each step asks for what the pointers of the step before lead to, which have come by now.
 * Nothing here changes anything, and a guess that is wrong costs a few lines of the cache.
 */
#include "sim/internal.h"

/* How much of a piece of memory is asked for: what is walked over in order comes by itself. */
enum { BEGINNING = 256 };

/* ---- a host ----------------------------------------------------------------------------------------------------- */

enum visit { /* what will happen at a host, beside a packet that comes */
    ENDS = 1,  /* a connection is over */
    OPENS = 2, /* one is opened, */
    RINGS = 4, /* and it begins; */
    LOCAL = 8, REMOTE = 16, /* one of the two keys is used */
};

/* Of each completion queue the entry behind the last one is looked at. When a connection is over its receives are flushed. */
static void ask_for_queues(struct sn_asks *a, const struct sim_host *host, const struct sim_end *end, unsigned visit)
{
    enum { REQUESTS = 1, FLUSHES = 2 };
    uint32_t mask = (1u << host->log_cq) - 1;

    sn_ask_for(a, host->out, SIM_LINK_LINES);
    sn_ask(a, host->cq_record);
    for (uint32_t which = 0; which < 2; which++)
        for (uint32_t i = 0; i <= (visit & ENDS ? which == 0 ? REQUESTS : FLUSHES : 0); i++)
            sn_ask(a, host->cq[which] + (size_t)((host->ci[which] + i) & mask) * 64);
    if (end != NULL && host->by_qpn != host->few)
        sn_ask(a, &host->by_qpn[end->qpn & host->hash_mask]);
}

/* The host first, then its NIC, its port, the queue pair and the keys of one end (NULL: none), and what these refer to. */
static void host_step(struct sn_asks *a, const struct sim_host *host, const struct sim_end *end, unsigned visit, unsigned step)
{
    struct sn_expected what = {.creates = visit & OPENS, .rings = visit & RINGS, .ends = visit & ENDS};

    if (step == 0)
        sn_ask_for(a, host, offsetof(struct sim_host, shared_done));
    if (step == 0 || step > SN_EXPECT_STEPS)
        return;
    if (end != NULL) {
        what.qpn = end->qpn;
        if (visit & (LOCAL | ENDS))
            what.key[what.keys++] = end->lkey;
        if (visit & (REMOTE | ENDS))
            what.key[what.keys++] = end->rkey;
    }
    sn_nic_expect(a, host->nic, &what, step - 1);
    if (step == 1)
        ask_for_queues(a, host, end, visit);
    if (step == 2 && (visit & RINGS))
        sn_ask(a, host->reg);
}

void sim_host_expect(struct sim *sim, const struct sim_host *host, unsigned step)
{
    host_step(&sim->asks, host, NULL, 0, step);
}

/* ---- a connection ------------------------------------------------------------------------------------------------- */

static void ask_for_end(struct sn_asks *a, const struct sim_end *end, unsigned step)
{
    const struct sim *sim;

    if (step == 0) {
        sn_ask_for(a, end, offsetof(struct sim_end, shadow));
        return;
    }
    if (step > 1)
        return;
    sim = end->host->sim;
    sn_ask(a, sim_end_wr((struct sim_end *)(uintptr_t)end, end->settled));
    sn_ask(a, end->sq + (size_t)(end->pi & (sim->depth - 1)) * 64);
    sn_ask(a, end->rq + (size_t)(end->rq_pi & (sim->receives - 1)) * 32);
    sn_ask(a, end->record);
}

/* What is left of it is this answer. */
static bool ends_with(const struct sim_conn *conn, const struct sim_packet *p)
{
    uint8_t kind = p->header.kind;

    if (kind != SN_KIND_ACK && kind != SN_KIND_ATOMIC_ACK && (kind != SN_KIND_READ_RESPONSE || !(p->header.flags & SN_BURST_LAST)))
        return false;
    return conn->end[0]->goal - conn->end[0]->settled + conn->end[1]->goal - conn->end[1]->settled <= 1;
}

/* The target of the payload, or its source; or what will be compared when the connection is over. */
static void ask_for_memory(struct sn_asks *a, const struct sim_packet *p, const struct sim_end *own)
{
    const struct sn_burst *b = &p->header;
    bool named = b->kind == SN_KIND_WRITE || b->kind == SN_KIND_READ_REQUEST || b->kind == SN_KIND_ATOMIC_FA;
    uint32_t at = named ? (uint32_t)b->va : b->kind == SN_KIND_SEND ? own->at.recv : 0;

    if (named && (uint64_t)b->va >= SIM_SHARED_IOVA)
        sn_ask(a, own->host->shared);
    else if (named || at != 0)
        sn_ask_for(a, own->mem + at, BEGINNING);
    else
        for (int i = 0; i < 2; i++)
            sn_ask_for(a, p->conn->end[i]->mem, BEGINNING);
}

/* What is done with a packet: a request's own memory, or what is waiting for it. */
static unsigned visit_of(const struct sim_packet *p, bool ends)
{
    switch (p->header.kind) {
    case SN_KIND_SEND:
        return LOCAL;
    case SN_KIND_ACK:
        return ends ? ENDS | OPENS | RINGS : 0;
    case SN_KIND_READ_RESPONSE:
    case SN_KIND_ATOMIC_ACK:
        return ends ? LOCAL | ENDS | OPENS | RINGS : LOCAL;
    default:
        return REMOTE;
    }
}

/* A request that uses no receive is nothing to the applications yet. */
static bool completes(const struct sim_packet *p)
{
    uint8_t kind = p->header.kind;

    return kind == SN_KIND_SEND || kind == SN_KIND_ACK || kind == SN_KIND_ATOMIC_ACK || kind == SN_KIND_READ_RESPONSE ||
           (p->header.flags & SN_BURST_IMM);
}

/* Taking it down goes to the peer as well, and what is opened in its place to somebody else. */
static void ask_for_successor(struct sim *sim, const struct sim_conn *conn, const struct sim_end *own, unsigned step)
{
    struct sn_asks *a = &sim->asks;
    enum { PEER = 3, LANE = 4, NEXT = 5 };
    const struct sim_host *next;

    host_step(a, own->peer->host, own->peer, ENDS, step - PEER);
    if (step == LANE)
        sn_ask_for(a, conn->lane, sizeof(*conn->lane));
    if (step < NEXT || (next = sim_lane_next(sim, conn->lane)) == NULL)
        return;
    if (step > NEXT && next->free_end != NULL)
        ask_for_end(a, next->free_end, step - NEXT - 1);
    host_step(a, next, step <= NEXT + 1 ? NULL : next->free_end, OPENS, step - NEXT);
}

static void ask_for_conn(struct sim *sim, const struct sim_packet *p, bool ends, unsigned step)
{
    struct sn_asks *a = &sim->asks;
    const struct sim_conn *conn = p->conn;
    const struct sim_end *own;

    if (step == 1)
        sn_ask(a, conn);
    if (step < 2)
        return;
    own = conn->end[conn->target == p->target];
    if (step == 2 && !completes(p))
        sn_ask(a, own);
    for (int i = 0; step == 2 && completes(p) && i < 2; i++)
        ask_for_end(a, conn->end[i], 0);
    if (step == 3 && completes(p))
        ask_for_end(a, own, 1);
    if (step == 4)
        ask_for_memory(a, p, own);
    if (ends)
        ask_for_successor(sim, conn, own, step);
}

/* ---- a packet ----------------------------------------------------------------------------------------------------- */

void sim_packet_expect(struct sim *sim, const struct sim_packet *p, unsigned step)
{
    struct sn_asks *a = &sim->asks;
    const struct sim_conn *conn;
    bool ends;

    if (step == 0) { /* nothing of it is looked at before it has come */
        sn_ask(a, p);
        return;
    }
    conn = p->conn;
    if (p->way != NULL) { /* a switch: the cable that it takes next */
        if (step == 1)
            sn_ask_for(a, p->way, SIM_LINK_LINES);
        return;
    }
    if (step == 1)
        sn_ask_for(a, p, SIM_PACKET_SIZE);
    if (step == 1 && p->bytes != NULL)
        sn_ask_for(a, p->bytes, BEGINNING);
    ends = step >= 3 && conn != NULL && ends_with(conn, p);
    if (step < 3 || conn == NULL)
        host_step(a, &sim->host[p->target], NULL, 0, step - 1);
    else
        host_step(a, &sim->host[p->target], conn->end[conn->target == p->target], visit_of(p, ends), step - 1);
    if (conn != NULL)
        ask_for_conn(sim, p, ends, step);
}
