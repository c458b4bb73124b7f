/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/env.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/exec.h"

#define env ex_env_values
struct ex_env ex_env_values;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_number(const char *name, uint64_t *out, uint64_t low, uint64_t high)
{
    const char *text = getenv(name);
    char *end;
    unsigned long long value;

    if (!text || !*text)
        return;
    errno = 0;
    value = strtoull(text, &end, 0);
    if (errno || *end || strchr(text, '-') || value < low || value > high)
        fprintf(stderr, "gdaki-cpu: %s=%s: want a number from %llu to %llu; using %llu\n", name, text,
                (unsigned long long)low, (unsigned long long)high, (unsigned long long)*out);
    else
        *out = value;
}

static void read_check(void)
{
    const char *text = getenv("GDAKI_CPU_CHECK");

    if (!text || !*text || !strcmp(text, "report"))
        return;
    if (!strcmp(text, "off"))
        env.check = EX_CHECK_OFF;
    else if (!strcmp(text, "fatal"))
        env.check = EX_CHECK_FATAL;
    else
        fprintf(stderr, "gdaki-cpu: GDAKI_CPU_CHECK=%s: want off, report or fatal; using report\n", text);
}

static void read_all(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    env.workers = cores > 0 ? (uint64_t)cores : 1;
    env.stack_kb = 64;
#if defined(EX_ASAN) || defined(EX_TSAN)
    env.stack_kb = 256;
#endif
    env.preempt_us = 1000;
    env.check = EX_CHECK_REPORT;
    read_number("GDAKI_CPU_WORKERS", &env.workers, 1, 1024);
    read_number("GDAKI_CPU_STACK_KB", &env.stack_kb, 16, 65536);
    read_number("GDAKI_CPU_SEED", &env.seed, 0, UINT64_MAX);
    read_number("GDAKI_CPU_SPLIT", &env.split, 0, 1);
    read_number("GDAKI_CPU_STORE_BUFFER", &env.store_buffer, 0, 1);
    read_number("GDAKI_CPU_TIMEOUT_MS", &env.timeout_ms, 0, UINT32_MAX);
    read_number("GDAKI_CPU_PREEMPT_US", &env.preempt_us, 0, 10000000);
    read_check();
    if (env.store_buffer && !env.seed)
        env.seed = 1;
#ifdef EX_TSAN
    env.preempt_us = 0; /* TSan delivers signals late, inside its own calls */
#endif
}

const struct ex_env *ex_env(void)
{
    pthread_once(&once, read_all);
    return &env;
}

void gdaki_cpu_configure(int store_buffer, int split, uint64_t seed)
{
    ex_env();
    pthread_mutex_lock(&ex_pool.lock);
    env.seed = store_buffer && !seed ? 1 : seed;
    env.store_buffer = store_buffer != 0;
    env.split = split != 0;
    pthread_mutex_unlock(&ex_pool.lock);
}

void gdaki_cpu_set_timeout_ms(uint64_t ms)
{
    ex_env();
    pthread_mutex_lock(&ex_pool.lock);
    env.timeout_ms = ms;
    pthread_mutex_unlock(&ex_pool.lock);
}

const struct gdaki_cpu_env *gdaki_cpu_env_table(size_t *count)
{
    static const struct gdaki_cpu_env table[] = {
#define EX_ENV_ROW(field, name, value, help) {name, value, help},
        EX_ENV_TABLE(EX_ENV_ROW)
#undef EX_ENV_ROW
    };

    *count = sizeof(table) / sizeof(table[0]);
    return table;
}
