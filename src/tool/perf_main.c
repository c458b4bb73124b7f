/* SPDX-License-Identifier: Apache-2.0 */
/* `gdaki perf TEST`: picks the test, then hands over. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "perf.h"
#include "tool.h"

struct choice {
    int index;
};

static error_t choose(int key, char *arg, struct argp_state *state)
{
    struct choice *choice = state->input;
    char why[PARSE_WHY_SIZE];
    int test;

    switch (key) {
    case ARGP_KEY_ARG:
        if (parse_word(arg, perf_tests, &test, why))
            argp_error(state, "test %s", why);
        choice->index = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a test is missing: put-bw, put-lat, write-bw, write-lat, get-bw, signal-lat or post-rate");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int tool_perf_main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = choose,
        .args_doc = "TEST [OPTION...] [HOST]",
        .doc = "Performance tests whose data path is a kernel.\v"
               "Tests: put-bw, put-lat, write-bw, write-lat, get-bw, signal-lat, post-rate.\n"
               "`gdaki perf TEST --help` lists a test's options.",
    };
    static char name[64];
    struct choice choice = {0};
    struct perf_options options;
    char why[PARSE_WHY_SIZE];
    int test = 0, rc;

    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice))
        return TOOL_USAGE;
    snprintf(name, sizeof(name), "gdaki perf %s", argv[choice.index]);
    parse_word(argv[choice.index], perf_tests, &test, why);
    argv[choice.index] = name; /* what argp calls the program in its messages */
    rc = perf_options_parse(test, argc - choice.index, argv + choice.index, &options);
    if (rc)
        return rc;
    return options.plan.test == PERF_POST_RATE ? perf_post_rate(&options) : perf_run(&options);
}
