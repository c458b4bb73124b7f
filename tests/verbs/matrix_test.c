/* SPDX-License-Identifier: Apache-2.0 */
/* Each operation on each service, signalled or not, inline or not, with and without an SRQ: bytes and completions. */
#include "gdaki/softnic.h"
#include "rig.h"

enum { LENGTH_SMALL = 37, LENGTH_LARGE = 9001, AT = 65536, IMM = 0x12345678 };

enum op { SEND, SEND_IMM, WRITE, WRITE_IMM, READ, CAS, FADD, OPS };

static const struct {
    const char *name;
    enum ibv_wr_opcode opcode;
    enum ibv_wc_opcode sent;
    bool rc, uc, ud, receives, inlines, imm, atomic;
} ops[OPS] = {
    [SEND] = {"SEND", IBV_WR_SEND, IBV_WC_SEND, true, true, true, true, true, false, false},
    [SEND_IMM] = {"SEND_IMM", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true, true, true, true, true, true, false},
    [WRITE] = {"WRITE", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, true, true, false, false, true, false, false},
    [WRITE_IMM] = {"WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true, true, false, true, true, true,
                   false},
    [READ] = {"READ", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, true, false, false, false, false, false, false},
    [CAS] = {"CAS", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, true, false, false, false, false, false, true},
    [FADD] = {"FADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, true, false, false, false, false, false, true},
};

struct row {
    enum op op;
    uint32_t length;
    int pieces;
    bool inlines, signalled, solicited, fence;
};

static bool has(enum ibv_qp_type type, enum op op)
{
    return type == IBV_QPT_RC ? ops[op].rc : type == IBV_QPT_UC ? ops[op].uc : ops[op].ud;
}

/* The local side in pieces that lie apart, so that an order or length that is wrong shows. */
static int scatter(struct rig_end *e, const struct row *row, struct ibv_sge *sge)
{
    uint32_t done = 0, piece = row->length / (uint32_t)row->pieces;
    for (int i = 0; i < row->pieces; i++) {
        uint32_t n = i == row->pieces - 1 ? row->length - done : piece;
        sge[i] = (struct ibv_sge){(uintptr_t)e->mem + done + (uint32_t)i * 64, n, row->inlines ? 0xdead : e->mr->lkey};
        done += n;
    }
    return row->pieces;
}

static void fill_pieces(struct rig_end *e, const struct row *row, struct ibv_sge *sge, uint32_t seed)
{
    uint8_t whole[LENGTH_LARGE];
    uint32_t done = 0;
    (void)e;
    rig_fill(whole, row->length, seed);
    for (int i = 0; i < row->pieces; i++) {
        memcpy((void *)(uintptr_t)sge[i].addr, whole + done, sge[i].length);
        done += sge[i].length;
    }
}

static bool same_pieces(const struct row *row, const struct ibv_sge *sge, uint32_t seed)
{
    uint8_t whole[LENGTH_LARGE];
    uint32_t done = 0;
    for (int i = 0; i < row->pieces; i++) {
        memcpy(whole + done, (void *)(uintptr_t)sge[i].addr, sge[i].length);
        done += sge[i].length;
    }
    return rig_same(whole, row->length, seed);
}

static void remote_part(struct rig *r, const struct row *row, struct ibv_send_wr *wr, uint64_t compare)
{
    if (ops[row->op].atomic) {
        wr->wr.atomic.remote_addr = (uintptr_t)r->b.mem + AT;
        wr->wr.atomic.rkey = r->b.mr->rkey;
        wr->wr.atomic.compare_add = compare;
        wr->wr.atomic.swap = 0x0102030405060708;
    } else if (r->o.type == IBV_QPT_UD) {
        wr->wr.ud.ah = r->a.ah;
        wr->wr.ud.remote_qpn = r->b.qp->qp_num;
        wr->wr.ud.remote_qkey = RIG_QKEY;
    } else {
        wr->wr.rdma.remote_addr = (uintptr_t)r->b.mem + AT;
        wr->wr.rdma.rkey = r->b.mr->rkey;
    }
}

static void check_receive(struct rig *r, const struct row *row, uint64_t wr_id, uint32_t seed)
{
    struct ibv_wc wc = rig_poll(r->b.rcq);
    bool ud = r->o.type == IBV_QPT_UD, write = row->op == WRITE_IMM;
    assert_int_equal(wc.wr_id, wr_id);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
    assert_int_equal(wc.byte_len, row->length + (ud ? RIG_GRH : 0));
    assert_int_equal(wc.qp_num, r->b.qp->qp_num);
    assert_int_equal(wc.wc_flags, (ops[row->op].imm ? IBV_WC_WITH_IMM : 0) | (ud ? IBV_WC_GRH : 0));
    assert_int_equal(wc.src_qp, ud ? r->a.qp->qp_num : 0);
    assert_int_equal(wc.vendor_err, 0);
    if (ops[row->op].imm)
        assert_int_equal(wc.imm_data, htobe32(IMM));
    if (!write)
        assert_true(rig_same(r->b.mem + (ud ? RIG_GRH : 0), row->length, seed));
}

static void check_sent(struct rig *r, const struct row *row, uint64_t wr_id)
{
    struct ibv_wc wc = rig_poll(r->a.scq);
    assert_int_equal(wc.wr_id, wr_id);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, ops[row->op].sent);
    assert_int_equal(wc.qp_num, r->a.qp->qp_num);
    assert_int_equal(wc.wc_flags, 0);
    assert_int_equal(wc.vendor_err, 0);
    if (row->op == READ)
        assert_int_equal(wc.byte_len, row->length);
    if (ops[row->op].atomic)
        assert_int_equal(wc.byte_len, 8);
}

