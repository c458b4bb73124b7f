/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs: creation, state commands, queries. */
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"
#include "softnic/transport/failed.h"


enum { UD_DEFAULT_MTU = 5 /* 4096 bytes: the port's, when the command names none */ };

struct sn_qp *sn_qp_find(const struct sn_nic *nic, uint32_t qpn)
{
    return sn_map_get(&nic->qps, qpn);
}

void sn_qp_unwait(struct sn_qp *qp)
{
    if (qp->waits_on == NULL)
        return;
    for (struct sn_qp **link = &qp->waits_on->waiters; *link != NULL; link = &(*link)->wait_next)
        if (*link == qp) {
            *link = qp->wait_next;
            break;
        }
    qp->waits_on = NULL;
    qp->tx.waiting_cq = false;
}

/* ---- creation ------------------------------------------------------------------------------------------------ */

static const char create_what[] = "create a QP";

static int check_sq(const struct sn_qp_attr *a)
{
    if (a->no_sq)
        return 0;
    if (a->log_sq_size > SN_LOG_RING_MAX)
        return sn_fail(-EINVAL, create_what, NULL, 0, "log_sq_size beyond 15", a->log_sq_size);
    if (a->sq.addr == NULL || a->sq.length < ((size_t)SN_WQE_BB << a->log_sq_size))
        return sn_fail(-EINVAL, create_what, NULL, 0, "send ring memory too small, bytes", a->sq.length);
    if (((uintptr_t)a->sq.addr & (SN_WQE_BB - 1)) != 0)
        return sn_fail(-EINVAL, create_what, NULL, 0, "send ring not aligned to 64 bytes", (uintptr_t)a->sq.addr);
    if (!a->no_send_record && a->record.length < 8)
        return sn_fail(-EINVAL, create_what, NULL, 0, "doorbell record needs 8 bytes, has", a->record.length);
    if (a->uar == 0)
        return sn_fail(-EINVAL, create_what, NULL, 0, "a send queue needs a UAR", 0);
    return 0;
}

static int check_rq(const struct sn_qp_attr *a)
{
    if (a->rq_kind != SN_RQ_REGULAR)
        return 0;
    if (a->log_rq_size > SN_LOG_RING_MAX)
        return sn_fail(-EINVAL, create_what, NULL, 0, "log_rq_size beyond 15", a->log_rq_size);
    if (a->log_rq_stride < 4 || a->log_rq_stride > 10)
        return sn_fail(-EINVAL, create_what, NULL, 0, "receive WQE not 16 to 1024 bytes, log2", a->log_rq_stride);
    if (a->rq.addr == NULL || a->rq.length < ((size_t)1 << (a->log_rq_size + a->log_rq_stride)))
        return sn_fail(-EINVAL, create_what, NULL, 0, "receive ring memory too small, bytes", a->rq.length);
    if (((uintptr_t)a->rq.addr & 15) != 0)
        return sn_fail(-EINVAL, create_what, NULL, 0, "receive ring not aligned to 16 bytes", (uintptr_t)a->rq.addr);
    if (a->record.length < 4)
        return sn_fail(-EINVAL, create_what, NULL, 0, "doorbell record needs 4 bytes, has", a->record.length);
    return 0;
}

static int check(const struct sn_qp_attr *a)
{
    int ret;

    if (a->service != SN_SERVICE_RC && a->service != SN_SERVICE_UC && a->service != SN_SERVICE_UD &&
        a->service != SN_SERVICE_DC)
        return sn_fail(-EOPNOTSUPP, create_what, NULL, 0, "RC 0, UC 1, UD 3 and DC 6 are modelled, not service",
                       a->service);
    if (((uintptr_t)a->record.addr & 3) != 0 || (a->record.length != 0 && a->record.addr == NULL))
        return sn_fail(-EINVAL, create_what, NULL, 0, "doorbell record not aligned", (uintptr_t)a->record.addr);
    ret = check_sq(a);
    return ret != 0 ? ret : check_rq(a);
}

static int resolve_spans(struct sn_qp *qp)
{
    struct sn_span *span[] = {&qp->attr.sq, &qp->attr.rq, &qp->attr.record};

    for (unsigned i = 0; i < 3; i++) {
        int ret = sn_span_resolve(qp->port, span[i]);
        if (ret != 0)
            return sn_fail(ret, create_what, NULL, 0, "queue in GPU memory, but no GPU seam in this process", i);
    }
    return 0;
}

