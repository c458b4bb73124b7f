/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process slots: several processes of one host may have the same address, and the top 8 bits of a QP number say which
 * of them owns it. A slot is taken by binding an abstract Unix datagram socket "softnic-packet/<uid>/<gid in
 * hex>/<slot>" for each GID, so it is free again when its process ends; a frame that landed in the wrong process is
 * passed on through it.
 */
#ifndef SOFTNIC_WIRE_PACKET_SLOT_H
#define SOFTNIC_WIRE_PACKET_SLOT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct sn_slot {
    uint8_t slot; /* 1..255 */
    unsigned gid_count;
    uint8_t gid[4][16];
    int fd[4]; /* one for each GID; receives with the sender's credentials */
};

/* The first free slot. -ENOSPC: none is; -EINVAL: no or too many GIDs. */
int sn_slot_take(struct sn_slot *s, const uint8_t gid[][16], unsigned gid_count);
void sn_slot_give(struct sn_slot *s);

/* To the process that has `slot` of `gid`; never waits. 0 or negative errno (-ECONNREFUSED: nobody has it). */
int sn_slot_send(int fd, const uint8_t gid[16], uint8_t slot, struct iovec *iov, unsigned count);

#endif
