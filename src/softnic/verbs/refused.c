/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs of the CPU data path. They exist, because clients resolve them by name and give up on a library that lacks one;
 * they say no, because queues with a CPU data path are not modelled. Queues are made with the DEVX commands.
 */
#include <errno.h>
#include <stdbool.h>

#include "softnic/verbs/context.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

static int refuse(const char *what)
{
    return sv_refuse(EOPNOTSUPP, "%s is not modelled: queues are made with mlx5dv_devx_obj_create", what);
}

struct ibv_cq *softnic_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                     struct ibv_comp_channel *channel, int comp_vector)
{
    (void)context, (void)cqe, (void)cq_context, (void)channel, (void)comp_vector;
    refuse("ibv_create_cq");
    return NULL;
}

int softnic_ibv_destroy_cq(struct ibv_cq *cq)
{
    (void)cq;
    return refuse("ibv_destroy_cq");
}

struct ibv_srq *softnic_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    (void)pd, (void)attr;
    refuse("ibv_create_srq");
    return NULL;
}

int softnic_ibv_destroy_srq(struct ibv_srq *srq)
{
    (void)srq;
    return refuse("ibv_destroy_srq");
}

struct ibv_qp *softnic_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    (void)pd, (void)attr;
    refuse("ibv_create_qp");
    return NULL;
}

int softnic_ibv_destroy_qp(struct ibv_qp *qp)
{
    (void)qp;
    return refuse("ibv_destroy_qp");
}

int softnic_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
    (void)qp, (void)attr, (void)attr_mask;
    return refuse("ibv_modify_qp");
}

int softnic_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
    (void)qp, (void)attr, (void)attr_mask, (void)init_attr;
    return refuse("ibv_query_qp");
}

int softnic_mlx5dv_devx_qp_modify(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
    (void)qp, (void)in, (void)inlen, (void)out, (void)outlen;
    return refuse("mlx5dv_devx_qp_modify");
}

int softnic_mlx5dv_devx_qp_query(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
    (void)qp, (void)in, (void)inlen, (void)out, (void)outlen;
    return refuse("mlx5dv_devx_qp_query");
}
