/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a test: table, JSON, CSV, picture. Every form names the back-ends, the method and the units. */
#ifndef GDAKI_TOOL_REPORT_H
#define GDAKI_TOOL_REPORT_H

#include <stdio.h>

#include "floor.h"
#include "perf.h"
#include "stats.h"

enum report_verdict { REPORT_VERIFIED, REPORT_NOT_CHECKED, REPORT_WRONG };

struct report_row {
    uint64_t size, messages, bytes, elapsed_ns;
    struct stats latency; /* microseconds */
    enum report_verdict verdict;
    uint64_t checked, wrong, first_wrong;
    struct floors before, after; /* with --floor */
};

struct report {
    const struct perf_options *options;
    const char *gpu_backend, *nic_backend, *wire, *handler, *queue_mem;
    char gpu_name[96], nic_name[64];
    uint32_t mtu;
    double idle_percent; /* of one core, with --idle */
    double idle_floor_before, idle_floor_after; /* of one core: bare sleeps of 1 ms, with --idle and --floor */
    uint32_t count;
    struct report_row rows[PARSE_SIZES_MAX];
};

double report_row_rate(const struct report_row *row);      /* messages a second */
double report_row_bandwidth(const struct report_row *row); /* GB/s, 10^9 */
const char *report_verdict_name(enum report_verdict verdict);
/* What the latency columns mean for a test. */
const char *report_latency_method(int test);

/* The fault plan that softnic has at this end, or NULL: results under one are no measure of anything else. */
const char *report_faults(const struct report *r);
void report_header(const struct report *report, FILE *out);
void report_row_print(const struct report *report, const struct report_row *row, FILE *out);
void report_csv(const struct report *report, FILE *out);
int report_json(const struct report *report, FILE *out);
/* Draws rate or bandwidth and latency over size with gnuplot; 0 or negative errno, reason on stderr. */
int report_plot(const struct report *report, const char *path);
/* Before a run: whether all files that the options ask for can be written. 0 or negative errno, reason on stderr. */
int report_check(const struct perf_options *options);
/* All files that the options ask for. */
int report_write(const struct report *report);

#endif
