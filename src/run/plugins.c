/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins.h"

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * `pattern` is meant from the folder of the library itself; one without a slash also from those of LD_LIBRARY_PATH. A
 * `variable` that is set names the folder instead (UCX, libfabric: user's guides; NCCL: net plugin API; NVSHMEM: installation
 * guide; Open MPI: MCA).
 */
static const struct convention {
    const char *library; /* how its name begins */
    const char *pattern, *variable;
} conventions[] = {
    {"libnccl.so", "libnccl-net*.so*", NULL},
    {"libnvshmem_host.so", "nvshmem_transport_*.so*", NULL},
    {"libuct.so", "ucx/libuct_*.so*", "UCX_MODULE_DIR"},
    {"libfabric.so", "libfabric/lib*-fi.so", "FI_PROVIDER_PATH"},
    {"libmpi.so", "openmpi/mca_*.so", NULL},
    {"libmpi.so", "openmpi/lib/openmpi*/mca_*.so", NULL}, /* as Debian has them */
};

struct seeker {
    void (*found)(void *arg, const char *plugin);
    void *arg;
};

/* A folder may be called anything: what glob(3) would read as a pattern is escaped. 0: there is no room. */
static size_t escape(const char *folder, size_t length, char *to, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (used + 2 > room)
            return 0;
        if (strchr("*?[]\\", folder[i]))
            to[used++] = '\\';
        to[used++] = folder[i];
    }
    return used;
}

static void seek(const struct seeker *s, const char *folder, size_t length, const char *pattern)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    size_t used = escape(folder, length, path, sizeof(path));
    glob_t g;
    if (!used || (size_t)snprintf(path + used, sizeof(path) - used, "/%s", pattern) >= sizeof(path) - used)
        return;
    if (glob(path, 0, NULL, &g))
        return;
    for (size_t i = 0; i < g.gl_pathc; i++)
        if (realpath(g.gl_pathv[i], real)) /* a file and the links to it are one */
            s->found(s->arg, real);
    globfree(&g);
}

static void seek_in_list(const struct seeker *s, const char *list, const char *pattern)
{
    while (list && *list) {
        size_t length = strcspn(list, ":");
        seek(s, list, length, pattern);
        list += length + (list[length] == ':');
    }
}

static void follow(const struct convention *c, const char *path, const struct seeker *s)
{
    const char *own = c->variable ? getenv(c->variable) : NULL, *slash = strrchr(path, '/');
    const char *file = strrchr(c->pattern, '/');
    if (own && *own) {
        seek_in_list(s, own, file ? file + 1 : c->pattern);
        return;
    }
    if (slash)
        seek(s, path, (size_t)(slash - path), c->pattern);
    if (!file)
        seek_in_list(s, getenv("LD_LIBRARY_PATH"), c->pattern);
}

void plugins_of(const char *name, const char *path, void (*found)(void *arg, const char *plugin), void *arg)
{
    const struct seeker s = {.found = found, .arg = arg};
    char real[PATH_MAX];
    for (size_t i = 0; i < sizeof(conventions) / sizeof(conventions[0]); i++) {
        if (strncmp(name, conventions[i].library, strlen(conventions[i].library)) != 0)
            continue;
        follow(&conventions[i], path, &s);
        if (realpath(path, real) && strcmp(real, path) != 0) /* and where a link to the library leads */
            follow(&conventions[i], real, &s);
    }
}
