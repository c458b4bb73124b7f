/* SPDX-License-Identifier: Apache-2.0 */
/* Each failure ends in the CQE and the QP state of a ConnectX, keeps the first error, touches nothing, and flushes the rest. */
#include <errno.h>

#include "harness.h"

struct fixture {
    struct world w;
    struct end a, b;
};

static void open_fixture(struct fixture *f, const struct options *o)
{
    world_open(&f->w, o);
    end_open(&f->a, &f->w, 0, o);
    end_open(&f->b, &f->w, 1, o);
    ends_connect(&f->a, &f->b);
}

static void close_fixture(struct fixture *f)
{
    end_close(&f->a);
    end_close(&f->b);
    world_close(&f->w);
}

/*
 * A good WRITE, the bad one, another good one: the first completes, the second shows `syndrome`, the third is flushed;
 * then ERR, and what is posted later is flushed too.
 */
static void expect_failure(struct fixture *f, const struct wr *bad, uint8_t syndrome, int peer_state)
{
    struct end *a = &f->a, *b = &f->b;
    struct wr good = wr_write(a, b, 0, 100, 8), after = wr_write(a, b, 0, 4096, 8);
    struct sn_qp_error error;
    uint32_t i[4];

    fill(a->mem, 64, 9);
    i[0] = put_wqe(a, &good);
    i[1] = put_wqe(a, bad);
    i[2] = put_wqe(a, &after);
    ring(a);
    world_pass(&f->w, 100000000, 1000000);
    expect_ok(a, i[0]);
    expect_error(a, i[1], syndrome);
    expect_error(a, i[2], SN_SYND_FLUSH);
    expect_none(a);
    assert_memory_equal(a->mem, b->mem + 100, 8);
    for (int k = 0; k < 8; k++)
        assert_int_equal(b->mem[4096 + k], 0);
    assert_int_equal(end_state(a), SN_QP_ERR);
    if (peer_state >= 0)
        assert_int_equal(end_state(b), peer_state);
    sn_qp_query(a->nic, a->qpn, NULL, NULL, NULL, &error);
    assert_true(error.has_error);
    assert_int_equal(error.syndrome, syndrome);
    assert_int_equal(error.wqe_counter, i[1] & 0xffff);
    i[3] = post(a, &good);
    world_run(&f->w);
    expect_error(a, i[3], SN_SYND_FLUSH);
    sn_qp_query(a->nic, a->qpn, NULL, NULL, NULL, &error);
    assert_int_equal(error.syndrome, syndrome); /* the first one stays */
}

typedef void (*spoil_fn)(struct fixture *f, struct wr *wr);

struct failure {
    const char *name;
    spoil_fn spoil;
    uint8_t syndrome;
    int peer_state;
};

static void remote_bad_key(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->rkey ^= 0x10;
}

static void remote_foreign_pd(struct fixture *f, struct wr *wr)
{
    uint32_t pdn, key;
    struct sn_mkey_attr attr = {.access = SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE,
                                .iova = (uintptr_t)f->b.mem,
                                .span = {.addr = f->b.mem, .length = MEM_SIZE}};
    assert_int_equal(sn_pd_create(f->b.nic, &pdn), 0);
    attr.pdn = pdn;
    assert_int_equal(sn_mkey_create(f->b.nic, &attr, &key), 0);
    wr->rkey = key;
}

static void remote_no_write(struct fixture *f, struct wr *wr)
{
    wr->rkey = end_key(&f->b, f->b.mem, MEM_SIZE, (uintptr_t)f->b.mem, SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_READ);
}

static void remote_beyond(struct fixture *f, struct wr *wr)
{
    wr->raddr = (uintptr_t)f->b.mem + MEM_SIZE - 4; /* 8 bytes, 4 too many */
}

static void remote_before(struct fixture *f, struct wr *wr)
{
    wr->raddr = (uintptr_t)f->b.mem - 4;
}

static void remote_wraps(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->raddr = UINT64_MAX - 3;
}

static void remote_destroyed(struct fixture *f, struct wr *wr)
{
    wr->rkey = end_key(&f->b, f->b.mem, MEM_SIZE, (uintptr_t)f->b.mem, SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE);
    assert_int_equal(sn_mkey_destroy(f->b.nic, wr->rkey), 0);
}