/* Finds what the QP refers to; nothing is counted yet. */
static int resolve_objects(struct sn_qp *qp)
{
    struct sn_nic *nic = qp->nic;
    struct sn_qp_attr *a = &qp->attr;

    if (sn_pd_find(nic, a->pdn) == NULL)
        return sn_fail(-EINVAL, create_what, "pd", a->pdn, "no such protection domain", a->pdn);
    qp->send_cq = sn_cq_find(nic, a->cqn_snd);
    if (!a->no_sq && qp->send_cq == NULL)
        return sn_fail(-EINVAL, create_what, "cq", a->cqn_snd, "no such send CQ", a->cqn_snd);
    qp->recv_cq = sn_cq_find(nic, a->cqn_rcv);
    if (a->rq_kind != SN_RQ_NONE && qp->recv_cq == NULL)
        return sn_fail(-EINVAL, create_what, "cq", a->cqn_rcv, "no such receive CQ", a->cqn_rcv);
    qp->srq = a->rq_kind == SN_RQ_SRQ ? sn_table_get(&nic->srqs, a->srqn) : NULL;
    if (a->rq_kind == SN_RQ_SRQ && qp->srq == NULL)
        return sn_fail(-EINVAL, create_what, "srq", a->srqn, "no such SRQ", a->srqn);
    return 0;
}

static void init_queues(struct sn_qp *qp)
{
    struct sn_qp_attr *a = &qp->attr;

    if (!a->no_sq) {
        qp->sq.blocks = 1u << a->log_sq_size;
        qp->tx.mask = (qp->sq.blocks < SN_TX_ENTRIES ? qp->sq.blocks : SN_TX_ENTRIES) - 1;
        qp->sq.gpu_ring = a->sq.space == SN_SPACE_GPU;
        qp->sq.gpu_record = !a->no_send_record && a->record.space == SN_SPACE_GPU;
        if (!a->no_send_record && !qp->sq.gpu_record)
            qp->sq.record = (const uint8_t *)a->record.addr + 4;
        qp->sq.ring = a->sq.addr;
    }
    if (a->rq_kind == SN_RQ_REGULAR)
        qp->rq = (struct sn_rq){.ring = a->rq,
                                .record = a->record,
                                .log_size = a->log_rq_size,
                                .log_stride = a->log_rq_stride};
    qp->rx.kind = SN_KIND_COUNT;
    qp->params.mtu = qp->mtu = 1;
    qp->timer.fire = sn_rc_timer;
}

static int alloc_buffers(struct sn_qp *qp)
{
    int ret = 0;

    if (qp->sq.gpu_ring) {
        ret = sn_sq_mirror_create(qp);
        qp->sq.ring = qp->sq.mirror;
    }
    if (qp->attr.rq_kind != SN_RQ_NONE) {
        uint8_t stride = qp->srq != NULL ? qp->srq->rq.log_stride : qp->rq.log_stride;
        qp->rx.wqe = aligned_alloc(64, stride < 6 ? 64 : (size_t)1 << stride);
        if (qp->rx.wqe == NULL)
            ret = -ENOMEM;
    }
    return ret == 0 ? 0 : sn_fail(ret, create_what, NULL, 0, "QPs so far", qp->nic->qps.used);
}

static int pick_number(struct sn_qp *qp)
{
    struct sn_nic *nic = qp->nic;

    if (sn_map_room(&nic->qps) != 0)
        return sn_fail(-ENOMEM, create_what, NULL, 0, "QPs so far", nic->qps.used);
    if (sn_number_pick(nic, &qp->qpn) != 0)
        return sn_fail(-ENOSPC, create_what, NULL, 0, "no more QP numbers in this process slot, in use", nic->qps.used);
    sn_map_add(&nic->qps, qp->qpn, qp);
    return 0;
}

