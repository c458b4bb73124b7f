/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoCEv2 packets as they are on the wire: Ethernet, IPv4 or IPv6, UDP, the InfiniBand transport headers (IBTA vol. 1,
 * chapter 9), invariant CRC (annex A17). Big-endian all through, but for the CRC's four bytes. Headers are laid over
 * bytes of any alignment.
 */
#ifndef GDAKI_FORMAT_ROCE_H
#define GDAKI_FORMAT_ROCE_H

#include "format/be.h"

#define SN_PACKED __attribute__((packed, may_alias))

/* 24 bits. */
typedef struct SN_PACKED {
    uint8_t byte[3];
} sn_be24;

SN_FN uint32_t sn_get24(sn_be24 v)
{
    return ((uint32_t)v.byte[0] << 16) | ((uint32_t)v.byte[1] << 8) | v.byte[2];
}

SN_FN sn_be24 sn_put24(uint32_t v)
{
    sn_be24 r;
    r.byte[0] = (uint8_t)(v >> 16);
    r.byte[1] = (uint8_t)(v >> 8);
    r.byte[2] = (uint8_t)v;
    return r;
}

/* ---- below the transport -------------------------------------------------------------------------------------- */

enum { SN_ETHERTYPE_IPV4 = 0x0800, SN_ETHERTYPE_IPV6 = 0x86dd };

struct SN_PACKED sn_eth {
    uint8_t dst[6], src[6];
    sn_be16 type;
};

enum {
    SN_IP_PROTO_UDP = 17,
    SN_IPV4_RESERVED = 0x8000,
    SN_IPV4_DF = 0x4000,
    SN_IPV4_MF = 0x2000,
    SN_IPV4_OFFSET = 0x1fff
};

/* RFC 791. */
struct SN_PACKED sn_ipv4 {
    uint8_t version_ihl; /* 0x45: RoCEv2 has no options (A17.3.1) */
    uint8_t tos;         /* DSCP, ECN */
    sn_be16 length;      /* header and all that follows */
    sn_be16 id;
    sn_be16 flags_offset;
    uint8_t ttl, protocol;
    sn_be16 check;
    uint8_t src[4], dst[4];
};

/* RFC 8200. */
struct SN_PACKED sn_ipv6 {
    sn_be32 version_class_flow; /* 4, 8 and 20 bits */
    sn_be16 length;             /* of what follows this header */
    uint8_t next, hop_limit;
    uint8_t src[16], dst[16];
};

/* RFC 768. */
struct SN_PACKED sn_udp {
    sn_be16 sport, dport;
    sn_be16 length; /* header and all that follows */
    sn_be16 check;  /* 0: none, as RoCEv2 over IPv4 has it */
};

/* ---- transport headers (9.2 to 9.3) ---------------------------------------------------------------------------- */

/* Base transport header, 9.2. */
struct SN_PACKED sn_bth {
    uint8_t opcode;
    uint8_t se_m_pad_tver; /* solicited event 1, migration request 1, pad count 2, transport version 4 */
    sn_be16 pkey;
    uint8_t fecn_becn; /* 1 and 1; the other six bits are reserved */
    sn_be24 dqpn;
    uint8_t ackreq; /* 1; the other seven bits are reserved */
    sn_be24 psn;
};

enum {
    SN_BTH_SE = 0x80,
    SN_BTH_M = 0x40,
    SN_BTH_PAD_SHIFT = 4,
    SN_BTH_PAD = 3,
    SN_BTH_TVER = 0x0f, /* 0 is the only version */
    SN_BTH_FECN = 0x80,
    SN_BTH_BECN = 0x40,
    SN_BTH_ACKREQ = 0x80,
};

/* Datagrams, 9.3.1. */
struct SN_PACKED sn_deth {
    sn_be32 qkey;
    uint8_t reserved;
    sn_be24 sqpn;
};

/* Remote memory, 9.3.3. */
struct SN_PACKED sn_reth {
    sn_be64 va;
    sn_be32 rkey;
    sn_be32 length;
};

/* Atomics, 9.3.4. */
struct SN_PACKED sn_atomic_eth {
    sn_be64 va;
    sn_be32 rkey;
    sn_be64 swap_add;
    sn_be64 compare;
};

/*
 * Masked atomics, 4 or 8 bytes: the IBTA has no opcode for them, and what a ConnectX sends is not published. Opcodes
 * from the range that is left to manufacturers, and this header, are softnic's own: no other implementation takes them.
 */
struct SN_PACKED sn_masked_atomic_eth {
    sn_be64 va;
    sn_be32 rkey;
    sn_be32 size; /* 4 or 8 */
    sn_be64 swap_add, compare, swap_mask, compare_mask;
};

/* Acknowledgements and responses, 9.3.5. */
struct SN_PACKED sn_aeth {
    uint8_t syndrome;
    sn_be24 msn;
};

/* Answer to an atomic, 9.3.5.3. */
struct SN_PACKED sn_atomic_ack_eth {
    sn_be64 orig;
};

/* Immediate (9.3.6), or the key to invalidate (9.3.7): four bytes whose meaning is the consumer's. */
struct SN_PACKED sn_immdt {
    uint8_t byte[4];
};

