/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the shared-memory wire. Everything below needs the port's lock, except where it says otherwise; the helper
 * thread (shm_thread.c) takes it for each batch of events.
 */
#ifndef SOFTNIC_WIRE_SHM_INTERNAL_H
#define SOFTNIC_WIRE_SHM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "softnic/nic.h"
#include "softnic/wire/burst.h"
#include "softnic/wire/descriptors.h"
#include "softnic/wire/shm.h"
#include "softnic/wire/shm_ring.h"
#include "softnic/wire/wire.h"

enum {
    SHM_PARTIALS = 16,
    SHM_MAX_CONNECTIONS = 2048,
    SHM_WINDOWS = 16,       /* memory files that a process shows to its peers at a time */
    SHM_HELLO_MS = 5000,    /* how long whoever has connected may keep silent: one call follows the other */
    SHM_WINDOW_MIN = 16384, /* payload bytes from which a reference is worth it */
};

struct shm_window { /* a mapping of this process that bursts have come from; shm_window.c */
    uint32_t id;    /* 0: unused */
    int fd;         /* own descriptor; -1: memory that cannot be shown */
    uint64_t low, high;     /* addresses */
    uint64_t offset, bytes; /* of `low` in the file; of the file */
};

struct shm_peer_window { /* a file of a peer's, mapped for reading */
    uint32_t id;
    uint8_t *at;
    uint64_t bytes;
};

struct shm_endpoint { /* a NIC of this process, as peers find it */
    struct shm_endpoint *next;
    struct shm_identity identity;
    int listener[SHM_MAX_GIDS];
    uint64_t id[SHM_MAX_GIDS]; /* event ids of the listeners */
};

/* A burst that did not fit as a whole: how much of it is already in the ring. */
struct shm_partial {
    bool used;
    uint8_t kind, epoch;
    uint32_t dqpn, sqpn, psn, length;
    uint32_t sent; /* payload bytes */
};

struct shm_connection {
    struct shm_connection *next;
    struct shm_endpoint *endpoint;
    uint64_t id;
    int fd;
    bool connector;
    bool open;          /* rings mapped: an accepted one waits for the hello first */
    uint64_t asked;     /* ns; accepted: it has SHM_HELLO_MS from then on to say hello */
    bool dead;          /* to be reaped, as soon as nobody holds a pointer */
    bool known;         /* `peer` has been copied from shared memory */
    uint8_t target[16]; /* the GID that was connected to */
    struct shm_identity peer;
    void *map;
    size_t map_bytes;
    struct shm_tx tx;
    struct shm_rx rx;
    struct sn_origin origin;       /* of the last short message that was taken, */
    uint32_t came_dqpn, came_sqpn; /* and its addresses in the record */
    struct shm_partial partial[SHM_PARTIALS];
    unsigned next_partial;
    uint32_t told[SHM_WINDOWS]; /* ids of own windows that the peer has */
    struct shm_peer_window peer_window[SHM_WINDOWS];
    uint64_t full_since; /* ns; 0: not full */
    uint64_t full_head;  /* consumer's position then */
};

static inline uint64_t shm_now(void) /* ns, CLOCK_MONOTONIC */
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct shm_wire {
    struct sn_wire wire; /* first */
    size_t ring_bytes;
    bool passive; /* the helper thread never drives the port */
    bool (*wants_cpu)(int pid);
    struct shm_endpoint *endpoints;
    struct shm_connection *connections;
    unsigned connection_count;
    struct shm_connection *last;   /* that a burst went to */
    struct shm_connection *resume; /* where the next poll begins; NULL: at the first */
    bool asleep, delivering, dying;
    struct shm_window window[SHM_WINDOWS], *last_window;
    unsigned next_window;
    uint32_t next_window_id, key_generation;
    uint64_t scanned_ns; /* when /proc was read last */
    uint64_t next_id;
    int epoll, poke; /* poke: an eventfd that ends the helper's wait */
    pthread_t helper;
    atomic_bool stop;
};

