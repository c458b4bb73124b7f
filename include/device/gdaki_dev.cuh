/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every device header stands on: the target (nvcc, or g++ and clang++ with the CPU stand-in), the shorthand of
 * template parameters, and accesses to queue state by sharing mode. gdaki: C++ only.
 */
#ifndef GDAKI_DEV_CUH
#define GDAKI_DEV_CUH

#if !defined(__CUDACC__) && !defined(GDAKI_CPU)
#define GDAKI_CPU 1
#endif

#ifdef GDAKI_CPU
#include "../cpu/cuda_runtime.h"
#else
#include <cuda.h>
#include <cuda_runtime.h>
#if defined(__has_include)
#if __has_include(<cuda/atomic>)
#include <cuda/atomic>
#endif
#endif
#endif

#include <errno.h>
#include <stdio.h>

#include "../common/gdaki_mlx5_opcodes.h"
#include "../common/gdaki_wqe.h"

#define GDAKI_DEV        __device__ static __forceinline__
#define GDAKI_DEV_INLINE __device__ static inline
/* Waits and other slow paths: one copy for all callers, which keeps kernels small and compilers quick. */
#define GDAKI_DEV_SLOW __device__ static inline __attribute__((noinline))

/* Template parameters with their defaults. */
#define GDAKI_T_SHARING                                                                                                \
    enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define GDAKI_T_QP_TYPE  enum doca_gpu_dev_verbs_qp_type qp_type = DOCA_GPUNETIO_VERBS_QP_SQ
#define GDAKI_T_SCOPE    enum doca_gpu_dev_verbs_sync_scope sync_scope = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU
#define GDAKI_T_HANDLER  enum doca_gpu_dev_verbs_nic_handler nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define GDAKI_T_EXEC     enum doca_gpu_dev_verbs_exec_scope exec_scope = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define GDAKI_T_MCST     enum doca_gpu_dev_verbs_mcst_mode mcst_mode = DOCA_GPUNETIO_VERBS_MCST_DISABLED
#define GDAKI_T_BLOCKING enum doca_gpu_dev_verbs_blocking_mode blocking_mode = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED
/* The same without default. */
#define GDAKI_P_SHARING enum doca_gpu_dev_verbs_resource_sharing_mode resource_sharing_mode
#define GDAKI_P_HANDLER enum doca_gpu_dev_verbs_nic_handler nic_handler
#define GDAKI_P_SIGNAL  enum doca_gpu_dev_verbs_signal_op sig_op

/* ---- queue state by sharing mode ---------------------------------------------------------------------------------- */

/* Scope of synchronisation among those who share a queue. EXCLUSIVE: THREAD, no synchronisation at all. */
template <GDAKI_P_SHARING>
struct gdaki_sharing {
    static constexpr bool exclusive = resource_sharing_mode == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE;
    static constexpr enum doca_gpu_dev_verbs_sync_scope scope =
        exclusive ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD
        : resource_sharing_mode == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA ? DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA
                                                                                 : DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
};

template <GDAKI_P_SHARING>
GDAKI_DEV uint64_t gdaki_index_load(const uint64_t *p)
{
    return gdaki_load_u64(p, gdaki_sharing<resource_sharing_mode>::scope);
}

template <GDAKI_P_SHARING>
GDAKI_DEV uint64_t gdaki_index_fetch_add(uint64_t *p, uint64_t n)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    if (sharing::exclusive) {
        uint64_t before = gdaki_load_u64(p, sharing::scope);
        gdaki_store_u64(p, before + n, sharing::scope);
        return before;
    }
    return gdaki_fetch_add_u64(p, n, sharing::scope);
}

template <GDAKI_P_SHARING>
GDAKI_DEV uint64_t gdaki_index_fetch_max(uint64_t *p, uint64_t v)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    if (sharing::exclusive) {
        uint64_t before = gdaki_load_u64(p, sharing::scope);
        if (before < v)
            gdaki_store_u64(p, v, sharing::scope);
        return before;
    }
    return gdaki_fetch_max_u64(p, v, sharing::scope);
}

template <GDAKI_P_SHARING>
GDAKI_DEV void gdaki_index_max(uint64_t *p, uint64_t v)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    if (sharing::exclusive)
        (void)gdaki_index_fetch_max<resource_sharing_mode>(p, v);
    else
        gdaki_max_u64(p, v, sharing::scope);
}

#endif
