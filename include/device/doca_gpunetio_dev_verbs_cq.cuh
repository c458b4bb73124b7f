/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues: polls of regular and collapsed CQs, and the first error, which sticks. gdaki: C++ only.
 *
 * Results: 0 complete, EBUSY (+16) not yet, -EIO (-5) the queue is in error. Once an error CQE has been seen, every poll
 * returns -EIO at once, whatever its index.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_CQ_CUH
#define DOCA_GPUNETIO_DEV_VERBS_CQ_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"
#include "gdaki_dev_check.cuh"

GDAKI_DEV struct doca_gpu_dev_verbs_cq *doca_gpu_dev_verbs_qp_get_cq_sq(struct doca_gpu_dev_verbs_qp *qp)
{
    return &qp->cq_sq;
}

GDAKI_DEV uint32_t doca_gpu_dev_verbs_cqe_idx_inc_mask(uint32_t cqe_idx, uint32_t increment)
{
    return (cqe_idx + increment) & DOCA_GPUNETIO_VERBS_CQE_CI_MASK;
}

GDAKI_DEV void doca_gpu_dev_verbs_cq_print_cqe_err(struct doca_gpunetio_ib_mlx5_cqe64 *cqe64)
{
    struct doca_gpunetio_ib_mlx5_err_cqe_ex *err = (struct doca_gpunetio_ib_mlx5_err_cqe_ex *)cqe64;
    printf("error CQE: syndrome 0x%x, vendor syndrome 0x%x, hardware syndrome 0x%x, type 0x%x, wqe_counter %u\n",
           err->syndrome, err->vendor_err_synd, err->hw_err_synd, err->hw_synd_type,
           (unsigned int)gdaki_bswap16(err->wqe_counter));
}

/* ---- the first error ------------------------------------------------------------------------------------------------ */

GDAKI_DEV bool gdaki_cq_failed(const struct doca_gpu_dev_verbs_cq *cq)
{
    return gdaki_load_u64(&cq->gdaki_error, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU) != 0;
}

/* Stopped for a mistake of the kernel's: the NIC knows of no error, and would execute what is announced. */
GDAKI_DEV bool gdaki_cq_stopped(const struct doca_gpu_dev_verbs_cq *cq)
{
    return (uint8_t)gdaki_load_u64(&cq->gdaki_error, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU) == GDAKI_ERROR_SOFTWARE;
}

/*
 * Claims the error word, if nobody has, and fills it. Three steps, since word and index do not fit in one store: the
 * claim makes every poll fail at once; the release orders the index before the state that calls it valid.
 */
GDAKI_DEV_SLOW void gdaki_cq_fail(struct doca_gpu_dev_verbs_cq *cq, uint64_t error, uint64_t index)
{
    const int sys = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS;
    if (gdaki_cas_u64(&cq->gdaki_error, 0, (error & ~0xffull) | GDAKI_ERROR_WRITING, sys) != 0)
        return;
    gdaki_store_u32(&cq->gdaki_error_index, (uint32_t)index, sys);
    gdaki_fence_release(sys);
    gdaki_store_u64(&cq->gdaki_error, error, sys);
}

/* Address of the CQE for CQE number c (WQE index + cqe_rsvd). */
GDAKI_DEV uint8_t *gdaki_cqe_at(const struct doca_gpu_dev_verbs_cq *cq, uint64_t c)
{
    return cq->cqe_daddr + (size_t)(c & (cq->cqe_num - 1)) * DOCA_GPUNETIO_VERBS_CQE_SIZE;
}

GDAKI_DEV_SLOW void gdaki_cq_fail_with(struct doca_gpu_dev_verbs_cq *cq, uint8_t *cqe, uint32_t word, uint64_t index)
{
    gdaki_fence_acquire(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS); /* orders op_own before the syndromes */
#if DOCA_GPUNETIO_VERBS_ENABLE_DEBUG == 1
    doca_gpu_dev_verbs_cq_print_cqe_err((struct doca_gpunetio_ib_mlx5_cqe64 *)cqe);
#endif
    gdaki_cq_fail(cq, gdaki_error_pack(GDAKI_ERROR_SET, gdaki_load_u32_sys(cqe + GDAKI_CQE_SYND_OFFSET), word), index);
}