static void count_users(struct sn_qp *qp, int by)
{
    sn_pd_find(qp->nic, qp->attr.pdn)->users += (uint32_t)by;
    if (qp->send_cq != NULL && !qp->attr.no_sq)
        qp->send_cq->users += (uint32_t)by;
    if (qp->recv_cq != NULL && qp->attr.rq_kind != SN_RQ_NONE)
        qp->recv_cq->users += (uint32_t)by;
    if (qp->srq != NULL)
        qp->srq->users += (uint32_t)by;
}

static void free_qp(struct sn_qp *qp)
{
    for (unsigned i = 0; qp->tx.table != NULL && i <= qp->tx.mask; i++)
        free(qp->tx.table[i].big);
    free(qp->tx.table);
    free(qp->rx.rd);
    free(qp->rx.wqe);
    free(qp->sq.mirror);
    free(qp);
}

static void wake(struct sn_port *port)
{
    if (!port->config.no_thread)
        sn_port_wake(port);
}

int sn_qp_create(struct sn_nic *nic, const struct sn_qp_attr *attr, uint32_t *qpn)
{
    struct sn_uar_object *uar = NULL;
    struct sn_qp *qp;
    int ret = check(attr);

    if (ret != 0)
        return ret;
    qp = sn_lines(sizeof(*qp));
    if (qp == NULL)
        return sn_fail(-ENOMEM, create_what, NULL, 0, "QPs so far", nic->qps.used);
    qp->nic = nic;
    qp->port = nic->port;
    qp->attr = *attr;
    ret = resolve_spans(qp);
    if (ret == 0)
        ret = resolve_objects(qp);
    if (ret != 0)
        goto fail;
    init_queues(qp);
    ret = alloc_buffers(qp);
    if (ret != 0)
        goto fail;
    if (attr->uar != 0 && (uar = sn_uar_get(nic, attr->uar)) == NULL) {
        ret = sn_fail(-EINVAL, create_what, "uar", attr->uar, "no such UAR", attr->uar);
        goto fail;
    }
    ret = pick_number(qp);
    if (ret != 0)
        goto put_uar;
    if (uar != NULL)
        sn_uar_attach(uar, qp);
    count_users(qp, 1);
    *qpn = qp->qpn;
    wake(nic->port);
    return 0;
put_uar:
    if (uar != NULL)
        sn_uar_put(uar);
fail:
    free_qp(qp);
    return ret;
}

static void quiet(struct sn_qp *qp)
{
    sn_xfer_quiesce(qp->port); /* copies of this QP end here, whoever else's too */
    sn_qp_drop_pending(qp);
    sn_timer_cancel(&qp->port->wheel, &qp->timer);
    sn_qp_unwait(qp);
    sn_qp_deactivate(qp);
    for (struct sn_qp **link = &qp->port->ack_first; qp->on_ack_list && *link != NULL; link = &(*link)->ack_next)
        if (*link == qp) {
            *link = qp->ack_next;
            break;
        }
    qp->on_ack_list = false;
}

/*
 * A receive of an SRQ that a message had begun to fill is consumed (IBTA vol. 1, 10.2.9); it ends in a flush error, so that
 * who posted it hears of it. Receives of a ring of its own go with the queue pair.
 */
static void end_shared_receive(struct sn_qp *qp)
{
    if (qp->srq == NULL || !qp->rx.has_wqe)
        return;
    sn_rq_complete(qp, SN_CQE_RESP_ERR, SN_SYND_FLUSH, 0, 0, false);
    quiet(qp); /* a CQ without room has made it an error, with work to do */
}

int sn_qp_destroy(struct sn_nic *nic, uint32_t qpn)
{
    struct sn_qp *qp = sn_qp_find(nic, qpn);

    if (qp == NULL)
        return sn_fail(-ENOENT, "destroy a QP", "qp", qpn, "no such QP", qpn);
    quiet(qp);
    end_shared_receive(qp);
    sn_mw_qp_gone(nic, qpn);
    qp->port->topology++;
    if (qp->uar != NULL) {
        sn_uar_forget(qp);
        sn_uar_detach(qp->uar, qp);
    }
    count_users(qp, -1);
    sn_watch_end(qp->watches);
    sn_map_remove(&nic->qps, qpn);
    sn_number_gone(nic, qpn);
    free_qp(qp);
    return 0;
}

/* ---- states -------------------------------------------------------------------------------------------------- */

