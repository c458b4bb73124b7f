/* SPDX-License-Identifier: Apache-2.0 */
/* Completions, errors, and the flush that follows them. */
#include <stdlib.h>

#include "softnic/engine.h"
#include "softnic/queue/cq.h"
#include "softnic/transport/failed.h"

enum { FLUSH_BUDGET = 256 };

void sn_qp_error_note(struct sn_qp *qp, bool responder, uint8_t syndrome, uint8_t vendor, uint8_t opcode, uint16_t index)
{
    if (qp->error.has_error)
        return;
    qp->error = (struct sn_qp_error){.has_error = true,
                                     .syndrome = syndrome,
                                     .vendor_err_synd = vendor,
                                     .opcode = opcode,
                                     .wqe_counter = index,
                                     .responder = responder};
}

/* Into ERR. What is posted is flushed by the following turns. */
void sn_qp_error_enter(struct sn_qp *qp)
{
    if (qp->state != SN_QP_ERR)
        qp->tell_last_wqe = qp->attr.rq_kind == SN_RQ_SRQ;
    qp->tell_drained = false;
    qp->state = SN_QP_ERR;
    sn_qp_show_failed(qp, 1);
    qp->tx.rnr_wait = false;
    sn_qp_unwait(qp);
    sn_timer_cancel(&qp->port->wheel, &qp->timer);
    qp->sq.doorbell = true; /* the flush looks at the record once more */
    sn_qp_activate(qp);
}

/* Unreliable services lose their send queue only: what is posted is flushed, receives go on (10.3.1.6). */
void sn_qp_send_error(struct sn_qp *qp)
{
    if (qp->state == SN_QP_ERR)
        return;
    if (qp->attr.service == SN_SERVICE_RC) {
        sn_qp_error_enter(qp);
        return;
    }
    qp->state = SN_QP_SQER;
    sn_qp_unwait(qp);
    qp->sq.doorbell = true;
    sn_qp_activate(qp);
}

static bool send_cqe(struct sn_qp *qp, const struct sn_wqe *w, uint8_t syndrome, uint8_t vendor)
{
    bool brings = w->op == SN_OP_READ || w->op == SN_OP_ATOMIC;

    if (syndrome == 0 && !brings && qp->port->faults == NULL && sn_cq_takes(qp->send_cq)) {
        sn_cq_write_sent(qp, w->opcode, w->index);
        return true;
    }
    struct sn_cqe_info info = {.cqe_opcode = syndrome == 0 ? SN_CQE_REQ : SN_CQE_REQ_ERR,
                               .wqe_opcode = w->opcode,
                               .syndrome = syndrome,
                               .vendor = vendor,
                               .wqe_counter = w->index,
                               .qpn = qp->qpn,
                               .user_index = qp->attr.user_index,
                               .byte_count = brings ? w->length : 0,
                               .timestamp = qp->port->now_ns};

    if (syndrome == SN_SYND_FLUSH)
        qp->nic->counters.req_cqe_flush_error++;
    else if (syndrome != 0)
        qp->nic->counters.req_cqe_error++;
    if (sn_cq_push(qp->send_cq, &info))
        return true;
    sn_qp_error_note(qp, false, SN_SYND_LOCAL_QP_OP, SN_VENDOR_CQ_OVERRUN, w->opcode, w->index);
    if (qp->state != SN_QP_ERR)
        sn_qp_tell(qp, SN_EVENT_QP_FATAL, SN_SYND_LOCAL_QP_OP);
    if (qp->state != SN_QP_ERR)
        sn_qp_error_enter(qp);
    return false;
}

static bool finished(const struct sn_qp *qp, const struct sn_entry *e)
{
    if (e->local || e->w.op == SN_OP_READ || e->w.op == SN_OP_ATOMIC)
        return e->done;
    return e->sent == e->packets && sn_psn_diff(qp->tx.una, sn_psn_add(e->psn, e->packets)) >= 0;
}

