/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the responders of both connected services do with a SEND or WRITE whose PSN has been accepted: the state of the
 * message in progress, the receive WQE, where the bytes go. Refusing is the caller's: RC answers, UC is silent.
 */
#ifndef SOFTNIC_TRANSPORT_MESSAGE_H
#define SOFTNIC_TRANSPORT_MESSAGE_H

#include "softnic/engine.h"

/* A burst against the message that it belongs to. */
struct sn_arrival {
    uint32_t skip;  /* packets that came before: a retransmission that begins earlier than needed */
    uint32_t bytes; /* of payload that are new */
    uint64_t va;    /* WRITE: of the first new byte */
    uint32_t rkey, left, placed, total;
};

static inline bool sn_is_data(const struct sn_burst *b)
{
    return b->kind == SN_KIND_SEND || b->kind == SN_KIND_WRITE;
}

/* Lengths and flags that a packet of this kind cannot have: false. Looks at no message. */
bool sn_message_packets_fit(const struct sn_qp *qp, const struct sn_burst *b);
/* First comes first, middle and last belong to what is in progress (9.7.4.1.2). */
bool sn_message_order_fits(const struct sn_qp *qp, const struct sn_burst *b);
void sn_message_begin(const struct sn_qp *qp, const struct sn_burst *b, uint32_t skip, struct sn_arrival *a);
/* WRITE: as much as its RETH said, no more before the end; SEND: within the device's limit. */
bool sn_message_length_fits(const struct sn_burst *b, const struct sn_arrival *a);
bool sn_message_takes_wqe(const struct sn_burst *b);
/* A receive WQE for the message, unless it has one. 0; -EAGAIN none posted; -ENOENT no receive queue; -EIO. */
int sn_message_take_wqe(struct sn_qp *qp);

/* Checks and places what is new. False: on its way, the burst comes again. *fault says what was wrong, then all is untouched. */
bool sn_message_place(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a, enum sn_fault *fault);

/* The burst is done with: the message goes on, or ends in its CQE if it has one. The expected PSN is the caller's. */
void sn_message_commit(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a);

/* Scatters `length` bytes from offset `placed` of the receive WQE on; p NULL: only checks. */
enum sn_fault sn_message_scatter(struct sn_qp *qp, uint32_t placed, uint32_t length, struct sn_placing *p);

#endif
