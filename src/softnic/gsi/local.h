/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MADs between processes that share a device. QP 1 belongs to the device, so a MAD may reach a process that it is not
 * for; it is passed on through an abstract Unix socket whose name says who it is for: "softnic-cm/<uid>/<gid>/<slot>" for
 * a process, "softnic-cm-<service ID>/<uid>/<gid>/0" for a service. Whoever binds a name has it until it closes the socket
 * or dies, so names are also how ports are reserved on a host, and nothing is left behind.
 */
#ifndef SOFTNIC_GSI_LOCAL_H
#define SOFTNIC_GSI_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/nic.h"

/* Non-blocking descriptors, or negative errno: -EADDRINUSE somebody has the name. Bound, not listening. */
int sn_local_bind_slot(const uint8_t gid[16], uint8_t slot);
int sn_local_bind_service(const uint8_t gid[16], uint64_t service_id);
int sn_local_listen(int fd);
/* A connection of this user's, or negative errno. */
int sn_local_accept(int fd);

/* 0; -ECONNREFUSED: nobody there (or another user); -EAGAIN: busy, the MAD is lost. */
int sn_local_pass_to_slot(const uint8_t gid[16], uint8_t slot, const struct sn_gsi_mad *mad);
int sn_local_pass_to_service(const uint8_t gid[16], uint64_t service_id, const struct sn_gsi_mad *mad);

/* A connection that nothing is sent on: its end tells of the other process's. -ECONNREFUSED: no process of this host */
int sn_local_connect_slot(const uint8_t gid[16], uint8_t slot);

/* One MAD from an accepted connection: 0, -EAGAIN: not yet, other: nonsense, or closed. */
int sn_local_take(int fd, struct sn_gsi_mad *mad);

#endif
