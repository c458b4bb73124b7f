/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a scenario file and their keys, and a scenario written as one. */
#include "sim/scenario_value.h"

#include <string.h>

#define FIELD(s, f) offsetof(struct s, f)

static const char *const modes[] = {"packets", "frames", NULL};
static const char *const expects[] = {"all", "any", NULL};
static const char *const plants[] = {"none", "modify", "stray", "source", "repeat", "twice", "forget", "leak", NULL};
static const char *const shapes[] = {"pair", "star", "chain", "fat-tree", "graph", NULL};
static const char *const patterns[] = {"all-to-all", "pairs", "ring", "incast", "random", NULL};
static const char *const services[] = {"rc", "uc", NULL};
static const char *const kinds[] = {"drop", "duplicate", "corrupt", "delay", "down", "flap", "partition", NULL};
static const char *const classes[] = {"any", "send", "write", "read-request", "read-response", "ack", "atomic", "atomic-ack", NULL};

#define MOST_NS 1000000000000000ull /* 11 days */

static const struct sim_key run_keys[] = {
    {"seed", SIM_VALUE_NUMBER, FIELD(sim_scenario, seed), 0, UINT64_MAX, NULL},
    {"duration", SIM_VALUE_TIME, FIELD(sim_scenario, duration), 1, MOST_NS, NULL},
    {"mode", SIM_VALUE_WORD, FIELD(sim_scenario, mode), 0, 0, modes},
    {"expect", SIM_VALUE_WORD, FIELD(sim_scenario, expect), 0, 0, expects},
    {"plant", SIM_VALUE_WORD, FIELD(sim_scenario, plant), 0, 0, plants},
    {"plant-nth", SIM_VALUE_NUMBER, FIELD(sim_scenario, plant_nth), 1, UINT32_MAX, NULL},
};

static const struct sim_key topology_keys[] = {
    {"shape", SIM_VALUE_WORD, FIELD(sim_scenario, topology), 0, 0, shapes},
    {"nics", SIM_VALUE_NUMBER32, FIELD(sim_scenario, nics), 2, SIM_MAX_NICS, NULL},
    {"k", SIM_VALUE_NUMBER32, FIELD(sim_scenario, k), 2, 40, NULL},
    {"spray", SIM_VALUE_BOOL, FIELD(sim_scenario, spray), 0, 0, NULL},
    {"nic-buffer", SIM_VALUE_SIZE, FIELD(sim_scenario, nic_buffer), 0, 1 << 30, NULL},
};

static const struct sim_key cable_keys[] = {
    {"a", SIM_VALUE_NODE, FIELD(sim_cable, a), 0, 0, NULL},
    {"b", SIM_VALUE_NODE, FIELD(sim_cable, b), 0, 0, NULL},
};

static const struct sim_key qp_keys[] = {
    {"service", SIM_VALUE_WORD, FIELD(sim_qp_params, service), 0, 0, services},
    {"mtu", SIM_VALUE_NUMBER, FIELD(sim_qp_params, mtu), 256, 4096, NULL},
    {"timeout", SIM_VALUE_NUMBER, FIELD(sim_qp_params, timeout), 1, 31, NULL},
    {"retry", SIM_VALUE_NUMBER, FIELD(sim_qp_params, retry), 0, 7, NULL},
    {"rnr-retry", SIM_VALUE_NUMBER, FIELD(sim_qp_params, rnr_retry), 0, 7, NULL},
    {"min-rnr", SIM_VALUE_NUMBER, FIELD(sim_qp_params, min_rnr), 0, 31, NULL},
    {"rd-atomic", SIM_VALUE_NUMBER, FIELD(sim_qp_params, rd_atomic), 1, 128, NULL},
    {"psn", SIM_VALUE_PSN, FIELD(sim_qp_params, psn), 0, 0xffffff, NULL},
};

/* After `on`, in the order of struct sim_link_params. */
static const struct sim_key link_keys[] = {
    {"on", SIM_VALUE_SELECTOR, FIELD(sim_rule, on), 0, 0, NULL},
    {"rate", SIM_VALUE_RATE, FIELD(sim_rule, p.rate), 0, 100000000000000ull, NULL},
    {"delay", SIM_VALUE_TIME, FIELD(sim_rule, p.delay), 0, MOST_NS, NULL},
    {"jitter", SIM_VALUE_TIME, FIELD(sim_rule, p.jitter), 0, MOST_NS, NULL},
    {"queue", SIM_VALUE_SIZE, FIELD(sim_rule, p.queue), 0, 1 << 30, NULL},
    {"ecn", SIM_VALUE_SIZE, FIELD(sim_rule, p.ecn), 0, 1 << 30, NULL},
    {"loss", SIM_VALUE_CHANCE, FIELD(sim_rule, p.loss), 0, 0, NULL},
    {"loss-burst", SIM_VALUE_NUMBER, FIELD(sim_rule, p.loss_burst), 1, 1000000, NULL},
    {"duplicate", SIM_VALUE_CHANCE, FIELD(sim_rule, p.duplicate), 0, 0, NULL},
    {"corrupt", SIM_VALUE_CHANCE, FIELD(sim_rule, p.corrupt), 0, 0, NULL},
    {"reorder", SIM_VALUE_CHANCE, FIELD(sim_rule, p.reorder), 0, 0, NULL},
    {"reorder-by", SIM_VALUE_TIME, FIELD(sim_rule, p.reorder_by), 1, MOST_NS, NULL},
};

