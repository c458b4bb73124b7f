/* SPDX-License-Identifier: Apache-2.0 */
/* Warp operations with whole and partial warps; lanes gathered at __activemask; every split under seeds. */
#include <cooperative_groups.h>

#include "kernel_test.h"

namespace cg = cooperative_groups;

__global__ void votes(unsigned *out, unsigned threads)
{
    unsigned t = threadIdx.x, lane = t % 32;
    unsigned warp_threads = threads - (t & ~31u) < 32 ? threads - (t & ~31u) : 32;
    unsigned here = warp_threads == 32 ? 0xffffffffu : (1u << warp_threads) - 1;
    unsigned wrong = 0;

    wrong |= (__ballot_sync(0xffffffffu, lane % 3 == 0) != (0x49249249u & here)) << 0;
    wrong |= (__any_sync(0xffffffffu, lane == 0) != 1) << 1;
    wrong |= (__any_sync(0xffffffffu, 0) != 0) << 2;
    wrong |= (__all_sync(0xffffffffu, 1) != 1) << 3;
    wrong |= (__all_sync(0xffffffffu, lane != 0) != 0) << 4;
    wrong |= (__activemask() != here) << 5;
    out[t] = wrong;
}

static void votes_of_whole_and_partial_warps(void **)
{
    unsigned *out = managed<unsigned>(1024);

    for (unsigned threads : {1u, 31u, 32u, 33u, 70u, 1024u}) {
        votes<<<1, threads>>>(out, threads);
        CHECK(cudaDeviceSynchronize());
        for (unsigned t = 0; t < threads; t++)
            assert_int_equal(out[t], 0);
    }
    cudaFree(out);
}

struct big {
    uint64_t a;
    uint32_t b, c;
};

__global__ void shuffles(unsigned *out)
{
    unsigned lane = threadIdx.x % 32, all = 0xffffffffu, wrong = 0;
    big mine = {lane * 3ull << 40, lane, ~lane}, got = __shfl_sync(all, mine, 5);

    wrong |= (__shfl_sync(all, lane * 2, 7) != 14) << 0;
    wrong |= (__shfl_sync(all, lane, 9, 8) != (lane & ~7u) + 1) << 1;
    wrong |= (__shfl_up_sync(all, lane, 1) != (lane ? lane - 1 : 0)) << 2;
    wrong |= (__shfl_down_sync(all, lane, 2, 16) != (lane % 16 + 2 < 16 ? lane + 2 : lane)) << 3;
    wrong |= (__shfl_xor_sync(all, lane, 16) != (lane ^ 16)) << 4;
    wrong |= (got.a != 15ull << 40 || got.b != 5 || got.c != ~5u) << 5;
    wrong |= (__shfl_sync(all, 1.5 * lane, 4) != 6.0) << 6;
    if (lane < 10) /* a partial mask in a branch */
        wrong |= (__shfl_sync(0x3ffu, lane + 50, 9) != 59) << 7;
    out[threadIdx.x] = wrong;
}

static void shuffles_of_all_kinds(void **)
{
    unsigned *out = managed<unsigned>(64);

    shuffles<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(out[t], 0);
    cudaFree(out);
}

__global__ void matches(unsigned *out)
{
    unsigned lane = threadIdx.x, all = 0xffffffffu, wrong = 0;
    int same = 7;

    wrong |= (__match_any_sync(all, lane % 4) != 0x11111111u << lane % 4) << 0;
    wrong |= (__match_any_sync(all, (unsigned long long)lane << 40) != 1u << lane) << 1;
    wrong |= (__match_all_sync(all, 5u, &same) != all || !same) << 2;
    wrong |= (__match_all_sync(all, lane / 31, &same) != 0 || same) << 3;
    wrong |= (__reduce_add_sync(all, lane) != 496) << 4;
    wrong |= (__reduce_min_sync(all, (int)lane - 5) != -5) << 5;
    wrong |= (__reduce_max_sync(all, (int)lane - 50) != -19) << 6;
    wrong |= (__reduce_max_sync(all, lane - 5) != 0xffffffffu) << 7;
    wrong |= (__reduce_or_sync(all, 1u << lane) != all) << 8;
    wrong |= (__reduce_and_sync(all, ~(1u << lane)) != 0) << 9;
    wrong |= (__reduce_xor_sync(all, lane) != 0) << 10;
    out[lane] = wrong;
}

static void matches_and_reductions(void **)
{
    unsigned *out = managed<unsigned>(32);

    matches<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(out[t], 0);
    cudaFree(out);
}

/* Lanes leave at different places, and one while the others wait for it. */
__global__ void leavers(unsigned *out)
{
    unsigned lane = threadIdx.x;

    if (lane < 4)
        return;
    if (lane == 31) {
        for (int i = 0; i < 50; i++)
            gdaki_cpu_relax();
        return;
    }
    out[lane] = __ballot_sync(0xffffffffu, 1);
    __syncwarp();
    out[lane] += __activemask() == 0x7ffffff0u;
}

static void lanes_that_left_are_not_waited_for(void **)
{
    unsigned *out = managed<unsigned>(32);

    leavers<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned t = 4; t < 31; t++)
        assert_int_equal(out[t], 0x7ffffff0u + 1);
    cudaFree(out);
}

/* Lanes come to one __activemask after work of different length, some of it with polls. */
__global__ void gather(unsigned *out)
{
    unsigned lane = threadIdx.x;
    for (unsigned i = 0; i < lane * 10; i++)
        atomicAdd(&out[32], 1);
    if (lane % 5 == 0)
        gdaki_cpu_relax();
    out[lane] = __activemask();
}

