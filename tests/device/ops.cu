/* SPDX-License-Identifier: Apache-2.0 */
/* Every one-sided operation moves the right bytes; hand-built WQEs mix with them; counters; several queues at once. */
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
#define THREAD DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define WARP   DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP
#define ADD    DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD

typedef struct doca_gpu_dev_verbs_qp *qp_t;
typedef struct doca_gpu_dev_verbs_addr addr_t;

enum { THREADS = 96 };

/* What a thread works on. */
struct cell {
    uint8_t src[64], dst[64];
    uint64_t old;
};

struct shared_words {
    uint64_t signal, counter, flush, scratch;
};

__device__ static addr_t at(const void *p)
{
    addr_t a = {(uint64_t)p, MINI_KEY_BE};
    return a;
}

struct world {
    mini_nic nic;
    struct cell *cells;
    struct shared_words *words;
    int *status;
};

static void setup(struct world *w)
{
    w->cells = (struct cell *)mini_alloc(THREADS * sizeof(struct cell));
    w->words = (struct shared_words *)mini_alloc(sizeof(*w->words));
    w->status = (int *)mini_alloc(THREADS * sizeof(int));
    for (int t = 0; t < THREADS; t++) {
        w->status[t] = 77;
        for (int i = 0; i < 64; i++)
            w->cells[t].src[i] = (uint8_t)(7 * t + i + 1);
    }
    mini_start(&w->nic);
}

static void finish(struct world *w, uint64_t reports)
{
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    mini_stop(&w->nic);
    while (mini_run(&w->nic) != 0)
        ;
    assert_int_equal(mini_violations(&w->nic), 0);
    assert_int_equal(mini_reports(), reports);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(w->status[t], 0);
}

static void teardown(struct world *w)
{
    mini_destroy(&w->nic);
    cudaFreeHost(w->cells);
    cudaFreeHost(w->words);
    cudaFreeHost(w->status);
}

/* Runs body(world, queue) over ring sizes, handlers and CQ kinds. */
template <class Body>
static void over_queues(Body body)
{
    static const enum doca_gpu_dev_verbs_nic_handler handlers[] = {
        DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR,
        DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY};
#ifdef __SANITIZE_THREAD__ /* some thirty times slower */
    static const uint32_t sizes[] = {1, 64};
#else
    static const uint32_t sizes[] = {1, 4, 64, 256};
#endif
    for (uint32_t slots : sizes)
        for (enum doca_gpu_dev_verbs_nic_handler handler : handlers)
            for (int collapsed = 0; collapsed < 2; collapsed++) {
                struct world w;
                uint64_t reports = mini_reports();
                setup(&w);
                mini_queue *q = mini_create(&w.nic, slots, handler, collapsed);
                mini_queue *companion = mini_create(&w.nic, slots, handler, collapsed);
                body(&w, q, companion);
                finish(&w, reports);
                teardown(&w);
            }
}

/* ---- p ---- */

struct fat {
    uint8_t b[20];
};

template <enum doca_gpu_dev_verbs_exec_scope exec>
__global__ void p_kernel(qp_t qp, struct cell *cells, int *status)
{
    struct cell *c = &cells[threadIdx.x];
    doca_gpu_dev_verbs_ticket_t ticket;
    uint64_t v8;
    uint32_t v4;
    uint16_t v2;
    struct fat f;
    memcpy(&v8, c->src, 8);
    memcpy(&v4, c->src + 8, 4);
    memcpy(&v2, c->src + 12, 2);
    memcpy(&f, c->src + 20, sizeof(f));
    doca_gpu_dev_verbs_p<uint64_t, GPU, AUTO, exec>(qp, at(c->dst), v8);
    doca_gpu_dev_verbs_p<uint32_t, GPU, AUTO, exec>(qp, at(c->dst + 8), v4);
    doca_gpu_dev_verbs_p<uint16_t, GPU, AUTO, exec>(qp, at(c->dst + 12), v2);
    doca_gpu_dev_verbs_p<uint8_t, GPU, AUTO, exec>(qp, at(c->dst + 14), c->src[14]);
    doca_gpu_dev_verbs_p<struct fat, GPU, AUTO, exec>(qp, at(c->dst + 20), f, &ticket);
    status[threadIdx.x] = doca_gpu_dev_verbs_wait(qp, ticket);
}

