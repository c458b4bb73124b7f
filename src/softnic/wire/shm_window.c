/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload by reference. Where a long message lies in a memory file that this process has mapped and that cannot shrink (as
 * memory of the `cpu` GPU does), the peer is given the file once, a window, and from then on only told where in it the
 * bytes are: it copies them straight to their destination, so that they are copied once and not twice.
 *
 * The bytes stay as they are until the acknowledgement, since the work request that names them is not complete. If it is
 * flushed instead, a record that is still in the ring may deliver what has been put there since: as with a packet that was
 * on the wire, nothing is said about the destination of a failed message.
 *
 * What a process has mapped is read from /proc once and remembered until a memory key goes: registered memory stays where
 * it is. A peer that cannot or will not map windows says so in shared memory, drops what it could not read, and gets
 * everything through the ring from then on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "softnic/wire/shm_internal.h"

#define RESCAN_NS    10000000ull /* /proc is not read more often than that */
#define WINDOW_MAGIC 0x31776f646e6977ull /* "window1" */
#define WINDOW_MAX   (64ull << 30)

struct shm_window_message { /* with the file's descriptor */
    uint64_t magic;
    uint32_t slot, id;
    uint64_t bytes;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what lies where in this process ----------------------------------------------------------------------------- */

struct mapping {
    uint64_t low, high, offset;
    dev_t device;
    ino_t inode;
    bool shared;
};

/* The mapping that holds an address; false: none, or /proc cannot be read. */
static bool find_mapping(const void *addr, struct mapping *out)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    if (!maps)
        return false;
    while (!found && getline(&line, &room, maps) > 0) {
        unsigned major_number, minor_number;
        unsigned long long inode;
        char rights[5];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %llu", &out->low, &out->high, rights, &out->offset,
                   &major_number, &minor_number, &inode) != 7)
            continue;
        found = (uintptr_t)addr >= out->low && (uintptr_t)addr < out->high;
        out->shared = rights[3] == 's';
        out->device = makedev(major_number, minor_number);
        out->inode = inode;
    }
    free(line);
    fclose(maps);
    return found;
}

/* An own descriptor of the file behind a mapping, if it is a memory file that cannot shrink; else -1. */
static int find_file(const struct mapping *m, uint64_t *bytes)
{
    DIR *fds = m->shared && m->inode ? opendir("/proc/self/fd") : NULL;
    struct dirent *entry;
    int found = -1;
    while (fds && found < 0 && (entry = readdir(fds))) {
        char *end;
        long fd = strtol(entry->d_name, &end, 10);
        struct stat st;
        int seals;
        if (*end || end == entry->d_name || fstat((int)fd, &st) || st.st_ino != m->inode || st.st_dev != m->device)
            continue;
        seals = fcntl((int)fd, F_GET_SEALS);
        if (seals < 0 || !(seals & F_SEAL_SHRINK))
            break;
        found = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
        *bytes = (uint64_t)st.st_size;
    }
    if (fds)
        closedir(fds);
    return found;
}

static void forget(struct shm_window *v)
{
    if (v->fd >= 0 && v->id)
        sn_fd_close(v->fd);
    *v = (struct shm_window){.fd = -1};
}

void shm_windows_close(struct shm_wire *w)
{
    for (unsigned i = 0; i < SHM_WINDOWS; i++)
        forget(&w->window[i]);
}

/* The same file at the same place as before: peers that know it need not be told again. */
static bool still_there(const struct shm_window *v)
{
    struct mapping m;
    struct stat st;
    return v->fd >= 0 && find_mapping((const void *)v->low, &m) && m.low == v->low && m.high == v->high &&
           m.offset == v->offset && !fstat(v->fd, &st) && st.st_ino == m.inode && st.st_dev == m.device;
}

/* A key has gone: what was known about memory may be out of date. False: too soon to look again. */
static bool look_again(struct shm_wire *w, uint32_t generation)
{
    uint64_t now = now_ns();
    if (now - w->scanned_ns < RESCAN_NS)
        return false;
    for (unsigned i = 0; i < SHM_WINDOWS; i++)
        if (w->window[i].id && !still_there(&w->window[i]))
            forget(&w->window[i]);
    w->key_generation = generation;
    w->scanned_ns = now;
    return true;
}

static bool holds(const struct shm_window *v, uint64_t addr, uint64_t length)
{
    return v->id && addr >= v->low && addr < v->high && length <= v->high - addr;
}

/* Reads /proc. Memory that is no window is remembered as well: with fd -1. */
static struct shm_window *discover(struct shm_wire *w, const void *addr)
{
    struct shm_window *v = &w->window[w->next_window];
    struct mapping m;
    uint64_t now = now_ns(), bytes = 0;
    if (w->scanned_ns && now - w->scanned_ns < RESCAN_NS)
        return NULL;
    w->scanned_ns = now;
    if (!find_mapping(addr, &m))
        return NULL;
    w->next_window = (w->next_window + 1) % SHM_WINDOWS;
    forget(v);
    w->next_window_id = w->next_window_id % 0xffffff + 1;
    *v = (struct shm_window){.id = w->next_window_id, .low = m.low, .high = m.high, .offset = m.offset};
    v->fd = find_file(&m, &bytes);
    if (v->fd >= 0)
        sn_fd_track(v->fd);
    if (v->fd >= 0 && (m.offset > bytes || m.high - m.low > bytes - m.offset + 4095)) { /* partly beyond the file's end */
        sn_fd_close(v->fd);
        v->fd = -1;
    }
    v->bytes = bytes;
    return v;
}

