/* SPDX-License-Identifier: Apache-2.0 */
#include "host/hooks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "host/log.h"
#include "host/nic_seam.h"

typedef void (*set_idle_hook_fn)(int (*fn)(void *arg), void *arg);
typedef void (*set_doorbell_hook_fn)(void (*fn)(void *arg, void *reg), void *arg);

static pthread_mutex_t connect_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool connected;

static int drive_softnic(void *arg)
{
    const struct gdaki_nic_ops *soft = arg;

    return soft->drive();
}

static void wake_softnic(void *arg, void *reg)
{
    const struct gdaki_nic_ops *soft = arg;

    (void)reg;
    soft->wake();
}

/* The executor is a dependency of the kernels; those may be loaded with local scope, so the global one is not enough. */
static void *find_in_executor(const char *symbol)
{
    static const char *const names[] = {"libgdaki_cpu.so.3", "libgdaki_cpu.so.1", "libgdaki_cpu.so.0", "libgdaki_cpu.so"};
    void *found = dlsym(RTLD_DEFAULT, symbol);

    for (size_t i = 0; found == NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        void *lib = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);

        if (lib != NULL)
            found = dlsym(lib, symbol); /* the reference stays: its code is called from now on */
    }
    return found;
}

void hooks_connect(void)
{
    const struct gdaki_nic_ops *soft;
    set_idle_hook_fn set_idle;
    set_doorbell_hook_fn set_doorbell;

    if (atomic_load_explicit(&connected, memory_order_acquire))
        return;
    pthread_mutex_lock(&connect_lock);
    if (atomic_load_explicit(&connected, memory_order_relaxed))
        goto unlock;
    soft = nic_softnic_if_loaded();
    if (soft == NULL)
        goto unlock;
    *(void **)&set_idle = find_in_executor("gdaki_cpu_set_idle_hook");
    *(void **)&set_doorbell = find_in_executor("gdaki_cpu_set_doorbell_hook");
    if (set_idle == NULL || set_doorbell == NULL)
        goto unlock;
    set_idle(drive_softnic, (void *)soft);
    set_doorbell(wake_softnic, (void *)soft);
    atomic_store_explicit(&connected, true, memory_order_release);
    HOST_LOG(LOG_INFO, "the CPU executor drives softnic while its kernels wait");
unlock:
    pthread_mutex_unlock(&connect_lock);
}
