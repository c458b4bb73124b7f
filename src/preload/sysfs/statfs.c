/* SPDX-License-Identifier: Apache-2.0 */
/* statfs and statvfs: what the machine's sysfs says of itself, and for the nodes what its /dev says. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "preload.h"

_Static_assert(sizeof(struct statfs) == sizeof(struct statfs64), "struct statfs64 is another structure here");
_Static_assert(sizeof(struct statvfs) == sizeof(struct statvfs64), "struct statvfs64 is another structure here");

/* Exactly one of the two is asked for. */
struct report {
    struct statfs *fs;
    struct statvfs *vfs;
};

static int ask(const char *path, const struct report *out)
{
    return out->fs ? REAL(statfs)(path, out->fs) : REAL(statvfs)(path, out->vfs);
}

static int ask_fd(int fd, const struct report *out)
{
    return out->fs ? REAL(fstatfs)(fd, out->fs) : REAL(fstatvfs)(fd, out->vfs);
}

/* In a container without sysfs the folder /sys is part of something else, or is not there. */
static int of_ours(const char *path, const struct report *out)
{
    struct statfs there;
    if (!strncmp(path, "/dev/", 5))
        return ask("/dev", out);
    if (!REAL(statfs)("/sys", &there) && there.f_type == SYSFS_MAGIC)
        return ask("/sys", out);
    if (out->fs)
        *out->fs = (struct statfs){.f_type = SYSFS_MAGIC, .f_bsize = 4096, .f_frsize = 4096, .f_namelen = NAME_MAX};
    else
        *out->vfs = (struct statvfs){.f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MAX};
    return 0;
}

static SLOW int near(const char *path, const struct report *out)
{
    struct pre_path p;
    switch (pre_resolve(AT_FDCWD, path, true, &p)) {
    case PRE_OURS:
        return of_ours(p.path, out);
    case PRE_ERROR:
        errno = p.error;
        return -1;
    case PRE_MOVED:
        return ask(p.path, out);
    default:
        return ask(path, out);
    }
}

static int of_path(const char *path, const struct report *out)
{
    return pre_passes(AT_FDCWD, path) ? ask(path, out) : near(path, out);
}

static SLOW int of_our_fd(int fd, const struct report *out)
{
    char path[PATH_MAX];
    return pre_descriptor_path(fd, path) ? of_ours(path, out) : ask_fd(fd, out);
}

static int of_fd(int fd, const struct report *out)
{
    return pre_descriptor_is_ours(fd) ? of_our_fd(fd, out) : ask_fd(fd, out);
}

EXPORT int statfs(const char *path, struct statfs *out)
{
    return of_path(path, &(struct report){.fs = out});
}

EXPORT int statfs64(const char *path, struct statfs64 *out)
{
    return statfs(path, (struct statfs *)(void *)out);
}

EXPORT int fstatfs(int fd, struct statfs *out)
{
    return of_fd(fd, &(struct report){.fs = out});
}

EXPORT int fstatfs64(int fd, struct statfs64 *out)
{
    return fstatfs(fd, (struct statfs *)(void *)out);
}

EXPORT int statvfs(const char *restrict path, struct statvfs *restrict out)
{
    return of_path(path, &(struct report){.vfs = out});
}

EXPORT int statvfs64(const char *restrict path, struct statvfs64 *restrict out)
{
    return statvfs(path, (struct statvfs *)(void *)out);
}

EXPORT int fstatvfs(int fd, struct statvfs *out)
{
    return of_fd(fd, &(struct report){.vfs = out});
}

EXPORT int fstatvfs64(int fd, struct statvfs64 *out)
{
    return fstatvfs(fd, (struct statvfs *)(void *)out);
}
