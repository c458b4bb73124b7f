/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a queue is told to the NIC: doorbells, records, the counter of the CPU-assisted mode. gdaki: C++ only.
 *
 * An announcement makes every WQE below a producer index known to the NIC. Two things hold for all handlers:
 *  - It covers whatever is handed over (sq_ready_index) by then, by whomever: a thread that finds sq_wqe_pi at or past
 *    its own index returns, since the thread that moved it is about to ring, or has rung, for both.
 *  - Before the register store, the ringing thread acquires at the sharing scope behind its load of sq_ready_index, then
 *    releases at GPU scope or wider. The acquire makes the other threads' WQEs its own in the causality order, the
 *    release makes them the NIC's. The release is GPU wide even under CTA sharing, since the NIC is outside the block.
 *
 * A queue in error is rung like any other: the NIC flushes what it is told of, with a CQE for each WQE, and others may wait
 * for those (a WAIT on another queue, the CPU). So whatever is handed over is announced: at once, or, with SKIP_DB_RINGING,
 * by the next post to the queue or wait for it, whether that meets the error or not.
 */
#ifndef GDAKI_DEV_RING_CUH
#define GDAKI_DEV_RING_CUH

#include "doca_gpunetio_dev_verbs_cq.cuh"
#include "gdaki_dev_door.cuh"

#define GDAKI_ERROR_TURNS 16u /* of a spin on an index, from one look at the error word to the next */

/* A caller's scope is a minimum: SYS where a ring or payload may lie in host memory, GPU at least for announcements. */
GDAKI_DEV int gdaki_widen(const struct doca_gpu_dev_verbs_qp *qp, int asked)
{
    if (qp->mem_type != DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU || (qp->gdaki_flags & GDAKI_QP_FLAG_HOST_PAYLOAD) != 0)
        return DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS;
    return asked;
}

