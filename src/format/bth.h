/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the InfiniBand transport headers (IBTA vol. 1, chapter 9) that the transport counts in. The packed headers
 * themselves belong to the wires that cut bursts into packets.
 */
#ifndef GDAKI_FORMAT_BTH_H
#define GDAKI_FORMAT_BTH_H

#include "format/hd.h"

/* AETH syndrome (9.7.5.1): bits 6..5 kind, 4..0 credits, RNR timer or NAK code. */
enum {
    SN_AETH_ACK = 0x1f, /* no credit limit is announced */
    SN_AETH_RNR = 0x20,
    SN_AETH_NAK_SEQUENCE = 0x60,
    SN_AETH_NAK_INVALID = 0x61,
    SN_AETH_NAK_ACCESS = 0x62,
    SN_AETH_NAK_OP = 0x63,
};

SN_FN int sn_aeth_is_ack(uint8_t syndrome)
{
    return (syndrome & 0xe0u) == 0;
}

SN_FN int sn_aeth_is_rnr(uint8_t syndrome)
{
    return (syndrome & 0xe0u) == SN_AETH_RNR;
}

/* An ACK, an RNR NAK or a NAK of a code that a reliable connection has; 0x64 is of reliable datagrams (9.7.5.2). */
SN_FN int sn_aeth_is_known(uint8_t syndrome)
{
    return sn_aeth_is_ack(syndrome) || sn_aeth_is_rnr(syndrome) ||
           (syndrome >= SN_AETH_NAK_SEQUENCE && syndrome <= SN_AETH_NAK_OP);
}

/* PSNs are 24 bits and compared around the circle (9.7.1). */
#define SN_PSN_MASK 0xffffffu

SN_FN uint32_t sn_psn_add(uint32_t psn, uint32_t n)
{
    return (psn + n) & SN_PSN_MASK;
}

/* a - b in -2^23 .. 2^23 - 1. */
SN_FN int32_t sn_psn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 8) >> 8;
}

/* Path MTU code 1..5 to bytes 256..4096. */
SN_FN uint32_t sn_mtu_bytes(uint8_t mtu)
{
    return 128u << mtu;
}

/* Packets of a message: one even when it is empty. */
SN_FN uint32_t sn_mtu_packets(uint32_t length, uint8_t mtu)
{
    uint32_t shift = 7u + mtu;
    return length == 0 ? 1 : (uint32_t)(((uint64_t)length + (1u << shift) - 1) >> shift);
}

/* RNR NAK timer code (table 45) in ns. Code 0 is the longest. */
SN_FN uint64_t sn_rnr_ns(uint8_t code)
{
    uint32_t steps; /* of 10 us */
    code &= 31;
    if (code == 0)
        steps = 65536;
    else if (code < 4)
        steps = code;
    else /* 4: 40 us; from there two steps an octave, 2^n and 1.5 * 2^n */
        steps = (code & 1) ? (6u << ((code - 5) / 2)) : (4u << ((code - 4) / 2));
    return (uint64_t)steps * 10000u;
}

/* Local ACK timeout (9.9.2.1.1): 4.096 us * 2^code, 0 is none. */
SN_FN uint64_t sn_ack_timeout_ns(uint8_t code)
{
    return code == 0 ? 0 : (uint64_t)4096u << (code & 31);
}

#endif
