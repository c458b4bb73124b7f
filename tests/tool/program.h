/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program under test. */
#ifndef GDAKI_TESTS_TOOL_PROGRAM_H
#define GDAKI_TESTS_TOOL_PROGRAM_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct outcome {
    int status; /* exit status, or 128 + signal */
    char *text; /* stdout and stderr, to be freed */
};

static const char *program;

/* False, with the reason as a skip, if CTest did not say where the program is. */
static bool program_find(void)
{
    program = getenv("GDAKI_TEST_PROGRAM");
    if (!program)
        printf("SKIP: GDAKI_TEST_PROGRAM is not set\n");
    return program != NULL;
}

static struct outcome command_run(const char *what, const char *arguments)
{
    struct outcome o = {.status = -1};
    char command[1024];
    size_t size = 0, used = 0;
    FILE *pipe;
    int status;

    snprintf(command, sizeof(command), "exec %s %s 2>&1", what, arguments);
    pipe = popen(command, "re");
    do {
        size = used + 4096;
        o.text = realloc(o.text, size + 1);
        used += fread(o.text + used, 1, size - used, pipe);
    } while (used == size || !feof(pipe));
    o.text[used] = 0;
    status = pclose(pipe);
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return o;
}

static inline struct outcome program_run(const char *arguments)
{
    return command_run(program, arguments);
}

#endif
