/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsoftnic for the preloaded libraries: the instance that is loaded already, or else the one that belongs to us. Our own
 * run path leads to it, unless somebody stands before dlopen (a sanitizer does), for then the loader looks at his.
 */
#ifndef SOFTNIC_PRELOAD_LIBRARY_H
#define SOFTNIC_PRELOAD_LIBRARY_H

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SOFTNIC_LIBRARY "libsoftnic.so.1"

/* `own`: anything in the calling library, which lies two folders below LIBDIR/libsoftnic.so.1, or in a build folder. */
static inline void *softnic_library(const void *own, bool load)
{
    static const char *const places[] = {"../../" SOFTNIC_LIBRARY, "../../src/softnic/" SOFTNIC_LIBRARY};
    void *handle = dlopen(SOFTNIC_LIBRARY, RTLD_NOW | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD));
    char path[PATH_MAX];
    Dl_info info;
    if (handle || !load || !dladdr(own, &info) || !info.dli_fname)
        return handle;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) : 0;
    for (size_t i = 0; folder && !handle && i < sizeof(places) / sizeof(places[0]); i++)
        if (snprintf(path, sizeof(path), "%.*s/%s", folder, info.dli_fname, places[i]) < (int)sizeof(path))
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return handle;
}

#endif
