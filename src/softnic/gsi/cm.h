/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection management (IBTA vol. 1, chapter 12) as a machine without threads, sockets or clock: MADs and time go in,
 * MADs and events come out. One agent serves all ports of a process.
 *
 * Nothing here locks. gsi.c has one mutex around the agent; tests and simulations have one thread. Callbacks run within
 * the call that causes them and must not call back into the agent.
 *
 * Life: a connection belongs to the agent. The user has it from sn_cm_request, or from the event SN_CM_EV_REQ, until
 * sn_cm_destroy; after that the agent may keep it for a while (disconnecting, time-wait), without events.
 */
#ifndef SOFTNIC_GSI_CM_H
#define SOFTNIC_GSI_CM_H

#include "softnic/gsi/cm_msg.h"

struct sn_cm;          /* an agent */
struct sn_cm_conn;     /* a connection, or a SIDR exchange */
struct sn_cm_listener;

/* Where a MAD comes from or goes to. */
struct sn_cm_address {
    unsigned port;        /* the caller's number of a local port */
    uint8_t local[16], remote[16]; /* GIDs */
};

enum sn_cm_event_kind {
    SN_CM_EV_REQ,          /* passive: somebody wants to connect; `conn` is new */
    SN_CM_EV_REP,          /* active: the answer; sn_cm_ready_to_use is due */
    SN_CM_EV_RTU,          /* passive: the other side is ready */
    SN_CM_EV_REJ,          /* message.reason says why */
    SN_CM_EV_UNREACHABLE,  /* no answer to REQ, REP or SIDR_REQ */
    SN_CM_EV_DISCONNECTED, /* by the other side, or sn_cm_disconnect has been answered, or given up (status) */
    SN_CM_EV_TIMEWAIT,     /* packets of the connection are no longer under way: its QP number may be used again */
    SN_CM_EV_SIDR_REQ,     /* passive; `conn` is new */
    SN_CM_EV_SIDR_REP,     /* message.status: 0 or why not */
};

struct sn_cm_event {
    enum sn_cm_event_kind kind;
    int status; /* 0 or negative errno */
    struct sn_cm_conn *conn;
    const struct sn_cm_address *address;
    const struct sn_cm_msg *message; /* that caused it; NULL for timeouts */
};

struct sn_cm_ops {
    uint64_t (*now)(void *arg);    /* ns */
    uint32_t (*random)(void *arg);
    void (*send)(void *arg, const struct sn_cm_address *to, const struct sn_mad *mad); /* may get lost */
    uint8_t (*slot)(void *arg, unsigned port); /* process slot: the top 8 bits of communication IDs */
    /* How well a listener fits a REQ or SIDR_REQ of its service: 0 not at all; the highest value is taken. */
    int (*match)(void *arg, void *listener_user, const struct sn_cm_address *from, const struct sn_cm_msg *m);
    /*
     * `user` is the connection's, or, with SN_CM_EV_REQ and SN_CM_EV_SIDR_REQ, the listener's. These two return what is
     * to be the new connection's user; NULL: no room, the request is dropped and will come again. Others: ignored.
     */
    void *(*event)(void *arg, void *user, const struct sn_cm_event *event);
};

int sn_cm_create(const struct sn_cm_ops *ops, void *arg, struct sn_cm **out);
void sn_cm_destroy_agent(struct sn_cm *cm); /* frees all connections in silence */

/* ---- listening ------------------------------------------------------------------------------------------------- */

/*
 * `on_end` tells when the last request that came through the listener has been decided: until then its service must
 * stay reachable, for the requests come again. It may be called from within sn_cm_unlisten.
 */
int sn_cm_listen(struct sn_cm *cm, uint64_t service_id, void *user, void (*on_end)(void *user), struct sn_cm_listener **out);
void sn_cm_unlisten(struct sn_cm *cm, struct sn_cm_listener *listener);

/* ---- connecting -------------------------------------------------------------------------------------------------- */

