/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors are memfds called "softnic:PATH", which /proc shows as "/memfd:softnic:PATH (deleted)". A file's holds what
 * stood in it when it was opened; a folder's is empty, its names are asked for when it is read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

#define OUR_NAME    "/memfd:softnic:"
#define OUR_ENDING  " (deleted)"

static atomic_bool folders_opened;

bool pre_folders_opened(void)
{
    return atomic_load_explicit(&folders_opened, memory_order_relaxed);
}

static int make(const char *path, const char *content, size_t length)
{
    char name[240];
    snprintf(name, sizeof(name), "softnic:%.230s", path);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (write(fd, content, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    REAL(fchmod)(fd, 0444);
    return fd;
}

/* The same file again without the right to write, as it would have been opened; without /proc the seals must do. */
static int read_only(int fd, int flags)
{
    char name[40];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    int again = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | (flags & (O_CLOEXEC | O_NONBLOCK | O_PATH)), 0);
    if (again < 0) {
        if (!(flags & O_CLOEXEC))
            fcntl(fd, F_SETFD, 0);
        return fd;
    }
    close(fd);
    return again;
}

/* A file whose reading fails with EINVAL, as an empty entry of a GID table does: so does reading an epoll descriptor. */
static int unreadable(int flags)
{
    return epoll_create1(flags & O_CLOEXEC ? EPOLL_CLOEXEC : 0);
}

static int open_file(const struct pre_path *p, int flags)
{
    char content[4096];
    if (flags & O_DIRECTORY) {
        errno = ENOTDIR;
        return -1;
    }
    if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC) {
        errno = flags & O_EXCL && flags & O_CREAT ? EEXIST : EACCES;
        return -1;
    }
    long length = pre_read(p->path, content, sizeof(content));
    if (length == -EINVAL)
        return unreadable(flags);
    if (length < 0) {
        errno = (int)-length;
        return -1;
    }
    int fd = make(p->path, content, (size_t)length);
    return fd < 0 ? -1 : read_only(fd, flags);
}

static int open_folder(const struct pre_path *p, int flags)
{
    if ((flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT) {
        errno = EISDIR;
        return -1;
    }
    int fd = make(p->path, "", 0);
    if (fd >= 0)
        atomic_store_explicit(&folders_opened, true, memory_order_relaxed);
    return fd < 0 ? -1 : read_only(fd, flags);
}

/* O_PATH: whatever it is can be opened, a link itself among it, and nothing else can be asked for in the same call. */
static int open_path(const struct pre_path *p, int flags)
{
    char content[4096] = "";
    bool folder = p->kind == SOFTNIC_SYSFS_FOLDER;
    if (flags & O_DIRECTORY && !folder) {
        errno = ENOTDIR;
        return -1;
    }
    long length = p->kind == SOFTNIC_SYSFS_FILE ? pre_read(p->path, content, sizeof(content)) : 0;
    int fd = make(p->path, content, length > 0 ? (size_t)length : 0);
    if (fd >= 0 && (folder || p->kind == SOFTNIC_SYSFS_LINK))
        atomic_store_explicit(&folders_opened, true, memory_order_relaxed);
    return fd < 0 ? -1 : read_only(fd, flags);
}

int pre_descriptor_open(const struct pre_path *p, int flags)
{
    if (flags & O_PATH)
        return open_path(p, flags);
    if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
        errno = EEXIST;
        return -1;
    }
    switch (p->kind) {
    case SOFTNIC_SYSFS_FILE:
        return open_file(p, flags);
    case SOFTNIC_SYSFS_FOLDER:
        return open_folder(p, flags);
    case SOFTNIC_SYSFS_NODE: /* there to be seen; no driver is behind it */
        errno = ENXIO;
        return -1;
    default: /* a link, and the caller said O_NOFOLLOW */
        errno = ELOOP;
        return -1;
    }
}

ssize_t pre_descriptor_strip(char *name, ssize_t length)
{
    size_t start = strlen(OUR_NAME), end = strlen(OUR_ENDING);
    if (length < (ssize_t)(start + end) || memcmp(name, OUR_NAME, start) != 0 ||
        memcmp(name + length - end, OUR_ENDING, end) != 0)
        return length;
    size_t left = (size_t)length - start - end;
    memmove(name, name + start, left);
    memset(name + left, 0, start + end); /* the kernel would not have written there */
    return (ssize_t)left;
}

/* The length of the name before anything is taken off, or 0. */
static size_t read_name(int fd, char out[PATH_MAX])
{
    char link[40];
    int saved = errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = fd < 0 ? -1 : syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX - 1);
    errno = saved;
    if (n <= 0)
        return 0;
    out[n] = '\0';
    return (size_t)n;
}

bool pre_descriptor_name(int fd, char out[PATH_MAX])
{
    size_t n = read_name(fd, out);
    if (n)
        out[pre_descriptor_strip(out, (ssize_t)n)] = '\0';
    return n;
}

static SLOW bool has_our_name(int fd)
{
    char path[PATH_MAX];
    return pre_descriptor_path(fd, path);
}

bool pre_descriptor_is_ours(int fd)
{
    struct stat st;
    int saved = errno;
    bool may = fd >= 0 && !REAL(fstat)(fd, &st) && !st.st_nlink && S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0444;
    errno = saved;
    return may && has_our_name(fd);
}

bool pre_descriptor_path(int fd, char out[PATH_MAX])
{
    size_t n = read_name(fd, out), left = n ? (size_t)pre_descriptor_strip(out, (ssize_t)n) : 0;
    if (left == n)
        return false;
    out[left] = '\0';
    return true;
}
