/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsoftnic, loaded when it is first asked for: programs that never look at an RDMA device do not carry it. A program
 * that uses the drop-in libraries has it already, and gets the same instance, so counters are those of its own NIC.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "preload.h"
#include "preload/library.h"

static struct {
    __typeof__(&softnic_sysfs_kind) kind;
    __typeof__(&softnic_sysfs_read) read;
} library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What libsoftnic opens while it answers is the machine's own. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool asking;

static void load(void)
{
    void *handle = softnic_library((const void *)load, true);
    if (!handle)
        return;
    __typeof__(library.kind) kind = (__typeof__(library.kind))dlsym(handle, "softnic_sysfs_kind");
    library.read = (__typeof__(library.read))dlsym(handle, "softnic_sysfs_read");
    library.kind = library.read ? kind : NULL;
}

static bool begin(void)
{
    if (asking)
        return false;
    asking = true;
    pthread_once(&once, load);
    asking = library.kind != NULL;
    return asking;
}

enum softnic_sysfs_kind pre_kind(const char *path)
{
    int saved = errno;
    enum softnic_sysfs_kind kind = SOFTNIC_SYSFS_NONE;
    if (begin()) {
        kind = library.kind(path);
        asking = false;
    }
    errno = saved;
    return kind;
}

long pre_read(const char *path, char *out, size_t size)
{
    int saved = errno;
    long length = -ENOENT;
    if (begin()) {
        length = library.read(path, out, size);
        asking = false;
    }
    errno = saved;
    return length;
}
