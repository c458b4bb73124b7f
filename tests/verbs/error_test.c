/* SPDX-License-Identifier: Apache-2.0 */
/* What fails, and how both ends learn of it: status, vendor code, flushes, states. */
#include "rig.h"

enum fault {
    NO_FAULT,
    LKEY_UNKNOWN,
    LKEY_OF_OTHER_PD,
    LKEY_RANGE,
    LKEY_NOT_WRITABLE,
    RKEY_UNKNOWN,
    RKEY_RANGE,
    ACCESS_DENIED,
    RECEIVE_SHORT,
    RECEIVE_LKEY,
    RECEIVE_NONE,
    PEER_DEAD,
    MISALIGNED,
    ATOMIC_SHORT,
    TOO_LONG,
};

struct row {
    const char *name;
    enum ibv_qp_type type;
    enum ibv_wr_opcode opcode;
    enum fault fault;
    enum ibv_wc_status local;
    enum ibv_wc_status remote; /* IBV_WC_SUCCESS: no completion there */
    enum ibv_qp_state after;
};

static const struct row rows[] = {
    {"send, unknown lkey", IBV_QPT_RC, IBV_WR_SEND, LKEY_UNKNOWN, IBV_WC_LOC_PROT_ERR, 0, IBV_QPS_ERR},
    {"write, unknown lkey", IBV_QPT_RC, IBV_WR_RDMA_WRITE, LKEY_UNKNOWN, IBV_WC_LOC_PROT_ERR, 0, IBV_QPS_ERR},
    {"write, lkey of another PD", IBV_QPT_RC, IBV_WR_RDMA_WRITE, LKEY_OF_OTHER_PD, IBV_WC_LOC_PROT_ERR, 0,
     IBV_QPS_ERR},
    {"write, beyond the lkey's range", IBV_QPT_RC, IBV_WR_RDMA_WRITE, LKEY_RANGE, IBV_WC_LOC_PROT_ERR, 0, IBV_QPS_ERR},
    {"read into memory that may not be written", IBV_QPT_RC, IBV_WR_RDMA_READ, LKEY_NOT_WRITABLE, IBV_WC_LOC_PROT_ERR,
     0, IBV_QPS_ERR},
    {"write, unknown rkey", IBV_QPT_RC, IBV_WR_RDMA_WRITE, RKEY_UNKNOWN, IBV_WC_REM_ACCESS_ERR, 0, IBV_QPS_ERR},
    {"read, unknown rkey", IBV_QPT_RC, IBV_WR_RDMA_READ, RKEY_UNKNOWN, IBV_WC_REM_ACCESS_ERR, 0, IBV_QPS_ERR},
    {"atomic, unknown rkey", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, RKEY_UNKNOWN, IBV_WC_REM_ACCESS_ERR, 0,
     IBV_QPS_ERR},
    {"write, beyond the rkey's range", IBV_QPT_RC, IBV_WR_RDMA_WRITE, RKEY_RANGE, IBV_WC_REM_ACCESS_ERR, 0,
     IBV_QPS_ERR},
    {"write, queue pair without the right", IBV_QPT_RC, IBV_WR_RDMA_WRITE, ACCESS_DENIED, IBV_WC_REM_INV_REQ_ERR, 0,
     IBV_QPS_ERR},
    {"read, queue pair without the right", IBV_QPT_RC, IBV_WR_RDMA_READ, ACCESS_DENIED, IBV_WC_REM_INV_REQ_ERR, 0,
     IBV_QPS_ERR},
    {"atomic, queue pair without the right", IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, ACCESS_DENIED,
     IBV_WC_REM_INV_REQ_ERR, 0, IBV_QPS_ERR},
    {"send, receive too short", IBV_QPT_RC, IBV_WR_SEND, RECEIVE_SHORT, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR,
     IBV_QPS_ERR},
    {"send, receive with an unknown lkey", IBV_QPT_RC, IBV_WR_SEND, RECEIVE_LKEY, IBV_WC_REM_OP_ERR,
     IBV_WC_LOC_PROT_ERR, IBV_QPS_ERR},
    {"send, no receive", IBV_QPT_RC, IBV_WR_SEND, RECEIVE_NONE, IBV_WC_RNR_RETRY_EXC_ERR, 0, IBV_QPS_ERR},
    {"write with immediate, no receive", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, RECEIVE_NONE,
     IBV_WC_RNR_RETRY_EXC_ERR, 0, IBV_QPS_ERR},
    {"write, peer does not answer", IBV_QPT_RC, IBV_WR_RDMA_WRITE, PEER_DEAD, IBV_WC_RETRY_EXC_ERR, 0, IBV_QPS_ERR},
    {"atomic, misaligned", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, MISALIGNED, IBV_WC_REM_INV_REQ_ERR, 0, IBV_QPS_ERR},
    {"atomic, buffer too short", IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, ATOMIC_SHORT, IBV_WC_LOC_LEN_ERR, 0,
     IBV_QPS_ERR},
    {"UC write, unknown lkey", IBV_QPT_UC, IBV_WR_RDMA_WRITE, LKEY_UNKNOWN, IBV_WC_LOC_PROT_ERR, 0, IBV_QPS_SQE},
    {"UC write, unknown rkey", IBV_QPT_UC, IBV_WR_RDMA_WRITE, RKEY_UNKNOWN, IBV_WC_SUCCESS, 0, IBV_QPS_RTS},
    {"UD send, unknown lkey", IBV_QPT_UD, IBV_WR_SEND, LKEY_UNKNOWN, IBV_WC_LOC_PROT_ERR, 0, IBV_QPS_SQE},
    {"UD send, longer than the path MTU", IBV_QPT_UD, IBV_WR_SEND, TOO_LONG, IBV_WC_LOC_LEN_ERR, 0, IBV_QPS_SQE},
    {"UD send, no receive", IBV_QPT_UD, IBV_WR_SEND, RECEIVE_NONE, IBV_WC_SUCCESS, 0, IBV_QPS_RTS},
};

