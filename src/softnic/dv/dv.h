/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlx5dv beyond commands: exported functions, each with the very type of the one it stands for, and what its parts share.
 */
#ifndef SOFTNIC_DV_DV_H
#define SOFTNIC_DV_DV_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "softnic/verbs/context.h"

#define SOFTNIC_DV_VERBS(X)                                                                                            \
    X(mlx5dv_init_obj)                                                                                                 \
    X(mlx5dv_query_device)                                                                                             \
    X(mlx5dv_get_clock_info)                                                                                           \
    X(mlx5dv_set_context_attr)                                                                                         \
    X(mlx5dv_create_qp)                                                                                                \
    X(mlx5dv_create_cq)                                                                                                \
    X(mlx5dv_qp_ex_from_ibv_qp_ex)                                                                                     \
    X(_mlx5dv_query_port)                                                                                              \
    X(mlx5dv_devx_create_event_channel)                                                                                \
    X(mlx5dv_devx_destroy_event_channel)                                                                               \
    X(mlx5dv_devx_subscribe_devx_event)                                                                                \
    X(mlx5dv_devx_subscribe_devx_event_fd)                                                                             \
    X(mlx5dv_devx_get_event)                                                                                           \
    X(mlx5dv_devx_qp_query)                                                                                            \
    X(mlx5dv_devx_qp_modify)                                                                                           \
    X(mlx5dv_devx_cq_query)

#pragma GCC visibility push(default)
#define SOFTNIC_ONE_VERB(name) extern __typeof__(name) softnic_##name;
SOFTNIC_DV_VERBS(SOFTNIC_ONE_VERB)
#undef SOFTNIC_ONE_VERB
/* Of MLX5_1.0, before rdma-core 13: mlx5dv_cq.cq_uar is a void ** there. */
int softnic_mlx5dv_init_obj_1_0(struct mlx5dv_obj *obj, uint64_t obj_type);
/* Of MLX5_1.25, which the packaged header may lack. */
int softnic_mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *buf, size_t buf_len);
struct ibv_mr *softnic_mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                            int access, int mlx5_access);
#pragma GCC visibility pop

#endif
