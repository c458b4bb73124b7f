/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of a warp that need different numbers of slots in one call: sums over the group, slots that are contiguous for
 * each lane, disjoint, and in lane order; whole, partial and split warps, one and several queues, rings smaller than what a
 * warp posts at once. On `cpu` and on GPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#include "doca_gpunetio_device.h"

#include "mini_nic.h"

#define GPU    DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define CTA    DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
#define AUTO   DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define DB     DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
#define BF     DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF
#define NO_DBR DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR
#define PROXY  DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#define ADD    DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD
#define THREAD DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD

typedef struct doca_gpu_dev_verbs_qp *qp_t;

enum { MOST = 7 }; /* slots a lane can want */

struct shape {
    unsigned blocks, threads, iters, nqps, slots;
    enum doca_gpu_dev_verbs_nic_handler handler;
    bool split; /* odd lanes at another call site */
};

/* 1 to MOST slots, differently for neighbours, and for the same lane each time. */
__host__ __device__ static unsigned want(unsigned thread, unsigned i)
{
    return 1 + (thread * 5 + thread / 32 * 3 + i * 11) % MOST;
}

/* ---- the sum alone ---------------------------------------------------------------------------------------------------- */

struct summed {
    uint32_t mask;
    uint64_t before, total;
};

/* Lanes may meet while they are at different iterations, so what they want does not depend on it. */
__global__ void sum_kernel(qp_t *qps, unsigned nqps, struct summed *out, unsigned iters, unsigned salt, bool split)
{
    unsigned t = threadIdx.x;
    for (unsigned i = 0; i < iters; i++) {
        struct gdaki_group g;
        struct gdaki_group_share share;
        if (split && t % 2) {
            g = gdaki_group_by(qps[t % nqps], 0);
            share = gdaki_group_prefix(g, want(t, salt));
        } else {
            g = gdaki_group_by(qps[t % nqps], 0);
            share = gdaki_group_prefix(g, want(t, salt));
        }
        struct summed s = {g.mask, share.before, share.total};
        out[t * iters + i] = s;
    }
}

enum { SUM_THREADS = 77, SUM_ITERS = 20 }; /* the last warp is partial */

static void check_sums(const struct summed *out, unsigned nqps, unsigned salt)
{
    for (unsigned n = 0; n < SUM_THREADS * SUM_ITERS; n++) {
        unsigned t = n / SUM_ITERS;
        uint64_t before = 0, total = 0;
        assert_true(out[n].mask >> (t % 32) & 1);
        for (unsigned lane = 0; lane < 32; lane++) {
            unsigned other = t / 32 * 32 + lane;
            if ((out[n].mask >> lane & 1) == 0)
                continue;
            assert_true(other < SUM_THREADS && other % nqps == t % nqps);
            before += other < t ? want(other, salt) : 0;
            total += want(other, salt);
        }
        assert_int_equal(out[n].before, before);
        assert_int_equal(out[n].total, total);
    }
}

static void sums_of_a_group(void **)
{
    mini_nic nic;
    qp_t *qps = (qp_t *)mini_alloc(3 * sizeof(*qps));
    struct summed *out = (struct summed *)mini_alloc(SUM_THREADS * SUM_ITERS * sizeof(*out));

    for (int i = 0; i < 3; i++)
        qps[i] = mini_create(&nic, 16, DB, false)->qp;
    for (unsigned nqps : {1u, 3u}) {
        for (unsigned salt = 0; salt < 8; salt++) {
            sum_kernel<<<1, SUM_THREADS>>>(qps, nqps, out, SUM_ITERS, salt, salt % 2 != 0);
            assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
            check_sums(out, nqps, salt);
        }
    }
    mini_destroy(&nic);
    cudaFreeHost(qps);
    cudaFreeHost(out);
}

/* ---- posting ---------------------------------------------------------------------------------------------------------- */

