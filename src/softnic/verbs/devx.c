/* SPDX-License-Identifier: Apache-2.0 */
/* DEVX objects and commands: the way from mlx5dv calls to prm/. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/verbs/context.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"
#include "softnic/verbs/stats.h"

struct mlx5dv_devx_obj *softnic_mlx5dv_devx_obj_create(struct ibv_context *context, const void *in, size_t inlen,
                                                       void *out, size_t outlen)
{
    struct sv_context *ctx = sv_context_check(context, "mlx5dv_devx_obj_create");
    struct mlx5dv_devx_obj *obj = ctx ? calloc(1, sizeof(*obj)) : NULL;
    if (!obj)
        return NULL;
    struct prm_env env = sv_prm_env(ctx);
    struct prm_call call;
    obj->context = ctx;
    sv_count_command();
    sn_port_lock(ctx->port);
    int rc = prm_object_create(&env, in, inlen, out, outlen, &obj->prm, &call);
    if (!rc)
        sv_object_link(ctx, &obj->object, SV_DEVX);
    sn_port_unlock(ctx->port);
    if (rc) {
        free(obj);
        sv_refuse(call.error, "%s: %s", ctx->device->ibv.name, call.text);
        return NULL;
    }
    return obj;
}

static int verdict(const struct sv_context *ctx, const struct prm_call *call, int rc)
{
    return rc ? sv_refuse(call->error, "%s: %s", ctx->device->ibv.name, call->text) : 0;
}

int softnic_mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
    if (!obj)
        return sv_refuse(EINVAL, "mlx5dv_devx_obj_query: obj is NULL");
    struct sv_context *ctx = obj->context;
    if (!sv_context_usable(ctx, "mlx5dv_devx_obj_query"))
        return errno;
    struct prm_env env = sv_prm_env(ctx);
    struct prm_call call;
    sv_count_command();
    sn_port_lock(ctx->port);
    int rc = prm_object_query(&env, &obj->prm, in, inlen, out, outlen, &call);
    sn_port_unlock(ctx->port);
    return verdict(ctx, &call, rc);
}

int softnic_mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
    if (!obj)
        return sv_refuse(EINVAL, "mlx5dv_devx_obj_modify: obj is NULL");
    struct sv_context *ctx = obj->context;
    if (!sv_context_usable(ctx, "mlx5dv_devx_obj_modify"))
        return errno;
    struct prm_env env = sv_prm_env(ctx);
    struct prm_call call;
    sv_count_command();
    sn_port_lock(ctx->port);
    int rc = prm_object_modify(&env, &obj->prm, in, inlen, out, outlen, &call);
    sn_port_unlock(ctx->port);
    return verdict(ctx, &call, rc);
}

int softnic_mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
    if (!obj)
        return sv_refuse(EINVAL, "mlx5dv_devx_obj_destroy: obj is NULL");
    struct sv_context *ctx = obj->context;
    if (!sv_context_usable(ctx, "mlx5dv_devx_obj_destroy"))
        return errno;
    struct prm_env env = sv_prm_env(ctx);
    struct prm_call call;
    sv_count_command();
    sn_port_lock(ctx->port);
    int rc = prm_object_destroy(&env, &obj->prm, &call);
    if (!rc)
        sv_object_unlink(&obj->object);
    sn_port_unlock(ctx->port);
    if (rc)
        return verdict(ctx, &call, rc);
    free(obj);
    return 0;
}

int softnic_mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in, size_t inlen, void *out, size_t outlen)
{
    struct sv_context *ctx = sv_context_check(context, "mlx5dv_devx_general_cmd");
    if (!ctx)
        return errno;
    struct prm_env env = sv_prm_env(ctx);
    struct prm_call call;
    sv_count_command();
    sn_port_lock(ctx->port);
    int rc = prm_general(&env, in, inlen, out, outlen, &call);
    sn_port_unlock(ctx->port);
    return verdict(ctx, &call, rc);
}

int softnic_mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn)
{
    struct sv_context *ctx = sv_context_check(context, "mlx5dv_devx_query_eqn");
    if (!ctx)
        return errno;
    if (!eqn || vector >= (uint32_t)context->num_comp_vectors)
        return sv_refuse(EINVAL, "mlx5dv_devx_query_eqn: vector = %u, the device has %d", vector,
                         context->num_comp_vectors);
    *eqn = 1 + vector; /* no event is ever raised: any number that CREATE_CQ takes will do */
    return 0;
}
