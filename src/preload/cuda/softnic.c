/* SPDX-License-Identifier: Apache-2.0 */
/* What libsoftnic is asked and told. It is the instance that the drop-in libraries use. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gdaki/softnic.h"
#include "preload/library.h"
#include "shim.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void **exported; /* where exported memory begins */
static size_t count, room;
static atomic_size_t exports;

/* A function of libsoftnic; without `load` NULL where nobody has loaded it, for then there is no device of its. */
static void *softnic(const char *name, bool load)
{
    void *handle = softnic_library((const void *)softnic, load);
    return handle ? dlsym(handle, name) : NULL; /* it is never unloaded: the handle may stay */
}

bool shim_is_doorbell(const void *from, size_t size)
{
    __typeof__(&softnic_owns_doorbells) owns = (__typeof__(&softnic_owns_doorbells))softnic("softnic_owns_doorbells", false);
    return owns && owns(from, size);
}

static bool remember(void *base)
{
    if (count == room) {
        size_t more = room ? 2 * room : 16;
        void **grown = realloc(exported, more * sizeof(*grown));
        if (!grown)
            return false;
        exported = grown;
        room = more;
    }
    exported[count++] = base;
    atomic_store_explicit(&exports, count, memory_order_relaxed);
    return true;
}

void shim_exported(int fd, void *base, size_t size)
{
    __typeof__(&softnic_dmabuf_note) note = (__typeof__(&softnic_dmabuf_note))softnic("softnic_dmabuf_note", true);
    pthread_mutex_lock(&lock);
    if (note && remember(base)) /* what cannot be forgotten again is not told */
        note(fd, base, size);
    pthread_mutex_unlock(&lock);
}

bool shim_has_exports(void)
{
    return atomic_load_explicit(&exports, memory_order_relaxed) != 0;
}

void shim_freed(void *from, size_t size)
{
    __typeof__(&softnic_dmabuf_forget) forget =
        (__typeof__(&softnic_dmabuf_forget))softnic("softnic_dmabuf_forget", false);
    pthread_mutex_lock(&lock);
    for (size_t i = count; forget && i-- > 0;) {
        if ((uintptr_t)exported[i] - (uintptr_t)from >= size)
            continue;
        forget(exported[i]);
        exported[i] = exported[--count];
    }
    atomic_store_explicit(&exports, count, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}
