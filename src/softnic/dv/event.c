/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DEVX event channels. A subscription watches one object of the engine, or the port, for some types of event; each is handed
 * over as the device's event queue entry (PRM, "event queue entry") behind the cookie, or rings a descriptor of the caller's.
 * The same event of one subscription that waits already counts, and is handed over, once more.
 */
#include "softnic/dv/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/data/source.h"
#include "softnic/dv/dv.h"
#include "softnic/verbs/log.h"

enum { EQE_BYTES = 64, EQE_TYPE = 1, EQE_SUBTYPE = 3, EQE_DATA = 32 };
enum { PORT_DOWN = 1, PORT_ACTIVE = 4 }; /* sub-types of a port's change */

/* Type numbers of the PRM, by what they are events of. */
static const struct type {
    uint16_t number;
    enum prm_object_kind kind; /* 0: of the port */
    enum sn_event_type event;
} types[] = {
    {0x00, PRM_OBJECT_CQ, SN_EVENT_COMPLETION},     {0x04, PRM_OBJECT_CQ, SN_EVENT_CQ_ERROR},
    {0x02, PRM_OBJECT_QP, SN_EVENT_QP_ESTABLISHED}, {0x03, PRM_OBJECT_QP, SN_EVENT_QP_DRAINED},
    {0x05, PRM_OBJECT_QP, SN_EVENT_QP_FATAL},       {0x10, PRM_OBJECT_QP, SN_EVENT_QP_REQUEST},
    {0x11, PRM_OBJECT_QP, SN_EVENT_QP_ACCESS},      {0x13, PRM_OBJECT_QP, SN_EVENT_QP_LAST_WQE},
    {0x14, PRM_OBJECT_RMP, SN_EVENT_SRQ_LIMIT},     {0x12, PRM_OBJECT_RMP, SN_EVENT_SRQ_ERROR},
    {0x09, 0, SN_EVENT_PORT_DOWN},                  {0x09, 0, SN_EVENT_PORT_UP},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

struct channel {
    struct sv_object object;
    struct mlx5dv_devx_event_channel dv;
    struct sv_context *context;
    bool cookie_only;
    struct sv_evq events;
    struct subscription *first; /* port lock */
};

struct entry { /* one type of event of a subscription */
    struct sv_event event;
    struct subscription *subscription;
    uint32_t number; /* of the object */
    uint8_t syndrome;
};

struct subscription {
    struct sv_source source; /* .watch is what the engine knows */
    struct channel *channel;
    struct subscription *next;
    uint32_t wanted; /* 1 << index in types */
    uint64_t cookie;
    int fd; /* -1: through the channel */
    struct entry entries[TYPES];
};

static struct channel *channel_of(struct mlx5dv_devx_event_channel *dv)
{
    return sv_container(dv, struct channel, dv);
}

struct mlx5dv_devx_event_channel *
softnic_mlx5dv_devx_create_event_channel(struct ibv_context *context, enum mlx5dv_devx_create_event_channel_flags flags)
{
    static const char what[] = "mlx5dv_devx_create_event_channel";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx)
        return NULL;
    if (flags & ~MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA) {
        sv_refuse(EOPNOTSUPP, "%s: flags = 0x%x are not modelled (1: omit data)", what, (unsigned)flags);
        return NULL;
    }
    struct channel *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    int rc = sv_evq_open(&c->events);
    if (rc) {
        free(c);
        sv_refuse(-rc, "%s: %s", what, strerror(-rc));
        return NULL;
    }
    c->context = ctx;
    c->cookie_only = flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA;
    c->dv.fd = c->events.fd;
    sn_port_lock(ctx->port);
    sv_object_link(ctx, &c->object, SV_DV_CHANNEL);
    sn_port_unlock(ctx->port);
    return &c->dv;
}

/* Port lock held: after this nothing is raised any more. */
static void end_subscriptions(struct channel *c)
{
    for (struct subscription *s = c->first; s; s = s->next)
        sn_unwatch(&s->source.watch);
    sv_object_unlink(&c->object);
}

