/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DOCA SDK's functions, by loader unit. Objects of the SDK are `void *`; enumerations pass through unchanged, since
 * theirs are ours. X(library, flag, return type, function, parameters): library is the file that must have the symbol;
 * flag OPTIONAL may be missing, UNUSED must be there (an SDK without it is not the one we know) but is never called.
 */
#ifndef GDAKI_HOST_SDK_TABLE_H
#define GDAKI_HOST_SDK_TABLE_H

/* clang-format off */
#define GDAKI_SDK_GPU(X) \
    X(GPUNETIO, USED, doca_error_t, doca_gpu_create, (const char *gpu_bus_id, void **gpu_dev)) \
    X(GPUNETIO, USED, doca_error_t, doca_gpu_destroy, (void *gpu_dev)) \
    X(GPUNETIO, USED, doca_error_t, doca_gpu_mem_alloc, (void *gpu_dev, size_t size, size_t alignment, enum doca_gpu_mem_type mtype, void **memptr_gpu, void **memptr_cpu)) \
    X(GPUNETIO, USED, doca_error_t, doca_gpu_mem_free, (void *gpu, void *memptr_gpu)) \
    X(GPUNETIO, USED, doca_error_t, doca_gpu_dmabuf_fd, (void *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd))

#define GDAKI_SDK_DEV(X) \
    X(VERBS, USED, doca_error_t, doca_rdma_bridge_open_dev_from_pd, (struct ibv_pd *pd, void **dev)) \
    X(VERBS, USED, doca_error_t, doca_dev_close, (void *dev))

#define GDAKI_SDK_UMEM(X) \
    X(COMMON, USED, doca_error_t, doca_umem_create, (void *dev, void *address, size_t size, uint32_t access_flags, void **umem)) \
    X(COMMON, USED, doca_error_t, doca_umem_gpu_create, (void *gpu, void *dev, void *address, size_t size, uint32_t access_flags, void **umem)) \
    X(COMMON, USED, doca_error_t, doca_umem_destroy, (void *umem)) \
    X(COMMON, USED, doca_error_t, doca_umem_get_id, (void *umem, uint32_t *umem_id)) \
    X(COMMON, USED, doca_error_t, doca_umem_get_size, (void *umem, size_t *umem_size)) \
    X(COMMON, USED, doca_error_t, doca_umem_get_address, (void *umem, void **umem_address))

#define GDAKI_SDK_UAR(X) \
    X(COMMON, USED, doca_error_t, doca_uar_create, (void *dev, enum doca_verbs_uar_allocation_type allocation_type, void **uar)) \
    X(COMMON, USED, doca_error_t, doca_uar_destroy, (void *uar)) \
    X(COMMON, USED, doca_error_t, doca_uar_id_get, (void *uar, uint32_t *id)) \
    X(COMMON, USED, doca_error_t, doca_uar_reg_addr_get, (void *uar, void **reg))

#define GDAKI_SDK_CQ(X) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_destroy, (void *cq_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_create, (void **verbs_cq_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_set_cq_size, (void *cq_attr, uint32_t cq_size)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_set_cq_context, (void *cq_attr, void *cq_context)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_set_external_datapath_en, (void *cq_attr, uint8_t external_datapath_en)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_set_external_umem, (void *cq_attr, void *external_umem, uint64_t external_umem_offset)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_set_external_uar, (void *cq_attr, void *external_uar)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_set_cq_overrun, (void *cq_attr, enum doca_verbs_cq_overrun overrun)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_attr_set_cq_collapsed, (void *cq_attr, uint8_t cc)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_create, (void *verbs_ctx, void *cq_attr, void **verbs_cq)) \
    X(VERBS, USED, doca_error_t, doca_verbs_cq_destroy, (void *verbs_cq)) \
    X(VERBS, USED, void, doca_verbs_cq_get_wq, (void *verbs_cq, void **cq_buf, uint32_t *cq_num_entries, uint8_t *cq_entry_size)) \
    X(VERBS, USED, void, doca_verbs_cq_get_dbr_addr, (void *verbs_cq, uint64_t **uar_db_reg, uint32_t **ci_dbr, uint32_t **arm_dbr)) \
    X(VERBS, USED, uint32_t, doca_verbs_cq_get_cqn, (const void *verbs_cq)) \
    X(COMMON, USED, doca_error_t, doca_rdma_bridge_get_dev_pd, (void *dev, struct ibv_pd **pd)) \
    X(VERBS, USED, doca_error_t, doca_verbs_bridge_verbs_context_import, (struct ibv_context *ibv_ctx, uint32_t flags, void **verbs_context))

