/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op tables that the inline functions of <infiniband/verbs.h> jump through. Only ops that can start something are
 * filled: those that need an object which no refused call could have made stay NULL, and the header answers EOPNOTSUPP.
 */
#include <errno.h>

#include "softnic/data/ex.h"
#include "softnic/data/mw.h"
#include "softnic/data/poll.h"
#include "softnic/data/post.h"
#include "softnic/dv/parent.h"
#include "softnic/verbs/context.h"
#include "softnic/verbs/log.h"
#include "softnic/verbs/query.h"

#define UNUSED __attribute__((unused))

#define REFUSES_POINTER(type, name, ...)                                                                               \
    static type *refuse_##name(__VA_ARGS__)                                                                            \
    {                                                                                                                  \
        sv_refuse(EOPNOTSUPP, "ibv_" #name " is not modelled");                                                        \
        return NULL;                                                                                                   \
    }

#define REFUSES(name, ...)                                                                                             \
    static int refuse_##name(__VA_ARGS__)                                                                              \
    {                                                                                                                  \
        return sv_refuse(EOPNOTSUPP, "ibv_" #name " is not modelled");                                                 \
    }

REFUSES(advise_mr, struct ibv_pd *pd UNUSED, enum ibv_advise_mr_advice advice UNUSED, uint32_t flags UNUSED,
        struct ibv_sge *sg_list UNUSED, uint32_t num_sges UNUSED)
REFUSES_POINTER(struct ibv_mr, alloc_null_mr, struct ibv_pd *pd UNUSED)
REFUSES_POINTER(struct ibv_counters, create_counters, struct ibv_context *c UNUSED,
                struct ibv_counters_init_attr *a UNUSED)
REFUSES_POINTER(struct ibv_dm, alloc_dm, struct ibv_context *c UNUSED, struct ibv_alloc_dm_attr *a UNUSED)
REFUSES_POINTER(struct ibv_flow_action, create_flow_action_esp, struct ibv_context *c UNUSED,
                struct ibv_flow_action_esp_attr *a UNUSED)
REFUSES_POINTER(struct ibv_rwq_ind_table, create_rwq_ind_table, struct ibv_context *c UNUSED,
                struct ibv_rwq_ind_table_init_attr *a UNUSED)
REFUSES_POINTER(struct ibv_wq, create_wq, struct ibv_context *c UNUSED, struct ibv_wq_init_attr *a UNUSED)
REFUSES_POINTER(struct ibv_qp, open_qp, struct ibv_context *c UNUSED, struct ibv_qp_open_attr *a UNUSED)
REFUSES_POINTER(struct ibv_srq, create_srq_ex, struct ibv_context *c UNUSED, struct ibv_srq_init_attr_ex *a UNUSED)
REFUSES_POINTER(struct ibv_xrcd, open_xrcd, struct ibv_context *c UNUSED, struct ibv_xrcd_init_attr *a UNUSED)
REFUSES_POINTER(struct ibv_flow, create_flow, struct ibv_qp *qp UNUSED, struct ibv_flow_attr *a UNUSED)

void sv_ops_fill(struct sv_context *ctx)
{
    struct ibv_context_ops *ops = &ctx->verbs.context.ops;
    struct verbs_context *v = &ctx->verbs;
    ops->alloc_mw = sv_alloc_mw;
    ops->bind_mw = sv_bind_mw;
    ops->dealloc_mw = sv_dealloc_mw;
    ops->poll_cq = sv_poll_cq;
    ops->req_notify_cq = sv_req_notify_cq;
    ops->post_srq_recv = sv_post_srq_recv;
    ops->post_send = sv_post_send;
    ops->post_recv = sv_post_recv;
    v->query_port = sv_query_port;
    v->query_device_ex = sv_query_device_ex;
    v->advise_mr = refuse_advise_mr;
    v->alloc_null_mr = refuse_alloc_null_mr;
    v->create_counters = refuse_create_counters;
    v->alloc_dm = refuse_alloc_dm;
    v->create_flow_action_esp = refuse_create_flow_action_esp;
    v->alloc_parent_domain = sv_alloc_parent_domain;
    v->alloc_td = sv_alloc_td;
    v->dealloc_td = sv_dealloc_td;
    v->create_rwq_ind_table = refuse_create_rwq_ind_table;
    v->create_wq = refuse_create_wq;
    v->query_rt_values = sv_query_rt_values;
    v->create_cq_ex = sv_create_cq_ex;
    v->open_qp = refuse_open_qp;
    v->create_qp_ex = sv_create_qp_ex;
    v->create_srq_ex = refuse_create_srq_ex; /* of the basic type the header makes an ibv_create_srq */
    v->get_srq_num = sv_get_srq_num;
    v->open_xrcd = refuse_open_xrcd;
    v->ibv_create_flow = refuse_create_flow;
    v->sz = sizeof(*v);
    v->context.abi_compat = (void *)UINTPTR_MAX; /* "extended": this context sits in a struct verbs_context */
}
