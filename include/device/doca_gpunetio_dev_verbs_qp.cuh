/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send queues for hand-written kernels: reserve, prepare, mark ready, submit. gdaki: C++ only.
 *
 * Indices are 64-bit; `prod_index` is exclusive (last WQE + 1). Everything works on regular and collapsed CQs alike.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_QP_CUH
#define DOCA_GPUNETIO_DEV_VERBS_QP_CUH

#include "gdaki_dev_post.cuh"
#include "gdaki_dev_wqe.cuh"

/* ---- reserve -------------------------------------------------------------------------------------------------------- */

/* Returns when the slot of wqe_idx is free, or the queue is in error (which every poll and wait then says). */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV void doca_gpu_dev_verbs_wait_until_slot_available(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx)
{
    (void)gdaki_wait_slot<resource_sharing_mode, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>(qp, wqe_idx, 0);
}

/* The same with a result, for at most timeout_ns: 0, -EIO, or EBUSY when the time has passed. */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_gpu_dev_verbs_wait_until_slot_available_bounded(struct doca_gpu_dev_verbs_qp *qp, uint64_t wqe_idx,
                                                                   uint64_t timeout_ns)
{
    return gdaki_wait_slot<resource_sharing_mode, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO>(qp, wqe_idx,
                                                                                       gdaki_deadline(timeout_ns));
}

/*
 * First of `count` slots, count at most the ring. Lanes of a warp that are here together get theirs in lane order. Waits
 * until the slots are free, except with SKIP_AVAILABILITY_CHECK or on a queue in error.
 */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV uint64_t doca_gpu_dev_verbs_reserve_wq_slots(struct doca_gpu_dev_verbs_qp *qp, uint32_t count,
                                                       uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    if (gdaki_sharing<resource_sharing_mode>::exclusive)
        return gdaki_reserve_single<resource_sharing_mode>(qp, count, code_opt);
    return gdaki_reserve_together<resource_sharing_mode>(qp, count, code_opt);
}

/* ---- hand over ------------------------------------------------------------------------------------------------------ */

/*
 * In-order hand-over on any index: waits until ready_index has reached from_wqe_idx, then moves it to to_wqe_idx + 1.
 * Both ready modes are a release, a relaxed spin and a move that others cannot undo; LD_ST once was a plain store, which
 * a concurrent submit could overtake.
 */
template <GDAKI_T_SHARING, enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT>
GDAKI_DEV void doca_gpu_dev_common_mark_wqes_ready(uint64_t &ready_index, uint64_t from_wqe_idx, uint64_t to_wqe_idx)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    gdaki_fence_release(sharing::scope);
    while (!sharing::exclusive && gdaki_index_load<resource_sharing_mode>(&ready_index) < from_wqe_idx)
        gdaki_relax();
    gdaki_fence_acquire(sharing::scope);
    gdaki_index_max<resource_sharing_mode>(&ready_index, to_wqe_idx + 1);
}

/* The same for a queue; leaves at once when the queue fails. */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE,
          enum doca_gpu_dev_verbs_qp_ready_mode ready_mode = DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS>
GDAKI_DEV void doca_gpu_dev_verbs_mark_wqes_ready(struct doca_gpu_dev_verbs_qp *qp, uint64_t from_wqe_idx,
                                                  uint64_t to_wqe_idx)
{
    gdaki_check_published(qp, from_wqe_idx, to_wqe_idx + 1);
    if (gdaki_hand_over<resource_sharing_mode>(qp, from_wqe_idx, to_wqe_idx + 1) == 0)
        gdaki_fence_acquire(gdaki_sharing<resource_sharing_mode>::scope); /* those in front, for a ring by hand */
}

/* Submitting index prod_index says that everything below is written, marked or not. */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_publish_submitted(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
#ifdef GDAKI_CPU
    uint64_t ready = gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index);
    if (ready < prod_index) {
        gdaki_check_published(qp, ready, prod_index);
        gdaki_check_highest(qp, prod_index);
    }
#endif
    gdaki_publish<resource_sharing_mode>(&qp->sq_ready_index, prod_index);
}

/* ---- records and doorbells ------------------------------------------------------------------------------------------ */

GDAKI_DEV __be32 doca_gpu_dev_verbs_prepare_dbr(uint32_t prod_index)
{
    return gdaki_record_value(prod_index);
}

GDAKI_DEV void doca_gpu_dev_common_update_dbr(uint32_t *dbrec, uint32_t prod_index)
{
    gdaki_write_record((__be32 *)dbrec, prod_index);
}

template <GDAKI_T_QP_TYPE>
GDAKI_DEV void doca_priv_gpu_dev_verbs_update_dbr(struct doca_gpu_dev_verbs_qp *qp, uint32_t prod_index)
{
    gdaki_write_record(qp->sq_dbrec, prod_index);
}

template <GDAKI_T_SCOPE, GDAKI_T_QP_TYPE>
GDAKI_DEV void doca_gpu_dev_verbs_update_dbr(struct doca_gpu_dev_verbs_qp *qp, uint32_t prod_index,
                                             uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    if ((code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE) != 0) {
        doca_gpu_dev_verbs_async_store_release((uint32_t *)qp->sq_dbrec, gdaki_record_value(prod_index));
        return;
    }
    gdaki_release_at(gdaki_widen(qp, sync_scope));
    gdaki_write_record(qp->sq_dbrec, prod_index);
}

