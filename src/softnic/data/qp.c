/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs: life and sizes. qp_state.c moves them, post.c and recv.c post to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/gdaki_wqe.h"
#include "format/wqe.h"
#include "softnic/data/poll.h"
#include "softnic/prm/parse.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

enum {
    SLOTS_MIN = 4, /* a memory window's bind takes three */
    MAX_SLOTS = 1 << PRM_MAX_LOG_QP_SIZE,
    WQE_BYTES_MAX = SN_WQE_MAX_DS * SN_WQE_SEG,
    INLINE_HEADER = sizeof(struct sn_inline_seg),
    RECORD_BYTES = 64,
    INLINE_USUAL = 64, /* 60 bytes are there unasked where there is room: a ConnectX has them, and programs forget to ask */
    SHARED_REGISTERS = 1024,
};

/* ---- by number ----------------------------------------------------------------------------------------------------- */

struct sv_qp_page {
    struct sv_qp *_Atomic qp[256];
};

struct sv_qp *sv_qp_find(const struct sv_context *ctx, uint32_t qpn)
{
    const struct sv_qp_page *page = atomic_load_explicit(&ctx->qps[(qpn >> 8) & 0xff], memory_order_acquire);
    struct sv_qp *qp = page ? atomic_load_explicit(&page->qp[qpn & 0xff], memory_order_acquire) : NULL;
    return qp && qp->qpn == qpn ? qp : NULL;
}

/* Port lock held. A page stays until the context is closed. */
static int enter(struct sv_qp *qp)
{
    struct sv_qp_page *_Atomic *slot = &qp->context->qps[(qp->qpn >> 8) & 0xff];
    struct sv_qp_page *page = atomic_load_explicit(slot, memory_order_relaxed);
    if (!page) {
        page = calloc(1, sizeof(*page));
        if (!page)
            return -ENOMEM;
        atomic_store_explicit(slot, page, memory_order_release);
    }
    atomic_store_explicit(&page->qp[qp->qpn & 0xff], qp, memory_order_release);
    return 0;
}

static void leave(struct sv_qp *qp)
{
    struct sv_qp_page *page = atomic_load_explicit(&qp->context->qps[(qp->qpn >> 8) & 0xff], memory_order_relaxed);
    if (page && atomic_load_explicit(&page->qp[qp->qpn & 0xff], memory_order_relaxed) == qp)
        atomic_store_explicit(&page->qp[qp->qpn & 0xff], NULL, memory_order_release);
}

void sv_qp_pages_free(struct sv_context *ctx)
{
    for (unsigned i = 0; i < 256; i++)
        free(atomic_load_explicit(&ctx->qps[i], memory_order_relaxed));
}

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

static uint32_t power_of_two(uint64_t at_least)
{
    uint64_t n = 1;
    while (n < at_least)
        n *= 2;
    return (uint32_t)n;
}

/* What comes before the data: control segment; address vector; or remote address and operands of an atomic. */
static uint32_t overhead(enum sn_service service)
{
    if (service == SN_SERVICE_UD)
        return sizeof(struct sn_ctrl_seg) + sizeof(struct sn_av_seg);
    return sizeof(struct sn_ctrl_seg) + sizeof(struct sn_raddr_seg) +
           (service == SN_SERVICE_RC ? sizeof(struct sn_atomic_seg) : 0);
}

static uint32_t blocks_of(uint32_t bytes)
{
    return (bytes + SN_WQE_BB - 1) / SN_WQE_BB;
}