/* An error was met at `index`; WQEs before it, from `ci` on, may have failed earlier. The first of them is kept. */
GDAKI_DEV_SLOW void gdaki_cq_fail_first(struct doca_gpu_dev_verbs_cq *cq, uint64_t ci, uint64_t index)
{
    gdaki_fence_acquire(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS); /* CQEs are written in order: orders this one before those */
    for (uint64_t i = index - ci < cq->cqe_num ? ci : index; i <= index; i++) {
        uint8_t *cqe = gdaki_cqe_at(cq, i + cq->cqe_rsvd);
        uint32_t word = gdaki_load_u32_sys(cqe + GDAKI_CQE_WORD_OFFSET);
        if (gdaki_cqe_is_error(word)) {
            gdaki_cq_fail_with(cq, cqe, word, i);
            return;
        }
    }
}

/* ---- one look ------------------------------------------------------------------------------------------------------- */

/*
 * Regular CQ. Slots hold the last cqe_num CQEs, so the owner bit tells for indices less than a ring past `ci`. Further
 * ahead (somebody posted past the ring without polling) the slot's wqe_counter decides, as long as its 16 bits can.
 */
GDAKI_DEV int gdaki_poll_regular(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, uint64_t ci)
{
    uint64_t c = index + cq->cqe_rsvd, ahead = index - ci;
    uint8_t *cqe = gdaki_cqe_at(cq, c);
    uint32_t word = gdaki_load_u32_sys(cqe + GDAKI_CQE_WORD_OFFSET);

    if (!gdaki_cqe_is_valid(word, c, cq->cqe_num))
        return EBUSY;
    if (ahead >= cq->cqe_num && (ahead >= 65536 - cq->cqe_num || gdaki_cqe_counter(word) != (uint16_t)index))
        return EBUSY;
    if (gdaki_cqe_is_error(word)) {
        gdaki_cq_fail_first(cq, ci, index);
        return -EIO;
    }
    gdaki_check_counter(cq, index, word);
    return 0;
}

/*
 * Collapsed CQ: slot 0 tells of the latest WQE. `ci` was loaded before the CQE is: whoever moved cqe_ci that far had
 * read a CQE at least that new and released before moving it, so after our acquire we read no older one.
 */
GDAKI_DEV int gdaki_poll_collapsed(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, uint64_t ci, int scope, uint64_t *next)
{
    gdaki_fence_acquire(scope);
    uint32_t word = gdaki_load_u32_sys(cq->cqe_daddr + GDAKI_CQE_WORD_OFFSET);
    uint64_t done = gdaki_cqe_collapsed_next(word, ci);
    if (gdaki_cqe_is_error(word)) {
        gdaki_cq_fail_with(cq, cq->cqe_daddr, word, ci + (uint16_t)(gdaki_cqe_counter(word) - (uint16_t)ci));
        return -EIO;
    }
    *next = done;
    return index < done ? 0 : EBUSY;
}

/*
 * A WQE of two slots completes with the index of its first. So where everything below `index` is done (a look at a
 * collapsed CQ said so: `done`), `index` is done too if it is the second slot of the WQE before it. The slot is read once
 * for each `done`; when somebody has reused it meanwhile, later completions tell.
 */
GDAKI_DEV bool gdaki_second_slot_done(const struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint64_t done, uint64_t *looked)
{
    if (index == 0 || done != index || *looked == done)
        return false;
    *looked = done;
    gdaki_fence_acquire(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS); /* orders the CQE before the slot of the WQE it tells of */
    uint64_t ctrl = gdaki_peek_ring_u64(gdaki_wqe_slot(qp, index - 1));
    return gdaki_wqe_slot_holds(qp, index - 1, ctrl) && (gdaki_bswap32((uint32_t)(ctrl >> 32)) & 0x3f) > 4;
}

