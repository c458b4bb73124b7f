/* SPDX-License-Identifier: Apache-2.0 */
/* gdaki: one program with sub-commands. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"
#include "tool.h"

#ifndef GDAKI_VERSION
#define GDAKI_VERSION "unknown"
#endif

const char *argp_program_version = "gdaki " GDAKI_VERSION;

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"info", tool_info_main}, {"perf", tool_perf_main}, {"explain", tool_explain_main},
                {"sim", tool_sim_main}};

struct choice {
    const struct command *command;
    int index; /* of the command's name in argv */
};

static error_t choose(int key, char *arg, struct argp_state *state)
{
    struct choice *choice = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
            if (!strcmp(arg, commands[i].name))
                choice->command = &commands[i];
        }
        if (!choice->command)
            argp_error(state, "'%s' is no command: expected info, perf, explain or sim", arg);
        choice->index = state->next - 1;
        state->next = state->argc; /* the rest belongs to the command */
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a command is missing: info, perf, explain or sim");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run_command(const struct command *command, int argc, char **argv)
{
    static char name[64];

    snprintf(name, sizeof(name), "gdaki %s", command->name);
    argv[0] = name; /* what argp calls the program in its messages */
    return command->run(argc, argv);
}

/* A descriptor below 3 that is closed would become a socket or a file of ours, and text would be printed into it. */
static void occupy_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++) {
        /* The wrong way round, so that printing to what was closed fails and is seen. */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            exit(TOOL_FAILED);
    }
}

/* Results that were printed but did not get out are no success. */
static int check_output(int rc)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return rc;
    tool_error("cannot write to standard output: %s", errno ? strerror(errno) : "an earlier write failed");
    return rc == TOOL_OK ? TOOL_FAILED : rc;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = choose,
        .args_doc = "COMMAND [OPTION...]",
        .doc = "GPU-initiated networking: what this machine offers, and how fast it is.\v"
               "Commands:\n"
               "  info    GPUs, NICs, back-ends in use, usable doorbell modes, environment\n"
               "  perf    performance tests: put-bw, put-lat, write-bw, write-lat, get-bw, signal-lat, post-rate\n"
               "  explain what an error completion's syndromes mean\n"
               "  sim     a network of software NICs in virtual time, under a seed\n\n"
               "`gdaki COMMAND --help` lists a command's options.",
    };
    struct choice choice = {0};

    occupy_standard_descriptors();
    argp_err_exit_status = TOOL_USAGE;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice))
        return TOOL_USAGE;
    return check_output(run_command(choice.command, argc - choice.index, argv + choice.index));
}
