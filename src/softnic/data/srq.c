/* SPDX-License-Identifier: Apache-2.0 */
/* Shared receive queues: a linked list of WQEs in a ring, as the device reads it. recv.c posts to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/wqe.h"
#include "softnic/data/objects.h"
#include "softnic/prm/parse.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

enum { MAX_WR = (1 << PRM_MAX_LOG_SRQ_SIZE) - 1, RECORD_BYTES = 64, STRIDE_MIN = 32 };

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t n = 1;
    while (n < at_least)
        n *= 2;
    return n;
}

static int check(struct sv_context *ctx, const char *what, struct ibv_pd *pd, const struct ibv_srq_attr *attr)
{
    if (!pd || pd->context != &ctx->verbs.context)
        return sv_refuse(EINVAL, "%s: pd is NULL or of another context", what);
    if (attr->max_wr > MAX_WR || attr->max_sge > SV_MAX_SGE)
        return sv_refuse(EINVAL, "%s: max_wr = %u (0..%d), max_sge = %u (0..%d)", what, attr->max_wr, (int)MAX_WR,
                         attr->max_sge, (int)SV_MAX_SGE);
    return 0;
}

/* One slot always stays unposted: the device reads a posted slot's link, and the last one's is not known yet. */
static void link_slots(struct sv_srq *srq)
{
    for (uint32_t i = 0; i < srq->wq.slots; i++) {
        struct sn_next_seg *seg = (struct sn_next_seg *)(void *)(srq->wq.ring + (size_t)i * srq->wq.stride);
        seg->next_index = sn_put16((uint16_t)((i + 1) & (srq->wq.slots - 1)));
    }
    srq->free_first = 0;
    srq->free_last = srq->wq.slots - 1;
}

static int alloc(struct sv_srq *srq, struct ibv_pd *pd)
{
    int rc = sv_buf_alloc(pd, (size_t)srq->wq.slots * srq->wq.stride, MLX5DV_RES_TYPE_SRQ, &srq->buf);
    if (!rc)
        rc = sv_buf_alloc(pd, RECORD_BYTES, MLX5DV_RES_TYPE_DBR, &srq->record_buf);
    srq->wq.wr_id = calloc(srq->wq.slots, sizeof(*srq->wq.wr_id));
    if (!rc && !srq->wq.wr_id)
        rc = -ENOMEM;
    if (rc)
        return rc;
    srq->wq.ring = srq->buf.span.addr;
    srq->wq.record = srq->record_buf.span.addr;
    link_slots(srq);
    return 0;
}

static void free_memory(struct sv_srq *srq)
{
    sv_buf_free(&srq->buf);
    sv_buf_free(&srq->record_buf);
    free(srq->wq.wr_id);
    pthread_mutex_destroy(&srq->wq.lock);
    free(srq);
}

static int create_in_engine(struct sv_srq *srq, struct ibv_pd *pd)
{
    struct sv_context *ctx = srq->context;
    struct sn_srq_attr attr = {.pdn = sv_container(pd, struct sv_pd, ibv)->pdn,
                               .log_size = (uint8_t)__builtin_ctz(srq->wq.slots),
                               .log_stride = (uint8_t)__builtin_ctz(srq->wq.stride),
                               .ring = {srq->wq.ring, (size_t)srq->wq.slots * srq->wq.stride, srq->buf.span.space},
                               .record = {srq->wq.record, 4, srq->record_buf.span.space}};
    sn_port_lock(ctx->port);
    int rc = sn_srq_create(ctx->nic, &attr, &srq->srqn);
    if (!rc) {
        sv_object_link(ctx, &srq->object, SV_SRQ);
        sv_srq_events_start(srq);
    }
    sn_port_unlock(ctx->port);
    return rc;
}

struct sv_srq *sv_srq_new(struct sv_context *ctx, const char *what, struct ibv_pd *pd, void *srq_context,
                          struct ibv_srq_attr *attr)
{
    if (check(ctx, what, pd, attr))
        return NULL;
    struct sv_srq *srq = calloc(1, sizeof(*srq));
    if (!srq)
        return NULL;
    pthread_mutex_init(&srq->wq.lock, NULL);
    srq->context = ctx;
    srq->wq.slots = power_of_two(attr->max_wr ? attr->max_wr + 1 : 2);
    srq->wq.stride = power_of_two((attr->max_sge + 1) * SN_WQE_SEG);
    if (srq->wq.stride < STRIDE_MIN)
        srq->wq.stride = STRIDE_MIN;
    srq->wq.max_post = srq->max_wr = srq->wq.slots - 1;
    srq->wq.max_sge = srq->max_sge = srq->wq.stride / SN_WQE_SEG - 1;
    srq->ibv.context = &ctx->verbs.context;
    srq->ibv.srq_context = srq_context;
    srq->ibv.pd = pd;
    int rc = alloc(srq, pd);
    if (!rc)
        rc = create_in_engine(srq, pd);
    if (rc) {
        free_memory(srq);
        sv_refuse(-rc, "%s: max_wr = %u, max_sge = %u: %s", what, attr->max_wr, attr->max_sge, prm_engine_reason(rc));
        return NULL;
    }
    srq->ibv.handle = srq->srqn;
    pthread_mutex_init(&srq->ibv.mutex, NULL);
    pthread_cond_init(&srq->ibv.cond, NULL);
    attr->max_wr = srq->max_wr;
    attr->max_sge = srq->max_sge < SV_MAX_SGE ? srq->max_sge : SV_MAX_SGE;
    return srq;
}