/* *next: where cqe_ci may move on success; left at 0 when it is already past `index`. */
template <GDAKI_P_SHARING>
GDAKI_DEV int gdaki_poll(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, bool collapsed, uint64_t *next)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    *next = 0;
    if (gdaki_cq_failed(cq) || index == GDAKI_TICKET_NONE)
        return -EIO;
    uint64_t ci = gdaki_load_u64(&cq->cqe_ci, sharing::scope);
    if (index < ci)
        return 0;
    if (collapsed)
        return gdaki_poll_collapsed(cq, index, ci, sharing::scope, next);
    *next = index + 1;
    return gdaki_poll_regular(cq, index, ci);
}

GDAKI_DEV bool gdaki_cq_is_collapsed(const struct doca_gpu_dev_verbs_cq *cq)
{
    return cq->gdaki_kind == GDAKI_CQ_KIND_COLLAPSED;
}

/*
 * After a successful look: the acquire orders the CQE before reads of what the NIC wrote; the release lets threads that
 * see cqe_ci only, and acquire, read it too.
 */
template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_consume(struct doca_gpu_dev_verbs_cq *cq, uint64_t next)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    gdaki_fence_acquire(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    if (next == 0)
        return;
    gdaki_fence_release(sharing::scope);
    gdaki_index_max<resource_sharing_mode>(&cq->cqe_ci, next);
}

/* Past the deadline? 0: there is none. */
GDAKI_DEV bool gdaki_expired(uint64_t deadline_ns)
{
    return deadline_ns != 0 && gdaki_now_ns() >= deadline_ns;
}

GDAKI_DEV uint64_t gdaki_deadline(uint64_t timeout_ns)
{
    uint64_t now = gdaki_now_ns();
    return now + timeout_ns < now ? UINT64_MAX : now + timeout_ns;
}

template <GDAKI_P_SHARING>
GDAKI_DEV_SLOW int gdaki_poll_until(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, bool collapsed,
                                      uint64_t deadline_ns, uint64_t *next)
{
    gdaki_check_poll(cq, index);
    for (;;) {
        int status = gdaki_poll<resource_sharing_mode>(cq, index, collapsed, next);
        if (status != EBUSY || gdaki_expired(deadline_ns))
            return status;
        gdaki_relax();
    }
}

/* ---- the API -------------------------------------------------------------------------------------------------------- */

/* Looks once; nothing is consumed. */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_priv_gpu_dev_verbs_poll_one_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
    uint64_t next;
    return gdaki_poll<resource_sharing_mode>(cq, cons_index, gdaki_cq_is_collapsed(cq), &next);
}

/* Looks once; on 0, what the NIC wrote up to here is visible, and everything up to cons_index counts as consumed. */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_gpu_dev_verbs_poll_one_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
    uint64_t next;
    int status = gdaki_poll<resource_sharing_mode>(cq, cons_index, gdaki_cq_is_collapsed(cq), &next);
    if (status == 0)
        gdaki_consume<resource_sharing_mode>(cq, next);
    else
        gdaki_relax(); /* callers spin on EBUSY */
    return status;
}

template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_priv_gpu_dev_verbs_poll_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
    uint64_t next;
    return gdaki_poll_until<resource_sharing_mode>(cq, cons_index, gdaki_cq_is_collapsed(cq), 0, &next);
}

template <GDAKI_P_SHARING>
GDAKI_DEV int gdaki_poll_consume(struct doca_gpu_dev_verbs_cq *cq, uint64_t index, bool collapsed, uint64_t deadline_ns)
{
    uint64_t next;
    int status = gdaki_poll_until<resource_sharing_mode>(cq, index, collapsed, deadline_ns, &next);
    if (status == 0)
        gdaki_consume<resource_sharing_mode>(cq, next);
    return status;
}

