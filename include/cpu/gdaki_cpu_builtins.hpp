/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in variables, barriers, fences, clocks, bit functions and cached loads of CUDA C++. */
#ifndef GDAKI_CPU_BUILTINS_HPP
#define GDAKI_CPU_BUILTINS_HPP
#pragma GCC system_header

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <type_traits>

#include "gdaki_cpu_launch.h"

namespace gdaki_cpu
{
/* The views hold three unsigned each, as uint3 and dim3 do. */
inline const uint3 &as_uint3(const gdaki_cpu_dim &dim)
{
    static_assert(sizeof(uint3) == sizeof(gdaki_cpu_dim) && sizeof(dim3) == sizeof(gdaki_cpu_dim), "three unsigned");
    return *reinterpret_cast<const uint3 *>(reinterpret_cast<const void *>(&dim));
}

inline const dim3 &as_dim3(const gdaki_cpu_dim &dim)
{
    return *reinterpret_cast<const dim3 *>(reinterpret_cast<const void *>(&dim));
}

} // namespace gdaki_cpu

#define threadIdx (::gdaki_cpu::as_uint3(gdaki_cpu_tls.thread->thread_idx))
#define blockIdx  (::gdaki_cpu::as_uint3(gdaki_cpu_tls.thread->block->block_idx))
#define blockDim  (::gdaki_cpu::as_dim3(gdaki_cpu_tls.thread->block->block_dim))
#define gridDim   (::gdaki_cpu::as_dim3(gdaki_cpu_tls.thread->block->grid_dim))
#define warpSize  32

/* Places in reports come from the caller's line. */
#define GDAKI_CPU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(GDAKI_CPU_HERE)
{
    gdaki_cpu_block_barrier(GDAKI_CPU_BARRIER_PLAIN, 0, file, line);
}

inline int __syncthreads_count(int predicate, GDAKI_CPU_HERE)
{
    return gdaki_cpu_block_barrier(GDAKI_CPU_BARRIER_COUNT, predicate, file, line);
}

inline int __syncthreads_and(int predicate, GDAKI_CPU_HERE)
{
    return gdaki_cpu_block_barrier(GDAKI_CPU_BARRIER_AND, predicate, file, line);
}

inline int __syncthreads_or(int predicate, GDAKI_CPU_HERE)
{
    return gdaki_cpu_block_barrier(GDAKI_CPU_BARRIER_OR, predicate, file, line);
}

inline void __threadfence_block()
{
    gdaki_cpu_fence(GDAKI_CPU_SEQ_CST, GDAKI_CPU_SCOPE_CTA);
}

inline void __threadfence()
{
    gdaki_cpu_fence(GDAKI_CPU_SEQ_CST, GDAKI_CPU_SCOPE_GPU);
}

inline void __threadfence_system()
{
    gdaki_cpu_fence(GDAKI_CPU_SEQ_CST, GDAKI_CPU_SCOPE_SYS);
}

inline void __nanosleep(unsigned ns)
{
    gdaki_cpu_nanosleep(ns);
}

inline void __trap(GDAKI_CPU_HERE)
{
    gdaki_cpu_trap(file, line);
}

inline void __brkpt()
{
    __builtin_trap();
}

/* Ticks of a 1 GHz clock, the clockRate that the device tells. */
inline long long clock64()
{
    return (long long)gdaki_cpu_clock64();
}

/* ---- Bits ---- */
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }

inline unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}

/* Byte i of the result is byte s[i] of y:x; bit 3 of a selector spreads the byte's sign instead. */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;

    for (unsigned i = 0; i < 4; i++) {
        unsigned selector = s >> (4 * i);
        unsigned byte = (unsigned)(bytes >> (8 * (selector & 7))) & 0xff;

        if (selector & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}

inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}

