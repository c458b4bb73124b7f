/* SPDX-License-Identifier: Apache-2.0 */
/* Agent, listeners and connections: their life, and what their users ask for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/gsi/cm_internal.h"

int sn_cm_create(const struct sn_cm_ops *ops, void *arg, struct sn_cm **out)
{
    struct sn_cm *cm = calloc(1, sizeof(*cm));
    if (!cm)
        return -ENOMEM;
    cm->ops = *ops;
    cm->arg = arg;
    cm->next_transaction = ops->random(arg);
    *out = cm;
    return 0;
}

void sn_cm_destroy_agent(struct sn_cm *cm)
{
    while (cm->conns)
        cm_free(cm, cm->conns);
    while (cm->listeners) {
        struct sn_cm_listener *l = cm->listeners;
        cm->listeners = l->next;
        free(l);
    }
    free(cm);
}

unsigned sn_cm_count(const struct sn_cm *cm)
{
    return cm->count;
}

const char *sn_cm_event_name(enum sn_cm_event_kind kind)
{
    static const char *const names[] = {"REQ",          "REP",       "RTU",      "REJ",     "UNREACHABLE",
                                        "DISCONNECTED", "TIMEWAIT", "SIDR_REQ", "SIDR_REP"};
    return (unsigned)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

/* ---- listeners --------------------------------------------------------------------------------------------------- */

static void end_listener(struct sn_cm *cm, struct sn_cm_listener *listener)
{
    if (!listener->closed || listener->undecided)
        return;
    for (struct sn_cm_listener **p = &cm->listeners; *p; p = &(*p)->next)
        if (*p == listener) {
            *p = listener->next;
            break;
        }
    if (listener->on_end)
        listener->on_end(listener->user);
    free(listener);
}

int sn_cm_listen(struct sn_cm *cm, uint64_t service_id, void *user, void (*on_end)(void *user), struct sn_cm_listener **out)
{
    struct sn_cm_listener *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    l->service_id = service_id;
    l->user = user;
    l->on_end = on_end;
    l->next = cm->listeners;
    cm->listeners = l;
    *out = l;
    return 0;
}

void sn_cm_unlisten(struct sn_cm *cm, struct sn_cm_listener *listener)
{
    listener->closed = true;
    end_listener(cm, listener);
}

void cm_decided(struct sn_cm *cm, struct sn_cm_conn *c)
{
    struct sn_cm_listener *l = c->listener;
    if (!l)
        return;
    c->listener = NULL;
    l->undecided--;
    end_listener(cm, l);
}

/* ---- connections --------------------------------------------------------------------------------------------------- */

struct sn_cm_conn *cm_find(struct sn_cm *cm, uint32_t local_id)
{
    for (struct sn_cm_conn *c = cm->bucket[local_id % CM_BUCKETS]; c; c = c->chain)
        if (c->local_id == local_id)
            return c;
    return NULL;
}

/* 0 is no ID. The low bits are unpredictable, so that an ID of a process that had the slot before is not met again. */
static uint32_t pick_id(struct sn_cm *cm, unsigned port)
{
    uint32_t id;
    do
        id = (uint32_t)cm->ops.slot(cm->arg, port) << 24 | (cm->ops.random(cm->arg) & 0xffffff);
    while (!id || cm_find(cm, id));
    return id;
}

struct sn_cm_conn *cm_new(struct sn_cm *cm, const struct sn_cm_address *address)
{
    struct sn_cm_conn *c = cm->count < 1u << 20 ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return NULL;
    c->address = *address;
    c->deadline = UINT64_MAX;
    c->local_id = pick_id(cm, address->port);
    c->link = &cm->conns;
    c->next = cm->conns;
    if (c->next)
        c->next->link = &c->next;
    cm->conns = c;
    c->chained = &cm->bucket[c->local_id % CM_BUCKETS];
    c->chain = *c->chained;
    if (c->chain)
        c->chain->chained = &c->chain;
    *c->chained = c;
    cm->count++;
    return c;
}

void cm_free(struct sn_cm *cm, struct sn_cm_conn *c)
{
    cm_decided(cm, c);
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    *c->chained = c->chain;
    if (c->chain)
        c->chain->chained = c->chained;
    cm->count--;
    free(c);
}

void cm_done(struct sn_cm *cm, struct sn_cm_conn *c)
{
    c->state = CM_DONE;
    c->deadline = UINT64_MAX;
    cm_decided(cm, c);
    if (!c->has_user)
        cm_free(cm, c);
}

