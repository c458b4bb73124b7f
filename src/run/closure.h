/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries that the loader would bring in for a program, found by its rules (ld.so(8)) without running anything; behind
 * them the plugins that these open by convention (plugins.h), with what they bring in.
 */
#ifndef SOFTNIC_RUN_CLOSURE_H
#define SOFTNIC_RUN_CLOSURE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { CLOSURE_MOST = 512, CLOSURE_NAME = 256 };

struct closure_object {
    char name[CLOSURE_NAME]; /* as it was asked for */
    char path[PATH_MAX];     /* empty: not found */
    size_t loader;           /* index of who asked first; its own for the program */
    bool ours;               /* lies in the folder of the drop-in libraries */
    bool plugin;             /* opened by `loader` */
    bool optional;           /* a plugin, or only plugins need it: the program starts without it */
};

struct closure {
    struct closure_object *objects;
    size_t count;
    bool complete; /* false: more than CLOSURE_MOST */
};

/* `first`: folder that goes before all others, as in LD_LIBRARY_PATH. 0 or -ENOMEM. */
int closure_build(const char *program, const char *first, struct closure *out);
void closure_free(struct closure *closure);

#endif