static void p_moves_values(void **)
{
    over_queues([](struct world *w, mini_queue *q, mini_queue *) {
        if (q->qp->cq_sq.gdaki_kind == GDAKI_CQ_KIND_REGULAR)
            p_kernel<THREAD><<<1, THREADS>>>(q->qp, w->cells, w->status);
        else
            p_kernel<WARP><<<1, THREADS>>>(q->qp, w->cells, w->status);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        for (int t = 0; t < THREADS; t++) {
            assert_memory_equal(w->cells[t].dst, w->cells[t].src, 15);
            assert_memory_equal(w->cells[t].dst + 20, w->cells[t].src + 20, 20);
            assert_int_equal(w->cells[t].dst[15], 0);
            assert_int_equal(w->cells[t].dst[40], 0);
        }
    });
}

/* ---- signals ---- */

template <enum doca_gpu_dev_verbs_exec_scope exec>
__global__ void signal_kernel(qp_t qp, struct cell *cells, struct shared_words *words, int *status)
{
    struct cell *c = &cells[threadIdx.x];
    doca_gpu_dev_verbs_ticket_t ticket;
    uint64_t v8;
    memcpy(&v8, c->src + 32, 8);
    doca_gpu_dev_verbs_put_signal<ADD, GPU, AUTO, exec>(qp, at(c->dst), at(c->src), 32, at(&words->signal), at(&c->old), 3,
                                                        &ticket);
    doca_gpu_dev_verbs_p_signal<uint64_t, ADD, GPU, AUTO>(qp, at(c->dst + 32), v8, at(&words->signal), at(&c->old), 5,
                                                          &ticket);
    doca_gpu_dev_verbs_signal<ADD, GPU, AUTO, exec>(qp, at(&words->signal), at(&c->old), 7, &ticket);
    doca_gpu_dev_verbs_signal<ADD, GPU, AUTO>(qp, at(&words->signal), at(&c->old), 11);
    status[threadIdx.x] = doca_gpu_dev_verbs_wait(qp, ticket) | doca_gpu_dev_verbs_wait(qp);
}

static void signals_add_up(void **)
{
    over_queues([](struct world *w, mini_queue *q, mini_queue *) {
        if (q->qp->cq_sq.gdaki_kind == GDAKI_CQ_KIND_REGULAR)
            signal_kernel<WARP><<<1, THREADS>>>(q->qp, w->cells, w->words, w->status);
        else
            signal_kernel<THREAD><<<1, THREADS>>>(q->qp, w->cells, w->words, w->status);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        assert_int_equal(w->words->signal, THREADS * (3 + 5 + 7 + 11));
        for (int t = 0; t < THREADS; t++) {
            assert_memory_equal(w->cells[t].dst, w->cells[t].src, 40);
            assert_true(w->cells[t].old < THREADS * 26);
        }
    });
}

/* ---- get ---- */

template <enum doca_gpu_dev_verbs_exec_scope exec, enum doca_gpu_dev_verbs_mcst_mode mcst>
__global__ void get_kernel(qp_t qp, struct cell *cells, struct shared_words *words, int *status)
{
    struct cell *c = &cells[threadIdx.x];
    doca_gpu_dev_verbs_ticket_t first, second, third;
    doca_gpu_dev_verbs_get<GPU, AUTO, exec, mcst>(qp, at(c->src), at(c->dst), 40, at(&words->flush), &first);
    status[threadIdx.x] = doca_gpu_dev_verbs_get_wait<GPU, AUTO, mcst>(qp, at(&words->flush), first);
    doca_gpu_dev_verbs_get<GPU, AUTO, exec, mcst, DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED>(
        qp, at(c->src + 40), at(c->dst + 40), 8, at(&words->flush), &second);
    status[threadIdx.x] |= c->dst[47] == c->src[47] ? 0 : 100; /* it has waited */
    doca_gpu_dev_verbs_get<GPU, AUTO, exec, mcst>(qp, at(NULL), at(NULL), 0, at(&words->flush), &third);
    status[threadIdx.x] |= third > second ? 0 : 200;
    status[threadIdx.x] |= doca_gpu_dev_verbs_get_wait<GPU, AUTO, mcst>(qp, at(&words->flush));
    doca_gpu_dev_verbs_mcst<GPU, AUTO>(qp, at(&words->flush), &third);
    status[threadIdx.x] |= doca_gpu_dev_verbs_wait(qp, third);
}

