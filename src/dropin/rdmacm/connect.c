/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving, connecting, accepting, refusing, disconnecting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cma.h"

enum { UD_PRIVATE = 180, REQ_PRIVATE = 56, REP_PRIVATE = 196, REJ_PRIVATE = 148, SIDR_REP_PRIVATE = 136 };
enum { PERMISSIVE_LID = 0xffff /* there are no LIDs on Ethernet (A16.4) */ };

/* ---- addresses and routes ------------------------------------------------------------------------------------------------ */

static int resolve(struct cma_id *id, struct sockaddr *src, struct sockaddr *dst)
{
    if (!dst || !cma_address_length(dst) || (id->state != CMA_IDLE && id->state != CMA_BOUND))
        return -EINVAL;
    if (src && src->sa_family && !cma_is_any(src) && id->state == CMA_IDLE && rdma_bind_addr(&id->id, src))
        return -errno;
    int rc = cma_route(id, dst);
    if (rc && rc != -EADDRNOTAVAIL)
        return cma_raise(id, RDMA_CM_EVENT_ADDR_ERROR, rc); /* the verdict on the address comes as an event */
    if (rc)
        return rc;
    id->state = CMA_ADDRESS;
    return cma_raise(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

CMA_API int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr, int timeout_ms)
{
    struct cma_id *i = cma_id_of(id);
    (void)timeout_ms; /* nobody has to be asked */
    if (!cma_usable(i))
        return -1;
    int rc = resolve(i, src_addr, dst_addr);
    return rc ? cma_result(rc) : cma_complete(i);
}

void cma_fill_path(struct cma_id *id)
{
    struct ibv_sa_path_rec *p = &id->path;
    const struct softnic_cm_device *d = &id->device->info;
    memset(p, 0, sizeof(*p));
    memcpy(&p->sgid, d->gid[id->sgid_index], 16);
    memcpy(&p->dgid, id->dgid, 16);
    p->slid = htons(d->lid);
    p->dlid = htons(id->dlid);
    p->hop_limit = CMA_HOP_LIMIT;
    p->traffic_class = id->tos;
    p->reversible = 1;
    p->numb_path = 1;
    p->pkey = htons(0xffff);
    p->mtu_selector = 2; /* exactly */
    p->mtu = id->mtu ? id->mtu : d->path_mtu;
    p->rate_selector = 2;
    p->rate = IBV_RATE_100_GBPS;
    p->packet_life_time_selector = 2;
    p->packet_life_time = (uint8_t)(id->ack_timeout ? id->ack_timeout - 1 : 0);
    id->id.route.path_rec = p;
    id->id.route.num_paths = 1;
}

CMA_API int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
    struct cma_id *i = cma_id_of(id);
    (void)timeout_ms;
    if (!cma_usable(i))
        return -1;
    if (i->state != CMA_ADDRESS)
        return cma_result(-EINVAL);
    cma_fill_path(i);
    i->state = CMA_ROUTE;
    int rc = cma_raise(i, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    return rc ? cma_result(rc) : cma_complete(i);
}

/* ---- parameters -------------------------------------------------------------------------------------------------------------- */

static uint8_t reads(uint8_t asked)
{
    return asked > CMA_MAX_READS ? CMA_MAX_READS : asked; /* RDMA_MAX_RESP_RES stands for as many as there can be */
}

static uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* What one side starts, the other answers. */
void cma_take_peer(struct cma_id *id, const struct sn_cm_msg *m)
{
    id->peer = *m;
    id->has_peer = true;
    if (m->attribute == SN_CM_REQ) {
        id->mtu = m->mtu;
        id->retry_count = m->retry_count;
        id->responder_resources = reads(m->initiator_depth);
        id->initiator_depth = reads(m->responder_resources);
        if (m->primary.ack_timeout)
            id->ack_timeout = m->primary.ack_timeout;
    } else if (m->attribute == SN_CM_REP) {
        id->responder_resources = lesser(id->responder_resources, m->initiator_depth);
        id->initiator_depth = lesser(id->initiator_depth, m->responder_resources);
    }
    if (m->attribute == SN_CM_REQ || m->attribute == SN_CM_REP)
        id->rnr_retry_count = m->rnr_retry_count;
}

static const struct rdma_conn_param *param_or_default(const struct rdma_conn_param *p, struct rdma_conn_param *room)
{
    *room = (struct rdma_conn_param){.responder_resources = RDMA_MAX_RESP_RES,
                                     .initiator_depth = RDMA_MAX_INIT_DEPTH,
                                     .retry_count = 7,
                                     .rnr_retry_count = 7};
    return p ? p : room;
}

static struct sn_cm_params common(struct cma_id *id, const struct rdma_conn_param *p)
{
    return (struct sn_cm_params){.qpn = id->id.qp ? id->id.qp->qp_num : p->qp_num,
                                 .psn = id->psn,
                                 .responder_resources = id->responder_resources,
                                 .initiator_depth = id->initiator_depth,
                                 .retry_count = p->retry_count & 7,
                                 .rnr_retry_count = p->rnr_retry_count & 7,
                                 .flow_control = p->flow_control != 0,
                                 .srq = id->id.qp ? id->id.qp->srq != NULL : p->srq != 0,
                                 .ca_guid = id->device->info.guid,
                                 .pkey = 0xffff,
                                 .mtu = id->device->info.path_mtu,
                                 .timeout = CMA_RESPONSE_TIMEOUT,
                                 .max_retries = CMA_RETRIES};
}

static void fill_path(const struct cma_id *id, struct sn_cm_path *p)
{
    memcpy(p->local_gid, id->device->info.gid[id->sgid_index], 16);
    memcpy(p->remote_gid, id->dgid, 16);
    p->local_lid = id->device->info.infiniband ? id->device->info.lid : PERMISSIVE_LID;
    p->remote_lid = id->device->info.infiniband ? id->dlid : PERMISSIVE_LID;
    p->rate = IBV_RATE_100_GBPS;
    p->tclass = id->tos;
    p->hop_limit = CMA_HOP_LIMIT;
    p->subnet_local = id->device->info.infiniband;
    p->ack_timeout = id->ack_timeout;
}

static struct sn_cm_address peer_address(const struct cma_id *id)
{
    struct sn_cm_address a = {.port = id->device->info.port};
    memcpy(a.local, id->device->info.gid[id->sgid_index], 16);
    memcpy(a.remote, id->dgid, 16);
    return a;
}

/* ---- active side --------------------------------------------------------------------------------------------------------------- */

static int request(struct cma_id *id, const struct rdma_conn_param *p)
{
    uint8_t private_data[SN_CM_SIDR_REQ_PRIVATE];
    struct sn_cm_ip ip;
    unsigned room = id->ud ? UD_PRIVATE : REQ_PRIVATE;
    if (id->state != CMA_ROUTE || p->private_data_len > room || (p->private_data_len && !p->private_data))
        return -EINVAL;
    if (!id->ud && !id->id.qp && !p->qp_num)
        return -EINVAL;
    id->active = true;
    id->responder_resources = reads(p->responder_resources);
    id->initiator_depth = reads(p->initiator_depth);
    id->retry_count = p->retry_count & 7;
    struct sn_cm_params params = common(id, p);
    fill_path(id, &params.path);
    cma_ip_of_id(id, &ip);
    softnic_cm_ip_build(&ip, private_data);
    if (p->private_data_len)
        memcpy(private_data + SN_CM_IP_BYTES, p->private_data, p->private_data_len);
    params.private_data = private_data;
    params.private_length = (uint8_t)(SN_CM_IP_BYTES + p->private_data_len);
    const struct sn_cm_address to = peer_address(id);
    uint64_t service = cma_service_id(id->id.ps, cma_port_of(&id->id.route.addr.dst_addr));
    id->mtu = params.mtu;
    id->state = CMA_CONNECT;
    int rc = id->ud ? softnic_cm_sidr_request(&to, service, &params, id, &id->conn)
                    : softnic_cm_request(&to, service, &params, id, &id->conn);
    if (rc)
        id->state = CMA_ROUTE;
    return rc;
}

CMA_API int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
    struct cma_id *i = cma_id_of(id);
    struct rdma_conn_param room;
    if (!cma_usable(i))
        return -1;
    int rc = request(i, param_or_default(conn_param, &room));
    return rc ? cma_result(rc) : cma_complete(i);
}

