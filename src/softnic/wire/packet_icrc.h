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

/*
 * By what identification `id` changes the CRC of a frame of `length` bytes from the BTH to the CRC, which is one of
 * sn_icrc_knows_id. After sn_icrc_prepare.
 */
enum { SN_ICRC_ID_BYTES = 64 };
static inline bool sn_icrc_knows_id(size_t length)
{
    return length % 4 == 0 && length <= SN_ICRC_ID_BYTES;
}
extern uint32_t sn_icrc_id_table[SN_ICRC_ID_BYTES / 4 + 1][4][16]; /* by four bits of it */
static inline uint32_t sn_icrc_of_id(size_t length, uint16_t id)
{
    uint32_t(*t)[16] = sn_icrc_id_table[length / 4];
    return t[0][id & 15] ^ t[1][id >> 4 & 15] ^ t[2][id >> 8 & 15] ^ t[3][id >> 12];
}
void sn_icrc_prepare(void);

/* The other way round: which identification explains such a difference? False: none does, whatever the don't-fragment bit is. */
bool sn_icrc_find_id(uint32_t difference, size_t length, uint16_t *id);

#endif
