/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handing out ring slots, and waiting for WQEs. gdaki: C++ only.
 *
 * No wait depends on the waiter. A reservation [base, base + n), n at most the ring, waits for WQE base + n - 1 - ring,
 * which is below base: it was reserved earlier, by somebody who waits, if at all, for something earlier still. What is
 * handed over but not announced (SKIP_DB_RINGING) the waiter announces itself, each turn, since it may have been handed
 * over after the wait began.
 */
#ifndef GDAKI_DEV_RESERVE_CUH
#define GDAKI_DEV_RESERVE_CUH

#include "gdaki_dev_group.cuh"
#include "gdaki_dev_ring.cuh"

#define GDAKI_FLUSH_NS 1000000000ull /* how long hand-written code waits for a NIC that has failed the queue to flush it */

/* One look at a queue's CQ for WQE slot `index`, also the second slot of a WQE of two. `looked`: 0 before the first look. */
template <GDAKI_P_SHARING>
GDAKI_DEV int gdaki_poll_slot(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, bool collapsed, uint64_t *next,
                              uint64_t *looked)
{
    int status = gdaki_poll<resource_sharing_mode>(&qp->cq_sq, index, collapsed, next);
    if (status != EBUSY || !collapsed || !gdaki_second_slot_done(qp, index, *next, looked))
        return status;
    *next = index + 1;
    return 0;
}

/*
 * Waits for a WQE, announcing on `qp`, and on `also` where not NULL (its completions can depend on that queue). 0, -EIO,
 * or EBUSY past the deadline (0: none).
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_SLOW int gdaki_wait_index(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint64_t deadline_ns,
                                      struct doca_gpu_dev_verbs_qp *also = NULL)
{
    struct doca_gpu_dev_verbs_cq *cq = &qp->cq_sq;
    bool collapsed = gdaki_cq_is_collapsed(cq);
    uint64_t next, looked = 0;
    struct gdaki_check_watch watch = {};

    gdaki_check_poll(cq, index);
    for (;;) {
        int status = gdaki_poll_slot<resource_sharing_mode>(qp, index, collapsed, &next, &looked);
        if (status == 0)
            gdaki_consume<resource_sharing_mode>(cq, next);
        if (status == -EIO)
            gdaki_announce_ready<resource_sharing_mode, nic_handler>(qp);
        if (status != EBUSY || gdaki_expired(deadline_ns))
            return status;
        if (also != NULL)
            gdaki_announce_ready<resource_sharing_mode, nic_handler>(also);
        gdaki_announce_ready<resource_sharing_mode, nic_handler>(qp);
        gdaki_check_waiting(qp, &watch, index);
        gdaki_relax();
    }
}

template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_SLOW int gdaki_wait_slot_slow(struct doca_gpu_dev_verbs_qp *qp, uint64_t last, uint64_t deadline_ns,
                                        struct doca_gpu_dev_verbs_qp *also)
{
    uint64_t ring = qp->sq_wqe_num, next, looked = 0;
    struct gdaki_check_watch watch = {};
    bool collapsed = gdaki_cq_is_collapsed(&qp->cq_sq);
    for (;;) {
        int status = gdaki_poll_slot<resource_sharing_mode>(qp, last - ring, collapsed, &next, &looked);
        if (status == 0)
            gdaki_consume<resource_sharing_mode>(&qp->cq_sq, next);
        if (status == -EIO)
            gdaki_announce_ready<resource_sharing_mode, nic_handler>(qp);
        if (status != EBUSY || gdaki_expired(deadline_ns))
            return status;
        if (also != NULL)
            gdaki_announce_ready<resource_sharing_mode, nic_handler>(also);
        gdaki_announce_ready<resource_sharing_mode, nic_handler>(qp);
        if (gdaki_check_stuck(qp, &watch, last - ring))
            gdaki_cq_fail(&qp->cq_sq, GDAKI_ERROR_SOFTWARE, last);
        gdaki_relax();
    }
}

/* Waits until the slot of `last` is free, given that everything below `done` was seen complete. */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV int gdaki_wait_slot_from(struct doca_gpu_dev_verbs_qp *qp, uint64_t ring, uint64_t last, uint64_t done,
                                   uint64_t deadline_ns, struct doca_gpu_dev_verbs_qp *also)
{
    if (last < ring)
        return 0;
    if (last - ring < done) {
        /* orders the NIC's reads of the slot, which cqe_ci says are over, before the new WQE's stores */
        gdaki_fence_control(gdaki_sharing<resource_sharing_mode>::scope);
        return 0;
    }
    return gdaki_wait_slot_slow<resource_sharing_mode, nic_handler>(qp, last, deadline_ns, also);
}

