/* SPDX-License-Identifier: Apache-2.0 */
/* Builders as host code uses them (C17): bytes against the table, CQE predicates, the error word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/gdaki_mlx5_opcodes.h"
#include "common/gdaki_wqe.h"

#include "golden.h"

static void fill_qp(struct doca_gpu_dev_verbs_qp *qp)
{
    memset(qp, 0, sizeof(*qp));
    qp->sq_num = GOLDEN_QPN;
    qp->sq_num_shift8 = GOLDEN_QPN << 8;
    qp->sq_num_shift8_be = gdaki_qpn_ds_be(GOLDEN_QPN, 0);
    qp->sq_num_shift8_be_1ds = gdaki_qpn_ds_be(GOLDEN_QPN, 1);
    qp->sq_num_shift8_be_2ds = gdaki_qpn_ds_be(GOLDEN_QPN, 2);
    qp->sq_num_shift8_be_3ds = gdaki_qpn_ds_be(GOLDEN_QPN, 3);
    qp->sq_num_shift8_be_4ds = gdaki_qpn_ds_be(GOLDEN_QPN, 4);
    qp->sq_num_shift8_be_5ds = gdaki_qpn_ds_be(GOLDEN_QPN, 5);
}

static void build_rdma(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint32_t opcode, uint32_t flags,
                       uint32_t imm, uint32_t bytes)
{
    gdaki_wqe_rdma_1(w, qp, GOLDEN_INDEX, opcode, flags, imm, GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR, GOLDEN_LKEY, bytes);
}

static void build_rdma_2(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint32_t opcode, uint32_t flags)
{
    gdaki_wqe_rdma(w, qp->sq_num_shift8_be_4ds, GOLDEN_INDEX, opcode, flags, 0, GOLDEN_RADDR, GOLDEN_RKEY);
    gdaki_wqe_data(w, GOLDEN_LADDR, GOLDEN_LKEY, 0x1000);
    gdaki_wqe_data(w, GOLDEN_LADDR1, GOLDEN_LKEY, 0x20);
}

static void build_inline(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint32_t bytes)
{
    uint8_t data[28] = {0};
    uint32_t words[7];
    for (uint32_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(0xa0 + i);
    memcpy(words, data, sizeof(words));
    gdaki_wqe_inline_header(w, qp, GOLDEN_INDEX, 8, GOLDEN_RADDR, GOLDEN_RKEY, bytes);
    gdaki_wqe_inline_data(w, bytes, words);
}

static void build_masked(struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp, uint32_t opcode, uint32_t bytes)
{
    const struct gdaki_wqe_masked m = {GOLDEN_ADD,     GOLDEN_BOUNDARY,  GOLDEN_SWAP,
                                       GOLDEN_COMPARE, GOLDEN_SWAP_MASK, GOLDEN_COMPARE_MASK};
    bool built = gdaki_wqe_masked_atomic(w, qp, GOLDEN_INDEX, opcode, 8, GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR,
                                         GOLDEN_LKEY, bytes, &m);
    assert_int_equal(built, opcode == 0x14 || opcode == 0x15);
}

static void build(enum golden_case c, struct gdaki_wqe_image *w, const struct doca_gpu_dev_verbs_qp *qp)
{
    switch (c) {
    case GOLDEN_NOP:
        gdaki_wqe_nop(w, qp, GOLDEN_INDEX, 8);
        break;
    case GOLDEN_WRITE:
        build_rdma(w, qp, MLX5_OPCODE_RDMA_WRITE, 8, 0, 0x1000);
        break;
    case GOLDEN_WRITE_FENCED:
        build_rdma(w, qp, MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_MLX5_WQE_CTRL_CQ_UPDATE_FENCE, 0, 0x1000);
        break;
    case GOLDEN_WRITE_IMM:
        build_rdma(w, qp, MLX5_OPCODE_RDMA_WRITE_IMM,
                   DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE | DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_SOLICITED, 0xaabbccdd, 0x1000);
        break;
    case GOLDEN_WRITE_2:
        build_rdma_2(w, qp, MLX5_OPCODE_RDMA_WRITE, 0);
        break;
    case GOLDEN_WRITE_31_BITS:
        build_rdma(w, qp, MLX5_OPCODE_RDMA_WRITE, 8, 0, 0xffffffff);
        break;
    case GOLDEN_INLINE_1:
        build_inline(w, qp, 1);
        break;
    case GOLDEN_INLINE_4:
        build_inline(w, qp, 4);
        break;
    case GOLDEN_INLINE_8:
        build_inline(w, qp, 8);
        break;
    case GOLDEN_INLINE_12:
        build_inline(w, qp, 12);
        break;
    case GOLDEN_INLINE_13:
        build_inline(w, qp, 13);
        break;
    case GOLDEN_INLINE_28:
        build_inline(w, qp, 28);
        break;
    case GOLDEN_READ:
        build_rdma(w, qp, MLX5_OPCODE_RDMA_READ, 8, 0, 0x1000);
        break;
    case GOLDEN_READ_2:
        build_rdma_2(w, qp, MLX5_OPCODE_RDMA_READ, 8);
        break;
    case GOLDEN_FETCH_ADD:
        gdaki_wqe_atomic(w, qp, GOLDEN_INDEX, MLX5_OPCODE_ATOMIC_FA, 8, GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR,
                         GOLDEN_LKEY, 8, GOLDEN_ATOMIC_ADD, GOLDEN_ATOMIC_SWAP);
        break;
    case GOLDEN_CMP_SWAP:
        gdaki_wqe_atomic(w, qp, GOLDEN_INDEX, MLX5_OPCODE_ATOMIC_CS, 8, GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR,
                         GOLDEN_LKEY, 8, GOLDEN_ATOMIC_ADD, GOLDEN_ATOMIC_SWAP);
        break;
    case GOLDEN_MASKED_FA_4:
        build_masked(w, qp, MLX5_OPCODE_ATOMIC_MASKED_FA, 4);
        break;
    case GOLDEN_MASKED_FA_8:
        build_masked(w, qp, MLX5_OPCODE_ATOMIC_MASKED_FA, 8);
        break;
    case GOLDEN_MASKED_CS_4:
        build_masked(w, qp, MLX5_OPCODE_ATOMIC_MASKED_CS, 4);
        break;
    case GOLDEN_MASKED_CS_8:
        build_masked(w, qp, MLX5_OPCODE_ATOMIC_MASKED_CS, 8);
        break;
    case GOLDEN_MASKED_BAD_OPCODE:
        build_masked(w, qp, MLX5_OPCODE_ATOMIC_CS, 8);
        break;
    case GOLDEN_WAIT:
        gdaki_wqe_wait(w, qp, GOLDEN_INDEX, 8, GOLDEN_WAIT_INDEX, GOLDEN_WAIT_CQN);
        break;
    case GOLDEN_DUMP:
        gdaki_wqe_dump(w, qp, GOLDEN_INDEX, 8, GOLDEN_LADDR, GOLDEN_LKEY, 1);
        break;
    case GOLDEN_COUNT:
        fail();
    }
}

static void bytes_of_every_wqe(void **state)
{
    struct doca_gpu_dev_verbs_qp qp;
    (void)state;
    fill_qp(&qp);
    for (int c = 0; c < GOLDEN_COUNT; c++) {
        struct doca_gpu_dev_verbs_wqe blocks[2];
        struct gdaki_wqe_image w;
        unsigned char expected[128];
        unsigned size;
        memset(blocks, 0xee, sizeof(blocks));
        memset(expected, 0xee, sizeof(expected));
        size = golden_parse(golden_bytes[c], expected);
        build((enum golden_case)c, &w, &qp);
        assert_int_equal(16 * w.segs, size);
        gdaki_wqe_store(&blocks[0], &w);
        gdaki_wqe_store_from(&blocks[1], &w, 4);
        assert_memory_equal(blocks, expected, sizeof(expected)); /* and nothing behind the last segment */
    }
}

