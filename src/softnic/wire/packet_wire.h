/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wires that carry RoCEv2 frames: one core (packet_wire.c) that cuts bursts, builds and parses frames, finds the NIC
 * and counts, above a small backend that only moves frames: a UDP socket, a network interface, a TAP, a datagram
 * socket, a capture file.
 *
 * Everything of a wire is under its port's lock; sn_packet_wire_create and destroy are called without it.
 */
#ifndef SOFTNIC_WIRE_PACKET_WIRE_H
#define SOFTNIC_WIRE_PACKET_WIRE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/wire/burst.h"
#include "softnic/wire/descriptors.h"
#include "softnic/wire/frame.h"
#include "softnic/wire/packet_slot.h"
#include "softnic/wire/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SN_PACKET_MAX_FDS = 128, /* that a backend waits on */
    SN_PACKET_RUN = 44,      /* frames of a run: one size, one call, segmentation offload; Linux takes 64 */
    SN_PACKET_RUN_BYTES = 61440,
};

struct sn_backend;

/* A frame on its way out. Frames lie one behind the other in memory. */
struct sn_frame_out {
    const uint8_t *bytes;
    uint32_t length;
    uint16_t ip_id;     /* index in its run: 0 begins one. Always 0 unless the backend says `runs` */
    uint16_t udp_sport; /* here and below: for SN_LAYER_UDP only, elsewhere the frame says it */
    uint8_t tclass;
    uint8_t sgid[16], dgid[16];
};

/* A frame that has arrived. `bytes` is the backend's, valid until it is asked for more. */
struct sn_frame_in {
    const uint8_t *bytes;
    uint32_t length;
    bool passed_on; /* by another process of this host */
    uint16_t udp_sport;
    uint8_t tclass, hop_limit;
    uint8_t sgid[16], dgid[16];
};

struct sn_backend_ops {
    const char *name;
    enum sn_layer layer;
    /*
     * Where frames of this burst go: source port, or MAC addresses. 0; -EAGAIN: being found out, the burst is offered
     * again; -EHOSTUNREACH: nobody is there. Raw backends leave it NULL and have a neighbour table (packet_neigh.h).
     */
    int (*address)(struct sn_backend *b, const struct sn_burst *burst, uint16_t *udp_sport);
    /* Takes whole runs from the front; returns frames taken (0: no room now), or negative: the first run is lost. */
    int (*send)(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count);
    /* At most `max` frames, 0 when there is none. */
    int (*receive)(struct sn_backend *b, struct sn_frame_in *frames, unsigned max);
    /* Another process of this host owns that QP number: give it the frame. NULL: not possible here. */
    int (*pass_on)(struct sn_backend *b, const struct sn_frame_in *frame, uint8_t slot);
    /* A frame reached us through another process; the backend may see to it that the next ones come straight. */
    void (*passed_on)(struct sn_backend *b, const struct sn_frame_in *frame);
    /* A NIC with these addresses and slot comes, or goes. NULL: nothing to do. Negative errno: not to be had here. */
    int (*bind)(struct sn_backend *b, const struct sn_slot *slot);
    void (*unbind)(struct sn_backend *b, const struct sn_slot *slot);
    /* Frames are being lost, or are not taken by whoever gets them: nothing is to be taken for granted. NULL: nothing is. */
    void (*doubt)(struct sn_backend *b);
    void (*destroy)(struct sn_backend *b);
};

struct sn_backend {
    const struct sn_backend_ops *ops;
    bool runs;        /* equal frames to one address may leave as a run with IP identifications 0, 1, ... */
    bool id_unknown;  /* IPv4 frames come without their identification (UDP sockets) */
    bool more;        /* set by the backend: frames are left that no descriptor tells of */
    bool look_all;    /* set by the core: the next `receive` looks at every descriptor */
    uint8_t mac[6];   /* SN_LAYER_ETHERNET: ours */
    bool answers;     /* SN_LAYER_ETHERNET: we answer ARP and neighbour solicitations for our addresses */
    uint32_t mtu;     /* bytes of an IP packet */
    uint32_t window;  /* bytes of a QP that may be under way (packet_flow.h); 0: no limit. May change */
    int fd[SN_PACKET_MAX_FDS];
    unsigned fds;     /* changed through sn_packet_watch and sn_packet_unwatch only */
    struct sn_packet_wire *wire;
};

struct sn_packet_counters {
    uint64_t frames_sent, bytes_sent, calls_sent; /* calls: system calls that sent them */
    uint64_t frames_received, bytes_received;
    uint64_t refused[SN_FRAME_VERDICTS]; /* by verdict; [0] is not used */
    uint64_t partly;     /* taken, checked for every IPv4 identification, since the socket does not tell it */
    uint64_t no_nic;     /* right frames for nobody here */
    uint64_t passed_on, passed_to_us;
    uint64_t full;       /* bursts that had to wait */
    uint64_t lost;       /* frames that the kernel refused: too long for the interface, no route ... */
    uint64_t unresolved; /* bursts to an address that nobody answers for */
    uint64_t wakes;
};

/*
 * Takes the backend over, also when it fails. `passive`: no helper thread, somebody else drives the port. 0 or negative
 * errno.
 */
int sn_packet_wire_create(struct sn_port *port, struct sn_backend *backend, bool passive, struct sn_wire **out);

/*
 * Takes the first process slot that is free for all of a NIC's GIDs, and what the backend needs for them. -ENOSPC: no
 * slot is free. sn_packet_unbind: gives up the NIC whose first GID this is. Both without the port's lock.
 */
int sn_packet_bind(struct sn_wire *wire, const uint8_t gid[][16], unsigned gid_count, uint8_t *slot);
void sn_packet_unbind(struct sn_wire *wire, const uint8_t gid0[16]);

/* Counters of this process, over all packet wires that it had. */
void sn_packet_count(struct sn_packet_counters *out);

/* The largest path MTU (1..5, 0: none) whose every packet fits IP packets of `mtu` bytes. */
uint8_t sn_packet_path_mtu(uint32_t mtu, bool ipv6);

/* Descriptors whose arrivals wake the port. -ENOSPC: there are too many. */
int sn_packet_watch(struct sn_backend *b, int fd);
void sn_packet_unwatch(struct sn_backend *b, int fd);

static inline bool sn_gid_is_ipv4(const uint8_t gid[16])
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return __builtin_memcmp(gid, prefix, 12) == 0;
}

#ifdef __cplusplus
}
#endif
#endif
