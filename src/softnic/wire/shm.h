/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared-memory wire: processes of one user on one host that open the same kind of device.
 *
 * Rendezvous: each NIC of a process listens on an abstract Unix socket per GID, "softnic/<uid>/<gid in hex>/<slot>";
 * the first free slot (1..255) becomes the top bits of its QPNs. A process that has a burst for another slot connects,
 * both sides check the other's credentials, and the connecting one passes a sealed memory file with two rings
 * (shm_ring.h), one for each direction, and an eventfd for each side to be woken by. Nothing is left behind when
 * processes end, and the socket's hang-up tells of a death.
 *
 * Trust: peers are processes of this user, but what they write is still checked: headers are copied out of shared
 * memory once and then judged, so that no content of a ring can cause an access outside it, a crash or a stall. A
 * connection that carries nonsense is closed.
 */
#ifndef SOFTNIC_WIRE_SHM_H
#define SOFTNIC_WIRE_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/wire/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sn_shm_config {
    size_t ring_bytes; /* per direction, a power of two >= 65536 */
    bool passive;      /* true: the helper thread wakes the port but never drives it */
    bool (*wants_cpu)(int pid); /* NULL: sn_process_wants_cpu. Tests say what they like */
};

struct sn_shm_counters {
    uint64_t bursts_sent, bytes_sent;
    uint64_t bursts_received, bytes_received;
    uint64_t wakes;
    uint64_t connections;
    uint64_t peers_lost;
    uint64_t bad_records;
    uint64_t bytes_by_reference; /* of those sent: not through the ring */
};

/* Starts the wire and its helper thread. Call without the port's lock; so for all functions below. */
int sn_shm_create(struct sn_port *port, const struct sn_shm_config *config, struct sn_wire **out);

/* Takes the first process slot that is free for all of a NIC's GIDs. -ENOSPC: none is. */
int sn_shm_bind(struct sn_wire *wire, const uint8_t gid[][16], unsigned gid_count, uint8_t *slot);

/* Gives up the NIC whose first GID this is, and its connections. */
void sn_shm_unbind(struct sn_wire *wire, const uint8_t gid0[16]);

/* Counters of this process, over all wires that it had. */
void sn_shm_count(struct sn_shm_counters *out);

#ifdef __cplusplus
}
#endif
#endif
