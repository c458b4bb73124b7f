/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parse.h"

#ifndef GDAKI_KERNEL_DIR
#define GDAKI_KERNEL_DIR "/usr/local/lib/gdaki"
#endif

/* Folder of the running program, without the trailing slash. */
static int program_folder(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    if (n <= 0)
        return -1;
    out[n] = 0;
    slash = strrchr(out, '/');
    if (!slash)
        return -1;
    *slash = 0;
    return 0;
}

/* First existing file of: beside the program, ../lib/gdaki from it, the configured folder. 0 found, -1 not. */
static int find_object(const char *backend, char *path, size_t size)
{
    char folder[PATH_MAX];
    static const char *const places[] = {"", "/../lib/gdaki"};

    if (!program_folder(folder, sizeof(folder))) {
        for (size_t i = 0; i < 2; i++) {
            int n = snprintf(path, size, "%s%s/gdaki-kernels-%s.so", folder, places[i], backend);

            if (n > 0 && (size_t)n < size && !access(path, R_OK))
                return 0;
        }
    }
    snprintf(path, size, "%s/gdaki-kernels-%s.so", GDAKI_KERNEL_DIR, backend);
    return access(path, R_OK);
}

int kernels_present(const char *backend, char *path, size_t size)
{
    return find_object(backend, path, size) == 0;
}

const struct gdaki_kernels *kernels_load(const char *backend, char *why)
{
    char path[PATH_MAX];
    const struct gdaki_kernels *(*get)(void);
    const struct gdaki_kernels *table;
    void *object;

    if (find_object(backend, path, sizeof(path))) {
        snprintf(why, PARSE_WHY_SIZE, "no kernels for the GPU back-end %s: gdaki-kernels-%s.so is neither beside the "
                 "program nor in %s%s", backend, backend, GDAKI_KERNEL_DIR,
                 strcmp(backend, "cuda") ? "" : " (built where nvcc is found)");
        return NULL;
    }
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        snprintf(why, PARSE_WHY_SIZE, "cannot load kernels: %s", dlerror());
        return NULL;
    }
    get = (const struct gdaki_kernels *(*)(void))dlsym(object, "gdaki_kernels_get");
    table = get ? get() : NULL;
    if (!table || table->abi != GDAKI_KERNELS_ABI || strcmp(table->backend, backend)) {
        snprintf(why, PARSE_WHY_SIZE, "%.150s is not a kernel object of this program (interface %u, back-end %s)", path,
                 table ? table->abi : 0, table ? table->backend : "none");
        return NULL;
    }
    return table;
}
