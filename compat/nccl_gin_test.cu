/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL 2.28.9 and later, binaries untouched: collectives over the IB transport and the GIN device API, every byte compared.
 *     nccl_gin_test RANK RANKS ID_FILE collectives|gin|gin-without-values|collective-figures|gin-figures
 * "gin-without-values" leaves putValue out: the proxy of NCCL 2.28.9 takes the place of a value from the address of its local
 * copy of the descriptor and reads beyond its queue (ncclGinProxyProgress), whatever NIC is below. What came after 2.28.9 (get,
 * signals at an address of a window, strong and weak signals) is used where the headers have it.
 * Two processes; scripts/compat-h200.sh sets NCCL_HOSTID and the rest. Exit status 0: all steps passed on this rank. */
#include <nccl.h>
#include <nccl_device.h>

#include "rank.h"

#define NCCL(call)                                                                                                \
    do {                                                                                                          \
        ncclResult_t result_ = (call);                                                                            \
        if (result_ != ncclSuccess) {                                                                             \
            std::fprintf(stderr, "rank %d: %s: %s: %s\n", rank_number, #call, ncclGetErrorString(result_),        \
                         ncclGetLastError(nullptr));                                                              \
            std::exit(3);                                                                                         \
        }                                                                                                         \
    } while (0)

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
using SignalInc = ncclGin_StrongSignalInc;
using SignalAdd = ncclGin_StrongSignalAdd;
using CounterInc = ncclGin_WeakCounterInc;
#else
using SignalInc = ncclGin_SignalInc;
using SignalAdd = ncclGin_SignalAdd;
using CounterInc = ncclGin_CounterInc;
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 5)
#define GIN_HAS_GET 1 /* get, and signals in a window */
#else
#define GIN_HAS_GET 0
#endif

static constexpr size_t HALF = 4u << 20; /* the window: outgoing bytes, then incoming ones */
static constexpr int SIGNALS = 16, COUNTERS = 4;
#if GIN_HAS_GET
static constexpr size_t WORD = 2 * HALF + 64; /* a signal that lies in the window */
#endif

enum step { PUT_SIGNAL, PUT_THEN_SIGNAL, PUT_VALUE, PUT_COUNTER, MANY_THREADS, FLUSH_REUSE, GET, WINDOW_SIGNAL, STEPS };

struct answer {
    unsigned long long signal; /* as it was when the wait ended */
    unsigned timed_out;
};

__device__ static bool wait_for_signal(ncclGin const &gin, ncclGinSignal_t id, uint64_t least)
{
    unsigned long long start = now_ns();
    while (gin.readSignal(id) < least)
        if (now_ns() - start > PATIENCE_NS)
            return false;
    gin.waitSignal(ncclCoopThread(), id, least); /* returns at once; the call of the API is the thing under test */
    return true;
}

__global__ void run_step(ncclDevComm comm, ncclWindow_t window, int step, size_t bytes, answer *out)
{
    ncclGin gin(comm, 0);
    ncclTeam world = ncclTeamWorld(comm);
    int peer = 1 - world.rank;
    ncclGinSignal_t id = (ncclGinSignal_t)step;
    uint64_t expected = 1;

    switch (step) {
    case PUT_SIGNAL:
        if (threadIdx.x == 0)
            gin.put(world, peer, window, HALF, window, 0, bytes, SignalInc{id});
        break;
    case PUT_THEN_SIGNAL:
        expected = 5;
        if (threadIdx.x == 0) {
            gin.put(world, peer, window, HALF, window, 0, bytes);
            gin.signal(world, peer, SignalAdd{id, 5});
        }
        break;
    case PUT_VALUE: /* one value a thread, 8 bytes each */
        expected = blockDim.x;
        gin.putValue(world, peer, window, HALF + threadIdx.x * 8, *((uint64_t *)ncclGetLocalPointer(window, 0) + threadIdx.x),
                     SignalInc{id});
        break;
    case PUT_COUNTER:
        if (threadIdx.x == 0) {
            gin.put(world, peer, window, HALF, window, 0, bytes, SignalInc{id}, CounterInc{0});
            unsigned long long start = now_ns();
            while (gin.readCounter(0) < 1 && now_ns() - start <= PATIENCE_NS)
                ;
            if (gin.readCounter(0) < 1)
                out->timed_out |= 2;
            else
                gin.waitCounter(ncclCoopThread(), 0, 1);
        }
        break;
    case MANY_THREADS: { /* each thread its own piece and its own increment */
        expected = blockDim.x;
        size_t piece = bytes / blockDim.x;
        gin.put(world, peer, window, HALF + threadIdx.x * piece, window, threadIdx.x * piece, piece, SignalInc{id});
        break;
    }
    case FLUSH_REUSE: /* after a flush the source may be written over; the peer must still see what was there */
        if (threadIdx.x == 0) {
            gin.put(world, peer, window, HALF, window, 0, bytes);
            gin.flush(ncclCoopThread());
            for (size_t i = 0; i < bytes; i++)
                ((unsigned char *)ncclGetLocalPointer(window, 0))[i] = 0xEE;
            __threadfence_system();
            gin.signal(world, peer, SignalInc{id});
        }
        break;
#if GIN_HAS_GET
    case GET: /* the peer's bytes; the signal tells it that they have been read */
        if (threadIdx.x == 0) {
            gin.get(world, peer, window, 0, window, HALF, bytes);
            gin.flush(ncclCoopThread());
            gin.signal(world, peer, SignalInc{id});
        }
        break;
    case WINDOW_SIGNAL:
        if (threadIdx.x == 0) {
            gin.put(world, peer, window, HALF, window, 0, bytes, ncclGin_StrongVASignalAdd{window, WORD, 3});
            unsigned long long start = now_ns();
            while (gin.readSignal(window, WORD) < 3 && now_ns() - start <= PATIENCE_NS)
                ;
            if (gin.readSignal(window, WORD) < 3)
                out->timed_out |= 1;
            gin.resetSignal(window, WORD);
            gin.signal(world, peer, SignalInc{id});
        }
        break;
#endif
    }
    __syncthreads();
    gin.flush(ncclCoopCta());
    if (threadIdx.x == 0) {
        if (!wait_for_signal(gin, id, expected))
            out->timed_out |= 1;
        out->signal = gin.readSignal(id);
    }
}

