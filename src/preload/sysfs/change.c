/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that would change a tree. In sysfs nobody makes, removes or renames anything, root included (its folders have no
 * such operations: EPERM); others lack the right to write there first (EACCES). Modes, owners and times are root's on the
 * real one; here they are nobody's. A move or a link across the border is one between file systems (EXDEV).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "preload.h"

enum wish { REMOVES_FILE, REMOVES_FOLDER, MAKES, CHANGES, WRITES };

/* Where the machine's own function is to look. */
struct place {
    int dirfd;
    const char *path;
    char *moved; /* ours to free: a path that leads through our trees to the machine's; NULL: none */
};

static int denied(void)
{
    return geteuid() ? EACCES : EPERM;
}

static int answer(enum wish wish, enum softnic_sysfs_kind kind)
{
    bool folder = kind == SOFTNIC_SYSFS_FOLDER;
    switch (wish) {
    case REMOVES_FILE: return folder ? EISDIR : denied();
    case REMOVES_FOLDER: return folder ? denied() : ENOTDIR;
    case MAKES: return EEXIST;
    case WRITES: return folder ? EISDIR : EACCES;
    default: return EPERM;
    }
}

/* What the kernel would say about a path of ours, or 0: it is the machine's, and *at says where it lies. */
static SLOW int look(struct place *at, enum wish wish, bool follow)
{
    struct pre_path p;
    switch (pre_resolve(at->dirfd, at->path, follow, &p)) {
    case PRE_OURS:
        return answer(wish, p.kind);
    case PRE_ERROR:
        return wish == MAKES && p.error == ENOENT ? denied() : p.error;
    case PRE_MOVED:
        at->moved = strdup(p.path);
        at->path = at->moved;
        at->dirfd = AT_FDCWD;
        return at->moved ? 0 : ENOMEM;
    default:
        return 0;
    }
}

/* True: the machine's function is to be called. False: errno says why not. */
static bool passes(struct place *at, enum wish wish, bool follow)
{
    int error = pre_passes(at->dirfd, at->path) ? 0 : look(at, wish, follow);
    if (error)
        errno = error;
    return !error;
}

static int done(struct place *at, int rc)
{
    if (at->moved) {
        int saved = errno;
        free(at->moved);
        errno = saved;
    }
    return rc;
}

/* ---- removing ------------------------------------------------------------------------------------------------------ */

static int remove_at(int dirfd, const char *path, int flags)
{
    struct place at = {.dirfd = dirfd, .path = path};
    bool folder = flags & AT_REMOVEDIR;
    int rc = passes(&at, folder ? REMOVES_FOLDER : REMOVES_FILE, false) ? REAL(unlinkat)(at.dirfd, at.path, flags) : -1;
    return done(&at, rc);
}

EXPORT int unlink(const char *path)
{
    return remove_at(AT_FDCWD, path, 0);
}

EXPORT int unlinkat(int dirfd, const char *path, int flags)
{
    return remove_at(dirfd, path, flags);
}

EXPORT int rmdir(const char *path)
{
    return remove_at(AT_FDCWD, path, AT_REMOVEDIR);
}

EXPORT int remove(const char *path)
{
    struct place at = {.dirfd = AT_FDCWD, .path = path};
    int rc = passes(&at, CHANGES, false) ? REAL(remove)(at.path) : -1; /* file or folder: the answer is the same */
    if (rc && errno == EPERM)
        errno = denied();
    return done(&at, rc);
}

/* ---- making -------------------------------------------------------------------------------------------------------- */

static int make_folder(int dirfd, const char *path, mode_t mode)
{
    struct place at = {.dirfd = dirfd, .path = path};
    return done(&at, passes(&at, MAKES, false) ? REAL(mkdirat)(at.dirfd, at.path, mode) : -1);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
    return make_folder(AT_FDCWD, path, mode);
}

EXPORT int mkdirat(int dirfd, const char *path, mode_t mode)
{
    return make_folder(dirfd, path, mode);
}

static int make_link(const char *target, int dirfd, const char *path)
{
    struct place at = {.dirfd = dirfd, .path = path};
    return done(&at, passes(&at, MAKES, false) ? REAL(symlinkat)(target, at.dirfd, at.path) : -1);
}

EXPORT int symlink(const char *target, const char *path)
{
    return make_link(target, AT_FDCWD, path);
}

EXPORT int symlinkat(const char *target, int dirfd, const char *path)
{
    return make_link(target, dirfd, path);
}

/* ---- from one place to another ------------------------------------------------------------------------------------- */

