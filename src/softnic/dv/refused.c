/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libibverbs and libmlx5 that softnic does not carry out. They exist, because a program that names one of
 * them at link time does not start without it; each refuses with EOPNOTSUPP and a reason. What a refusal is handed it
 * does not look at, so it declares no parameters (both ABIs leave them to the caller). Weak: a definition elsewhere wins.
 */
#include <errno.h>
#include <stddef.h>

#include "gdaki/softnic.h"
#include "softnic/verbs/log.h"

#define PUBLIC __attribute__((visibility("default"), weak))

int softnic_refuse(const char *function, const char *reason)
{
    return sv_refuse(EOPNOTSUPP, "%s: %s", function, reason);
}

/* What the functions that make objects are refused with; the others can only be met with an object that cannot exist. */
static const char not_modelled[] = "not modelled";

#define POINTER(name)                                                                                                  \
    PUBLIC void *softnic_##name(void);                                                                                 \
    void *softnic_##name(void)                                                                                         \
    {                                                                                                                  \
        softnic_refuse(#name, not_modelled);                                                                           \
        return NULL;                                                                                                   \
    }
#define CODE(name)                                                                                                     \
    PUBLIC int softnic_##name(void);                                                                                   \
    int softnic_##name(void)                                                                                           \
    {                                                                                                                  \
        return softnic_refuse(#name, not_modelled);                                                                    \
    }
#define NOTHING(name)                                                                                                  \
    PUBLIC void softnic_##name(void);                                                                                  \
    void softnic_##name(void)                                                                                          \
    {                                                                                                                  \
        softnic_refuse(#name, not_modelled);                                                                           \
    }

CODE(_mlx5dv_mkey_check)
CODE(_mlx5dv_query_port)
NOTHING(ibv_ack_async_event)
NOTHING(ibv_ack_cq_events)
POINTER(ibv_alloc_buf)
POINTER(ibv_alloc_dmah)
CODE(ibv_attach_mcast)
NOTHING(ibv_copy_ah_attr_from_kern)
NOTHING(ibv_copy_path_rec_from_kern)
NOTHING(ibv_copy_path_rec_to_kern)
NOTHING(ibv_copy_qp_attr_from_kern)
POINTER(ibv_create_ah_from_wc)
CODE(ibv_dealloc_dmah)
CODE(ibv_detach_mcast)
CODE(ibv_dm_export_dmabuf_fd)
CODE(ibv_dofork_range)
CODE(ibv_dontfork_range)
POINTER(ibv_event_type_str)
CODE(ibv_free_buf)
CODE(ibv_get_async_event)
CODE(ibv_get_cq_event)
POINTER(ibv_get_sysfs_path)
POINTER(ibv_import_device)
POINTER(ibv_import_dm)
POINTER(ibv_import_mr)
POINTER(ibv_import_pd)
CODE(ibv_init_ah_from_wc)
CODE(ibv_modify_srq)
POINTER(ibv_qp_to_qp_ex)
CODE(ibv_query_ece)
CODE(ibv_query_gid_type)
CODE(ibv_query_port_speed)
CODE(ibv_query_qp_data_in_order)
CODE(ibv_query_srq)
CODE(ibv_rate_to_mbps)
CODE(ibv_rate_to_mult)
CODE(ibv_read_sysfs_file)
POINTER(ibv_reg_buf_mr)
POINTER(ibv_reg_mr_ex)
NOTHING(ibv_register_driver)
CODE(ibv_rereg_mr)
CODE(ibv_resize_cq)
CODE(ibv_resolve_eth_l2_from_gid)
CODE(ibv_set_ece)
NOTHING(ibv_unimport_dm)
NOTHING(ibv_unimport_mr)
NOTHING(ibv_unimport_pd)
CODE(mbps_to_ibv_rate)
POINTER(mlx5dv_alloc_dm)
POINTER(mlx5dv_alloc_var)
POINTER(mlx5dv_create_cq)
POINTER(mlx5dv_create_flow)
POINTER(mlx5dv_create_flow_action_esp)
POINTER(mlx5dv_create_flow_action_modify_header)
POINTER(mlx5dv_create_flow_action_packet_reformat)
POINTER(mlx5dv_create_flow_matcher)
POINTER(mlx5dv_create_mkey)
POINTER(mlx5dv_create_qp)
POINTER(mlx5dv_create_steering_anchor)
POINTER(mlx5dv_create_wq)
CODE(mlx5dv_crypto_login)
POINTER(mlx5dv_crypto_login_create)
CODE(mlx5dv_crypto_login_destroy)
CODE(mlx5dv_crypto_login_query)
CODE(mlx5dv_crypto_login_query_state)
CODE(mlx5dv_crypto_logout)
CODE(mlx5dv_dci_stream_id_reset)
POINTER(mlx5dv_dek_create)
CODE(mlx5dv_dek_destroy)
CODE(mlx5dv_dek_query)
CODE(mlx5dv_destroy_flow_matcher)
CODE(mlx5dv_destroy_mkey)
CODE(mlx5dv_destroy_steering_anchor)
POINTER(mlx5dv_devx_alloc_msi_vector)
CODE(mlx5dv_devx_cq_modify)
CODE(mlx5dv_devx_cq_query)
POINTER(mlx5dv_devx_create_cmd_comp)
POINTER(mlx5dv_devx_create_eq)
POINTER(mlx5dv_devx_create_event_channel)
NOTHING(mlx5dv_devx_destroy_cmd_comp)
CODE(mlx5dv_devx_destroy_eq)
NOTHING(mlx5dv_devx_destroy_event_channel)
CODE(mlx5dv_devx_free_msi_vector)
CODE(mlx5dv_devx_get_async_cmd_comp)
CODE(mlx5dv_devx_get_event)
CODE(mlx5dv_devx_ind_tbl_modify)
CODE(mlx5dv_devx_ind_tbl_query)
CODE(mlx5dv_devx_obj_query_async)
CODE(mlx5dv_devx_srq_modify)
CODE(mlx5dv_devx_srq_query)
CODE(mlx5dv_devx_subscribe_devx_event)
CODE(mlx5dv_devx_subscribe_devx_event_fd)
CODE(mlx5dv_devx_uar_export_dmabuf_fd)
CODE(mlx5dv_devx_wq_modify)
CODE(mlx5dv_devx_wq_query)
POINTER(mlx5dv_dm_map_op_addr)
POINTER(mlx5dv_dr_action_create_aso)
POINTER(mlx5dv_dr_action_create_default_miss)
POINTER(mlx5dv_dr_action_create_dest_array)
POINTER(mlx5dv_dr_action_create_dest_devx_tir)
POINTER(mlx5dv_dr_action_create_dest_ib_port)
POINTER(mlx5dv_dr_action_create_dest_ibv_qp)
POINTER(mlx5dv_dr_action_create_dest_root_table)
POINTER(mlx5dv_dr_action_create_dest_table)
POINTER(mlx5dv_dr_action_create_dest_vport)
POINTER(mlx5dv_dr_action_create_drop)
POINTER(mlx5dv_dr_action_create_flow_counter)
POINTER(mlx5dv_dr_action_create_flow_meter)
POINTER(mlx5dv_dr_action_create_flow_sampler)
POINTER(mlx5dv_dr_action_create_modify_header)
POINTER(mlx5dv_dr_action_create_packet_reformat)
POINTER(mlx5dv_dr_action_create_pop_vlan)
POINTER(mlx5dv_dr_action_create_push_vlan)
POINTER(mlx5dv_dr_action_create_tag)
CODE(mlx5dv_dr_action_destroy)
CODE(mlx5dv_dr_action_modify_aso)
CODE(mlx5dv_dr_action_modify_flow_meter)
CODE(mlx5dv_dr_aso_other_domain_link)
CODE(mlx5dv_dr_aso_other_domain_unlink)
NOTHING(mlx5dv_dr_domain_allow_duplicate_rules)
POINTER(mlx5dv_dr_domain_create)
CODE(mlx5dv_dr_domain_destroy)
NOTHING(mlx5dv_dr_domain_set_reclaim_device_memory)
CODE(mlx5dv_dr_domain_sync)
POINTER(mlx5dv_dr_matcher_create)
CODE(mlx5dv_dr_matcher_destroy)
CODE(mlx5dv_dr_matcher_set_layout)
POINTER(mlx5dv_dr_rule_create)
CODE(mlx5dv_dr_rule_destroy)
POINTER(mlx5dv_dr_table_create)
CODE(mlx5dv_dr_table_destroy)
CODE(mlx5dv_dump_dr_domain)
CODE(mlx5dv_dump_dr_matcher)
CODE(mlx5dv_dump_dr_rule)
CODE(mlx5dv_dump_dr_table)
NOTHING(mlx5dv_free_var)
CODE(mlx5dv_get_clock_info)
CODE(mlx5dv_get_data_direct_sysfs_path)
POINTER(mlx5dv_get_vfio_device_list)
CODE(mlx5dv_init_obj_1_0)
CODE(mlx5dv_map_ah_to_qp)
CODE(mlx5dv_modify_qp_lag_port)
CODE(mlx5dv_modify_qp_sched_elem)
CODE(mlx5dv_modify_qp_udp_sport)
POINTER(mlx5dv_pp_alloc)
NOTHING(mlx5dv_pp_free)
CODE(mlx5dv_qp_cancel_posted_send_wrs)
POINTER(mlx5dv_qp_ex_from_ibv_qp_ex)
CODE(mlx5dv_query_qp_lag_port)
POINTER(mlx5dv_reg_dmabuf_mr)
CODE(mlx5dv_reserved_qpn_alloc)
CODE(mlx5dv_reserved_qpn_dealloc)
POINTER(mlx5dv_sched_leaf_create)
CODE(mlx5dv_sched_leaf_destroy)
CODE(mlx5dv_sched_leaf_modify)
POINTER(mlx5dv_sched_node_create)
CODE(mlx5dv_sched_node_destroy)
CODE(mlx5dv_sched_node_modify)
CODE(mlx5dv_set_context_attr)
CODE(mlx5dv_vfio_get_events_fd)
CODE(mlx5dv_vfio_process_events)
CODE(mult_to_ibv_rate)
