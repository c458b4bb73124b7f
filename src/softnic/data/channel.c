/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion channels: a program sleeps until a completion queue that it armed has something for it.
 *
 * A request is a word in the CQ's record, as on the device, so that device code may arm a CQ too; the number in it moves
 * with each event taken, and the engine answers a number once. What has come before the request was made is looked at
 * under the port's lock, where nothing can come between.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "format/doorbell.h"
#include "softnic/data/objects.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

struct sv_channel {
    struct sv_object object;
    struct ibv_comp_channel ibv; /* refcnt: CQs that report here; lock of the queue */
    struct sv_context *context;
    struct sv_evq events;
};

enum { WORD_CI = SN_CQ_DBR_CI / 4, WORD_ARM = SN_CQ_DBR_ARM / 4, NO_REQUEST = 3 };

static struct sv_channel *channel_of(struct ibv_comp_channel *ibv)
{
    return sv_container(ibv, struct sv_channel, ibv);
}

bool sv_channel_fits(const struct sv_context *ctx, struct ibv_comp_channel *channel)
{
    return channel->context == &ctx->verbs.context;
}

/* ---- what a CQ has of it ------------------------------------------------------------------------------------- */

static void raise(struct sn_watch *w, const struct sn_event *event)
{
    struct sv_cq *cq = sv_container(sv_container(w, struct sv_source, watch), struct sv_cq, source);

    if (event->type == SN_EVENT_COMPLETION)
        sv_evq_add(&cq->completions.channel->events, &cq->completions.event);
    else
        sv_async_raise(&cq->source, event);
}

void sv_cq_events_start(struct sv_cq *cq)
{
    struct sv_completions *c = &cq->completions;

    sv_cq_source_prepare(cq);
    c->event.source = &cq->source;
    __atomic_store_n(&cq->record[WORD_ARM], htobe32(SN_CQ_ARM_NUMBER(NO_REQUEST)), __ATOMIC_RELEASE);
    cq->source.watch.fn = raise;
    if (cq->ibv.channel) {
        c->channel = channel_of(cq->ibv.channel);
        pthread_mutex_lock(&c->channel->events.lock);
        c->channel->ibv.refcnt++;
        pthread_mutex_unlock(&c->channel->events.lock);
    } else {
        cq->source.watch.without = 1u << SN_EVENT_COMPLETION;
    }
    (void)sn_cq_watch(cq->context->nic, cq->cqn, &cq->source.watch);
}

void sv_cq_events_stop(struct sv_cq *cq)
{
    struct sv_completions *c = &cq->completions;

    sv_cq_source_stop(cq);
    if (c->channel)
        sv_evq_purge(&c->channel->events, &cq->source);
}

/* The channel may be destroyed once nothing of this CQ is to be acknowledged. */
void sv_cq_events_wait(struct sv_cq *cq)
{
    struct sv_completions *c = &cq->completions;

    sv_cq_source_wait(cq);
    if (!c->channel)
        return;
    pthread_mutex_lock(&cq->ibv.mutex);
    while (cq->ibv.comp_events_completed != c->delivered)
        pthread_cond_wait(&cq->ibv.cond, &cq->ibv.mutex);
    pthread_mutex_unlock(&cq->ibv.mutex);
    pthread_mutex_lock(&c->channel->events.lock);
    c->channel->ibv.refcnt--;
    pthread_mutex_unlock(&c->channel->events.lock);
}

/* "Any" that nothing has answered yet stays "any" (IBTA vol. 1, 11.4.2.2). */
static bool any_is_due(const struct sv_cq *cq, uint32_t number)
{
    uint32_t word = be32toh(__atomic_load_n(&cq->record[WORD_ARM], __ATOMIC_RELAXED));
    return (word & SN_CQ_ARM_NUMBER(3)) == number && !(word & SN_CQ_ARM_SOLICITED);
}

/*
 * The request counts from the consumer index that was announced last: if CQEs have been polled since, it is answered a
 * bit early, never late.
 */
