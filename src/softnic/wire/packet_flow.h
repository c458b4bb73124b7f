/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a queue pair may be under way on a wire that drops what its receiver's buffer has no room for. RoCE
 * itself has no window; on Ethernet pause frames do this.
 *
 * The acknowledgements that arrive tell how far the peer is. A burst that would go beyond the window waits; there is
 * always an acknowledgement due then, since the last packet of every burst asks for one. A burst from before what was
 * sent last, or of another epoch, means that the transport went back or began anew, so nothing is under way any more.
 * READs and atomics take PSNs and are not counted: once all that is counted has been acknowledged, the window begins at
 * the next burst, wherever that is.
 */
#ifndef SOFTNIC_WIRE_PACKET_FLOW_H
#define SOFTNIC_WIRE_PACKET_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/wire/burst.h"

enum { SN_FLOWS = 1024 };

struct sn_flows {
    struct sn_flow {
        uint32_t qpn; /* 0: free */
        uint32_t acked, next; /* first PSN not acknowledged, first not sent; equal: nothing is under way */
        uint8_t epoch;
    } flow[SN_FLOWS]; /* by the QP number; two that collide take turns, and lose no more than the window */
};

/* May this burst leave, with at most `window` bytes under way? */
bool sn_flow_may_send(struct sn_flows *f, const struct sn_burst *burst, uint32_t window);

/* The same of a message with this addressing (sender, epoch, path MTU) that begins at `psn`. */
bool sn_flow_has_room(struct sn_flows *f, const struct sn_burst *header, uint32_t psn, uint32_t length, uint32_t window);

/* It left. */
void sn_flow_sent(struct sn_flows *f, const struct sn_burst *burst);
void sn_flow_sent_psns(struct sn_flows *f, uint32_t sqpn, uint32_t psn, uint32_t npackets);

/* A packet arrived, for the queue pair `dqpn` here. */
void sn_flow_arrived(struct sn_flows *f, const struct sn_burst *packet);
/* For that queue pair, everything before `psn` has been acknowledged. */
void sn_flow_acknowledged(struct sn_flows *f, uint32_t dqpn, uint32_t psn);

/* True for what the window is about: WRITE and SEND of a reliable connection. */
bool sn_flow_counts(const struct sn_burst *burst);

#endif
