/* SPDX-License-Identifier: Apache-2.0 */
#include "tool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1400 };

static void say(const char *text)
{
    /* One write for one line: two processes of a pair share stderr. */
    fprintf(stderr, "gdaki: %s\n", text);
}

/* What both ends of one process (--local) find wrong in its options is said once. */
void tool_error(const char *format, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char last[TEXT_SIZE];
    char text[TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    if (strcmp(last, text) != 0) {
        say(text);
        memcpy(last, text, strlen(text) + 1);
    }
    pthread_mutex_unlock(&lock);
}

void tool_note(const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    say(text);
}
