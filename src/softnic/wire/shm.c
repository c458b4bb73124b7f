/* SPDX-License-Identifier: Apache-2.0 */
/* The shared-memory wire as the port sees it. */
#include "softnic/wire/shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/port/thread.h"
#include "softnic/wire/shm_internal.h"
#include "softnic/wire/shm_process.h"

enum { GLANCE = 4 /* connections that are glanced at */ };

struct shm_totals shm_totals;

static struct shm_wire *own(struct sn_wire *wire)
{
    return (struct shm_wire *)wire;
}

static void set_asleep(struct shm_wire *w, bool asleep)
{
    if (w->asleep == asleep)
        return;
    w->asleep = asleep;
    for (struct shm_connection *c = w->connections; c; c = c->next)
        if (c->open)
            shm_rx_asleep(&c->rx, asleep);
}

static int poll_wire(struct sn_wire *wire, unsigned budget)
{
    struct shm_wire *w = own(wire);
    unsigned done = 0;
    bool any_dead = false;
    /*
     * Whoever polls is awake: peers need not wake anybody. If that is not the port's own thread, the thread has to say anew
     * that it sleeps, once nobody polls any more.
     */
    if (w->asleep && !sn_port_thread_looks(wire->port)) {
        set_asleep(w, false);
        sn_port_wake(wire->port);
    }
    w->delivering = true;
    /* A turn that runs out of budget is followed by one that begins behind it: a busy peer does not starve the others. */
    struct shm_connection *first = w->resume ? w->resume : w->connections, *c = first;
    w->resume = NULL;
    while (c && done < budget) {
        if (c->open && !c->dead) {
            shm_rx_turn(&c->rx);
            if (shm_rx_ready(&c->rx))
                done += shm_deliver(w, c, budget - done);
        }
        any_dead |= c->dead;
        c = c->next ? c->next : w->connections;
        if (c == first)
            break;
    }
    if (done >= budget)
        w->resume = c;
    w->delivering = false;
    if (any_dead)
        shm_peer_reap(w);
    return (int)done;
}

static bool pending(struct sn_wire *wire)
{
    for (struct shm_connection *c = own(wire)->connections; c; c = c->next)
        if (c->open && !c->dead && shm_rx_ready(&c->rx))
            return true;
    return false;
}

static bool glance(struct sn_wire *wire)
{
    const struct shm_connection *c = own(wire)->connections;
    for (unsigned n = 0; c && n < GLANCE; n++, c = c->next)
        if (c->open && !c->dead && shm_rx_ready(&c->rx))
            return true;
    return false;
}

static void sleeping(struct sn_wire *wire, bool asleep)
{
    set_asleep(own(wire), asleep);
}

static bool peer_turns(struct sn_wire *wire, const struct sn_burst *header, uint32_t *turns)
{
    const struct shm_connection *c = shm_peer_at(own(wire), header);
    if (c)
        *turns = shm_tx_turns(&c->tx);
    return c != NULL;
}

static bool peer_wants_cpu(struct sn_wire *wire, const struct sn_burst *header)
{
    struct shm_wire *w = own(wire);
    const struct shm_connection *c = shm_peer_at(w, header);
    struct ucred peer;
    socklen_t length = sizeof(peer);
    return c && getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && w->wants_cpu(peer.pid);
}

static void free_endpoint(struct shm_wire *w, struct shm_endpoint *e)
{
    for (struct shm_connection *c = w->connections; c; c = c->next)
        if (c->endpoint == e)
            shm_peer_kill(w, c);
    bool dying = w->dying;
    w->dying = true; /* our own doing: nobody is reported as gone */
    shm_peer_reap(w);
    w->dying = dying;
    for (unsigned i = 0; i < e->identity.gid_count; i++)
        if (e->listener[i] >= 0)
            sn_fd_close(e->listener[i]);
    free(e);
}

static void destroy(struct sn_wire *wire)
{
    struct shm_wire *w = own(wire);
    shm_helper_stop(w);
    w->dying = true;
    while (w->endpoints) {
        struct shm_endpoint *e = w->endpoints;
        w->endpoints = e->next;
        free_endpoint(w, e);
    }
    shm_windows_close(w);
    sn_fd_close(w->epoll);
    sn_fd_close(w->poke);
    free(w);
}

