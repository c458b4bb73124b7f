/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ports of one process over the shared-memory wire, or over a wire of frames as UDP sockets have them, each a world of its
 * own, driven by hand in virtual time.
 */
#ifndef TESTS_SOFTNIC_SIDES_H
#define TESTS_SOFTNIC_SIDES_H

#include "harness.h"
#include "softnic/wire/packet_wire.h"
#include "softnic/wire/shm.h"

enum { SIDE_RING = 65536 };

struct side {
    struct world w; /* its second NIC is nobody's */
    struct sn_wire *wire;
    bool threads; /* of the wire: a turn may have to wait for them */
    struct end e;
};

/* `host`: the last byte of its GID. wants_cpu: what the wire is told of its peers' processes; NULL: what /proc says. */
void side_open(struct side *s, const struct options *o, uint8_t host, bool (*wants_cpu)(int pid));
/*
 * The two ends of a cable that carries what a UDP socket would, without loss and without the IPv4 identification; each is for one
 * side. Addresses are IPv4 or IPv6.
 */
void cable_ends(struct sn_backend **first, struct sn_backend **second);
void side_open_frames(struct side *s, const struct options *o, uint8_t host, struct sn_backend *end, bool ipv4);
void side_close(struct side *s);
/* One turn of it, once nobody else has the port: the wire's helper thread may, as long as it gets no processor. */
int side_run(struct side *s);
/* n turns of both, `ns` apart; the connection is made by the wire's helper threads, in real time. Returns the work done. */
int sides_turn(struct side *a, struct side *b, int n, uint64_t ns);

#endif
