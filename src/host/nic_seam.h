/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NIC seam: rdma-core's API as a table of function pointers, filled from the system's libraries or from libsoftnic.
 * Nothing else in the library calls a verbs function, and nothing links to libibverbs or libmlx5.
 */
#ifndef GDAKI_HOST_NIC_SEAM_H
#define GDAKI_HOST_NIC_SEAM_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "gdaki/softnic.h"

#pragma GCC visibility push(hidden)

/* X(symbol): without it a backend is not usable. typeof takes the prototype and references no symbol. */
#define GDAKI_IBV_REQUIRED(X)                                                                                          \
    X(ibv_get_device_list)                                                                                             \
    X(ibv_free_device_list)                                                                                            \
    X(ibv_get_device_name)                                                                                             \
    X(ibv_open_device)                                                                                                 \
    X(ibv_close_device)                                                                                                \
    X(ibv_alloc_pd)                                                                                                    \
    X(ibv_dealloc_pd)                                                                                                  \
    X(ibv_reg_mr)                                                                                                      \
    X(ibv_dereg_mr)                                                                                                    \
    X(ibv_query_device)                                                                                                \
    X(ibv_query_port)                                                                                                  \
    X(ibv_query_gid)                                                                                                   \
    X(ibv_create_ah)                                                                                                   \
    X(ibv_destroy_ah)
/* X(symbol): NULL where the backend is older or does not have it. */
#define GDAKI_IBV_OPTIONAL(X)                                                                                          \
    X(ibv_get_device_guid)                                                                                             \
    X(ibv_reg_mr_iova2)                                                                                                \
    X(ibv_reg_dmabuf_mr)                                                                                               \
    X(ibv_query_pkey)                                                                                                  \
    X(ibv_create_cq)                                                                                                   \
    X(ibv_destroy_cq)                                                                                                  \
    X(ibv_create_srq)                                                                                                  \
    X(ibv_destroy_srq)                                                                                                 \
    X(ibv_create_qp)                                                                                                   \
    X(ibv_destroy_qp)                                                                                                  \
    X(ibv_modify_qp)                                                                                                   \
    X(ibv_query_qp)
#define GDAKI_MLX5DV_REQUIRED(X)                                                                                       \
    X(mlx5dv_init_obj)                                                                                                 \
    X(mlx5dv_devx_obj_create)                                                                                          \
    X(mlx5dv_devx_obj_destroy)                                                                                         \
    X(mlx5dv_devx_obj_query)                                                                                           \
    X(mlx5dv_devx_obj_modify)                                                                                          \
    X(mlx5dv_devx_general_cmd)                                                                                         \
    X(mlx5dv_devx_query_eqn)                                                                                           \
    X(mlx5dv_devx_umem_reg_ex)                                                                                         \
    X(mlx5dv_devx_umem_dereg)                                                                                          \
    X(mlx5dv_devx_alloc_uar)                                                                                           \
    X(mlx5dv_devx_free_uar)
#define GDAKI_MLX5DV_OPTIONAL(X)                                                                                       \
    X(mlx5dv_is_supported)                                                                                             \
    X(mlx5dv_query_device)

/* X(symbol without softnic_) */
#define GDAKI_SOFTNIC_EXTRAS(X)                                                                                        \
    X(drive)                                                                                                           \
    X(wake)                                                                                                            \
    X(owns_context)                                                                                                    \
    X(owns_register)                                                                                                   \
    X(query_qp_error)                                                                                                  \
    X(explain_qp)                                                                                                      \
    X(dmabuf_note)                                                                                                     \
    X(dmabuf_forget)                                                                                                   \
    X(last_error)

enum gdaki_nic_kind { GDAKI_NIC_RDMA_CORE, GDAKI_NIC_SOFTNIC };

struct gdaki_nic_ops {
    const char *name;
    enum gdaki_nic_kind kind;
#define X(symbol) __typeof__(symbol) *symbol;
    GDAKI_IBV_REQUIRED(X)
    GDAKI_IBV_OPTIONAL(X)
    GDAKI_MLX5DV_REQUIRED(X)
    GDAKI_MLX5DV_OPTIONAL(X)
#undef X
    /* softnic's extras; NULL on rdma-core. */
#define X(symbol) __typeof__(softnic_##symbol) *symbol;
    GDAKI_SOFTNIC_EXTRAS(X)
#undef X
};

/* The backend that GDAKI_NIC asks for; chosen once. NULL: *why says what was missing. */
const struct gdaki_nic_ops *nic_current(const char **why);

/* The backend that an open device belongs to: the caller may have opened it through either. NULL: none is usable. */
const struct gdaki_nic_ops *nic_of_context(const struct ibv_context *context);

/* softnic's table if the library is loaded in this process (this does not load it), else NULL. */
const struct gdaki_nic_ops *nic_softnic_if_loaded(void);

/* softnic's text of this thread's last refused call, with ": " before it; "" where there is none. */
const char *nic_reason(const struct gdaki_nic_ops *ops);

/* Tests put a table of their own in front of both backends; NULL takes it away. Not thread-safe. */
void nic_test_override(const struct gdaki_nic_ops *ops);

#pragma GCC visibility pop
#endif
