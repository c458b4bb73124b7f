/* SPDX-License-Identifier: Apache-2.0 */
#include "host/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gdaki/info.h"
#include "host/env.h"

#define LOG_LEVEL_UNREAD (-1)
#define LOG_LEVEL_MAX    8 /* one above LOG_DEBUG is accepted too */

static atomic_int chosen_level = LOG_LEVEL_UNREAD;
static _Thread_local char last_error[700]; /* kept whether it is printed or not */

const char *gdaki_host_last_error(void)
{
    return last_error;
}

static int level_from_text(const char *text)
{
    char *end;
    long value;

    if (text == NULL || text[0] == '\0')
        return LOG_EMERG;
    value = strtol(text, &end, 10);
    if (*end == '\0' && value >= 0 && value <= LOG_LEVEL_MAX)
        return (int)value;
    fprintf(stderr, "gdaki: DOCA_GPUNETIO_LOG=\"%s\" is not an integer of 0..%d; errors only are printed\n", text,
            LOG_LEVEL_MAX);
    return LOG_ERR;
}

static int level_limit(void)
{
    int level = atomic_load_explicit(&chosen_level, memory_order_relaxed);
    int unread = LOG_LEVEL_UNREAD;

    if (level != LOG_LEVEL_UNREAD)
        return level;
    level = level_from_text(env_get("DOCA_GPUNETIO_LOG"));
    return atomic_compare_exchange_strong(&chosen_level, &unread, level) ? level : unread;
}

void doca_gpu_log_print(int level, const char *file, int line, const char *func, const char *fmt, ...)
{
    static const char *const names[] = {"EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG"};
    char when[32], message[700];
    struct timespec now;
    const char *base;
    va_list args;

    if (level < 0 || (level > level_limit() && level > LOG_ERR))
        return;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (level <= LOG_ERR)
        snprintf(last_error, sizeof(last_error), "%s", message);
    if (level > level_limit())
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ctime_r(&now.tv_sec, when) == NULL)
        strcpy(when, "?");
    when[strcspn(when, "\n")] = '\0';
    base = strrchr(file, '/');
    /* One call, so that lines of several threads do not mix. */
    fprintf(stderr, "%s [%s] [%s]: %d: %s(): %s\n", when, level < 8 ? names[level] : names[7],
            base != NULL ? base + 1 : file, line, func, message);
}

/* Objects compiled against the original's C++ declaration refer to its mangled name. */
void gdaki_log_print_cxx(int level, const char *file, int line, const char *func, const char *fmt,
                         ...) __asm__("_Z18doca_gpu_log_printiPKciS0_S0_z")
    __attribute__((alias("doca_gpu_log_print"), visibility("default")));

const char *host_error_name(doca_error_t code)
{
    static const char *const names[] = {
        "SUCCESS",       "UNKNOWN",        "NOT_PERMITTED",    "IN_USE",         "NOT_SUPPORTED",
        "AGAIN",         "INVALID_VALUE",  "NO_MEMORY",        "INITIALIZATION", "TIME_OUT",
        "SHUTDOWN",      "CONNECTION_RESET", "CONNECTION_ABORTED", "CONNECTION_INPROGRESS", "NOT_CONNECTED",
        "NO_LOCK",       "NOT_FOUND",      "IO_FAILED",        "BAD_STATE",      "UNSUPPORTED_VERSION",
        "OPERATING_SYSTEM", "DRIVER",      "UNEXPECTED",       "ALREADY_EXIST",  "FULL",
        "EMPTY",         "IN_PROGRESS",    "TOO_BIG",          "AUTHENTICATION", "BAD_CONFIG",
        "SKIPPED",       "DEVICE_FATAL_ERROR",
    };

    return (unsigned)code < sizeof(names) / sizeof(names[0]) ? names[code] : "not a doca_error_t";
}
