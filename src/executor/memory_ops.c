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
    bool release = order == GDAKI_CPU_RELEASE || order >= GDAKI_CPU_ACQ_REL;
    bool acquire = order == GDAKI_CPU_ACQUIRE || order >= GDAKI_CPU_ACQ_REL;

    if (before && release)
        __tsan_release(&all_fences);
    if (!before && acquire)
        __tsan_acquire(&all_fences);
}
#else
static void tsan_order(enum gdaki_cpu_order order, bool before)
{
    (void)order;
    (void)before;
}
#endif

/* The polled-access budget is used up: a thread that polls gives way, anybody else goes on. */
static void budget_spent(void)
{
    if (gdaki_cpu_tls.budget > 0)
        return;
    if (gdaki_cpu_tls.kernel)
        gdaki_cpu_relax();
    else
        gdaki_cpu_tls.budget = 1 << 20;
}

uint64_t gdaki_cpu_load_slow(const void *ptr, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    uint64_t value = gdaki_cpu_plain_load(ptr, size, order);

    (void)scope;
    tsan_order(order, false);
    budget_spent();
    return value;
}

void gdaki_cpu_store_slow(void *ptr, uint64_t value, unsigned size, enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    (void)scope;
    tsan_order(order, true);
    gdaki_cpu_plain_store(ptr, value, size, order);
}

void gdaki_cpu_store_weak_slow(void *ptr, const void *src, size_t size)
{
    memcpy(ptr, src, size);
}

void gdaki_cpu_load_weak_slow(void *dst, const void *ptr, size_t size)
{
    memcpy(dst, ptr, size);
}

uint64_t gdaki_cpu_atomic_slow(enum gdaki_cpu_atomic_op op, void *ptr, unsigned size, uint64_t a, uint64_t b,
                               enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    uint64_t before;

    (void)scope;
    tsan_order(order, true);
    before = gdaki_cpu_plain_atomic(op, ptr, size, a, b, order);
    tsan_order(order, false);
    budget_spent();
    return before;
}

void gdaki_cpu_fence_slow(enum gdaki_cpu_order order, enum gdaki_cpu_scope scope)
{
    (void)scope;
    tsan_order(order, true);
#ifndef EX_TSAN
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    tsan_order(order, false);
}
