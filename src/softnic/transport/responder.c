/* SPDX-License-Identifier: Apache-2.0 */
/* The responder of a reliable connection: SEND and WRITE, acknowledgements and refusals (IBTA vol. 1, 9.7.4, 9.7.5). */
#include "softnic/engine.h"
#include "softnic/exec/state.h"

/* ---- acknowledgements ---------------------------------------------------------------------------------------- */

/* One answer a QP and pass: a later acknowledgement covers the earlier ones (9.7.5.1.2). */
void sn_rc_ack_due(struct sn_qp *qp, uint8_t syndrome, uint32_t psn)
{
    if (qp->rx.ack_due && !sn_aeth_is_ack(qp->rx.ack_syndrome) && sn_aeth_is_ack(syndrome))
        return; /* a refusal that has not left yet says more */
    qp->rx.ack_due = true;
    qp->rx.ack_syndrome = syndrome;
    qp->rx.ack_psn = psn;
    if (qp->on_ack_list)
        return;
    qp->on_ack_list = true;
    qp->ack_next = qp->port->ack_first;
    qp->port->ack_first = qp;
}

static bool send_ack(struct sn_qp *qp)
{
    struct sn_burst *b = sn_port_burst(qp, false);

    if (b == NULL)
        return false;
    b->kind = SN_KIND_ACK;
    b->flags = SN_BURST_FIRST | SN_BURST_LAST;
    b->psn = qp->rx.ack_psn;
    b->npackets = 1;
    b->syndrome = qp->rx.ack_syndrome;
    b->msn = qp->rx.msn;
    b->length = 0;
    b->iov_count = 0;
    if (sn_port_send(qp, b) == SN_SENT_FULL)
        return false;
    qp->rx.ack_due = false;
    return true;
}

/* Answers leave in order: an acknowledgement stays behind read responses that are still due. */
void sn_rc_send_acks(struct sn_port *port)
{
    struct sn_qp *qp = port->ack_first;

    port->ack_first = NULL;
    while (qp != NULL) {
        struct sn_qp *next = qp->ack_next;
        qp->on_ack_list = false;
        if (qp->rx.ack_due && qp->rx.rd_next == qp->rx.rd_tail && !send_ack(qp))
            sn_qp_activate(qp);
        qp = next;
    }
}

/* Asks for the expected PSN, or to wait; then nothing more until it comes (9.7.5.1.3). */
void sn_rc_nak(struct sn_qp *qp, uint8_t syndrome)
{
    if (qp->rx.nak_sent)
        return;
    qp->rx.nak_sent = true;
    sn_rc_ack_due(qp, syndrome, qp->rx.epsn);
}

/* The expected PSN came: a NAK for it that has not left yet is out of date. */
void sn_rc_rx_progress(struct sn_qp *qp)
{
    qp->rx.nak_sent = false;
    if (qp->rx.ack_due && !sn_aeth_is_ack(qp->rx.ack_syndrome))
        qp->rx.ack_due = false;
}

/* Refuses the request and ends the connection. A receive WQE that it had taken ends with `cqe_syndrome`. */
void sn_rc_nak_fatal(struct sn_qp *qp, const struct sn_burst *b, uint8_t syndrome, uint8_t cqe_syndrome)
{
    static const uint8_t noted[] = {SN_SYND_REMOTE_INVALID, SN_SYND_REMOTE_ACCESS, SN_SYND_REMOTE_OP};
    uint8_t synd = cqe_syndrome != 0 ? cqe_syndrome : noted[syndrome - SN_AETH_NAK_INVALID];

    qp->rx.nak_sent = true;
    qp->rx.refused = true;
    sn_rc_ack_due(qp, syndrome, qp->rx.epsn);
    if (qp->params.remote_qpn != qp->qpn)
        sn_qp_error_note(qp, true, synd, synd, b->kind, qp->rx.has_wqe ? qp->rx.wqe_index : 0);
    if (qp->rx.has_wqe && cqe_syndrome != 0)
        sn_rq_complete(qp, SN_CQE_RESP_ERR, cqe_syndrome, 0, 0, false);
    /* A QP that is connected to itself lives on until the refusal reaches its requester, who says what was wrong. */
    if (qp->state != SN_QP_ERR && qp->params.remote_qpn != qp->qpn)
        sn_qp_error_enter(qp);
}

/* ---- SEND and WRITE ------------------------------------------------------------------------------------------ */

/* First and middle packets are full; a last one has at least a byte, an only one need not (9.7.4.1.6). */
static bool packets_fit(const struct sn_qp *qp, const struct sn_burst *b)
{
    if (b->npackets != sn_mtu_packets(b->length, qp->mtu) || (b->length == 0 && !(b->flags & SN_BURST_FIRST)))
        return false;
    return (b->flags & SN_BURST_LAST) || (b->length != 0 && b->length == b->npackets << (7 + qp->mtu));
}

