/* SPDX-License-Identifier: Apache-2.0 */
/* What carries bursts out of this process. In-process delivery is the port's own and needs no wire. */
#ifndef SOFTNIC_WIRE_WIRE_H
#define SOFTNIC_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

struct sn_burst;
struct sn_wire;
struct sn_port;

enum { SN_SHORT_BYTES = 8 };

/*
 * A packet that is a whole message, in few fields: a WRITE without immediate of up to SN_SHORT_BYTES, or an acknowledgement.
 * As a burst it would have FIRST and LAST among its flags, and a queue pair's own addressing (RC, no congestion mark). Fields
 * are as in a burst and lie as in a record of the shared-memory wire, so that what has come need not be taken apart.
 */
struct sn_short {
    uint32_t dqpn, sqpn;
    uint8_t kind, flags, mtu, syndrome; /* one that was a frame has mtu 0 and no sqpn */
    uint32_t psn, npackets, length;
    uint64_t va;
    uint32_t rkey, dmalen, imm, msn;
    uint64_t word; /* the payload, in the order of memory */
};

/* What a wire remembers of the way to a queue pair's peer. Zero: nothing. */
struct sn_route {
    uint64_t id;
    uint32_t to, from;
};

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
    unsigned look_ns; /* what a poll that finds nothing takes, guessed: a system call where nothing is mapped; 0: next to nothing */
    /* True if poll would deliver something; called by the port's thread before it sleeps. Lock held. */
    bool (*pending)(struct sn_wire *wire);
    /*
     * The same, but no more than a look at few words of memory: false if they tell nothing, or if there are too many of them.
     * For wires where that costs next to nothing. NULL: it is not so. Lock held.
     */
    bool (*glance)(struct sn_wire *wire);
    /* About to sleep / awake again: the wire tells its peers to wake us (sn_port_wake) or not to bother. Lock held. */
    void (*sleeping)(struct sn_wire *wire, bool asleep);
    void (*destroy)(struct sn_wire *wire);
    /* End of a turn: what was taken and still waits leaves, in as few system calls as there can be. NULL: nothing waits. */
    void (*flush)(struct sn_wire *wire);
    /*
     * For timers: who is at the other end of a queue pair with this addressing? NULL: never known. Lock held.
     * peer_turns: how often that process has looked at the wire, any number to compare with; false: not known (now).
     * peer_wants_cpu: it lives, and a thread of it could run if it had a processor; bounded, but many system calls.
     */
    bool (*peer_turns)(struct sn_wire *wire, const struct sn_burst *header, uint32_t *turns);
    bool (*peer_wants_cpu)(struct sn_wire *wire, const struct sn_burst *header);
    /* The same as `send`, of a short message with the addressing of `header`. False: nothing was done, `send` has to. NULL: always. */
    bool (*send_short)(struct sn_wire *wire, const struct sn_burst *header, struct sn_route *route, const struct sn_short *m);
};

struct sn_nic;
struct sn_qp;

/* Whose a short message was: for a wire to keep, beside what else belongs to it, until the next one. Zero: nobody's. */
struct sn_origin {
    struct sn_qp *qp; /* the port's: good while `topology` is */
    uint32_t topology;
};

/*
 * A short message has come, from a peer with this GID; nothing of it has been judged (transport/far.c). False: nothing was done,
 * sn_nic_receive has to. origin: NULL, or what is to be kept of it.
 */
bool sn_nic_receive_short(struct sn_nic *nic, const struct sn_short *m, const uint8_t sgid[16], struct sn_origin *origin);
/* The same for one with the addressing of the message that `origin` tells of: NIC, both GIDs and both numbers. */
bool sn_port_receive_short(struct sn_port *port, const struct sn_short *m, const struct sn_origin *origin);

struct sn_wire {
    const struct sn_wire_ops *ops;
    struct sn_port *port;
};

#endif