struct ibv_srq *softnic_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    static const char what[] = "ibv_create_srq";
    if (!pd || !attr) {
        sv_refuse(EINVAL, "%s: pd = %p, attr = %p", what, (void *)pd, (void *)attr);
        return NULL;
    }
    struct sv_context *ctx = sv_context_check(pd->context, what);
    struct sv_srq *srq = ctx ? sv_srq_new(ctx, what, pd, attr->srq_context, &attr->attr) : NULL;
    return srq ? &srq->ibv : NULL;
}

void sv_srq_release(struct sv_srq *srq)
{
    sn_srq_destroy(srq->context->nic, srq->srqn);
    sv_srq_events_stop(srq);
    sv_object_unlink(&srq->object);
    pthread_mutex_destroy(&srq->ibv.mutex);
    pthread_cond_destroy(&srq->ibv.cond);
    free_memory(srq);
}

int softnic_ibv_destroy_srq(struct ibv_srq *ibv)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "ibv_destroy_srq") : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "ibv_destroy_srq: srq is NULL");
    struct sv_srq *srq = sv_srq_of(ibv);
    sn_port_lock(ctx->port);
    int rc = sn_srq_destroy(ctx->nic, srq->srqn);
    if (!rc) {
        sv_srq_events_stop(srq);
        sv_object_unlink(&srq->object);
    }
    sn_port_unlock(ctx->port);
    if (rc)
        return sv_refuse(-rc, "ibv_destroy_srq: SRQ 0x%x: %s", srq->srqn, prm_engine_reason(rc));
    sv_srq_events_wait(srq);
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    free_memory(srq);
    return 0;
}

int softnic_ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
    static const char what[] = "ibv_modify_srq";
    struct sv_context *ctx = ibv && attr ? sv_context_check(ibv->context, what) : NULL;
    if (!ctx)
        return ibv && attr ? errno : sv_refuse(EINVAL, "%s: srq or attr is NULL", what);
    struct sv_srq *srq = sv_srq_of(ibv);
    if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
        return sv_refuse(EINVAL, "%s: srq_attr_mask = 0x%x", what, mask);
    if (mask & IBV_SRQ_MAX_WR) /* device_cap_flags has no IBV_DEVICE_SRQ_RESIZE */
        return sv_refuse(EOPNOTSUPP, "%s: SRQ 0x%x: max_wr cannot be changed", what, srq->srqn);
    if (!(mask & IBV_SRQ_LIMIT))
        return 0;
    if (attr->srq_limit >= srq->wq.slots)
        return sv_refuse(EINVAL, "%s: SRQ 0x%x: srq_limit = %u, it has room for %u", what, srq->srqn, attr->srq_limit,
                         srq->max_wr);
    sn_port_lock(ctx->port);
    int rc = sn_srq_set_limit(ctx->nic, srq->srqn, attr->srq_limit);
    sn_port_unlock(ctx->port);
    return rc ? sv_refuse(-rc, "%s: SRQ 0x%x: %s", what, srq->srqn, prm_engine_reason(rc)) : 0;
}

int sv_get_srq_num(struct ibv_srq *ibv, uint32_t *number)
{
    *number = sv_srq_of(ibv)->srqn;
    return 0;
}

int softnic_ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
    static const char what[] = "ibv_query_srq";
    struct sv_context *ctx = ibv && attr ? sv_context_check(ibv->context, what) : NULL;
    if (!ctx)
        return ibv && attr ? errno : sv_refuse(EINVAL, "%s: srq or attr is NULL", what);
    struct sv_srq *srq = sv_srq_of(ibv);
    uint32_t limit = 0;
    sn_port_lock(ctx->port);
    int rc = sn_srq_limit(ctx->nic, srq->srqn, &limit);
    sn_port_unlock(ctx->port);
    if (rc)
        return sv_refuse(-rc, "%s: SRQ 0x%x: %s", what, srq->srqn, prm_engine_reason(rc));
    *attr = (struct ibv_srq_attr){.max_wr = srq->max_wr,
                                  .max_sge = srq->max_sge < SV_MAX_SGE ? srq->max_sge : SV_MAX_SGE,
                                  .srq_limit = limit};
    return 0;
}
