/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "preload.h"

static void *_Atomic functions[PRE_FUNCTIONS];

static const char *const names[] = {
#define PRELOAD_NAME(name) #name,
    PRELOAD_FUNCTIONS(PRELOAD_NAME)
#undef PRELOAD_NAME
};

static void *resolve(enum pre_function f)
{
    void *found = dlsym(RTLD_NEXT, names[f]);
    if (!found) { /* a C library that lacks what its own headers declare: there is nothing to pass on to */
        fprintf(stderr, "softnic: the C library has no %s\n", names[f]);
        abort();
    }
    atomic_store_explicit(&functions[f], found, memory_order_relaxed);
    return found;
}

/* dlsym is not for signal handlers, so everything is looked up before there can be one. */
__attribute__((constructor)) static void resolve_all(void)
{
    for (unsigned f = 0; f < PRE_FUNCTIONS; f++)
        pre_real((enum pre_function)f);
}

/* Another library's constructor may come before ours. */
void *pre_real(enum pre_function f)
{
    void *found = atomic_load_explicit(&functions[f], memory_order_relaxed);
    return found ? found : resolve(f);
}
