/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of NVSHMEM: one-way latency of put with signal, latency of get, bandwidth of puts and gets in flight. */
#pragma once
#include "figures.h"

static constexpr int LATENCY_ROUNDS = 200, WARM_ROUNDS = 20, WINDOW = 16, BATCHES = 20;

struct times {
    unsigned long long ns[LATENCY_ROUNDS];
    unsigned timed_out;
};

/* Half a round trip: data with a signal to the peer, and its answer; the data is on `in` before the signal is seen. */
__global__ void put_ping_pong(symmetric *s, size_t bytes, int me, int peer, times *out)
{
    for (int i = 0; i < WARM_ROUNDS + LATENCY_ROUNDS; i++) {
        unsigned long long begun = now_ns();
        if (me == 1 && !wait_for(&s->arrived, (uint64_t)i + 1)) {
            out->timed_out = 1;
            return;
        }
        nvshmem_putmem_signal_nbi(s->in, s->out, bytes, &s->arrived, (uint64_t)i + 1, NVSHMEM_SIGNAL_SET, peer);
        if (me == 0 && !wait_for(&s->arrived, (uint64_t)i + 1)) {
            out->timed_out = 1;
            return;
        }
        if (i >= WARM_ROUNDS)
            out->ns[i - WARM_ROUNDS] = now_ns() - begun;
    }
    nvshmem_quiet();
}

__global__ void get_latency(symmetric *s, size_t bytes, int peer, times *out)
{
    for (int i = 0; i < WARM_ROUNDS + LATENCY_ROUNDS; i++) {
        unsigned long long begun = now_ns();
        nvshmem_getmem(s->in, s->out, bytes, peer);
        if (i >= WARM_ROUNDS)
            out->ns[i - WARM_ROUNDS] = now_ns() - begun;
    }
}

__global__ void streaming(symmetric *s, size_t bytes, int peer, bool gets, times *out)
{
    for (int i = 0; i < BATCHES; i++) {
        unsigned long long begun = now_ns();
        for (int n = 0; n < WINDOW; n++)
            if (gets)
                nvshmem_getmem_nbi(s->in, s->out, bytes, peer);
            else
                nvshmem_putmem_nbi(s->in, s->out, bytes, peer);
        nvshmem_quiet();
        out->ns[i] = now_ns() - begun;
    }
}

enum figure_kind { PUT_LATENCY, GET_LATENCY, PUT_STREAM, GET_STREAM };

/* PE 0 acts; PE 1 answers (the ping-pong) or only lends its memory. */
static void nvshmem_figure(enum figure_kind kind, size_t bytes, times *out)
{
    static const char *const names[] = {"put + signal, one way", "get", "put, 16 in flight", "get, 16 in flight"};
    static times host;
    static int step = 60;
    std::vector<double> samples;
    bool streams = kind == PUT_STREAM || kind == GET_STREAM, gets = kind == GET_LATENCY || kind == GET_STREAM;
    prepare(++step, bytes);
    CUDA(cudaMemset(out, 0, sizeof(*out)));
    CUDA(cudaMemset(&s->arrived, 0, sizeof(s->arrived)));
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    if (kind == PUT_LATENCY)
        put_ping_pong<<<1, 1>>>(s, bytes, me, peer, out);
    else if (me == 0 && kind == GET_LATENCY)
        get_latency<<<1, 1>>>(s, bytes, peer, out);
    else if (me == 0)
        streaming<<<1, 1>>>(s, bytes, peer, gets, out);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    CUDA(cudaMemcpy(&host, out, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < (streams ? BATCHES : LATENCY_ROUNDS); i++)
        samples.push_back((double)host.ns[i] / 1e3 / (kind == PUT_LATENCY ? 2 : streams ? WINDOW : 1));
    long first;
    bool receives = kind == PUT_LATENCY || (gets ? me == 0 : me == 1);
    bool good = !host.timed_out && (!receives || wrong_bytes(s->in, peer, step, bytes, &first) == 0);
    figure(names[kind], bytes, samples, streams ? (double)bytes : 0, good);
}

static void figures()
{
    times *out;
    CUDA(cudaMalloc(&out, sizeof(*out)));
    for (enum figure_kind kind : {PUT_LATENCY, GET_LATENCY, PUT_STREAM, GET_STREAM})
        for (size_t bytes : {(size_t)8, (size_t)4096, (size_t)65536, (size_t)1 << 20})
            nvshmem_figure(kind, bytes, out);
    CUDA(cudaFree(out));
}