static void get_reads(void **)
{
    const enum doca_gpu_dev_verbs_mcst_mode on = DOCA_GPUNETIO_VERBS_MCST_ENABLED, off = DOCA_GPUNETIO_VERBS_MCST_DISABLED;
    over_queues([=](struct world *w, mini_queue *q, mini_queue *) {
        if (q->qp->cq_sq.gdaki_kind == GDAKI_CQ_KIND_REGULAR) {
            get_kernel<THREAD, off><<<1, THREADS>>>(q->qp, w->cells, w->words, w->status);
            get_kernel<WARP, on><<<1, THREADS>>>(q->qp, w->cells, w->words, w->status);
        } else {
            get_kernel<THREAD, on><<<1, THREADS>>>(q->qp, w->cells, w->words, w->status);
            get_kernel<WARP, off><<<1, THREADS>>>(q->qp, w->cells, w->words, w->status);
        }
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        for (int t = 0; t < THREADS; t++)
            assert_memory_equal(w->cells[t].dst, w->cells[t].src, 48);
    });
}

/* ---- counters ---- */

__global__ void counter_kernel(qp_t qp, qp_t companion, struct cell *cells, struct shared_words *words, int *status,
                               uint32_t opt)
{
    struct cell *c = &cells[threadIdx.x];
    uint64_t v8;
    memcpy(&v8, c->src + 16, 8);
    doca_gpu_dev_verbs_put_counter(qp, at(c->dst), at(c->src), 16, companion, at(&words->counter), at(&c->old), 1, opt);
    doca_gpu_dev_verbs_p_counter<uint64_t>(qp, at(c->dst + 16), v8, companion, at(&words->counter), at(&c->old), 10, opt);
    doca_gpu_dev_verbs_put_signal_counter<ADD>(qp, at(c->dst + 24), at(c->src + 24), 8, at(&words->signal), at(&c->old), 1,
                                               companion, at(&words->counter), at(&c->old), 100, opt);
    doca_gpu_dev_verbs_signal_counter<ADD>(qp, at(&words->signal), at(&c->old), 1, companion, at(&words->counter),
                                           at(&c->old), 1000, opt);
    doca_gpu_dev_verbs_get_counter(qp, at(c->src + 32), at(c->dst + 32), 16, companion, at(&words->counter), at(&c->old),
                                   10000, opt);
    /* the counter is what tells */
    if (opt == 0)
        while (doca_gpu_dev_verbs_atomic_read<uint64_t, GPU>(&words->counter) < blockDim.x * 11111ull)
            ;
    status[threadIdx.x] = doca_gpu_dev_verbs_wait(qp) | doca_gpu_dev_verbs_wait(companion);
}

static void counters_count(void **)
{
    for (uint32_t opt : {0u, (uint32_t)DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING})
        over_queues([=](struct world *w, mini_queue *q, mini_queue *companion) {
            /* the main CQ is older than the queue's last reset */
            q->cq_count = q->qp->cq_sq.cqe_rsvd = 5 * q->qp->sq_wqe_num;
            if (q->qp->sq_wqe_num & 1)
                memset(q->cq + 63, 0xf0, 1);
            counter_kernel<<<1, THREADS>>>(q->qp, companion->qp, w->cells, w->words, w->status, opt);
            assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
            assert_int_equal(w->words->counter, THREADS * 11111);
            assert_int_equal(w->words->signal, THREADS * 2);
            for (int t = 0; t < THREADS; t++)
                assert_memory_equal(w->cells[t].dst, w->cells[t].src, 48);
        });
}

/* ---- hand-built WQEs, as in programs written for DOCA GPUNetIO ---- */

/* One warp: each thread reserves a slot and builds; the last thread submits and polls. Then all put. */
__global__ void hand_built(qp_t qp, struct cell *cells, int *status, unsigned rounds)
{
    struct cell *c = &cells[threadIdx.x];
    int result = 0;
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<CTA>(qp, 1);
        struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);
        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, MLX5_OPCODE_RDMA_WRITE,
                                             DOCA_GPUNETIO_MLX5_WQE_CTRL_CQ_UPDATE, 0, (uint64_t)(c->dst + 8 * (i % 4)),
                                             MINI_KEY_BE, (uint64_t)(c->src + 8 * (i % 4)), MINI_KEY_BE, 8);
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) {
            doca_gpu_dev_verbs_submit<CTA>(qp, index + 1);
            result |= doca_gpu_dev_verbs_poll_cq_at<CTA>(doca_gpu_dev_verbs_qp_get_cq_sq(qp), index);
        }
        __syncthreads();
        doca_gpu_dev_verbs_ticket_t ticket;
        doca_gpu_dev_verbs_put<CTA>(qp, at(c->dst + 32 + 8 * (i % 4)), at(c->src + 32 + 8 * (i % 4)), 8, &ticket);
        if (i % 3 == 0)
            result |= doca_gpu_dev_verbs_wait<CTA>(qp, ticket);
        __syncthreads();
    }
    status[threadIdx.x] = result;
}