GDAKI_DEV int gdaki_ring_scope(const struct doca_gpu_dev_verbs_qp *qp, int asked)
{
    return gdaki_widen(qp, asked < DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU ? asked : DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
}

/* Run-time scope to compile-time scope; only SYS and narrower ones that were asked for remain. */
GDAKI_DEV void gdaki_release_at(int scope)
{
    if (scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS)
        gdaki_fence_release(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    else if (scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU)
        gdaki_fence_release(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    else if (scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA)
        gdaki_fence_release(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA);
}

GDAKI_DEV void gdaki_sc_at(int scope)
{
    if (scope == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS)
        gdaki_fence_sc(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    else
        gdaki_fence_sc(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
}

GDAKI_DEV uint64_t gdaki_qp_doorbell(const struct doca_gpu_dev_verbs_qp *qp, uint64_t producer)
{
    return gdaki_doorbell_value(qp->sq_num_shift8_be, producer);
}

/* Release, then the register; ASYNC_STORE_RELEASE makes one instruction of both where there is one. */
GDAKI_DEV void gdaki_write_register(uint64_t *reg, uint64_t value, int scope, uint32_t code_opt)
{
    if ((code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) != 0) {
        doca_gpu_dev_verbs_async_store_release(reg, value);
        return;
    }
    gdaki_release_at(scope);
    gdaki_store_mmio_u64(reg, value);
}

GDAKI_DEV void gdaki_write_record(__be32 *record, uint64_t producer)
{
    gdaki_store_u32((uint32_t *)record, gdaki_record_value(producer), DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
}

/* The index to announce: at least `producer`, and all that is handed over. Ends with the acquire that this needs. */
template <GDAKI_P_SHARING>
GDAKI_DEV uint64_t gdaki_ring_target(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer)
{
    uint64_t ready = gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index);
    gdaki_fence_acquire(gdaki_sharing<resource_sharing_mode>::scope);
    return ready > producer ? ready : producer;
}

/* Moves sq_wqe_pi; false if it has been moved past `target` meanwhile. */
template <GDAKI_P_SHARING>
GDAKI_DEV bool gdaki_ring_claim(struct doca_gpu_dev_verbs_qp *qp, uint64_t target)
{
    return gdaki_index_fetch_max<resource_sharing_mode>(&qp->sq_wqe_pi, target) < target;
}

/* Record, then register, each behind a release: the caller has released the WQEs. */
GDAKI_DEV void gdaki_ring_with_record(const struct doca_gpu_dev_verbs_qp *fixed, uint64_t producer, int scope,
                                      uint32_t code_opt)
{
    gdaki_write_record(fixed->sq_dbrec, producer);
    gdaki_write_register(fixed->sq_db, gdaki_qp_doorbell(fixed, producer), scope, code_opt);
}

/* One round of the thread that rings, with an acquire of what it announces. */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_ring_round(struct doca_gpu_dev_verbs_qp *qp, struct gdaki_ringer *r, int scope, uint32_t code_opt)
{
    uint64_t target = gdaki_ring_ready<resource_sharing_mode>(qp, r->asked);
    if (target <= r->announced)
        return;
    gdaki_release_at(scope);
    gdaki_index_max<resource_sharing_mode>(&qp->sq_wqe_pi, target);
    gdaki_ring_with_record(qp, target, scope, code_opt);
    r->announced = target;
}

/* Rounds until nobody asks for more. */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_ring_rest(struct doca_gpu_dev_verbs_qp *qp, struct gdaki_ringer r, int scope, uint32_t code_opt)
{
    do {
        gdaki_ring_round<resource_sharing_mode>(qp, &r, scope, code_opt);
    } while (gdaki_ring_again<resource_sharing_mode>(qp, &r));
}

/*
 * Register and record, for WQEs below `producer` that this thread has acquired, and released at `scope`. `fixed`: the
 * descriptor's constants, from the queue itself or read earlier (gdaki_fixed_for_ringing).
 */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_announce_released(struct doca_gpu_dev_verbs_qp *qp, const struct doca_gpu_dev_verbs_qp *fixed,
                                       uint64_t producer, int scope, uint32_t code_opt)
{
    struct gdaki_ringer r;
    if (gdaki_sharing<resource_sharing_mode>::exclusive) {
        gdaki_index_max<resource_sharing_mode>(&qp->sq_wqe_pi, producer);
        gdaki_ring_with_record(fixed, producer, scope, code_opt);
        return;
    }
    if (!gdaki_ring_enter<resource_sharing_mode>(qp, producer, &r))
        return;
    if (r.announced < producer) {
        gdaki_index_max<resource_sharing_mode>(&qp->sq_wqe_pi, producer);
        gdaki_ring_with_record(fixed, producer, scope, code_opt);
        r.announced = producer;
    }
    if (gdaki_ring_again<resource_sharing_mode>(qp, &r))
        gdaki_ring_rest<resource_sharing_mode>(qp, r, scope, code_opt);
}

/* The same for WQEs that have been handed over, by whomever. */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_announce_handed(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, int scope, uint32_t code_opt)
{
    struct gdaki_ringer r;
    if (gdaki_sharing<resource_sharing_mode>::exclusive) {
        uint64_t target = gdaki_ring_target<resource_sharing_mode>(qp, producer);
        gdaki_release_at(scope);
        gdaki_announce_released<resource_sharing_mode>(qp, qp, target, scope, code_opt);
    } else if (gdaki_ring_enter<resource_sharing_mode>(qp, producer, &r)) {
        gdaki_ring_rest<resource_sharing_mode>(qp, r, scope, code_opt);
    }
}

/* The same where it may have been done already. */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_announce_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, int scope, uint32_t code_opt)
{
    if (gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi) < producer)
        gdaki_announce_handed<resource_sharing_mode>(qp, producer, scope, code_opt);
}

/*
 * Register only, no lock: a slower thread's smaller index could land last and stay there. So everybody looks at the
 * index again after the store, and rings again if it moved. Sequentially consistent fences on both sides (between moving
 * sq_wqe_pi and the store, and between the store and the second look) exclude that each misses the other.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV_SLOW void gdaki_announce_no_dbr(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, int scope,
                                            uint32_t code_opt)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    if (gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi) >= producer)
        return;
    uint64_t target = gdaki_ring_target<resource_sharing_mode>(qp, producer);
    if (!gdaki_ring_claim<resource_sharing_mode>(qp, target))
        return;
    if (sharing::exclusive) {
        gdaki_write_register(qp->sq_db, gdaki_qp_doorbell(qp, target), scope, code_opt);
    } else {
        uint64_t now = target;
        do {
            target = now;
            gdaki_sc_at(scope); /* also the release of everything below target */
            gdaki_store_mmio_u64(qp->sq_db, gdaki_qp_doorbell(qp, target));
            gdaki_sc_at(scope);
            now = gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi);
            gdaki_fence_acquire(sharing::scope); /* `now` may cover more WQEs of others */
        } while (now > target);
    }
}

