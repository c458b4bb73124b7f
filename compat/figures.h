/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the GPU programs: samples, their median and 99th percentile, a line for people and one of JSON for tools. */
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "rank.h"

static double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

/* The p-th part of sorted samples, the nearest rank. */
static double percentile(const std::vector<double> &sorted, double p)
{
    size_t rank = (size_t)(p * (double)sorted.size() + 0.999999);
    return sorted[std::min(sorted.size(), std::max<size_t>(rank, 1)) - 1];
}

/*
 * One figure, printed by rank 0: `samples` are microseconds an operation; `moved` are the bytes that count as moved by one
 * (0: the figure is a latency). `good` says whether the data that arrived was compared and right.
 */
static void figure(const char *what, size_t bytes, std::vector<double> samples, double moved, bool good)
{
    char name[96];
    std::snprintf(name, sizeof(name), "%s, %zu B", what, bytes);
    verdict(name, good && !samples.empty(), good ? "no samples" : "data is wrong, or nobody answered");
    if (!good || samples.empty() || rank_number != 0)
        return;
    std::sort(samples.begin(), samples.end());
    double median = percentile(samples, 0.5), p99 = percentile(samples, 0.99);
    double rate = moved > 0 ? moved / median / 1e3 : 0; /* bytes a microsecond are MB/s */
    std::printf("figure %-24s %10zu B  median %10.2f us  p99 %10.2f us", what, bytes, median, p99);
    if (moved > 0)
        std::printf("  %8.3f GB/s", rate);
    std::printf("  (%zu samples)\n", samples.size());
    std::printf("JSON {\"what\": \"%s\", \"bytes\": %zu, \"median_us\": %.3f, \"p99_us\": %.3f, \"min_us\": %.3f, \"gb_per_s\": ", what, bytes,
                median, p99, samples.front());
    std::printf(moved > 0 ? "%.4f" : "null", rate);
    std::printf(", \"samples\": %zu}\n", samples.size());
    std::fflush(stdout);
}

/* How often, so that a figure takes about a second; `once_us` is the same number on both ranks. */
static int rounds_for(double once_us, int least, int most)
{
    double n = 1.0e6 / std::max(once_us, 1.0);
    return (int)std::max((double)least, std::min((double)most, n));
}
