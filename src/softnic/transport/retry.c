/* SPDX-License-Identifier: Apache-2.0 */
/* Go-back-N, timeouts and receiver-not-ready waits (IBTA vol. 1, 9.7.5.2.8, 9.9.2). */
#include "softnic/engine.h"
#include "softnic/exec/state.h"
#include "softnic/wire/wire.h"

#define STARVED_NS 10000000000ull /* how long a peer may be without a processor until timeouts count */
enum { LOOKS = 256 /* times that a timer waits for the turn that takes answers off the wire: 64 of them each */ };

/* Sends again from `psn` on: the entry that holds it and all behind it. */
void sn_rc_go_back(struct sn_qp *qp, uint32_t psn)
{
    struct sn_tx *tx = &qp->tx;
    uint32_t next = tx->tail;
    bool found = false;

    tx->reads = 0;
    qp->header.epoch++;
    qp->nic->counters.retransmissions++;
    for (uint32_t n = tx->head; n != tx->tail; n++) {
        struct sn_entry *e = sn_tx_at(qp, n);
        int32_t d = sn_psn_diff(psn, e->psn);
        if (!found && e->packets != 0 && d >= 0 && (uint32_t)d < e->packets) {
            found = true;
            next = n;
            e->sent = e->w.op == SN_OP_SEND || e->w.op == SN_OP_WRITE ? (uint32_t)d : 0;
            e->issued = false;
        } else if (found) {
            e->sent = 0;
            e->issued = false;
        } else if (e->issued && !e->done) {
            tx->reads++;
        }
    }
    if (found && (int32_t)(next - tx->next) < 0) {
        tx->next = next;
        sn_qp_unwait(qp); /* a WAIT that holds up what is new must not hold up what goes before it again */
    }
    sn_qp_activate(qp);
}

/* The oldest WQE that waits for its peer. */
static struct sn_entry *oldest(struct sn_qp *qp)
{
    for (uint32_t n = qp->tx.head; n != qp->tx.tail; n++)
        if (!sn_tx_at(qp, n)->local)
            return sn_tx_at(qp, n);
    return NULL;
}

void sn_rc_retry(struct sn_qp *qp)
{
    struct sn_entry *e = oldest(qp);

    if (e == NULL || !sn_state_drains(qp->state)) /* a CQ may have overrun just now */
        return;
    if (qp->tx.retries == 0) {
        sn_rc_fail(qp, e, SN_SYND_RETRY_EXCEEDED, SN_VENDOR_RETRY_EXCEEDED);
        return;
    }
    qp->tx.retries--;
    sn_rc_go_back(qp, qp->tx.una);
}

void sn_rc_rnr(struct sn_qp *qp, uint8_t code)
{
    struct sn_tx *tx = &qp->tx;
    struct sn_entry *e = oldest(qp);

    if (e == NULL || !sn_state_drains(qp->state) || tx->rnr_wait)
        return; /* while it waits nothing has been sent that this could be about: a double */
    if (qp->params.rnr_retry != 7) { /* 7: for ever */
        if (tx->rnr_retries == 0) {
            sn_rc_fail(qp, e, SN_SYND_RNR_EXCEEDED, SN_VENDOR_RNR_EXCEEDED);
            return;
        }
        tx->rnr_retries--;
    }
    tx->retries = qp->params.retry_count; /* the request has arrived, and in its turn: what this counts has not happened to it */
    sn_rc_go_back(qp, tx->una);
    tx->rnr_wait = true;
    sn_timer_arm(&qp->port->wheel, &qp->timer, sn_port_now(qp->port) + sn_rnr_ns(code));
}

static bool outstanding(struct sn_qp *qp)
{
    return qp->tx.una != sn_tx_limit(qp) || qp->tx.reads != 0;
}

/* False: the peer is in this process, or nothing is known of its process. */
static bool peer_turns(struct sn_qp *qp, uint32_t *turns)
{
    struct sn_wire *wire = qp->port->wire;

    return qp->peer == NULL && wire != NULL && wire->ops->peer_turns != NULL &&
           wire->ops->peer_turns(wire, &qp->header, turns);
}

/*
 * The timer is left alone while acknowledgements come: when it fires and una has moved since, it starts anew. So a loss
 * is noticed after one to two timeouts (9.9.2.1.1 allows up to four).
 */
void sn_rc_arm(struct sn_qp *qp)
{
    uint64_t timeout;

    if (sn_timer_armed(&qp->timer) || qp->attr.service != SN_SERVICE_RC || !outstanding(qp))
        return;
    timeout = sn_ack_timeout_ns(qp->params.ack_timeout);
    if (timeout == 0)
        return;
    qp->timer_una = qp->tx.una;
    qp->timer_looks = 0;
    qp->timer_turns_known = peer_turns(qp, &qp->timer_turns);
    sn_timer_arm(&qp->port->wheel, &qp->timer, sn_port_now(qp->port) + timeout);
}

/*
 * We may have been without a processor ourselves, between the look at the wire and the look at the clock or all the while:
 * what has come meanwhile is taken first. True: the timer fires again after the next turn.
 */
static bool answers_wait(struct sn_qp *qp)
{
    struct sn_wire *wire = qp->port->wire;

    if (wire == NULL || wire->ops->pending == NULL || qp->timer_looks >= LOOKS || !wire->ops->pending(wire))
        return false;
    qp->timer_looks++;
    sn_timer_arm(&qp->port->wheel, &qp->timer, sn_port_now(qp->port) + SN_WHEEL_NS);
    return true;
}

/*
 * A NIC does not wait for a processor, a program in its place may: on this host, and with more to do than it has processors,
 * for longer than all retries take. Such a timeout is not counted: the peer's process has not looked at the wire since the
 * timer was armed, and would if it could. Nothing is sent again, since what was sent still lies there.
 */
static bool peer_starves(struct sn_qp *qp)
{
    uint64_t now = sn_port_now(qp->port);
    uint32_t turns;

    /* A turn alone does not begin the time anew, an acknowledgement does: else a peer stretches it with each retry. */
    if (!qp->timer_turns_known || !peer_turns(qp, &turns) || turns != qp->timer_turns)
        return false;
    if ((qp->starved_since != 0 && now - qp->starved_since >= STARVED_NS) ||
        !qp->port->wire->ops->peer_wants_cpu(qp->port->wire, &qp->header))
        return false;
    if (qp->starved_since == 0)
        qp->starved_since = now == 0 ? 1 : now;
    qp->nic->counters.peer_starved++;
    return true;
}

void sn_rc_timer(struct sn_timer *timer)
{
    struct sn_qp *qp = (struct sn_qp *)((char *)timer - offsetof(struct sn_qp, timer));

    if (qp->state < SN_QP_RTS) { /* armed by a doorbell: the queue is still not connected */
        qp->tx.unconnected = true;
        sn_qp_error_enter(qp);
        return;
    }
    if (qp->tx.rnr_wait) {
        qp->tx.rnr_wait = false;
        sn_qp_activate(qp);
        return;
    }
    if (!sn_state_drains(qp->state) || !outstanding(qp))
        return;
    /* A burst behind the copy engine is not lost. */
    if (qp->timer_una == qp->tx.una && qp->rx_first == NULL) {
        if (answers_wait(qp))
            return;
        qp->nic->counters.local_ack_timeout_err++;
        if (!peer_starves(qp)) {
            qp->tx.gap = false;
            sn_rc_retry(qp);
        }
    }
    if (sn_state_drains(qp->state))
        sn_rc_arm(qp);
}
