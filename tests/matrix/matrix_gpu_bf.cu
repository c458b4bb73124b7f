/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix with a BlueFlame queue: the handler is read from the queue at run time. */
#define MATRIX_NAME    "gpu_bf"
#define MATRIX_HANDLER DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#include "matrix.cuh"

int main()
{
    queue_options options;
    options.handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF;
    return run_matrix(options);
}
