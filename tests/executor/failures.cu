/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that never end, end early, or cannot start. */
#undef NDEBUG
#include <assert.h>
#include <unistd.h>

#include "kernel_test.h"

__global__ void nothing()
{
}

static void assert_place(int line)
{
    char place[32];

    snprintf(place, sizeof(place), "failures.cu:%d", line);
    assert_report(place);
}

static void the_device_works()
{
    nothing<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
}

enum { STUCK = __LINE__ + 5 };

__global__ void stuck_barrier(int at)
{
    if ((int)threadIdx.x == at)
        __syncwarp(0xffffffffu); /* its warp waits at the barrier */
    __syncthreads();
}

static void a_deadlock_is_reported(void **)
{
    stuck_barrier<<<dim3(2, 1), dim3(64)>>>(5);
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    assert_report("kernel stuck_barrier is deadlocked: block (");
    assert_report("thread (0,0,0) to (4,0,0) waits at barrier 0 (__syncthreads) at ");
    assert_place(STUCK + 1);
    assert_report("thread (5,0,0) waits in __syncwarp at ");
    assert_place(STUCK);
    assert_report("thread (6,0,0) to (63,0,0) waits at barrier 0");
    /* sticky until the reset */
    assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
    assert_int_equal(cudaStreamSynchronize(0), cudaErrorLaunchFailure);
    nothing<<<1, 1>>>();
    assert_int_equal(cudaPeekAtLastError(), cudaErrorLaunchFailure);
    CHECK(cudaDeviceReset());
    the_device_works();
}

__global__ void stuck_vote(unsigned *out)
{
    if (threadIdx.x < 16)
        out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
    else
        out[threadIdx.x] = __ballot_sync(0xffff0000u, 1);
}

static void a_vote_that_cannot_complete_is_reported(void **)
{
    unsigned *out = managed<unsigned>(64);

    stuck_vote<<<1, 32>>>(out); /* the upper lanes leave, so the lower ones are answered */
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[0], 0xffff);
    cudaFree(out);
}

enum { RUNAWAYS = 2, OF_A_BLOCK = 8, ROUNDS = 100 };

/* Counts in flag[1] the threads that have gone round often enough for all of their block to have had their turns. */
__global__ void runaway(unsigned *flag)
{
    if (threadIdx.x == 3)
        return;
    for (unsigned round = 0; !atomicAdd(flag, 0); round++) {
        if (round == ROUNDS)
            atomicAdd(flag + 1, 1);
        gdaki_cpu_relax();
    }
}

/* Counts the threads that have begun. */
__global__ void hard_runaway(volatile unsigned *flag)
{
    atomicAdd((unsigned *)flag + 1, 1);
    while (!*flag) {
    }
}

/* The limit is set once the kernel is as far as the report is to say, however long that takes, and is exceeded at once. */
static void limit_when(unsigned *flag, unsigned count)
{
    while (__atomic_load_n(flag + 1, __ATOMIC_ACQUIRE) < count)
        usleep(1000);
    gdaki_cpu_set_timeout_ms(1);
}

static void a_runaway_kernel_is_reported(void **)
{
    unsigned *flag = managed<unsigned>(2);

    runaway<<<RUNAWAYS, OF_A_BLOCK>>>(flag);
    limit_when(flag, RUNAWAYS * (OF_A_BLOCK - 1));
    assert_int_equal(failure(), cudaErrorLaunchTimeout);
    assert_report("kernel runaway runs longer than GDAKI_CPU_TIMEOUT_MS: block (");
    assert_report("1 of 8 threads left the kernel");
    assert_report("running (last gave way here) at ");
    gdaki_cpu_set_timeout_ms(0); /* what may take any time is not under a limit */
    the_device_works();
#ifndef __SANITIZE_THREAD__ /* needs preemption */
    flag[1] = 0;
    hard_runaway<<<RUNAWAYS, OF_A_BLOCK>>>(flag);
    limit_when(flag, 1);
    assert_int_equal(failure(), cudaErrorLaunchTimeout);
    assert_report("running (interrupted here) at ");
    gdaki_cpu_set_timeout_ms(0);
    the_device_works();
#endif
    cudaFree(flag);
}

/* Plain memory only: nothing to give way at. */
__global__ void plain_spin(volatile unsigned *flag, unsigned *out)
{
    if (threadIdx.x == blockDim.x - 1 && blockIdx.x == gridDim.x - 1)
        *flag = 1;
    else
        while (!*flag) {
        }
    atomicAdd(out, 1);
}

