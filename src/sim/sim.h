/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network of software NICs in virtual time, in one thread, under one seed (docs/simulation.md).
 *
 *   struct sim *sim;
 *   sim_create(&scenario, &sim); sim_run(sim); sim_get_result(sim) ...; sim_destroy(sim);
 *
 * The same scenario and seed give the same events in the same order, the same result and the same capture, byte for byte.
 */
#ifndef GDAKI_SIM_SIM_H
#define GDAKI_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim;

enum { SIM_VIOLATIONS_KEPT = 16, SIM_VIOLATION_SIZE = 240, SIM_KINDS = 16 };

enum sim_loss { /* why a packet did not arrive */
    SIM_LOST_LOSS = 0,
    SIM_LOST_QUEUE,
    SIM_LOST_DOWN,
    SIM_LOST_PARTITION,
    SIM_LOST_FAULT,
    SIM_LOST_ICRC,   /* refused by the frame parser: invariant CRC */
    SIM_LOST_FORMAT, /* refused by it for another reason */
    SIM_LOSSES
};

struct sim_latency { /* ns of virtual time, from posting to completion */
    uint64_t count, min, p50, p90, p99, p999, max;
    double mean;
};

struct sim_result {
    uint64_t seed, virtual_ns, events, peak_events;
    uint64_t hash;      /* of everything that was sent, delivered and completed, in order */
    uint64_t connections, connections_failed;
    uint64_t posted, completed, failed, flushed, receives, receives_flushed;
    uint64_t by_op[SIM_OPS];       /* completed */
    uint64_t bytes;                /* of payload, completed */
    uint64_t packets, packet_bytes; /* handed to cables by NICs */
    uint64_t sent[SIM_KINDS], delivered[SIM_KINDS]; /* by enum sn_kind */
    uint64_t lost[SIM_LOSSES], duplicated, reordered, corrupted, delayed, marked;
    uint64_t queue_peak;           /* bytes in one queue of a switch */
    struct sim_latency latency;
    uint64_t violations;
    char violation[SIM_VIOLATIONS_KEPT][SIM_VIOLATION_SIZE]; /* the first ones */
    double wall_s, cpu_s; /* of the run alone: real time, and this process's on a CPU */
    double create_s;       /* real time that sim_create took */
    uint64_t nics, queue_pairs; /* made */
    enum sim_plant plant;       /* the bug on purpose: it was put in if its occasions reached the n-th */
    uint64_t plant_nth, plant_occasions;
};

/* 0 or negative errno; `why` (SIM_WHY_SIZE bytes) tells the reason. The scenario is copied. */
int sim_create(const struct sim_scenario *sc, struct sim **out, char *why);

/*
 * Frames that NICs send (`received` false) or receive, as Ethernet frames with the virtual time; before sim_run. The
 * callback owns nothing.
 */
typedef void (*sim_capture_fn)(void *arg, uint64_t ns, const uint8_t *frame, size_t length);
void sim_capture(struct sim *sim, sim_capture_fn fn, void *arg, bool received);

/* Runs to the end. 0, or -ENOMEM and the like when it could not go on (violations are in the result). */
int sim_run(struct sim *sim);
const struct sim_result *sim_get_result(const struct sim *sim);
void sim_destroy(struct sim *sim);

const char *sim_loss_name(enum sim_loss loss);
const char *sim_kind_name(unsigned kind); /* enum sn_kind */

/* Result as text, and as JSON. sim_result_json: 0 or -EIO. */
void sim_result_print(const struct sim_result *result, FILE *out);
int sim_result_json(const struct sim_result *result, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
