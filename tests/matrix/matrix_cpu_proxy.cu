/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix with CPU-assisted doorbells. */
#define MATRIX_NAME    "cpu_proxy"
#define MATRIX_HANDLER DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#include "matrix.cuh"

int main()
{
    queue_options options;
    options.handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
    return run_matrix(options);
}
