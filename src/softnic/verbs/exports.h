/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prototypes of the exported verbs: each is declared with the very type of the function it stands for, so that a
 * difference is a compile error. (Names that the packaged headers also define as macros are not expanded here: no
 * parenthesis follows.)
 */
#ifndef SOFTNIC_VERBS_EXPORTS_H
#define SOFTNIC_VERBS_EXPORTS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#define SOFTNIC_VERBS(X)                                                                                               \
    X(ibv_get_device_list)                                                                                             \
    X(ibv_free_device_list)                                                                                            \
    X(ibv_get_device_name)                                                                                             \
    X(ibv_get_device_guid) X(ibv_get_device_index) X(ibv_open_device) X(ibv_close_device) X(ibv_alloc_pd)              \
        X(ibv_dealloc_pd) X(ibv_reg_mr) X(ibv_reg_mr_iova) X(ibv_reg_mr_iova2) X(ibv_reg_dmabuf_mr) X(ibv_dereg_mr)    \
            X(ibv_query_device) X(ibv_query_port) X(ibv_query_gid) X(ibv_query_pkey) X(ibv_get_pkey_index)             \
                X(_ibv_query_gid_ex) X(_ibv_query_gid_table) X(ibv_create_ah) X(ibv_destroy_ah) X(ibv_create_cq)       \
                    X(ibv_destroy_cq) X(ibv_create_srq) X(ibv_destroy_srq) X(ibv_create_qp) X(ibv_destroy_qp)          \
                        X(ibv_modify_qp) X(ibv_query_qp) X(ibv_create_comp_channel) X(ibv_destroy_comp_channel)        \
                            X(ibv_fork_init) X(ibv_is_fork_initialized) X(ibv_wc_status_str) X(ibv_node_type_str)      \
                                X(ibv_port_state_str) X(mlx5dv_init_obj) X(mlx5dv_query_device) X(mlx5dv_is_supported) \
                                    X(mlx5dv_open_device) X(mlx5dv_devx_obj_create) X(mlx5dv_devx_obj_destroy)         \
                                        X(mlx5dv_devx_obj_query) X(mlx5dv_devx_obj_modify) X(mlx5dv_devx_general_cmd)  \
                                            X(mlx5dv_devx_query_eqn) X(mlx5dv_devx_umem_reg)                           \
                                                X(mlx5dv_devx_umem_reg_ex) X(mlx5dv_devx_umem_dereg)                   \
                                                    X(mlx5dv_devx_alloc_uar) X(mlx5dv_devx_free_uar)                   \
                                                        X(mlx5dv_devx_qp_modify) X(mlx5dv_devx_qp_query)

/* The rest of the CPU data path (data/). */
#define SOFTNIC_DATA_VERBS(X)                                                                                          \
    X(ibv_rereg_mr) X(ibv_resize_cq) X(ibv_modify_srq) X(ibv_query_srq) X(ibv_init_ah_from_wc) X(ibv_create_ah_from_wc)

/* Events (data/channel.c, data/async.c) and extended queue pairs. */
#define SOFTNIC_EVENT_VERBS(X)                                                                                         \
    X(ibv_get_cq_event) X(ibv_ack_cq_events) X(ibv_get_async_event) X(ibv_ack_async_event) X(ibv_qp_to_qp_ex)          \
        X(ibv_event_type_str)

#pragma GCC visibility push(default)
#define SOFTNIC_ONE_VERB(name) extern __typeof__(name) softnic_##name;
SOFTNIC_VERBS(SOFTNIC_ONE_VERB)
SOFTNIC_DATA_VERBS(SOFTNIC_ONE_VERB)
SOFTNIC_EVENT_VERBS(SOFTNIC_ONE_VERB)
/* Newer than the packaged headers (IBVERBS_1.16); in units of 100 Mb/s. */
extern int softnic_ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);
#pragma GCC visibility pop

#endif
