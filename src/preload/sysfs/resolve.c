/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a path is. Components are walked as the kernel walks them: links of ours are followed where they stand, so
 * "device/.." is what it is in sysfs. In the machine's part of a path links are not looked at: nobody links to
 * /sys/class/infiniband. Where one might matter (behind it comes ".."), the rest is left to the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

enum { LINKS_MOST = 40 }; /* as the kernel */

/* Every path into our trees contains one of these, behind whatever folder of the machine it starts from. */
static bool has_our_word(const char *path)
{
    return strstr(path, "infiniband") || strstr(path, "5f17") || strstr(path, "nv_mem") || strstr(path, "peermem") ||
           strstr(path, "memory_peers");
}

struct walk {
    char *path; /* what has been walked: "" or "/a/b" */
    size_t length;
    char rest[PATH_MAX]; /* what is to come */
    enum softnic_sysfs_kind kind;
    unsigned links;
    bool entered; /* it went through ours, which the kernel does not know */
};

static void look(struct walk *w)
{
    w->kind = has_our_word(w->path) ? pre_kind(w->path) : SOFTNIC_SYSFS_NONE;
    w->entered |= w->kind != SOFTNIC_SYSFS_NONE;
}

static void pop(struct walk *w)
{
    while (w->length && w->path[--w->length] != '/')
        ;
    w->path[w->length] = '\0';
}

/* The link at the end of the path is replaced by its target. */
static int follow_link(struct walk *w)
{
    char target[PATH_MAX], rest[PATH_MAX];
    if (++w->links > LINKS_MOST)
        return ELOOP;
    if (pre_read(w->path, target, sizeof(target)) < 0)
        return ENOENT;
    int n = snprintf(rest, sizeof(rest), "%s%s%s", target, *w->rest ? "/" : "", w->rest);
    if (n >= (int)sizeof(rest))
        return ENAMETOOLONG;
    strcpy(w->rest, rest);
    if (*target == '/')
        w->length = 0;
    else
        pop(w);
    w->path[w->length] = '\0';
    look(w);
    return 0;
}

/* Folders above ours: no links, so that ".." may be taken off the text. */
static bool is_above_ours(const char *path)
{
    static const char *const above[] = {"/sys", "/sys/class", "/sys/class/pci_bus", "/sys/bus", "/sys/bus/pci",
                                        "/sys/bus/pci/devices", "/sys/devices", "/sys/module", "/sys/kernel",
                                        "/sys/kernel/mm", "/dev"};
    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++)
        if (!strcmp(path, above[i]))
            return true;
    return false;
}

/* The rest goes behind what has been walked, as it stands. */
static int leave_to_kernel(struct walk *w)
{
    size_t more = strlen(w->rest);
    if (w->length + more + sizeof("/..") > PATH_MAX)
        return ENAMETOOLONG;
    strcpy(w->path + w->length, "/..");
    strcpy(w->path + w->length + 3, w->rest);
    w->length += 3 + more;
    *w->rest = '\0';
    return 0;
}

/* Takes one component off the rest. */
static int step(struct walk *w, bool follow)
{
    size_t skip = strspn(w->rest, "/"), size = strcspn(w->rest + skip, "/");
    char component[NAME_MAX + 1];
    if (size > NAME_MAX)
        return ENAMETOOLONG;
    memcpy(component, w->rest + skip, size);
    component[size] = '\0';
    memmove(w->rest, w->rest + skip + size, strlen(w->rest + skip + size) + 1);
    if (w->kind == SOFTNIC_SYSFS_FILE || w->kind == SOFTNIC_SYSFS_NODE)
        return ENOTDIR; /* a trailing slash, too */
    if (!size || !strcmp(component, "."))
        return 0;
    if (!strcmp(component, "..")) {
        if (w->kind == SOFTNIC_SYSFS_NONE && w->length && !is_above_ours(w->path))
            return leave_to_kernel(w);
        pop(w);
        look(w);
        return 0;
    }
    if (w->length + size + 2 > PATH_MAX)
        return ENAMETOOLONG;
    bool inside = w->kind == SOFTNIC_SYSFS_FOLDER;
    w->path[w->length++] = '/';
    strcpy(w->path + w->length, component);
    w->length += size;
    look(w);
    if (inside && w->kind == SOFTNIC_SYSFS_NONE)
        return ENOENT;
    if (w->kind == SOFTNIC_SYSFS_LINK && (*w->rest || follow))
        return follow_link(w);
    return 0;
}

static enum pre_whose walk(const char *path, bool follow, struct pre_path *out)
{
    struct walk w = {.path = out->path};
    if (strlen(path) >= sizeof(w.rest))
        return PRE_THEIRS; /* whose it is does not matter: it is too long */
    strcpy(w.rest, path);
    out->path[0] = '\0';
    while (*w.rest) {
        out->error = step(&w, follow);
        if (out->error)
            return PRE_ERROR;
    }
    out->kind = w.kind;
    if (w.kind != SOFTNIC_SYSFS_NONE)
        return PRE_OURS;
    if (!w.length)
        strcpy(out->path, "/");
    return w.entered ? PRE_MOVED : PRE_THEIRS;
}

/* The folder that a relative path starts from. */
static bool start_of(int dirfd, char out[PATH_MAX])
{
    if (dirfd == AT_FDCWD)
        return syscall(SYS_getcwd, out, PATH_MAX) > 0;
    return pre_descriptor_name(dirfd, out);
}

bool pre_passes(int dirfd, const char *path)
{
    if (!path || !*path)
        return true;
    return !has_our_word(path) && (*path == '/' || dirfd == AT_FDCWD || !pre_folders_opened());
}

static enum pre_whose resolve(int dirfd, const char *path, bool follow, struct pre_path *out)
{
    char whole[PATH_MAX];
    if (*path == '/')
        return walk(path, follow, out);
    size_t used = 0;
    if (!start_of(dirfd, whole) || (used = strlen(whole)) + strlen(path) + 2 > sizeof(whole))
        return PRE_THEIRS;
    if (!has_our_word(whole) && !has_our_word(path))
        return PRE_THEIRS;
    if (dirfd != AT_FDCWD && has_our_word(whole) && pre_kind(whole) == SOFTNIC_SYSFS_LINK) {
        out->error = ENOTDIR; /* a link that was opened itself leads nowhere */
        return PRE_ERROR;
    }
    whole[used] = '/';
    strcpy(whole + used + 1, path);
    return walk(whole, follow, out);
}

enum pre_whose pre_resolve(int dirfd, const char *path, bool follow, struct pre_path *out)
{
    int saved = errno;
    if (pre_passes(dirfd, path))
        return PRE_THEIRS;
    enum pre_whose whose = resolve(dirfd, path, follow, out);
    errno = saved;
    return whose;
}
