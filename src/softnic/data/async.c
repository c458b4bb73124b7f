/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous events: of completion queues, queue pairs, shared receive queues and the port. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/data/objects.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

static const enum ibv_event_type types[] = {
    [SN_EVENT_CQ_ERROR] = IBV_EVENT_CQ_ERR,
    [SN_EVENT_QP_ESTABLISHED] = IBV_EVENT_COMM_EST,
    [SN_EVENT_QP_DRAINED] = IBV_EVENT_SQ_DRAINED,
    [SN_EVENT_QP_REQUEST] = IBV_EVENT_QP_REQ_ERR,
    [SN_EVENT_QP_ACCESS] = IBV_EVENT_QP_ACCESS_ERR,
    [SN_EVENT_QP_FATAL] = IBV_EVENT_QP_FATAL,
    [SN_EVENT_QP_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
    [SN_EVENT_SRQ_LIMIT] = IBV_EVENT_SRQ_LIMIT_REACHED,
    [SN_EVENT_SRQ_ERROR] = IBV_EVENT_SRQ_ERR,
    [SN_EVENT_PORT_DOWN] = IBV_EVENT_PORT_ERR,
    [SN_EVENT_PORT_UP] = IBV_EVENT_PORT_ACTIVE,
};

void sv_async_raise(struct sv_source *source, const struct sn_event *event)
{
    struct sv_event *e = calloc(1, sizeof(*e));
    if (!e) {
        sv_log(SV_LOG_WARN, "no memory for the asynchronous event %d of object 0x%x: it is lost", (int)types[event->type],
               event->number);
        return;
    }
    e->source = source;
    e->type = types[event->type];
    e->allocated = true;
    sv_evq_add(&source->context->async, e);
}

static void raise(struct sn_watch *w, const struct sn_event *event)
{
    sv_async_raise(sv_container(w, struct sv_source, watch), event);
}

static void prepare(struct sv_source *source, struct sv_context *ctx, int kind, void *element)
{
    source->context = ctx;
    source->kind = kind;
    source->element = element;
    source->watch.fn = raise;
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

int sv_async_open(struct sv_context *ctx)
{
    int rc = sv_evq_open(&ctx->async);
    if (rc)
        return rc;
    prepare(&ctx->port_source, ctx, SV_SOURCE_PORT, NULL);
    sn_port_lock(ctx->port);
    sn_nic_watch(ctx->nic, &ctx->port_source.watch);
    sn_port_unlock(ctx->port);
    return 0;
}

void sv_async_close(struct sv_context *ctx)
{
    sn_port_lock(ctx->port);
    sn_unwatch(&ctx->port_source.watch);
    sn_port_unlock(ctx->port);
    sv_evq_close(&ctx->async);
}

static void stop(struct sv_source *source)
{
    sn_unwatch(&source->watch);
    sv_evq_purge(&source->context->async, source);
}

/* As the manual pages of the destroying calls say: they return when every event taken has been acknowledged. */
static void wait_for_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acknowledged, uint32_t delivered)
{
    pthread_mutex_lock(mutex);
    while (*acknowledged != delivered)
        pthread_cond_wait(cond, mutex);
    pthread_mutex_unlock(mutex);
}

void sv_qp_events_start(struct sv_qp *qp)
{
    prepare(&qp->source, qp->context, SV_SOURCE_QP, sv_qp_ibv(qp));
    (void)sn_qp_watch(qp->context->nic, qp->qpn, &qp->source.watch);
}

void sv_qp_events_stop(struct sv_qp *qp)
{
    stop(&qp->source);
}

void sv_qp_events_wait(struct sv_qp *qp)
{
    struct ibv_qp *ibv = sv_qp_ibv(qp);
    wait_for_acks(&ibv->mutex, &ibv->cond, &ibv->events_completed, qp->source.delivered);
}

void sv_srq_events_start(struct sv_srq *srq)
{
    prepare(&srq->source, srq->context, SV_SOURCE_SRQ, &srq->ibv);
    (void)sn_srq_watch(srq->context->nic, srq->srqn, &srq->source.watch);
}

void sv_srq_events_stop(struct sv_srq *srq)
{
    stop(&srq->source);
}

void sv_srq_events_wait(struct sv_srq *srq)
{
    wait_for_acks(&srq->ibv.mutex, &srq->ibv.cond, &srq->ibv.events_completed, srq->source.delivered);
}

/* A CQ's watch goes to channel.c first, for its completions. */
void sv_cq_source_prepare(struct sv_cq *cq)
{
    prepare(&cq->source, cq->context, SV_SOURCE_CQ, &cq->ibv);
}

void sv_cq_source_stop(struct sv_cq *cq)
{
    stop(&cq->source);
}

void sv_cq_source_wait(struct sv_cq *cq)
{
    wait_for_acks(&cq->ibv.mutex, &cq->ibv.cond, &cq->ibv.async_events_completed, cq->source.delivered);
}

/* ---- what programs call -------------------------------------------------------------------------------------- */

static void taken(const struct sv_event *event, void *arg)
{
    struct ibv_async_event *out = arg;
    struct sv_source *source = event->source;

    *out = (struct ibv_async_event){.event_type = event->type};
    switch (source->kind) {
    case SV_SOURCE_CQ:
        out->element.cq = source->element;
        break;
    case SV_SOURCE_QP:
        out->element.qp = source->element;
        break;
    case SV_SOURCE_SRQ:
        out->element.srq = source->element;
        break;
    default:
        out->element.port_num = 1;
        break;
    }
    source->delivered++;
}

int softnic_ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_get_async_event");
    if (!ctx)
        return -1;
    if (!event) {
        sv_refuse(EINVAL, "ibv_get_async_event: event is NULL");
        return -1;
    }
    return sv_evq_take(&ctx->async, taken, event);
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acknowledged)
{
    pthread_mutex_lock(mutex);
    ++*acknowledged;
    pthread_cond_signal(cond);
    pthread_mutex_unlock(mutex);
}