static void lanes_at_one_call_are_gathered(void **)
{
    unsigned *out = managed<unsigned>(33);

    gather<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned t = 0; t < 32; t++)
        assert_int_equal(out[t], 0xffffffffu);
    cudaFree(out);
}

/* Two places, a barrier that some wait at, and one lane that spins until the others have been answered. */
__global__ void two_places(unsigned *out, unsigned *flag)
{
    unsigned lane = threadIdx.x;

    if (lane == 31) {
        while (atomicAdd(flag, 0) != 20)
            gdaki_cpu_relax();
    } else if (lane < 10) {
        out[lane] = __activemask();
        atomicAdd(flag, 1);
    } else if (lane < 20) {
        out[lane] = __activemask();
        atomicAdd(flag, 1);
    }
    __syncthreads();
}

static void lanes_elsewhere_are_not_waited_for(void **)
{
    unsigned *out = managed<unsigned>(33);

    two_places<<<1, 32>>>(out, out + 32);
    CHECK(cudaDeviceSynchronize());
    for (unsigned t = 0; t < 20; t++)
        assert_int_equal(out[t], t < 10 ? 0x3ffu : 0xffc00u);
    cudaFree(out);
}

/* Each lane notes the mask it was answered; the masks must be a partition of the warp. */
__global__ void split(unsigned *out)
{
    unsigned mask = __activemask();

    out[threadIdx.x] = mask;
    if (__ballot_sync(mask, 1) != mask || __shfl_sync(mask, mask, __ffs((int)mask) - 1) != mask)
        out[threadIdx.x] = 0;
}

static void seeds_split_the_gathered_lanes(void **)
{
    unsigned *out = managed<unsigned>(32);
    unsigned whole = 0, parted = 0, alone = 0;

    for (unsigned seed = 1; seed <= 200; seed++) {
        unsigned covered = 0;

        gdaki_cpu_configure(0, 1, seed);
        split<<<1, 32>>>(out);
        CHECK(cudaDeviceSynchronize());
        for (unsigned t = 0; t < 32; t++) {
            assert_true(out[t] >> t & 1);
            assert_int_equal(out[t], out[__builtin_ctz(out[t])]);
            covered |= out[t];
        }
        assert_int_equal(covered, 0xffffffffu);
        whole += out[0] == 0xffffffffu;
        parted += out[0] != 0xffffffffu;
        for (unsigned t = 0; t < 32; t++)
            alone += out[t] == 1u << t;
    }
    gdaki_cpu_configure(0, 0, 0);
    assert_true(whole > 0);
    assert_true(parted > 0);
    assert_true(alone > 0);
    cudaFree(out);
}

static void a_seed_gives_one_run(void **)
{
    unsigned *out = managed<unsigned>(32), first[32];

    for (unsigned round = 0; round < 5; round++) {
        gdaki_cpu_configure(0, 1, 4711);
        split<<<1, 32>>>(out);
        CHECK(cudaDeviceSynchronize());
        if (!round)
            memcpy(first, out, sizeof(first));
        assert_memory_equal(first, out, sizeof(first));
    }
    gdaki_cpu_configure(0, 0, 0);
    cudaFree(out);
}

__global__ void groups(unsigned *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    unsigned t = block.thread_rank(), wrong = 0;

    wrong |= (tile.thread_rank() != t % 8 || tile.size() != 8 || tile.meta_group_rank() != t / 8) << 0;
    wrong |= (tile.shfl(t, 3) != (t & ~7u) + 3) << 1;
    wrong |= (tile.ballot(t % 2) != 0xaa) << 2;
    wrong |= (tile.shfl_xor(t, 1) != (t ^ 1)) << 3;
    block.sync();
    if (t % 2) {
        cg::coalesced_group active = cg::coalesced_threads();

        wrong |= (active.size() != 16 || active.thread_rank() != t % 32 / 2) << 4;
        wrong |= (active.shfl(t, 2) != (t & ~31u) + 5) << 5;
        active.sync();
    }
    out[t] = wrong;
}

static void cooperative_group_functions(void **)
{
    unsigned *out = managed<unsigned>(64);

    groups<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned t = 0; t < 64; t++)
        assert_int_equal(out[t], 0);
    cudaFree(out);
}

__global__ void lane_not_named(unsigned *out)
{
    *out = __ballot_sync(1u << (threadIdx.x ^ 1), 1);
}

static void a_mask_without_the_caller_is_an_error(void **)
{
    unsigned *out = managed<unsigned>(1);

    lane_not_named<<<1, 2>>>(out);
    assert_int_equal(failure(), cudaErrorIllegalInstruction);
    cudaFree(out);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(votes_of_whole_and_partial_warps),
        cmocka_unit_test(shuffles_of_all_kinds),
        cmocka_unit_test(matches_and_reductions),
        cmocka_unit_test(lanes_that_left_are_not_waited_for),
        cmocka_unit_test(lanes_at_one_call_are_gathered),
        cmocka_unit_test(lanes_elsewhere_are_not_waited_for),
        cmocka_unit_test(seeds_split_the_gathered_lanes),
        cmocka_unit_test(a_seed_gives_one_run),
        cmocka_unit_test(cooperative_group_functions),
        cmocka_unit_test(a_mask_without_the_caller_is_an_error),
    };

    return cmocka_run_group_tests_name("warps", tests, NULL, NULL);
}
