/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs objects: devices, registered memory, doorbell pages, completion queues, queue pairs, shared receive queues.
 *
 * C and C++. Every object is owned by the caller that created it and is destroyed before what it was made from. No
 * function is safe on one object from several threads; different objects are independent. A failing function changes
 * nothing. docs/host-api.md has each function with its rules and error codes.
 */
#ifndef DOCA_GPUNETIO_HOST_DOCA_VERBS_H
#define DOCA_GPUNETIO_HOST_DOCA_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doca_error.h"
#include "doca_gpunetio_compat.h"
#include "doca_gpunetio.h"

#ifdef __cplusplus
extern "C" {
#define DOCA_GPUNETIO_DEFAULT_NULL = nullptr
#else
#define DOCA_GPUNETIO_DEFAULT_NULL
#endif

struct ibv_pd;
struct ibv_context;

enum doca_verbs_lib_type { DOCA_VERBS_SDK_LIB_TYPE_OPEN = 0, DOCA_VERBS_SDK_LIB_TYPE_SDK = 1 };

enum doca_verbs_uar_allocation_type {
    DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME = 0,
    DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE = 1,
    DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED = 2
};

/* Tagged handles: 16 bytes, tag at 0, object at 8. */
#define DOCA_VERBS_HANDLE(name, object)                                                                                \
    struct object;                                                                                                     \
    typedef struct name {                                                                                              \
        enum doca_verbs_lib_type type;                                                                                 \
        union {                                                                                                        \
            void *sdk;                                                                                                 \
            struct object *open;                                                                                       \
        };                                                                                                             \
    } name

DOCA_VERBS_HANDLE(doca_dev_t, doca_dev_open);
DOCA_VERBS_HANDLE(doca_verbs_qp_init_attr_t, doca_verbs_qp_init_attr_open);
DOCA_VERBS_HANDLE(doca_verbs_qp_attr_t, doca_verbs_qp_attr_open);
DOCA_VERBS_HANDLE(doca_verbs_qp_t, doca_verbs_qp_open);
DOCA_VERBS_HANDLE(doca_verbs_cq_attr_t, doca_verbs_cq_attr_open);
DOCA_VERBS_HANDLE(doca_verbs_cq_t, doca_verbs_cq_open);
DOCA_VERBS_HANDLE(doca_verbs_ah_attr_t, doca_verbs_ah_attr_open);
DOCA_VERBS_HANDLE(doca_verbs_umem_t, doca_verbs_umem_open);

struct doca_verbs_uar_open;
typedef struct doca_verbs_uar_t {
    enum doca_verbs_lib_type type;
    enum doca_verbs_uar_allocation_type allocation_type;
    union {
        void *sdk;
        struct doca_verbs_uar_open *open;
    };
} doca_verbs_uar_t;

struct doca_verbs_srq;
struct doca_verbs_srq_init_attr;
struct doca_verbs_device_attr;

enum doca_verbs_qp_state {
    DOCA_VERBS_QP_STATE_RST = 0,
    DOCA_VERBS_QP_STATE_INIT = 1,
    DOCA_VERBS_QP_STATE_RTR = 2,
    DOCA_VERBS_QP_STATE_RTS = 3,
    DOCA_VERBS_QP_STATE_ERR = 4
};

enum doca_verbs_addr_type {
    DOCA_VERBS_ADDR_TYPE_IPv4 = 0,
    DOCA_VERBS_ADDR_TYPE_IPv6 = 1,
    DOCA_VERBS_ADDR_TYPE_IB_GRH = 2,
    DOCA_VERBS_ADDR_TYPE_IB_NO_GRH = 3
};

enum doca_verbs_mtu_size {
    DOCA_VERBS_MTU_SIZE_256_BYTES = 0,
    DOCA_VERBS_MTU_SIZE_512_BYTES = 1,
    DOCA_VERBS_MTU_SIZE_1K_BYTES = 2,
    DOCA_VERBS_MTU_SIZE_2K_BYTES = 3,
    DOCA_VERBS_MTU_SIZE_4K_BYTES = 4,
    DOCA_VERBS_MTU_SIZE_RAW_ETHERNET = 5 /* answered by query, refused by modify */
};

enum doca_verbs_cq_overrun { DOCA_VERBS_CQ_DISABLE_OVERRUN = 0, DOCA_VERBS_CQ_ENABLE_OVERRUN = 1 };

enum doca_verbs_srq_type { DOCA_VERBS_SRQ_TYPE_LINKED_LIST = 0, DOCA_VERBS_SRQ_TYPE_CONTIGUOUS = 1 };

enum doca_verbs_qp_atomic_mode {
    DOCA_VERBS_QP_ATOMIC_MODE_NONE = 0,
    DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC = 1,
    DOCA_VERBS_QP_ATOMIC_MODE_ONLY_8BYTES = 2,
    DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES = 3,
    DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_16BYTES = 4,
    DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_32BYTES = 5,
    DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_64BYTES = 6,
    DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_128BYTES = 7,
    DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_256BYTES = 8
};

enum doca_verbs_qp_send_dbr_mode {
    DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID = 0,
    DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT = 1
};

enum doca_verbs_qp_ordering_semantic {
    DOCA_VERBS_QP_ORDERING_SEMANTIC_IBTA = 0,
    DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_RW = 1,
    DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_ALL = 2
};

#define DOCA_VERBS_QP_TYPE_RC 0x0

/* What a modify carries. */
#define DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE (1 << 0)
#define DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ  (1 << 1)
#define DOCA_VERBS_QP_ATTR_PKEY_INDEX         (1 << 2)
#define DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER      (1 << 3)
#define DOCA_VERBS_QP_ATTR_PORT_NUM           (1 << 4)
#define DOCA_VERBS_QP_ATTR_NEXT_STATE         (1 << 5)
#define DOCA_VERBS_QP_ATTR_CURRENT_STATE      (1 << 6)
#define DOCA_VERBS_QP_ATTR_PATH_MTU           (1 << 7)
#define DOCA_VERBS_QP_ATTR_RQ_PSN             (1 << 8)
#define DOCA_VERBS_QP_ATTR_SQ_PSN             (1 << 9)
#define DOCA_VERBS_QP_ATTR_DEST_QP_NUM        (1 << 10)
#define DOCA_VERBS_QP_ATTR_ACK_TIMEOUT        (1 << 11)
#define DOCA_VERBS_QP_ATTR_RETRY_CNT          (1 << 12)
#define DOCA_VERBS_QP_ATTR_RNR_RETRY          (1 << 13)
#define DOCA_VERBS_QP_ATTR_AH_ATTR            (1 << 14)
#define DOCA_VERBS_QP_ATTR_ATOMIC_MODE        (1 << 15)
#define DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC   (1 << 16)
#define DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC (1 << 17)

#define DOCA_VERBS_GID_BYTE_LENGTH   16
#define DOCA_VERBS_DMABUF_INVALID_FD 0xFFFFFFFF

struct doca_verbs_gid {
    uint8_t raw[DOCA_VERBS_GID_BYTE_LENGTH]; /* network order */
};

/* ---- devices --------------------------------------------------------------------------------------------------------- */

/* The protection domain stays the caller's; close after all objects made with the device. */
doca_error_t doca_verbs_dev_open(struct ibv_pd *verbs_pd, doca_dev_t **net_dev);
doca_error_t doca_verbs_dev_close(doca_dev_t *net_dev);

/* ---- registered memory and doorbell pages ---------------------------------------------------------------------------- */

doca_error_t doca_verbs_umem_destroy(doca_verbs_umem_t *umem_obj);
doca_error_t doca_verbs_umem_get_id(const doca_verbs_umem_t *umem_obj, uint32_t *umem_id);
doca_error_t doca_verbs_umem_get_size(const doca_verbs_umem_t *umem_obj, size_t *umem_size);
doca_error_t doca_verbs_umem_get_address(const doca_verbs_umem_t *umem_obj, void **umem_address);
doca_error_t doca_verbs_uar_destroy(doca_verbs_uar_t *uar_obj);
doca_error_t doca_verbs_uar_id_get(const doca_verbs_uar_t *uar, uint32_t *id);
doca_error_t doca_verbs_uar_reg_addr_get(const doca_verbs_uar_t *uar_obj, void **reg_addr);
doca_error_t doca_verbs_uar_dbr_less_addr_get(const doca_verbs_uar_t *uar_obj, void **dbr_less_addr);
#if DOCA_GPUNETIO_API >= 3
doca_error_t doca_verbs_umem_create(doca_dev_t *net_dev, doca_gpu_t *gpu, void *address, size_t size,
                                    uint32_t access_flags, int dmabuf_id, size_t dmabuf_offset,
                                    doca_verbs_umem_t **umem_obj);
doca_error_t doca_verbs_uar_create(doca_dev_t *net_dev, enum doca_verbs_uar_allocation_type allocation_type,
                                   doca_verbs_uar_t **uar_obj);
#else
doca_error_t doca_verbs_umem_create(struct ibv_context *context, void *address, size_t size, uint32_t access_flags,
                                    int dmabuf_id, size_t dmabuf_offset, doca_verbs_umem_t **umem_obj)
    DOCA_GPUNETIO_BIND("doca_verbs_umem_create_v2");
doca_error_t doca_verbs_uar_create(struct ibv_context *context, enum doca_verbs_uar_allocation_type allocation_type,
                                   doca_verbs_uar_t **uar_obj)
    DOCA_GPUNETIO_BIND("doca_verbs_uar_create_v2");
#endif

/* ---- completion queues ----------------------------------------------------------------------------------------------- */

doca_error_t doca_verbs_cq_attr_create(doca_verbs_cq_attr_t **verbs_cq_attr);
doca_error_t doca_verbs_cq_attr_destroy(doca_verbs_cq_attr_t *verbs_cq_attr);
doca_error_t doca_verbs_cq_attr_set_cq_size(doca_verbs_cq_attr_t *cq_attr, uint32_t cq_size);
doca_error_t doca_verbs_cq_attr_set_cq_context(doca_verbs_cq_attr_t *cq_attr, void *cq_context);
doca_error_t doca_verbs_cq_attr_set_external_umem(doca_verbs_cq_attr_t *cq_attr, doca_verbs_umem_t *external_umem,
                                                  uint64_t external_umem_offset);
doca_error_t doca_verbs_cq_attr_set_external_dbr_umem(doca_verbs_cq_attr_t *cq_attr, doca_verbs_umem_t *external_umem,
                                                      uint64_t external_umem_offset);
doca_error_t doca_verbs_cq_attr_set_external_uar(doca_verbs_cq_attr_t *cq_attr, doca_verbs_uar_t *external_uar);
doca_error_t doca_verbs_cq_attr_set_cq_overrun(doca_verbs_cq_attr_t *cq_attr, enum doca_verbs_cq_overrun overrun);
doca_error_t doca_verbs_cq_attr_set_cq_collapsed(doca_verbs_cq_attr_t *cq_attr, uint8_t cc);
doca_error_t doca_verbs_cq_destroy(doca_verbs_cq_t *verbs_cq);
doca_error_t doca_verbs_cq_get_wq(doca_verbs_cq_t *verbs_cq, void **cq_buf, uint32_t *cq_num_entries,
                                  uint8_t *cq_entry_size);
doca_error_t doca_verbs_cq_get_dbr_addr(doca_verbs_cq_t *verbs_cq, uint64_t **uar_db_reg, uint32_t **ci_dbr,
                                        uint32_t **arm_dbr);
#if DOCA_GPUNETIO_API >= 3
doca_error_t doca_verbs_cq_create(doca_dev_t *net_dev, doca_verbs_cq_attr_t *cq_attr, doca_verbs_cq_t **cq);
doca_error_t doca_verbs_cq_get_cqn(const doca_verbs_cq_t *verbs_cq, uint32_t *cqn);
#else
doca_error_t doca_verbs_cq_create(struct ibv_context *context, doca_verbs_cq_attr_t *verbs_cq_attr,
                                  doca_verbs_cq_t **verbs_cq)
    DOCA_GPUNETIO_BIND("doca_verbs_cq_create_v2");
uint32_t doca_verbs_cq_get_cqn(const doca_verbs_cq_t *verbs_cq) DOCA_GPUNETIO_BIND("doca_verbs_cq_get_cqn_v2");
#endif

/* ---- shared receive queues ------------------------------------------------------------------------------------------- */

doca_error_t doca_verbs_srq_init_attr_create(struct doca_verbs_srq_init_attr **verbs_srq_init_attr);
doca_error_t doca_verbs_srq_init_attr_destroy(struct doca_verbs_srq_init_attr *verbs_srq_init_attr);
doca_error_t doca_verbs_srq_init_attr_set_srq_wr(struct doca_verbs_srq_init_attr *verbs_srq_init_attr, uint32_t srq_wr);
uint32_t doca_verbs_srq_init_attr_get_srq_wr(const struct doca_verbs_srq_init_attr *verbs_srq_init_attr);
doca_error_t doca_verbs_srq_init_attr_set_receive_max_sges(struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                                           uint32_t receive_max_sges);
uint32_t doca_verbs_srq_init_attr_get_receive_max_sges(const struct doca_verbs_srq_init_attr *verbs_srq_init_attr);
doca_error_t doca_verbs_srq_init_attr_set_type(struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                               enum doca_verbs_srq_type srq_type);
enum doca_verbs_srq_type doca_verbs_srq_init_attr_get_type(const struct doca_verbs_srq_init_attr *verbs_srq_init_attr);
doca_error_t doca_verbs_srq_init_attr_set_pd(struct doca_verbs_srq_init_attr *verbs_srq_init_attr, struct ibv_pd *pd);
struct ibv_pd *doca_verbs_srq_init_attr_get_pd(const struct doca_verbs_srq_init_attr *verbs_srq_init_attr);
doca_error_t doca_verbs_srq_init_attr_set_external_umem(struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                                        doca_verbs_umem_t *external_umem,
                                                        uint64_t external_umem_offset);
doca_error_t doca_verbs_srq_init_attr_get_external_umem(const struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                                        doca_verbs_umem_t **external_umem,
                                                        uint64_t *external_umem_offset);
doca_error_t doca_verbs_srq_create(struct ibv_context *verbs_context,
                                   struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                   struct doca_verbs_srq **verbs_srq);
doca_error_t doca_verbs_srq_destroy(struct doca_verbs_srq *verbs_srq);
uint32_t doca_verbs_srq_get_srqn(const struct doca_verbs_srq *verbs_srq);
void doca_verbs_srq_get_wq(const struct doca_verbs_srq *verbs_srq, void **srq_buf, uint32_t *srq_num_entries,
                           uint32_t *rwqe_size_bytes);
void *doca_verbs_srq_get_dbr_addr(const struct doca_verbs_srq *verbs_srq);

/* ---- QP creation attributes ------------------------------------------------------------------------------------------ */

doca_error_t doca_verbs_qp_init_attr_create(doca_verbs_qp_init_attr_t **verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_destroy(doca_verbs_qp_init_attr_t *qp_init_attr);
struct ibv_pd *doca_verbs_qp_init_attr_get_pd(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_send_cq(doca_verbs_qp_init_attr_t *qp_init_attr, doca_verbs_cq_t *send_cq);
doca_verbs_cq_t *doca_verbs_qp_init_attr_get_send_cq(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_receive_cq(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                    doca_verbs_cq_t *receive_cq);
doca_verbs_cq_t *doca_verbs_qp_init_attr_get_receive_cq(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_sq_sig_all(doca_verbs_qp_init_attr_t *qp_init_attr, int sq_sig_all);
int doca_verbs_qp_init_attr_get_sq_sig_all(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_sq_wr(doca_verbs_qp_init_attr_t *qp_init_attr, uint32_t sq_wr);
uint32_t doca_verbs_qp_init_attr_get_sq_wr(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_rq_wr(doca_verbs_qp_init_attr_t *qp_init_attr, uint32_t rq_wr);
uint32_t doca_verbs_qp_init_attr_get_rq_wr(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_send_max_sges(doca_verbs_qp_init_attr_t *qp_init_attr, uint32_t send_max_sges);
uint32_t doca_verbs_qp_init_attr_get_send_max_sges(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_receive_max_sges(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                          uint32_t receive_max_sges);
uint32_t doca_verbs_qp_init_attr_get_receive_max_sges(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_max_inline_data(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                         uint32_t max_inline_data);
uint32_t doca_verbs_qp_init_attr_get_max_inline_data(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_user_index(doca_verbs_qp_init_attr_t *qp_init_attr, uint32_t user_index);
uint32_t doca_verbs_qp_init_attr_get_user_index(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_qp_type(doca_verbs_qp_init_attr_t *qp_init_attr, uint32_t qp_type);
uint32_t doca_verbs_qp_init_attr_get_qp_type(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_external_umem(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                       doca_verbs_umem_t *external_umem, uint64_t external_umem_offset);
doca_error_t doca_verbs_qp_init_attr_set_external_dbr_umem(doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                           doca_verbs_umem_t *external_umem,
                                                           uint64_t external_umem_offset);
doca_error_t doca_verbs_qp_init_attr_set_external_umem_dbr(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                           doca_verbs_umem_t *external_umem,
                                                           uint64_t external_umem_offset);
doca_error_t doca_verbs_qp_init_attr_get_external_umem(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                       doca_verbs_umem_t **external_umem,
                                                       uint64_t *external_umem_offset);
doca_error_t doca_verbs_qp_init_attr_set_external_uar(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                      doca_verbs_uar_t *external_uar);
doca_error_t doca_verbs_qp_init_attr_get_external_uar(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                      doca_verbs_uar_t **external_uar);
doca_error_t doca_verbs_qp_init_attr_set_qp_context(doca_verbs_qp_init_attr_t *qp_init_attr, void *qp_context);
void *doca_verbs_qp_init_attr_get_qp_context(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_srq(doca_verbs_qp_init_attr_t *qp_init_attr, struct doca_verbs_srq *srq);
struct doca_verbs_srq *doca_verbs_qp_init_attr_get_srq(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_core_direct_master(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                            uint8_t core_direct_master);
uint8_t doca_verbs_qp_init_attr_get_core_direct_master(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr);
doca_error_t doca_verbs_qp_init_attr_set_send_dbr_mode(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                       enum doca_verbs_qp_send_dbr_mode send_dbr_mode);
doca_error_t doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                            bool emulate_no_dbr_ext);
doca_error_t doca_verbs_qp_init_attr_set_ordering_semantic(doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                           enum doca_verbs_qp_ordering_semantic ordering_semantic);
doca_error_t doca_verbs_qp_init_attr_get_ordering_semantic(doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                           enum doca_verbs_qp_ordering_semantic *ordering_semantic);
#if DOCA_GPUNETIO_API >= 3
doca_error_t doca_verbs_qp_init_attr_set_pd(doca_verbs_qp_init_attr_t *qp_init_attr, doca_dev_t *net_dev);
doca_error_t doca_verbs_qp_init_attr_get_send_dbr_mode(const doca_verbs_qp_init_attr_t *qp_init_attr,
                                                       enum doca_verbs_qp_send_dbr_mode *send_dbr_mode);
doca_error_t doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(const doca_verbs_qp_init_attr_t *qp_init_attr,
                                                            bool *emulate_no_dbr_ext);
#else
doca_error_t doca_verbs_qp_init_attr_set_pd(doca_verbs_qp_init_attr_t *verbs_qp_init_attr, struct ibv_pd *pd)
    DOCA_GPUNETIO_BIND("doca_verbs_qp_init_attr_set_pd_v2");
enum doca_verbs_qp_send_dbr_mode doca_verbs_qp_init_attr_get_send_dbr_mode(
                                                                           const doca_verbs_qp_init_attr_t *verbs_qp_init_attr)
    DOCA_GPUNETIO_BIND("doca_verbs_qp_init_attr_get_send_dbr_mode_v2");
bool doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr)
    DOCA_GPUNETIO_BIND("doca_verbs_qp_init_attr_get_emulate_no_dbr_ext_v2");
#endif

/* ---- QP state attributes --------------------------------------------------------------------------------------------- */

doca_error_t doca_verbs_qp_attr_create(doca_verbs_qp_attr_t **verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_destroy(doca_verbs_qp_attr_t *qp_attr);
doca_error_t doca_verbs_qp_attr_set_next_state(doca_verbs_qp_attr_t *qp_attr, enum doca_verbs_qp_state next_state);
enum doca_verbs_qp_state doca_verbs_qp_attr_get_next_state(const doca_verbs_qp_attr_t *qp_attr);
doca_error_t doca_verbs_qp_attr_set_current_state(doca_verbs_qp_attr_t *qp_attr,
                                                  enum doca_verbs_qp_state current_state);
doca_error_t doca_verbs_qp_attr_set_path_mtu(doca_verbs_qp_attr_t *qp_attr, enum doca_verbs_mtu_size path_mtu);
enum doca_verbs_mtu_size doca_verbs_qp_attr_get_path_mtu(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_rq_psn(doca_verbs_qp_attr_t *qp_attr, uint32_t rq_psn);
uint32_t doca_verbs_qp_attr_get_rq_psn(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_sq_psn(doca_verbs_qp_attr_t *qp_attr, uint32_t sq_psn);
uint32_t doca_verbs_qp_attr_get_sq_psn(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_dest_qp_num(doca_verbs_qp_attr_t *qp_attr, uint32_t dest_qp_num);
uint32_t doca_verbs_qp_attr_get_dest_qp_num(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_allow_remote_write(doca_verbs_qp_attr_t *qp_attr, int allow_remote_write);
int doca_verbs_qp_attr_get_allow_remote_write(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_allow_remote_read(doca_verbs_qp_attr_t *qp_attr, int allow_remote_read);
int doca_verbs_qp_attr_get_allow_remote_read(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_allow_remote_atomic(doca_verbs_qp_attr_t *verbs_qp_attr,
                                                        enum doca_verbs_qp_atomic_mode allow_atomic_type);
doca_error_t doca_verbs_qp_attr_set_atomic_mode(doca_verbs_qp_attr_t *qp_attr,
                                                enum doca_verbs_qp_atomic_mode allow_atomic_type);
enum doca_verbs_qp_atomic_mode doca_verbs_qp_attr_get_allow_remote_atomic(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_ah_attr(doca_verbs_qp_attr_t *qp_attr, doca_verbs_ah_attr_t *ah_attr);
doca_verbs_ah_attr_t *doca_verbs_qp_attr_get_ah_attr(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_pkey_index(doca_verbs_qp_attr_t *qp_attr, uint16_t pkey_index);
uint16_t doca_verbs_qp_attr_get_pkey_index(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_port_num(doca_verbs_qp_attr_t *qp_attr, uint16_t port_num);
uint16_t doca_verbs_qp_attr_get_port_num(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_ack_timeout(doca_verbs_qp_attr_t *qp_attr, uint16_t ack_timeout);
uint16_t doca_verbs_qp_attr_get_ack_timeout(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_retry_cnt(doca_verbs_qp_attr_t *qp_attr, uint16_t retry_cnt);
uint16_t doca_verbs_qp_attr_get_retry_cnt(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_rnr_retry(doca_verbs_qp_attr_t *qp_attr, uint16_t rnr_retry);
uint16_t doca_verbs_qp_attr_get_rnr_retry(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_min_rnr_timer(doca_verbs_qp_attr_t *qp_attr, uint16_t min_rnr_timer);
uint16_t doca_verbs_qp_attr_get_min_rnr_timer(const doca_verbs_qp_attr_t *verbs_qp_attr);
doca_error_t doca_verbs_qp_attr_set_max_rd_atomic(doca_verbs_qp_attr_t *qp_attr, uint8_t max_rd_atomic);
doca_error_t doca_verbs_qp_attr_set_max_dest_rd_atomic(doca_verbs_qp_attr_t *qp_attr, uint8_t max_dest_rd_atomic);
#if DOCA_GPUNETIO_API >= 3
doca_error_t doca_verbs_qp_attr_get_current_state(doca_verbs_qp_attr_t *qp_attr,
                                                  enum doca_verbs_qp_state *current_state);
#else
enum doca_verbs_qp_state doca_verbs_qp_attr_get_current_state(const doca_verbs_qp_attr_t *verbs_qp_attr)
    DOCA_GPUNETIO_BIND("doca_verbs_qp_attr_get_current_state_v2");
#endif

/* ---- address handle attributes --------------------------------------------------------------------------------------- */

doca_error_t doca_verbs_ah_attr_destroy(doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_gid(doca_verbs_ah_attr_t *ah_attr, struct doca_verbs_gid gid);
struct doca_verbs_gid doca_verbs_ah_get_gid(const doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_addr_type(doca_verbs_ah_attr_t *ah_attr, enum doca_verbs_addr_type addr_type);
enum doca_verbs_addr_type doca_verbs_ah_get_addr_type(const doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_dlid(doca_verbs_ah_attr_t *ah_attr, uint32_t dlid);
uint32_t doca_verbs_ah_get_dlid(const doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_sl(doca_verbs_ah_attr_t *ah_attr, uint8_t sl);
uint8_t doca_verbs_ah_get_sl(const doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_sgid_index(doca_verbs_ah_attr_t *ah_attr, uint8_t sgid_index);
uint8_t doca_verbs_ah_get_sgid_index(const doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_static_rate(doca_verbs_ah_attr_t *ah_attr, uint8_t static_rate);
uint8_t doca_verbs_ah_get_static_rate(const doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_hop_limit(doca_verbs_ah_attr_t *ah_attr, uint8_t hop_limit);
uint8_t doca_verbs_ah_get_hop_limit(const doca_verbs_ah_attr_t *ah_attr);
doca_error_t doca_verbs_ah_attr_set_traffic_class(doca_verbs_ah_attr_t *ah_attr, uint8_t traffic_class);
uint8_t doca_verbs_ah_get_traffic_class(const doca_verbs_ah_attr_t *ah_attr);
#if DOCA_GPUNETIO_API >= 3
doca_error_t doca_verbs_ah_attr_create(doca_dev_t *net_dev, doca_verbs_ah_attr_t **ah_attr);
#else
doca_error_t doca_verbs_ah_attr_create(struct ibv_context *context, doca_verbs_ah_attr_t **verbs_ah)
    DOCA_GPUNETIO_BIND("doca_verbs_ah_attr_create_v2");
#endif

/* ---- queue pairs ----------------------------------------------------------------------------------------------------- */

doca_error_t doca_verbs_qp_destroy(doca_verbs_qp_t *verbs_qp);
doca_error_t doca_verbs_qp_modify(doca_verbs_qp_t *verbs_qp, doca_verbs_qp_attr_t *qp_attr, int attr_mask);
doca_error_t doca_verbs_qp_get_wq(const doca_verbs_qp_t *verbs_qp, void **sq_buf, uint32_t *sq_num_entries,
                                  void **rq_buf, uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes);
enum doca_verbs_qp_send_dbr_mode doca_verbs_qp_get_send_dbr_mode(const doca_verbs_qp_t *verbs_qp);
bool doca_verbs_qp_get_emulate_no_dbr_ext(const doca_verbs_qp_t *verbs_qp);
#if DOCA_GPUNETIO_API >= 3
doca_error_t doca_verbs_qp_create(doca_dev_t *net_dev, doca_verbs_qp_init_attr_t *qp_init_attr,
                                  doca_verbs_qp_t **verbs_qp);
doca_error_t doca_verbs_qp_query(doca_verbs_qp_t *verbs_qp, doca_verbs_qp_attr_t *qp_attr,
                                 doca_verbs_qp_init_attr_t *qp_init_attr, int *attr_mask DOCA_GPUNETIO_DEFAULT_NULL);
doca_error_t doca_verbs_qp_get_dbr_addr(const doca_verbs_qp_t *verbs_qp, void **dbr_addr);
doca_error_t doca_verbs_qp_get_uar_addr(const doca_verbs_qp_t *verbs_qp, void **uar_addr);
doca_error_t doca_verbs_qp_get_qpn(const doca_verbs_qp_t *verbs_qp, uint32_t *qpn);
#else
doca_error_t doca_verbs_qp_create(struct ibv_context *context, doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                  doca_verbs_qp_t **verbs_qp)
    DOCA_GPUNETIO_BIND("doca_verbs_qp_create_v2");
doca_error_t doca_verbs_qp_query(doca_verbs_qp_t *verbs_qp, doca_verbs_qp_attr_t *verbs_qp_attr,
                                 doca_verbs_qp_init_attr_t *verbs_qp_init_attr)
    DOCA_GPUNETIO_BIND("doca_verbs_qp_query_v2");
void *doca_verbs_qp_get_dbr_addr(const doca_verbs_qp_t *verbs_qp) DOCA_GPUNETIO_BIND("doca_verbs_qp_get_dbr_addr_v2");
void *doca_verbs_qp_get_uar_addr(const doca_verbs_qp_t *verbs_qp) DOCA_GPUNETIO_BIND("doca_verbs_qp_get_uar_addr_v2");
uint32_t doca_verbs_qp_get_qpn(const doca_verbs_qp_t *verbs_qp) DOCA_GPUNETIO_BIND("doca_verbs_qp_get_qpn_v2");
#endif

/* ---- device attributes ----------------------------------------------------------------------------------------------- */

doca_error_t doca_verbs_query_device(struct ibv_context *context, struct doca_verbs_device_attr **verbs_device_attr);
doca_error_t doca_verbs_device_attr_free(struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_qp(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_qp_wr(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_sge(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_cq(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_cqe(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_mr(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_pd(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_ah(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_srq(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_srq_wr(const struct doca_verbs_device_attr *verbs_device_attr);
uint32_t doca_verbs_device_attr_get_max_srq_sge(const struct doca_verbs_device_attr *verbs_device_attr);
uint16_t doca_verbs_device_attr_get_max_pkeys(const struct doca_verbs_device_attr *verbs_device_attr);
doca_error_t doca_verbs_device_attr_get_is_qp_type_supported(const struct doca_verbs_device_attr *verbs_device_attr,
                                                             uint32_t qp_type);
uint8_t doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(const struct doca_verbs_device_attr *verbs_device_attr);
uint8_t doca_verbs_device_attr_get_max_qp_rd_atom(const struct doca_verbs_device_attr *verbs_device_attr);
uint8_t doca_verbs_device_attr_get_max_qp_init_rd_atom(const struct doca_verbs_device_attr *verbs_device_attr);

#ifdef __cplusplus
}
#endif
#endif
