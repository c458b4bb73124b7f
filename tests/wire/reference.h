/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check sums, computed bit by bit and byte by byte from the specifications' text, with nothing of the codec's: what the
 * codec is compared with. They work on whole Ethernet frames in place.
 */
#ifndef TESTS_WIRE_REFERENCE_H
#define TESTS_WIRE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Invariant CRC of a frame (A17.3.3): what its last four bytes should be, the first one lowest. */
uint32_t reference_icrc(const uint8_t *frame, size_t length);

/* Puts IPv4 header checksum, IP and UDP lengths and invariant CRC right again after a test has changed a frame. */
void reference_refit(uint8_t *frame, size_t length);

/* UDP checksum of a frame (RFC 768, RFC 8200 8.1); its field counts as it is: ffff or 0 over a good one. */
uint16_t reference_udp_sum(const uint8_t *frame, size_t length);

#endif
