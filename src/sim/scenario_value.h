/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a scenario file: text to field and back, by one table for parsing and printing. */
#ifndef GDAKI_SIM_SCENARIO_VALUE_H
#define GDAKI_SIM_SCENARIO_VALUE_H

#include "sim/scenario.h"

enum sim_value {
    SIM_VALUE_NUMBER = 0, /* uint64_t */
    SIM_VALUE_NUMBER32,   /* uint32_t */
    SIM_VALUE_TIME,       /* uint64_t, ns: "1.5ms" */
    SIM_VALUE_SIZE,       /* uint64_t, bytes: "64K" */
    SIM_VALUE_RANGE,      /* two uint64_t of bytes: "8..4K" */
    SIM_VALUE_RATE,       /* uint64_t, bits a second: "100Gb/s" */
    SIM_VALUE_CHANCE,     /* uint64_t of 2^-32: "1%", "0.01", "1e-4" */
    SIM_VALUE_WORD,       /* an enum */
    SIM_VALUE_BOOL,       /* bool: "yes", "no" */
    SIM_VALUE_SELECTOR,   /* struct sim_selector */
    SIM_VALUE_MIX,        /* uint32_t[SIM_OPS]: "write:4,read:2" */
    SIM_VALUE_PSN,        /* uint64_t: a number, or "random" */
    SIM_VALUE_NODE,       /* struct sim_node_name: "nic3", "sw0" */
};

struct sim_key {
    const char *name;
    enum sim_value type;
    size_t offset;     /* of the field */
    uint64_t min, max; /* of numbers, sizes and times */
    const char *const *words; /* WORD: names by value, NULL ends them */
};

/* 0; or -EINVAL, and `why` says what was expected. The field is unchanged then. */
int sim_value_parse(const struct sim_key *key, const char *text, void *base, char *why, size_t room);
void sim_value_print(const struct sim_key *key, const void *base, FILE *out);

/* The lines of a file. */
enum sim_line { SIM_LINE_RUN = 0, SIM_LINE_TOPOLOGY, SIM_LINE_CABLE, SIM_LINE_QP, SIM_LINE_LINK, SIM_LINE_FAULT, SIM_LINE_WORKLOAD, SIM_LINES };
struct sim_line_format {
    const char *name;
    const struct sim_key *keys;
    unsigned count;
    bool once; /* may stand in a file once */
};
extern const struct sim_line_format sim_lines[SIM_LINES];

#endif
