/* SPDX-License-Identifier: Apache-2.0 */
/* Posting: every ring size, sharing mode, handler, scope and CQ kind against the reference NIC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#include "doca_gpunetio_device.h"

#include "mini_nic.h"

#define EXCL DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
#define CTA  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
#define GPU  DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define AUTO DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define PROXY DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#define DB   DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
#define BF   DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF
#define NO_DBR DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR
#define THREAD DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define WARP DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP

typedef struct doca_gpu_dev_verbs_qp *qp_t;

/* Each thread puts `iters` values of 8 bytes; odd and even threads at different call sites when `split`. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_nic_handler handler,
          enum doca_gpu_dev_verbs_exec_scope exec>
__global__ void __launch_bounds__(1024) put_kernel(qp_t *qps, unsigned nqps, uint64_t *src, uint64_t *dst, uint64_t *tickets, int *status,
                           unsigned iters, bool split, uint32_t opt)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    qp_t qp = qps[t % nqps];
    for (unsigned i = 0; i < iters; i++) {
        size_t at = (size_t)t * iters + i;
        struct doca_gpu_dev_verbs_addr raddr = {(uint64_t)&dst[at], MINI_KEY_BE}, laddr = {(uint64_t)&src[at], MINI_KEY_BE};
        doca_gpu_dev_verbs_ticket_t ticket;
        if (split && t % 2)
            doca_gpu_dev_verbs_put<sharing, handler, exec>(qp, raddr, laddr, 8, &ticket, opt);
        else
            doca_gpu_dev_verbs_put<sharing, handler, exec>(qp, raddr, laddr, 8, &ticket, opt);
        tickets[at] = ticket;
    }
    status[t] = doca_gpu_dev_verbs_wait<sharing, handler>(qp, tickets[(size_t)t * iters + iters - 1]);
}

struct shape {
    unsigned blocks, threads, iters, nqps;
    bool split;
    uint32_t opt;
};

typedef void (*launcher)(const struct shape *s, qp_t *qps, uint64_t *src, uint64_t *dst, uint64_t *tickets, int *status);

template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_nic_handler handler,
          enum doca_gpu_dev_verbs_exec_scope exec>
static void launch_puts(const struct shape *s, qp_t *qps, uint64_t *src, uint64_t *dst, uint64_t *tickets, int *status)
{
    put_kernel<sharing, handler, exec>
        <<<s->blocks, s->threads>>>(qps, s->nqps, src, dst, tickets, status, s->iters, s->split, s->opt);
}

/* Runs puts and checks data, tickets, results, order and what the NIC met. */
static void run_puts(launcher launch, const struct shape *s, enum doca_gpu_dev_verbs_nic_handler queue_handler,
                     uint32_t slots, bool collapsed)
{
    mini_nic nic;
    size_t threads = (size_t)s->blocks * s->threads, total = threads * s->iters;
    qp_t *qps = (qp_t *)mini_alloc(s->nqps * sizeof(*qps));
    uint64_t *src = (uint64_t *)mini_alloc(8 * total), *dst = (uint64_t *)mini_alloc(8 * total);
    uint64_t *tickets = (uint64_t *)mini_alloc(8 * total);
    int *status = (int *)mini_alloc(sizeof(int) * threads);

    for (unsigned i = 0; i < s->nqps; i++)
        qps[i] = mini_create(&nic, slots, queue_handler, collapsed)->qp;
    for (size_t i = 0; i < total; i++)
        src[i] = 0x1000000 + i;
    for (size_t i = 0; i < threads; i++)
        status[i] = 77;
    mini_start(&nic);
    uint64_t reports = mini_reports();
    launch(s, qps, src, dst, tickets, status);
    assert_int_equal(cudaGetLastError(), cudaSuccess); /* the launch itself */
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    mini_stop(&nic);

    assert_int_equal(mini_violations(&nic), 0);
    assert_int_equal(mini_reports(), reports);
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(status[i], 0);
    for (size_t i = 0; i < total; i++) {
        mini_queue *q = nic.queues[(i / s->iters) % s->nqps];
        assert_int_equal(dst[i], src[i]);
        assert_true(tickets[i] < q->raddr.size());
        assert_int_equal(q->raddr[tickets[i]], (uint64_t)&dst[i]); /* the ticket is this lane's own WQE */
    }
    for (mini_queue *q : nic.queues) {
        assert_int_equal(q->qp->sq_rsvd_index, q->done);
        assert_int_equal(q->qp->sq_ready_index, q->done);
        assert_int_equal(q->qp->sq_wqe_pi, q->done);
        assert_int_equal(q->qp->cq_sq.gdaki_error, 0);
        assert_int_equal(q->qp->sq_lock, 0);
    }
    mini_destroy(&nic);
    cudaFreeHost(qps);
    cudaFreeHost(src);
    cudaFreeHost(dst);
    cudaFreeHost(tickets);
    cudaFreeHost(status);
}

