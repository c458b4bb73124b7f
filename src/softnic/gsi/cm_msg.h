/* SPDX-License-Identifier: Apache-2.0 */
/* Connection management messages in host order, and the one parser and builder of their wire form (format/cm.h). */
#ifndef SOFTNIC_GSI_CM_MSG_H
#define SOFTNIC_GSI_CM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/cm.h"

enum { SN_CM_PRIVATE_MAX = 224 };

enum sn_cm_transport { SN_CM_TRANSPORT_RC = 0, SN_CM_TRANSPORT_UC = 1, SN_CM_TRANSPORT_RD = 2 };

struct sn_cm_path {
    uint16_t local_lid, remote_lid;
    uint8_t local_gid[16], remote_gid[16]; /* as the sender sees them */
    uint32_t flow_label;                   /* 20 bits */
    uint8_t rate, tclass, hop_limit, sl;
    bool subnet_local;
    uint8_t ack_timeout; /* 5 bits: 4.096 us * 2^n */
};

/* Which fields a message has is in its table; those of others are 0. */
struct sn_cm_msg {
    uint16_t attribute; /* enum sn_cm_attribute */
    uint64_t transaction;
    uint32_t local_id, remote_id; /* SIDR: the request ID is local_id */
    uint64_t service_id, ca_guid;
    uint32_t qkey, qpn, psn; /* QPN, PSN: 24 bits. DREQ: the receiver's QPN */
    uint8_t responder_resources, initiator_depth;
    uint8_t remote_timeout, local_timeout; /* CM response timeouts, 5 bits */
    uint8_t transport;                     /* enum sn_cm_transport */
    bool flow_control, srq;
    uint8_t retry_count, rnr_retry_count, max_cm_retries;
    uint8_t extended_transport;
    uint16_t pkey;
    uint8_t mtu;
    struct sn_cm_path primary, alternate; /* REQ */
    uint8_t about;                        /* MRA, REJ: enum sn_cm_about */
    uint8_t service_timeout;              /* MRA */
    uint16_t reason;                      /* REJ */
    uint8_t status;                       /* SIDR_REP, APR */
    uint8_t info_length;
    uint8_t info[SN_CM_INFO_BYTES];
    uint8_t target_ack_delay, failover; /* REP */
    uint8_t private_length;             /* parsed: all that the message has room for */
    uint8_t private_data[SN_CM_PRIVATE_MAX];
};

enum sn_cm_verdict {
    SN_CM_OK = 0,
    SN_CM_BAD_LENGTH,
    SN_CM_BAD_VERSION,   /* of the MAD or of the class */
    SN_CM_OTHER_CLASS,   /* not connection management */
    SN_CM_BAD_METHOD,
    SN_CM_BAD_ATTRIBUTE,
    SN_CM_BAD_FIELD, /* a value that the specification does not have */
};

/* Bytes of private data that a message has room for; -1: no such attribute. */
int sn_cm_private_room(uint16_t attribute);
const char *sn_cm_attribute_name(uint16_t attribute); /* "REQ" */

/* Everything in the MAD is untrusted. *out is written only with SN_CM_OK. */
enum sn_cm_verdict sn_cm_parse(const void *mad, size_t length, struct sn_cm_msg *out);

/* 0, or -EINVAL: an attribute that is not built here, or more private data than there is room for. */
int sn_cm_build(const struct sn_cm_msg *msg, struct sn_mad *out);

/* ---- the header of the RDMA IP CM service (annex A11) ----------------------------------------------------------- */

struct sn_cm_ip {
    uint8_t version; /* 4 or 6 */
    uint16_t port;   /* of the sender, host order */
    uint8_t source[16], destination[16]; /* IPv4: the first 4 bytes */
};

enum { SN_CM_IP_BYTES = sizeof(struct sn_cm_ip_bits) };

/* From the private data of a REQ or SIDR_REQ; false: there is none, or nonsense. */
bool sn_cm_ip_parse(const struct sn_cm_msg *msg, struct sn_cm_ip *out);
void sn_cm_ip_build(const struct sn_cm_ip *ip, uint8_t out[SN_CM_IP_BYTES]);

#endif
