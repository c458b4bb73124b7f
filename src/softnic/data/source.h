/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object of verbs has of events: it watches its engine object, and remembers how many events of it the program has
 * taken, since destroying it waits until all of those are acknowledged.
 */
#ifndef SOFTNIC_DATA_SOURCE_H
#define SOFTNIC_DATA_SOURCE_H

#include "softnic/data/evq.h"
#include "softnic/nic.h"

struct sv_channel;
struct sv_context;
struct sv_cq;
struct sv_qp;
struct sv_srq;

struct sv_source {
    struct sn_watch watch;
    struct sv_context *context;
    enum { SV_SOURCE_PORT, SV_SOURCE_CQ, SV_SOURCE_QP, SV_SOURCE_SRQ } kind;
    void *element;      /* struct ibv_cq, ibv_qp or ibv_srq */
    uint32_t delivered; /* asynchronous events taken; lock of the context's queue */
};

/* Of a completion queue with a channel. */
struct sv_completions {
    struct sv_event event;
    struct sv_channel *channel; /* NULL: none */
    uint32_t delivered;         /* events taken; lock of the channel's queue */
    uint32_t sn;                /* number of the next request: moves with each event taken */
};

/*
 * Life of an object's events. start: port lock held, when the engine's object is there. stop: any lock but cq.lock,
 * when the engine's object has gone or is about to; nothing more is raised, and what nobody has taken is dropped. wait: no
 * lock held; returns when all that was taken has been acknowledged.
 */
void sv_cq_events_start(struct sv_cq *cq);
void sv_cq_events_stop(struct sv_cq *cq);
void sv_cq_events_wait(struct sv_cq *cq);
void sv_qp_events_start(struct sv_qp *qp);
void sv_qp_events_stop(struct sv_qp *qp);
void sv_qp_events_wait(struct sv_qp *qp);
void sv_srq_events_start(struct sv_srq *srq);
void sv_srq_events_stop(struct sv_srq *srq);
void sv_srq_events_wait(struct sv_srq *srq);

/* Of a context: its queue of asynchronous events, which includes its port's. 0 or -errno. No lock held. */
int sv_async_open(struct sv_context *ctx);
void sv_async_close(struct sv_context *ctx);

/* Of a CQ: its asynchronous part; channel.c adds the completions. */
void sv_cq_source_prepare(struct sv_cq *cq);
void sv_cq_source_stop(struct sv_cq *cq);
void sv_cq_source_wait(struct sv_cq *cq);

/* An engine event of a CQ, QP, SRQ or port becomes an asynchronous one. Port lock held. */
void sv_async_raise(struct sv_source *source, const struct sn_event *event);

/* ---- channels (channel.c) ------------------------------------------------------------------------------------------ */

/* False: `channel` is not one of this context's. */
bool sv_channel_fits(const struct sv_context *ctx, struct ibv_comp_channel *channel);
void sv_channels_release(struct sv_context *ctx); /* what is left when the context is closed; port lock held */
int sv_req_notify_cq(struct ibv_cq *ibv, int solicited_only);

#endif
