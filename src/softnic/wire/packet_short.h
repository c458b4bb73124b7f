/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short messages (wire.h) as frames. Whoever sends a queue pair's next small message, or gets one, waits for just that: so
 * what its frames have alike is kept, together with the invariant CRC over it, and of the next one only the rest is written,
 * read and summed. The bytes are those of frame.h, to which everything out of the ordinary is left.
 *
 * UDP sockets only: what is below the BTH is then the kernel's, and known when a frame arrives.
 */
#ifndef SOFTNIC_WIRE_PACKET_SHORT_H
#define SOFTNIC_WIRE_PACKET_SHORT_H

#include "softnic/wire/packet_wire.h"

struct sn_packet_wire;

enum {
    SN_SHORT_WAYS = 64,   /* each way; two that collide take turns */
    SN_SHORT_FRAME = 40,  /* bytes from the BTH to the CRC, at most: with RETH and 8 bytes, or AETH */
};

/* Frames of one kind and length: up to the queue pair's number they are all the same. */
struct sn_short_form {
    uint32_t bytes;   /* of the frame; 0: not known yet */
    uint32_t payload; /* bytes before the pad */
    uint32_t crc;     /* of all that is the same; IPv4: with identification 0 */
    uint8_t flags;    /* enum sn_burst_flags */
    uint8_t bth[12];
};

struct sn_shorts {
    struct sn_short_out { /* the way from a queue pair */
        uint64_t id;      /* which sn_route names; 0: free */
        bool ipv4;
        struct sn_frame_out frame; /* addressing */
        struct sn_short_form write;
    } out[SN_SHORT_WAYS];
    struct sn_short_in { /* the way to one, and the form of what came last */
        uint8_t sgid[16], dgid[16];
        uint8_t bth[8]; /* up to the queue pair */
        uint32_t bytes; /* of the frame; 0: free */
        uint32_t topology; /* of the port, when the NIC was found */
        uint16_t udp_sport;
        bool id_unknown;
        uint32_t crc;
        struct sn_nic *nic;
    } in[SN_SHORT_WAYS];
    uint64_t last_id;
    uint16_t next_id[SN_SHORT_WAYS]; /* IPv4 identification of what comes next from a source; a guess, which the CRC confirms or not */
};

/* Of sn_wire_ops. */
bool sn_packet_send_short(struct sn_wire *wire, const struct sn_burst *header, struct sn_route *route, const struct sn_short *m);

/* A frame that has arrived. False: nothing is done; it is something else, or has to be looked at more closely. */
bool sn_packet_take_short(struct sn_packet_wire *w, const struct sn_frame_in *in);

/* Source ports or NICs have gone. */
void sn_packet_forget_shorts(struct sn_packet_wire *w);

#endif
