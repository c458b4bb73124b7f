/* SPDX-License-Identifier: Apache-2.0 */
/* Identifiers: their life, the address they are bound to, listening, options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cma.h"

enum { DEFAULT_BACKLOG = 1024, BIND_TRIES = 64 };

uint64_t cma_service_id(enum rdma_port_space ps, uint16_t port)
{
    return (uint64_t)ps << 16 | port;
}

void cma_set_device(struct cma_id *id, struct cma_device *device)
{
    id->device = device;
    id->id.verbs = device->verbs;
    id->id.port_num = 1;
    id->sgid_index = device->info.ip_gid;
    memcpy(&id->id.route.addr.addr.ibaddr.sgid, device->info.gid[id->sgid_index], 16);
}

struct cma_id *cma_new_id(struct cma_channel *channel, void *context, enum rdma_port_space ps, enum ibv_qp_type type)
{
    struct cma_id *id = calloc(1, sizeof(*id));
    if (!id)
        return NULL;
    if (!channel) {
        channel = cma_new_channel();
        id->sync = true;
    }
    if (!channel) {
        free(id);
        return NULL;
    }
    id->generation = cma.generation;
    id->id.channel = &channel->channel;
    id->id.context = context;
    id->id.ps = ps;
    id->id.qp_type = type;
    id->ud = type == IBV_QPT_UD;
    id->ack_timeout = CMA_ACK_TIMEOUT;
    id->psn = softnic_cm_random() & 0xffffff; /* callers may ask for it before they connect or accept */
    return id;
}

static enum ibv_qp_type type_of(enum rdma_port_space ps)
{
    return ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
}

CMA_API int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps)
{
    int rc = cma_start();
    if (!id || (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP && ps != RDMA_PS_IB && ps != RDMA_PS_IPOIB))
        rc = -EINVAL;
    if (rc)
        return cma_result(rc);
    struct cma_id *i = cma_new_id(channel ? cma_channel_of(channel) : NULL, context, ps, type_of(ps));
    if (!i)
        return -1;
    *id = &i->id;
    return 0;
}

/* ---- binding ------------------------------------------------------------------------------------------------------------- */

/* Two may have one port if their addresses differ, or both allow it. */
static bool conflicts_locked(const struct cma_id *id, const struct sockaddr *a, uint16_t port)
{
    for (const struct cma_id *o = cma.bound; o; o = o->next_bound) {
        const struct sockaddr *b = &o->id.route.addr.src_addr;
        if (o == id || o->id.ps != id->id.ps || cma_port_of(b) != port || (o->reuse && id->reuse && !o->listener))
            continue;
        if (cma_is_any(a) || cma_is_any(b) || cma_same_ip(a, b))
            return true;
    }
    return false;
}

static uint64_t ports_of(const struct cma_id *id)
{
    uint64_t ports = 0;
    if (id->device)
        return 1ull << id->device->info.port;
    for (unsigned i = 0; i < cma.devices; i++)
        ports |= 1ull << cma.device[i].info.port;
    return ports;
}

static void add_bound(struct cma_id *id, const struct sockaddr *a, uint16_t port)
{
    struct rdma_addr *own = &id->id.route.addr;
    pthread_mutex_lock(&cma.lock);
    memset(&own->src_storage, 0, sizeof(own->src_storage));
    memcpy(&own->src_storage, a, cma_address_length(a));
    cma_set_port(&own->src_addr, port);
    id->next_bound = cma.bound;
    cma.bound = id;
    pthread_mutex_unlock(&cma.lock);
}

static void remove_bound(struct cma_id *id)
{
    pthread_mutex_lock(&cma.lock);
    for (struct cma_id **p = &cma.bound; *p; p = &(*p)->next_bound)
        if (*p == id) {
            *p = id->next_bound;
            break;
        }
    pthread_mutex_unlock(&cma.lock);
}

static int reserve(struct cma_id *id, const struct sockaddr *a, uint16_t port)
{
    pthread_mutex_lock(&cma.lock);
    bool taken = conflicts_locked(id, a, port);
    pthread_mutex_unlock(&cma.lock);
    return taken ? -EADDRINUSE : softnic_cm_reserve(ports_of(id), cma_service_id(id->id.ps, port), true, &id->service);
}

static int reserve_any(struct cma_id *id, const struct sockaddr *a, uint16_t *port)
{
    int rc = -EADDRINUSE;
    for (int i = 0; i < BIND_TRIES && rc == -EADDRINUSE; i++) {
        *port = (uint16_t)(32768 + softnic_cm_random() % 28232);
        rc = reserve(id, a, *port);
    }
    return rc;
}

static int bind_id(struct cma_id *id, const struct sockaddr *a)
{
    struct cma_device *device = NULL;
    if (id->state != CMA_IDLE)
        return -EINVAL;
    if (!cma_address_length(a))
        return -EAFNOSUPPORT;
    int rc = cma_is_any(a) ? 0 : cma_device_of_address(a, &device);
    if (rc)
        return rc;
    if (device)
        cma_set_device(id, device);
    uint16_t port = cma_port_of(a);
    rc = port ? reserve(id, a, port) : reserve_any(id, a, &port);
    if (rc)
        return rc;
    add_bound(id, a, port);
    id->state = CMA_BOUND;
    return 0;
}

