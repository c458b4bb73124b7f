/* SPDX-License-Identifier: Apache-2.0 */
/* What building and parsing of frames share. */
#ifndef SOFTNIC_WIRE_FRAME_INTERNAL_H
#define SOFTNIC_WIRE_FRAME_INTERNAL_H

#include "format/roce.h"
#include "softnic/wire/frame.h"

#define SN_FRAME_IP_UDP (sizeof(struct sn_ipv6) + sizeof(struct sn_udp))

/* The IP version that a packet's GIDs ask for. */
bool sn_frame_is_ipv4(const struct sn_burst *packet);

/*
 * IP and UDP headers for `bytes` from the BTH to the CRC, at most SN_FRAME_IP_UDP bytes; no UDP checksum. Returns how
 * many. udp_sport, tclass, hop_limit and flow_label are the packet's.
 */
size_t sn_frame_ip_udp(const struct sn_burst *packet, const struct sn_frame_path *path, size_t bytes, uint8_t *out);

/* RFC 1071: ones' complement sum of big-endian words, folded; chained through `sum`. */
uint32_t sn_frame_sum(uint32_t sum, const uint8_t *bytes, size_t length);
uint16_t sn_frame_fold(uint32_t sum);

#endif
