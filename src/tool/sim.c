/* SPDX-License-Identifier: Apache-2.0 */
/* `gdaki sim`: runs a scenario of software NICs in virtual time and tells what came of it (docs/simulation.md). */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "parse.h"
#include "sim/sim.h"
#include "softnic/wire/pcap.h"
#include "tool.h"

struct options {
    const char *file, *pcap, *pcap_received, *json;
    bool has_seed, has_random, quiet, print;
    uint64_t seed, seeds, random;
};

enum { KEY_SEEDS = 256, KEY_PCAP, KEY_PCAP_RECEIVED, KEY_JSON, KEY_RANDOM, KEY_PRINT };

static const struct argp_option option_table[] = {
    {"seed", 's', "N", 0, "use this seed instead of the scenario's", 0},
    {"seeds", KEY_SEEDS, "N", 0, "run N seeds, from the scenario's (or --seed's) on; tells those that fail", 0},
    {"random", KEY_RANDOM, "SEED", 0, "instead of a file: the scenario that the tests draw under this seed", 0},
    {"pcap", KEY_PCAP, "FILE", 0, "write every frame that a NIC sends; with --seeds: of the first seed that fails, run again", 0},
    {"pcap-received", KEY_PCAP_RECEIVED, "FILE", 0, "the same for every frame that reaches a NIC", 0},
    {"json", KEY_JSON, "FILE", 0, "write the result as JSON ('-': standard output); with --seeds: of the last one", 0},
    {"print", KEY_PRINT, NULL, 0, "print the scenario as a file, run nothing", 0},
    {"quiet", 'q', NULL, 0, "print violations only", 0},
    {0},
};

static void number(struct argp_state *state, const char *option, const char *arg, uint64_t min, uint64_t max, uint64_t *out)
{
    char why[PARSE_WHY_SIZE];

    if (parse_u64(arg, min, max, out, why))
        argp_error(state, "option --%s: %s", option, why);
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 's':
        o->has_seed = true;
        number(state, "seed", arg, 0, UINT64_MAX, &o->seed);
        return 0;
    case KEY_SEEDS:
        number(state, "seeds", arg, 1, 1000000000, &o->seeds);
        return 0;
    case KEY_RANDOM:
        o->has_random = true;
        number(state, "random", arg, 0, UINT64_MAX, &o->random);
        return 0;
    case KEY_PCAP:
        o->pcap = arg;
        return 0;
    case KEY_PCAP_RECEIVED:
        o->pcap_received = arg;
        return 0;
    case KEY_JSON:
        o->json = arg;
        return 0;
    case KEY_PRINT:
        o->print = true;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->file != NULL)
            argp_error(state, "'%s': one scenario file is run at a time", arg);
        o->file = arg;
        return 0;
    case ARGP_KEY_END:
        if ((o->file == NULL) == !o->has_random)
            argp_error(state, "expected either a scenario file or --random SEED");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- captures ------------------------------------------------------------------------------------------------------ */

struct captures {
    struct sn_pcap *pcap[2]; /* sent, received */
    const char *path[2];
};

static void capture(void *arg, uint64_t ns, const uint8_t *frame, size_t length)
{
    (void)sn_pcap_frame(arg, ns, frame, length, length); /* the first error is told when it is closed */
}

static int open_captures(struct captures *c, const struct options *o, struct sim *sim)
{
    *c = (struct captures){.path = {o->pcap, o->pcap_received}};
    for (int i = 0; i < 2; i++) {
        int ret = c->path[i] == NULL ? 0 : sn_pcap_create(c->path[i], &c->pcap[i]);
        if (ret != 0) {
            tool_error("cannot write the capture '%s': %s", c->path[i], strerror(-ret));
            return TOOL_FAILED;
        }
        if (c->pcap[i] != NULL)
            sim_capture(sim, capture, c->pcap[i], i == 1);
    }
    return TOOL_OK;
}

static int close_captures(struct captures *c)
{
    int rc = TOOL_OK;

    for (int i = 0; i < 2; i++) {
        int ret = sn_pcap_close(c->pcap[i]);
        if (ret != 0) {
            tool_error("the capture '%s' is not complete: %s", c->path[i], strerror(-ret));
            rc = TOOL_FAILED;
        }
    }
    return rc;
}

/* ---- runs ----------------------------------------------------------------------------------------------------------- */

/* One run. With captures, when `with_captures`. */
static int run(const struct options *o, const struct sim_scenario *sc, bool with_captures, struct sim_result *result)
{
    struct captures captures = {0};
    char why[SIM_WHY_SIZE] = "";
    struct sim *sim = NULL;
    int rc = TOOL_OK, ret = sim_create(sc, &sim, why);

    if (ret != 0) {
        tool_error("%s: %s", o->file != NULL ? o->file : "scenario", why);
        return ret == -EINVAL ? TOOL_USAGE : TOOL_FAILED;
    }
    if (with_captures)
        rc = open_captures(&captures, o, sim);
    if (rc == TOOL_OK && (ret = sim_run(sim)) != 0) {
        tool_error("the run could not go on: %s", strerror(-ret));
        rc = TOOL_FAILED;
    }
    *result = *sim_get_result(sim);
    sim_destroy(sim);
    if (close_captures(&captures) != TOOL_OK && rc == TOOL_OK)
        rc = TOOL_FAILED;
    return rc;
}