inline int __float_as_int(float x) { int r; memcpy(&r, &x, sizeof(r)); return r; }
inline unsigned __float_as_uint(float x) { unsigned r; memcpy(&r, &x, sizeof(r)); return r; }
inline float __int_as_float(int x) { float r; memcpy(&r, &x, sizeof(r)); return r; }
inline float __uint_as_float(unsigned x) { float r; memcpy(&r, &x, sizeof(r)); return r; }
inline long long __double_as_longlong(double x) { long long r; memcpy(&r, &x, sizeof(r)); return r; }
inline double __longlong_as_double(long long x) { double r; memcpy(&r, &x, sizeof(r)); return r; }

/* ---- Address spaces: there is one ---- */
inline size_t __cvta_generic_to_shared(const void *ptr) { return (size_t)ptr; }
inline size_t __cvta_generic_to_global(const void *ptr) { return (size_t)ptr; }
inline void *__cvta_shared_to_generic(size_t ptr) { return (void *)ptr; }

/* ---- Loads and stores with cache hints. Stores go to memory at once, since the kernel's plain loads must see them ---- */
namespace gdaki_cpu
{
template <class T>
inline T load_weak(const T *ptr)
{
    static_assert(std::is_trivially_copyable<T>::value, "a plain type");
    T value;

    gdaki_cpu_load_weak(&value, ptr, sizeof(T));
    return value;
}

template <class T>
inline void store_plain(T *ptr, const T &value)
{
    static_assert(std::is_trivially_copyable<T>::value, "a plain type");
    memcpy(static_cast<void *>(ptr), &value, sizeof(T));
}

template <class T>
inline T load_volatile(const T *ptr)
{
    if constexpr (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) {
        uint64_t bits = gdaki_cpu_load(ptr, sizeof(T), GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_SYS);
        T value;

        memcpy(&value, &bits, sizeof(T));
        return value;
    } else {
        return load_weak(ptr);
    }
}
} // namespace gdaki_cpu

#define GDAKI_CPU_CACHED_LOAD(name) \
    template <class T> \
    inline T name(const T *ptr) \
    { \
        return ::gdaki_cpu::load_weak(ptr); \
    }
GDAKI_CPU_CACHED_LOAD(__ldg)
GDAKI_CPU_CACHED_LOAD(__ldcg)
GDAKI_CPU_CACHED_LOAD(__ldca)
GDAKI_CPU_CACHED_LOAD(__ldcs)
GDAKI_CPU_CACHED_LOAD(__ldlu)
#undef GDAKI_CPU_CACHED_LOAD

template <class T>
inline T __ldcv(const T *ptr)
{
    return gdaki_cpu::load_volatile(ptr);
}

#define GDAKI_CPU_CACHED_STORE(name) \
    template <class T> \
    inline void name(T *ptr, T value) \
    { \
        ::gdaki_cpu::store_plain(ptr, value); \
    }
GDAKI_CPU_CACHED_STORE(__stwb)
GDAKI_CPU_CACHED_STORE(__stcg)
GDAKI_CPU_CACHED_STORE(__stcs)
GDAKI_CPU_CACHED_STORE(__stwt)
#undef GDAKI_CPU_CACHED_STORE

/* ---- min and max of the device library ---- */
#define GDAKI_CPU_MIN_MAX(T) \
    inline T min(T a, T b) { return b < a ? b : a; } \
    inline T max(T a, T b) { return a < b ? b : a; }
GDAKI_CPU_MIN_MAX(int)
GDAKI_CPU_MIN_MAX(unsigned)
GDAKI_CPU_MIN_MAX(long)
GDAKI_CPU_MIN_MAX(unsigned long)
GDAKI_CPU_MIN_MAX(long long)
GDAKI_CPU_MIN_MAX(unsigned long long)
GDAKI_CPU_MIN_MAX(float)
GDAKI_CPU_MIN_MAX(double)
#undef GDAKI_CPU_MIN_MAX
inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
inline unsigned long long min(unsigned long a, unsigned long long b) { return min((unsigned long long)a, b); }
inline unsigned long long min(unsigned long long a, unsigned long b) { return min(a, (unsigned long long)b); }
inline unsigned long long max(unsigned long a, unsigned long long b) { return max((unsigned long long)a, b); }
inline unsigned long long max(unsigned long long a, unsigned long b) { return max(a, (unsigned long long)b); }

#endif