/* First comes first, middle and last belong to what is in progress (9.7.4.1.2). */
static bool order_fits(const struct sn_qp *qp, const struct sn_burst *b)
{
    return qp->rx.kind == (b->flags & SN_BURST_FIRST ? SN_KIND_COUNT : b->kind);
}

static enum sn_fault remote_key(struct sn_qp *qp, uint32_t rkey, uint32_t need, uint64_t va, uint64_t length,
                                struct sn_mkey **key)
{
    *key = length == 0 ? NULL : sn_qp_key(qp, &qp->rkey_cache, rkey);
    return length == 0 ? SN_FAULT_NONE : sn_mkey_check(*key, qp->attr.pdn, need, va, length);
}

/* A receive WQE for the message in hand. False: refused for now or for good. */
static bool take_wqe(struct sn_qp *qp, const struct sn_burst *b)
{
    struct sn_rq *rq = qp->srq != NULL ? &qp->srq->rq : &qp->rq;
    int ret;

    if (qp->rx.has_wqe)
        return true;
    if (qp->attr.rq_kind == SN_RQ_NONE) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, 0);
        return false;
    }
    ret = sn_rq_take(qp->port, rq, qp->rx.wqe, &qp->rx.wqe_index);
    if (ret == -EAGAIN)
        sn_rc_nak(qp, SN_AETH_RNR | (qp->params.min_rnr & 0x1f));
    else if (ret != 0)
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_OP, 0);
    qp->rx.has_wqe = ret == 0;
    return ret == 0;
}

/*
 * Scatters a SEND's payload from offset `placed` over the receive WQE; dry: only checks. The list ends at an entry with
 * the invalid key and no bytes, or with the WQE.
 */
static enum sn_fault scatter(struct sn_qp *qp, uint32_t placed, uint32_t length, struct sn_placing *p)
{
    const struct sn_rq *rq = qp->srq != NULL ? &qp->srq->rq : &qp->rq;
    uint32_t pdn = qp->srq != NULL ? qp->srq->pdn : qp->attr.pdn;
    uint32_t end = 1u << (rq->log_stride - 4);

    for (uint32_t seg = rq->linked ? 1 : 0; seg < end && length != 0; seg++) {
        const struct sn_data_seg *data = (const struct sn_data_seg *)(const void *)(qp->rx.wqe + seg * SN_WQE_SEG);
        uint32_t count = sn_get32(data->byte_count) & ~SN_INLINE_SEG, lkey = sn_get32(data->lkey), n;
        uint64_t addr = sn_get64(data->addr);
        if (lkey == SN_LKEY_END)
            break;
        if (placed >= count) {
            placed -= count;
            continue;
        }
        n = count - placed < length ? count - placed : length;
        const struct sn_mkey *key = sn_qp_key(qp, &qp->lkey_cache, lkey);
        enum sn_fault fault = sn_mkey_check(key, pdn, SN_ACCESS_LOCAL_WRITE, addr + placed, n);
        if (fault != SN_FAULT_NONE)
            return fault;
        if (p != NULL)
            sn_place(p, sn_mkey_at(key, addr + placed), key->space, n);
        placed = 0;
        length -= n;
    }
    return length == 0 ? SN_FAULT_NONE : SN_FAULT_LENGTH;
}

struct arrival {
    uint32_t skip;   /* packets that came before: a retransmission that begins earlier than needed */
    uint32_t bytes;  /* of payload that are new */
    uint64_t va;     /* WRITE: of the first new byte */
    uint32_t rkey, left, placed, total;
};

/* The state of the message as it will be after this burst, from the burst or from what is in progress. */
static void begin(const struct sn_qp *qp, const struct sn_burst *b, uint32_t skip, struct arrival *a)
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

static bool length_fits(const struct sn_burst *b, const struct arrival *a)
{
    if (b->kind == SN_KIND_SEND)
        return (uint64_t)a->placed + a->bytes <= SN_MESSAGE_MAX;
    return b->flags & SN_BURST_LAST ? a->bytes == a->left : a->bytes < a->left;
}

/* True: placed, or refused (then the QP is in ERR). False: on its way. */
static bool place(struct sn_qp *qp, const struct sn_burst *b, struct arrival *a)
{
    struct sn_placing p;
    struct sn_mkey *key = NULL;
    enum sn_fault fault;

    if (b->kind == SN_KIND_WRITE) { /* the whole of what is left is checked with the first burst, and again with each */
        fault = remote_key(qp, a->rkey, SN_ACCESS_REMOTE_WRITE, a->va, a->left, &key);
        if (fault != SN_FAULT_NONE) {
            sn_rc_nak_fatal(qp, b, SN_AETH_NAK_ACCESS, 0);
            return true;
        }
    } else {
        fault = scatter(qp, a->placed, a->bytes, NULL);
        if (fault != SN_FAULT_NONE) {
            bool length = fault == SN_FAULT_LENGTH;
            sn_rc_nak_fatal(qp, b, length ? SN_AETH_NAK_INVALID : SN_AETH_NAK_OP,
                            length ? SN_SYND_LOCAL_LENGTH : SN_SYND_LOCAL_PROT);
            return true;
        }
    }
    if (a->bytes == 0 || qp->rx_phase != 0)
        return true;
    sn_place_begin(&p, qp, b, (size_t)a->skip << (7 + qp->mtu));
    if (b->kind == SN_KIND_WRITE)
        sn_place(&p, sn_mkey_at(key, a->va), key->space, a->bytes);
    else
        (void)scatter(qp, a->placed, a->bytes, &p);
    return sn_place_end(&p);
}

