/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU stand-in for the GPU (libgdaki_cpu.so): what device headers and the host library call.
 *
 * Kernels compiled by gdaki-nvcc run here: blocks on host threads, each CUDA thread a fiber. Memory helpers below pass
 * through the store buffer when it is on (GDAKI_CPU_STORE_BUFFER=1, with GDAKI_CPU_SEED), and are plain loads, stores and
 * atomics when it is off. They are inline: with the store buffer off, a load costs one decrement of a thread-local counter
 * more than the load itself (the counter makes a loop that polls without gdaki_cpu_relax give way now and then), a store
 * costs one test.
 */
#ifndef GDAKI_CPU_H
#define GDAKI_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a call the constants of size and order are left, of the function a few instructions. */
#define GDAKI_CPU_FN static inline __attribute__((always_inline))

enum gdaki_cpu_scope { GDAKI_CPU_SCOPE_SYS = 0, GDAKI_CPU_SCOPE_GPU = 1, GDAKI_CPU_SCOPE_CTA = 2, GDAKI_CPU_SCOPE_THREAD = 3 };
enum gdaki_cpu_order { GDAKI_CPU_RELAXED = 0, GDAKI_CPU_ACQUIRE = 1, GDAKI_CPU_RELEASE = 2, GDAKI_CPU_ACQ_REL = 3, GDAKI_CPU_SEQ_CST = 4 };
enum gdaki_cpu_atomic_op {
    GDAKI_CPU_ADD, GDAKI_CPU_MAX, GDAKI_CPU_MIN, GDAKI_CPU_AND, GDAKI_CPU_OR, GDAKI_CPU_XOR, GDAKI_CPU_EXCH, GDAKI_CPU_CAS
};

/* ---- What the inline functions share with the library; not for other use ---- */

struct gdaki_cpu_dim {
    unsigned x, y, z;
};

/* A block as its threads see it. slots: the block's copies of static __shared__ variables, by number; see shared.c. */
struct gdaki_cpu_block_view {
    struct gdaki_cpu_dim block_idx, block_dim, grid_dim;
    unsigned nslots;
    void **slots;
    void *dynamic_shared;
    size_t dynamic_shared_size;
};

struct gdaki_cpu_thread_view {
    struct gdaki_cpu_dim thread_idx;
    unsigned linear; /* thread's index in its block; the lane is linear % 32 */
    const struct gdaki_cpu_block_view *block;
};

struct gdaki_cpu_tls {
    const struct gdaki_cpu_thread_view *thread; /* the CUDA thread that runs now; of all zeros outside kernels */
    int budget;                                 /* polled loads and atomics left before the fiber gives way */
    bool buffered;                              /* a fiber with the store buffer on: every access goes to the library */
    bool kernel;                                /* on a fiber */
};

/* Fibers never change their OS thread, so a compiler may keep this variable's address across calls. */
extern __thread struct gdaki_cpu_tls gdaki_cpu_tls __attribute__((tls_model("initial-exec")));

uint64_t gdaki_cpu_load_slow(const void *ptr, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);
void gdaki_cpu_store_slow(void *ptr, uint64_t value, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);
void gdaki_cpu_store_weak_slow(void *ptr, const void *src, size_t size);
void gdaki_cpu_load_weak_slow(void *dst, const void *ptr, size_t size);
uint64_t gdaki_cpu_atomic_slow(enum gdaki_cpu_atomic_op op, void *ptr, unsigned size, uint64_t a, uint64_t b,
                               enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);
void gdaki_cpu_fence_slow(enum gdaki_cpu_order order, enum gdaki_cpu_scope scope);

#if defined(__SANITIZE_THREAD__)
#define GDAKI_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GDAKI_CPU_TSAN 1
#endif
#endif
#ifndef GDAKI_CPU_TSAN
#define GDAKI_CPU_TSAN 0 /* 1: ordering goes to the library, which tells ThreadSanitizer what a fence orders */
#endif

GDAKI_CPU_FN uint64_t gdaki_cpu_plain_load(const void *ptr, unsigned size, enum gdaki_cpu_order order)
{
#define GDAKI_CPU_LOAD(type) \
    (order == GDAKI_CPU_RELAXED ? __atomic_load_n((const type *)ptr, __ATOMIC_RELAXED) \
     : order == GDAKI_CPU_SEQ_CST ? __atomic_load_n((const type *)ptr, __ATOMIC_SEQ_CST) \
                                  : __atomic_load_n((const type *)ptr, __ATOMIC_ACQUIRE))
    switch (size) {
    case 1:
        return GDAKI_CPU_LOAD(uint8_t);
    case 2:
        return GDAKI_CPU_LOAD(uint16_t);
    case 4:
        return GDAKI_CPU_LOAD(uint32_t);
    default:
        return GDAKI_CPU_LOAD(uint64_t);
    }
#undef GDAKI_CPU_LOAD
}