static void prepare(struct rig *r, const struct row *row, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
    bool atomic = row->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || row->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    uint64_t remote = (uintptr_t)r->b.mem;
    uint32_t rkey = r->b.mr->rkey;
    *sge = (struct ibv_sge){(uintptr_t)r->a.mem, 8, r->a.mr->lkey};
    *wr = (struct ibv_send_wr){
        .wr_id = 1, .sg_list = sge, .num_sge = 1, .opcode = row->opcode, .send_flags = IBV_SEND_SIGNALED};
    switch (row->fault) {
    case LKEY_UNKNOWN:
        sge->lkey ^= 0x5a5a0000;
        break;
    case LKEY_RANGE:
        sge->addr += RIG_BYTES - 4;
        break;
    case RKEY_UNKNOWN:
        rkey ^= 0x5a5a0000;
        break;
    case RKEY_RANGE:
        remote += RIG_BYTES - 4;
        break;
    case MISALIGNED:
        remote += 4;
        break;
    case ATOMIC_SHORT:
        sge->length = 4;
        break;
    case TOO_LONG:
        sge->length = 4097;
        break;
    default:
        break;
    }
    if (row->type == IBV_QPT_UD) {
        wr->wr.ud.ah = r->a.ah;
        wr->wr.ud.remote_qpn = r->b.qp->qp_num;
        wr->wr.ud.remote_qkey = RIG_QKEY;
    } else if (atomic) {
        wr->wr.atomic.remote_addr = remote;
        wr->wr.atomic.rkey = rkey;
    } else {
        wr->wr.rdma.remote_addr = remote;
        wr->wr.rdma.rkey = rkey;
    }
}

static void receive(struct rig *r, const struct row *row)
{
    struct ibv_sge sge = {(uintptr_t)r->b.mem, 8, r->b.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1}, *bad;
    if (row->fault == RECEIVE_SHORT)
        sge.length = 7;
    else if (row->fault == RECEIVE_LKEY)
        sge.lkey ^= 0x5a5a0000;
    else if (row->remote == IBV_WC_SUCCESS)
        return;
    assert_int_equal(ibv_post_recv(r->b.qp, &wr, &bad), 0);
}

