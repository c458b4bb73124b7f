/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs of WQEs, many of them hostile, for whoever has two ways to do the same: they are played on two connected
 * queue pairs, once each way, and must leave the same behind. Who calls opens the ends, in one world or in two, and
 * chooses the way; the program knows of neither.
 */
#ifndef TESTS_SOFTNIC_NEAR_PROGRAM_H
#define TESTS_SOFTNIC_NEAR_PROGRAM_H

#include "harness.h"

enum { NEAR_STEPS = 14 }; /* of a program: each posts a batch at one end or at both, and looks at everything afterwards */

struct near_pair {
    struct end *a, *b; /* opened, not yet connected */
    /* Moves the clock by `ns` (0: not at all) and runs whatever drives both ends until nothing happens any more. */
    void (*pass)(void *arg, uint64_t ns);
    void *arg;
    bool replaces; /* an acknowledgement that waits on the wire gives way to the next one of its queue pair */
};

/* Groups of programs to play: the first `groups`, or SOFTNIC_TEST_SEEDS of them, from SOFTNIC_TEST_SEED on (alone: that one). */
struct near_range {
    uint64_t first, end;
};
struct near_range near_groups(uint64_t groups);

struct near_log; /* what was seen: completions, states, errors, counters, and a hash of memory, step by step */

/* For end_open: sizes and kinds of queues. The programs draw path MTU, PSNs, rights, retries by themselves. */
void near_options(uint64_t seed, struct options *o);

/* Plays the program of `seed` and adds to the log (NULL: a new one). Returns it; near_log_free ends it. */
struct near_log *near_play(struct near_log *log, uint64_t seed, struct near_pair *p);
/* Fails the test with the first difference: program, step, end. */
void near_compare(const struct near_log *x, const struct near_log *y);
/* Completions of that syndrome (SN_SYND_OK: good ones) of send queues. */
unsigned near_count(const struct near_log *log, uint8_t syndrome);
void near_log_free(struct near_log *log);

#endif
