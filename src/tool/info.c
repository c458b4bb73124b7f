/* SPDX-License-Identifier: Apache-2.0 */
#include "info.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "endpoint.h"
#include "tool.h"

enum { OPT_JSON = 256, OPT_ENV, OPT_NIC, OPT_GPU_BACKEND };

struct info_options {
    bool json, env;
    struct perf_options choice; /* back-ends only */
};

static const struct argp_option option_table[] = {
    {"json", OPT_JSON, 0, 0, "Print JSON", 0},
    {"env", OPT_ENV, 0, 0, "Print the environment variables only", 0},
    {"gpu-backend", OPT_GPU_BACKEND, "auto|cuda|cpu", 0, "GPU back-end (GDAKI_GPU, else auto)", 0},
    {"nic", OPT_NIC, "auto|rdma-core|softnic", 0, "NIC back-end (GDAKI_NIC, else auto)", 0},
    {0, 0, 0, 0, 0, 0},
};

static void check_word(struct argp_state *state, const char *option, const char *text, const struct parse_word *table)
{
    char why[PARSE_WHY_SIZE];
    int value;

    if (parse_word(text, table, &value, why))
        argp_error(state, "%s: %s", option, why);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    static const struct parse_word gpus[] = {{"auto", 0}, {"cuda", 1}, {"cpu", 2}, {NULL, 0}};
    static const struct parse_word nics[] = {{"auto", 0}, {"rdma-core", 1}, {"softnic", 2}, {NULL, 0}};
    struct info_options *o = state->input;

    switch (key) {
    case OPT_JSON: o->json = true; return 0;
    case OPT_ENV: o->env = true; return 0;
    case OPT_NIC:
        check_word(state, "--nic", arg, nics);
        o->choice.nic = arg;
        return 0;
    case OPT_GPU_BACKEND:
        check_word(state, "--gpu-backend", arg, gpus);
        o->choice.gpu_backend = arg;
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "'%s': info takes no arguments", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static json_t *gather(const struct info_options *o)
{
    json_t *root = json_object();

    if (!root)
        return NULL;
    json_object_set_new(root, "environment", info_environment());
    if (o->env)
        return root;
    json_object_set_new(root, "choices", info_choices());
    json_object_set_new(root, "gpus", info_gpus());
    json_object_set_new(root, "nics", info_nics());
    json_object_set_new(root, "doorbells", info_doorbells());
    return root;
}

int tool_info_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .doc = "GPUs, NICs, back-ends in use and why, usable doorbell modes, queue memory, environment variables.",
    };
    struct info_options options;
    json_t *root;
    int rc = TOOL_OK;

    memset(&options, 0, sizeof(options));
    if (argp_parse(&argp, argc, argv, 0, NULL, &options))
        return TOOL_USAGE;
    endpoint_environment(&options.choice);
    root = gather(&options);
    if (!root)
        return TOOL_FAILED;
    if (options.json)
        rc = json_dumpf(root, stdout, JSON_INDENT(2)) || fputc('\n', stdout) == EOF ? TOOL_FAILED : TOOL_OK;
    else
        info_print(root, stdout);
    json_decref(root);
    return rc;
}