/* An unsignalled request completes with the next signalled one, which says nothing of it. */
static void run(struct rig *r, const struct row *row, uint32_t seed)
{
    struct ibv_sge sge[4];
    struct ibv_send_wr wr = {.wr_id = 0xa000 + seed,
                             .sg_list = sge,
                             .num_sge = scatter(&r->a, row, sge),
                             .opcode = ops[row->op].opcode,
                             .imm_data = htobe32(IMM),
                             .send_flags = (row->signalled ? IBV_SEND_SIGNALED : 0u) |
                                           (row->inlines ? IBV_SEND_INLINE : 0u) |
                                           (row->solicited ? IBV_SEND_SOLICITED : 0u) |
                                           (row->fence ? IBV_SEND_FENCE : 0u)};
    uint64_t before = 1000 + seed;
    memset(r->b.mem, 0, AT + LENGTH_LARGE);
    memcpy(r->b.mem + AT, &before, 8);
    if (row->op == READ)
        rig_fill(r->b.mem + AT, row->length, seed);
    else
        fill_pieces(&r->a, row, sge, seed);
    remote_part(r, row, &wr, row->op == CAS ? before : 5);
    if (ops[row->op].receives)
        assert_int_equal(rig_recv(&r->b, 0xb000 + seed, 0, LENGTH_LARGE + RIG_GRH), 0);
    assert_int_equal(rig_post(r->a.qp, &wr), 0);
    if (row->inlines)
        memset(r->a.mem, 0, LENGTH_LARGE + 256); /* inline data has been taken */
    if (ops[row->op].receives)
        check_receive(r, row, 0xb000 + seed, seed);
    if (row->signalled || r->o.signal_all) {
        check_sent(r, row, wr.wr_id);
    } else {
        struct row marker = {.op = r->o.type == IBV_QPT_UD ? SEND : WRITE, .length = 0, .pieces = 1, .signalled = true};
        struct ibv_send_wr end = {
            .wr_id = 7, .opcode = ops[marker.op].opcode, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE};
        remote_part(r, &marker, &end, 0);
        if (marker.op == SEND)
            assert_int_equal(rig_recv(&r->b, 8, 0, RIG_GRH), 0);
        assert_int_equal(rig_post(r->a.qp, &end), 0);
        if (marker.op == SEND)
            rig_expect(r->b.rcq, 8, IBV_WC_SUCCESS);
        check_sent(r, &marker, 7);
    }
    if (row->op == WRITE || row->op == WRITE_IMM)
        assert_true(rig_same(r->b.mem + AT, row->length, seed));
    if (row->op == READ)
        assert_true(same_pieces(row, sge, seed));
    if (ops[row->op].atomic) {
        uint64_t after, result;
        memcpy(&after, r->b.mem + AT, 8);
        memcpy(&result, r->a.mem, 8);
        assert_int_equal(result, before);
        assert_int_equal(after, row->op == CAS ? 0x0102030405060708 : before + 5);
    }
}

