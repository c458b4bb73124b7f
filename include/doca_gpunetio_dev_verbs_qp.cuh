/* SPDX-License-Identifier: Apache-2.0 */
/* The SDK's flat spelling of device/doca_gpunetio_dev_verbs_qp.cuh. gdaki: C++ only. */
#include "device/doca_gpunetio_dev_verbs_qp.cuh"
