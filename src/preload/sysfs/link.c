/* SPDX-License-Identifier: Apache-2.0 */
/* readlink, realpath and their spellings. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"

static ssize_t read_ours(const struct pre_path *p, char *out, size_t size)
{
    char target[PATH_MAX];
    if (p->kind != SOFTNIC_SYSFS_LINK || !size) {
        errno = EINVAL;
        return -1;
    }
    long length = pre_read(p->path, target, sizeof(target));
    if (length < 0) {
        errno = (int)-length;
        return -1;
    }
    size_t n = (size_t)length < size ? (size_t)length : size;
    memcpy(out, target, n);
    return (ssize_t)n;
}

/* What the kernel said of a link below /proc/self/fd may be one of our memfds. */
static ssize_t strip(char *out, ssize_t length)
{
    return length > 0 ? pre_descriptor_strip(out, length) : length;
}

static SLOW ssize_t read_near(int dirfd, const char *path, char *out, size_t size)
{
    struct pre_path p;
    switch (pre_resolve(dirfd, path, false, &p)) {
    case PRE_OURS:
        return read_ours(&p, out, size);
    case PRE_ERROR:
        errno = p.error;
        return -1;
    case PRE_MOVED:
        return REAL(readlink)(p.path, out, size);
    default:
        return REAL(readlinkat)(dirfd, path, out, size);
    }
}

/* No name: the link that the descriptor is. */
static SLOW ssize_t read_itself(int fd, char *out, size_t size)
{
    struct pre_path p;
    if (!pre_descriptor_path(fd, p.path) || (p.kind = pre_kind(p.path)) == SOFTNIC_SYSFS_NONE)
        return REAL(readlinkat)(fd, "", out, size);
    if (p.kind == SOFTNIC_SYSFS_LINK)
        return read_ours(&p, out, size);
    errno = ENOENT;
    return -1;
}

static ssize_t read_at(int dirfd, const char *path, char *out, size_t size, bool at)
{
    if (!pre_passes(dirfd, path))
        return read_near(dirfd, path, out, size);
    if (at && path && !*path && pre_folders_opened())
        return read_itself(dirfd, out, size);
    return strip(out, at ? REAL(readlinkat)(dirfd, path, out, size) : REAL(readlink)(path, out, size));
}

EXPORT ssize_t readlink(const char *restrict path, char *restrict out, size_t size)
{
    return read_at(AT_FDCWD, path, out, size, false);
}

EXPORT ssize_t readlinkat(int dirfd, const char *restrict path, char *restrict out, size_t size)
{
    return read_at(dirfd, path, out, size, true);
}

/* What -D_FORTIFY_SOURCE calls. */
EXPORT ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t room);
EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *out, size_t size, size_t room);
EXPORT char *__realpath_chk(const char *path, char *out, size_t room);

static void insist(bool fits)
{
    if (!fits) {
        fputs("softnic: buffer overflow detected\n", stderr);
        abort();
    }
}

ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t room)
{
    insist(size <= room);
    return read_at(AT_FDCWD, path, out, size, false);
}

ssize_t __readlinkat_chk(int dirfd, const char *path, char *out, size_t size, size_t room)
{
    insist(size <= room);
    return read_at(dirfd, path, out, size, true);
}

static SLOW char *realpath_near(const char *path, char *out)
{
    struct pre_path p;
    switch (pre_resolve(AT_FDCWD, path, true, &p)) {
    case PRE_OURS:
        return out ? strcpy(out, p.path) : strdup(p.path);
    case PRE_ERROR:
        errno = p.error;
        return NULL;
    case PRE_MOVED:
        return REAL(realpath)(p.path, out);
    default:
        return REAL(realpath)(path, out);
    }
}

EXPORT char *realpath(const char *restrict path, char *restrict out)
{
    return pre_passes(AT_FDCWD, path) ? REAL(realpath)(path, out) : realpath_near(path, out);
}

char *__realpath_chk(const char *path, char *out, size_t room)
{
    insist(room >= PATH_MAX);
    return realpath(path, out);
}

EXPORT char *canonicalize_file_name(const char *path)
{
    return realpath(path, NULL);
}
