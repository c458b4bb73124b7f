/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of small messages between two processes, over a wire that takes them (`send_short`): a plain WRITE of
 * up to 8 bytes, and an acknowledgement. What transport/near.c is inside a port, each end here is for itself: the same
 * fields are looked at and the same ones change as on the long way, but no burst is built of the message and none is
 * taken apart. Anything else, and everything while a capture or a fault plan looks on, goes the long way, with nothing
 * done. tests/softnic/far_test.c compares what both leave behind.
 */
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"
#include "softnic/queue/cq.h"
#include "softnic/transport/plain.h"

_Static_assert(SN_SHORT_BYTES == sizeof(((struct sn_short *)0)->word), "the payload is one word");

static bool is_far(struct sn_qp *qp)
{
    struct sn_port *port = qp->port;

    if (qp->far_generation != port->topology) {
        qp->far = qp->attr.service == SN_SERVICE_RC && port->wire != NULL && port->wire->ops->send_short != NULL &&
                  sn_port_find_peer(port, qp->params.path.dgid, qp->params.remote_qpn) == NULL;
        if (qp->far) { /* retry.c asks whether the peer is behind the wire */
            qp->peer = NULL;
            qp->route_generation = port->topology;
        }
        qp->route = (struct sn_route){0};
        qp->far_generation = port->topology;
    }
    return qp->far && !sn_port_is_watched(port);
}

static bool send(struct sn_qp *qp, const struct sn_short *m)
{
    struct sn_wire *wire = qp->port->wire;

    if (!wire->ops->send_short(wire, &qp->header, &qp->route, m))
        return false;
    qp->nic->counters.tx_packets++;
    qp->nic->counters.tx_bytes += m->length;
    return true;
}

/* ---- requester --------------------------------------------------------------------------------------------------- */

static uint64_t payload(const struct sn_plain *w)
{
    uint64_t word = 0;
    uint8_t *at = (uint8_t *)&word;

    if (w->pieces == 1 && w->length == sizeof(word)) {
        sn_dma_read(at, w->piece[0].from, sizeof(word));
        return word;
    }
    for (unsigned i = 0; i < w->pieces; i++) {
        sn_dma_read(at, w->piece[i].from, w->piece[i].length);
        at += w->piece[i].length;
    }
    return word;
}

static bool is_solicited(const struct sn_entry *e)
{
    return (((const struct sn_ctrl_seg *)(const void *)e->small)->fm_ce_se & SN_WQE_SOLICITED) != 0;
}

/* The entry as it is when all of it has been sent: a retransmission may need it. */
static void remember(struct sn_qp *qp, struct sn_entry *e, const struct sn_plain *w)
{
    const struct sn_ctrl_seg *ctrl = (const struct sn_ctrl_seg *)(const void *)e->small;

    e->w.op = SN_OP_WRITE;
    e->w.opcode = SN_OPCODE_RDMA_WRITE;
    e->w.ds = sn_ctrl_ds(ctrl);
    e->w.blocks = 1;
    e->w.fence = SN_FENCE_NONE;
    e->w.ce = w->ce;
    e->w.solicited = is_solicited(e);
    e->w.has_imm = e->w.invalidate = e->w.masked = e->w.atomic_size = 0;
    e->w.data_seg = 2;
    e->w.has_inline = w->has_inline;
    e->w.index = qp->sq.fetched;
    e->w.length = w->length;
    e->w.imm = ctrl->imm;
    e->w.rkey = w->rkey;
    e->w.raddr = w->raddr;
    e->psn = qp->tx.psn;
    e->packets = e->sent = 1;
    e->arrived = 0;
    e->local = e->done = e->issued = false;
    e->syndrome = e->vendor = 0;
}

