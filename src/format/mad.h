/* SPDX-License-Identifier: Apache-2.0 */
/* Management datagrams (IBTA vol. 1, chapter 13): the header that all of them have. 256 bytes in all. */
#ifndef GDAKI_FORMAT_MAD_H
#define GDAKI_FORMAT_MAD_H

#include "format/be.h"

#define SN_MAD_BYTES      256u
#define SN_MAD_DATA_BYTES 232u
#define SN_GSI_QPN        1u          /* queue pair 1: the general services interface (13.5.1) */
#define SN_GSI_QKEY       0x80010000u /* its well-known Q_Key (10.2.5) */

enum { SN_MAD_BASE_VERSION = 1 };

/* Management classes (table 112, excerpt). */
enum { SN_MAD_CLASS_CM = 0x07 };
enum { SN_MAD_CM_CLASS_VERSION = 2 };

/* Methods (table 115). A response has the top bit set. */
enum { SN_MAD_GET = 0x01, SN_MAD_SEND = 0x03, SN_MAD_RESPONSE = 0x80 };

/* Status of a response (table 116): method or attribute not supported. */
enum { SN_MAD_STATUS_BAD_METHOD = 0x0008, SN_MAD_STATUS_BAD_ATTRIBUTE = 0x000c };

struct sn_mad_hdr {
    uint8_t base_version;
    uint8_t mgmt_class;
    uint8_t class_version;
    uint8_t method;
    sn_be16 status;
    sn_be16 class_specific;
    sn_be64 transaction;
    sn_be16 attribute;
    sn_be16 reserved;
    sn_be32 modifier;
} __attribute__((packed));

struct sn_mad {
    struct sn_mad_hdr hdr;
    uint8_t data[SN_MAD_DATA_BYTES];
} __attribute__((packed));

SN_STATIC_ASSERT(sizeof(struct sn_mad_hdr) == 24, "13.4.3");
SN_STATIC_ASSERT(sizeof(struct sn_mad) == SN_MAD_BYTES, "13.4.2");

#endif
