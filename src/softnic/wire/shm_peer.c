/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: made when the first burst needs one, accepted, judged, and taken down. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format/mad.h"
#include "softnic/wire/shm_internal.h"

#define RING_MIN    65536ull
#define RING_MAX    (64ull << 20)

int shm_peer_index(const struct shm_identity *identity, const uint8_t gid[16])
{
    for (int i = 0; i < identity->gid_count; i++)
        if (!memcmp(identity->gid[i], gid, 16))
            return i;
    return -1;
}

bool shm_peer_know(struct shm_connection *c)
{
    struct shm_identity seen;
    memcpy(&seen, &c->rx.shared->producer, sizeof(seen)); /* once; ordered by the acquire of the hello or of a record */
    if (!seen.slot || !seen.gid_count || seen.gid_count > SHM_MAX_GIDS)
        return false;
    if (c->connector && (seen.slot != c->peer.slot || shm_peer_index(&seen, c->target) < 0))
        return false;
    c->peer = seen;
    c->known = true;
    return true;
}

/* ---- life ---------------------------------------------------------------------------------------------------------
 */

/* Each takes a descriptor. Those who call get no more than half of what the process may have: the program needs some, too. */
static unsigned most_connections(bool connector)
{
    struct rlimit files;
    if (connector || getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / 2 > SHM_MAX_CONNECTIONS)
        return SHM_MAX_CONNECTIONS;
    return (unsigned)(files.rlim_cur / 2);
}

static struct shm_connection *new_connection(struct shm_wire *w, struct shm_endpoint *endpoint, int fd, bool connector)
{
    if (w->connection_count >= most_connections(connector))
        return NULL;
    struct shm_connection *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->endpoint = endpoint;
    c->fd = fd;
    c->id = w->next_id++;
    c->connector = connector;
    if (shm_watch(w, fd, c->id)) {
        free(c);
        return NULL;
    }
    c->next = w->connections;
    w->connections = c;
    w->connection_count++;
    return c;
}

void shm_peer_kill(struct shm_wire *w, struct shm_connection *c)
{
    c->dead = true;
    if (w->last == c)
        w->last = NULL;
}

static void free_connection(struct shm_connection *c)
{
    sn_fd_close(c->fd); /* leaves the epoll set with its last descriptor */
    shm_windows_unmap(c);
    if (c->map) {
        munmap(c->map, c->map_bytes);
        atomic_fetch_sub_explicit(&shm_totals.connections, 1, memory_order_relaxed);
    }
    free(c);
}

/* Takes the dead out of the list first, and tells the port afterwards: it may send again from within. */
void shm_peer_reap(struct shm_wire *w)
{
    struct shm_connection *dead = NULL;
    for (struct shm_connection **p = &w->connections; *p;) {
        struct shm_connection *c = *p;
        if (!c->dead) {
            p = &c->next;
            continue;
        }
        *p = c->next;
        w->connection_count--;
        if (w->resume == c)
            w->resume = NULL;
        c->next = dead;
        dead = c;
    }
    while (dead) {
        struct shm_connection *c = dead;
        dead = c->next;
        bool told = c->open && !w->dying;
        struct shm_identity peer = c->peer;
        free_connection(c);
        for (unsigned i = 0; told && i < peer.gid_count; i++)
            sn_port_peer_gone(w->wire.port, peer.gid[i], peer.slot);
    }
}

void shm_peer_hangup(struct shm_wire *w, struct shm_connection *c)
{
    /* What it sent before it died has been on the wire already. Bounded: it may still have the memory and write on. */
    w->delivering = true;
    shm_deliver(w, c, (unsigned)(w->ring_bytes / SHM_LINE));
    w->delivering = false;
    if (c->open)
        shm_add(&shm_totals.peers_lost, 1);
    shm_peer_kill(w, c);
}

/* ---- making one ---------------------------------------------------------------------------------------------------
 */

static void open_rings(struct shm_wire *w, struct shm_connection *c, void *map, uint64_t ring_bytes, uint64_t nonce)
{
    c->map = map;
    c->map_bytes = shm_region_bytes(ring_bytes);
    shm_tx_init(&c->tx, map, c->connector ? 0 : 1, ring_bytes, nonce);
    shm_rx_init(&c->rx, map, c->connector ? 1 : 0, ring_bytes, nonce);
    memcpy(&c->tx.shared->producer, &c->endpoint->identity, sizeof(c->endpoint->identity));
    shm_rx_asleep(&c->rx, w->asleep);
    c->open = true;
    atomic_fetch_add_explicit(&shm_totals.connections, 1, memory_order_relaxed);
}

/* Odd, so that it differs from every position and from the zeros of fresh memory. */
static int make_nonce(uint64_t *nonce)
{
    if (getrandom(nonce, sizeof(*nonce), 0) != (ssize_t)sizeof(*nonce))
        return -EIO;
    *nonce = (*nonce | 3) ^ 2; /* ends in 01: direction 1 adds one, and still differs from a multiple of 64 */
    return 0;
}