/* The caller has made its own queue pair ready. */
CMA_API int rdma_establish(struct rdma_cm_id *id)
{
    struct cma_id *i = cma_id_of(id);
    if (!cma_usable(i))
        return -1;
    if (id->qp || !i->conn || !i->active)
        return cma_result(-EINVAL);
    int rc = softnic_cm_ready_to_use(i->conn, NULL, 0);
    if (!rc)
        i->state = CMA_CONNECTED;
    return cma_result(rc);
}

/* ---- passive side -------------------------------------------------------------------------------------------------------------- */

static int accept_datagrams(struct cma_id *id, const struct rdma_conn_param *p)
{
    struct sn_cm_params params = {.qpn = id->id.qp ? id->id.qp->qp_num : p->qp_num,
                                  .qkey = RDMA_UDP_QKEY,
                                  .private_data = p->private_data,
                                  .private_length = p->private_data_len};
    if (!params.qpn || p->private_data_len > SIDR_REP_PRIVATE)
        return -EINVAL;
    return softnic_cm_sidr_reply(id->conn, SN_CM_SIDR_VALID, &params);
}

static int accept_connection(struct cma_id *id, const struct rdma_conn_param *p)
{
    if (p->private_data_len > REP_PRIVATE || (!id->id.qp && !p->qp_num))
        return -EINVAL;
    if (p->responder_resources != RDMA_MAX_RESP_RES)
        id->responder_resources = reads(p->responder_resources);
    if (p->initiator_depth != RDMA_MAX_INIT_DEPTH)
        id->initiator_depth = reads(p->initiator_depth);
    struct sn_cm_params params = common(id, p);
    params.private_data = p->private_data;
    params.private_length = p->private_data_len;
    int rc = id->id.qp ? cma_qp_ready(id) : 0;
    if (!rc)
        rc = softnic_cm_reply(id->conn, &params);
    if (rc)
        cma_qp_error(id);
    return rc;
}

