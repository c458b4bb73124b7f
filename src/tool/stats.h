/* SPDX-License-Identifier: Apache-2.0 */
/* Latency figures from raw samples: sorted, exact percentiles (nearest rank), no histogram buckets. */
#ifndef GDAKI_TOOL_STATS_H
#define GDAKI_TOOL_STATS_H

#include <stddef.h>
#include <stdint.h>

struct stats {
    uint64_t count;
    double min, mean, p50, p99, p999, max; /* unit of the samples times `scale` */
};

/* Sorts `samples` in place. count 0: all zero. Each figure is multiplied by `scale`. */
void stats_compute(uint64_t *samples, size_t count, double scale, struct stats *out);
/* Nearest-rank percentile of sorted samples; percent in (0, 100]. */
uint64_t stats_percentile(const uint64_t *sorted, size_t count, double percent);

#endif
