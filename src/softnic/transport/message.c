/* SPDX-License-Identifier: Apache-2.0 */
/* SEND and WRITE at the responder, reliable or not (IBTA vol. 1, 9.4.1, 9.4.3). */
#include "softnic/transport/message.h"

int sn_message_take_wqe(struct sn_qp *qp)
{
    struct sn_rq *rq = qp->srq != NULL ? &qp->srq->rq : &qp->rq;
    int ret;

    if (qp->rx.has_wqe)
        return 0;
    if (qp->attr.rq_kind == SN_RQ_NONE)
        return -ENOENT;
    ret = sn_rq_take(qp->port, rq, qp->rx.wqe, &qp->rx.wqe_index);
    if (ret == -EAGAIN)
        qp->nic->counters.out_of_buffer++;
    qp->rx.has_wqe = ret == 0;
    if (qp->srq != NULL && qp->srq->limit != 0)
        sn_srq_check_limit(qp->srq);
    if (qp->srq != NULL && ret == -EIO)
        sn_watch_tell(qp->srq->watches, SN_EVENT_SRQ_ERROR, qp->srq->number, 0);
    return ret;
}

/* The list ends at an entry with the invalid key and no bytes, or with the WQE. */
enum sn_fault sn_message_scatter(struct sn_qp *qp, uint32_t placed, uint32_t length, struct sn_placing *p)
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

static enum sn_fault remote_key(struct sn_qp *qp, const struct sn_arrival *a, struct sn_mkey **key)
{
    *key = a->left == 0 ? NULL : sn_qp_key(qp, &qp->rkey_cache, a->rkey);
    return a->left == 0 ? SN_FAULT_NONE
                        : sn_mkey_check(*key, qp->attr.pdn, SN_ACCESS_REMOTE_WRITE, a->va, a->left);
}

bool sn_message_place(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a, enum sn_fault *fault)
{
    struct sn_placing p;
    struct sn_mkey *key = NULL;

    /* The whole of what is left is checked with the first burst, and again with each. */
    *fault = b->kind == SN_KIND_WRITE ? remote_key(qp, a, &key) : sn_message_scatter(qp, a->placed, a->bytes, NULL);
    if (*fault != SN_FAULT_NONE || a->bytes == 0 || qp->rx_phase != 0)
        return true;
    sn_place_begin(&p, qp, b, (size_t)a->skip << (7 + qp->mtu));
    if (b->kind == SN_KIND_WRITE)
        sn_place(&p, sn_mkey_at(key, a->va), key->space, a->bytes);
    else
        (void)sn_message_scatter(qp, a->placed, a->bytes, &p);
    return sn_place_end(&p);
}

static uint8_t opcode_of(const struct sn_burst *b)
{
    if (b->kind == SN_KIND_WRITE)
        return SN_CQE_RESP_WR_IMM;
    if (b->flags & SN_BURST_INVALIDATE)
        return SN_CQE_RESP_SEND_INV;
    return b->flags & SN_BURST_IMM ? SN_CQE_RESP_SEND_IMM : SN_CQE_RESP_SEND;
}

static void finish(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a)
{
    bool word = b->flags & (SN_BURST_IMM | SN_BURST_INVALIDATE);

    qp->rx.msn = (qp->rx.msn + 1) & SN_PSN_MASK;
    qp->rx.kind = SN_KIND_COUNT;
    if (b->kind == SN_KIND_SEND)
        qp->nic->counters.rx_send_requests++;
    else
        qp->nic->counters.rx_write_requests++;
    if (sn_message_takes_wqe(b))
        sn_rq_complete(qp, opcode_of(b), 0, b->kind == SN_KIND_SEND ? a->placed + a->bytes : a->total,
                       word ? b->imm : 0, b->flags & SN_BURST_SOLICITED);
}

void sn_message_commit(struct sn_qp *qp, const struct sn_burst *b, const struct sn_arrival *a)
{
    struct sn_rx *rx = &qp->rx;

    if (b->flags & SN_BURST_LAST) {
        finish(qp, b, a);
        return;
    }
    rx->kind = b->kind;
    rx->va = a->va + a->bytes;
    rx->rkey = a->rkey;
    rx->left = a->left - a->bytes;
    rx->placed = a->placed + a->bytes;
    rx->total = a->total;
}