static void doorbell_and_record(void **state)
{
    unsigned char expected[8];
    uint64_t value = gdaki_doorbell_value(gdaki_qpn_ds_be(GOLDEN_QPN, 0), GOLDEN_PRODUCER);
    uint32_t record = gdaki_record_value(GOLDEN_PRODUCER);
    (void)state;
    golden_parse(golden_doorbell, expected);
    assert_memory_equal(&value, expected, 8);
    golden_parse(golden_record, expected);
    assert_memory_equal(&record, expected, 4);
    value = gdaki_doorbell_value(gdaki_qpn_ds_be(GOLDEN_QPN, 0), 0xff00000000123456ull); /* high bits do not reach it */
    golden_parse(golden_doorbell, expected);
    assert_memory_equal(&value, expected, 8);
}

static uint32_t cqe_word(uint16_t counter, uint8_t op_own)
{
    unsigned char b[4] = {(unsigned char)(counter >> 8), (unsigned char)counter, 0, op_own};
    uint32_t word;
    memcpy(&word, b, 4);
    return word;
}

static void cqe_predicates(void **state)
{
    (void)state;
    assert_int_equal(gdaki_cqe_counter(cqe_word(0x1234, 0)), 0x1234);
    assert_false(gdaki_cqe_is_valid(cqe_word(0, 0xf1), 0, 16)); /* as created */
    assert_false(gdaki_cqe_is_valid(cqe_word(0, 0xff), 16, 16)); /* as refilled by a reset, odd pass */
    assert_true(gdaki_cqe_is_valid(cqe_word(0, 0x00), 15, 16));
    assert_false(gdaki_cqe_is_valid(cqe_word(0, 0x00), 16, 16));
    assert_true(gdaki_cqe_is_valid(cqe_word(0, 0x01), 16, 16));
    assert_true(gdaki_cqe_is_valid(cqe_word(0, 0xd1), 31, 16));
    assert_true(gdaki_cqe_is_valid(cqe_word(0, 0x00), 32, 16));
    assert_true(gdaki_cqe_is_error(cqe_word(0, 0xd0)));
    assert_true(gdaki_cqe_is_error(cqe_word(0, 0xe1)));
    assert_false(gdaki_cqe_is_error(cqe_word(0, 0x00)));
    assert_false(gdaki_cqe_is_error(cqe_word(0, 0xf1)));
}

