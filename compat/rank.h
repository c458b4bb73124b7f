/* SPDX-License-Identifier: Apache-2.0 */
/* What both GPU programs share: ranks that find each other through a file, patterns, and a verdict a step. */
#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <unistd.h>

#define CUDA(call)                                                                                        \
    do {                                                                                                  \
        cudaError_t error_ = (call);                                                                      \
        if (error_ != cudaSuccess) {                                                                      \
            std::fprintf(stderr, "rank %d: %s: %s\n", rank_number, #call, cudaGetErrorString(error_));    \
            std::exit(3);                                                                                 \
        }                                                                                                 \
    } while (0)

static int rank_number, steps_failed, steps_passed;

/* Rank 0 makes the id; the file appears with its whole content. */
template <typename Id> static void share_id(const char *path, Id *id, int rank)
{
    std::string temporary = std::string(path) + ".new";
    if (rank == 0) {
        FILE *f = std::fopen(temporary.c_str(), "wb");
        if (!f || std::fwrite(id, sizeof(*id), 1, f) != 1 || std::fclose(f) || std::rename(temporary.c_str(), path)) {
            std::fprintf(stderr, "cannot write %s\n", path);
            std::exit(3);
        }
        return;
    }
    for (int tries = 0; tries < 600; tries++) {
        FILE *f = std::fopen(path, "rb");
        if (f) {
            bool whole = std::fread(id, sizeof(*id), 1, f) == 1;
            std::fclose(f);
            if (whole)
                return;
        }
        usleep(100000);
    }
    std::fprintf(stderr, "rank %d: no id in %s after a minute\n", rank, path);
    std::exit(3);
}

/* A GPU each if there are enough, else all on one. */
static void take_gpu(int rank)
{
    int count = 0;
    CUDA(cudaGetDeviceCount(&count));
    CUDA(cudaSetDevice(rank % count));
}

static unsigned char pattern(int from, int step, size_t at)
{
    return (unsigned char)(from * 101 + step * 29 + at * 7 + (at >> 8) + 1);
}

static void fill(void *device, int from, int step, size_t bytes)
{
    std::vector<unsigned char> host(bytes);
    for (size_t i = 0; i < bytes; i++)
        host[i] = pattern(from, step, i);
    CUDA(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice));
}

/* The number of wrong bytes; -1 in `first` when there is none. */
static size_t wrong_bytes(const void *device, int from, int step, size_t bytes, long *first)
{
    std::vector<unsigned char> host(bytes);
    CUDA(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    *first = -1;
    for (size_t i = 0; i < bytes; i++)
        if (host[i] != pattern(from, step, i) && wrong++ == 0)
            *first = (long)i;
    return wrong;
}

static void verdict(const char *step, bool good, const char *why)
{
    (good ? steps_passed : steps_failed)++;
    std::printf("rank %d: %-44s %s%s%s\n", rank_number, step, good ? "ok" : "FAILED", good ? "" : ": ", good ? "" : why);
    std::fflush(stdout);
}

static void verdict_of_bytes(const char *step, const void *device, int from, int number, size_t bytes)
{
    long first;
    size_t wrong = wrong_bytes(device, from, number, bytes, &first);
    char why[96];
    std::snprintf(why, sizeof(why), "%zu of %zu bytes are wrong, the first at %ld", wrong, bytes, first);
    verdict(step, wrong == 0, why);
}

static int closing(const char *program)
{
    std::printf("rank %d: %s: %d steps passed, %d failed\n", rank_number, program, steps_passed, steps_failed);
    return steps_failed ? 1 : 0;
}

/* Kernels look at words for a bounded time: a NIC that does not answer ends in a verdict, not in a hang. */
__device__ static inline unsigned long long now_ns()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
static constexpr unsigned long long PATIENCE_NS = 40ull * 1000 * 1000 * 1000;
