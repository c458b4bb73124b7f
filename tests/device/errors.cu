/* SPDX-License-Identifier: Apache-2.0 */
/* Errors stick: after the first error CQE every wait and poll fails at once, reserving does not wait, posting returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#include "doca_gpunetio_device.h"

#include "mini_nic.h"

#define EXCL   DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
#define CTA    DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
#define GPU    DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define AUTO   DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define THREAD DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define WARP   DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP

typedef struct doca_gpu_dev_verbs_qp *qp_t;

struct outcome {
    int wait, wait_all, poll_one, poll, collapsed, bounded, count;
    uint64_t late_ticket, reserved_before, reserved_after, announced_before, announced_after;
};

/* WQE 3 fails. Four rings' worth of puts a block, then everything that can say so must. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_exec_scope exec>
__global__ void put_into_error(qp_t qp, uint64_t *src, uint64_t *dst, struct outcome *out, unsigned iters)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    struct doca_gpu_dev_verbs_addr raddr = {(uint64_t)&dst[t], MINI_KEY_BE}, laddr = {(uint64_t)&src[t], MINI_KEY_BE};
    struct outcome *o = &out[t];
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    for (unsigned i = 0; i < iters; i++)
        doca_gpu_dev_verbs_put<sharing, AUTO, exec>(qp, raddr, laddr, 8, &ticket);
    o->wait = doca_gpu_dev_verbs_wait<sharing, AUTO>(qp, ticket);

    o->reserved_before = doca_gpu_dev_verbs_atomic_read<uint64_t, sharing>(&qp->sq_rsvd_index);
    o->announced_before = doca_gpu_dev_verbs_atomic_read<uint64_t, sharing>(&qp->sq_wqe_pi);
    for (unsigned i = 0; i < iters; i++)
        doca_gpu_dev_verbs_put<sharing, AUTO, exec>(qp, raddr, laddr, 8, &o->late_ticket);
    doca_gpu_dev_verbs_p<uint64_t, sharing, AUTO, exec>(qp, raddr, 1);
    doca_gpu_dev_verbs_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, sharing, AUTO>(qp, raddr, laddr, 1);
    o->reserved_after = doca_gpu_dev_verbs_atomic_read<uint64_t, sharing>(&qp->sq_rsvd_index);
    o->announced_after = doca_gpu_dev_verbs_atomic_read<uint64_t, sharing>(&qp->sq_wqe_pi);

    o->wait |= doca_gpu_dev_verbs_wait<sharing, AUTO>(qp, 0); /* completed before the error: the error all the same */
    o->wait_all = doca_gpu_dev_verbs_wait<sharing, AUTO>(qp);
    o->poll_one = doca_gpu_dev_verbs_poll_one_cq_at<sharing>(&qp->cq_sq, 1);
    o->poll = doca_gpu_dev_verbs_poll_cq_at<sharing>(&qp->cq_sq, 1ull << 40);
    o->collapsed = doca_gpu_dev_verbs_poll_cq_collapsed_at<sharing>(qp, 1ull << 40);
    o->bounded = doca_gpu_dev_verbs_wait_bounded<sharing, AUTO>(qp, o->late_ticket, 1);
    o->count = doca_gpu_dev_verbs_poll_cq<sharing>(&qp->cq_sq, 100);

    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<sharing>(qp, 1); /* does not wait, whatever is in the ring */
    doca_gpu_dev_verbs_wqe_prepare_nop(qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), (uint16_t)index,
                                       DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
    doca_gpu_dev_verbs_mark_wqes_ready<sharing>(qp, index, index);
    doca_gpu_dev_verbs_submit<sharing>(qp, index + 1);
}

typedef void (*launcher)(qp_t qp, uint64_t *mem, struct outcome *out, unsigned threads, unsigned iters);

template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_exec_scope exec>
static void launch(qp_t qp, uint64_t *mem, struct outcome *out, unsigned threads, unsigned iters)
{
    put_into_error<sharing, exec><<<1, threads>>>(qp, mem, mem + 1024, out, iters);
}

static void check_error_record(const mini_queue *q, bool collapsed)
{
    struct gdaki_queue_error e = gdaki_error_read(&q->qp->cq_sq);
    assert_true(e.has_error);
    assert_int_equal(e.state, GDAKI_ERROR_SET);
    assert_int_equal(e.hw_err_synd, 0x12);
    assert_int_equal(e.hw_synd_type, 0x34);
    assert_int_equal(e.vendor_err_synd, 0x88);
    assert_int_equal(e.wqe_counter, e.index & 0xffff);
    if (collapsed) { /* slot 0 may already tell of a flushed WQE */
        assert_true(e.syndrome == 0x13 || e.syndrome == 5);
        assert_true(e.index >= 3);
    } else {
        assert_int_equal(e.syndrome, 0x13);
        assert_int_equal(e.index, 3);
    }
}