static int greet(struct shm_wire *w, struct shm_connection *c)
{
    struct shm_hello hello = {.magic = SHM_HELLO_MAGIC, .version = SHM_HELLO_VERSION, .ring_bytes = w->ring_bytes};
    size_t bytes = shm_region_bytes(w->ring_bytes);
    int rc = make_nonce(&hello.nonce);
    if (rc)
        return rc;
    int memory = shm_make_memory(bytes);
    if (memory < 0)
        return memory;
    void *map = shm_map(memory, bytes);
    if (map)
        open_rings(w, c, map, w->ring_bytes, hello.nonce);
    rc = map ? shm_send_hello(c->fd, &hello, memory) : -ENOMEM;
    close(memory);
    return rc;
}

static struct shm_connection *connect_to(struct shm_wire *w, struct shm_endpoint *endpoint, const uint8_t gid[16],
                                         unsigned slot, int *error)
{
    int fd = shm_connect(gid, slot);
    if (fd < 0) {
        *error = fd == -EAGAIN ? -EAGAIN : -EHOSTUNREACH;
        return NULL;
    }
    struct shm_connection *c = new_connection(w, endpoint, fd, true);
    if (!c) {
        sn_fd_close(fd);
        *error = -EHOSTUNREACH;
        return NULL;
    }
    memcpy(c->target, gid, 16);
    c->peer.slot = (uint8_t)slot;
    c->peer.gid_count = 1;
    memcpy(c->peer.gid[0], gid, 16);
    if (greet(w, c)) {
        c->open = false; /* nobody was reached: no peer to report as gone */
        shm_peer_kill(w, c);
        if (!w->delivering)
            shm_peer_reap(w);
        *error = -EHOSTUNREACH;
        return NULL;
    }
    return c;
}

static bool leads_to(const struct shm_connection *c, const struct sn_burst *b)
{
    return c->open && !c->dead && (c->peer.slot == b->dqpn >> 16 || b->dqpn == SN_GSI_QPN) && shm_peer_index(&c->peer, b->dgid) >= 0 &&
           shm_peer_index(&c->endpoint->identity, b->sgid) >= 0;
}

static struct shm_endpoint *endpoint_of(struct shm_wire *w, const uint8_t gid[16])
{
    for (struct shm_endpoint *e = w->endpoints; e; e = e->next)
        if (shm_peer_index(&e->identity, gid) >= 0)
            return e;
    return NULL;
}

/* Queue pair 1 is the device's: the first process that has it takes what comes, and passes on what is not its own. */
static struct shm_connection *connect_to_any(struct shm_wire *w, struct shm_endpoint *e, const uint8_t gid[16], int *error)
{
    struct shm_connection *c = NULL;
    for (unsigned slot = 1; slot <= 255 && !c; slot++) {
        *error = -EHOSTUNREACH;
        c = connect_to(w, e, gid, slot, error);
        if (*error == -EAGAIN)
            break;
    }
    return c;
}

struct shm_connection *shm_peer_at(struct shm_wire *w, const struct sn_burst *burst)
{
    struct shm_connection *found = NULL;
    if (w->last && leads_to(w->last, burst))
        return w->last;
    for (struct shm_connection *c = w->connections; c; c = c->next)
        if (leads_to(c, burst))
            found = c; /* the oldest, so that a queue pair's bursts keep to one ring */
    return found;
}

struct shm_connection *shm_peer_find(struct shm_wire *w, const struct sn_burst *burst, int *error)
{
    struct shm_connection *found = shm_peer_at(w, burst);
    unsigned slot = burst->dqpn >> 16 & 0xff;
    if (!found) {
        struct shm_endpoint *e = endpoint_of(w, burst->sgid);
        *error = -EHOSTUNREACH;
        if (e && burst->dqpn == SN_GSI_QPN)
            found = connect_to_any(w, e, burst->dgid, error);
        else
            found = e && slot ? connect_to(w, e, burst->dgid, slot, error) : NULL;
    }
    if (found)
        w->last = found;
    return found;
}

/* ---- being found --------------------------------------------------------------------------------------------------
 */

int shm_peer_accept(struct shm_wire *w, struct shm_endpoint *endpoint, unsigned gid_index)
{
    int fd = shm_accept(endpoint->listener[gid_index]);
    if (fd < 0)
        return fd;
    struct shm_connection *c = new_connection(w, endpoint, fd, false);
    if (!c) {
        sn_fd_close(fd);
        return -ENOMEM;
    }
    memcpy(c->target, endpoint->identity.gid[gid_index], 16);
    c->asked = shm_now();
    return 0;
}

static bool hello_makes_sense(const struct shm_hello *h)
{
    return h->magic == SHM_HELLO_MAGIC && h->version == SHM_HELLO_VERSION && h->ring_bytes >= RING_MIN &&
           h->ring_bytes <= RING_MAX && !(h->ring_bytes & (h->ring_bytes - 1));
}

int shm_peer_hello(struct shm_wire *w, struct shm_connection *c)
{
    struct shm_hello hello;
    int memory;
    int rc = shm_receive_hello(c->fd, &hello, &memory);
    if (rc)
        return rc;
    void *map = NULL;
    if (hello_makes_sense(&hello) && !shm_check_memory(memory, shm_region_bytes(hello.ring_bytes)))
        map = shm_map(memory, shm_region_bytes(hello.ring_bytes));
    close(memory);
    if (!map)
        return -EPROTO;
    open_rings(w, c, map, hello.ring_bytes, hello.nonce);
    return shm_peer_know(c) ? 0 : -EPROTO;
}
