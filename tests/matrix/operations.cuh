/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the matrix, one function each, and what each leaves behind.
 *
 * Every thread has slots of its own: `slot` bytes at index (thread * iterations + i) of each region. The host fills the
 * source and the "remote" region with known bytes, runs the kernel, and compares with what expect.h computes.
 */
#ifndef GDAKI_TESTS_MATRIX_OPERATIONS_CUH
#define GDAKI_TESTS_MATRIX_OPERATIONS_CUH

#include "doca_gpunetio_device.h"

enum op {
    OP_PUT,
    OP_P,
    OP_GET,
    OP_SIGNAL,
    OP_PUT_SIGNAL,
    OP_P_SIGNAL,
    OP_PUT_COUNTER,
    OP_P_COUNTER,
    OP_PUT_SIGNAL_COUNTER,
    OP_SIGNAL_COUNTER,
    OP_GET_COUNTER,
    OP_WRITE,         /* built by hand, one gather entry */
    OP_WRITE_2,       /* built by hand, two gather entries */
    OP_WRITE_INLINE,  /* built by hand, 28 bytes in the WQE */
    OP_READ,          /* built by hand */
    OP_FETCH_ADD,     /* built by hand, every thread on a word of its own */
    OP_COMPARE_SWAP,  /* built by hand */
    OP_MASKED_FETCH_ADD_4,
    OP_MASKED_FETCH_ADD_8,
    OP_MASKED_COMPARE_SWAP_4,
    OP_MASKED_COMPARE_SWAP_8, /* two slots, one CQE: on collapsed CQs only */
    OP_NOP,
    OP_DUMP,
    OP_COUNT
};

enum { SLOT_BYTES = 64 }; /* data per thread and iteration */
enum { INLINE_BYTES = 28 };

/* Where the kernel works. Addresses are of pinned host memory; keys big-endian as the device functions want them. */
struct job {
    struct doca_gpu_dev_verbs_qp *qps[8]; /* by queue index */
    struct doca_gpu_dev_verbs_qp *companions[8];
    struct doca_gpu_dev_verbs_addr source, target; /* slots */
    struct doca_gpu_dev_verbs_addr words;          /* 8 bytes a slot: what atomics change */
    struct doca_gpu_dev_verbs_addr fetched;        /* 8 bytes a slot: old values */
    struct doca_gpu_dev_verbs_addr signal;         /* one 8-byte word a queue */
    struct doca_gpu_dev_verbs_addr counter;        /* one 8-byte word a queue */
    int *status;                                   /* one a thread: first non-zero result of a wait */
    enum op op;
    int iterations;
};

__device__ static inline struct doca_gpu_dev_verbs_addr plus(struct doca_gpu_dev_verbs_addr addr, uint64_t offset)
{
    addr.addr += offset;
    return addr;
}

/* A WQE built by hand: reserve, prepare, hand over, submit. Returns the index to poll. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_sync_scope sync,
          enum doca_gpu_dev_verbs_nic_handler handler>
__device__ static inline uint64_t by_hand(struct doca_gpu_dev_verbs_qp *qp, const struct job &job, uint64_t slot)
{
    const uint32_t slots = job.op == OP_MASKED_COMPARE_SWAP_8 ? 2 : 1;
    const uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<sharing>(qp, slots);
    struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);
    const enum doca_gpu_dev_verbs_wqe_ctrl_flags flags = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
    const uint64_t source = job.source.addr + slot * SLOT_BYTES, target = job.target.addr + slot * SLOT_BYTES;
    const uint64_t word = job.words.addr + slot * 8, fetched = job.fetched.addr + slot * 8;
    switch (job.op) {
    case OP_WRITE:
        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, flags,
                                             0, target, job.target.key, source, job.source.key, SLOT_BYTES);
        break;
    case OP_WRITE_2:
        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, flags,
                                             0, target, job.target.key, source, job.source.key, 24, source + 24,
                                             job.source.key, SLOT_BYTES - 24);
        break;
    case OP_WRITE_INLINE:
        doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, wqe, (uint16_t)index, flags, target, job.target.key, source,
                                                 INLINE_BYTES);
        break;
    case OP_READ:
        doca_gpu_dev_verbs_wqe_prepare_read(qp, wqe, (uint16_t)index, flags, target, job.target.key, source,
                                            job.source.key, SLOT_BYTES);
        break;
    case OP_FETCH_ADD:
        doca_gpu_dev_verbs_wqe_prepare_atomic(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA, flags,
                                              word, job.words.key, fetched, job.fetched.key, 8, 1000 + slot, 0);
        break;
    case OP_COMPARE_SWAP:
        doca_gpu_dev_verbs_wqe_prepare_atomic(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS, flags,
                                              word, job.words.key, fetched, job.fetched.key, 8, slot + 1, ~slot);
        break;
    case OP_MASKED_FETCH_ADD_4:
        doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>(
            qp, wqe, nullptr, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA, flags, word,
            job.words.key, fetched, job.fetched.key, 7, 0, 0, 0, 0, 0);
        break;
    case OP_MASKED_FETCH_ADD_8:
        doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
            qp, wqe, nullptr, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA, flags, word,
            job.words.key, fetched, job.fetched.key, 7, 0, 0, 0, 0, 0);
        break;
    case OP_MASKED_COMPARE_SWAP_4:
        doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>(
            qp, wqe, nullptr, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, flags, word,
            job.words.key, fetched, job.fetched.key, 0, 0, 0x11223344, doca_gpu_dev_verbs_bswap32((uint32_t)slot + 1),
            0x00ff00ff, 0xffffffff);
        break;
    case OP_MASKED_COMPARE_SWAP_8:
        doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(
            qp, wqe, doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)(index + 1)), (uint16_t)index,
            DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS, flags, word, job.words.key, fetched, job.fetched.key, 0, 0,
            0x1122334455667788ull, doca_gpu_dev_verbs_bswap64(slot + 1), 0x00ff00ff00ff00ffull, ~0ull);
        break;
    case OP_NOP:
        doca_gpu_dev_verbs_wqe_prepare_nop(qp, wqe, (uint16_t)index, flags);
        break;
    default:
        doca_gpu_dev_verbs_wqe_prepare_dump(qp, wqe, (uint16_t)index, flags, source, job.source.key, SLOT_BYTES);
        break;
    }
    doca_gpu_dev_verbs_mark_wqes_ready<sharing>(qp, index, index + slots - 1);
    doca_gpu_dev_verbs_submit<sharing, sync, handler>(qp, index + slots);
    return index; /* what its CQE carries */
}

