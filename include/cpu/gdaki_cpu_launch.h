/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim headers call in libgdaki_cpu.so beside the CUDA runtime's functions: launch, barriers, warp operations. */
#ifndef GDAKI_CPU_LAUNCH_H
#define GDAKI_CPU_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "gdaki_cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gdaki_cpu_launch_config {
    struct gdaki_cpu_dim grid, block;
    size_t shared; /* dynamic shared memory, bytes */
    void *stream;  /* cudaStream_t */
};

/*
 * Runs kernel(closure) once for each CUDA thread, asynchronously, in stream order. Takes over the closure: destroy(closure)
 * follows the last thread, or comes at once on failure. name: static text for reports. Returns a cudaError_t.
 */
int gdaki_cpu_launch(const struct gdaki_cpu_launch_config *config, const char *name, void (*kernel)(void *closure),
                     void (*destroy)(void *closure), void *closure);

enum gdaki_cpu_warp_op {
    GDAKI_CPU_WARP_SYNC,
    GDAKI_CPU_WARP_BALLOT,
    GDAKI_CPU_WARP_SHFL, /* aux: source lane */
    GDAKI_CPU_WARP_MATCH_ANY,
    GDAKI_CPU_WARP_MATCH_ALL, /* the mask, or 0 */
    GDAKI_CPU_WARP_ADD,
    GDAKI_CPU_WARP_MIN_S,
    GDAKI_CPU_WARP_MIN_U,
    GDAKI_CPU_WARP_MAX_S,
    GDAKI_CPU_WARP_MAX_U,
    GDAKI_CPU_WARP_AND,
    GDAKI_CPU_WARP_OR,
    GDAKI_CPU_WARP_XOR
};

/* Waits for every lane of mask that has not left the kernel to call the same operation with the same mask. */
uint64_t gdaki_cpu_warp(enum gdaki_cpu_warp_op op, uint32_t mask, uint64_t value, uint32_t aux, const char *file, int line);
/* __activemask(): gathers the lanes at this call. */
uint32_t gdaki_cpu_activemask(const char *file, int line);

enum gdaki_cpu_barrier_kind { GDAKI_CPU_BARRIER_PLAIN, GDAKI_CPU_BARRIER_COUNT, GDAKI_CPU_BARRIER_AND, GDAKI_CPU_BARRIER_OR };
int gdaki_cpu_block_barrier(enum gdaki_cpu_barrier_kind kind, int predicate, const char *file, int line);
/* Waits for all threads of the grid, which must be resident together. */
void gdaki_cpu_grid_barrier(const char *file, int line);

/* This block's copy of a static __shared__ variable. *slot: 0 before the first call anywhere; the variable's number. */
void *gdaki_cpu_shared_get(unsigned *slot, size_t size, size_t align);

/* __trap() and a failed device assert: the launch fails with cudaErrorIllegalInstruction or cudaErrorAssert. */
void gdaki_cpu_trap(const char *file, int line) __attribute__((noreturn));
void gdaki_cpu_assert_fail(const char *expression, const char *file, int line) __attribute__((noreturn));
void gdaki_cpu_nanosleep(unsigned ns);

#ifdef __cplusplus
}
#endif
#endif
