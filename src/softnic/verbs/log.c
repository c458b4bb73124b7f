/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdaki/softnic.h"

static const char *const names[] = {"off", "error", "warn", "info", "debug"};
static atomic_int level_in_use = SV_LOG_ERROR;
static atomic_ullong refused;
static _Thread_local char last_error[320];

int sv_log_level(const char *name)
{
    for (int i = 0; i <= SV_LOG_DEBUG; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

void sv_log_set_level(enum sv_level level)
{
    atomic_store_explicit(&level_in_use, (int)level, memory_order_relaxed);
}

static void emit(enum sv_level level, const char *text)
{
    char line[400];
    if ((int)level > atomic_load_explicit(&level_in_use, memory_order_relaxed))
        return;
    int n = snprintf(line, sizeof(line), "softnic: %s: %s\n", names[level], text);
    if (n >= (int)sizeof(line))
        n = (int)sizeof(line) - 1;
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* nobody listens: nothing to be done about it */
}

void sv_log(enum sv_level level, const char *format, ...)
{
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    emit(level, text);
}

/*
 * A setting that is wrong is read each time somebody asks for the devices, and told once: those that come to the same
 * words again are for debugging.
 */
static enum sv_level repeated(enum sv_level level, const char *text)
{
    static atomic_ullong told;
    unsigned long long hash = 14695981039346656037ull; /* FNV-1a */

    if (strncmp(text, "SOFTNIC_", 8) != 0)
        return level;
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
    return atomic_exchange_explicit(&told, hash, memory_order_relaxed) == hash ? SV_LOG_DEBUG : level;
}

static int refuse(enum sv_level level, int error, const char *format, va_list args)
{
    vsnprintf(last_error, sizeof(last_error), format, args);
    atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
    emit(repeated(level, last_error), last_error);
    errno = error;
    return error;
}

int sv_refuse(int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(SV_LOG_ERROR, error, format, args);
    va_end(args);
    return error;
}

int sv_refuse_quietly(int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(SV_LOG_INFO, error, format, args);
    va_end(args);
    return error;
}

unsigned long long sv_log_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

const char *softnic_last_error(void)
{
    return last_error;
}
