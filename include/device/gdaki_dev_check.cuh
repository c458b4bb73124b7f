/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker: mistakes of a kernel that hardware would not report and that end in a hang or in wrong data. On `cpu` only;
 * empty for nvcc. Each mistake is reported once a queue, through gdaki_cpu_check_report. gdaki: C++ only.
 *
 * Its marks lie in reserved bytes that are zero otherwise: cq.reserved1[0] what the queue holds, reserved1[1] what has been
 * reported; and in the signature byte of hand-built WQEs, which the device ignores.
 */
#ifndef GDAKI_DEV_CHECK_CUH
#define GDAKI_DEV_CHECK_CUH

#include "gdaki_dev.cuh"

#ifdef GDAKI_CPU

enum gdaki_check_holds { GDAKI_CHECK_UNSIGNALLED = 1, GDAKI_CHECK_TWO_SLOTS = 2 };

enum gdaki_check_mistake {
    GDAKI_CHECK_POLL_BY_INDEX = 1 << 0,
    GDAKI_CHECK_UNWRITTEN = 1 << 1,
    GDAKI_CHECK_NOT_HIGHEST = 1 << 2,
    GDAKI_CHECK_TOO_MANY = 1 << 3,
    GDAKI_CHECK_OVERWRITE = 1 << 4,
    GDAKI_CHECK_STUCK = 1 << 5,
    GDAKI_CHECK_NOT_POSTED = 1 << 6,
};

#define GDAKI_CHECK_HAND_BUILT 1u /* in the signature byte */
#ifndef GDAKI_CHECK_STUCK_NS
#define GDAKI_CHECK_STUCK_NS 5000000000ull
#endif
#define GDAKI_CHECK_STUCK_TURNS 1000u

/* True for the first reporter of this mistake on this queue. */
static inline bool gdaki_check_first(struct doca_gpu_dev_verbs_cq *cq, uint8_t mistake)
{
    return (__atomic_fetch_or(&cq->reserved1[1], mistake, __ATOMIC_RELAXED) & mistake) == 0;
}

static inline void gdaki_check_stamp(struct gdaki_wqe_image *w)
{
    w->word[1] |= GDAKI_CHECK_HAND_BUILT;
}

/*
 * A CQE was found by index, but it is another WQE's: not one signalled CQE a slot. A WQE of a later pass with the same owner
 * bit is no mistake: the slot was used again after its CQE was there, while this poll was slow.
 */
static inline void gdaki_check_counter(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, uint32_t word)
{
    const uint16_t ahead = (uint16_t)(gdaki_cqe_counter(word) - (uint16_t)index);
    if ((ahead & (2 * cq->cqe_num - 1)) == 0 || !gdaki_check_first(cq, GDAKI_CHECK_POLL_BY_INDEX))
        return;
    gdaki_cpu_check_report("CQ 0x%x: polled for WQE %llu, but the CQE there is that of WQE counter %u: polling a regular CQ "
                           "by index needs one signalled CQE a slot (no unsignalled and no two-slot WQEs)",
                           cq->cq_num, (unsigned long long)index, gdaki_cqe_counter(word));
}

static inline void gdaki_check_poll(struct doca_gpu_dev_verbs_cq *cq, uint64_t index)
{
    uint8_t holds = __atomic_load_n(&cq->reserved1[0], __ATOMIC_RELAXED);
    if (holds == 0 || cq->gdaki_kind == GDAKI_CQ_KIND_COLLAPSED || !gdaki_check_first(cq, GDAKI_CHECK_POLL_BY_INDEX))
        return;
    gdaki_cpu_check_report("CQ 0x%x: polled for WQE %llu, but its queue was given%s%s WQEs: polling a regular CQ by index "
                           "needs one signalled CQE a slot; use a collapsed CQ",
                           cq->cq_num, (unsigned long long)index, holds & GDAKI_CHECK_UNSIGNALLED ? " unsignalled" : "",
                           holds & GDAKI_CHECK_TWO_SLOTS ? " two-slot" : "");
}

/* First two words of a slot's control segment. */
static inline void gdaki_check_ctrl(const struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint64_t ctrl[2])
{
    const uint64_t *slot = (const uint64_t *)gdaki_wqe_slot(qp, index);
    ctrl[0] = gdaki_load_ring_u64(slot);
    ctrl[1] = gdaki_load_ring_u64(slot + 1);
}

