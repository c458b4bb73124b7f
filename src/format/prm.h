/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DEVX command mailboxes: opcodes, sizes and bit fields, with the names of the Programmer's Reference Manual (PRM).
 *
 * Mailboxes are byte arrays; a field is a (structure, name, first bit, width) row of the tables below. Bits are
 * numbered from the most significant bit of byte 0; values are big-endian. Each row yields, for structure S and field
 * F,
 *
 *     prm_get_S__F(const void *s)          value in host order
 *     prm_set_S__F(void *s, uint64_t v)    v is cut to the field's width
 *     PRM_S__F__BIT, PRM_S__F__WIDTH       constants
 *
 * where `s` points to the first byte of that structure (PRM_AT finds nested ones). No field crosses a 32-bit word,
 * except 64-bit ones, which start on a word: asserted below for every row.
 */
#ifndef FORMAT_PRM_H
#define FORMAT_PRM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* PRM 3.x, "Command Interface": command opcodes. */
enum prm_opcode {
    PRM_OP_QUERY_HCA_CAP = 0x100,
    PRM_OP_CREATE_CQ = 0x400,
    PRM_OP_DESTROY_CQ = 0x401,
    PRM_OP_QUERY_CQ = 0x402,
    PRM_OP_CREATE_QP = 0x500,
    PRM_OP_DESTROY_QP = 0x501,
    PRM_OP_RST2INIT_QP = 0x502,
    PRM_OP_INIT2RTR_QP = 0x503,
    PRM_OP_RTR2RTS_QP = 0x504,
    PRM_OP_RTS2RTS_QP = 0x505,
    PRM_OP_SQERR2RTS_QP = 0x506,
    PRM_OP_2ERR_QP = 0x507,
    PRM_OP_2RST_QP = 0x50a,
    PRM_OP_QUERY_QP = 0x50b,
    PRM_OP_INIT2INIT_QP = 0x50e,
    PRM_OP_QUERY_ROCE_ADDRESS = 0x760,
    PRM_OP_CREATE_RMP = 0x90c,
    PRM_OP_DESTROY_RMP = 0x90e,
};

/* Command output status (first byte of every output mailbox). */
enum prm_status {
    PRM_STATUS_OK = 0x00,
    PRM_STATUS_INTERNAL_ERR = 0x01,
    PRM_STATUS_BAD_OP = 0x02,
    PRM_STATUS_BAD_PARAM = 0x03,
    PRM_STATUS_BAD_SYS_STATE = 0x04,
    PRM_STATUS_BAD_RES = 0x05,
    PRM_STATUS_RES_BUSY = 0x06,
    PRM_STATUS_EXCEED_LIM = 0x08,
    PRM_STATUS_BAD_RES_STATE = 0x09,
    PRM_STATUS_BAD_INDEX = 0x0a,
    PRM_STATUS_NO_RESOURCES = 0x0f,
    PRM_STATUS_BAD_QP_STATE = 0x10,
    PRM_STATUS_BAD_INPUT_LEN = 0x50,
    PRM_STATUS_BAD_OUTPUT_LEN = 0x51,
};

enum prm_qp_state {
    PRM_QP_RST = 0,
    PRM_QP_INIT = 1,
    PRM_QP_RTR = 2,
    PRM_QP_RTS = 3,
    PRM_QP_SQER = 4,
    PRM_QP_SQD = 5,
    PRM_QP_ERR = 6,
};

enum prm_qp_service { PRM_QP_ST_RC = 0, PRM_QP_ST_UC = 1, PRM_QP_ST_UD = 2, PRM_QP_ST_DCI = 5 };
enum prm_pm_state { PRM_PM_MIGRATED = 3 };
enum prm_rq_type { PRM_RQ_TYPE_REGULAR = 0, PRM_RQ_TYPE_SRQ = 1, PRM_RQ_TYPE_ZERO = 3 };
enum prm_cqe_sz { PRM_CQE_SZ_64 = 0, PRM_CQE_SZ_128 = 1 };
enum prm_port_type { PRM_PORT_TYPE_IB = 0, PRM_PORT_TYPE_ETH = 1 };
enum prm_roce_version { PRM_ROCE_V1 = 0, PRM_ROCE_V1_5 = 1, PRM_ROCE_V2 = 2 };
enum prm_atomic_mode {
    PRM_ATOMIC_MODE_NONE = 0,
    PRM_ATOMIC_MODE_IB = 1,
    PRM_ATOMIC_MODE_ONLY_8B = 2,
    PRM_ATOMIC_MODE_UP_TO_8B = 3
};
enum prm_rmp_state { PRM_RMP_STATE_READY = 1 };
enum prm_wq_type { PRM_WQ_TYPE_LINKED_LIST = 0, PRM_WQ_TYPE_CYCLIC = 1 };

