/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of NCCL: collectives and send/receive by size (bus bandwidth as nccl-tests counts it), and GIN's puts. */
#pragma once
#include "figures.h"

enum collective { ALL_REDUCE, SEND_RECEIVE };

static void enqueue(enum collective kind, const int *in, int *out, size_t count, ncclComm_t comm, cudaStream_t stream)
{
    if (kind == ALL_REDUCE) {
        NCCL(ncclAllReduce(in, out, count, ncclInt32, ncclSum, comm, stream));
        return;
    }
    NCCL(ncclGroupStart());
    NCCL(ncclSend(in, count, ncclInt32, 1 - rank_number, comm, stream));
    NCCL(ncclRecv(out, count, ncclInt32, 1 - rank_number, comm, stream));
    NCCL(ncclGroupEnd());
}

/* Both ranks take the slower one's time, so that both do the same number of rounds. */
static double slower_of_both(double us, ncclComm_t comm, cudaStream_t stream)
{
    double *word;
    CUDA(cudaMalloc(&word, sizeof(*word)));
    CUDA(cudaMemcpy(word, &us, sizeof(us), cudaMemcpyHostToDevice));
    NCCL(ncclAllReduce(word, word, 1, ncclDouble, ncclMax, comm, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&us, word, sizeof(us), cudaMemcpyDeviceToHost));
    CUDA(cudaFree(word));
    return us;
}

static int value_of(int rank, size_t at)
{
    return rank * 1000003 + (int)(at * 17 % 65521);
}

static bool collective_is_right(enum collective kind, const int *out, size_t count)
{
    std::vector<int> got(count);
    CUDA(cudaMemcpy(got.data(), out, count * sizeof(int), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++)
        if (got[i] != (kind == ALL_REDUCE ? value_of(0, i) + value_of(1, i) : value_of(1 - rank_number, i)))
            return false;
    return true;
}

static void collective_figure(enum collective kind, size_t bytes, ncclComm_t comm, cudaStream_t stream)
{
    size_t count = bytes / sizeof(int);
    std::vector<int> mine(count);
    std::vector<double> samples;
    int *in, *out;
    for (size_t i = 0; i < count; i++)
        mine[i] = value_of(rank_number, i);
    CUDA(cudaMalloc(&in, bytes));
    CUDA(cudaMalloc(&out, bytes));
    CUDA(cudaMemcpy(in, mine.data(), bytes, cudaMemcpyHostToDevice));
    double once = 0;
    for (int i = 0; i < 5; i++) { /* the first ones connect */
        double begun = now_us();
        enqueue(kind, in, out, count, comm, stream);
        CUDA(cudaStreamSynchronize(stream));
        once = now_us() - begun;
    }
    int rounds = rounds_for(slower_of_both(once, comm, stream), 10, 300);
    CUDA(cudaMemset(out, 0, bytes));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < rounds; i++) {
        double begun = now_us();
        enqueue(kind, in, out, count, comm, stream);
        CUDA(cudaStreamSynchronize(stream));
        samples.push_back(now_us() - begun);
    }
    bool good = collective_is_right(kind, out, count);
    /* Bus bandwidth: 2 (n - 1) / n of the size for an all-reduce, the size for send and receive; with n = 2 both are the size. */
    figure(kind == ALL_REDUCE ? "all-reduce" : "send + receive", bytes, samples, (double)bytes, good);
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
}

static void collective_figures(ncclComm_t comm, cudaStream_t stream)
{
    for (enum collective kind : {ALL_REDUCE, SEND_RECEIVE})
        for (size_t bytes : {(size_t)8, (size_t)8192, (size_t)131072, (size_t)1 << 20, (size_t)16 << 20, (size_t)64 << 20})
            collective_figure(kind, bytes, comm, stream);
}

static constexpr int GIN_ROUNDS = 200, GIN_WARM = 20, GIN_WINDOW = 16, GIN_BATCHES = 20;

struct gin_times {
    unsigned long long ns[GIN_ROUNDS];
    unsigned timed_out;
};

