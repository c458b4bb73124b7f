/* SPDX-License-Identifier: Apache-2.0 */
/* The program `softnic`: runs an unmodified program with softnic as its RDMA device. */
#ifndef SOFTNIC_RUN_H
#define SOFTNIC_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* As env, nohup and timeout: what went wrong before the program could start. */
enum { RUN_OK = 0, RUN_FAILED = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

struct run_options {
    const char *devices, *link, *names, *gid, *wire, *faults, *fault_seed, *seed, *pcap, *log;
    bool sysfs, cuda, peermem;
    bool verbose, check;
    char **program; /* argv of what is to be run, ends in NULL */
};

/* Fills *out. Bad options end the process with a message and RUN_FAILED. */
void run_options_parse(int argc, char **argv, struct run_options *out);

/* Our own files. Empty: not there. */
struct run_paths {
    char libraries[PATH_MAX]; /* folder of the drop-in libraries */
    char preload[PATH_MAX];   /* presents sysfs */
    char cuda[PATH_MAX];      /* stands before libcuda.so.1 */
    char driver[PATH_MAX];    /* the machine's own libcuda.so.1 */
};

/* Beside the executable, as built or as installed. 0 or RUN_FAILED with a message. */
int run_paths_find(struct run_paths *out);

/* What the program is, as far as it matters to somebody who comes with LD_PRELOAD. */
enum run_kind {
    RUN_DYNAMIC,
    RUN_LIBRARY, /* nothing to execute; --check looks into it */
    RUN_STATIC,
    RUN_SETUID,        /* the loader ignores us */
    RUN_OTHER_CLASS,   /* 32 bits */
    RUN_OTHER_MACHINE, /* for an emulator */
    RUN_UNKNOWN        /* neither ELF nor a script */
};

struct run_target {
    char path[PATH_MAX];        /* what exec gets */
    char interpreter[PATH_MAX]; /* of a script, else empty; kind is then the interpreter's */
    enum run_kind kind;
    bool rpath; /* DT_RPATH without DT_RUNPATH: goes before LD_LIBRARY_PATH */
};

/*
 * Finds `name` as the shell would; only to look into it, a file that cannot be executed will do, too. 0, RUN_NOT_FOUND or
 * RUN_CANNOT_EXECUTE with a message.
 */
int run_target_find(const char *name, bool only_look, struct run_target *out);

/* Why softnic cannot do everything for this kind, or NULL. */
const char *run_kind_says(enum run_kind kind);

/* Sets SOFTNIC_*, LD_LIBRARY_PATH and LD_PRELOAD of this process for the program. 0 or RUN_FAILED with a message. */
int run_environment_set(const struct run_options *options, const struct run_paths *paths);

/* `softnic run --check`: what the program asks for, and what softnic answers. */
int run_check(const struct run_target *target, const struct run_paths *paths, bool verbose);

void run_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* to stderr, a line */
bool run_said(void); /* did standard output take all of it? If not, that is said */

#endif
