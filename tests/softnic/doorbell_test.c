/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbells are hints: doubled, reordered, stale, merged, early and late, by register, record or BlueFlame; whatever comes,
 * each posted WQE runs once, in order.
 */
#include "harness.h"
#include "softnic/exec/fault.h"

struct fixture {
    struct world w;
    struct end a, b;
    struct wr wr;
};

static void open_fixture(struct fixture *f, const struct options *o)
{
    world_open(&f->w, o);
    end_open(&f->a, &f->w, 0, o);
    end_open(&f->b, &f->w, 1, o);
    ends_connect(&f->a, &f->b);
    f->wr = wr_fetch_add(&f->a, &f->b, 0, 0, 1); /* counts how often it ran */
}

static void close_fixture(struct fixture *f)
{
    end_close(&f->a);
    end_close(&f->b);
    world_close(&f->w);
}

static uint64_t runs(struct fixture *f)
{
    return *(uint64_t *)(void *)f->b.mem;
}

static void put(struct fixture *f, unsigned n)
{
    while (n-- != 0)
        put_wqe(&f->a, &f->wr);
}

static void expect_run(struct fixture *f, uint32_t total)
{
    world_run(&f->w);
    assert_int_equal(runs(f), total);
    while (f->a.ci != total)
        expect_ok(&f->a, f->a.ci);
    expect_none(&f->a);
}

static void test_doubled(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    put(&f, 3);
    for (int k = 0; k < 5; k++) {
        ring(&f.a);
        world_run(&f.w);
    }
    expect_run(&f, 3);
    close_fixture(&f);
}

static void test_reordered(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    put(&f, 5);
    write_register(&f.a, 3);
    expect_run(&f, 3);
    write_register(&f.a, 5);
    expect_run(&f, 5);
    write_register(&f.a, 4); /* overtaken */
    expect_run(&f, 5);
    write_record(&f.a, 2); /* stale record, then a doorbell that is fresh */
    put(&f, 1);
    write_register(&f.a, 6);
    expect_run(&f, 6);
    close_fixture(&f);
}

static void test_record_lags_and_leads(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    put(&f, 2);
    write_register(&f.a, 2); /* before the record, which still holds 0 */
    expect_run(&f, 2);
    put(&f, 4);
    write_record(&f.a, 6); /* nothing rung: nothing happens */
    expect_run(&f, 2);
    write_register(&f.a, 3); /* the record is the further candidate */
    expect_run(&f, 6);
    close_fixture(&f);
}

static void test_early_doorbell_waits_for_wqe(void **state)
{
    struct fixture f;
    uint8_t saved[64];
    (void)state;
    open_fixture(&f, &defaults);
    put(&f, 2);
    memcpy(saved, f.a.sq + 64, 64);
    memset(f.a.sq + 64, 0x77, 64); /* the second WQE is not visible yet */
    ring(&f.a);
    expect_run(&f, 1);
    world_pass(&f.w, 5000000, 100000);
    expect_none(&f.a);
    memcpy(f.a.sq + 64, saved, 64);
    expect_run(&f, 2);
    close_fixture(&f);
}

static void test_wqe_that_never_comes(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    put(&f, 1);
    memset(f.a.sq + 64, 0x77, 64);
    f.a.pi++;
    ring(&f.a);
    expect_run(&f, 1);
    world_pass(&f.w, 20000000, 500000);
    expect_error(&f.a, 1, SN_SYND_LOCAL_QP_OP);
    assert_int_equal(end_state(&f.a), SN_QP_ERR);
    close_fixture(&f);
}

/* A register's value that is false, though within the ring: what the record says runs, the rest was never posted. */
static void test_false_register(void **state)
{
    struct fixture f;
    (void)state;
    for (uint32_t real = 0; real < 3; real++) {
        open_fixture(&f, &defaults);
        put(&f, real);
        write_record(&f.a, real);
        write_register(&f.a, real + 5);
        expect_run(&f, real);
        world_pass(&f.w, 50000000, 1000000);
        expect_run(&f, real);
        assert_int_equal(end_state(&f.a), SN_QP_RTS);
        put(&f, 2); /* and the queue goes on as if nothing had been */
        ring(&f.a);
        expect_run(&f, real + 2);
        write_register(&f.a, real + 6); /* again, and the true doorbell comes while the port waits for the false one's WQE */
        world_run(&f.w);
        put(&f, 1);
        ring(&f.a);
        expect_run(&f, real + 3);
        close_fixture(&f);
    }
}

