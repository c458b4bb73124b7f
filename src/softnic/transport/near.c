/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of a WRITE between two queue pairs of one port.
 *
 * Most WRITEs in a process find nothing in flight, a peer that expects just their PSN, and host memory at both ends. What
 * the requester, the responder and the acknowledgement then do to the two queue pairs is known beforehand, so it is done
 * at once, in the same order: key, bytes, responder's state, requester's progress, CQE. No burst is built and none is
 * delivered. The WQE has been fetched, parsed and checked like any other. Whatever is not so plain, or is to be seen
 * underway (a tap, a capture, a fault plan), goes the long way, with nothing done.
 */
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"

enum { ECN_CE = 3 };

/* What arrive.c asks of each burst, for both directions of a connection. */
static bool are_connected(const struct sn_qp *a, const struct sn_qp *b)
{
    return a->attr.service == SN_SERVICE_RC && b->attr.service == SN_SERVICE_RC && a->params.remote_qpn == b->qpn &&
           b->params.remote_qpn == a->qpn && a->mtu == b->mtu && a->header.mtu == a->mtu &&
           memcmp(a->header.sgid, b->params.path.dgid, 16) == 0 && memcmp(b->header.sgid, a->params.path.dgid, 16) == 0 &&
           sn_port_find_peer(a->port, b->params.path.dgid, a->qpn) == a->nic;
}

static struct sn_qp *find(struct sn_qp *qp)
{
    struct sn_nic *nic = sn_port_find_peer(qp->port, qp->params.path.dgid, qp->params.remote_qpn);
    struct sn_qp *other = nic == NULL ? NULL : sn_qp_find(nic, qp->params.remote_qpn);

    if (other == NULL || other == qp || (qp->header.tclass & 3) == ECN_CE || !are_connected(qp, other))
        return NULL;
    return other;
}

static struct sn_qp *near_of(struct sn_qp *qp)
{
    if (qp->near_generation != qp->port->topology) {
        qp->near = find(qp);
        qp->near_generation = qp->port->topology;
    }
    return qp->near;
}

static bool is_watched(const struct sn_port *port)
{
    return port->faults != NULL || port->tap != NULL || port->capture != NULL;
}

/* Is `e` all that is in flight? */
static bool is_alone(const struct sn_tx *tx, const struct sn_entry *e)
{
    return tx->head == tx->next && tx->tail == tx->next + 1 && tx->una == e->psn && e->sent == 0;
}

/* Does the responder wait for just this PSN, with nothing begun and nothing owed? */
static bool is_ready(const struct sn_qp *qp, const struct sn_entry *e)
{
    const struct sn_rx *rx = &qp->rx;

    if (qp->state == SN_QP_RTR && !qp->established)
        return false; /* its first packet is an event: arrive.c */
    return sn_state_receives(qp->state) && qp->params.rwe && rx->epsn == e->psn && rx->kind == SN_KIND_COUNT &&
           rx->rd_next == rx->rd_tail && qp->rx_first == NULL && !rx->nak_sent && !rx->ack_due && !rx->refused;
}

static void copy_pieces(struct sn_qp *qp, const struct sn_entry *e, uint8_t *to)
{
    struct sn_piece piece;

    for (uint32_t seg = e->w.data_seg; seg < e->w.ds; seg = piece.next) {
        if (sn_wqe_piece(e->raw, seg, e->w.ds, &piece) != SN_FAULT_NONE)
            return; /* cannot be: checked when it was fetched, and so were the keys, of which none has gone since */
        if (piece.is_inline)
            sn_dma_copy(to, e->raw + piece.addr, piece.length);
        else if (piece.length != 0)
            sn_dma_copy(to, sn_mkey_at(sn_qp_key(qp, &qp->lkey_cache, piece.lkey), piece.addr), piece.length);
        to += piece.length;
    }
}

/* The request and its acknowledgement. */
static void count(struct sn_counters *from, struct sn_counters *to, uint32_t packets, uint32_t bytes)
{
    from->tx_packets += packets;
    from->tx_bytes += bytes;
    from->rx_packets++;
    to->rx_packets += packets;
    to->rx_bytes += bytes;
    to->tx_packets++;
    to->rx_write_requests++;
}

static void responded(struct sn_qp *qp, uint32_t packets)
{
    qp->rx.epsn = sn_psn_add(qp->rx.epsn, packets);
    qp->rx.msn = (qp->rx.msn + 1) & SN_PSN_MASK;
    qp->rx.unacked = 0;
}

static void acknowledged(struct sn_qp *qp, struct sn_entry *e)
{
    e->sent = e->packets;
    qp->tx.next++;
    qp->tx.high = qp->tx.psn;
    qp->tx.unasked = 0;
    sn_rc_progress(qp, qp->tx.psn);
    sn_rc_complete(qp);
}

bool sn_near_write(struct sn_qp *qp, struct sn_entry *e, uint32_t *bytes)
{
    struct sn_qp *other = near_of(qp);
    uint32_t length = e->w.length;

    if (other == NULL || is_watched(qp->port) || qp->state != SN_QP_RTS || !is_alone(&qp->tx, e) || !is_ready(other, e))
        return false;
    if (!e->host || e->keys != qp->nic->key_generation) /* a fence or a retry may lie between; the long way looks again */
        return false;
    if (e->syndrome != 0 || e->w.has_imm || length > qp->port->burst_bytes)
        return false;
    if (length != 0) {
        struct sn_mkey *key = sn_qp_key(other, &other->rkey_cache, e->w.rkey);
        if (sn_mkey_check(key, other->attr.pdn, SN_ACCESS_REMOTE_WRITE, e->w.raddr, length) != SN_FAULT_NONE ||
            key->space != SN_SPACE_HOST)
            return false;
        copy_pieces(qp, e, sn_mkey_at(key, e->w.raddr));
    }
    *bytes += length;
    qp->port->effort += length >> 4; /* 16 bytes a ns */
    count(&qp->nic->counters, &other->nic->counters, e->packets, length);
    responded(other, e->packets);
    acknowledged(qp, e);
    return true;
}
