/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 1.x way to say what 2.0 and later say with run-time arguments: code options, waiting and scopes as template
 * arguments. None has a default, so calls in today's spelling never mean these. gdaki: C++ only.
 */
#ifndef GDAKI_DEV_COMPAT_CUH
#define GDAKI_DEV_COMPAT_CUH

#include "doca_gpunetio_dev_verbs_qp.cuh"

#define GDAKI_T_OPTION enum doca_gpu_dev_verbs_gpu_code_opt option

template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
GDAKI_DEV void doca_gpu_dev_verbs_async_store_release(uint32_t *ptr, uint32_t val)
{
    doca_gpu_dev_verbs_async_store_release(ptr, val); /* always SYS */
}

template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
GDAKI_DEV void doca_gpu_dev_verbs_async_store_release(uint64_t *ptr, uint64_t val)
{
    doca_gpu_dev_verbs_async_store_release(ptr, val);
}

template <GDAKI_P_SHARING, bool wait_for_availability>
GDAKI_DEV uint64_t doca_gpu_dev_verbs_reserve_wq_slots(struct doca_gpu_dev_verbs_qp *qp, uint32_t count)
{
    return doca_gpu_dev_verbs_reserve_wq_slots<resource_sharing_mode, DOCA_GPUNETIO_VERBS_QP_SQ>(
        qp, count, wait_for_availability ? 0 : DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK);
}

template <enum doca_gpu_dev_verbs_sync_scope sync_scope, GDAKI_T_OPTION>
GDAKI_DEV void doca_gpu_dev_verbs_update_dbr(struct doca_gpu_dev_verbs_qp *qp, uint32_t prod_index)
{
    doca_gpu_dev_verbs_update_dbr<sync_scope, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, prod_index, option);
}

template <enum doca_gpu_dev_verbs_sync_scope sync_scope, GDAKI_T_OPTION>
GDAKI_DEV void doca_gpu_dev_verbs_ring_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
    doca_gpu_dev_verbs_ring_db<sync_scope>(qp, prod_index, option);
}

template <GDAKI_P_SHARING, enum doca_gpu_dev_verbs_sync_scope sync_scope, GDAKI_T_OPTION>
GDAKI_DEV void doca_gpu_dev_verbs_submit_db(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
    doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, prod_index, option);
}

template <GDAKI_P_SHARING, enum doca_gpu_dev_verbs_sync_scope sync_scope, GDAKI_T_OPTION>
GDAKI_DEV void doca_gpu_dev_verbs_submit_bf(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                            struct doca_gpu_dev_verbs_wqe *smem_wqe)
{
    doca_gpu_dev_verbs_submit_bf<resource_sharing_mode, sync_scope>(qp, prod_index, smem_wqe, option);
}

template <GDAKI_P_SHARING, enum doca_gpu_dev_verbs_sync_scope sync_scope, GDAKI_T_OPTION>
GDAKI_DEV void doca_gpu_dev_verbs_submit_bf_warp(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index,
                                                 struct doca_gpu_dev_verbs_wqe *wqe)
{
    doca_gpu_dev_verbs_submit_bf_warp<resource_sharing_mode, sync_scope>(qp, prod_index, wqe, option);
}

template <GDAKI_P_SHARING, enum doca_gpu_dev_verbs_sync_scope sync_scope, GDAKI_P_HANDLER, GDAKI_T_OPTION>
GDAKI_DEV void doca_gpu_dev_verbs_submit(struct doca_gpu_dev_verbs_qp *qp, uint64_t prod_index)
{
    doca_gpu_dev_verbs_submit<resource_sharing_mode, sync_scope, nic_handler, DOCA_GPUNETIO_VERBS_QP_SQ>(qp, prod_index,
                                                                                                        option);
}

#endif
