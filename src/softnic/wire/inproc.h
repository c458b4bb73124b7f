/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery between NICs of one port: a plain queue of bursts. Payload is not copied here; the responder copies it from
 * the requester's memory, which stays pinned until the acknowledgement. The queue is empty between turns.
 */
#ifndef SOFTNIC_WIRE_INPROC_H
#define SOFTNIC_WIRE_INPROC_H

#include "softnic/wire/burst.h"

struct sn_nic;
struct sn_port;

enum { SN_INPROC_SLOTS = 64, SN_INPROC_REQUESTS = 40 /* the others are kept for answers */ };

struct sn_inproc {
    uint32_t head, tail;
    struct sn_inproc_slot {
        struct sn_burst *burst; /* made when one is needed for the first time: most ports need few */
        struct sn_nic *to;
    } slot[SN_INPROC_SLOTS];
};

void sn_inproc_destroy(struct sn_inproc *q);
/* A slot to build a burst in; NULL: full. It is not queued before sn_inproc_push. */
struct sn_burst *sn_inproc_slot(struct sn_inproc *q, int request);
void sn_inproc_push(struct sn_inproc *q, struct sn_nic *to);
/* Delivers everything, answers to answers included. Returns how many. */
unsigned sn_inproc_drain(struct sn_port *port);

#endif
