/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours of a raw Ethernet wire: which MAC has an IP address (ARP, RFC 826; neighbour discovery, RFC 4861), asked
 * for when a burst has none of its own, and answered for our addresses where nobody else does.
 *
 * Only what answers a question of ours, or asks one about us, is learnt; RoCE frames teach nothing.
 */
#ifndef SOFTNIC_WIRE_PACKET_NEIGH_H
#define SOFTNIC_WIRE_PACKET_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_packet_wire;
struct sn_neigh;

struct sn_neigh *sn_neigh_create(struct sn_packet_wire *w);
void sn_neigh_destroy(struct sn_neigh *n);

/* 0 and the MAC; -EAGAIN: asked, no answer yet; -EHOSTUNREACH: nobody answered. */
int sn_neigh_find(struct sn_neigh *n, const uint8_t sgid[16], const uint8_t dgid[16], uint8_t mac[6]);

/* A frame that is no RoCE. True: it was ARP or neighbour discovery, and has been dealt with. */
bool sn_neigh_frame(struct sn_neigh *n, const uint8_t *frame, size_t length);

#endif
