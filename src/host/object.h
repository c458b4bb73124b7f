/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind the handles. Ownership: a handle owns its object; objects refer to others, which outlive them. */
#ifndef GDAKI_HOST_OBJECT_H
#define GDAKI_HOST_OBJECT_H

#include <pthread.h>

#include "doca_gpunetio_host.h"
#include "gpu/gpu.h"
#include "host/log.h"
#include "host/nic_seam.h"

#pragma GCC visibility push(hidden)

#define HOST_CQE_BYTES    64u
#define HOST_WQEBB_BYTES  64u
#define HOST_RECORD_BYTES 8u    /* word 0 receive or consumer index, word 1 send or arm */
#define HOST_NIC_PAGE     4096u /* unit of umem offsets in the PRM, whatever the system's page size */
#define HOST_CQE_INVALID  0xf1  /* opcode 15, owner 1: what the device expects in a CQE never written */

enum memory_placement { MEMORY_DEVICE, MEMORY_DEVICE_MAPPED, MEMORY_HOST };

/* One doca_gpu_mem_alloc. */
struct gpu_allocation {
    void *gpu;  /* what the caller has */
    void *cpu;
    void *base; /* what the allocator returned */
    size_t size;
    enum memory_placement placement;
    void *gdr; /* mapping of MEMORY_DEVICE_MAPPED on cuda */
    const char *refused; /* why it could not be made; NULL: the GPU's own text says it */
    struct gpu_allocation *next;
};

struct doca_gpu_open {
    const struct gdaki_gpu_ops *ops;
    int device;
    char bus_id[32];
    bool dmabuf_supported;
    bool writes_ordered; /* inbound NIC writes are ordered to kernels: no DUMP needed */
    bool async_store_supported;
    pthread_mutex_t lock; /* guards allocations */
    struct gpu_allocation *allocations;
};

struct doca_dev_open {
    struct ibv_pd *pd;
    struct ibv_context *context;
    const struct gdaki_nic_ops *nic;
};

struct doca_verbs_umem_open {
    const struct gdaki_nic_ops *nic;
    struct mlx5dv_devx_umem *umem;
    void *address;
    size_t size;
};

struct doca_verbs_uar_open {
    const struct gdaki_nic_ops *nic;
    struct mlx5dv_devx_uar *uar;
};

struct doca_verbs_cq_attr_open {
    uint32_t cq_size;
    void *cq_context;
    doca_verbs_umem_t *umem;
    uint64_t umem_offset;
    doca_verbs_umem_t *dbr_umem; /* 2.0: the record's own umem */
    uint64_t dbr_umem_offset;
    doca_verbs_uar_t *uar;
    enum doca_verbs_cq_overrun overrun;
    bool collapsed;
};

/* Memory of a queue: internal (ours, registered by us) or the caller's umem. */
struct queue_memory {
    void *buffer;                  /* internal only, else NULL */
    struct mlx5dv_devx_umem *umem; /* internal only, else NULL */
};

struct doca_verbs_cq_open {
    const struct gdaki_nic_ops *nic;
    struct mlx5dv_devx_obj *obj;
    struct queue_memory memory;
    doca_verbs_uar_t *own_uar; /* NULL with an external UAR */
    uint64_t *uar_reg;
    uint8_t *ring;
    uint32_t *record; /* word 0 consumer index, word 1 arm */
    uint32_t cqn;
    uint32_t entries;
    void *context;
    bool collapsed;
};

/* AH fields by value, as QP attributes keep them. */
struct ah_fields {
    struct doca_verbs_gid gid;
    enum doca_verbs_addr_type addr_type;
    uint32_t dlid;
    uint8_t sl;
    uint8_t sgid_index;
    uint8_t static_rate;
    uint8_t hop_limit;
    uint8_t traffic_class;
};

struct doca_verbs_ah_attr_open {
    struct ah_fields f;
};

struct doca_verbs_qp_attr_open {
    enum doca_verbs_qp_state next_state, current_state;
    enum doca_verbs_mtu_size path_mtu;
    uint32_t rq_psn, sq_psn, dest_qp_num;
    int allow_remote_write, allow_remote_read;
    enum doca_verbs_qp_atomic_mode atomic_mode;
    bool atomic_needs_no_mask; /* set through 2.0's setter: applied without the mask bit */
    bool ah_given;
    struct doca_verbs_ah_attr_open ah; /* by value: the caller's object may go away */
    doca_verbs_ah_attr_t ah_handle;    /* handle onto `ah`, for 2.0's getter */
    doca_verbs_ah_attr_t *ah_user;     /* 2.0's query fills the caller's object, which 2.0 requires to live */
    uint16_t pkey_index, port_num;
    uint8_t ack_timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic, max_dest_rd_atomic;
};

