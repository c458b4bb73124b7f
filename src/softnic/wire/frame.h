/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoCEv2 frames: one packet to bytes and back (IBTA vol. 1, chapter 9 and annex A17; UDP port 4791).
 *
 * A packet is a `struct sn_burst` of one packet. cut.h cuts a burst into packets; the functions here give a packet its
 * headers, pad and invariant CRC, or judge a frame and give the packet that it carries. They own nothing and keep
 * nothing: every wire, the capture file, the simulation and the fuzzers use the same ones.
 *
 * A frame does not say everything that a burst does. A parsed packet has
 *   mtu 0         the path MTU is the QP's; sn_nic_receive fills it in
 *   npackets      1; 0 for a READ request (sn_nic_receive counts its response's packets by the QP's MTU)
 *   va, rkey, dmalen   only where the packet has a RETH or AtomicETH (SN_BURST_FIRST of a WRITE, READ requests, atomics)
 *   sqpn          0 except in datagrams (DETH); the receiving QP knows its peer
 *   iov           one piece that points into the frame (pad and CRC taken off); valid as long as the frame is
 */
#ifndef SOFTNIC_WIRE_FRAME_H
#define SOFTNIC_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/wire/burst.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SN_ROCE_PORT = 4791,
    SN_FRAME_MAX_HEADERS = 14 + 40 + 8 + 12 + 32 + 40, /* Ethernet, IPv6, UDP, BTH, extension headers with room to spare */
    SN_FRAME_MAX = 14 + 40 + 8 + 12 + 40 + 4096 + 3 + 4,
};

/* Where the bytes begin: a raw wire has Ethernet frames, TUN-like ones IP packets, a UDP socket gives what follows UDP. */
enum sn_layer { SN_LAYER_ETHERNET, SN_LAYER_IP, SN_LAYER_UDP };

/*
 * Addressing below the BTH that a burst does not carry. Building takes it, parsing gives it. The IP version follows the
 * GIDs: both IPv4-mapped (::ffff:a.b.c.d) means IPv4.
 */
struct sn_frame_path {
    uint8_t smac[6], dmac[6]; /* Ethernet layer only; dmac all zero: the packet's */
    uint16_t ip_id;           /* IPv4 identification; covered by the invariant CRC */
    /* All zero: as we send. Others differ, and parsing says so, so that their frames can be rebuilt. */
    bool m_clear;      /* BTH: migration request 0. We send 1, as a ConnectX: the path is in its migrated state (17.2.8) */
    bool df_clear;     /* IPv4: fragments allowed */
    uint8_t udp_check; /* enum sn_udp_check */
};

enum sn_udp_check {
    SN_UDP_CHECK_USUAL, /* none over IPv4, made over IPv6 (RFC 8200, 8.1) */
    SN_UDP_CHECK_NONE,
    SN_UDP_CHECK_MADE,
};

/* Why a frame was not taken. 0: it was. */
enum sn_frame_verdict {
    SN_FRAME_OK = 0,
    SN_FRAME_NOT_ROCE,  /* another protocol or port: not ours to judge */
    SN_FRAME_SHORT,     /* a header or the pad does not fit */
    SN_FRAME_IP,        /* IP header: version, length, checksum, fragment, options */
    SN_FRAME_LENGTH,    /* lengths of IP, UDP and frame disagree */
    SN_FRAME_BTH,       /* transport version, reserved opcode, pad that the opcode cannot have */
    SN_FRAME_PAYLOAD,   /* payload where none may be, or none where some must be (9.2, table 38; 9.3.3) */
    SN_FRAME_ICRC,
    SN_FRAME_VERDICTS
};

const char *sn_frame_verdict_name(enum sn_frame_verdict verdict); /* "invariant CRC", for counters and messages */

/*
 * Builds the headers of a packet, from `layer` on, into `out` (SN_FRAME_MAX_HEADERS bytes of room). Payload, pad and CRC
 * are not written, nor is a UDP checksum, which would cover them. Returns the number of bytes, or -EINVAL for a burst
 * that is no packet (cut it first; npackets is not looked at) or has no wire form.
 */
int sn_frame_headers(const struct sn_burst *packet, const struct sn_frame_path *path, enum sn_layer layer, uint8_t *out);

/*
 * The whole frame with payload (host memory only), pad and invariant CRC. At SN_LAYER_UDP the CRC still covers the IP and
 * UDP headers as they will be. Returns its length; -EINVAL as above; -ENOSPC when `room` is too small.
 */
int sn_frame_build(const struct sn_burst *packet, const struct sn_frame_path *path, enum sn_layer layer, uint8_t *out,
                   size_t room);

/*
 * Judges a frame and takes it apart. At SN_LAYER_UDP `packet` comes with sgid, dgid (from the socket's addresses) and
 * udp_sport filled in, and over IPv4 the CRC can be checked only if the sender's IP identification is known to be
 * path->ip_id: pass check_icrc false where it is not. *path is filled in as far as the layer shows it; NULL will do when nobody asks.
 * Of a frame that is not taken *packet says nothing.
 *
 * Not judged: the UDP checksum (the invariant CRC covers more, and frames that never left a host carry half-made ones),
 * P_Key, Q_Key, addresses; reserved bits of the BTH, and its FECN bit, which RoCEv2 replaces by the IP header's ECN.
 * Bytes behind the IP packet are taken for the padding of a short Ethernet frame, if it is short. Tagged frames (802.1Q)
 * are not ours. A CNP is given service RC, whatever its queue is.
 */
enum sn_frame_verdict sn_frame_parse(const uint8_t *frame, size_t length, enum sn_layer layer, bool check_icrc,
                                     struct sn_burst *packet, struct sn_frame_path *path);

#ifdef __cplusplus
}
#endif
#endif
