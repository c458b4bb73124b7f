/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting, aggregated by warp: the lanes that post to one queue at one call reserve once, hand over once and ring once.
 * gdaki: C++ only.
 *
 * Why it is ordered
 *   lanes store their WQEs; __syncwarp(group) makes them the leader's in the causality order;
 *   the leader releases at the sharing scope and moves sq_ready_index when everything in front has been handed over, so
 *   whoever reads that index, or a later one, and acquires, has these WQEs and all before (the moves are read-modify-
 *   writes, each one continues the release of those before it);
 *   the leader, or somebody further, reads the index, acquires at the sharing scope, releases at GPU scope or wider, and
 *   stores to the register: the NIC that sees the store sees every WQE below (gdaki_dev_ring.cuh).
 * Why it ends
 *   a leader waits for slots of earlier reservations (gdaki_dev_reserve.cuh) and for the hand-over of those in front of
 *   it; both lead to smaller indices only. Lanes wait for their leader alone. A group never reserves more than the ring
 *   at once, so no run waits for its own WQEs. When the queue fails, everybody who waits sees the error and leaves.
 * What a ticket says
 *   the WQE is handed over, and it is announced, or will be by the next post or wait (SKIP_DB_RINGING): the NIC completes or
 *   flushes it. Who leaves before, behind slots that are not to be handed over any more, gets GDAKI_TICKET_NONE.
 */
#ifndef GDAKI_DEV_POST_CUH
#define GDAKI_DEV_POST_CUH

#include "gdaki_dev_reserve.cuh"

#define GDAKI_BF_LANES 8u /* lanes that store a 64-byte WQE in one instruction */

/* One thread stores all eight words. */
GDAKI_DEV void gdaki_blueflame_store_alone(struct doca_gpu_dev_verbs_qp *qp, const void *wqe)
{
    uint64_t word[GDAKI_BF_LANES];
    for (uint32_t i = 0; i < GDAKI_BF_LANES; i++)
        word[i] = gdaki_peek_ring_u64((const uint64_t *)wqe + i);
    for (uint32_t i = 0; i < GDAKI_BF_LANES; i++)
        gdaki_store_mmio_u64(qp->sq_db + i, word[i]);
}

/*
 * Lanes with rank 0..7 store 8 bytes each, one instruction, so that the register sees one 64-byte write. All have read
 * before any stores: the NIC may start at the first 8 bytes, and the ring slot be in use again when the last are read. No
 * fence orders those reads before the store to the register, the values themselves do: each word is what is stored (a peek,
 * so that ThreadSanitizer, which knows fences only, does not take the slot's next user for a racing one).
 */
GDAKI_DEV void gdaki_blueflame_store(const struct gdaki_group &g, struct doca_gpu_dev_verbs_qp *qp, const void *wqe)
{
    uint64_t word = g.rank < GDAKI_BF_LANES ? gdaki_peek_ring_u64((const uint64_t *)wqe + g.rank) : 0;
    g.sync();
    if (g.rank < GDAKI_BF_LANES)
        gdaki_store_mmio_u64(qp->sq_db + g.rank, word);
}