struct sn_cm_params {
    uint32_t qpn, psn, qkey;
    uint8_t transport; /* enum sn_cm_transport */
    uint8_t responder_resources, initiator_depth;
    uint8_t retry_count, rnr_retry_count;
    bool flow_control, srq;
    uint64_t ca_guid;
    uint16_t pkey;
    uint8_t mtu;
    struct sn_cm_path path; /* REQ: as the requester sees it */
    uint8_t timeout;        /* how long the other side may take to answer: 4.096 us * 2^n */
    uint8_t max_retries;    /* 0..15 */
    const void *private_data;
    uint8_t private_length;
};

int sn_cm_request(struct sn_cm *cm, const struct sn_cm_address *to, uint64_t service_id, const struct sn_cm_params *params,
                  void *user, struct sn_cm_conn **out);
int sn_cm_reply(struct sn_cm *cm, struct sn_cm_conn *conn, const struct sn_cm_params *params);
/* Active, after SN_CM_EV_REP. */
int sn_cm_ready_to_use(struct sn_cm *cm, struct sn_cm_conn *conn, const void *private_data, uint8_t length);
/* Passive: data has arrived although the RTU has not (12.9.7.2, communication established). */
int sn_cm_established(struct sn_cm *cm, struct sn_cm_conn *conn);
/* Refuses a request, or an answer. */
int sn_cm_reject(struct sn_cm *cm, struct sn_cm_conn *conn, uint16_t reason, const void *private_data, uint8_t length);
/* -ENOTCONN: it is not connected, or no longer. */
int sn_cm_disconnect(struct sn_cm *cm, struct sn_cm_conn *conn);

int sn_cm_sidr_request(struct sn_cm *cm, const struct sn_cm_address *to, uint64_t service_id,
                       const struct sn_cm_params *params, void *user, struct sn_cm_conn **out);
int sn_cm_sidr_reply(struct sn_cm *cm, struct sn_cm_conn *conn, uint8_t status, const struct sn_cm_params *params);

/* No event of this connection comes after this. Says to the other side what its state demands. */
void sn_cm_destroy(struct sn_cm *cm, struct sn_cm_conn *conn);

/* The REQ (passive) or REP (active) of the other side; NULL: none yet. */
const struct sn_cm_msg *sn_cm_peer(const struct sn_cm_conn *conn);
uint32_t sn_cm_local_id(const struct sn_cm_conn *conn);
uint32_t sn_cm_local_psn(const struct sn_cm_conn *conn); /* that was given in the REQ or REP */

/* ---- driving ------------------------------------------------------------------------------------------------------ */

/* A MAD has arrived. Untrusted. Returns what the parser says of it. */
enum sn_cm_verdict sn_cm_input(struct sn_cm *cm, const struct sn_cm_address *from, const void *mad, size_t length);
void sn_cm_timers(struct sn_cm *cm);             /* what is due by now */
uint64_t sn_cm_deadline(const struct sn_cm *cm); /* ns; UINT64_MAX: none */

/* The process with that slot behind that GID has died: its connections are over. */
void sn_cm_peer_gone(struct sn_cm *cm, const uint8_t gid[16], uint8_t slot);
uint32_t sn_cm_remote_id(const struct sn_cm_conn *conn); /* 0: not known yet */

/* The agent's user goes: all connections are destroyed as by sn_cm_destroy. */
void sn_cm_destroy_users(struct sn_cm *cm);

/* Who of several processes a MAD is for (gsi.c passes it on). */
enum sn_cm_owner { SN_CM_OWNER_SLOT, SN_CM_OWNER_SERVICE, SN_CM_OWNER_ALL, SN_CM_OWNER_NOBODY };
enum sn_cm_owner sn_cm_owner_of(const struct sn_cm_msg *m, uint8_t *slot);

/* A REQ or SIDR_REQ that nobody serves, or a message of a connection that nobody knows: the refusal. False: none is due. */
bool sn_cm_refusal(const struct sn_cm_msg *m, struct sn_mad *out);

/* For tests: connections that the agent holds, those without a user included. */
unsigned sn_cm_count(const struct sn_cm *cm);
const char *sn_cm_event_name(enum sn_cm_event_kind kind);

#endif
