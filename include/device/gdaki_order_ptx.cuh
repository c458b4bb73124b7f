/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/gdaki_order.h for GPUs: PTX, sm_70 and later (PTX ISA, "Memory Consistency Model").
 *
 * Addresses are generic: queue state may have been copied to shared memory, and WQEs may be built there for BlueFlame.
 * Every statement is volatile with a memory clobber, so that the compiler keeps program order.
 */
#ifndef GDAKI_ORDER_PTX_CUH
#define GDAKI_ORDER_PTX_CUH

#if __CUDA_ARCH__ >= 900 && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8))
#define GDAKI_PTX_ACQUIRE "fence.acquire."
#define GDAKI_PTX_RELEASE "fence.release."
#else
#define GDAKI_PTX_ACQUIRE "fence.acq_rel."
#define GDAKI_PTX_RELEASE "fence.acq_rel."
#endif

/* One statement for each scope; `scope` is a constant once inlined, and two of the three branches vanish. */
#define GDAKI_PTX_BY_SCOPE(scope, before, after, ...)                                                                  \
    do {                                                                                                               \
        if ((scope) == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS)                                                             \
            asm volatile(before "sys" after __VA_ARGS__);                                                              \
        else if ((scope) == DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU)                                                        \
            asm volatile(before "gpu" after __VA_ARGS__);                                                              \
        else                                                                                                           \
            asm volatile(before "cta" after __VA_ARGS__);                                                              \
    } while (0)

GDAKI_FN uint64_t gdaki_load_u64(const uint64_t *p, int scope)
{
    uint64_t v;
    GDAKI_PTX_BY_SCOPE(scope, "ld.relaxed.", ".u64 %0, [%1];", : "=l"(v) : "l"(p) : "memory");
    return v;
}

GDAKI_FN uint32_t gdaki_load_u32(const uint32_t *p, int scope)
{
    uint32_t v;
    GDAKI_PTX_BY_SCOPE(scope, "ld.relaxed.", ".u32 %0, [%1];", : "=r"(v) : "l"(p) : "memory");
    return v;
}

