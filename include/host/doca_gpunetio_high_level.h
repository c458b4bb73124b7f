/* SPDX-License-Identifier: Apache-2.0 */
/* Queue, rings, records, registers and export in one call. C and C++. */
#ifndef DOCA_GPUNETIO_HOST_HIGH_LEVEL_H
#define DOCA_GPUNETIO_HOST_HIGH_LEVEL_H

#include "doca_gpunetio.h"
#include "doca_verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How rings in GPU memory are registered with the NIC. */
enum doca_gpu_verbs_mem_reg_type {
    DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT = 0,      /* DMA-BUF, else peer memory */
    DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF = 1,  /* DMA-BUF only */
    DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM = 2, /* peer memory only */
    DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX = 3
};

/* Zero it before use. One layout for all spellings; with net_dev NULL a device is opened from ibpd. */
struct doca_gpu_verbs_qp_init_attr_hl {
    doca_gpu_t *gpu_dev;
    doca_dev_t *net_dev;
    struct ibv_pd *ibpd;
    uint16_t sq_nwqe; /* rounded up to a power of two, in place; at most 32768 */
    uint8_t reserved1[2];
    enum doca_gpu_dev_verbs_nic_handler nic_handler;
    enum doca_gpu_verbs_mem_reg_type mreg_type;
    enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
    bool cq_collapsed;
    uint8_t reserved2[3];
    enum doca_verbs_qp_ordering_semantic ordering_semantic; /* other than IBTA needs the DOCA SDK */
    uint8_t reserved3[12];
} __attribute__((packed)) __attribute__((aligned(8)));

struct doca_gpu_verbs_qp_hl {
    doca_gpu_t *gpu_dev;
    doca_verbs_cq_t *cq_sq;
#if DOCA_GPUNETIO_API < 3
    /* 2.0 had a second buffer and umem for the CQ's record; now it lies behind the ring, so the names mean the same. */
    union {
        void *cq_sq_umem_gpu_ptr;
        void *cq_sq_umem_dbr_gpu_ptr;
    };
    union {
        doca_verbs_umem_t *cq_sq_umem;
        doca_verbs_umem_t *cq_sq_umem_dbr;
    };
#else
    void *cq_sq_umem_gpu_ptr;
    doca_verbs_umem_t *cq_sq_umem;
#endif
    doca_verbs_qp_t *qp;
    void *qp_umem_gpu_ptr;
    doca_verbs_umem_t *qp_umem;
    void *qp_umem_dbr_gpu_ptr; /* host memory under CPU_PROXY and SW_EMULATED */
    doca_verbs_umem_t *qp_umem_dbr;
    doca_verbs_uar_t *external_uar;
    enum doca_gpu_dev_verbs_nic_handler nic_handler; /* resolved */
    enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
    struct doca_gpu_verbs_qp *qp_gverbs;
};

struct doca_gpu_verbs_qp_group_hl {
    struct doca_gpu_verbs_qp_hl qp_main;
    struct doca_gpu_verbs_qp_hl qp_companion; /* core-direct master, for WAIT */
};

doca_error_t doca_gpu_verbs_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
                                         struct doca_gpu_verbs_qp_hl **qp);
doca_error_t doca_gpu_verbs_destroy_qp_hl(struct doca_gpu_verbs_qp_hl *qp);
doca_error_t doca_gpu_verbs_create_qp_group_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
                                               struct doca_gpu_verbs_qp_group_hl **qpg);
doca_error_t doca_gpu_verbs_destroy_qp_group_hl(struct doca_gpu_verbs_qp_group_hl *qpg);
/* One device array with a copy of each member's queue, to save a dereference in kernels. */
doca_error_t doca_gpu_verbs_qp_flat_list_create_hl(struct doca_gpu_verbs_qp_hl **qp_list, uint32_t num_elems,
                                                   struct doca_gpu_dev_verbs_qp **qp_gpu);
doca_error_t doca_gpu_verbs_qp_flat_list_destroy_hl(struct doca_gpu_dev_verbs_qp *qp_gpu);

#ifdef __cplusplus
}
#endif
#endif
