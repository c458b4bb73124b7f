/* SPDX-License-Identifier: Apache-2.0 */
/* stat, access and their spellings. On the 64-bit machines that we build for, struct stat64 is struct stat. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload.h"

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "struct stat64 is another structure here");

/* ---- what there is to say ------------------------------------------------------------------------------------------ */

/* FNV-1a over the path: the same in every process, and beyond what the kernel hands out. */
static ino_t inode_of(const char *path)
{
    uint64_t h = 14695981039346656037u;
    for (; *path; path++)
        h = (h ^ (uint8_t)*path) * 1099511628211u;
    return h >> 8 | 1ull << 56;
}

static dev_t node_number(const char *path)
{
    const char *uverbs = strstr(path, "uverbs");
    return uverbs ? makedev(231, 192 + (unsigned)atoi(uverbs + 6)) : makedev(10, 58);
}

/* Device and times are those of the real sysfs. */
void pre_stat(const char *path, enum softnic_sysfs_kind kind, struct stat *out)
{
    struct stat sysfs = {0};
    int saved = errno;
    REAL(stat)("/sys", &sysfs);
    errno = saved;
    *out = (struct stat){.st_dev = sysfs.st_dev,
                         .st_ino = inode_of(path),
                         .st_nlink = kind == SOFTNIC_SYSFS_FOLDER ? 2 : 1,
                         .st_blksize = 4096,
                         .st_atim = sysfs.st_ctim,
                         .st_mtim = sysfs.st_ctim,
                         .st_ctim = sysfs.st_ctim};
    switch (kind) {
    case SOFTNIC_SYSFS_FOLDER: out->st_mode = S_IFDIR | 0755; break;
    case SOFTNIC_SYSFS_LINK: out->st_mode = S_IFLNK | 0777; break;
    case SOFTNIC_SYSFS_NODE:
        out->st_mode = S_IFCHR | 0666;
        out->st_rdev = node_number(path);
        break;
    default:
        out->st_mode = S_IFREG | 0444;
        out->st_size = 4096;
        out->st_blocks = 8; /* sysfs says 0, but cp would take that for holes and ask the memfd, which has some */
    }
}

static SLOW void correct_memfd(int fd, struct stat *st)
{
    char path[PATH_MAX];
    enum softnic_sysfs_kind kind = pre_descriptor_path(fd, path) ? pre_kind(path) : SOFTNIC_SYSFS_NONE;
    if (kind != SOFTNIC_SYSFS_NONE)
        pre_stat(path, kind, st);
}

/* An open memfd of ours gets what stat says of its path. Others are told apart without a system call more. */
static int correct(int fd, struct stat *st)
{
    if (!st->st_nlink && S_ISREG(st->st_mode) && (st->st_mode & 07777) == 0444)
        correct_memfd(fd, st);
    return 0;
}

/* 0, -1 with errno, or 1: ask the C library. *real: the path to ask it with. */
static int stat_ours(int dirfd, const char **real, bool follow, struct pre_path *p, struct stat *out)
{
    switch (pre_resolve(dirfd, *real, follow, p)) {
    case PRE_OURS:
        pre_stat(p->path, p->kind, out);
        return 0;
    case PRE_ERROR:
        errno = p->error;
        return -1;
    case PRE_MOVED:
        *real = p->path;
        return 1;
    default:
        return 1;
    }
}

/* ---- stat ---------------------------------------------------------------------------------------------------------- */

static SLOW int stat_near(const char *path, struct stat *out)
{
    struct pre_path p;
    int rc = stat_ours(AT_FDCWD, &path, true, &p, out);
    return rc <= 0 ? rc : REAL(stat)(path, out);
}

static int stat_path(const char *path, struct stat *out)
{
    return pre_passes(AT_FDCWD, path) ? REAL(stat)(path, out) : stat_near(path, out);
}

static SLOW int lstat_near(const char *path, struct stat *out)
{
    struct pre_path p;
    int rc = stat_ours(AT_FDCWD, &path, false, &p, out);
    return rc <= 0 ? rc : REAL(lstat)(path, out);
}

static int lstat_path(const char *path, struct stat *out)
{
    return pre_passes(AT_FDCWD, path) ? REAL(lstat)(path, out) : lstat_near(path, out);
}

static int stat_fd(int fd, struct stat *out)
{
    return REAL(fstat)(fd, out) ? -1 : correct(fd, out);
}

static SLOW int stat_at_near(int dirfd, const char *path, struct stat *out, int flags)
{
    struct pre_path p;
    int rc = stat_ours(dirfd, &path, !(flags & AT_SYMLINK_NOFOLLOW), &p, out);
    return rc <= 0 ? rc : REAL(fstatat)(dirfd, path, out, flags);
}

static int stat_at(int dirfd, const char *path, struct stat *out, int flags)
{
    if (!pre_passes(dirfd, path))
        return stat_at_near(dirfd, path, out, flags);
    if (REAL(fstatat)(dirfd, path, out, flags))
        return -1;
    return flags & AT_EMPTY_PATH && path && !*path ? correct(dirfd, out) : 0;
}