static void gin_step(ncclComm_t comm, cudaStream_t stream, const ncclDevComm &device, ncclWindow_t window, char *base,
                     answer *out, int step, size_t bytes, int threads, unsigned long long expected)
{
    static const char *const names[STEPS] = {"put + SignalInc",    "put, then signal(SignalAdd)", "putValue, 32 threads",
                                             "put + CounterInc",   "put by 32 threads",           "put, flush, source reused",
                                             "get",                "put + signal in a window"};
    char name[96], why[96];
    std::snprintf(name, sizeof(name), "%s, %zu B", names[step], bytes);
    fill(base, rank_number, step, bytes);
    CUDA(cudaMemset(base + HALF, 0, HALF));
    CUDA(cudaMemset(out, 0, sizeof(*out)));
    /* Nobody puts before the other's buffer is clear: a collective is the barrier. */
    NCCL(ncclAllReduce(base + 2 * HALF, base + 2 * HALF, 1, ncclInt32, ncclSum, comm, stream));
    CUDA(cudaStreamSynchronize(stream));
    run_step<<<1, threads, 0, stream>>>(device, window, step, bytes, out);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
    answer got;
    CUDA(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
    if (got.timed_out) {
        std::snprintf(why, sizeof(why), "%s%s (the signal is %llu)", got.timed_out & 1 ? "no signal" : "",
                      got.timed_out & 2 ? " no counter" : "", got.signal);
        verdict(name, false, why);
        return;
    }
    std::snprintf(why, sizeof(why), "the signal is %llu, expected %llu", got.signal, expected);
    if (got.signal != expected)
        verdict(name, false, why);
    else
        verdict_of_bytes(name, base + HALF, 1 - rank_number, step, bytes);
}

__global__ void reset_signals(ncclDevComm comm)
{
    ncclGin gin(comm, 0);
    for (int i = 0; i < SIGNALS; i++)
        gin.resetSignal((ncclGinSignal_t)i);
    for (int i = 0; i < COUNTERS; i++)
        gin.resetCounter((ncclGinCounter_t)i);
}

#include "nccl_figures.h"

static ncclDevCommRequirements gin_requirements()
{
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
    ncclDevCommRequirements wanted = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    wanted.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#else
    ncclDevCommRequirements wanted;
    std::memset(&wanted, 0, sizeof(wanted));
    wanted.ginForceEnable = true;
#endif
    wanted.ginContextCount = 1;
    wanted.ginSignalCount = SIGNALS;
    wanted.ginCounterCount = COUNTERS;
    return wanted;
}

static void gin_steps(ncclComm_t comm, cudaStream_t stream, const ncclDevComm &device, ncclWindow_t window, char *base, bool values)
{
    answer *out;
    CUDA(cudaMalloc(&out, sizeof(*out)));
    for (size_t bytes : {(size_t)8, (size_t)4096, (size_t)1048576 + 12, HALF}) {
        reset_signals<<<1, 1, 0, stream>>>(device);
        CUDA(cudaStreamSynchronize(stream));
        gin_step(comm, stream, device, window, base, out, PUT_SIGNAL, bytes, 32, 1);
        gin_step(comm, stream, device, window, base, out, PUT_THEN_SIGNAL, bytes, 32, 5);
#if GIN_HAS_GET
        gin_step(comm, stream, device, window, base, out, GET, bytes, 32, 1);
        gin_step(comm, stream, device, window, base, out, WINDOW_SIGNAL, bytes, 32, 1);
#endif
        if (bytes <= 1 << 20)
            gin_step(comm, stream, device, window, base, out, FLUSH_REUSE, bytes < 4096 ? bytes : 4096, 32, 1);
    }
    reset_signals<<<1, 1, 0, stream>>>(device);
    CUDA(cudaStreamSynchronize(stream));
    if (values)
        gin_step(comm, stream, device, window, base, out, PUT_VALUE, 32 * 8, 32, 32);
    else
        std::printf("rank %d: putValue is left out\n", rank_number);
    gin_step(comm, stream, device, window, base, out, MANY_THREADS, 32 * 4096, 32, 32);
    gin_step(comm, stream, device, window, base, out, PUT_COUNTER, 65536, 32, 1);
    CUDA(cudaFree(out));
}

static void gin_test(ncclComm_t comm, cudaStream_t stream, const std::string &mode)
{
    char *base;
    ncclWindow_t window;
    ncclDevComm device;
    ncclDevCommRequirements wanted = gin_requirements();
    NCCL(ncclMemAlloc((void **)&base, 2 * HALF + 4096));
    CUDA(cudaMemset(base, 0, 2 * HALF + 4096));
    int flags = NCCL_WIN_COLL_SYMMETRIC;
#ifdef NCCL_WIN_STRICT_ORDERING
    flags |= NCCL_WIN_STRICT_ORDERING; /* signals in the window count only what has arrived before them */
#endif
    NCCL(ncclCommWindowRegister(comm, base, 2 * HALF + 4096, &window, flags));
    NCCL(ncclDevCommCreate(comm, &wanted, &device));
    if (mode == "gin-figures")
        gin_figures(comm, stream, device, window, base);
    else
        gin_steps(comm, stream, device, window, base, mode == "gin");
    NCCL(ncclDevCommDestroy(comm, &device));
    NCCL(ncclCommWindowDeregister(comm, window));
    NCCL(ncclMemFree(base));
}

static void collectives_test(ncclComm_t comm, cudaStream_t stream, int ranks)
{
    for (size_t count : {(size_t)1, (size_t)1000, (size_t)1 << 20, (size_t)5000003}) {
        std::vector<int> mine(count), all(count * ranks);
        int *in, *out;
        CUDA(cudaMalloc(&in, count * sizeof(int)));
        CUDA(cudaMalloc(&out, count * sizeof(int) * ranks));
        for (size_t i = 0; i < count; i++)
            mine[i] = rank_number * 1000003 + (int)(i * 17);
        CUDA(cudaMemcpy(in, mine.data(), count * sizeof(int), cudaMemcpyHostToDevice));
        NCCL(ncclAllReduce(in, out, count, ncclInt32, ncclSum, comm, stream));
        CUDA(cudaStreamSynchronize(stream));
        CUDA(cudaMemcpy(all.data(), out, count * sizeof(int), cudaMemcpyDeviceToHost));
        size_t wrong = 0;
        for (size_t i = 0; i < count; i++)
            wrong += all[i] != ranks * (ranks - 1) / 2 * 1000003 + ranks * (int)(i * 17);
        verdict(("all-reduce, " + std::to_string(count) + " ints").c_str(), wrong == 0, "sums are wrong");
        NCCL(ncclAllGather(in, out, count, ncclInt32, comm, stream));
        CUDA(cudaStreamSynchronize(stream));
        CUDA(cudaMemcpy(all.data(), out, count * sizeof(int) * ranks, cudaMemcpyDeviceToHost));
        wrong = 0;
        for (size_t i = 0; i < count * ranks; i++)
            wrong += all[i] != (int)(i / count) * 1000003 + (int)(i % count * 17);
        verdict(("all-gather, " + std::to_string(count) + " ints").c_str(), wrong == 0, "values are wrong");
        CUDA(cudaFree(in));
        CUDA(cudaFree(out));
    }
}

int main(int argc, char **argv)
{
    if (argc != 5 || std::atoi(argv[2]) != 2) {
        std::fprintf(stderr, "usage: nccl_gin_test RANK 2 ID_FILE "
                             "collectives|gin|gin-without-values|collective-figures|gin-figures\n");
        return 2;
    }
    int ranks = std::atoi(argv[2]), version = 0;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream;
    rank_number = std::atoi(argv[1]);
    take_gpu(rank_number);
    if (rank_number == 0)
        NCCL(ncclGetUniqueId(&id));
    share_id(argv[3], &id, rank_number);
    NCCL(ncclGetVersion(&version));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NCCL(ncclCommInitRank(&comm, ranks, id, rank_number));
    std::printf("rank %d: NCCL %d\n", rank_number, version);
    std::string mode = argv[4];
    if (mode.compare(0, 3, "gin") == 0)
        gin_test(comm, stream, mode);
    else if (mode == "collective-figures")
        collective_figures(comm, stream);
    else
        collectives_test(comm, stream, ranks);
    NCCL(ncclCommDestroy(comm));
    return closing("nccl_gin_test");
}
