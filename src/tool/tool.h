/* SPDX-License-Identifier: Apache-2.0 */
/* What the sub-commands of `gdaki` share: exit codes and how problems are told. */
#ifndef GDAKI_TOOL_H
#define GDAKI_TOOL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit codes, documented in docs/gdaki-tool.md. */
enum tool_exit {
    TOOL_OK = 0,
    TOOL_UNVERIFIED = 1, /* the run ended, but bytes at the receiver were not what was sent */
    TOOL_USAGE = 2,      /* wrong option or value, unknown device: nothing was started */
    TOOL_FAILED = 3,     /* the run could not be made or did not end: NIC, GPU, peer, time-out */
};

/* One line on stderr, "gdaki: ..." */
void tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tool_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tries a file that will be written, and leaves it as it was; NULL and "-" are none. 0, or a negative errno that has been told. */
int tool_check_file(const char *path);

/* A sub-command gets argv with its own name at 0; `name` is what usage texts call it ("gdaki perf put-bw"). */
int tool_info_main(int argc, char **argv);
int tool_perf_main(int argc, char **argv);
int tool_explain_main(int argc, char **argv);
int tool_sim_main(int argc, char **argv);

#endif
