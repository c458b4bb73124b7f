/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that device code sees: exported queues, WQEs, CQEs. C, C++ and CUDA.
 *
 * The layouts are interface: code compiled elsewhere uses our queues and ours uses theirs. Fields named gdaki_* are ours
 * and lie where the documented layout has reserved bytes. Zero in all of them is what an exporter that does not know
 * them leaves there, and it means: a regular CQ, no error seen, nothing known about payload memory.
 */
#ifndef DOCA_GPUNETIO_VERBS_DEV_H
#define DOCA_GPUNETIO_VERBS_DEV_H

#include "doca_gpunetio_verbs_def.h"

#ifdef __cplusplus
extern "C" {
#define GDAKI_LAYOUT(condition) static_assert(condition, #condition)
#else
#define GDAKI_LAYOUT(condition) _Static_assert(condition, #condition)
#endif
#define GDAKI_PACKED __attribute__((packed))

/* ---- queues --------------------------------------------------------------------------------------------------- */

/* doca_gpu_dev_verbs_cq.gdaki_kind */
enum gdaki_cq_kind {
    GDAKI_CQ_KIND_REGULAR = 0,  /* one CQE a slot, owner bit */
    GDAKI_CQ_KIND_COLLAPSED = 1 /* every CQE is written to slot 0; wqe_counter tells */
};

/* Values of byte 0 of doca_gpu_dev_verbs_cq.gdaki_error. */
enum gdaki_error_state {
    GDAKI_ERROR_NONE = 0,
    GDAKI_ERROR_SET = 1,      /* the word and gdaki_error_index are valid */
    GDAKI_ERROR_WRITING = 2,  /* the finder is about to store gdaki_error_index; polls fail already */
    GDAKI_ERROR_SOFTWARE = 3  /* no CQE: a reservation larger than the ring (syndrome is 0) */
};

/*
 * gdaki_error, the queue's first error, one 8-byte word so that it appears at once (host byte order):
 *   bits 0..7 enum gdaki_error_state, 8..15 syndrome, 16..23 vendor_err_synd, 24..31 hw_err_synd, 32..39 hw_synd_type,
 *   40..47 zero, 48..63 wqe_counter of the error CQE.
 * Written once, by the poll that sees the first error CQE; cleared only by the host when it resets the queue.
 */
struct doca_gpu_dev_verbs_cq {
    uint8_t *cqe_daddr; /* ring */
    uint32_t cq_num;
    uint32_t cqe_num; /* entries, power of two */
    __be32 *dbrec;
    uint64_t cqe_ci; /* CQEs below were seen complete; never wraps */
    uint32_t cqe_mask;
    uint8_t cqe_size;
    uint8_t gdaki_kind; /* enum gdaki_cq_kind; documented layout: reserved1[0] */
    uint8_t reserved1[2];
    uint64_t cqe_rsvd; /* CQEs produced before the last reset: CQE index = WQE index + cqe_rsvd */
    enum doca_gpu_dev_verbs_mem_type mem_type;
    uint32_t gdaki_error_index; /* low 32 bits of the failed WQE's index; documented layout: reserved2[0..3] */
    uint64_t gdaki_error;       /* documented layout: reserved2[4..11] */
} __attribute__((aligned(8)));

/* doca_gpu_dev_verbs_qp.gdaki_flags */
enum gdaki_qp_flags {
    GDAKI_QP_FLAG_HOST_PAYLOAD = 1 << 0 /* payload may be in host memory even where mem_type is GPU: SYS releases */
};

/* Indices are 64-bit, count up and never wrap; slot = index & sq_wqe_mask. */
struct doca_gpu_dev_verbs_qp {
    uint64_t sq_rsvd_index;  /* below: handed out to writers */
    uint64_t sq_ready_index; /* below: completely written */
    uint64_t sq_wqe_pi;      /* below: announced to the NIC */
    uint32_t sq_num;
    uint32_t sq_num_shift8;
    uint32_t sq_num_shift8_be;     /* big-endian QPN << 8 */
    uint32_t sq_num_shift8_be_1ds; /* big-endian QPN << 8 | n segments */
    uint32_t sq_num_shift8_be_2ds;
    uint32_t sq_num_shift8_be_3ds;
    uint32_t sq_num_shift8_be_4ds;
    uint32_t sq_num_shift8_be_5ds;
    int sq_lock;
    uint16_t sq_wqe_num;
    uint16_t sq_wqe_mask;
    uint8_t *sq_wqe_daddr;
    __be32 *sq_dbrec; /* the send word */
    uint64_t *sq_db;  /* doorbell register, or the counter that the CPU follows */
    uint32_t gdaki_flags; /* enum gdaki_qp_flags; documented layout: reserved1[0..3] */
    uint8_t reserved1[4];
    uint64_t gdaki_ring; /* who rings, and up to where (device/gdaki_dev_door.cuh); documented layout: reserved2[0..7] */
    uint8_t reserved2[56];
    struct doca_gpu_dev_verbs_cq cq_sq;
    uint8_t reserved3[64];
    enum doca_gpu_dev_verbs_nic_handler nic_handler; /* resolved: never AUTO */
    enum doca_gpu_dev_verbs_mem_type mem_type;       /* where the ring lies; GPU alone allows GPU-scope releases */
} __attribute__((aligned(8)));

struct doca_gpu_dev_verbs_addr {
    uint64_t addr;
    __be32 key;
};

typedef uint64_t doca_gpu_dev_verbs_ticket_t;

GDAKI_LAYOUT(sizeof(struct doca_gpu_dev_verbs_cq) == 64);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, cqe_daddr) == 0);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, cq_num) == 8);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, cqe_num) == 12);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, dbrec) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, cqe_ci) == 24);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, cqe_mask) == 32);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, cqe_size) == 36);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, gdaki_kind) == 37);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, cqe_rsvd) == 40);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, mem_type) == 48);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, gdaki_error_index) == 52);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_cq, gdaki_error) == 56);

