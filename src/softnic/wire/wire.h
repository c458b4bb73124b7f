/* SPDX-License-Identifier: Apache-2.0 */
/* What carries bursts out of this process. In-process delivery is the port's own and needs no wire. */
#ifndef SOFTNIC_WIRE_WIRE_H
#define SOFTNIC_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

struct sn_burst;
struct sn_wire;
struct sn_port;

struct sn_wire_ops {
    const char *name; /* "shm" */
    /*
     * Takes a burst for another process or host. 0: taken, and every payload byte has been copied. -EAGAIN: no room;
     * the transport keeps the burst and tries again after a turn. -EHOSTUNREACH: nobody answers at that address (the
     * transport treats it as a lost packet). Called with the port's lock held.
     */
    int (*send)(struct sn_wire *wire, const struct sn_burst *burst);
    /* Delivers arrived bursts, at most `budget`, through sn_nic_receive. Returns how many. Lock held. */
    int (*poll)(struct sn_wire *wire, unsigned budget);
    /* True if poll would deliver something; called by the port's thread before it sleeps. Lock held. */
    bool (*pending)(struct sn_wire *wire);
    /* About to sleep / awake again: the wire tells its peers to wake us (sn_port_wake) or not to bother. Lock held. */
    void (*sleeping)(struct sn_wire *wire, bool asleep);
    void (*destroy)(struct sn_wire *wire);
    /* End of a turn: what was taken and still waits leaves, in as few system calls as there can be. NULL: nothing waits. */
    void (*flush)(struct sn_wire *wire);
    /*
     * For timers: who is at the other end of a queue pair with this addressing? NULL: never known. Lock held.
     * peer_turns: how often that process has looked at the wire, any number to compare with; false: not known (now).
     * peer_wants_cpu: it lives, and a thread of it could run if it had a processor; a few system calls.
     */
    bool (*peer_turns)(struct sn_wire *wire, const struct sn_burst *header, uint32_t *turns);
    bool (*peer_wants_cpu)(struct sn_wire *wire, const struct sn_burst *header);
};

struct sn_wire {
    const struct sn_wire_ops *ops;
    struct sn_port *port;
};

#endif
