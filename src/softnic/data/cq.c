/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: life and size. poll.c reads them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/data/poll.h"
#include "softnic/port/thread.h"
#include "softnic/prm/parse.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

enum { MAX_CQE = (1 << PRM_MAX_LOG_CQ_SIZE) - 1, RECORD_BYTES = 64 };

/* One entry more than asked for, as a power of two: a full ring differs from an empty one by the owner bits. */
static uint32_t entries_for(int cqe)
{
    uint32_t n = 1;
    while (n < (uint32_t)cqe + 1)
        n *= 2;
    return n;
}

static int check_size(const char *what, int cqe)
{
    if (cqe < 1 || cqe > MAX_CQE)
        return sv_refuse(EINVAL, "%s: cqe = %d is outside 1..%d", what, cqe, MAX_CQE);
    return 0;
}

/* No entry has been written yet: whatever pass it is read in, its opcode says so. */
static void clear_ring(uint8_t *ring, uint32_t entries, uint32_t stride)
{
    for (uint32_t i = 0; i < entries; i++)
        ring[(size_t)(i + 1) * stride - 1] = MLX5_CQE_INVALID << 4;
}

static int alloc_ring(struct ibv_pd *pd, uint32_t entries, uint32_t stride, struct sv_buf *out)
{
    int rc = sv_buf_alloc(pd, (size_t)entries * stride, MLX5DV_RES_TYPE_CQ, out);
    if (!rc)
        clear_ring(out->span.addr, entries, stride);
    return rc;
}

static int create_in_engine(struct sv_cq *cq, const struct sv_cq_args *args)
{
    struct sn_cq_attr attr = {.ring = {cq->ring, (size_t)cq->entries * cq->stride, cq->buf.span.space},
                              .log_size = (uint8_t)__builtin_ctz(cq->entries),
                              .cqe_size = (uint16_t)cq->stride,
                              .overrun_ignore = args->overrun_ignore,
                              .timestamps = args->timestamps,
                              .record = {cq->record, 8, cq->record_buf.span.space},
                              .eqn = cq->eqn};
    struct sv_context *ctx = cq->context;
    sn_port_lock(ctx->port);
    int rc = sn_cq_create(ctx->nic, &attr, &cq->cqn);
    if (!rc) {
        sv_object_link(ctx, &cq->object, SV_CQ);
        sv_cq_events_start(cq);
    }
    sn_port_unlock(ctx->port);
    return rc;
}

/* Bytes of a CQE where the caller does not say: libmlx5's own variable, else 64. 0: the variable makes no sense. */
static uint32_t usual_stride(void)
{
    const char *wish = getenv("MLX5_CQE_SIZE");
    if (!wish)
        return 64;
    return !strcmp(wish, "64") ? 64 : !strcmp(wish, "128") ? 128 : 0;
}

static int check_args(const struct sv_context *ctx, const char *what, const struct sv_cq_args *args)
{
    if (check_size(what, args->cqe))
        return EINVAL;
    if (args->comp_vector < 0 || args->comp_vector >= ctx->verbs.context.num_comp_vectors)
        return sv_refuse(EINVAL, "%s: comp_vector = %d, the device has %d", what, args->comp_vector,
                         ctx->verbs.context.num_comp_vectors);
    if (args->cqe_size && args->cqe_size != 64 && args->cqe_size != 128)
        return sv_refuse(EINVAL, "%s: cqe_size = %u is neither 64 nor 128", what, args->cqe_size);
    if (!args->cqe_size && !usual_stride())
        return sv_refuse(EINVAL, "%s: MLX5_CQE_SIZE = '%s' is neither 64 nor 128", what, getenv("MLX5_CQE_SIZE"));
    if (args->channel && !sv_channel_fits(ctx, args->channel))
        return sv_refuse(EINVAL, "%s: the completion channel is not one of this context", what);
    return 0;
}

static void free_memory(struct sv_cq *cq)
{
    sv_buf_free(&cq->buf);
    sv_buf_free(&cq->record_buf);
    pthread_mutex_destroy(&cq->lock);
    free(cq);
}

