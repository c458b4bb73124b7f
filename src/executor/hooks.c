/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of the NIC, doorbell stores, sleeping, and the ways a kernel ends early. */
#include "executor/exec.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "executor/env.h"
#include "executor/store_buffer.h"

#define SPIN_TURNS 200u /* turns without any work before the processor is offered to others */

struct hook {
    void *fn; /* published last */
    void *arg;
};

static struct hook idle, doorbell;

static void set(struct hook *hook, void *fn, void *arg)
{
    __atomic_store_n(&hook->fn, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&hook->arg, arg, __ATOMIC_SEQ_CST);
    __atomic_store_n(&hook->fn, fn, __ATOMIC_RELEASE);
}

void gdaki_cpu_set_idle_hook(int (*fn)(void *arg), void *arg)
{
    set(&idle, (void *)(uintptr_t)fn, arg);
}

void gdaki_cpu_set_doorbell_hook(void (*fn)(void *arg, void *reg), void *arg)
{
    set(&doorbell, (void *)(uintptr_t)fn, arg);
}

int ex_idle_hook(void)
{
    int (*fn)(void *) = (int (*)(void *))(uintptr_t)__atomic_load_n(&idle.fn, __ATOMIC_ACQUIRE);

    return fn ? fn(__atomic_load_n(&idle.arg, __ATOMIC_RELAXED)) : 0;
}

void ex_idle_turn(void *arg)
{
    struct ex_worker *worker = arg;

    if (ex_idle_hook() > 0) {
        worker->idle_turns = 0;
    } else if (++worker->idle_turns >= SPIN_TURNS) {
        worker->idle_turns = SPIN_TURNS - SPIN_TURNS / 8;
        sched_yield();
    }
}

void gdaki_cpu_store_mmio(void *ptr, uint64_t value)
{
    void (*fn)(void *, void *) = (void (*)(void *, void *))(uintptr_t)__atomic_load_n(&doorbell.fn, __ATOMIC_ACQUIRE);
    struct ex_worker *worker = ex_self;

    if (gdaki_cpu_tls.buffered)
        ex_buffer_flush_bytes(ptr, sizeof(value));
    __atomic_store_n((uint64_t *)ptr, value, __ATOMIC_RELAXED);
    if (!fn)
        return;
    if (worker)
        worker->no_preempt = true;
    fn(__atomic_load_n(&doorbell.arg, __ATOMIC_RELAXED), ptr);
    if (worker)
        worker->no_preempt = false;
}

uint64_t gdaki_cpu_globaltimer(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void gdaki_cpu_nanosleep(unsigned ns)
{
    uint64_t end = ex_now_ns() + ns;

    do
        gdaki_cpu_relax();
    while (ns >= 1000 && ex_now_ns() < end);
}

static void fail_here(int error, const char *what, const char *detail, const char *file, int line)
{
    const struct ex_thread *thread = ex_current();
    const struct gdaki_cpu_dim *b = &thread->block->view.block_idx, *t = &thread->view.thread_idx;

    if (ex_launch_fail(thread->block->launch, error))
        ex_report("%s:%d: kernel %s: block (%u,%u,%u), thread (%u,%u,%u): %s%s", file ? file : "?", line,
                  thread->block->launch->name, b->x, b->y, b->z, t->x, t->y, t->z, what, detail);
}

void gdaki_cpu_trap(const char *file, int line)
{
    if (!gdaki_cpu_tls.kernel)
        __builtin_trap();
    fail_here(715 /* cudaErrorIllegalInstruction */, "__trap", "", file, line);
    ex_abandon();
}

void gdaki_cpu_assert_fail(const char *expression, const char *file, int line)
{
    if (!gdaki_cpu_tls.kernel) {
        fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
        __builtin_trap();
    }
    fail_here(710 /* cudaErrorAssert */, "assertion failed: ", expression, file, line);
    ex_abandon();
}

static uint64_t checks;

uint64_t gdaki_cpu_check_count(void)
{
    return __atomic_load_n(&checks, __ATOMIC_ACQUIRE);
}

void gdaki_cpu_check_report(const char *what, ...)
{
    char text[512];
    va_list args;

    if (ex_env()->check == EX_CHECK_OFF)
        return;
    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    __atomic_fetch_add(&checks, 1, __ATOMIC_ACQ_REL);
    if (!gdaki_cpu_tls.kernel) {
        ex_report("check: %s", text);
        return;
    }
    const struct ex_thread *thread = ex_current();
    const struct gdaki_cpu_dim *b = &thread->block->view.block_idx, *t = &thread->view.thread_idx;

    ex_report("check: kernel %s: block (%u,%u,%u), thread (%u,%u,%u): %s", thread->block->launch->name, b->x, b->y, b->z,
              t->x, t->y, t->z, text);
    if (ex_env()->check != EX_CHECK_FATAL)
        return;
    ex_stop(710 /* cudaErrorAssert */);
}
