/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy engine for tests: "GPU memory" is malloc memory that only it may touch. A copy reads and writes in pieces while
 * it is polled, after a seeded number of polls, so that anything that does not wait for it shows.
 */
#ifndef TESTS_SOFTNIC_FAKE_GPU_H
#define TESTS_SOFTNIC_FAKE_GPU_H

#include "gpu/gpu.h"

extern const struct gdaki_gpu_ops fake_gpu;
void fake_gpu_seed(uint64_t seed);
void fake_gpu_fail_after(int copies); /* that many more succeed; negative: never fails */
unsigned fake_gpu_in_flight(void);

#endif