static int size_sq(const char *what, struct sv_qp *qp, const struct ibv_qp_cap *cap)
{
    uint32_t lists = cap->max_send_sge * SN_WQE_SEG, blocks;
    uint64_t inlines = cap->max_inline_data ? ((uint64_t)cap->max_inline_data + INLINE_HEADER + 15) / 16 * 16 : 0;
    uint64_t bytes = qp->overhead + (lists > inlines ? lists : inlines);

    if (!cap->max_send_wr)
        return 0;
    if (cap->max_send_sge > SV_MAX_SGE || bytes > WQE_BYTES_MAX)
        return sv_refuse(EINVAL, "%s: max_send_sge = %u (0..%d), max_inline_data = %u (0..%u)", what, cap->max_send_sge,
                         (int)SV_MAX_SGE, cap->max_inline_data, WQE_BYTES_MAX - qp->overhead - INLINE_HEADER);
    blocks = blocks_of((uint32_t)bytes);
    if (cap->max_send_wr <= MAX_SLOTS / blocks_of(qp->overhead + INLINE_USUAL) &&
        blocks < blocks_of(qp->overhead + INLINE_USUAL))
        blocks = blocks_of(qp->overhead + INLINE_USUAL);
    if ((uint64_t)cap->max_send_wr * blocks > MAX_SLOTS)
        return sv_refuse(EINVAL, "%s: max_send_wr = %u of %u bytes each is beyond a ring of %d bytes", what,
                         cap->max_send_wr, blocks * SN_WQE_BB, MAX_SLOTS * SN_WQE_BB);
    bytes = blocks * SN_WQE_BB < WQE_BYTES_MAX ? blocks * SN_WQE_BB : WQE_BYTES_MAX;
    qp->sq.stride = SN_WQE_BB;
    qp->sq.slots = power_of_two((uint64_t)cap->max_send_wr * blocks);
    if (qp->sq.slots < SLOTS_MIN)
        qp->sq.slots = SLOTS_MIN;
    qp->wqe_blocks = blocks;
    qp->sq.max_post = qp->sq.slots / blocks;
    qp->sq.max_sge = ((uint32_t)bytes - qp->overhead) / SN_WQE_SEG;
    if (qp->sq.max_sge > SV_MAX_SGE)
        qp->sq.max_sge = SV_MAX_SGE;
    qp->max_inline = (uint32_t)bytes - qp->overhead < INLINE_HEADER ? 0 : (uint32_t)bytes - qp->overhead - INLINE_HEADER;
    return 0;
}

static int size_rq(const char *what, struct sv_qp *qp, const struct ibv_qp_cap *cap)
{
    if (!cap->max_recv_wr || sv_qp_ibv(qp)->srq)
        return 0;
    if (cap->max_recv_wr > MAX_SLOTS || cap->max_recv_sge > SV_MAX_SGE)
        return sv_refuse(EINVAL, "%s: max_recv_wr = %u (0..%d), max_recv_sge = %u (0..%d)", what, cap->max_recv_wr,
                         (int)MAX_SLOTS, cap->max_recv_sge, (int)SV_MAX_SGE);
    qp->rq.stride = power_of_two(cap->max_recv_sge ? cap->max_recv_sge * SN_WQE_SEG : SN_WQE_SEG);
    qp->rq.slots = power_of_two(cap->max_recv_wr);
    if (qp->rq.slots * qp->rq.stride < SN_WQE_BB)
        qp->rq.slots = SN_WQE_BB / qp->rq.stride;
    qp->rq.max_post = qp->rq.slots;
    qp->rq.max_sge = qp->rq.stride / SN_WQE_SEG < SV_MAX_SGE ? qp->rq.stride / SN_WQE_SEG : SV_MAX_SGE;
    return 0;
}

static struct ibv_qp_cap cap_of(const struct sv_qp *qp)
{
    return (struct ibv_qp_cap){.max_send_wr = qp->sq.max_post,
                               .max_recv_wr = qp->rq.max_post,
                               .max_send_sge = qp->sq.max_sge,
                               .max_recv_sge = qp->rq.max_sge,
                               .max_inline_data = qp->max_inline};
}

/* ---- creation ------------------------------------------------------------------------------------------------------ */

static int service_of(const char *what, enum ibv_qp_type type, enum sn_service *service)
{
    switch (type) {
    case IBV_QPT_RC:
        *service = SN_SERVICE_RC;
        return 0;
    case IBV_QPT_UC:
        *service = SN_SERVICE_UC;
        return 0;
    case IBV_QPT_UD:
        *service = SN_SERVICE_UD;
        return 0;
    default:
        return sv_refuse(EOPNOTSUPP, "%s: qp_type = %d is not modelled (2 RC, 3 UC, 4 UD)", what, (int)type);
    }
}