CMA_API int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
    if (!id || !addr)
        return cma_result(-EINVAL);
    return cma_usable(cma_id_of(id)) ? cma_result(bind_id(cma_id_of(id), addr)) : -1;
}

/* ---- listening ------------------------------------------------------------------------------------------------------------- */

CMA_API int rdma_listen(struct rdma_cm_id *id, int backlog)
{
    struct cma_id *i = cma_id_of(id);
    struct sockaddr_in any = {.sin_family = AF_INET};
    if (!id || !cma_usable(i))
        return id ? -1 : cma_result(-EINVAL);
    int rc = i->state == CMA_IDLE ? bind_id(i, (struct sockaddr *)&any) : 0;
    if (!rc && i->state != CMA_BOUND)
        rc = -EINVAL;
    if (rc)
        return cma_result(rc);
    i->backlog = backlog > 0 ? backlog : DEFAULT_BACKLOG;
    rc = softnic_cm_listen(i->service, i, &i->listener);
    if (!rc)
        i->state = CMA_LISTEN;
    return cma_result(rc);
}

/* ---- the end ----------------------------------------------------------------------------------------------------------------- */

/* From here on no event comes for it. */
static void stop(struct cma_id *id)
{
    if (id->listener)
        softnic_cm_unlisten(id->listener);
    id->listener = NULL;
    if (id->conn)
        softnic_cm_destroy(id->conn);
    id->conn = NULL;
    if (id->service) {
        remove_bound(id);
        softnic_cm_release(id->service);
    }
    id->service = NULL;
}

static void drop_events(struct cma_id *id)
{
    struct cma_event *dropped;
    pthread_mutex_lock(&cma.lock);
    cma_drop_events_locked(cma_channel_of(id->id.channel), id, &dropped);
    while (id->unacked)
        pthread_cond_wait(&cma.acked, &cma.lock);
    pthread_mutex_unlock(&cma.lock);
    while (dropped) {
        struct cma_event *e = dropped;
        dropped = e->next;
        cma_free_event(e);
    }
}

void cma_free_id(struct cma_id *id)
{
    stop(id);
    if (id->id.event)
        rdma_ack_cm_event(id->id.event);
    drop_events(id);
    if (id->sync)
        rdma_destroy_event_channel(id->id.channel);
    free(id->ep_attr);
    free(id);
}

CMA_API int rdma_destroy_id(struct rdma_cm_id *id)
{
    if (!id)
        return cma_result(-EINVAL);
    if (!cma_usable(cma_id_of(id)))
        return -1;
    cma_free_id(cma_id_of(id));
    return 0;
}

CMA_API int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
    struct cma_id *i = cma_id_of(id);
    struct rdma_event_channel *old = id->channel;
    bool was_sync = i->sync;
    if (!cma_usable(i))
        return -1;
    if (was_sync && !channel)
        return cma_result(-EINVAL);
    struct cma_channel *to = channel ? cma_channel_of(channel) : cma_new_channel();
    if (!to)
        return -1;
    pthread_mutex_lock(&cma.lock);
    id->channel = &to->channel;
    i->sync = !channel;
    cma_move_events_locked(cma_channel_of(old), to, i);
    pthread_mutex_unlock(&cma.lock);
    if (was_sync) {
        if (id->event)
            rdma_ack_cm_event(id->event);
        id->event = NULL;
        rdma_destroy_event_channel(old);
    }
    return 0;
}

/* ---- options ------------------------------------------------------------------------------------------------------------------- */

static int set_flag(bool *flag, const void *value, size_t size)
{
    int v;
    if (size != sizeof(v))
        return -EINVAL;
    memcpy(&v, value, sizeof(v));
    *flag = v != 0;
    return 0;
}

static int set_byte(uint8_t *byte, const void *value, size_t size)
{
    if (size != 1)
        return -EINVAL;
    memcpy(byte, value, 1);
    return 0;
}

static int set_id_option(struct cma_id *id, int name, const void *value, size_t size)
{
    int rc;
    uint8_t timeout;
    switch (name) {
    case RDMA_OPTION_ID_TOS:
        return set_byte(&id->tos, value, size);
    case RDMA_OPTION_ID_REUSEADDR:
        return id->state == CMA_IDLE ? set_flag(&id->reuse, value, size) : -EINVAL;
    case RDMA_OPTION_ID_AFONLY:
        return id->state == CMA_IDLE || id->state == CMA_BOUND ? set_flag(&id->af_only, value, size) : -EINVAL;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
        rc = set_byte(&timeout, value, size);
        if (rc || timeout > 31)
            return -EINVAL;
        id->ack_timeout = timeout;
        return 0;
    default:
        return -ENOSYS;
    }
}

CMA_API int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
    struct cma_id *i = cma_id_of(id);
    if (!cma_usable(i))
        return -1;
    if (level == RDMA_OPTION_ID)
        return cma_result(set_id_option(i, optname, optval, optlen));
    /* A path of the caller's own: there is one path between two devices, and it is that one. */
    return cma_result(level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH ? -EOPNOTSUPP : -ENOSYS);
}

CMA_API __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
    const struct sockaddr *a = &id->route.addr.src_addr;
    return a->sa_family ? htons(cma_port_of(a)) : 0;
}

CMA_API __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
    const struct sockaddr *a = &id->route.addr.dst_addr;
    return a->sa_family ? htons(cma_port_of(a)) : 0;
}
