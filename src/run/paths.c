/* SPDX-License-Identifier: Apache-2.0 */
/* Where our own libraries are: relative to the executable, so that an installed tree can be moved. */
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#ifndef SOFTNIC_LIBRARIES /* from the installed executable's folder */
#define SOFTNIC_LIBRARIES "../lib/softnic"
#endif

static bool own_folder(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* `folder`/`name` with every link resolved; out is empty if it is not there. */
static bool resolve(const char *folder, const char *name, char out[PATH_MAX])
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (realpath(path, out))
        return true;
    out[0] = '\0';
    return false;
}

static bool is_library_folder(const char *folder)
{
    char file[PATH_MAX];
    return resolve(folder, "libibverbs.so.1", file);
}

/*
 * The machine's CUDA driver, found as the loader would. Opening it has no effect but to map it; its file is what the
 * program's loader gets to see.
 */
static void find_driver(char out[PATH_MAX])
{
    struct {
        Dl_info info;
        void *at;
    } found = {0};
    out[0] = '\0';
    void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return;
    found.at = dlsym(handle, "cuInit");
    if (found.at && dladdr(found.at, &found.info) && found.info.dli_fname && !realpath(found.info.dli_fname, out))
        out[0] = '\0';
    /* It stays open: the driver need not survive being closed, and this process is about to be another program. */
}

int run_paths_find(struct run_paths *out)
{
    char folder[PATH_MAX];
    *out = (struct run_paths){0};
    if (!own_folder(folder)) {
        run_say("cannot find out where this program lies: /proc/self/exe: %s", strerror(errno));
        return RUN_FAILED;
    }
    if (!(resolve(folder, "../softnic-libs", out->libraries) && is_library_folder(out->libraries)) &&
        !(resolve(folder, SOFTNIC_LIBRARIES, out->libraries) && is_library_folder(out->libraries))) {
        run_say("libibverbs.so.1 is neither in %s/../softnic-libs nor in %s/" SOFTNIC_LIBRARIES, folder, folder);
        return RUN_FAILED;
    }
    resolve(out->libraries, "preload/libsoftnic-preload.so", out->preload);
    resolve(out->libraries, "cuda/libcuda.so.1", out->cuda);
    find_driver(out->driver);
    return 0;
}