static const struct sim_key fault_keys[] = {
    {"kind", SIM_VALUE_WORD, FIELD(sim_fault, kind), 0, 0, kinds},
    {"on", SIM_VALUE_SELECTOR, FIELD(sim_fault, on), 0, 0, NULL},
    {"op", SIM_VALUE_WORD, FIELD(sim_fault, op), 0, 0, classes},
    {"at", SIM_VALUE_TIME, FIELD(sim_fault, at), 0, MOST_NS, NULL},
    {"for", SIM_VALUE_TIME, FIELD(sim_fault, length), 0, MOST_NS, NULL},
    {"nth", SIM_VALUE_NUMBER, FIELD(sim_fault, nth), 0, UINT32_MAX, NULL},
    {"count", SIM_VALUE_NUMBER, FIELD(sim_fault, count), 1, UINT32_MAX, NULL},
    {"rate", SIM_VALUE_CHANCE, FIELD(sim_fault, rate), 0, 0, NULL},
    {"by", SIM_VALUE_TIME, FIELD(sim_fault, by), 0, MOST_NS, NULL},
    {"period", SIM_VALUE_TIME, FIELD(sim_fault, period), 1, MOST_NS, NULL},
    {"up", SIM_VALUE_TIME, FIELD(sim_fault, up), 0, MOST_NS, NULL},
};

static const struct sim_key workload_keys[] = {
    {"pattern", SIM_VALUE_WORD, FIELD(sim_workload, pattern), 0, 0, patterns},
    {"messages", SIM_VALUE_NUMBER, FIELD(sim_workload, messages), 1, 1000000000, NULL},
    {"size", SIM_VALUE_RANGE, FIELD(sim_workload, size_min), 0, SIM_MAX_MESSAGE, NULL},
    {"mix", SIM_VALUE_MIX, FIELD(sim_workload, mix), 0, 0, NULL},
    {"depth", SIM_VALUE_NUMBER, FIELD(sim_workload, depth), 1, SIM_MAX_DEPTH, NULL},
    {"connections", SIM_VALUE_NUMBER, FIELD(sim_workload, connections), 1, 1000000, NULL},
    {"window", SIM_VALUE_NUMBER, FIELD(sim_workload, window), 1, 1024, NULL},
    {"both-ways", SIM_VALUE_BOOL, FIELD(sim_workload, both_ways), 0, 0, NULL},
    {"receives", SIM_VALUE_NUMBER, FIELD(sim_workload, receives), 1, SIM_MAX_DEPTH, NULL},
    {"receive-delay", SIM_VALUE_TIME, FIELD(sim_workload, receive_delay), 0, MOST_NS, NULL},
};

#define LINE(name, keys, once) {name, keys, sizeof(keys) / sizeof(keys[0]), once}

const struct sim_line_format sim_lines[SIM_LINES] = {
    [SIM_LINE_RUN] = LINE("run", run_keys, true),
    [SIM_LINE_TOPOLOGY] = LINE("topology", topology_keys, true),
    [SIM_LINE_CABLE] = LINE("cable", cable_keys, false),
    [SIM_LINE_QP] = LINE("qp", qp_keys, true),
    [SIM_LINE_LINK] = LINE("link", link_keys, false),
    [SIM_LINE_FAULT] = LINE("fault", fault_keys, false),
    [SIM_LINE_WORKLOAD] = LINE("workload", workload_keys, false),
};

static void print_line(enum sim_line line, const void *base, uint32_t keys, FILE *out)
{
    const struct sim_line_format *f = &sim_lines[line];

    fputs(f->name, out);
    for (unsigned i = 0; i < f->count; i++)
        if (keys & (1u << i)) {
            fprintf(out, " %s=", f->keys[i].name);
            sim_value_print(&f->keys[i], base, out);
        }
    fputc('\n', out);
}

static uint32_t without(enum sim_line line, const char *name, uint32_t keys)
{
    for (unsigned i = 0; i < sim_lines[line].count; i++)
        if (strcmp(sim_lines[line].keys[i].name, name) == 0)
            keys &= ~(1u << i);
    return keys;
}

void sim_scenario_print(const struct sim_scenario *sc, FILE *out)
{
    uint32_t run = UINT32_MAX, topology = UINT32_MAX;

    if (sc->plant == SIM_PLANT_NONE)
        run = without(SIM_LINE_RUN, "plant-nth", without(SIM_LINE_RUN, "plant", run));
    if (sc->topology != SIM_FAT_TREE)
        topology = without(SIM_LINE_TOPOLOGY, "k", topology);
    if (sc->topology == SIM_GRAPH)
        topology = without(SIM_LINE_TOPOLOGY, "nics", topology);
    print_line(SIM_LINE_RUN, sc, run, out);
    print_line(SIM_LINE_TOPOLOGY, sc, topology, out);
    for (uint32_t i = 0; i < sc->cables; i++)
        print_line(SIM_LINE_CABLE, &sc->cable[i], UINT32_MAX, out);
    print_line(SIM_LINE_QP, &sc->qp, UINT32_MAX, out);
    for (uint32_t i = 0; i < sc->rules; i++)
        print_line(SIM_LINE_LINK, &sc->rule[i], sc->rule[i].given << 1 | 1, out);
    for (uint32_t i = 0; i < sc->faults; i++)
        print_line(SIM_LINE_FAULT, &sc->fault[i], UINT32_MAX, out);
    for (uint32_t i = 0; i < sc->workloads; i++)
        print_line(SIM_LINE_WORKLOAD, &sc->workload[i], UINT32_MAX, out);
}