static int check_objects(const struct sv_context *ctx, const char *what, const struct ibv_qp_init_attr_ex *a)
{
    const struct ibv_context *c = &ctx->verbs.context;
    bool receives = a->cap.max_recv_wr || a->srq;

    if (!a->pd || a->pd->context != c)
        return sv_refuse(EINVAL, "%s: pd is NULL or of another context", what);
    if (!a->send_cq || a->send_cq->context != c)
        return sv_refuse(EINVAL, "%s: send_cq is NULL or of another context", what);
    if ((receives && !a->recv_cq) || (a->recv_cq && a->recv_cq->context != c))
        return sv_refuse(EINVAL, "%s: recv_cq is NULL or of another context", what);
    if (a->srq && a->srq->context != c)
        return sv_refuse(EINVAL, "%s: srq is of another context", what);
    return 0;
}

static int alloc_wq(struct sv_wq *wq)
{
    wq->wr_id = wq->slots ? calloc(wq->slots, sizeof(*wq->wr_id)) : NULL;
    return wq->slots && !wq->wr_id ? -ENOMEM : 0;
}

/* The receive ring lies first, the send ring behind it, as with DEVX. */
static int alloc(struct sv_qp *qp, struct ibv_pd *pd)
{
    size_t rq_bytes = ((size_t)qp->rq.slots * qp->rq.stride + SN_WQE_BB - 1) / SN_WQE_BB * SN_WQE_BB;
    size_t sq_bytes = (size_t)qp->sq.slots * SN_WQE_BB;
    int rc = sv_buf_alloc(pd, RECORD_BYTES, MLX5DV_RES_TYPE_DBR, &qp->record_buf);

    if (!rc && rq_bytes + sq_bytes)
        rc = sv_buf_alloc(pd, rq_bytes + sq_bytes, MLX5DV_RES_TYPE_QP, &qp->buf);
    if (rc || (rc = alloc_wq(&qp->sq)) || (rc = alloc_wq(&qp->rq)))
        return rc;
    qp->sent = qp->sq.slots ? calloc(qp->sq.slots, sizeof(*qp->sent)) : NULL;
    if (qp->sq.slots && !qp->sent)
        return -ENOMEM;
    qp->dbr = qp->record_buf.span.addr;
    qp->rq.record = qp->dbr;
    qp->sq.record = qp->dbr + 1;
    qp->rq.ring = qp->rq.slots ? qp->buf.span.addr : NULL;
    qp->sq.ring = qp->sq.slots ? (uint8_t *)qp->buf.span.addr + rq_bytes : NULL;
    return 0;
}

/* One that queue pairs have already, another one each time: softnic can tell their doorbells apart. NULL: there is none. */
static struct sv_uar *share_uar(struct sv_context *ctx)
{
    struct sv_uar *found = NULL;
    unsigned left = ctx->registers_shared++ % SHARED_REGISTERS;

    for (struct sv_object *o = ctx->objects[SV_UAR]; o; o = o->next) {
        struct sv_uar *uar = sv_container(o, struct sv_uar, object);
        if (!uar->queues)
            continue;
        found = uar;
        if (left-- == 0)
            break;
    }
    return found;
}

/* A register of its own while there are some. */
static int take_uar(struct sv_qp *qp)
{
    int rc = sv_uar_create(qp->context, false, true, &qp->uar);

    if (rc)
        qp->uar = share_uar(qp->context);
    if (!qp->uar)
        return rc ? rc : -ENOSPC;
    qp->uar->queues++;
    qp->reg = qp->uar->dv.reg_addr;
    return 0;
}

static void put_uar(struct sv_qp *qp)
{
    if (qp->uar && --qp->uar->queues == 0)
        sv_uar_release(qp->context, qp->uar);
    qp->uar = NULL;
}

