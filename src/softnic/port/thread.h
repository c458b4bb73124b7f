/* SPDX-License-Identifier: Apache-2.0 */
/* The port's own thread: drives while nobody else does, and sleeps when there is nothing to do. */
#ifndef SOFTNIC_PORT_THREAD_H
#define SOFTNIC_PORT_THREAD_H

struct sn_port;

int sn_thread_start(struct sn_port *port);
void sn_thread_stop(struct sn_port *port);
/* One turn, with the lock held. */
unsigned sn_port_turn_locked(struct sn_port *port);

#endif
