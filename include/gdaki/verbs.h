/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs for programs that must run without libibverbs. Include this instead of <infiniband/verbs.h>: the calls below then
 * go to the NIC that GDAKI_NIC chooses (rdma-core's libraries, opened at run time, or softnic), through the host library,
 * and the program links to neither. Prototypes and results are rdma-core's. A function that is not named here keeps its
 * meaning, and needs libibverbs.
 */
#ifndef GDAKI_VERBS_H
#define GDAKI_VERBS_H

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL with errno ENOSYS when no NIC backend is usable; gdaki_nic_describe in <gdaki/info.h> says why. */
struct ibv_device **gdaki_ibv_get_device_list(int *num_devices);
void gdaki_ibv_free_device_list(struct ibv_device **list);
const char *gdaki_ibv_get_device_name(struct ibv_device *device);
struct ibv_context *gdaki_ibv_open_device(struct ibv_device *device);
int gdaki_ibv_close_device(struct ibv_context *context);
int gdaki_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr);
int gdaki_ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr);
int gdaki_ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);
struct ibv_pd *gdaki_ibv_alloc_pd(struct ibv_context *context);
int gdaki_ibv_dealloc_pd(struct ibv_pd *pd);
struct ibv_mr *gdaki_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *gdaki_ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access);
struct ibv_mr *gdaki_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access);
int gdaki_ibv_dereg_mr(struct ibv_mr *mr);
struct ibv_ah *gdaki_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int gdaki_ibv_destroy_ah(struct ibv_ah *ah);
struct ibv_cq *gdaki_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                                   int comp_vector);
int gdaki_ibv_destroy_cq(struct ibv_cq *cq);
struct ibv_srq *gdaki_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int gdaki_ibv_destroy_srq(struct ibv_srq *srq);
struct ibv_qp *gdaki_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
int gdaki_ibv_destroy_qp(struct ibv_qp *qp);
int gdaki_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
int gdaki_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr);

#ifdef __cplusplus
}
#endif

#ifndef GDAKI_VERBS_NO_RENAME
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#define ibv_get_device_list  gdaki_ibv_get_device_list
#define ibv_free_device_list gdaki_ibv_free_device_list
#define ibv_get_device_name  gdaki_ibv_get_device_name
#define ibv_open_device      gdaki_ibv_open_device
#define ibv_close_device     gdaki_ibv_close_device
#define ibv_query_device     gdaki_ibv_query_device
#define ibv_query_port       gdaki_ibv_query_port
#define ibv_query_gid        gdaki_ibv_query_gid
#define ibv_alloc_pd         gdaki_ibv_alloc_pd
#define ibv_dealloc_pd       gdaki_ibv_dealloc_pd
#define ibv_reg_mr           gdaki_ibv_reg_mr
#define ibv_reg_mr_iova2     gdaki_ibv_reg_mr_iova2
#define ibv_reg_dmabuf_mr    gdaki_ibv_reg_dmabuf_mr
#define ibv_dereg_mr         gdaki_ibv_dereg_mr
#define ibv_create_ah        gdaki_ibv_create_ah
#define ibv_destroy_ah       gdaki_ibv_destroy_ah
#define ibv_create_cq        gdaki_ibv_create_cq
#define ibv_destroy_cq       gdaki_ibv_destroy_cq
#define ibv_create_srq       gdaki_ibv_create_srq
#define ibv_destroy_srq      gdaki_ibv_destroy_srq
#define ibv_create_qp        gdaki_ibv_create_qp
#define ibv_destroy_qp       gdaki_ibv_destroy_qp
#define ibv_modify_qp        gdaki_ibv_modify_qp
#define ibv_query_qp         gdaki_ibv_query_qp
#endif

#endif