#define SHM_HELLO_MAGIC 0x31786e74666f73ull /* "softnx1" */
enum { SHM_HELLO_VERSION = 2 };             /* 2: turns in a direction's control page */

struct shm_hello { /* connector to acceptor, with the memory file's descriptor */
    uint64_t magic;
    uint32_t version, reserved;
    uint64_t ring_bytes, nonce;
};

extern struct shm_totals {
    atomic_ullong bursts_sent, bytes_sent, bursts_received, bytes_received, wakes, connections, peers_lost, bad_records,
        bytes_by_reference;
} shm_totals;

/* Counters have one writer at a time (the port's lock), so no read-modify-write instruction is needed. */
static inline void shm_add(atomic_ullong *counter, unsigned long long n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* shm_socket.c: names, credentials, descriptor passing. No lock needed. Negative errno. */
int shm_listen(const uint8_t gid[16], unsigned slot);
int shm_connect(const uint8_t gid[16], unsigned slot); /* -ECONNREFUSED nobody, -EAGAIN busy, -EPERM another user's */
int shm_accept(int listener);                          /* -EPERM another user's */
int shm_send_hello(int fd, const struct shm_hello *hello, int memory);
int shm_receive_hello(int fd, struct shm_hello *hello, int *memory); /* -EAGAIN not yet */
/* Bytes with a descriptor; received: how many bytes, 0 at the end, or negative errno; *memory is -1 without one. */
int shm_send_memory(int fd, const void *data, size_t size, int memory);
ssize_t shm_receive_memory(int fd, void *data, size_t size, int *memory);
int shm_make_memory(size_t bytes);
int shm_check_memory(int fd, size_t bytes); /* sealed against shrinking and of this size */
void *shm_map(int fd, size_t bytes);

/* shm_peer.c */
struct shm_connection *shm_peer_find(struct shm_wire *w, const struct sn_burst *burst, int *error);
int shm_peer_accept(struct shm_wire *w, struct shm_endpoint *endpoint, unsigned gid_index);
int shm_peer_hello(struct shm_wire *w, struct shm_connection *c);
void shm_peer_hangup(struct shm_wire *w, struct shm_connection *c); /* delivers what is left, then tells the port */
void shm_peer_kill(struct shm_wire *w, struct shm_connection *c);   /* marks it; shm_peer_reap frees it */
void shm_peer_reap(struct shm_wire *w);
struct shm_connection *shm_peer_at(struct shm_wire *w, const struct sn_burst *burst); /* NULL: there is none yet, or any more */
int shm_peer_index(const struct shm_identity *identity, const uint8_t gid[16]); /* -1: not in it */
bool shm_peer_know(struct shm_connection *c); /* copies the peer's identity from shared memory once; false: nonsense */

/* shm_deliver.c: at most `budget` records of one connection; how many. */
unsigned shm_deliver(struct shm_wire *w, struct shm_connection *c, unsigned budget);

/* shm_send.c */
int shm_send(struct sn_wire *wire, const struct sn_burst *burst);
bool shm_send_short(struct sn_wire *wire, const struct sn_burst *header, struct sn_route *route, const struct sn_short *m);

/* shm_window.c */
bool shm_window_refer(struct shm_wire *w, struct shm_connection *c, const struct sn_burst *b, struct shm_header *h);
bool shm_window_resolve(struct shm_connection *c, struct shm_record *r); /* false: the burst is lost */
int shm_window_messages(struct shm_connection *c); /* takes what is in the socket; negative errno: hung up, or nonsense */
void shm_windows_close(struct shm_wire *w);
void shm_windows_unmap(struct shm_connection *c);

/* shm_thread.c */
int shm_helper_start(struct shm_wire *w);
void shm_helper_stop(struct shm_wire *w); /* without the lock */
int shm_watch(struct shm_wire *w, int fd, uint64_t id);

#endif
