/* SPDX-License-Identifier: Apache-2.0 */
/* The responder of a reliable connection: SEND and WRITE, acknowledgements and refusals (IBTA vol. 1, 9.7.4, 9.7.5). */
#include "softnic/exec/state.h"
#include "softnic/transport/message.h"

/* ---- acknowledgements ---------------------------------------------------------------------------------------- */

void sn_rc_ack_again(struct sn_qp *qp)
{
    if (qp->on_ack_list)
        return;
    qp->on_ack_list = true;
    qp->ack_next = qp->port->ack_first;
    qp->port->ack_first = qp;
}

/* One answer a QP and pass: a later acknowledgement covers the earlier ones (9.7.5.1.2). */
void sn_rc_ack_due(struct sn_qp *qp, uint8_t syndrome, uint32_t psn)
{
    if (qp->rx.ack_due && !sn_aeth_is_ack(qp->rx.ack_syndrome) && sn_aeth_is_ack(syndrome))
        return; /* a refusal that has not left yet says more */
    qp->rx.ack_due = true;
    qp->rx.unacked = 0;
    qp->rx.ack_syndrome = syndrome;
    qp->rx.ack_psn = psn;
    qp->rx.ack_msn = qp->rx.msn;
    sn_rc_ack_again(qp);
}

static bool send_ack(struct sn_qp *qp)
{
    struct sn_burst *b;

    if (sn_far_acknowledge(qp)) {
        qp->rx.ack_due = false;
        return true;
    }
    b = sn_port_burst(qp, false);
    if (b == NULL)
        return false;
    b->kind = SN_KIND_ACK;
    b->flags = SN_BURST_FIRST | SN_BURST_LAST;
    b->psn = qp->rx.ack_psn;
    b->npackets = 1;
    b->syndrome = qp->rx.ack_syndrome;
    b->msn = qp->rx.ack_msn;
    b->length = 0;
    b->iov_count = 0;
    if (sn_port_send(qp, b) == SN_SENT_FULL)
        return false;
    qp->rx.ack_due = false;
    return true;
}

/* Answers leave in order (9.7.5.1): what acknowledges requests before `psn` leaves before the answer to that one. False: no room. */
bool sn_rc_acknowledge_before(struct sn_qp *qp, uint32_t psn)
{
    const struct sn_rx *rx = &qp->rx;

    return !rx->ack_due || !sn_aeth_is_ack(rx->ack_syndrome) || sn_psn_diff(rx->ack_psn, psn) >= 0 || send_ack(qp);
}

/* For the same reason an acknowledgement stays behind read responses that are still due. */
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

static void count_nak(struct sn_qp *qp, uint8_t syndrome)
{
    struct sn_counters *c = &qp->nic->counters;
    uint64_t *by_code[] = {&c->tx_nak_sequence, &c->tx_nak_invalid, &c->tx_nak_access, &c->tx_nak_operational};

    if (sn_aeth_is_rnr(syndrome))
        c->tx_rnr_nak++;
    else
        ++*by_code[syndrome & 3];
}

/* Asks for the expected PSN, or to wait; then nothing more until it comes (9.7.5.1.3). */
void sn_rc_nak(struct sn_qp *qp, uint8_t syndrome)
{
    if (qp->rx.nak_sent)
        return;
    qp->rx.nak_sent = true;
    count_nak(qp, syndrome);
    sn_rc_ack_due(qp, syndrome, qp->rx.epsn);
}

/* The expected PSN came: a NAK for it that has not left yet is out of date. */
void sn_rc_rx_progress(struct sn_qp *qp)
{
    qp->rx.nak_sent = false;
    if (qp->rx.ack_due && !sn_aeth_is_ack(qp->rx.ack_syndrome))
        qp->rx.ack_due = false;
}

/*
 * What the responder meets and no receive of its own tells is told by an event (11.6.3.2): its program would not hear of it.
 */
static void tell_refusal(struct sn_qp *qp, uint8_t syndrome, uint8_t synd)
{
    if (syndrome == SN_AETH_NAK_ACCESS)
        sn_qp_tell(qp, SN_EVENT_QP_ACCESS, synd);
    else if (syndrome == SN_AETH_NAK_INVALID)
        sn_qp_tell(qp, SN_EVENT_QP_REQUEST, synd);
    else
        sn_qp_tell(qp, SN_EVENT_QP_FATAL, synd);
}

/* Refuses the request and ends the connection. A receive WQE that it had taken ends with `cqe_syndrome`. */
void sn_rc_nak_fatal(struct sn_qp *qp, const struct sn_burst *b, uint8_t syndrome, uint8_t cqe_syndrome)
{
    static const uint8_t noted[] = {SN_SYND_REMOTE_INVALID, SN_SYND_REMOTE_ACCESS, SN_SYND_REMOTE_OP};
    uint8_t synd = cqe_syndrome != 0 ? cqe_syndrome : noted[syndrome - SN_AETH_NAK_INVALID];

    qp->rx.nak_sent = true;
    qp->rx.refused = true;
    count_nak(qp, syndrome);
    if (syndrome == SN_AETH_NAK_ACCESS)
        qp->nic->counters.resp_remote_access_errors++;
    sn_rc_ack_due(qp, syndrome, qp->rx.epsn);
    if (qp->params.remote_qpn != qp->qpn)
        sn_qp_error_note(qp, true, synd, synd, b->kind, qp->rx.has_wqe ? qp->rx.wqe_index : 0);
    if (qp->rx.has_wqe && cqe_syndrome != 0)
        sn_rq_complete(qp, SN_CQE_RESP_ERR, cqe_syndrome, 0, 0, false);
    else
        tell_refusal(qp, syndrome, synd);
    /* A QP that is connected to itself lives on until the refusal reaches its requester, who says what was wrong. */
    if (qp->state != SN_QP_ERR && qp->params.remote_qpn != qp->qpn)
        sn_qp_error_enter(qp);
}

