/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node IBVERBS_PRIVATE_34: what rdma-core's libibverbs and its providers share. There are no providers here, and
 * these functions exist because the loader wants every undefined symbol of a library that a program names, called or
 * not (Debian's binaries are bound at start). A provider that registers is thanked and never asked; everything
 * else is refused. The prototypes are in no packaged header: what is refused looks at no argument, so it has none.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "gdaki/softnic.h"

#define PUBLIC __attribute__((visibility("default")))

/* Called by constructors of libefa, libmlx4, ...: a no-op, or each of them would be reported as a failure. */
PUBLIC void verbs_register_driver_34(const void *ops);
void verbs_register_driver_34(const void *ops)
{
    (void)ops;
}

PUBLIC void __verbs_log(void *context, uint32_t level, const char *format, ...);
void __verbs_log(void *context, uint32_t level, const char *format, ...)
{
    (void)context, (void)level, (void)format; /* messages of providers, which do not run */
}

#define REFUSES(type, value, name)                                                                                     \
    PUBLIC type name(void);                                                                                            \
    type name(void)                                                                                                    \
    {                                                                                                                  \
        softnic_refuse(#name, "a provider of rdma-core cannot run on softnic's libibverbs");                           \
        return value;                                                                                                  \
    }
#define REFUSES_CODE(name)    REFUSES(int, EOPNOTSUPP, name)
#define REFUSES_POINTER(name) REFUSES(void *, NULL, name)

REFUSES(unsigned int, 0, __ioctl_final_num_attrs)
REFUSES_POINTER(_verbs_init_and_alloc_context)
REFUSES_POINTER(verbs_open_device)
REFUSES_CODE(execute_ioctl)
REFUSES(int, -1, ibv_read_ibdev_sysfs_file)
REFUSES_CODE(verbs_init_cq)
REFUSES_CODE(verbs_set_ops)
REFUSES_CODE(verbs_uninit_context)

REFUSES_CODE(ibv_cmd_advise_mr)
REFUSES_CODE(ibv_cmd_alloc_dm)
REFUSES_CODE(ibv_cmd_alloc_mw)
REFUSES_CODE(ibv_cmd_alloc_pd)
REFUSES_CODE(ibv_cmd_attach_mcast)
REFUSES_CODE(ibv_cmd_close_xrcd)
REFUSES_CODE(ibv_cmd_create_ah)
REFUSES_CODE(ibv_cmd_create_counters)
REFUSES_CODE(ibv_cmd_create_cq)
REFUSES_CODE(ibv_cmd_create_cq_ex)
REFUSES_CODE(ibv_cmd_create_flow)
REFUSES_CODE(ibv_cmd_create_flow_action_esp)
REFUSES_CODE(ibv_cmd_create_qp)
REFUSES_CODE(ibv_cmd_create_qp_ex)
REFUSES_CODE(ibv_cmd_create_qp_ex2)
REFUSES_CODE(ibv_cmd_create_rwq_ind_table)
REFUSES_CODE(ibv_cmd_create_srq)
REFUSES_CODE(ibv_cmd_create_srq_ex)
REFUSES_CODE(ibv_cmd_create_wq)
REFUSES_CODE(ibv_cmd_dealloc_mw)
REFUSES_CODE(ibv_cmd_dealloc_pd)
REFUSES_CODE(ibv_cmd_dereg_mr)
REFUSES_CODE(ibv_cmd_destroy_ah)
REFUSES_CODE(ibv_cmd_destroy_counters)
REFUSES_CODE(ibv_cmd_destroy_cq)
REFUSES_CODE(ibv_cmd_destroy_flow)
REFUSES_CODE(ibv_cmd_destroy_flow_action)
REFUSES_CODE(ibv_cmd_destroy_qp)
REFUSES_CODE(ibv_cmd_destroy_rwq_ind_table)
REFUSES_CODE(ibv_cmd_destroy_srq)
REFUSES_CODE(ibv_cmd_destroy_wq)
REFUSES_CODE(ibv_cmd_detach_mcast)
REFUSES_CODE(ibv_cmd_free_dm)
REFUSES_CODE(ibv_cmd_get_context)
REFUSES_CODE(ibv_cmd_modify_cq)
REFUSES_CODE(ibv_cmd_modify_flow_action_esp)
REFUSES_CODE(ibv_cmd_modify_qp)
REFUSES_CODE(ibv_cmd_modify_qp_ex)
REFUSES_CODE(ibv_cmd_modify_srq)
REFUSES_CODE(ibv_cmd_modify_wq)
REFUSES_CODE(ibv_cmd_open_qp)
REFUSES_CODE(ibv_cmd_open_xrcd)
REFUSES_CODE(ibv_cmd_poll_cq)
REFUSES_CODE(ibv_cmd_post_recv)
REFUSES_CODE(ibv_cmd_post_send)
REFUSES_CODE(ibv_cmd_post_srq_recv)
REFUSES_CODE(ibv_cmd_query_context)
REFUSES_CODE(ibv_cmd_query_device_any)
REFUSES_CODE(ibv_cmd_query_mr)
REFUSES_CODE(ibv_cmd_query_port)
REFUSES_CODE(ibv_cmd_query_qp)
REFUSES_CODE(ibv_cmd_query_srq)
REFUSES_CODE(ibv_cmd_read_counters)
REFUSES_CODE(ibv_cmd_reg_dm_mr)
REFUSES_CODE(ibv_cmd_reg_dmabuf_mr)
REFUSES_CODE(ibv_cmd_reg_mr)
REFUSES_CODE(ibv_cmd_req_notify_cq)
REFUSES_CODE(ibv_cmd_rereg_mr)
REFUSES_CODE(ibv_cmd_resize_cq)
