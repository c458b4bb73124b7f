/* SPDX-License-Identifier: Apache-2.0 */
/* The requester of a reliable connection: fetched WQEs become bursts (IBTA vol. 1, 9.7.2 to 9.7.4). */
#include <stdlib.h>

#include "softnic/engine.h"
#include "softnic/exec/state.h"

enum { ASK_INTERVAL = 64 /* packets of a long message after which it asks for an acknowledgement, or it would time out */ };

enum step {
    STEP_DONE,    /* the entry needs no more sending */
    STEP_MORE,    /* the same entry has more to send */
    STEP_BLOCKED, /* an event will wake the QP */
    STEP_FULL,    /* no room on the wire: next turn */
};

uint32_t sn_tx_limit(struct sn_qp *qp)
{
    for (uint32_t n = qp->tx.next; n != qp->tx.tail; n++) {
        struct sn_entry *e = sn_tx_at(qp, n);
        if (e->packets != 0)
            return sn_psn_add(e->psn, e->w.op == SN_OP_READ || e->w.op == SN_OP_ATOMIC ? e->arrived : e->sent);
    }
    return qp->tx.psn;
}

/* ---- local checks -------------------------------------------------------------------------------------------- */

static uint32_t local_right(const struct sn_wqe *w)
{
    return w->op == SN_OP_READ || w->op == SN_OP_ATOMIC ? SN_ACCESS_LOCAL_WRITE : 0;
}

static enum sn_fault check_pieces(struct sn_qp *qp, struct sn_entry *e)
{
    uint32_t need = local_right(&e->w);
    struct sn_piece piece;

    for (uint32_t seg = e->w.data_seg; seg < e->w.ds; seg = piece.next) {
        enum sn_fault fault = sn_wqe_piece(e->raw, seg, e->w.ds, &piece);
        if (fault == SN_FAULT_NONE && !piece.is_inline && piece.length != 0) {
            const struct sn_mkey *key = sn_qp_key(qp, &qp->lkey_cache, piece.lkey);
            fault = sn_mkey_check(key, qp->attr.pdn, need, piece.addr, piece.length);
        }
        if (fault != SN_FAULT_NONE)
            return fault;
    }
    return SN_FAULT_NONE;
}

/* Payload [offset, offset + length) by reference. The keys are looked up again: one may have gone since. */
static enum sn_fault gather(struct sn_qp *qp, const struct sn_entry *e, uint32_t offset, uint32_t length,
                            struct sn_burst *b)
{
    struct sn_piece piece;

    b->iov_count = 0;
    for (uint32_t seg = e->w.data_seg; seg < e->w.ds && length != 0; seg = piece.next) {
        uint32_t n;
        enum sn_fault fault = sn_wqe_piece(e->raw, seg, e->w.ds, &piece);
        if (fault != SN_FAULT_NONE)
            return fault;
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        n = piece.length - offset < length ? piece.length - offset : length;
        struct sn_iov *v = &b->iov[b->iov_count++];
        v->length = n;
        if (piece.is_inline) {
            v->addr = e->raw + piece.addr + offset;
            v->space = SN_SPACE_HOST;
        } else {
            const struct sn_mkey *key = sn_qp_key(qp, &qp->lkey_cache, piece.lkey);
            fault = sn_mkey_check(key, qp->attr.pdn, 0, piece.addr, piece.length);
            if (fault != SN_FAULT_NONE)
                return fault;
            v->addr = sn_mkey_at(key, piece.addr) + offset;
            v->space = key->space;
        }
        offset = 0;
        length -= n;
    }
    return SN_FAULT_NONE;
}

/* ---- fetch --------------------------------------------------------------------------------------------------- */

uint32_t sn_qp_max_message(const struct sn_qp *qp)
{
    uint8_t log = qp->params.log_msg_max;

    if (qp->attr.service == SN_SERVICE_UD)
        return sn_mtu_bytes(qp->mtu); /* one packet (9.8.3) */
    return log == 0 || log > 30 ? SN_MESSAGE_MAX : 1u << log;
}

static void mark_fault(struct sn_qp *qp, struct sn_entry *e, enum sn_fault fault)
{
    e->syndrome = sn_fault_syndrome(fault);
    e->vendor = (uint8_t)(SN_VENDOR_FAULT + fault);
    e->local = true;
    qp->tx.stop = true;
}

static bool fits_psn_window(struct sn_qp *qp, uint32_t packets)
{
    uint32_t used = (qp->tx.psn - qp->tx.una) & SN_PSN_MASK;
    return used == 0 || used + packets < (1u << 23);
}