static void error_at_wqe_3(void **)
{
    static const struct {
        launcher go;
        unsigned threads;
    } rows[] = {{launch<EXCL, THREAD>, 1}, {launch<EXCL, WARP>, 32}, {launch<CTA, THREAD>, 128}, {launch<CTA, WARP>, 128},
                {launch<GPU, THREAD>, 128}, {launch<GPU, WARP>, 128}, {launch<GPU, THREAD>, 1}};
    for (const auto &row : rows)
        for (uint32_t slots : {1u, 4u, 32u, 256u})
            for (int handler : {1, 2, 6, 10})
                for (int collapsed = 0; collapsed < 2; collapsed++) {
                    mini_nic nic;
                    uint64_t reports = mini_reports();
                    mini_queue *q = mini_create(&nic, slots, (enum doca_gpu_dev_verbs_nic_handler)handler, collapsed);
                    uint64_t *mem = (uint64_t *)mini_alloc(8 * 2048);
                    struct outcome *out = (struct outcome *)mini_alloc(sizeof(*out) * row.threads);
                    unsigned iters = 4 * slots / row.threads + 4; /* four rings' worth and more */
                    q->fail_at = 3;
                    mini_start(&nic);
                    row.go(q->qp, mem, out, row.threads, iters);
                    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
                    mini_stop(&nic);
                    for (unsigned t = 0; t < row.threads; t++) {
                        const struct outcome *o = &out[t];
                        assert_int_equal(o->wait, -EIO);
                        assert_int_equal(o->wait_all, -EIO);
                        assert_int_equal(o->poll_one, -EIO);
                        assert_int_equal(o->poll, -EIO);
                        assert_int_equal(o->collapsed, -EIO);
                        assert_int_equal(o->bounded, -EIO);
                        assert_int_equal(o->count, -EIO);
                        assert_true(o->late_ticket == GDAKI_TICKET_NONE);
                        if (row.threads == 1) {
                            assert_int_equal(o->reserved_before, o->reserved_after);
                            assert_int_equal(o->announced_before, o->announced_after);
                        }
                    }
                    check_error_record(q, collapsed);
                    assert_int_equal(mini_reports(), reports);
                    assert_int_equal(mini_violations(&nic), 0);
                    mini_destroy(&nic);
                    cudaFreeHost(mem);
                    cudaFreeHost(out);
                }
}

/* The host reads the error while the kernel still runs. */
__global__ void fail_and_stay(qp_t qp, uint64_t *mem, uint32_t *go, int *status)
{
    struct doca_gpu_dev_verbs_addr a = {(uint64_t)mem, MINI_KEY_BE};
    doca_gpu_dev_verbs_ticket_t ticket;
    doca_gpu_dev_verbs_put<EXCL>(qp, a, a, 8, &ticket);
    *status = doca_gpu_dev_verbs_wait<EXCL>(qp, ticket);
    while (doca_gpu_dev_verbs_atomic_read<uint32_t, GPU>(go) == 0)
        ;
}

static void host_reads_it_meanwhile(void **)
{
    mini_nic nic;
    mini_queue *q = mini_create(&nic, 4, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, false);
    uint64_t *mem = (uint64_t *)mini_alloc(8);
    uint32_t *go = (uint32_t *)mini_alloc(4);
    int *status = (int *)mini_alloc(4);
    q->fail_at = 0;
    mini_start(&nic);
    fail_and_stay<<<1, 1>>>(q->qp, mem, go, status);
    while (gdaki_error_read(&q->qp->cq_sq).state != GDAKI_ERROR_SET)
        sched_yield();
    assert_int_equal(gdaki_error_read(&q->qp->cq_sq).syndrome, 0x13);
    assert_int_equal(gdaki_error_read(&q->qp->cq_sq).index, 0);
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    mini_stop(&nic);
    assert_int_equal(*status, -EIO);
    mini_destroy(&nic);
    cudaFreeHost(mem);
    cudaFreeHost(go);
    cudaFreeHost(status);
}

/* A NIC that does nothing: bounded waits end, and say so; nothing is recorded as an error. */
__global__ void bounded_waits(qp_t qp, uint64_t *mem, int *out)
{
    struct doca_gpu_dev_verbs_addr a = {(uint64_t)mem, MINI_KEY_BE};
    doca_gpu_dev_verbs_ticket_t ticket;
    doca_gpu_dev_verbs_put(qp, a, a, 8, &ticket);
    out[0] = doca_gpu_dev_verbs_wait_bounded(qp, ticket, 1000000);
    out[1] = doca_gpu_dev_verbs_poll_cq_at_bounded(&qp->cq_sq, ticket, 1000000);
    out[2] = doca_gpu_dev_verbs_poll_one_cq_at(&qp->cq_sq, ticket);
    out[3] = doca_priv_gpu_dev_verbs_poll_one_cq_at(&qp->cq_sq, ticket);
    out[4] = doca_gpu_dev_verbs_wait_until_slot_available_bounded(qp, ticket + 4, 1000000);
    out[5] = doca_gpu_dev_verbs_wait_until_slot_available_bounded(qp, ticket + 3, 1000000);
    out[6] = doca_gpu_dev_verbs_wait(qp, GDAKI_TICKET_NONE);
}

