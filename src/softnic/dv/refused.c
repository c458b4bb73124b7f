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

#define REFUSES(type, value, name, refuse, why)                                                                        \
    PUBLIC type softnic_##name(void);                                                                                  \
    type softnic_##name(void)                                                                                          \
    {                                                                                                                  \
        refuse(#name, why);                                                                                            \
        return value;                                                                                                  \
    }
#define POINTER(name, why) REFUSES(void *, NULL, name, softnic_refuse, why)
#define CODE(name, why)    REFUSES(int, EOPNOTSUPP, name, softnic_refuse, why)
#define NOTHING(name, why) REFUSES(void, , name, softnic_refuse, why)

/* What clients ask for on purpose, to find out whether it is there: said at level info only. */
static void refuse_quietly(const char *function, const char *reason)
{
    sv_refuse_quietly(EOPNOTSUPP, "%s: %s", function, reason);
}
#define PROBE(name, why) REFUSES(int, EOPNOTSUPP, name, refuse_quietly, why)

static const char no_steering[] = "packets are not steered: there are no raw Ethernet queues";
POINTER(mlx5dv_create_flow, no_steering)
POINTER(mlx5dv_create_flow_action_esp, no_steering)
POINTER(mlx5dv_create_flow_action_modify_header, no_steering)
POINTER(mlx5dv_create_flow_action_packet_reformat, no_steering)
POINTER(mlx5dv_create_flow_matcher, no_steering)
POINTER(mlx5dv_create_steering_anchor, no_steering)
CODE(mlx5dv_destroy_flow_matcher, no_steering)
CODE(mlx5dv_destroy_steering_anchor, no_steering)
POINTER(mlx5dv_dr_action_create_aso, no_steering)
POINTER(mlx5dv_dr_action_create_default_miss, no_steering)
POINTER(mlx5dv_dr_action_create_dest_array, no_steering)
POINTER(mlx5dv_dr_action_create_dest_devx_tir, no_steering)
POINTER(mlx5dv_dr_action_create_dest_ib_port, no_steering)
POINTER(mlx5dv_dr_action_create_dest_ibv_qp, no_steering)
POINTER(mlx5dv_dr_action_create_dest_root_table, no_steering)
POINTER(mlx5dv_dr_action_create_dest_table, no_steering)
POINTER(mlx5dv_dr_action_create_dest_vport, no_steering)
POINTER(mlx5dv_dr_action_create_drop, no_steering)
POINTER(mlx5dv_dr_action_create_flow_counter, no_steering)
POINTER(mlx5dv_dr_action_create_flow_meter, no_steering)
POINTER(mlx5dv_dr_action_create_flow_sampler, no_steering)
POINTER(mlx5dv_dr_action_create_modify_header, no_steering)
POINTER(mlx5dv_dr_action_create_packet_reformat, no_steering)
POINTER(mlx5dv_dr_action_create_pop_vlan, no_steering)
POINTER(mlx5dv_dr_action_create_push_vlan, no_steering)
POINTER(mlx5dv_dr_action_create_tag, no_steering)
CODE(mlx5dv_dr_action_destroy, no_steering)
CODE(mlx5dv_dr_action_modify_aso, no_steering)
CODE(mlx5dv_dr_action_modify_flow_meter, no_steering)
CODE(mlx5dv_dr_aso_other_domain_link, no_steering)
CODE(mlx5dv_dr_aso_other_domain_unlink, no_steering)
NOTHING(mlx5dv_dr_domain_allow_duplicate_rules, no_steering)
POINTER(mlx5dv_dr_domain_create, no_steering)
CODE(mlx5dv_dr_domain_destroy, no_steering)
NOTHING(mlx5dv_dr_domain_set_reclaim_device_memory, no_steering)
CODE(mlx5dv_dr_domain_sync, no_steering)
POINTER(mlx5dv_dr_matcher_create, no_steering)
CODE(mlx5dv_dr_matcher_destroy, no_steering)
CODE(mlx5dv_dr_matcher_set_layout, no_steering)
POINTER(mlx5dv_dr_rule_create, no_steering)
CODE(mlx5dv_dr_rule_destroy, no_steering)
POINTER(mlx5dv_dr_table_create, no_steering)
CODE(mlx5dv_dr_table_destroy, no_steering)
CODE(mlx5dv_dump_dr_domain, no_steering)
CODE(mlx5dv_dump_dr_matcher, no_steering)
CODE(mlx5dv_dump_dr_rule, no_steering)
CODE(mlx5dv_dump_dr_table, no_steering)

static const char no_wq[] = "there are no raw Ethernet work queues";
POINTER(mlx5dv_create_wq, no_wq)
CODE(mlx5dv_devx_ind_tbl_modify, no_wq)
CODE(mlx5dv_devx_ind_tbl_query, no_wq)
CODE(mlx5dv_devx_wq_modify, no_wq)
CODE(mlx5dv_devx_wq_query, no_wq)

static const char no_crypto[] = "there is no encryption in the device";
CODE(mlx5dv_crypto_login, no_crypto)
POINTER(mlx5dv_crypto_login_create, no_crypto)
CODE(mlx5dv_crypto_login_destroy, no_crypto)
CODE(mlx5dv_crypto_login_query, no_crypto)
CODE(mlx5dv_crypto_login_query_state, no_crypto)
CODE(mlx5dv_crypto_logout, no_crypto)
POINTER(mlx5dv_dek_create, no_crypto)
CODE(mlx5dv_dek_destroy, no_crypto)
CODE(mlx5dv_dek_query, no_crypto)

static const char no_sharing[] = "objects of another process cannot be imported";
POINTER(ibv_import_device, no_sharing)
POINTER(ibv_import_dm, no_sharing)
POINTER(ibv_import_mr, no_sharing)
POINTER(ibv_import_pd, no_sharing)
NOTHING(ibv_unimport_dm, no_sharing)
NOTHING(ibv_unimport_mr, no_sharing)
NOTHING(ibv_unimport_pd, no_sharing)

static const char no_dm[] = "there is no memory on the device";
POINTER(ibv_alloc_buf, no_dm)
POINTER(ibv_alloc_dmah, no_dm)
CODE(ibv_dealloc_dmah, no_dm)
CODE(ibv_dm_export_dmabuf_fd, no_dm)
CODE(ibv_free_buf, no_dm)
POINTER(ibv_reg_buf_mr, no_dm)
POINTER(ibv_reg_mr_ex, no_dm)
POINTER(mlx5dv_alloc_dm, no_dm)
POINTER(mlx5dv_alloc_var, no_dm)
CODE(mlx5dv_devx_uar_export_dmabuf_fd, no_dm)
POINTER(mlx5dv_dm_map_op_addr, no_dm)
NOTHING(mlx5dv_free_var, no_dm)

static const char no_vfio[] = "the device is not on a bus";
POINTER(mlx5dv_devx_alloc_msi_vector, no_vfio)
POINTER(mlx5dv_devx_create_eq, no_vfio)
CODE(mlx5dv_devx_destroy_eq, no_vfio)
CODE(mlx5dv_devx_free_msi_vector, no_vfio)
POINTER(mlx5dv_get_vfio_device_list, no_vfio)
CODE(mlx5dv_vfio_get_events_fd, no_vfio)
CODE(mlx5dv_vfio_process_events, no_vfio)

static const char no_pacing[] = "the port neither paces nor schedules nor bonds";
CODE(mlx5dv_modify_qp_lag_port, no_pacing)
CODE(mlx5dv_modify_qp_sched_elem, no_pacing)
CODE(mlx5dv_modify_qp_udp_sport, no_pacing)
POINTER(mlx5dv_pp_alloc, no_pacing)
NOTHING(mlx5dv_pp_free, no_pacing)
CODE(mlx5dv_query_qp_lag_port, no_pacing)
POINTER(mlx5dv_sched_leaf_create, no_pacing)
CODE(mlx5dv_sched_leaf_destroy, no_pacing)
CODE(mlx5dv_sched_leaf_modify, no_pacing)
POINTER(mlx5dv_sched_node_create, no_pacing)
CODE(mlx5dv_sched_node_destroy, no_pacing)
CODE(mlx5dv_sched_node_modify, no_pacing)

static const char no_async[] = "commands are carried out at once: the blocking call is there";
POINTER(mlx5dv_devx_create_cmd_comp, no_async)
NOTHING(mlx5dv_devx_destroy_cmd_comp, no_async)
CODE(mlx5dv_devx_get_async_cmd_comp, no_async)
CODE(mlx5dv_devx_obj_query_async, no_async)

static const char no_mkey[] = "keys are those of registered memory: no indirect keys, no signatures";
CODE(_mlx5dv_mkey_check, no_mkey)
POINTER(mlx5dv_create_mkey, no_mkey)
CODE(mlx5dv_destroy_mkey, no_mkey)

static const char no_mcast[] = "there is no multicast";
CODE(ibv_attach_mcast, no_mcast)
CODE(ibv_detach_mcast, no_mcast)

static const char no_ece[] = "there are no enhanced connections to negotiate";
PROBE(ibv_query_ece, no_ece)
PROBE(ibv_set_ece, no_ece)

static const char not_modelled[] = "not modelled";
CODE(mlx5dv_dci_stream_id_reset, not_modelled)
CODE(mlx5dv_devx_cq_modify, not_modelled)
CODE(mlx5dv_devx_srq_modify, not_modelled)
CODE(mlx5dv_devx_srq_query, not_modelled)
CODE(mlx5dv_map_ah_to_qp, not_modelled)
CODE(mlx5dv_qp_cancel_posted_send_wrs, not_modelled)
CODE(mlx5dv_reserved_qpn_alloc, not_modelled)
CODE(mlx5dv_reserved_qpn_dealloc, not_modelled)
