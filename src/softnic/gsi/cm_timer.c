/* SPDX-License-Identifier: Apache-2.0 */
/* What time does to connections, and who a MAD is for when several processes are behind one QP 1. */
#include <errno.h>
#include <string.h>

#include "softnic/gsi/cm_internal.h"

static bool try_again(struct sn_cm *cm, struct sn_cm_conn *c)
{
    if (c->retries >= c->max_retries)
        return false;
    c->retries++;
    cm_again(cm, c);
    cm_arm(cm, c);
    return true;
}

static void give_up(struct sn_cm *cm, struct sn_cm_conn *c, uint8_t about)
{
    cm_event(cm, c, SN_CM_EV_UNREACHABLE, -ETIMEDOUT, NULL);
    cm_reject(cm, c, about, SN_CM_REJ_TIMEOUT, NULL, 0);
}

static void due(struct sn_cm *cm, struct sn_cm_conn *c)
{
    switch (c->state) {
    case CM_REQ_SENT:
        if (!try_again(cm, c))
            give_up(cm, c, SN_CM_ABOUT_REQ);
        break;
    case CM_REP_SENT:
        if (!try_again(cm, c))
            give_up(cm, c, SN_CM_ABOUT_REP);
        break;
    case CM_DREQ_SENT:
        if (try_again(cm, c))
            break;
        cm_timewait(cm, c);
        cm_event(cm, c, SN_CM_EV_DISCONNECTED, -ETIMEDOUT, NULL);
        break;
    case CM_SIDR_REQ_SENT:
        if (try_again(cm, c))
            break;
        cm_event(cm, c, SN_CM_EV_UNREACHABLE, -ETIMEDOUT, NULL);
        cm_done(cm, c);
        break;
    case CM_TIMEWAIT:
        cm_event(cm, c, SN_CM_EV_TIMEWAIT, 0, NULL);
        cm_done(cm, c);
        break;
    default: /* remembered long enough */
        cm_done(cm, c);
        break;
    }
}

static void lost(struct sn_cm *cm, struct sn_cm_conn *c)
{
    switch (c->state) {
    case CM_ESTABLISHED:
    case CM_DREQ_SENT:
        cm_timewait(cm, c);
        cm_event(cm, c, SN_CM_EV_DISCONNECTED, 0, NULL);
        break;
    case CM_REQ_RECEIVED:
    case CM_REP_SENT:
    case CM_REP_RECEIVED:
        cm_event(cm, c, SN_CM_EV_UNREACHABLE, -ECONNRESET, NULL);
        cm_gone(cm, c);
        break;
    default:
        break;
    }
}

void sn_cm_peer_gone(struct sn_cm *cm, const uint8_t gid[16], uint8_t slot)
{
    struct sn_cm_conn *next;
    for (struct sn_cm_conn *c = cm->conns; c; c = next) {
        next = c->next;
        if (c->has_remote_id && c->remote_id >> 24 == slot && !memcmp(c->address.remote, gid, 16))
            lost(cm, c);
    }
}

void sn_cm_timers(struct sn_cm *cm)
{
    uint64_t now = cm->ops.now(cm->arg);
    struct sn_cm_conn *next;
    for (struct sn_cm_conn *c = cm->conns; c; c = next) {
        next = c->next;
        if (c->deadline <= now)
            due(cm, c);
    }
}

uint64_t sn_cm_deadline(const struct sn_cm *cm)
{
    uint64_t first = UINT64_MAX;
    for (const struct sn_cm_conn *c = cm->conns; c; c = c->next)
        if (c->deadline < first)
            first = c->deadline;
    return first;
}

enum sn_cm_owner sn_cm_owner_of(const struct sn_cm_msg *m, uint8_t *slot)
{
    switch (m->attribute) {
    case SN_CM_REQ:
    case SN_CM_SIDR_REQ:
        return SN_CM_OWNER_SERVICE;
    case SN_CM_SIDR_REP:
        *slot = (uint8_t)(m->local_id >> 24);
        return *slot ? SN_CM_OWNER_SLOT : SN_CM_OWNER_NOBODY;
    default:
        *slot = (uint8_t)(m->remote_id >> 24);
        if (m->remote_id)
            return *slot ? SN_CM_OWNER_SLOT : SN_CM_OWNER_NOBODY;
        return m->attribute == SN_CM_REJ ? SN_CM_OWNER_ALL : SN_CM_OWNER_NOBODY;
    }
}

bool sn_cm_refusal(const struct sn_cm_msg *m, struct sn_mad *out)
{
    struct sn_cm_msg r = {.transaction = m->transaction, .local_id = m->remote_id, .remote_id = m->local_id};
    switch (m->attribute) {
    case SN_CM_REQ:
        r.attribute = SN_CM_REJ;
        r.about = SN_CM_ABOUT_REQ;
        r.reason = SN_CM_REJ_INVALID_SERVICE_ID;
        break;
    case SN_CM_REP:
        r.attribute = SN_CM_REJ;
        r.about = SN_CM_ABOUT_REP;
        r.reason = SN_CM_REJ_INVALID_COMM_ID;
        break;
    case SN_CM_DREQ: /* what is not there is disconnected */
        r.attribute = SN_CM_DREP;
        break;
    case SN_CM_SIDR_REQ:
        r.attribute = SN_CM_SIDR_REP;
        r.local_id = m->local_id;
        r.remote_id = 0;
        r.service_id = m->service_id;
        r.status = SN_CM_SIDR_NO_SERVICE;
        break;
    default:
        return false;
    }
    return !sn_cm_build(&r, out);
}
