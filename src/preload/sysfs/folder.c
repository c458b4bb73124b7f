/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading folders. A stream of ours is a snapshot of names; it is told from the C library's by a table of those that are
 * open. Folders of the machine that something of ours belongs into (/sys/class) get a snapshot of both.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "preload.h"

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "struct dirent64 is another structure here");

enum { STREAMS = 256 };

struct stream {
    int fd;     /* ours to close, unless `real` has it */
    DIR *real;  /* of a folder of the machine */
    size_t count, room, next;
    struct dirent *entries;
    struct dirent current; /* what readdir returned last */
};

static struct stream *_Atomic streams[STREAMS];
static atomic_uint open_streams;

static struct stream *stream_of(DIR *dir)
{
    if (!atomic_load_explicit(&open_streams, memory_order_relaxed))
        return NULL;
    for (unsigned i = 0; i < STREAMS; i++)
        if (dir && (void *)atomic_load_explicit(&streams[i], memory_order_acquire) == (void *)dir)
            return (struct stream *)(void *)dir;
    return NULL;
}

static bool enter(struct stream *s)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        struct stream *none = NULL;
        if (atomic_compare_exchange_strong(&streams[i], &none, s)) {
            atomic_fetch_add(&open_streams, 1);
            return true;
        }
    }
    errno = EMFILE;
    return false;
}

static void leave(struct stream *s)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        struct stream *own = s;
        if (atomic_compare_exchange_strong(&streams[i], &own, NULL)) {
            atomic_fetch_sub(&open_streams, 1);
            return;
        }
    }
}

/* ---- making one ---------------------------------------------------------------------------------------------------- */

static bool add(struct stream *s, const char *name, unsigned char type, ino_t inode)
{
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 32;
        struct dirent *grown = realloc(s->entries, room * sizeof(*grown));
        if (!grown)
            return false;
        s->entries = grown;
        s->room = room;
    }
    struct dirent *e = &s->entries[s->count++];
    memset(e, 0, sizeof(*e));
    e->d_ino = inode;
    e->d_off = (off_t)s->count;
    e->d_type = type;
    e->d_reclen = sizeof(*e);
    snprintf(e->d_name, sizeof(e->d_name), "%s", name);
    return true;
}

static unsigned char type_of(enum softnic_sysfs_kind kind)
{
    return kind == SOFTNIC_SYSFS_FOLDER ? DT_DIR
           : kind == SOFTNIC_SYSFS_LINK ? DT_LNK
           : kind == SOFTNIC_SYSFS_NODE ? DT_CHR
                                        : DT_REG;
}

static bool has(const struct stream *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->entries[i].d_name, name))
            return true;
    return false;
}

/* Adds what is ours in the folder. */
static SLOW bool add_ours(struct stream *s, const char *folder)
{
    char names[PRE_TEXT], path[PATH_MAX + 256], *save = NULL;
    if (pre_read(folder, names, sizeof(names)) < 0)
        return true;
    for (char *name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
        struct stat st;
        if (has(s, name))
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        enum softnic_sysfs_kind kind = pre_kind(path);
        pre_stat(path, kind, &st);
        if (!add(s, name, type_of(kind), st.st_ino))
            return false;
    }
    return true;
}

static bool add_dots(struct stream *s, const char *folder)
{
    struct stat st;
    pre_stat(folder, SOFTNIC_SYSFS_FOLDER, &st);
    return add(s, ".", DT_DIR, st.st_ino) && add(s, "..", DT_DIR, st.st_ino + 1);
}

static bool add_theirs(struct stream *s)
{
    struct dirent *e;
    while ((e = REAL(readdir)(s->real)))
        if (!add(s, e->d_name, e->d_type, e->d_ino))
            return false;
    return true;
}

static DIR *finish(struct stream *s, bool complete)
{
    if (complete && enter(s))
        return (DIR *)(void *)s;
    int saved = complete ? errno : ENOMEM;
    free(s->entries);
    free(s);
    errno = saved;
    return NULL;
}

/* A stream over a folder of ours; takes over the descriptor if it succeeds. */
static DIR *stream_ours(int fd, const char *path)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->fd = fd;
    return finish(s, add_dots(s, path) && add_ours(s, path));
}

/*
 * Folders of the machine that show ours, too. /sys/bus/pci/devices is not among them: who lists it goes on to read
 * configuration space, and there is none.
 */
static bool is_shared(const char *path)
{
    static const char *const shared[] = {"/sys/class", "/sys/devices", "/dev", "/sys/module", "/sys/kernel/mm"};
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (!strcmp(path, shared[i]))
            return true;
    return false;
}

