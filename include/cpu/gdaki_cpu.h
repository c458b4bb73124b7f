/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU stand-in for the GPU (libgdaki_cpu.so): what device headers and the host library call.
 *
 * Kernels compiled by gdaki-nvcc run here: blocks on host threads, each CUDA thread a fiber. Memory helpers below pass
 * through the store buffer when it is on (GDAKI_CPU_STORE_BUFFER=1, with GDAKI_CPU_SEED), and are plain loads, stores and
 * atomics when it is off.
 */
#ifndef GDAKI_CPU_H
#define GDAKI_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gdaki_cpu_scope { GDAKI_CPU_SCOPE_SYS = 0, GDAKI_CPU_SCOPE_GPU = 1, GDAKI_CPU_SCOPE_CTA = 2, GDAKI_CPU_SCOPE_THREAD = 3 };
enum gdaki_cpu_order { GDAKI_CPU_RELAXED = 0, GDAKI_CPU_ACQUIRE = 1, GDAKI_CPU_RELEASE = 2, GDAKI_CPU_ACQ_REL = 3, GDAKI_CPU_SEQ_CST = 4 };
enum gdaki_cpu_atomic_op {
    GDAKI_CPU_ADD, GDAKI_CPU_MAX, GDAKI_CPU_MIN, GDAKI_CPU_AND, GDAKI_CPU_OR, GDAKI_CPU_XOR, GDAKI_CPU_EXCH, GDAKI_CPU_CAS
};

/* size 1, 2, 4 or 8 bytes, naturally aligned. Values are zero-extended. */
uint64_t gdaki_cpu_load(const void *ptr, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);
void gdaki_cpu_store(void *ptr, uint64_t value, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);
/* Weak (non-atomic) store of `size` bytes, 16-byte WQE segments for instance. */
void gdaki_cpu_store_weak(void *ptr, const void *src, size_t size);
/* Doorbell: an 8-byte store to a device register, relaxed, SYS scope; calls the doorbell hook afterwards. Never held back by older weak stores. */
void gdaki_cpu_store_mmio(void *ptr, uint64_t value);
/* Read-modify-write; returns the value before. CAS: a expected, b desired. */
uint64_t gdaki_cpu_atomic(enum gdaki_cpu_atomic_op op, void *ptr, unsigned size, uint64_t a, uint64_t b,
                          enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);
void gdaki_cpu_fence(enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);

/*
 * A fiber that waits for something calls this once a turn of its loop: other fibers of the worker run, and when none
 * can, the idle hook drives the NIC. Outside a kernel it calls the idle hook and yields the CPU if that had no work.
 */
void gdaki_cpu_relax(void);

/* True on a fiber (inside a kernel). */
bool gdaki_cpu_in_kernel(void);

/*
 * Hooks, set once by the host library. Idle: does a bounded piece of the NIC's work; returns > 0 if it did any. Doorbell:
 * called after each doorbell store, to wake the NIC. Both run on executor threads, on a fiber's stack or the worker's.
 */
void gdaki_cpu_set_idle_hook(int (*fn)(void *arg), void *arg);
void gdaki_cpu_set_doorbell_hook(void (*fn)(void *arg, void *reg), void *arg);

/* Reported by the checker (a user's mistake that hardware would not report): printf-style; counted; fails the launch
 * with cudaErrorAssert if GDAKI_CPU_CHECK=fatal. */
void gdaki_cpu_check_report(const char *what, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif
