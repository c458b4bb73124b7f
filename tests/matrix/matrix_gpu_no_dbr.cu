/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix with doorbells without a record. */
#define MATRIX_NAME    "gpu_no_dbr"
#define MATRIX_HANDLER DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR
#include "matrix.cuh"

int main()
{
    queue_options options;
    options.handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
    options.dbr_mode = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;
    return run_matrix(options);
}