static void test_nonsense(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    uint64_t *reg = f.a.uar.reg;
    *reg = sn_doorbell_build(0, 5); /* QPN 0 */
    expect_run(&f, 0);
    *reg = sn_doorbell_build(f.a.qpn ^ 1, 5); /* somebody else's number */
    expect_run(&f, 0);
    *reg = sn_doorbell_build(f.b.qpn, 5); /* a queue of another device */
    expect_run(&f, 0);
    write_register(&f.a, 17); /* more than a ring ahead */
    expect_run(&f, 0);
    write_register(&f.a, 0xff000000u); /* bits beyond the index */
    expect_run(&f, 0);
    put(&f, 1);
    *reg = sn_doorbell_build(f.a.qpn, 0xab0001); /* bits 16..23 of an unmasked index do not count */
    expect_run(&f, 1);
    *(uint64_t *)f.a.uar.dbrless = sn_doorbell_build(f.a.qpn, 2); /* not the register of a queue with a record */
    put(&f, 1);
    expect_run(&f, 1);
    ring(&f.a);
    expect_run(&f, 2);
    close_fixture(&f);
}

static void test_blueflame(void **state)
{
    struct fixture f;
    (void)state;
    open_fixture(&f, &defaults);
    put(&f, 3);
    for (int k = 7; k >= 0; k--) /* 8 lanes store in any order */
        __atomic_store_n((uint64_t *)f.a.uar.reg + k, ((uint64_t *)(void *)(f.a.sq + 2 * 64))[k], __ATOMIC_RELEASE);
    expect_run(&f, 3);
    ring(&f.a); /* the ordinary doorbell that follows */
    expect_run(&f, 3);
    f.wr = wr_write(&f.a, &f.b, 0, 64, 0);
    f.wr.sges = 0;
    f.wr.inl = f.a.mem + 512;
    f.wr.inl_length = 200; /* several basic blocks: the index after it is index + ceil(ds / 4) */
    uint32_t i = put_wqe(&f.a, &f.wr);
    __atomic_store_n((uint64_t *)f.a.uar.reg, *(uint64_t *)(void *)(f.a.sq + i * 64), __ATOMIC_RELEASE);
    world_run(&f.w);
    expect_ok(&f.a, i);
    close_fixture(&f);
}

static void test_no_record(void **state)
{
    struct fixture f;
    struct options o = defaults;
    (void)state;
    o.no_record = true;
    open_fixture(&f, &o);
    put(&f, 4);
    write_record(&f.a, 4); /* means nothing here */
    *(uint64_t *)f.a.uar.reg = sn_doorbell_build(f.a.qpn, 4); /* nor does the plain register */
    expect_run(&f, 0);
    write_register(&f.a, 4);
    expect_run(&f, 4);
    write_register(&f.a, 2);
    expect_run(&f, 4);
    for (unsigned k = 5; k < 100; k++) {
        put(&f, 1);
        write_register(&f.a, k);
        expect_run(&f, k);
    }
    close_fixture(&f);
}

/* Three queues on one register. The last store hides the others; their records tell. */
static void test_shared_register(void **state)
{
    struct world w;
    struct options o = defaults;
    struct end e[3];
    (void)state;
    world_open(&w, &o);
    for (int k = 0; k < 3; k++) {
        o.share_uar = k == 0 ? 0 : e[0].uar.index;
        end_open(&e[k], &w, 0, &o);
        if (k != 0)
            e[k].uar = e[0].uar;
        ends_connect(&e[k], &e[k]);
    }
    for (int round = 0; round < 200; round++) {
        uint32_t i[3];
        for (int k = 0; k < 3; k++) {
            struct wr wr = wr_write(&e[k], &e[k], 0, 4096, 8);
            i[k] = put_wqe(&e[k], &wr);
        }
        for (int k = 0; k < 3; k++)
            ring(&e[(round + k) % 3]); /* all merged into the last one's value */
        if (round % 2) /* and a duplicate of the first, whose value may have been seen before */
            write_register(&e[round % 3], e[round % 3].pi);
        world_run(&w);
        for (int k = 0; k < 3; k++)
            expect_ok(&e[k], i[k]);
    }
    for (int k = 2; k >= 0; k--)
        end_close(&e[k]);
    world_close(&w);
}

/* The value that stands in the register is of a queue that goes before anybody looks; it was stored over another's. */
static void test_shared_register_of_one_that_goes(void **state)
{
    struct world w;
    struct options o = defaults;
    struct end stays, goes;
    (void)state;
    world_open(&w, &o);
    end_open(&stays, &w, 0, &o);
    ends_connect(&stays, &stays);
    for (int round = 0; round < 2; round++) {
        o.share_uar = stays.uar.index;
        end_open(&goes, &w, 0, &o);
        goes.uar = stays.uar;
        ends_connect(&goes, &goes);
        struct wr wr = wr_write(&stays, &stays, 0, 4096, 8), other = wr_write(&goes, &goes, 0, 4096, 8);
        uint32_t i = put_wqe(&stays, &wr);
        ring(&stays);
        put_wqe(&goes, &other);
        ring(&goes);
        if (round != 0)
            end_reconnect(&goes, &goes);
        end_close(&goes);
        world_run(&w);
        expect_ok(&stays, i);
    }
    end_close(&stays);
    world_close(&w);
}

