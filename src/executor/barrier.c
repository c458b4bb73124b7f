/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers of a block. They match by number, not by place: threads in different branches that call __syncthreads meet. A
 * thread that has left the kernel counts as arrived. A barrier orders memory for the block (CTA scope).
 */
#include "executor/exec.h"
#include "executor/store_buffer.h"

static bool complete(const struct ex_block *block, const struct ex_barrier *barrier)
{
    return barrier->arrived == block->live || (barrier->expected && barrier->arrived >= barrier->expected);
}

static void release(struct ex_block *block, struct ex_barrier *barrier)
{
    struct ex_thread *list = barrier->waiting, *thread = list;
    unsigned count = 0;

    barrier->results[0] = barrier->count;
    barrier->results[1] = barrier->all;
    barrier->results[2] = barrier->any;
    barrier->arrived = barrier->count = barrier->any = 0;
    barrier->all = 1;
    barrier->waiting = NULL;
    if (!list)
        return;
    do {
        thread->state = EX_READY;
        thread->warp->parked &= ~(1u << (thread->view.linear % EX_LANES));
        count++;
        thread = thread->next;
    } while (thread != list);
    ex_ring_splice(block, list, count);
}

static void arrive(unsigned id, unsigned expected, unsigned predicate, const char *what, const char *file, int line)
{
    struct ex_thread *thread = ex_current();
    struct ex_block *block = thread->block;
    struct ex_barrier *barrier = &block->barriers[id];

    if (thread->buffer)
        ex_buffer_release(thread, GDAKI_CPU_SCOPE_CTA);
    if (!barrier->arrived) {
        barrier->all = 1;
        barrier->expected = expected;
    }
    barrier->arrived++;
    barrier->count += predicate;
    barrier->all &= predicate;
    barrier->any |= predicate;
    if (complete(block, barrier)) {
        release(block, barrier);
        return;
    }
    ex_park_prepare(thread, EX_IN_BARRIER, what, file, line);
    thread->barrier = id;
    ex_list_append(&barrier->waiting, thread);
    ex_park(thread);
}

int gdaki_cpu_block_barrier(enum gdaki_cpu_barrier_kind kind, int predicate, const char *file, int line)
{
    if (!gdaki_cpu_tls.kernel)
        return predicate;
    const unsigned *results = ex_current()->block->barriers[0].results;

    arrive(0, 0, predicate != 0, "__syncthreads", file, line);
    switch (kind) {
    case GDAKI_CPU_BARRIER_COUNT:
        return (int)results[0];
    case GDAKI_CPU_BARRIER_AND:
        return (int)results[1];
    case GDAKI_CPU_BARRIER_OR:
        return (int)results[2];
    default:
        return 0;
    }
}

void gdaki_cpu_barrier(unsigned id, unsigned nthreads, const char *file, int line)
{
    if (!gdaki_cpu_tls.kernel)
        return;
    if (id >= EX_BARRIERS || nthreads % EX_LANES || nthreads > EX_MAX_THREADS) {
        ex_report("barrier %u for %u threads at %s:%d: want a number below %u and a multiple of %u threads", id, nthreads,
                  file, line, EX_BARRIERS, EX_LANES);
        ex_stop(715 /* cudaErrorIllegalInstruction */);
    }
    arrive(id, nthreads, 0, "named barrier", file, line);
}

void ex_barrier_thread_gone(struct ex_block *block)
{
    for (unsigned id = 0; id < EX_BARRIERS; id++) {
        struct ex_barrier *barrier = &block->barriers[id];

        if (barrier->arrived && complete(block, barrier))
            release(block, barrier);
    }
}

/* Blocks meet through their first threads; each of these waits as a thread that polls does. */
static void meet_blocks(struct ex_thread *thread, const char *file, int line)
{
    struct ex_launch *launch = thread->block->launch;
    uint64_t turn = __atomic_load_n(&launch->grid_turn, __ATOMIC_ACQUIRE);

    if (thread->buffer)
        ex_buffer_release(thread, GDAKI_CPU_SCOPE_GPU);
    if (__atomic_add_fetch(&launch->grid_arrived, 1, __ATOMIC_ACQ_REL) == launch->blocks) {
        __atomic_store_n(&launch->grid_arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&launch->grid_turn, turn + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&launch->grid_turn, __ATOMIC_ACQUIRE) == turn) {
        thread->place = (struct ex_place){.what = "waits at the grid's barrier", .file = file, .line = line};
        ex_give_way(thread, EX_TURN_RELAX);
    }
    if (thread->buffer)
        ex_buffer_acquire(thread, GDAKI_CPU_SCOPE_GPU);
}

void gdaki_cpu_grid_barrier(const char *file, int line)
{
    if (!gdaki_cpu_tls.kernel)
        return;
    struct ex_thread *thread = ex_current();

    if (!ex_pool_holds(thread->block->launch->blocks * thread->block->nthreads)) {
        ex_report("the grid's barrier at %s:%d: %llu blocks of %u threads cannot be resident together", file, line,
                  (unsigned long long)thread->block->launch->blocks, thread->block->nthreads);
        ex_stop(715 /* cudaErrorIllegalInstruction */);
    }
    arrive(0, 0, 0, "grid sync", file, line);
    if (!thread->view.linear)
        meet_blocks(thread, file, line);
    arrive(0, 0, 0, "grid sync", file, line);
}
