/* SPDX-License-Identifier: Apache-2.0 */
/* Warp functions: votes, shuffles, matches, reductions. */
#ifndef GDAKI_CPU_WARP_HPP
#define GDAKI_CPU_WARP_HPP
#pragma GCC system_header

#include <string.h>

#include <type_traits>

#include "gdaki_cpu_launch.h"

namespace gdaki_cpu
{
inline unsigned lane_id()
{
    return gdaki_cpu_tls.thread->linear % 32;
}

/* One shuffle of a type of any size, 8 bytes at a time. */
template <class T>
inline T shuffle(unsigned mask, T value, unsigned source, const char *file, int line)
{
    static_assert(std::is_trivially_copyable<T>::value, "a plain type");
    T result;

    for (size_t at = 0; at < sizeof(T); at += 8) {
        size_t part = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        uint64_t bits = 0;

        memcpy(&bits, reinterpret_cast<const char *>(&value) + at, part);
        bits = gdaki_cpu_warp(GDAKI_CPU_WARP_SHFL, mask, bits, source, file, line);
        memcpy(reinterpret_cast<char *>(&result) + at, &bits, part);
    }
    return result;
}

template <class T>
inline uint64_t match_bits(T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a 4- or 8-byte type");
    uint64_t bits = 0;

    memcpy(&bits, &value, sizeof(T));
    return bits;
}
} // namespace gdaki_cpu

inline void __syncwarp(unsigned mask = 0xffffffffu, GDAKI_CPU_HERE)
{
    gdaki_cpu_warp(GDAKI_CPU_WARP_SYNC, mask, 0, 0, file, line);
}

inline unsigned __activemask(GDAKI_CPU_HERE) __attribute__((always_inline));
inline unsigned __activemask(const char *file, int line)
{
    return gdaki_cpu_activemask(file, line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, GDAKI_CPU_HERE)
{
    return (unsigned)gdaki_cpu_warp(GDAKI_CPU_WARP_BALLOT, mask, predicate != 0, 0, file, line);
}

inline int __any_sync(unsigned mask, int predicate, GDAKI_CPU_HERE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

inline int __all_sync(unsigned mask, int predicate, GDAKI_CPU_HERE)
{
    return __ballot_sync(mask, !predicate, file, line) == 0;
}

/* width: the warp is cut in segments of this power of two; a source outside the segment leaves the lane its own value. */
template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, GDAKI_CPU_HERE)
{
    unsigned base = gdaki_cpu::lane_id() & ~(unsigned)(width - 1);

    return gdaki_cpu::shuffle(mask, value, base + ((unsigned)source & (unsigned)(width - 1)), file, line);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, GDAKI_CPU_HERE)
{
    unsigned lane = gdaki_cpu::lane_id(), place = lane & (unsigned)(width - 1);

    return gdaki_cpu::shuffle(mask, value, place >= delta ? lane - delta : lane, file, line);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, GDAKI_CPU_HERE)
{
    unsigned lane = gdaki_cpu::lane_id(), place = lane & (unsigned)(width - 1);

    return gdaki_cpu::shuffle(mask, value, place + delta < (unsigned)width ? lane + delta : lane, file, line);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, GDAKI_CPU_HERE)
{
    unsigned lane = gdaki_cpu::lane_id(), source = lane ^ (unsigned)lanes;

    /* CUDA: a source in a later segment leaves the own value, one in an earlier segment is read */
    return gdaki_cpu::shuffle(mask, value, source < (lane & ~(unsigned)(width - 1)) + (unsigned)width ? source : lane, file,
                              line);
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, GDAKI_CPU_HERE)
{
    return (unsigned)gdaki_cpu_warp(GDAKI_CPU_WARP_MATCH_ANY, mask, gdaki_cpu::match_bits(value), 0, file, line);
}

template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int *all, GDAKI_CPU_HERE)
{
    unsigned result = (unsigned)gdaki_cpu_warp(GDAKI_CPU_WARP_MATCH_ALL, mask, gdaki_cpu::match_bits(value), 0, file, line);

    *all = result != 0;
    return result;
}

#define GDAKI_CPU_REDUCE(name, T, op) \
    inline T name(unsigned mask, T value, GDAKI_CPU_HERE) \
    { \
        return (T)gdaki_cpu_warp(op, mask, (unsigned)value, 0, file, line); \
    }
GDAKI_CPU_REDUCE(__reduce_add_sync, unsigned, GDAKI_CPU_WARP_ADD)
GDAKI_CPU_REDUCE(__reduce_add_sync, int, GDAKI_CPU_WARP_ADD)
GDAKI_CPU_REDUCE(__reduce_min_sync, unsigned, GDAKI_CPU_WARP_MIN_U)
GDAKI_CPU_REDUCE(__reduce_min_sync, int, GDAKI_CPU_WARP_MIN_S)
GDAKI_CPU_REDUCE(__reduce_max_sync, unsigned, GDAKI_CPU_WARP_MAX_U)
GDAKI_CPU_REDUCE(__reduce_max_sync, int, GDAKI_CPU_WARP_MAX_S)
GDAKI_CPU_REDUCE(__reduce_and_sync, unsigned, GDAKI_CPU_WARP_AND)
GDAKI_CPU_REDUCE(__reduce_or_sync, unsigned, GDAKI_CPU_WARP_OR)
GDAKI_CPU_REDUCE(__reduce_xor_sync, unsigned, GDAKI_CPU_WARP_XOR)
#undef GDAKI_CPU_REDUCE

#endif