/* Waits until the slot of `last` is free. 0, -EIO, or EBUSY past the deadline. */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV int gdaki_wait_slot(struct doca_gpu_dev_verbs_qp *qp, uint64_t last, uint64_t deadline_ns,
                              struct doca_gpu_dev_verbs_qp *also = NULL)
{
    uint64_t done = gdaki_index_load<resource_sharing_mode>(&qp->cq_sq.cqe_ci);
    return gdaki_wait_slot_from<resource_sharing_mode, nic_handler>(qp, qp->sq_wqe_num, last, done, deadline_ns, also);
}

/*
 * n slots for one caller (a thread, or a leader for its group), n at most the ring. Index of the first, or
 * GDAKI_TICKET_NONE when the queue is in error; then the slots are given back. Whoever reserved meanwhile finds itself
 * behind slots that nobody hands over, and leaves with the error.
 *
 * Everything that has to be known is loaded before the fetch-add is waited for: one round trip in all. The indices only
 * grow, so values from before are right, if late. *settled: all slots in front had been handed over by then.
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_INLINE uint64_t gdaki_reserve(struct doca_gpu_dev_verbs_qp *qp, uint64_t n, uint32_t code_opt, bool *settled,
                                        struct doca_gpu_dev_verbs_qp *also = NULL)
{
    uint64_t error = gdaki_load_u64(&qp->cq_sq.gdaki_error, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    uint64_t ready = gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index);
    uint64_t done = gdaki_index_load<resource_sharing_mode>(&qp->cq_sq.cqe_ci);
    uint64_t ring = qp->sq_wqe_num;
    uint64_t first = gdaki_index_fetch_add<resource_sharing_mode>(&qp->sq_rsvd_index, n), last = first + n - 1;

    *settled = ready >= first;
    if (error != 0) {
        (void)gdaki_index_fetch_add<resource_sharing_mode>(&qp->sq_rsvd_index, -n);
        gdaki_announce_ready<resource_sharing_mode, nic_handler>(qp);
        return GDAKI_TICKET_NONE;
    }
    if ((code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK) != 0) {
#ifdef GDAKI_CPU
        uint64_t next, looked = 0;
        if (last >= ring)
            gdaki_check_overwrite(qp, last,
                                  gdaki_poll_slot<resource_sharing_mode>(qp, last - ring, gdaki_cq_is_collapsed(&qp->cq_sq),
                                                                         &next, &looked));
#endif
        return first;
    }
    return gdaki_wait_slot_from<resource_sharing_mode, nic_handler>(qp, ring, last, done, 0, also) == 0 ? first
                                                                                                     : GDAKI_TICKET_NONE;
}

/*
 * A reservation that no ring can hold would wait for itself. The queue is stopped instead, once it has drained so that
 * what the caller writes into slots meets no WQE in use.
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_SLOW uint64_t gdaki_refuse_reservation(struct doca_gpu_dev_verbs_qp *qp, uint64_t count)
{
    gdaki_check_reservation(qp, count);
    uint64_t ready = gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index);
    if (ready != 0)
        (void)gdaki_wait_index<resource_sharing_mode, nic_handler>(qp, ready - 1, 0);
    gdaki_cq_fail(&qp->cq_sq, GDAKI_ERROR_SOFTWARE, ready);
    return ready;
}

/* Has the NIC completed or flushed WQE `index`? For a queue in error, where polls no longer tell. */
template <GDAKI_P_SHARING>
GDAKI_DEV bool gdaki_flushed(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint64_t *looked)
{
    struct doca_gpu_dev_verbs_cq *cq = &qp->cq_sq;
    uint64_t ci = gdaki_index_load<resource_sharing_mode>(&cq->cqe_ci), c = index + cq->cqe_rsvd;
    bool collapsed = gdaki_cq_is_collapsed(cq);
    uint32_t word = gdaki_load_u32_sys((collapsed ? cq->cqe_daddr : gdaki_cqe_at(cq, c)) + GDAKI_CQE_WORD_OFFSET);
    if (index < ci)
        return true;
    if (!collapsed)
        return gdaki_cqe_is_valid(word, c, cq->cqe_num);
    uint64_t next = gdaki_cqe_collapsed_next(word, ci);
    return index < next || gdaki_second_slot_done(qp, index, next, looked);
}

