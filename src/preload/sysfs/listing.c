/* SPDX-License-Identifier: Apache-2.0 */
/* scandir and glob: inside the C library they read folders in a way that nobody can stand before. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "preload.h"

typedef int select_fn(const struct dirent *);
typedef int compare_fn(const struct dirent **, const struct dirent **);

static int order(const void *a, const void *b, void *compare)
{
    compare_fn *fn = *(compare_fn **)compare;
    return fn((const struct dirent **)(uintptr_t)a, (const struct dirent **)(uintptr_t)b);
}

static void free_all(struct dirent **list, size_t count)
{
    while (count)
        free(list[--count]);
    free(list);
}

/* Adds a copy; false: no memory. */
static bool keep(struct dirent ***list, size_t *count, size_t *room, const struct dirent *e)
{
    if (*count == *room) {
        size_t more = *room ? 2 * *room : 16;
        struct dirent **grown = realloc(*list, more * sizeof(*grown));
        if (!grown)
            return false;
        *list = grown;
        *room = more;
    }
    struct dirent *copy = malloc(sizeof(*copy));
    if (!copy)
        return false;
    memcpy(copy, e, sizeof(*copy));
    (*list)[(*count)++] = copy;
    return true;
}

static int scan(DIR *dir, struct dirent ***out, select_fn *select, compare_fn *compare)
{
    struct dirent **list = NULL, *e;
    size_t count = 0, room = 0;
    bool complete = true;
    if (!dir)
        return -1;
    while (complete && (e = readdir(dir)))
        if (!select || select(e))
            complete = keep(&list, &count, &room, e);
    closedir(dir);
    if (!complete) {
        free_all(list, count);
        errno = ENOMEM;
        return -1;
    }
    if (compare && count)
        qsort_r(list, count, sizeof(*list), order, &compare);
    *out = list;
    return (int)count;
}

EXPORT int scandir(const char *restrict path, struct dirent ***restrict out, select_fn *select, compare_fn *compare)
{
    return pre_folder_shows_ours(AT_FDCWD, path) ? scan(opendir(path), out, select, compare)
                                                 : REAL(scandir)(path, out, select, compare);
}

EXPORT int scandirat(int dirfd, const char *restrict path, struct dirent ***restrict out, select_fn *select,
                     compare_fn *compare)
{
    if (!pre_folder_shows_ours(dirfd, path))
        return REAL(scandirat)(dirfd, path, out, select, compare);
    int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !dir)
        close(fd);
    return scan(dir, out, select, compare);
}

EXPORT int scandir64(const char *restrict path, struct dirent64 ***restrict out, int (*select)(const struct dirent64 *),
                     int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
    return scandir(path, (struct dirent ***)(void *)out, (select_fn *)(void *)select, (compare_fn *)(void *)compare);
}

EXPORT int scandirat64(int dirfd, const char *restrict path, struct dirent64 ***restrict out,
                       int (*select)(const struct dirent64 *),
                       int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
    return scandirat(dirfd, path, (struct dirent ***)(void *)out, (select_fn *)(void *)select,
                     (compare_fn *)(void *)compare);
}

/* ---- glob ---------------------------------------------------------------------------------------------------------- */

static void *glob_open(const char *path)
{
    return opendir(path);
}

static void glob_close(void *dir)
{
    closedir(dir);
}

static struct dirent *glob_read(void *dir)
{
    return readdir(dir);
}

static int glob_stat(const char *restrict path, struct stat *restrict out)
{
    return stat(path, out);
}

static int glob_lstat(const char *restrict path, struct stat *restrict out)
{
    return lstat(path, out);
}

/* The C library's own way of being told how to read folders. */
EXPORT int glob(const char *restrict pattern, int flags, int (*on_error)(const char *, int), glob_t *restrict out)
{
    if (flags & GLOB_ALTDIRFUNC || !out || !pattern || (!strstr(pattern, "/sys") && !strstr(pattern, "infiniband")))
        return REAL(glob)(pattern, flags, on_error, out);
    out->gl_opendir = glob_open;
    out->gl_closedir = glob_close;
    out->gl_readdir = glob_read;
    out->gl_stat = glob_stat;
    out->gl_lstat = glob_lstat;
    int rc = REAL(glob)(pattern, flags | GLOB_ALTDIRFUNC, on_error, out);
    out->gl_flags &= ~GLOB_ALTDIRFUNC;
    return rc;
}

EXPORT int glob64(const char *restrict pattern, int flags, int (*on_error)(const char *, int), glob64_t *restrict out)
{
    return glob(pattern, flags, on_error, (glob_t *)(void *)out);
}
