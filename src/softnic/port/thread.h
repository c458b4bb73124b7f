/* SPDX-License-Identifier: Apache-2.0 */
/* The port's own thread: drives while nobody else does, and sleeps when there is nothing to do. */
#ifndef SOFTNIC_PORT_THREAD_H
#define SOFTNIC_PORT_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sn_port;

/* Port threads of this process that sleep. Who has just rung a doorbell and finds 0 here need wake nobody. */
extern atomic_uint sn_sleepers;

int sn_thread_start(struct sn_port *port);
void sn_thread_stop(struct sn_port *port);
/* One turn, with the lock held. 0 does not tell that nothing waits: a turn need not look at each register, nor at the clock. */
unsigned sn_port_turn_locked(struct sn_port *port);
/* Turns until what was rung before has left, or 64 of them; with the lock held. */
void sn_port_settle_locked(struct sn_port *port);
/* One turn of a thread of the NIC's own, under the lock; -1: somebody else has it or wants it. The port's thread need not step back for it. */
int sn_port_turn_own(struct sn_port *port);
#define SN_WORST_WAKE_NS 1100000u /* of a sleeping port with few registers: a nap of 1 ms, the timer's slack, the look */

/* ns that a doorbell may stay unseen whose ringer wakes nobody; UINT64_MAX without a thread. Call without the lock. */
uint64_t sn_port_worst_wake_ns(struct sn_port *port);

/* With the lock: the turn in progress is a look of the sleeping thread, which stays asleep if it finds nothing. */
bool sn_port_thread_looks(const struct sn_port *port);

#endif