/* ---- SEND and WRITE ------------------------------------------------------------------------------------------ */

enum { ACK_INTERVAL = 64 /* packets of a long message after which the requester hears from us unasked (9.7.5.1.2) */ };

/* A receive WQE for the message in hand. False: refused for now or for good. */
static bool take_wqe(struct sn_qp *qp, const struct sn_burst *b)
{
    int ret = sn_message_take_wqe(qp);

    if (ret == -EAGAIN)
        sn_rc_nak(qp, SN_AETH_RNR | (qp->params.min_rnr & 0x1f));
    else if (ret != 0)
        sn_rc_nak_fatal(qp, b, ret == -ENOENT ? SN_AETH_NAK_INVALID : SN_AETH_NAK_OP, 0);
    return ret == 0;
}

/* What the specification answers to a payload that cannot be placed (9.7.5.2.4 to 9.7.5.2.6). */
static void refuse_place(struct sn_qp *qp, const struct sn_burst *b, enum sn_fault fault)
{
    if (b->kind == SN_KIND_WRITE)
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_ACCESS, 0);
    else if (fault == SN_FAULT_LENGTH)
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, SN_SYND_LOCAL_LENGTH);
    else
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_OP, SN_SYND_LOCAL_PROT);
}

/*
 * SEND with invalidate (9.4.1.1.3): the key stops granting anything before the receive completes. Keys of plain memory
 * regions may not be invalidated from afar; those are refused, and the receive ends in an access error.
 */
static bool invalidate(struct sn_qp *qp, const struct sn_burst *b)
{
    if (!(b->flags & SN_BURST_INVALIDATE))
        return true;
    if (sn_mkey_invalidate(qp, sn_swap32(b->imm)) == 0)
        return true;
    sn_rc_nak_fatal(qp, b, SN_AETH_NAK_ACCESS, SN_SYND_LOCAL_ACCESS);
    return false;
}

static void commit(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a)
{
    struct sn_rx *rx = &qp->rx;
    uint32_t packets = b->npackets - a->skip;

    rx->epsn = sn_psn_add(rx->epsn, packets);
    rx->unacked += packets;
    sn_rc_rx_progress(qp);
    sn_message_commit(qp, b, a);
    if ((b->flags & (SN_BURST_LAST | SN_BURST_ACKREQ)) || rx->unacked >= ACK_INTERVAL)
        sn_rc_ack_due(qp, SN_AETH_ACK, sn_psn_add(rx->epsn, SN_PSN_MASK));
}

static bool rx_data(struct sn_qp *qp, const struct sn_burst *b, uint32_t skip)
{
    struct sn_arrival a;
    enum sn_fault fault;

    sn_message_begin(qp, b, skip, &a);
    if (!sn_message_packets_fit(qp, b) || (skip == 0 && !sn_message_order_fits(qp, b)) ||
        !sn_message_length_fits(b, &a) || (b->kind == SN_KIND_WRITE && !qp->params.rwe)) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, 0);
        return true;
    }
    if (qp->rx_error != 0) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_OP, SN_SYND_LOCAL_PROT);
        return true;
    }
    if (sn_message_takes_wqe(b) && !take_wqe(qp, b))
        return true;
    if (!sn_message_place(qp, b, &a, &fault))
        return false;
    if (fault != SN_FAULT_NONE)
        refuse_place(qp, b, fault);
    else if (invalidate(qp, b))
        commit(qp, b, &a);
    return true;
}

/* ---- requests ------------------------------------------------------------------------------------------------ */

bool sn_rc_request(struct sn_qp *qp, const struct sn_burst *b)
{
    int32_t d;

    if (!sn_state_receives(qp->state) || qp->rx.refused)
        return true;
    d = sn_psn_diff(b->psn, qp->rx.epsn);
    if (d > 0) {
        qp->nic->counters.out_of_sequence++;
        sn_rc_nak(qp, SN_AETH_NAK_SEQUENCE);
        return true;
    }
    if (d < 0 && sn_is_data(b) && (uint32_t)-d < b->npackets && qp->rx.kind == b->kind)
        return rx_data(qp, b, (uint32_t)-d); /* begins with what has come, goes on with what has not */
    if (d < 0) {
        qp->nic->counters.duplicate_request++;
        sn_rc_rx_duplicate(qp, b);
        return true;
    }
    qp->rx.nak_sent = false; /* this is what was asked for */
    if (sn_is_data(b))
        return rx_data(qp, b, 0);
    if (b->kind == SN_KIND_READ_REQUEST)
        return sn_rc_rx_read(qp, b);
    if (b->kind >= SN_KIND_ATOMIC_CS && b->kind <= SN_KIND_ATOMIC_MASKED_FA)
        return sn_rc_rx_atomic(qp, b);
    return true; /* no request */
}