/* One operation through the one-sided functions. Returns the ticket; counters have none: the queue is waited for whole. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_nic_handler handler,
          enum doca_gpu_dev_verbs_exec_scope exec>
__device__ static inline bool one_sided(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_qp *companion,
                                        const struct job &job, uint64_t slot, int queue,
                                        doca_gpu_dev_verbs_ticket_t *ticket)
{
    const struct doca_gpu_dev_verbs_addr source = plus(job.source, slot * SLOT_BYTES);
    const struct doca_gpu_dev_verbs_addr target = plus(job.target, slot * SLOT_BYTES);
    const struct doca_gpu_dev_verbs_addr fetched = plus(job.fetched, slot * 8);
    const struct doca_gpu_dev_verbs_addr signal = plus(job.signal, (uint64_t)queue * 8);
    const struct doca_gpu_dev_verbs_addr counter = plus(job.counter, (uint64_t)queue * 8);
    const uint64_t value = 0x0101010101010101ull * ((slot & 0x7f) + 1);
    switch (job.op) {
    case OP_PUT:
        doca_gpu_dev_verbs_put<sharing, handler, exec>(qp, target, source, SLOT_BYTES, ticket);
        return true;
    case OP_P:
        doca_gpu_dev_verbs_p<uint64_t, sharing, handler, exec>(qp, target, value, ticket);
        return true;
    case OP_GET:
        doca_gpu_dev_verbs_get<sharing, handler, exec>(qp, target, source, SLOT_BYTES, source, ticket);
        return true;
    case OP_SIGNAL:
        doca_gpu_dev_verbs_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, sharing, handler, exec>(qp, signal, fetched, 3,
                                                                                             ticket);
        return true;
    case OP_PUT_SIGNAL:
        doca_gpu_dev_verbs_put_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, sharing, handler, exec>(
            qp, target, source, SLOT_BYTES, signal, fetched, 3, ticket);
        return true;
    case OP_P_SIGNAL:
        doca_gpu_dev_verbs_p_signal<uint64_t, DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, sharing, handler>(
            qp, target, value, signal, fetched, 3, ticket);
        return true;
    case OP_PUT_COUNTER:
        doca_gpu_dev_verbs_put_counter<sharing, handler>(qp, target, source, SLOT_BYTES, companion, counter, fetched,
                                                         5);
        return false;
    case OP_P_COUNTER:
        doca_gpu_dev_verbs_p_counter<uint64_t, sharing, handler>(qp, target, value, companion, counter, fetched, 5);
        return false;
    case OP_PUT_SIGNAL_COUNTER:
        doca_gpu_dev_verbs_put_signal_counter<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, sharing, handler>(
            qp, target, source, SLOT_BYTES, signal, fetched, 3, companion, counter, fetched, 5);
        return false;
    case OP_SIGNAL_COUNTER:
        doca_gpu_dev_verbs_signal_counter<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, sharing, handler>(
            qp, signal, fetched, 3, companion, counter, fetched, 5);
        return false;
    default: /* OP_GET_COUNTER */
        doca_gpu_dev_verbs_get_counter<sharing, handler>(qp, target, source, SLOT_BYTES, companion, counter, fetched,
                                                         5);
        return false;
    }
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_sync_scope sync,
          enum doca_gpu_dev_verbs_nic_handler handler, enum doca_gpu_dev_verbs_exec_scope exec>
__global__ void run(struct job job)
{
    const int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int warp = thread / 32;
    int queue = 0;
    if (sharing == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE)
        queue = exec == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP ? warp : thread;
    else if (sharing == DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA)
        queue = (int)blockIdx.x;
    struct doca_gpu_dev_verbs_qp *qp = job.qps[queue], *companion = job.companions[queue];
    int status = 0;
    for (int i = 0; i < job.iterations; ++i) {
        const uint64_t slot = (uint64_t)thread * (uint64_t)job.iterations + (uint64_t)i;
        doca_gpu_dev_verbs_ticket_t ticket = 0;
        int result;
        if (job.op >= OP_WRITE) {
            ticket = by_hand<sharing, sync, handler>(qp, job, slot);
            result = doca_gpu_dev_verbs_wait<sharing, handler>(qp, ticket);
        } else if (one_sided<sharing, handler, exec>(qp, companion, job, slot, queue, &ticket)) {
            result = doca_gpu_dev_verbs_wait<sharing, handler>(qp, ticket);
        } else {
            result = doca_gpu_dev_verbs_wait<sharing, handler>(qp);
            if (result == 0)
                result = doca_gpu_dev_verbs_wait<sharing, handler>(companion);
        }
        if (result != 0 && status == 0)
            status = result;
    }
    job.status[thread] = status;
}

#endif