/* op_mod of QUERY_HCA_CAP: page << 1 | (1: current values, 0: maxima). */
enum prm_cap_page {
    PRM_CAP_GENERAL = 0x00,
    PRM_CAP_ATOMIC = 0x03,
    PRM_CAP_ROCE = 0x04,
    PRM_CAP_GENERAL_2 = 0x20,
    PRM_CAP_LAST = 0x3f,
};

/* Atomic capabilities: operations, and operand sizes as a set of powers of two (bytes). */
enum prm_atomic_operation {
    PRM_ATOMIC_CMP_SWAP = 1u << 0,
    PRM_ATOMIC_FETCH_ADD = 1u << 1,
    PRM_ATOMIC_MASKED_CMP_SWAP = 1u << 2,
    PRM_ATOMIC_MASKED_FETCH_ADD = 1u << 3,
};
enum { PRM_ATOMIC_SIZE_4 = 1u << 2, PRM_ATOMIC_SIZE_8 = 1u << 3 };
enum prm_atomic_endianness { PRM_ATOMIC_BIG_ENDIAN = 0, PRM_ATOMIC_HOST_ENDIAN = 1 };

/* opt_param_mask bits of the QP state commands. */
enum prm_opt_param {
    PRM_OPT_RRE = 1u << 1,
    PRM_OPT_RAE = 1u << 2,
    PRM_OPT_RWE = 1u << 3,
    PRM_OPT_PKEY_INDEX = 1u << 4,
    PRM_OPT_Q_KEY = 1u << 5,
    PRM_OPT_MIN_RNR_NAK = 1u << 6,
    PRM_OPT_PRI_PORT = 1u << 16,
    PRM_OPT_DSCP = 1u << 17,
    PRM_OPT_SGID_INDEX = 1u << 23,
};

/* Mailbox and structure sizes in bytes: X(structure, size). */
#define PRM_STRUCTS(X)                                                                                                 \
    X(cmd_in, 16)                                                                                                      \
    X(cmd_out, 16)                                                                                                     \
    X(query_hca_cap_in, 16)                                                                                            \
    X(query_hca_cap_out, 4112)                                                                                         \
    X(cmd_hca_cap, 4096)                                                                                               \
    X(cmd_hca_cap_2, 4096)                                                                                             \
    X(roce_cap, 4096)                                                                                                  \
    X(atomic_caps, 4096)                                                                                               \
    X(query_roce_address_in, 16)                                                                                       \
    X(query_roce_address_out, 48)                                                                                      \
    X(roce_addr_layout, 32)                                                                                            \
    X(create_cq_in, 272)                                                                                               \
    X(create_cq_out, 16)                                                                                               \
    X(query_cq_in, 16)                                                                                                 \
    X(query_cq_out, 80)                                                                                                \
    X(create_qp_in, 272)                                                                                               \
    X(create_qp_out, 16)                                                                                               \
    X(qp_state_in, 272)                                                                                                \
    X(qp_state_long_in, 464)                                                                                           \
    X(qp_2any_in, 16)                                                                                                  \
    X(query_qp_in, 16)                                                                                                 \
    X(query_qp_out, 272)                                                                                               \
    X(create_rmp_in, 272)                                                                                              \
    X(create_rmp_out, 16)                                                                                              \
    X(cqc, 64)                                                                                                         \
    X(qpc, 232)                                                                                                        \
    X(ads, 44)                                                                                                         \
    X(rmpc, 240)                                                                                                       \
    X(wq, 192)

