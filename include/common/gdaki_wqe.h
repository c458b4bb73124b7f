/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What WQEs, doorbells, records and CQEs look like: the only builder and the only reader. C, C++, CUDA.
 *
 * A WQE is built as an image of 16-byte segments in registers and stored segment by segment (gdaki_wqe_store). Every byte
 * of the segments is defined: what the device ignores is zero. Integers are host order and are swapped here, except
 * where "be" in a name says that the caller passes big-endian: keys, immediates, QPN words.
 *
 * Formats: Mellanox Adapters Programmer's Reference Manual, "Send WQE format", "Completion Queue Entry".
 */
#ifndef GDAKI_WQE_H
#define GDAKI_WQE_H

#include "doca_gpunetio_verbs_dev.h"
#include "gdaki_order.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "little-endian machines only: GPUs are, and queues are shared with them"
#endif

GDAKI_FN uint64_t gdaki_bswap64(uint64_t x)
{
#ifdef __CUDA_ARCH__
    uint32_t lo = (uint32_t)x, hi = (uint32_t)(x >> 32);
    return ((uint64_t)__byte_perm(lo, 0, 0x0123) << 32) | __byte_perm(hi, 0, 0x0123);
#else
    return __builtin_bswap64(x);
#endif
}

GDAKI_FN uint32_t gdaki_bswap32(uint32_t x)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(x, 0, 0x0123);
#else
    return __builtin_bswap32(x);
#endif
}

GDAKI_FN uint16_t gdaki_bswap16(uint16_t x)
{
    return (uint16_t)((x >> 8) | (x << 8));
}

/* ---- WQEs ------------------------------------------------------------------------------------------------------- */

#define GDAKI_WQE_MAX_SEGS 5

/* Segment i is words 2i and 2i + 1, as they lie in memory. Segment 4 lies in the next basic block. */
struct gdaki_wqe_image {
    uint64_t word[2 * GDAKI_WQE_MAX_SEGS];
    uint32_t segs;
};

/* Two 32-bit words in memory order. */
GDAKI_FN uint64_t gdaki_pair(uint32_t first, uint32_t second)
{
    return ((uint64_t)second << 32) | first;
}

/* Big-endian QPN << 8 | number of segments. */
GDAKI_FN uint32_t gdaki_qpn_ds_be(uint32_t qpn, uint32_t segs)
{
    return gdaki_bswap32((qpn << 8) | segs);
}

GDAKI_FN void gdaki_wqe_seg(struct gdaki_wqe_image *w, uint64_t first, uint64_t second)
{
    w->word[2 * w->segs] = first;
    w->word[2 * w->segs + 1] = second;
    w->segs++;
}

/* opmod: in place, bits 31..24. flags: byte 11. */
GDAKI_FN void gdaki_wqe_ctrl(struct gdaki_wqe_image *w, uint32_t qpn_ds_be, uint16_t index, uint32_t opmod,
                             uint32_t opcode, uint32_t flags, uint32_t imm_be)
{
    w->segs = 0;
#if !defined(__CUDA_ARCH__)
    for (uint32_t i = 2; i < 2 * GDAKI_WQE_MAX_SEGS; i++)
        w->word[i] = 0; /* GCC would say that what is not stored is not initialized */
#endif
    gdaki_wqe_seg(w, gdaki_pair(gdaki_bswap32(opmod | ((uint32_t)index << 8) | (opcode & 0xff)), qpn_ds_be),
                  gdaki_pair((flags & 0xff) << 24, imm_be));
}

GDAKI_FN void gdaki_wqe_raddr(struct gdaki_wqe_image *w, uint64_t raddr, uint32_t rkey_be)
{
    gdaki_wqe_seg(w, gdaki_bswap64(raddr), rkey_be);
}

/* Bit 31 of a byte count means inline, so a count is cut to 31 bits. */
GDAKI_FN void gdaki_wqe_data(struct gdaki_wqe_image *w, uint64_t addr, uint32_t lkey_be, uint32_t bytes)
{
    gdaki_wqe_seg(w, gdaki_pair(gdaki_bswap32(bytes & 0x7fffffffu), lkey_be), gdaki_bswap64(addr));
}

GDAKI_FN void gdaki_wqe_nop(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint16_t index,
                            uint32_t flags)
{
    gdaki_wqe_ctrl(w, qp->sq_num_shift8_be_1ds, index, 0, DOCA_GPUNETIO_IB_MLX5_OPCODE_NOP, flags, 0);
}