static void a_spin_on_plain_memory_is_preempted(void **)
{
#ifdef __SANITIZE_THREAD__
    print_message("SKIP: ThreadSanitizer delivers signals late, so threads are not preempted\n");
    skip();
#endif
    unsigned *flag = managed<unsigned>(2);

    plain_spin<<<3, 40>>>(flag, flag + 1);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(flag[1], 120);
    cudaFree(flag);
}

/* A lane that spins on plain memory does not hold up a gather. */
__global__ void gather_beside_spin(volatile unsigned *flag, unsigned *out)
{
    if (threadIdx.x == 0) {
        while (!*flag) {
        }
    } else {
        out[threadIdx.x] = __activemask();
        *flag = 1;
    }
}

static void a_preempted_lane_counts_as_spinning(void **)
{
#ifdef __SANITIZE_THREAD__
    print_message("SKIP: ThreadSanitizer delivers signals late, so threads are not preempted\n");
    skip();
#endif
    unsigned *mem = managed<unsigned>(33);

    gather_beside_spin<<<1, 32>>>(mem + 32, mem);
    CHECK(cudaDeviceSynchronize());
    for (unsigned t = 1; t < 32; t++)
        assert_int_equal(mem[t], 0xfffffffeu);
    cudaFree(mem);
}

__global__ void asserts(int limit)
{
    assert((int)threadIdx.x < limit);
    __syncthreads();
}

static void an_assert_fails_the_launch(void **)
{
    asserts<<<4, 64>>>(64);
    CHECK(cudaDeviceSynchronize());
    asserts<<<4, 64>>>(63);
    assert_int_equal(failure(), cudaErrorAssert);
    assert_report("thread (63,0,0): assertion failed: (int)threadIdx.x < limit");
    the_device_works();
}

__global__ void traps()
{
    if (threadIdx.x == 2)
        __trap();
}

static void a_trap_fails_the_launch(void **)
{
    traps<<<1000, 64>>>();
    assert_int_equal(failure(), cudaErrorIllegalInstruction);
    assert_report("__trap");
    the_device_works();
}

__global__ void wrong_use()
{
    gdaki_cpu_check_report("a mistake with value %d", 42);
}

static void the_checker_counts(void **)
{
    uint64_t before = gdaki_cpu_check_count();

    wrong_use<<<1, 2>>>();
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(gdaki_cpu_check_count(), before + 2);
    assert_report("check: kernel wrong_use: block (0,0,0), thread (1,0,0): a mistake with value 42");
}

static void bad_launches_are_refused(void **)
{
    static const struct {
        dim3 grid, block;
        cudaError_t error;
    } table[] = {
        {dim3(0), dim3(1), cudaErrorInvalidConfiguration},
        {dim3(1, 0), dim3(1), cudaErrorInvalidConfiguration},
        {dim3(1), dim3(0), cudaErrorInvalidConfiguration},
        {dim3(1), dim3(1025), cudaErrorInvalidConfiguration},
        {dim3(1), dim3(1, 1, 65), cudaErrorInvalidConfiguration},
        {dim3(1), dim3(64, 32), cudaErrorInvalidConfiguration},
        {dim3(1, 65536), dim3(1), cudaErrorInvalidConfiguration},
        {dim3(0x80000000u), dim3(1), cudaErrorInvalidConfiguration},
        {dim3(1), dim3(1024), cudaSuccess},
    };

    for (auto &row : table) {
        nothing<<<row.grid, row.block>>>();
        assert_int_equal(cudaGetLastError(), row.error);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    }
    nothing<<<1, 1, 0, (cudaStream_t)0x1234>>>();
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadlock_is_reported),
        cmocka_unit_test(a_vote_that_cannot_complete_is_reported),
        cmocka_unit_test(a_runaway_kernel_is_reported),
        cmocka_unit_test(a_spin_on_plain_memory_is_preempted),
        cmocka_unit_test(a_preempted_lane_counts_as_spinning),
        cmocka_unit_test(an_assert_fails_the_launch),
        cmocka_unit_test(a_trap_fails_the_launch),
        cmocka_unit_test(the_checker_counts),
        cmocka_unit_test(bad_launches_are_refused),
    };

    return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
