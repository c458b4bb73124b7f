/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the packet wires: state that packet_wire.c, packet_thread.c and packet_neigh.c share. */
#ifndef SOFTNIC_WIRE_PACKET_INTERNAL_H
#define SOFTNIC_WIRE_PACKET_INTERNAL_H

#include <pthread.h>

#include "softnic/wire/packet_flow.h"
#include "softnic/wire/packet_neigh.h"
#include "softnic/wire/packet_talk.h"
#include "softnic/wire/packet_wire.h"

enum { SN_HELD_ACKS = 16 };

struct sn_packet_wire {
    struct sn_wire wire; /* first */
    struct sn_port *port; /* the same as in `wire`, for the helper thread: attaching writes that one */
    struct sn_backend *backend;
    struct packet_nic {
        struct packet_nic *next;
        struct sn_slot slot;
    } *nics;
    struct sn_neigh *neigh; /* SN_LAYER_ETHERNET */
    /* Frames that wait to leave, one behind the other; [first, count) are left. */
    uint8_t *out_bytes;
    size_t out_room, out_used;
    struct sn_frame_out *out;
    unsigned out_max, out_count, out_first;
    uint8_t *stage; /* payload that came through the copy engine */
    size_t stage_room;
    /* Acknowledgements that wait one turn, for requests to go before them in the same call. */
    struct sn_held_ack {
        uint16_t udp_sport;
        struct sn_frame_path path;
        uint8_t burst[offsetof(struct sn_burst, iov)]; /* has no payload */
    } ack[SN_HELD_ACKS];
    unsigned acks;
    bool acks_waited;
    struct sn_talks talks;
    unsigned patience;   /* turns that the one acknowledgement here may still wait for the peer's next message */
    uint64_t patience_end; /* ns of the port's clock: it leaves then, however rare turns are */
    bool ack_news;       /* the acknowledgement here says something that patience has not been given for */
    uint32_t answer_qpn; /* the last frame that was appended is a request of this queue pair; 0: something else */
    uint32_t run_length; /* of the first frame of the last run; 0: it takes no more */
    uint64_t full_since; /* ns; 0: the backend takes frames */
    struct sn_burst packet, fetched; /* scratch */
    struct sn_flows flows;
    struct sn_wire_ops ops;
    bool asleep;
    unsigned quiet; /* polls since something came or left */
    /* The helper thread. */
    int epoll, poke;
    bool helper_started;
    pthread_t helper;
    atomic_bool stop;
};

extern struct sn_packet_totals {
    atomic_ullong frames_sent, bytes_sent, calls_sent, frames_received, bytes_received, refused[SN_FRAME_VERDICTS],
        partly, no_nic, passed_on, passed_to_us, full, lost, unresolved, wakes;
} sn_packet_totals;

/* Counters of a process have several writers only if it has several ports; then a count may be lost, nothing more. */
static inline void sn_packet_add(atomic_ullong *counter, unsigned long long n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

void sn_packet_flush(struct sn_packet_wire *w);

/* A frame that the neighbour table made (ARP, neighbour discovery): sent behind what waits. */
void sn_packet_send_raw(struct sn_packet_wire *w, const uint8_t *bytes, size_t length);

/* packet_thread.c */
int sn_packet_helper_start(struct sn_packet_wire *w);
void sn_packet_helper_stop(struct sn_packet_wire *w); /* without the lock */
void sn_packet_helper_arm(struct sn_packet_wire *w);  /* the next arrival wakes the port */

#endif