static void read_no_right(struct fixture *f, struct wr *wr)
{
    *wr = wr_read(&f->a, &f->b, 0, 0, 8);
    wr->rkey = end_key(&f->b, f->b.mem, MEM_SIZE, (uintptr_t)f->b.mem, SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE);
}

static void atomic_no_right(struct fixture *f, struct wr *wr)
{
    *wr = wr_fetch_add(&f->a, &f->b, 0, 0, 1);
    wr->rkey = end_key(&f->b, f->b.mem, MEM_SIZE, (uintptr_t)f->b.mem, SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE);
}

static void atomic_unaligned(struct fixture *f, struct wr *wr)
{
    *wr = wr_fetch_add(&f->a, &f->b, 0, 4, 1);
}

static void local_bad_key(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->sge[0].lkey ^= 0x10;
}

static void local_beyond(struct fixture *f, struct wr *wr)
{
    wr->sge[0].addr = (uintptr_t)f->a.mem + MEM_SIZE - 7;
}

static void local_read_only(struct fixture *f, struct wr *wr)
{
    *wr = wr_read(&f->a, &f->b, 0, 0, 8);
    wr->sge[0].lkey = end_key(&f->a, f->a.mem, MEM_SIZE, (uintptr_t)f->a.mem, 0);
}

static void dump_bad_key(struct fixture *f, struct wr *wr)
{
    *wr = (struct wr){.opcode = SN_OPCODE_DUMP, .fm_ce_se = 8, .sge = {{(uintptr_t)f->a.mem, 0xbad, 1}}, .sges = 1};
}

static void bad_opcode(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->opcode = 0x3e;
    wr->ds = 3;
}

static void umr_refused(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->opcode = 0x25;
    wr->ds = 3;
}

static void bad_ds_short(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->ds = 1; /* a WRITE without an address */
}

static void bad_ds_atomic(struct fixture *f, struct wr *wr)
{
    *wr = wr_fetch_add(&f->a, &f->b, 0, 0, 1);
    wr->ds = 3;
}

static void bad_ds_zero(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->ds = 64; /* the field has 6 bits: 0 */
}

static void bad_opmod(struct fixture *f, struct wr *wr)
{
    *wr = wr_fetch_add(&f->a, &f->b, 0, 0, 1);
    wr->opcode = SN_OPCODE_ATOMIC_MASKED_FA;
    wr->opmod = 7;
}

static void bad_inline(struct fixture *f, struct wr *wr)
{
    wr->sges = 0;
    wr->inl = f->a.mem;
    wr->inl_length = 20;
    wr->ds = 3; /* 20 bytes do not end within 3 segments */
}

static void bad_fence(struct fixture *f, struct wr *wr)
{
    (void)f;
    wr->fm_ce_se = 8 | 7 << 5;
}

static void inline_read(struct fixture *f, struct wr *wr)
{
    *wr = wr_read(&f->a, &f->b, 0, 0, 0);
    wr->sges = 0;
    wr->inl = f->a.mem;
    wr->inl_length = 8;
}

static void atomic_short(struct fixture *f, struct wr *wr)
{
    *wr = wr_fetch_add(&f->a, &f->b, 0, 0, 1);
    wr->sge[0].length = 4;
}

static void wait_unknown(struct fixture *f, struct wr *wr)
{
    (void)f;
    *wr = (struct wr){.opcode = SN_OPCODE_WAIT, .fm_ce_se = 8, .cqn = 0xabcdef};
}

static void send_too_long(struct fixture *f, struct wr *wr)
{
    post_recv(&f->b, f->b.mem, 16, f->b.mkey);
    *wr = wr_send(&f->a, 0, 17);
}

static void send_bad_recv_key(struct fixture *f, struct wr *wr)
{
    post_recv(&f->b, f->b.mem, 16, 0xbad);
    *wr = wr_send(&f->a, 0, 16);
}

