/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariant CRC (IBTA vol. 1, 7.8.1, as annex A17.3.3 changes it): the CRC-32 of Ethernet over eight bytes of ones,
 * the IP and UDP headers and the BTH with the fields that a router may change taken as ones, and everything up to the
 * pad's end. It stands behind the pad with its low byte first.
 */
#ifndef SOFTNIC_WIRE_ICRC_H
#define SOFTNIC_WIRE_ICRC_H

#include <stddef.h>
#include <stdint.h>

/* Over the headers: an IPv4 header without options or an IPv6 header, then UDP, then BTH, in one piece. */
uint32_t sn_icrc_begin(const uint8_t *headers);

/*
 * The same, but of the BTH only the first SN_ICRC_WAY_BTH bytes, up to the queue pair: of one queue pair's packets of one kind
 * and length that is always the same. The rest of the BTH goes the way of what follows it.
 */
uint32_t sn_icrc_begin_way(const uint8_t *headers);
enum { SN_ICRC_WAY_BTH = 8 };

/* Goes on over what follows the BTH. */
uint32_t sn_icrc_add(uint32_t crc, const uint8_t *bytes, size_t length);

void sn_icrc_store(uint32_t crc, uint8_t out[4]);
static inline uint32_t sn_icrc_load(const uint8_t p[4])
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
