/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire's helper thread: waits for what needs a system call (connections, hellos, hang-ups, wake-ups by peers), so
 * that nobody who moves data ever has to. It blocks all signals, and while nothing happens it costs nothing.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/port/own_thread.h"
#include "softnic/wire/descriptors.h"
#include "softnic/wire/shm_internal.h"

enum { POKE_ID = 0, EVENTS = 32, MAX_TURNS = 1000, STUCK_NS = 10000000 };

int shm_watch(struct shm_wire *w, int fd, uint64_t id)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = id};
    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* *stuck: whoever asks cannot be let in or sent away, for want of a descriptor, and goes on asking. */
static bool accept_on(struct shm_wire *w, uint64_t id, bool *stuck)
{
    for (struct shm_endpoint *e = w->endpoints; e; e = e->next)
        for (unsigned i = 0; i < e->identity.gid_count; i++)
            if (e->id[i] == id) {
                int rc = shm_peer_accept(w, e, i);
                *stuck |= rc == -EMFILE || rc == -ENFILE;
                return true;
            }
    return false;
}

static struct shm_connection *find(struct shm_wire *w, uint64_t id)
{
    for (struct shm_connection *c = w->connections; c; c = c->next)
        if (c->id == id)
            return c;
    return NULL; /* gone since the event was reported */
}

static void on_connection(struct shm_wire *w, struct shm_connection *c, uint32_t events)
{
    int rc = 0;
    if (events & EPOLLIN)
        rc = c->open ? shm_window_messages(c) : shm_peer_hello(w, c);
    if (rc == -EAGAIN)
        rc = 0;
    if (rc || events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
        shm_peer_hangup(w, c);
}

static bool handle(struct shm_wire *w, const struct epoll_event *events, int count)
{
    bool stuck = false;
    for (int i = 0; i < count; i++) {
        uint64_t id = events[i].data.u64, ignored;
        if (id == POKE_ID) {
            if (read(w->poke, &ignored, sizeof(ignored)) < 0)
                continue; /* somebody was faster */
        } else if (!accept_on(w, id, &stuck)) {
            struct shm_connection *c = find(w, id);
            if (c && !c->dead)
                on_connection(w, c, events[i].events);
        }
    }
    shm_peer_reap(w);
    return stuck;
}

/* A peer woke us, or somebody new is there: whoever sleeps in the port may be needed. */
static void drive(struct shm_wire *w)
{
    for (int i = 0; !w->passive && i < MAX_TURNS && sn_port_run(w->wire.port) > 0; i++)
        continue;
    sn_port_wake(w->wire.port);
}

/* Sends those away who connected and say nothing. How long until the next one is due, in ms; -1: nobody is expected. */
static int silent_ones(struct shm_wire *w)
{
    uint64_t now = shm_now(), least = UINT64_MAX, limit = SHM_HELLO_MS * 1000000ull;
    for (struct shm_connection *c = w->connections; c; c = c->next) {
        if (c->open || c->dead)
            continue;
        if (now - c->asked >= limit)
            shm_peer_hangup(w, c);
        else if (limit - (now - c->asked) < least)
            least = limit - (now - c->asked);
    }
    shm_peer_reap(w);
    return least == UINT64_MAX ? -1 : (int)(least / 1000000) + 1;
}

static void *run(void *arg)
{
    struct shm_wire *w = arg;
    struct epoll_event events[EVENTS];
    int due = -1;
    while (!atomic_load(&w->stop)) {
        int n = sn_fd_wait(w->epoll, events, EVENTS, due);
        sn_port_lock(w->wire.port);
        bool stuck = handle(w, events, n);
        due = silent_ones(w);
        sn_port_unlock(w->wire.port);
        drive(w);
        if (stuck)
            sn_own_thread_sleep(STUCK_NS);
    }
    return NULL;
}

int shm_helper_start(struct shm_wire *w)
{
    return sn_own_thread_start(&w->helper, run, w, "softnic-shm");
}

void shm_helper_stop(struct shm_wire *w)
{
    uint64_t one = 1;
    atomic_store(&w->stop, true);
    while (write(w->poke, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
    pthread_join(w->helper, NULL);
}
