/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the kernel's layout of path records, address vectors and queue pair attributes to that of verbs. For librdmacm and
 * its like, which get them from /dev/infiniband/rdma_cm; the prototypes are in no packaged header any more.
 */
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "softnic/verbs/marshal.h"

void softnic_ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, const struct ib_uverbs_ah_attr *from)
{
    memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof(to->grh.dgid));
    to->grh.flow_label = from->grh.flow_label;
    to->grh.sgid_index = from->grh.sgid_index;
    to->grh.hop_limit = from->grh.hop_limit;
    to->grh.traffic_class = from->grh.traffic_class;
    to->dlid = from->dlid;
    to->sl = from->sl;
    to->src_path_bits = from->src_path_bits;
    to->static_rate = from->static_rate;
    to->is_global = from->is_global;
    to->port_num = from->port_num;
}

/* qp_state stays what the caller has set: the kernel's is where the queue pair was. */
void softnic_ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, const struct ib_uverbs_qp_attr *from)
{
    to->cur_qp_state = (enum ibv_qp_state)from->cur_qp_state;
    to->path_mtu = (enum ibv_mtu)from->path_mtu;
    to->path_mig_state = (enum ibv_mig_state)from->path_mig_state;
    to->qkey = from->qkey;
    to->rq_psn = from->rq_psn;
    to->sq_psn = from->sq_psn;
    to->dest_qp_num = from->dest_qp_num;
    to->qp_access_flags = from->qp_access_flags;
    to->cap = (struct ibv_qp_cap){.max_send_wr = from->max_send_wr,
                                  .max_recv_wr = from->max_recv_wr,
                                  .max_send_sge = from->max_send_sge,
                                  .max_recv_sge = from->max_recv_sge,
                                  .max_inline_data = from->max_inline_data};
    softnic_ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
    softnic_ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
    to->pkey_index = from->pkey_index;
    to->alt_pkey_index = from->alt_pkey_index;
    to->en_sqd_async_notify = from->en_sqd_async_notify;
    to->sq_draining = from->sq_draining;
    to->max_rd_atomic = from->max_rd_atomic;
    to->max_dest_rd_atomic = from->max_dest_rd_atomic;
    to->min_rnr_timer = from->min_rnr_timer;
    to->port_num = from->port_num;
    to->timeout = from->timeout;
    to->retry_cnt = from->retry_cnt;
    to->rnr_retry = from->rnr_retry;
    to->alt_port_num = from->alt_port_num;
    to->alt_timeout = from->alt_timeout;
}

/* The two path records have the same fields in another order; 16- and 32-bit ones are big-endian in both. */
#define COPY_PATH(to, from)                                                                                            \
    do {                                                                                                               \
        memcpy(&(to)->dgid, &(from)->dgid, 16);                                                                        \
        memcpy(&(to)->sgid, &(from)->sgid, 16);                                                                        \
        (to)->dlid = (from)->dlid;                                                                                     \
        (to)->slid = (from)->slid;                                                                                     \
        (to)->raw_traffic = (int)(from)->raw_traffic;                                                                  \
        (to)->flow_label = (from)->flow_label;                                                                         \
        (to)->reversible = (from)->reversible;                                                                         \
        (to)->mtu = (from)->mtu;                                                                                       \
        (to)->pkey = (from)->pkey;                                                                                     \
        (to)->hop_limit = (from)->hop_limit;                                                                           \
        (to)->traffic_class = (from)->traffic_class;                                                                   \
        (to)->numb_path = (from)->numb_path;                                                                           \
        (to)->sl = (from)->sl;                                                                                         \
        (to)->mtu_selector = (from)->mtu_selector;                                                                     \
        (to)->rate_selector = (from)->rate_selector;                                                                   \
        (to)->rate = (from)->rate;                                                                                     \
        (to)->packet_life_time_selector = (from)->packet_life_time_selector;                                           \
        (to)->packet_life_time = (from)->packet_life_time;                                                             \
        (to)->preference = (from)->preference;                                                                         \
    } while (0)

void softnic_ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, const struct ib_user_path_rec *from)
{
    COPY_PATH(to, from);
}

void softnic_ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, const struct ibv_sa_path_rec *from)
{
    COPY_PATH(to, from);
}