#ifdef __SANITIZE_THREAD__ /* some thirty times slower: the same cases with fewer threads and sizes */
static const uint32_t ring_sizes[] = {1, 16, 1024};
enum { THREADS = 128 };
#else
static const uint32_t ring_sizes[] = {1, 2, 16, 32, 1024};
enum { THREADS = 1024 };
#endif

static void ring_sizes_under_1024_threads(void **)
{
    for (uint32_t slots : ring_sizes) {
        for (int collapsed = 0; collapsed < 2; collapsed++) {
            struct shape one = {1, THREADS, 2, 1, false, 0}, four = {4, THREADS / 4, 2, 1, false, 0};
            run_puts(launch_puts<CTA, AUTO, THREAD>, &one, DB, slots, collapsed);
            run_puts(launch_puts<GPU, AUTO, THREAD>, &four, DB, slots, collapsed);
            run_puts(launch_puts<GPU, AUTO, WARP>, &four, DB, slots, collapsed);
        }
    }
}

struct handler_row {
    launcher launch;
    enum doca_gpu_dev_verbs_nic_handler queue;
};

static void every_handler(void **)
{
    static const struct handler_row rows[] = {
        {launch_puts<GPU, AUTO, THREAD>, DB},       {launch_puts<GPU, AUTO, THREAD>, NO_DBR},
        {launch_puts<GPU, AUTO, THREAD>, BF},       {launch_puts<GPU, AUTO, THREAD>, PROXY},
        {launch_puts<CTA, AUTO, THREAD>, NO_DBR},   {launch_puts<CTA, AUTO, THREAD>, BF},
        {launch_puts<CTA, AUTO, THREAD>, PROXY},    {launch_puts<GPU, DB, THREAD>, DB},
        {launch_puts<GPU, DB, THREAD>, PROXY},      {launch_puts<GPU, NO_DBR, THREAD>, NO_DBR},
        {launch_puts<GPU, PROXY, THREAD>, PROXY},   {launch_puts<GPU, PROXY, THREAD>, DB},
        {launch_puts<GPU, BF, WARP>, BF},           {launch_puts<GPU, BF, WARP>, DB},
        {launch_puts<GPU, NO_DBR, WARP>, NO_DBR},   {launch_puts<GPU, PROXY, WARP>, PROXY},
        {launch_puts<CTA, AUTO, WARP>, DB},         {launch_puts<GPU, NO_DBR, THREAD>, DB},
    };
    for (const struct handler_row &row : rows) {
        for (uint32_t slots : {2u, 16u, 1024u}) {
            struct shape s = {1, 96, 8, 1, false, 0};
            run_puts(row.launch, &s, row.queue, slots, false);
            run_puts(row.launch, &s, row.queue, slots, true);
        }
    }
}

static void exclusive_queues(void **)
{
    for (enum doca_gpu_dev_verbs_nic_handler queue : {DB, NO_DBR, BF, PROXY}) {
        struct shape threads = {2, 32, 40, 64, false, 0}, alone = {1, 1, 300, 1, false, 0}, warp = {1, 32, 20, 1, false, 0};
        struct shape partial = {1, 13, 20, 1, false, 0};
        run_puts(launch_puts<EXCL, AUTO, THREAD>, &threads, queue, 16, false);
        run_puts(launch_puts<EXCL, AUTO, THREAD>, &alone, queue, 4, true);
        run_puts(launch_puts<EXCL, AUTO, WARP>, &warp, queue, 64, false); /* one warp has the queue */
        run_puts(launch_puts<EXCL, AUTO, WARP>, &partial, queue, 16, false);
    }
}