/* Values of 8 bytes to consecutive words, one WQE each, as one operation of several WQEs posts them. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing>
__device__ static uint64_t post_values(qp_t qp, uint64_t *dst, unsigned n)
{
    struct doca_gpu_dev_verbs_addr to = {(uint64_t)dst, MINI_KEY_BE};
    return gdaki_post<sharing, AUTO>(qp, n, 0, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t k) {
        struct doca_gpu_dev_verbs_addr at = {to.addr + 8 * k, to.key};
        gdaki_make_inline<uint64_t>(qp, slot, index, at, at.addr);
    });
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing>
__global__ void post_kernel(qp_t *qps, unsigned nqps, uint64_t *dst, uint64_t *tickets, int *status, unsigned iters, bool split)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    qp_t qp = qps[t % nqps];
    for (unsigned i = 0; i < iters; i++) {
        size_t at = (size_t)t * iters + i;
        tickets[at] = split && t % 2 ? post_values<sharing>(qp, dst + MOST * at, want(t, i))
                                     : post_values<sharing>(qp, dst + MOST * at, want(t, i));
    }
    status[t] = doca_gpu_dev_verbs_wait<sharing, AUTO>(qp, tickets[(size_t)t * iters + iters - 1]);
}

/* The same by hand: reserve, build, mark, submit. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing>
__global__ void reserve_kernel(qp_t *qps, unsigned nqps, uint64_t *dst, uint64_t *tickets, int *status, unsigned iters, bool)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    qp_t qp = qps[t % nqps];
    for (unsigned i = 0; i < iters; i++) {
        size_t at = (size_t)t * iters + i;
        unsigned n = want(t, i);
        uint64_t first = doca_gpu_dev_verbs_reserve_wq_slots<sharing>(qp, n);
        for (unsigned k = 0; k < n; k++) {
            struct doca_gpu_dev_verbs_addr to = {(uint64_t)&dst[MOST * at + k], MINI_KEY_BE};
            gdaki_make_inline<uint64_t>(qp, gdaki_wqe_slot(qp, first + k), first + k, to, to.addr);
        }
        tickets[at] = first + n - 1;
        doca_gpu_dev_verbs_mark_wqes_ready<sharing>(qp, first, tickets[at]);
        doca_gpu_dev_verbs_submit<sharing>(qp, tickets[at] + 1);
    }
    status[t] = doca_gpu_dev_verbs_wait<sharing, AUTO>(qp, tickets[(size_t)t * iters + iters - 1]);
}

/* Every third lane puts and signals, which takes two slots; the others put. One call site each, or the same call sites. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing>
__global__ void signal_kernel(qp_t *qps, unsigned nqps, uint64_t *dst, uint64_t *tickets, int *status, unsigned iters, bool)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    qp_t qp = qps[t % nqps];
    for (unsigned i = 0; i < iters; i++) {
        size_t at = (size_t)t * iters + i;
        uint64_t *mine = dst + MOST * at; /* [0] data, [1] signal, [2] the signal's old value, [3] source */
        struct doca_gpu_dev_verbs_addr to = {(uint64_t)mine, MINI_KEY_BE}, sig = {(uint64_t)(mine + 1), MINI_KEY_BE};
        struct doca_gpu_dev_verbs_addr old = {(uint64_t)(mine + 2), MINI_KEY_BE}, from = {(uint64_t)(mine + 3), MINI_KEY_BE};
        doca_gpu_dev_verbs_ticket_t ticket;
        if (want(t, i) % 3 == 0)
            doca_gpu_dev_verbs_put_signal<ADD, sharing, AUTO, THREAD>(qp, to, from, 8, sig, old, 5, &ticket);
        else
            doca_gpu_dev_verbs_put<sharing, AUTO, THREAD>(qp, to, from, 8, &ticket);
        tickets[at] = ticket;
    }
    status[t] = doca_gpu_dev_verbs_wait<sharing, AUTO>(qp, tickets[(size_t)t * iters + iters - 1]);
}

typedef void (*kernel_t)(qp_t *, unsigned, uint64_t *, uint64_t *, int *, unsigned, bool);

/*
 * WQEs of a lane's operation, as the reference NIC met them: each once, in order, the last one's index being the ticket;
 * one behind the other unless runs are cut.
 */
static void check_operation(const mini_queue *q, const std::map<uint64_t, uint64_t> &at, uint64_t ticket, unsigned n,
                            const uint64_t *target, bool cut)
{
    uint64_t last = 0;
    assert_true(ticket < q->raddr.size());
    for (unsigned k = 0; k < n; k++) {
        auto found = at.find((uint64_t)&target[k]);
        assert_true(found != at.end());
        assert_true(k == 0 || (cut ? found->second > last : found->second == last + 1));
        last = found->second;
    }
    assert_int_equal(last, ticket);
}