int sv_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
    struct sv_cq *cq = sv_cq_of(ibv);
    struct sv_context *ctx = cq->context;
    uint32_t number = SN_CQ_ARM_NUMBER(__atomic_load_n(&cq->completions.sn, __ATOMIC_ACQUIRE));
    uint32_t ci = be32toh(__atomic_load_n(&cq->record[WORD_CI], __ATOMIC_ACQUIRE)) & 0xffffffu;

    if (!sv_context_usable(ctx, "ibv_req_notify_cq"))
        return ENODEV;
    /* With the lock: a turn that saw the word before sn_cq_look_arm would answer it with what the last event was about. */
    sn_port_lock(ctx->port);
    uint32_t how = solicited_only && !any_is_due(cq, number) ? SN_CQ_ARM_SOLICITED : 0;
    __atomic_store_n(&cq->record[WORD_ARM], htobe32(number | how | ci), __ATOMIC_RELEASE);
    int rc = cq->completions.channel ? sn_cq_look_arm(ctx->nic, cq->cqn) : 0;
    sn_port_unlock(ctx->port);
    if (cq->completions.channel)
        sn_port_unattended(ctx->port);
    return -rc;
}

/* ---- what programs call -------------------------------------------------------------------------------------- */

struct ibv_comp_channel *softnic_ibv_create_comp_channel(struct ibv_context *context)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_create_comp_channel");
    struct sv_channel *channel = ctx ? calloc(1, sizeof(*channel)) : NULL;
    if (!channel)
        return NULL;
    int rc = sv_evq_open(&channel->events);
    if (rc) {
        free(channel);
        sv_refuse(-rc, "ibv_create_comp_channel: no descriptor");
        return NULL;
    }
    channel->context = ctx;
    channel->ibv.context = context;
    channel->ibv.fd = channel->events.fd;
    sn_port_lock(ctx->port);
    sv_object_link(ctx, &channel->object, SV_CHANNEL);
    sn_port_unlock(ctx->port);
    return &channel->ibv;
}

void sv_channels_release(struct sv_context *ctx)
{
    while (ctx->objects[SV_CHANNEL]) {
        struct sv_channel *channel = sv_container(ctx->objects[SV_CHANNEL], struct sv_channel, object);
        sv_object_unlink(&channel->object);
        sv_evq_close(&channel->events);
        free(channel);
    }
}

int softnic_ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
    if (!ibv)
        return sv_refuse(EINVAL, "ibv_destroy_comp_channel: channel is NULL");
    struct sv_channel *channel = channel_of(ibv);
    struct sv_context *ctx = channel->context;
    if (!sv_context_usable(ctx, "ibv_destroy_comp_channel"))
        return ENODEV;
    pthread_mutex_lock(&channel->events.lock);
    int users = ibv->refcnt;
    pthread_mutex_unlock(&channel->events.lock);
    if (users)
        return sv_refuse(EBUSY, "ibv_destroy_comp_channel: %d completion queues report to it", users);
    sn_port_lock(ctx->port);
    sv_object_unlink(&channel->object);
    sn_port_unlock(ctx->port);
    sv_evq_close(&channel->events);
    free(channel);
    return 0;
}

struct got {
    struct ibv_cq *cq;
};

static void taken(const struct sv_event *event, void *arg)
{
    struct got *got = arg;
    struct sv_cq *cq = sv_container(event->source, struct sv_cq, source);

    got->cq = &cq->ibv;
    cq->completions.delivered++;
    __atomic_fetch_add(&cq->completions.sn, 1, __ATOMIC_RELEASE); /* the next request is a new one */
}

int softnic_ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **cq_context)
{
    struct sv_channel *channel = channel_of(ibv);
    struct got got;

    if (!sv_context_usable(channel->context, "ibv_get_cq_event"))
        return -1;
    sn_port_unattended(channel->context->port);
    if (sv_evq_take(&channel->events, taken, &got))
        return -1;
    *cq = got.cq;
    *cq_context = got.cq->cq_context;
    return 0;
}

void softnic_ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += nevents;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}