static void run_all(struct rig *r, enum op op, uint32_t *seed)
{
    bool atomic = ops[op].atomic, ud = r->o.type == IBV_QPT_UD;
    const uint32_t lengths[] = {0, 1, LENGTH_SMALL, LENGTH_LARGE};
    for (int i = 0; i < 4; i++)
        for (unsigned bits = 0; bits < 8; bits++) {
            struct row row = {.op = op,
                              .length = lengths[i] > 1000 && ud ? 1000 : lengths[i],
                              .inlines = bits & 1,
                              .signalled = bits & 2,
                              .pieces = bits & 4 ? 3 : 1,
                              .solicited = bits == 2,
                              .fence = bits == 6};
            if (atomic)
                row.length = 8, row.pieces = 1;
            if (row.inlines && (!ops[op].inlines || row.length > LENGTH_SMALL))
                continue;
            if (row.length < 3)
                row.pieces = 1;
            run(r, &row, ++*seed);
        }
}

static bool faults; /* a plan loses, doubles, delays and damages: a reliable connection shows nothing of it */
static struct softnic_fault_stats injected;

/* The counts are those of one port's life. */
static void count_faults(void)
{
    struct softnic_fault_stats s;
    assert_int_equal(softnic_fault_stats(&s, sizeof(s)), sizeof(s));
    injected.dropped += s.dropped;
    injected.duplicated += s.duplicated;
    injected.reordered += s.reordered;
    injected.corrupted += s.corrupted;
    injected.responses_lost += s.responses_lost;
    injected.doorbells_delayed += s.doorbells_delayed;
    injected.rnr_naks += s.rnr_naks;
}

static void test_matrix(void **state)
{
    const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    uint32_t seed = 0;
    (void)state;
    for (int t = 0; t < (faults ? 1 : 3); t++)
        for (unsigned bits = 0; bits < 8; bits++) {
            struct rig r;
            struct rig_options o = {.type = types[t],
                                    .srq = bits & 1,
                                    .signal_all = bits & 2,
                                    .one_cq = false,
                                    .wr = 4, /* rings wrap */
                                    .inlines = LENGTH_SMALL,
                                    .timeout = faults ? 9 : 0, /* 2 ms */
                                    .mtu = bits & 4 ? IBV_MTU_256 : IBV_MTU_4096};
            rig_open(&r, &o);
            for (int op = 0; op < OPS; op++)
                if (has(types[t], (enum op)op))
                    run_all(&r, (enum op)op, &seed);
            count_faults();
            rig_close(&r);
        }
}

/* Opcodes of other services are refused where they are posted, and so is what the queue has no room for. */
static void test_refused(void **state)
{
    const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    (void)state;
    for (int t = 0; t < 3; t++) {
        struct rig r;
        struct rig_options o = {.type = types[t], .inlines = 16};
        rig_open(&r, &o);
        struct ibv_sge sge[64] = {{(uintptr_t)r.a.mem, 8, r.a.mr->lkey}};
        for (int op = 0; op < OPS; op++) {
            struct row row = {.op = (enum op)op};
            struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 1, .opcode = ops[op].opcode};
            remote_part(&r, &row, &wr, 0);
            if (!has(types[t], (enum op)op))
                assert_int_equal(rig_post(r.a.qp, &wr), EINVAL);
            wr.send_flags = IBV_SEND_INLINE;
            if (has(types[t], (enum op)op) && !ops[op].inlines)
                assert_int_equal(rig_post(r.a.qp, &wr), EINVAL);
        }
        struct row row = {.op = SEND};
        struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 64, .opcode = IBV_WR_SEND};
        remote_part(&r, &row, &wr, 0);
        assert_int_equal(rig_post(r.a.qp, &wr), EINVAL); /* more pieces than max_send_sge */
        wr.num_sge = -1;
        assert_int_equal(rig_post(r.a.qp, &wr), EINVAL);
        wr.num_sge = 1;
        sge[0].length = 4096;
        wr.send_flags = IBV_SEND_INLINE;
        assert_int_equal(rig_post(r.a.qp, &wr), EINVAL); /* beyond max_inline_data */
        sge[0].length = 0x80000000u;
        wr.send_flags = 0;
        assert_int_equal(rig_post(r.a.qp, &wr), EINVAL);
        wr.opcode = (enum ibv_wr_opcode)77;
        assert_int_equal(rig_post(r.a.qp, &wr), EINVAL);
        rig_close(&r);
    }
}

