/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time facts and the compile-time choice of API generation.
 *
 * DOCA_GPUNETIO_API: 3 (default), 2 or 1. Only what conflicts between generations follows it: 14 host prototypes, the
 * version macros, and the device functions that took their code options as template arguments in 1.x.
 */
#ifndef DOCA_GPUNETIO_CONFIG_H
#define DOCA_GPUNETIO_CONFIG_H

#ifndef DOCA_GPUNETIO_API
#define DOCA_GPUNETIO_API 3
#endif
#if DOCA_GPUNETIO_API < 1 || DOCA_GPUNETIO_API > 3
#error "DOCA_GPUNETIO_API must be 1, 2 or 3"
#endif

/* rdma-core and CUDA are looked at when the library runs, so all three are always built in. */
#define DOCA_GPUNETIO_HAVE_MLX5DV_UMEM_DMABUF 1
#define DOCA_GPUNETIO_HAVE_DEDICATED_NC_UAR 1
#define DOCA_GPUNETIO_HAVE_CUDA_DMABUF 1

#endif
