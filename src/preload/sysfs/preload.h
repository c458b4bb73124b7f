/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsoftnic-preload.so stands before the C library under `softnic run` and presents what sysfs would show of softnic's
 * devices. Nothing lies on disk: an open file or folder is a sealed memfd whose name says what it stands for, so that a
 * descriptor can be recognised wherever it got to (dup, fork, exec), and no table of descriptors has to be kept.
 *
 * Everything else goes straight through: a path is only looked at if it contains a word that all of ours contain, and no
 * lock is taken and nothing is allocated on that way, so that open and access stay safe in a signal handler.
 */
#ifndef SOFTNIC_PRELOAD_H
#define SOFTNIC_PRELOAD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "gdaki/softnic.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- the C library's own functions (real.c) ----------------------------------------------------------------------- */

/* X(name): every function that is interposed. */
#define PRELOAD_FUNCTIONS(X)                                                                                           \
    X(open) X(openat) X(fopen) X(freopen) X(stat) X(lstat) X(fstat) X(fstatat) X(statx) X(access) X(eaccess)             \
    X(faccessat) X(readlink) X(readlinkat) X(realpath) X(opendir) X(fdopendir) X(readdir) X(readdir_r) X(closedir)       \
    X(rewinddir) X(telldir) X(seekdir) X(dirfd) X(scandir) X(scandirat) X(glob) X(chdir) X(getxattr) X(lgetxattr)        \
    X(listxattr) X(llistxattr) X(unlinkat) X(remove) X(mkdirat) X(symlinkat) X(renameat) X(renameat2) X(linkat)          \
    X(fchmodat) X(fchmod) X(fchownat) X(fchown) X(utimensat) X(futimens) X(truncate) X(statfs) X(fstatfs) X(statvfs)     \
    X(fstatvfs)

enum pre_function {
#define PRELOAD_INDEX(name) PRE_##name,
    PRELOAD_FUNCTIONS(PRELOAD_INDEX)
#undef PRELOAD_INDEX
    PRE_FUNCTIONS
};

void *pre_real(enum pre_function function);

#define REAL(name) ((__typeof__(&name))pre_real(PRE_##name))

/* ---- what libsoftnic says (source.c) ------------------------------------------------------------------------------ */

/* NONE while libsoftnic is being asked by this thread already, and where it cannot be loaded. */
enum softnic_sysfs_kind pre_kind(const char *path);
long pre_read(const char *path, char *out, size_t size);

enum { PRE_TEXT = 16384 }; /* room for the largest folder; files are at most a page */

/* ---- paths (resolve.c) --------------------------------------------------------------------------------------------- */

enum pre_whose {
    PRE_THEIRS, /* use what the caller gave */
    PRE_OURS,
    PRE_MOVED, /* through ours it leads to `path`, which is the machine's */
    PRE_ERROR
};

struct pre_path {
    char path[PATH_MAX]; /* absolute and plain; of PRE_OURS and PRE_MOVED */
    enum softnic_sysfs_kind kind;
    int error; /* of PRE_ERROR: positive */
};

/*
 * True for a path that has nothing to do with us. Asked first everywhere, with a small frame: what follows has buffers of
 * PATH_MAX in functions of its own (SLOW), which do not fit onto the stack of many a signal handler.
 */
bool pre_passes(int dirfd, const char *path);

#define SLOW __attribute__((noinline))

/* follow: a link at the very end counts, too. errno is not touched. */
enum pre_whose pre_resolve(int dirfd, const char *path, bool follow, struct pre_path *out);

/* ---- descriptors (descriptor.c) ------------------------------------------------------------------------------------ */

/* A descriptor for a file or folder of ours, opened with those O_ flags; -1 with errno. */
int pre_descriptor_open(const struct pre_path *path, int flags);

/* True if the descriptor is one of those; `out` gets its path. errno is not touched. */
bool pre_descriptor_path(int fd, char out[PATH_MAX]);

/* The same without the path, and without a system call more for most others. */
bool pre_descriptor_is_ours(int fd);

/* Path of any descriptor, as /proc has it; false: none. */
bool pre_descriptor_name(int fd, char out[PATH_MAX]);

/* Removes what is ours about the name of a descriptor that readlink returned; the new length. */
ssize_t pre_descriptor_strip(char *name, ssize_t length);

/* True once this process has opened a folder or a link of ours: only then can a descriptor be one. */
bool pre_folders_opened(void);

/* ---- what stat says (stat.c) --------------------------------------------------------------------------------------- */

void pre_stat(const char *path, enum softnic_sysfs_kind kind, struct stat *out);

#endif