static inline bool gdaki_check_in_error(const struct doca_gpu_dev_verbs_qp *qp)
{
    return gdaki_load_u64(&qp->cq_sq.gdaki_error, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU) != 0;
}

/* Slots from..to - 1 are said to be written by hand-written code. */
static inline void gdaki_check_published(struct doca_gpu_dev_verbs_qp *qp, uint64_t from, uint64_t to)
{
    if (gdaki_check_in_error(qp)) /* slots may have been abandoned, and nothing is announced any more */
        return;
    if (to - from > qp->sq_wqe_num)
        from = to - qp->sq_wqe_num;
    for (uint64_t i = from, slots; i < to; i += slots) {
        uint64_t ctrl[2];
        gdaki_check_ctrl(qp, i, ctrl);
        slots = 1;
        if (!gdaki_wqe_slot_holds(qp, i, ctrl[0])) {
            if (gdaki_check_first(&qp->cq_sq, GDAKI_CHECK_UNWRITTEN))
                gdaki_cpu_check_report("QP 0x%x: WQEs up to %llu were handed over, but slot %llu of them has not been written",
                                       qp->sq_num, (unsigned long long)(to - 1), (unsigned long long)i);
            continue;
        }
        uint32_t segs = gdaki_bswap32((uint32_t)(ctrl[0] >> 32)) & 0x3f, flags = (uint32_t)ctrl[1] >> 24;
        uint8_t holds = 0;
        if (segs > 4) {
            holds |= GDAKI_CHECK_TWO_SLOTS;
            slots = (segs + 3) / 4;
        }
        if ((flags & 0x0c) != DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE)
            holds |= GDAKI_CHECK_UNSIGNALLED;
        if (holds != 0)
            __atomic_fetch_or(&qp->cq_sq.reserved1[0], holds, __ATOMIC_RELAXED);
    }
}

/*
 * submit(producer) by a kernel that marks nothing ready: hand-built WQEs behind `producer` mean that the index it took for
 * the highest is not.
 */