/* Of a list, what stands before the bad request has been posted, and the bad one is named. */
static void test_list(void **state)
{
    struct rig r;
    struct rig_options o = {.wr = 4};
    (void)state;
    rig_open(&r, &o);
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    struct ibv_send_wr wr[3] = {rig_write(&r, &sge, 1), rig_write(&r, &sge, 2), rig_write(&r, &sge, 3)}, *bad = NULL;
    wr[0].next = &wr[1];
    wr[1].next = &wr[2];
    wr[1].opcode = (enum ibv_wr_opcode)77;
    assert_int_equal(ibv_post_send(r.a.qp, wr, &bad), EINVAL);
    assert_ptr_equal(bad, &wr[1]);
    rig_expect(r.a.scq, 1, IBV_WC_SUCCESS);
    rig_expect_none(r.a.scq);

    struct ibv_recv_wr recv[3] = {{.wr_id = 1, .next = &recv[1]}, {.wr_id = 2, .next = &recv[2]}, {.wr_id = 3}};
    struct ibv_recv_wr *bad_recv = NULL;
    recv[2].num_sge = 99;
    assert_int_equal(ibv_post_recv(r.b.qp, recv, &bad_recv), EINVAL);
    assert_ptr_equal(bad_recv, &recv[2]);
    for (uint64_t i = 1; i < 3; i++) {
        struct ibv_send_wr send = {.opcode = IBV_WR_SEND};
        assert_int_equal(rig_post(r.a.qp, &send), 0);
        rig_expect(r.b.rcq, i, IBV_WC_SUCCESS);
    }
    rig_close(&r);
}

/* A ring takes as many requests as the queue says, no more, and room comes back with completions only. */
static void test_full(void **state)
{
    struct rig r;
    struct rig_options o = {.wr = 8, .rnr_retry = 7};
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    (void)state;
    rig_open(&r, &o);
    assert_int_equal(softnic_ibv_query_qp(r.a.qp, &attr, IBV_QP_CAP, &init), 0);
    for (int round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < init.cap.max_send_wr; i++) { /* the peer has no receive: nothing completes */
            struct ibv_send_wr wr = {.wr_id = i, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
            assert_int_equal(rig_post(r.a.qp, &wr), 0);
        }
        struct ibv_send_wr more = {.opcode = IBV_WR_SEND};
        assert_int_equal(rig_post(r.a.qp, &more), ENOMEM);
        for (uint32_t i = 0; i < init.cap.max_recv_wr; i++)
            assert_int_equal(rig_recv(&r.b, i, 0, 0), 0);
        assert_int_equal(rig_recv(&r.b, 0, 0, 0), ENOMEM);
        for (uint32_t i = 0; i < init.cap.max_send_wr; i++) {
            rig_expect(r.a.scq, i, IBV_WC_SUCCESS);
            rig_expect(r.b.rcq, i, IBV_WC_SUCCESS);
        }
    }
    rig_close(&r);
}

/* Each fault was met, or the run above proves nothing. */
static void test_injected(void **state)
{
    (void)state;
    if (!faults)
        return;
    assert_true(injected.dropped > 20 && injected.duplicated > 20 && injected.reordered > 20);
    assert_true(injected.corrupted > 20 && injected.responses_lost > 20 && injected.doorbells_delayed > 20);
    assert_true(injected.rnr_naks > 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_injected),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_full),
    };
    faults = argc > 1 && !strcmp(argv[1], "faults");
    rig_env("eth");
    if (faults)
        setenv("SOFTNIC_FAULTS", "drop:rate=0.02;dup:rate=0.02;reorder:rate=0.02;corrupt:rate=0.01;rnr:rate=0.05,kind=send;"
                                 "lose-response:rate=0.02;doorbell-delayed:rate=0.02,by=100us", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