/* Port lock held. */
static int enter_engine(struct sv_qp *qp, const struct ibv_qp_init_attr_ex *a)
{
    const struct ibv_qp *ibv = sv_qp_ibv(qp);
    enum sn_space space = qp->buf.span.space;
    struct sn_qp_attr attr = {.service = qp->service,
                              .pdn = sv_container(a->pd, struct sv_pd, ibv)->pdn,
                              .no_sq = !qp->sq.slots,
                              .cqn_snd = sv_cq_of(ibv->send_cq)->cqn,
                              .cqn_rcv = ibv->recv_cq ? sv_cq_of(ibv->recv_cq)->cqn : 0,
                              .rq_kind = ibv->srq ? SN_RQ_SRQ : qp->rq.slots ? SN_RQ_REGULAR : SN_RQ_NONE,
                              .srqn = ibv->srq ? sv_srq_of(ibv->srq)->srqn : 0,
                              .record = {qp->dbr, 8, qp->record_buf.span.space},
                              .failed = &qp->failed};
    if (qp->sq.slots) {
        attr.log_sq_size = (uint8_t)__builtin_ctz(qp->sq.slots);
        attr.sq = (struct sn_span){qp->sq.ring, (size_t)qp->sq.slots * SN_WQE_BB, space};
        int rc = take_uar(qp);
        if (rc)
            return rc;
        attr.uar = qp->uar->uar.index;
    }
    if (qp->rq.slots) {
        attr.log_rq_size = (uint8_t)__builtin_ctz(qp->rq.slots);
        attr.log_rq_stride = (uint8_t)__builtin_ctz(qp->rq.stride);
        attr.rq = (struct sn_span){qp->rq.ring, (size_t)qp->rq.slots * qp->rq.stride, space};
    }
    int rc = sn_qp_create(qp->context->nic, &attr, &qp->qpn);
    if (rc)
        return rc;
    rc = enter(qp);
    if (rc)
        sn_qp_destroy(qp->context->nic, qp->qpn);
    return rc;
}

static int create_in_engine(struct sv_qp *qp, const struct ibv_qp_init_attr_ex *a)
{
    struct sv_context *ctx = qp->context;
    sn_port_lock(ctx->port);
    int rc = enter_engine(qp, a);
    if (!rc) {
        sv_object_link(ctx, &qp->object, SV_QP);
        sv_qp_events_start(qp);
    } else {
        put_uar(qp);
    }
    sn_port_unlock(ctx->port);
    return rc;
}

static void free_memory(struct sv_qp *qp)
{
    sv_buf_free(&qp->buf);
    sv_buf_free(&qp->record_buf);
    free(qp->sq.wr_id);
    free(qp->rq.wr_id);
    free(qp->sent);
    pthread_mutex_destroy(&qp->sq.lock);
    pthread_mutex_destroy(&qp->rq.lock);
    pthread_mutex_destroy(&sv_qp_ibv(qp)->mutex);
    pthread_cond_destroy(&sv_qp_ibv(qp)->cond);
    free(qp);
}

static void describe(struct sv_qp *qp, struct sv_context *ctx, const struct ibv_qp_init_attr_ex *a)
{
    struct ibv_qp *ibv = sv_qp_ibv(qp);

    qp->context = ctx;
    qp->overhead = overhead(qp->service);
    qp->signal_all = a->sq_sig_all;
    ibv->context = &ctx->verbs.context;
    ibv->qp_context = a->qp_context;
    ibv->pd = a->pd;
    ibv->send_cq = a->send_cq;
    ibv->recv_cq = a->recv_cq;
    ibv->srq = a->srq;
    ibv->qp_type = a->qp_type;
    ibv->state = IBV_QPS_RESET;
    pthread_mutex_init(&qp->sq.lock, NULL);
    pthread_mutex_init(&qp->rq.lock, NULL);
    pthread_mutex_init(&ibv->mutex, NULL);
    pthread_cond_init(&ibv->cond, NULL);
}

struct sv_qp *sv_qp_new(struct sv_context *ctx, const char *what, struct ibv_qp_init_attr_ex *a)
{
    enum sn_service service = SN_SERVICE_RC;
    return service_of(what, a->qp_type, &service) ? NULL : sv_qp_new_as(ctx, what, a, service);
}