/* RDMA WRITE, WRITE with immediate or READ: control and remote address; one or two data segments follow. */
GDAKI_FN void gdaki_wqe_rdma(struct gdaki_wqe_image *w, uint32_t qpn_ds_be, uint16_t index, uint32_t opcode,
                             uint32_t flags, uint32_t imm_be, uint64_t raddr, uint32_t rkey_be)
{
    gdaki_wqe_ctrl(w, qpn_ds_be, index, 0, opcode, flags, imm_be);
    gdaki_wqe_raddr(w, raddr, rkey_be);
}

GDAKI_FN void gdaki_wqe_rdma_1(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint16_t index,
                               uint32_t opcode, uint32_t flags, uint32_t imm_be, uint64_t raddr, uint32_t rkey_be,
                               uint64_t laddr, uint32_t lkey_be, uint32_t bytes)
{
    gdaki_wqe_rdma(w, qp->sq_num_shift8_be_3ds, index, opcode, flags, imm_be, raddr, rkey_be);
    gdaki_wqe_data(w, laddr, lkey_be, bytes);
}

/* Bytes of inline data that the third segment holds behind its 4-byte header, and how many segments `bytes` take. */
#define GDAKI_WQE_INLINE_FIRST 12
GDAKI_FN uint32_t gdaki_wqe_inline_segs(uint32_t bytes)
{
    return bytes <= GDAKI_WQE_INLINE_FIRST ? 3 : 4;
}

GDAKI_FN void gdaki_wqe_inline_header(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint16_t index,
                                      uint32_t flags, uint64_t raddr, uint32_t rkey_be, uint32_t bytes)
{
    uint32_t qpn_ds = bytes <= GDAKI_WQE_INLINE_FIRST ? qp->sq_num_shift8_be_3ds : qp->sq_num_shift8_be_4ds;
    gdaki_wqe_rdma(w, qpn_ds, index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, flags, 0, raddr, rkey_be);
}

GDAKI_FN uint32_t gdaki_wqe_inline_count(uint32_t bytes)
{
    return gdaki_bswap32(bytes | 0x80000000u);
}

/*
 * Inline data of up to 28 bytes in seven words, zero-padded by the caller. Adds one or two segments behind the header.
 */
GDAKI_FN void gdaki_wqe_inline_data(struct gdaki_wqe_image *w, uint32_t bytes, const uint32_t data[7])
{
    gdaki_wqe_seg(w, gdaki_pair(gdaki_wqe_inline_count(bytes), data[0]), gdaki_pair(data[1], data[2]));
    if (bytes > GDAKI_WQE_INLINE_FIRST)
        gdaki_wqe_seg(w, gdaki_pair(data[3], data[4]), gdaki_pair(data[5], data[6]));
}

/* 8-byte atomics of the IBTA. FETCH_ADD: compare_add is the addend, swap is ignored by the device. */
GDAKI_FN void gdaki_wqe_atomic(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint16_t index,
                               uint32_t opcode, uint32_t flags, uint64_t raddr, uint32_t rkey_be, uint64_t laddr,
                               uint32_t lkey_be, uint32_t bytes, uint64_t compare_add, uint64_t swap)
{
    gdaki_wqe_rdma(w, qp->sq_num_shift8_be_4ds, index, opcode, flags, 0, raddr, rkey_be);
    if (opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_FA)
        gdaki_wqe_seg(w, gdaki_bswap64(compare_add), 0);
    else
        gdaki_wqe_seg(w, gdaki_bswap64(swap), gdaki_bswap64(compare_add));
    gdaki_wqe_data(w, laddr, lkey_be, bytes);
}

/* Operands of masked atomics. `_be`: stored as given. */
struct gdaki_wqe_masked {
    uint64_t add, boundary_be;                          /* fetch and add */
    uint64_t swap, compare_be, swap_mask, compare_mask_be; /* compare and swap */
};

/*
 * Masked atomics of 4 or 8 bytes. The 8-byte compare-and-swap takes five segments, hence two basic blocks; all others
 * four. False, and a control segment of zeroes, for an opcode that is no masked atomic.
 */
