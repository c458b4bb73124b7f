/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of the device's command mailboxes, one array element a bit, with the names of the Programmer's Reference
 * Manual: sizeof(field) is its width and offsetof(structure, field) its first bit, which is what the DEVX_SET and
 * DEVX_GET macros of <infiniband/mlx5dv.h> work with. Only what the library uses is named; the rest is reserved.
 */
#ifndef DOCA_GPUNETIO_HOST_MLX5_IFC_H
#define DOCA_GPUNETIO_HOST_MLX5_IFC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MLX5_CMD_OP_QUERY_HCA_CAP = 0x100,
    MLX5_CMD_OP_CREATE_CQ = 0x400,
    MLX5_CMD_OP_QUERY_CQ = 0x402,
    MLX5_CMD_OP_CREATE_QP = 0x500,
    MLX5_CMD_OP_RST2INIT_QP = 0x502,
    MLX5_CMD_OP_INIT2RTR_QP = 0x503,
    MLX5_CMD_OP_RTR2RTS_QP = 0x504,
    MLX5_CMD_OP_RTS2RTS_QP = 0x505,
    MLX5_CMD_OP_2ERR_QP = 0x507,
    MLX5_CMD_OP_2RST_QP = 0x50a,
    MLX5_CMD_OP_QUERY_QP = 0x50b,
    MLX5_CMD_OP_INIT2INIT_QP = 0x50e,
    MLX5_CMD_OP_QUERY_ROCE_ADDRESS = 0x760,
    MLX5_CMD_OP_CREATE_RMP = 0x90c
};

struct mlx5_ifc_roce_addr_layout_bits {
    uint8_t reserved_at_0[0xd8];
    uint8_t roce_version[0x8];
    uint8_t reserved_at_e0[0x20];
};

struct mlx5_ifc_ads_bits {
    uint8_t reserved_at_0[0x10];
    uint8_t pkey_index[0x10];
    uint8_t reserved_at_20[0x8];
    uint8_t grh[0x1];
    uint8_t reserved_at_29[0x7];
    uint8_t rlid[0x10];
    uint8_t ack_timeout[0x5];
    uint8_t reserved_at_45[0x3];
    uint8_t src_addr_index[0x8];
    uint8_t reserved_at_50[0x4];
    uint8_t stat_rate[0x4];
    uint8_t hop_limit[0x8];
    uint8_t reserved_at_60[0x4];
    uint8_t tclass[0x8];
    uint8_t flow_label[0x14];
    uint8_t rgid_rip[0x80];
    uint8_t reserved_at_100[0xa];
    uint8_t dscp[0x6];
    uint8_t udp_sport[0x10];
    uint8_t reserved_at_120[0x4];
    uint8_t sl[0x4];
    uint8_t vhca_port_num[0x8];
    uint8_t rmac_47_32[0x10];
    uint8_t rmac_31_0[0x20];
};

struct mlx5_ifc_qpc_bits {
    uint8_t state[0x4];
    uint8_t reserved_at_4[0x4];
    uint8_t st[0x8];
    uint8_t reserved_at_10[0x3];
    uint8_t pm_state[0x2];
    uint8_t reserved_at_15[0x13];
    uint8_t pd[0x18];
    uint8_t mtu[0x3];
    uint8_t log_msg_max[0x5];
    uint8_t reserved_at_48[0x1];
    uint8_t log_rq_size[0x4];
    uint8_t log_rq_stride[0x3];
    uint8_t no_sq[0x1];
    uint8_t log_sq_size[0x4];
    uint8_t reserved_at_55[0x13];
    uint8_t uar_page[0x18];
    uint8_t send_dbr_mode[0x2];
    uint8_t reserved_at_82[0x6];
    uint8_t user_index[0x18];
    uint8_t reserved_at_a0[0x3];
    uint8_t log_page_size[0x5];
    uint8_t remote_qpn[0x18];
    struct mlx5_ifc_ads_bits primary_address_path;
    uint8_t reserved_at_220[0x160];
    uint8_t log_ack_req_freq[0x4];
    uint8_t reserved_at_384[0x4];
    uint8_t log_sra_max[0x3];
    uint8_t reserved_at_38b[0x2];
    uint8_t retry_count[0x3];
    uint8_t rnr_retry[0x3];
    uint8_t reserved_at_393[0x35];
    uint8_t next_send_psn[0x18];
    uint8_t reserved_at_3e0[0x8];
    uint8_t cqn_snd[0x18];
    uint8_t reserved_at_400[0x88];
    uint8_t log_rra_max[0x3];
    uint8_t reserved_at_48b[0x1];
    uint8_t atomic_mode[0x4];
    uint8_t rre[0x1];
    uint8_t rwe[0x1];
    uint8_t rae[0x1];
    uint8_t reserved_at_493[0xa];
    uint8_t cd_slave_receive[0x1];
    uint8_t cd_slave_send[0x1];
    uint8_t cd_master[0x1];
    uint8_t reserved_at_4a0[0x3];
    uint8_t min_rnr_nak[0x5];
    uint8_t next_rcv_psn[0x18];
    uint8_t reserved_at_4c0[0x28];
    uint8_t cqn_rcv[0x18];
    uint8_t dbr_addr[0x40];
    uint8_t reserved_at_540[0x25];
    uint8_t rq_type[0x3];
    uint8_t srqn_rmpn_xrqn[0x18];
    uint8_t reserved_at_580[0x103];
    uint8_t dbr_umem_valid[0x1];
    uint8_t reserved_at_684[0x9c];
    uint8_t dbr_umem_id[0x20];
};

