/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NIC's own threads stand still while the process forks: here one has a lock nearly always, as it may have an allocator's,
 * and no child ever finds it taken.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "softnic/port/own_thread.h"

#define GIVES_UP_NS 1000000000u /* FORK_WAIT_S of own_thread.c */

static pthread_mutex_t precious = PTHREAD_MUTEX_INITIALIZER; /* as an allocator's */
static pthread_mutex_t programs = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stop;
static atomic_uint turns;

struct worker {
    pthread_t thread;
    bool rests; /* now and then */
    bool waits; /* for the program's lock */
    sigset_t blocked;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    pthread_sigmask(SIG_SETMASK, NULL, &w->blocked);
    while (!atomic_load(&stop)) {
        sn_own_thread_turn();
        if (w->waits) {
            pthread_mutex_lock(&programs);
            pthread_mutex_unlock(&programs);
        }
        pthread_mutex_lock(&precious);
        for (volatile int i = 0; i < 20000; i++)
            ;
        pthread_mutex_unlock(&precious);
        if (atomic_fetch_add(&turns, 1) % 8 == 0 && w->rests)
            sn_own_thread_sleep(50000);
    }
    return NULL;
}

static void start(struct worker *w, unsigned count)
{
    atomic_store(&stop, false);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(sn_own_thread_start(&w[i].thread, work, &w[i], "softnic-test"), 0);
}

static void end(struct worker *w, unsigned count)
{
    atomic_store(&stop, true);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Did the child find the lock taken, although the fork had waited until all threads rest? A busy machine may not run them for
 * a second: then it does not wait any longer (own_thread.h), and there is nothing to judge.
 */
static bool forked_within(void)
{
    int status;
    uint64_t begun = now_ns();
    pid_t pid = fork();
    uint64_t took = now_ns() - begun;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(pthread_mutex_trylock(&precious) == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) != 0 && took < GIVES_UP_NS;
}

static void nothing_is_in_the_middle_of_anything(void **state)
{
    struct worker w[3] = {{.rests = true}, {.rests = false}, {.rests = true}};
    (void)state;
    for (int round = 0; round < 20; round++) {
        start(w, 3);
        for (int i = 0; i < 5; i++) {
            assert_false(forked_within());
            unsigned before = atomic_load(&turns);
            while (atomic_load(&turns) == before) /* they go on in the parent */
                sched_yield();
        }
        end(w, 3);
    }
}

/* A child may have threads of its own, and children. */
static void children_start_their_own(void **state)
{
    struct worker w[1] = {{.rests = false}}, of_child[1] = {{.rests = true}};
    int status;
    (void)state;
    start(w, 1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60); /* a hang, not a verdict */
        start(of_child, 1);
        bool within = forked_within();
        end(of_child, 1);
        _exit(within);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    end(w, 1);
}

/* Who forks holds what a thread of the NIC waits for: the fork comes all the same. */
static void a_fork_is_not_held_up_for_ever(void **state)
{
    struct worker w[1] = {{.waits = true}};
    (void)state;
    pthread_mutex_lock(&programs);
    start(w, 1);
    assert_false(forked_within());
    pthread_mutex_unlock(&programs);
    assert_false(forked_within());
    end(w, 1);
}

static void signals_are_the_programs(void **state)
{
    sigset_t before, after;
    struct worker w[1] = {{.rests = false}};
    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    start(w, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    end(w, 1);
    for (int s = 1; s < SIGSYS; s++) {
        assert_int_equal(sigismember(&after, s), sigismember(&before, s));
        if (s != SIGKILL && s != SIGSTOP)
            assert_int_equal(sigismember(&w[0].blocked, s), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_in_the_middle_of_anything),
        cmocka_unit_test(children_start_their_own),
        cmocka_unit_test(a_fork_is_not_held_up_for_ever),
        cmocka_unit_test(signals_are_the_programs),
    };
#ifdef __SANITIZE_THREAD__
    printf("SKIP: ThreadSanitizer does not follow a fork of a process with threads\n");
    return 77;
#endif
    if (pthread_atfork(sn_own_threads_before_fork, sn_own_threads_after_fork_parent, sn_own_threads_after_fork_child))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