GDAKI_DEV __be64 doca_gpu_dev_common_prepare_db(uint32_t qpn_ds, uint64_t prod_index)
{
    return gdaki_doorbell_value(qpn_ds, prod_index);
}

template <GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_common_write_db(uint64_t *db_ptr, uint64_t db_val,
                                            uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    gdaki_write_register(db_ptr, db_val, sync_scope, code_opt);
}

template <GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_common_ring_db(uint64_t *db_ptr, uint32_t qpn_ds, uint64_t prod_index,
                                           uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    doca_gpu_dev_common_write_db<sync_scope>(db_ptr, doca_gpu_dev_common_prepare_db(qpn_ds, prod_index), code_opt);
}

GDAKI_DEV __be64 doca_gpu_dev_verbs_prepare_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
    return gdaki_qp_doorbell(qp, prod_index);
}

template <GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_ring_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                          uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    gdaki_write_register(qp->sq_db, gdaki_qp_doorbell(qp, prod_index), gdaki_widen(qp, sync_scope), code_opt);
}

/*
 * One thread writes a WQE of 64 bytes to the register: from sm_90 as one bulk copy out of shared memory (wqe_ptr is there
 * and 16-byte aligned), elsewhere as eight stores from any memory. Returns when wqe_ptr may be written again.
 */
template <GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_ring_bf(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr)
{
    gdaki_release_at(gdaki_widen(qp, sync_scope));
#ifdef DOCA_GPUNETIO_VERBS_HAS_TMA_COPY
    uint32_t from = (uint32_t)__cvta_generic_to_shared(wqe_ptr);
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); /* orders the WQE's stores before the copy's reads */
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" : : "l"(qp->sq_db), "r"(from) : "memory");
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
#else
    gdaki_blueflame_store_alone(qp, wqe_ptr);
#endif
}

/* Lanes 0..7 of those here write a WQE of 64 bytes to the register; with fewer, the first lane writes all of it. */
template <GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_ring_bf_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr)
{
    struct gdaki_group g = gdaki_group_by(qp, 0);
    if (g.leads())
        gdaki_release_at(gdaki_widen(qp, sync_scope));
    g.sync();
    if (g.size >= GDAKI_BF_LANES)
        gdaki_blueflame_store(g, qp, wqe_ptr);
    else if (g.leads())
        gdaki_blueflame_store_alone(qp, wqe_ptr);
    g.sync();
}

/* The counter that the CPU follows moves to prod_idx; it never moves back. */
template <GDAKI_P_SHARING>
GDAKI_DEV void doca_gpu_dev_verbs_ring_proxy(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_idx)
{
    gdaki_store_counter(qp, prod_idx, gdaki_sharing<resource_sharing_mode>::exclusive);
}

/* ---- submit --------------------------------------------------------------------------------------------------------- */

/*
 * No WQE more than a ring past the completed or announced ones can be right, since its slot is not free, and no NIC would
 * take it: a wait for it would never end. So the queue is stopped, as by a reservation that no ring can hold. Both indices
 * may lag behind what other threads have just done, hence a second ring of grace.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV bool gdaki_refuse_submission(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
    uint64_t known = gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi);
    if (prod_index <= known || prod_index - known <= qp->sq_wqe_num)
        return false;
    uint64_t done = gdaki_index_load<resource_sharing_mode>(&qp->cq_sq.cqe_ci);
    known = done > known ? done : known;
    if (prod_index - known <= 2ull * qp->sq_wqe_num || prod_index <= known || gdaki_cq_failed(&qp->cq_sq))
        return false; /* on a queue in error indices run on */
    gdaki_check_submission(qp, prod_index, known);
    gdaki_cq_fail(&qp->cq_sq, GDAKI_ERROR_SOFTWARE, prod_index - 1);
    return true;
}

