/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlx5dv_init_obj: where the rings, records and registers behind verbs objects are, for who drives them directly: device
 * code, UCX. From then on the CPU path of verbs must not be used on that queue, as on a ConnectX.
 */
#include <errno.h>
#include <string.h>

#include "softnic/data/objects.h"
#include "softnic/dv/dv.h"
#include "softnic/verbs/log.h"

/*
 * Where requests for a completion event may be rung (at +0x20). The engine finds them in the CQ's record; the store has
 * to go somewhere all the same. One page for all: nobody reads it.
 */
static _Alignas(4096) uint8_t arm_page[4096];
static void *arm_pointer = arm_page;

static int init_qp(struct ibv_qp *in, struct mlx5dv_qp *out)
{
    struct sv_qp *qp = sv_qp_of(in);
    struct sv_context *ctx = qp->context;
    if (!sv_context_usable(ctx, "mlx5dv_init_obj"))
        return errno;
    if (qp->uar) { /* UCX moves on to reg ^ 0x100 after each doorbell, whatever the size says */
        sn_port_lock(ctx->port);
        sn_uar_use_both(ctx->nic, qp->uar->uar.index);
        sn_port_unlock(ctx->port);
    }
    out->dbrec = (__be32 *)qp->dbr;
    out->sq.buf = qp->sq.ring;
    out->sq.wqe_cnt = qp->sq.slots;
    out->sq.stride = qp->sq.slots ? qp->sq.stride : 0;
    out->rq.buf = qp->rq.ring;
    out->rq.wqe_cnt = qp->rq.slots;
    out->rq.stride = qp->rq.slots ? qp->rq.stride : 0;
    out->bf.reg = qp->reg;
    out->bf.size = 0; /* doorbells of 8 bytes: there is no write-combining that a larger store could use */
    out->comp_mask = 0; /* no mmap offset, and one number for both halves */
    return 0;
}

static int init_cq(struct ibv_cq *in, struct mlx5dv_cq *out)
{
    struct sv_cq *cq = sv_cq_of(in);
    if (!sv_context_usable(cq->context, "mlx5dv_init_obj"))
        return errno;
    out->buf = cq->ring;
    out->dbrec = (__be32 *)cq->record;
    out->cqe_cnt = cq->entries;
    out->cqe_size = cq->stride;
    out->cq_uar = arm_page;
    out->cqn = cq->cqn;
    out->comp_mask = 0;
    return 0;
}

static int init_srq(struct ibv_srq *in, struct mlx5dv_srq *out)
{
    struct sv_srq *srq = sv_srq_of(in);
    if (!sv_context_usable(srq->context, "mlx5dv_init_obj"))
        return errno;
    uint64_t asked = out->comp_mask;
    out->buf = srq->wq.ring;
    out->dbrec = (__be32 *)srq->wq.record;
    out->stride = srq->wq.stride;
    out->head = srq->free_first;
    out->tail = srq->free_last;
    out->comp_mask = asked & MLX5DV_SRQ_MASK_SRQN;
    if (out->comp_mask)
        out->srqn = srq->srqn;
    return 0;
}

static int check(const struct mlx5dv_obj *obj, uint64_t type)
{
    static const char what[] = "mlx5dv_init_obj";
    uint64_t known = MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_SRQ | MLX5DV_OBJ_AH | MLX5DV_OBJ_PD;
    if (!obj)
        return sv_refuse(EINVAL, "%s: obj is NULL", what);
    if (type & ~known)
        return sv_refuse(EOPNOTSUPP, "%s: obj_type = 0x%llx is not modelled (1 QP, 2 CQ, 4 SRQ, 0x20 AH, 0x40 PD)", what,
                         (unsigned long long)(type & ~known));
    bool missing = ((type & MLX5DV_OBJ_QP) && (!obj->qp.in || !obj->qp.out)) ||
                   ((type & MLX5DV_OBJ_CQ) && (!obj->cq.in || !obj->cq.out)) ||
                   ((type & MLX5DV_OBJ_SRQ) && (!obj->srq.in || !obj->srq.out)) ||
                   ((type & MLX5DV_OBJ_AH) && (!obj->ah.in || !obj->ah.out)) ||
                   ((type & MLX5DV_OBJ_PD) && (!obj->pd.in || !obj->pd.out));
    return missing ? sv_refuse(EINVAL, "%s: in or out is NULL", what) : 0;
}

int softnic_mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type)
{
    int rc = check(obj, obj_type);
    if (!rc && (obj_type & MLX5DV_OBJ_QP))
        rc = init_qp(obj->qp.in, obj->qp.out);
    if (!rc && (obj_type & MLX5DV_OBJ_CQ))
        rc = init_cq(obj->cq.in, obj->cq.out);
    if (!rc && (obj_type & MLX5DV_OBJ_SRQ))
        rc = init_srq(obj->srq.in, obj->srq.out);
    if (rc)
        return rc;
    if (obj_type & MLX5DV_OBJ_AH) {
        obj->ah.out->av = &sv_container(obj->ah.in, struct sv_ah, ibv)->av;
        obj->ah.out->comp_mask = 0;
    }
    if (obj_type & MLX5DV_OBJ_PD) {
        obj->pd.out->pdn = sv_container(obj->pd.in, struct sv_pd, ibv)->pdn;
        obj->pd.out->comp_mask = 0;
    }
    return 0;
}

int softnic_mlx5dv_init_obj_1_0(struct mlx5dv_obj *obj, uint64_t obj_type)
{
    int rc = softnic_mlx5dv_init_obj(obj, obj_type);
    if (!rc && (obj_type & MLX5DV_OBJ_CQ))
        obj->cq.out->cq_uar = &arm_pointer;
    return rc;
}