static struct shm_window *find_window(struct shm_wire *w, const void *addr, uint64_t length)
{
    uint32_t generation = sn_port_keys_gone(w->wire.port);
    struct shm_window *v = w->last_window;
    if (generation != w->key_generation && !look_again(w, generation))
        return NULL;
    if (v && holds(v, (uintptr_t)addr, length))
        return v;
    for (unsigned i = 0; i < SHM_WINDOWS; i++)
        if (holds(&w->window[i], (uintptr_t)addr, length))
            return w->last_window = &w->window[i];
    v = discover(w, addr);
    return v && holds(v, (uintptr_t)addr, length) ? w->last_window = v : NULL;
}

/* ---- requester ---------------------------------------------------------------------------------------------------- */

static bool tell(struct shm_connection *c, unsigned slot, const struct shm_window *v)
{
    struct shm_window_message m = {.magic = WINDOW_MAGIC, .slot = slot, .id = v->id, .bytes = v->bytes};
    if (c->told[slot] == v->id)
        return true;
    if (shm_send_memory(c->fd, &m, sizeof(m), v->fd))
        return false; /* full of wakes: another time */
    c->told[slot] = v->id;
    return true;
}

bool shm_window_refer(struct shm_wire *w, struct shm_connection *c, const struct sn_burst *b, struct shm_header *h)
{
    const struct sn_iov *iov = &b->iov[0];
    if (b->length < SHM_WINDOW_MIN || b->length > SHM_WINDOW_BURST || b->iov_count != 1 || iov->space != SN_SPACE_HOST ||
        (b->kind != SN_KIND_WRITE && b->kind != SN_KIND_SEND) || b->service == SN_SERVICE_UD)
        return false;
    if (atomic_load_explicit(&c->tx.shared->no_windows, memory_order_relaxed))
        return false;
    struct shm_window *v = find_window(w, iov->addr, iov->length);
    if (!v || v->fd < 0 || !tell(c, (unsigned)(v - w->window), v))
        return false;
    h->flags |= SHM_BY_REFERENCE;
    h->msn = v->id;
    h->inlined = (uintptr_t)iov->addr - v->low + v->offset;
    return true;
}

/* ---- responder ---------------------------------------------------------------------------------------------------- */

static void unmap(struct shm_peer_window *v)
{
    if (v->at)
        munmap(v->at, (size_t)v->bytes);
    *v = (struct shm_peer_window){0};
}

void shm_windows_unmap(struct shm_connection *c)
{
    for (unsigned i = 0; i < SHM_WINDOWS; i++)
        unmap(&c->peer_window[i]);
}

/* False: it cannot be mapped, and the peer is asked to send none. A message that makes no sense is -EPROTO. */
static int take_window(struct shm_connection *c, const struct shm_window_message *m, int fd)
{
    struct shm_peer_window *v;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    void *at;
    if (m->magic != WINDOW_MAGIC || m->slot >= SHM_WINDOWS || !m->id || m->id > 0xffffff || !m->bytes ||
        m->bytes > WINDOW_MAX)
        return -EPROTO;
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size < 0 || (uint64_t)st.st_size < m->bytes)
        return -EPROTO; /* it could be cut short under our reads */
    v = &c->peer_window[m->slot];
    unmap(v);
    at = mmap(NULL, (size_t)m->bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        atomic_store_explicit(&c->rx.shared->no_windows, 1, memory_order_relaxed);
        return 0;
    }
    madvise(at, (size_t)m->bytes, MADV_DONTFORK);
    *v = (struct shm_peer_window){.id = m->id, .at = at, .bytes = m->bytes};
    return 0;
}

int shm_window_messages(struct shm_connection *c)
{
    for (unsigned i = 0; i < 4 * SHM_WINDOWS; i++) {
        struct shm_window_message m;
        int fd = -1;
        ssize_t n = shm_receive_memory(c->fd, &m, sizeof(m), &fd);
        int rc = 0;
        if (n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR))
            return -EPIPE;
        if (n < 0)
            return 0;
        if (fd >= 0) {
            rc = n == (ssize_t)sizeof(m) ? take_window(c, &m, fd) : -EPROTO;
            close(fd);
        } /* else a byte that only says "wake up" */
        if (rc)
            return rc;
    }
    return 0;
}

static bool resolve(struct shm_connection *c, const struct shm_header *h, struct shm_record *r)
{
    for (unsigned i = 0; i < SHM_WINDOWS; i++) {
        const struct shm_peer_window *v = &c->peer_window[i];
        if (v->id != h->msn)
            continue;
        if (h->inlined > v->bytes || h->length > v->bytes - h->inlined)
            return false;
        r->spans = 1;
        r->span[0].addr = v->at + h->inlined;
        r->span[0].length = h->length;
        r->header.flags &= (uint8_t)~SHM_BY_REFERENCE;
        r->header.msn = 0;
        return true;
    }
    return false;
}

/* The window was sent before the record that refers to it, so it can only be in the socket still. */
bool shm_window_resolve(struct shm_connection *c, struct shm_record *r)
{
    if (resolve(c, &r->header, r))
        return true;
    if (!shm_window_messages(c) && resolve(c, &r->header, r))
        return true;
    atomic_store_explicit(&c->rx.shared->no_windows, 1, memory_order_relaxed);
    return false;
}
