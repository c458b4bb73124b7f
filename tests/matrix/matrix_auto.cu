/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix with the handler chosen at run time. */
#define MATRIX_NAME    "auto"
#define MATRIX_HANDLER DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#include "matrix.cuh"

int main(int argc, char **argv)
{
    queue_options options;
    options.handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
    if (argc > 2 || (argc == 2 && !choose_handler(argv[1], &options)))
        return 2;
    return argc == 2 ? run_matrix(options, argv[1]) : run_matrix(options);
}