enum { SN_ICRC_BYTES = 4, SN_CNP_BYTES = 16 /* reserved bytes after the BTH, A17.9.3 */ };

SN_STATIC_ASSERT(sizeof(struct sn_eth) == 14, "Ethernet");
SN_STATIC_ASSERT(sizeof(struct sn_ipv4) == 20 && offsetof(struct sn_ipv4, id) == 4 &&
                     offsetof(struct sn_ipv4, ttl) == 8 && offsetof(struct sn_ipv4, check) == 10 &&
                     offsetof(struct sn_ipv4, src) == 12,
                 "RFC 791");
SN_STATIC_ASSERT(sizeof(struct sn_ipv6) == 40 && offsetof(struct sn_ipv6, next) == 6 &&
                     offsetof(struct sn_ipv6, src) == 8,
                 "RFC 8200");
SN_STATIC_ASSERT(sizeof(struct sn_udp) == 8 && offsetof(struct sn_udp, check) == 6, "RFC 768");
SN_STATIC_ASSERT(sizeof(struct sn_bth) == 12 && offsetof(struct sn_bth, pkey) == 2 &&
                     offsetof(struct sn_bth, fecn_becn) == 4 && offsetof(struct sn_bth, dqpn) == 5 &&
                     offsetof(struct sn_bth, ackreq) == 8 && offsetof(struct sn_bth, psn) == 9,
                 "IBTA 9.2");
SN_STATIC_ASSERT(sizeof(struct sn_deth) == 8 && offsetof(struct sn_deth, sqpn) == 5, "IBTA 9.3.1");
SN_STATIC_ASSERT(sizeof(struct sn_reth) == 16 && offsetof(struct sn_reth, rkey) == 8 &&
                     offsetof(struct sn_reth, length) == 12,
                 "IBTA 9.3.3");
SN_STATIC_ASSERT(sizeof(struct sn_atomic_eth) == 28 && offsetof(struct sn_atomic_eth, swap_add) == 12 &&
                     offsetof(struct sn_atomic_eth, compare) == 20,
                 "IBTA 9.3.4");
SN_STATIC_ASSERT(sizeof(struct sn_masked_atomic_eth) == 48, "masked atomics");
SN_STATIC_ASSERT(sizeof(struct sn_aeth) == 4 && sizeof(struct sn_atomic_ack_eth) == 8 && sizeof(struct sn_immdt) == 4,
                 "IBTA 9.3.5, 9.3.6");

/* ---- opcodes (9.2.1, table 38) ---------------------------------------------------------------------------------- */

/* Which extension headers a packet has; they follow the BTH in this order. */
enum sn_roce_headers {
    SN_HAS_DETH = 1 << 0,
    SN_HAS_RETH = 1 << 1,
    SN_HAS_ATOMIC = 1 << 2,
    SN_HAS_MASKED = 1 << 3,
    SN_HAS_AETH = 1 << 4,
    SN_HAS_ATOMIC_ACK = 1 << 5,
    SN_HAS_IMMDT = 1 << 6,
    SN_HAS_IETH = 1 << 7,
};

enum sn_roce_payload {
    SN_PAYLOAD_NONE,
    SN_PAYLOAD_FULL, /* a path MTU of bytes, no pad: first and middle packets */
    SN_PAYLOAD_SOME, /* at least a byte: last packets */
    SN_PAYLOAD_ANY,  /* 0 up to the path MTU: only packets */
    SN_PAYLOAD_CNP,  /* 16 reserved bytes */
};

/* Services in bits 7..5. */
enum { SN_ROCE_RC = 0x00, SN_ROCE_UC = 0x20, SN_ROCE_UD = 0x60 };

/* Operations in bits 4..0. */
enum {
    SN_ROCE_SEND_FIRST = 0x00,
    SN_ROCE_SEND_MIDDLE,
    SN_ROCE_SEND_LAST,
    SN_ROCE_SEND_LAST_IMM,
    SN_ROCE_SEND_ONLY,
    SN_ROCE_SEND_ONLY_IMM,
    SN_ROCE_WRITE_FIRST,
    SN_ROCE_WRITE_MIDDLE,
    SN_ROCE_WRITE_LAST,
    SN_ROCE_WRITE_LAST_IMM,
    SN_ROCE_WRITE_ONLY,
    SN_ROCE_WRITE_ONLY_IMM,
    SN_ROCE_READ_REQUEST,
    SN_ROCE_READ_RESPONSE_FIRST,
    SN_ROCE_READ_RESPONSE_MIDDLE,
    SN_ROCE_READ_RESPONSE_LAST,
    SN_ROCE_READ_RESPONSE_ONLY,
    SN_ROCE_ACKNOWLEDGE,
    SN_ROCE_ATOMIC_ACKNOWLEDGE,
    SN_ROCE_COMPARE_SWAP,
    SN_ROCE_FETCH_ADD,
    SN_ROCE_SEND_LAST_INVALIDATE = 0x16,
    SN_ROCE_SEND_ONLY_INVALIDATE = 0x17,
};

enum {
    SN_ROCE_CNP = 0x81,       /* A17.9.3 */
    SN_ROCE_MASKED_CS = 0xc0, /* manufacturer's range, softnic's own */
    SN_ROCE_MASKED_FA = 0xc1,
};

#endif