/*
 * Announcement by BlueFlame: the first doorbell is the last WQE itself. `wqe` NULL: as it stands in the ring. The leader
 * rings for the queue meanwhile (gdaki_ring_enter); the syncs order its acquire before the lanes' loads, and their stores
 * before its release. When others have handed over further WQEs and the last slot is the second one of a WQE of two, no WQE
 * begins there: an ordinary doorbell takes its place. So it does for what is asked for later.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV_SLOW void gdaki_announce_bf(struct gdaki_group g, struct doca_gpu_dev_verbs_qp *qp, uint64_t producer,
                                        const struct doca_gpu_dev_verbs_wqe *wqe, int asked_scope, uint32_t code_opt)
{
    int scope = gdaki_ring_scope(qp, asked_scope);
    struct gdaki_ringer r = {};
    uint64_t target = 0;
    bool rings = g.leads() && producer != 0 && !gdaki_cq_stopped(&qp->cq_sq) &&
                 gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi) < producer &&
                 gdaki_ring_enter<resource_sharing_mode>(qp, producer, &r);

    if (rings) {
        target = gdaki_ring_ready<resource_sharing_mode>(qp, r.asked);
        if (target <= r.announced || ((wqe == NULL || target != producer) &&
                                      !gdaki_wqe_slot_holds(qp, target - 1,
                                                            gdaki_load_ring_u64(gdaki_wqe_slot(qp, target - 1))))) {
            gdaki_ring_round<resource_sharing_mode>(qp, &r, scope, code_opt);
            target = 0;
        } else {
            gdaki_release_at(scope);
            gdaki_index_max<resource_sharing_mode>(&qp->sq_wqe_pi, target);
        }
    }
    target = g.from_leader(target);
    g.sync();
    if (target != 0) {
        bool own = wqe != NULL && target == producer; /* else somebody's later WQE is the last one */
        gdaki_blueflame_store(g, qp, own ? wqe : gdaki_wqe_slot(qp, target - 1));
        g.sync();
        if (rings) {
            gdaki_ring_with_record(qp, target, scope, code_opt);
            r.announced = target;
        }
    }
    if (rings && gdaki_ring_again<resource_sharing_mode>(qp, &r))
        gdaki_ring_rest<resource_sharing_mode>(qp, r, scope, code_opt);
}

/*
 * One thread hands over WQEs from..to - 1 and announces them. `settled`: see gdaki_reserve. On a quiet queue that is a
 * release, an atomic maximum nobody waits for, the request to ring, record, release, register, release, and the end of
 * ringing. False: the queue has failed, and the NIC will not hear of these WQEs.
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_SLOW bool gdaki_finish(struct doca_gpu_dev_verbs_qp *qp, uint64_t from, uint64_t to, bool settled, uint32_t code_opt)
{
    const int gpu = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
    bool rings = (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING) == 0;
    struct doca_gpu_dev_verbs_qp fixed;
    gdaki_fixed_for_ringing(&fixed, qp);
    bool with_record = rings && gdaki_handler<nic_handler>(&fixed) == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
    int scope = gdaki_ring_scope(&fixed, gpu);

    if (settled && with_record) {
        gdaki_hand_over_settled<resource_sharing_mode>(qp, to, scope);
        gdaki_announce_released<resource_sharing_mode>(qp, &fixed, to, scope, code_opt);
    } else if (gdaki_hand_over<resource_sharing_mode>(qp, from, to) != 0) {
        return false;
    } else if (with_record) {
        gdaki_announce_handed<resource_sharing_mode>(qp, to, scope, code_opt);
    } else if (rings) {
        return gdaki_announce<resource_sharing_mode, nic_handler>(qp, to, gpu, code_opt);
    }
    return true;
}

/* A run of the group has stored its WQEs from..to - 1. The leader's result is gdaki_finish's, the others' is true. */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_INLINE bool gdaki_finish_run(const struct gdaki_group &g, struct doca_gpu_dev_verbs_qp *qp, uint64_t from,
                                       uint64_t to, bool settled, uint32_t code_opt)
{
    if ((code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING) == 0 && g.size >= GDAKI_BF_LANES &&
        gdaki_handler<nic_handler>(qp) == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF) {
        bool handed = g.leads() && gdaki_hand_over<resource_sharing_mode>(qp, from, to) == 0;
        gdaki_announce_bf<resource_sharing_mode>(g, qp, handed ? to : 0, NULL, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU, code_opt);
        return !g.leads() || (handed && !gdaki_cq_stopped(&qp->cq_sq)); /* stopped: nothing was rung */
    }
    return !g.leads() || gdaki_finish<resource_sharing_mode, nic_handler>(qp, from, to, settled, code_opt);
}

