/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of lanes that do the same thing to the same queue at the same call. gdaki: C++ only.
 *
 * A group is found among the lanes that happen to be together (__activemask), and only its members take part in what it
 * does, so any split of a warp into groups is legal: by divergence, by call site, by queue, or by chance.
 */
#ifndef GDAKI_DEV_GROUP_CUH
#define GDAKI_DEV_GROUP_CUH

#include "doca_gpunetio_dev_verbs_common.cuh"

#define GDAKI_WARP_FULL 0xffffffffu

/*
 * For a mask that it does not know, a compiler (nvcc 13) takes lanes of one instruction for members of several groups, and
 * goes through them with a match and a loop. So the usual mask, all lanes, is a constant in a branch of its own.
 */
struct gdaki_group {
    uint32_t mask;
    uint32_t leader; /* lane of the lowest member */
    uint32_t rank;   /* of this lane, 0.. in lane order */
    uint32_t size;

    __device__ __forceinline__ bool leads() const
    {
        return rank == 0;
    }
    /* Also orders memory among the members: what each wrote before is visible to all behind. */
    __device__ __forceinline__ void sync() const
    {
        if (mask == GDAKI_WARP_FULL)
            __syncwarp(GDAKI_WARP_FULL);
        else
            __syncwarp(mask);
    }
    __device__ __forceinline__ uint64_t from_leader(uint64_t v) const
    {
        return mask == GDAKI_WARP_FULL ? __shfl_sync(GDAKI_WARP_FULL, (unsigned long long)v, 0)
                                       : __shfl_sync(mask, (unsigned long long)v, (int)leader);
    }
    __device__ __forceinline__ bool all(bool v) const
    {
        return (mask == GDAKI_WARP_FULL ? __all_sync(GDAKI_WARP_FULL, v) : __all_sync(mask, v)) != 0;
    }
};

GDAKI_DEV struct gdaki_group gdaki_group_of(uint32_t mask)
{
    struct gdaki_group g;
    g.mask = mask;
    g.leader = (uint32_t)__ffs((int)mask) - 1;
    g.rank = (uint32_t)__popc(mask & ((1u << doca_gpu_dev_verbs_get_lane_id()) - 1));
    g.size = (uint32_t)__popc(mask);
    return g;
}

/* Lanes with the same queue and code options. Addresses leave the top 4 bits free, and that is what options need. */
GDAKI_DEV struct gdaki_group gdaki_group_by(const struct doca_gpu_dev_verbs_qp *qp, uint32_t code_opt)
{
    unsigned long long key = (unsigned long long)(uintptr_t)qp ^ ((unsigned long long)(code_opt & 15) << 60);
    return gdaki_group_of(__match_any_sync(__activemask(), key));
}

/* What a group has before this lane, and all together. */
struct gdaki_group_share {
    uint64_t before, total;
};

/* Inlined: as a function of its own (nvcc 13.0) it gave lanes of an H200 the same slots. */
GDAKI_DEV struct gdaki_group_share gdaki_group_sum(uint32_t mask, uint32_t own_rank, uint64_t count)
{
    struct gdaki_group_share share = {0, 0};
    for (uint32_t rest = mask, rank = 0; rest != 0; rest &= rest - 1, rank++) {
        uint64_t c = __shfl_sync(mask, (unsigned long long)count, __ffs((int)rest) - 1);
        if (rank < own_rank)
            share.before += c;
        share.total += c;
    }
    return share;
}

GDAKI_DEV struct gdaki_group_share gdaki_group_prefix(const struct gdaki_group &g, uint64_t count)
{
    if (!g.all(count == g.from_leader(count)))
        return gdaki_group_sum(g.mask, g.rank, count);
    struct gdaki_group_share share = {g.rank * count, g.size * count}; /* as a rule all have the same */
    return share;
}

#endif