CMA_API int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
    struct cma_id *i = cma_id_of(id);
    struct rdma_conn_param room;
    if (!cma_usable(i))
        return -1;
    if (i->active && !conn_param) /* an answer without a queue pair of ours is taken so, too */
        return rdma_establish(id);
    if (i->state != CMA_REQUESTED)
        return cma_result(-EINVAL);
    const struct rdma_conn_param *p = param_or_default(conn_param, &room);
    int rc = i->ud ? accept_datagrams(i, p) : accept_connection(i, p);
    if (rc)
        return cma_result(rc);
    i->state = i->ud ? CMA_CONNECTED : CMA_CONNECT;
    return i->ud ? 0 : cma_complete(i);
}

static int reject(struct cma_id *id, uint16_t reason, const void *data, uint8_t length)
{
    if (!id->conn)
        return -EINVAL;
    if (!id->ud)
        return length > REJ_PRIVATE ? -EINVAL : softnic_cm_reject(id->conn, reason, data, length);
    const struct sn_cm_params params = {.private_data = data, .private_length = length};
    return softnic_cm_sidr_reply(id->conn, SN_CM_SIDR_REJECTED, &params);
}

CMA_API int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
    struct cma_id *i = cma_id_of(id);
    if (!cma_usable(i))
        return -1;
    int rc = reject(i, SN_CM_REJ_CONSUMER, private_data, private_data_len);
    if (!rc)
        i->state = CMA_OVER;
    return cma_result(rc);
}

/* ---- both ---------------------------------------------------------------------------------------------------------------------- */

/* A blocking call waits for the end, unless it has been seen. */
static int wait_disconnected(struct cma_id *id)
{
    int rc = 0;
    while (id->sync && !id->disconnected && !rc)
        rc = cma_complete(id);
    return rc;
}

CMA_API int rdma_disconnect(struct rdma_cm_id *id)
{
    struct cma_id *i = cma_id_of(id);
    if (!cma_usable(i))
        return -1;
    if (!i->conn || i->ud || (i->state != CMA_CONNECTED && i->state != CMA_CONNECT && i->state != CMA_OVER))
        return cma_result(-EINVAL);
    cma_qp_error(i);
    int rc = softnic_cm_disconnect(i->conn);
    if (rc == -ENOTCONN && i->state == CMA_CONNECTED)
        rc = 0; /* the other side was faster; its event is on its way */
    else if (rc == -ENOTCONN && i->disconnected)
        return 0;
    return rc ? cma_result(rc == -ENOTCONN ? -EINVAL : rc) : wait_disconnected(i);
}

CMA_API int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
    struct cma_id *i = cma_id_of(id);
    if (!cma_usable(i))
        return -1;
    if (event != IBV_EVENT_COMM_EST || !i->conn)
        return cma_result(-EINVAL);
    return cma_result(softnic_cm_established(i->conn));
}
