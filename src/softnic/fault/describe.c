/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/fault/describe.h"

#include <inttypes.h>

#include "softnic/engine.h"
#include "softnic/exec/doorbell.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"
#include "text/text.h"

static const char *state_name(uint8_t state)
{
    static const char *const names[] = {"RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR"};
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static const char *op_name(uint8_t op)
{
    switch (op) {
    case SN_OP_NOP:
        return "NOP";
    case SN_OP_WAIT:
        return "WAIT";
    case SN_OP_DUMP:
        return "DUMP";
    case SN_OP_SEND:
        return "SEND";
    case SN_OP_WRITE:
        return "RDMA WRITE";
    case SN_OP_READ:
        return "RDMA READ";
    case SN_OP_ATOMIC:
        return "atomic";
    default:
        return "WQE";
    }
}

/* us until the queue's timer fires; negative: not armed. */
static double timer_us(struct sn_qp *qp)
{
    uint64_t now;

    if (!sn_timer_armed(&qp->timer))
        return -1;
    now = sn_port_now(qp->port);
    return qp->timer.deadline > now ? (double)(qp->timer.deadline - now) / 1000 : 0;
}

/* ---- the send ring ------------------------------------------------------------------------------------------- */

/* True: there is something posted that the NIC does not know of, or cannot read. */
static bool describe_doorbells(struct text *t, struct sn_qp *qp)
{
    const struct sn_sq *sq = &qp->sq;
    uint16_t ahead;

    if (sq->mismatch_since != 0) {
        say(t, "waits for: WQE %u, which a doorbell announced; its slot does not show its index and this QPN (for %.0f us; "
               "it fails after %.0f us). Was the WQE written before the doorbell, with a release in between?\n",
            sq->fetched, (double)(sn_port_now(qp->port) - sq->mismatch_since) / 1000, SN_MISMATCH_NS / 1e3);
        return true;
    }
    if (sq->fetching) {
        say(t, "waits for: the copy engine, which brings the ring or the record from GPU memory\n");
        return true;
    }
    if (sq->gpu_record || sq->gpu_ring) {
        say(t, "send ring or record in GPU memory: looked at after a doorbell only\n");
        return false;
    }
    if (sq->record == NULL)
        return false;
    ahead = (uint16_t)(sn_swap32(sn_load_acquire32(sq->record)) - sq->posted);
    if (ahead == 0)
        return false;
    if (ahead > sq->blocks) {
        say(t, "the record is %u WQE blocks ahead of the NIC, and the ring has %u: it is not believed\n", ahead, sq->blocks);
        return false;
    }
    say(t, "waits for: a doorbell. The record announces %u more WQE blocks (up to %u), the register has been silent: lost, or "
           "not rung yet\n", ahead, (uint16_t)(sq->posted + ahead));
    return true;
}

/* ---- the requester ------------------------------------------------------------------------------------------- */

static void describe_wait(struct text *t, struct sn_qp *qp, const struct sn_entry *e)
{
    const struct sn_cq *cq = sn_cq_find(qp->nic, e->w.wait_cqn);

    if (cq == NULL)
        say(t, "waits for: WAIT on CQ 0x%x, which is gone\n", e->w.wait_cqn);
    else
        say(t, "waits for: WAIT on CQ 0x%x, which has counted %u CQEs and has to count %u (WQE %u)%s\n", e->w.wait_cqn,
            cq->producer, e->w.wait_index + 1, e->w.index, cq->failed ? "; that CQ has overrun and counts no more" : "");
}

static bool behind_fence(const struct sn_qp *qp, const struct sn_entry *e)
{
    if (e->sent != 0 || e->w.fence == SN_FENCE_NONE || e->w.fence == SN_FENCE_SMALL)
        return false;
    return e->w.fence == SN_FENCE_STRONG ? qp->tx.head != qp->tx.next : qp->tx.reads != 0;
}

/* Why the entry that is next to be sent is not. True: said. */
static bool describe_next(struct text *t, struct sn_qp *qp)
{
    const struct sn_entry *e;

    if (qp->tx.next == qp->tx.tail)
        return false;
    e = sn_tx_at(qp, qp->tx.next);
    if (e->w.op == SN_OP_WAIT && qp->tx.waiting_cq)
        describe_wait(t, qp, e);
    else if ((e->w.op == SN_OP_READ || e->w.op == SN_OP_ATOMIC) && qp->tx.reads >= qp->read_limit)
        say(t, "waits for: the limit of reads and atomics: %u outstanding, max_rd_atomic %u (WQE %u)\n", qp->tx.reads,
            qp->read_limit, e->w.index);
    else if (behind_fence(qp, e))
        say(t, "waits for: a fence (WQE %u, %s) behind %u outstanding reads and atomics\n", e->w.index, op_name(e->w.op),
            qp->tx.reads);
    else
        return false;
    return true;
}

static void describe_oldest(struct text *t, struct sn_qp *qp)
{
    const struct sn_entry *e = sn_tx_at(qp, qp->tx.head);
    double us = timer_us(qp);

    say(t, "oldest incomplete: WQE %u (%s), PSN %u, %u packets, %u sent, %u of the response arrived\n", e->w.index,
        op_name(e->w.op), e->psn, e->packets, e->sent, e->arrived);
    if (describe_next(t, qp))
        return;
    if (e->local)
        return;
    if (qp->rx_first != NULL)
        say(t, "waits for: the copy engine, which places what has arrived\n");
    else if (us >= 0 && qp->starved_since != 0)
        say(t, "waits for: an acknowledgement of PSN %u; the peer's process has not looked at the wire for %.0f ms more than one "
               "timeout, though a thread of it could run: it gets no processor. Timeouts are not counted, for 10 s at most; "
               "%u retries left\n",
            qp->tx.una, (double)(sn_port_now(qp->port) - qp->starved_since) / 1e6, qp->tx.retries);
    else if (us >= 0)
        say(t, "waits for: an acknowledgement of PSN %u; asks again in %.0f us, %u retries left\n", qp->tx.una, us,
            qp->tx.retries);
    else if (qp->params.ack_timeout == 0)
        say(t, "waits for: an acknowledgement of PSN %u, for ever: the queue has no ACK timeout\n", qp->tx.una);
    else
        say(t, "waits for: room on the wire, or the next turn of the NIC\n");
}

static void describe_requester(struct text *t, struct sn_qp *qp)
{
    const struct sn_tx *tx = &qp->tx;
    bool said = describe_doorbells(t, qp);

    say(t, "send queue: %u blocks; fetched up to %u, posted up to %u; %u WQEs in flight\n", qp->sq.blocks, qp->sq.fetched,
        qp->sq.posted, tx->tail - tx->head);
    say(t, "requester: next PSN %u, oldest unacknowledged %u, %u reads and atomics outstanding (limit %u), retries left %u of "
           "%u, RNR retries left %u of %u\n",
        tx->psn, tx->una, tx->reads, qp->read_limit, tx->retries, qp->params.retry_count, tx->rnr_retries,
        qp->params.rnr_retry);
    if (qp->fault_hole)
        say(t, "a fault plan swallows this queue's requests (retry-exceeded)\n");
    if (tx->rnr_wait)
        say(t, "waits for: the peer, which was not ready to receive (RNR); tries again in %.0f us\n", timer_us(qp));
    else if (tx->head != tx->tail)
        describe_oldest(t, qp);
    else if (!said)
        say(t, "nothing to do: every WQE that the NIC knows of has completed\n");
}

/* ---- all of it ----------------------------------------------------------------------------------------------- */

static void describe_responder(struct text *t, const struct sn_qp *qp)
{
    say(t, "responder: expects PSN %u, MSN %u%s%s\n", qp->rx.epsn, qp->rx.msn,
        qp->rx.nak_sent ? "; has asked for that PSN, or said that it is not ready" : "",
        qp->rx.refused ? "; has refused a request and takes no more" : "");
    if (qp->rx.kind != SN_KIND_COUNT)
        say(t, "responder: a message is in progress, %u bytes placed\n", qp->rx.placed);
}

static void describe_error(struct text *t, const struct sn_qp *qp)
{
    if (qp->error.has_error)
        say(t, "first error: syndrome 0x%02x, vendor syndrome 0x%02x, WQE %u, opcode 0x%02x, seen by the %s\n",
            qp->error.syndrome, qp->error.vendor_err_synd, qp->error.wqe_counter, qp->error.opcode,
            qp->error.responder ? "responder" : "requester");
}

int sn_qp_describe(struct sn_nic *nic, uint32_t qpn, char *out, size_t size)
{
    struct sn_qp *qp = sn_qp_find(nic, qpn);
    struct text t;

    if (qp == NULL)
        return -ENOENT;
    qp->port->now_valid = false;
    t = text_begin(out, size);
    say(&t, "QP 0x%06x on %s: state %s, peer's QP 0x%06x\n", qp->qpn, nic->name, state_name(qp->state),
        qp->params.remote_qpn);
    describe_error(&t, qp);
    if (qp->state < SN_QP_RTS && timer_us(qp) >= 0)
        say(&t, "a doorbell was rung, but nobody has connected the queue: it fails in %.0f us\n", timer_us(qp));
    if (!qp->attr.no_sq && qp->state >= SN_QP_RTS)
        describe_requester(&t, qp);
    if (sn_state_receives(qp->state))
        describe_responder(&t, qp);
    if (qp->send_cq != NULL && qp->send_cq->failed)
        say(&t, "CQ 0x%x has overrun: nothing is written to it any more\n", qp->send_cq->number);
    return (int)t.used;
}
