/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols that the 2.0 and 1.x spellings of conflicting prototypes are bound to. */
#ifndef GDAKI_HOST_V2_H
#define GDAKI_HOST_V2_H

#include "host/object.h"

doca_error_t doca_verbs_qp_init_attr_set_pd_v2(doca_verbs_qp_init_attr_t *verbs_qp_init_attr, struct ibv_pd *pd);
enum doca_verbs_qp_send_dbr_mode doca_verbs_qp_init_attr_get_send_dbr_mode_v2(
                                                                              const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
bool doca_verbs_qp_init_attr_get_emulate_no_dbr_ext_v2(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
enum doca_verbs_qp_state doca_verbs_qp_attr_get_current_state_v2(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_ah_attr_create_v2(struct ibv_context *context, doca_verbs_ah_attr_t **verbs_ah);
doca_error_t doca_verbs_qp_create_v2(struct ibv_context *context, doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                     doca_verbs_qp_t **verbs_qp);
doca_error_t doca_verbs_qp_query_v2(doca_verbs_qp_t *verbs_qp, doca_verbs_qp_attr_t *verbs_qp_attr,
                                    doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
void *doca_verbs_qp_get_dbr_addr_v2(const doca_verbs_qp_t *verbs_qp);
void *doca_verbs_qp_get_uar_addr_v2(const doca_verbs_qp_t *verbs_qp);
uint32_t doca_verbs_qp_get_qpn_v2(const doca_verbs_qp_t *verbs_qp);
doca_error_t doca_verbs_cq_create_v2(struct ibv_context *context, doca_verbs_cq_attr_t *verbs_cq_attr,
                                     doca_verbs_cq_t **verbs_cq);
uint32_t doca_verbs_cq_get_cqn_v2(const doca_verbs_cq_t *verbs_cq);
doca_error_t doca_verbs_umem_create_v2(struct ibv_context *context, void *address, size_t size, uint32_t access_flags,
                                       int dmabuf_id, size_t dmabuf_offset, doca_verbs_umem_t **umem_obj);
doca_error_t doca_verbs_uar_create_v2(struct ibv_context *context, enum doca_verbs_uar_allocation_type allocation_type,
                                      doca_verbs_uar_t **uar_obj);
doca_error_t doca_gpu_verbs_export_qp_v1(doca_gpu_t *gpu_dev, doca_verbs_qp_t *qp,
                                         enum doca_gpu_dev_verbs_nic_handler nic_handler, void *gpu_qp_umem_dev_ptr,
                                         doca_verbs_cq_t *cq_sq, struct doca_gpu_verbs_qp **qp_out);
doca_error_t doca_gpu_verbs_cpu_proxy_progress_v1(struct doca_gpu_verbs_qp *qp_cpu);

#endif
