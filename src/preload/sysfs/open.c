/* SPDX-License-Identifier: Apache-2.0 */
/* open, fopen and their spellings. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"

static bool takes_mode(int flags)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static SLOW int open_near(int dirfd, const char *path, int flags, mode_t mode)
{
    struct pre_path p;
    switch (pre_resolve(dirfd, path, !(flags & O_NOFOLLOW), &p)) {
    case PRE_OURS:
        return pre_descriptor_open(&p, flags);
    case PRE_MOVED:
        return REAL(open)(p.path, flags, mode);
    case PRE_ERROR:
        errno = p.error == ENOENT && flags & O_CREAT ? EACCES : p.error; /* nobody makes files in sysfs */
        return -1;
    default:
        return REAL(openat)(dirfd, path, flags, mode);
    }
}

static int open_at(int dirfd, const char *path, int flags, mode_t mode, bool at)
{
    if (!pre_passes(dirfd, path))
        return open_near(dirfd, path, flags, mode);
    return at ? REAL(openat)(dirfd, path, flags, mode) : REAL(open)(path, flags, mode);
}

#define MODE_OF(flags, last)                                                                                           \
    ({                                                                                                                 \
        mode_t mode_ = 0;                                                                                              \
        if (takes_mode(flags)) {                                                                                       \
            va_list args_;                                                                                             \
            va_start(args_, last);                                                                                     \
            mode_ = va_arg(args_, mode_t);                                                                             \
            va_end(args_);                                                                                             \
        }                                                                                                              \
        mode_;                                                                                                         \
    })

#undef open
#undef open64
#undef openat
#undef openat64
#undef creat64
#undef fopen64
#undef freopen64

EXPORT int open(const char *path, int flags, ...)
{
    return open_at(AT_FDCWD, path, flags, MODE_OF(flags, flags), false);
}

EXPORT int open64(const char *path, int flags, ...)
{
    return open_at(AT_FDCWD, path, flags | O_LARGEFILE, MODE_OF(flags, flags), false);
}

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
    return open_at(dirfd, path, flags, MODE_OF(flags, flags), true);
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
    return open_at(dirfd, path, flags | O_LARGEFILE, MODE_OF(flags, flags), true);
}

EXPORT int creat(const char *path, mode_t mode)
{
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode, false);
}

EXPORT int creat64(const char *path, mode_t mode)
{
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC | O_LARGEFILE, mode, false);
}

/* What -D_FORTIFY_SOURCE calls when there is no mode. */
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __openat_2(int dirfd, const char *path, int flags);
EXPORT int __openat64_2(int dirfd, const char *path, int flags);

int __open_2(const char *path, int flags)
{
    return open_at(AT_FDCWD, path, flags, 0, false);
}

int __open64_2(const char *path, int flags)
{
    return open_at(AT_FDCWD, path, flags | O_LARGEFILE, 0, false);
}

int __openat_2(int dirfd, const char *path, int flags)
{
    return open_at(dirfd, path, flags, 0, true);
}

int __openat64_2(int dirfd, const char *path, int flags)
{
    return open_at(dirfd, path, flags | O_LARGEFILE, 0, true);
}

/* ---- streams ------------------------------------------------------------------------------------------------------ */

/* A descriptor for a path of ours, opened as that mode of fopen says. */
static int open_for_stream(const struct pre_path *p, const char *mode)
{
    int flags = strchr(mode, 'e') ? O_CLOEXEC : 0;
    if (*mode != 'r' || strchr(mode, '+')) {
        errno = p->kind == SOFTNIC_SYSFS_FOLDER ? EISDIR : EACCES;
        return -1;
    }
    return pre_descriptor_open(p, O_RDONLY | flags);
}

static FILE *stream_of(const struct pre_path *p, const char *mode)
{
    int fd = open_for_stream(p, mode);
    FILE *file = fd < 0 ? NULL : fdopen(fd, mode);
    if (!file && fd >= 0)
        close(fd);
    return file;
}

static SLOW FILE *fopen_near(const char *path, const char *mode)
{
    struct pre_path p;
    switch (pre_resolve(AT_FDCWD, path, true, &p)) {
    case PRE_OURS:
        return stream_of(&p, mode);
    case PRE_MOVED:
        return REAL(fopen)(p.path, mode);
    case PRE_ERROR:
        errno = p.error == ENOENT && *mode != 'r' ? EACCES : p.error;
        return NULL;
    default:
        return REAL(fopen)(path, mode);
    }
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    return pre_passes(AT_FDCWD, path) ? REAL(fopen)(path, mode) : fopen_near(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    return fopen(path, mode);
}

/* The C library opens the descriptor once more, under the name that /proc gives it. */
static FILE *reopen(const struct pre_path *p, const char *mode, FILE *stream)
{
    char name[40];
    int fd = open_for_stream(p, mode);
    if (fd < 0)
        return NULL;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    FILE *file = REAL(freopen)(name, mode, stream);
    close(fd);
    return file;
}

static SLOW FILE *freopen_near(const char *path, const char *mode, FILE *stream)
{
    struct pre_path p;
    switch (pre_resolve(AT_FDCWD, path, true, &p)) {
    case PRE_OURS:
        return reopen(&p, mode, stream);
    case PRE_MOVED:
        return REAL(freopen)(p.path, mode, stream);
    case PRE_ERROR:
        errno = p.error;
        return NULL;
    default:
        return REAL(freopen)(path, mode, stream);
    }
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    return pre_passes(AT_FDCWD, path) ? REAL(freopen)(path, mode, stream) : freopen_near(path, mode, stream);
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
    return freopen(path, mode, stream);
}