static void take_flags(struct sn_qp_params *to, const struct sn_qp_params *p, uint32_t mask)
{
    if (mask & SN_QPF_PKEY_INDEX)
        to->pkey_index = p->pkey_index;
    if (mask & SN_QPF_PORT)
        to->port = p->port;
    if (mask & SN_QPF_RWE)
        to->rwe = p->rwe;
    if (mask & SN_QPF_RRE)
        to->rre = p->rre;
    if (mask & SN_QPF_RAE) {
        to->rae = p->rae;
        to->atomic_mode = p->atomic_mode;
    }
    if (mask & SN_QPF_MIN_RNR)
        to->min_rnr = p->min_rnr;
    if (mask & SN_QPF_MSG_MAX)
        to->log_msg_max = p->log_msg_max;
    if (mask & SN_QPF_PATH)
        to->path = p->path;
    if (mask & SN_QPF_QKEY)
        to->qkey = p->qkey;
    if (mask & SN_QPF_SQD_EVENT)
        to->sqd_event = p->sqd_event;
}

static void take_connection(struct sn_qp_params *to, const struct sn_qp_params *p, uint32_t mask)
{
    if (mask & SN_QPF_MTU)
        to->mtu = p->mtu;
    if (mask & SN_QPF_RCV_PSN)
        to->rcv_psn = p->rcv_psn & SN_PSN_MASK;
    if (mask & SN_QPF_SND_PSN)
        to->snd_psn = p->snd_psn & SN_PSN_MASK;
    if (mask & SN_QPF_REMOTE)
        to->remote_qpn = p->remote_qpn & 0xffffffu;
    if (mask & SN_QPF_ACK_TIMEOUT)
        to->ack_timeout = p->ack_timeout & 0x1f;
    if (mask & SN_QPF_RETRY)
        to->retry_count = p->retry_count & 7;
    if (mask & SN_QPF_RNR_RETRY)
        to->rnr_retry = p->rnr_retry & 7;
    if (mask & SN_QPF_SRA)
        to->log_sra_max = p->log_sra_max & 7;
    if (mask & SN_QPF_RRA)
        to->log_rra_max = p->log_rra_max & 7;
}

static int check_params(struct sn_qp *qp, enum sn_qp_state to, const struct sn_qp_params *p, uint32_t mask)
{
    static const char what[] = "move a QP";
    const bool connects = qp->attr.service == SN_SERVICE_RC || qp->attr.service == SN_SERVICE_UC;
    const uint32_t connect = connects ? SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE : 0;

    if ((mask & SN_QPF_MTU) && (p->mtu < 1 || p->mtu > 5))
        return sn_fail(-EINVAL, what, "qp", qp->qpn, "path MTU code not in 1..5", p->mtu);
    if ((mask & SN_QPF_PATH) && p->path.sgid_index >= qp->nic->config.gid_count)
        return sn_fail(-EINVAL, what, "qp", qp->qpn, "no such GID index", p->path.sgid_index);
    if (qp->state == SN_QP_INIT && to == SN_QP_RTR && (mask & connect) != connect)
        return sn_fail(-EINVAL, what, "qp", qp->qpn, "to RTR without MTU, receive PSN or remote QPN, fields", mask);
    if (qp->state == SN_QP_RTR && to == SN_QP_RTS && !(mask & SN_QPF_SND_PSN))
        return sn_fail(-EINVAL, what, "qp", qp->qpn, "to RTS without a send PSN, fields", mask);
    return 0;
}

static void build_header(struct sn_qp *qp)
{
    const struct sn_qp_params *p = &qp->params;
    struct sn_burst *h = &qp->header;

    uint8_t epoch = h->epoch;

    memset(h, 0, offsetof(struct sn_burst, iov));
    h->epoch = epoch;
    memcpy(h->dgid, p->path.dgid, 16);
    memcpy(h->sgid, qp->nic->config.gid[p->path.sgid_index], 16);
    h->dqpn = p->remote_qpn;
    h->sqpn = qp->qpn;
    h->service = (uint8_t)qp->attr.service;
    h->mtu = p->mtu;
    h->pkey = 0xffff;
    h->tclass = p->path.dscp != 0 ? (uint8_t)(p->path.dscp << 2) : p->path.traffic_class;
    h->hop_limit = p->path.hop_limit;
    h->udp_sport = p->path.udp_sport;
    h->flow_label = p->path.flow_label;
    memcpy(h->dmac, p->path.rmac, 6);
    qp->route_generation = qp->near_generation = qp->far_generation = qp->port->topology - 1; /* look it up anew */
}

