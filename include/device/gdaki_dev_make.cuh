/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one-sided calls consist of: how many WQEs each operation is, and what the k-th looks like. Every WQE asks for a CQE,
 * since polling by index assumes one a slot. gdaki: C++ only.
 */
#ifndef GDAKI_DEV_MAKE_CUH
#define GDAKI_DEV_MAKE_CUH

#include "gdaki_dev_post.cuh"
#include "gdaki_dev_wqe.cuh"

#define GDAKI_SIGNALLED DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE

/* WQEs of a transfer: pieces of 1 GiB; nothing at all is one NOP, so that there is a ticket. */
GDAKI_DEV uint64_t gdaki_pieces(size_t size)
{
    uint64_t n = doca_gpu_dev_verbs_div_ceil_aligned_pow2(size, DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE_SHIFT);
    return n == 0 ? 1 : n;
}

/* Piece k of an RDMA WRITE or READ. */
GDAKI_DEV void gdaki_make_piece(const struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *slot, uint64_t index,
                                uint64_t k, uint32_t opcode, struct doca_gpu_dev_verbs_addr raddr,
                                struct doca_gpu_dev_verbs_addr laddr, size_t size)
{
    struct gdaki_wqe_image w;
    uint64_t offset = k << DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE_SHIFT, left = size - offset;
    uint32_t bytes = (uint32_t)(left < DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE ? left : DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE);
    if (size == 0)
        gdaki_wqe_nop(&w, qp, (uint16_t)index, GDAKI_SIGNALLED);
    else
        gdaki_wqe_rdma_1(&w, qp, (uint16_t)index, opcode, GDAKI_SIGNALLED, 0, raddr.addr + offset, raddr.key,
                         laddr.addr + offset, laddr.key, bytes);
    gdaki_wqe_store(slot, &w);
}

template <typename T>
GDAKI_DEV void gdaki_make_inline(const struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *slot, uint64_t index,
                                 struct doca_gpu_dev_verbs_addr raddr, T value)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_inline_header(&w, qp, (uint16_t)index, GDAKI_SIGNALLED, raddr.addr, raddr.key, sizeof(T));
    gdaki_wqe_inline_value(&w, value);
    gdaki_wqe_store(slot, &w);
}

/* Adds `value` to 8 bytes at raddr; the old value goes to laddr. */
GDAKI_DEV void gdaki_make_fetch_add(const struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *slot, uint64_t index,
                                    struct doca_gpu_dev_verbs_addr raddr, struct doca_gpu_dev_verbs_addr laddr,
                                    uint64_t value)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_atomic(&w, qp, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA, GDAKI_SIGNALLED, raddr.addr,
                     raddr.key, laddr.addr, laddr.key, sizeof(uint64_t), value, 0);
    gdaki_wqe_store(slot, &w);
}

/* Reads one byte of local memory: done only when what earlier READs wrote is visible there. */
GDAKI_DEV void gdaki_make_dump(const struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *slot, uint64_t index,
                               struct doca_gpu_dev_verbs_addr daddr)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_dump(&w, qp, (uint16_t)index, GDAKI_SIGNALLED, daddr.addr, daddr.key, 1);
    gdaki_wqe_store(slot, &w);
}

GDAKI_DEV void gdaki_make_wait(const struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_wqe *slot, uint64_t index,
                               uint32_t max_index, uint32_t cqn)
{
    struct gdaki_wqe_image w;
    gdaki_wqe_wait(&w, qp, (uint16_t)index, GDAKI_SIGNALLED, max_index, cqn);
    gdaki_wqe_store(slot, &w);
}

/* Dispatch on exec scope: the same operation, with state shared by the warp at least. */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER, enum doca_gpu_dev_verbs_exec_scope exec_scope, class Make>
GDAKI_DEV uint64_t gdaki_post_at(struct doca_gpu_dev_verbs_qp *qp, uint64_t n, uint32_t code_opt, Make make)
{
    if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
        return gdaki_post_warp<resource_sharing_mode, nic_handler>(qp, n, code_opt, make);
    return gdaki_post<resource_sharing_mode, nic_handler>(qp, n, code_opt, make);
}

#endif
