/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#ifndef SOFTNIC_VERSION
#define SOFTNIC_VERSION "unknown"
#endif

const char *argp_program_version = "softnic " SOFTNIC_VERSION;

enum { KEY_LOG = 256, KEY_SEED, KEY_FAULT_SEED, KEY_NO_SYSFS, KEY_NO_CUDA, KEY_PEERMEM, KEY_CHECK };

static const struct argp_option table[] = {
    {"devices", 'd', "N", 0, "number of devices (default 1)", 1},
    {"names", 'n', "NAMES", 0, "names of the devices: a prefix or a list with commas (default mlx5_)", 1},
    {"link", 'l', "LAYER", 0, "link layer: ethernet (RoCEv2, the default) or infiniband", 1},
    {"gid", 'g', "ADDRESS[,...]", 0, "addresses of the devices in place of 127.x.y.z, or of the wire", 1},
    {"wire", 'w', "WIRE", 0, "how others are reached: shm (default), none, udp:ADDRESS, packet:INTERFACE, ... (docs/wires.md)",
     1},
    {"faults", 'f', "PLAN", 0, "what goes wrong on purpose, such as drop:rate=0.01 (docs/faults.md)", 2},
    {"fault-seed", KEY_FAULT_SEED, "N", 0, "seed of the plan's chances", 2},
    {"seed", KEY_SEED, "N", 0, "seed of keys and queue numbers", 2},
    {"pcap", 'p', "FILE", 0, "capture all packets into FILE; further processes take FILE with a number", 2},
    {"trace", 't', NULL, 0, "say on stderr what is refused, probed and configured: --log debug", 2},
    {"log", KEY_LOG, "LEVEL", 0, "off, error (default), warn, info or debug", 2},
    {"no-sysfs", KEY_NO_SYSFS, NULL, 0, "do not present /sys/class/infiniband", 3},
    {"no-cuda", KEY_NO_CUDA, NULL, 0, "do not stand before libcuda.so.1", 3},
    {"peermem", KEY_PEERMEM, NULL, 0, "present nvidia_peermem's files, too", 3},
    {"check", KEY_CHECK, NULL, 0, "run nothing: tell what PROGRAM, and libraries named behind it, will ask for, and what softnic answers", 4},
    {"verbose", 'v', NULL, 0, "say what is replaced", 4},
    {0}};

static error_t take(int key, char *arg, struct argp_state *state)
{
    struct run_options *o = state->input;
    switch (key) {
    case 'd': o->devices = arg; return 0;
    case 'n': o->names = arg; return 0;
    case 'g': o->gid = arg; return 0;
    case 'w': o->wire = arg; return 0;
    case 'f': o->faults = arg; return 0;
    case KEY_FAULT_SEED: o->fault_seed = arg; return 0;
    case KEY_SEED: o->seed = arg; return 0;
    case 'p': o->pcap = arg; return 0;
    case 't': o->log = "debug"; return 0;
    case KEY_LOG: o->log = arg; return 0;
    case KEY_NO_SYSFS: o->sysfs = false; return 0;
    case KEY_NO_CUDA: o->cuda = false; return 0;
    case KEY_PEERMEM: o->peermem = true; return 0;
    case KEY_CHECK: o->check = true; return 0;
    case 'v': o->verbose = true; return 0;
    case 'l':
        if (!strcmp(arg, "ethernet") || !strcmp(arg, "eth"))
            o->link = "eth";
        else if (!strcmp(arg, "infiniband") || !strcmp(arg, "ib"))
            o->link = "ib";
        else
            argp_error(state, "--link %s: expected ethernet or infiniband", arg);
        return 0;
    case ARGP_KEY_ARG:
        o->program = &state->argv[state->next - 1];
        state->next = state->argc; /* the rest belongs to the program */
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a program is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void run_options_parse(int argc, char **argv, struct run_options *out)
{
    static char name[] = "softnic run";
    static const struct argp argp = {
        .options = table,
        .parser = take,
        .args_doc = "[--] PROGRAM [ARGUMENT...]",
        .doc = "Runs PROGRAM with software ConnectX NICs as its RDMA devices: no root, no kernel module, no rebuild.\v"
               "Options become SOFTNIC_* variables of the program's environment (docs/environment.md); variables that are "
               "set already keep their values where no option is given. The exit status is the program's own; 125: "
               "softnic failed, 126: PROGRAM cannot be executed, 127: it was not found.",
    };
    *out = (struct run_options){.sysfs = true, .cuda = true};
    argv[0] = name; /* what argp calls the program in its messages */
    argp_err_exit_status = RUN_FAILED;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, out))
        _exit(RUN_FAILED);
}

void run_say(const char *format, ...)
{
    char line[PATH_MAX + 512] = "softnic run: ";
    size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
    va_end(args);
    used = n < 0 ? used : used + (size_t)n < sizeof(line) - 2 ? used + (size_t)n : sizeof(line) - 2;
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        return; /* nobody listens */
}

bool run_said(void)
{
    if (!fflush(stdout) && !ferror(stdout))
        return true;
    run_say("cannot write to standard output: %s", strerror(errno));
    return false;
}