static void lanes_on_32_queues(void **)
{
    struct shape s = {2, 128, 6, 32, false, 0};
    run_puts(launch_puts<GPU, AUTO, THREAD>, &s, DB, 16, false);
    run_puts(launch_puts<GPU, AUTO, THREAD>, &s, NO_DBR, 16, true);
    struct shape three = {1, 128, 6, 3, false, 0};
    run_puts(launch_puts<CTA, AUTO, THREAD>, &three, DB, 8, false);
}

static void warp_at_two_call_sites(void **)
{
    for (uint32_t slots : ring_sizes) {
        struct shape s = {2, 64, 6, 1, true, 0};
        run_puts(launch_puts<GPU, AUTO, THREAD>, &s, DB, slots, false);
        run_puts(launch_puts<GPU, AUTO, WARP>, &s, PROXY, slots, false);
    }
}

/* Nobody ever rings: reservations that wait and waits themselves must announce. */
static void skip_ringing_still_ends(void **)
{
    for (uint32_t slots : ring_sizes) {
        for (enum doca_gpu_dev_verbs_nic_handler queue : {DB, NO_DBR, PROXY}) {
            struct shape s = {1, 128, 4, 1, false, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING};
            run_puts(launch_puts<GPU, AUTO, THREAD>, &s, queue, slots, false);
            run_puts(launch_puts<CTA, AUTO, WARP>, &s, queue, slots, true);
        }
        struct shape alone = {1, 1, 70, 1, false, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING};
        run_puts(launch_puts<EXCL, AUTO, THREAD>, &alone, DB, slots, false);
    }
}

static void async_store_release(void **)
{
    struct shape s = {1, 64, 4, 1, false, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_ASYNC_STORE_RELEASE};
    run_puts(launch_puts<GPU, AUTO, THREAD>, &s, DB, 16, false);
    run_puts(launch_puts<EXCL, AUTO, WARP>, &s, NO_DBR, 64, false);
}

/* Indices past 2^16 and a CQ that began its life before the queue was reset (cqe_rsvd). */
__global__ void wrap_kernel(qp_t qp, uint64_t *src, uint64_t *dst, int *status, unsigned iters)
{
    struct doca_gpu_dev_verbs_addr raddr = {(uint64_t)dst, MINI_KEY_BE}, laddr = {(uint64_t)src, MINI_KEY_BE};
    for (unsigned i = 0; i < iters; i++)
        doca_gpu_dev_verbs_put(qp, raddr, laddr, 8);
    status[threadIdx.x] = doca_gpu_dev_verbs_wait(qp);
}

static void index_wraps(void **)
{
    for (int collapsed = 0; collapsed < 2; collapsed++) {
        mini_nic nic;
        mini_queue *q = mini_create(&nic, 256, DB, collapsed);
        uint64_t *mem = (uint64_t *)mini_alloc(64);
        int *status = (int *)mini_alloc(64 * sizeof(int));
        q->cq_count = q->qp->cq_sq.cqe_rsvd = 3 * 256 + 17; /* CQEs before the reset */
        for (unsigned i = 0; i < 256; i++)
            q->cq[64 * i + 63] = 0xff; /* as a reset refills it */
        mini_start(&nic);
        wrap_kernel<<<1, 64>>>(q->qp, mem, mem + 1, status, 2100);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        mini_stop(&nic);
        assert_int_equal(q->done, 64 * 2100);
        assert_int_equal(mini_violations(&nic), 0);
        for (int i = 0; i < 64; i++)
            assert_int_equal(status[i], 0);
        mini_destroy(&nic);
        cudaFreeHost(mem);
        cudaFreeHost(status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_sizes_under_1024_threads),
        cmocka_unit_test(every_handler),
        cmocka_unit_test(exclusive_queues),
        cmocka_unit_test(lanes_on_32_queues),
        cmocka_unit_test(warp_at_two_call_sites),
        cmocka_unit_test(skip_ringing_still_ends),
        cmocka_unit_test(async_store_release),
        cmocka_unit_test(index_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