GDAKI_FN bool gdaki_wqe_masked_atomic(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint16_t index,
                                      uint32_t opcode, uint32_t flags, uint64_t raddr, uint32_t rkey_be, uint64_t laddr,
                                      uint32_t lkey_be, uint32_t bytes, const struct gdaki_wqe_masked *m)
{
    bool four = bytes == 4;
    bool swap = opcode == DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_CS;
    uint32_t opmod = four ? DOCA_GPUNETIO_4_BYTE_ATOMIC_EXT_OPMOD : DOCA_GPUNETIO_8_BYTE_ATOMIC_EXT_OPMOD;

    if (!swap && opcode != DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA) {
        w->segs = 0;
        gdaki_wqe_seg(w, 0, 0);
        return false;
    }
    gdaki_wqe_ctrl(w, swap && !four ? qp->sq_num_shift8_be_5ds : qp->sq_num_shift8_be_4ds, index, opmod, opcode, flags, 0);
    gdaki_wqe_raddr(w, raddr, rkey_be);
    if (swap && four) {
        gdaki_wqe_seg(w, gdaki_pair(gdaki_bswap32((uint32_t)m->swap), (uint32_t)m->compare_be),
                      gdaki_pair(gdaki_bswap32((uint32_t)m->swap_mask), (uint32_t)m->compare_mask_be));
    } else if (swap) {
        gdaki_wqe_seg(w, gdaki_bswap64(m->swap), m->compare_be);
        gdaki_wqe_seg(w, gdaki_bswap64(m->swap_mask), m->compare_mask_be);
    } else if (four) {
        gdaki_wqe_seg(w, gdaki_pair(gdaki_bswap32((uint32_t)m->add), (uint32_t)m->boundary_be), 0);
    } else {
        gdaki_wqe_seg(w, gdaki_bswap64(m->add), m->boundary_be);
    }
    gdaki_wqe_data(w, laddr, lkey_be, bytes);
    return true;
}

/* Stalls the queue until CQ `cqn` has written a CQE past `max_index` (its count since creation, 32 bits). */
GDAKI_FN void gdaki_wqe_wait(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint16_t index,
                             uint32_t flags, uint32_t max_index, uint32_t cqn)
{
    gdaki_wqe_ctrl(w, qp->sq_num_shift8_be_2ds, index, 0, DOCA_GPUNETIO_IB_MLX5_OPCODE_WAIT, flags, 0);
    gdaki_wqe_seg(w, 0, gdaki_pair(gdaki_bswap32(max_index), gdaki_bswap32(cqn)));
}

/* Reads and discards local memory: not done before earlier READ data is visible there. */
GDAKI_FN void gdaki_wqe_dump(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint16_t index,
                             uint32_t flags, uint64_t laddr, uint32_t lkey_be, uint32_t bytes)
{
    gdaki_wqe_ctrl(w, qp->sq_num_shift8_be_2ds, index, 0, DOCA_GPUNETIO_IB_MLX5_OPCODE_DUMP, flags, 0);
    gdaki_wqe_data(w, laddr, lkey_be, bytes);
}

/* GCC keeps the loop below otherwise, hence the image in memory, and reads as 16 bytes what it has just written as twice 8. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__NVCC__)
#define GDAKI_UNROLL _Pragma("GCC unroll 4")
#else
#define GDAKI_UNROLL
#endif

/* Stores segments `from`.. of an image; segment i goes to block + 16 (i - from). */
GDAKI_FN void gdaki_wqe_store_from(struct doca_gpu_dev_verbs_wqe *block, const struct gdaki_wqe_image *w, uint32_t from)
{
    for (uint32_t i = from; i < GDAKI_WQE_MAX_SEGS; i++)
        if (i < w->segs)
            gdaki_store_seg((uint8_t *)block + 16 * (i - from), w->word[2 * i], w->word[2 * i + 1]);
}

GDAKI_FN void gdaki_wqe_store(struct doca_gpu_dev_verbs_wqe *block, const struct gdaki_wqe_image *w)
{
    GDAKI_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        if (i < w->segs)
            gdaki_store_seg((uint8_t *)block + 16 * i, w->word[2 * i], w->word[2 * i + 1]);
}

GDAKI_FN struct doca_gpu_dev_verbs_wqe *gdaki_wqe_slot(const struct doca_gpu_dev_verbs_qp *qp, uint64_t index)
{
    return (struct doca_gpu_dev_verbs_wqe *)(qp->sq_wqe_daddr +
                                             ((size_t)(index & qp->sq_wqe_mask) << DOCA_GPUNETIO_IB_MLX5_WQE_SQ_SHIFT));
}

/* True if a ring slot holds the WQE of this index and queue: its control segment says so. */
GDAKI_FN bool gdaki_wqe_slot_holds(const struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint64_t ctrl_word)
{
    uint32_t idx = (gdaki_bswap32((uint32_t)ctrl_word) >> 8) & 0xffff;
    uint32_t qpn = gdaki_bswap32((uint32_t)(ctrl_word >> 32)) >> 8;
    return idx == (index & 0xffff) && qpn == qp->sq_num;
}

/* ---- doorbells -------------------------------------------------------------------------------------------------- */

