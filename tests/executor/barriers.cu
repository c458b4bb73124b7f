/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers: exited threads count, divergent calls meet by number, reductions, named barriers, 1,024 threads. */
#include "kernel_test.h"

__global__ void exited_count(int *out, int leave)
{
    __shared__ int seen;

    if (threadIdx.x == 0)
        seen = 0;
    __syncthreads();
    if ((int)threadIdx.x < leave)
        return;
    atomicAdd(&seen, 1);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1)
        *out = seen;
}

static void an_exited_thread_counts_as_arrived(void **)
{
    int *out = managed<int>(1);

    for (int leave : {0, 1, 31, 32, 33, 254}) {
        exited_count<<<1, 255>>>(out, leave);
        CHECK(cudaDeviceSynchronize());
        assert_int_equal(*out, 255 - leave);
    }
    cudaFree(out);
}

/* The last thread leaves when all others wait already. */
__global__ void exit_last(int *out)
{
    if (threadIdx.x == blockDim.x - 1) {
        for (int i = 0; i < 100; i++)
            gdaki_cpu_relax();
        return;
    }
    __syncthreads();
    atomicAdd(out, 1);
}

static void a_thread_that_leaves_late_opens_the_barrier(void **)
{
    int *out = managed<int>(1);

    exit_last<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(*out, 63);
    cudaFree(out);
}

__global__ void divergent(int *out)
{
    __shared__ int value[64];

    value[threadIdx.x] = (int)threadIdx.x + 1;
    if (threadIdx.x & 1)
        __syncthreads();
    else
        __syncthreads();
    out[threadIdx.x] = value[63 - threadIdx.x];
    if (threadIdx.x < 7) {
        __syncthreads();
        out[threadIdx.x] += 100;
    } else {
        __syncthreads();
    }
}

static void barriers_match_by_number_not_by_place(void **)
{
    int *out = managed<int>(64);

    divergent<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], 64 - i + (i < 7 ? 100 : 0));
    cudaFree(out);
}

__global__ void reductions(int *out)
{
    int t = (int)threadIdx.x;
    int count = __syncthreads_count(t % 3 == 0);
    int all = __syncthreads_and(t < 96), some = __syncthreads_and(t < 95);
    int any = __syncthreads_or(t == 40), none = __syncthreads_or(0);

    if (t == 17) {
        out[0] = count;
        out[1] = all;
        out[2] = some;
        out[3] = any;
        out[4] = none;
    }
}

static void barriers_reduce(void **)
{
    int *out = managed<int>(5);

    reductions<<<1, 96>>>(out);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[0], 32);
    assert_true(out[1] != 0);
    assert_int_equal(out[2], 0);
    assert_true(out[3] != 0);
    assert_int_equal(out[4], 0);
    cudaFree(out);
}

/* Two halves of the block, each on a barrier of its own, a different number of times. */
__global__ void named(int *out)
{
    unsigned half = threadIdx.x / 64;

    for (unsigned i = 0; i < 3 + half * 5; i++) {
        atomicAdd(&out[half], 1);
        gdaki_cpu_barrier(1 + half, 64, __FILE__, __LINE__);
        if (atomicAdd(&out[half], 0) != (int)(64 * (i + 1)))
            atomicAdd(&out[2], 1);
        gdaki_cpu_barrier(1 + half, 64, __FILE__, __LINE__);
    }
}

static void named_barriers_are_apart(void **)
{
    int *out = managed<int>(3);

    named<<<1, 128>>>(out);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[0], 3 * 64);
    assert_int_equal(out[1], 8 * 64);
    assert_int_equal(out[2], 0);
    cudaFree(out);
}

/* The first half meets at a barrier of its own before the others have taken the count of the block's. */
__global__ void count_then_named(int *wrong)
{
    int count = __syncthreads_count(threadIdx.x < 32);

    if (threadIdx.x < 64)
        gdaki_cpu_barrier(1, 64, __FILE__, __LINE__);
    if (count != 32)
        atomicAdd(wrong, 1);
}

static void a_result_survives_other_barriers(void **)
{
    int *wrong = managed<int>(1);

    count_then_named<<<1, 128>>>(wrong);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(*wrong, 0);
    cudaFree(wrong);
}

__global__ void tree(unsigned long long *out)
{
    __shared__ unsigned long long tile[1024];
    unsigned t = threadIdx.x;

    tile[t] = t + blockIdx.x;
    for (unsigned half = 512; half; half /= 2) {
        __syncthreads();
        if (t < half)
            tile[t] += tile[t + half];
    }
    if (!t)
        out[blockIdx.x] = tile[0];
}

enum { BLOCKS = FEWER(20, 1) };

static void blocks_of_1024_threads(void **)
{
    unsigned long long *out = managed<unsigned long long>(BLOCKS);

    tree<<<BLOCKS, 1024>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned b = 0; b < BLOCKS; b++)
        assert_int_equal(out[b], 1024u * b + 1024u * 1023u / 2);
    cudaFree(out);
}

__global__ void shapes(unsigned *out)
{
    unsigned linear = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned size = blockDim.x * blockDim.y * blockDim.z;

    out[block * size + linear] = threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 |
                                 blockIdx.z << 20;
}

static void indices_of_three_dimensions(void **)
{
    unsigned *out = managed<unsigned>(2 * 3 * 4 * 5 * 3 * 2), *next = out;

    shapes<<<dim3(2, 3, 4), dim3(5, 3, 2)>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned block = 0; block < 24; block++) {
        for (unsigned t = 0; t < 30; t++)
            assert_int_equal(*next++, t % 5 | t / 5 % 3 << 4 | t / 15 << 8 | block % 2 << 12 | block / 2 % 3 << 16 |
                                          block / 6 << 20);
    }
    cudaFree(out);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exited_thread_counts_as_arrived),
        cmocka_unit_test(a_thread_that_leaves_late_opens_the_barrier),
        cmocka_unit_test(barriers_match_by_number_not_by_place),
        cmocka_unit_test(barriers_reduce),
        cmocka_unit_test(named_barriers_are_apart),
        cmocka_unit_test(a_result_survives_other_barriers),
        cmocka_unit_test(blocks_of_1024_threads),
        cmocka_unit_test(indices_of_three_dimensions),
    };

    return cmocka_run_group_tests_name("barriers", tests, NULL, NULL);
}