#define GDAKI_SDK_QP(X) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_create, (void **verbs_qp_init_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_destroy, (void *verbs_qp_init_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_pd, (void *verbs_qp_init_attr, void *verbs_pd)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_send_cq, (void *verbs_qp_init_attr, void *send_cq)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_receive_cq, (void *verbs_qp_init_attr, void *receive_cq)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_sq_sig_all, (void *verbs_qp_init_attr, int sq_sig_all)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_sq_wr, (void *verbs_qp_init_attr, uint32_t sq_wr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_rq_wr, (void *verbs_qp_init_attr, uint32_t rq_wr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_send_max_sges, (void *verbs_qp_init_attr, uint32_t send_max_sges)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_receive_max_sges, (void *verbs_qp_init_attr, uint32_t receive_max_sges)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_max_inline_data, (void *verbs_qp_init_attr, uint32_t max_inline_data)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_user_index, (void *verbs_qp_init_attr, uint32_t user_index)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_qp_type, (void *verbs_qp_init_attr, uint32_t qp_type)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_external_umem, (void *verbs_qp_init_attr, void *external_umem, uint64_t external_umem_offset)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_external_dbr_umem, (void *verbs_qp_init_attr, void *external_umem, uint64_t external_umem_offset)) \
    X(VERBS, UNUSED, doca_error_t, doca_verbs_qp_init_attr_get_external_umem, (const void *verbs_qp_init_attr, void **external_umem, uint64_t *external_umem_offset)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_external_datapath_en, (void *verbs_qp_init_attr, uint8_t external_datapath_en)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_external_uar, (void *verbs_qp_init_attr, void *external_uar)) \
    X(VERBS, UNUSED, doca_error_t, doca_verbs_qp_init_attr_get_external_uar, (const void *verbs_qp_init_attr, void **external_uar)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_qp_context, (void *verbs_qp_init_attr, void *qp_context)) \
    X(VERBS, UNUSED, doca_error_t, doca_verbs_qp_init_attr_set_srq, (void *verbs_qp_init_attr, struct doca_verbs_srq *srq)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_core_direct_master, (void *verbs_qp_init_attr, uint8_t core_direct_master)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_init_attr_set_send_dbr_mode, (void *verbs_qp_init_attr, enum doca_verbs_qp_send_dbr_mode send_dbr_mode)) \
    X(VERBS, USED, enum doca_verbs_qp_send_dbr_mode, doca_verbs_qp_init_attr_get_send_dbr_mode, (void *verbs_qp_init_attr)) \
    X(VERBS, OPTIONAL, doca_error_t, doca_verbs_qp_init_attr_set_ordering_semantic, (void *verbs_qp_init_attr, enum doca_verbs_qp_ordering_semantic ordering_semantic)) \
    X(VERBS, OPTIONAL, enum doca_verbs_qp_ordering_semantic, doca_verbs_qp_init_attr_get_ordering_semantic, (void *verbs_qp_init_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_create, (void **verbs_qp_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_destroy, (void *verbs_qp_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_next_state, (void *verbs_qp_attr, enum doca_verbs_qp_state next_state)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_current_state, (void *verbs_qp_attr, enum doca_verbs_qp_state current_state)) \
    X(VERBS, USED, enum doca_verbs_qp_state, doca_verbs_qp_attr_get_current_state, (void *verbs_qp_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_path_mtu, (void *verbs_qp_attr, enum doca_verbs_mtu_size path_mtu)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_rq_psn, (void *verbs_qp_attr, uint32_t rq_psn)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_sq_psn, (void *verbs_qp_attr, uint32_t sq_psn)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_dest_qp_num, (void *verbs_qp_attr, uint32_t dest_qp_num)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_allow_remote_write, (void *verbs_qp_attr, int allow_remote_write)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_allow_remote_read, (void *verbs_qp_attr, int allow_remote_read)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_atomic_mode, (void *verbs_qp_attr, enum doca_verbs_qp_atomic_mode allow_atomic_type)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_ah_attr, (void *verbs_qp_attr, void *ah_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_pkey_index, (void *verbs_qp_attr, uint16_t pkey_index)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_port_num, (void *verbs_qp_attr, uint16_t port_num)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_ack_timeout, (void *verbs_qp_attr, uint16_t ack_timeout)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_retry_cnt, (void *verbs_qp_attr, uint16_t retry_cnt)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_rnr_retry, (void *verbs_qp_attr, uint16_t rnr_retry)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_min_rnr_timer, (void *verbs_qp_attr, uint16_t min_rnr_timer)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_max_rd_atomic, (void *verbs_qp_attr, uint8_t max_rd_atomic)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_attr_set_max_dest_rd_atomic, (void *verbs_qp_attr, uint8_t max_dest_rd_atomic)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_create, (void *verbs_context, void **verbs_ah_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_destroy, (void *verbs_ah_attr)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_gid, (void *verbs_ah_attr, struct doca_verbs_gid gid)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_addr_type, (void *verbs_ah_attr, enum doca_verbs_addr_type addr_type)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_dlid, (void *verbs_ah_attr, uint32_t dlid)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_sl, (void *verbs_ah_attr, uint8_t sl)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_sgid_index, (void *verbs_ah_attr, uint8_t sgid_index)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_static_rate, (void *verbs_ah_attr, uint8_t static_rate)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_hop_limit, (void *verbs_ah_attr, uint8_t hop_limit)) \
    X(VERBS, USED, doca_error_t, doca_verbs_ah_attr_set_traffic_class, (void *verbs_ah_attr, uint8_t traffic_class)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_create, (void *verbs_context, void *verbs_qp_init_attr, void **verbs_qp)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_destroy, (void *verbs_qp)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_modify, (void *verbs_qp, void *qp_attr, int attr_mask)) \
    X(VERBS, USED, doca_error_t, doca_verbs_qp_query, (void *verbs_qp, void *qp_attr, void *verbs_qp_init_attr, int *attr_mask)) \
    X(VERBS, USED, void, doca_verbs_qp_get_wq, (const void *verbs_qp, void **sq_buf, uint32_t *sq_num_entries, void **rq_buf, uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes)) \
    X(VERBS, UNUSED, void *, doca_verbs_qp_init_attr_get_qp_context, (const void *verbs_qp_init_attr)) \
    X(VERBS, USED, void *, doca_verbs_qp_get_dbr_addr, (const void *verbs_qp)) \
    X(VERBS, USED, void *, doca_verbs_qp_get_uar_addr, (const void *verbs_qp)) \
    X(VERBS, USED, uint32_t, doca_verbs_qp_get_qpn, (const void *verbs_qp)) \
    X(COMMON, USED, doca_error_t, doca_rdma_bridge_get_dev_pd, (void *dev, struct ibv_pd **pd)) \
    X(VERBS, USED, doca_error_t, doca_verbs_bridge_verbs_pd_import, (struct ibv_pd *pd, void **verbs_pd)) \
    X(VERBS, USED, doca_error_t, doca_verbs_bridge_verbs_context_import, (struct ibv_context *ibv_ctx, uint32_t flags, void **verbs_context))

/* clang-format on */

#endif
