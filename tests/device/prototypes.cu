/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every listed function of the device API has its address taken with its exact prototype (109: the 108 of the open library and
 * doca_gpu_dev_verbs_mcst). wait and get_wait return int where the original is void. Compiled for `cpu`, and by nvcc for
 * each architecture with several sets of template arguments (PROTOTYPES_SET).
 */
#include "doca_gpunetio_device.h"

#if PROTOTYPES_SET == 1
#define SHARING  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
#define SCOPE    DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS
#define HANDLER  DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#define EXEC     DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP
#define MCST     DOCA_GPUNETIO_VERBS_MCST_DISABLED
#define BLOCKING DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED
#elif PROTOTYPES_SET == 2
#define SHARING  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
#define SCOPE    DOCA_GPUNETIO_VERBS_SYNC_SCOPE_CTA
#define HANDLER  DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR
#define EXEC     DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define MCST     DOCA_GPUNETIO_VERBS_MCST_ENABLED
#define BLOCKING DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED
#else
#define SHARING  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define SCOPE    DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU
#define HANDLER  DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define EXEC     DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define MCST     DOCA_GPUNETIO_VERBS_MCST_ENABLED
#define BLOCKING DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED
#endif

typedef doca_gpu_dev_verbs_ticket_t ticket_t;
typedef struct doca_gpu_dev_verbs_addr addr_t;
typedef struct doca_gpu_dev_verbs_qp qp_t;
typedef struct doca_gpu_dev_verbs_cq cq_t;
typedef struct doca_gpu_dev_verbs_wqe wqe_t;
typedef enum doca_gpu_dev_verbs_wqe_ctrl_flags flags_t;

/* `expected` differs from the function's type by nothing, or this does not compile. */
#define TAKE(n, result, function, ...)                                                                                 \
    do {                                                                                                               \
        result (*address)(__VA_ARGS__) = function;                                                                     \
        out[n] = (void *)address;                                                                                      \
    } while (0)
#define ARGS(...) __VA_ARGS__ /* template arguments within a macro argument */

enum { PROTOTYPES_COUNT = 109 };

