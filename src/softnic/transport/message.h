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

/* First and middle packets are full; a last one has at least a byte, an only one need not (9.7.4.1.6, 9.8.2.2). */
static inline bool sn_message_packets_fit(const struct sn_qp *qp, const struct sn_burst *b)
{
    bool last = b->flags & SN_BURST_LAST;

    if (b->npackets != sn_mtu_packets(b->length, qp->mtu) || (b->length == 0 && !(b->flags & SN_BURST_FIRST)))
        return false;
    if ((b->flags & (SN_BURST_IMM | SN_BURST_INVALIDATE)) && !last)
        return false;
    if ((b->flags & SN_BURST_INVALIDATE) && (b->kind != SN_KIND_SEND || (b->flags & SN_BURST_IMM)))
        return false;
    return last || (b->length != 0 && b->length == b->npackets << (7 + qp->mtu));
}

/* First comes first, middle and last belong to what is in progress (9.7.4.1). */
static inline bool sn_message_order_fits(const struct sn_qp *qp, const struct sn_burst *b)
{
    return qp->rx.kind == (b->flags & SN_BURST_FIRST ? SN_KIND_COUNT : b->kind);
}

/* The state of the message as it will be after this burst, from the burst or from what is in progress. */
static inline void sn_message_begin(const struct sn_qp *qp, const struct sn_burst *b, uint32_t skip, struct sn_arrival *a)
{
    a->skip = skip;
    a->bytes = b->length - (skip << (7 + qp->mtu));
    if (qp->rx.kind != SN_KIND_COUNT) {
        a->va = qp->rx.va;
        a->rkey = qp->rx.rkey;
        a->left = qp->rx.left;
        a->placed = qp->rx.placed;
        a->total = qp->rx.total;
    } else {
        a->va = b->va;
        a->rkey = b->rkey;
        a->left = b->dmalen;
        a->placed = 0;
        a->total = b->dmalen;
    }
}

/* WRITE: as much as its RETH said, no more before the end; SEND: within the device's limit. */
static inline bool sn_message_length_fits(const struct sn_burst *b, const struct sn_arrival *a)
{
    if (b->kind == SN_KIND_SEND)
        return (uint64_t)a->placed + a->bytes <= SN_MESSAGE_MAX;
    if (a->total > SN_MESSAGE_MAX)
        return false;
    return b->flags & SN_BURST_LAST ? a->bytes == a->left : a->bytes < a->left;
}

static inline bool sn_message_takes_wqe(const struct sn_burst *b)
{
    return b->kind == SN_KIND_SEND || ((b->flags & SN_BURST_IMM) && (b->flags & SN_BURST_LAST));
}

/* A receive WQE for the message, unless it has one. 0; -EAGAIN none posted; -ENOENT no receive queue; -EIO. */
int sn_message_take_wqe(struct sn_qp *qp);

/*
 * Checks and places what is new. False: on its way, the burst comes again. *fault: what was wrong; nothing is touched then.
 */
bool sn_message_place(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a, enum sn_fault *fault);

/* The burst is done with: the message goes on, or ends in its CQE if it has one. The expected PSN is the caller's. */
void sn_message_commit(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a);

/* Scatters `length` bytes from offset `placed` of the receive WQE on; p NULL: only checks. */
enum sn_fault sn_message_scatter(struct sn_qp *qp, uint32_t placed, uint32_t length, struct sn_placing *p);

#endif
