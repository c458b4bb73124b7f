/* SPDX-License-Identifier: Apache-2.0 */
/* The CM thread: what arrives at QP 1, what other processes pass on, and timers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "softnic/gsi/gsi.h"
#include "softnic/gsi/local.h"
#include "softnic/port/own_thread.h"
#include "softnic/verbs/log.h"
#include "softnic/wire/descriptors.h"

enum { EVENTS = 64, POKE = 0, LISTENER = 1, PEER = 2, DRAIN_MS = 200, HELD_MS = 5, STUCK_NS = 10000000 };

static uint64_t tag_of(unsigned kind, unsigned port, int fd)
{
    return (uint64_t)kind << 56 | (uint64_t)port << 32 | (uint32_t)fd;
}

static int watch(int fd, uint64_t tag)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = tag};
    return epoll_ctl(gsi.epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int gsi_watch(int fd, unsigned port)
{
    return watch(fd, tag_of(LISTENER, port, fd));
}

/* ---- other processes of this host -------------------------------------------------------------------------------------- */

static struct gsi_peer *add_peer(int fd, unsigned port)
{
    struct gsi_peer *p = calloc(1, sizeof(*p));
    if (!p || watch(fd, tag_of(PEER, port, fd))) {
        free(p);
        sn_fd_close(fd);
        return NULL;
    }
    p->fd = fd;
    p->port = port;
    p->next = gsi.peers;
    gsi.peers = p;
    return p;
}

static void remove_peer(struct gsi_peer *peer)
{
    for (struct gsi_peer **p = &gsi.peers; *p; p = &(*p)->next)
        if (*p == peer) {
            *p = peer->next;
            break;
        }
    sn_fd_close(peer->fd);
    free(peer);
}

static struct gsi_peer *find_peer(int fd)
{
    struct gsi_peer *p = gsi.peers;
    while (p && p->fd != fd)
        p = p->next;
    return p;
}

void gsi_close_peers(unsigned port)
{
    struct gsi_peer *next;
    for (struct gsi_peer *p = gsi.peers; p; p = next) {
        next = p->next;
        if (port == GSI_PORTS || (!p->is_link && p->port == port))
            remove_peer(p);
    }
}

static bool is_ours(const uint8_t gid[16], uint8_t slot)
{
    for (unsigned i = 0; i < GSI_PORTS; i++)
        for (unsigned g = 0; gsi.port[i].nic && gsi.port[i].slot == slot && g < gsi.port[i].gid_count; g++)
            if (!memcmp(gsi.port[i].gid[g], gid, 16))
                return true;
    return false;
}

void gsi_link(const uint8_t gid[16], uint8_t slot)
{
    if (!slot || is_ours(gid, slot))
        return;
    for (const struct gsi_peer *p = gsi.peers; p; p = p->next)
        if (p->is_link && p->slot == slot && !memcmp(p->gid, gid, 16))
            return;
    int fd = sn_local_connect_slot(gid, slot);
    struct gsi_peer *p = fd < 0 ? NULL : add_peer(fd, 0);
    if (!p)
        return; /* another host: its CM says when a process ends, or nothing does */
    p->is_link = true;
    p->slot = slot;
    memcpy(p->gid, gid, 16);
}

static bool next_rx(struct gsi_rx *out)
{
    pthread_mutex_lock(&gsi.rx_lock);
    bool any = gsi.rx_head != gsi.rx_tail;
    if (any)
        *out = gsi.rx[gsi.rx_head++ % GSI_RX];
    gsi.handling = any;
    pthread_mutex_unlock(&gsi.rx_lock);
    return any;
}

static void take_rx(void)
{
    struct gsi_rx r;
    while (next_rx(&r)) {
        pthread_mutex_lock(&gsi.lock);
        gsi_arrived(r.port, &r.mad, false);
        pthread_mutex_unlock(&gsi.lock);
    }
}

/*
 * Whoever asks cannot be let in for want of a descriptor or of memory, and goes on asking: the thread takes a rest before it
 * looks again. Said once, until it has gone well again.
 */
static void judge_accept(int rc)
{
    static bool said; /* the thread's own */
    gsi.stuck |= rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS;
    if (gsi.stuck && !said)
        sv_log(SV_LOG_WARN, "queue pair 1: another process's connection cannot be taken for now: %s", strerror(-rc));
    said = gsi.stuck;
}

/* A listener may have been closed since the event was noted; then its number is nobody's, or somebody else's. */
static void take_connections(int listener, unsigned port)
{
    int fd = -EAGAIN;
    pthread_mutex_lock(&gsi.lock);
    while (gsi_listens(port, listener) && ((fd = sn_local_accept(listener)) >= 0 || fd == -ECONNREFUSED))
        if (fd >= 0)
            (void)add_peer(fd, port);
    pthread_mutex_unlock(&gsi.lock);
    judge_accept(fd);
}

static void show(unsigned port, const struct sn_gsi_mad *mad)
{
    struct gsi_port *p = &gsi.port[port];
    if (!p->nic)
        return;
    sn_port_lock(p->port);
    sn_gsi_show(p->nic, mad);
    sn_port_unlock(p->port);
}

