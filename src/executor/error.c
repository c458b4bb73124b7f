/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/stream.h"

static __thread cudaError_t last;
static int stuck;

cudaError_t ex_error(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last = error;
    return error;
}

void ex_error_stick(cudaError_t error)
{
    int none = cudaSuccess;

    __atomic_compare_exchange_n(&stuck, &none, (int)error, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

cudaError_t ex_error_stuck(void)
{
    return (cudaError_t)__atomic_load_n(&stuck, __ATOMIC_ACQUIRE);
}

void ex_error_reset(void)
{
    last = cudaSuccess;
    __atomic_store_n(&stuck, cudaSuccess, __ATOMIC_RELEASE);
}

cudaError_t cudaPeekAtLastError(void)
{
    return ex_error_stuck() ? ex_error_stuck() : last;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();

    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define NAME(name, number, text) \
    case name: \
        return #name;
        GDAKI_CPU_ERRORS(NAME)
#undef NAME
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define TEXT(name, number, text) \
    case name: \
        return text;
        GDAKI_CPU_ERRORS(TEXT)
#undef TEXT
    }
    return "unrecognized error code";
}