static const struct failure failures[] = {
    {"remote_bad_key", remote_bad_key, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"remote_foreign_pd", remote_foreign_pd, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"remote_no_write", remote_no_write, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"remote_beyond", remote_beyond, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"remote_before", remote_before, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"remote_wraps", remote_wraps, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"remote_destroyed", remote_destroyed, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"read_no_right", read_no_right, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"atomic_no_right", atomic_no_right, SN_SYND_REMOTE_ACCESS, SN_QP_ERR},
    {"atomic_unaligned", atomic_unaligned, SN_SYND_REMOTE_INVALID, SN_QP_ERR},
    {"local_bad_key", local_bad_key, SN_SYND_LOCAL_PROT, SN_QP_RTS},
    {"local_beyond", local_beyond, SN_SYND_LOCAL_PROT, SN_QP_RTS},
    {"local_read_only", local_read_only, SN_SYND_LOCAL_PROT, SN_QP_RTS},
    {"dump_bad_key", dump_bad_key, SN_SYND_LOCAL_PROT, SN_QP_RTS},
    {"bad_opcode", bad_opcode, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"umr_refused", umr_refused, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"bad_ds_short", bad_ds_short, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"bad_ds_atomic", bad_ds_atomic, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"bad_ds_zero", bad_ds_zero, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"bad_opmod", bad_opmod, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"bad_inline", bad_inline, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"bad_fence", bad_fence, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"inline_read", inline_read, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"atomic_short", atomic_short, SN_SYND_LOCAL_LENGTH, SN_QP_RTS},
    {"wait_unknown", wait_unknown, SN_SYND_LOCAL_QP_OP, SN_QP_RTS},
    {"send_too_long", send_too_long, SN_SYND_REMOTE_INVALID, SN_QP_ERR},
    {"send_bad_recv_key", send_bad_recv_key, SN_SYND_REMOTE_OP, SN_QP_ERR},
};

static void test_failures(void **state)
{
    (void)state;
    for (unsigned k = 0; k < sizeof(failures) / sizeof(failures[0]); k++) {
        struct fixture f;
        open_fixture(&f, &defaults);
        struct wr wr = wr_write(&f.a, &f.b, 0, 200, 8);
        failures[k].spoil(&f, &wr);
        print_message("  %s\n", failures[k].name);
        expect_failure(&f, &wr, failures[k].syndrome, failures[k].peer_state);
        for (int i = 200; i < 208; i++)
            assert_int_equal(f.b.mem[i], 0);
        close_fixture(&f);
    }
}

/* A queue connected to itself shows what was wrong too, not only a flush. */
static void test_loopback_says_what(void **state)
{
    struct fixture f;
    (void)state;
    world_open(&f.w, &defaults);
    end_open(&f.a, &f.w, 0, &defaults);
    ends_connect(&f.a, &f.a);
    struct wr good = wr_write(&f.a, &f.a, 0, 4096, 8), bad = good;
    struct sn_qp_error error;
    bad.rkey = 1;
    put_wqe(&f.a, &good);
    put_wqe(&f.a, &bad);
    put_wqe(&f.a, &good);
    ring(&f.a);
    world_run(&f.w);
    expect_ok(&f.a, 0);
    expect_error(&f.a, 1, SN_SYND_REMOTE_ACCESS);
    expect_error(&f.a, 2, SN_SYND_FLUSH);
    expect_none(&f.a);
    assert_int_equal(end_state(&f.a), SN_QP_ERR);
    sn_qp_query(f.a.nic, f.a.qpn, NULL, NULL, NULL, &error);
    assert_int_equal(error.syndrome, SN_SYND_REMOTE_ACCESS);
    assert_int_equal(error.wqe_counter, 1);
    end_close(&f.a);
    world_close(&f.w);
}

/* Rights of the queue pair itself: the request is invalid at the responder. */
static void test_qp_rights(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct options o = defaults;
        struct fixture f;
        o.no_rwe = k == 0;
        o.no_rre = k == 1;
        o.no_rae = k == 2;
        o.atomic_mode = k == 3 ? 1 : 3;
        open_fixture(&f, &o);
        struct wr wr = k == 0 ? wr_write(&f.a, &f.b, 0, 0, 8) : k == 1 ? wr_read(&f.a, &f.b, 0, 0, 8) : wr_fetch_add(&f.a, &f.b, 0, 0, 1);
        if (k == 3) {
            wr.opcode = SN_OPCODE_ATOMIC_MASKED_FA;
            wr.opmod = SN_OPMOD_MASKED_8;
        }
        uint32_t i = post(&f.a, &wr);
        world_run(&f.w);
        expect_error(&f.a, i, SN_SYND_REMOTE_INVALID);
        assert_int_equal(end_state(&f.b), SN_QP_ERR);
        close_fixture(&f);
    }
}

