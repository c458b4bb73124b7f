/* SPDX-License-Identifier: Apache-2.0 */
/* The SDK's flat headers and names, and the 1.x spelling, compile and work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#include <doca_gpunetio_dev_verbs_counter.cuh>
#include <doca_gpunetio_dev_verbs_onesided.cuh>

#include "mini_nic.h"

#define SHARED DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define SYNC   DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU

static_assert((int)MLX5_OPCODE_RDMA_WRITE == (int)DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, "one value under all names");
static_assert(DOCA_GPUNETIO_MLX5_OPCODE_RDMA_WRITE == 8, "one value under all names");
static_assert(sizeof(struct doca_gpu_dev_verbs_wqe_ctrl_seg) == 16, "1.x name");
#ifdef MLX5_OPCODE_RDMA_WRITE
#error "MLX5_OPCODE_RDMA_WRITE must not be a macro"
#endif

__device__ static uint64_t build(struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint64_t *from, uint64_t *to)
{
    doca_gpu_dev_verbs_wqe_prepare_write(qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), (uint16_t)index,
                                         MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_MLX5_WQE_CTRL_CQ_UPDATE, 0, (uint64_t)to,
                                         MINI_KEY_BE, (uint64_t)from, MINI_KEY_BE, sizeof(*from));
    doca_gpu_dev_verbs_mark_wqes_ready<SHARED>(qp, index, index);
    return index + 1;
}

__global__ void version_1(struct doca_gpu_dev_verbs_qp *qp, uint64_t *mem, int *status)
{
    uint64_t next = build(qp, doca_gpu_dev_verbs_reserve_wq_slots<SHARED, true>(qp, 1), mem, mem + 8);
    doca_gpu_dev_verbs_submit<SHARED, SYNC, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
                              DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING>(qp, next);
    next = build(qp, doca_gpu_dev_verbs_reserve_wq_slots<SHARED, false>(qp, 1), mem + 1, mem + 9);
    doca_gpu_dev_verbs_submit_db<SHARED, SYNC, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE>(qp, next);
    next = build(qp, doca_gpu_dev_verbs_reserve_wq_slots<SHARED>(qp, 1), mem + 2, mem + 10);
    doca_gpu_dev_verbs_submit_bf<SHARED, SYNC, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT>(
        qp, next, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(next - 1)));
    next = build(qp, doca_gpu_dev_verbs_reserve_wq_slots<SHARED>(qp, 1), mem + 3, mem + 11);
    doca_gpu_dev_verbs_submit_bf_warp<SHARED, SYNC, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT>(
        qp, next, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(next - 1)));
    /* by hand: record and register */
    next = build(qp, doca_gpu_dev_verbs_reserve_wq_slots<SHARED>(qp, 1), mem + 4, mem + 12);
    doca_gpu_dev_verbs_update_dbr<SYNC, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT>(qp, (uint32_t)next);
    doca_gpu_dev_verbs_ring_db<SYNC, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT>(qp, next);
    *status = doca_gpu_dev_verbs_poll_cq_at<SHARED>(&qp->cq_sq, next - 1);
    uint32_t word = 0;
    doca_gpu_dev_verbs_async_store_release<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>((uint32_t *)(mem + 20), word + 5);
    doca_gpu_dev_verbs_async_store_release<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(mem + 21, (uint64_t)6);
}

static void one_x_spelling(void **)
{
    mini_nic nic;
    mini_queue *q = mini_create(&nic, 16, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, false);
    uint64_t *mem = (uint64_t *)mini_alloc(8 * 32);
    int *status = (int *)mini_alloc(4);
    *status = 77;
    for (int i = 0; i < 8; i++)
        mem[i] = 100 + i;
    mini_start(&nic);
    version_1<<<1, 1>>>(q->qp, mem, status);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    mini_stop(&nic);
    assert_int_equal(*status, 0);
    assert_int_equal(mini_violations(&nic), 0);
    assert_memory_equal(mem, mem + 8, 40);
    assert_int_equal(mem[20], 5);
    assert_int_equal(mem[21], 6);
    mini_destroy(&nic);
    cudaFreeHost(mem);
    cudaFreeHost(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_x_spelling)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
