/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that wait for each other, and the shared memory of blocks that a worker interleaves. Run with one worker and with
 * several (GDAKI_CPU_WORKERS). */
#include <cooperative_groups.h>

#include "kernel_test.h"

namespace cg = cooperative_groups;

/* Every block waits for all others, spinning on an atomic: more blocks than workers. */
__global__ void grid_spin(unsigned *arrived, unsigned *out)
{
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x)
            __nanosleep(20);
    }
    __syncthreads();
    atomicAdd(out, 1);
}

enum { SPINNING = FEWER(40, 6) };

static void blocks_wait_for_each_other(void **)
{
    unsigned *out = managed<unsigned>(2);

    grid_spin<<<SPINNING, 64>>>(out, out + 1);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[1], SPINNING * 64);
    cudaFree(out);
}

/* The last block lets the first ones go on: blocks that were not started must be. */
__global__ void last_opens(unsigned *flag, unsigned *out)
{
    if (blockIdx.x == gridDim.x - 1)
        atomicExch(flag, 1);
    while (!atomicAdd(flag, 0))
        gdaki_cpu_relax();
    atomicAdd(out, 1);
}

enum { MANY = FEWER(300, 10) };

static void a_waiting_block_does_not_keep_others_from_starting(void **)
{
    unsigned *out = managed<unsigned>(2);

    last_opens<<<MANY, 32>>>(out, out + 1);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[1], MANY * 32);
    cudaFree(out);
}

__shared__ unsigned file_scope;
extern __shared__ unsigned long long file_dynamic[];

template <class T>
__device__ T *template_shared()
{
    __shared__ T values[64];
    return values;
}

/* Each block writes its own number everywhere, lets all others do so, and looks again; many times. */
__global__ void interleaved(unsigned *wrong, unsigned *step)
{
    __shared__ unsigned plain[64], scalar;
    __shared__ __align__(16) unsigned char bytes[64];
    __shared__ struct {
        unsigned a, b;
    } pair;
    unsigned t = threadIdx.x, me = blockIdx.x + 1;

    for (unsigned round = 0; round < 10; round++) {
        plain[t] = me * 1000 + t + round;
        bytes[t] = (unsigned char)(me + t);
        file_dynamic[t] = me * 7ull + t;
        template_shared<float>()[t] = (float)me;
        template_shared<double>()[t] = me * 0.5;
        if (t == 0) {
            scalar = me;
            file_scope = me + 5;
            pair.a = me;
            pair.b = ~me;
        }
        __syncthreads();
        if (t == 0) { /* let every other block write */
            atomicAdd(step, 1);
            while (atomicAdd(step, 0) < gridDim.x * (round + 1))
                gdaki_cpu_relax();
        }
        __syncthreads();
        if (plain[63 - t] != me * 1000 + 63 - t + round || bytes[t] != (unsigned char)(me + t) || scalar != me ||
            file_scope != me + 5 || file_dynamic[63 - t] != me * 7ull + 63 - t || pair.a != me || pair.b != ~me ||
            template_shared<float>()[t] != (float)me || template_shared<double>()[t] != me * 0.5)
            atomicAdd(wrong, 1);
        __syncthreads();
    }
}

static void shared_memory_belongs_to_its_block(void **)
{
    unsigned *out = managed<unsigned>(2);

    interleaved<<<12, 64, 64 * sizeof(unsigned long long)>>>(out, out + 1);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 120);
    cudaFree(out);
}

__global__ void too_much_shared(unsigned *out)
{
    __shared__ unsigned a[12000];
    __shared__ unsigned b[12000];
    extern __shared__ unsigned c[];

    a[threadIdx.x] = b[threadIdx.x] = c[threadIdx.x] = 1;
    *out = 1;
}

static void shared_memory_has_a_limit(void **)
{
    unsigned *out = managed<unsigned>(1);

    too_much_shared<<<1, 32, 100 * 1024>>>(out);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(*out, 1);
    too_much_shared<<<1, 32, 200 * 1024>>>(out);
    assert_int_equal(failure(), cudaErrorLaunchOutOfResources);
    assert_report("shared memory");
    too_much_shared<<<1, 32, 228 * 1024>>>(out);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
    cudaFree(out);
}

__global__ void grid_barrier(unsigned *count, unsigned *wrong)
{
    for (unsigned round = 1; round <= 5; round++) {
        atomicAdd(count, 1);
        cg::this_grid().sync();
        if (atomicAdd(count, 0) != round * gridDim.x * blockDim.x)
            atomicAdd(wrong, 1);
        cg::this_grid().sync();
    }
}

static void the_grid_has_a_barrier(void **)
{
    unsigned *out = managed<unsigned>(2);
    unsigned *count = out, *wrong = out + 1;
    void *args[] = {&count, &wrong};

    CHECK(cudaLaunchCooperativeKernel((void *)grid_barrier, dim3(9), dim3(40), args));
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(*count, 5 * 9 * 40);
    assert_int_equal(*wrong, 0);
    assert_int_equal(cudaLaunchCooperativeKernel((void *)grid_barrier, dim3(65), dim3(1024), args),
                     cudaErrorCooperativeLaunchTooLarge);
    cudaFree(out);
}

/* A block whose threads meet at barriers for ever, until another block of the same worker says stop. */
__global__ void barrier_loop(unsigned *stop)
{
    if (blockIdx.x == gridDim.x - 1)
        atomicExch(stop, 1);
    else
        while (!__syncthreads_or(threadIdx.x == 0 && __ldcv(stop))) {
        }
}

static void a_block_of_barriers_lets_others_run(void **)
{
    unsigned *out = managed<unsigned>(1);

    barrier_loop<<<6, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    cudaFree(out);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_wait_for_each_other),
        cmocka_unit_test(a_waiting_block_does_not_keep_others_from_starting),
        cmocka_unit_test(shared_memory_belongs_to_its_block),
        cmocka_unit_test(shared_memory_has_a_limit),
        cmocka_unit_test(the_grid_has_a_barrier),
        cmocka_unit_test(a_block_of_barriers_lets_others_run),
    };

    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