static int write_json(const struct options *o, const struct sim_result *result)
{
    FILE *f;
    int ret;

    if (o->json == NULL)
        return TOOL_OK;
    f = strcmp(o->json, "-") == 0 ? stdout : fopen(o->json, "w");
    if (f == NULL) {
        tool_error("cannot write '%s': %s", o->json, strerror(errno));
        return TOOL_FAILED;
    }
    ret = sim_result_json(result, f);
    if (f != stdout && fclose(f) != 0)
        ret = -EIO;
    if (ret != 0)
        tool_error("cannot write '%s': %s", o->json, strerror(-ret));
    return ret == 0 ? TOOL_OK : TOOL_FAILED;
}

static void print_cost(const struct sim_result *r)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    printf("cost           %.3f s, %.3f s on the CPU, for %" PRIu64 " events (%" PRIu64 " at a time); %.0f ns of CPU a packet; "
           "%ld MiB resident at most\n",
           r->wall_s, r->cpu_s, r->events, r->peak_events, r->packets == 0 ? 0 : r->cpu_s * 1e9 / (double)r->packets,
           use.ru_maxrss / 1024);
}

static int run_one(const struct options *o, const struct sim_scenario *sc)
{
    struct sim_result r;
    int rc = run(o, sc, true, &r), written;

    if (rc != TOOL_OK)
        return rc;
    if (!o->quiet && (o->json == NULL || strcmp(o->json, "-") != 0)) {
        sim_result_print(&r, stdout);
        print_cost(&r);
    } else {
        for (uint64_t i = 0; i < r.violations && i < SIM_VIOLATIONS_KEPT; i++)
            fprintf(stderr, "%s\n", r.violation[i]);
    }
    written = write_json(o, &r);
    return written != TOOL_OK ? written : r.violations != 0 ? TOOL_UNVERIFIED : TOOL_OK;
}

static int run_seeds(const struct options *o, struct sim_scenario *sc)
{
    uint64_t failed = 0, first_failed = 0, completed = 0, packets = 0;
    struct sim_result r = {0};
    double wall = 0;
    int rc;

    for (uint64_t i = 0; i < o->seeds; i++, sc->seed++) {
        if (o->has_random) {
            sim_scenario_free(sc);
            sim_scenario_random(o->random + i, sc);
        }
        rc = run(o, sc, false, &r);
        if (rc != TOOL_OK)
            return rc;
        completed += r.completed;
        packets += r.packets;
        wall += r.wall_s;
        if (r.violations == 0)
            continue;
        if (failed++ == 0)
            first_failed = o->has_random ? o->random + i : sc->seed;
        printf("seed %" PRIu64 ": %" PRIu64 " violations, the first: %s\n", r.seed, r.violations, r.violation[0]);
        fflush(stdout);
    }
    if (!o->quiet)
        printf("%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " requests completed, %" PRIu64 " packets, %.3f s\n", o->seeds, failed,
               completed, packets, wall);
    rc = write_json(o, &r);
    if (rc != TOOL_OK || failed == 0)
        return rc;
    if (o->pcap != NULL || o->pcap_received != NULL) {
        sc->seed = first_failed;
        if (o->has_random)
            sim_scenario_random(first_failed, sc);
        rc = run(o, sc, true, &r);
    }
    return rc != TOOL_OK ? rc : TOOL_UNVERIFIED;
}

int tool_sim_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = take,
        .args_doc = "FILE",
        .doc = "Runs a network of software NICs in virtual time: topology, faults, workload and seed come from a scenario file.\v"
               "Exit status: 0 every invariant held, 1 violations, 2 bad option or scenario, 3 the run could not be made.",
    };
    struct options o = {.seeds = 1};
    struct sim_scenario sc;
    char why[SIM_WHY_SIZE] = "";
    int rc = TOOL_USAGE;

    if (argp_parse(&argp, argc, argv, 0, NULL, &o))
        return TOOL_USAGE;
    if (o.has_random)
        sim_scenario_random(o.random, &sc);
    else if (sim_scenario_load(o.file, &sc, why) != 0) {
        tool_error("%s", why);
        sim_scenario_free(&sc);
        return TOOL_USAGE;
    }
    if (o.has_seed)
        sc.seed = o.seed;
    if (o.print) {
        sim_scenario_print(&sc, stdout);
        rc = TOOL_OK;
    } else {
        rc = tool_check_file(o.json) != 0 ? TOOL_FAILED : o.seeds == 1 ? run_one(&o, &sc) : run_seeds(&o, &sc);
    }
    sim_scenario_free(&sc);
    return rc;
}