/* Fills the entry at the tail from the ring. NULL: nothing to start now. */
static struct sn_entry *fetch(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;
    struct sn_entry *e = sn_tx_at(qp, tx->tail);
    enum sn_fault fault;

    if (tx->stop || tx->tail - tx->head > tx->mask)
        return NULL;
    switch (sn_sq_fetch(qp, e)) {
    case SN_SQ_EMPTY:
        return NULL;
    case SN_SQ_LATER:
        if (!qp->sq.fetching)
            sn_qp_activate(qp); /* look again in the next turn */
        return NULL;
    case SN_SQ_MISMATCH:
        e->w = (struct sn_wqe){.index = qp->sq.fetched, .blocks = 1, .ce = SN_CE_ALWAYS};
        fault = SN_FAULT_MISMATCH;
        break;
    default:
        fault = sn_wqe_parse_for(qp->attr.service, e->raw, qp->sq.blocks, sn_qp_max_message(qp), &e->w);
        break;
    }
    if (qp->attr.service == SN_SERVICE_DC)
        fault = SN_FAULT_STATE;
    e->sent = e->arrived = e->packets = 0;
    e->syndrome = e->vendor = 0;
    e->done = e->issued = false;
    e->local = e->w.op <= SN_OP_DUMP;
    if (fault == SN_FAULT_NONE && qp->attr.service == SN_SERVICE_UD && e->w.op == SN_OP_SEND &&
        !sn_ud_reaches(qp, e))
        fault = SN_FAULT_AV;
    if (fault == SN_FAULT_NONE && e->w.op >= SN_OP_DUMP)
        fault = check_pieces(qp, e);
    if (fault != SN_FAULT_NONE)
        mark_fault(qp, e, fault);
    if (!e->local) {
        uint32_t packets = e->w.op == SN_OP_ATOMIC ? 1 : sn_mtu_packets(e->w.length, qp->mtu);
        if (!fits_psn_window(qp, packets))
            return NULL; /* an acknowledgement makes room */
        e->packets = packets;
        tx->psn = sn_psn_add(tx->psn, packets);
    }
    e->psn = sn_psn_add(tx->psn, (uint32_t)-e->packets);
    sn_sq_advance(qp, e->w.blocks);
    tx->tail++;
    return e;
}

/* ---- sending ------------------------------------------------------------------------------------------------- */

static uint32_t burst_bytes(const struct sn_qp *qp)
{
    uint32_t mtu = sn_mtu_bytes(qp->mtu);
    uint32_t most = qp->port->burst_bytes;
    return most < mtu ? mtu : most - most % mtu;
}

static void sent_up_to(struct sn_qp *qp, uint32_t psn)
{
    if (sn_psn_diff(psn, qp->tx.high) > 0)
        qp->tx.high = psn;
}

/* A WRITE or SEND, or the next part of one. */
static enum step send_data(struct sn_qp *qp, struct sn_entry *e, uint32_t *bytes)
{
    uint32_t offset = e->sent << (7 + qp->mtu);
    uint32_t left = e->w.length - offset;
    uint32_t most = burst_bytes(qp);
    uint32_t n = left < most ? left : most;
    struct sn_burst *b = sn_port_burst(qp, true);
    enum sn_fault fault;

    if (b == NULL)
        return STEP_FULL;
    b->kind = e->w.op == SN_OP_SEND ? SN_KIND_SEND : SN_KIND_WRITE;
    b->flags = e->sent == 0 ? SN_BURST_FIRST : 0;
    b->psn = sn_psn_add(e->psn, e->sent);
    b->npackets = n == left ? e->packets - e->sent : n >> (7 + qp->mtu);
    if (n == left) {
        b->flags |= SN_BURST_LAST | (qp->attr.service == SN_SERVICE_RC ? SN_BURST_ACKREQ : 0);
        b->flags |= e->w.has_imm ? SN_BURST_IMM : 0;
        b->flags |= e->w.invalidate ? SN_BURST_INVALIDATE : 0;
        b->flags |= e->w.solicited ? SN_BURST_SOLICITED : 0;
    }
    qp->tx.unasked += b->npackets;
    if (qp->tx.unasked >= ASK_INTERVAL && qp->attr.service == SN_SERVICE_RC)
        b->flags |= SN_BURST_ACKREQ;
    b->va = e->w.raddr;
    b->rkey = e->w.rkey;
    b->dmalen = e->w.length;
    b->imm = e->w.imm;
    b->length = n;
    if (qp->attr.service == SN_SERVICE_UD)
        sn_ud_address(qp, e, b);
    fault = gather(qp, e, offset, n, b);
    if (fault != SN_FAULT_NONE) {
        mark_fault(qp, e, fault);
        return STEP_MORE;
    }
    uint32_t packets = b->npackets; /* the slot may be gone after sending */
    bool asks = b->flags & SN_BURST_ACKREQ;
    if (sn_port_send(qp, b) == SN_SENT_FULL) {
        qp->tx.unasked -= packets;
        return STEP_FULL;
    }
    if (asks)
        qp->tx.unasked = 0;
    e->sent += packets;
    sent_up_to(qp, sn_psn_add(e->psn, e->sent));
    *bytes += n;
    qp->port->effort += n >> 4; /* 16 bytes a ns */
    return e->sent == e->packets ? STEP_DONE : STEP_MORE;
}

