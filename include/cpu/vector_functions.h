/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GDAKI_CPU_VECTOR_FUNCTIONS_H_SHIM
#define GDAKI_CPU_VECTOR_FUNCTIONS_H_SHIM
#include "gdaki_cpu_vector_types.h"
#endif