static void collapsed_arithmetic(void **state)
{
    static const struct {
        uint64_t ci;
        uint16_t counter;
        uint64_t next;
    } rows[] = {
        {0, 0, 1},
        {0, 41, 42},
        {42, 41, 42},                 /* nothing new */
        {42, 40, 42},                 /* a CQE older than ci */
        {65530, 65535, 65536},
        {65530, 3, 65540},            /* past the 16-bit wrap */
        {0x1234567ffffull, 0, 0x12345680001ull},
        {100, (uint16_t)(99 + 32768), 100 + 32768}, /* a whole ring of the largest size */
        {100, (uint16_t)(99 + 32769), 100},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(gdaki_cqe_collapsed_next(cqe_word(rows[i].counter, 0), rows[i].ci), rows[i].next);
    assert_int_equal(gdaki_cqe_collapsed_next(cqe_word(5, 0xf1), 3), 3);
}

static void error_word(void **state)
{
    struct doca_gpu_dev_verbs_cq cq = {.gdaki_error = 0};
    unsigned char synd[4] = {0x12, 0x34, 0x88, 0x13}; /* bytes 52..55 of an error CQE */
    struct gdaki_queue_error e;
    uint32_t word;
    (void)state;
    assert_false(gdaki_error_read(&cq).has_error);
    memcpy(&word, synd, 4);
    cq.gdaki_error = gdaki_error_pack(GDAKI_ERROR_SET, word, cqe_word(0xbeef, 0xd0));
    cq.gdaki_error_index = 0x7beef;
    e = gdaki_error_read(&cq);
    assert_true(e.has_error);
    assert_int_equal(e.state, GDAKI_ERROR_SET);
    assert_int_equal(e.hw_err_synd, 0x12);
    assert_int_equal(e.hw_synd_type, 0x34);
    assert_int_equal(e.vendor_err_synd, 0x88);
    assert_int_equal(e.syndrome, 0x13);
    assert_int_equal(e.wqe_counter, 0xbeef);
    assert_int_equal(e.index, 0x7beef);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_every_wqe), cmocka_unit_test(doorbell_and_record), cmocka_unit_test(cqe_predicates),
        cmocka_unit_test(collapsed_arithmetic), cmocka_unit_test(error_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
