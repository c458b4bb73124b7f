/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of connection management (IBTA vol. 1, 12.6 to 12.8 and 12.11): the 232 bytes behind the MAD header. Fields that
 * share a word are named together, the higher bits first.
 */
#ifndef GDAKI_FORMAT_CM_H
#define GDAKI_FORMAT_CM_H

#include "format/mad.h"

/* Attribute IDs (table 104). */
enum sn_cm_attribute {
    SN_CM_CLASS_PORT_INFO = 0x0001,
    SN_CM_REQ = 0x0010,
    SN_CM_MRA = 0x0011,
    SN_CM_REJ = 0x0012,
    SN_CM_REP = 0x0013,
    SN_CM_RTU = 0x0014,
    SN_CM_DREQ = 0x0015,
    SN_CM_DREP = 0x0016,
    SN_CM_SIDR_REQ = 0x0017,
    SN_CM_SIDR_REP = 0x0018,
    SN_CM_LAP = 0x0019,
    SN_CM_APR = 0x001a,
};

/* What an MRA or a REJ is about (12.6.6, 12.6.7). */
enum sn_cm_about { SN_CM_ABOUT_REQ = 0, SN_CM_ABOUT_REP = 1, SN_CM_ABOUT_OTHER = 2 };

/* Reasons of a REJ (12.6.7.2), as far as they are sent or told apart here. */
enum sn_cm_reason {
    SN_CM_REJ_NO_QP = 1,
    SN_CM_REJ_NO_RESOURCES = 3,
    SN_CM_REJ_TIMEOUT = 4,
    SN_CM_REJ_UNSUPPORTED = 5,
    SN_CM_REJ_INVALID_COMM_ID = 6,
    SN_CM_REJ_INVALID_COMM_INSTANCE = 7,
    SN_CM_REJ_INVALID_SERVICE_ID = 8,
    SN_CM_REJ_INVALID_TRANSPORT = 9,
    SN_CM_REJ_STALE_CONN = 10,
    SN_CM_REJ_CONSUMER = 28,
    SN_CM_REJ_DUPLICATE_COMM_ID = 30,
};

/* Status of a SIDR_REP (12.11.2). */
enum sn_cm_sidr_status {
    SN_CM_SIDR_VALID = 0,
    SN_CM_SIDR_NO_SERVICE = 1,
    SN_CM_SIDR_REJECTED = 2,
    SN_CM_SIDR_NO_QP = 3,
};

/* Status of an APR (12.8.2): load alternate path is not supported. */
enum { SN_CM_APR_UNSUPPORTED = 1 };

enum {
    SN_CM_REQ_PRIVATE = 92,
    SN_CM_MRA_PRIVATE = 222,
    SN_CM_REJ_PRIVATE = 148,
    SN_CM_REP_PRIVATE = 196,
    SN_CM_RTU_PRIVATE = 224,
    SN_CM_DREQ_PRIVATE = 220,
    SN_CM_DREP_PRIVATE = 224,
    SN_CM_SIDR_REQ_PRIVATE = 216,
    SN_CM_SIDR_REP_PRIVATE = 136,
    SN_CM_APR_PRIVATE = 148,
    SN_CM_INFO_BYTES = 72, /* additional information of REJ, SIDR_REP, APR */
};

struct sn_cm_path_bits { /* primary and alternate path in a REQ */
    sn_be16 local_lid, remote_lid;
    uint8_t local_gid[16], remote_gid[16];
    sn_be32 flow_rate; /* flow label 20, reserved 6, packet rate 6 */
    uint8_t tclass, hop_limit;
    uint8_t sl_subnet; /* service level 4, subnet local 1, reserved 3 */
    uint8_t timeout;   /* local ACK timeout 5, reserved 3 */
} __attribute__((packed));

struct sn_cm_req_bits { /* table 106 */
    sn_be32 local_id;
    sn_be32 reserved4;
    sn_be64 service_id;
    sn_be64 ca_guid;
    sn_be32 reserved24;
    sn_be32 qkey;
    sn_be32 qpn_resources;   /* local QPN 24, responder resources 8 */
    sn_be32 eecn_depth;      /* local EECN 24, initiator depth 8 */
    sn_be32 eecn_service;    /* remote EECN 24, remote CM response timeout 5, transport service 2, flow control 1 */
    sn_be32 psn_timeout;     /* starting PSN 24, local CM response timeout 5, retry count 3 */
    sn_be16 pkey;
    uint8_t mtu_rnr;         /* path MTU 4, RDC exists 1, RNR retry count 3 */
    uint8_t retries_srq;     /* max CM retries 4, SRQ 1, extended transport 3 */
    struct sn_cm_path_bits primary, alternate;
    uint8_t private_data[SN_CM_REQ_PRIVATE];
} __attribute__((packed));

struct sn_cm_mra_bits { /* table 108 */
    sn_be32 local_id, remote_id;
    uint8_t about;   /* 2 bits, reserved 6 */
    uint8_t timeout; /* service timeout 5, reserved 3 */
    uint8_t private_data[SN_CM_MRA_PRIVATE];
} __attribute__((packed));

