/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory ordering: the only place with fences, atomics and cache operators. C, C++, CUDA, and the CPU stand-in.
 *
 * Who shares what
 *   queue state   indices, lock, first error: GPU threads with each other, at the sharing scope (CTA or GPU); the host
 *                 reads the error word.
 *   WQE ring      written by GPU threads with plain 16-byte stores, read by the NIC.
 *   record, register, proxy counter: written by GPU threads, read by the NIC or by a CPU: SYS scope.
 *   CQEs          written by the NIC, read by GPU threads: SYS scope.
 *
 * Who sees what when
 *   1. A WQE is visible to whoever sees its index in sq_ready_index and then acquires: the writer (or, for a group of
 *      lanes, the leader after __syncwarp) releases at the sharing scope before it moves the index.
 *   2. The NIC sees every WQE below an announced index: the ringing thread acquires at the sharing scope after it read
 *      the ready index, then releases at GPU scope or wider, then stores to the register. Fences are cumulative, so
 *      WQEs of other threads count as the ringing thread's own.
 *   3. GPU scope is enough while ring and payload lie in memory of that GPU. SYS is needed as soon as one of them may
 *      lie in host memory or a CPU reads it: the memory model promises nothing for less, even where one machine
 *      happens to deliver. A caller's scope is a minimum.
 *   4. The record is ordered behind a release of the WQEs, and the register behind a release of the record: a NIC that
 *      reads the record after the doorbell finds it up to date, and one that trusts the record finds the WQEs.
 *   5. Payload that the NIC wrote is visible after a successful poll, which ends with an acquire at SYS scope. The poll
 *      then releases at the sharing scope and moves cqe_ci, so a thread that only saw cqe_ci, and acquires, has it too.
 *
 * Fences are one-sided where the hardware has such (sm_90). Under ThreadSanitizer, which does not understand fences,
 * they become an exchange on one common word: more order than real, never less.
 */
#ifndef GDAKI_ORDER_H
#define GDAKI_ORDER_H

#include "doca_gpunetio_verbs_def.h"

#if defined(__CUDACC__) && !defined(GDAKI_CPU)
#define GDAKI_FN static __host__ __device__ __forceinline__
#else
#define GDAKI_FN static inline __attribute__((always_inline, unused))
#endif

#if defined(__CUDA_ARCH__) && !defined(GDAKI_CPU)
#include "../device/gdaki_order_ptx.cuh"
#elif defined(GDAKI_CPU)
#include "gdaki_order_cpu.inc"
#else
#include "gdaki_order_host.inc"
#endif

/*
 * What each target defines (scope: enum doca_gpu_dev_verbs_sync_scope, a constant after inlining; THREAD: no ordering):
 *
 *   uint64_t gdaki_load_u64(const uint64_t *p, int scope);              relaxed
 *   uint32_t gdaki_load_u32(const uint32_t *p, int scope);              relaxed
 *   uint32_t gdaki_load_u32_sys(const void *p), uint64_t gdaki_load_u64_sys(..), uint8_t gdaki_load_u8_sys(..)
 *                                                                       relaxed, SYS, not kept in L1
 *   void gdaki_store_u64(uint64_t *p, uint64_t v, int scope);           relaxed
 *   void gdaki_store_u32(uint32_t *p, uint32_t v, int scope);           relaxed
 *   void gdaki_store_release_u32(uint32_t *p, uint32_t v, int scope);   release
 *   void gdaki_store_mmio_u64(uint64_t *reg, uint64_t v);               relaxed, SYS, to a device register
 *   void gdaki_store_seg(void *p, uint64_t w0, uint64_t w1);            weak, 16 bytes aligned
 *   uint64_t gdaki_load_ring_u64(const void *p);                        reads back what gdaki_store_seg stored
 *   uint64_t gdaki_peek_ring_u64(const void *p);                        the same for a slot that may be in reuse: judge the value
 *   uint64_t gdaki_fetch_add_u64 / gdaki_fetch_max_u64 (uint64_t *p, uint64_t v, int scope);   relaxed
 *   uint32_t gdaki_fetch_add_u32(uint32_t *p, uint32_t v, int scope);   relaxed
 *   void gdaki_max_u64(uint64_t *p, uint64_t v, int scope);             relaxed, no result
 *   uint32_t gdaki_cas_u32(uint32_t *p, uint32_t expected, uint32_t desired, int scope);       relaxed, value before
 *   uint64_t gdaki_cas_u64(uint64_t *p, uint64_t expected, uint64_t desired, int scope);
 *   void gdaki_fence_acquire(int scope), gdaki_fence_release(int scope), gdaki_fence_sc(int scope);
 *   void gdaki_fence_control(int scope);                                orders a load, and a branch on it, before stores
 *   void gdaki_relax(void);                                             once a turn of every waiting loop
 *   uint64_t gdaki_now_ns(void);
 */
#endif