static void waits_are_bounded(void **)
{
    for (int collapsed = 0; collapsed < 2; collapsed++) {
        mini_nic nic;
        mini_queue *q = mini_create(&nic, 4, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, collapsed);
        uint64_t *mem = (uint64_t *)mini_alloc(8);
        int *out = (int *)mini_alloc(64);
        q->frozen = true;
        mini_start(&nic);
        bounded_waits<<<1, 1>>>(q->qp, mem, out);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        mini_stop(&nic);
        for (int i = 0; i < 5; i++)
            assert_int_equal(out[i], EBUSY);
        assert_int_equal(out[5], 0);
        assert_int_equal(out[6], -EIO);
        assert_int_equal(q->qp->cq_sq.gdaki_error, 0);
        mini_destroy(&nic);
        cudaFreeHost(mem);
        cudaFreeHost(out);
    }
}

/* A counter's companion is not left waiting for a WQE that was never posted. */
__global__ void counter_in_error(qp_t qp, qp_t companion, uint64_t *mem, int *status)
{
    struct doca_gpu_dev_verbs_addr a = {(uint64_t)mem, MINI_KEY_BE}, c = {(uint64_t)(mem + 1), MINI_KEY_BE};
    struct doca_gpu_dev_verbs_addr old = {(uint64_t)(mem + 2), MINI_KEY_BE};
    for (int i = 0; i < 40; i++)
        doca_gpu_dev_verbs_put_counter(qp, a, a, 8, companion, c, old, 1);
    status[threadIdx.x] = doca_gpu_dev_verbs_wait(qp);
    status[threadIdx.x + 32] = doca_gpu_dev_verbs_wait(companion);
}

static void counters_end_too(void **)
{
    mini_nic nic;
    mini_queue *q = mini_create(&nic, 16, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, false);
    mini_queue *companion = mini_create(&nic, 16, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, false);
    uint64_t *mem = (uint64_t *)mini_alloc(64);
    int *status = (int *)mini_alloc(64 * sizeof(int));
    q->fail_at = 100;
    mini_start(&nic);
    counter_in_error<<<1, 32>>>(q->qp, companion->qp, mem, status);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    mini_stop(&nic);
    for (int t = 0; t < 32; t++) {
        assert_int_equal(status[t], -EIO);
        assert_int_equal(status[t + 32], 0); /* error CQEs count, so every WAIT was released */
    }
    mini_destroy(&nic);
    cudaFreeHost(mem);
    cudaFreeHost(status);
}

/* Stops the queue as a kernel's mistake elsewhere would, while this warp writes its WQEs. */
struct make_and_stop {
    qp_t qp;
    __device__ void operator()(struct doca_gpu_dev_verbs_wqe *wqe, uint64_t index, uint64_t) const
    {
        doca_gpu_dev_verbs_wqe_prepare_nop(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE);
        gdaki_cq_fail(&qp->cq_sq, GDAKI_ERROR_SOFTWARE, index);
    }
};

__global__ void post_and_stop(qp_t qp, uint64_t *ticket, int *status)
{
    struct gdaki_group g = gdaki_group_by(qp, 0);
    ticket[threadIdx.x] = gdaki_post_group<GPU, AUTO>(g, qp, 1, 0, make_and_stop{qp}, NULL);
    status[threadIdx.x] = doca_gpu_dev_verbs_wait(qp, ticket[threadIdx.x]);
}

/* A ticket says that the NIC hears of the WQE. Of a queue that is stopped it does not, where ringing looks for that. */
static void no_ticket_without_a_doorbell(void **)
{
    for (enum doca_gpu_dev_verbs_nic_handler handler :
         {DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR,
          DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY}) {
        mini_nic nic;
        mini_queue *q = mini_create(&nic, 64, handler, false);
        uint64_t *ticket = (uint64_t *)mini_alloc(32 * sizeof(*ticket));
        int *status = (int *)mini_alloc(32 * sizeof(*status));
        mini_start(&nic);
        post_and_stop<<<1, 32>>>(q->qp, ticket, status);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        mini_stop(&nic);
        assert_int_equal(q->qp->sq_wqe_pi, 0);
        for (int t = 0; t < 32; t++) {
            assert_true(ticket[t] == GDAKI_TICKET_NONE);
            assert_int_equal(status[t], -EIO);
        }
        mini_destroy(&nic);
        cudaFreeHost(ticket);
        cudaFreeHost(status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_at_wqe_3),    cmocka_unit_test(host_reads_it_meanwhile),
        cmocka_unit_test(waits_are_bounded), cmocka_unit_test(counters_end_too),
        cmocka_unit_test(no_ticket_without_a_doorbell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