void cm_event(struct sn_cm *cm, struct sn_cm_conn *c, enum sn_cm_event_kind kind, int status, const struct sn_cm_msg *m)
{
    if (!c->has_user)
        return;
    cm->ops.event(cm->arg, c->user,
                  &(struct sn_cm_event){.kind = kind, .status = status, .conn = c, .address = &c->address, .message = m});
}

const struct sn_cm_msg *sn_cm_peer(const struct sn_cm_conn *c)
{
    return c->has_peer ? &c->peer : NULL;
}

uint32_t sn_cm_local_id(const struct sn_cm_conn *c)
{
    return c->local_id;
}

uint32_t sn_cm_remote_id(const struct sn_cm_conn *c)
{
    return c->has_remote_id ? c->remote_id : 0;
}

uint32_t sn_cm_local_psn(const struct sn_cm_conn *c)
{
    return c->local_psn;
}

/* ---- sending ------------------------------------------------------------------------------------------------------- */

void cm_send_once(struct sn_cm *cm, const struct sn_cm_conn *c, const struct sn_cm_msg *m)
{
    struct sn_mad mad;
    if (!sn_cm_build(m, &mad))
        cm->ops.send(cm->arg, &c->address, &mad);
}

void cm_send(struct sn_cm *cm, struct sn_cm_conn *c, const struct sn_cm_msg *m)
{
    c->has_last = !sn_cm_build(m, &c->last);
    cm_again(cm, c);
}

void cm_again(struct sn_cm *cm, struct sn_cm_conn *c)
{
    if (c->has_last)
        cm->ops.send(cm->arg, &c->address, &c->last);
}

/* The answer's time: what the other side may take, and there and back (12.9.8.1). */
void cm_arm(struct sn_cm *cm, struct sn_cm_conn *c)
{
    c->deadline = cm->ops.now(cm->arg) + cm_ns(c->timeout) + cm_ns(c->ack_timeout);
}

static void set_private(struct sn_cm_msg *m, const void *data, uint8_t length)
{
    m->private_length = length;
    if (length)
        memcpy(m->private_data, data, length);
}

static bool private_fits(uint16_t attribute, const void *data, uint8_t length)
{
    return length <= sn_cm_private_room(attribute) && (data || !length);
}

static struct sn_cm_msg message(const struct sn_cm_conn *c, uint16_t attribute)
{
    return (struct sn_cm_msg){.attribute = attribute,
                              .transaction = c->transaction,
                              .local_id = c->local_id,
                              .remote_id = c->has_remote_id ? c->remote_id : 0};
}

/* ---- active side ----------------------------------------------------------------------------------------------------- */

/* The agent's own ID on top, so that transactions of several processes differ. */
static uint64_t new_transaction(struct sn_cm *cm, const struct sn_cm_conn *c)
{
    return (uint64_t)c->local_id << 32 | cm->next_transaction++;
}

static void take_params(struct sn_cm_conn *c, const struct sn_cm_params *p)
{
    c->local_qpn = p->qpn;
    c->local_psn = p->psn;
    c->timeout = p->timeout & 31;
    c->max_retries = p->max_retries & 15;
    if (c->active)
        c->peer_timeout = c->timeout;
}

/* The side that asks, whether for a connection or for a service's queue pair; its state is the caller's. NULL: no memory. */
static struct sn_cm_conn *new_request(struct sn_cm *cm, const struct sn_cm_address *to, uint64_t service_id,
                                      const struct sn_cm_params *p, void *user)
{
    struct sn_cm_conn *c = cm_new(cm, to);
    if (!c)
        return NULL;
    c->active = c->has_user = true;
    c->user = user;
    c->service_id = service_id;
    c->transaction = new_transaction(cm, c);
    c->ack_timeout = p->path.ack_timeout & 31;
    take_params(c, p);
    return c;
}

int sn_cm_request(struct sn_cm *cm, const struct sn_cm_address *to, uint64_t service_id, const struct sn_cm_params *p,
                  void *user, struct sn_cm_conn **out)
{
    struct sn_cm_conn *c;
    if (!private_fits(SN_CM_REQ, p->private_data, p->private_length) || p->transport > SN_CM_TRANSPORT_UC)
        return -EINVAL;
    if (!(c = new_request(cm, to, service_id, p, user)))
        return -ENOMEM;
    c->state = CM_REQ_SENT;
    struct sn_cm_msg m = message(c, SN_CM_REQ);
    m.service_id = service_id;
    m.ca_guid = p->ca_guid;
    m.qkey = p->qkey;
    m.qpn = p->qpn;
    m.psn = p->psn;
    m.responder_resources = p->responder_resources;
    m.initiator_depth = p->initiator_depth;
    m.remote_timeout = m.local_timeout = p->timeout;
    m.transport = p->transport;
    m.flow_control = p->flow_control;
    m.retry_count = p->retry_count;
    m.rnr_retry_count = p->rnr_retry_count;
    m.max_cm_retries = p->max_retries;
    m.srq = p->srq;
    m.pkey = p->pkey;
    m.mtu = p->mtu;
    m.primary = p->path;
    set_private(&m, p->private_data, p->private_length);
    *out = c; /* before the MAD leaves: the answer may be here before we return */
    cm_send(cm, c, &m);
    cm_arm(cm, c);
    return 0;
}