/* A stream in place of the C library's if something of ours belongs into its folder. */
static SLOW DIR *share(DIR *real)
{
    char path[PATH_MAX], one[NAME_MAX];
    int saved = errno;
    bool shows = real && pre_descriptor_name(REAL(dirfd)(real), path) && is_shared(path) &&
                 pre_read(path, one, sizeof(one)) > 0;
    struct stream *s = shows ? calloc(1, sizeof(*s)) : NULL;
    DIR *both = NULL;
    if (s) {
        s->real = real;
        both = finish(s, add_theirs(s) && add_ours(s, path));
    }
    if (real && !both)
        REAL(rewinddir)(real);
    errno = saved;
    return both ? both : real;
}

/* ---- opendir ... --------------------------------------------------------------------------------------------------- */

static DIR *open_ours(const struct pre_path *p)
{
    if (p->kind != SOFTNIC_SYSFS_FOLDER) {
        errno = ENOTDIR;
        return NULL;
    }
    int fd = pre_descriptor_open(p, O_RDONLY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : stream_ours(fd, p->path);
    if (!dir && fd >= 0) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return dir;
}

/* Only these can name a shared folder; most paths are spared the look. */
static bool may_be_shared(const char *path)
{
    return *path != '/' || !strncmp(path, "/sys", 4) || !strncmp(path, "/dev", 4) || strstr(path, "..") || path[1] == '/';
}

static SLOW DIR *opendir_near(const char *path)
{
    struct pre_path p;
    switch (pre_resolve(AT_FDCWD, path, true, &p)) {
    case PRE_OURS:
        return open_ours(&p);
    case PRE_ERROR:
        errno = p.error;
        return NULL;
    case PRE_MOVED:
        return share(REAL(opendir)(p.path));
    default:
        return REAL(opendir)(path);
    }
}

EXPORT DIR *opendir(const char *path)
{
    if (!pre_passes(AT_FDCWD, path))
        return opendir_near(path);
    return path && may_be_shared(path) ? share(REAL(opendir)(path)) : REAL(opendir)(path);
}

EXPORT DIR *fdopendir(int fd)
{
    char path[PATH_MAX];
    if (pre_folders_opened() && pre_descriptor_path(fd, path) && pre_kind(path) == SOFTNIC_SYSFS_FOLDER) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        return stream_ours(fd, path);
    }
    return share(REAL(fdopendir)(fd));
}

EXPORT int closedir(DIR *dir)
{
    struct stream *s = stream_of(dir);
    if (!s)
        return REAL(closedir)(dir);
    leave(s);
    int rc = s->real ? REAL(closedir)(s->real) : close(s->fd);
    free(s->entries);
    free(s);
    return rc;
}

EXPORT int dirfd(DIR *dir)
{
    struct stream *s = stream_of(dir);
    if (s && !s->real)
        return s->fd;
    return REAL(dirfd)(s ? s->real : dir);
}

static struct dirent *next(struct stream *s)
{
    if (s->next >= s->count)
        return NULL;
    s->current = s->entries[s->next++];
    return &s->current;
}

EXPORT struct dirent *readdir(DIR *dir)
{
    struct stream *s = stream_of(dir);
    return s ? next(s) : REAL(readdir)(dir);
}

EXPORT struct dirent64 *readdir64(DIR *dir)
{
    return (struct dirent64 *)(void *)readdir(dir);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
EXPORT int readdir_r(DIR *restrict dir, struct dirent *restrict entry, struct dirent **restrict result)
{
    struct stream *s = stream_of(dir);
    if (!s)
        return REAL(readdir_r)(dir, entry, result);
    struct dirent *e = next(s);
    if (e) /* as far as the name goes: the caller's room may end there */
        memcpy(entry, e, offsetof(struct dirent, d_name) + strlen(e->d_name) + 1);
    *result = e ? entry : NULL;
    return 0;
}

EXPORT int readdir64_r(DIR *restrict dir, struct dirent64 *restrict entry, struct dirent64 **restrict result)
{
    return readdir_r(dir, (struct dirent *)(void *)entry, (struct dirent **)(void *)result);
}

EXPORT void rewinddir(DIR *dir)
{
    struct stream *s = stream_of(dir);
    if (s)
        s->next = 0;
    else
        REAL(rewinddir)(dir);
}

EXPORT long telldir(DIR *dir)
{
    struct stream *s = stream_of(dir);
    return s ? (long)s->next : REAL(telldir)(dir);
}

EXPORT void seekdir(DIR *dir, long position)
{
    struct stream *s = stream_of(dir);
    if (s)
        s->next = (size_t)position;
    else
        REAL(seekdir)(dir, position);
}

bool pre_folder_shows_ours(int dirfd, const char *path)
{
    struct pre_path p;
    char whole[PATH_MAX];
    enum pre_whose whose = pre_resolve(dirfd, path, true, &p);
    if (whose == PRE_THEIRS && *path == '/') {
        size_t length = strlen(path);
        while (length > 1 && path[length - 1] == '/')
            length--;
        if (length >= sizeof(whole))
            return false;
        memcpy(whole, path, length);
        whole[length] = '\0';
        return is_shared(whole);
    }
    return whose != PRE_THEIRS;
}