GDAKI_CPU_FN void gdaki_cpu_plain_store(void *ptr, uint64_t value, unsigned size, enum gdaki_cpu_order order)
{
#define GDAKI_CPU_STORE(type) \
    (order == GDAKI_CPU_RELAXED ? __atomic_store_n((type *)ptr, (type)value, __ATOMIC_RELAXED) \
     : order == GDAKI_CPU_SEQ_CST ? __atomic_store_n((type *)ptr, (type)value, __ATOMIC_SEQ_CST) \
                                  : __atomic_store_n((type *)ptr, (type)value, __ATOMIC_RELEASE))
    switch (size) {
    case 1:
        GDAKI_CPU_STORE(uint8_t);
        break;
    case 2:
        GDAKI_CPU_STORE(uint16_t);
        break;
    case 4:
        GDAKI_CPU_STORE(uint32_t);
        break;
    default:
        GDAKI_CPU_STORE(uint64_t);
        break;
    }
#undef GDAKI_CPU_STORE
}

/* Every order but relaxed is made sequentially consistent: on x86 a locked operation is that anyway. */
#define GDAKI_CPU_RMW(type, call) \
    (order == GDAKI_CPU_RELAXED ? (uint64_t)call((type *)ptr, (type)a, __ATOMIC_RELAXED) \
                                : (uint64_t)call((type *)ptr, (type)a, __ATOMIC_SEQ_CST))
#define GDAKI_CPU_RMW_SIZES(call) \
    (size == 4   ? GDAKI_CPU_RMW(uint32_t, call) \
     : size == 8 ? GDAKI_CPU_RMW(uint64_t, call) \
     : size == 2 ? GDAKI_CPU_RMW(uint16_t, call) \
                 : GDAKI_CPU_RMW(uint8_t, call))