/* Once, when it was asked for (10.3.1.5, 11.6.3.1). */
void sn_tx_check_drained(struct sn_qp *qp)
{
    if (!qp->tell_drained || (int32_t)(qp->tx.head - qp->tx.drain) < 0)
        return;
    qp->tell_drained = false;
    sn_qp_tell(qp, SN_EVENT_QP_DRAINED, 0);
}

/* Pops what is finished, in order; a failed WQE takes the QP to ERR. */
void sn_rc_complete(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;
    uint32_t before = tx->head;

    while (tx->head != tx->next) {
        struct sn_entry *e = sn_tx_at(qp, tx->head);
        if (e->syndrome != 0 ? !e->done : !finished(qp, e))
            break;
        tx->head++;
        if (e->syndrome != 0) {
            sn_qp_error_note(qp, false, e->syndrome, e->vendor, e->w.opcode, e->w.index);
            send_cqe(qp, &e->w, e->syndrome, e->vendor);
            sn_qp_send_error(qp);
            return;
        }
        if (e->w.ce >= SN_CE_ALWAYS && !send_cqe(qp, &e->w, 0, 0))
            return;
    }
    if (tx->head != before)
        sn_rc_popped(qp);
}

void sn_rc_popped(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;

    sn_tx_check_drained(qp);
    if (tx->next != tx->tail || qp->sq.doorbell || qp->sq.posted != qp->sq.fetched)
        sn_qp_activate(qp);
    else if (tx->head == tx->tail)
        tx->head = tx->next = tx->tail = tx->drain = 0; /* the same entries again: they are in the cache */
}

/* The WQE `e` ends in an error; all before it are complete already. */
void sn_rc_fail(struct sn_qp *qp, struct sn_entry *e, uint8_t syndrome, uint8_t vendor)
{
    struct sn_tx *tx = &qp->tx;

    e->syndrome = syndrome;
    e->vendor = vendor;
    e->done = true;
    tx->stop = true;
    if (tx->next != tx->tail && e == sn_tx_at(qp, tx->next)) /* sent in part, or gone back to */
        tx->next++;
    sn_rc_complete(qp);
}

static void flush_entry(struct sn_qp *qp, const struct sn_wqe *w)
{
    if (qp->tx.unconnected) {
        const uint8_t syndrome = sn_fault_syndrome(SN_FAULT_STATE), vendor = SN_VENDOR_FAULT + SN_FAULT_STATE;

        qp->tx.unconnected = false;
        sn_qp_error_note(qp, false, syndrome, vendor, w->opcode, w->index);
        send_cqe(qp, w, syndrome, vendor);
        return;
    }
    if (w->ce != SN_CE_ON_FIRST_ERROR)
        send_cqe(qp, w, SN_SYND_FLUSH, SN_VENDOR_FLUSH);
}

static unsigned flush_ring(struct sn_qp *qp, unsigned budget)
{
    struct sn_entry e = {0};
    unsigned done = 0;

    while (done < budget) {
        enum sn_sq_fetch got = sn_sq_fetch(qp, &e);
        if (got == SN_SQ_WQE) {
            (void)sn_wqe_parse(e.raw, qp->sq.blocks, SN_MESSAGE_MAX, &e.w);
        } else if (got == SN_SQ_MISMATCH) {
            e.w = (struct sn_wqe){.index = qp->sq.fetched, .blocks = 1, .ce = SN_CE_ALWAYS};
        } else {
            if (got == SN_SQ_LATER && !qp->sq.fetching)
                sn_qp_activate(qp);
            break;
        }
        flush_entry(qp, &e.w);
        sn_sq_advance(qp, e.w.blocks);
        done++;
    }
    free(e.big);
    if (done == budget)
        sn_qp_activate(qp);
    return done;
}

