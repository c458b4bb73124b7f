/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix with the handler chosen at run time. */
#define MATRIX_NAME    "auto"
#define MATRIX_HANDLER DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#include "matrix.cuh"

int main()
{
    queue_options options;
    options.handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
    return run_matrix(options);
}
