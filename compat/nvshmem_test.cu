/* SPDX-License-Identifier: Apache-2.0 */
/* NVSHMEM 3.4.5 and later, binaries untouched: put, get, atomics, signals and barriers by kernels, every byte compared.
 *     nvshmem_test RANK RANKS ID_FILE [host|no-fetch|figures]
 * Two processes that find each other by a unique id over TCP; scripts/compat-h200.sh sets the transport. "host": calls of the
 * host API only. "figures": latencies and bandwidths. "no-fetch": without atomics that return a value, which ibrc has only with
 * GDRCopy (it ends the process: "RMA/AMO verb 14 not implemented"). Exit status 0: all steps passed on this PE. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include "rank.h"

static constexpr size_t BYTES = 2u << 20;
static constexpr int THREADS = 32, ROUNDS = 8;

struct symmetric { /* on each PE */
    char out[BYTES], in[BYTES];
    unsigned long long counter, swapped, word, values[THREADS];
    uint64_t signal, arrived;
};

struct answer {
    unsigned long long fetched[THREADS * ROUNDS], swapped_from, read;
    unsigned wrong, timed_out;
};

/* Bounded, so that a lost signal is a verdict. */
__device__ static bool wait_for(uint64_t *word, uint64_t least)
{
    unsigned long long start = now_ns();
    while (nvshmem_signal_fetch(word) < least)
        if (now_ns() - start > PATIENCE_NS)
            return false;
    return true;
}

__global__ void put_thread(symmetric *s, size_t bytes, int peer)
{
    nvshmem_putmem_nbi(s->in, s->out, bytes, peer);
    nvshmem_quiet();
}

__global__ void put_block(symmetric *s, size_t bytes, int peer)
{
    nvshmemx_putmem_block(s->in, s->out, bytes, peer);
    nvshmem_quiet();
}

__global__ void get_thread(symmetric *s, size_t bytes, int peer)
{
    nvshmem_getmem(s->in, s->out, bytes, peer);
    nvshmem_quiet();
}

__global__ void put_values(symmetric *s, int me, int peer)
{
    nvshmem_ulonglong_p(&s->values[threadIdx.x], 1000ull * me + threadIdx.x, peer);
    nvshmem_quiet();
}

__global__ void get_values(symmetric *s, int peer, answer *a)
{
    if (nvshmem_ulonglong_g(&s->values[threadIdx.x], peer) != 1000ull * nvshmem_my_pe() + threadIdx.x)
        atomicAdd(&a->wrong, 1u);
}

/*
 * On the other PE's counter only: a PE's own one would be added to by the GPU itself, and the NIC's atomics are atomic
 * among themselves (IBV_ATOMIC_HCA), not with the GPU's.
 */
__global__ void count(symmetric *s, int peer, answer *a)
{
    for (int i = 0; i < ROUNDS; i++)
        a->fetched[threadIdx.x * ROUNDS + i] = nvshmem_ulonglong_atomic_fetch_add(&s->counter, 1, peer);
    nvshmem_quiet();
}

__global__ void swap(symmetric *s, int me, int peer, answer *a)
{
    a->swapped_from = nvshmem_ulonglong_atomic_compare_swap(&s->swapped, 7, 100 + me, peer);
    nvshmem_quiet();
}

__global__ void add(symmetric *s, int me, int peer)
{
    nvshmem_ulonglong_atomic_add(&s->word, 40 + me, peer);
    nvshmem_quiet();
}

__global__ void put_with_signal(symmetric *s, size_t bytes, int peer, uint64_t expected, answer *a)
{
    nvshmem_putmem_signal_nbi(s->in, s->out, bytes, &s->signal, 1, NVSHMEM_SIGNAL_ADD, peer);
    nvshmem_quiet();
    if (!wait_for(&s->signal, expected))
        a->timed_out = 1;
}

__global__ void ping_pong(symmetric *s, int me, int peer, int rounds, answer *a)
{
    for (int i = 1; i <= rounds && !a->timed_out; i++) {
        if (me == 0)
            nvshmemx_signal_op(&s->arrived, i, NVSHMEM_SIGNAL_SET, peer);
        if (!wait_for(&s->arrived, i))
            a->timed_out = 1;
        if (me == 1)
            nvshmemx_signal_op(&s->arrived, i, NVSHMEM_SIGNAL_SET, peer);
    }
    nvshmem_quiet();
}

static symmetric *s;
static answer *answers;
static int me, peer;

/* Launches, waits, and lets the other PE finish before anybody looks. */
#define RUN(launch)                                                                                      \
    do {                                                                                                 \
        CUDA(cudaMemset(answers, 0, sizeof(*answers)));                                                  \
        nvshmem_barrier_all();                                                                           \
        launch;                                                                                          \
        CUDA(cudaGetLastError());                                                                        \
        CUDA(cudaDeviceSynchronize());                                                                   \
        nvshmem_barrier_all();                                                                           \
    } while (0)

static answer answered()
{
    answer a;
    CUDA(cudaMemcpy(&a, answers, sizeof(a), cudaMemcpyDeviceToHost));
    return a;
}

static void prepare(int step, size_t bytes)
{
    fill(s->out, me, step, bytes);
    CUDA(cudaMemset(s->in, 0, BYTES));
    CUDA(cudaDeviceSynchronize());
}