/* Receive WQEs of the QP's own ring end in flush errors; those of an SRQ stay for others. */
static unsigned flush_receives(struct sn_qp *qp, unsigned budget)
{
    unsigned done = 0;

    if (qp->rx.has_wqe) {
        sn_rq_complete(qp, SN_CQE_RESP_ERR, SN_SYND_FLUSH, 0, 0, false);
        done++;
    }
    if (qp->tell_last_wqe) {
        qp->tell_last_wqe = false;
        sn_qp_tell(qp, SN_EVENT_QP_LAST_WQE, 0);
    }
    if (qp->attr.rq_kind != SN_RQ_REGULAR)
        return done;
    while (done < budget && sn_rq_take(qp->port, &qp->rq, qp->rx.wqe, &qp->rx.wqe_index) == 0) {
        sn_rq_complete(qp, SN_CQE_RESP_ERR, SN_SYND_FLUSH, 0, 0, false);
        done++;
    }
    if (done >= budget)
        sn_qp_activate(qp);
    return done;
}

/* In SQER and ERR: send WQEs. */
unsigned sn_rc_flush_sends(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;
    unsigned done = 0;

    while (tx->head != tx->tail) {
        flush_entry(qp, &sn_tx_at(qp, tx->head)->w);
        tx->head++;
        done++;
    }
    tx->head = tx->next = tx->tail = tx->reads = 0;
    if (!qp->attr.no_sq)
        done += flush_ring(qp, FLUSH_BUDGET);
    return done;
}

unsigned sn_rc_flush(struct sn_qp *qp)
{
    unsigned done = sn_rc_flush_sends(qp);

    return done + flush_receives(qp, FLUSH_BUDGET);
}

static void receive_cqe(struct sn_qp *qp, struct sn_cqe_info *info)
{
    uint8_t syndrome = info->syndrome;

    info->vendor = syndrome == SN_SYND_FLUSH ? SN_VENDOR_FLUSH : syndrome;
    info->wqe_counter = qp->rx.wqe_index;
    info->qpn = qp->qpn;
    info->user_index = qp->attr.user_index;
    info->srqn = qp->srq != NULL ? qp->srq->number : 0;
    info->timestamp = qp->port->now_ns;
    qp->rx.has_wqe = false;
    if (syndrome == SN_SYND_FLUSH)
        qp->nic->counters.resp_cqe_flush_error++;
    else if (syndrome != 0)
        qp->nic->counters.resp_cqe_error++;
    if (syndrome == SN_SYND_LOCAL_LENGTH)
        qp->nic->counters.resp_local_length_error++;
    if (sn_cq_push(qp->recv_cq, info))
        return;
    sn_qp_error_note(qp, true, SN_SYND_LOCAL_QP_OP, SN_VENDOR_CQ_OVERRUN, 0, qp->rx.wqe_index);
    if (qp->state != SN_QP_ERR)
        sn_qp_tell(qp, SN_EVENT_QP_FATAL, SN_SYND_LOCAL_QP_OP);
    if (qp->state != SN_QP_ERR)
        sn_qp_error_enter(qp);
}

/* Ends the receive WQE in hand (qp->rx.wqe_index). */
void sn_rq_complete(struct sn_qp *qp, uint8_t cqe_opcode, uint8_t syndrome, uint32_t bytes, uint32_t imm, bool solicited)
{
    struct sn_cqe_info info = {
        .cqe_opcode = cqe_opcode, .syndrome = syndrome, .byte_count = bytes, .imm = imm, .solicited = solicited};

    receive_cqe(qp, &info);
}

/* The same for a datagram: its CQE says where it came from. */
void sn_ud_complete(struct sn_qp *qp, uint32_t bytes, const struct sn_burst *b, uint8_t flags, uint16_t slid)
{
    bool imm = b->flags & SN_BURST_IMM;
    struct sn_cqe_info info = {.cqe_opcode = imm ? SN_CQE_RESP_SEND_IMM : SN_CQE_RESP_SEND,
                               .byte_count = bytes,
                               .imm = imm ? b->imm : 0,
                               .rqpn = b->sqpn,
                               .flags = flags,
                               .slid = slid,
                               .solicited = (b->flags & SN_BURST_SOLICITED) != 0};

    receive_cqe(qp, &info);
}