static void run(const struct row *row)
{
    struct rig r;
    struct rig_options o = {.type = row->type,
                            .fail_fast = true,
                            .timeout = 8, /* 1 ms, and nobody else has to answer in time */
                            .access = row->fault == ACCESS_DENIED ? -1 : 0};
    struct ibv_send_wr wr, after;
    struct ibv_sge sge;
    struct ibv_pd *pd = NULL;
    struct ibv_mr *mr = NULL;
    rig_open(&r, &o);
    if (row->fault == PEER_DEAD)
        rig_move(r.b.qp, IBV_QPS_RESET);
    prepare(&r, row, &wr, &sge);
    if (row->fault == LKEY_OF_OTHER_PD || row->fault == LKEY_NOT_WRITABLE) {
        pd = row->fault == LKEY_NOT_WRITABLE ? r.a.pd : softnic_ibv_alloc_pd(r.a.ctx);
        mr = softnic_ibv_reg_mr_iova2(pd, r.a.mem, 4096, (uintptr_t)r.a.mem, 0);
        assert_non_null(mr);
        sge.lkey = mr->lkey;
    }
    receive(&r, row);
    after = wr;
    after.wr_id = 3;
    after.send_flags = 0; /* a flush tells of it all the same */
    wr.next = &after;
    assert_int_equal(rig_post(r.a.qp, &wr), 0);
    rig_expect(r.a.scq, 1, row->local);
    if (row->local != IBV_WC_SUCCESS)
        rig_expect(r.a.scq, 3, IBV_WC_WR_FLUSH_ERR);
    if (row->remote != IBV_WC_SUCCESS)
        rig_expect(r.b.rcq, 2, row->remote);
    rig_expect_none(r.a.scq);
    rig_expect_none(r.b.rcq);
    assert_int_equal(rig_state(r.a.qp), row->after);
    if (mr)
        assert_int_equal(softnic_ibv_dereg_mr(mr), 0);
    if (pd && pd != r.a.pd)
        assert_int_equal(softnic_ibv_dealloc_pd(pd), 0);
    rig_close(&r);
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("%s\n", rows[i].name);
        run(&rows[i]);
    }
}

/* The vendor's code is that of the CQE, and a completion with an error names request, queue pair and direction. */
static void test_fields(void **state)
{
    struct rig r;
    struct rig_options o = {.fail_fast = true};
    (void)state;
    rig_open(&r, &o);
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    struct ibv_send_wr wr = rig_write(&r, &sge, 0x1234567890abcdef);
    wr.wr.rdma.rkey ^= 0x5a5a0000;
    assert_int_equal(rig_recv(&r.a, 5, 0, 64), 0);
    assert_int_equal(rig_post(r.a.qp, &wr), 0);
    struct ibv_wc wc = rig_poll(r.a.scq);
    assert_true(wc.wr_id == 0x1234567890abcdef);
    assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(wc.vendor_err, 0x88); /* as ConnectX cards show it */
    assert_int_equal(wc.qp_num, r.a.qp->qp_num);
    assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
    wc = rig_poll(r.a.rcq);
    assert_int_equal(wc.wr_id, 5);
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(wc.vendor_err, 0xf9);
    assert_true(wc.opcode & IBV_WC_RECV);
    rig_close(&r);
}

/* In ERR everything that is posted ends in a flush error, sends and receives, now and later. */
static void test_flush(void **state)
{
    struct rig r;
    struct rig_options o = {.wr = 8};
    (void)state;
    rig_open(&r, &o);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(rig_recv(&r.a, i, 0, 8), 0);
    rig_move(r.a.qp, IBV_QPS_ERR);
    for (uint64_t i = 0; i < 5; i++)
        rig_expect(r.a.rcq, i, IBV_WC_WR_FLUSH_ERR);
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    for (uint64_t i = 0; i < 50; i++) { /* more than either ring has slots */
        struct ibv_send_wr wr = rig_write(&r, &sge, i);
        assert_int_equal(rig_recv(&r.a, i, 0, 8), 0);
        rig_expect(r.a.rcq, i, IBV_WC_WR_FLUSH_ERR);
        assert_int_equal(rig_post(r.a.qp, &wr), 0);
        rig_expect(r.a.scq, i, IBV_WC_WR_FLUSH_ERR);
    }
    assert_int_equal(rig_state(r.a.qp), IBV_QPS_ERR);
    rig_close(&r);
}

