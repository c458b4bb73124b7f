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
