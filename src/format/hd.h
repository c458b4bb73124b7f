/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lets one header serve C17, C++17 and CUDA: no _Atomic, no restrict, no implicit void * conversions, and every
 * function marked for host and device.
 */
#ifndef GDAKI_FORMAT_HD_H
#define GDAKI_FORMAT_HD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SN_HD __host__ __device__
#else
#define SN_HD
#endif

/*
 * Formats are laid over bytes that were stored as something else (words fetched from a ring, a WQE as an array), so the
 * compiler must not conclude from their type that they do not overlap.
 */
#define SN_MAY_ALIAS __attribute__((may_alias))
typedef uint64_t SN_MAY_ALIAS sn_word;

/* Header-inline, host and device. */
#define SN_FN static SN_HD inline

#ifdef __cplusplus
#define SN_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define SN_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#endif