/* Both are the machine's: 0. Else what the kernel would say. */
static int look_at_both(struct place *from, struct place *to, bool follow)
{
    int one = pre_passes(from->dirfd, from->path) ? 0 : look(from, CHANGES, follow);
    int other = pre_passes(to->dirfd, to->path) ? 0 : look(to, MAKES, false);
    if (one && one != EPERM)
        return one; /* there is no such thing */
    if (!one && !other)
        return 0;
    return one && other ? denied() : EXDEV;
}

static int rename_at(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    struct place a = {.dirfd = from_fd, .path = from}, b = {.dirfd = to_fd, .path = to};
    int error = look_at_both(&a, &b, false);
    int rc = error ? -1
             : flags ? REAL(renameat2)(a.dirfd, a.path, b.dirfd, b.path, flags)
                     : REAL(renameat)(a.dirfd, a.path, b.dirfd, b.path);
    if (error)
        errno = error;
    return done(&a, done(&b, rc));
}

EXPORT int rename(const char *from, const char *to)
{
    return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    return rename_at(from_fd, from, to_fd, to, 0);
}

EXPORT int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return rename_at(from_fd, from, to_fd, to, flags);
}

static int link_at(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    struct place a = {.dirfd = from_fd, .path = from}, b = {.dirfd = to_fd, .path = to};
    int error = look_at_both(&a, &b, flags & AT_SYMLINK_FOLLOW);
    int rc = error ? -1 : REAL(linkat)(a.dirfd, a.path, b.dirfd, b.path, flags);
    if (error)
        errno = error;
    return done(&a, done(&b, rc));
}

EXPORT int link(const char *from, const char *to)
{
    return link_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    return link_at(from_fd, from, to_fd, to, flags);
}

/* ---- modes, owners, times, length ---------------------------------------------------------------------------------- */

static int mode_at(int dirfd, const char *path, mode_t mode, int flags)
{
    struct place at = {.dirfd = dirfd, .path = path};
    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    return done(&at, passes(&at, CHANGES, follow) ? REAL(fchmodat)(at.dirfd, at.path, mode, flags) : -1);
}

EXPORT int chmod(const char *path, mode_t mode)
{
    return mode_at(AT_FDCWD, path, mode, 0);
}

EXPORT int fchmodat(int dirfd, const char *path, mode_t mode, int flags)
{
    return mode_at(dirfd, path, mode, flags);
}

static int owner_at(int dirfd, const char *path, uid_t owner, gid_t group, int flags)
{
    struct place at = {.dirfd = dirfd, .path = path};
    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    return done(&at, passes(&at, CHANGES, follow) ? REAL(fchownat)(at.dirfd, at.path, owner, group, flags) : -1);
}

EXPORT int chown(const char *path, uid_t owner, gid_t group)
{
    return owner_at(AT_FDCWD, path, owner, group, 0);
}

EXPORT int lchown(const char *path, uid_t owner, gid_t group)
{
    return owner_at(AT_FDCWD, path, owner, group, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fchownat(int dirfd, const char *path, uid_t owner, gid_t group, int flags)
{
    return owner_at(dirfd, path, owner, group, flags);
}

EXPORT int utimensat(int dirfd, const char *path, const struct timespec times[2], int flags)
{
    struct place at = {.dirfd = dirfd, .path = path};
    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    if (!path && pre_descriptor_is_ours(dirfd)) { /* as futimens asks */
        errno = EPERM;
        return -1;
    }
    return done(&at, passes(&at, CHANGES, follow) ? REAL(utimensat)(at.dirfd, at.path, times, flags) : -1);
}

EXPORT int truncate(const char *path, off_t length)
{
    struct place at = {.dirfd = AT_FDCWD, .path = path};
    return done(&at, passes(&at, WRITES, true) ? REAL(truncate)(at.path, length) : -1);
}

EXPORT int truncate64(const char *path, off64_t length)
{
    return truncate(path, length);
}

/* Of descriptors: a memfd's mode is ours to know it by. */
EXPORT int fchmod(int fd, mode_t mode)
{
    if (!pre_descriptor_is_ours(fd))
        return REAL(fchmod)(fd, mode);
    errno = EPERM;
    return -1;
}

EXPORT int fchown(int fd, uid_t owner, gid_t group)
{
    if (!pre_descriptor_is_ours(fd))
        return REAL(fchown)(fd, owner, group);
    errno = EPERM;
    return -1;
}

EXPORT int futimens(int fd, const struct timespec times[2])
{
    if (!pre_descriptor_is_ours(fd))
        return REAL(futimens)(fd, times);
    errno = EPERM;
    return -1;
}