#define AS_STAT(st) ((struct stat *)(void *)(st))

EXPORT int stat(const char *restrict path, struct stat *restrict out)
{
    return stat_path(path, out);
}

EXPORT int stat64(const char *restrict path, struct stat64 *restrict out)
{
    return stat_path(path, AS_STAT(out));
}

EXPORT int lstat(const char *restrict path, struct stat *restrict out)
{
    return lstat_path(path, out);
}

EXPORT int lstat64(const char *restrict path, struct stat64 *restrict out)
{
    return lstat_path(path, AS_STAT(out));
}

EXPORT int fstat(int fd, struct stat *out)
{
    return stat_fd(fd, out);
}

EXPORT int fstat64(int fd, struct stat64 *out)
{
    return stat_fd(fd, AS_STAT(out));
}

EXPORT int fstatat(int dirfd, const char *restrict path, struct stat *restrict out, int flags)
{
    return stat_at(dirfd, path, out, flags);
}

EXPORT int fstatat64(int dirfd, const char *restrict path, struct stat64 *restrict out, int flags)
{
    return stat_at(dirfd, path, AS_STAT(out), flags);
}

/* Programs built before glibc 2.33 call these; the version is that of the structure, and there is one. */
EXPORT int __xstat(int version, const char *path, struct stat *out);
EXPORT int __xstat64(int version, const char *path, struct stat64 *out);
EXPORT int __lxstat(int version, const char *path, struct stat *out);
EXPORT int __lxstat64(int version, const char *path, struct stat64 *out);
EXPORT int __fxstat(int version, int fd, struct stat *out);
EXPORT int __fxstat64(int version, int fd, struct stat64 *out);
EXPORT int __fxstatat(int version, int dirfd, const char *path, struct stat *out, int flags);
EXPORT int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *out, int flags);

int __xstat(int version, const char *path, struct stat *out)
{
    (void)version;
    return stat_path(path, out);
}

int __xstat64(int version, const char *path, struct stat64 *out)
{
    (void)version;
    return stat_path(path, AS_STAT(out));
}

int __lxstat(int version, const char *path, struct stat *out)
{
    (void)version;
    return lstat_path(path, out);
}

int __lxstat64(int version, const char *path, struct stat64 *out)
{
    (void)version;
    return lstat_path(path, AS_STAT(out));
}

int __fxstat(int version, int fd, struct stat *out)
{
    (void)version;
    return stat_fd(fd, out);
}

int __fxstat64(int version, int fd, struct stat64 *out)
{
    (void)version;
    return stat_fd(fd, AS_STAT(out));
}

int __fxstatat(int version, int dirfd, const char *path, struct stat *out, int flags)
{
    (void)version;
    return stat_at(dirfd, path, out, flags);
}

int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *out, int flags)
{
    (void)version;
    return stat_at(dirfd, path, AS_STAT(out), flags);
}

/* ---- statx --------------------------------------------------------------------------------------------------------- */

static struct statx_timestamp stamp_of(struct timespec t)
{
    return (struct statx_timestamp){.tv_sec = t.tv_sec, .tv_nsec = (uint32_t)t.tv_nsec};
}

static void convert(const struct stat *st, struct statx *out)
{
    *out = (struct statx){.stx_mask = STATX_BASIC_STATS,
                          .stx_blksize = (uint32_t)st->st_blksize,
                          .stx_nlink = (uint32_t)st->st_nlink,
                          .stx_mode = (uint16_t)st->st_mode,
                          .stx_ino = st->st_ino,
                          .stx_size = (uint64_t)st->st_size,
                          .stx_blocks = (uint64_t)st->st_blocks,
                          .stx_atime = stamp_of(st->st_atim),
                          .stx_ctime = stamp_of(st->st_ctim),
                          .stx_mtime = stamp_of(st->st_mtim),
                          .stx_rdev_major = major(st->st_rdev),
                          .stx_rdev_minor = minor(st->st_rdev),
                          .stx_dev_major = major(st->st_dev),
                          .stx_dev_minor = minor(st->st_dev)};
}

static SLOW int statx_near(int dirfd, const char *path, int flags, unsigned mask, struct statx *out)
{
    struct pre_path p;
    struct stat st;
    int rc = stat_ours(dirfd, &path, !(flags & AT_SYMLINK_NOFOLLOW), &p, &st);
    if (rc > 0)
        return REAL(statx)(dirfd, path, flags, mask, out);
    if (!rc)
        convert(&st, out);
    return rc;
}

EXPORT int statx(int dirfd, const char *restrict path, int flags, unsigned mask, struct statx *restrict out)
{
    struct stat st;
    if (!pre_passes(dirfd, path))
        return statx_near(dirfd, path, flags, mask, out);
    if (!(flags & AT_EMPTY_PATH) || !path || *path || REAL(fstat)(dirfd, &st) || st.st_nlink)
        return REAL(statx)(dirfd, path, flags, mask, out);
    correct(dirfd, &st);
    if (!st.st_nlink)
        return REAL(statx)(dirfd, path, flags, mask, out);
    convert(&st, out);
    return 0;
}

