/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GDAKI_CPU_DEVICE_LAUNCH_PARAMETERS_H
#define GDAKI_CPU_DEVICE_LAUNCH_PARAMETERS_H
#include "cuda_runtime.h"
#endif
