/* SPDX-License-Identifier: Apache-2.0 */
/* Small device functions: timer, byte order, copies, fences, atomics by sharing mode, locks. gdaki: C++ only. */
#ifndef DOCA_GPUNETIO_DEV_VERBS_COMMON_CUH
#define DOCA_GPUNETIO_DEV_VERBS_COMMON_CUH

#include "gdaki_dev.cuh"

/* Feature macros, as users test them. */
#ifdef __CUDA_ARCH__
#if __CUDA_ARCH__ >= 1000
#define DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE 1
#endif
#if __CUDA_ARCH__ >= 900
#define DOCA_GPUNETIO_VERBS_HAS_TMA_COPY 1
#endif
#if __CUDA_ARCH__ >= 900 && defined(CUDA_VERSION) && CUDA_VERSION >= 12080
#define DOCA_GPUNETIO_VERBS_HAS_FENCE_ACQUIRE_RELEASE_PTX 1
#endif
#endif
#if defined(GDAKI_CPU) || (defined(CUDA_VERSION) && CUDA_VERSION >= 12020)
#define DOCA_GPUNETIO_VERBS_HAS_STORE_RELAXED_MMIO 1
#endif

GDAKI_DEV uint64_t doca_gpu_dev_verbs_query_globaltimer()
{
    return gdaki_now_ns();
}

GDAKI_DEV unsigned int doca_gpu_dev_verbs_get_lane_id()
{
#ifdef GDAKI_CPU
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % DOCA_GPUNETIO_VERBS_WARP_SIZE;
#else
    unsigned int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
#endif
}

GDAKI_DEV uint64_t doca_gpu_dev_verbs_bswap64(uint64_t x)
{
    return gdaki_bswap64(x);
}

GDAKI_DEV uint32_t doca_gpu_dev_verbs_bswap32(uint32_t x)
{
    return gdaki_bswap32(x);
}

GDAKI_DEV uint16_t doca_gpu_dev_verbs_bswap16(uint16_t x)
{
    return gdaki_bswap16(x);
}

/* ---- fences and stores ------------------------------------------------------------------------------------------- */

GDAKI_DEV void doca_gpu_dev_verbs_store_relaxed_mmio(uint64_t *ptr, uint64_t val)
{
    gdaki_store_mmio_u64(ptr, val);
}

template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
GDAKI_DEV void doca_gpu_dev_verbs_fence_acquire()
{
    gdaki_fence_acquire(sync_scope);
}

template <enum doca_gpu_dev_verbs_sync_scope sync_scope>
GDAKI_DEV void doca_gpu_dev_verbs_fence_release()
{
    gdaki_fence_release(sync_scope);
}

