/* SPDX-License-Identifier: Apache-2.0 */
/* gdaki: C++ only. The part of cooperative groups that the CPU executor offers: block, grid, tiles up to a warp, coalesced
 * threads. */
#ifndef GDAKI_CPU_COOPERATIVE_GROUPS_H
#define GDAKI_CPU_COOPERATIVE_GROUPS_H
#pragma GCC system_header

#include "cuda_runtime.h"

namespace cooperative_groups
{
class thread_block
{
  public:
    static void sync(GDAKI_CPU_HERE)
    {
        gdaki_cpu_block_barrier(GDAKI_CPU_BARRIER_PLAIN, 0, file, line);
    }
    static unsigned thread_rank()
    {
        return gdaki_cpu_tls.thread->linear;
    }
    static unsigned num_threads()
    {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    static unsigned size()
    {
        return num_threads();
    }
    static dim3 group_index()
    {
        return blockIdx;
    }
    static dim3 thread_index()
    {
        return threadIdx;
    }
    static dim3 dim_threads()
    {
        return blockDim;
    }
    static dim3 group_dim()
    {
        return blockDim;
    }
};

inline thread_block this_thread_block()
{
    return {};
}

class grid_group
{
  public:
    static bool is_valid()
    {
        return true;
    }
    static void sync(GDAKI_CPU_HERE)
    {
        gdaki_cpu_grid_barrier(file, line);
    }
    static unsigned long long block_rank()
    {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static unsigned long long num_threads()
    {
        return num_blocks() * thread_block::size();
    }
    static unsigned long long size()
    {
        return num_threads();
    }
    static dim3 group_dim()
    {
        return gridDim;
    }
};

inline grid_group this_grid()
{
    return {};
}

/* Lanes of a warp, by mask. Ranks count the mask's lanes from below. */
class lanes
{
  public:
    explicit lanes(unsigned mask) : mask(mask)
    {
    }
    unsigned thread_rank() const
    {
        return (unsigned)__popc(mask & ((1u << ::gdaki_cpu::lane_id()) - 1));
    }
    unsigned num_threads() const
    {
        return (unsigned)__popc(mask);
    }
    unsigned size() const
    {
        return num_threads();
    }
    void sync(GDAKI_CPU_HERE) const
    {
        __syncwarp(mask, file, line);
    }
    int any(int predicate, GDAKI_CPU_HERE) const
    {
        return __any_sync(mask, predicate, file, line);
    }
    int all(int predicate, GDAKI_CPU_HERE) const
    {
        return __all_sync(mask, predicate, file, line);
    }
    unsigned ballot(int predicate, GDAKI_CPU_HERE) const
    {
        return pack(__ballot_sync(mask, predicate, file, line));
    }
    template <class T>
    T shfl(T value, int rank, GDAKI_CPU_HERE) const
    {
        return ::gdaki_cpu::shuffle(mask, value, lane_of((unsigned)rank % size()), file, line);
    }
    template <class T>
    T shfl_up(T value, unsigned delta, GDAKI_CPU_HERE) const
    {
        unsigned rank = thread_rank();

        return ::gdaki_cpu::shuffle(mask, value, lane_of(rank >= delta ? rank - delta : rank), file, line);
    }
    template <class T>
    T shfl_down(T value, unsigned delta, GDAKI_CPU_HERE) const
    {
        unsigned rank = thread_rank();

        return ::gdaki_cpu::shuffle(mask, value, lane_of(rank + delta < size() ? rank + delta : rank), file, line);
    }
    template <class T>
    unsigned match_any(T value, GDAKI_CPU_HERE) const
    {
        return pack(__match_any_sync(mask, value, file, line));
    }
    template <class T>
    unsigned match_all(T value, int &all, GDAKI_CPU_HERE) const
    {
        return pack(__match_all_sync(mask, value, &all, file, line));
    }

  protected:
    unsigned mask;

    unsigned lane_of(unsigned rank) const
    {
        unsigned rest = mask;

        while (rank--)
            rest &= rest - 1;
        return (unsigned)__ffs((int)rest) - 1;
    }
    /* Lanes as ranks. */
    unsigned pack(unsigned set) const
    {
        unsigned packed = 0, rank = 0;

        for (unsigned lane = 0; lane < 32; lane++) {
            if (mask >> lane & 1)
                packed |= (set >> lane & 1) << rank++;
        }
        return packed;
    }
};

class coalesced_group : public lanes
{
  public:
    explicit coalesced_group(unsigned mask) : lanes(mask)
    {
    }
    unsigned meta_group_rank() const
    {
        return 0;
    }
    unsigned meta_group_size() const
    {
        return 1;
    }
};

inline __attribute__((always_inline)) coalesced_group coalesced_threads()
{
    return coalesced_group(__activemask());
}

template <unsigned Size, class Parent = void>
class thread_block_tile : public lanes
{
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                  "tiles of a power of two up to 32 threads are covered");

  public:
    thread_block_tile() : lanes((Size == 32 ? 0xffffffffu : (1u << (Size & 31)) - 1) << (::gdaki_cpu::lane_id() & ~(Size - 1)))
    {
    }
    static constexpr unsigned num_threads()
    {
        return Size;
    }
    static constexpr unsigned size()
    {
        return Size;
    }
    unsigned meta_group_rank() const
    {
        return thread_block::thread_rank() / Size;
    }
    unsigned meta_group_size() const
    {
        return (thread_block::size() + Size - 1) / Size;
    }
    template <class T>
    T shfl_xor(T value, unsigned lanes_mask, GDAKI_CPU_HERE) const
    {
        return ::gdaki_cpu::shuffle(mask, value, lane_of(thread_rank() ^ lanes_mask), file, line);
    }
};

template <unsigned Size, class Group>
inline thread_block_tile<Size, Group> tiled_partition(const Group &)
{
    return {};
}

template <class Group>
inline void sync(const Group &group, GDAKI_CPU_HERE)
{
    group.sync(file, line);
}
} // namespace cooperative_groups

#endif