static void free_channel(struct channel *c)
{
    sv_evq_close(&c->events);
    for (struct subscription *s; (s = c->first);) {
        c->first = s->next;
        free(s);
    }
    free(c);
}

void softnic_mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *dv)
{
    struct channel *c = dv ? channel_of(dv) : NULL;
    if (!c || !sv_context_usable(c->context, "mlx5dv_devx_destroy_event_channel"))
        return;
    sn_port_lock(c->context->port);
    end_subscriptions(c);
    sn_port_unlock(c->context->port);
    free_channel(c);
}

void sv_dv_channels_release(struct sv_context *ctx)
{
    while (ctx->objects[SV_DV_CHANNEL]) {
        struct channel *c = sv_container(ctx->objects[SV_DV_CHANNEL], struct channel, object);
        end_subscriptions(c);
        free_channel(c);
    }
}

/* ---- raising ------------------------------------------------------------------------------------------------------- */

/* Inside the engine, port lock held. */
static void raised(struct sn_watch *w, const struct sn_event *event)
{
    struct subscription *s = sv_container(sv_container(w, struct sv_source, watch), struct subscription, source);
    for (unsigned i = 0; i < TYPES; i++) {
        if (!(s->wanted & 1u << i) || types[i].event != event->type)
            continue;
        if (s->fd >= 0) {
            uint64_t one = 1;
            if (write(s->fd, &one, sizeof(one)) < 0) /* full, or closed by its owner: nothing to be done here */
                sv_log(SV_LOG_DEBUG, "a DEVX event found descriptor %d not writable: %s", s->fd, strerror(errno));
            continue;
        }
        struct entry *e = &s->entries[i];
        e->number = event->number;
        e->syndrome = event->syndrome;
        sv_evq_add(&s->channel->events, &e->event);
    }
}

/* ---- subscribing --------------------------------------------------------------------------------------------------- */

static int want(struct subscription *s, uint16_t number, enum prm_object_kind kind)
{
    bool any = false;
    for (unsigned i = 0; i < TYPES; i++) {
        if (types[i].number != number || types[i].kind != kind)
            continue;
        s->wanted |= 1u << i;
        s->source.watch.without &= ~(1u << types[i].event);
        s->entries[i] = (struct entry){.event.source = &s->source, .subscription = s};
        any = true;
    }
    return any ? 0 : -EOPNOTSUPP;
}

/* Port lock held. */
static int start(struct subscription *s, const struct mlx5dv_devx_obj *obj)
{
    struct sn_nic *nic = s->channel->context->nic;
    struct sn_watch *w = &s->source.watch;
    if (!obj) {
        sn_nic_watch(nic, w);
        return 0;
    }
    switch (obj->prm.kind) {
    case PRM_OBJECT_QP:
        return sn_qp_watch(nic, obj->prm.number, w);
    case PRM_OBJECT_RMP:
        return sn_srq_watch(nic, obj->prm.number, w);
    default:
        if (!(w->without & 1u << SN_EVENT_COMPLETION))
            sn_cq_unask(nic, obj->prm.number);
        return sn_cq_watch(nic, obj->prm.number, w);
    }
}

static int subscribe(const char *what, struct channel *c, struct mlx5dv_devx_obj *obj, const uint16_t *numbers,
                     size_t count, uint64_t cookie, int fd)
{
    if (!sv_context_usable(c->context, what))
        return errno;
    if (obj && obj->context != c->context)
        return sv_refuse(EINVAL, "%s: object and channel are of different contexts", what);
    struct subscription *s = calloc(1, sizeof(*s));
    if (!s)
        return errno = ENOMEM;
    s->channel = c;
    s->cookie = cookie;
    s->fd = fd;
    s->source.watch.fn = raised;
    s->source.watch.without = UINT32_MAX;
    for (size_t i = 0; i < count; i++)
        if (want(s, numbers[i], obj ? obj->prm.kind : (enum prm_object_kind)0)) {
            free(s);
            return sv_refuse(EOPNOTSUPP, "%s: event 0x%x of %s is not modelled", what, numbers[i],
                             obj ? "this object" : "no object (9: port change)");
        }
    sn_port_lock(c->context->port);
    s->next = c->first;
    c->first = s;
    int rc = start(s, obj);
    if (rc)
        c->first = s->next;
    sn_port_unlock(c->context->port);
    if (rc) {
        free(s);
        return sv_refuse(-rc, "%s: %s", what, prm_engine_reason(rc));
    }
    return 0;
}

