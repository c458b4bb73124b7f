/* SPDX-License-Identifier: Apache-2.0 */
/* Who has which function of the driver's interface. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "shim.h"

void *(*shim_libc_dlsym)(void *handle, const char *name);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct link_map *own_map, *driver_map;

/* dlvsym is not interposed, so it leads to the C library's dlsym by its versions: since 2.34, and before. */
static void find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]) && !shim_libc_dlsym; i++)
        shim_libc_dlsym = (__typeof__(shim_libc_dlsym))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
}

static struct link_map *map_of(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    return address && dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

static void find_maps(void)
{
    find_dlsym();
    if (!shim_libc_dlsym)
        __builtin_trap(); /* no dlsym in any C library that we know: every lookup of the program would fail */
    own_map = map_of((const void *)find_maps);
    driver_map = map_of(shim_libc_dlsym(RTLD_NEXT, "cuInit"));
}

void *shim_next(const char *name)
{
    pthread_once(&once, find_maps);
    return shim_libc_dlsym(RTLD_NEXT, name); /* behind us, that is: in the driver */
}

void *shim_choose(void *handle, const char *name)
{
    pthread_once(&once, find_maps);
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || !name)
        return NULL;
    if (handle == driver_map)
        return shim_own(name);
    if (handle != own_map)
        return NULL;
    void *found = shim_own(name);
    if (!found)
        found = shim_next(name);
    return found ? found : SHIM_ABSENT; /* dlerror then says what the search behind us said */
}
