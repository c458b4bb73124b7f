/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch itself, by architecture: fiber_x86_64.S, fiber_aarch64.S, and ucontext elsewhere or under
 * -DGDAKI_EXECUTOR_UCONTEXT. Callee-saved registers are kept on the stack that is left; the floating-point control word
 * is not (kernels do not change it).
 */
#ifndef GDAKI_EXECUTOR_FIBER_SWITCH_H
#define GDAKI_EXECUTOR_FIBER_SWITCH_H

#include <stddef.h>

#include "executor/fiber.h"

/* Saves this context in *from and resumes `to`, a value that *from of an earlier switch or ex_switch_prepare got. */
void ex_switch(void **from, void *to);
/* A context that calls entry(arg) on the given stack. */
void *ex_switch_prepare(char *low, size_t size, void (*entry)(void *arg), void *arg);

/* Calls fn(arg) on a stack that another context has left, below its saved pointer: cheaper than two switches, since
 * return prediction stays right. Not under sanitizers, which would have to be told, nor with ucontext. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(GDAKI_EXECUTOR_UCONTEXT) && !defined(EX_ASAN) && !defined(EX_TSAN)
#define EX_CALL_ON 1
void ex_call_on(void *sp, void (*fn)(void *arg), void *arg);
#else
#define EX_CALL_ON 0
#endif

#endif
