/* SPDX-License-Identifier: Apache-2.0 */
/* mlx5dv_create_qp and mlx5dv_create_cq: the extended calls of verbs plus what only this device has. */
#include <errno.h>

#include "softnic/data/ex.h"
#include "softnic/dv/dc.h"
#include "softnic/dv/dv.h"
#include "softnic/verbs/log.h"

/* Received bytes never travel in a CQE here: forbidding that is granted, allowing it changes nothing. */
enum { QP_FLAGS = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE };

static int check_qp(const char *what, const struct mlx5dv_qp_init_attr *dv)
{
    uint64_t known =
        MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_DC | MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
    uint32_t flags = dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS ? dv->create_flags : 0;
    uint64_t ops = dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS ? dv->send_ops_flags : 0;
    if (dv->comp_mask & ~known)
        return sv_refuse(EOPNOTSUPP, "%s: comp_mask = 0x%llx is not modelled (7)", what,
                         (unsigned long long)dv->comp_mask);
    if (flags & ~(uint32_t)QP_FLAGS)
        return sv_refuse(EOPNOTSUPP, "%s: create_flags = 0x%x are not modelled (0x%x)", what, flags, (unsigned)QP_FLAGS);
    if (flags == QP_FLAGS)
        return sv_refuse(EINVAL, "%s: create_flags both forbid and allow scatter to CQE", what);
    if (ops)
        return sv_refuse(EOPNOTSUPP, "%s: send_ops_flags = 0x%llx are not modelled (no UMR, raw WQE or memcpy)", what,
                         (unsigned long long)ops);
    return 0;
}

struct ibv_qp *softnic_mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
                                        struct mlx5dv_qp_init_attr *dv)
{
    static const char what[] = "mlx5dv_create_qp";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx)
        return NULL;
    if (!attr) {
        sv_refuse(EINVAL, "%s: qp_attr is NULL", what);
        return NULL;
    }
    if (dv && check_qp(what, dv))
        return NULL;
    if (dv && (dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC))
        return sv_dc_create(ctx, attr, &dv->dc_init_attr);
    return sv_create_qp_ex(context, attr);
}

/* No operation of the mlx5 kind can be asked for, so none of the members is ever set. */
struct mlx5dv_qp_ex *softnic_mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
    static struct mlx5dv_qp_ex none;
    (void)qp;
    return &none;
}

struct ibv_cq_ex *softnic_mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
                                           struct mlx5dv_cq_init_attr *dv)
{
    static const char what[] = "mlx5dv_create_cq";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx)
        return NULL;
    if (!attr) {
        sv_refuse(EINVAL, "%s: cq_attr is NULL", what);
        return NULL;
    }
    uint32_t size = 0;
    if (dv) {
        bool padded = dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_FLAGS && dv->flags;
        if ((dv->comp_mask & ~(uint64_t)(MLX5DV_CQ_INIT_ATTR_MASK_FLAGS | MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE)) || padded) {
            sv_refuse(EOPNOTSUPP, "%s: comp_mask = 0x%llx, flags = 0x%x: CQEs are neither compressed nor padded", what,
                      (unsigned long long)dv->comp_mask, dv->flags);
            return NULL;
        }
        if (dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE)
            size = dv->cqe_size;
        if (dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE && size != 64 && size != 128) {
            sv_refuse(EINVAL, "%s: cqe_size = %u is neither 64 nor 128", what, size);
            return NULL;
        }
    }
    return sv_cq_ex_new(ctx, what, attr, size);
}
