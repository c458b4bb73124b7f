/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "executor/fiber_switch.h"

#ifdef EX_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EX_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

/* Each guarded stack costs two of the kernel's 65,530 mappings; past this many, stacks come without guards. */
#define GUARDED_MAX 12000
static unsigned guarded_count;

void ex_stack_adopt(struct ex_stack *own)
{
    memset(own, 0, sizeof(*own));
#ifdef EX_ASAN
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;

    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    own->asan_low = low;
    own->asan_size = size;
#endif
#ifdef EX_TSAN
    own->tsan = __tsan_get_current_fiber();
#endif
}

struct ex_stack *ex_stack_create(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct ex_stack *stack = calloc(1, sizeof(*stack));
    char *map;

    if (!stack)
        return NULL;
    size = (size + page - 1) & ~(page - 1);
    map = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED) {
        free(stack);
        return NULL;
    }
    if (__atomic_fetch_add(&guarded_count, 1, __ATOMIC_RELAXED) < GUARDED_MAX &&
        mprotect(map, page, PROT_NONE) == 0)
        stack->guarded = true;
    else
        __atomic_fetch_sub(&guarded_count, 1, __ATOMIC_RELAXED);
    stack->low = map + page;
    stack->size = size;
#ifdef EX_ASAN
    stack->asan_low = stack->low;
    stack->asan_size = size;
#endif
#ifdef EX_TSAN
    stack->tsan = __tsan_create_fiber(0);
#endif
    return stack;
}

void ex_stack_destroy(struct ex_stack *stack)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (stack->guarded)
        __atomic_fetch_sub(&guarded_count, 1, __ATOMIC_RELAXED);
#ifdef EX_TSAN
    __tsan_destroy_fiber(stack->tsan);
#endif
#ifdef EX_ASAN
    __asan_unpoison_memory_region(stack->low, stack->size);
#endif
    munmap(stack->low - page, stack->size + page);
    free(stack);
}

void ex_stack_prepare(struct ex_stack *stack, void (*entry)(void *arg), void *arg, bool dirty)
{
#ifdef EX_ASAN
    if (dirty)
        __asan_unpoison_memory_region(stack->low, stack->size);
    stack->fake = NULL;
#endif
#ifdef EX_TSAN
    /* TSan keeps a shadow of the call stack per fiber: frames abandoned in the middle must not pile up in it. */
    if (dirty) {
        __tsan_destroy_fiber(stack->tsan);
        stack->tsan = __tsan_create_fiber(0);
    }
#endif
    (void)dirty;
    stack->sp = ex_switch_prepare(stack->low, stack->size, entry, arg);
}

void ex_stack_switch(struct ex_stack *from, struct ex_stack *to, bool leaving)
{
#ifdef EX_ASAN
    __sanitizer_start_switch_fiber(leaving ? NULL : &from->fake, to->asan_low, to->asan_size);
#endif
#ifdef EX_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    (void)leaving;
    ex_switch(&from->sp, to->sp);
#ifdef EX_ASAN
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

void ex_stack_entered(struct ex_stack *own, struct ex_stack *from)
{
    (void)own;
    (void)from;
#ifdef EX_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}
