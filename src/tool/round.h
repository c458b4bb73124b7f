/* SPDX-License-Identifier: Apache-2.0 */
/* One round: prepared buffers, one kernel at one or both ends, every byte compared afterwards. */
#ifndef GDAKI_TOOL_ROUND_H
#define GDAKI_TOOL_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"

struct round {
    uint64_t size, iterations, seed;
    bool measured;
    bool end; /* no round: the test is over */
};

/* What a round gave at one end. */
struct round_result {
    uint64_t done;       /* messages this end's kernel completed; 0 if it ran none */
    uint64_t elapsed_ns; /* of that kernel, first thread's begin to last thread's end */
    double tick_ns;      /* length of a clock64 tick */
    uint64_t tick_span_ns; /* what tick_ns was measured over */
    uint64_t checked, wrong, first_wrong; /* bytes compared at this end */
    int error; /* 0 or negative errno of the kernel */
    char text[480];
};

void round_write(const struct round *round, struct oob_writer *w);
int round_read(struct round *round, const struct perf_plan *plan, struct oob_reader *r, char *why);
void round_result_write(const struct round_result *result, struct oob_writer *w);
int round_result_read(struct round_result *result, struct oob_reader *r, char *why);

/* True if this end's kernel runs / if data arrives at this end. */
bool round_end_sends(const struct perf_plan *plan, bool client);
bool round_end_receives(const struct perf_plan *plan, bool client);

/* Fills what is sent, scrubs what is received, zeroes flag, result and samples. */
int round_prepare(struct endpoint *ep, const struct round *round, bool client);
int round_launch(struct endpoint *ep, const struct endpoint_address *remote, const struct round *round, bool client);
/* Waits for the kernel, ringing doorbells where the CPU must. Fails (-ETIMEDOUT) if it does not end by itself. */
int round_wait(struct endpoint *ep, const struct round *round, struct round_result *result, const char *label);
int round_verify(struct endpoint *ep, const struct round *round, bool client, struct round_result *result);
/* Appends this round's samples (clock ticks) to *samples, at most `limit` in all. */
int round_collect(struct endpoint *ep, uint64_t **samples, size_t *count, size_t limit);

#endif