/* Nested structures: X(outer, area, byte offset, bytes). `qp_state_in` stands for RST2INIT .. RTS2RTS, whose layout is
 * one. */
#define PRM_AREAS(X)                                                                                                   \
    X(query_hca_cap_out, capability, 0x10, 4096)                                                                       \
    X(query_roce_address_out, roce_address, 0x10, 32)                                                                  \
    X(create_cq_in, cq_context, 0x10, 64)                                                                              \
    X(query_cq_out, cq_context, 0x10, 64)                                                                              \
    X(create_qp_in, qpc, 0x18, 232)                                                                                    \
    X(qp_state_in, qpc, 0x18, 232)                                                                                     \
    X(qp_state_long_in, qpc, 0x18, 232)                                                                                \
    X(query_qp_out, qpc, 0x18, 232)                                                                                    \
    X(create_rmp_in, ctx, 0x20, 240)                                                                                   \
    X(qpc, primary_address_path, 0x18, 44)                                                                             \
    X(ads, rgid_rip, 0x10, 16)                                                                                         \
    X(rmpc, wq, 0x30, 192)                                                                                             \
    X(roce_addr_layout, source_l3_address, 0x00, 16)

/* Fields: X(structure, field, first bit, width). */
#define PRM_FIELDS(X)                                                                                                  \
    X(cmd_in, opcode, 0x0000, 16)                                                                                      \
    X(cmd_in, uid, 0x0010, 16)                                                                                         \
    X(cmd_in, op_mod, 0x0030, 16)                                                                                      \
    X(cmd_in, object_id, 0x0048, 24)                                                                                   \
    X(cmd_out, status, 0x0000, 8)                                                                                      \
    X(cmd_out, syndrome, 0x0020, 32)                                                                                   \
    X(cmd_out, object_id, 0x0048, 24)                                                                                  \
    X(query_hca_cap_in, opcode, 0x0000, 16)                                                                            \
    X(query_hca_cap_in, uid, 0x0010, 16)                                                                               \
    X(query_hca_cap_in, op_mod, 0x0030, 16)                                                                            \
    X(cmd_hca_cap, hca_cap_2, 0x0020, 1)                                                                               \
    X(cmd_hca_cap, log_max_qp_sz, 0x0088, 8)                                                                           \
    X(cmd_hca_cap, rts2rts_qp_dscp, 0x016a, 1)                                                                         \
    X(cmd_hca_cap, gid_table_size, 0x0170, 16)                                                                         \
    X(cmd_hca_cap, port_type, 0x01b6, 2)                                                                               \
    X(cmd_hca_cap, cqe_version, 0x01fc, 4)                                                                             \
    X(cmd_hca_cap, compact_address_vector, 0x0200, 1)                                                                  \
    X(cmd_hca_cap, roce, 0x021d, 1)                                                                                    \
    X(cmd_hca_cap, atomic, 0x021e, 1)                                                                                  \
    X(cmd_hca_cap, ud, 0x023d, 1)                                                                                      \
    X(cmd_hca_cap, uc, 0x023e, 1)                                                                                      \
    X(cmd_hca_cap, rc, 0x023f, 1)                                                                                      \
    X(cmd_hca_cap, bf, 0x0260, 1)                                                                                      \
    X(cmd_hca_cap, log_bf_reg_size, 0x026b, 5)                                                                         \
    X(cmd_hca_cap, max_wqe_sz_sq, 0x0290, 16)                                                                          \
    X(cmd_hca_cap, max_wqe_sz_rq, 0x02b0, 16)                                                                          \
    X(cmd_hca_cap_2, send_dbr_mode_no_dbr_ext, 0x02e1, 1)                                                              \
    X(atomic_caps, atomic_req_8B_endianness_mode, 0x0040, 2)                                                           \
    X(atomic_caps, supported_atomic_req_8B_endianness_mode_1, 0x0046, 1)                                               \
    X(atomic_caps, atomic_operations, 0x0090, 16)                                                                      \
    X(atomic_caps, atomic_size_qp, 0x00b0, 16)                                                                         \
    X(atomic_caps, atomic_size_dc, 0x00d0, 16)                                                                         \
    X(roce_cap, r_roce_max_src_udp_port, 0x00c0, 16)                                                                   \
    X(roce_cap, r_roce_min_src_udp_port, 0x00d0, 16)                                                                   \
    X(roce_cap, roce_address_table_size, 0x00f0, 16)                                                                   \
    X(query_roce_address_in, opcode, 0x0000, 16)                                                                       \
    X(query_roce_address_in, uid, 0x0010, 16)                                                                          \
    X(query_roce_address_in, op_mod, 0x0030, 16)                                                                       \
    X(query_roce_address_in, roce_address_index, 0x0040, 16)                                                           \
    X(roce_addr_layout, roce_version, 0x00d8, 8)                                                                       \
    X(create_cq_in, opcode, 0x0000, 16)                                                                                \
    X(create_cq_in, uid, 0x0010, 16)                                                                                   \
    X(create_cq_in, op_mod, 0x0030, 16)                                                                                \
    X(create_cq_in, cq_umem_offset, 0x0280, 64)                                                                        \
    X(create_cq_in, cq_umem_id, 0x02c0, 32)                                                                            \
    X(create_cq_in, cq_umem_valid, 0x02e0, 1)                                                                          \
    X(create_cq_out, cqn, 0x0048, 24)                                                                                  \
    X(query_cq_in, opcode, 0x0000, 16)                                                                                 \
    X(query_cq_in, uid, 0x0010, 16)                                                                                    \
    X(query_cq_in, op_mod, 0x0030, 16)                                                                                 \
    X(query_cq_in, cqn, 0x0048, 24)                                                                                    \
    X(create_qp_in, opcode, 0x0000, 16)                                                                                \
    X(create_qp_in, uid, 0x0010, 16)                                                                                   \
    X(create_qp_in, op_mod, 0x0030, 16)                                                                                \
    X(create_qp_in, wq_umem_offset, 0x0800, 64)                                                                        \
    X(create_qp_in, wq_umem_id, 0x0840, 32)                                                                            \
    X(create_qp_in, wq_umem_valid, 0x0860, 1)                                                                          \
    X(create_qp_out, qpn, 0x0048, 24)                                                                                  \
    X(qp_state_in, opcode, 0x0000, 16)                                                                                 \
    X(qp_state_in, uid, 0x0010, 16)                                                                                    \
    X(qp_state_in, op_mod, 0x0030, 16)                                                                                 \
    X(qp_state_in, qpn, 0x0048, 24)                                                                                    \
    X(qp_state_in, opt_param_mask, 0x0080, 32)                                                                         \
    X(qp_2any_in, opcode, 0x0000, 16)                                                                                  \
    X(qp_2any_in, uid, 0x0010, 16)                                                                                     \
    X(qp_2any_in, op_mod, 0x0030, 16)                                                                                  \
    X(qp_2any_in, qpn, 0x0048, 24)                                                                                     \
    X(query_qp_in, opcode, 0x0000, 16)                                                                                 \
    X(query_qp_in, uid, 0x0010, 16)                                                                                    \
    X(query_qp_in, op_mod, 0x0030, 16)                                                                                 \
    X(query_qp_in, qpn, 0x0048, 24)                                                                                    \
    X(query_qp_out, opt_param_mask, 0x0080, 32)                                                                        \
    X(create_rmp_in, opcode, 0x0000, 16)                                                                               \
    X(create_rmp_in, uid, 0x0010, 16)                                                                                  \
    X(create_rmp_in, op_mod, 0x0030, 16)                                                                               \
    X(create_rmp_out, rmpn, 0x0048, 24)                                                                                \
    X(cqc, dbr_umem_valid, 0x0006, 1)                                                                                  \
    X(cqc, cqe_sz, 0x0008, 3)                                                                                          \
    X(cqc, cc, 0x000b, 1)                                                                                              \
    X(cqc, oi, 0x000e, 1)                                                                                              \
    X(cqc, dbr_umem_id, 0x0020, 32)                                                                                    \
    X(cqc, page_offset, 0x0054, 6)                                                                                     \
    X(cqc, log_cq_size, 0x0063, 5)                                                                                     \
    X(cqc, uar_page, 0x0068, 24)                                                                                       \
    X(cqc, c_eqn, 0x00b8, 8)                                                                                           \
    X(cqc, log_page_size, 0x00c3, 5)                                                                                   \
    X(cqc, producer_counter, 0x0168, 24)                                                                               \
    X(cqc, dbr_addr, 0x01c0, 64)                                                                                       \
    X(qpc, state, 0x0000, 4)                                                                                           \
    X(qpc, st, 0x0008, 8)                                                                                              \
    X(qpc, pm_state, 0x0013, 2)                                                                                        \
    X(qpc, pd, 0x0028, 24)                                                                                             \
    X(qpc, mtu, 0x0040, 3)                                                                                             \
    X(qpc, log_msg_max, 0x0043, 5)                                                                                     \
    X(qpc, log_rq_size, 0x0049, 4)                                                                                     \
    X(qpc, log_rq_stride, 0x004d, 3)                                                                                   \
    X(qpc, no_sq, 0x0050, 1)                                                                                           \
    X(qpc, log_sq_size, 0x0051, 4)                                                                                     \
    X(qpc, uar_page, 0x0068, 24)                                                                                       \
    X(qpc, send_dbr_mode, 0x0080, 2)                                                                                   \
    X(qpc, user_index, 0x0088, 24)                                                                                     \
    X(qpc, log_page_size, 0x00a3, 5)                                                                                   \
    X(qpc, remote_qpn, 0x00a8, 24)                                                                                     \
    X(qpc, log_ack_req_freq, 0x0380, 4)                                                                                \
    X(qpc, log_sra_max, 0x0388, 3)                                                                                     \
    X(qpc, retry_count, 0x038d, 3)                                                                                     \
    X(qpc, rnr_retry, 0x0390, 3)                                                                                       \
    X(qpc, next_send_psn, 0x03c8, 24)                                                                                  \
    X(qpc, cqn_snd, 0x03e8, 24)                                                                                        \
    X(qpc, log_rra_max, 0x0488, 3)                                                                                     \
    X(qpc, atomic_mode, 0x048c, 4)                                                                                     \
    X(qpc, rre, 0x0490, 1)                                                                                             \
    X(qpc, rwe, 0x0491, 1)                                                                                             \
    X(qpc, rae, 0x0492, 1)                                                                                             \
    X(qpc, cd_slave_receive, 0x049d, 1)                                                                                \
    X(qpc, cd_slave_send, 0x049e, 1)                                                                                   \
    X(qpc, cd_master, 0x049f, 1)                                                                                       \
    X(qpc, min_rnr_nak, 0x04a3, 5)                                                                                     \
    X(qpc, next_rcv_psn, 0x04a8, 24)                                                                                   \
    X(qpc, cqn_rcv, 0x04e8, 24)                                                                                        \
    X(qpc, dbr_addr, 0x0500, 64)                                                                                       \
    X(qpc, q_key, 0x0540, 32)                                                                                          \
    X(qpc, rq_type, 0x0565, 3)                                                                                         \
    X(qpc, srqn_rmpn_xrqn, 0x0568, 24)                                                                                 \
    X(qpc, dc_access_key, 0x0640, 64)                                                                                  \
    X(qpc, dbr_umem_valid, 0x0683, 1)                                                                                  \
    X(qpc, dbr_umem_id, 0x0720, 32)                                                                                    \
    X(ads, pkey_index, 0x0010, 16)                                                                                     \
    X(ads, grh, 0x0028, 1)                                                                                             \
    X(ads, rlid, 0x0030, 16)                                                                                           \
    X(ads, ack_timeout, 0x0040, 5)                                                                                     \
    X(ads, src_addr_index, 0x0048, 8)                                                                                  \
    X(ads, stat_rate, 0x0054, 4)                                                                                       \
    X(ads, hop_limit, 0x0058, 8)                                                                                       \
    X(ads, tclass, 0x0064, 8)                                                                                          \
    X(ads, flow_label, 0x006c, 20)                                                                                     \
    X(ads, dscp, 0x010a, 6)                                                                                            \
    X(ads, udp_sport, 0x0110, 16)                                                                                      \
    X(ads, sl, 0x0124, 4)                                                                                              \
    X(ads, vhca_port_num, 0x0128, 8)                                                                                   \
    X(ads, rmac_47_32, 0x0130, 16)                                                                                     \
    X(ads, rmac_31_0, 0x0140, 32)                                                                                      \
    X(rmpc, state, 0x0008, 4)                                                                                          \
    X(rmpc, basic_cyclic_rcv_wqe, 0x0020, 1)                                                                           \
    X(wq, wq_type, 0x0000, 4)                                                                                          \
    X(wq, end_padding_mode, 0x0005, 2)                                                                                 \
    X(wq, pd, 0x0048, 24)                                                                                              \
    X(wq, dbr_addr, 0x0080, 64)                                                                                        \
    X(wq, log_wq_stride, 0x010c, 4)                                                                                    \
    X(wq, log_wq_sz, 0x011b, 5)                                                                                        \
    X(wq, dbr_umem_valid, 0x0120, 1)                                                                                   \
    X(wq, wq_umem_valid, 0x0121, 1)                                                                                    \
    X(wq, dbr_umem_id, 0x0140, 32)                                                                                     \
    X(wq, wq_umem_id, 0x0160, 32)                                                                                      \
    X(wq, wq_umem_offset, 0x0180, 64)

