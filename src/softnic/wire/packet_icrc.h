/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariant CRC of a frame whose IPv4 identification and don't-fragment bit are not known: a UDP socket does not
 * tell them, and the CRC covers them (annex A17.3.3).
 *
 * A CRC is linear, so the difference between the CRC that a frame carries and the one computed for identification 0
 * says which identification the sender must have used; if none of the 2^17 possibilities explains it, the frame is
 * damaged. Of 32 bits of protection 15 are left.
 */
#ifndef SOFTNIC_WIRE_PACKET_ICRC_H
#define SOFTNIC_WIRE_PACKET_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `bth`: the UDP payload, CRC and all, `length` bytes (at least a BTH and the CRC). Addresses in network order. */
bool sn_icrc_check_udp4(const uint8_t *bth, size_t length, const uint8_t src[4], const uint8_t dst[4],
                        uint16_t udp_sport);

#endif
