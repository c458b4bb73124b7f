/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: a thread that looks at the workers once a period while kernels run. A worker that has not switched since the
 * last look spins without a call to give way at, and gets a signal; the handler turns to another fiber, but only when the
 * interrupted instruction lies in the module that holds the kernel (never in libc, the executor, or a hook). Well-behaved
 * kernels are never interrupted. The monitor also asks workers with several blocks to turn to the next one, and finds
 * kernels that run longer than GDAKI_CPU_TIMEOUT_MS.
 */
#include "executor/exec.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "executor/env.h"

#define PREEMPT_SIGNAL SIGURG /* ignored by default, so a stray one is harmless */
#define SEEDED_PATIENCE 20u   /* a preemption spoils what a seed promises: only when it must be */
#define FAST_PERIOD_US 50u    /* while preemption is what moves a kernel on */

static uintptr_t interrupted_pc(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    uintptr_t pc = interrupted_pc(context);
    struct ex_worker *worker = ex_self;
    struct ex_thread *thread;

    (void)signal;
    (void)info;
    if (!worker || !gdaki_cpu_tls.kernel || worker->no_preempt)
        return;
    /* The executor itself lies elsewhere, so past this test no switch is under way and the current thread is whole. */
    if (pc < worker->text_low || pc >= worker->text_high)
        return;
    thread = ex_current();
    thread->place.what = "running (interrupted here)";
    thread->place.file = NULL;
    thread->place.address = (const void *)pc;
    worker->asked += EX_ASKED_PREEMPTED;
    ex_give_way(thread, EX_SPINNING);
    errno = saved_errno;
}

/* Processor time, so that a worker which the system did not run is not taken for one that spins. */
static uint64_t cpu_ns(const struct ex_worker *worker)
{
    clockid_t clock;
    struct timespec time;

    if (pthread_getcpuclockid(worker->thread, &clock) || clock_gettime(clock, &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Once a thread had to be interrupted the next ones soon are, for there may be a thousand of them. */
static bool interrupt_spinner(struct ex_worker *worker, uint64_t progress)
{
    uint64_t used = cpu_ns(worker), limit = ex_env_values.preempt_us * 1000;

    if (!limit)
        return false;
    if (progress != worker->seen) {
        worker->spinner = progress == worker->seen + 1 && worker->spinner; /* the one switch that we forced */
        worker->seen = progress;
        worker->seen_cpu_ns = used;
        return worker->spinner;
    }
    if (ex_env_values.seed)
        limit *= SEEDED_PATIENCE;
    if (used - worker->seen_cpu_ns < (worker->spinner ? FAST_PERIOD_US * 1000 / 2 : limit))
        return worker->spinner;
    worker->spinner = true;
    pthread_kill(worker->thread, PREEMPT_SIGNAL);
    return true;
}

/* Pool locked. True: some worker had to be interrupted. */
static bool look_at_workers(void)
{
    bool interrupted = false;

    for (unsigned i = 0; i < ex_pool.nworkers; i++) {
        struct ex_worker *worker = &ex_pool.workers[i];
        uint64_t progress = __atomic_load_n(&worker->progress, __ATOMIC_RELAXED);

        if (!__atomic_load_n(&worker->busy, __ATOMIC_RELAXED))
            continue;
        if (!ex_env_values.seed) /* under a seed sched.c asks instead, at seeded times */
            __atomic_store_n(&worker->give_way, true, __ATOMIC_RELAXED);
        interrupted |= interrupt_spinner(worker, progress);
    }
    return interrupted;
}

/* Pool locked. */
static void look_at_launches(void)
{
    uint64_t limit = ex_env()->timeout_ms * 1000000u, now = ex_now_ns();

    if (!limit)
        return;
    for (struct ex_launch *launch = ex_pool.running; launch; launch = launch->next_running) {
        if (now - launch->started_ns > limit)
            __atomic_store_n(&launch->doomed, true, __ATOMIC_RELAXED);
    }
}

static void *monitor_main(void *arg)
{
    uint64_t slow_us = ex_env()->preempt_us ? ex_env()->preempt_us : 1000, period_us = slow_us;
    unsigned quiet = 0;

    (void)arg;
    pthread_mutex_lock(&ex_pool.lock);
    for (;;) {
        struct timespec period;

        while (!ex_pool.running)
            pthread_cond_wait(&ex_pool.monitor, &ex_pool.lock);
        pthread_mutex_unlock(&ex_pool.lock);
        period = (struct timespec){.tv_sec = (time_t)(period_us / 1000000), .tv_nsec = (long)(period_us % 1000000) * 1000};
        nanosleep(&period, NULL);
        pthread_mutex_lock(&ex_pool.lock);
        quiet = look_at_workers() ? 0 : quiet + 1;
        look_at_launches();
        period_us = quiet < 20 && slow_us > FAST_PERIOD_US ? (quiet ? period_us : FAST_PERIOD_US) : slow_us;
    }
    return NULL;
}

/* Pool locked; a cheap call when the monitor is awake. */
void ex_monitor_wake(void)
{
    pthread_cond_signal(&ex_pool.monitor);
}

int ex_monitor_start(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    pthread_attr_t attr;
    pthread_t thread;
    int error;

    sigemptyset(&action.sa_mask);
    if (sigaction(PREEMPT_SIGNAL, &action, NULL))
        return -1;
    pthread_cond_init(&ex_pool.monitor, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&thread, &attr, monitor_main, NULL);
    pthread_attr_destroy(&attr);
    return error ? -1 : 0;
}