struct sv_qp *sv_qp_new_as(struct sv_context *ctx, const char *what, struct ibv_qp_init_attr_ex *a,
                           enum sn_service service)
{
    if (check_objects(ctx, what, a))
        return NULL;
    struct sv_qp *qp = calloc(1, sizeof(*qp));
    if (!qp)
        return NULL;
    qp->service = service;
    describe(qp, ctx, a);
    if (size_sq(what, qp, &a->cap) || size_rq(what, qp, &a->cap)) {
        int error = errno;
        free_memory(qp);
        errno = error;
        return NULL;
    }
    int rc = alloc(qp, a->pd);
    if (!rc)
        rc = create_in_engine(qp, a);
    if (rc) {
        free_memory(qp);
        sv_refuse(-rc, "%s: %s", what, prm_engine_reason(rc));
        return NULL;
    }
    qp->qpn_be8 = htobe32(qp->qpn << 8);
    sv_qp_ibv(qp)->qp_num = sv_qp_ibv(qp)->handle = qp->qpn;
    a->cap = cap_of(qp);
    qp->init = (struct ibv_qp_init_attr){.qp_context = a->qp_context,
                                         .send_cq = a->send_cq,
                                         .recv_cq = a->recv_cq,
                                         .srq = a->srq,
                                         .cap = a->cap,
                                         .qp_type = a->qp_type,
                                         .sq_sig_all = a->sq_sig_all};
    return qp;
}

struct ibv_qp *softnic_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    static const char what[] = "ibv_create_qp";
    if (!pd || !attr) {
        sv_refuse(EINVAL, "%s: pd = %p, attr = %p", what, (void *)pd, (void *)attr);
        return NULL;
    }
    struct sv_context *ctx = sv_context_check(pd->context, what);
    struct ibv_qp_init_attr_ex a = {.qp_context = attr->qp_context,
                                    .send_cq = attr->send_cq,
                                    .recv_cq = attr->recv_cq,
                                    .srq = attr->srq,
                                    .cap = attr->cap,
                                    .qp_type = attr->qp_type,
                                    .sq_sig_all = attr->sq_sig_all,
                                    .comp_mask = IBV_QP_INIT_ATTR_PD,
                                    .pd = pd};
    struct sv_qp *qp = ctx ? sv_qp_new(ctx, what, &a) : NULL;
    if (!qp)
        return NULL;
    attr->cap = a.cap;
    return sv_qp_ibv(qp);
}

/* ---- end ----------------------------------------------------------------------------------------------------------- */

void sv_qp_release(struct sv_qp *qp)
{
    sv_qp_events_stop(qp);
    sn_qp_destroy(qp->context->nic, qp->qpn);
    sv_object_unlink(&qp->object);
    leave(qp);
    put_uar(qp);
    free_memory(qp);
}

void sv_qp_forget(struct sv_qp *qp)
{
    struct ibv_qp *ibv = sv_qp_ibv(qp);
    if (ibv->recv_cq)
        sv_cq_forget(sv_cq_of(ibv->recv_cq), qp);
    if (ibv->send_cq && ibv->send_cq != ibv->recv_cq)
        sv_cq_forget(sv_cq_of(ibv->send_cq), qp);
}

int softnic_ibv_destroy_qp(struct ibv_qp *ibv)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "ibv_destroy_qp") : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "ibv_destroy_qp: qp is NULL");
    struct sv_qp *qp = sv_qp_of(ibv);
    sn_port_lock(ctx->port);
    int rc = sn_qp_modify(ctx->nic, qp->qpn, SN_QP_RST, NULL, 0); /* from here on it completes nothing */
    sn_port_unlock(ctx->port);
    if (rc)
        return sv_refuse(-rc, "ibv_destroy_qp: QP 0x%x: %s", qp->qpn, prm_engine_reason(rc));
    sv_qp_forget(qp);
    sn_port_lock(ctx->port);
    leave(qp); /* before the number can be another's */
    sn_qp_destroy(ctx->nic, qp->qpn);
    sv_qp_events_stop(qp);
    sv_object_unlink(&qp->object);
    put_uar(qp);
    sn_port_unlock(ctx->port);
    sv_qp_events_wait(qp);
    free_memory(qp);
    return 0;
}