/* Where the hardware has no asynchronous release store, a fence and a store give the same order. */
GDAKI_DEV void doca_gpu_dev_verbs_async_store_release(uint32_t *ptr, uint32_t val)
{
#ifdef DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE
    asm volatile("st.async.release.sys.global.u32 [%0], %1;" : : "l"(ptr), "r"(val) : "memory");
#else
    gdaki_fence_release(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    gdaki_store_u32(ptr, val, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
#endif
}

GDAKI_DEV void doca_gpu_dev_verbs_async_store_release(uint64_t *ptr, uint64_t val)
{
#ifdef DOCA_GPUNETIO_VERBS_HAS_ASYNC_STORE_RELEASE
    asm volatile("st.async.mmio.release.sys.global.u64 [%0], %1;" : : "l"(ptr), "l"(val) : "memory");
#else
    gdaki_fence_release(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    gdaki_store_mmio_u64(ptr, val);
#endif
}

/* ---- copies -------------------------------------------------------------------------------------------------------- */

GDAKI_DEV bool doca_gpu_dev_verbs_isaligned(void *ptr, size_t alignment)
{
    return ((uintptr_t)ptr & (alignment - 1)) == 0;
}

/* Copies as many whole T as fit and returns the bytes done. Both pointers are aligned for T. */
template <typename T>
GDAKI_DEV size_t gdaki_copy_as(void *dst, const void *src, size_t bytes)
{
    size_t done = 0;
    for (; bytes - done >= sizeof(T); done += sizeof(T)) {
#ifdef GDAKI_CPU
        gdaki_cpu_store_weak((uint8_t *)dst + done, (const uint8_t *)src + done, sizeof(T));
#else
        *(T *)((uint8_t *)dst + done) = *(const T *)((const uint8_t *)src + done);
#endif
    }
    return done;
}

GDAKI_DEV void doca_gpu_dev_verbs_memcpy_aligned_data(void *dst, void *src, size_t bytes)
{
    size_t done = gdaki_copy_as<uint32_t>(dst, src, bytes);
    done += gdaki_copy_as<uint16_t>((uint8_t *)dst + done, (uint8_t *)src + done, bytes - done);
    gdaki_copy_as<uint8_t>((uint8_t *)dst + done, (uint8_t *)src + done, bytes - done);
}

GDAKI_DEV void doca_gpu_dev_verbs_memcpy_data(void *dst, void *src, size_t bytes)
{
    uintptr_t bits = (uintptr_t)dst | (uintptr_t)src;
    size_t done = 0;
    if ((bits & 7) == 0)
        done = gdaki_copy_as<uint64_t>(dst, src, bytes);
    if ((bits & 3) == 0)
        done += gdaki_copy_as<uint32_t>((uint8_t *)dst + done, (uint8_t *)src + done, bytes - done);
    if ((bits & 1) == 0)
        done += gdaki_copy_as<uint16_t>((uint8_t *)dst + done, (uint8_t *)src + done, bytes - done);
    gdaki_copy_as<uint8_t>((uint8_t *)dst + done, (uint8_t *)src + done, bytes - done);
}

/* Both pointers aligned for T: whole T first, then the bytes left. */
template <typename T>
GDAKI_DEV void doca_gpu_dev_verbs_memcpy_inl_aligned_data(T *dst, T *src, size_t bytes)
{
    size_t done = gdaki_copy_as<T>(dst, src, bytes);
    gdaki_copy_as<uint8_t>((uint8_t *)dst + done, (uint8_t *)src + done, bytes - done);
}

/* ---- atomics by sharing mode ---------------------------------------------------------------------------------------- */

/* Relaxed access of 1, 2, 4 or 8 bytes, visible to and from the whole system. */
template <typename T>
GDAKI_DEV T gdaki_load_any(T *ptr)
{
#ifdef GDAKI_CPU
    uint64_t raw = gdaki_cpu_load(ptr, sizeof(T), GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_SYS);
    T value;
    memcpy(&value, &raw, sizeof(T));
    return value;
#else
    return *(volatile T *)ptr;
#endif
}

template <typename T>
GDAKI_DEV void gdaki_store_any(T *ptr, T value)
{
#ifdef GDAKI_CPU
    uint64_t raw = 0;
    memcpy(&raw, &value, sizeof(T));
    gdaki_cpu_store(ptr, raw, sizeof(T), GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_CTA);
#else
    *(volatile T *)ptr = value;
#endif
}

/* Compare-and-swap of a 4- or 8-byte T; value before. */
template <typename T>
GDAKI_DEV T gdaki_cas_any(T *ptr, T expected, T desired, int scope)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics work on 4 or 8 bytes");
    if (sizeof(T) == 8)
        return (T)gdaki_cas_u64((uint64_t *)ptr, (uint64_t)expected, (uint64_t)desired, scope);
    return (T)gdaki_cas_u32((uint32_t *)ptr, (uint32_t)expected, (uint32_t)desired, scope);
}

/* Fetch-max, value before. */
template <typename T, GDAKI_P_SHARING, bool need_fence_acquire = false>
GDAKI_DEV T doca_gpu_dev_verbs_atomic_max(T *ptr, T val)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    T seen;
    if (resource_sharing_mode > DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU)
        return 0;
    if (sharing::exclusive) {
        seen = gdaki_load_any(ptr);
        if (seen < val)
            gdaki_store_any(ptr, val);
        return seen;
    }
    if (sizeof(T) == 8 && T(-1) > T(0)) {
        seen = (T)gdaki_fetch_max_u64((uint64_t *)ptr, (uint64_t)val, sharing::scope);
    } else {
        seen = gdaki_load_any(ptr);
        while (seen < val) {
            T before = gdaki_cas_any(ptr, seen, val, sharing::scope);
            if (before == seen)
                break;
            seen = before;
        }
    }
    if (need_fence_acquire)
        gdaki_fence_acquire(sharing::scope);
    return seen;
}

/* Fetch-add, value before; relaxed. */
template <typename T, GDAKI_P_SHARING>
GDAKI_DEV T doca_gpu_dev_verbs_atomic_add(T *ptr, T val)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics work on 4 or 8 bytes");
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    if (resource_sharing_mode > DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU)
        return 0;
    if (sharing::exclusive) {
        T before = gdaki_load_any(ptr);
        gdaki_store_any(ptr, (T)(before + val));
        return before;
    }
    if (sizeof(T) == 8)
        return (T)gdaki_fetch_add_u64((uint64_t *)ptr, (uint64_t)val, sharing::scope);
    return (T)gdaki_fetch_add_u32((uint32_t *)ptr, (uint32_t)val, sharing::scope);
}