struct mlx5_ifc_cqc_bits {
    uint8_t reserved_at_0[0x6];
    uint8_t dbr_umem_valid[0x1];
    uint8_t reserved_at_7[0x1];
    uint8_t cqe_sz[0x3];
    uint8_t cc[0x1];
    uint8_t reserved_at_c[0x2];
    uint8_t oi[0x1];
    uint8_t reserved_at_f[0x11];
    uint8_t dbr_umem_id[0x20];
    uint8_t reserved_at_40[0x14];
    uint8_t page_offset[0x6];
    uint8_t reserved_at_5a[0x9];
    uint8_t log_cq_size[0x5];
    uint8_t uar_page[0x18];
    uint8_t reserved_at_80[0x38];
    uint8_t c_eqn[0x8];
    uint8_t reserved_at_c0[0x3];
    uint8_t log_page_size[0x5];
    uint8_t reserved_at_c8[0xa0];
    uint8_t producer_counter[0x18];
    uint8_t reserved_at_180[0x40];
    uint8_t dbr_addr[0x40];
};

struct mlx5_ifc_wq_bits {
    uint8_t wq_type[0x4];
    uint8_t reserved_at_4[0x1];
    uint8_t end_padding_mode[0x2];
    uint8_t reserved_at_7[0x41];
    uint8_t pd[0x18];
    uint8_t reserved_at_60[0x20];
    uint8_t dbr_addr[0x40];
    uint8_t reserved_at_c0[0x4c];
    uint8_t log_wq_stride[0x4];
    uint8_t reserved_at_110[0xb];
    uint8_t log_wq_sz[0x5];
    uint8_t dbr_umem_valid[0x1];
    uint8_t wq_umem_valid[0x1];
    uint8_t reserved_at_122[0x1e];
    uint8_t dbr_umem_id[0x20];
    uint8_t wq_umem_id[0x20];
    uint8_t wq_umem_offset[0x40];
    uint8_t reserved_at_1c0[0x440];
};

struct mlx5_ifc_rmpc_bits {
    uint8_t reserved_at_0[0x8];
    uint8_t state[0x4];
    uint8_t reserved_at_c[0x14];
    uint8_t basic_cyclic_rcv_wqe[0x1];
    uint8_t reserved_at_21[0x15f];
    struct mlx5_ifc_wq_bits wq;
};

struct mlx5_ifc_cmd_hca_cap_bits {
    uint8_t reserved_at_0[0x20];
    uint8_t hca_cap_2[0x1];
    uint8_t reserved_at_21[0x67];
    uint8_t log_max_qp_sz[0x8];
    uint8_t reserved_at_90[0xda];
    uint8_t rts2rts_qp_dscp[0x1];
    uint8_t reserved_at_16b[0x5];
    uint8_t gid_table_size[0x10];
    uint8_t reserved_at_180[0x36];
    uint8_t port_type[0x2];
    uint8_t reserved_at_1b8[0x87];
    uint8_t rc[0x1];
    uint8_t reserved_at_240[0x50];
    uint8_t max_wqe_sz_sq[0x10];
    uint8_t reserved_at_2a0[0x10];
    uint8_t max_wqe_sz_rq[0x10];
    uint8_t reserved_at_2c0[0x7d40];
};

struct mlx5_ifc_cmd_hca_cap_2_bits {
    uint8_t reserved_at_0[0x2e1];
    uint8_t send_dbr_mode_no_dbr_ext[0x1];
    uint8_t reserved_at_2e2[0x7d1e];
};

struct mlx5_ifc_roce_cap_bits {
    uint8_t reserved_at_0[0xc0];
    uint8_t r_roce_max_src_udp_port[0x10];
    uint8_t r_roce_min_src_udp_port[0x10];
    uint8_t reserved_at_e0[0x10];
    uint8_t roce_address_table_size[0x10];
    uint8_t reserved_at_100[0x7f00];
};

union mlx5_ifc_hca_cap_union_bits {
    struct mlx5_ifc_cmd_hca_cap_bits cmd_hca_cap;
    struct mlx5_ifc_cmd_hca_cap_2_bits cmd_hca_cap_2;
    struct mlx5_ifc_roce_cap_bits roce_cap;
    uint8_t reserved_at_0[0x8000];
};

