/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fault plan at work on a port. The engine asks in four places: a packet leaves (port/route.c), a packet has arrived for
 * a queue pair (transport/arrive.c), a doorbell was taken (queue/uar.c), a CQE is written (queue/cq.c). Without a plan each
 * of them is one test of port->faults.
 *
 * Everything here needs the port's lock. While a plan is active, bursts are one packet long, so that single packets can be
 * hit. What is held back (delayed, duplicated, reordered) is a copy with its payload, bounded in number and bytes, and
 * leaves by the port's timer wheel. Decisions are drawn from one seed, a stream for each rule: the same packets in the same
 * order meet the same faults.
 */
#ifndef SOFTNIC_FAULT_INJECT_H
#define SOFTNIC_FAULT_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/fault/plan.h"

struct sn_burst;
struct sn_cqe_info;
struct sn_port;
struct sn_qp;
struct sn_uar_object;
struct sn_nic;
struct sn_faults;

struct sn_fault_counts {
    uint64_t injected[SN_INJECT_COUNT];
    uint64_t packets;   /* looked at, both directions */
    uint64_t doorbells; /* looked at */
    uint64_t cqes;      /* looked at */
    uint64_t icrc;      /* corrupted frames that the invariant CRC refused */
    uint64_t survived;  /* corrupted where no CRC covers: delivered as they were */
    uint64_t held;      /* held back now */
    uint64_t overflow;  /* should have been held, but no room: lost instead */
};

/*
 * Puts a plan (copied) to work on a port, instead of the one that may be active; NULL ends it. What is held back by an
 * active plan is delivered at once when a plan ends, and lost when the port does. -ENOMEM: nothing has changed.
 */
int sn_port_set_faults(struct sn_port *port, const struct sn_fault_plan *plan, uint64_t seed);

bool sn_port_has_faults(const struct sn_port *port);

/* Of the active plan; all zero without one. */
void sn_port_fault_counts(struct sn_port *port, struct sn_fault_counts *out);

/* ---- the engine's questions ---------------------------------------------------------------------------------- */

/* True: this packet does not leave now. */
bool sn_faults_leave(struct sn_faults *f, struct sn_qp *qp, const struct sn_burst *b);
/* The packet that may leave found no room on the wire: it will be offered again, and is not judged twice. */
void sn_faults_again(struct sn_faults *f, const struct sn_burst *b);
/* True: this packet is not for the queue pair now. */
bool sn_faults_arrive(struct sn_faults *f, struct sn_qp *qp, const struct sn_burst *b);
/* This packet, or the one that it is a copy of, has arrived before: it has been counted and captured. */
bool sn_faults_arrived_before(const struct sn_faults *f);
/* True: nobody has seen this doorbell. */
bool sn_faults_doorbell(struct sn_faults *f, struct sn_uar_object *uar, int kind, uint64_t value);
/* True: this CQE does not fit. */
bool sn_faults_overrun(struct sn_faults *f, const struct sn_cqe_info *info);
/* The port goes away: nothing is delivered any more. */
void sn_faults_destroy(struct sn_faults *f);

#endif
