/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The UDP backend: sockets on port 4791 of the NIC's addresses. Needs no root.
 *
 * Out: unconnected sockets with "don't fragment", whose datagrams have IPv4 identification 0 (or 0, 1, 2 ... within one
 * segmentation-offload call), so that the invariant CRC can be written beforehand. A QP's source port is its own
 * (udp_sport) or follows from the two process slots; a socket is bound to each source port that is in use.
 *
 * In: one socket for each address. Processes of one user share an address (SO_REUSEPORT); the kernel picks one of them
 * by the addresses and ports, and a frame in the wrong process is passed on by the QP number's slot. The right process
 * then opens a connected socket for that source, which the kernel prefers from then on.
 */
#ifndef SOFTNIC_WIRE_UDP_H
#define SOFTNIC_WIRE_UDP_H

#include "softnic/wire/packet_wire.h"

int sn_udp_open(struct sn_backend **out);

/* MTU of the interface that has this address (IPv4-mapped or IPv6). -EADDRNOTAVAIL: none has. */
int sn_udp_mtu(const uint8_t gid[16]);

#endif
