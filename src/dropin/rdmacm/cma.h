/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside librdmacm.so.1. The public structures are the first member of ours.
 *
 * Locks: `cma.lock` guards channels' queues, the list of bound addresses and what callbacks of connection management read
 * of an identifier. Callbacks run with libsoftnic's CM lock held and take cma.lock: so no softnic_cm_* function is called
 * with it. An identifier is used by one thread at a time, as with the real library, its events apart.
 */
#ifndef DROPIN_RDMACM_CMA_H
#define DROPIN_RDMACM_CMA_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "softnic/gsi/client.h"

#define CMA_API __attribute__((visibility("default")))

enum {
    CMA_MAX_DEVICES = 64,
    CMA_ACK_TIMEOUT = 16,      /* of a path: 268 ms */
    CMA_RESPONSE_TIMEOUT = 18, /* of connection management: 1.07 s */
    CMA_RETRIES = 15,
    CMA_MAX_READS = 16,        /* reads and atomics in flight that a queue pair may have */
    CMA_MIN_RNR = 12,          /* 640 us */
    CMA_HOP_LIMIT = 64,
};

struct cma_device {
    struct ibv_context *verbs;
    struct ibv_pd *pd; /* for those who bring none; made when asked for */
    struct softnic_cm_device info;
};

struct cma_event {
    struct rdma_cm_event event; /* first: what callers hold */
    struct cma_event *next;
    struct cma_id *owner;  /* events of it are counted until they are acknowledged */
    enum sn_cm_event_kind kind;
    bool from_cm;          /* `kind` and `message` say what it is; processed when it is fetched */
    bool has_message;
    struct sn_cm_msg message;
};

struct cma_channel {
    struct rdma_event_channel channel; /* first */
    struct cma_event *first, **last;
    unsigned users; /* identifiers */
    unsigned generation;
};

enum cma_state { CMA_IDLE, CMA_BOUND, CMA_ADDRESS, CMA_ROUTE, CMA_LISTEN, CMA_CONNECT, CMA_REQUESTED, CMA_CONNECTED, CMA_OVER };

struct cma_id {
    struct rdma_cm_id id; /* first */
    unsigned generation;
    enum cma_state state;
    bool sync;          /* has a channel of its own; calls wait for their event */
    bool disconnected;  /* the event has been delivered */
    unsigned unacked;   /* events delivered, or processed */
    struct cma_device *device;
    uint8_t sgid_index;
    uint8_t dgid[16];
    uint16_t dlid;
    uint8_t tos, ack_timeout;
    bool reuse, af_only, ud;
    /* Bound to a port of this host. */
    struct softnic_cm_service *service;
    struct cma_id *next_bound;
    /* Listening. */
    struct sn_cm_listener *listener;
    int backlog, waiting; /* requests that have not been fetched */
    struct ibv_pd *ep_pd; /* rdma_create_ep: for queue pairs of requests */
    struct ibv_qp_init_attr *ep_attr;
    /* Connecting. */
    struct sn_cm_conn *conn;
    struct sn_cm_msg peer; /* REQ or REP */
    bool has_peer, active;
    struct ibv_sa_path_rec path;
    uint32_t psn;
    uint8_t mtu, responder_resources, initiator_depth, retry_count, rnr_retry_count;
    bool own_send_cq, own_recv_cq;
};

struct cma {
    pthread_mutex_t lock;
    pthread_cond_t acked;
    bool started;
    unsigned generation; /* moves in a forked child */
    struct cma_device device[CMA_MAX_DEVICES];
    unsigned devices;
    struct cma_id *bound;
};
extern struct cma cma;

static inline struct cma_id *cma_id_of(struct rdma_cm_id *id)
{
    return (struct cma_id *)id;
}

static inline struct cma_channel *cma_channel_of(struct rdma_event_channel *channel)
{
    return (struct cma_channel *)channel;
}

/* Sets errno from 0 or a negative errno; returns 0 or -1. */
int cma_result(int rc);

/* device.c */
int cma_start(void);
struct ibv_pd *cma_default_pd(struct cma_device *device);
bool cma_usable(const struct cma_id *id); /* false: it is a parent process's; errno is set */

/* address.c */
bool cma_is_any(const struct sockaddr *a);
socklen_t cma_address_length(const struct sockaddr *a); /* 0: a family that is not known */
uint16_t cma_port_of(const struct sockaddr *a);         /* host order */
void cma_set_port(struct sockaddr *a, uint16_t port);
bool cma_same_ip(const struct sockaddr *a, const struct sockaddr *b);
/* The device that an address of this host stands for: 0, or -EADDRNOTAVAIL. */
int cma_device_of_address(const struct sockaddr *a, struct cma_device **out);
/* Route to an address; uses id->device if it is bound, else chooses one; fills id's addresses. 0 or negative errno. */
int cma_route(struct cma_id *id, const struct sockaddr *dst);
int cma_gid_index(const struct cma_device *d, const uint8_t gid[16]); /* -1: not its */
void cma_ip_of_id(const struct cma_id *id, struct sn_cm_ip *out);     /* the header in a request */
void cma_addresses_of_request(struct cma_id *id, const struct sn_cm_ip *ip, uint16_t port);
int cma_match_address(const struct cma_id *listener, const struct sn_cm_ip *ip);

/* id.c */
struct cma_id *cma_new_id(struct cma_channel *channel, void *context, enum rdma_port_space ps, enum ibv_qp_type type);
void cma_set_device(struct cma_id *id, struct cma_device *device);
void cma_free_id(struct cma_id *id);
uint64_t cma_service_id(enum rdma_port_space ps, uint16_t port);

/* channel.c; cma.lock held for those with _locked */
struct cma_channel *cma_new_channel(void);
void cma_put_event_locked(struct cma_channel *channel, struct cma_event *e);
void cma_drop_events_locked(struct cma_channel *channel, struct cma_id *id, struct cma_event **dropped);
void cma_move_events_locked(struct cma_channel *from, struct cma_channel *to, struct cma_id *id);
int cma_raise(struct cma_id *id, enum rdma_cm_event_type type, int status);
/* A synchronous identifier waits for its event. */
int cma_complete(struct cma_id *id);
void cma_free_event(struct cma_event *e); /* one that nobody has fetched */

/* event.c */
extern const struct softnic_cm_client cma_client;
/* Makes of what connection management said the event that the caller gets; false: none. */
bool cma_process(struct cma_event *e);

/* qp.c */
int cma_qp_init(struct cma_id *id);
int cma_qp_ready(struct cma_id *id); /* to RTR and RTS, by the peer's message */
void cma_qp_error(struct cma_id *id);
void cma_ah_attr(const struct cma_id *id, struct ibv_ah_attr *out);

/* connect.c */
void cma_take_peer(struct cma_id *id, const struct sn_cm_msg *m); /* a REQ or REP */
void cma_fill_path(struct cma_id *id);

#endif