static void finish_message(struct sn_qp *qp, const struct sn_burst *b, const struct arrival *a)
{
    uint32_t bytes = b->kind == SN_KIND_SEND ? a->placed + a->bytes : a->total;
    uint8_t opcode = b->kind == SN_KIND_WRITE       ? SN_CQE_RESP_WR_IMM
                     : b->flags & SN_BURST_IMM ? SN_CQE_RESP_SEND_IMM
                                               : SN_CQE_RESP_SEND;

    qp->rx.msn = (qp->rx.msn + 1) & SN_PSN_MASK;
    qp->rx.kind = SN_KIND_COUNT;
    if (b->kind == SN_KIND_SEND || (b->flags & SN_BURST_IMM))
        sn_rq_complete(qp, opcode, 0, bytes, b->flags & SN_BURST_IMM ? b->imm : 0, b->flags & SN_BURST_SOLICITED);
}

static void commit(struct sn_qp *qp, const struct sn_burst *b, const struct arrival *a)
{
    struct sn_rx *rx = &qp->rx;

    rx->epsn = sn_psn_add(rx->epsn, b->npackets - a->skip);
    sn_rc_rx_progress(qp);
    if (b->flags & SN_BURST_LAST) {
        finish_message(qp, b, a);
    } else {
        rx->kind = b->kind;
        rx->va = a->va + a->bytes;
        rx->rkey = a->rkey;
        rx->left = a->left - a->bytes;
        rx->placed = a->placed + a->bytes;
        rx->total = a->total;
    }
    if (b->flags & (SN_BURST_LAST | SN_BURST_ACKREQ))
        sn_rc_ack_due(qp, SN_AETH_ACK, sn_psn_add(rx->epsn, SN_PSN_MASK));
}

static bool rx_data(struct sn_qp *qp, const struct sn_burst *b, uint32_t skip)
{
    struct arrival a;
    bool takes_wqe = b->kind == SN_KIND_SEND || ((b->flags & SN_BURST_IMM) && (b->flags & SN_BURST_LAST));

    begin(qp, b, skip, &a);
    if (!packets_fit(qp, b) || (skip == 0 && !order_fits(qp, b)) || !length_fits(b, &a) ||
        (b->kind == SN_KIND_WRITE && (!qp->params.rwe || b->dmalen > SN_MESSAGE_MAX)) ||
        ((b->flags & SN_BURST_IMM) && !(b->flags & SN_BURST_LAST))) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, 0);
        return true;
    }
    if (qp->rx_error != 0) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_OP, SN_SYND_LOCAL_PROT);
        return true;
    }
    if (takes_wqe && !take_wqe(qp, b))
        return true;
    if (!place(qp, b, &a))
        return false;
    if (!qp->rx.refused)
        commit(qp, b, &a);
    return true;
}

/* ---- requests ------------------------------------------------------------------------------------------------ */

static bool is_data(const struct sn_burst *b)
{
    return b->kind == SN_KIND_SEND || b->kind == SN_KIND_WRITE;
}

bool sn_rc_request(struct sn_qp *qp, const struct sn_burst *b)
{
    int32_t d;

    if (!sn_state_receives(qp->state) || qp->rx.refused)
        return true;
    d = sn_psn_diff(b->psn, qp->rx.epsn);
    if (d > 0) {
        sn_rc_nak(qp, SN_AETH_NAK_SEQUENCE);
        return true;
    }
    if (d < 0 && is_data(b) && (uint32_t)-d < b->npackets &&
        (qp->rx.kind == b->kind && !(b->flags & SN_BURST_INVALIDATE)))
        return rx_data(qp, b, (uint32_t)-d); /* begins with what has come, goes on with what has not */
    if (d < 0) {
        sn_rc_rx_duplicate(qp, b);
        return true;
    }
    qp->rx.nak_sent = false; /* this is what was asked for */
    if (b->flags & SN_BURST_INVALIDATE) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, 0);
        return true;
    }
    if (is_data(b))
        return rx_data(qp, b, 0);
    if (b->kind == SN_KIND_READ_REQUEST)
        return sn_rc_rx_read(qp, b);
    return sn_rc_rx_atomic(qp, b);
}
