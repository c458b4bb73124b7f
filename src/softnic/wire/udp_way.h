/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where lone frames go: a source and a destination. To one that gets many of them a socket is connected, which saves the kernel
 * the search for the route: a twentieth of a hop.
 *
 * Over IPv4 Linux numbers a connected socket's packets, one by one, from a number that it picks when the socket is connected.
 * The invariant CRC covers that identification. So it has to be known before anything is sent: two datagrams from the socket to
 * our own address show it, since the kernel gives back what it sent, headers and all, to whoever asks when it was sent
 * (SO_TIMESTAMPING); they do not leave the host. Where it does not, where the two are not numbered one behind the other, and
 * where frames are lost, no socket is connected, or none any more. Frames are built for identification 0, as everywhere,
 * and what another one changes in the CRC is known by heart for short ones (packet_icrc.h).
 */
#ifndef SOFTNIC_WIRE_UDP_WAY_H
#define SOFTNIC_WIRE_UDP_WAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    UDP_WAYS = 16,      /* two that collide take turns */
    UDP_WAY_AFTER = 64, /* lone frames in a row, before a socket is connected */
    UDP_WAY_REST = 65536, /* instead, after that was in vain */
};

struct udp_way {
    int source;    /* a source's socket; -1: there is no such way */
    int connected; /* -1: none */
    uint8_t sgid[16], dgid[16];
    uint16_t port; /* of the source */
    uint16_t next_id;
    bool numbered; /* IPv4 */
    uint32_t sent, after; /* not connected: frames so far, and how many it takes */
    socklen_t length;
    struct sockaddr_storage to;
};

struct udp_backend;
struct sn_backend;
struct sn_frame_out;

void udp_ways_init(struct udp_backend *u);
/* Nothing is taken for granted any more; closes sockets. */
void udp_ways_forget(struct udp_backend *u);
void udp_ways_doubt(struct sn_backend *b);
/* 1; 0: no room now; negative: lost. */
int udp_send_one(struct udp_backend *u, const struct sn_frame_out *f);

#endif