/* Half a round trip: put with signal to the peer, and its answer. */
__global__ void gin_ping_pong(ncclDevComm comm, ncclWindow_t window, size_t bytes, gin_times *out)
{
    ncclGin gin(comm, 0);
    ncclTeam world = ncclTeamWorld(comm);
    int peer = 1 - world.rank;
    for (int i = 0; i < GIN_WARM + GIN_ROUNDS; i++) {
        unsigned long long begun = now_ns();
        if (world.rank == 1 && !wait_for_signal(gin, 0, (uint64_t)i + 1)) {
            out->timed_out = 1;
            return;
        }
        gin.put(world, peer, window, HALF, window, 0, bytes, SignalInc{0});
        if (world.rank == 0 && !wait_for_signal(gin, 0, (uint64_t)i + 1)) {
            out->timed_out = 1;
            return;
        }
        if (i >= GIN_WARM)
            out->ns[i - GIN_WARM] = now_ns() - begun;
    }
    gin.flush(ncclCoopThread());
}

/* A window of puts, then a flush; the last one carries the signal. Rank 0 sends. */
__global__ void gin_stream(ncclDevComm comm, ncclWindow_t window, size_t bytes, gin_times *out)
{
    ncclGin gin(comm, 0);
    ncclTeam world = ncclTeamWorld(comm);
    int peer = 1 - world.rank;
    if (world.rank == 1) {
        out->timed_out = !wait_for_signal(gin, 0, GIN_BATCHES);
        return;
    }
    for (int i = 0; i < GIN_BATCHES; i++) {
        unsigned long long begun = now_ns();
        for (int n = 0; n + 1 < GIN_WINDOW; n++)
            gin.put(world, peer, window, HALF, window, 0, bytes);
        gin.put(world, peer, window, HALF, window, 0, bytes, SignalInc{0});
        gin.flush(ncclCoopThread());
        out->ns[i] = now_ns() - begun;
    }
}

static void gin_figure(bool stream_of_puts, size_t bytes, ncclComm_t comm, cudaStream_t stream, const ncclDevComm &device,
                       ncclWindow_t window, char *base, gin_times *out)
{
    static gin_times host;
    std::vector<double> samples;
    fill(base, rank_number, 40, bytes);
    CUDA(cudaMemset(base + HALF, 0, HALF));
    CUDA(cudaMemset(out, 0, sizeof(*out)));
    reset_signals<<<1, 1, 0, stream>>>(device);
    slower_of_both(0, comm, stream); /* a barrier */
    if (stream_of_puts)
        gin_stream<<<1, 1, 0, stream>>>(device, window, bytes, out);
    else
        gin_ping_pong<<<1, 1, 0, stream>>>(device, window, bytes, out);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&host, out, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < (stream_of_puts ? GIN_BATCHES : GIN_ROUNDS); i++)
        samples.push_back((double)host.ns[i] / 1e3 / (stream_of_puts ? GIN_WINDOW : 2));
    long first;
    bool receives = !stream_of_puts || rank_number == 1;
    bool good = !host.timed_out && (!receives || wrong_bytes(base + HALF, 1 - rank_number, 40, bytes, &first) == 0);
    /* The sender cannot see the receiver's memory: its figure counts only if the receiver's verdict is good, too. */
    good = slower_of_both(good ? 0 : 1, comm, stream) == 0;
    figure(stream_of_puts ? "GIN put, 16 in flight" : "GIN put + signal, one way", bytes, samples,
           stream_of_puts ? (double)bytes : 0, good);
}

static void gin_figures(ncclComm_t comm, cudaStream_t stream, const ncclDevComm &device, ncclWindow_t window, char *base)
{
    gin_times *out;
    CUDA(cudaMalloc(&out, sizeof(*out)));
    for (size_t bytes : {(size_t)8, (size_t)4096, (size_t)65536, (size_t)1 << 20})
        gin_figure(false, bytes, comm, stream, device, window, base, out);
    for (size_t bytes : {(size_t)8, (size_t)4096, (size_t)65536, (size_t)1 << 20, HALF})
        gin_figure(true, bytes, comm, stream, device, window, base, out);
    CUDA(cudaFree(out));
}
