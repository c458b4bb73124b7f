/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain WRITE: what the short ways (near.c, far.c) ask before they take it up. Everything is looked at, nothing is changed;
 * whatever is not so plain goes the long way.
 */
#ifndef SOFTNIC_TRANSPORT_PLAIN_H
#define SOFTNIC_TRANSPORT_PLAIN_H

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"

enum { SN_PLAIN_PIECES = 2 /* that one basic block can hold behind control and remote address */ };

static inline bool sn_port_is_watched(const struct sn_port *port)
{
    return port->faults != NULL || port->tap != NULL || port->capture != NULL;
}

/* Does the responder wait for just this PSN, with nothing begun, refused or owed, an acknowledgement apart? */
static inline bool sn_plain_expects(const struct sn_qp *qp, uint32_t psn)
{
    const struct sn_rx *rx = &qp->rx;

    if (qp->state == SN_QP_RTR && !qp->established)
        return false; /* its first packet is an event: arrive.c */
    return sn_state_receives(qp->state) && qp->params.rwe && rx->epsn == psn && rx->kind == SN_KIND_COUNT &&
           rx->rd_next == rx->rd_tail && qp->rx_first == NULL && !rx->nak_sent &&
           (!rx->ack_due || sn_aeth_is_ack(rx->ack_syndrome)) && !rx->refused;
}

struct sn_plain {
    uint64_t raddr;
    uint32_t rkey;
    uint32_t length, packets;
    uint8_t ce; /* enum sn_ce */
    bool has_inline;
    unsigned pieces;
    struct {
        const uint8_t *from;
        uint32_t length;
    } piece[SN_PLAIN_PIECES];
};

/* Where a piece's bytes are; NULL: the long way says what is wrong, or knows how to get at them. */
static inline const uint8_t *sn_plain_source(struct sn_qp *qp, const uint8_t *raw, const struct sn_piece *piece)
{
    const struct sn_mkey *key;

    if (piece->is_inline || piece->length == 0)
        return raw + (piece->is_inline ? piece->addr : 0);
    key = sn_qp_key(qp, &qp->lkey_cache, piece->lkey);
    if (sn_mkey_check(key, qp->attr.pdn, 0, piece->addr, piece->length) != SN_FAULT_NONE || key->space != SN_SPACE_HOST)
        return NULL;
    return sn_mkey_at(key, piece->addr);
}

static inline bool sn_plain_gather(struct sn_qp *qp, const uint8_t *raw, uint32_t ds, struct sn_plain *w)
{
    struct sn_piece piece;
    uint64_t length = 0;

    w->pieces = 0;
    w->has_inline = false;
    for (uint32_t seg = 2; seg < ds; seg = piece.next) {
        if (sn_wqe_piece(raw, seg, ds, &piece) != SN_FAULT_NONE)
            return false;
        w->piece[w->pieces].from = sn_plain_source(qp, raw, &piece);
        w->piece[w->pieces].length = piece.length;
        if (w->piece[w->pieces++].from == NULL)
            return false;
        w->has_inline |= piece.is_inline;
        length += piece.length;
    }
    w->length = (uint32_t)length;
    return length <= qp->port->burst_bytes && length <= sn_qp_max_message(qp);
}

/* `raw` has to be the WQE that is due, a WRITE without anything special in one basic block, of host memory. */
static inline bool sn_plain_read(struct sn_qp *qp, const uint8_t *raw, struct sn_plain *w)
{
    const struct sn_ctrl_seg *ctrl = (const struct sn_ctrl_seg *)(const void *)raw;
    const struct sn_raddr_seg *remote = (const struct sn_raddr_seg *)(const void *)(raw + SN_WQE_SEG);
    uint32_t identity = (uint32_t)qp->sq.fetched << 8 | SN_OPCODE_RDMA_WRITE, ds = sn_ctrl_ds(ctrl);

    if (sn_get32(ctrl->opmod_idx_opcode) != identity || sn_get32(ctrl->qpn_ds) >> 8 != qp->qpn || ds < 2 ||
        ds > 2 + SN_PLAIN_PIECES || ctrl->fm_ce_se >> 5 != SN_FENCE_NONE)
        return false;
    w->ce = (ctrl->fm_ce_se >> 2) & 3;
    w->raddr = sn_get64(remote->raddr);
    w->rkey = sn_get32(remote->rkey);
    if (!sn_plain_gather(qp, raw, ds, w))
        return false;
    w->packets = sn_mtu_packets(w->length, qp->mtu);
    return true;
}

#endif