struct sv_cq *sv_cq_new(struct sv_context *ctx, const char *what, const struct sv_cq_args *args)
{
    if (check_args(ctx, what, args))
        return NULL;
    struct sv_cq *cq = calloc(1, sizeof(*cq));
    if (!cq)
        return NULL;
    pthread_mutex_init(&cq->lock, NULL);
    cq->context = ctx;
    cq->eqn = 1 + (uint32_t)args->comp_vector;
    cq->entries = entries_for(args->cqe);
    cq->stride = args->cqe_size ? args->cqe_size : usual_stride();
    cq->unlocked = args->unlocked;
    cq->ibv.context = &ctx->verbs.context;
    cq->ibv.channel = args->channel;
    cq->ibv.cq_context = args->cq_context;
    cq->ibv.cqe = (int)cq->entries - 1;
    int rc = alloc_ring(args->parent, cq->entries, cq->stride, &cq->buf);
    if (!rc)
        rc = sv_buf_alloc(args->parent, RECORD_BYTES, MLX5DV_RES_TYPE_DBR, &cq->record_buf);
    if (!rc) {
        cq->ring = cq->buf.span.addr;
        cq->record = cq->record_buf.span.addr;
        rc = create_in_engine(cq, args);
    }
    if (rc) {
        free_memory(cq);
        sv_refuse(-rc, "%s: cqe = %d: %s", what, args->cqe, prm_engine_reason(rc));
        return NULL;
    }
    cq->ibv.handle = cq->cqn;
    pthread_mutex_init(&cq->ibv.mutex, NULL);
    pthread_cond_init(&cq->ibv.cond, NULL);
    return cq;
}

struct ibv_cq *softnic_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                     struct ibv_comp_channel *channel, int comp_vector)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_create_cq");
    struct sv_cq_args args = {.cqe = cqe, .cq_context = cq_context, .channel = channel, .comp_vector = comp_vector};
    struct sv_cq *cq = ctx ? sv_cq_new(ctx, "ibv_create_cq", &args) : NULL;
    return cq ? &cq->ibv : NULL;
}

void sv_cq_release(struct sv_cq *cq)
{
    sn_cq_destroy(cq->context->nic, cq->cqn);
    sv_cq_events_stop(cq);
    sv_object_unlink(&cq->object);
    pthread_mutex_destroy(&cq->ibv.mutex);
    pthread_cond_destroy(&cq->ibv.cond);
    free_memory(cq);
}

int softnic_ibv_destroy_cq(struct ibv_cq *ibv)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "ibv_destroy_cq") : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "ibv_destroy_cq: cq is NULL");
    struct sv_cq *cq = sv_cq_of(ibv);
    sn_port_lock(ctx->port);
    int rc = sn_cq_destroy(ctx->nic, cq->cqn);
    if (!rc) {
        sv_cq_events_stop(cq);
        sv_object_unlink(&cq->object);
    }
    sn_port_unlock(ctx->port);
    if (rc)
        return sv_refuse(-rc, "ibv_destroy_cq: CQ 0x%x: %s", cq->cqn, prm_engine_reason(rc));
    sv_cq_events_wait(cq);
    pthread_mutex_destroy(&ibv->mutex);
    pthread_cond_destroy(&ibv->cond);
    free_memory(cq);
    return 0;
}

/* cq.lock held: nobody polls meanwhile; under the port's lock nobody writes. */
static int resize(struct sv_cq *cq, uint32_t entries)
{
    struct sv_context *ctx = cq->context;
    struct sv_buf fresh;
    int rc = alloc_ring(cq->buf.allocator, entries, cq->stride, &fresh);
    if (rc)
        return rc;
    struct sn_span ring = {fresh.span.addr, (size_t)entries * cq->stride, fresh.span.space};
    sn_port_lock(ctx->port);
    rc = sn_cq_resize(ctx->nic, cq->cqn, &ring, (uint8_t)__builtin_ctz(entries));
    sn_port_unlock(ctx->port);
    if (rc) {
        sv_buf_free(&fresh);
        return rc;
    }
    sv_buf_free(&cq->buf);
    cq->buf = fresh;
    cq->ring = fresh.span.addr;
    cq->entries = entries;
    cq->ibv.cqe = (int)entries - 1;
    return 0;
}

/* What was posted before is executed before, as far as it can be: its completions count when it is said what fits. */
static void settle(struct sv_context *ctx)
{
    sn_port_lock(ctx->port);
    sn_port_settle_locked(ctx->port);
    sn_port_unlock(ctx->port);
}

int softnic_ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
    static const char what[] = "ibv_resize_cq";
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, what) : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "%s: cq is NULL", what);
    if (check_size(what, cqe))
        return EINVAL;
    struct sv_cq *cq = sv_cq_of(ibv);
    settle(ctx);
    pthread_mutex_lock(&cq->lock);
    uint32_t entries = entries_for(cqe);
    int rc = entries == cq->entries ? 0 : resize(cq, entries);
    pthread_mutex_unlock(&cq->lock);
    return rc ? sv_refuse(-rc, "%s: CQ 0x%x to %d: %s", what, cq->cqn, cqe, prm_engine_reason(rc)) : 0;
}