GDAKI_FN uint64_t gdaki_load_u64_sys(const void *p)
{
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.L1::no_allocate.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

GDAKI_FN uint32_t gdaki_load_u32_sys(const void *p)
{
    uint32_t v;
    asm volatile("ld.relaxed.sys.global.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

GDAKI_FN uint8_t gdaki_load_u8_sys(const void *p)
{
    uint16_t v;
    asm volatile("ld.relaxed.sys.global.L1::no_allocate.u8 %0, [%1];" : "=h"(v) : "l"(p) : "memory");
    return (uint8_t)v;
}

GDAKI_FN void gdaki_store_u64(uint64_t *p, uint64_t v, int scope)
{
    GDAKI_PTX_BY_SCOPE(scope, "st.relaxed.", ".u64 [%0], %1;", : : "l"(p), "l"(v) : "memory");
}

GDAKI_FN void gdaki_store_u32(uint32_t *p, uint32_t v, int scope)
{
    GDAKI_PTX_BY_SCOPE(scope, "st.relaxed.", ".u32 [%0], %1;", : : "l"(p), "r"(v) : "memory");
}

GDAKI_FN void gdaki_store_release_u32(uint32_t *p, uint32_t v, int scope)
{
    GDAKI_PTX_BY_SCOPE(scope, "st.release.", ".u32 [%0], %1;", : : "l"(p), "r"(v) : "memory");
}

GDAKI_FN void gdaki_store_mmio_u64(uint64_t *reg, uint64_t v)
{
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 2)
    asm volatile("st.mmio.relaxed.sys.global.u64 [%0], %1;" : : "l"(reg), "l"(v) : "memory");
#else
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(reg), "l"(v) : "memory");
#endif
}

GDAKI_FN uint64_t gdaki_load_ring_u64(const void *p)
{
    uint64_t v;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

GDAKI_FN uint64_t gdaki_peek_ring_u64(const void *p)
{
    return gdaki_load_ring_u64(p);
}

GDAKI_FN void gdaki_store_seg(void *p, uint64_t w0, uint64_t w1)
{
    asm volatile("st.cs.v2.u64 [%0], {%1, %2};" : : "l"(p), "l"(w0), "l"(w1) : "memory");
}

GDAKI_FN uint64_t gdaki_fetch_add_u64(uint64_t *p, uint64_t v, int scope)
{
    uint64_t before;
    GDAKI_PTX_BY_SCOPE(scope, "atom.relaxed.", ".add.u64 %0, [%1], %2;", : "=l"(before) : "l"(p), "l"(v) : "memory");
    return before;
}

GDAKI_FN uint32_t gdaki_fetch_add_u32(uint32_t *p, uint32_t v, int scope)
{
    uint32_t before;
    GDAKI_PTX_BY_SCOPE(scope, "atom.relaxed.", ".add.u32 %0, [%1], %2;", : "=r"(before) : "l"(p), "r"(v) : "memory");
    return before;
}

GDAKI_FN uint64_t gdaki_fetch_max_u64(uint64_t *p, uint64_t v, int scope)
{
    uint64_t before;
    GDAKI_PTX_BY_SCOPE(scope, "atom.relaxed.", ".max.u64 %0, [%1], %2;", : "=l"(before) : "l"(p), "l"(v) : "memory");
    return before;
}

/* By a generic address the hardware waits for an answer (is it shared memory?); a global one it need not wait for. */
GDAKI_FN void gdaki_max_u64(uint64_t *p, uint64_t v, int scope)
{
    if (__isGlobal(p))
        GDAKI_PTX_BY_SCOPE(scope, "red.relaxed.", ".global.max.u64 [%0], %1;",
                           : : "l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
    else
        GDAKI_PTX_BY_SCOPE(scope, "red.relaxed.", ".max.u64 [%0], %1;", : : "l"(p), "l"(v) : "memory");
}

GDAKI_FN uint32_t gdaki_cas_u32(uint32_t *p, uint32_t expected, uint32_t desired, int scope)
{
    uint32_t before;
    GDAKI_PTX_BY_SCOPE(scope, "atom.relaxed.", ".cas.b32 %0, [%1], %2, %3;",
                       : "=r"(before) : "l"(p), "r"(expected), "r"(desired) : "memory");
    return before;
}

GDAKI_FN uint64_t gdaki_cas_u64(uint64_t *p, uint64_t expected, uint64_t desired, int scope)
{
    uint64_t before;
    GDAKI_PTX_BY_SCOPE(scope, "atom.relaxed.", ".cas.b64 %0, [%1], %2, %3;",
                       : "=l"(before) : "l"(p), "l"(expected), "l"(desired) : "memory");
    return before;
}

GDAKI_FN void gdaki_fence_acquire(int scope)
{
    if (scope != DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
        GDAKI_PTX_BY_SCOPE(scope, GDAKI_PTX_ACQUIRE, ";", : : : "memory");
}

GDAKI_FN void gdaki_fence_release(int scope)
{
    if (scope != DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
        GDAKI_PTX_BY_SCOPE(scope, GDAKI_PTX_RELEASE, ";", : : : "memory");
}

GDAKI_FN void gdaki_fence_sc(int scope)
{
    if (scope != DOCA_GPUNETIO_VERBS_SYNC_SCOPE_THREAD)
        GDAKI_PTX_BY_SCOPE(scope, "fence.sc.", ";", : : : "memory");
}

/* Stores behind a branch on a load do not become visible before the load was done; keeps the compiler to it. */
GDAKI_FN void gdaki_fence_control(int scope)
{
    (void)scope;
    asm volatile("" : : : "memory");
}

/* Independent thread scheduling (sm_70) gives other lanes their turn. */
GDAKI_FN void gdaki_relax(void)
{
}

GDAKI_FN uint64_t gdaki_now_ns(void)
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

#endif
