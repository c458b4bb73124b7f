/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of a WRITE between two queue pairs of one port.
 *
 * Most WRITEs in a process find nothing in flight, a peer that expects just their PSN, and host memory at both ends. What
 * the requester, the responder and the acknowledgement then do to the two queue pairs is known beforehand, so it is done
 * at once, from the WQE in the ring to the CQE: key, bytes, responder's state, requester's progress, CQE. No entry is taken,
 * no burst is built and none is delivered. The WQE is copied once and every field is checked, as always. Whatever is not so
 * plain, is wrong, or is to be seen underway (a tap, a capture, a fault plan) goes the long way, with nothing done.
 * It is as if the acknowledgement took no time: what waits for it (WAIT) leaves that much earlier, in vain if the peer refuses
 * something before it. Counters of what was sent tell of that; nothing else does.
 */
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"
#include "softnic/queue/cq.h"
#include "softnic/transport/plain.h"

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

/* May it send, with nothing in flight, nothing fetched and nobody to tell when it has drained? */
static bool is_idle(const struct sn_qp *qp)
{
    const struct sn_tx *tx = &qp->tx;

    return qp->state == SN_QP_RTS && tx->head == tx->tail && tx->una == tx->psn && !tx->stop && !qp->tell_drained &&
           !qp->sq.gpu_ring;
}

/* ---- all of it at once ------------------------------------------------------------------------------------------- */

static bool place(struct sn_qp *qp, const struct sn_plain *w)
{
    struct sn_mkey *key = sn_qp_key(qp, &qp->rkey_cache, w->rkey);
    uint8_t *to;

    if (sn_mkey_check(key, qp->attr.pdn, SN_ACCESS_REMOTE_WRITE, w->raddr, w->length) != SN_FAULT_NONE ||
        key->space != SN_SPACE_HOST)
        return false;
    to = sn_mkey_at(key, w->raddr);
    for (unsigned i = 0; i < w->pieces; i++) {
        sn_dma_copy(to, w->piece[i].from, w->piece[i].length);
        to += w->piece[i].length;
    }
    return true;
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

static void acknowledged(struct sn_qp *qp, uint32_t packets)
{
    struct sn_tx *tx = &qp->tx;

    tx->psn = tx->high = sn_psn_add(tx->psn, packets);
    tx->unasked = 0;
    sn_rc_progress(qp, tx->psn);
}

bool sn_near_write(struct sn_qp *qp, uint32_t *bytes)
{
    struct sn_qp *other = near_of(qp);
    struct sn_plain w;
    uint64_t raw[SN_WQE_BB / 8];

    if (other == NULL || sn_port_is_watched(qp->port) || !is_idle(qp) || !sn_plain_expects(other, qp->tx.psn) || other->rx.ack_due ||
        !sn_cq_takes(qp->send_cq) || !sn_sq_look(qp))
        return false;
    sn_fetch(raw, qp->sq.ring + (qp->sq.fetched & (qp->sq.blocks - 1)) * SN_WQE_BB, SN_WQE_BB);
    if (!sn_plain_read(qp, (const uint8_t *)raw, &w) || (w.length != 0 && !place(other, &w)))
        return false;
    *bytes += w.length;
    qp->port->effort += w.length >> 4; /* 16 bytes a ns */
    count(&qp->nic->counters, &other->nic->counters, w.packets, w.length);
    responded(other, w.packets);
    acknowledged(qp, w.packets);
    uint16_t index = qp->sq.fetched;
    sn_sq_advance(qp, 1);
    if (w.ce >= SN_CE_ALWAYS)
        sn_cq_write_sent(qp, SN_OPCODE_RDMA_WRITE, index);
    return true;
}