static void host_steps()
{
    int step = 50;
    for (size_t bytes : {(size_t)8, (size_t)65536, BYTES}) {
        prepare(++step, bytes);
        nvshmem_barrier_all();
        nvshmem_putmem(s->in, s->out, bytes, peer);
        nvshmem_barrier_all();
        verdict_of_bytes(("host put, " + std::to_string(bytes) + " B").c_str(), s->in, peer, step, bytes);
        prepare(++step, bytes);
        nvshmem_barrier_all();
        nvshmem_getmem(s->in, s->out, bytes, peer);
        nvshmem_barrier_all();
        verdict_of_bytes(("host get, " + std::to_string(bytes) + " B").c_str(), s->in, peer, step, bytes);
    }
}

static void data_steps()
{
    int step = 0;
    for (size_t bytes : {(size_t)8, (size_t)4096, (size_t)100001, BYTES}) {
        std::string size = ", " + std::to_string(bytes) + " B";
        prepare(++step, bytes);
        RUN((put_thread<<<1, 1>>>(s, bytes, peer)));
        verdict_of_bytes(("put by a thread" + size).c_str(), s->in, peer, step, bytes);
        prepare(++step, bytes);
        RUN((put_block<<<1, THREADS>>>(s, bytes, peer)));
        verdict_of_bytes(("put by a block" + size).c_str(), s->in, peer, step, bytes);
        prepare(++step, bytes);
        RUN((get_thread<<<1, 1>>>(s, bytes, peer)));
        verdict_of_bytes(("get by a thread" + size).c_str(), s->in, peer, step, bytes);
        prepare(++step, bytes);
        uint64_t before;
        CUDA(cudaMemcpy(&before, &s->signal, sizeof(before), cudaMemcpyDeviceToHost));
        RUN((put_with_signal<<<1, 1>>>(s, bytes, peer, before + 1, answers)));
        if (answered().timed_out)
            verdict(("put with signal" + size).c_str(), false, "no signal");
        else
            verdict_of_bytes(("put with signal" + size).c_str(), s->in, peer, step, bytes);
    }
}

static const symmetric *looked_at()
{
    static symmetric host;
    CUDA(cudaMemcpy(&host, s, sizeof(host), cudaMemcpyDeviceToHost));
    return &host;
}

static void word_steps()
{
    RUN((put_values<<<1, THREADS>>>(s, me, peer)));
    RUN((get_values<<<1, THREADS>>>(s, peer, answers)));
    verdict("p and g, 32 threads", answered().wrong == 0, "values are wrong");
    RUN((ping_pong<<<1, 1>>>(s, me, peer, 20, answers)));
    verdict("signals, 20 ping-pongs", !answered().timed_out, "no signal");
    RUN((add<<<1, 1>>>(s, me, peer)));
    verdict("atomic add without a result", looked_at()->word == 40ull + peer, "the sum is wrong");
}

static void fetching_steps()
{
    RUN((count<<<1, THREADS>>>(s, peer, answers)));
    answer a = answered();
    std::vector<bool> seen(THREADS * ROUNDS);
    bool unique = true;
    for (unsigned long long v : a.fetched) {
        unique = unique && v < seen.size() && !seen[v];
        if (v < seen.size())
            seen[v] = true;
    }
    verdict("fetch-add by many threads: no value twice", unique, "a value came twice or is out of range");
    verdict("fetch-add: the sum", looked_at()->counter == 1ull * THREADS * ROUNDS, "the counter is wrong");

    unsigned long long seven = 7;
    CUDA(cudaMemcpy(&s->swapped, &seven, 8, cudaMemcpyHostToDevice));
    CUDA(cudaDeviceSynchronize());
    RUN((swap<<<1, 1>>>(s, me, peer, answers)));
    verdict("compare-swap", answered().swapped_from == 7 && looked_at()->swapped == 100ull + peer, "value or result is wrong");
}

#include "nvshmem_figures.h"

int main(int argc, char **argv)
{
    if (argc < 4 || std::atoi(argv[2]) != 2) {
        std::fprintf(stderr, "usage: nvshmem_test RANK 2 ID_FILE [host|no-fetch|figures]\n");
        return 2;
    }
    rank_number = std::atoi(argv[1]);
    take_gpu(rank_number);
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (rank_number == 0 && nvshmemx_get_uniqueid(&id)) {
        std::fprintf(stderr, "nvshmemx_get_uniqueid failed\n");
        return 3;
    }
    share_id(argv[3], &id, rank_number);
    if (nvshmemx_set_attr_uniqueid_args(rank_number, 2, &id, &attributes) ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes)) {
        std::fprintf(stderr, "rank %d: nvshmemx_init_attr failed\n", rank_number);
        return 3;
    }
    me = nvshmem_my_pe();
    peer = 1 - me;
    rank_number = me;
    s = (symmetric *)nvshmem_malloc(sizeof(symmetric));
    CUDA(cudaMalloc(&answers, sizeof(*answers)));
    if (!s) {
        std::fprintf(stderr, "rank %d: nvshmem_malloc failed\n", me);
        return 3;
    }
    CUDA(cudaMemset(s, 0, sizeof(*s)));
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    verdict("barrier", true, "");
    std::string mode = argc > 4 ? argv[4] : "";
    if (mode == "figures")
        figures();
    else
        host_steps();
    if (mode.empty() || mode == "no-fetch") {
        data_steps();
        word_steps();
    }
    if (mode.empty())
        fetching_steps();
    nvshmem_barrier_all();
    nvshmem_free(s);
    nvshmem_finalize();
    return closing("nvshmem_test");
}
