/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/fiber_switch.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && !defined(GDAKI_EXECUTOR_UCONTEXT)

void ex_switch_start(void);

void *ex_switch_prepare(char *low, size_t size, void (*entry)(void *arg), void *arg)
{
    uintptr_t *sp = (uintptr_t *)(((uintptr_t)low + size) & ~(uintptr_t)15);

    sp -= 2; /* an end of the call chain, and after `ret` rsp is a multiple of 16 as before a call */
    sp[0] = sp[1] = 0;
    *--sp = (uintptr_t)ex_switch_start;
    *--sp = 0;                /* rbp */
    *--sp = 0;                /* rbx */
    *--sp = (uintptr_t)entry; /* r12 */
    *--sp = (uintptr_t)arg;   /* r13 */
    *--sp = 0;                /* r14 */
    *--sp = 0;                /* r15 */
    return sp;
}

#elif defined(__aarch64__) && !defined(GDAKI_EXECUTOR_UCONTEXT)

void ex_switch_start(void);

void *ex_switch_prepare(char *low, size_t size, void (*entry)(void *arg), void *arg)
{
    uintptr_t *sp = (uintptr_t *)(((uintptr_t)low + size) & ~(uintptr_t)15);

    sp -= 20;
    memset(sp, 0, 20 * sizeof(*sp));
    sp[0] = (uintptr_t)entry;            /* x19 */
    sp[1] = (uintptr_t)arg;              /* x20 */
    sp[11] = (uintptr_t)ex_switch_start; /* x30 */
    return sp;
}

#else

#include <stdlib.h>
#include <ucontext.h>

/* A context handle is a ucontext_t: of a prepared fiber at its stack's top, of a left one on its stack. */
void ex_switch(void **from, void *to)
{
    ucontext_t here;

    *from = &here;
    swapcontext(&here, to);
}

static void start(unsigned entry_high, unsigned entry_low, unsigned arg_high, unsigned arg_low)
{
    void (*entry)(void *) = (void (*)(void *))(uintptr_t)((uint64_t)entry_high << 32 | entry_low);

    entry((void *)(uintptr_t)((uint64_t)arg_high << 32 | arg_low));
    abort();
}

void *ex_switch_prepare(char *low, size_t size, void (*entry)(void *arg), void *arg)
{
    ucontext_t *context = (ucontext_t *)(((uintptr_t)low + size - sizeof(*context)) & ~(uintptr_t)63);
    uint64_t e = (uintptr_t)entry, a = (uintptr_t)arg;

    getcontext(context);
    context->uc_stack.ss_sp = low;
    context->uc_stack.ss_size = (size_t)((char *)context - low);
    context->uc_link = NULL;
    makecontext(context, (void (*)(void))start, 4, (unsigned)(e >> 32), (unsigned)e, (unsigned)(a >> 32), (unsigned)a);
    return context;
}

#endif