int sn_cm_ready_to_use(struct sn_cm *cm, struct sn_cm_conn *c, const void *data, uint8_t length)
{
    if (c->state != CM_REP_RECEIVED)
        return -EINVAL;
    if (!private_fits(SN_CM_RTU, data, length))
        return -EINVAL;
    struct sn_cm_msg m = message(c, SN_CM_RTU);
    set_private(&m, data, length);
    c->state = CM_ESTABLISHED;
    c->deadline = UINT64_MAX;
    cm_send(cm, c, &m);
    return 0;
}

/* ---- passive side ------------------------------------------------------------------------------------------------------ */

int sn_cm_reply(struct sn_cm *cm, struct sn_cm_conn *c, const struct sn_cm_params *p)
{
    if (c->state != CM_REQ_RECEIVED || !private_fits(SN_CM_REP, p->private_data, p->private_length))
        return -EINVAL;
    take_params(c, p);
    struct sn_cm_msg m = message(c, SN_CM_REP);
    m.qkey = p->qkey;
    m.qpn = p->qpn;
    m.psn = p->psn;
    m.responder_resources = p->responder_resources;
    m.initiator_depth = p->initiator_depth;
    m.flow_control = p->flow_control;
    m.rnr_retry_count = p->rnr_retry_count;
    m.srq = p->srq;
    m.ca_guid = p->ca_guid;
    set_private(&m, p->private_data, p->private_length);
    c->state = CM_REP_SENT;
    c->retries = 0;
    cm_send(cm, c, &m);
    cm_arm(cm, c);
    return 0;
}

int sn_cm_established(struct sn_cm *cm, struct sn_cm_conn *c)
{
    if (c->state == CM_ESTABLISHED)
        return 0;
    if (c->state != CM_REP_SENT)
        return -EINVAL;
    c->state = CM_ESTABLISHED;
    c->deadline = UINT64_MAX;
    cm_decided(cm, c);
    cm_event(cm, c, SN_CM_EV_RTU, 0, NULL);
    return 0;
}

/* ---- refusing, disconnecting --------------------------------------------------------------------------------------------- */

/* Our answer may get lost a few times: that long it is given again. */
static uint64_t repetitions_end(struct sn_cm *cm, const struct sn_cm_conn *c)
{
    return cm->ops.now(cm->arg) + 4 * (cm_ns(c->peer_timeout) + cm_ns(c->ack_timeout));
}

void cm_reject(struct sn_cm *cm, struct sn_cm_conn *c, uint8_t about, uint16_t reason, const void *data, uint8_t length)
{
    struct sn_cm_msg m = message(c, SN_CM_REJ);
    m.about = about;
    m.reason = reason;
    set_private(&m, data, length);
    c->state = CM_REJECTED;
    cm_send(cm, c, &m);
    c->deadline = repetitions_end(cm, c);
    cm_decided(cm, c);
}

/* What it has sent before it refused may still be under way. */
void cm_gone(struct sn_cm *cm, struct sn_cm_conn *c)
{
    c->state = CM_GONE;
    c->deadline = cm->ops.now(cm->arg) + 2 * cm_ns(c->ack_timeout);
    cm_decided(cm, c);
}

static uint8_t refused_message(const struct sn_cm_conn *c)
{
    return c->state == CM_REP_RECEIVED ? SN_CM_ABOUT_REP : SN_CM_ABOUT_REQ;
}

int sn_cm_reject(struct sn_cm *cm, struct sn_cm_conn *c, uint16_t reason, const void *data, uint8_t length)
{
    if (c->state != CM_REQ_RECEIVED && c->state != CM_REP_RECEIVED)
        return -EINVAL;
    if (!private_fits(SN_CM_REJ, data, length))
        return -EINVAL;
    cm_reject(cm, c, refused_message(c), reason, data, length);
    return 0;
}