static enum step send_read(struct sn_qp *qp, struct sn_entry *e)
{
    uint32_t offset = e->arrived << (7 + qp->mtu); /* a READ that is asked for again goes on where the response broke off */
    struct sn_burst *b = sn_port_burst(qp, true);

    if (b == NULL)
        return STEP_FULL;
    b->kind = SN_KIND_READ_REQUEST;
    b->flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ;
    b->psn = sn_psn_add(e->psn, e->arrived);
    b->npackets = e->packets - e->arrived;
    b->va = e->w.raddr + offset;
    b->rkey = e->w.rkey;
    b->dmalen = e->w.length - offset;
    b->length = 0;
    b->iov_count = 0;
    return sn_port_send(qp, b) == SN_SENT_FULL ? STEP_FULL : STEP_DONE;
}

static uint8_t atomic_kind(uint8_t opcode)
{
    switch (opcode) {
    case SN_OPCODE_ATOMIC_CS:
        return SN_KIND_ATOMIC_CS;
    case SN_OPCODE_ATOMIC_FA:
        return SN_KIND_ATOMIC_FA;
    case SN_OPCODE_ATOMIC_MASKED_CS:
        return SN_KIND_ATOMIC_MASKED_CS;
    default:
        return SN_KIND_ATOMIC_MASKED_FA;
    }
}

static enum step send_atomic(struct sn_qp *qp, struct sn_entry *e)
{
    struct sn_burst *b = sn_port_burst(qp, true);

    if (b == NULL)
        return STEP_FULL;
    b->kind = atomic_kind(e->w.opcode);
    b->flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ;
    b->psn = e->psn;
    b->npackets = 1;
    b->va = e->w.raddr;
    b->rkey = e->w.rkey;
    b->atomic_size = e->w.atomic_size;
    b->swap_add = e->w.swap_add;
    b->compare = e->w.compare;
    b->swap_mask = e->w.swap_mask;
    b->compare_mask = e->w.compare_mask;
    b->length = 0;
    b->iov_count = 0;
    return sn_port_send(qp, b) == SN_SENT_FULL ? STEP_FULL : STEP_DONE;
}

static bool fenced(const struct sn_qp *qp, const struct sn_entry *e)
{
    switch (e->w.fence) {
    case SN_FENCE_READS:
    case SN_FENCE_READS_SMALL:
        return qp->tx.reads != 0;
    case SN_FENCE_STRONG:
        return qp->tx.head != qp->tx.next;
    default:
        return false;
    }
}

/* Over, or the QP is put on the CQ's list of waiters; a CQ that does not exist is an error. */
static enum step wait_for_cq(struct sn_qp *qp, struct sn_entry *e)
{
    struct sn_cq *cq = sn_cq_find(qp->nic, e->w.wait_cqn);

    if (cq == NULL) {
        mark_fault(qp, e, SN_FAULT_WAIT_CQ);
        return STEP_MORE;
    }
    if (sn_wait_is_over(cq->producer, e->w.wait_index)) {
        e->done = true;
        return STEP_DONE;
    }
    if (cq->failed) { /* it counts no more */
        mark_fault(qp, e, SN_FAULT_WAIT_CQ);
        return STEP_MORE;
    }
    if (!qp->tx.waiting_cq) {
        qp->tx.waiting_cq = true;
        qp->waits_on = cq;
        qp->wait_next = cq->waiters;
        cq->waiters = qp;
    }
    return STEP_BLOCKED;
}

static enum step issue_read(struct sn_qp *qp, struct sn_entry *e)
{
    enum step step;

