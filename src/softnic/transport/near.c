/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of a WRITE between two queue pairs of one port.
 *
 * Most WRITEs in a process find nothing in flight, a peer that expects just their PSN, and host memory at both ends. What
 * the requester, the responder and the acknowledgement then do to the two queue pairs is known beforehand, so it is done
 * at once, from the WQE in the ring to the CQE: key, bytes, responder's state, requester's progress, CQE. No entry is taken,
 * no burst is built and none is delivered. The WQE is copied once and every field is checked, as always. Whatever is not so
 * plain, is wrong, or is to be seen underway (a tap, a capture, a fault plan) goes the long way, with nothing done.
 */
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"
#include "softnic/queue/cq.h"

enum {
    ECN_CE = 3,
    PIECES = 2, /* that one basic block can hold behind control and remote address */
};

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

/* May it send, with nothing in flight, nothing fetched and nobody to tell when it has drained? */
static bool is_idle(const struct sn_qp *qp)
{
    const struct sn_tx *tx = &qp->tx;

    return qp->state == SN_QP_RTS && tx->head == tx->tail && tx->una == tx->psn && !tx->stop && !qp->tell_drained &&
           !qp->sq.gpu_ring;
}

/* Does the responder wait for just this PSN, with nothing begun and nothing owed? */
static bool is_ready(const struct sn_qp *qp, uint32_t psn)
{
    const struct sn_rx *rx = &qp->rx;

    if (qp->state == SN_QP_RTR && !qp->established)
        return false; /* its first packet is an event: arrive.c */
    return sn_state_receives(qp->state) && qp->params.rwe && rx->epsn == psn && rx->kind == SN_KIND_COUNT &&
           rx->rd_next == rx->rd_tail && qp->rx_first == NULL && !rx->nak_sent && !rx->ack_due && !rx->refused;
}

/* Is there nothing to decide about a CQE but where it goes? A full ring is looked at again by queue/cq.c. */
static bool takes_cqe(const struct sn_cq *cq)
{
    return !cq->failed && !cq->gpu && !cq->attr.timestamps &&
           (cq->overrun_ignore || cq->assigned - cq->consumer <= cq->mask);
}

/* ---- the WQE ---------------------------------------------------------------------------------------------------- */

struct plain_write {
    uint64_t raddr;
    uint32_t rkey;
    uint32_t length, packets;
    uint8_t ce; /* enum sn_ce */
    unsigned pieces;
    struct {
        const uint8_t *from;
        uint32_t length;
    } piece[PIECES];
};

/* Where a piece's bytes are; NULL: the long way says what is wrong, or knows how to get at them. */
static const uint8_t *source(struct sn_qp *qp, const uint8_t *raw, const struct sn_piece *piece)
{
    const struct sn_mkey *key;

    if (piece->is_inline || piece->length == 0)
        return raw + (piece->is_inline ? piece->addr : 0);
    key = sn_qp_key(qp, &qp->lkey_cache, piece->lkey);
    if (sn_mkey_check(key, qp->attr.pdn, 0, piece->addr, piece->length) != SN_FAULT_NONE || key->space != SN_SPACE_HOST)
        return NULL;
    return sn_mkey_at(key, piece->addr);
}

static bool gather(struct sn_qp *qp, const uint8_t *raw, uint32_t ds, struct plain_write *w)
{
    struct sn_piece piece;
    uint64_t length = 0;

    w->pieces = 0;
    for (uint32_t seg = 2; seg < ds; seg = piece.next) {
        if (sn_wqe_piece(raw, seg, ds, &piece) != SN_FAULT_NONE)
            return false;
        w->piece[w->pieces].from = source(qp, raw, &piece);
        w->piece[w->pieces].length = piece.length;
        if (w->piece[w->pieces++].from == NULL)
            return false;
        length += piece.length;
    }
    w->length = (uint32_t)length;
    return length <= qp->port->burst_bytes && length <= sn_qp_max_message(qp);
}

/* `raw` has to be the WQE that is due, a WRITE without anything special in one basic block, of host memory. */
static bool read_wqe(struct sn_qp *qp, const uint8_t *raw, struct plain_write *w)
{
    const struct sn_ctrl_seg *ctrl = (const struct sn_ctrl_seg *)(const void *)raw;
    const struct sn_raddr_seg *remote = (const struct sn_raddr_seg *)(const void *)(raw + SN_WQE_SEG);
    uint32_t identity = (uint32_t)qp->sq.fetched << 8 | SN_OPCODE_RDMA_WRITE, ds = sn_ctrl_ds(ctrl);

    if (sn_get32(ctrl->opmod_idx_opcode) != identity || sn_get32(ctrl->qpn_ds) >> 8 != qp->qpn || ds < 2 ||
        ds > 2 + PIECES || ctrl->fm_ce_se >> 5 != SN_FENCE_NONE)
        return false;
    w->ce = (ctrl->fm_ce_se >> 2) & 3;
    w->raddr = sn_get64(remote->raddr);
    w->rkey = sn_get32(remote->rkey);
    if (!gather(qp, raw, ds, w))
        return false;
    w->packets = sn_mtu_packets(w->length, qp->mtu);
    return true;
}

/* ---- all of it at once ------------------------------------------------------------------------------------------- */

static bool place(struct sn_qp *qp, const struct plain_write *w)
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

static void complete(struct sn_qp *qp, uint16_t index)
{
    struct sn_cq *cq = qp->send_cq;
    const struct sn_cqe_info info = {.cqe_opcode = SN_CQE_REQ,
                                     .wqe_opcode = SN_OPCODE_RDMA_WRITE,
                                     .wqe_counter = index,
                                     .qpn = qp->qpn,
                                     .user_index = qp->attr.user_index,
                                     .timestamp = qp->port->now_ns};
    struct sn_cqe64 cqe;

    sn_cqe_build(&info, sn_cqe_owner(cq->assigned, cq->log_size), &cqe);
    sn_cq_write(cq, &cqe);
}

bool sn_near_write(struct sn_qp *qp, uint32_t *bytes)
{
    struct sn_qp *other = near_of(qp);
    struct plain_write w;
    uint64_t raw[SN_WQE_BB / 8];

    if (other == NULL || is_watched(qp->port) || !is_idle(qp) || !is_ready(other, qp->tx.psn) ||
        !takes_cqe(qp->send_cq) || !sn_sq_look(qp))
        return false;
    sn_fetch(raw, qp->sq.ring + (qp->sq.fetched & (qp->sq.blocks - 1)) * SN_WQE_BB, SN_WQE_BB);
    if (!read_wqe(qp, (const uint8_t *)raw, &w) || (w.length != 0 && !place(other, &w)))
        return false;
    *bytes += w.length;
    qp->port->effort += w.length >> 4; /* 16 bytes a ns */
    count(&qp->nic->counters, &other->nic->counters, w.packets, w.length);
    responded(other, w.packets);
    acknowledged(qp, w.packets);
    uint16_t index = qp->sq.fetched;
    sn_sq_advance(qp, 1);
    if (w.ce >= SN_CE_ALWAYS)
        complete(qp, index);
    return true;
}