static void hand_built_and_put_mix(void **)
{
    const char *split = getenv("GDAKI_CPU_SPLIT");
    if (split != NULL && atoi(split) != 0) { /* lanes that do not reserve together get no common lane order */
        printf("SKIP: hand_built_and_put_mix takes the last lane's index for the highest, and lanes are split\n");
        skip();
    }
    for (uint32_t slots : {32u, 64u, 1024u})
        for (int collapsed = 0; collapsed < 2; collapsed++)
            for (int handler : {2, 6, 10, 1}) {
                struct world w;
                uint64_t reports = mini_reports();
                setup(&w);
                for (int t = 32; t < THREADS; t++)
                    w.status[t] = 0;
                mini_queue *q =
                    mini_create(&w.nic, slots, (enum doca_gpu_dev_verbs_nic_handler)handler, collapsed);
                hand_built<<<1, 32>>>(q->qp, w.cells, w.status, 41);
                finish(&w, reports);
                for (int t = 0; t < 32; t++)
                    assert_memory_equal(w.cells[t].dst, w.cells[t].src, 64);
                assert_int_equal(q->done, 32 * 41 * 2);
                assert_int_equal(q->qp->sq_ready_index, q->done);
                teardown(&w);
            }
}

/* Each thread on its own: reserve, build two, mark ready, submit; many warps, small ring. */
template <enum doca_gpu_dev_verbs_qp_ready_mode mode>
__global__ void marked(qp_t qp, struct cell *cells, int *status, unsigned rounds)
{
    struct cell *c = &cells[threadIdx.x];
    uint64_t index = 0;
    for (unsigned i = 0; i < rounds; i++) {
        index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 2);
        for (uint64_t k = 0; k < 2; k++)
            doca_gpu_dev_verbs_wqe_prepare_write(
                qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + k)), (uint16_t)(index + k),
                DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0,
                (uint64_t)(c->dst + 32 * k), MINI_KEY_BE, (uint64_t)(c->src + 32 * k), MINI_KEY_BE, 32);
        doca_gpu_dev_verbs_mark_wqes_ready<GPU, DOCA_GPUNETIO_VERBS_QP_SQ, mode>(qp, index, index + 1);
        doca_gpu_dev_verbs_submit<GPU, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD>(qp, index + 2);
    }
    status[threadIdx.x] = doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, index + 1);
}

static void each_thread_by_itself(void **)
{
    over_queues([](struct world *w, mini_queue *q, mini_queue *) {
        if (q->qp->sq_wqe_num == 1) {
            for (int t = 0; t < THREADS; t++)
                w->status[t] = 0;
            return;
        }
        marked<DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS><<<1, THREADS>>>(q->qp, w->cells, w->status, 5);
        marked<DOCA_GPUNETIO_VERBS_READY_MODE_LD_ST><<<1, THREADS>>>(q->qp, w->cells, w->status, 5);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        for (int t = 0; t < THREADS; t++)
            assert_memory_equal(w->cells[t].dst, w->cells[t].src, 64);
    });
}

/* ---- BlueFlame by hand, several queues by one call ---- */

__global__ void blueflame(qp_t qp, struct cell *cells, int *status)
{
    __shared__ __align__(16) uint64_t words[8];
    struct doca_gpu_dev_verbs_wqe *smem = (struct doca_gpu_dev_verbs_wqe *)words;
    struct cell *c = &cells[0];
    int result = 0;
    for (int i = 0; i < 6; i++) {
        uint64_t index = 0;
        if (threadIdx.x == 0) {
            index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 1);
            struct doca_gpu_dev_verbs_wqe *copies[2] = {smem, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index)};
            for (struct doca_gpu_dev_verbs_wqe *wqe : copies)
                doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, MLX5_OPCODE_RDMA_WRITE,
                                                     DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, (uint64_t)(c->dst + 8 * i),
                                                     MINI_KEY_BE, (uint64_t)(c->src + 8 * i), MINI_KEY_BE, 8);
        }
        index = __shfl_sync(0xffffffffu, (unsigned long long)index, 0);
        if (i % 2 == 0)
            doca_gpu_dev_verbs_submit_bf_warp(qp, index + 1, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index));
        else if (threadIdx.x == 0)
            doca_gpu_dev_verbs_submit_bf(qp, index + 1, smem);
        __syncwarp();
        result |= doca_gpu_dev_verbs_poll_cq_at(&qp->cq_sq, index);
    }
    status[threadIdx.x] = result;
}