/* Could one more be sent, and does nothing else wait to be? A responder must be able to tell old PSNs from new ones. */
static bool is_free(const struct sn_qp *qp)
{
    const struct sn_tx *tx = &qp->tx;

    return qp->state == SN_QP_RTS && !tx->stop && tx->tail - tx->head <= tx->mask && !qp->sq.gpu_ring &&
           ((tx->psn - tx->una) & SN_PSN_MASK) + 1 < 1u << 23;
}

bool sn_far_write(struct sn_qp *qp, uint32_t *bytes)
{
    struct sn_tx *tx = &qp->tx;
    struct sn_entry *e = sn_tx_at(qp, tx->tail);
    struct sn_plain w;

    if (!is_far(qp) || !is_free(qp) || !sn_sq_look(qp))
        return false;
    e->raw = (uint8_t *)e->small;
    sn_fetch(e->small, qp->sq.ring + (qp->sq.fetched & (qp->sq.blocks - 1)) * SN_WQE_BB, SN_WQE_BB);
    if (!sn_plain_read(qp, e->raw, &w) || w.length > SN_SHORT_BYTES)
        return false;
    const struct sn_short m = {.kind = SN_KIND_WRITE,
                               .flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ |
                                        (is_solicited(e) ? SN_BURST_SOLICITED : 0),
                               .mtu = qp->header.mtu,
                               .dqpn = qp->header.dqpn,
                               .sqpn = qp->header.sqpn,
                               .psn = tx->psn,
                               .npackets = 1,
                               .length = w.length,
                               .va = w.raddr,
                               .rkey = w.rkey,
                               .dmalen = w.length,
                               .word = payload(&w)};
    if (!send(qp, &m))
        return false;
    remember(qp, e, &w); /* while it is on its way */
    tx->psn = sn_psn_add(tx->psn, 1);
    tx->high = tx->psn; /* nothing waits to be sent again, so this is the furthest */
    tx->unasked = 0;
    tx->next = ++tx->tail;
    sn_sq_advance(qp, 1);
    *bytes += w.length;
    return true;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

bool sn_far_acknowledge(struct sn_qp *qp)
{
    if (!is_far(qp))
        return false;
    const struct sn_short m = {.kind = SN_KIND_ACK,
                               .flags = SN_BURST_FIRST | SN_BURST_LAST,
                               .syndrome = qp->rx.ack_syndrome,
                               .mtu = qp->header.mtu,
                               .dqpn = qp->header.dqpn,
                               .sqpn = qp->header.sqpn,
                               .psn = qp->rx.ack_psn,
                               .npackets = 1,
                               .msn = qp->rx.ack_msn};
    return send(qp, &m);
}

static bool place(struct sn_qp *qp, const struct sn_short *m)
{
    struct sn_mkey *key;

    if (m->length == 0)
        return true;
    key = sn_qp_key(qp, &qp->rkey_cache, m->rkey);
    if (sn_mkey_check(key, qp->attr.pdn, SN_ACCESS_REMOTE_WRITE, m->va, m->length) != SN_FAULT_NONE ||
        key->space != SN_SPACE_HOST)
        return false;
    if (m->length == sizeof(m->word))
        sn_dma_copy(sn_mkey_at(key, m->va), &m->word, sizeof(m->word));
    else
        sn_dma_copy(sn_mkey_at(key, m->va), &m->word, m->length);
    return true;
}

/* What comes alone is answered before anything else is done; one acknowledgement for several in a row leaves later. */
static void answer(struct sn_qp *qp, uint32_t psn)
{
    if (qp->port->answers_now && !qp->on_ack_list && !qp->rx.ack_due) {
        qp->rx.unacked = 0;
        qp->rx.ack_syndrome = SN_AETH_ACK;
        qp->rx.ack_psn = psn;
        qp->rx.ack_msn = qp->rx.msn;
        if (sn_far_acknowledge(qp))
            return;
    }
    sn_rc_ack_due(qp, SN_AETH_ACK, psn);
}

static bool take_write(struct sn_qp *qp, const struct sn_short *m)
{
    if (!sn_plain_expects(qp, m->psn) || m->dmalen != m->length || !place(qp, m))
        return false;
    qp->rx.msn = (qp->rx.msn + 1) & SN_PSN_MASK;
    answer(qp, m->psn);
    qp->rx.epsn = sn_psn_add(m->psn, 1);
    qp->nic->counters.rx_packets++;
    qp->nic->counters.rx_bytes += m->length;
    qp->nic->counters.rx_write_requests++;
    return true;
}

/*
 * The only message in flight is acknowledged, and is a WRITE or SEND that has gone well: what sn_rc_acknowledged would
 * find out and do, the CQE first. False: nothing is done.
 */
static bool end_lone(struct sn_qp *qp, uint32_t psn)
{
    struct sn_tx *tx = &qp->tx;
    const struct sn_entry *e;

    if (tx->tail - tx->head != 1) /* a queue pair that has never sent has no table */
        return false;
    e = sn_tx_at(qp, tx->head);
    if (tx->next != tx->tail || sn_psn_add(psn, 1) != tx->psn || tx->high != tx->psn || tx->una == tx->psn ||
        tx->reads != 0 || e->local || e->syndrome != 0 || e->w.op < SN_OP_SEND || e->w.op > SN_OP_WRITE)
        return false;
    if (e->w.ce >= SN_CE_ALWAYS) {
        if (!sn_cq_takes(qp->send_cq))
            return false;
        sn_cq_write_sent(qp, e->w.opcode, e->w.index);
    }
    sn_rc_progress(qp, tx->psn);
    tx->head++;
    sn_rc_popped(qp);
    return true;
}

static bool take_acknowledgement(struct sn_qp *qp, const struct sn_short *m)
{
    if (qp->state != SN_QP_RTS || qp->rx_first != NULL || !sn_aeth_is_ack(m->syndrome) || m->psn > SN_PSN_MASK)
        return false;
    if (!end_lone(qp, m->psn))
        sn_rc_acknowledged(qp, m->psn, m->syndrome);
    qp->nic->counters.rx_packets++;
    return true;
}

static bool is_from(const struct sn_qp *qp, const uint8_t sgid[16])
{
    uint64_t a[2], b[2];

    memcpy(a, sgid, 16);
    memcpy(b, qp->params.path.dgid, 16);
    return a[0] == b[0] && a[1] == b[1];
}

/* Everything but where it comes from. */
static bool take(struct sn_qp *qp, const struct sn_short *m)
{
    const uint8_t plain = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ | SN_BURST_SOLICITED;

    if (qp->state < SN_QP_RTR || sn_port_is_watched(qp->port) || (m->mtu != 0 && m->mtu != qp->mtu) ||
        m->npackets != 1 || m->length > SN_SHORT_BYTES)
        return false;
    if (m->kind == SN_KIND_WRITE && (m->flags | SN_BURST_SOLICITED) == plain)
        return take_write(qp, m);
    return m->kind == SN_KIND_ACK && m->flags == (SN_BURST_FIRST | SN_BURST_LAST) && take_acknowledgement(qp, m);
}

bool sn_nic_receive_short(struct sn_nic *nic, const struct sn_short *m, const uint8_t sgid[16],
                          struct sn_origin *origin)
{
    struct sn_qp *qp = sn_qp_find(nic, m->dqpn);

    if (qp == NULL || qp->attr.service != SN_SERVICE_RC || (m->mtu != 0 && m->sqpn != qp->params.remote_qpn) ||
        !is_from(qp, sgid))
        return false;
    if (origin != NULL)
        *origin = (struct sn_origin){qp, nic->port->topology};
    return take(qp, m);
}

bool sn_port_receive_short(struct sn_port *port, const struct sn_short *m, const struct sn_origin *origin)
{
    return origin->qp != NULL && origin->topology == port->topology && take(origin->qp, m);
}
