/* SPDX-License-Identifier: Apache-2.0 */
/* Our format headers against rdma-core's packaged ones, field by field; and conversions against known bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include <infiniband/mlx5dv.h>

#include "format/bth.h"
#include "format/cqe.h"
#include "format/doorbell.h"
#include "format/wqe.h"

#define SAME_SIZE(ours, theirs) assert_int_equal(sizeof(struct ours), sizeof(struct theirs))
#define SAME(ours, field, theirs, their_field)                                                                             \
    assert_int_equal(offsetof(struct ours, field), offsetof(struct theirs, their_field))

static void test_wqe(void **state)
{
    (void)state;
    SAME_SIZE(sn_ctrl_seg, mlx5_wqe_ctrl_seg);
    SAME(sn_ctrl_seg, opmod_idx_opcode, mlx5_wqe_ctrl_seg, opmod_idx_opcode);
    SAME(sn_ctrl_seg, qpn_ds, mlx5_wqe_ctrl_seg, qpn_ds);
    SAME(sn_ctrl_seg, signature, mlx5_wqe_ctrl_seg, signature);
    SAME(sn_ctrl_seg, dci, mlx5_wqe_ctrl_seg, dci_stream_channel_id);
    SAME(sn_ctrl_seg, fm_ce_se, mlx5_wqe_ctrl_seg, fm_ce_se);
    SAME(sn_ctrl_seg, imm, mlx5_wqe_ctrl_seg, imm);
    SAME_SIZE(sn_raddr_seg, mlx5_wqe_raddr_seg);
    SAME(sn_raddr_seg, rkey, mlx5_wqe_raddr_seg, rkey);
    SAME_SIZE(sn_data_seg, mlx5_wqe_data_seg);
    SAME(sn_data_seg, byte_count, mlx5_wqe_data_seg, byte_count);
    SAME(sn_data_seg, lkey, mlx5_wqe_data_seg, lkey);
    SAME(sn_data_seg, addr, mlx5_wqe_data_seg, addr);
    SAME_SIZE(sn_atomic_seg, mlx5_wqe_atomic_seg);
    SAME(sn_atomic_seg, compare, mlx5_wqe_atomic_seg, compare);
    SAME_SIZE(sn_next_seg, mlx5_wqe_srq_next_seg);
    SAME(sn_next_seg, next_index, mlx5_wqe_srq_next_seg, next_wqe_index);
    SAME_SIZE(sn_inline_seg, mlx5_wqe_inl_data_seg);
    assert_int_equal(SN_INLINE_SEG, MLX5_INLINE_SEG);
    assert_int_equal(SN_LKEY_END, MLX5_INVALID_LKEY);
    assert_int_equal(SN_CE_ALWAYS << 2, MLX5_WQE_CTRL_CQ_UPDATE);
    assert_int_equal(SN_WQE_SOLICITED, MLX5_WQE_CTRL_SOLICITED);
    assert_int_equal(SN_FENCE_READS_SMALL << 5, MLX5_WQE_CTRL_FENCE);
    assert_int_equal(SN_FENCE_SMALL << 5, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
    assert_int_equal(SN_WQE_BB, MLX5_SEND_WQE_BB);
}

static void test_opcodes(void **state)
{
    (void)state;
    assert_int_equal(SN_OPCODE_NOP, MLX5_OPCODE_NOP);
    assert_int_equal(SN_OPCODE_SEND_INVAL, MLX5_OPCODE_SEND_INVAL);
    assert_int_equal(SN_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE);
    assert_int_equal(SN_OPCODE_RDMA_WRITE_IMM, MLX5_OPCODE_RDMA_WRITE_IMM);
    assert_int_equal(SN_OPCODE_SEND, MLX5_OPCODE_SEND);
    assert_int_equal(SN_OPCODE_SEND_IMM, MLX5_OPCODE_SEND_IMM);
    assert_int_equal(SN_OPCODE_RDMA_READ, MLX5_OPCODE_RDMA_READ);
    assert_int_equal(SN_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_CS);
    assert_int_equal(SN_OPCODE_ATOMIC_FA, MLX5_OPCODE_ATOMIC_FA);
    assert_int_equal(SN_OPCODE_ATOMIC_MASKED_CS, MLX5_OPCODE_ATOMIC_MASKED_CS);
    assert_int_equal(SN_OPCODE_ATOMIC_MASKED_FA, MLX5_OPCODE_ATOMIC_MASKED_FA);
}

static void test_cqe(void **state)
{
    (void)state;
    SAME_SIZE(sn_cqe64, mlx5_cqe64);
    SAME(sn_cqe64, wqe_id, mlx5_cqe64, wqe_id);
    SAME(sn_cqe64, ml_path, mlx5_cqe64, ml_path);
    SAME(sn_cqe64, slid, mlx5_cqe64, slid);
    SAME(sn_cqe64, flags_rqpn, mlx5_cqe64, flags_rqpn);
    SAME(sn_cqe64, srqn_uidx, mlx5_cqe64, srqn_uidx);
    SAME(sn_cqe64, imm, mlx5_cqe64, imm_inval_pkey);
    SAME(sn_cqe64, byte_cnt, mlx5_cqe64, byte_cnt);
    SAME(sn_cqe64, timestamp, mlx5_cqe64, timestamp);
    SAME(sn_cqe64, sop_drop_qpn, mlx5_cqe64, sop_drop_qpn);
    SAME(sn_cqe64, wqe_counter, mlx5_cqe64, wqe_counter);
    SAME(sn_cqe64, op_own, mlx5_cqe64, op_own);
    SAME_SIZE(sn_err_cqe, mlx5_err_cqe);
    SAME(sn_err_cqe, srqn, mlx5_err_cqe, srqn);
    SAME(sn_err_cqe, vendor_err_synd, mlx5_err_cqe, vendor_err_synd);
    SAME(sn_err_cqe, syndrome, mlx5_err_cqe, syndrome);
    SAME(sn_err_cqe, s_wqe_opcode_qpn, mlx5_err_cqe, s_wqe_opcode_qpn);
    SAME(sn_err_cqe, wqe_counter, mlx5_err_cqe, wqe_counter);
    assert_int_equal(SN_CQE_REQ, MLX5_CQE_REQ);
    assert_int_equal(SN_CQE_RESP_WR_IMM, MLX5_CQE_RESP_WR_IMM);
    assert_int_equal(SN_CQE_RESP_SEND, MLX5_CQE_RESP_SEND);
    assert_int_equal(SN_CQE_RESP_SEND_IMM, MLX5_CQE_RESP_SEND_IMM);
    assert_int_equal(SN_CQE_REQ_ERR, MLX5_CQE_REQ_ERR);
    assert_int_equal(SN_CQE_RESP_ERR, MLX5_CQE_RESP_ERR);
    assert_int_equal(SN_CQE_INVALID, MLX5_CQE_INVALID);
    assert_int_equal(SN_CQE_OWNER, MLX5_CQE_OWNER_MASK);
}

/* The control segment as rdma-core's inline function writes it. */
static void test_ctrl_seg(void **state)
{
    struct mlx5_wqe_ctrl_seg theirs;
    struct sn_ctrl_seg ours;
    (void)state;

    mlx5dv_set_ctrl_seg(&theirs, 0xfffe, MLX5_OPCODE_RDMA_WRITE, 0x09, 0xabcdef, 0x48, 5, 0, 0);
    memcpy(&ours, &theirs, sizeof(ours));
    assert_int_equal(sn_get32(ours.opmod_idx_opcode), 0x09fffe08);
    assert_int_equal(sn_get32(ours.qpn_ds), 0xabcdef05);
    assert_int_equal(ours.fm_ce_se, 0x48);
}

static void test_bytes(void **state)
{
    static const uint8_t doorbell[8] = {0x01, 0xff, 0xfe, 0x00, 0xab, 0xcd, 0xef, 0x00};
    struct sn_doorbell db;
    uint64_t value;
    sn_be64 be = sn_put64(0x0102030405060708ull);
    (void)state;

    assert_int_equal(((const uint8_t *)&be)[0], 1);
    assert_int_equal(((const uint8_t *)&be)[7], 8);
    assert_int_equal(sn_get16(sn_put16(0x1234)), 0x1234);
    memcpy(&value, doorbell, 8);
    assert_true(sn_doorbell_parse(value, &db));
    assert_int_equal(db.qpn, 0xabcdef);
    assert_int_equal(db.producer, 0xfffe); /* the top byte of an unmasked index is ignored */
    assert_true(value == sn_doorbell_build(0xabcdef, 0x1fffe));
    assert_int_equal(sn_mtu_bytes(1), 256);
    assert_int_equal(sn_mtu_bytes(5), 4096);
    assert_int_equal(sn_mtu_packets(1u << 30, 1), 1u << 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wqe),      cmocka_unit_test(test_opcodes), cmocka_unit_test(test_cqe),
        cmocka_unit_test(test_ctrl_seg), cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