__global__ void multi(qp_t a, qp_t b, struct cell *cells, int *status)
{
    qp_t qps[2] = {a, b};
    struct cell *c = &cells[threadIdx.x];
    uint64_t producers[2];
    for (int k = 0; k < 2; k++) {
        doca_gpu_dev_verbs_ticket_t ticket;
        doca_gpu_dev_verbs_put(qps[k], at(c->dst + 8 * k), at(c->src + 8 * k), 8, &ticket,
                               DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING);
        producers[k] = ticket + 1;
    }
    doca_gpu_dev_verbs_submit_multi_qps<2>(qps, producers);
    status[threadIdx.x] = doca_gpu_dev_verbs_poll_cq_at(&a->cq_sq, producers[0] - 1) |
                          doca_gpu_dev_verbs_poll_cq_at(&b->cq_sq, producers[1] - 1);
}

static void blueflame_and_multi(void **)
{
    over_queues([](struct world *w, mini_queue *q, mini_queue *companion) {
        bool register_queue = (q->qp->nic_handler & DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_CPU_PROXY) == 0;
        if (register_queue)
            blueflame<<<1, 32>>>(q->qp, w->cells, w->status);
        if (q->qp->sq_wqe_num >= 64)
            multi<<<1, THREADS>>>(q->qp, companion->qp, w->cells, w->status);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        if (register_queue)
            assert_memory_equal(w->cells[0].dst, w->cells[0].src, 48);
        for (int t = 0; t < THREADS && q->qp->sq_wqe_num >= 64; t++)
            assert_memory_equal(w->cells[t].dst, w->cells[t].src, 16);
        for (int t = 0; t < THREADS; t++)
            w->status[t] = w->status[t] == 77 ? 0 : w->status[t];
    });
}

/* The last WQE handed over takes two slots, so no WQE begins in the last slot: that one must not go to the register. */
__global__ void two_slots_behind(qp_t qp)
{
    const enum doca_gpu_dev_verbs_wqe_ctrl_flags on = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
    if (threadIdx.x == 0) {
        uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 3);
        doca_gpu_dev_verbs_wqe_prepare_nop(qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), (uint16_t)index, on);
        doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
            qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + 1)),
            doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + 2)), (uint16_t)(index + 1),
            DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, on, 8, MINI_KEY_BE, ~0ull, MINI_KEY_BE, 0, 0, 1, 2, 3, 4);
        doca_gpu_dev_verbs_mark_wqes_ready(qp, index, index + 2);
    }
    __syncwarp();
    doca_gpu_dev_verbs_submit_bf_warp(qp, 1, doca_gpu_dev_verbs_get_wqe_ptr(qp, 0));
}

static void blueflame_of_two_slots(void **)
{
    mini_nic nic;
    mini_queue *q = mini_create(&nic, 16, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, true);
    q->frozen = true;
    two_slots_behind<<<1, 32>>>(q->qp);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(q->qp->sq_wqe_pi, 3);
    assert_int_equal(__builtin_bswap32(q->record[0]), 3);
    for (int i = 1; i < 8; i++)
        assert_int_equal(q->reg[i], 0); /* a doorbell is 8 bytes */
    mini_destroy(&nic);
}

/*
 * WQEs of two slots on a collapsed CQ: the CQE carries the first slot's index, and both are free. Bounded waits, so that a
 * hang is a failure with a name.
 */
