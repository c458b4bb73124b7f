/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, nvcc's as far as it has a meaning here. */
#ifndef GDAKI_NVCC_OPTIONS_H
#define GDAKI_NVCC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    const char **item;
    size_t count, room;
};

enum mode { MODE_LINK, MODE_COMPILE, MODE_PREPROCESS, MODE_DEPENDENCIES };

struct options {
    enum mode mode;
    const char *output, *language, *compiler, *dep_file, *dep_target;
    bool shared, verbose, dry_run, keep, lint, lint_only, help, version, dependencies;
    struct list preprocess; /* -I -D -U -include ... */
    struct list compile;    /* -O -g -std -Xcompiler ... */
    struct list link;       /* -L -l -Xlinker ... and other inputs, in order */
    struct list inputs;
    bool failed;
};

/* False after a message on stderr that names what is wrong. */
bool options_parse(struct options *options, int argc, char **argv);
void options_free(struct options *options);
/* Ends the program when memory is out: a compiler driver has nothing to save. */
void list_add(struct list *list, const char *item);
/* Formatted text that lives until text_free_all. */
const char *text(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
void text_free_all(void);

#endif