/* The register's value: memory holds big-endian index << 8, then the QPN word (segment count 0). */
GDAKI_FN uint64_t gdaki_doorbell_value(uint32_t qpn_word_be, uint64_t producer)
{
    return gdaki_pair(gdaki_bswap32((uint32_t)(producer << DOCA_GPUNETIO_VERBS_WQE_IDX_SHIFT)), qpn_word_be);
}

/* The record's send word. */
GDAKI_FN uint32_t gdaki_record_value(uint64_t producer)
{
    return gdaki_bswap32((uint32_t)producer & DOCA_GPUNETIO_VERBS_WQE_PI_MASK);
}

/* ---- CQEs ------------------------------------------------------------------------------------------------------- */

#define GDAKI_CQE_WORD_OFFSET 60 /* {wqe_counter, signature, op_own}: one 4-byte load */

GDAKI_FN uint16_t gdaki_cqe_counter(uint32_t word)
{
    return gdaki_bswap16((uint16_t)word);
}

GDAKI_FN uint32_t gdaki_cqe_opcode(uint32_t word)
{
    return word >> 28;
}

GDAKI_FN bool gdaki_cqe_is_error(uint32_t word)
{
    uint32_t opcode = gdaki_cqe_opcode(word);
    return opcode == DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR || opcode == DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR;
}

/*
 * Regular CQ: does the slot hold CQE number `cqe_index`? The owner bit flips with each pass, and a slot never written
 * since it was filled has opcode 15, whatever its owner bit says.
 */
GDAKI_FN bool gdaki_cqe_is_valid(uint32_t word, uint64_t cqe_index, uint32_t cqe_num)
{
    uint32_t owner = (word >> 24) & DOCA_GPUNETIO_IB_MLX5_CQE_OWNER_MASK;
    uint32_t expected = (cqe_index & cqe_num) != 0;
    return gdaki_cqe_opcode(word) != DOCA_GPUNETIO_IB_MLX5_CQE_INVALID && owner == expected;
}

/*
 * Collapsed CQ: index behind the WQE that slot 0 tells of, given that everything below `ci` is complete. At most a
 * ring (32768) can lie between; a larger distance is a CQE older than `ci`.
 */
GDAKI_FN uint64_t gdaki_cqe_collapsed_next(uint32_t word, uint64_t ci)
{
    uint16_t ahead = (uint16_t)(gdaki_cqe_counter(word) + 1 - (uint16_t)ci);
    if (gdaki_cqe_opcode(word) == DOCA_GPUNETIO_IB_MLX5_CQE_INVALID || ahead > 32768)
        return ci;
    return ci + ahead;
}

/* Error word from an error CQE: `synd` is the little-endian 4-byte load at offset 52, `word` that at 60. */
#define GDAKI_CQE_SYND_OFFSET 52
GDAKI_FN uint64_t gdaki_error_pack(uint32_t state, uint32_t synd, uint32_t word)
{
    uint64_t hw = synd & 0xff, type = (synd >> 8) & 0xff, vendor = (synd >> 16) & 0xff, syndrome = synd >> 24;
    return (uint64_t)state | syndrome << 8 | vendor << 16 | hw << 24 | type << 32 |
           (uint64_t)gdaki_cqe_counter(word) << 48;
}

/* A queue's first error, unpacked. Readable from the host while kernels run. */
struct gdaki_queue_error {
    bool has_error;
    uint8_t state; /* enum gdaki_error_state */
    uint8_t syndrome, vendor_err_synd, hw_err_synd, hw_synd_type;
    uint16_t wqe_counter;
    uint32_t index; /* low 32 bits of the WQE's index; valid unless state is GDAKI_ERROR_WRITING */
};

GDAKI_FN struct gdaki_queue_error gdaki_error_unpack(uint64_t error, uint32_t index)
{
    struct gdaki_queue_error e;
    e.state = (uint8_t)error;
    e.has_error = e.state != GDAKI_ERROR_NONE;
    e.syndrome = (uint8_t)(error >> 8);
    e.vendor_err_synd = (uint8_t)(error >> 16);
    e.hw_err_synd = (uint8_t)(error >> 24);
    e.hw_synd_type = (uint8_t)(error >> 32);
    e.wqe_counter = (uint16_t)(error >> 48);
    e.index = index;
    return e;
}

/* Reads the first error of a queue, from anywhere. */
GDAKI_FN struct gdaki_queue_error gdaki_error_read(const struct doca_gpu_dev_verbs_cq *cq)
{
    uint64_t error = gdaki_load_u64_sys(&cq->gdaki_error);
    gdaki_fence_acquire(DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS); /* orders the word before the index */
    return gdaki_error_unpack(error, gdaki_load_u32_sys(&cq->gdaki_error_index));
}

#endif