struct mlx5_ifc_query_hca_cap_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x40];
};

struct mlx5_ifc_query_hca_cap_out_bits {
    uint8_t status[0x8];
    uint8_t reserved_at_8[0x18];
    uint8_t syndrome[0x20];
    uint8_t reserved_at_40[0x40];
    union mlx5_ifc_hca_cap_union_bits capability;
};

struct mlx5_ifc_query_roce_address_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t roce_address_index[0x10];
    uint8_t reserved_at_50[0x30];
};

struct mlx5_ifc_query_roce_address_out_bits {
    uint8_t status[0x8];
    uint8_t reserved_at_8[0x18];
    uint8_t syndrome[0x20];
    uint8_t reserved_at_40[0x40];
    struct mlx5_ifc_roce_addr_layout_bits roce_address;
};

struct mlx5_ifc_create_cq_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x40];
    struct mlx5_ifc_cqc_bits cq_context;
    uint8_t cq_umem_offset[0x40];
    uint8_t cq_umem_id[0x20];
    uint8_t cq_umem_valid[0x1];
    uint8_t reserved_at_2e1[0x59f];
};

struct mlx5_ifc_create_cq_out_bits {
    uint8_t status[0x8];
    uint8_t reserved_at_8[0x18];
    uint8_t syndrome[0x20];
    uint8_t reserved_at_40[0x8];
    uint8_t cqn[0x18];
    uint8_t reserved_at_60[0x20];
};

struct mlx5_ifc_nop_out_bits {
    uint8_t status[0x8];
    uint8_t reserved_at_8[0x18];
    uint8_t syndrome[0x20];
    uint8_t reserved_at_40[0x40];
};

struct mlx5_ifc_create_qp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x80];
    struct mlx5_ifc_qpc_bits qpc;
    uint8_t wq_umem_offset[0x40];
    uint8_t wq_umem_id[0x20];
    uint8_t wq_umem_valid[0x1];
    uint8_t reserved_at_861[0x1f];
};

struct mlx5_ifc_create_qp_out_bits {
    uint8_t status[0x8];
    uint8_t reserved_at_8[0x18];
    uint8_t syndrome[0x20];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
};

struct mlx5_ifc_rst2init_qp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
    uint8_t opt_param_mask[0x20];
    uint8_t reserved_at_a0[0x20];
    struct mlx5_ifc_qpc_bits qpc;
    uint8_t reserved_at_800[0x80];
};

struct mlx5_ifc_init2init_qp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
    uint8_t opt_param_mask[0x20];
    uint8_t reserved_at_a0[0x20];
    struct mlx5_ifc_qpc_bits qpc;
    uint8_t reserved_at_800[0x680];
};

struct mlx5_ifc_init2rtr_qp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
    uint8_t opt_param_mask[0x20];
    uint8_t reserved_at_a0[0x20];
    struct mlx5_ifc_qpc_bits qpc;
    uint8_t reserved_at_800[0x80];
};

struct mlx5_ifc_rtr2rts_qp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
    uint8_t opt_param_mask[0x20];
    uint8_t reserved_at_a0[0x20];
    struct mlx5_ifc_qpc_bits qpc;
    uint8_t reserved_at_800[0x80];
};

struct mlx5_ifc_rts2rts_qp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
    uint8_t opt_param_mask[0x20];
    uint8_t reserved_at_a0[0x20];
    struct mlx5_ifc_qpc_bits qpc;
    uint8_t reserved_at_800[0x680];
};

struct mlx5_ifc_qp_2err_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
};

struct mlx5_ifc_qp_2rst_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
};

struct mlx5_ifc_query_qp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0x8];
    uint8_t qpn[0x18];
    uint8_t reserved_at_60[0x20];
};

struct mlx5_ifc_query_qp_out_bits {
    uint8_t status[0x8];
    uint8_t reserved_at_8[0x18];
    uint8_t syndrome[0x20];
    uint8_t reserved_at_40[0x80];
    struct mlx5_ifc_qpc_bits qpc;
    uint8_t reserved_at_800[0x80];
};

struct mlx5_ifc_create_rmp_in_bits {
    uint8_t opcode[0x10];
    uint8_t uid[0x10];
    uint8_t reserved_at_20[0x10];
    uint8_t op_mod[0x10];
    uint8_t reserved_at_40[0xc0];
    struct mlx5_ifc_rmpc_bits ctx;
};

struct mlx5_ifc_create_rmp_out_bits {
    uint8_t status[0x8];
    uint8_t reserved_at_8[0x18];
    uint8_t syndrome[0x20];
    uint8_t reserved_at_40[0x8];
    uint8_t rmpn[0x18];
    uint8_t reserved_at_60[0x20];
};

#ifdef __cplusplus
}
#endif
#endif
