/* SPDX-License-Identifier: Apache-2.0 */
/* Workers, and the queue of launches whose blocks they take. */
#include "executor/exec.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "executor/env.h"

/* What a GPU of 32 multiprocessors holds; TSan knows at most 8,128 threads. */
#ifdef EX_TSAN
#define RESIDENT_THREADS 4096u
#else
#define RESIDENT_THREADS 65536u
#endif
#define PATIENT_PASSES 2000u /* before a busy worker takes a block that a sleeping one was woken for */
#define ASKED_MAX 250u    /* the monitor's turns after which a worker takes a further block, should the first wait for it */
#define ASKED_AGAIN 50u   /* and then another one */

struct ex_pool ex_pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
};

uint64_t ex_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool ex_launch_fail(struct ex_launch *launch, int error)
{
    int none = 0;

    return __atomic_compare_exchange_n(&launch->error, &none, error, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static bool failed(struct ex_launch *launch)
{
    return __atomic_load_n(&launch->error, __ATOMIC_ACQUIRE) != 0;
}

static unsigned block_threads(const struct ex_launch *launch)
{
    return launch->config.block.x * launch->config.block.y * launch->config.block.z;
}

/* Pool locked. Blocks of the first launch are taken in order; one that finds no room waits, as on hardware. */
static struct ex_launch *take(const struct ex_worker *worker, uint64_t *number)
{
    struct ex_launch *launch = ex_pool.head;
    unsigned threads, resident = ex_pool.resident_threads;

    if (!launch || (worker->number && ex_env_values.seed)) /* under a seed one worker runs all */
        return NULL;
    threads = block_threads(launch);
    if (resident && resident + threads > RESIDENT_THREADS)
        return NULL;
    *number = launch->next_block++;
    __atomic_fetch_sub(&ex_pool.pending, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ex_pool.resident_threads, threads, __ATOMIC_RELAXED);
    if (launch->next_block == launch->blocks) {
        ex_pool.head = launch->next;
        if (!ex_pool.head)
            ex_pool.tail = NULL;
    }
    return launch;
}

/* Pool locked: a failed launch starts no further block. */
static void drop_rest(struct ex_launch *launch)
{
    struct ex_launch **link = &ex_pool.head, *last = NULL;

    if (launch->next_block == launch->blocks)
        return;
    __atomic_fetch_sub(&ex_pool.pending, launch->blocks - launch->next_block, __ATOMIC_RELAXED);
    launch->done_blocks += launch->blocks - launch->next_block;
    launch->next_block = launch->blocks;
    while (*link != launch) {
        last = *link;
        link = &(*link)->next;
    }
    *link = launch->next;
    if (ex_pool.tail == launch)
        ex_pool.tail = last;
}

static void unlink_running(struct ex_launch *launch)
{
    struct ex_launch **link = &ex_pool.running;

    while (*link != launch)
        link = &(*link)->next_running;
    *link = launch->next_running;
}

static void finish_block(struct ex_launch *launch)
{
    bool last;

    pthread_mutex_lock(&ex_pool.lock);
    launch->done_blocks++;
    __atomic_fetch_sub(&ex_pool.resident_threads, block_threads(launch), __ATOMIC_RELAXED);
    if (failed(launch))
        drop_rest(launch);
    last = launch->done_blocks == launch->blocks;
    if (last)
        unlink_running(launch);
    if (ex_pool.head && ex_pool.idle)
        pthread_cond_broadcast(&ex_pool.work); /* there is room again */
    pthread_mutex_unlock(&ex_pool.lock);
    if (!last)
        return;
    if (launch->destroy)
        launch->destroy(launch->closure);
    ex_stream_op_done(launch->op, launch->error);
    free(launch);
}

static void admit(struct ex_worker *worker, struct ex_launch *launch, uint64_t number)
{
    struct ex_block *block = failed(launch) ? NULL : ex_block_create(worker, launch, number);

    if (!block) {
        if (ex_launch_fail(launch, 2 /* cudaErrorMemoryAllocation */))
            ex_report("kernel %s: no memory for a block of %u threads", launch->name, block_threads(launch));
        finish_block(launch);
        return;
    }
    if (worker->current) {
        block->next = worker->current->next;
        worker->current->next = block;
    } else {
        block->next = block;
    }
    worker->current = block;
    worker->residents++;
    __atomic_store_n(&worker->busy, true, __ATOMIC_RELAXED);
}

static void retire(struct ex_worker *worker, struct ex_block *block)
{
    struct ex_launch *launch = block->launch;
    struct ex_block *before = block;

    while (before->next != block)
        before = before->next;
    before->next = block->next;
    worker->current = before == block ? NULL : block->next;
    worker->residents--;
    worker->asked = 0;
    if (!worker->residents)
        __atomic_store_n(&worker->busy, false, __ATOMIC_RELAXED);
    ex_block_destroy(block);
    finish_block(launch);
}

static void wait_for_block(struct ex_worker *worker)
{
    struct ex_launch *launch;
    uint64_t number = 0;

    pthread_mutex_lock(&ex_pool.lock);
    while (!(launch = take(worker, &number))) {
        __atomic_fetch_add(&ex_pool.idle, 1, __ATOMIC_RELAXED);
        pthread_cond_wait(&ex_pool.work, &ex_pool.lock);
        __atomic_fetch_sub(&ex_pool.idle, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&ex_pool.lock);
    admit(worker, launch, number);
}

/* A worker whose blocks all wait for something takes a further one, but leaves it to a sleeping worker at first. */
static bool take_another(struct ex_worker *worker)
{
    struct ex_launch *launch;
    uint64_t number = 0;

    if (!__atomic_load_n(&ex_pool.pending, __ATOMIC_RELAXED))
        return false;
    if (__atomic_load_n(&ex_pool.idle, __ATOMIC_RELAXED) && !ex_env_values.seed && ++worker->waited_passes < PATIENT_PASSES)
        return false;
    worker->waited_passes = worker->asked = 0;
    pthread_mutex_lock(&ex_pool.lock);
    launch = take(worker, &number);
    pthread_mutex_unlock(&ex_pool.lock);
    if (!launch)
        return false;
    admit(worker, launch, number);
    return true;
}

/* Every runnable thread of every resident block has given way once. */
static void all_passed(struct ex_worker *worker)
{
    if (take_another(worker))
        worker->idle_turns = 0;
    else
        ex_idle_turn(worker);
}

/* After the block's fibers came back. True: the block stays. */
static bool judge(struct ex_block *block, enum ex_reason reason)
{
    struct ex_launch *launch = block->launch;

    if (failed(launch))
        return false;
    if (__atomic_load_n(&launch->doomed, __ATOMIC_RELAXED)) {
        if (ex_launch_fail(launch, 702 /* cudaErrorLaunchTimeout */))
            ex_report_runaway(block);
        return false;
    }
    if (reason != EX_EMPTY || block->ring)
        return true;
    if (block->live && ex_launch_fail(launch, 719 /* cudaErrorLaunchFailure */))
        ex_report_deadlock(block);
    return false;
}

/* A program's signal handlers do not run on fibers. */
static void block_signals(void)
{
    static const int open[] = {SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        sigdelset(&set, open[i]);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
}

static void *worker_main(void *arg)
{
    struct ex_worker *worker = arg;
    unsigned passes = 0;

    block_signals();
    ex_self = worker;
    ex_stack_adopt(&worker->own);
    for (;;) {
        struct ex_block *block = worker->current;
        enum ex_reason reason;

        if (!block) {
            wait_for_block(worker);
            continue;
        }
        if (__atomic_load_n(&worker->give_way, __ATOMIC_RELAXED))
            __atomic_store_n(&worker->give_way, false, __ATOMIC_RELAXED);
        reason = ex_block_run(worker, block);
        if (!judge(block, reason)) {
            retire(worker, block);
            continue;
        }
        worker->current = block->next;
        if (reason == EX_ASKED && ++worker->asked >= ASKED_MAX && take_another(worker))
            worker->asked = ASKED_MAX - ASKED_AGAIN;
        if (reason == EX_PASS && ++passes >= worker->residents) {
            passes = 0;
            all_passed(worker);
        }
    }
    return NULL;
}

static int start_workers(void)
{
    unsigned count = (unsigned)ex_env()->workers;
    pthread_attr_t attr;
    int error = 0;

    ex_pool.workers = calloc(count, sizeof(*ex_pool.workers));
    if (!ex_pool.workers)
        return -1;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (unsigned i = 0; i < count && !error; i++) {
        ex_pool.workers[i].number = i;
        error = pthread_create(&ex_pool.workers[i].thread, &attr, worker_main, &ex_pool.workers[i]);
        if (!error)
            ex_pool.nworkers++;
    }
    pthread_attr_destroy(&attr);
    return ex_pool.nworkers && ex_monitor_start() == 0 ? 0 : -1;
}

int ex_pool_start(void)
{
    static bool tried;
    static int result;

    pthread_mutex_lock(&ex_pool.lock);
    if (!tried) {
        tried = true;
        result = start_workers();
    }
    pthread_mutex_unlock(&ex_pool.lock);
    return result;
}

bool ex_pool_holds(uint64_t threads)
{
    return threads <= RESIDENT_THREADS;
}

void ex_pool_submit(struct ex_launch *launch)
{
    launch->started_ns = ex_now_ns();
    pthread_mutex_lock(&ex_pool.lock);
    launch->next = NULL;
    if (ex_pool.tail)
        ex_pool.tail->next = launch;
    else
        ex_pool.head = launch;
    ex_pool.tail = launch;
    launch->next_running = ex_pool.running;
    ex_pool.running = launch;
    __atomic_fetch_add(&ex_pool.pending, launch->blocks, __ATOMIC_RELAXED);
    if (launch->blocks == 1 && !ex_env_values.seed)
        pthread_cond_signal(&ex_pool.work);
    else
        pthread_cond_broadcast(&ex_pool.work);
    ex_monitor_wake();
    pthread_mutex_unlock(&ex_pool.lock);
}