void cm_begin_dreq(struct sn_cm *cm, struct sn_cm_conn *c)
{
    c->transaction = new_transaction(cm, c);
    struct sn_cm_msg m = message(c, SN_CM_DREQ);
    m.qpn = c->peer.qpn;
    c->state = CM_DREQ_SENT;
    c->retries = 0;
    cm_send(cm, c, &m);
    cm_arm(cm, c);
}

int sn_cm_disconnect(struct sn_cm *cm, struct sn_cm_conn *c)
{
    if (c->state != CM_ESTABLISHED && c->state != CM_REP_SENT)
        return -ENOTCONN;
    cm_decided(cm, c);
    cm_begin_dreq(cm, c);
    return 0;
}

/* Twice a packet's life, and the time of an acknowledgement (12.9.8.4): the path's ACK timeout covers both. */
void cm_timewait(struct sn_cm *cm, struct sn_cm_conn *c)
{
    c->state = CM_TIMEWAIT;
    c->deadline = cm->ops.now(cm->arg) + 2 * cm_ns(c->ack_timeout);
    cm_decided(cm, c);
}

/* ---- SIDR -------------------------------------------------------------------------------------------------------------- */

int sn_cm_sidr_request(struct sn_cm *cm, const struct sn_cm_address *to, uint64_t service_id, const struct sn_cm_params *p,
                       void *user, struct sn_cm_conn **out)
{
    struct sn_cm_conn *c;
    if (!private_fits(SN_CM_SIDR_REQ, p->private_data, p->private_length))
        return -EINVAL;
    if (!(c = new_request(cm, to, service_id, p, user)))
        return -ENOMEM;
    c->state = CM_SIDR_REQ_SENT;
    struct sn_cm_msg m = message(c, SN_CM_SIDR_REQ);
    m.service_id = service_id;
    m.pkey = p->pkey;
    set_private(&m, p->private_data, p->private_length);
    *out = c;
    cm_send(cm, c, &m);
    cm_arm(cm, c);
    return 0;
}

int sn_cm_sidr_reply(struct sn_cm *cm, struct sn_cm_conn *c, uint8_t status, const struct sn_cm_params *p)
{
    if (c->state != CM_SIDR_REQ_RECEIVED || !private_fits(SN_CM_SIDR_REP, p->private_data, p->private_length))
        return -EINVAL;
    struct sn_cm_msg m = message(c, SN_CM_SIDR_REP);
    m.local_id = c->remote_id; /* the request's own ID comes back */
    m.remote_id = 0;
    m.status = status;
    m.service_id = c->service_id;
    m.qpn = status == SN_CM_SIDR_VALID ? p->qpn : 0;
    m.qkey = status == SN_CM_SIDR_VALID ? p->qkey : 0;
    set_private(&m, p->private_data, p->private_length);
    c->state = CM_SIDR_REPLIED;
    cm_send(cm, c, &m);
    c->deadline = repetitions_end(cm, c);
    return 0;
}

/* ---- the user goes -------------------------------------------------------------------------------------------------------- */

void sn_cm_destroy(struct sn_cm *cm, struct sn_cm_conn *c)
{
    c->has_user = false;
    c->user = NULL;
    switch (c->state) {
    case CM_REQ_SENT:
        cm_reject(cm, c, SN_CM_ABOUT_REQ, SN_CM_REJ_TIMEOUT, NULL, 0);
        break;
    case CM_REQ_RECEIVED:
        cm_reject(cm, c, SN_CM_ABOUT_REQ, SN_CM_REJ_CONSUMER, NULL, 0);
        break;
    case CM_REP_RECEIVED:
        cm_reject(cm, c, SN_CM_ABOUT_REP, SN_CM_REJ_CONSUMER, NULL, 0);
        break;
    case CM_REP_SENT:
    case CM_ESTABLISHED:
        cm_decided(cm, c);
        cm_begin_dreq(cm, c);
        break;
    case CM_SIDR_REQ_RECEIVED:
        sn_cm_sidr_reply(cm, c, SN_CM_SIDR_REJECTED, &(struct sn_cm_params){0});
        break;
    case CM_SIDR_REQ_SENT:
    case CM_DONE:
        cm_free(cm, c);
        break;
    default: /* goes when its time is over */
        break;
    }
}

void sn_cm_destroy_users(struct sn_cm *cm)
{
    struct sn_cm_conn *next;
    for (struct sn_cm_conn *c = cm->conns; c; c = next) {
        next = c->next;
        if (c->has_user)
            sn_cm_destroy(cm, c);
    }
}