/* SQE: sends are flushed, receives go on, and RTS brings the send queue back. */
static void test_sqe(void **state)
{
    struct rig r;
    struct rig_options o = {.type = IBV_QPT_UD};
    (void)state;
    rig_open(&r, &o);
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    wr.wr.ud.ah = r.a.ah;
    wr.wr.ud.remote_qpn = r.b.qp->qp_num;
    wr.wr.ud.remote_qkey = RIG_QKEY;
    sge.lkey ^= 0x5a5a0000;
    assert_int_equal(rig_post(r.a.qp, &wr), 0);
    rig_expect(r.a.scq, 1, IBV_WC_LOC_PROT_ERR);
    assert_int_equal(rig_state(r.a.qp), IBV_QPS_SQE);
    wr.wr_id = 2;
    assert_int_equal(rig_post(r.a.qp, &wr), 0);
    rig_expect(r.a.scq, 2, IBV_WC_WR_FLUSH_ERR);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
    assert_int_equal(softnic_ibv_modify_qp(r.a.qp, &attr, IBV_QP_STATE), 0);
    sge.lkey = r.a.mr->lkey;
    wr.wr_id = 3;
    assert_int_equal(rig_recv(&r.b, 4, 0, 256), 0);
    assert_int_equal(rig_post(r.a.qp, &wr), 0);
    rig_expect(r.a.scq, 3, IBV_WC_SUCCESS);
    rig_expect(r.b.rcq, 4, IBV_WC_SUCCESS);
    rig_close(&r);
}

/* RESET forgets what was posted and what was not polled; the queue pair can be connected again. */
static void test_reset(void **state)
{
    struct rig r;
    struct rig_options o = {.wr = 8, .one_cq = true};
    (void)state;
    rig_open(&r, &o);
    for (int round = 0; round < 3; round++) {
        struct ibv_qp *other = rig_qp(&r.a, &o); /* its completions stay */
        rig_init(other, &o);
        struct ibv_recv_wr recv = {.wr_id = 77}, *bad;
        assert_int_equal(ibv_post_recv(other, &recv, &bad), 0);
        for (uint64_t i = 0; i < 4; i++)
            assert_int_equal(rig_recv(&r.a, i, 0, 8), 0);
        rig_move(r.a.qp, IBV_QPS_ERR);
        rig_wait_state(r.a.qp, IBV_QPS_ERR);
        rig_move(other, IBV_QPS_ERR);
        rig_expect(r.a.rcq, 0, IBV_WC_WR_FLUSH_ERR); /* the flush is under way: the rest is in the CQ, or comes */
        rig_move(r.a.qp, IBV_QPS_RESET);
        rig_move(r.b.qp, IBV_QPS_RESET);
        rig_expect(r.a.rcq, 77, IBV_WC_WR_FLUSH_ERR);
        rig_expect_none(r.a.rcq);
        assert_int_equal(softnic_ibv_destroy_qp(other), 0);
        rig_connect(&r);
        struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
        for (uint64_t i = 0; i < 20; i++) {
            struct ibv_send_wr wr = rig_write(&r, &sge, i);
            assert_int_equal(rig_post(r.a.qp, &wr), 0);
            rig_expect(r.a.scq, i, IBV_WC_SUCCESS);
        }
    }
    rig_close(&r);
}

/* Posting before the queue pair is there for it is an immediate error. */
static void test_too_early(void **state)
{
    struct rig_end e;
    struct rig_options o = {0};
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
    (void)state;
    rig_open_end(&e, 0, &o);
    assert_int_equal(rig_post(e.qp, &wr), EINVAL);
    assert_int_equal(rig_recv(&e, 1, 0, 8), EINVAL);
    rig_init(e.qp, &o);
    assert_int_equal(rig_post(e.qp, &wr), EINVAL);
    assert_int_equal(rig_recv(&e, 1, 0, 8), 0);
    rig_rtr(e.qp, &o, &e, e.qp->qp_num);
    assert_int_equal(rig_post(e.qp, &wr), EINVAL);
    rig_rts(e.qp, &o);
    assert_int_equal(rig_post(e.qp, &wr), 0);
    rig_expect(e.rcq, 1, IBV_WC_SUCCESS);
    rig_close_end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_fields), cmocka_unit_test(test_flush),
        cmocka_unit_test(test_sqe),   cmocka_unit_test(test_reset),  cmocka_unit_test(test_too_early),
    };
    rig_env("eth");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
