/* SPDX-License-Identifier: Apache-2.0 */
/* The whole way once: compile, launch, shared memory, copies. */
#include "kernel_test.h"

template <class T, int N>
__global__ void add(T *out, const T *a, const T *b, size_t n)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        out[i] = a[i] + b[i] + N;
}

__global__ void block_sum(unsigned *out, const unsigned *in)
{
    __shared__ unsigned tile[256];
    extern __shared__ unsigned more[];
    unsigned t = threadIdx.x;

    tile[t] = in[blockIdx.x * blockDim.x + t];
    more[t] = t;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (t < half)
            tile[t] += tile[t + half];
        __syncthreads();
    }
    if (!t)
        out[blockIdx.x] = tile[0] + more[255] - 255;
}

static void adds(void **)
{
    enum { COUNT = 10000 };
    int *a, *b, *out;

    assert_int_equal(cudaMalloc(&a, COUNT * sizeof(int)), cudaSuccess);
    assert_int_equal(cudaMalloc(&b, COUNT * sizeof(int)), cudaSuccess);
    assert_int_equal(cudaMallocHost(&out, COUNT * sizeof(int)), cudaSuccess);
    for (int i = 0; i < COUNT; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
    add<int, 7><<<dim3(13), 128>>>(out, a, b, COUNT);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(out[i], 3 * i + 7);
    cudaFree(a);
    cudaFree(b);
    cudaFreeHost(out);
}

enum { BLOCKS = FEWER(64, 4) };

static void sums(void **)
{
    unsigned *in, *out;

    cudaMallocManaged(&in, BLOCKS * 256 * sizeof(*in));
    cudaMallocManaged(&out, BLOCKS * sizeof(*out));
    for (unsigned i = 0; i < BLOCKS * 256; i++)
        in[i] = i;
    block_sum<<<BLOCKS, 256, 1024>>>(out, in);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    for (unsigned b = 0; b < BLOCKS; b++)
        assert_int_equal(out[b], 256 * (b * 256) + 255 * 128);
    cudaFree(in);
    cudaFree(out);
}

int main()
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(adds), cmocka_unit_test(sums)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
