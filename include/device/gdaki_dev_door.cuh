/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who rings a queue's register: one thread at a time, for all. gdaki: C++ only.
 *
 * qp->gdaki_ring is one word: 0 and the index announced while nobody rings; BUSY and the furthest index asked for while
 * somebody does; CLOSED in the ringer's last round. A thread asks with one atomic maximum of BUSY + its index. If it finds
 * nobody, it rings; if it finds BUSY it leaves, since the ringer, to end, must replace exactly the word it knows, and so
 * meets every request made meanwhile.
 *
 * Why that is enough
 *   Requests are made without a fence. The ringer that meets index i waits until sq_ready_index is at i (the move was made
 *   before the request, so that wait is for a store on its way, for nobody's next step), then acquires: the moves of
 *   sq_ready_index are read-modify-writes behind releases, so it has all WQEs below.
 *   A ringer releases at the sharing scope before it gives the word back, the next acquires after it took it: their stores
 *   to record and register are in one order, and each goes further than the one before. So both end at the furthest index.
 *   The record is stored behind a release of the WQEs, the register behind a release of the record: one doorbell is enough,
 *   and a NIC that trusts either finds what it announces.
 * Why a ringer ends
 *   After GDAKI_RING_ROUNDS rounds it closes the word: who asks then waits until it is open again, which takes one round.
 */
#ifndef GDAKI_DEV_DOOR_CUH
#define GDAKI_DEV_DOOR_CUH

#include "gdaki_dev.cuh"

#define GDAKI_RING_BUSY   (1ull << 62)
#define GDAKI_RING_CLOSED (1ull << 63)
#define GDAKI_RING_INDEX  (GDAKI_RING_BUSY - 1)
#define GDAKI_RING_ROUNDS 8u

/* The thread that rings. */
struct gdaki_ringer {
    uint64_t word;      /* gdaki_ring, as this thread knows it */
    uint64_t asked;     /* to be announced this round */
    uint64_t announced; /* below: rung */
    uint32_t rounds;
};

/* Asks for everything below `producer` to be announced. True: this thread rings; false: it is done, or another is on it. */
template <GDAKI_P_SHARING>
GDAKI_DEV bool gdaki_ring_enter(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, struct gdaki_ringer *r)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    uint64_t before;
    r->word = GDAKI_RING_BUSY + producer;
    while ((before = gdaki_fetch_max_u64(&qp->gdaki_ring, r->word, sharing::scope)) >= GDAKI_RING_CLOSED) {
        while (gdaki_index_load<resource_sharing_mode>(&qp->gdaki_ring) >= GDAKI_RING_CLOSED)
            gdaki_relax();
    }
    if (before >= GDAKI_RING_BUSY)
        return false;
    gdaki_fence_acquire(sharing::scope); /* orders the last ringer's stores before this one's */
    r->asked = producer;
    r->rounds = 0;
    /* `before` is 0 or lags where a host has reset the queue's indices and does not know of this word */
    r->announced = before < producer ? before : gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi);
    return true;
}

/* Gives the word back, or returns true with a new `asked`, when more has been asked for. */
template <GDAKI_P_SHARING>
GDAKI_DEV bool gdaki_ring_again(struct doca_gpu_dev_verbs_qp *qp, struct gdaki_ringer *r)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    gdaki_fence_release(sharing::scope); /* orders this ringer's stores before the next one's */
    uint64_t found = gdaki_cas_u64(&qp->gdaki_ring, r->word, r->announced, sharing::scope);
    if (found == r->word)
        return false;
    r->word = found;
    if (++r->rounds >= GDAKI_RING_ROUNDS) {
        found = gdaki_fetch_max_u64(&qp->gdaki_ring, GDAKI_RING_CLOSED, sharing::scope);
        r->word = GDAKI_RING_CLOSED; /* and stays so: requests are smaller */
    }
    r->asked = found & GDAKI_RING_INDEX;
    return true;
}

/* The index to announce this round: what is asked for, and whatever is handed over behind it. Acquires it. */
template <GDAKI_P_SHARING>
GDAKI_DEV uint64_t gdaki_ring_ready(struct doca_gpu_dev_verbs_qp *qp, uint64_t asked)
{
    uint64_t ready;
    while ((ready = gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index)) < asked)
        gdaki_relax();
    gdaki_fence_acquire(gdaki_sharing<resource_sharing_mode>::scope);
    return ready;
}

#endif