GDAKI_LAYOUT(sizeof(struct doca_gpu_dev_verbs_qp) == 296);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_rsvd_index) == 0);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_ready_index) == 8);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_wqe_pi) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num) == 24);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num_shift8) == 28);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num_shift8_be) == 32);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num_shift8_be_1ds) == 36);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num_shift8_be_2ds) == 40);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num_shift8_be_3ds) == 44);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num_shift8_be_4ds) == 48);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_num_shift8_be_5ds) == 52);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_lock) == 56);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_wqe_num) == 60);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_wqe_mask) == 62);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_wqe_daddr) == 64);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_dbrec) == 72);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, sq_db) == 80);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, gdaki_flags) == 88);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, gdaki_ring) == 96);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, reserved2) == 104);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, cq_sq) == 160);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, reserved3) == 224);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, nic_handler) == 288);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_qp, mem_type) == 292);

GDAKI_LAYOUT(sizeof(struct doca_gpu_dev_verbs_addr) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_addr, key) == 8);

/* ---- WQE segments, 16 bytes each ------------------------------------------------------------------------------ */

struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg {
    __be32 opmod_idx_opcode; /* opmod 31..24, WQE index 23..8, opcode 7..0 */
    __be32 qpn_ds;           /* QPN 31..8, number of 16-byte segments 5..0 */
    union {
        struct {
            uint8_t signature;
            __be16 dci_stream_channel_id;
            uint8_t fm_ce_se; /* enum doca_gpu_dev_verbs_wqe_ctrl_flags */
        } GDAKI_PACKED;
        __be32 signature_fm_ce_se;
    };
    __be32 imm;
} __attribute__((packed, aligned(4)));

struct doca_gpunetio_ib_mlx5_wqe_raddr_seg {
    __be64 raddr;
    __be32 rkey;
    __be32 reserved;
} GDAKI_PACKED;

struct doca_gpunetio_ib_mlx5_wqe_data_seg {
    __be32 byte_count;
    __be32 lkey;
    __be64 addr;
} GDAKI_PACKED;

struct doca_gpunetio_ib_mlx5_wqe_inl_data_seg {
    uint32_t byte_count; /* big-endian, bit 31: inline */
};

