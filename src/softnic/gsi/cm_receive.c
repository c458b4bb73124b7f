/* SPDX-License-Identifier: Apache-2.0 */
/* What arriving messages do (IBTA vol. 1, 12.9.5 to 12.9.9, 12.11). A message that fits no state is dropped. */
#include <errno.h>
#include <string.h>

#include "softnic/gsi/cm_internal.h"

enum {
    MRA_TIMEOUT = 20,     /* 4.3 s: our users get that long to decide, each time that the other side asks */
    TIMEOUT_MAX = 22,     /* what a peer may make us wait or remember: 17 s */
    SIDR_LIFE = 16,       /* a SIDR_REQ does not say: 268 ms under way, 1.07 s between repetitions */
    SIDR_TIMEOUT = 18,
};

static uint8_t bounded(uint8_t code)
{
    return code > TIMEOUT_MAX ? TIMEOUT_MAX : code;
}

static bool from_there(const struct sn_cm_conn *c, const struct sn_cm_address *from)
{
    return c->address.port == from->port && !memcmp(c->address.remote, from->remote, 16);
}

static bool is_sidr(const struct sn_cm_conn *c)
{
    return c->state == CM_SIDR_REQ_SENT || c->state == CM_SIDR_REQ_RECEIVED || c->state == CM_SIDR_REPLIED;
}

/* The connection that a message names by our ID; its own ID must be the one that we know. */
static struct sn_cm_conn *named(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = m->remote_id ? cm_find(cm, m->remote_id) : NULL;
    if (!c || is_sidr(c) || !from_there(c, from) || (c->has_remote_id && c->remote_id != m->local_id))
        return NULL;
    return c;
}

/* The passive connection, or SIDR exchange, that a request of the other side has made before. */
static struct sn_cm_conn *made_by(struct sn_cm *cm, const struct sn_cm_address *from, uint32_t remote_id, bool sidr)
{
    for (struct sn_cm_conn *c = cm->conns; c; c = c->next)
        if (!c->active && c->has_remote_id && c->remote_id == remote_id && is_sidr(c) == sidr && c->state != CM_DONE &&
            from_there(c, from))
            return c;
    return NULL;
}

static void refuse(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_mad mad;
    if (sn_cm_refusal(m, &mad))
        cm->ops.send(cm->arg, from, &mad);
}

static void refuse_request(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m, uint16_t reason)
{
    struct sn_mad mad;
    const struct sn_cm_msg rej = {.attribute = SN_CM_REJ,
                                  .transaction = m->transaction,
                                  .remote_id = m->local_id,
                                  .about = m->attribute == SN_CM_REP ? SN_CM_ABOUT_REP : SN_CM_ABOUT_REQ,
                                  .reason = reason};
    if (!sn_cm_build(&rej, &mad))
        cm->ops.send(cm->arg, from, &mad);
}

/* ---- stale connections (12.9.8.3) ---------------------------------------------------------------------------------- */

/* Another connection to the same remote queue pair; that it comes again means that the other side has lost this one. */
static struct sn_cm_conn *stale(struct sn_cm *cm, const struct sn_cm_conn *but, const struct sn_cm_address *from,
                                const struct sn_cm_msg *m)
{
    for (struct sn_cm_conn *c = cm->conns; c; c = c->next)
        if (c != but && c->has_peer && c->peer.qpn == m->qpn && c->peer.ca_guid == m->ca_guid &&
            c->state != CM_REJECTED && c->state != CM_GONE && c->state != CM_DONE && !is_sidr(c) && from_there(c, from))
            return c;
    return NULL;
}

static void tear_down(struct sn_cm *cm, struct sn_cm_conn *c)
{
    switch (c->state) {
    case CM_ESTABLISHED:
    case CM_REP_SENT:
        cm_decided(cm, c);
        cm_begin_dreq(cm, c); /* the event comes with its end */
        break;
    case CM_REQ_RECEIVED:
        cm_event(cm, c, SN_CM_EV_UNREACHABLE, -ECONNRESET, NULL);
        cm_gone(cm, c);
        break;
    default: /* on its way out */
        break;
    }
}

/* ---- REQ ------------------------------------------------------------------------------------------------------------- */

static void send_mra(struct sn_cm *cm, struct sn_cm_conn *c, uint8_t about)
{
    if (c->peer_timeout < MRA_TIMEOUT) /* it asks again after that time only */
        c->peer_timeout = MRA_TIMEOUT;
    cm_send_once(cm, c,
                 &(struct sn_cm_msg){.attribute = SN_CM_MRA,
                                     .transaction = c->transaction,
                                     .local_id = c->local_id,
                                     .remote_id = c->remote_id,
                                     .about = about,
                                     .service_timeout = MRA_TIMEOUT});
}

static void request_again(struct sn_cm *cm, struct sn_cm_conn *c)
{
    switch (c->state) {
    case CM_REQ_RECEIVED:
        send_mra(cm, c, SN_CM_ABOUT_REQ);
        break;
    case CM_REP_SENT:
    case CM_REJECTED:
    case CM_SIDR_REPLIED:
        cm_again(cm, c);
        break;
    default: /* late: it has been answered, and the answer has come */
        break;
    }
}

