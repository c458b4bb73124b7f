/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

atomic_uint fault_allocations;
atomic_uint fault_fail_at;
atomic_int fault_alive;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *ptr);

static bool fails(void)
{
    return atomic_fetch_add(&fault_allocations, 1) + 1 == atomic_load(&fault_fail_at);
}

static void *counted(void *ptr)
{
    if (ptr != NULL)
        atomic_fetch_add(&fault_alive, 1);
    return ptr;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    return old == NULL ? counted(__real_realloc(old, size)) : __real_realloc(old, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    int err = fails() ? ENOMEM : __real_posix_memalign(out, alignment, size);

    if (err == 0)
        counted(*out);
    return err;
}

void __wrap_free(void *ptr)
{
    if (ptr != NULL)
        atomic_fetch_sub(&fault_alive, 1);
    __real_free(ptr);
}