#ifdef __cplusplus
#define PRM_ASSERT(condition, text) static_assert(condition, text)
#else
#define PRM_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* One 32-bit big-endian word at a byte offset that is a multiple of 4; the mailbox itself may lie anywhere. */
static inline uint32_t prm_load_word(const void *base, size_t byte)
{
    const uint8_t *p = (const uint8_t *)base + byte;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline void prm_store_word(void *base, size_t byte, uint32_t value)
{
    uint8_t *p = (uint8_t *)base + byte;
    p[0] = (uint8_t)(value >> 24);
    p[1] = (uint8_t)(value >> 16);
    p[2] = (uint8_t)(value >> 8);
    p[3] = (uint8_t)value;
}

static inline uint64_t prm_get_bits(const void *base, unsigned bit, unsigned width)
{
    size_t byte = bit / 32 * 4;
    if (width == 64)
        return (uint64_t)prm_load_word(base, byte) << 32 | prm_load_word(base, byte + 4);
    uint64_t mask = (1ull << width) - 1;
    return prm_load_word(base, byte) >> (32 - width - bit % 32) & mask;
}

static inline void prm_set_bits(void *base, unsigned bit, unsigned width, uint64_t value)
{
    size_t byte = bit / 32 * 4;
    if (width == 64) {
        prm_store_word(base, byte, (uint32_t)(value >> 32));
        prm_store_word(base, byte + 4, (uint32_t)value);
        return;
    }
    unsigned shift = 32 - width - bit % 32;
    uint32_t mask = (uint32_t)((1ull << width) - 1) << shift;
    uint32_t word = prm_load_word(base, byte);
    prm_store_word(base, byte, (word & ~mask) | ((uint32_t)(value << shift) & mask));
}

#define PRM_ONE_SIZE(s, bytes) PRM_SIZE_##s = bytes,
enum prm_size { PRM_STRUCTS(PRM_ONE_SIZE) PRM_SIZE_NONE = 0 };

#define PRM_ONE_ID(s, bytes) PRM_ID_##s,
enum prm_struct_id { PRM_STRUCTS(PRM_ONE_ID) PRM_ID_COUNT };

#define PRM_ONE_AREA(s, area, byte, bytes) PRM_AT_##s##__##area = byte,
enum prm_area { PRM_AREAS(PRM_ONE_AREA) PRM_AREA_NONE = 0 };
#define PRM_ONE_AREA_CHECK(s, area, byte, bytes)                                                                       \
    PRM_ASSERT((byte) + (bytes) <= PRM_SIZE_##s && (byte) % 4 == 0, #s "." #area " lies outside its structure");
PRM_AREAS(PRM_ONE_AREA_CHECK)

/* Address of a nested structure: PRM_AT(in, create_qp_in, qpc). */
#define PRM_AT(base, s, area)  ((uint8_t *)(base) + PRM_AT_##s##__##area)
#define PRM_CAT(base, s, area) ((const uint8_t *)(base) + PRM_AT_##s##__##area)

#define PRM_ONE_FIELD(s, f, bit, width)                                                                                \
    enum { PRM_##s##__##f##__BIT = bit, PRM_##s##__##f##__WIDTH = width };                                             \
    PRM_ASSERT((bit) + (width) <= 8 * PRM_SIZE_##s, #s "." #f " lies outside its structure");                          \
    PRM_ASSERT((width) == 64 ? (bit) % 32 == 0 : (width) >= 1 && (bit) % 32 + (width) <= 32,                           \
               #s "." #f " crosses a word");                                                                           \
    static inline uint64_t prm_get_##s##__##f(const void *base)                                                        \
    {                                                                                                                  \
        return prm_get_bits(base, bit, width);                                                                         \
    }                                                                                                                  \
    static inline void prm_set_##s##__##f(void *base, uint64_t value)                                                  \
    {                                                                                                                  \
        prm_set_bits(base, bit, width, value);                                                                         \
    }
PRM_FIELDS(PRM_ONE_FIELD)

/* Cross-checks of nested sizes: what one command embeds is what the structure says. */
PRM_ASSERT(PRM_AT_create_qp_in__qpc + PRM_SIZE_qpc == 0x100, "wq_umem_offset follows the QP context");
PRM_ASSERT(PRM_create_qp_in__wq_umem_offset__BIT == 0x100 * 8, "wq_umem_offset follows the QP context");
PRM_ASSERT(PRM_AT_create_rmp_in__ctx + PRM_SIZE_rmpc == PRM_SIZE_create_rmp_in, "the RMP context ends CREATE_RMP");
PRM_ASSERT(PRM_AT_rmpc__wq + PRM_SIZE_wq == PRM_SIZE_rmpc, "the WQ ends the RMP context");
PRM_ASSERT(PRM_AT_create_cq_in__cq_context + PRM_SIZE_cqc == PRM_create_cq_in__cq_umem_offset__BIT / 8,
           "cq_umem_offset follows the CQ context");
PRM_ASSERT(PRM_AT_query_hca_cap_out__capability + PRM_SIZE_cmd_hca_cap == PRM_SIZE_query_hca_cap_out, "one page");

/* Name of an opcode for messages, or NULL. */
static inline const char *prm_opcode_name(unsigned opcode)
{
    switch (opcode) {
    case PRM_OP_QUERY_HCA_CAP:
        return "QUERY_HCA_CAP";
    case PRM_OP_CREATE_CQ:
        return "CREATE_CQ";
    case PRM_OP_DESTROY_CQ:
        return "DESTROY_CQ";
    case PRM_OP_QUERY_CQ:
        return "QUERY_CQ";
    case PRM_OP_CREATE_QP:
        return "CREATE_QP";
    case PRM_OP_DESTROY_QP:
        return "DESTROY_QP";
    case PRM_OP_RST2INIT_QP:
        return "RST2INIT_QP";
    case PRM_OP_INIT2RTR_QP:
        return "INIT2RTR_QP";
    case PRM_OP_RTR2RTS_QP:
        return "RTR2RTS_QP";
    case PRM_OP_RTS2RTS_QP:
        return "RTS2RTS_QP";
    case PRM_OP_2ERR_QP:
        return "2ERR_QP";
    case PRM_OP_2RST_QP:
        return "2RST_QP";
    case PRM_OP_QUERY_QP:
        return "QUERY_QP";
    case PRM_OP_INIT2INIT_QP:
        return "INIT2INIT_QP";
    case PRM_OP_QUERY_ROCE_ADDRESS:
        return "QUERY_ROCE_ADDRESS";
    case PRM_OP_CREATE_RMP:
        return "CREATE_RMP";
    case PRM_OP_DESTROY_RMP:
        return "DESTROY_RMP";
    default:
        return NULL;
    }
}

#ifdef __cplusplus
}
#endif
#endif