struct doca_gpunetio_ib_mlx5_wqe_atomic_seg {
    __be64 swap_add;
    __be64 compare;
} GDAKI_PACKED;

struct doca_gpunetio_ib_mlx5_wqe_wait_seg {
    __be32 resv[2];
    __be32 max_index;
    __be32 qpn_cqn;
} GDAKI_PACKED;

typedef struct {
    uint32_t add_data;
    uint32_t field_boundary;
    uint64_t reserved;
} GDAKI_PACKED doca_gpu_dev_verbs_atomic_32_masked_fa_seg_t;

typedef struct {
    uint64_t add_data;
    uint64_t field_boundary;
} GDAKI_PACKED doca_gpu_dev_verbs_atomic_64_masked_fa_seg_t;

typedef struct {
    uint32_t swap_data;
    uint32_t compare_data;
    uint32_t swap_mask;
    uint32_t compare_mask;
} GDAKI_PACKED doca_gpu_dev_verbs_atomic_32_masked_cs_seg_t;

typedef struct {
    uint64_t swap;
    uint64_t compare;
} GDAKI_PACKED doca_gpu_dev_verbs_atomic_64_masked_cs_seg_t;

/* The 1.x names. */
#define doca_gpu_dev_verbs_wqe_ctrl_seg doca_gpunetio_ib_mlx5_wqe_ctrl_seg
#define doca_gpu_dev_verbs_wqe_wait_seg doca_gpunetio_ib_mlx5_wqe_wait_seg

/* One WQE basic block. */
struct doca_gpu_dev_verbs_wqe {
    union {
        uint8_t inl_data[64];
        struct {
            struct doca_gpunetio_ib_mlx5_wqe_data_seg dseg0, dseg1, dseg2, dseg3;
        };
        struct {
            struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg rw_cseg;
            struct doca_gpunetio_ib_mlx5_wqe_raddr_seg rw_rseg;
            struct doca_gpunetio_ib_mlx5_wqe_data_seg rw_dseg0, rw_dseg1;
        };
        struct {
            struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg at_cseg;
            struct doca_gpunetio_ib_mlx5_wqe_raddr_seg at_rseg;
            struct doca_gpunetio_ib_mlx5_wqe_atomic_seg at_seg;
            struct doca_gpunetio_ib_mlx5_wqe_data_seg at_dseg;
        };
        struct {
            struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg snd_cseg;
            struct doca_gpunetio_ib_mlx5_wqe_data_seg snd_dseg0, snd_dseg1, snd_dseg2;
        };
        struct {
            struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg wait_cseg;
            struct doca_gpunetio_ib_mlx5_wqe_wait_seg wait_dseg;
            struct doca_gpunetio_ib_mlx5_wqe_data_seg padding0, padding1;
        };
    };
} __attribute__((aligned(8)));

GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg, qpn_ds) == 4);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg, signature) == 8);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg, dci_stream_channel_id) == 9);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg, fm_ce_se) == 11);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg, signature_fm_ce_se) == 8);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_ctrl_seg, imm) == 12);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_wqe_raddr_seg) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_raddr_seg, rkey) == 8);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_wqe_data_seg) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_data_seg, lkey) == 4);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_data_seg, addr) == 8);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_wqe_inl_data_seg) == 4);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_wqe_atomic_seg) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_atomic_seg, compare) == 8);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_wqe_wait_seg) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_wait_seg, max_index) == 8);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_wqe_wait_seg, qpn_cqn) == 12);
GDAKI_LAYOUT(sizeof(doca_gpu_dev_verbs_atomic_32_masked_fa_seg_t) == 16);
GDAKI_LAYOUT(sizeof(doca_gpu_dev_verbs_atomic_64_masked_fa_seg_t) == 16);
GDAKI_LAYOUT(sizeof(doca_gpu_dev_verbs_atomic_32_masked_cs_seg_t) == 16);
GDAKI_LAYOUT(sizeof(doca_gpu_dev_verbs_atomic_64_masked_cs_seg_t) == 16);
GDAKI_LAYOUT(sizeof(struct doca_gpu_dev_verbs_wqe) == 64);
GDAKI_LAYOUT(__alignof__(struct doca_gpu_dev_verbs_wqe) == 8);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, dseg3) == 48);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, rw_rseg) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, rw_dseg0) == 32);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, rw_dseg1) == 48);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, at_seg) == 32);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, at_dseg) == 48);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, snd_dseg2) == 48);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, wait_dseg) == 16);
GDAKI_LAYOUT(offsetof(struct doca_gpu_dev_verbs_wqe, padding1) == 48);

