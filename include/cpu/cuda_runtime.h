/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA runtime header for `cpu`: the API, and for C++ the language's built-ins and device functions. gdaki-nvcc puts this
 * directory first in the include path and includes this file in every .cu, as nvcc does. GDAKI_CPU is 1; __CUDA_ARCH__ and
 * __CUDACC__ are not defined (libraries would take them for nvcc); __shared__ and <<<>>> are left to gdaki-nvcc.
 */
#ifndef GDAKI_CPU_CUDA_RUNTIME_H
#define GDAKI_CPU_CUDA_RUNTIME_H
#pragma GCC system_header

#include "cuda_runtime_api.h"
#include "gdaki_cpu.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__ inline
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __cluster_dims__(...) gdaki_cpu_thread_block_clusters_are_not_covered
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)

#ifdef __cplusplus
#include "gdaki_cpu_builtins.hpp"
#include "gdaki_cpu_atomics.hpp"
#include "gdaki_cpu_warp.hpp"
#include "gdaki_cpu_kernel.hpp"
#endif
#endif
