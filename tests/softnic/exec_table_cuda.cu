/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of exec inside a kernel. Exit code 77: no GPU here. */
#include <cstdio>

#include "exec_table.h"
#include "softnic/exec/order.h"

__global__ void tables(struct exec_table_result *r)
{
    exec_table_run(r);
}

/* Loads and stores of order.h as a resident engine would use them. */
__global__ void order(uint32_t *in, uint64_t *out)
{
    sn_store_release64(out, sn_load_acquire32(in) + 1);
}

static int give_up(const char *what, cudaError_t e)
{
    std::printf("%s: %s\n", what, cudaGetErrorString(e));
    return 1;
}

int main()
{
    int devices = 0;
    struct exec_table_result *r = nullptr;
    uint64_t *word = nullptr;
    cudaError_t e = cudaGetDeviceCount(&devices);

    if (e != cudaSuccess || devices == 0) {
        std::printf("SKIP: no CUDA device (%s)\n", cudaGetErrorString(e));
        return 77;
    }
    if ((e = cudaMallocManaged(&r, sizeof(*r))) != cudaSuccess || (e = cudaMallocManaged(&word, 16)) != cudaSuccess)
        return give_up("cudaMallocManaged", e);
    word[0] = 41;
    tables<<<1, 1>>>(r);
    order<<<1, 1>>>(reinterpret_cast<uint32_t *>(word), word + 1);
    if ((e = cudaDeviceSynchronize()) != cudaSuccess)
        return give_up("kernel", e);
    std::printf("%u checks on the device, %u failed", r->checks, r->failed);
    if (r->failed != 0)
        std::printf(", the first at exec_table.h:%u", r->first_line);
    std::printf("\n");
    return r->failed == 0 && r->checks > 1000 && word[1] == 42 ? 0 : 1;
}
