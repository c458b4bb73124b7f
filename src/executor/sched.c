/* SPDX-License-Identifier: Apache-2.0 */
/* A block's ring of runnable threads, and how they hand the processor on. */
#include "executor/exec.h"
#include "executor/env.h"
#include "executor/fiber_switch.h"
#include "executor/store_buffer.h"

#define POLLED_ACCESSES 128 /* loads and atomics in a row before a thread must give way */

static const struct gdaki_cpu_block_view host_block;
static const struct gdaki_cpu_thread_view host_thread = {.block = &host_block};

__thread struct gdaki_cpu_tls gdaki_cpu_tls __attribute__((tls_model("initial-exec"))) = {.thread = &host_thread};
__thread struct ex_worker *ex_self __attribute__((tls_model("initial-exec")));

uint64_t ex_random(struct ex_block *block)
{
    uint64_t z = (block->random += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void ex_list_append(struct ex_thread **list, struct ex_thread *thread)
{
    struct ex_thread *head = *list;

    if (!head) {
        thread->prev = thread->next = thread;
        *list = thread;
        return;
    }
    thread->next = head;
    thread->prev = head->prev;
    head->prev->next = thread;
    head->prev = thread;
}

void ex_list_remove(struct ex_thread **list, struct ex_thread *thread)
{
    if (thread->next == thread) {
        *list = NULL;
        return;
    }
    thread->prev->next = thread->next;
    thread->next->prev = thread->prev;
    if (*list == thread)
        *list = thread->next;
}

void ex_ring_insert(struct ex_block *block, struct ex_thread *thread)
{
    thread->state = EX_READY;
    ex_list_append(&block->ring, thread);
    block->runnable++;
}

/* list: a ring of its own, `count` threads, made READY by the caller. */
void ex_ring_splice(struct ex_block *block, struct ex_thread *list, unsigned count)
{
    struct ex_thread *head = block->ring;

    block->runnable += count;
    if (!head) {
        block->ring = list;
        return;
    }
    struct ex_thread *head_last = head->prev, *list_last = list->prev;

    head_last->next = list;
    list->prev = head_last;
    list_last->next = head;
    head->prev = list_last;
}

static void ring_remove(struct ex_block *block, struct ex_thread *thread)
{
    ex_list_remove(&block->ring, thread);
    block->runnable--;
}

static void count_progress(struct ex_worker *worker)
{
    __atomic_store_n(&worker->progress, worker->progress + 1, __ATOMIC_RELAXED);
}

/* Under a seed the ring is entered at a random place now and then, so that no order can be relied upon. */
static struct ex_thread *shuffle(struct ex_block *block, struct ex_thread *next)
{
    if (!ex_env_values.seed)
        return next;
    uint64_t random = ex_random(block);

    if (random & 1)
        return next;
    for (unsigned skip = (random >> 1) & 7; skip; skip--)
        next = next->next;
    return next;
}

static void thread_entry(void *arg);

/* Whether the worker's other blocks should have a turn: the monitor says so, or the seed. */
static bool asked(struct ex_block *block)
{
    if (ex_env_values.seed)
        return ex_random(block) % 64 == 0;
    return __atomic_load_n(&block->worker->give_way, __ATOMIC_RELAXED);
}

static void set_current(struct ex_thread *thread)
{
    thread->block->ring = thread;
    gdaki_cpu_tls.thread = &thread->view;
    gdaki_cpu_tls.budget = thread->buffer ? 0 : POLLED_ACCESSES;
    gdaki_cpu_tls.buffered = thread->buffer != NULL;
}

/* A stack for a thread that has none yet. On failure the launch has failed. */
static bool ensure_stack(struct ex_thread *thread)
{
    struct ex_worker *worker = thread->block->worker;

    if (thread->stack)
        return true;
    thread->stack = ex_stack_get(worker);
    if (!thread->stack) {
        if (ex_launch_fail(thread->block->launch, 2 /* cudaErrorMemoryAllocation */))
            ex_report("kernel %s: no memory for the stack of a thread", thread->block->launch->name);
        return false;
    }
    ex_stack_prepare(thread->stack, thread_entry, thread, false);
    return true;
}

static void to_worker(struct ex_thread *thread, struct ex_stack *from, enum ex_reason reason, bool leaving)
{
    struct ex_worker *worker = thread->block->worker;

    worker->reason = reason;
    ex_stack_switch(from, &worker->own, leaving);
}

static void switch_threads(struct ex_thread *from, struct ex_thread *to)
{
    if (from == to) {
        set_current(to);
        return;
    }
    if (!ensure_stack(to)) {
        to_worker(from, from->stack, EX_PASS, false);
        return;
    }
    set_current(to);
    ex_stack_switch(from->stack, to->stack, false);
}

void ex_park_prepare(struct ex_thread *thread, enum ex_state state, const char *what, const char *file, int line)
{
    thread->state = state;
    thread->place.what = what;
    thread->place.file = file;
    thread->place.line = line;
    thread->warp->parked |= 1u << (thread->view.linear % EX_LANES);
    ring_remove(thread->block, thread);
}

void ex_park(struct ex_thread *thread)
{
    struct ex_block *block = thread->block;

    count_progress(block->worker);
    if (thread->warp->gathering)
        ex_warp_event(thread->warp);
    if (thread->state == EX_READY) {
        set_current(thread);
        return;
    }
    if (!block->ring)
        to_worker(thread, thread->stack, EX_EMPTY, false);
    else if (asked(block))
        to_worker(thread, thread->stack, EX_ASKED, false);
    else
        switch_threads(thread, shuffle(block, block->ring));
}

/* Is there nobody else for whom this worker could do anything? Then a pass may end without going to the worker's own loop. */
static bool is_lone(const struct ex_worker *worker)
{
    return EX_CALL_ON && worker->residents == 1 && !__atomic_load_n(&ex_pool.pending, __ATOMIC_RELAXED);
}

static void idle_turn_here(struct ex_worker *worker)
{
#if EX_CALL_ON
    gdaki_cpu_tls.kernel = false; /* as on the worker's own stack: no preemption inside the hook */
    gdaki_cpu_tls.buffered = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ex_call_on(worker->own.sp, ex_idle_turn, worker);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    gdaki_cpu_tls.kernel = true;
#else
    (void)worker;
#endif
}

/* What ex_give_way comes to for the only runnable thread of the only block, when nothing is to be decided by chance. */
static bool gave_way_alone(struct ex_thread *thread)
{
    struct ex_block *block = thread->block;
    struct ex_worker *worker = block->worker;

    if (thread->next != thread || thread->buffer || thread->warp->gathering || ex_env_values.seed || !is_lone(worker) ||
        __atomic_load_n(&worker->give_way, __ATOMIC_RELAXED))
        return false;
    count_progress(worker);
    block->given_way = 0;
    idle_turn_here(worker);
    gdaki_cpu_tls.budget = POLLED_ACCESSES;
    return true;
}

void ex_give_way(struct ex_thread *thread, unsigned turns)
{
    struct ex_block *block = thread->block;
    struct ex_worker *worker = block->worker;
    struct ex_thread *next;

    if (gave_way_alone(thread))
        return;
    count_progress(worker);
    if (thread->buffer)
        ex_buffer_step(thread);
    if (thread->warp->gathering)
        ex_warp_gave_way(thread, turns);
    next = shuffle(block, thread->next);
    if (++block->given_way >= block->runnable) {
        block->given_way = 0;
        block->ring = next;
        if (is_lone(worker) && !asked(block)) {
            idle_turn_here(worker);
            switch_threads(thread, next);
        } else {
            to_worker(thread, thread->stack, EX_PASS, false);
        }
    } else if (asked(block)) {
        block->ring = next;
        to_worker(thread, thread->stack, EX_ASKED, false);
    } else {
        switch_threads(thread, next);
    }
}

void gdaki_cpu_relax(void)
{
    struct ex_thread *thread = ex_current();

    if (!gdaki_cpu_tls.kernel) {
        if (ex_idle_hook() <= 0)
            sched_yield();
        return;
    }
    thread->place.what = "running (last gave way here)";
    thread->place.file = NULL;
    thread->place.address = __builtin_return_address(0);
    ex_give_way(thread, EX_TURN_RELAX);
}

void ex_abandon(void)
{
    struct ex_thread *thread = ex_current();

    for (;;)
        to_worker(thread, thread->stack, EX_PASS, false);
}

void ex_stop(int error)
{
    ex_launch_fail(ex_current()->block->launch, error);
    ex_abandon();
}

static void thread_gone(struct ex_thread *thread)
{
    struct ex_block *block = thread->block;

    if (thread->buffer)
        ex_buffer_detach(thread);
    thread->state = EX_GONE;
    ring_remove(block, thread);
    block->live--;
    thread->warp->gone |= 1u << (thread->view.linear % EX_LANES);
    ex_warp_thread_gone(thread);
    ex_barrier_thread_gone(block);
}

/* Runs threads one after the other on one stack for as long as the next one has not started. */
static void thread_entry(void *arg)
{
    struct ex_thread *thread = arg;
    struct ex_block *block = thread->block;
    struct ex_worker *worker = block->worker;

    ex_stack_entered(thread->stack, &worker->own);
    for (;;) {
        struct ex_stack *stack;
        struct ex_thread *next;

        block->launch->kernel(block->launch->closure);
        thread_gone(thread);
        count_progress(worker);
        stack = thread->stack;
        thread->stack = NULL;
        next = block->ring ? shuffle(block, block->ring) : NULL;
        if (!next || asked(block)) {
            ex_stack_put(worker, stack, false);
            to_worker(thread, stack, next ? EX_ASKED : EX_EMPTY, true);
        } else if (next->stack) {
            ex_stack_put(worker, stack, false);
            set_current(next);
            ex_stack_switch(stack, next->stack, true);
        }
        next->stack = stack;
        thread = next;
        set_current(thread);
    }
}

enum ex_reason ex_block_run(struct ex_worker *worker, struct ex_block *block)
{
    struct ex_thread *thread = block->ring;

    if (!thread)
        return EX_EMPTY;
    if (!ensure_stack(thread))
        return EX_PASS;
    worker->text_low = block->launch->text_low;
    worker->text_high = block->launch->text_high;
    set_current(thread);
    gdaki_cpu_tls.kernel = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ex_stack_switch(&worker->own, thread->stack, false);
    gdaki_cpu_tls.kernel = false;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    gdaki_cpu_tls.buffered = false;
    gdaki_cpu_tls.thread = &host_thread;
    return worker->reason;
}