static struct sn_cm_listener *listener_for(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_listener *best = NULL;
    int highest = 0;
    for (struct sn_cm_listener *l = cm->listeners; l; l = l->next) {
        if (l->closed || l->service_id != m->service_id)
            continue;
        int fits = cm->ops.match(cm->arg, l->user, from, m);
        if (fits > highest) {
            highest = fits;
            best = l;
        }
    }
    return best;
}

static void new_request(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m,
                        struct sn_cm_listener *l, enum cm_state state)
{
    struct sn_cm_conn *c = cm_new(cm, from);
    if (!c)
        return; /* it comes again */
    c->state = state;
    c->service_id = m->service_id;
    c->transaction = m->transaction;
    c->remote_id = m->local_id;
    c->has_remote_id = c->has_peer = true;
    c->peer = *m;
    c->ack_timeout = m->attribute == SN_CM_REQ ? bounded(m->primary.ack_timeout) : SIDR_LIFE;
    c->peer_timeout = m->attribute == SN_CM_REQ ? bounded(m->remote_timeout) : SIDR_TIMEOUT;
    c->listener = l;
    l->undecided++;
    c->user = cm->ops.event(cm->arg, l->user,
                            &(struct sn_cm_event){
                                .kind = state == CM_REQ_RECEIVED ? SN_CM_EV_REQ : SN_CM_EV_SIDR_REQ,
                                .conn = c,
                                .address = &c->address,
                                .message = m,
                            });
    c->has_user = c->user != NULL;
    if (!c->has_user)
        cm_free(cm, c);
}

static void on_req(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = made_by(cm, from, m->local_id, false);
    if (c) {
        request_again(cm, c);
        return;
    }
    if ((c = stale(cm, NULL, from, m))) {
        refuse_request(cm, from, m, SN_CM_REJ_STALE_CONN);
        tear_down(cm, c);
        return;
    }
    if (m->transport > SN_CM_TRANSPORT_UC || m->extended_transport) {
        refuse_request(cm, from, m, SN_CM_REJ_INVALID_TRANSPORT);
        return;
    }
    struct sn_cm_listener *l = listener_for(cm, from, m);
    if (l)
        new_request(cm, from, m, l, CM_REQ_RECEIVED);
    else
        refuse(cm, from, m);
}

static void on_sidr_req(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = made_by(cm, from, m->local_id, true);
    struct sn_cm_listener *l;
    if (c)
        request_again(cm, c);
    else if ((l = listener_for(cm, from, m)))
        new_request(cm, from, m, l, CM_SIDR_REQ_RECEIVED);
    else
        refuse(cm, from, m);
}

/* ---- answers ------------------------------------------------------------------------------------------------------------ */

static void first_rep(struct sn_cm *cm, struct sn_cm_conn *c, const struct sn_cm_msg *m)
{
    c->remote_id = m->local_id;
    c->has_remote_id = true;
    if (stale(cm, c, &c->address, m)) {
        cm_event(cm, c, SN_CM_EV_UNREACHABLE, -ECONNRESET, NULL);
        cm_reject(cm, c, SN_CM_ABOUT_REP, SN_CM_REJ_STALE_CONN, NULL, 0);
        return;
    }
    c->peer = *m;
    c->has_peer = true;
    c->state = CM_REP_RECEIVED;
    c->deadline = UINT64_MAX;
    cm_event(cm, c, SN_CM_EV_REP, 0, m);
}

static void on_rep(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = named(cm, from, m);
    if (!c || !c->active) {
        refuse(cm, from, m);
        return;
    }
    switch (c->state) {
    case CM_REQ_SENT:
        first_rep(cm, c, m);
        break;
    case CM_REP_RECEIVED:
        send_mra(cm, c, SN_CM_ABOUT_REP);
        break;
    case CM_ESTABLISHED: /* the RTU was lost */
        cm_again(cm, c);
        break;
    case CM_REJECTED: /* we have given up, and could not yet say so by its ID */
        c->remote_id = m->local_id;
        c->has_remote_id = true;
        cm_reject(cm, c, SN_CM_ABOUT_REP, SN_CM_REJ_TIMEOUT, NULL, 0);
        break;
    default:
        break;
    }
}

static void on_rtu(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = named(cm, from, m);
    if (!c || c->state != CM_REP_SENT)
        return;
    c->state = CM_ESTABLISHED;
    c->deadline = UINT64_MAX;
    cm_decided(cm, c);
    cm_event(cm, c, SN_CM_EV_RTU, 0, m);
}

/* It is being worked on: more time, and the count begins anew, for somebody is there. */
static void on_mra(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = named(cm, from, m);
    if (!c || (c->state == CM_REQ_SENT ? m->about != SN_CM_ABOUT_REQ
                                       : c->state != CM_REP_SENT || m->about != SN_CM_ABOUT_REP))
        return;
    c->retries = 0;
    c->deadline = cm->ops.now(cm->arg) + cm_ns(bounded(m->service_timeout)) + cm_ns(c->ack_timeout);
}

