/* SPDX-License-Identifier: Apache-2.0 */
/* Each mistake that the checker knows is reported, once, with its words; correct kernels are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#define GDAKI_CHECK_STUCK_NS 1000000000ull /* five seconds otherwise */
#include "doca_gpunetio_device.h"

#include "mini_nic.h"

typedef struct doca_gpu_dev_verbs_qp *qp_t;

#define ON  DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE
#define OFF DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_ERROR_UPDATE
#define GPU DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU

__device__ static void build_nop(qp_t qp, uint64_t index, int flags)
{
    doca_gpu_dev_verbs_wqe_prepare_nop(qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), (uint16_t)index,
                                       (enum doca_gpu_dev_verbs_wqe_ctrl_flags)flags);
}

/* Two WQEs, the first without a CQE, and a poll for the first. */
__global__ void unsignalled(qp_t qp, int *out)
{
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 2);
    build_nop(qp, index, OFF);
    build_nop(qp, index + 1, ON);
    doca_gpu_dev_verbs_mark_wqes_ready(qp, index, index + 1);
    doca_gpu_dev_verbs_submit(qp, index + 2);
    *out = doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, index);
}

__global__ void two_slots(qp_t qp, int *out)
{
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 3);
    build_nop(qp, index, ON);
    doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
        qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + 1)),
        doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + 2)), (uint16_t)(index + 1),
        DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, ON, 0, MINI_KEY_BE, 0, MINI_KEY_BE, 0, 0, 0, 0, 0, 0);
    doca_gpu_dev_verbs_mark_wqes_ready(qp, index, index + 2);
    *out = doca_gpu_dev_verbs_poll_cq_at_bounded(&qp->cq_sq, index, 1000000); /* not rung: the reference NIC knows no 0x14 */
}

/* The second warp reserves first, so the last thread's index is not the highest. */
__global__ void last_not_highest(qp_t qp, int *out)
{
    __shared__ unsigned turn;
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    while (threadIdx.x < 32 && doca_gpu_dev_verbs_atomic_read<unsigned, GPU>(&turn) < 32)
        ;
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 1);
    if (threadIdx.x >= 32)
        doca_gpu_dev_verbs_atomic_add<unsigned, GPU>(&turn, 1);
    build_nop(qp, index, ON);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        doca_gpu_dev_verbs_submit(qp, index + 1);
        *out = doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, index);
    }
}

/* The same the right way round. */
__global__ void last_is_highest(qp_t qp, int *out)
{
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 1);
    build_nop(qp, index, ON);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        doca_gpu_dev_verbs_submit(qp, index + 1);
        *out = doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, index);
    }
}

__global__ void too_many(qp_t qp, int *out)
{
    build_nop(qp, doca_gpu_dev_verbs_reserve_wq_slots(qp, 65), ON);
    *out = doca_gpu_dev_verbs_wait(qp);
}

__global__ void unwritten(qp_t qp, int *out)
{
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 2);
    build_nop(qp, index, ON);
    doca_gpu_dev_verbs_submit<GPU, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(qp, index + 2,
                                                                        DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING);
    *out = 0;
}

/* More puts than slots, availability not checked, at a NIC that does nothing. */
__global__ void overwrite(qp_t qp, int *out)
{
    struct doca_gpu_dev_verbs_addr a = {0, MINI_KEY_BE};
    for (int i = 0; i < 3; i++)
        doca_gpu_dev_verbs_put(qp, a, a, 8, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK);
    *out = 0;
}

/* 128 threads reserve a slot each of a ring of 64 and submit behind a barrier: the last 64 wait for ever. */
__global__ void beyond_the_ring(qp_t qp, int *out)
{
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 1);
    build_nop(qp, index, ON);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        doca_gpu_dev_verbs_submit(qp, index + 1);
        *out = doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, index);
    }
}

/* A producer index that the ring cannot hold, for instance a byte count taken for an index. */
__global__ void far_submit(qp_t qp, int *out)
{
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 1);
    build_nop(qp, index, ON);
    doca_gpu_dev_verbs_submit(qp, 1000000);
    *out = doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, index);
}

/* Waits for a ticket that is not one. */
__global__ void nobody_posts(qp_t qp, int *out)
{
    *out = doca_gpu_dev_verbs_wait_bounded(qp, 3, 2000000000ull);
}

__global__ void nobody_submits(qp_t qp, int *out)
{
    *out = doca_gpu_dev_verbs_wait_bounded(qp, doca_gpu_dev_verbs_reserve_wq_slots(qp, 1), 2000000000ull);
}

typedef void (*kernel)(qp_t qp, int *out);

static void run(kernel k, unsigned threads, bool collapsed, bool frozen, int expected, const char *words)
{
    mini_nic nic;
    mini_queue *q = mini_create(&nic, 64, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, collapsed);
    int *out = (int *)mini_alloc(4);
    uint64_t before = gdaki_cpu_check_count();
    q->frozen = frozen;
    *out = 77;
    gdaki_cpu_set_idle_hook(mini_run, &nic);
    k<<<1, threads>>>(q->qp, out);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    gdaki_cpu_set_idle_hook(NULL, NULL);
    assert_int_equal(*out, expected);
    assert_int_equal(gdaki_cpu_check_count() - before, words != NULL);
    if (words != NULL && strstr(gdaki_cpu_last_report(), words) == NULL)
        fail_msg("the report says \"%s\", not \"%s\"", gdaki_cpu_last_report(), words);
    mini_destroy(&nic);
    cudaFreeHost(out);
}

static void poll_by_index_needs_one_cqe_a_slot(void **)
{
    run(unsignalled, 1, false, false, 0, "unsignalled WQEs");
    run(unsignalled, 1, true, false, 0, NULL); /* a collapsed CQ tells by wqe_counter */
    run(two_slots, 1, false, true, EBUSY, "two-slot WQEs");
}

static void last_thread_has_the_highest_index(void **)
{
    run(last_not_highest, 64, false, false, 0, "highest only within one warp");
    run(last_is_highest, 32, false, false, 0, NULL);
}

static void posting_beyond_the_ring(void **)
{
    run(too_many, 1, false, false, -EIO, "65 slots does not fit in a ring of 64");
    run(overwrite, 32, false, true, 0, "posts beyond the ring of 64");
    run(far_submit, 1, false, false, -EIO, "submit(1000000) posts beyond the ring of 64");
    run(beyond_the_ring, 128, false, false, -EIO, "posts beyond the ring of 64");
}

static void slots_nobody_wrote(void **)
{
    run(unwritten, 1, false, false, 0, "slot 1 of them has not been written");
}

static void waiting_for_what_nobody_posts(void **)
{
    run(nobody_posts, 1, false, false, EBUSY, "WQE 3 has seen nothing happen for 1 s, and that WQE has not been posted");
    run(nobody_submits, 1, false, false, EBUSY, "has not been handed over, only reserved: 1 slots are reserved, 0 handed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poll_by_index_needs_one_cqe_a_slot),
        cmocka_unit_test(last_thread_has_the_highest_index),
        cmocka_unit_test(posting_beyond_the_ring),
        cmocka_unit_test(slots_nobody_wrote),
        cmocka_unit_test(waiting_for_what_nobody_posts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