/* ---- CQEs, 64 bytes ------------------------------------------------------------------------------------------- */

struct doca_gpunetio_ib_mlx5_tm_cqe {
    __be32 success;
    __be16 hw_phase_cnt;
    uint8_t rsvd0[12];
};

struct doca_gpunetio_ib_ibv_tmh {
    uint8_t opcode;
    uint8_t reserved[3];
    __be32 app_ctx;
    __be64 tag;
};

struct doca_gpunetio_ib_mlx5_cqe64 {
    union {
        struct {
            uint8_t rsvd0[2];
            __be16 wqe_id;
            uint8_t rsvd4[13];
            uint8_t ml_path;
            uint8_t rsvd20[4];
            __be16 slid;
            __be32 flags_rqpn;
            uint8_t hds_ip_ext;
            uint8_t l4_hdr_type_etc;
            __be16 vlan_info;
        };
        struct doca_gpunetio_ib_mlx5_tm_cqe tm_cqe;
        struct doca_gpunetio_ib_ibv_tmh tmh;
    };
    __be32 srqn_uidx;
    __be32 imm_inval_pkey;
    uint8_t app;
    uint8_t app_op;
    __be16 app_info;
    __be32 byte_cnt;
    __be64 timestamp;
    __be32 sop_drop_qpn;
    __be16 wqe_counter;
    uint8_t signature;
    uint8_t op_own; /* opcode 7..4, owner 0 */
};

struct doca_gpunetio_ib_mlx5_err_cqe_ex {
    uint8_t rsvd0[32];
    __be32 srqn;
    uint8_t rsvd1[16];
    uint8_t hw_err_synd;
    uint8_t hw_synd_type;
    uint8_t vendor_err_synd;
    uint8_t syndrome;
    __be32 s_wqe_opcode_qpn;
    __be16 wqe_counter;
    uint8_t signature;
    uint8_t op_own;
};

GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_tm_cqe) == 20);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_ibv_tmh) == 16);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_cqe64) == 64);
GDAKI_LAYOUT(__alignof__(struct doca_gpunetio_ib_mlx5_cqe64) == 8);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, wqe_id) == 2);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, rsvd4) == 4);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, ml_path) == 17);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, rsvd20) == 18);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, slid) == 22);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, flags_rqpn) == 24);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, hds_ip_ext) == 28);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, l4_hdr_type_etc) == 29);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, vlan_info) == 30);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, srqn_uidx) == 32);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, imm_inval_pkey) == 36);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, app) == 40);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, app_op) == 41);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, app_info) == 42);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, byte_cnt) == 44);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, timestamp) == 48);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, sop_drop_qpn) == 56);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, wqe_counter) == 60);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, signature) == 62);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_cqe64, op_own) == 63);
GDAKI_LAYOUT(sizeof(struct doca_gpunetio_ib_mlx5_err_cqe_ex) == 64);
GDAKI_LAYOUT(__alignof__(struct doca_gpunetio_ib_mlx5_err_cqe_ex) == 4);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, srqn) == 32);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, rsvd1) == 36);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, hw_err_synd) == 52);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, hw_synd_type) == 53);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, vendor_err_synd) == 54);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, syndrome) == 55);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, s_wqe_opcode_qpn) == 56);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, wqe_counter) == 60);
GDAKI_LAYOUT(offsetof(struct doca_gpunetio_ib_mlx5_err_cqe_ex, op_own) == 63);

#ifdef __cplusplus
}
#endif
#endif