/*
 * The same on a queue in error, where indices come from reservations that failed, too, and slots may have been abandoned. The
 * NIC is to flush what is posted, so this hands over what it can take: slots that hold their WQEs, within a ring of those
 * that have completed. False: nothing is handed over.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV_SLOW bool gdaki_submit_to_flush(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
    uint64_t done = gdaki_index_load<resource_sharing_mode>(&qp->cq_sq.cqe_ci);
    uint64_t ready = gdaki_index_load<resource_sharing_mode>(&qp->sq_ready_index);
    if (gdaki_cq_stopped(&qp->cq_sq) || prod_index > done + qp->sq_wqe_num)
        return false;
    for (uint64_t i = ready; i < prod_index;) {
        uint64_t ctrl = gdaki_peek_ring_u64(gdaki_wqe_slot(qp, i));
        uint32_t segs = gdaki_bswap32((uint32_t)(ctrl >> 32)) & 0x3f;
        if (!gdaki_wqe_slot_holds(qp, i, ctrl))
            return false;
        i += segs > 4 ? (segs + 3) / 4 : 1;
    }
    gdaki_publish<resource_sharing_mode>(&qp->sq_ready_index, prod_index);
    return true;
}

/*
 * All variants: everything below prod_index counts as handed over; unless SKIP_DB_RINGING, it is announced, together with
 * what others have handed over.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV bool gdaki_submit_rings(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index, uint32_t code_opt)
{
    bool rings = (code_opt & DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING) == 0;
    bool failed = gdaki_cq_failed(&qp->cq_sq);
    if (gdaki_refuse_submission<resource_sharing_mode>(qp, prod_index))
        return false;
    if (failed)
        return gdaki_submit_to_flush<resource_sharing_mode>(qp, prod_index) && rings;
    gdaki_publish_submitted<resource_sharing_mode>(qp, prod_index);
    return rings;
}

template <GDAKI_T_SHARING, GDAKI_T_SCOPE, GDAKI_T_QP_TYPE>
__device__ static inline void
doca_gpu_dev_verbs_submit_db_no_dbr(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    if (gdaki_submit_rings<resource_sharing_mode>(qp, prod_index, code_opt))
        gdaki_announce_no_dbr<resource_sharing_mode>(qp, prod_index, gdaki_ring_scope(qp, sync_scope), code_opt);
}

template <GDAKI_T_SHARING, GDAKI_T_SCOPE, GDAKI_T_QP_TYPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                            uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    if (gdaki_submit_rings<resource_sharing_mode>(qp, prod_index, code_opt))
        gdaki_announce_db<resource_sharing_mode>(qp, prod_index, gdaki_ring_scope(qp, sync_scope), code_opt);
}

/*
 * The WQE, also in shared memory, is the first doorbell. It must be in the ring too, as the last one below prod_index:
 * when others have handed over WQEs behind it, an ordinary doorbell for all takes its place.
 */
template <GDAKI_T_SHARING, GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit_bf(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                            struct doca_gpu_dev_verbs_wqe *smem_wqe,
                                            uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    int scope = gdaki_ring_scope(qp, sync_scope);
    struct gdaki_ringer r;
    if (!gdaki_submit_rings<resource_sharing_mode>(qp, prod_index, code_opt) ||
        gdaki_index_load<resource_sharing_mode>(&qp->sq_wqe_pi) >= prod_index ||
        !gdaki_ring_enter<resource_sharing_mode>(qp, prod_index, &r))
        return;
    if (gdaki_ring_ready<resource_sharing_mode>(qp, prod_index) == prod_index && r.announced < prod_index) {
        gdaki_release_at(scope);
        gdaki_index_max<resource_sharing_mode>(&qp->sq_wqe_pi, prod_index);
        doca_gpu_dev_verbs_ring_bf<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU>(qp, smem_wqe);
        gdaki_ring_with_record(qp, prod_index, scope, code_opt);
        r.announced = prod_index;
    } else {
        gdaki_ring_round<resource_sharing_mode>(qp, &r, scope, code_opt);
    }
    if (gdaki_ring_again<resource_sharing_mode>(qp, &r))
        gdaki_ring_rest<resource_sharing_mode>(qp, r, scope, code_opt);
}

/* All lanes that are here together: eight of them write the WQE; with fewer, an ordinary doorbell takes its place. */
template <GDAKI_T_SHARING, GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit_bf_warp(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                                 struct doca_gpu_dev_verbs_wqe *wqe,
                                                 uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    const enum doca_gpu_dev_verbs_resource_sharing_mode mode = gdaki_warp_sharing<resource_sharing_mode>::mode;
    struct gdaki_group g = gdaki_group_by(qp, code_opt);
    bool rings = false;

    g.sync(); /* orders the lanes' parts of the WQE before the leader's release */
    if (g.leads())
        rings = gdaki_submit_rings<mode>(qp, prod_index, code_opt);
    if (g.from_leader(rings) == 0)
        return;
    if (g.size >= GDAKI_BF_LANES)
        gdaki_announce_bf<mode>(g, qp, g.from_leader(prod_index), wqe, sync_scope, code_opt);
    else if (g.leads())
        gdaki_announce_db<mode>(qp, prod_index, gdaki_ring_scope(qp, sync_scope), code_opt);
    g.sync();
}

/* CPU_PROXY_UPDATE_PI is always done: sq_wqe_pi tells what is announced in this mode as in the others. */
template <GDAKI_T_SHARING, GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit_proxy(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                               uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    if (gdaki_submit_rings<resource_sharing_mode>(qp, prod_index, code_opt))
        gdaki_announce_proxy<resource_sharing_mode>(qp, prod_index, gdaki_ring_scope(qp, sync_scope));
}

/* Rings the way the queue was exported for (AUTO), or the way the template says where the queue allows it. */
template <GDAKI_T_SHARING, GDAKI_T_SCOPE, GDAKI_T_HANDLER, GDAKI_T_QP_TYPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                         uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    if (gdaki_submit_rings<resource_sharing_mode>(qp, prod_index, code_opt))
        (void)gdaki_announce<resource_sharing_mode, nic_handler>(qp, prod_index, sync_scope, code_opt);
}

#include "gdaki_dev_compat.cuh"

#endif
