/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the packet wires: state that packet_wire.c, packet_thread.c and packet_neigh.c share. */
#ifndef SOFTNIC_WIRE_PACKET_INTERNAL_H
#define SOFTNIC_WIRE_PACKET_INTERNAL_H

#include <pthread.h>

#include "softnic/wire/packet_flow.h"
#include "softnic/wire/packet_neigh.h"
#include "softnic/wire/packet_short.h"
#include "softnic/wire/packet_talk.h"
#include "softnic/wire/packet_wire.h"

enum { SN_HELD_ACKS = 16 };
enum { SN_PACKET_OVERHEAD = 160 /* headers, pad and CRC of a frame, at most */ };

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
        uint64_t route; /* the id of the sn_route that it came by; 0: as a burst */
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
    struct sn_shorts shorts;
    struct sn_wire_ops ops;
    bool asleep;
    unsigned quiet; /* polls since something came or left */
    unsigned polls;
    uint64_t retries; /* of all NICs, when that was last looked at */
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

/* Room for a frame of at most SN_PACKET_OVERHEAD bytes. */
static inline bool sn_packet_has_room(const struct sn_packet_wire *w)
{
    return w->out_count < w->out_max && w->out_used + SN_PACKET_OVERHEAD <= w->out_room;
}

/* The IP identification of a frame to there, were it the next one: its place in the run that waits, or 0. */
uint16_t sn_packet_next_id(const struct sn_packet_wire *w, const struct sn_frame_out *like);
/* A frame that has been written where the next one goes, with that identification. */
void sn_packet_queue(struct sn_packet_wire *w, const struct sn_frame_out *f);

/* The NIC with this GID and the QP number's slot, or any for QP 1; *ours: one with that GID is here, whatever its slot. */
struct sn_nic *sn_packet_find_nic(struct sn_port *port, const uint8_t gid[16], uint32_t qpn, bool *ours);

/* A plain acknowledgement that may wait; false: too many do. `route` as above. */
bool sn_packet_hold_ack(struct sn_packet_wire *w, const struct sn_burst *b, uint16_t sport, const struct sn_frame_path *path,
                        uint64_t route);
/* The same, if the only one that waits came by this route, too. False: nothing is done. */
bool sn_packet_renew_ack(struct sn_packet_wire *w, const struct sn_short *m, uint32_t sqpn, uint64_t route);

/* A frame that the neighbour table made (ARP, neighbour discovery): sent behind what waits. */
void sn_packet_send_raw(struct sn_packet_wire *w, const uint8_t *bytes, size_t length);

/* packet_thread.c */
int sn_packet_helper_start(struct sn_packet_wire *w);
void sn_packet_helper_stop(struct sn_packet_wire *w); /* without the lock */
void sn_packet_helper_arm(struct sn_packet_wire *w);  /* the next arrival wakes the port */

#endif