struct doca_verbs_qp_init_attr_open {
    struct ibv_pd *pd;
    doca_verbs_cq_t *send_cq, *receive_cq;
    int sq_sig_all;
    uint32_t sq_wr, rq_wr, send_max_sges, receive_max_sges, max_inline_data, user_index, qp_type;
    doca_verbs_umem_t *umem, *dbr_umem;
    uint64_t umem_offset, dbr_umem_offset;
    doca_verbs_uar_t *uar;
    void *qp_context;
    struct doca_verbs_srq *srq;
    uint8_t core_direct_master;
    enum doca_verbs_qp_send_dbr_mode send_dbr_mode;
    bool emulate_no_dbr_ext;
};

struct doca_verbs_qp_open {
    const struct gdaki_nic_ops *nic;
    struct ibv_context *context;
    struct mlx5dv_devx_obj *obj;
    struct doca_verbs_qp_init_attr_open init; /* as created: sizes rounded */
    enum doca_verbs_qp_state state;           /* after the last successful modify */
    struct queue_memory memory;
    doca_verbs_uar_t *own_uar;
    uint32_t qpn;
    uint8_t *rq, *sq;
    uint32_t rq_entries, rwqe_bytes;
    uint32_t sq_wqebbs;
    uint32_t *record;
    void *uar_reg; /* register that this queue's doorbells go to */
};

struct doca_verbs_srq_init_attr {
    uint32_t srq_wr, receive_max_sges;
    enum doca_verbs_srq_type type;
    struct ibv_pd *pd;
    doca_verbs_umem_t *umem;
    uint64_t umem_offset;
};

struct doca_verbs_srq {
    const struct gdaki_nic_ops *nic;
    struct mlx5dv_devx_obj *obj;
    struct queue_memory memory;
    uint8_t *ring;
    void *record;
    uint32_t srqn, entries, wqe_bytes;
};

/* Backend of a device the caller opened; logs and yields NULL when there is none. */
const struct gdaki_nic_ops *host_nic_of(const struct ibv_context *context);

static inline bool is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* Smallest power of two >= value; value 1..2^63. */
static inline uint64_t round_up_power_of_two(uint64_t value)
{
    return value <= 1 ? 1 : (uint64_t)1 << (64 - __builtin_clzll(value - 1));
}

static inline unsigned log2_of(uint64_t power_of_two)
{
    return (unsigned)__builtin_ctzll(power_of_two);
}

static inline uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* ---- queue memory (queue_memory.c) -------------------------------------------------------------------------------- */

/* Zeroed, page-aligned host memory, registered. 0 or negative errno. */
int queue_memory_create(const struct gdaki_nic_ops *nic, struct ibv_context *context, size_t size,
                        struct queue_memory *out);
void queue_memory_destroy(const struct gdaki_nic_ops *nic, struct queue_memory *memory);

/* ---- inner creates, without the flattening of error codes that 3.0's functions do ---------------------------------- */

doca_error_t umem_open_create(struct ibv_context *context, void *address, size_t size, uint32_t access_flags,
                              int dmabuf_fd, size_t dmabuf_offset, doca_verbs_umem_t **out);
doca_error_t uar_open_create(struct ibv_context *context, enum doca_verbs_uar_allocation_type type,
                             doca_verbs_uar_t **out);
doca_error_t cq_open_create(struct ibv_context *context, const struct doca_verbs_cq_attr_open *attr, bool paired_umems,
                            doca_verbs_cq_t **out);
doca_error_t qp_open_create(struct ibv_context *context, const struct doca_verbs_qp_init_attr_open *attr,
                            doca_verbs_qp_t **out);
doca_error_t ah_open_create(doca_verbs_ah_attr_t **out);

/* Registers and umems of open handles, for commands. */
uint32_t uar_page_of(const doca_verbs_uar_t *uar);
uint64_t *uar_register_of(const doca_verbs_uar_t *uar);
void *uar_dbr_less_of(const doca_verbs_uar_t *uar);
/* An internal UAR: NC or BF first, the other when refused. */
doca_error_t uar_create_any(struct ibv_context *context, bool blueflame_first, doca_verbs_uar_t **out);

/* What 3.0 reports for a failed create: NO_MEMORY and INVALID_VALUE of NULL arguments stay, the rest is one code. */
static inline doca_error_t flatten_create_error(doca_error_t err)
{
    return err == DOCA_SUCCESS || err == DOCA_ERROR_NO_MEMORY ? err : DOCA_ERROR_INITIALIZATION;
}

#pragma GCC visibility pop
#endif
