/* SPDX-License-Identifier: Apache-2.0 */
/* The slow paths of the inline functions in gdaki_cpu.h: giving way after many polls, and ThreadSanitizer's view. */
#include "executor/exec.h"
#include "executor/store_buffer.h"

#ifdef EX_TSAN
#include <sanitizer/tsan_interface.h>

/*
 * TSan does not know fences. One object stands for all of them: a release (fence or store) releases it, an acquire (fence or
 * load) acquires it. That orders more than the fences do, so no report is false; what it hides, the store buffer finds.
 */
static char all_fences;

static void tsan_order(enum gdaki_cpu_order order, bool before)
{
    if (before && (order == GDAKI_CPU_RELEASE || order >= GDAKI_CPU_ACQ_REL))
        __tsan_release(&all_fences);
    if (!before && (order == GDAKI_CPU_ACQUIRE || order >= GDAKI_CPU_ACQ_REL))
        __tsan_acquire(&all_fences);
}
#else
static void tsan_order(enum gdaki_cpu_order order, bool before)
{
    (void)order;
    (void)before;
}
#endif

static bool releases(enum gdaki_cpu_order order)
{
    return order == GDAKI_CPU_RELEASE || order >= GDAKI_CPU_ACQ_REL;
}

static bool acquires(enum gdaki_cpu_order order)
{
    return order == GDAKI_CPU_ACQUIRE || order >= GDAKI_CPU_ACQ_REL;
}

static void give_way_at(const void *address, unsigned turns)
{
    struct ex_thread *thread = ex_current();

    thread->place = (struct ex_place){.what = "running (last gave way here)", .address = address};
    ex_give_way(thread, turns);
}

/* With the buffer on, any access may be followed by others' turns. */
static void polled_while_buffered(const void *address)
{
    if (ex_random(ex_current()->block) % 4 == 0)
        give_way_at(address, EX_TURN_BUFFERED);
}

/* The polled-access budget is used up: a thread that polls gives way, anybody else goes on. */
static void budget_spent(const void *address)
{
    if (gdaki_cpu_tls.budget > 0)
        return;
    if (!gdaki_cpu_tls.kernel) {
        gdaki_cpu_tls.budget = 1 << 20;
        return;
    }
    give_way_at(address, EX_TURN_POLLS);
}

uint64_t gdaki_cpu_load_slow(const void *ptr, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    uint64_t value = 0;

    if (!gdaki_cpu_tls.buffered) {
        value = gdaki_cpu_plain_load(ptr, size, order);
        tsan_order(order, false);
        budget_spent(__builtin_return_address(0));
        return value;
    }
    ex_buffer_load(ex_current(), &value, ptr, size, true, scope);
    tsan_order(order, false);
    if (acquires(order))
        ex_buffer_acquire(ex_current(), scope);
    polled_while_buffered(__builtin_return_address(0));
    return value;
}

void gdaki_cpu_store_slow(void *ptr, uint64_t value, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    tsan_order(order, true);
    if (!gdaki_cpu_tls.buffered) {
        gdaki_cpu_plain_store(ptr, value, size, order);
        return;
    }
    if (releases(order))
        ex_buffer_release(ex_current(), scope);
    ex_buffer_store(ex_current(), ptr, &value, size, true);
    if (order == GDAKI_CPU_SEQ_CST)
        gdaki_cpu_fence_slow(order, scope);
}

void gdaki_cpu_store_weak_slow(void *ptr, const void *src, size_t size)
{
    ex_buffer_store(ex_current(), ptr, src, size, false);
}

void gdaki_cpu_load_weak_slow(void *dst, const void *ptr, size_t size)
{
    ex_buffer_load(ex_current(), dst, ptr, size, false, GDAKI_CPU_SCOPE_THREAD);
}

uint64_t gdaki_cpu_atomic_slow(enum gdaki_cpu_atomic_op op, void *ptr, unsigned size, uint64_t a, uint64_t b,
                               enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    uint64_t before;

    tsan_order(order, true);
    if (!gdaki_cpu_tls.buffered) {
        before = gdaki_cpu_plain_atomic(op, ptr, size, a, b, order);
        tsan_order(order, false);
        budget_spent(__builtin_return_address(0));
        return before;
    }
    if (releases(order))
        ex_buffer_release(ex_current(), scope);
    ex_buffer_flush_bytes(ptr, size);
    before = gdaki_cpu_plain_atomic(op, ptr, size, a, b, order);
    tsan_order(order, false);
    if (acquires(order))
        ex_buffer_acquire(ex_current(), scope);
    polled_while_buffered(__builtin_return_address(0));
    return before;
}

void gdaki_cpu_fence_slow(enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    tsan_order(order, true);
    if (gdaki_cpu_tls.buffered) {
        if (releases(order))
            ex_buffer_release(ex_current(), scope);
        if (acquires(order))
            ex_buffer_acquire(ex_current(), scope);
    }
#ifndef EX_TSAN
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    tsan_order(order, false);
}