void softnic_ibv_ack_async_event(struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        acknowledge(&event->element.cq->mutex, &event->element.cq->cond, &event->element.cq->async_events_completed);
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        acknowledge(&event->element.qp->mutex, &event->element.qp->cond, &event->element.qp->events_completed);
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        acknowledge(&event->element.srq->mutex, &event->element.srq->cond, &event->element.srq->events_completed);
        break;
    default: /* of the port: nothing waits for it */
        break;
    }
}

const char *softnic_ibv_event_type_str(enum ibv_event_type event)
{
    static const char *const names[] = {
        [IBV_EVENT_CQ_ERR] = "CQ error",
        [IBV_EVENT_QP_FATAL] = "local work queue catastrophic error",
        [IBV_EVENT_QP_REQ_ERR] = "invalid request local work queue error",
        [IBV_EVENT_QP_ACCESS_ERR] = "local access violation work queue error",
        [IBV_EVENT_COMM_EST] = "communication established",
        [IBV_EVENT_SQ_DRAINED] = "send queue drained",
        [IBV_EVENT_PATH_MIG] = "path migrated",
        [IBV_EVENT_PATH_MIG_ERR] = "path migration request error",
        [IBV_EVENT_DEVICE_FATAL] = "local catastrophic error",
        [IBV_EVENT_PORT_ACTIVE] = "port active",
        [IBV_EVENT_PORT_ERR] = "port error",
        [IBV_EVENT_LID_CHANGE] = "LID change",
        [IBV_EVENT_PKEY_CHANGE] = "P_Key change",
        [IBV_EVENT_SM_CHANGE] = "SM change",
        [IBV_EVENT_SRQ_ERR] = "SRQ catastrophic error",
        [IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
        [IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
        [IBV_EVENT_CLIENT_REREGISTER] = "client reregistration",
        [IBV_EVENT_GID_CHANGE] = "GID table change",
        [IBV_EVENT_WQ_FATAL] = "WQ fatal",
    };
    return (unsigned)event < sizeof(names) / sizeof(names[0]) ? names[event] : "unknown";
}