/* Waits until WQE cons_index has completed, or the queue has failed. */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_gpu_dev_verbs_poll_cq_at(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index)
{
    return gdaki_poll_consume<resource_sharing_mode>(cq, cons_index, gdaki_cq_is_collapsed(cq), 0);
}

/* The same for at most timeout_ns; EBUSY when it has passed. */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_gpu_dev_verbs_poll_cq_at_bounded(struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index,
                                                    uint64_t timeout_ns)
{
    return gdaki_poll_consume<resource_sharing_mode>(cq, cons_index, gdaki_cq_is_collapsed(cq), gdaki_deadline(timeout_ns));
}

/*
 * Collapsed CQ, whatever its kind says (queues exported by others do not say). cons_index is a count: waits until WQE
 * cons_index - 1 has completed. 0: nothing to wait for.
 */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_priv_gpu_dev_verbs_poll_cq_collapsed_at(struct doca_gpu_dev_verbs_qp *qp,
                                                           struct doca_gpu_dev_verbs_cq *cq, uint64_t cons_index,
                                                           uint64_t *new_cqe_ci)
{
    uint64_t next = 0, looked = 0;
    int status = gdaki_cq_failed(cq) ? -EIO : 0;
    while (cons_index != 0) {
        status = gdaki_poll<resource_sharing_mode>(cq, cons_index - 1, true, &next);
        if (status == EBUSY && qp != NULL && gdaki_second_slot_done(qp, cons_index - 1, next, &looked)) {
            next = cons_index;
            status = 0;
        }
        if (status != EBUSY)
            break;
        gdaki_relax();
    }
    *new_cqe_ci = next != 0 ? next : gdaki_index_load<resource_sharing_mode>(&cq->cqe_ci);
    return status;
}

template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_gpu_dev_verbs_poll_cq_collapsed_at(struct doca_gpu_dev_verbs_qp *qp, uint64_t cons_index)
{
    uint64_t next;
    struct doca_gpu_dev_verbs_cq *cq = doca_gpu_dev_verbs_qp_get_cq_sq(qp);
    int status =
        doca_priv_gpu_dev_verbs_poll_cq_collapsed_at<resource_sharing_mode, qp_type>(qp, cq, cons_index, &next);
    if (status == 0)
        gdaki_consume<resource_sharing_mode>(cq, next);
    return status;
}

/* Waits for `count` more completions than are consumed on entry. */
template <GDAKI_T_SHARING, GDAKI_T_QP_TYPE>
GDAKI_DEV int doca_gpu_dev_verbs_poll_cq(struct doca_gpu_dev_verbs_cq *cq, uint32_t count)
{
    if (count == 0)
        return gdaki_cq_failed(cq) ? -EIO : 0;
    uint64_t ci = gdaki_index_load<resource_sharing_mode>(&cq->cqe_ci);
    return doca_gpu_dev_verbs_poll_cq_at<resource_sharing_mode, qp_type>(cq, ci + count - 1);
}

/*
 * Consumes cqe_num CQEs and, unless the CQ ignores overrun, tells the NIC through the record. For one thread a CQ.
 * cqe_ci stays the 64-bit index that polls use; the record and the result carry its low 24 bits.
 */
template <bool is_overrun>
GDAKI_DEV uint32_t doca_gpu_dev_verbs_cq_update_dbrec(struct doca_gpu_dev_verbs_cq *cq, uint32_t cqe_num)
{
    uint64_t ci = gdaki_load_u64(&cq->cqe_ci, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU) + cqe_num;
    uint32_t ci24 = (uint32_t)((ci + cq->cqe_rsvd) & DOCA_GPUNETIO_VERBS_CQE_CI_MASK);
    gdaki_store_u64(&cq->cqe_ci, ci, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU);
    if (!is_overrun) {
        gdaki_fence_release(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS); /* orders our reads of CQEs before their reuse */
        gdaki_store_u32((uint32_t *)cq->dbrec, gdaki_bswap32(ci24), DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    }
    return (uint32_t)(ci & DOCA_GPUNETIO_VERBS_CQE_CI_MASK);
}

#endif
