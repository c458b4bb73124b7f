/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at best, measured in the same run as the figures beside it. */
#ifndef GDAKI_TOOL_FLOOR_H
#define GDAKI_TOOL_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

struct gdaki_kernels;

struct floors {
    double round_trip_ns;  /* cache line between two threads, median; 0: only one CPU */
    double memcpy_64k_gbs; /* one thread, copied bytes a second / 1e9, over 64 KiB and over 64 MiB, medians */
    double memcpy_64m_gbs;
    double flag_min_us, flag_p50_us; /* CPU to GPU to CPU through pinned host memory; 0: not measured */
};

/* Host floors, about 150 ms. */
void floor_measure(struct floors *out);
/* The flag round trip with a real GPU; 0 or negative errno. */
int floor_measure_flag(const struct gdaki_kernels *kernels, struct floors *out);
/*
 * The calling thread, and all that it starts from now on, on the first (0) or second (1) CPU that the process may use. The
 * round trip is measured between these two even so. 0, -ENODEV: there is no second one, or negative errno.
 */
int floor_pin(int which);
/* "near" or "far": how the two CPUs used lie to each other, by the round trip. */
const char *floor_placement(const struct floors *floors);

#endif