static int to_rtr(struct sn_qp *qp)
{
    struct sn_rx *rx = &qp->rx;
    uint32_t slots = 1u << qp->params.log_rra_max;

    if (qp->attr.service == SN_SERVICE_RC && (rx->rd == NULL || rx->rd_mask + 1 != slots)) {
        struct sn_rd_slot *rd = sn_lines(slots * sizeof(*rd));
        if (rd == NULL)
            return sn_fail(-ENOMEM, "move a QP", "qp", qp->qpn, "reads and atomics as responder", slots);
        free(rx->rd);
        rx->rd = rd;
        rx->rd_mask = slots - 1;
    }
    rx->epsn = qp->params.rcv_psn;
    rx->msn = 0;
    rx->kind = SN_KIND_COUNT;
    qp->mtu = qp->params.mtu;
    return 0;
}

static void to_init(struct sn_qp *qp)
{
    sn_timer_cancel(&qp->port->wheel, &qp->timer);
    sn_sq_reset(qp);
}

static void to_rts(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;

    sn_timer_cancel(&qp->port->wheel, &qp->timer);
    tx->psn = tx->una = tx->high = qp->params.snd_psn;
    tx->retries = qp->params.retry_count;
    tx->rnr_retries = qp->params.rnr_retry;
    qp->starved_since = 0;
    qp->read_limit = 1u << qp->params.log_sra_max;
    if (sn_sq_may_be_posted(qp)) { /* the record counts from here, and a doorbell may have come early */
        qp->sq.doorbell = true;
        sn_qp_activate(qp);
    }
}

/* Everything up to here has been flushed; the send queue starts afresh behind it. */
static void from_sqer(struct sn_qp *qp)
{
    for (uint32_t n = 0; n <= qp->sq.blocks && sn_rc_flush_sends(qp) != 0; n++)
        ;
    qp->tx.stop = false;
    qp->tx.una = qp->tx.psn;
    qp->sq.doorbell = true;
}

static bool has_begun(const struct sn_qp *qp, const struct sn_entry *e)
{
    return e->sent != 0 || sn_psn_diff(qp->tx.high, e->psn) > 0;
}

/* Draining: what has begun goes on to its completion, nothing new is started (10.3.1.5). */
static void to_sqd(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;

    tx->drain = tx->next;
    while (tx->drain != tx->tail && has_begun(qp, sn_tx_at(qp, tx->drain))) /* in part, or gone back to */
        tx->drain++;
    sn_qp_activate(qp);
    qp->tell_drained = qp->params.sqd_event;
    qp->params.sqd_event = false; /* asked for with each move anew */
    sn_tx_check_drained(qp);
}

static void to_rst(struct sn_qp *qp)
{
    struct sn_tx *tx = &qp->tx;

    quiet(qp);
    end_shared_receive(qp);
    qp->header.epoch++; /* what a wire remembers of the last connection is void */
    if (qp->uar != NULL)
        sn_uar_forget(qp); /* a doorbell from now on is a mistake, and is told */
    qp->sq.has_hint = qp->sq.doorbell = false;
    qp->sq.fetched = qp->sq.posted = qp->sq.hint = qp->sq.mirrored = 0;
    *tx = (struct sn_tx){.table = tx->table, .mask = tx->mask};
    if (qp->rx.rd != NULL) /* those that were used */
        memset(qp->rx.rd, 0, (qp->rx.rd_around ? qp->rx.rd_mask + 1 : qp->rx.rd_tail) * sizeof(*qp->rx.rd));
    qp->rx = (struct sn_rx){.kind = SN_KIND_COUNT, .wqe = qp->rx.wqe, .rd = qp->rx.rd, .rd_mask = qp->rx.rd_mask};
    qp->rq.taken = qp->rq.posted = qp->rq.head = 0;
    qp->error = (struct sn_qp_error){0};
    sn_qp_show_failed(qp, 0);
    qp->tell_drained = qp->tell_last_wqe = qp->established = false;
    qp->params = (struct sn_qp_params){.mtu = qp->params.mtu};
}

