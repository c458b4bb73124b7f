/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix with doorbell and record written by the GPU. */
#define MATRIX_NAME    "gpu_db"
#define MATRIX_HANDLER DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
#include "matrix.cuh"

int main()
{
    queue_options options;
    options.handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
    return run_matrix(options);
}
