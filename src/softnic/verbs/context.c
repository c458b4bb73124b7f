/* SPDX-License-Identifier: Apache-2.0 */
/* Device list, and the life of a context. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdaki/softnic.h"
#include "softnic/data/mw.h"
#include "softnic/data/objects.h"
#include "softnic/dv/event.h"
#include "softnic/dv/parent.h"
#include "softnic/verbs/device.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

struct ibv_device **softnic_ibv_get_device_list(int *num_devices)
{
    struct sv_device *first;
    int count = sv_device_list(&first);
    if (num_devices)
        *num_devices = 0;
    if (count < 0) {
        errno = -count;
        return NULL;
    }
    struct ibv_device **list = calloc((size_t)count + 1, sizeof(*list)); /* ends in NULL */
    if (!list)
        return NULL;
    for (int i = 0; i < count; i++)
        list[i] = &first[i].ibv;
    if (num_devices)
        *num_devices = count;
    return list;
}

void softnic_ibv_free_device_list(struct ibv_device **list)
{
    free(list); /* devices live as long as the process */
}

const char *softnic_ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

__be64 softnic_ibv_get_device_guid(struct ibv_device *device)
{
    return htobe64(sv_container(device, struct sv_device, ibv)->identity.guid);
}

int softnic_ibv_get_device_index(struct ibv_device *device)
{
    return (int)sv_container(device, struct sv_device, ibv)->index;
}

bool sv_context_usable(const struct sv_context *ctx, const char *what)
{
    if (ctx->generation == sv_generation())
        return true;
    sv_refuse(ENODEV, "%s: %s was opened by the parent process; a forked child has to open it again", what,
              ctx->device->ibv.name);
    return false;
}

struct sv_context *sv_context_check(struct ibv_context *context, const char *what)
{
    if (!context) {
        sv_refuse(EINVAL, "%s: context is NULL", what);
        return NULL;
    }
    struct sv_context *ctx = sv_context_of(context);
    return sv_context_usable(ctx, what) ? ctx : NULL;
}

void sv_object_link(struct sv_context *ctx, struct sv_object *object, enum sv_kind kind)
{
    object->kind = kind;
    object->link = &ctx->objects[kind];
    object->next = *object->link;
    if (object->next)
        object->next->link = &object->next;
    *object->link = object;
}

void sv_object_unlink(struct sv_object *object)
{
    *object->link = object->next;
    if (object->next)
        object->next->link = object->link;
}

struct ibv_context *softnic_ibv_open_device(struct ibv_device *device)
{
    if (!device || !sv_device_known(device)) {
        sv_refuse(ENODEV, "ibv_open_device: %p is no softnic device", (void *)device);
        return NULL;
    }
    struct sv_context *ctx = calloc(1, sizeof(*ctx));
    if (!ctx)
        return NULL;
    struct sv_device *d = sv_container(device, struct sv_device, ibv);
    int rc = sv_device_get(d, ctx);
    if (!rc && (rc = sv_async_open(ctx)))
        sv_device_put(d, ctx);
    if (rc) {
        free(ctx);
        errno = -rc;
        return NULL;
    }
    struct ibv_context *c = &ctx->verbs.context;
    c->device = device;
    c->cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC); /* clients duplicate it and hand it on; nothing is to be had there */
    c->async_fd = ctx->async.fd;
    c->num_comp_vectors = 1;
    pthread_mutex_init(&c->mutex, NULL);
    sv_ops_fill(ctx);
    return c;
}

struct ibv_context *softnic_mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
    if (attr && (attr->flags & ~(uint32_t)MLX5DV_CONTEXT_FLAGS_DEVX || attr->comp_mask)) {
        sv_refuse(EOPNOTSUPP, "mlx5dv_open_device: flags = 0x%x, comp_mask = 0x%llx are not modelled (flags: 1, DEVX)",
                  attr->flags, (unsigned long long)attr->comp_mask);
        return NULL;
    }
    return softnic_ibv_open_device(device);
}

