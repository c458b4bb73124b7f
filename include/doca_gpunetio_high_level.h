/* SPDX-License-Identifier: Apache-2.0 */
/* The SDK's flat spelling of host/doca_gpunetio_high_level.h. */
#include "host/doca_gpunetio_high_level.h"