static inline void gdaki_check_highest(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer)
{
    if (gdaki_check_in_error(qp))
        return;
    uint64_t rsvd = gdaki_load_u64(&qp->sq_rsvd_index, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    uint64_t ready = gdaki_load_u64(&qp->sq_ready_index, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    for (uint64_t i = ready > producer ? ready : producer; i < rsvd && i - producer < qp->sq_wqe_num; i++) {
        uint64_t ctrl[2];
        gdaki_check_ctrl(qp, i, ctrl);
        if (!gdaki_wqe_slot_holds(qp, i, ctrl[0]) || (ctrl[1] & 0xff) != GDAKI_CHECK_HAND_BUILT)
            continue;
        if (gdaki_check_first(&qp->cq_sq, GDAKI_CHECK_NOT_HIGHEST))
            gdaki_cpu_check_report("QP 0x%x: submit(%llu), but hand-built WQE %llu lies behind and is not announced: the "
                                   "last thread's index is the highest only within one warp",
                                   qp->sq_num, (unsigned long long)producer, (unsigned long long)i);
        return;
    }
}

static inline void gdaki_check_reservation(struct doca_gpu_dev_verbs_qp *qp, uint64_t count)
{
    if (count > qp->sq_wqe_num && gdaki_check_first(&qp->cq_sq, GDAKI_CHECK_TOO_MANY))
        gdaki_cpu_check_report("QP 0x%x: a reservation of %llu slots does not fit in a ring of %u: the queue is stopped",
                               qp->sq_num, (unsigned long long)count, qp->sq_wqe_num);
}

static inline void gdaki_check_submission(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, uint64_t announced)
{
    if (gdaki_check_first(&qp->cq_sq, GDAKI_CHECK_TOO_MANY))
        gdaki_cpu_check_report("QP 0x%x: submit(%llu) posts beyond the ring of %u: WQEs up to %llu only are announced; the "
                               "queue is stopped",
                               qp->sq_num, (unsigned long long)producer, qp->sq_wqe_num, (unsigned long long)announced);
}

/* Availability was not checked, by request: is the slot of `last` still in use? `status`: a look at its last user. */
static inline void gdaki_check_overwrite(struct doca_gpu_dev_verbs_qp *qp, uint64_t last, int status)
{
    if (status == EBUSY && gdaki_check_first(&qp->cq_sq, GDAKI_CHECK_OVERWRITE))
        gdaki_cpu_check_report("QP 0x%x: WQE %llu posts beyond the ring of %u: WQE %llu in that slot has not completed "
                               "(SKIP_AVAILABILITY_CHECK)",
                               qp->sq_num, (unsigned long long)last, qp->sq_wqe_num,
                               (unsigned long long)(last - qp->sq_wqe_num));
}

/* Watches a thread that waits. */
struct gdaki_check_watch {
    uint64_t since_ns, ready, consumed;
    uint32_t turns;
};

/* True when WQE `wanted` has not been handed over, and nothing has moved on the queue, for so long that it never will be. */
static inline bool gdaki_check_idle(struct doca_gpu_dev_verbs_qp *qp, struct gdaki_check_watch *w, uint64_t wanted)
{
    uint64_t ready = gdaki_load_u64(&qp->sq_ready_index, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    uint64_t consumed = gdaki_load_u64(&qp->cq_sq.cqe_ci, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    if (w->turns++ == 0 || ready != w->ready || consumed != w->consumed || wanted < ready) {
        w->since_ns = gdaki_now_ns();
        w->ready = ready;
        w->consumed = consumed;
        w->turns = 1;
        return false;
    }
    return w->turns >= GDAKI_CHECK_STUCK_TURNS && gdaki_now_ns() - w->since_ns >= GDAKI_CHECK_STUCK_NS;
}

/* The same of a slot that a reservation waits for. Reported by the first. */
static inline bool gdaki_check_stuck(struct doca_gpu_dev_verbs_qp *qp, struct gdaki_check_watch *w, uint64_t wanted)
{
    if (!gdaki_check_idle(qp, w, wanted))
        return false;
    if (gdaki_check_first(&qp->cq_sq, GDAKI_CHECK_STUCK))
        gdaki_cpu_check_report("QP 0x%x: a reservation waits for WQE %llu, whose slot was reserved and never handed over: "
                               "the kernel posts beyond the ring of %u; the queue is stopped",
                               qp->sq_num, (unsigned long long)wanted, qp->sq_wqe_num);
    return true;
}

/* A wait for a WQE that nobody has posted is told, and goes on: another kernel may still post it. */
static inline void gdaki_check_waiting(struct doca_gpu_dev_verbs_qp *qp, struct gdaki_check_watch *w, uint64_t wanted)
{
    if (!gdaki_check_idle(qp, w, wanted) || !gdaki_check_first(&qp->cq_sq, GDAKI_CHECK_NOT_POSTED))
        return;
    uint64_t rsvd = gdaki_load_u64(&qp->sq_rsvd_index, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    gdaki_cpu_check_report("QP 0x%x: a wait for WQE %llu has seen nothing happen for %llu s, and that WQE has not been %s: "
                           "%llu slots are reserved, %llu handed over",
                           qp->sq_num, (unsigned long long)wanted, (unsigned long long)(GDAKI_CHECK_STUCK_NS / 1000000000),
                           wanted < rsvd ? "handed over, only reserved" : "posted", (unsigned long long)rsvd,
                           (unsigned long long)w->ready);
}

#else

struct gdaki_check_watch {
    uint32_t turns;
};

GDAKI_DEV void gdaki_check_stamp(struct gdaki_wqe_image *)
{
}
GDAKI_DEV void gdaki_check_counter(struct doca_gpu_dev_verbs_cq *, uint64_t, uint32_t)
{
}
GDAKI_DEV void gdaki_check_poll(struct doca_gpu_dev_verbs_cq *, uint64_t)
{
}
GDAKI_DEV void gdaki_check_published(struct doca_gpu_dev_verbs_qp *, uint64_t, uint64_t)
{
}
GDAKI_DEV void gdaki_check_highest(struct doca_gpu_dev_verbs_qp *, uint64_t)
{
}
GDAKI_DEV void gdaki_check_reservation(struct doca_gpu_dev_verbs_qp *, uint64_t)
{
}
GDAKI_DEV void gdaki_check_submission(struct doca_gpu_dev_verbs_qp *, uint64_t, uint64_t)
{
}
GDAKI_DEV bool gdaki_check_stuck(struct doca_gpu_dev_verbs_qp *, struct gdaki_check_watch *, uint64_t)
{
    return false;
}
GDAKI_DEV void gdaki_check_waiting(struct doca_gpu_dev_verbs_qp *, struct gdaki_check_watch *, uint64_t)
{
}

#endif
#endif