/* A MAD, or the end. */
static void take_from_peer(int fd)
{
    struct sn_gsi_mad mad;
    pthread_mutex_lock(&gsi.lock);
    struct gsi_peer *p = find_peer(fd);
    int rc = p ? sn_local_take(fd, &mad) : -EAGAIN;
    if (rc == -EAGAIN) {
        pthread_mutex_unlock(&gsi.lock);
        return;
    }
    struct gsi_peer was = *p;
    remove_peer(p);
    if (was.is_link && gsi.cm) {
        sn_cm_peer_gone(gsi.cm, was.gid, was.slot);
    } else if (!was.is_link && !rc) {
        show(was.port, &mad);
        gsi_arrived(was.port, &mad, true);
    }
    pthread_mutex_unlock(&gsi.lock);
}

static void take_event(const struct epoll_event *e)
{
    int fd = (int)(uint32_t)e->data.u64;
    unsigned port = (unsigned)(e->data.u64 >> 32 & 0xffffff);
    uint64_t count;
    switch (e->data.u64 >> 56) {
    case POKE:
        (void)!read(fd, &count, sizeof(count));
        break;
    case LISTENER:
        take_connections(fd, port);
        break;
    default:
        take_from_peer(fd);
        break;
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What is due now; milliseconds until there is something again, -1: never. */
static int timers(void)
{
    int ms = -1;
    pthread_mutex_lock(&gsi.lock);
    gsi_send_again();
    gsi_held_again();
    if (gsi.cm) {
        sn_cm_timers(gsi.cm);
        uint64_t at = sn_cm_deadline(gsi.cm), now = now_ns();
        if (at != UINT64_MAX)
            ms = at <= now ? 0 : (int)((at - now) / 1000000 + 1);
    }
    if (gsi.unsent_count)
        ms = 1;
    else if (gsi.held_count && (ms < 0 || ms > HELD_MS))
        ms = HELD_MS;
    pthread_mutex_unlock(&gsi.lock);
    return ms;
}

static bool stopping(void)
{
    pthread_mutex_lock(&gsi.rx_lock);
    bool stop = gsi.stop;
    pthread_mutex_unlock(&gsi.rx_lock);
    return stop;
}

static void rest_if_stuck(void)
{
    if (gsi.stuck)
        sn_own_thread_sleep(STUCK_NS);
    gsi.stuck = false;
}

static void *run(void *arg)
{
    struct epoll_event events[EVENTS];
    (void)arg;
    while (!stopping()) {
        int n = sn_fd_wait(gsi.epoll, events, EVENTS, timers());
        for (int i = 0; i < n; i++)
            take_event(&events[i]);
        take_rx();
        rest_if_stuck();
    }
    return NULL;
}

static int open_descriptors(void)
{
    gsi.epoll = epoll_create1(EPOLL_CLOEXEC);
    int poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (gsi.epoll < 0 || poke < 0 || watch(poke, tag_of(POKE, 0, poke))) {
        int rc = -errno;
        if (gsi.epoll >= 0)
            close(gsi.epoll);
        if (poke >= 0)
            close(poke);
        gsi.epoll = -1;
        return rc;
    }
    sn_fd_track(gsi.epoll);
    sn_fd_track(poke);
    gsi.poke = poke;
    return 0;
}

static int start(void)
{
    int rc = open_descriptors();
    if (rc)
        return rc;
    gsi.stop = false;
    rc = sn_own_thread_start(&gsi.thread, run, NULL, "softnic-gsi");
    gsi.thread_started = !rc;
    return rc;
}

int gsi_thread_start(void)
{
    pthread_mutex_lock(&gsi.rx_lock);
    int rc = gsi.thread_started ? 0 : start();
    pthread_mutex_unlock(&gsi.rx_lock);
    return rc;
}

/* No device is left, so nobody starts it again meanwhile. */
void gsi_thread_stop(void)
{
    if (!gsi.thread_started)
        return;
    pthread_mutex_lock(&gsi.rx_lock);
    gsi.stop = true;
    pthread_mutex_unlock(&gsi.rx_lock);
    gsi_poke();
    pthread_join(gsi.thread, NULL);
    gsi.thread_started = false;
    pthread_mutex_lock(&gsi.lock);
    gsi_close_peers(GSI_PORTS);
    pthread_mutex_unlock(&gsi.lock);
    sn_fd_close(gsi.epoll);
    sn_fd_close(gsi.poke);
    gsi.epoll = gsi.poke = -1;
    free(gsi.rx);
    gsi.rx = NULL;
    gsi.rx_head = gsi.rx_tail = 0;
}

static bool idle(void)
{
    pthread_mutex_lock(&gsi.rx_lock);
    bool empty = gsi.rx_head == gsi.rx_tail && !gsi.handling;
    pthread_mutex_unlock(&gsi.rx_lock);
    pthread_mutex_lock(&gsi.lock);
    bool sent = !gsi.unsent_count;
    pthread_mutex_unlock(&gsi.lock);
    return empty && sent;
}

void gsi_drain(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    for (int i = 0; gsi.thread_started && i < DRAIN_MS && !idle(); i++)
        nanosleep(&ms, NULL);
}