__global__ void masked_swaps(qp_t qp, int *status)
{
    const enum doca_gpu_dev_verbs_wqe_ctrl_flags on = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
    int result = 0;
    for (int i = 0; i < 5 && result == 0; i++) {
        uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 2);
        doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
            qp, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index), doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + 1)),
            (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, on, 8, MINI_KEY_BE, 8, MINI_KEY_BE, 0, 0, 1, 2, 3, 4);
        doca_gpu_dev_verbs_mark_wqes_ready(qp, index, index + 1);
        __syncwarp();
        if (threadIdx.x == blockDim.x - 1)
            doca_gpu_dev_verbs_submit(qp, index + 2);
        if (i == 0)
            result = doca_gpu_dev_verbs_wait_bounded(qp, index + 1, 2000000000);
        if (i == 2)
            result = doca_gpu_dev_verbs_poll_cq_collapsed_at(qp, index + 2);
    }
    status[threadIdx.x] = result != 0 ? result : doca_gpu_dev_verbs_wait(qp);
}

static void two_slots_on_a_collapsed_cq(void **)
{
    for (unsigned lanes : {1u, 8u}) {
        mini_nic nic;
        mini_queue *q = mini_create(&nic, 2 * lanes, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, true);
        int *status = (int *)mini_alloc(sizeof(int) * 32);
        mini_start(&nic);
        masked_swaps<<<1, lanes>>>(q->qp, status);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        mini_stop(&nic);
        for (unsigned t = 0; t < lanes; t++)
            assert_int_equal(status[t], 0);
        assert_int_equal(q->done, 10 * lanes);
        assert_int_equal(mini_violations(&nic), 0);
        cudaFreeHost(status);
        mini_destroy(&nic);
    }
}

/* More than 1 GiB is several WQEs: lanes that post different numbers together get slots in lane order, tickets their own last. */
#define LARGE_BYTES 0xa0000000ull /* 2.5 GiB */

template <enum doca_gpu_dev_verbs_exec_scope exec>
__global__ void large_puts(qp_t qp, uint64_t *tickets)
{
    addr_t remote = {(uint64_t)threadIdx.x << 40, MINI_KEY_BE}, local = {(uint64_t)(threadIdx.x + 100) << 40, MINI_KEY_BE};
    size_t size = threadIdx.x % 4 == 1 ? LARGE_BYTES : 8;
    doca_gpu_dev_verbs_ticket_t ticket;
    doca_gpu_dev_verbs_put<GPU, AUTO, exec>(qp, remote, local, size, &ticket);
    tickets[threadIdx.x] = ticket;
}

static void check_large(const mini_queue *q, const uint64_t *tickets)
{
    uint64_t index = 0;
    for (uint64_t lane = 0; lane < 32; lane++) {
        uint64_t pieces = lane % 4 == 1 ? 3 : 1;
        for (uint64_t k = 0; k < pieces; k++, index++) {
            const uint8_t *wqe = q->ring + 64 * index;
            uint64_t left = (pieces == 1 ? 8 : LARGE_BYTES) - (k << 30);
            assert_int_equal((mini_be32(wqe) >> 8) & 0xffff, index);
            assert_true(mini_be64(wqe + 16) == (lane << 40) + (k << 30));
            assert_true(mini_be64(wqe + 40) == ((lane + 100) << 40) + (k << 30));
            assert_int_equal(mini_be32(wqe + 32), left < 1 << 30 ? left : 1 << 30);
        }
        assert_int_equal(tickets[lane], index - 1);
    }
    assert_int_equal(q->qp->sq_ready_index, index);
    assert_int_equal(q->qp->sq_wqe_pi, index);
}

static void beyond_a_gib(void **)
{
    uint64_t *tickets = (uint64_t *)mini_alloc(sizeof(uint64_t) * 32);
    for (int warp = 0; warp < 2; warp++) {
        mini_nic nic;
        mini_queue *q = mini_create(&nic, 64, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, false);
        q->frozen = true;
        if (warp != 0)
            large_puts<WARP><<<1, 32>>>(q->qp, tickets);
        else
            large_puts<THREAD><<<1, 32>>>(q->qp, tickets);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        if (getenv("GDAKI_CPU_SPLIT") == NULL) /* a warp in parts has another order */
            check_large(q, tickets);
        mini_destroy(&nic);
    }
    cudaFreeHost(tickets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beyond_a_gib), cmocka_unit_test(two_slots_on_a_collapsed_cq), cmocka_unit_test(blueflame_of_two_slots),
        cmocka_unit_test(p_moves_values),        cmocka_unit_test(signals_add_up),
        cmocka_unit_test(get_reads),             cmocka_unit_test(counters_count),
        cmocka_unit_test(hand_built_and_put_mix), cmocka_unit_test(each_thread_by_itself),
        cmocka_unit_test(blueflame_and_multi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