/* ---- access -------------------------------------------------------------------------------------------------------- */

/* sysfs refuses writing even to root where there is nobody to take it. */
static int may(enum softnic_sysfs_kind kind, int mode)
{
    bool writes = mode & W_OK && kind != SOFTNIC_SYSFS_NODE, executes = mode & X_OK && kind != SOFTNIC_SYSFS_FOLDER;
    if (!writes && !executes)
        return 0;
    errno = EACCES;
    return -1;
}

static int access_ours(int dirfd, const char **path, bool follow, int mode, struct pre_path *p)
{
    struct stat unused;
    int rc = stat_ours(dirfd, path, follow, p, &unused);
    return rc ? rc : may(p->kind, mode);
}

static SLOW int access_near(const char *path, int mode)
{
    struct pre_path p;
    int rc = access_ours(AT_FDCWD, &path, true, mode, &p);
    return rc <= 0 ? rc : REAL(access)(path, mode);
}

EXPORT int access(const char *path, int mode)
{
    return pre_passes(AT_FDCWD, path) ? REAL(access)(path, mode) : access_near(path, mode);
}

static SLOW int eaccess_near(const char *path, int mode)
{
    struct pre_path p;
    int rc = access_ours(AT_FDCWD, &path, true, mode, &p);
    return rc <= 0 ? rc : REAL(eaccess)(path, mode);
}

EXPORT int eaccess(const char *path, int mode)
{
    return pre_passes(AT_FDCWD, path) ? REAL(eaccess)(path, mode) : eaccess_near(path, mode);
}

EXPORT int euidaccess(const char *path, int mode)
{
    return eaccess(path, mode);
}

static SLOW int faccessat_near(int dirfd, const char *path, int mode, int flags)
{
    struct pre_path p;
    int rc = access_ours(dirfd, &path, !(flags & AT_SYMLINK_NOFOLLOW), mode, &p);
    return rc <= 0 ? rc : REAL(faccessat)(dirfd, path, mode, flags);
}

EXPORT int faccessat(int dirfd, const char *path, int mode, int flags)
{
    return pre_passes(dirfd, path) ? REAL(faccessat)(dirfd, path, mode, flags) : faccessat_near(dirfd, path, mode, flags);
}

/* A process cannot be in a folder that the kernel does not know. */
static SLOW int chdir_near(const char *path)
{
    struct pre_path p;
    struct stat unused;
    int rc = stat_ours(AT_FDCWD, &path, true, &p, &unused);
    if (rc > 0)
        return REAL(chdir)(path);
    if (!rc)
        errno = p.kind == SOFTNIC_SYSFS_FOLDER ? EACCES : ENOTDIR;
    return -1;
}

EXPORT int chdir(const char *path)
{
    return pre_passes(AT_FDCWD, path) ? REAL(chdir)(path) : chdir_near(path);
}

/* ---- extended attributes: none, as in sysfs -------------------------------------------------------------------------- */

static ssize_t attribute_ours(const char **path, bool follow, struct pre_path *p)
{
    struct stat unused;
    int rc = stat_ours(AT_FDCWD, path, follow, p, &unused);
    if (rc)
        return rc;
    errno = ENODATA;
    return -1;
}

static SLOW ssize_t getxattr_near(const char *path, const char *name, void *value, size_t size)
{
    struct pre_path p;
    ssize_t rc = attribute_ours(&path, true, &p);
    return rc <= 0 ? rc : REAL(getxattr)(path, name, value, size);
}

EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
    return pre_passes(AT_FDCWD, path) ? REAL(getxattr)(path, name, value, size) : getxattr_near(path, name, value, size);
}

static SLOW ssize_t lgetxattr_near(const char *path, const char *name, void *value, size_t size)
{
    struct pre_path p;
    ssize_t rc = attribute_ours(&path, false, &p);
    return rc <= 0 ? rc : REAL(lgetxattr)(path, name, value, size);
}

EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
    return pre_passes(AT_FDCWD, path) ? REAL(lgetxattr)(path, name, value, size) : lgetxattr_near(path, name, value, size);
}

static SLOW ssize_t listxattr_near(const char *path, char *list, size_t size)
{
    struct pre_path p;
    ssize_t rc = attribute_ours(&path, true, &p);
    return rc > 0 ? REAL(listxattr)(path, list, size) : errno == ENODATA ? 0 : -1;
}

EXPORT ssize_t listxattr(const char *path, char *list, size_t size)
{
    return pre_passes(AT_FDCWD, path) ? REAL(listxattr)(path, list, size) : listxattr_near(path, list, size);
}

static SLOW ssize_t llistxattr_near(const char *path, char *list, size_t size)
{
    struct pre_path p;
    ssize_t rc = attribute_ours(&path, false, &p);
    return rc > 0 ? REAL(llistxattr)(path, list, size) : errno == ENODATA ? 0 : -1;
}

EXPORT ssize_t llistxattr(const char *path, char *list, size_t size)
{
    return pre_passes(AT_FDCWD, path) ? REAL(llistxattr)(path, list, size) : llistxattr_near(path, list, size);
}