struct sn_cm_rej_bits { /* table 109 */
    sn_be32 local_id, remote_id;
    uint8_t about;       /* 2 bits, reserved 6 */
    uint8_t info_length; /* 7 bits, reserved 1 */
    sn_be16 reason;
    uint8_t info[SN_CM_INFO_BYTES];
    uint8_t private_data[SN_CM_REJ_PRIVATE];
} __attribute__((packed));

struct sn_cm_rep_bits { /* table 111 */
    sn_be32 local_id, remote_id;
    sn_be32 qkey;
    sn_be32 qpn;  /* 24, reserved 8; the same in the two below */
    sn_be32 eecn;
    sn_be32 psn;
    uint8_t resources, depth;
    uint8_t delay_flow; /* target ACK delay 5, failover accepted 2, flow control 1 */
    uint8_t rnr_srq;    /* RNR retry count 3, SRQ 1, reserved 4 */
    sn_be64 ca_guid;
    uint8_t private_data[SN_CM_REP_PRIVATE];
} __attribute__((packed));

struct sn_cm_pair_bits { /* RTU and DREP */
    sn_be32 local_id, remote_id;
    uint8_t private_data[SN_CM_RTU_PRIVATE];
} __attribute__((packed));

struct sn_cm_dreq_bits {
    sn_be32 local_id, remote_id;
    sn_be32 qpn; /* remote QPN 24, reserved 8 */
    uint8_t private_data[SN_CM_DREQ_PRIVATE];
} __attribute__((packed));

struct sn_cm_apr_bits {
    sn_be32 local_id, remote_id;
    uint8_t info_length, status;
    sn_be16 reserved10;
    uint8_t info[SN_CM_INFO_BYTES];
    uint8_t private_data[SN_CM_APR_PRIVATE];
} __attribute__((packed));

struct sn_cm_sidr_req_bits {
    sn_be32 request_id;
    sn_be16 pkey, reserved6;
    sn_be64 service_id;
    uint8_t private_data[SN_CM_SIDR_REQ_PRIVATE];
} __attribute__((packed));

struct sn_cm_sidr_rep_bits {
    sn_be32 request_id;
    uint8_t status, info_length;
    sn_be16 reserved6;
    sn_be32 qpn; /* 24, reserved 8 */
    sn_be64 service_id;
    sn_be32 qkey;
    uint8_t info[SN_CM_INFO_BYTES];
    uint8_t private_data[SN_CM_SIDR_REP_PRIVATE];
} __attribute__((packed));

/* The RDMA IP CM service's own header at the front of a REQ's or SIDR_REQ's private data (annex A11.4). */
struct sn_cm_ip_bits {
    uint8_t version;    /* major 4, minor 4: both 0 */
    uint8_t ip_version; /* 4 or 6 in the high 4 bits */
    sn_be16 port;       /* of the sender */
    uint8_t source[16], destination[16]; /* IPv4: in the last 4 bytes */
} __attribute__((packed));

SN_STATIC_ASSERT(sizeof(struct sn_cm_path_bits) == 44, "12.6.5");
SN_STATIC_ASSERT(sizeof(struct sn_cm_req_bits) == SN_MAD_DATA_BYTES, "12.6.5");
SN_STATIC_ASSERT(sizeof(struct sn_cm_mra_bits) == SN_MAD_DATA_BYTES, "12.6.6");
SN_STATIC_ASSERT(sizeof(struct sn_cm_rej_bits) == SN_MAD_DATA_BYTES, "12.6.7");
SN_STATIC_ASSERT(sizeof(struct sn_cm_rep_bits) == SN_MAD_DATA_BYTES, "12.6.8");
SN_STATIC_ASSERT(sizeof(struct sn_cm_pair_bits) == SN_MAD_DATA_BYTES, "12.6.9");
SN_STATIC_ASSERT(sizeof(struct sn_cm_dreq_bits) == SN_MAD_DATA_BYTES, "12.6.10");
SN_STATIC_ASSERT(sizeof(struct sn_cm_apr_bits) == SN_MAD_DATA_BYTES, "12.8.2");
SN_STATIC_ASSERT(sizeof(struct sn_cm_sidr_req_bits) == SN_MAD_DATA_BYTES, "12.11.1");
SN_STATIC_ASSERT(sizeof(struct sn_cm_sidr_rep_bits) == SN_MAD_DATA_BYTES, "12.11.2");
SN_STATIC_ASSERT(sizeof(struct sn_cm_ip_bits) == 36, "A11.4");

/* Service IDs of the IP CM service (A11.2): 0x0000000001, IP protocol, port. */
#define SN_CM_IP_SERVICE(protocol, port) (0x1000000ull | (uint64_t)(protocol) << 16 | (uint16_t)(port))
#define SN_CM_IP_SERVICE_MASK            0xffffffffff000000ull

#endif