int softnic_mlx5dv_devx_subscribe_devx_event(struct mlx5dv_devx_event_channel *dv, struct mlx5dv_devx_obj *obj,
                                             uint16_t events_sz, uint16_t events_num[], uint64_t cookie)
{
    static const char what[] = "mlx5dv_devx_subscribe_devx_event";
    if (!dv || !events_num || !events_sz || events_sz % sizeof(uint16_t))
        return sv_refuse(EINVAL, "%s: %u bytes of event numbers", what, events_sz);
    return subscribe(what, channel_of(dv), obj, events_num, events_sz / sizeof(uint16_t), cookie, -1);
}

int softnic_mlx5dv_devx_subscribe_devx_event_fd(struct mlx5dv_devx_event_channel *dv, int fd, struct mlx5dv_devx_obj *obj,
                                                uint16_t event_num)
{
    static const char what[] = "mlx5dv_devx_subscribe_devx_event_fd";
    if (!dv || fcntl(fd, F_GETFD) < 0)
        return sv_refuse(dv ? EBADF : EINVAL, "%s: fd = %d", what, fd);
    return subscribe(what, channel_of(dv), obj, &event_num, 1, 0, fd);
}

/* ---- taking -------------------------------------------------------------------------------------------------------- */

static void put_be32(uint8_t *to, uint32_t value)
{
    value = htobe32(value);
    memcpy(to, &value, sizeof(value));
}

static void write_eqe(const struct entry *e, const struct type *t, uint8_t *eqe)
{
    memset(eqe, 0, EQE_BYTES);
    eqe[EQE_TYPE] = (uint8_t)t->number;
    if (!t->kind) {
        eqe[EQE_SUBTYPE] = t->event == SN_EVENT_PORT_UP ? PORT_ACTIVE : PORT_DOWN;
        eqe[EQE_DATA + 8] = (uint8_t)(e->number << 4);
    } else if (t->event == SN_EVENT_CQ_ERROR) {
        put_be32(eqe + EQE_DATA, e->number);
        eqe[EQE_DATA + 11] = e->syndrome;
    } else {
        put_be32(eqe + EQE_DATA + 24, e->number);
    }
}

struct taken {
    uint8_t *out;
    bool cookie_only;
};

static void take(const struct sv_event *event, void *arg)
{
    const struct taken *t = arg;
    const struct entry *e = sv_container((void *)(uintptr_t)event, struct entry, event);
    memcpy(t->out, &e->subscription->cookie, 8);
    if (!t->cookie_only)
        write_eqe(e, &types[e - e->subscription->entries], t->out + 8);
}

ssize_t softnic_mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *dv, struct mlx5dv_devx_async_event_hdr *event_data,
                                      size_t event_resp_len)
{
    static const char what[] = "mlx5dv_devx_get_event";
    struct channel *c = dv ? channel_of(dv) : NULL;
    if (!c || !event_data) {
        sv_refuse(EINVAL, "%s: channel or event_data is NULL", what);
        return -1;
    }
    if (!sv_context_usable(c->context, what))
        return -1;
    size_t bytes = c->cookie_only ? 8 : 8 + EQE_BYTES;
    if (event_resp_len < bytes) {
        sv_refuse(EINVAL, "%s: room for %zu bytes, an event has %zu", what, event_resp_len, bytes);
        return -1;
    }
    struct taken t = {(uint8_t *)event_data, c->cookie_only};
    sn_port_unattended(c->context->port);
    return sv_evq_take(&c->events, take, &t) ? -1 : (ssize_t)bytes;
}