static const struct sn_wire_ops ops = {.name = "shm",
                                       .send = shm_send,
                                       .poll = poll_wire,
                                       .pending = pending,
                                       .glance = glance,
                                       .sleeping = sleeping,
                                       .destroy = destroy,
                                       .peer_turns = peer_turns,
                                       .peer_wants_cpu = peer_wants_cpu,
                                       .send_short = shm_send_short};

static int open_descriptors(struct shm_wire *w)
{
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll < 0)
        return -errno;
    w->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->poke < 0) {
        int rc = -errno;
        close(w->epoll);
        return rc;
    }
    sn_fd_track(w->epoll);
    sn_fd_track(w->poke);
    return shm_watch(w, w->poke, 0);
}

int sn_shm_create(struct sn_port *port, const struct sn_shm_config *config, struct sn_wire **out)
{
    struct shm_wire *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->wire.ops = &ops;
    w->wire.port = port;
    w->ring_bytes = config->ring_bytes;
    w->passive = config->passive;
    w->wants_cpu = config->wants_cpu ? config->wants_cpu : sn_process_wants_cpu;
    w->next_id = 1;
    int rc = open_descriptors(w);
    if (rc) {
        free(w);
        return rc;
    }
    rc = shm_helper_start(w);
    if (rc) {
        sn_fd_close(w->epoll);
        sn_fd_close(w->poke);
        free(w);
        return rc;
    }
    *out = &w->wire;
    return 0;
}

/* Listens on every GID with this slot, or on none. */
static int listen_all(struct shm_endpoint *e, unsigned slot)
{
    for (unsigned i = 0; i < e->identity.gid_count; i++) {
        e->listener[i] = shm_listen(e->identity.gid[i], slot);
        if (e->listener[i] >= 0)
            continue;
        int rc = e->listener[i];
        while (i-- > 0)
            sn_fd_close(e->listener[i]);
        return rc;
    }
    e->identity.slot = (uint8_t)slot;
    return 0;
}

int sn_shm_bind(struct sn_wire *wire, const uint8_t gid[][16], unsigned gid_count, uint8_t *slot)
{
    struct shm_wire *w = own(wire);
    if (!gid_count || gid_count > SHM_MAX_GIDS)
        return -EINVAL;
    struct shm_endpoint *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->identity.gid_count = (uint8_t)gid_count;
    memcpy(e->identity.gid, gid, gid_count * sizeof(gid[0]));
    int rc = -EADDRINUSE;
    for (unsigned s = 1; s <= 255 && rc == -EADDRINUSE; s++)
        rc = listen_all(e, s);
    if (rc) {
        free(e);
        return rc == -EADDRINUSE ? -ENOSPC : rc;
    }
    sn_port_lock(w->wire.port);
    for (unsigned i = 0; i < gid_count; i++) {
        e->id[i] = w->next_id++;
        if (!rc)
            rc = shm_watch(w, e->listener[i], e->id[i]);
    }
    if (!rc) {
        e->next = w->endpoints;
        w->endpoints = e;
        *slot = e->identity.slot;
    } else {
        free_endpoint(w, e);
    }
    sn_port_unlock(w->wire.port);
    return rc;
}

void sn_shm_unbind(struct sn_wire *wire, const uint8_t gid0[16])
{
    struct shm_wire *w = own(wire);
    sn_port_lock(w->wire.port);
    for (struct shm_endpoint **p = &w->endpoints; *p; p = &(*p)->next)
        if (!memcmp((*p)->identity.gid[0], gid0, 16)) {
            struct shm_endpoint *e = *p;
            *p = e->next;
            free_endpoint(w, e);
            break;
        }
    sn_port_unlock(w->wire.port);
}

void sn_shm_count(struct sn_shm_counters *out)
{
#define READ(name) .name = atomic_load_explicit(&shm_totals.name, memory_order_relaxed)
    *out = (struct sn_shm_counters){READ(bursts_sent), READ(bytes_sent),  READ(bursts_received), READ(bytes_received),
                                    READ(wakes),       READ(connections), READ(peers_lost),      READ(bad_records),
                                    READ(bytes_by_reference)};
#undef READ
}
