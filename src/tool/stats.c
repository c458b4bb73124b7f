/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

uint64_t stats_percentile(const uint64_t *sorted, size_t count, double percent)
{
    size_t rank;

    if (!count)
        return 0;
    rank = (size_t)ceil(percent * (double)count / 100.0 - 1e-6); /* the slack takes what 99.9 is off in binary */
    if (rank < 1)
        rank = 1;
    if (rank > count)
        rank = count;
    return sorted[rank - 1];
}

void stats_compute(uint64_t *samples, size_t count, double scale, struct stats *out)
{
    long double sum = 0;

    memset(out, 0, sizeof(*out));
    if (!count)
        return;
    qsort(samples, count, sizeof(samples[0]), by_value);
    for (size_t i = 0; i < count; i++)
        sum += samples[i];
    out->count = count;
    out->min = (double)samples[0] * scale;
    out->mean = (double)(sum / count) * scale;
    out->p50 = (double)stats_percentile(samples, count, 50) * scale;
    out->p99 = (double)stats_percentile(samples, count, 99) * scale;
    out->p999 = (double)stats_percentile(samples, count, 99.9) * scale;
    out->max = (double)samples[count - 1] * scale;
}
