/* SPDX-License-Identifier: Apache-2.0 */
/* The CM thread: what arrives at QP 1, what other processes pass on, and timers. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "softnic/gsi/gsi.h"
#include "softnic/gsi/local.h"
#include "softnic/wire/descriptors.h"

enum { EVENTS = 64, POKE = 0, LISTENER = 1, CONNECTION = 2 };

static uint64_t tag_of(unsigned kind, unsigned port, int fd)
{
    return (uint64_t)kind << 56 | (uint64_t)port << 32 | (uint32_t)fd;
}

static int watch(int fd, uint64_t tag)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = tag};
    return epoll_ctl(gsi.epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int gsi_watch(int fd, unsigned port, bool listener)
{
    return watch(fd, tag_of(listener ? LISTENER : CONNECTION, port, fd));
}

static bool next_rx(struct gsi_rx *out)
{
    pthread_mutex_lock(&gsi.rx_lock);
    bool any = gsi.rx_head != gsi.rx_tail;
    if (any)
        *out = gsi.rx[gsi.rx_head++ % GSI_RX];
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

/* A listener may have been closed since the event was noted; then its number is nobody's, or somebody else's. */
static void take_connections(int listener, unsigned port)
{
    pthread_mutex_lock(&gsi.lock);
    for (int fd; gsi_listens(port, listener) && ((fd = sn_local_accept(listener)) >= 0 || fd == -ECONNREFUSED);)
        if (fd >= 0 && gsi_watch(fd, port, false))
            sn_fd_close(fd);
    pthread_mutex_unlock(&gsi.lock);
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

static void take_passed(int fd, unsigned port)
{
    struct sn_gsi_mad mad;
    int rc = sn_local_take(fd, &mad);
    if (rc == -EAGAIN)
        return;
    sn_fd_close(fd);
    if (rc)
        return;
    pthread_mutex_lock(&gsi.lock);
    show(port, &mad);
    gsi_arrived(port, &mad, true);
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
        take_passed(fd, port);
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
    if (gsi.cm) {
        sn_cm_timers(gsi.cm);
        uint64_t at = sn_cm_deadline(gsi.cm), now = now_ns();
        if (at != UINT64_MAX)
            ms = at <= now ? 0 : (int)((at - now) / 1000000 + 1);
    }
    if (gsi.unsent_count)
        ms = 1;
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

static void *run(void *arg)
{
    struct epoll_event events[EVENTS];
    (void)arg;
    while (!stopping()) {
        int n = epoll_wait(gsi.epoll, events, EVENTS, timers());
        for (int i = 0; i < n; i++)
            take_event(&events[i]);
        take_rx();
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
    sigset_t all, old;
    int rc = open_descriptors();
    if (rc)
        return rc;
    gsi.stop = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* the program's signals stay with its own threads */
    rc = -pthread_create(&gsi.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
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
    sn_fd_close(gsi.epoll);
    sn_fd_close(gsi.poke);
    gsi.epoll = gsi.poke = -1;
    free(gsi.rx);
    gsi.rx = NULL;
    gsi.rx_head = gsi.rx_tail = 0;
}
