/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the XDP backend: xdp.c (frames), xdp_open.c (socket, rings, program). */
#ifndef SOFTNIC_WIRE_XDP_H
#define SOFTNIC_WIRE_XDP_H

#include <linux/if_xdp.h>

#include "softnic/wire/raw.h"

enum {
    XSK_CHUNK = 4096, /* of the memory shared with the kernel; the kernel keeps 256 bytes of a received one */
    XSK_RX = 2048, /* chunks and ring entries for arrivals */
    XSK_TX = 512,  /* and for what leaves */
};

/* A ring that the kernel has at its other end. */
struct xdp_ring {
    uint32_t *producer, *consumer;
    void *entries; /* addresses, or struct xdp_desc */
    uint32_t size;
    void *map;
    size_t map_bytes;
};

struct xdp {
    struct sn_backend base; /* first */
    struct sn_backend *side; /* packet socket: neighbours, and what arrives on other queues */
    int fd, map_fd, program_fd, link_fd;
    uint8_t *memory; /* XSK_RX chunks for arrivals, then XSK_TX */
    struct xdp_ring fill, completion, rx, tx;
    uint64_t free_tx[XSK_TX];
    unsigned free_count;
    uint64_t held[64]; /* chunks of arrivals that have been given out */
    unsigned held_count;
    unsigned polls;
};

int xdp_socket_open(struct xdp *x, const char *interface);
void xdp_socket_close(struct xdp *x);

#endif
