/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the UDP backend: udp.c (sockets), udp_send.c, udp_receive.c, udp_lone.c, udp_way.c. */
#ifndef SOFTNIC_WIRE_UDP_INTERNAL_H
#define SOFTNIC_WIRE_UDP_INTERNAL_H

#include <sys/socket.h>

#include "softnic/wire/udp.h"
#include "softnic/wire/udp_lone.h"
#include "softnic/wire/udp_way.h"

enum {
    UDP_MAX_SOURCES = 64,   /* source ports in use; further ones leave from port 4791 itself */
    UDP_MAX_CONNECTED = 64, /* sources that have a socket of their own; others are passed on */
    UDP_MAX_RX = UDP_MAX_CONNECTED + 16,
    UDP_MESSAGES = 16,      /* of one recvmmsg or sendmmsg call */
    UDP_BUFFER = 65536,
};

enum udp_role { UDP_LISTENER, UDP_CONNECTED, UDP_PASSED };

struct udp_rx {
    int fd;
    enum udp_role role;
    uint8_t local[16], peer[16];
    uint16_t peer_port;
    unsigned heat;  /* polls for which it is still looked at each time */
    unsigned batch; /* messages that the next call asks for, 1 to UDP_MESSAGES */
    unsigned full;  /* looks in a row that found the one message they asked for */
    struct udp_lone lone;
};

struct udp_tx {
    int fd;
    uint8_t local[16];
    uint16_t port;
};

/* What goes in front of a frame that is passed on. Host order: it never leaves the host. */
struct udp_passed {
    uint32_t magic;
    uint16_t udp_sport;
    uint8_t tclass, hop_limit;
    uint8_t sgid[16], dgid[16];
};
#define UDP_PASSED_MAGIC 0x736e7530u

struct udp_message {
    struct sockaddr_storage from;
    union {
        struct cmsghdr align;
        char bytes[192];
    } control;
};

struct udp_arrival { /* what a message's control data say */
    uint16_t segment;
    uint8_t tclass, hop_limit;
    bool same_user;
};

struct udp_backend {
    struct sn_backend base; /* first */
    struct udp_rx rx[UDP_MAX_RX];
    unsigned rx_count, connected, cold; /* cold: the next one to look at out of turn */
    unsigned polls, start; /* start: where the next look begins, so that a busy socket does not starve the others */
    struct udp_tx tx[UDP_MAX_SOURCES];
    unsigned tx_count;
    struct udp_way way[UDP_WAYS];
    /* One recvmmsg call's messages, of which frames [at, ...) of message `current` on are not given out yet. */
    uint8_t *buffer;
    struct udp_message message[UDP_MESSAGES];
    struct mmsghdr got[UDP_MESSAGES];
    struct iovec iov[UDP_MESSAGES];
    unsigned messages, current;
    unsigned used; /* headers to be made ready again before the next call */
    size_t at;
    struct udp_rx from; /* the socket that they came through */
    struct udp_arrival arrival; /* of message `current` */
};

socklen_t udp_sockaddr(const uint8_t gid[16], uint16_t port, struct sockaddr_storage *out);
void udp_gid_of(const struct sockaddr_storage *from, uint8_t gid[16], uint16_t *port);
int udp_socket(const uint8_t gid[16], uint16_t port, bool receives);
/* The socket that sends from this address and port, opened when it is not there yet; -1: it cannot be had. */
int udp_source(struct udp_backend *u, const uint8_t gid[16], uint16_t port);

/* 0: no room now; negative: that frame is lost. */
int udp_refused(struct sn_backend *b, int error);

/* udp_send.c, udp_receive.c: of sn_backend_ops */
int udp_send(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count);
int udp_receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max);
int udp_pass_on(struct sn_backend *b, const struct sn_frame_in *frame, uint8_t slot);

#endif