/* The receive WQE that a bad SEND took ends in an error of its own; the others are flushed. */
static void test_receiver_sees(void **state)
{
    struct fixture f;
    (void)state;
    for (int k = 0; k < 2; k++) {
        open_fixture(&f, &defaults);
        post_recv(&f.b, f.b.mem, 16, k == 0 ? f.b.mkey : 0xbad);
        post_recv(&f.b, f.b.mem, 16, f.b.mkey);
        struct wr wr = wr_send(&f.a, 0, k == 0 ? 17 : 16);
        post(&f.a, &wr);
        world_run(&f.w);
        const struct sn_cqe64 *c = next_rcqe(&f.b);
        assert_non_null(c);
        assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
        assert_int_equal(cqe_syndrome(c), k == 0 ? SN_SYND_LOCAL_LENGTH : SN_SYND_LOCAL_PROT);
        c = next_rcqe(&f.b);
        assert_non_null(c);
        assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
        assert_int_equal(cqe_syndrome(c), SN_SYND_FLUSH);
        post_recv(&f.b, f.b.mem, 16, f.b.mkey); /* posted in ERR: flushed when somebody says so */
        sn_qp_kick(f.b.nic, f.b.qpn);
        world_run(&f.w);
        c = next_rcqe(&f.b);
        assert_non_null(c);
        assert_int_equal(cqe_syndrome(c), SN_SYND_FLUSH);
        close_fixture(&f);
    }
}

/* Nobody answers: retries run out. */
static void test_not_connected(void **state)
{
    struct fixture f;
    struct options o = defaults;
    (void)state;
    o.retry = 3;
    o.ack_timeout = 8; /* 1 ms */
    open_fixture(&f, &o);
    assert_int_equal(sn_qp_modify(f.b.nic, f.b.qpn, SN_QP_RST, NULL, 0), 0);
    struct wr wr = wr_write(&f.a, &f.b, 0, 0, 8);
    uint32_t i = post(&f.a, &wr);
    world_pass(&f.w, 2000000, 100000);
    expect_none(&f.a); /* not before its time: 4 timeouts of 1 ms at least */
    world_pass(&f.w, 20000000, 100000);
    expect_error(&f.a, i, SN_SYND_RETRY_EXCEEDED);
    assert_int_equal(end_state(&f.a), SN_QP_ERR);
    close_fixture(&f);
}

static void test_rnr(void **state)
{
    struct fixture f;
    struct options o = defaults;
    (void)state;
    o.rnr_retry = 2;
    o.min_rnr = 12; /* 0.64 ms */
    open_fixture(&f, &o);
    struct wr wr = wr_send(&f.a, 0, 64);
    fill(f.a.mem, 64, 3);
    uint32_t i = post(&f.a, &wr);
    world_pass(&f.w, 700000, 100000);
    expect_none(&f.a);
    post_recv(&f.b, f.b.mem, 64, f.b.mkey); /* in time: the next try succeeds */
    world_pass(&f.w, 700000, 100000);
    expect_ok(&f.a, i);
    assert_memory_equal(f.a.mem, f.b.mem, 64);
    assert_non_null(next_rcqe(&f.b));
    i = post(&f.a, &wr);
    world_pass(&f.w, 10000000, 100000);
    expect_error(&f.a, i, SN_SYND_RNR_EXCEEDED);
    assert_int_equal(end_state(&f.b), SN_QP_RTS); /* it only was not ready */
    close_fixture(&f);
}

