/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on stderr: what went wrong, and for a stuck kernel each thread's place, equal neighbours together. */
#define _GNU_SOURCE 1
#include "executor/exec.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_SIZE 8192u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[REPORT_SIZE];

struct text {
    char data[REPORT_SIZE];
    size_t used;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    va_list args;
    int written;

    va_start(args, format);
    written = vsnprintf(text->data + text->used, sizeof(text->data) - text->used, format, args);
    va_end(args);
    if (written > 0)
        text->used += (size_t)written;
    if (text->used >= sizeof(text->data))
        text->used = sizeof(text->data) - 1;
}

static void publish(const struct text *text)
{
    pthread_mutex_lock(&lock);
    memcpy(last, text->data, text->used + 1);
    pthread_mutex_unlock(&lock);
    fprintf(stderr, "gdaki-cpu: %s\n", text->data);
}

/* A copy for each thread that asks, since reports go on; not a thread_local array, which dlopen has little room for. */
static pthread_key_t copies;
static pthread_once_t copies_once = PTHREAD_ONCE_INIT;

static void make_copies_key(void)
{
    pthread_key_create(&copies, free);
}

const char *gdaki_cpu_last_report(void)
{
    char *copy;

    pthread_once(&copies_once, make_copies_key);
    copy = pthread_getspecific(copies);
    if (!copy) {
        copy = malloc(REPORT_SIZE);
        if (!copy || pthread_setspecific(copies, copy)) {
            free(copy);
            return "";
        }
    }
    pthread_mutex_lock(&lock);
    memcpy(copy, last, REPORT_SIZE);
    pthread_mutex_unlock(&lock);
    return copy;
}

void ex_report(const char *format, ...)
{
    struct text text = {.used = 0};
    va_list args;

    va_start(args, format);
    vsnprintf(text.data, sizeof(text.data), format, args);
    va_end(args);
    text.used = strlen(text.data);
    publish(&text);
}

static void add_place(struct text *text, const struct ex_thread *thread)
{
    const struct ex_place *place = &thread->place;
    Dl_info info;

    if (thread->state == EX_IN_BARRIER)
        add(text, "waits at barrier %u (%s)", thread->barrier, place->what);
    else if (thread->state == EX_READY)
        add(text, "%s", place->what);
    else
        add(text, "waits in %s", place->what);
    if (place->file)
        add(text, " at %s:%d", place->file, place->line);
    else if (place->address && dladdr(place->address, &info))
        add(text, " at %s+0x%lx", info.dli_sname ? info.dli_sname : info.dli_fname,
            (unsigned long)((const char *)place->address -
                            (const char *)(info.dli_sname ? info.dli_saddr : info.dli_fbase)));
}

static bool same_place(const struct ex_thread *a, const struct ex_thread *b)
{
    return a->state == b->state && a->barrier == b->barrier && !memcmp(&a->place, &b->place, sizeof(a->place));
}

static void add_threads(struct text *text, const struct ex_block *block)
{
    for (unsigned i = 0, end; i < block->nthreads; i = end) {
        const struct ex_thread *first = &block->threads[i];
        const struct gdaki_cpu_dim *a = &first->view.thread_idx, *z;

        for (end = i + 1; end < block->nthreads && same_place(first, &block->threads[end]);)
            end++;
        if (first->state == EX_GONE)
            continue;
        z = &block->threads[end - 1].view.thread_idx;
        add(text, "\n  thread (%u,%u,%u)", a->x, a->y, a->z);
        if (end > i + 1)
            add(text, " to (%u,%u,%u)", z->x, z->y, z->z);
        add(text, " ");
        add_place(text, first);
    }
}

static void report_block(const struct ex_block *block, const char *what)
{
    const struct gdaki_cpu_dim *b = &block->view.block_idx;
    struct text text = {.used = 0};

    add(&text, "kernel %s %s: block (%u,%u,%u), %u of %u threads left the kernel", block->launch->name, what, b->x, b->y, b->z,
        block->nthreads - block->live, block->nthreads);
    add_threads(&text, block);
    publish(&text);
}

void ex_report_deadlock(struct ex_block *block)
{
    report_block(block, "is deadlocked");
}

void ex_report_runaway(struct ex_block *block)
{
    report_block(block, "runs longer than GDAKI_CPU_TIMEOUT_MS");
}
