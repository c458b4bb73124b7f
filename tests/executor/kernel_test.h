/* SPDX-License-Identifier: Apache-2.0 */
/* gdaki: C++ only. What the executor's tests share: cmocka inside a .cu, and checked CUDA calls. */
#ifndef TESTS_EXECUTOR_KERNEL_TEST_H
#define TESTS_EXECUTOR_KERNEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
extern "C" {
#include <cmocka.h>
}

#include <cuda_runtime.h>

#ifdef __SANITIZE_THREAD__ /* which keeps a clock for each fiber, as long as there are fibers */
#define FEWER(many, few) few
#else
#define FEWER(many, few) many
#endif

#define CHECK(call) assert_int_equal(call, cudaSuccess)

/* Managed memory of n elements, all zero. */
template <class T>
static T *managed(size_t n)
{
    T *ptr = nullptr;

    CHECK(cudaMallocManaged(&ptr, n * sizeof(T)));
    memset(static_cast<void *>(ptr), 0, n * sizeof(T));
    return ptr;
}

/* A kernel that must fail: its error, after which the device works again. */
static inline cudaError_t failure()
{
    cudaError_t error = cudaDeviceSynchronize();

    cudaDeviceReset();
    return error;
}

#define assert_report(text) \
    do { \
        if (!strstr(gdaki_cpu_last_report(), text)) \
            fail_msg("report lacks \"%s\":\n%s", text, gdaki_cpu_last_report()); \
    } while (0)

#endif
