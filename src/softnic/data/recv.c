/* SPDX-License-Identifier: Apache-2.0 */
/* ibv_post_recv and ibv_post_srq_recv. */
#include <errno.h>
#include <string.h>

#include "format/wqe.h"
#include "softnic/data/post.h"
#include "softnic/exec/order.h"
#include "softnic/verbs/log.h"

static int check(const char *what, uint32_t number, const struct ibv_recv_wr *wr, uint32_t max_sge)
{
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
        return -sv_refuse(EINVAL, "%s: 0x%x: num_sge = %d, it has room for %u", what, number, wr->num_sge, max_sge);
    for (int i = 0; i < wr->num_sge; i++)
        if (wr->sg_list[i].length & SN_INLINE_SEG)
            return -sv_refuse(EINVAL, "%s: 0x%x: length %u of an entry is 2^31 or more", what, number,
                              wr->sg_list[i].length);
    return 0;
}

/* The scatter list from `at` on; it ends at an entry with the invalid key unless it fills the slot. */
static void put_list(uint8_t *at, const uint8_t *end, const struct ibv_recv_wr *wr)
{
    struct gdaki_wqe_image image;

    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];
        if (!sge->length)
            continue;
        image.segs = 0;
        gdaki_wqe_data(&image, sge->addr, htobe32(sge->lkey), sge->length);
        gdaki_store_seg(at, image.word[0], image.word[1]);
        at += SN_WQE_SEG;
    }
    if (at == end)
        return;
    image.segs = 0;
    gdaki_wqe_data(&image, 0, htobe32(SN_LKEY_END), 0);
    gdaki_store_seg(at, image.word[0], image.word[1]);
}

/* ---- a queue pair's own ring --------------------------------------------------------------------------------------- */

static int post_one(struct sv_qp *qp, const struct ibv_recv_wr *wr)
{
    struct sv_wq *rq = &qp->rq;
    enum ibv_qp_state state = __atomic_load_n(&sv_qp_ibv(qp)->state, __ATOMIC_RELAXED);

    if (!rq->slots || state == IBV_QPS_RESET)
        return -sv_refuse(EINVAL, "ibv_post_recv: QP 0x%x %s", qp->qpn,
                          rq->slots ? "is in RESET" : "has no receive queue of its own");
    if (rq->head - atomic_load_explicit(&rq->tail, memory_order_acquire) >= rq->max_post)
        return -ENOMEM;
    int rc = check("ibv_post_recv", qp->qpn, wr, rq->max_sge);
    if (rc)
        return rc;
    uint32_t slot = rq->head & (rq->slots - 1);
    uint8_t *at = rq->ring + (size_t)slot * rq->stride;
    put_list(at, at + rq->stride, wr);
    rq->wr_id[slot] = wr->wr_id;
    rq->head++;
    return 0;
}

/* In ERR nobody but us would look at the record again: what was posted ends in flush errors. */
static void kick_if_failed(struct sv_qp *qp)
{
    if (!__atomic_load_n(&qp->failed, __ATOMIC_SEQ_CST))
        return;
    sn_port_lock(qp->context->port);
    sn_qp_kick(qp->context->nic, qp->qpn);
    sn_port_unlock(qp->context->port);
}

int sv_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct sv_qp *qp = sv_qp_of(ibv);
    int rc = 0;

    if (!sv_context_usable(qp->context, "ibv_post_recv")) {
        *bad = wr;
        return ENODEV;
    }
    pthread_mutex_lock(&qp->rq.lock);
    uint32_t before = qp->rq.head;
    for (; wr && !rc; wr = rc ? wr : wr->next)
        rc = post_one(qp, wr);
    if (qp->rq.head != before)
        __atomic_exchange_n(qp->rq.record, gdaki_record_value(qp->rq.head), __ATOMIC_SEQ_CST); /* transport/failed.h */
    pthread_mutex_unlock(&qp->rq.lock);
    if (qp->rq.slots)
        kick_if_failed(qp);
    if (rc)
        *bad = wr;
    return -rc;
}

/* ---- shared receive queues ----------------------------------------------------------------------------------------- */

static struct sn_next_seg *link_of(const struct sv_srq *srq, uint32_t slot)
{
    return (struct sn_next_seg *)(void *)(srq->wq.ring + (size_t)slot * srq->wq.stride);
}

static int post_one_shared(struct sv_srq *srq, const struct ibv_recv_wr *wr)
{
    uint32_t slot = srq->free_first;

    if (slot == srq->free_last)
        return -ENOMEM;
    int rc = check("ibv_post_srq_recv", srq->srqn, wr, srq->max_sge);
    if (rc)
        return rc;
    uint8_t *at = srq->wq.ring + (size_t)slot * srq->wq.stride;
    srq->free_first = sn_get16(link_of(srq, slot)->next_index);
    put_list(at + sizeof(struct sn_next_seg), at + srq->wq.stride, wr);
    srq->wq.wr_id[slot] = wr->wr_id;
    srq->wq.head++;
    return 0;
}

int sv_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct sv_srq *srq = sv_srq_of(ibv);
    int rc = 0;

    if (!sv_context_usable(srq->context, "ibv_post_srq_recv")) {
        *bad = wr;
        return ENODEV;
    }
    pthread_mutex_lock(&srq->wq.lock);
    uint32_t before = srq->wq.head;
    for (; wr && !rc; wr = rc ? wr : wr->next)
        rc = post_one_shared(srq, wr);
    if (srq->wq.head != before)
        __atomic_store_n(srq->wq.record, gdaki_record_value(srq->wq.head), __ATOMIC_RELEASE);
    pthread_mutex_unlock(&srq->wq.lock);
    if (rc)
        *bad = wr;
    return -rc;
}

/* The slot joins the end of the free list; the one before it, never posted until now, learns its successor. */
uint64_t sv_srq_complete(struct sv_srq *srq, uint16_t slot)
{
    pthread_mutex_lock(&srq->wq.lock);
    uint64_t wr_id = srq->wq.wr_id[slot & (srq->wq.slots - 1)];
    link_of(srq, srq->free_last)->next_index = sn_put16(slot);
    srq->free_last = slot;
    pthread_mutex_unlock(&srq->wq.lock);
    return wr_id;
}
