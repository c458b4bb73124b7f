/* SPDX-License-Identifier: Apache-2.0 */
/* Completion-queue entries of the mlx5 family (PRM, "Completion Queue Entry (CQE)"). exec/cqe.h builds them. */
#ifndef GDAKI_FORMAT_CQE_H
#define GDAKI_FORMAT_CQE_H

#include "format/be.h"

enum sn_cqe_opcode {
    SN_CQE_REQ = 0x0,
    SN_CQE_RESP_WR_IMM = 0x1,
    SN_CQE_RESP_SEND = 0x2,
    SN_CQE_RESP_SEND_IMM = 0x3,
    SN_CQE_RESP_SEND_INV = 0x4,
    SN_CQE_REQ_ERR = 0xd,
    SN_CQE_RESP_ERR = 0xe,
    SN_CQE_INVALID = 0xf,
};

enum sn_syndrome {
    SN_SYND_OK = 0x00,
    SN_SYND_LOCAL_LENGTH = 0x01,
    SN_SYND_LOCAL_QP_OP = 0x02,
    SN_SYND_LOCAL_PROT = 0x04,
    SN_SYND_FLUSH = 0x05,
    SN_SYND_MW_BIND = 0x06,
    SN_SYND_BAD_RESPONSE = 0x10,
    SN_SYND_LOCAL_ACCESS = 0x11,
    SN_SYND_REMOTE_INVALID = 0x12,
    SN_SYND_REMOTE_ACCESS = 0x13,
    SN_SYND_REMOTE_OP = 0x14,
    SN_SYND_RETRY_EXCEEDED = 0x15,
    SN_SYND_RNR_EXCEEDED = 0x16,
    SN_SYND_ABORTED = 0x22,
};

/* flags_rqpn, bits 31..24, receive side of datagrams: 5..4 there is a GRH, 1..0 with RoCE the kind of network header. */
enum { SN_CQE_L3_GRH = 0, SN_CQE_L3_IPV6 = 1, SN_CQE_L3_IPV4 = 2, SN_CQE_GRH = 1 << 4 };

#define SN_CQE_OWNER     0x01u
#define SN_CQE_SOLICITED 0x02u

struct SN_MAY_ALIAS sn_cqe64 {
    uint8_t rsvd0[2];
    sn_be16 wqe_id;
    uint8_t rsvd4[13];
    uint8_t ml_path;
    uint8_t rsvd18[4];
    sn_be16 slid;
    sn_be32 flags_rqpn;
    uint8_t hds_ip_ext;
    uint8_t l4_hdr_type_etc;
    sn_be16 vlan_info;
    sn_be32 srqn_uidx; /* user index (CQE version 1) */
    uint32_t imm;      /* bytes as sent */
    uint8_t app, app_op;
    sn_be16 app_info;
    sn_be32 byte_cnt;
    sn_be64 timestamp;
    sn_be32 sop_drop_qpn; /* 31..24 send opcode, 23..0 QP number */
    sn_be16 wqe_counter;
    uint8_t signature;
    uint8_t op_own; /* 7..4 opcode, 1 solicited, 0 owner */
};

struct SN_MAY_ALIAS sn_err_cqe {
    uint8_t rsvd0[32];
    sn_be32 srqn;
    uint8_t rsvd36[16];
    uint8_t hw_err_synd, hw_synd_type, vendor_err_synd, syndrome;
    sn_be32 s_wqe_opcode_qpn;
    sn_be16 wqe_counter;
    uint8_t signature;
    uint8_t op_own;
};

SN_STATIC_ASSERT(sizeof(struct sn_cqe64) == 64 && offsetof(struct sn_cqe64, ml_path) == 17 &&
                     offsetof(struct sn_cqe64, flags_rqpn) == 24 && offsetof(struct sn_cqe64, srqn_uidx) == 32 &&
                     offsetof(struct sn_cqe64, imm) == 36 && offsetof(struct sn_cqe64, byte_cnt) == 44 &&
                     offsetof(struct sn_cqe64, timestamp) == 48 && offsetof(struct sn_cqe64, sop_drop_qpn) == 56 &&
                     offsetof(struct sn_cqe64, wqe_counter) == 60 && offsetof(struct sn_cqe64, op_own) == 63,
                 "64-byte CQE");
SN_STATIC_ASSERT(sizeof(struct sn_err_cqe) == 64 && offsetof(struct sn_err_cqe, srqn) == 32 &&
                     offsetof(struct sn_err_cqe, hw_err_synd) == 52 && offsetof(struct sn_err_cqe, syndrome) == 55 &&
                     offsetof(struct sn_err_cqe, s_wqe_opcode_qpn) == 56 &&
                     offsetof(struct sn_err_cqe, wqe_counter) == 60,
                 "error CQE");

#endif