/*
 * Relaxed load. Kernels spin on this, also on memory that the NIC writes and also under EXCLUSIVE, so it is a fresh load
 * in every mode; on `cpu` it gives the NIC its turn.
 */
template <typename T, GDAKI_P_SHARING>
GDAKI_DEV T doca_gpu_dev_verbs_atomic_read(T *ptr)
{
    T value = gdaki_load_any(ptr);
    gdaki_relax();
    return value;
}

template <GDAKI_P_SHARING>
GDAKI_DEV void doca_gpu_dev_verbs_lock(int *lock)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    if (sharing::exclusive) {
        gdaki_store_u32((uint32_t *)lock, 1, sharing::scope);
    } else {
        while (gdaki_cas_u32((uint32_t *)lock, 0, 1, sharing::scope) != 0)
            gdaki_relax();
        gdaki_fence_acquire(sharing::scope); /* orders the taking before what the lock protects */
    }
}

template <GDAKI_P_SHARING>
GDAKI_DEV void doca_gpu_dev_verbs_unlock(int *lock)
{
    typedef gdaki_sharing<resource_sharing_mode> sharing;
    if (sharing::exclusive)
        gdaki_store_u32((uint32_t *)lock, 0, sharing::scope);
    else
        gdaki_store_release_u32((uint32_t *)lock, 0, sharing::scope); /* orders what it protected before the release */
}

GDAKI_DEV uint8_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint8_t *ptr)
{
    return gdaki_load_u8_sys(ptr);
}

GDAKI_DEV uint32_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint32_t *ptr)
{
    return gdaki_load_u32_sys(ptr);
}

GDAKI_DEV uint64_t doca_gpu_dev_verbs_load_relaxed_sys_global(uint64_t *ptr)
{
    return gdaki_load_u64_sys(ptr);
}

template <GDAKI_P_SHARING>
GDAKI_DEV uint64_t doca_gpu_dev_verbs_load_relaxed(uint64_t *ptr)
{
    return gdaki_index_load<resource_sharing_mode>(ptr);
}

/* ---- arithmetic ----------------------------------------------------------------------------------------------------- */

GDAKI_DEV uint64_t doca_gpu_dev_verbs_div_ceil_aligned_pow2(uint64_t x, unsigned int denominator_shift)
{
    return (x >> denominator_shift) + ((x & ((1ULL << denominator_shift) - 1)) != 0);
}

GDAKI_DEV uint32_t doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits(uint64_t x, int denominator_shift)
{
    return (uint32_t)doca_gpu_dev_verbs_div_ceil_aligned_pow2(x, (unsigned int)denominator_shift);
}

#endif
