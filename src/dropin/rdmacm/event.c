/* SPDX-License-Identifier: Apache-2.0 */
/* From what connection management says to the events that callers fetch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cma.h"

/* ---- within connection management: its lock is held ------------------------------------------------------------------- */

static int match(void *user, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    const struct cma_id *listener = user;
    struct sn_cm_ip ip;
    if (!softnic_cm_ip_parse(m, &ip) || (listener->device && listener->device->info.port != from->port))
        return 0;
    return cma_match_address(listener, &ip);
}

static struct cma_event *new_event(const struct sn_cm_event *e)
{
    struct cma_event *out = calloc(1, sizeof(*out));
    if (!out)
        return NULL;
    out->from_cm = true;
    out->kind = e->kind;
    out->event.status = e->status;
    out->has_message = e->message != NULL;
    if (e->message)
        out->message = *e->message;
    return out;
}

static struct cma_device *device_of_port(unsigned port)
{
    for (unsigned i = 0; i < cma.devices; i++)
        if (cma.device[i].info.port == port)
            return &cma.device[i];
    return NULL;
}

static void fill_request(struct cma_id *id, struct cma_id *listener, const struct sn_cm_event *e)
{
    struct sn_cm_ip ip;
    int index;
    cma_set_device(id, device_of_port(e->address->port));
    if ((index = cma_gid_index(id->device, e->address->local)) >= 0)
        id->sgid_index = (uint8_t)index;
    memcpy(id->dgid, e->address->remote, 16);
    id->dlid = id->device->info.infiniband ? e->message->primary.local_lid : 0;
    id->tos = listener->tos;
    id->ack_timeout = listener->ack_timeout;
    id->conn = e->conn;
    id->state = CMA_REQUESTED;
    if (softnic_cm_ip_parse(e->message, &ip))
        cma_addresses_of_request(id, &ip, (uint16_t)e->message->service_id);
    cma_take_peer(id, e->message);
}

/* The identifier is there before anybody asks for it; dropped when the backlog is full, the request comes again. */
static void *request(struct cma_id *listener, const struct sn_cm_event *e)
{
    struct cma_channel *channel = cma_channel_of(listener->id.channel);
    struct cma_id *id = NULL;
    struct cma_event *event = NULL;
    bool sidr = e->kind == SN_CM_EV_SIDR_REQ;
    pthread_mutex_lock(&cma.lock);
    if (listener->waiting < listener->backlog && sidr == listener->ud && device_of_port(e->address->port)) {
        id = cma_new_id(channel, listener->id.context, listener->id.ps, listener->id.qp_type);
        event = new_event(e);
    }
    if (id && event) {
        fill_request(id, listener, e);
        listener->waiting++;
        event->owner = listener;
        event->event.id = &id->id;
        event->event.listen_id = &listener->id;
        cma_put_event_locked(channel, event);
    } else {
        free(event);
        free(id);
        id = NULL;
    }
    pthread_mutex_unlock(&cma.lock);
    return id;
}

static void *happened(void *user, const struct sn_cm_event *e)
{
    struct cma_id *id = user;
    if (e->kind == SN_CM_EV_REQ || e->kind == SN_CM_EV_SIDR_REQ)
        return request(id, e);
    struct cma_event *event = new_event(e);
    if (!event)
        return NULL;
    event->event.id = &id->id;
    event->owner = id;
    pthread_mutex_lock(&cma.lock);
    cma_put_event_locked(cma_channel_of(id->id.channel), event);
    pthread_mutex_unlock(&cma.lock);
    return NULL;
}

const struct softnic_cm_client cma_client = {.match = match, .event = happened};

/* ---- when it is fetched -------------------------------------------------------------------------------------------------- */

static void fill_connection(struct cma_event *e, unsigned skip)
{
    struct rdma_conn_param *p = &e->event.param.conn;
    const struct sn_cm_msg *m = &e->message;
    if (m->private_length > skip) {
        p->private_data = m->private_data + skip;
        p->private_data_len = (uint8_t)(m->private_length - skip);
    }
    p->responder_resources = m->initiator_depth; /* what the other side starts, we answer */
    p->initiator_depth = m->responder_resources;
    p->flow_control = m->flow_control;
    p->retry_count = m->retry_count;
    p->rnr_retry_count = m->rnr_retry_count;
    p->srq = m->srq;
    p->qp_num = m->qpn;
}