GDAKI_DEV void gdaki_store_counter(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, bool exclusive)
{
    if (exclusive)
        gdaki_store_u64(qp->sq_db, producer, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    else
        gdaki_max_u64(qp->sq_db, producer, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
}

/* CPU-assisted: a counter that the CPU follows, then sq_wqe_pi, so that whoever sees it knows the counter is there. */
template <GDAKI_P_SHARING>
GDAKI_DEV_SLOW void gdaki_announce_proxy(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, int scope)
{
    if (gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi) >= producer)
        return;
    uint64_t target = gdaki_ring_target<resource_sharing_mode>(qp, producer);
    gdaki_release_at(scope);
    gdaki_store_counter(qp, target, gdaki_sharing<resource_sharing_mode>::exclusive);
    gdaki_index_max<resource_sharing_mode>(&qp->sq_wqe_pi, target);
}

/*
 * Who rings. What sq_db points to is decided at export, so a counter is never used as a register nor the reverse; beyond
 * that a template value is honoured. A queue whose exporter left the field 0 goes by the template value alone.
 */
template <GDAKI_P_HANDLER>
GDAKI_DEV enum doca_gpu_dev_verbs_nic_handler gdaki_handler(const struct doca_gpu_dev_verbs_qp *qp)
{
    uint32_t queue = qp->nic_handler;
    if ((queue & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_CPU_PROXY) != 0 ||
        (queue == 0 && nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY))
        return DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
    if ((queue & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_NO_DBR) != 0 ||
        nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR)
        return DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;
    if (nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF ||
        (nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO &&
         (queue & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_BF) != 0))
        return DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF;
    return DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
}

/* What ringing needs of a descriptor, read before an acquire, which makes a GPU forget what it has cached. */
GDAKI_DEV void gdaki_fixed_for_ringing(struct doca_gpu_dev_verbs_qp *fixed, const struct doca_gpu_dev_verbs_qp *qp)
{
    fixed->sq_num_shift8_be = qp->sq_num_shift8_be;
    fixed->sq_dbrec = qp->sq_dbrec;
    fixed->sq_db = qp->sq_db;
    fixed->gdaki_flags = qp->gdaki_flags;
    fixed->nic_handler = qp->nic_handler;
    fixed->mem_type = qp->mem_type;
}

/*
 * False on a queue that is stopped: nothing is announced there. BlueFlame needs the WQE at hand; without it, it is a doorbell
 * with record.
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_INLINE bool gdaki_announce(struct doca_gpu_dev_verbs_qp *qp, uint64_t producer, int asked_scope,
                                     uint32_t code_opt)
{
    if (gdaki_cq_stopped(&qp->cq_sq))
        return false;
    int scope = gdaki_ring_scope(qp, asked_scope);
    switch (gdaki_handler<nic_handler>(qp)) {
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY:
        gdaki_announce_proxy<resource_sharing_mode>(qp, producer, scope);
        break;
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR:
        gdaki_announce_no_dbr<resource_sharing_mode>(qp, producer, scope, code_opt);
        break;
    default:
        gdaki_announce_db<resource_sharing_mode>(qp, producer, scope, code_opt);
        break;
    }
    return true;
}

/*
 * Announces what is handed over and not announced, SKIP_DB_RINGING or not: for threads that are about to wait, or that leave
 * because the queue has failed.
 */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_SLOW void gdaki_announce_ready(struct doca_gpu_dev_verbs_qp *qp)
{
    uint64_t ready = gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index);
    if (gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi) < ready)
        (void)gdaki_announce<resource_sharing_mode, nic_handler>(qp, ready, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU, 0);
}

/* ---- handing over --------------------------------------------------------------------------------------------------- */

/* sq_ready_index reaches at least `to`: everything below is written. Releases the caller's WQEs at the sharing scope. */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_publish(uint64_t *ready, uint64_t to)
{
    if (gdaki_index_load<resource_sharing_mode>(ready) >= to)
        return;
    gdaki_fence_release(gdaki_sharing<resource_sharing_mode>::scope);
    gdaki_index_max<resource_sharing_mode>(ready, to);
}

/*
 * In order: slots from..to - 1 are handed over once everything below `from` is. The turn is taken by compare-and-swap, so
 * that the look which finds it is the move itself: a load, and a move behind it, would cost everybody in the queue one more
 * way to L2 and back. The index may be past `from` already, where hand-written code submitted without marking; then it is
 * moved by maximum. -EIO if the queue fails meanwhile, since then the threads in front may have left without handing over;
 * that is looked at now and then only, because it delays the next look at the index.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV_INLINE int gdaki_hand_over(struct doca_gpu_dev_verbs_qp *qp, uint64_t from, uint64_t to)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    uint64_t before = from;
    gdaki_fence_release(sharing::scope);
    for (uint32_t turn = 1; !sharing::exclusive; turn++) {
        before = gdaki_cas_u64(&qp->sq_ready_index, from, to, sharing::scope);
        if (before >= from)
            break;
        if (turn % GDAKI_ERROR_TURNS == 0 && gdaki_cq_failed(&qp->cq_sq))
            return -EIO;
        gdaki_relax();
    }
    /* alone, but behind slots of its own that a failed reservation left: those may not be announced */
    if (sharing::exclusive && gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index) < from && gdaki_cq_failed(&qp->cq_sq))
        return -EIO;
    if (sharing::exclusive || before != from)
        gdaki_index_max<resource_sharing_mode>(&qp->sq_ready_index, to);
    return 0;
}

/*
 * The same where everything below `from` was seen handed over before the WQEs were made (a quiet queue, or a queue of its
 * own): no wait. One pair of fences acquires what is in front and releases it with the caller's WQEs, at `scope`, for those
 * who share the queue and for the NIC.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_hand_over_settled(struct doca_gpu_dev_verbs_qp *qp, uint64_t to, int scope)
{
    gdaki_fence_acquire(gdaki_sharing<resource_sharing_mode>::scope);
    gdaki_release_at(scope);
    gdaki_index_max<resource_sharing_mode>(&qp->sq_ready_index, to);
}

#endif
