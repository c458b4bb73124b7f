/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work-queue entries of the mlx5 family (Programmer's Reference Manual, "Work Request (WQE) Formats").
 *
 * A WQE is a row of 16-byte segments: a control segment, then what the opcode asks for. Send queues count in basic
 * blocks of 64 bytes (4 segments). exec/wqe.h has the parser.
 */
#ifndef GDAKI_FORMAT_WQE_H
#define GDAKI_FORMAT_WQE_H

#include "format/be.h"

enum {
    SN_WQE_BB = 64,      /* bytes of a basic block */
    SN_WQE_SEG = 16,     /* bytes of a segment */
    SN_WQE_MAX_DS = 63,  /* the ds field has 6 bits */
    SN_WQE_MAX_BB = 16,  /* ceil(63 / 4) */
    SN_LKEY_END = 0x100, /* ends the scatter list of a receive WQE */
};

enum sn_opcode {
    SN_OPCODE_NOP = 0x00,
    SN_OPCODE_SEND_INVAL = 0x01,
    SN_OPCODE_RDMA_WRITE = 0x08,
    SN_OPCODE_RDMA_WRITE_IMM = 0x09,
    SN_OPCODE_SEND = 0x0a,
    SN_OPCODE_SEND_IMM = 0x0b,
    SN_OPCODE_WAIT = 0x0f,
    SN_OPCODE_RDMA_READ = 0x10,
    SN_OPCODE_ATOMIC_CS = 0x11,
    SN_OPCODE_ATOMIC_FA = 0x12,
    SN_OPCODE_ATOMIC_MASKED_CS = 0x14,
    SN_OPCODE_ATOMIC_MASKED_FA = 0x15,
    SN_OPCODE_LOCAL_INVAL = 0x1b, /* the key in the immediate's place */
    SN_OPCODE_DUMP = 0x23,
    SN_OPCODE_UMR = 0x25,
};

/* opmod of the masked atomics: log2 of the operand's size, with bit 3 set for the extended form. */
enum { SN_OPMOD_MASKED_4 = 0x08, SN_OPMOD_MASKED_8 = 0x09 };

/* fm_ce_se: bits 7..5 fence, 3..2 completion, 1 solicited. */
enum sn_fence {
    SN_FENCE_NONE = 0,
    SN_FENCE_SMALL = 1,
    SN_FENCE_READS = 2,  /* wait for the reads and atomics posted before */
    SN_FENCE_STRONG = 3, /* wait for everything posted before */
    SN_FENCE_READS_SMALL = 4,
};
enum sn_ce {
    SN_CE_ON_ERROR = 0,       /* a CQE for an error only */
    SN_CE_ON_FIRST_ERROR = 1, /* the same, but none for a flush */
    SN_CE_ALWAYS = 2,
    SN_CE_ALWAYS_EQE = 3, /* and an event */
};
#define SN_WQE_SOLICITED 0x02u
#define SN_INLINE_SEG    0x80000000u

struct SN_MAY_ALIAS sn_ctrl_seg {
    sn_be32 opmod_idx_opcode; /* 31..24 opmod, 23..8 index, 7..0 opcode */
    sn_be32 qpn_ds;           /* 31..8 QP number, 5..0 segments */
    uint8_t signature;
    uint8_t dci[2];
    uint8_t fm_ce_se;
    uint32_t imm; /* bytes as given, or the key to invalidate */
};

struct SN_MAY_ALIAS sn_raddr_seg {
    sn_be64 raddr;
    sn_be32 rkey;
    uint32_t reserved;
};

/*
 * User-mode memory registration: control segment with the key in the immediate's place, this (three segments), the key's
 * context (four), and what it is to stand for, inline, padded to four segments.
 */
struct SN_MAY_ALIAS sn_umr_ctrl_seg {
    uint8_t flags; /* SN_UMR_* */
    uint8_t rsvd0[3];
    sn_be16 klm_octowords; /* entries that follow, padded */
    sn_be16 translation_offset;
    sn_be64 mkey_mask; /* SN_UMR_MASK_*: what of the context is taken */
    uint8_t rsvd16[32];
};
#define SN_UMR_INLINE     (1u << 7)
#define SN_UMR_CHECK_FREE (1u << 5)
#define SN_UMR_CHECK_QPN  (1u << 3)
enum {
    SN_UMR_MASK_LEN = 1 << 0,
    SN_UMR_MASK_START_ADDR = 1 << 6,
    SN_UMR_MASK_MKEY = 1 << 13,
    SN_UMR_MASK_QPN = 1 << 14,
    SN_UMR_MASK_LOCAL_WRITE = 1 << 18,
    SN_UMR_MASK_REMOTE_READ = 1 << 19,
    SN_UMR_MASK_REMOTE_WRITE = 1 << 20,
    SN_UMR_MASK_ATOMIC = 1 << 21,
    SN_UMR_MASK_FREE = 1 << 29,
    SN_UMR_MASK_BIND = SN_UMR_MASK_LEN | SN_UMR_MASK_START_ADDR | SN_UMR_MASK_MKEY | SN_UMR_MASK_QPN | SN_UMR_MASK_REMOTE_READ |
                       SN_UMR_MASK_REMOTE_WRITE | SN_UMR_MASK_ATOMIC | SN_UMR_MASK_FREE,
};

struct SN_MAY_ALIAS sn_mkey_seg {
    uint8_t free; /* SN_MKEY_FREE: it stands for nothing */
    uint8_t rsvd1;
    uint8_t access; /* SN_MKEY_* */
    uint8_t sf;
    sn_be32 qpn_mkey; /* 31..8 queue pair that may be asked through it, SN_MKEY_ANY_QP: any; 7..0 the key's low bits */
    sn_be32 rsvd8;
    sn_be32 flags_pd;
    sn_be64 start_addr, len;
    sn_be32 bsf_octowords;
    sn_be32 rsvd36[4];
    sn_be32 translation_octowords;
    uint8_t rsvd56[3];
    uint8_t log_page_size;
    sn_be32 rsvd60;
};
#define SN_MKEY_FREE         (1u << 6)
#define SN_MKEY_ATOMIC       (1u << 6)
#define SN_MKEY_REMOTE_WRITE (1u << 5)
#define SN_MKEY_REMOTE_READ  (1u << 4)
#define SN_MKEY_ANY_QP       0xffffffu

struct SN_MAY_ALIAS sn_klm_seg { /* the layout of a data segment */
    sn_be32 byte_count;
    sn_be32 mkey;
    sn_be64 address;
};
enum { SN_UMR_DS = 12 /* segments of a UMR with one inline entry */ };

/* Address vector of a datagram: three segments, the layout of struct mlx5_wqe_av. */
struct SN_MAY_ALIAS sn_av_seg {
    sn_be32 qkey;
    uint32_t reserved0;
    sn_be32 dqp_dct;       /* bit 31: extended, all 48 bytes are there; 23..0 destination QP */
    uint8_t stat_rate_sl;  /* 3..0 service level */
    uint8_t fl_mlid;
    sn_be16 rlid_udp_sport; /* Ethernet: UDP source port, 0: the device's choice */
    uint8_t reserved1[4];
    uint8_t rmac[6];
    uint8_t tclass;
    uint8_t hop_limit;
    sn_be32 grh_gid_fl; /* bit 30: there is a GRH; 27..20 source GID index, 19..0 flow label */
    uint8_t rgid[16];
};
#define SN_AV_EXTENDED 0x80000000u
#define SN_AV_GRH      0x40000000u

struct SN_MAY_ALIAS sn_data_seg {
    sn_be32 byte_count; /* bit 31 clear */
    sn_be32 lkey;
    sn_be64 addr;
};

struct SN_MAY_ALIAS sn_inline_seg {
    sn_be32 byte_count; /* bit 31 set; the bytes follow, padded to a segment */
};

struct SN_MAY_ALIAS sn_atomic_seg {
    sn_be64 swap_add;
    sn_be64 compare;
};

struct SN_MAY_ALIAS sn_masked_fa32_seg {
    sn_be32 add;
    sn_be32 boundary;
    uint64_t reserved;
};

struct SN_MAY_ALIAS sn_masked_fa64_seg {
    sn_be64 add;
    sn_be64 boundary;
};

struct SN_MAY_ALIAS sn_masked_cs32_seg {
    sn_be32 swap, compare, swap_mask, compare_mask;
};

/* 8-byte masked compare-swap: two of these, the values and then the masks. */
struct SN_MAY_ALIAS sn_masked_cs64_seg {
    sn_be64 swap, compare;
};

struct SN_MAY_ALIAS sn_wait_seg {
    uint32_t reserved[2];
    sn_be32 max_index;
    sn_be32 cqn;
};

/* First segment of a receive WQE in a linked-list SRQ. */
struct SN_MAY_ALIAS sn_next_seg {
    uint8_t reserved0[2];
    sn_be16 next_index;
    uint8_t reserved1[12];
};

SN_STATIC_ASSERT(sizeof(struct sn_ctrl_seg) == 16 && offsetof(struct sn_ctrl_seg, fm_ce_se) == 11 &&
                     offsetof(struct sn_ctrl_seg, imm) == 12,
                 "control segment");
SN_STATIC_ASSERT(sizeof(struct sn_raddr_seg) == 16 && offsetof(struct sn_raddr_seg, rkey) == 8, "raddr segment");
SN_STATIC_ASSERT(sizeof(struct sn_data_seg) == 16 && offsetof(struct sn_data_seg, addr) == 8, "data segment");
SN_STATIC_ASSERT(sizeof(struct sn_av_seg) == 48 && offsetof(struct sn_av_seg, rlid_udp_sport) == 14 &&
                     offsetof(struct sn_av_seg, rmac) == 20 && offsetof(struct sn_av_seg, tclass) == 26 &&
                     offsetof(struct sn_av_seg, grh_gid_fl) == 28 && offsetof(struct sn_av_seg, rgid) == 32,
                 "address vector");
SN_STATIC_ASSERT(sizeof(struct sn_inline_seg) == 4, "inline segment");
SN_STATIC_ASSERT(sizeof(struct sn_atomic_seg) == 16, "atomic segment");
SN_STATIC_ASSERT(sizeof(struct sn_masked_fa32_seg) == 16 && sizeof(struct sn_masked_fa64_seg) == 16 &&
                     sizeof(struct sn_masked_cs32_seg) == 16 && sizeof(struct sn_masked_cs64_seg) == 16,
                 "masked atomic segments");
SN_STATIC_ASSERT(sizeof(struct sn_umr_ctrl_seg) == 48 && offsetof(struct sn_umr_ctrl_seg, mkey_mask) == 8 &&
                     sizeof(struct sn_mkey_seg) == 64 && offsetof(struct sn_mkey_seg, qpn_mkey) == 4 &&
                     offsetof(struct sn_mkey_seg, start_addr) == 16 && offsetof(struct sn_mkey_seg, len) == 24 &&
                     offsetof(struct sn_mkey_seg, log_page_size) == 59 && sizeof(struct sn_klm_seg) == 16,
                 "segments of a UMR");
SN_STATIC_ASSERT(sizeof(struct sn_wait_seg) == 16 && offsetof(struct sn_wait_seg, max_index) == 8, "wait segment");
SN_STATIC_ASSERT(sizeof(struct sn_next_seg) == 16 && offsetof(struct sn_next_seg, next_index) == 2, "next segment");

#endif