static void on_rej(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    /* One who has had no answer at all does not know our ID. */
    struct sn_cm_conn *c = m->remote_id ? named(cm, from, m) : made_by(cm, from, m->local_id, false);
    if (!c)
        return;
    switch (c->state) {
    case CM_REQ_SENT:
    case CM_REP_SENT:
    case CM_REQ_RECEIVED:
    case CM_REP_RECEIVED:
        cm_event(cm, c, SN_CM_EV_REJ, 0, m);
        cm_gone(cm, c);
        break;
    case CM_ESTABLISHED:
        if (m->about != SN_CM_ABOUT_REP)
            break;
        cm_timewait(cm, c);
        cm_event(cm, c, SN_CM_EV_DISCONNECTED, 0, m);
        break;
    case CM_DREQ_SENT: /* it no longer knows the connection */
        cm_timewait(cm, c);
        cm_event(cm, c, SN_CM_EV_DISCONNECTED, 0, m);
        break;
    default:
        break;
    }
}

/* ---- disconnecting ---------------------------------------------------------------------------------------------------------- */

static void send_drep(struct sn_cm *cm, struct sn_cm_conn *c, const struct sn_cm_msg *m)
{
    c->transaction = m->transaction;
    cm_send(cm, c,
            &(struct sn_cm_msg){.attribute = SN_CM_DREP,
                                .transaction = m->transaction,
                                .local_id = c->local_id,
                                .remote_id = c->remote_id});
}

static void on_dreq(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = named(cm, from, m);
    if (!c) {
        refuse(cm, from, m);
        return;
    }
    if (m->qpn != c->local_qpn || !c->has_remote_id)
        return;
    switch (c->state) {
    case CM_REP_SENT: /* its RTU is lost or behind: the connection was there all the same */
        cm_event(cm, c, SN_CM_EV_RTU, 0, NULL);
        /* fall through */
    case CM_ESTABLISHED:
    case CM_REP_RECEIVED:
    case CM_DREQ_SENT:
        send_drep(cm, c, m);
        cm_timewait(cm, c);
        cm_event(cm, c, SN_CM_EV_DISCONNECTED, 0, m);
        break;
    case CM_TIMEWAIT:
        send_drep(cm, c, m);
        break;
    default:
        refuse(cm, from, m);
        break;
    }
}

static void on_drep(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = named(cm, from, m);
    if (!c || c->state != CM_DREQ_SENT)
        return;
    cm_timewait(cm, c);
    cm_event(cm, c, SN_CM_EV_DISCONNECTED, 0, m);
}

static void on_lap(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = named(cm, from, m);
    if (c && c->state == CM_ESTABLISHED)
        cm_send_once(cm, c,
                     &(struct sn_cm_msg){.attribute = SN_CM_APR,
                                         .transaction = m->transaction,
                                         .local_id = c->local_id,
                                         .remote_id = c->remote_id,
                                         .status = SN_CM_APR_UNSUPPORTED});
}

static void on_sidr_rep(struct sn_cm *cm, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    struct sn_cm_conn *c = cm_find(cm, m->local_id);
    if (!c || c->state != CM_SIDR_REQ_SENT || !from_there(c, from))
        return;
    c->peer = *m;
    c->has_peer = true;
    cm_event(cm, c, SN_CM_EV_SIDR_REP, 0, m);
    cm_done(cm, c);
}

enum sn_cm_verdict sn_cm_input(struct sn_cm *cm, const struct sn_cm_address *from, const void *mad, size_t length)
{
    static void (*const handlers[])(struct sn_cm *, const struct sn_cm_address *, const struct sn_cm_msg *) = {
        [SN_CM_REQ - SN_CM_REQ] = on_req,           [SN_CM_MRA - SN_CM_REQ] = on_mra,
        [SN_CM_REJ - SN_CM_REQ] = on_rej,           [SN_CM_REP - SN_CM_REQ] = on_rep,
        [SN_CM_RTU - SN_CM_REQ] = on_rtu,           [SN_CM_DREQ - SN_CM_REQ] = on_dreq,
        [SN_CM_DREP - SN_CM_REQ] = on_drep,         [SN_CM_SIDR_REQ - SN_CM_REQ] = on_sidr_req,
        [SN_CM_SIDR_REP - SN_CM_REQ] = on_sidr_rep, [SN_CM_LAP - SN_CM_REQ] = on_lap,
        [SN_CM_APR - SN_CM_REQ] = NULL, /* we never ask for an alternate path */
    };
    struct sn_cm_msg m;
    enum sn_cm_verdict v = sn_cm_parse(mad, length, &m);
    if (v == SN_CM_OK && handlers[m.attribute - SN_CM_REQ])
        handlers[m.attribute - SN_CM_REQ](cm, from, &m);
    return v;
}