__global__ void take_addresses(void **out)
{
    TAKE(0, uint64_t, doca_gpu_dev_verbs_query_globaltimer, void);
    TAKE(1, unsigned int, doca_gpu_dev_verbs_get_lane_id, void);
    TAKE(2, uint64_t, doca_gpu_dev_verbs_bswap64, uint64_t);
    TAKE(3, uint32_t, doca_gpu_dev_verbs_bswap32, uint32_t);
    TAKE(4, uint16_t, doca_gpu_dev_verbs_bswap16, uint16_t);
    TAKE(5, void, doca_gpu_dev_verbs_store_relaxed_mmio, uint64_t *, uint64_t);
    TAKE(6, void, doca_gpu_dev_verbs_fence_acquire<SCOPE>, void);
    TAKE(7, void, doca_gpu_dev_verbs_fence_release<SCOPE>, void);
    TAKE(8, void, doca_gpu_dev_verbs_async_store_release, uint32_t *, uint32_t);
    TAKE(9, void, doca_gpu_dev_verbs_async_store_release, uint64_t *, uint64_t);
    TAKE(10, bool, doca_gpu_dev_verbs_isaligned, void *, size_t);
    TAKE(11, void, doca_gpu_dev_verbs_memcpy_aligned_data, void *, void *, size_t);
    TAKE(12, void, doca_gpu_dev_verbs_memcpy_data, void *, void *, size_t);
    TAKE(13, void, doca_gpu_dev_verbs_memcpy_inl_aligned_data<uint64_t>, uint64_t *, uint64_t *, size_t);
    TAKE(14, uint64_t, ARGS(doca_gpu_dev_verbs_atomic_max<uint64_t, SHARING, true>), uint64_t *, uint64_t);
    TAKE(15, uint64_t, ARGS(doca_gpu_dev_verbs_atomic_add<uint64_t, SHARING>), uint64_t *, uint64_t);
    TAKE(16, uint64_t, ARGS(doca_gpu_dev_verbs_atomic_read<uint64_t, SHARING>), uint64_t *);
    TAKE(17, void, doca_gpu_dev_verbs_lock<SHARING>, int *);
    TAKE(18, void, doca_gpu_dev_verbs_unlock<SHARING>, int *);
    TAKE(19, uint8_t, doca_gpu_dev_verbs_load_relaxed_sys_global, uint8_t *);
    TAKE(20, uint32_t, doca_gpu_dev_verbs_load_relaxed_sys_global, uint32_t *);
    TAKE(21, uint64_t, doca_gpu_dev_verbs_load_relaxed_sys_global, uint64_t *);
    TAKE(22, uint64_t, doca_gpu_dev_verbs_load_relaxed<SHARING>, uint64_t *);
    TAKE(23, uint64_t, doca_gpu_dev_verbs_div_ceil_aligned_pow2, uint64_t, unsigned int);
    TAKE(24, uint32_t, doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits, uint64_t, int);
    TAKE(25, cq_t *, doca_gpu_dev_verbs_qp_get_cq_sq, qp_t *);
    TAKE(26, uint32_t, doca_gpu_dev_verbs_cqe_idx_inc_mask, uint32_t, uint32_t);
    TAKE(27, void, doca_gpu_dev_verbs_cq_print_cqe_err, struct doca_gpunetio_ib_mlx5_cqe64 *);
    TAKE(28, int, ARGS(doca_priv_gpu_dev_verbs_poll_one_cq_at<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), cq_t *, uint64_t);
    TAKE(29, int, ARGS(doca_gpu_dev_verbs_poll_one_cq_at<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), cq_t *, uint64_t);
    TAKE(30, int, ARGS(doca_priv_gpu_dev_verbs_poll_cq_at<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), cq_t *, uint64_t);
    TAKE(31, int, ARGS(doca_gpu_dev_verbs_poll_cq_at<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), cq_t *, uint64_t);
    TAKE(32, int, ARGS(doca_priv_gpu_dev_verbs_poll_cq_collapsed_at<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *,
         cq_t *, uint64_t, uint64_t *);
    TAKE(33, int, ARGS(doca_gpu_dev_verbs_poll_cq_collapsed_at<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *,
         uint64_t);
    TAKE(34, int, ARGS(doca_gpu_dev_verbs_poll_cq<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), cq_t *, uint32_t);
    TAKE(35, uint32_t, doca_gpu_dev_verbs_cq_update_dbrec<false>, cq_t *, uint32_t);
    TAKE(36, void, doca_gpu_dev_verbs_store_wqe_seg, uint64_t *, uint64_t *);
    TAKE(37, wqe_t *, doca_gpu_dev_verbs_get_wqe_ptr, qp_t *, uint16_t);
    TAKE(38, void, ARGS(doca_gpu_dev_verbs_wait_until_slot_available<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *,
         uint64_t);
    TAKE(39, uint64_t, ARGS(doca_gpu_dev_verbs_reserve_wq_slots<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *,
         uint32_t, uint32_t);
    TAKE(40, void, ARGS(doca_gpu_dev_common_mark_wqes_ready<SHARING, DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST>),
         uint64_t &, uint64_t, uint64_t);
    TAKE(41, void,
         ARGS(doca_gpu_dev_verbs_mark_wqes_ready<SHARING, DOCA_GPUNETIO_VERBS_QP_SQ, DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST>),
         qp_t *, uint64_t, uint64_t);
    TAKE(42, __be32, doca_gpu_dev_verbs_prepare_dbr, uint32_t);
    TAKE(43, void, doca_gpu_dev_common_update_dbr, uint32_t *, uint32_t);
    TAKE(44, void, doca_priv_gpu_dev_verbs_update_dbr<DOCA_GPUNETIO_VERBS_QP_SQ>, qp_t *, uint32_t);
    TAKE(45, void, ARGS(doca_gpu_dev_verbs_update_dbr<SCOPE, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *, uint32_t, uint32_t);
    TAKE(46, __be64, doca_gpu_dev_common_prepare_db, uint32_t, uint64_t);
    TAKE(47, void, doca_gpu_dev_common_write_db<SCOPE>, uint64_t *, uint64_t, uint32_t);
    TAKE(48, void, doca_gpu_dev_common_ring_db<SCOPE>, uint64_t *, uint32_t, uint64_t, uint32_t);
    TAKE(49, __be64, doca_gpu_dev_verbs_prepare_db, qp_t *, uint64_t);
    TAKE(50, void, doca_gpu_dev_verbs_ring_db<SCOPE>, qp_t *, uint64_t, uint32_t);
    TAKE(51, void, doca_gpu_dev_verbs_ring_bf<SCOPE>, qp_t *, wqe_t *);
    TAKE(52, void, doca_gpu_dev_verbs_ring_bf_warp<SCOPE>, qp_t *, wqe_t *);
    TAKE(53, void, doca_gpu_dev_verbs_ring_proxy<SHARING>, qp_t *, uint64_t);
    TAKE(54, void, ARGS(doca_gpu_dev_verbs_submit_db_no_dbr<SHARING, SCOPE, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *,
         uint64_t, uint32_t);
    TAKE(55, void, ARGS(doca_gpu_dev_verbs_submit_db<SHARING, SCOPE, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *, uint64_t,
         uint32_t);
    TAKE(56, void, ARGS(doca_gpu_dev_verbs_submit_bf<SHARING, SCOPE>), qp_t *, uint64_t, wqe_t *, uint32_t);
    TAKE(57, void, ARGS(doca_gpu_dev_verbs_submit_bf_warp<SHARING, SCOPE>), qp_t *, uint64_t, wqe_t *, uint32_t);
    TAKE(58, void, ARGS(doca_gpu_dev_verbs_submit_proxy<SHARING, SCOPE>), qp_t *, uint64_t, uint32_t);
    TAKE(59, void, ARGS(doca_gpu_dev_verbs_submit<SHARING, SCOPE, HANDLER, DOCA_GPUNETIO_VERBS_QP_SQ>), qp_t *,
         uint64_t, uint32_t);
    TAKE(60, void, doca_gpu_dev_verbs_wqe_prepare_nop, qp_t *, wqe_t *, uint16_t, flags_t);
    TAKE(61, void, doca_gpu_dev_verbs_wqe_prepare_write, qp_t *, wqe_t *, uint16_t, uint32_t, flags_t, uint32_t,
         uint64_t, uint32_t, uint64_t, uint32_t, uint32_t);
    TAKE(62, void, doca_gpu_dev_verbs_wqe_prepare_write, qp_t *, wqe_t *, uint16_t, uint32_t, flags_t, uint32_t,
         uint64_t, uint32_t, uint64_t, uint32_t, uint32_t, uint64_t, uint32_t, uint32_t);
    TAKE(63, void, doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header, qp_t *, wqe_t *, uint16_t, flags_t,
         uint64_t, uint32_t, uint32_t);
    TAKE(64, void, doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data<uint64_t>, qp_t *, wqe_t *, uint64_t);
    TAKE(65, void, doca_gpu_dev_verbs_wqe_prepare_write_inl, qp_t *, wqe_t *, uint16_t, flags_t, uint64_t, uint32_t,
         uint64_t, uint32_t);
    TAKE(66, void, doca_gpu_dev_verbs_wqe_prepare_read, qp_t *, wqe_t *, uint16_t, flags_t, uint64_t, uint32_t,
         uint64_t, uint32_t, uint32_t);
    TAKE(67, void, doca_gpu_dev_verbs_wqe_prepare_read, qp_t *, wqe_t *, uint16_t, flags_t, uint64_t, uint32_t,
         uint64_t, uint32_t, uint32_t, uint64_t, uint32_t, uint32_t);
    TAKE(68, void, doca_gpu_dev_verbs_wqe_prepare_atomic, qp_t *, wqe_t *, uint16_t, uint32_t, flags_t, uint64_t,
         uint32_t, uint64_t, uint32_t, uint32_t, uint64_t, uint64_t);
    TAKE(69, void, doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>, qp_t *,
         wqe_t *, wqe_t *, uint16_t, uint32_t, flags_t, uint64_t, uint32_t, uint64_t, uint32_t, uint64_t, uint64_t,
         uint64_t, uint64_t, uint64_t, uint64_t);
    TAKE(70, void, doca_gpu_dev_verbs_wqe_prepare_wait, qp_t *, wqe_t *, uint16_t, flags_t, uint32_t, uint32_t);
    TAKE(71, void, doca_gpu_dev_verbs_wqe_prepare_dump, qp_t *, wqe_t *, uint16_t, flags_t, uint64_t, uint32_t,
         uint32_t);
    TAKE(72, void, ARGS(doca_gpu_dev_verbs_put_thread<SHARING, HANDLER>), qp_t *, addr_t, addr_t, size_t, ticket_t *,
         uint32_t);
    TAKE(73, void, ARGS(doca_gpu_dev_verbs_put_warp<SHARING, HANDLER>), qp_t *, addr_t, addr_t, size_t, ticket_t *,
         uint32_t);
    TAKE(74, void, ARGS(doca_gpu_dev_verbs_put<SHARING, HANDLER, EXEC>), qp_t *, addr_t, addr_t, size_t, ticket_t *,
         uint32_t);
    TAKE(75, void, ARGS(doca_gpu_dev_verbs_put<SHARING, HANDLER, EXEC>), qp_t *, addr_t, addr_t, size_t, uint32_t);
    TAKE(76, void, ARGS(doca_gpu_dev_verbs_p_thread<uint64_t, SHARING, HANDLER>), qp_t *, addr_t, uint64_t,
         ticket_t *, uint32_t);
    TAKE(77, void, ARGS(doca_gpu_dev_verbs_p_warp<uint64_t, SHARING, HANDLER>), qp_t *, addr_t, uint64_t, ticket_t *,
         uint32_t);
    TAKE(78, void, ARGS(doca_gpu_dev_verbs_p<uint64_t, SHARING, HANDLER, EXEC>), qp_t *, addr_t, uint64_t,
         ticket_t *, uint32_t);
    TAKE(79, void, ARGS(doca_gpu_dev_verbs_p<uint64_t, SHARING, HANDLER, EXEC>), qp_t *, addr_t, uint64_t, uint32_t);
    TAKE(80, void, ARGS(doca_gpu_dev_verbs_put_signal_thread<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>),
         qp_t *, addr_t, addr_t, size_t, addr_t, addr_t, uint64_t, ticket_t *, uint32_t);
    TAKE(81, void, ARGS(doca_gpu_dev_verbs_put_signal_warp<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>),
         qp_t *, addr_t, addr_t, size_t, addr_t, addr_t, uint64_t, ticket_t *, uint32_t);
    TAKE(82, void, ARGS(doca_gpu_dev_verbs_put_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER, EXEC>),
         qp_t *, addr_t, addr_t, size_t, addr_t, addr_t, uint64_t, ticket_t *, uint32_t);
    TAKE(83, void, ARGS(doca_gpu_dev_verbs_put_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER, EXEC>),
         qp_t *, addr_t, addr_t, size_t, addr_t, addr_t, uint64_t, uint32_t);
    TAKE(84, void, ARGS(doca_gpu_dev_verbs_p_signal<uint64_t, DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>),
         qp_t *, addr_t, uint64_t, addr_t, addr_t, uint64_t, ticket_t *, uint32_t);
    TAKE(85, void, ARGS(doca_gpu_dev_verbs_p_signal<uint64_t, DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>),
         qp_t *, addr_t, uint64_t, addr_t, addr_t, uint64_t, uint32_t);
    TAKE(86, void, ARGS(doca_gpu_dev_verbs_signal_thread<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>),
         qp_t *, addr_t, addr_t, uint64_t, ticket_t *, uint32_t);
    TAKE(87, void, ARGS(doca_gpu_dev_verbs_signal_warp<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>), qp_t *,
         addr_t, addr_t, uint64_t, ticket_t *, uint32_t);
    TAKE(88, void, ARGS(doca_gpu_dev_verbs_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER, EXEC>),
         qp_t *, addr_t, addr_t, uint64_t, ticket_t *, uint32_t);
    TAKE(89, void, ARGS(doca_gpu_dev_verbs_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>), qp_t *,
         addr_t, addr_t, uint64_t, uint32_t);
    TAKE(90, void, ARGS(doca_gpu_dev_verbs_get_thread<SHARING, HANDLER, MCST, BLOCKING>), qp_t *, addr_t, addr_t,
         size_t, addr_t, ticket_t *, uint32_t);
    TAKE(91, void, ARGS(doca_gpu_dev_verbs_get_warp<SHARING, HANDLER, MCST, BLOCKING>), qp_t *, addr_t, addr_t,
         size_t, addr_t, ticket_t *, uint32_t);
    TAKE(92, void, ARGS(doca_gpu_dev_verbs_get<SHARING, HANDLER, EXEC, MCST, BLOCKING>), qp_t *, addr_t, addr_t,
         size_t, addr_t, ticket_t *, uint32_t);
    TAKE(93, int, ARGS(doca_priv_gpu_dev_verbs_get_wait<SHARING, HANDLER, MCST>), qp_t *, addr_t, ticket_t);
    TAKE(94, int, ARGS(doca_gpu_dev_verbs_get_wait<SHARING, HANDLER, MCST>), qp_t *, addr_t, ticket_t);
    TAKE(95, int, ARGS(doca_gpu_dev_verbs_get_wait<SHARING, HANDLER, MCST>), qp_t *, addr_t);
    TAKE(96, int, ARGS(doca_gpu_dev_verbs_wait<SHARING, HANDLER>), qp_t *, ticket_t);
    TAKE(97, int, ARGS(doca_gpu_dev_verbs_wait<SHARING, HANDLER>), qp_t *);
    TAKE(98, void, ARGS(doca_gpu_dev_verbs_fence<SHARING, HANDLER>), qp_t *);
    TAKE(99, void, ARGS(doca_gpu_dev_verbs_submit_db_multi_qps_no_dbr<2, SHARING, SCOPE>), qp_t **, uint64_t *,
         uint32_t);
    TAKE(100, void, ARGS(doca_gpu_dev_verbs_submit_db_multi_qps<2, SHARING, SCOPE>), qp_t **, uint64_t *, uint32_t);
    TAKE(101, void, ARGS(doca_gpu_dev_verbs_submit_proxy_multi_qps<2, SHARING, SCOPE>), qp_t **, uint64_t *);
    TAKE(102, void, ARGS(doca_gpu_dev_verbs_submit_multi_qps<2, SHARING, SCOPE, HANDLER>), qp_t **, uint64_t *,
         uint32_t);
    TAKE(103, void, ARGS(doca_gpu_dev_verbs_put_counter<SHARING, HANDLER>), qp_t *, addr_t, addr_t, size_t, qp_t *,
         addr_t, addr_t, uint64_t, uint32_t);
    TAKE(104, void, ARGS(doca_gpu_dev_verbs_p_counter<uint64_t, SHARING, HANDLER>), qp_t *, addr_t, uint64_t, qp_t *,
         addr_t, addr_t, uint64_t, uint32_t);
    TAKE(105, void, ARGS(doca_gpu_dev_verbs_put_signal_counter<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>),
         qp_t *, addr_t, addr_t, size_t, addr_t, addr_t, uint64_t, qp_t *, addr_t, addr_t, uint64_t, uint32_t);
    TAKE(106, void, ARGS(doca_gpu_dev_verbs_signal_counter<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, SHARING, HANDLER>),
         qp_t *, addr_t, addr_t, uint64_t, qp_t *, addr_t, addr_t, uint64_t, uint32_t);
    TAKE(107, void, ARGS(doca_gpu_dev_verbs_get_counter<SHARING, HANDLER>), qp_t *, addr_t, addr_t, size_t, qp_t *,
         addr_t, addr_t, uint64_t, uint32_t);
    TAKE(108, void, ARGS(doca_gpu_dev_verbs_mcst<SHARING, HANDLER>), qp_t *, addr_t, ticket_t *, uint32_t);
}

#ifdef PROTOTYPES_MAIN
#include <stdio.h>

int main(void)
{
    void **out = NULL;
    int missing = 0;
    if (cudaHostAlloc((void **)&out, PROTOTYPES_COUNT * sizeof(*out), cudaHostAllocDefault) != cudaSuccess)
        return 1;
    for (int i = 0; i < PROTOTYPES_COUNT; i++)
        out[i] = NULL;
    take_addresses<<<1, 1>>>(out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    for (int i = 0; i < PROTOTYPES_COUNT; i++)
        missing += out[i] == NULL;
    printf("%d functions, %d without an address\n", PROTOTYPES_COUNT, missing);
    return missing != 0;
}
#endif