/* A doorbell that repeats the very value taken before must count: another queue's may have been in between. */
static void test_same_value_again(void **state)
{
    struct world w;
    struct options o = defaults;
    struct end a, b;
    (void)state;
    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    o.share_uar = a.uar.index;
    end_open(&b, &w, 0, &o);
    b.uar = a.uar;
    ends_connect(&a, &a);
    ends_connect(&b, &b);
    struct wr wr = wr_write(&b, &b, 0, 4096, 8);
    uint32_t i = put_wqe(&b, &wr);
    write_record(&b, 1);
    write_register(&b, 1);
    world_run(&w);
    expect_ok(&b, i);
    wr = wr_write(&a, &a, 0, 4096, 8);
    i = put_wqe(&a, &wr);
    ring(&a);
    write_register(&b, 1); /* b's second ring, late: covers a's */
    world_run(&w);
    expect_ok(&a, i);
    end_close(&b);
    end_close(&a);
    world_close(&w);
}

/* 70,000 WQEs through a ring of 16, in batches of every size up to the ring. */
static void test_index_wrap(void **state)
{
    struct fixture f;
    uint32_t total = 0;
    (void)state;
    open_fixture(&f, &defaults);
    for (unsigned n = 1; total < 70000; n = n % 16 + 1) {
        put(&f, n);
        total += n;
        ring(&f.a);
        world_run(&f.w);
        assert_int_equal(runs(&f), total);
        for (unsigned k = 0; k < n; k++)
            expect_ok(&f.a, f.a.ci);
    }
    expect_none(&f.a);
    close_fixture(&f);
}

/* The largest ring, filled to the brim. */
static void test_full_big_ring(void **state)
{
    struct fixture f;
    struct options o = defaults;
    (void)state;
    o.log_sq = 15;
    o.log_cq = 15;
    open_fixture(&f, &o);
    put(&f, 32768);
    ring(&f.a);
    expect_run(&f, 32768);
    put(&f, 32768);
    ring(&f.a);
    expect_run(&f, 65536);
    close_fixture(&f);
}

/* Rung before RTS: what is posted starts when the queue may send. */
static void test_before_rts(void **state)
{
    struct world w;
    struct end a;
    (void)state;
    world_open(&w, &defaults);
    end_open(&a, &w, 0, &defaults);
    struct sn_qp_params p = {.rwe = true, .mtu = 3, .remote_qpn = a.qpn, .ack_timeout = 10, .retry_count = 7};
    memcpy(p.path.dgid, sn_nic_get_config(a.nic)->gid[0], 16);
    assert_int_equal(sn_qp_modify(a.nic, a.qpn, SN_QP_INIT, &p, SN_QPF_RWE), 0);
    struct wr wr = wr_write(&a, &a, 0, 4096, 8);
    uint32_t i = post(&a, &wr);
    world_run(&w);
    assert_int_equal(sn_qp_modify(a.nic, a.qpn, SN_QP_RTR, &p, SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH), 0);
    world_run(&w);
    expect_none(&a);
    assert_int_equal(sn_qp_modify(a.nic, a.qpn, SN_QP_RTS, &p, SN_QPF_SND_PSN | SN_QPF_ACK_TIMEOUT | SN_QPF_RETRY), 0);
    world_run(&w);
    expect_ok(&a, i);
    end_close(&a);
    world_close(&w);
}

