/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The general services of this process's devices: QP 1 of each, one thread that handles what arrives there, and the
 * connection management agent behind it. A process that uses no connection management still serves QP 1: it passes on what
 * is for other processes of the device, and refuses the rest. Its thread starts with the first MAD.
 *
 * Locks: registry (device.c), then `lock` below, then the port's; `rx_lock` is taken last.
 */
#ifndef SOFTNIC_GSI_GSI_H
#define SOFTNIC_GSI_GSI_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gdaki/softnic.h"
#include "softnic/gsi/client.h"
#include "softnic/nic.h"
#include "softnic/verbs/context.h"

/* device.c: a NIC has come up, or is about to go. Registry lock held, no other. */
void sv_gsi_attach(struct sv_device *device);
void sv_gsi_detach(struct sv_device *device);
void sv_gsi_after_fork_child(void);

/* ---- inside ----------------------------------------------------------------------------------------------------- */

enum { GSI_PORTS = 64, GSI_RX = 1024, GSI_UNSENT = 256, GSI_HELD = 64, GSI_SEEN = 32 };

struct gsi_port {
    struct sn_nic *nic; /* NULL: not attached */
    struct sn_port *port;
    uint8_t gid[4][16];
    unsigned gid_count;
    uint8_t slot;
    bool listens; /* for MADs that other processes pass on, */
    int fd[4];    /* under each GID */
    struct sn_gsi_user user;
};

struct gsi_rx { /* a MAD from QP 1 */
    unsigned port;
    struct sn_gsi_mad mad;
};

struct gsi_peer { /* a connection to or from another process of this host */
    struct gsi_peer *next;
    int fd;
    unsigned port;  /* accepted: brings a MAD */
    bool is_link;   /* made by us: its end tells that the process with `slot` has gone */
    uint8_t gid[16], slot;
};

struct gsi_unsent { /* a MAD that found no room */
    unsigned port, tries;
    struct sn_gsi_mad mad;
};

struct gsi_held { /* a request for a service that was there a moment ago */
    unsigned port;
    uint64_t until; /* ns */
    struct sn_gsi_mad mad;
};

struct gsi_seen { /* a service that a request has reached */
    unsigned port;
    uint64_t service_id, at; /* ns */
};

struct softnic_cm_service {
    struct softnic_cm_service *next;
    uint64_t service_id, ports;
    bool shared, listening;
    unsigned users;
    int fd[GSI_PORTS]; /* where `ports` has a bit */
};

struct gsi_listener { /* what the agent knows as a listener's user */
    struct softnic_cm_service *service;
    void *user;
};

struct gsi {
    pthread_mutex_t lock;
    struct gsi_port port[GSI_PORTS];
    unsigned attached;
    struct sn_cm *cm; /* NULL: nobody uses connection management here */
    struct softnic_cm_client client;
    struct softnic_cm_service *services;
    struct gsi_peer *peers;
    struct gsi_unsent unsent[GSI_UNSENT];
    unsigned unsent_count;
    struct gsi_held held[GSI_HELD];
    unsigned held_count;
    struct gsi_seen seen[GSI_SEEN];
    /* The thread. */
    pthread_t thread;
    bool thread_started;
    bool stop;      /* under rx_lock */
    bool stuck;     /* the CM thread's: a connection waits that cannot be taken */
    int epoll, poke; /* poke: an eventfd */
    pthread_mutex_t rx_lock;
    struct gsi_rx *rx; /* ring of GSI_RX, allocated with the first MAD */
    unsigned rx_head, rx_tail;
    bool handling; /* what was taken out of it last is being worked on */
};

extern struct gsi gsi;

/* gsi.c; lock held */
int gsi_use(void); /* starts the thread, and listens for what is passed on */
void gsi_poke(void); /* the thread looks at the timers again */
void gsi_send(unsigned port, const struct sn_cm_address *to, const struct sn_mad *mad);
void gsi_send_again(void);

/* thread.c */
int gsi_thread_start(void);
void gsi_thread_stop(void); /* without the lock */
int gsi_watch(int fd, unsigned port); /* a listening descriptor */
void gsi_link(const uint8_t gid[16], uint8_t slot); /* lock held: be told when that process dies, if it is of this host */
void gsi_close_peers(unsigned port); /* lock held; GSI_PORTS: all */
void gsi_drain(void);                /* waits, for a moment, until what has been sent to this host is passed on */

/* dispatch.c; lock held */
void gsi_arrived(unsigned port, const struct sn_gsi_mad *mad, bool passed_on);
void gsi_held_again(void); /* requests that wait for their service */
int gsi_agent_start(void);

/* client.c; lock held */
void gsi_listen_all(unsigned port);
bool gsi_serves(unsigned port, uint64_t service_id);
bool gsi_listens(unsigned port, int fd); /* a descriptor of ours that takes what is passed on */

#endif