bool softnic_mlx5dv_is_supported(struct ibv_device *device)
{
    return device && sv_device_known(device);
}

static void free_devx(struct sv_context *ctx, enum prm_object_kind kind)
{
    struct prm_env env = sv_prm_env(ctx);
    struct prm_call call;
    struct sv_object *next;
    for (struct sv_object *o = ctx->objects[SV_DEVX]; o; o = next) {
        next = o->next;
        struct mlx5dv_devx_obj *obj = sv_container(o, struct mlx5dv_devx_obj, object);
        if (obj->prm.kind != kind)
            continue;
        if (prm_object_destroy(&env, &obj->prm, &call))
            sv_log(SV_LOG_WARN, "closing %s: %s", ctx->device->ibv.name, call.text);
        sv_object_unlink(o);
        free(obj);
    }
}

/* What the caller left behind, users before what they use. Port lock held. */
static void free_objects(struct sv_context *ctx)
{
    while (ctx->objects[SV_QP])
        sv_qp_release(sv_container(ctx->objects[SV_QP], struct sv_qp, object));
    free_devx(ctx, PRM_OBJECT_QP);
    while (ctx->objects[SV_SRQ])
        sv_srq_release(sv_container(ctx->objects[SV_SRQ], struct sv_srq, object));
    free_devx(ctx, PRM_OBJECT_RMP);
    while (ctx->objects[SV_CQ])
        sv_cq_release(sv_container(ctx->objects[SV_CQ], struct sv_cq, object));
    free_devx(ctx, PRM_OBJECT_CQ);
    sv_channels_release(ctx);
    sv_dv_channels_release(ctx);
    while (ctx->objects[SV_UMEM])
        sv_umem_release(sv_container(ctx->objects[SV_UMEM], struct sv_umem, object));
    while (ctx->objects[SV_UAR])
        sv_uar_release(ctx, sv_container(ctx->objects[SV_UAR], struct sv_uar, object));
    sv_mws_release(ctx);
    while (ctx->objects[SV_MR])
        sv_mr_release(ctx, sv_container(ctx->objects[SV_MR], struct sv_mr, object));
    while (ctx->objects[SV_AH]) {
        struct sv_ah *ah = sv_container(ctx->objects[SV_AH], struct sv_ah, object);
        sv_object_unlink(&ah->object);
        free(ah);
    }
    sv_domains_release(ctx);
}

int softnic_ibv_close_device(struct ibv_context *context)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_close_device");
    if (!ctx)
        return -1; /* as rdma-core: -1 with errno */
    sn_port_lock(ctx->port);
    free_objects(ctx);
    sn_port_unlock(ctx->port);
    sv_async_close(ctx);
    if (context->cmd_fd >= 0)
        close(context->cmd_fd);
    sv_device_put(ctx->device, ctx);
    pthread_mutex_destroy(&context->mutex);
    free(ctx->umems);
    sv_qp_pages_free(ctx);
    free(ctx);
    return 0;
}

bool softnic_owns_context(const struct ibv_context *context)
{
    return context && sv_context_known(context);
}

int softnic_query_qp_error(struct ibv_context *context, uint32_t qpn, struct softnic_qp_error *error)
{
    if (!error || !softnic_owns_context(context))
        return -EINVAL;
    struct sv_context *ctx = sv_context_of(context);
    struct sn_qp_error e;
    sn_port_lock(ctx->port);
    int rc = sn_qp_query(ctx->nic, qpn, NULL, NULL, NULL, &e);
    sn_port_unlock(ctx->port);
    if (rc)
        return rc;
    *error = (struct softnic_qp_error){.has_error = e.has_error,
                                       .syndrome = e.syndrome,
                                       .vendor_err_synd = e.vendor_err_synd,
                                       .hw_err_synd = e.hw_err_synd,
                                       .hw_synd_type = e.hw_synd_type,
                                       .opcode = e.opcode,
                                       .wqe_counter = e.wqe_counter,
                                       .responder = e.responder};
    return 0;
}
