/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public builders of WQEs: common/gdaki_wqe.h under the API's names. Keys and immediates are big-endian as given. Every
 * byte of the segments is written; slots behind the last segment keep what they held. gdaki: C++ only.
 */
#ifndef GDAKI_DEV_WQE_CUH
#define GDAKI_DEV_WQE_CUH

#include "gdaki_dev_check.cuh"
#include "doca_gpunetio_dev_verbs_common.cuh"

GDAKI_DEV void gdaki_store_built(struct doca_gpu_dev_verbs_wqe *wqe_ptr, struct gdaki_wqe_image *w)
{
    gdaki_check_stamp(w);
    gdaki_wqe_store(wqe_ptr, w);
}

GDAKI_DEV void doca_gpu_dev_verbs_store_wqe_seg(uint64_t *ptr, uint64_t *val)
{
    gdaki_store_seg(ptr, val[0], val[1]);
}

GDAKI_DEV struct doca_gpu_dev_verbs_wqe *doca_gpu_dev_verbs_get_wqe_ptr(struct doca_gpu_dev_verbs_qp *qp,
                                                                        uint16_t wqe_idx)
{
    return gdaki_wqe_slot(qp, wqe_idx);
}

GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_nop(struct doca_gpu_dev_verbs_qp *qp,
                                                  struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
                                                  enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_nop(&w, qp, wqe_idx, ctrl_flags);
    gdaki_store_built(wqe_ptr, &w);
}

GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_write(
    struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
    const uint32_t opcode, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint32_t immediate,
    const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0, const uint32_t lkey0, const uint32_t bytes0)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_rdma_1(&w, qp, wqe_idx, opcode, ctrl_flags, immediate, raddr, rkey, laddr0, lkey0, bytes0);
    gdaki_store_built(wqe_ptr, &w);
}

GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_write(
    struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
    const uint32_t opcode, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint32_t immediate,
    const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0, const uint32_t lkey0, const uint32_t bytes0,
    const uint64_t laddr1, const uint32_t lkey1, const uint32_t bytes1)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_rdma(&w, qp->sq_num_shift8_be_4ds, wqe_idx, opcode, ctrl_flags, immediate, raddr, rkey);
    gdaki_wqe_data(&w, laddr0, lkey0, bytes0);
    gdaki_wqe_data(&w, laddr1, lkey1, bytes1);
    gdaki_store_built(wqe_ptr, &w);
}

/* Up to 28 bytes follow, by one of the two functions below. */
GDAKI_DEV void doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(struct doca_gpu_dev_verbs_qp *qp,
                                                                    struct doca_gpu_dev_verbs_wqe *wqe_ptr,
                                                                    const uint16_t wqe_idx,
                                                                    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
                                                                    const uint64_t raddr, const uint32_t rkey,
                                                                    const uint32_t bytes)
{
    struct gdaki_wqe_image w;
    assert(bytes <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE);
    gdaki_wqe_inline_header(&w, qp, wqe_idx, ctrl_flags, raddr, rkey, bytes);
    gdaki_store_built(wqe_ptr, &w);
}

/* Adds a value of up to 28 bytes behind an inline header. */
template <typename T>
GDAKI_DEV void gdaki_wqe_inline_value(struct gdaki_wqe_image *w, T data)
{
    static_assert(sizeof(T) <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE, "at most 28 bytes are posted inline");
    uint32_t words[7] = {};
    memcpy(words, &data, sizeof(T));
    gdaki_wqe_inline_data(w, sizeof(T), words);
}

template <typename T>
GDAKI_DEV void doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data(struct doca_gpu_dev_verbs_qp *qp,
                                                                  struct doca_gpu_dev_verbs_wqe *wqe_ptr, T data)
{
    struct gdaki_wqe_image w;
    (void)qp;
    w.segs = 2; /* behind control and remote address */
    gdaki_wqe_inline_value(&w, data);
    for (uint32_t i = 2; i < w.segs; i++)
        gdaki_store_seg((uint8_t *)wqe_ptr + 16 * i, w.word[2 * i], w.word[2 * i + 1]);
}

/* `bytes` are read from laddr, which the GPU must reach, whatever its alignment. */
GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_write_inl(struct doca_gpu_dev_verbs_qp *qp,
                                                        struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
                                                        enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
                                                        const uint64_t raddr, const uint32_t rkey, const uint64_t laddr,
                                                        const uint32_t bytes)
{
    struct gdaki_wqe_image w;
    uint32_t words[7] = {};
    assert(bytes <= DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE);
    const uint8_t *from = (const uint8_t *)(uintptr_t)laddr;
    for (uint32_t i = 0; i < DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE; i++)
        if (i < bytes)
            words[i / 4] |= (uint32_t)from[i] << (8 * (i % 4));
    gdaki_wqe_inline_header(&w, qp, wqe_idx, ctrl_flags, raddr, rkey, bytes);
    gdaki_wqe_inline_data(&w, bytes, words);
    gdaki_store_built(wqe_ptr, &w);
}

GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_read(
    struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0,
    const uint32_t lkey0, const uint32_t bytes0)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_rdma_1(&w, qp, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, ctrl_flags, 0, raddr, rkey, laddr0, lkey0,
                     bytes0);
    gdaki_store_built(wqe_ptr, &w);
}

GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_read(
    struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
    enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags, const uint64_t raddr, const uint32_t rkey, const uint64_t laddr0,
    const uint32_t lkey0, const uint32_t bytes0, const uint64_t laddr1, const uint32_t lkey1, const uint32_t bytes1)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_rdma(&w, qp->sq_num_shift8_be_4ds, wqe_idx, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, ctrl_flags, 0, raddr,
                   rkey);
    gdaki_wqe_data(&w, laddr0, lkey0, bytes0);
    gdaki_wqe_data(&w, laddr1, lkey1, bytes1);
    gdaki_store_built(wqe_ptr, &w);
}

/* 8 bytes. FETCH_ADD adds compare_add; CMP_SWAP compares with compare_add and stores swap_add. */
GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_atomic(struct doca_gpu_dev_verbs_qp *qp,
                                                     struct doca_gpu_dev_verbs_wqe *wqe_ptr, const uint16_t wqe_idx,
                                                     const uint32_t opcode,
                                                     enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
                                                     const uint64_t raddr, const uint32_t rkey, const uint64_t laddr,
                                                     const uint32_t lkey, const uint32_t bytes,
                                                     const uint64_t compare_add, const uint64_t swap_add)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_atomic(&w, qp, wqe_idx, opcode, ctrl_flags, raddr, rkey, laddr, lkey, bytes, compare_add, swap_add);
    gdaki_store_built(wqe_ptr, &w);
}

/*
 * Masked atomics. field_boundary, compare_data and compare_mask are stored as given (the caller swaps), the others are
 * swapped here. 8-byte CMP_SWAP takes two slots, wqe_ptr0 and wqe_ptr1; all others one. An opcode that is no masked atomic
 * stores a control segment of zeroes.
 */
template <enum doca_gpu_dev_verbs_atomic_ext_bytes bytes = DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>
GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_atomic_ext(
    struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *wqe_ptr0, struct doca_gpu_dev_verbs_wqe *wqe_ptr1,
    const uint16_t wqe_idx, const uint32_t opcode, enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
    const uint64_t raddr, const uint32_t rkey, const uint64_t laddr, const uint32_t lkey, const uint64_t add_data,
    const uint64_t field_boundary, const uint64_t swap_data, const uint64_t compare_data, const uint64_t swap_mask,
    const uint64_t compare_mask)
{
    struct gdaki_wqe_image w;
    struct gdaki_wqe_masked m = {add_data, field_boundary, swap_data, compare_data, swap_mask, compare_mask};
    if (gdaki_wqe_masked_atomic(&w, qp, wqe_idx, opcode, ctrl_flags, raddr, rkey, laddr, lkey, bytes, &m))
        gdaki_check_stamp(&w);
    gdaki_wqe_store(wqe_ptr0, &w);
    gdaki_wqe_store_from(wqe_ptr1, &w, 4);
}

/* Stalls qp until CQ qpn_cqn has written a CQE past max_index, counted since that CQ was created. */
GDAKI_DEV void doca_gpu_dev_verbs_wqe_prepare_wait(struct doca_gpu_dev_verbs_qp *qp,
                                                   struct doca_gpu_dev_verbs_wqe *wqe_ptr, uint16_t wqe_idx,
                                                   enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
                                                   const uint32_t max_index, const uint32_t qpn_cqn)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_wait(&w, qp, wqe_idx, ctrl_flags, max_index, qpn_cqn);
    gdaki_store_built(wqe_ptr, &w);
}

__device__ static inline void doca_gpu_dev_verbs_wqe_prepare_dump(struct doca_gpu_dev_verbs_qp *qp,
                                                                  struct doca_gpu_dev_verbs_wqe *wqe_ptr,
                                                                  const uint16_t wqe_idx,
                                                                  enum doca_gpu_dev_verbs_wqe_ctrl_flags ctrl_flags,
                                                                  const uint64_t laddr, const uint32_t lkey,
                                                                  const uint32_t bytes)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_dump(&w, qp, wqe_idx, ctrl_flags, laddr, lkey, bytes);
    gdaki_store_built(wqe_ptr, &w);
}

#endif
