/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper thread of a packet wire: waits for arrivals while the port sleeps, and then drives the port. Descriptors
 * are armed for one event when the port goes to sleep, so a port that is awake costs this thread nothing.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "softnic/engine.h"
#include "softnic/port/own_thread.h"
#include "softnic/port/thread.h"
#include "softnic/wire/descriptors.h"
#include "softnic/wire/packet_internal.h"

enum { EVENTS = 16 };
#define NAP_NS    20000000ull /* the longest nap of the port, and some */
#define LINGER_NS 50000ull /* how long it goes on looking after the last piece of work: answers come soon */
#define BROKEN_NS 10000000 /* pause where a descriptor reports an error that reading does not clear */

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sn_packet_helper_arm(struct sn_packet_wire *w)
{
    for (unsigned i = 0; i < w->backend->fds; i++) {
        struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)i + 1};
        epoll_ctl(w->epoll, EPOLL_CTL_MOD, w->backend->fd[i], &e);
    }
}

/* Until nothing has happened for a while. */
static void drive(struct sn_packet_wire *w)
{
    uint64_t since = clock_ns();
    sn_packet_add(&sn_packet_totals.wakes, 1);
    while (!atomic_load(&w->stop)) {
        sn_own_thread_turn();
        int work = sn_port_turn_own(w->port);
        uint64_t now = clock_ns();
        if (work > 0)
            since = now;
        else if (now - since > LINGER_NS)
            break;
        else
            sched_yield();
    }
}

/* The port's thread sleeps on, unless a timer that has been set meanwhile cannot wait for that. */
static void settle(struct sn_packet_wire *w)
{
    struct sn_port *port = w->port;
    sn_port_lock(port);
    if (w->asleep)
        sn_packet_helper_arm(w);
    bool soon = sn_port_next_deadline(port) < clock_ns() + NAP_NS || port->active_count != 0;
    sn_port_unlock(port);
    if (soon)
        sn_port_wake(port);
}

/* An interface that has gone away: its descriptor would wake this thread again and again. */
static bool is_broken(struct sn_packet_wire *w)
{
    struct pollfd p[SN_PACKET_MAX_FDS];
    bool broken = false;
    sn_port_lock(w->port);
    unsigned n = w->backend->fds;
    for (unsigned i = 0; i < n; i++)
        p[i] = (struct pollfd){.fd = w->backend->fd[i]};
    if (poll(p, n, 0) > 0)
        for (unsigned i = 0; i < n; i++)
            broken |= (p[i].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    sn_port_unlock(w->port);
    return broken;
}

static void *run(void *arg)
{
    struct sn_packet_wire *w = arg;
    struct epoll_event events[EVENTS];
    while (!atomic_load(&w->stop)) {
        int n = sn_fd_wait(w->epoll, events, EVENTS, -1);
        if (!n || atomic_load(&w->stop))
            continue;
        sn_port_lock(w->port);
        w->backend->look_all = true;
        sn_port_unlock(w->port);
        drive(w);
        bool failed = false;
        for (int i = 0; i < n; i++)
            failed |= (events[i].events & (EPOLLERR | EPOLLHUP)) != 0;
        if (failed && is_broken(w))
            sn_own_thread_sleep(BROKEN_NS);
        settle(w);
    }
    return NULL;
}

int sn_packet_helper_start(struct sn_packet_wire *w)
{
    int rc = sn_own_thread_start(&w->helper, run, w, "softnic-wire");
    w->helper_started = !rc;
    return rc;
}

void sn_packet_helper_stop(struct sn_packet_wire *w)
{
    uint64_t one = 1;
    atomic_store(&w->stop, true);
    while (write(w->poke, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
    pthread_join(w->helper, NULL);
    w->helper_started = false;
}
