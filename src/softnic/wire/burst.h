/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burst: one message, or one piece of a message, on its way between two transports.
 *
 * Frames leave the transport as bursts: a header template, a first PSN, a packet count, and the payload by reference.
 * A wire that needs packets cuts the burst (cut.h); a local wire moves it whole, with PSNs counted as if it had been cut.
 * All integers are in host order; a wire that leaves the process gives them a byte order of its own.
 */
#ifndef SOFTNIC_WIRE_BURST_H
#define SOFTNIC_WIRE_BURST_H

#include <stdint.h>
#include <stddef.h>

enum sn_kind {
    SN_KIND_SEND = 0,
    SN_KIND_WRITE,
    SN_KIND_READ_REQUEST,
    SN_KIND_READ_RESPONSE,
    SN_KIND_ACK, /* or NAK: see syndrome */
    SN_KIND_ATOMIC_CS,
    SN_KIND_ATOMIC_FA,
    SN_KIND_ATOMIC_MASKED_CS, /* vendor extension, as ConnectX */
    SN_KIND_ATOMIC_MASKED_FA,
    SN_KIND_ATOMIC_ACK,
    SN_KIND_CNP, /* congestion notification packet (annex A17.9.3) */
    SN_KIND_COUNT
};

enum sn_burst_flags {
    SN_BURST_FIRST = 1 << 0,     /* begins the message (carries RETH) */
    SN_BURST_LAST = 1 << 1,      /* ends the message (carries the immediate) */
    SN_BURST_IMM = 1 << 2,
    SN_BURST_INVALIDATE = 1 << 3, /* `imm` is the key to invalidate */
    SN_BURST_SOLICITED = 1 << 4,
    SN_BURST_ACKREQ = 1 << 5, /* on the last packet */
    SN_BURST_BECN = 1 << 6, /* backward congestion notification (BTH, annex A17.9) */
    SN_BURST_FLAGS_ALL = (1 << 7) - 1
};

#define SN_BURST_MAX_IOV 64 /* every gather list that fits a WQE */

struct sn_iov {
    const void *addr;
    size_t length;
    uint32_t space; /* enum sn_space */
};

struct sn_burst {
    uint8_t dgid[16], sgid[16];
    uint32_t dqpn, sqpn; /* 24 bits */
    uint8_t service;     /* enum sn_service */
    uint8_t kind;        /* enum sn_kind */
    uint8_t flags;       /* enum sn_burst_flags */
    uint8_t mtu;         /* 1..5; 0: from a frame, the receiving QP knows */
    uint8_t tclass, hop_limit; /* IP: DSCP and ECN, time to live (0: 64) */
    uint16_t udp_sport;        /* 0: made from the QP numbers */
    uint32_t flow_label;       /* 20 bits */
    uint8_t dmac[6];           /* of the path; zero: the wire finds it */
    uint8_t epoch; /* of the sending QP, moves when it goes back: an equal burst of another epoch is a new one. Stays here */
    uint32_t psn;        /* of the first packet */
    uint32_t npackets;   /* PSNs that this burst takes (a READ request takes those of its response) */
    uint64_t va;         /* RETH / AtomicETH */
    uint32_t rkey;
    uint32_t dmalen;   /* RETH: bytes of the whole message */
    uint32_t imm;      /* as in the WQE, big-endian bytes kept: never swapped */
    uint8_t syndrome;  /* AETH */
    uint8_t atomic_size; /* 4 or 8 */
    uint16_t pkey;
    uint32_t qkey;       /* DETH */
    uint32_t msn;        /* AETH, 24 bits */
    uint64_t swap_add, compare, swap_mask, compare_mask; /* atomics: host-order operands; add boundary in compare_mask */
    uint64_t atomic_orig; /* ATOMIC_ACK: value before */
    uint32_t length;      /* payload bytes */
    uint32_t iov_count;
    struct sn_iov iov[SN_BURST_MAX_IOV];
};

#endif
