/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/port/own_thread.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

enum { FORK_WAIT_S = 1 };

atomic_bool sn_own_threads_halt; /* written under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held through a fork; taken last */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned working; /* threads that do not rest, and those that start one */

struct start {
    void *(*run)(void *arg);
    void *arg;
    const char *name;
    bool up;
};

static bool halted(void)
{
    return atomic_load_explicit(&sn_own_threads_halt, memory_order_relaxed);
}

static void begin(void)
{
    while (halted())
        pthread_cond_wait(&changed, &lock);
    working++;
}

static void end(void)
{
    if (--working == 0)
        pthread_cond_broadcast(&changed);
}

void sn_own_thread_works(void)
{
    pthread_mutex_lock(&lock);
    begin();
    pthread_mutex_unlock(&lock);
}

void sn_own_thread_rests(void)
{
    pthread_mutex_lock(&lock);
    end();
    pthread_mutex_unlock(&lock);
}

void sn_own_thread_sleep(uint64_t ns)
{
    sn_own_thread_rests();
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)}, NULL);
    sn_own_thread_works();
}

static void *main_of(void *arg)
{
    struct start *s = arg; /* its creator's, until it is up */
    void *(*run)(void *) = s->run;
    void *of = s->arg;
    (void)prctl(PR_SET_NAME, s->name);
    pthread_mutex_lock(&lock);
    s->up = true;
    pthread_cond_broadcast(&changed);
    begin();
    pthread_mutex_unlock(&lock);
    void *result = run(of);
    sn_own_thread_rests();
    return result;
}

/* The creator counts as working meanwhile, and waits for no fork: it may hold what a thread needs to come to rest. */
int sn_own_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name)
{
    struct start s = {run, arg, name, false};
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&lock);
    working++;
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, NULL, main_of, &s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_lock(&lock);
    while (!rc && !s.up)
        pthread_cond_wait(&changed, &lock);
    end();
    pthread_mutex_unlock(&lock);
    return -rc;
}

void sn_own_threads_before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FORK_WAIT_S;
    pthread_mutex_lock(&lock);
    atomic_store_explicit(&sn_own_threads_halt, true, memory_order_relaxed);
    while (working && pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until) == 0)
        continue;
}

void sn_own_threads_after_fork_parent(void)
{
    atomic_store_explicit(&sn_own_threads_halt, false, memory_order_relaxed);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void sn_own_threads_after_fork_child(void)
{
    atomic_store_explicit(&sn_own_threads_halt, false, memory_order_relaxed);
    working = 0;
    pthread_cond_init(&changed, NULL); /* whoever waited is not here */
    pthread_mutex_unlock(&lock);
}