/*
 * One thread that has the queue to itself: no votes. n WQEs, make(slot, index, k) writes the k-th. Returns the last
 * index, or GDAKI_TICKET_NONE if the queue is in error.
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER, class Make>
GDAKI_DEV_INLINE uint64_t gdaki_post_alone(struct doca_gpu_dev_verbs_qp *qp, uint64_t n, uint32_t code_opt, Make make,
                                           struct doca_gpu_dev_verbs_qp *also = NULL)
{
    uint64_t ring = qp->sq_wqe_num, last = GDAKI_TICKET_NONE;
    for (uint64_t base = 0; base < n;) {
        uint64_t run = n - base < ring ? n - base : ring;
        bool settled;
        uint64_t first = gdaki_reserve<resource_sharing_mode, nic_handler>(qp, run, code_opt, &settled, also);
        if (first == GDAKI_TICKET_NONE)
            return GDAKI_TICKET_NONE;
        for (uint64_t i = 0; i < run; i++)
            make(gdaki_wqe_slot(qp, first + i), first + i, base + i);
        last = first + run - 1;
        if (!gdaki_finish<resource_sharing_mode, nic_handler>(qp, first, last + 1, settled, code_opt))
            return GDAKI_TICKET_NONE;
        base += run;
    }
    return last;
}

/*
 * The same for all lanes of a group; counts may differ. The group's WQEs are numbered through, lane by lane, and cut into
 * runs of at most a ring, also in the middle of a lane's. Returns each lane's own last index, or GDAKI_TICKET_NONE when the
 * queue failed before all of the lane's WQEs were posted; those in front may have been made.
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER, class Make>
GDAKI_DEV_INLINE uint64_t gdaki_post_group(const struct gdaki_group &g, struct doca_gpu_dev_verbs_qp *qp, uint64_t n,
                                           uint32_t code_opt, Make make, struct doca_gpu_dev_verbs_qp *also)
{
    const struct gdaki_group_share share = gdaki_group_prefix(g, n);
    uint64_t ring = qp->sq_wqe_num, own = share.before, total = share.total, last = GDAKI_TICKET_NONE;
    for (uint64_t base = 0; base < total;) {
        uint64_t run = total - base < ring ? total - base : ring, first = 0;
        bool settled = false;
        if (g.leads())
            first = gdaki_reserve<resource_sharing_mode, nic_handler>(qp, run, code_opt, &settled, also);
        first = g.from_leader(first);
        if (first == GDAKI_TICKET_NONE) /* lanes that were done with earlier runs keep their tickets */
            return own + n <= base ? last : GDAKI_TICKET_NONE;
        uint64_t lo = own > base ? own : base, hi = own + n < base + run ? own + n : base + run;
        for (uint64_t i = lo; i < hi; i++) {
            last = first + (i - base);
            make(gdaki_wqe_slot(qp, last), last, i - own);
        }
        g.sync(); /* orders the lanes' WQEs before the leader's release */
        bool told = gdaki_finish_run<resource_sharing_mode, nic_handler>(g, qp, first, first + run, settled, code_opt);
        if (!g.all(told)) /* the vote also brings the lanes together: those that leave so are likely to post together again */
            return own + n <= base ? last : GDAKI_TICKET_NONE;
        base += run;
    }
    return last;
}

/*
 * Warp scope shares a queue among the lanes at least, so EXCLUSIVE there means "this warp": state is kept at block scope,
 * because lanes that diverge post as several groups.
 */
template <GDAKI_P_SHARING>
struct gdaki_warp_sharing {
    static constexpr enum doca_gpu_dev_verbs_resource_sharing_mode mode =
        resource_sharing_mode == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
            ? DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
            : resource_sharing_mode;
};

/* Thread scope: alone under EXCLUSIVE, else with the lanes that post to this queue at this call. */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER, class Make>
GDAKI_DEV_INLINE uint64_t gdaki_post(struct doca_gpu_dev_verbs_qp *qp, uint64_t n, uint32_t code_opt, Make make,
                                     struct doca_gpu_dev_verbs_qp *also = NULL)
{
    if (gdaki_sharing<resource_sharing_mode>::exclusive)
        return gdaki_post_alone<resource_sharing_mode, nic_handler>(qp, n, code_opt, make, also);
    struct gdaki_group g = gdaki_group_by(qp, code_opt);
    return gdaki_post_group<resource_sharing_mode, nic_handler>(g, qp, n, code_opt, make, also);
}

/* Warp scope: the same with state shared by the warp at least. A partial warp posts its active lanes. */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER, class Make>
GDAKI_DEV_INLINE uint64_t gdaki_post_warp(struct doca_gpu_dev_verbs_qp *qp, uint64_t n, uint32_t code_opt, Make make)
{
    return gdaki_post<gdaki_warp_sharing<resource_sharing_mode>::mode, nic_handler>(qp, n, code_opt, make);
}

#endif
