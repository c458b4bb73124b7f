/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pointer or a file descriptor stands for: host memory, GPU memory behind a copy engine, or a noted DMA-BUF.
 *
 * With the GPU stand-in `cpu`, GPU memory is host memory, and the NIC reaches it as such.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gdaki/softnic.h"
#include "gpu/gpu.h"
#include "softnic/verbs/context.h"
#include "softnic/verbs/log.h"

static int space_of(const void *addr, enum sn_space *space)
{
    const struct gdaki_gpu_ops *gpu = gdaki_gpu_current(NULL);
    enum gdaki_gpu_space where = GDAKI_GPU_SPACE_HOST;
    *space = SN_SPACE_HOST;
    if (!strcmp(gpu->name, "cpu"))
        return 0;
    int rc = gpu->pointer_space(addr, &where);
    if (!rc && where == GDAKI_GPU_SPACE_DEVICE)
        *space = SN_SPACE_GPU;
    return rc;
}

/*
 * A NIC pins pages, and finds out then that they are not there. Here pages are faulted in, or the process's own map is
 * asked, so that a wrong pointer is refused at registration and not met as a fault on the NIC thread. (Unmapping
 * registered memory stays the caller's error.)
 */
static int ask_maps(uintptr_t from, uintptr_t to, bool writes)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t size = 0;
    if (!maps)
        return 0; /* no /proc: nothing to check with */
    while (from < to && getline(&line, &size, maps) > 0) {
        unsigned long start, end;
        char r, w;
        if (sscanf(line, "%lx-%lx %c%c", &start, &end, &r, &w) != 4 || end <= from)
            continue;
        if (start > from || r != 'r' || (writes && w != 'w'))
            break;
        from = end;
    }
    free(line);
    fclose(maps);
    return from < to ? -EFAULT : 0;
}

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif
enum { POPULATE_MAX = 64 << 20 }; /* bytes: what is larger may be sparse on purpose */

/* Page 0 is never mapped, so a kernel that knows the advice says ENOMEM (an emulator may say yes to everything). */
static bool populate_works(void)
{
    static atomic_int known; /* 0: not asked yet */
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    if (!k) {
        k = madvise(NULL, (size_t)sysconf(_SC_PAGESIZE), MADV_POPULATE_READ) && errno == ENOMEM ? 1 : -1;
        atomic_store_explicit(&known, k, memory_order_relaxed);
    }
    return k > 0;
}

static int check_mapped(uintptr_t from, uintptr_t to, bool writes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = from & ~(page - 1);
    /* Reading the map costs as much as there are mappings: the last word, but not the first. */
    if (to - start <= POPULATE_MAX && populate_works() &&
        !madvise((void *)start, to - start, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
        return 0;
    return ask_maps(from, to, writes);
}

int sv_memory_of_address(void *addr, size_t length, bool writes, struct sv_memory *out)
{
    uintptr_t from = (uintptr_t)addr;
    enum sn_space space;
    if (!length || from + length < from)
        return -EINVAL;
    int rc = space_of(addr, &space);
    if (!rc && space == SN_SPACE_HOST)
        rc = check_mapped(from, from + length, writes);
    if (rc)
        return rc;
    *out = (struct sv_memory){.span = {addr, length, space}};
    return 0;
}

/* ---- noted DMA-BUFs --------------------------------------------------------------------------------------------- */

struct note {
    dev_t device;
    ino_t inode;
    void *base;
    size_t size;
};

static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct note *notes;
static size_t note_count, note_room;

void sv_memory_fork_lock(bool lock)
{
    if (lock)
        pthread_mutex_lock(&notes_lock);
    else
        pthread_mutex_unlock(&notes_lock);
}

/* Lock held. An inode that comes again is a new export: the old note is replaced. */
static struct note *find_note(const struct stat *st)
{
    for (size_t i = 0; i < note_count; i++)
        if (notes[i].inode == st->st_ino && notes[i].device == st->st_dev)
            return &notes[i];
    return NULL;
}

static struct note *new_note(void)
{
    if (note_count == note_room) {
        size_t room = note_room ? 2 * note_room : 16;
        struct note *grown = realloc(notes, room * sizeof(*grown));
        if (!grown)
            return NULL;
        notes = grown;
        note_room = room;
    }
    return &notes[note_count++];
}

int softnic_dmabuf_note(int fd, void *base, size_t size)
{
    struct stat st;
    if (!base || !size)
        return -EINVAL;
    if (fstat(fd, &st))
        return -errno;
    pthread_mutex_lock(&notes_lock);
    struct note *n = find_note(&st);
    if (!n)
        n = new_note();
    if (n)
        *n = (struct note){st.st_dev, st.st_ino, base, size};
    pthread_mutex_unlock(&notes_lock);
    return n ? 0 : -ENOMEM;
}

void softnic_dmabuf_forget(void *base)
{
    pthread_mutex_lock(&notes_lock);
    for (size_t i = note_count; i-- > 0;)
        if (notes[i].base == base)
            notes[i] = notes[--note_count];
    if (!note_count) {
        free(notes);
        notes = NULL;
        note_room = 0;
    }
    pthread_mutex_unlock(&notes_lock);
}

static bool resolve_note(const struct stat *st, struct note *out)
{
    pthread_mutex_lock(&notes_lock);
    struct note *n = find_note(st);
    if (n)
        *out = *n;
    pthread_mutex_unlock(&notes_lock);
    return n;
}

/* A descriptor that nobody noted: mapped, if it can be (memfd, tmpfs file, udmabuf). */
static int map_fd(int fd, const struct stat *st, uint64_t offset, size_t length, struct sv_memory *out)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), inside = offset % page;
    if (S_ISREG(st->st_mode) && (offset > (uint64_t)st->st_size || length > (uint64_t)st->st_size - offset))
        return -EINVAL;
    void *p = mmap(NULL, length + inside, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - inside));
    if (p == MAP_FAILED)
        return -EOPNOTSUPP;
    *out = (struct sv_memory){
        .span = {(uint8_t *)p + inside, length, SN_SPACE_HOST}, .mapping = p, .mapping_bytes = length + inside};
    return 0;
}

int sv_memory_of_fd(int fd, uint64_t offset, size_t length, struct sv_memory *out)
{
    struct stat st;
    struct note n;
    if (fstat(fd, &st))
        return -errno;
    if (!length)
        return -EINVAL;
    if (!resolve_note(&st, &n))
        return map_fd(fd, &st, offset, length, out);
    if (offset > n.size || length > n.size - offset)
        return -EINVAL;
    return sv_memory_of_address((uint8_t *)n.base + offset, length, true, out);
}

void sv_memory_release(struct sv_memory *memory)
{
    if (memory->mapping)
        munmap(memory->mapping, memory->mapping_bytes);
    memory->mapping = NULL;
}
