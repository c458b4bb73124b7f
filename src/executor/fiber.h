/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fibers: a stack and the saved registers on it. A fiber belongs to the OS thread that first ran it (thread-local
 * variables are reached through addresses that the compiler keeps). Switches are announced to ASan and TSan.
 */
#ifndef GDAKI_EXECUTOR_FIBER_H
#define GDAKI_EXECUTOR_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define EX_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EX_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define EX_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define EX_TSAN 1
#endif

struct ex_stack {
    void *sp;    /* saved stack pointer (or ucontext) while not running */
    char *low;   /* lowest usable byte; NULL: an OS thread's own stack */
    size_t size; /* usable bytes */
    bool guarded;
    struct ex_stack *next; /* in a pool */
#ifdef EX_ASAN
    void *fake; /* ASan's fake stack while switched out */
    const void *asan_low;
    size_t asan_size;
#endif
#ifdef EX_TSAN
    void *tsan;
#endif
};

/* The OS thread's own stack, as the other end of switches. */
void ex_stack_adopt(struct ex_stack *own);
/* NULL when the system has no memory left. */
struct ex_stack *ex_stack_create(size_t size);
void ex_stack_destroy(struct ex_stack *stack);
/* Makes `stack` ready to run entry(arg) from its top. entry must never return. dirty: abandoned in the middle of calls. */
void ex_stack_prepare(struct ex_stack *stack, void (*entry)(void *arg), void *arg, bool dirty);
/* Runs `to`; returns when somebody switches back to `from`. leaving: `from` will not be resumed where it stands. */
void ex_stack_switch(struct ex_stack *from, struct ex_stack *to, bool leaving);
/* First call of a fiber's entry function. */
void ex_stack_entered(struct ex_stack *own, struct ex_stack *from);

#endif