static void run(kernel_t kernel, const struct shape *s, bool signals)
{
    mini_nic nic;
    size_t threads = (size_t)s->blocks * s->threads, calls = threads * s->iters;
    qp_t *qps = (qp_t *)mini_alloc(s->nqps * sizeof(*qps));
    uint64_t *dst = (uint64_t *)mini_alloc(8 * MOST * calls), *tickets = (uint64_t *)mini_alloc(8 * calls);
    int *status = (int *)mini_alloc(sizeof(int) * threads);
    std::vector<std::map<uint64_t, uint64_t>> at; /* for each queue: target to index */
    uint64_t wqes = 0;

    for (unsigned i = 0; i < s->nqps; i++)
        qps[i] = mini_create(&nic, s->slots, s->handler, false)->qp;
    for (size_t i = 0; signals && i < calls; i++)
        dst[MOST * i + 3] = i + 1;
    mini_start(&nic);
    kernel<<<s->blocks, s->threads>>>(qps, s->nqps, dst, tickets, status, s->iters, s->split);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    mini_stop(&nic);

    assert_int_equal(mini_violations(&nic), 0);
    for (mini_queue *q : nic.queues) {
        at.emplace_back();
        for (uint64_t index = 0; index < q->raddr.size(); index++)
            assert_true(at.back().emplace(q->raddr[index], index).second); /* each target once */
    }
    for (size_t i = 0; i < calls; i++) {
        unsigned t = (unsigned)(i / s->iters), n = want(t, (unsigned)(i % s->iters));
        const uint64_t *mine = dst + MOST * i;
        bool both = signals && n % 3 == 0;
        n = signals ? 1 + both : n;
        check_operation(nic.queues[t % s->nqps], at[t % s->nqps], tickets[i], n, mine, s->slots < 32 * MOST);
        wqes += n;
        for (unsigned k = 0; !signals && k < n; k++)
            assert_int_equal(mine[k], (uint64_t)&mine[k]);
        if (signals) {
            assert_int_equal(mine[0], i + 1);
            assert_int_equal(mine[1], both ? 5 : 0);
        }
    }
    for (mini_queue *q : nic.queues) {
        wqes -= q->done;
        assert_int_equal(q->qp->sq_rsvd_index, q->done);
        assert_int_equal(q->qp->sq_ready_index, q->done);
        assert_int_equal(q->qp->sq_wqe_pi, q->done);
    }
    assert_int_equal(wqes, 0);
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(status[i], 0);
    mini_destroy(&nic);
    cudaFreeHost(qps);
    cudaFreeHost(dst);
    cudaFreeHost(tickets);
    cudaFreeHost(status);
}

/* blocks, threads, iterations, queues, slots; MOST slots must fit, 4 x 32 do not in most. */
static const struct shape shapes[] = {
    {1, 32, 6, 1, 1024, DB, false},  {1, 32, 6, 1, 8, DB, false},      {2, 64, 5, 1, 64, DB, true},
    {1, 45, 5, 1, 16, NO_DBR, true}, {2, 96, 4, 3, 32, BF, false},     {1, 128, 4, 3, 16, PROXY, true},
    {4, 256, 2, 1, 128, DB, false},  {4, 32, 6, 32, 8, NO_DBR, false}, {2, 64, 5, 1, 256, BF, true},
};

static void operations_of_several_wqes(void **)
{
    for (const struct shape &s : shapes) {
        run(post_kernel<GPU>, &s, false);
        if (s.blocks == 1)
            run(post_kernel<CTA>, &s, false);
    }
}

static void reservations_by_hand(void **)
{
    for (const struct shape &s : shapes)
        run(reserve_kernel<GPU>, &s, false);
}

static void put_beside_put_signal(void **)
{
    for (const struct shape &s : shapes)
        run(signal_kernel<GPU>, &s, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_a_group),
        cmocka_unit_test(operations_of_several_wqes),
        cmocka_unit_test(reservations_by_hand),
        cmocka_unit_test(put_beside_put_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