    if (qp->tx.reads >= qp->read_limit)
        return STEP_BLOCKED;
    step = e->w.op == SN_OP_READ ? send_read(qp, e) : send_atomic(qp, e);
    if (step == STEP_DONE) {
        e->issued = true;
        e->sent = e->packets;
        sent_up_to(qp, sn_psn_add(e->psn, e->packets));
        qp->tx.reads++;
    }
    return step;
}

static enum step change_window(struct sn_qp *qp, struct sn_entry *e, enum sn_fault fault)
{
    e->done = true;
    if (fault != SN_FAULT_NONE)
        mark_fault(qp, e, fault);
    return STEP_DONE;
}

static enum step issue(struct sn_qp *qp, struct sn_entry *e, uint32_t *bytes)
{
    if (e->done || e->syndrome != 0) { /* answered before the others were sent again; or failed on the way */
        e->done = true;
        return STEP_DONE;
    }
    if (e->sent == 0 && e->w.fence != SN_FENCE_NONE && fenced(qp, e))
        return STEP_BLOCKED;
    switch (e->w.op) {
    case SN_OP_NOP:
    case SN_OP_DUMP: /* its memory has been checked; there is nobody to give the bytes to */
        e->done = true;
        return STEP_DONE;
    case SN_OP_WAIT:
        return wait_for_cq(qp, e);
    case SN_OP_BIND:
        return change_window(qp, e, sn_mw_bind(qp, &e->w));
    case SN_OP_INVALIDATE:
        return change_window(qp, e, sn_mw_invalidate(qp, e->w.rkey));
    case SN_OP_READ:
    case SN_OP_ATOMIC:
        return issue_read(qp, e);
    default:
        return send_data(qp, e, bytes);
    }
}

static unsigned send_turn(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;
    uint32_t bytes = 0;
    unsigned steps = 0;

    if (tx->rnr_wait || tx->waiting_cq)
        return 0;
    if (tx->table == NULL && (tx->table = sn_lines((tx->mask + 1) * sizeof(*tx->table))) == NULL) {
        sn_qp_activate(qp);
        return 0;
    }
    while (steps < SN_TURN_WQES && bytes < SN_TURN_BYTES) {
        if (qp->state == SN_QP_SQD && (int32_t)(tx->next - tx->drain) >= 0)
            return steps; /* what had begun is done with; the rest waits for RTS (10.3.1.5) */
        /* What is in hand leaves before the record, a line that the producer owns, is read again. */
        if (steps != 0 && tx->next == tx->tail && qp->sq.posted == qp->sq.fetched && qp->sq.doorbell)
            break;
        if ((tx->head == tx->tail && sn_may_be_near(qp) && sn_near_write(qp, &bytes)) ||
            (tx->next == tx->tail && sn_far_write(qp, &bytes))) {
            steps++;
            continue;
        }
        struct sn_entry *e = tx->next != tx->tail ? sn_tx_at(qp, tx->next) : fetch(qp);
        enum step step;
        if (e == NULL)
            return steps;
        step = issue(qp, e, &bytes);
        if (step == STEP_FULL)
            break;
        if (step == STEP_BLOCKED)
            return steps;
        steps++;
        if (step == STEP_DONE)
            tx->next++;
    }
    sn_qp_activate(qp);
    return steps;
}

bool sn_rc_send_at_once(struct sn_qp *qp)
{
    const struct sn_tx *tx = &qp->tx;
    uint32_t bytes = 0;

    if (qp->state != SN_QP_RTS || tx->table == NULL || tx->next != tx->tail || tx->rnr_wait || tx->waiting_cq)
        return false;
    return (tx->head == tx->tail && sn_may_be_near(qp) && sn_near_write(qp, &bytes)) || sn_far_write(qp, &bytes);
}

/* One bounded turn of a QP: what it owes its peer, then what it wants itself. */
unsigned sn_rc_transmit(struct sn_qp *qp)
{
    unsigned work = 0;

    if (qp->rx.rd_next != qp->rx.rd_tail)
        work += sn_rc_respond(qp);
    if (qp->rx.ack_due)
        sn_rc_ack_again(qp); /* found no room last time */
    if (qp->state == SN_QP_ERR)
        return work + sn_rc_flush(qp);
    if (qp->state == SN_QP_SQER)
        return work + sn_rc_flush_sends(qp);
    if (!sn_state_drains(qp->state))
        return work;
    work += send_turn(qp);
    if (qp->attr.service != SN_SERVICE_RC) {
        sn_unreliable_sent(qp);
        return work;
    }
    if (qp->tx.head != qp->tx.tail) {
        if (sn_tx_at(qp, qp->tx.head)->local)
            sn_rc_complete(qp);
        sn_rc_arm(qp);
    }
    return work;
}
