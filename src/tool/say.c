/* SPDX-License-Identifier: Apache-2.0 */
#include "tool.h"

#include <stdio.h>

static void say(const char *format, va_list args)
{
    char text[1400];

    /* One write for one line: two processes of a pair share stderr. */
    vsnprintf(text, sizeof(text), format, args);
    fprintf(stderr, "gdaki: %s\n", text);
}

void tool_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

void tool_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}
