/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs on identifiers: made in INIT (datagrams: RTS), moved on by what connection management has agreed. */
#include <errno.h>
#include <string.h>

#include "cma.h"

void cma_ah_attr(const struct cma_id *id, struct ibv_ah_attr *out)
{
    memset(out, 0, sizeof(*out));
    out->is_global = 1;
    memcpy(&out->grh.dgid, id->dgid, 16);
    out->grh.sgid_index = id->sgid_index;
    out->grh.hop_limit = CMA_HOP_LIMIT;
    out->grh.traffic_class = id->tos;
    out->dlid = id->dlid;
    out->port_num = 1;
}

/* ---- attributes -------------------------------------------------------------------------------------------------------- */

static void init_attr(const struct cma_id *id, struct ibv_qp_attr *a, int *mask)
{
    a->pkey_index = 0;
    a->port_num = 1;
    *mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (id->ud) {
        a->qkey = RDMA_UDP_QKEY;
        *mask |= IBV_QP_QKEY;
        return;
    }
    a->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (id->id.qp_type == IBV_QPT_RC)
        a->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    *mask |= IBV_QP_ACCESS_FLAGS;
}

static int rtr_attr(const struct cma_id *id, struct ibv_qp_attr *a, int *mask)
{
    *mask = IBV_QP_STATE;
    if (id->ud)
        return 0;
    if (!id->has_peer)
        return -EINVAL;
    cma_ah_attr(id, &a->ah_attr);
    a->path_mtu = id->mtu;
    a->dest_qp_num = id->peer.qpn;
    a->rq_psn = id->peer.psn;
    *mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (id->id.qp_type != IBV_QPT_RC)
        return 0;
    a->max_dest_rd_atomic = id->responder_resources;
    a->min_rnr_timer = CMA_MIN_RNR;
    *mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    return 0;
}

static int rts_attr(const struct cma_id *id, struct ibv_qp_attr *a, int *mask)
{
    if (!id->ud && !id->has_peer)
        return -EINVAL;
    a->sq_psn = id->psn;
    *mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (id->id.qp_type != IBV_QPT_RC)
        return 0;
    a->timeout = id->ack_timeout;
    a->retry_cnt = id->retry_count;
    a->rnr_retry = id->rnr_retry_count;
    a->max_rd_atomic = id->initiator_depth;
    *mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return 0;
}

static int attr_for(const struct cma_id *id, struct ibv_qp_attr *a, int *mask)
{
    switch (a->qp_state) {
    case IBV_QPS_INIT:
        init_attr(id, a, mask);
        return 0;
    case IBV_QPS_RTR:
        return rtr_attr(id, a, mask);
    case IBV_QPS_RTS:
        return rts_attr(id, a, mask);
    default:
        return -EINVAL;
    }
}

CMA_API int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
    if (!cma_usable(cma_id_of(id)))
        return -1;
    if (!id->verbs)
        return cma_result(-EINVAL);
    return cma_result(attr_for(cma_id_of(id), qp_attr, qp_attr_mask));
}

/* ---- states ---------------------------------------------------------------------------------------------------------------- */

static int move(struct cma_id *id, enum ibv_qp_state to)
{
    struct ibv_qp_attr a = {.qp_state = to};
    int mask, rc = attr_for(id, &a, &mask);
    return rc ? rc : -ibv_modify_qp(id->id.qp, &a, mask);
}

int cma_qp_init(struct cma_id *id)
{
    int rc = move(id, IBV_QPS_INIT);
    if (rc || !id->ud)
        return rc;
    rc = move(id, IBV_QPS_RTR);
    return rc ? rc : move(id, IBV_QPS_RTS);
}

int cma_qp_ready(struct cma_id *id)
{
    int rc = move(id, IBV_QPS_RTR);
    return rc ? rc : move(id, IBV_QPS_RTS);
}

void cma_qp_error(struct cma_id *id)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
    if (id->id.qp && !id->ud)
        (void)ibv_modify_qp(id->id.qp, &a, IBV_QP_STATE);
}

/* ---- completion queues of our own -------------------------------------------------------------------------------------------- */

static int make_cq(struct rdma_cm_id *id, uint32_t entries, struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
    *channel = ibv_create_comp_channel(id->verbs);
    if (!*channel)
        return -errno;
    *cq = ibv_create_cq(id->verbs, (int)(entries ? entries : 1), id, *channel, 0);
    if (*cq)
        return 0;
    int rc = -errno;
    ibv_destroy_comp_channel(*channel);
    *channel = NULL;
    return rc;
}

static void free_cq(struct ibv_comp_channel **channel, struct ibv_cq **cq, bool *own)
{
    if (!*own)
        return;
    ibv_destroy_cq(*cq);
    ibv_destroy_comp_channel(*channel);
    *cq = NULL;
    *channel = NULL;
    *own = false;
}

