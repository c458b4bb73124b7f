/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 2.0 and 1.x spellings of types (DOCA_GPUNETIO_API 2 or 1). Tags become macros, because C++ has no way to give
 * `struct doca_verbs_qp` and `struct doca_verbs_qp_t` one type. A program that defines such a tag itself sets
 * DOCA_GPUNETIO_NO_TAG_ALIASES before including.
 */
#ifndef DOCA_GPUNETIO_HOST_COMPAT_H
#define DOCA_GPUNETIO_HOST_COMPAT_H

#include "../doca_gpunetio_config.h"

/*
 * Prototypes that differ between generations are bound to a symbol of their own; everything else is one symbol.
 */
#define DOCA_GPUNETIO_BIND(symbol) __asm__(symbol)

#if DOCA_GPUNETIO_API < 3
#define doca_verbs_qp_atomic_type doca_verbs_qp_atomic_mode
#ifndef DOCA_GPUNETIO_NO_TAG_ALIASES
#define doca_gpu                doca_gpu_t
#define doca_verbs_qp           doca_verbs_qp_t
#define doca_verbs_qp_attr      doca_verbs_qp_attr_t
#define doca_verbs_qp_init_attr doca_verbs_qp_init_attr_t
#define doca_verbs_cq           doca_verbs_cq_t
#define doca_verbs_cq_attr      doca_verbs_cq_attr_t
#define doca_verbs_ah_attr      doca_verbs_ah_attr_t
#define doca_verbs_umem         doca_verbs_umem_t
#define doca_verbs_uar          doca_verbs_uar_t
#endif
#endif

#endif
