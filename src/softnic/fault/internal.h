/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of fault/ share. */
#ifndef SOFTNIC_FAULT_INTERNAL_H
#define SOFTNIC_FAULT_INTERNAL_H

#include "softnic/engine.h"
#include "softnic/fault/inject.h"

enum { SN_AGAIN_SLOTS = 64 };

/* A packet that was judged and found no room. */
struct judged {
    uint32_t sqpn, psn;
    uint8_t kind;
    bool valid;
};

enum { SN_HOLD_PACKETS = 4096, SN_HOLD_DOORBELLS = 1024 };
#define SN_HOLD_BYTES (64u << 20)

struct rule_state {
    uint64_t seen, hits; /* matching packets; injections */
    uint64_t random;     /* state of the rule's generator */
    uint64_t down_until; /* link-down: ns; 0: up */
};

/* A packet that waits: `b` and its payload are copies. */
struct held_packet {
    struct held_packet *next, **link;
    struct sn_timer timer;
    struct sn_faults *faults;
    struct sn_nic *nic;  /* incoming: whose; NULL: leaves the port */
    uint64_t gap;        /* reordered: packets of its flow that still go first; 0: by time alone */
    uint8_t *payload;
    struct sn_burst b;
};

/* A doorbell that waits. Register and NIC are looked up again when its time comes: both may have gone. */
struct held_doorbell {
    struct held_doorbell *next, **link;
    struct sn_timer timer;
    struct sn_faults *faults;
    struct sn_nic *nic;
    uint32_t uar;
    int kind;
    uint64_t value;
    uint64_t gap; /* merged: doorbells of the register that still make it one; 0: only delayed */
};

struct sn_faults {
    struct sn_port *port;
    struct sn_fault_plan plan;
    struct rule_state state[SN_FAULT_RULES];
    struct sn_fault_counts counts;
    uint64_t began_ns;
    bool passing;         /* what comes by now has been judged */
    bool arriving_again;  /* and had arrived before that */
    struct judged again[SN_AGAIN_SLOTS]; /* by sqpn */
    struct held_packet *packets, **packets_tail; /* oldest first; tail: not valid while there are none */
    uint32_t packet_count, doorbell_count;
    uint64_t bytes;
    struct held_doorbell *doorbells;
    struct sn_timer link_timer; /* when the port's link goes down or comes back next */
};

/* inject.c: one more that matches rule i; true: it is to be hit. */
bool sn_faults_hit(struct sn_faults *f, uint32_t i);
bool sn_faults_in_window(struct sn_faults *f, const struct sn_fault_rule *r);
uint64_t sn_faults_random(struct rule_state *s);

/* hold.c. False: no room. `nic`: the packet has arrived there; NULL: it is about to leave. */
bool sn_hold_packet(struct sn_faults *f, struct sn_nic *nic, const struct sn_burst *b, uint64_t ns, uint64_t gap);
void sn_hold_overtaken(struct sn_faults *f, const struct sn_burst *b); /* b goes before those of its flow that wait for it */
void sn_hold_end(struct sn_faults *f, bool deliver);

/* corrupt.c: flips bits of the packet's frame. True: the frame is refused for it, and the packet is lost. */
bool sn_corrupt(struct sn_faults *f, struct rule_state *s, const struct sn_burst *b);

/* link.c: the port's link, as programs hear of it. */
void sn_faults_link_begin(struct sn_faults *f);
void sn_faults_link(struct sn_faults *f);
void sn_faults_link_end(struct sn_faults *f);

/* doorbell.c */
void sn_doorbells_end(struct sn_faults *f, bool deliver);

#endif
