/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two NICs, each in a port of its own, with a frame wire between them: what two processes or two hosts have, in one
 * process, so that a test may look at both ends. Time is real, since kernels' sockets know no other.
 */
#ifndef TESTS_WIRES_RIG_H
#define TESTS_WIRES_RIG_H

#include "../softnic/harness.h"
#include "softnic/wire/packet_wire.h"

struct station {
    struct world w; /* one port, one NIC: nic[0] */
    struct sn_wire *wire; /* NULL: in-process only */
    struct end e;
};

/* IPv4 (mapped) or IPv6 address as a GID. */
void gid_of(const char *address, uint8_t gid[16]);

/* The datagram wire's backends at the two ends of a socket pair, with MAC addresses 02:00:00:00:00:01 and :02. */
void datagram_pair(struct sn_backend **first, struct sn_backend **second);

extern uint64_t (*station_now)(void *arg); /* the clock of stations opened from now on; NULL: the machine's */
/* Takes the backend over. `o`: of the one queue pair. */
void station_open(struct station *s, struct sn_backend *backend, const char *address, const struct options *o);
/* The same with keys and QP numbers from a seed. */
void station_open_seeded(struct station *s, struct sn_backend *backend, const char *address, const struct options *o,
                         uint64_t seed);
/* The same with a port thread and a wire's helper thread: nobody calls sn_port_run. */
void station_open_threaded(struct station *s, struct sn_backend *backend, const char *address, const struct options *o);
void station_close(struct station *s);
void stations_connect(struct station *a, struct station *b);

/* Runs both until done(arg), for 10 s at most; false: never done. */
bool stations_run(struct station *a, struct station *b, bool (*done)(void *arg), void *arg);

/* Runs both until `a` has its next send CQE, which must be a good one for WQE `index`. */
void station_expect(struct station *a, struct station *b, uint32_t index);

/* Every operation at many sizes, both ways, with every byte compared. Ends are connected. */
void exercise(struct station *a, struct station *b, unsigned rounds, uint32_t seed);

/* A network namespace of our own, as root in a user namespace if need be, with lo up. False: may not be had. */
bool own_network(void);

/* Runs a shell command; true if it ended with 0. */
bool sh(const char *command);

/* Prints the reason and ends the program with CTest's code for a skip. */
void skip_all(const char *reason, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