static inline uint64_t gdaki_cpu_plain_cas(void *ptr, unsigned size, uint64_t expected, uint64_t desired)
{
#define GDAKI_CPU_CAS_AS(type) \
    do { \
        type old = (type)expected; \
        __atomic_compare_exchange_n((type *)ptr, &old, (type)desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return old; \
    } while (0)
    switch (size) {
    case 1:
        GDAKI_CPU_CAS_AS(uint8_t);
    case 2:
        GDAKI_CPU_CAS_AS(uint16_t);
    case 4:
        GDAKI_CPU_CAS_AS(uint32_t);
    default:
        GDAKI_CPU_CAS_AS(uint64_t);
    }
#undef GDAKI_CPU_CAS_AS
}

static inline uint64_t gdaki_cpu_plain_minmax(void *ptr, unsigned size, uint64_t a, bool max)
{
    uint64_t seen = gdaki_cpu_plain_load(ptr, size, GDAKI_CPU_RELAXED);

    for (;;) {
        uint64_t want = (max ? a > seen : a < seen) ? a : seen;
        uint64_t old = gdaki_cpu_plain_cas(ptr, size, seen, want);

        if (old == seen)
            return old;
        seen = old;
    }
}

static inline uint64_t gdaki_cpu_plain_atomic(enum gdaki_cpu_atomic_op op, void *ptr, unsigned size, uint64_t a, uint64_t b,
                                              enum gdaki_cpu_order order)
{
    switch (op) {
    case GDAKI_CPU_ADD:
        return GDAKI_CPU_RMW_SIZES(__atomic_fetch_add);
    case GDAKI_CPU_AND:
        return GDAKI_CPU_RMW_SIZES(__atomic_fetch_and);
    case GDAKI_CPU_OR:
        return GDAKI_CPU_RMW_SIZES(__atomic_fetch_or);
    case GDAKI_CPU_XOR:
        return GDAKI_CPU_RMW_SIZES(__atomic_fetch_xor);
    case GDAKI_CPU_EXCH:
        return GDAKI_CPU_RMW_SIZES(__atomic_exchange_n);
    case GDAKI_CPU_CAS:
        return gdaki_cpu_plain_cas(ptr, size, a, b);
    default:
        return gdaki_cpu_plain_minmax(ptr, size, a, op == GDAKI_CPU_MAX);
    }
}
#undef GDAKI_CPU_RMW_SIZES
#undef GDAKI_CPU_RMW

/* True while the next polled access may stay inline. */
GDAKI_CPU_FN bool gdaki_cpu_inline(void)
{
    return __builtin_expect(--gdaki_cpu_tls.budget > 0, 1) && !GDAKI_CPU_TSAN;
}

/* ---- Memory ---- */

/* size 1, 2, 4 or 8 bytes, naturally aligned. Values are zero-extended. */
GDAKI_CPU_FN uint64_t gdaki_cpu_load(const void *ptr, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    if (gdaki_cpu_inline())
        return gdaki_cpu_plain_load(ptr, size, order);
    return gdaki_cpu_load_slow(ptr, size, order, scope);
}

GDAKI_CPU_FN void gdaki_cpu_store(void *ptr, uint64_t value, unsigned size, enum gdaki_cpu_order order,
                                   enum gdaki_cpu_scope scope)
{
    if (__builtin_expect(!gdaki_cpu_tls.buffered, 1) && !GDAKI_CPU_TSAN)
        gdaki_cpu_plain_store(ptr, value, size, order);
    else
        gdaki_cpu_store_slow(ptr, value, size, order, scope);
}

/* Weak (non-atomic) store of `size` bytes, 16-byte WQE segments for instance. */
static inline void gdaki_cpu_store_weak(void *ptr, const void *src, size_t size)
{
    if (__builtin_expect(!gdaki_cpu_tls.buffered, 1))
        memcpy(ptr, src, size);
    else
        gdaki_cpu_store_weak_slow(ptr, src, size);
}

/* Weak load: sees the thread's own buffered stores and what other threads of the GPU released. */
static inline void gdaki_cpu_load_weak(void *dst, const void *ptr, size_t size)
{
    if (__builtin_expect(!gdaki_cpu_tls.buffered, 1))
        memcpy(dst, ptr, size);
    else
        gdaki_cpu_load_weak_slow(dst, ptr, size);
}

/* Doorbell: an 8-byte store to a device register, relaxed, SYS scope; calls the doorbell hook afterwards. Never held back
 * by older weak stores. */
void gdaki_cpu_store_mmio(void *ptr, uint64_t value);

/* Read-modify-write; returns the value before. MAX and MIN are unsigned. CAS: a expected, b desired. */
static inline uint64_t gdaki_cpu_atomic(enum gdaki_cpu_atomic_op op, void *ptr, unsigned size, uint64_t a, uint64_t b,
                                        enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    if (gdaki_cpu_inline())
        return gdaki_cpu_plain_atomic(op, ptr, size, a, b, order);
    return gdaki_cpu_atomic_slow(op, ptr, size, a, b, order, scope);
}

GDAKI_CPU_FN void gdaki_cpu_fence(enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
#if GDAKI_CPU_TSAN
    gdaki_cpu_fence_slow(order, scope);
#else
    if (__builtin_expect(gdaki_cpu_tls.buffered, 0))
        gdaki_cpu_fence_slow(order, scope);
    else if (order == GDAKI_CPU_SEQ_CST)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else if (order != GDAKI_CPU_RELAXED)
        __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

/* ---- Scheduling ---- */

/*
 * A fiber that waits for something calls this once a turn of its loop: other fibers of the worker run, and when none
 * can, the idle hook drives the NIC. Outside a kernel it calls the idle hook and yields the CPU if that had no work.
 */
void gdaki_cpu_relax(void);

/* True on a fiber (inside a kernel). */
static inline bool gdaki_cpu_in_kernel(void)
{
    return gdaki_cpu_tls.kernel;
}

/* Nanoseconds of CLOCK_REALTIME, the clock that a NIC's timestamps and wait-on-time use (globaltimer). */
uint64_t gdaki_cpu_globaltimer(void);

/* Nanoseconds since some moment, from a cycle counter where there is a steady one (clock64). */
uint64_t gdaki_cpu_clock64(void);

/* The named barrier `id` (0 to 15) for `nthreads` threads, 0 for the whole block, as PTX's barrier.sync. */
void gdaki_cpu_barrier(unsigned id, unsigned nthreads, const char *file, int line);

/*
 * Hooks, set once by the host library. Idle: does a bounded piece of the NIC's work; returns > 0 if it did any; runs on a
 * worker's own stack (or the caller's, outside kernels). Doorbell: called after each doorbell store, to wake the NIC; runs
 * on the storing thread's stack, a fiber's 64 KiB. Neither may block or call back into a kernel.
 */
void gdaki_cpu_set_idle_hook(int (*fn)(void *arg), void *arg);
void gdaki_cpu_set_doorbell_hook(void (*fn)(void *arg, void *reg), void *arg);

/* Reported by the checker (a user's mistake that hardware would not report): printf-style; counted; fails the launch
 * with cudaErrorAssert if GDAKI_CPU_CHECK=fatal. */
void gdaki_cpu_check_report(const char *what, ...) __attribute__((format(printf, 1, 2)));
/* Reports so far, and the text of the last report of any kind (checker, deadlock, runaway); empty when there was none. */
uint64_t gdaki_cpu_check_count(void);
const char *gdaki_cpu_last_report(void);

/* The environment variables that libgdaki_cpu reads, for `gdaki info --env`. */
struct gdaki_cpu_env {
    const char *name;
    const char *default_value; /* as text */
    const char *help;
};
const struct gdaki_cpu_env *gdaki_cpu_env_table(size_t *count);

/*
 * For tests: what GDAKI_CPU_SEED, GDAKI_CPU_STORE_BUFFER and GDAKI_CPU_SPLIT set, for kernels launched from now on. No
 * kernel may be running. Under a seed (not 0) one worker runs everything, so that a run can be repeated. A store buffer
 * without a seed gets seed 1.
 */
void gdaki_cpu_configure(int store_buffer, int split, uint64_t seed);
/* The same for GDAKI_CPU_TIMEOUT_MS; 0: never. */
void gdaki_cpu_set_timeout_ms(uint64_t ms);

#ifdef __cplusplus
}
#endif
#endif
