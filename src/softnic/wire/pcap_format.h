/* SPDX-License-Identifier: Apache-2.0 */
/* Classic pcap on disk (draft-ietf-opsawg-pcap, 4 and 5), in the writer's byte order, which the magic number shows. */
#ifndef SOFTNIC_WIRE_PCAP_FORMAT_H
#define SOFTNIC_WIRE_PCAP_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum {
    SN_PCAP_ETHERNET = 1,
    SN_PCAP_RAW_IP = 101,
    SN_PCAP_SNAPLEN = 262144, /* no frame is longer */
};
#define SN_PCAP_MAGIC_US 0xa1b2c3d4u
#define SN_PCAP_MAGIC_NS 0xa1b23c4du
#define SN_PCAPNG_MAGIC  0x0a0d0d0au /* the same in both orders */

struct sn_pcap_file_header {
    uint32_t magic;
    uint16_t major, minor; /* 2.4 */
    uint32_t reserved[2];
    uint32_t snaplen;
    uint32_t linktype; /* low 16 bits; above them, FCS length and flags */
};

struct sn_pcap_record_header {
    uint32_t seconds, fraction;
    uint32_t captured, original; /* bytes */
};

_Static_assert(sizeof(struct sn_pcap_file_header) == 24 && offsetof(struct sn_pcap_file_header, snaplen) == 16, "4");
_Static_assert(sizeof(struct sn_pcap_record_header) == 16, "5");

#endif