static void free_cqs(struct cma_id *id)
{
    free_cq(&id->id.send_cq_channel, &id->id.send_cq, &id->own_send_cq);
    free_cq(&id->id.recv_cq_channel, &id->id.recv_cq, &id->own_recv_cq);
}

static int make_cqs(struct cma_id *id, struct ibv_qp_init_attr_ex *a)
{
    struct rdma_cm_id *i = &id->id;
    int rc;
    if (!a->send_cq && !i->send_cq) {
        if ((rc = make_cq(i, a->cap.max_send_wr, &i->send_cq_channel, &i->send_cq)))
            return rc;
        id->own_send_cq = true;
    }
    if (!a->recv_cq && !i->recv_cq) {
        if ((rc = make_cq(i, a->cap.max_recv_wr, &i->recv_cq_channel, &i->recv_cq)))
            return rc;
        id->own_recv_cq = true;
    }
    if (!a->send_cq)
        a->send_cq = i->send_cq;
    if (!a->recv_cq)
        a->recv_cq = i->recv_cq;
    return 0;
}

/* ---- creation -------------------------------------------------------------------------------------------------------------------- */

static int take_pd(struct cma_id *id, struct ibv_pd *pd, struct ibv_pd **out)
{
    if (!pd)
        pd = id->id.pd ? id->id.pd : cma_default_pd(id->device);
    if (!pd)
        return -errno;
    *out = pd;
    return pd->context == id->id.verbs ? 0 : -EINVAL;
}

static int create(struct cma_id *id, struct ibv_qp_init_attr_ex *a)
{
    int rc;
    if (!id->id.verbs || id->id.qp || a->qp_type != id->id.qp_type)
        return -EINVAL;
    if ((rc = take_pd(id, a->comp_mask & IBV_QP_INIT_ATTR_PD ? a->pd : NULL, &a->pd)))
        return rc;
    a->comp_mask |= IBV_QP_INIT_ATTR_PD;
    if ((rc = make_cqs(id, a)))
        goto fail;
    /* With nothing but a domain this is ibv_create_qp, whose attributes are the first part of these. */
    id->id.qp = ibv_create_qp_ex(id->id.verbs, a);
    rc = id->id.qp ? cma_qp_init(id) : errno ? -errno : -ENOMEM;
    if (rc)
        goto fail;
    id->id.pd = a->pd;
    return 0;
fail:
    if (id->id.qp)
        ibv_destroy_qp(id->id.qp);
    id->id.qp = NULL;
    free_cqs(id);
    return rc;
}

CMA_API int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)
{
    return cma_usable(cma_id_of(id)) ? cma_result(create(cma_id_of(id), qp_init_attr)) : -1;
}

CMA_API int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
    struct ibv_qp_init_attr_ex a = {.qp_context = qp_init_attr->qp_context,
                                    .send_cq = qp_init_attr->send_cq,
                                    .recv_cq = qp_init_attr->recv_cq,
                                    .srq = qp_init_attr->srq,
                                    .cap = qp_init_attr->cap,
                                    .qp_type = qp_init_attr->qp_type,
                                    .sq_sig_all = qp_init_attr->sq_sig_all,
                                    .comp_mask = IBV_QP_INIT_ATTR_PD,
                                    .pd = pd};
    if (rdma_create_qp_ex(id, &a))
        return -1;
    qp_init_attr->cap = a.cap; /* not the CQs that were made: callers use the structure again for the next identifier */
    return 0;
}

CMA_API void rdma_destroy_qp(struct rdma_cm_id *id)
{
    if (!id->qp || !cma_usable(cma_id_of(id)))
        return;
    ibv_destroy_qp(id->qp);
    id->qp = NULL;
    free_cqs(cma_id_of(id));
}

/* ---- shared receive queues ------------------------------------------------------------------------------------------------------- */

CMA_API int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    if (!cma_usable(cma_id_of(id)))
        return -1;
    if (!id->verbs || id->srq)
        return cma_result(-EINVAL);
    int rc = take_pd(cma_id_of(id), pd, &pd);
    if (rc)
        return cma_result(rc);
    id->srq = ibv_create_srq(pd, attr);
    if (!id->srq)
        return -1;
    id->pd = pd;
    return 0;
}

CMA_API int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
    struct cma_id *i = cma_id_of(id);
    if (!cma_usable(i))
        return -1;
    if (!id->verbs || id->srq)
        return cma_result(-EINVAL);
    int rc = take_pd(i, attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : NULL, &attr->pd);
    if (rc)
        return cma_result(rc);
    attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
    id->srq = ibv_create_srq_ex(id->verbs, attr);
    if (!id->srq)
        return -1;
    id->pd = attr->pd;
    return 0;
}

CMA_API void rdma_destroy_srq(struct rdma_cm_id *id)
{
    if (!id->srq || !cma_usable(cma_id_of(id)))
        return;
    ibv_destroy_srq(id->srq);
    id->srq = NULL;
}