/* Rung on a queue that nobody connects: whoever waits for it gets an error that says so, and not before its time. */
static void test_never_connected(void **state)
{
    static const enum sn_qp_state last[] = {SN_QP_RST, SN_QP_INIT, SN_QP_RTR};
    (void)state;
    for (unsigned k = 0; k < 6; k++) {
        struct world w;
        struct end a;
        struct options o = defaults;
        struct sn_qp_error error;
        o.no_record = k >= 3;
        world_open(&w, &o);
        end_open(&a, &w, 0, &o);
        struct sn_qp_params p = {.rwe = true, .mtu = 3, .remote_qpn = a.qpn};
        memcpy(p.path.dgid, sn_nic_get_config(a.nic)->gid[0], 16);
        if (last[k % 3] != SN_QP_RST)
            assert_int_equal(sn_qp_modify(a.nic, a.qpn, SN_QP_INIT, &p, SN_QPF_RWE), 0);
        if (last[k % 3] == SN_QP_RTR)
            assert_int_equal(
                sn_qp_modify(a.nic, a.qpn, SN_QP_RTR, &p, SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH), 0);
        struct wr wr = wr_write(&a, &a, 0, 4096, 8);
        uint32_t i = post(&a, &wr);
        post(&a, &wr);
        world_pass(&w, 1900000000, 50000000);
        expect_none(&a);
        assert_int_equal(end_state(&a), last[k % 3]);
        world_pass(&w, 300000000, 50000000);
        assert_int_equal(end_state(&a), SN_QP_ERR);
        expect_error(&a, i, SN_SYND_LOCAL_QP_OP);
        expect_error(&a, i + 1, SN_SYND_FLUSH);
        assert_int_equal(sn_qp_query(a.nic, a.qpn, NULL, NULL, NULL, &error), 0);
        assert_int_equal(error.vendor_err_synd, SN_VENDOR_FAULT + SN_FAULT_STATE);
        /* Reset: what is rung now is told likewise; connected, the queue works as any other. */
        assert_int_equal(sn_qp_modify(a.nic, a.qpn, SN_QP_RST, NULL, 0), 0);
        world_pass(&w, 3000000000, 50000000);
        assert_int_equal(end_state(&a), SN_QP_RST);
        a.pi = 0;
        post(&a, &wr);
        world_pass(&w, 2200000000, 50000000);
        assert_int_equal(end_state(&a), SN_QP_ERR);
        expect_error(&a, 0, SN_SYND_LOCAL_QP_OP);
        end_reconnect(&a, &a);
        expect_none(&a);
        a.ci = 0;
        end_close(&a);
        world_close(&w);
    }
}

/* A queue that is only waiting for its connection, beside one that rings the same register, is left alone. */
static void test_neighbour_of_unconnected(void **state)
{
    struct world w;
    struct end a, b, idle;
    struct options o = defaults;
    (void)state;
    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    end_open(&b, &w, 1, &o);
    o.share_uar = a.uar.index;
    end_open(&idle, &w, 0, &o);
    ends_connect(&a, &b);
    struct sn_qp_params p = {.rwe = true, .mtu = 3, .remote_qpn = b.qpn};
    memcpy(p.path.dgid, sn_nic_get_config(b.nic)->gid[0], 16);
    assert_int_equal(sn_qp_modify(idle.nic, idle.qpn, SN_QP_INIT, &p, SN_QPF_RWE), 0);
    assert_int_equal(sn_qp_modify(idle.nic, idle.qpn, SN_QP_RTR, &p, SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH), 0);
    struct wr wr = wr_write(&a, &b, 0, 0, 8);
    for (int k = 0; k < 4; k++) {
        expect_none(&a);
        uint32_t i = post(&a, &wr);
        world_pass(&w, 1000000000, 50000000);
        expect_ok(&a, i);
    }
    assert_int_equal(end_state(&idle), SN_QP_RTR);
    expect_none(&idle);
    end_close(&idle);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

/* A register that has been cold for long, among 500 others, and registers used in turn. */
static void test_many_registers(void **state)
{
    enum { N = 500 };
    static struct end e[N];
    struct world w;
    struct options o = defaults;
    (void)state;
    o.log_sq = 2;
    o.log_cq = 2;
    world_open(&w, &o);
    for (int k = 0; k < N; k++) {
        o.no_record = k % 3 == 0;
        end_open(&e[k], &w, k & 1, &o);
        ends_connect(&e[k], &e[k]);
    }
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < N; k++) {
            int n = (k * 37 + round) % N;
            struct wr wr = wr_write(&e[n], &e[n], 0, 4096, 8);
            uint32_t i = post(&e[n], &wr);
            world_run(&w);
            expect_ok(&e[n], i);
        }
    for (int k = 0; k < N; k++)
        end_close(&e[k]);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubled),
        cmocka_unit_test(test_reordered),
        cmocka_unit_test(test_record_lags_and_leads),
        cmocka_unit_test(test_early_doorbell_waits_for_wqe),
        cmocka_unit_test(test_wqe_that_never_comes),
        cmocka_unit_test(test_false_register),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_blueflame),
        cmocka_unit_test(test_no_record),
        cmocka_unit_test(test_shared_register), cmocka_unit_test(test_shared_register_of_one_that_goes),
        cmocka_unit_test(test_same_value_again),
        cmocka_unit_test(test_index_wrap),
        cmocka_unit_test(test_full_big_ring),
        cmocka_unit_test(test_never_connected), cmocka_unit_test(test_neighbour_of_unconnected),
        cmocka_unit_test(test_before_rts),
        cmocka_unit_test(test_many_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
