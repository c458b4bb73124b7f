/* SPDX-License-Identifier: Apache-2.0 */
/* Inside connection management: states, and what the files of the agent share. */
#ifndef SOFTNIC_GSI_CM_INTERNAL_H
#define SOFTNIC_GSI_CM_INTERNAL_H

#include "softnic/gsi/cm.h"

/* 12.9.5 and 12.9.6; a REQ that an MRA answered stays in its state, with a longer timeout. */
enum cm_state {
    CM_REQ_SENT,
    CM_REQ_RECEIVED,
    CM_REP_SENT,
    CM_REP_RECEIVED,
    CM_ESTABLISHED,
    CM_DREQ_SENT,
    CM_TIMEWAIT,
    CM_REJECTED, /* by us: says so again to each repetition, until the time is over */
    CM_SIDR_REQ_SENT,
    CM_SIDR_REQ_RECEIVED,
    CM_SIDR_REPLIED,
    CM_GONE, /* refused by the other side: its late requests are met in silence, until the time is over */
    CM_DONE, /* over; waits for its user to destroy it */
};

struct sn_cm_listener {
    struct sn_cm_listener *next;
    uint64_t service_id;
    void *user;
    void (*on_end)(void *user);
    bool closed;
    unsigned undecided; /* connections that came through it and are not decided */
};

struct sn_cm_conn {
    struct sn_cm_conn *next, **link;     /* all */
    struct sn_cm_conn *chain, **chained; /* same bucket of local IDs */
    enum cm_state state;
    bool has_user, active;
    void *user;
    struct sn_cm_listener *listener; /* passive, while it is undecided */
    struct sn_cm_address address;
    uint64_t service_id, transaction;
    uint32_t local_id, remote_id;
    bool has_remote_id;
    uint32_t local_qpn, local_psn;
    uint8_t timeout, max_retries; /* of our own messages */
    uint8_t ack_timeout;          /* of the path: how long packets may be under way */
    uint8_t peer_timeout;         /* how long the other side waits before it repeats a request */
    unsigned retries;
    uint64_t deadline;       /* ns; UINT64_MAX: none */
    bool has_peer, has_last;
    struct sn_cm_msg peer;   /* REQ, REP or SIDR_REQ of the other side */
    struct sn_mad last;      /* our last message: said again on a timeout or a repetition */
};

enum { CM_BUCKETS = 1024 };

struct sn_cm {
    struct sn_cm_ops ops;
    void *arg;
    struct sn_cm_listener *listeners;
    struct sn_cm_conn *conns;
    struct sn_cm_conn *bucket[CM_BUCKETS];
    unsigned count;
    uint32_t next_transaction;
};

/* cm.c */
struct sn_cm_conn *cm_new(struct sn_cm *cm, const struct sn_cm_address *address);
void cm_free(struct sn_cm *cm, struct sn_cm_conn *c);
struct sn_cm_conn *cm_find(struct sn_cm *cm, uint32_t local_id);
void cm_send(struct sn_cm *cm, struct sn_cm_conn *c, const struct sn_cm_msg *m); /* and remembers it */
void cm_send_once(struct sn_cm *cm, const struct sn_cm_conn *c, const struct sn_cm_msg *m);
void cm_again(struct sn_cm *cm, struct sn_cm_conn *c);
void cm_arm(struct sn_cm *cm, struct sn_cm_conn *c); /* the time for an answer begins */
void cm_event(struct sn_cm *cm, struct sn_cm_conn *c, enum sn_cm_event_kind kind, int status, const struct sn_cm_msg *m);
void cm_decided(struct sn_cm *cm, struct sn_cm_conn *c); /* the listener may go */
void cm_timewait(struct sn_cm *cm, struct sn_cm_conn *c);
void cm_done(struct sn_cm *cm, struct sn_cm_conn *c); /* frees it if it has no user */
void cm_reject(struct sn_cm *cm, struct sn_cm_conn *c, uint8_t about, uint16_t reason, const void *data, uint8_t length);
void cm_gone(struct sn_cm *cm, struct sn_cm_conn *c);
void cm_begin_dreq(struct sn_cm *cm, struct sn_cm_conn *c);

static inline uint64_t cm_ns(unsigned code)
{
    return (uint64_t)4096 << (code & 31); /* all times of connection management have this form (12.7) */
}

#endif
