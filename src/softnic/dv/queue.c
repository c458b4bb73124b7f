/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on objects that verbs made: state and query of a queue pair, query of a completion queue. */
#include <errno.h>

#include "format/prm.h"
#include "softnic/data/objects.h"
#include "softnic/dv/dv.h"
#include "softnic/verbs/log.h"
#include "softnic/verbs/stats.h"

static int verdict(const struct sv_context *ctx, const struct prm_call *call, int rc)
{
    return rc ? sv_refuse(call->error, "%s: %s", ctx->device->ibv.name, call->text) : 0;
}

static int query(struct sv_context *ctx, struct prm_object *object, const void *in, size_t inlen, void *out, size_t outlen)
{
    struct prm_env env = sv_prm_env(ctx);
    struct prm_call call;
    sv_count_command();
    sn_port_lock(ctx->port);
    int rc = prm_object_query(&env, object, in, inlen, out, outlen, &call);
    sn_port_unlock(ctx->port);
    return verdict(ctx, &call, rc);
}

int softnic_mlx5dv_devx_qp_query(struct ibv_qp *ibv, const void *in, size_t inlen, void *out, size_t outlen)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "mlx5dv_devx_qp_query") : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "mlx5dv_devx_qp_query: qp is NULL");
    struct prm_object object = {.kind = PRM_OBJECT_QP, .number = sv_qp_of(ibv)->qpn};
    return query(ctx, &object, in, inlen, out, outlen);
}

/* Where the command has left it, in the words of verbs; posting looks at it. */
static enum ibv_qp_state state_of(enum sn_qp_state state)
{
    return state == SN_QP_SQER ? IBV_QPS_SQE : state == SN_QP_SQD ? IBV_QPS_SQD : (enum ibv_qp_state)state;
}

int softnic_mlx5dv_devx_qp_modify(struct ibv_qp *ibv, const void *in, size_t inlen, void *out, size_t outlen)
{
    static const char what[] = "mlx5dv_devx_qp_modify";
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, what) : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "%s: qp is NULL", what);
    struct sv_qp *qp = sv_qp_of(ibv);
    struct prm_env env = sv_prm_env(ctx);
    struct prm_object object = {.kind = PRM_OBJECT_QP, .number = qp->qpn};
    struct prm_call call;
    enum sn_qp_state state = SN_QP_RST;
    sv_count_command();
    sn_port_lock(ctx->port);
    int rc = prm_object_modify(&env, &object, in, inlen, out, outlen, &call);
    if (!rc)
        sn_qp_query(ctx->nic, qp->qpn, &state, NULL, NULL, NULL);
    sn_port_unlock(ctx->port);
    if (rc)
        return verdict(ctx, &call, rc);
    if (state == SN_QP_RST)
        sv_qp_start_afresh(qp);
    __atomic_store_n(&ibv->state, state_of(state), __ATOMIC_RELAXED);
    return 0;
}

int softnic_mlx5dv_devx_cq_query(struct ibv_cq *ibv, const void *in, size_t inlen, void *out, size_t outlen)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "mlx5dv_devx_cq_query") : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "mlx5dv_devx_cq_query: cq is NULL");
    const struct sv_cq *cq = sv_cq_of(ibv);
    struct prm_object object = {.kind = PRM_OBJECT_CQ, .number = cq->cqn};
    prm_set_cqc__cqe_sz(object.context, cq->stride == 128);
    prm_set_cqc__log_cq_size(object.context, (unsigned)__builtin_ctz(cq->entries));
    prm_set_cqc__c_eqn(object.context, cq->eqn);
    return query(ctx, &object, in, inlen, out, outlen);
}