static void fill_datagram(struct cma_event *e, unsigned skip)
{
    struct rdma_ud_param *p = &e->event.param.ud;
    const struct sn_cm_msg *m = &e->message;
    p->private_data = m->private_data + skip;
    p->private_data_len = (uint8_t)(m->private_length - skip);
    cma_ah_attr(cma_id_of(e->event.id), &p->ah_attr);
    p->qp_num = m->qpn;
    p->qkey = m->qkey;
}

static bool answered(struct cma_id *id, struct cma_event *e)
{
    cma_take_peer(id, &e->message);
    fill_connection(e, 0);
    if (!id->id.qp) {
        e->event.event = RDMA_CM_EVENT_CONNECT_RESPONSE;
        return true;
    }
    int rc = cma_qp_ready(id);
    if (!rc)
        rc = softnic_cm_ready_to_use(id->conn, NULL, 0);
    if (rc) {
        softnic_cm_reject(id->conn, SN_CM_REJ_NO_RESOURCES, NULL, 0);
        cma_qp_error(id);
        id->state = CMA_OVER;
        e->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
        e->event.status = rc;
        return true;
    }
    id->state = CMA_CONNECTED;
    e->event.event = RDMA_CM_EVENT_ESTABLISHED;
    return true;
}

static bool failed(struct cma_id *id, struct cma_event *e, enum rdma_cm_event_type type, int status)
{
    id->state = CMA_OVER;
    cma_qp_error(id);
    e->event.event = type;
    e->event.status = status;
    if (e->has_message)
        fill_connection(e, 0);
    return true;
}

static bool datagram_answered(struct cma_id *id, struct cma_event *e)
{
    fill_datagram(e, 0);
    if (e->message.status != SN_CM_SIDR_VALID)
        return failed(id, e, RDMA_CM_EVENT_UNREACHABLE, e->message.status);
    id->state = CMA_CONNECTED;
    e->event.event = RDMA_CM_EVENT_ESTABLISHED;
    return true;
}

static bool request_fetched(struct cma_event *e)
{
    struct cma_id *id = cma_id_of(e->event.id);
    e->event.event = RDMA_CM_EVENT_CONNECT_REQUEST;
    cma_fill_path(id);
    if (e->kind == SN_CM_EV_SIDR_REQ)
        fill_datagram(e, SN_CM_IP_BYTES);
    else
        fill_connection(e, SN_CM_IP_BYTES);
    return true;
}

bool cma_process(struct cma_event *e)
{
    struct cma_id *id = cma_id_of(e->event.id);
    if (!e->from_cm)
        return true;
    switch (e->kind) {
    case SN_CM_EV_REQ:
    case SN_CM_EV_SIDR_REQ:
        return request_fetched(e);
    case SN_CM_EV_REP:
        return answered(id, e);
    case SN_CM_EV_RTU:
        id->state = CMA_CONNECTED;
        e->event.event = RDMA_CM_EVENT_ESTABLISHED;
        if (e->has_message)
            fill_connection(e, 0);
        return true;
    case SN_CM_EV_REJ:
        return failed(id, e, RDMA_CM_EVENT_REJECTED, e->message.reason);
    case SN_CM_EV_UNREACHABLE:
        return failed(id, e, RDMA_CM_EVENT_UNREACHABLE, e->event.status);
    case SN_CM_EV_DISCONNECTED:
        id->disconnected = true;
        id->state = CMA_OVER;
        e->event.event = RDMA_CM_EVENT_DISCONNECTED;
        return true;
    case SN_CM_EV_TIMEWAIT:
        e->event.event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
        return true;
    case SN_CM_EV_SIDR_REP:
        return datagram_answered(id, e);
    }
    return false;
}