static int run_transition(struct sn_qp *qp, enum sn_qp_state to)
{
    enum sn_qp_state from = qp->state;
    int ret = 0;

    if (to == SN_QP_RST)
        to_rst(qp);
    else if (to == SN_QP_INIT && from == SN_QP_RST)
        to_init(qp);
    else if (to == SN_QP_RTR)
        ret = to_rtr(qp);
    else if (to == SN_QP_RTS && from == SN_QP_RTR)
        to_rts(qp);
    else if (to == SN_QP_RTS && from == SN_QP_SQER)
        from_sqer(qp);
    else if (to == SN_QP_SQD && from == SN_QP_RTS)
        to_sqd(qp);
    else if (to == SN_QP_ERR)
        sn_qp_error_enter(qp);
    if (ret != 0)
        return ret;
    qp->state = (uint8_t)to;
    if (to >= SN_QP_RTR && to != SN_QP_ERR)
        build_header(qp);
    if (to == SN_QP_RTS) {
        qp->tell_drained = false;
        if (from != SN_QP_RTR)
            sn_qp_activate(qp);
    }
    return 0;
}

int sn_qp_modify(struct sn_nic *nic, uint32_t qpn, enum sn_qp_state to, const struct sn_qp_params *params, uint32_t mask)
{
    static const char what[] = "move a QP";
    static const struct sn_qp_params none;
    struct sn_qp *qp = sn_qp_find(nic, qpn);
    struct sn_qp_params before;
    int ret;

    if (qp == NULL)
        return sn_fail(-ENOENT, what, "qp", qpn, "no such QP", qpn);
    if (!sn_state_may_move(qp->state, to))
        return sn_fail(-EINVAL, what, "qp", qpn, "no such transition, from * 16 + to", qp->state * 16u + to);
    if (params == NULL) {
        params = &none;
        mask = 0;
    }
    ret = check_params(qp, to, params, mask);
    if (ret != 0)
        return ret;
    before = qp->params;
    take_flags(&qp->params, params, mask);
    take_connection(&qp->params, params, mask);
    if (qp->attr.service == SN_SERVICE_UD && to == SN_QP_RTR && !(mask & SN_QPF_MTU))
        qp->params.mtu = UD_DEFAULT_MTU;
    qp->port->topology++;
    ret = run_transition(qp, to);
    if (ret != 0)
        qp->params = before;
    else
        wake(qp->port);
    return ret;
}

int sn_qp_query(struct sn_nic *nic, uint32_t qpn, enum sn_qp_state *state, struct sn_qp_params *params,
                struct sn_qp_attr *attr, struct sn_qp_error *error)
{
    struct sn_qp *qp = sn_qp_find(nic, qpn);

    if (qp == NULL)
        return sn_fail(-ENOENT, "query a QP", "qp", qpn, "no such QP", qpn);
    if (state != NULL)
        *state = (enum sn_qp_state)qp->state;
    if (params != NULL) {
        *params = qp->params;
        if (qp->state >= SN_QP_RTR)
            params->rcv_psn = qp->rx.epsn;
        if (qp->state >= SN_QP_RTS)
            params->snd_psn = qp->tx.psn;
    }
    if (attr != NULL)
        *attr = qp->attr;
    if (error != NULL)
        *error = qp->error;
    return 0;
}

int sn_qp_draining(struct sn_nic *nic, uint32_t qpn, bool *draining)
{
    struct sn_qp *qp = sn_qp_find(nic, qpn);

    if (qp == NULL)
        return sn_fail(-ENOENT, "query a QP", "qp", qpn, "no such QP", qpn);
    *draining = qp->state == SN_QP_SQD && (int32_t)(qp->tx.head - qp->tx.drain) < 0;
    return 0;
}

int sn_qp_kick(struct sn_nic *nic, uint32_t qpn)
{
    struct sn_qp *qp = sn_qp_find(nic, qpn);

    if (qp == NULL)
        return sn_fail(-ENOENT, "kick a QP", "qp", qpn, "no such QP", qpn);
    qp->sq.doorbell = true;
    sn_qp_activate(qp);
    wake(qp->port);
    return 0;
}