/* After an error: RST and up again, and the queue works from index 0. */
static void test_recovery(void **state)
{
    struct fixture f;
    struct sn_qp_error error;
    (void)state;
    open_fixture(&f, &defaults);
    struct wr wr = wr_write(&f.a, &f.b, 0, 0, 8);
    for (int k = 0; k < 5; k++)
        put_wqe(&f.a, &wr);
    wr.rkey = 1;
    put_wqe(&f.a, &wr);
    ring(&f.a);
    world_run(&f.w);
    for (uint32_t k = 0; k < 5; k++)
        expect_ok(&f.a, k);
    expect_error(&f.a, 5, SN_SYND_REMOTE_ACCESS);
    write_register(&f.a, 6); /* a late doorbell of the former life, never looked at before the reset */
    end_reconnect(&f.a, &f.b);
    end_reconnect(&f.b, &f.a);
    assert_int_equal(f.a.record[1], 0); /* softnic zeroes it */
    sn_qp_query(f.a.nic, f.a.qpn, NULL, NULL, NULL, &error);
    assert_false(error.has_error);
    world_run(&f.w);
    expect_none(&f.a);
    wr = wr_write(&f.a, &f.b, 0, 64, 8);
    fill(f.a.mem, 8, 4);
    uint32_t i = post(&f.a, &wr);
    assert_int_equal(i, 0);
    world_run(&f.w);
    expect_ok(&f.a, 0);
    expect_none(&f.a);
    assert_memory_equal(f.a.mem, f.b.mem + 64, 8);
    close_fixture(&f);
}

/* CE modes in a flush: "on first error" keeps quiet, "on error" speaks. */
static void test_flush_modes(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    struct wr bad = wr_write(&f.a, &f.b, 0, 0, 8), quiet = bad, loud = bad;
    bad.rkey = 1;
    bad.fm_ce_se = SN_CE_ON_ERROR << 2;
    quiet.fm_ce_se = SN_CE_ON_FIRST_ERROR << 2;
    loud.fm_ce_se = SN_CE_ON_ERROR << 2;
    uint32_t i = put_wqe(&f.a, &bad);
    put_wqe(&f.a, &quiet);
    uint32_t k = put_wqe(&f.a, &loud);
    ring(&f.a);
    world_run(&f.w);
    expect_error(&f.a, i, SN_SYND_REMOTE_ACCESS);
    expect_error(&f.a, k, SN_SYND_FLUSH);
    expect_none(&f.a);
    close_fixture(&f);
}

static void test_transitions(void **state)
{
    struct fixture f;
    struct sn_qp_params p = {.mtu = 9};
    (void)state;
    open_fixture(&f, &defaults);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_INIT, NULL, 0), -EINVAL);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_RTR, NULL, 0), -EINVAL);
    assert_int_equal(sn_qp_modify(f.a.nic, 0x123, SN_QP_RST, NULL, 0), -ENOENT);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_RST, NULL, 0), 0);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_RTS, NULL, 0), -EINVAL);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_ERR, NULL, 0), -EINVAL);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_INIT, NULL, 0), 0);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_RTR, &p, SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE), -EINVAL);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_RTR, NULL, 0), -EINVAL);
    assert_int_equal(end_state(&f.a), SN_QP_INIT); /* a refused move changes nothing */
    close_fixture(&f);
}

static void test_destroy_order(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    assert_int_equal(sn_cq_destroy(f.a.nic, f.a.cqn), -EBUSY);
    assert_int_equal(sn_pd_destroy(f.a.nic, f.a.pdn), -EBUSY);
    assert_int_equal(sn_uar_free(f.a.nic, f.a.uar.index), 0); /* the queue keeps it alive */
    struct wr wr = wr_write(&f.a, &f.b, 0, 0, 8);
    uint32_t i = post(&f.a, &wr);
    world_run(&f.w);
    expect_ok(&f.a, i);
    assert_int_equal(sn_uar_free(f.a.nic, f.a.uar.index), -ENOENT);
    f.a.o.share_uar = f.a.uar.index; /* end_close must not free it again */
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),      cmocka_unit_test(test_qp_rights),   cmocka_unit_test(test_receiver_sees),
        cmocka_unit_test(test_not_connected), cmocka_unit_test(test_rnr),         cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_flush_modes),   cmocka_unit_test(test_transitions), cmocka_unit_test(test_destroy_order),
        cmocka_unit_test(test_loopback_says_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
