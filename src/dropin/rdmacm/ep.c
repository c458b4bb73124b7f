/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints: an identifier and its queue pair in one call, with calls that wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cma.h"

static int make_passive(struct cma_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    if (rdma_bind_addr(&id->id, res->ai_src_addr))
        return -1;
    if (!attr)
        return 0;
    id->ep_attr = malloc(sizeof(*attr));
    if (!id->ep_attr)
        return -1;
    *id->ep_attr = *attr;
    id->ep_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
    id->ep_pd = pd;
    return 0;
}

static int make_active(struct cma_id *id, struct rdma_addrinfo *res, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    if (rdma_resolve_addr(&id->id, res->ai_src_addr, res->ai_dst_addr, 2000) || rdma_resolve_route(&id->id, 2000))
        return -1;
    if (!attr)
        return 0;
    attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
    return rdma_create_qp(&id->id, pd, attr);
}

CMA_API int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
                           struct ibv_qp_init_attr *qp_init_attr)
{
    int rc = cma_start();
    if (!rc && (!out || !res))
        rc = -EINVAL;
    if (rc)
        return cma_result(rc);
    struct cma_id *id =
        cma_new_id(NULL, NULL, (enum rdma_port_space)res->ai_port_space, (enum ibv_qp_type)res->ai_qp_type);
    if (!id)
        return -1;
    rc = res->ai_flags & RAI_PASSIVE ? make_passive(id, res, pd, qp_init_attr) : make_active(id, res, pd, qp_init_attr);
    if (rc) {
        int error = errno;
        cma_free_id(id);
        errno = error;
        return -1;
    }
    *out = &id->id;
    return 0;
}

CMA_API void rdma_destroy_ep(struct rdma_cm_id *id)
{
    if (id->qp)
        rdma_destroy_qp(id);
    if (id->srq)
        rdma_destroy_srq(id);
    rdma_destroy_id(id);
}

/* The event stays with the new identifier until its next call. */
static void hand_over(struct cma_event *e)
{
    struct cma_id *id = cma_id_of(e->event.id), *listener = e->owner;
    pthread_mutex_lock(&cma.lock);
    listener->unacked--;
    id->unacked++;
    e->owner = id;
    pthread_cond_broadcast(&cma.acked);
    pthread_mutex_unlock(&cma.lock);
    id->id.event = &e->event;
}

static int make_request_qp(struct cma_id *listener, struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr;
    if (!listener->ep_attr)
        return 0;
    attr = *listener->ep_attr;
    return rdma_create_qp(id, listener->ep_pd, &attr);
}

CMA_API int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
    struct cma_id *listener = cma_id_of(listen);
    struct rdma_cm_event *e;
    if (!cma_usable(listener))
        return -1;
    if (!listener->sync || !listener->listener)
        return cma_result(-EINVAL);
    if (listen->event)
        rdma_ack_cm_event(listen->event);
    listen->event = NULL;
    if (rdma_get_cm_event(listen->channel, &e))
        return -1;
    if (e->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
        int status = e->status;
        rdma_ack_cm_event(e);
        return cma_result(status ? status : -EINVAL);
    }
    struct rdma_cm_id *id = e->id;
    hand_over((struct cma_event *)e);
    if (rdma_migrate_id(id, NULL) || make_request_qp(listener, id)) {
        int error = errno;
        rdma_reject(id, NULL, 0);
        cma_free_id(cma_id_of(id));
        errno = error;
        return -1;
    }
    *out = id;
    return 0;
}