/*
 * A queue in error, and a caller who is about to write into the slot of `last`, since hand-written code always does: waits
 * until the NIC has flushed what it knows of there, so that its way to the end of the queue meets no half of another WQE.
 * A slot that nobody has handed over it does not know of.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV_SLOW void gdaki_wait_flushed(struct doca_gpu_dev_verbs_qp *qp, uint64_t last)
{
    uint64_t ring = qp->sq_wqe_num, looked = 0, deadline_ns = gdaki_deadline(GDAKI_FLUSH_NS);
    while (last >= ring && !gdaki_cq_stopped(&qp->cq_sq) &&
           last - ring < gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi) &&
           !gdaki_flushed<resource_sharing_mode>(qp, last - ring, &looked) && !gdaki_expired(deadline_ns))
        gdaki_relax();
}

/* Public reservation by one thread: slots are handed out also on a queue in error. */
template <GDAKI_P_SHARING>
GDAKI_DEV uint64_t gdaki_reserve_single(struct doca_gpu_dev_verbs_qp *qp, uint64_t count, uint32_t code_opt)
{
    const enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
    if (count > qp->sq_wqe_num)
        return gdaki_refuse_reservation<resource_sharing_mode, nic_handler>(qp, count);
    bool settled;
    uint64_t first = gdaki_reserve<resource_sharing_mode, nic_handler>(qp, count, code_opt, &settled);
    if (first == GDAKI_TICKET_NONE) {
        first = gdaki_index_load<resource_sharing_mode>(&qp->sq_rsvd_index);
        gdaki_wait_flushed<resource_sharing_mode>(qp, first + count - 1);
    }
    return first;
}

/*
 * Public reservation by whoever of a warp is here: one fetch-add and one wait a run, slots contiguous and in lane order,
 * since hand-written kernels take the last thread's index for the highest. A run holds as many lanes as fit in the ring;
 * the others go round again while the lanes of the run are free to leave, build and submit.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV_INLINE uint64_t gdaki_reserve_together(struct doca_gpu_dev_verbs_qp *qp, uint64_t count, uint32_t code_opt)
{
    for (;;) {
        struct gdaki_group g = gdaki_group_by(qp, code_opt);
        uint64_t before = gdaki_group_prefix(g, count).before;
        uint64_t ring = qp->sq_wqe_num;
        bool fits = before + count <= ring || before == 0; /* the first lane always goes */
        uint32_t run_mask = __ballot_sync(g.mask, fits);
        if (!fits)
            continue;
        struct gdaki_group run = gdaki_group_of(run_mask);
        uint64_t sum = __shfl_sync(run.mask, (unsigned long long)(before + count), 31 - __clz((int)run.mask));
        uint64_t first = 0;
        if (run.leads())
            first = gdaki_reserve_single<resource_sharing_mode>(qp, sum, code_opt);
        return run.from_leader(first) + before;
    }
}

#endif
