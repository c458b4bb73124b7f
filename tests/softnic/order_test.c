/* SPDX-License-Identifier: Apache-2.0 */
/* WAIT, fences, limits of reads and atomics, CQ overrun: what makes a queue stand still, and what lets it go on. */
#include "harness.h"

struct fixture {
    struct world w;
    struct end a, b;
};

static void open_fixture(struct fixture *f, const struct options *o)
{
    world_open(&f->w, o);
    end_open(&f->a, &f->w, 0, o);
    end_open(&f->b, &f->w, 0, o);
    ends_connect(&f->a, &f->a);
    ends_connect(&f->b, &f->b);
}

static void close_fixture(struct fixture *f)
{
    end_close(&f->a);
    end_close(&f->b);
    world_close(&f->w);
}

static struct wr wr_wait(const struct end *on, uint32_t index)
{
    return (struct wr){.opcode = SN_OPCODE_WAIT, .fm_ce_se = 8, .cqn = on->cqn, .index = index};
}

/* b waits for a's CQE with index L, then adds: released when count - L > 0. */
static void wait_on(bool collapsed)
{
    struct fixture f;
    struct options o = defaults;
    o.collapsed = collapsed;
    open_fixture(&f, &o);
    uint64_t *counter = (uint64_t *)(void *)f.b.mem;
    for (uint32_t round = 0; round < 100; round++) {
        struct wr add = wr_fetch_add(&f.b, &f.b, 64, 0, 1), wait = wr_wait(&f.a, round * 2 + 1);
        struct wr write = wr_write(&f.a, &f.a, 0, 4096, 8);
        put_wqe(&f.b, &wait);
        put_wqe(&f.b, &add);
        ring(&f.b);
        world_run(&f.w);
        assert_int_equal(*counter, round);
        post(&f.a, &write); /* index 2 * round: count 2 * round + 1, not beyond L */
        world_run(&f.w);
        assert_int_equal(*counter, round);
        post(&f.a, &write);
        world_run(&f.w);
        assert_int_equal(*counter, round + 1);
    }
    uint32_t count;
    sn_cq_producer(f.b.nic, f.b.cqn, &count);
    assert_int_equal(count, 200); /* WAITs have CQEs of their own */
    close_fixture(&f);
}

static void test_wait(void **state)
{
    (void)state;
    wait_on(false);
}

static void test_wait_collapsed(void **state)
{
    (void)state;
    wait_on(true);
}

/* Error CQEs count, a QP reset does not clear the count. */
static void test_wait_counts_errors(void **state)
{
    struct fixture f;
    uint32_t count;
    (void)state;
    open_fixture(&f, &defaults);
    struct wr bad = wr_write(&f.a, &f.a, 0, 0, 8), wait = wr_wait(&f.a, 1), good;
    good = bad;
    bad.rkey = 1;
    uint32_t i = post(&f.b, &wait);
    put_wqe(&f.a, &bad);
    put_wqe(&f.a, &good); /* flushed */
    ring(&f.a);
    world_run(&f.w);
    expect_ok(&f.b, i);
    end_reconnect(&f.a, &f.a);
    sn_cq_producer(f.a.nic, f.a.cqn, &count);
    assert_int_equal(count, 2);
    wait = wr_wait(&f.a, 2);
    i = post(&f.b, &wait);
    world_run(&f.w);
    expect_none(&f.b);
    post(&f.a, &good);
    world_run(&f.w);
    expect_ok(&f.b, i);
    close_fixture(&f);
}

/* A queue that waits goes to ERR, and the CQ that it waited for is destroyed: neither hangs. */
static void test_wait_gives_up(void **state)
{
    struct fixture f;
    struct sn_cq_attr attr = {.ring = {.length = 4096}, .log_size = 4, .cqe_size = 64, .overrun_ignore = true};
    static uint8_t ring_memory[4096] __attribute__((aligned(64)));
    uint32_t cqn;
    (void)state;
    open_fixture(&f, &defaults);
    attr.ring.addr = ring_memory;
    assert_int_equal(sn_cq_create(f.a.nic, &attr, &cqn), 0);
    struct wr wait = {.opcode = SN_OPCODE_WAIT, .fm_ce_se = 8, .cqn = cqn, .index = 5};
    uint32_t i = post(&f.a, &wait), k = post(&f.b, &wait);
    world_run(&f.w);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_ERR, NULL, 0), 0);
    world_run(&f.w);
    expect_error(&f.a, i, SN_SYND_FLUSH);
    assert_int_equal(sn_cq_destroy(f.a.nic, cqn), 0);
    world_run(&f.w);
    expect_error(&f.b, k, SN_SYND_LOCAL_QP_OP);
    close_fixture(&f);
}

/* Loses the first packet, or the first answer, that it sees. */
struct loss {
    bool answer, done;
};

static int lose_one(void *arg, const struct sn_burst *b)
{
    struct loss *loss = arg;

    if (loss->done || (b->kind == SN_KIND_ACK) != loss->answer)
        return SN_TAP_PASS;
    loss->done = true;
    return SN_TAP_DROP;
}

/*
 * A WAIT for the completion of what stands before it, which the peer refuses for want of a receive, or which is lost: it is
 * sent again all the same. What stands behind the WAIT comes after that only.
 */
static void wait_behind(bool refused, bool answer)
{
    struct world w;
    struct end a, b;
    struct loss loss = {.answer = answer};

    world_open(&w, &defaults);
    end_open(&a, &w, 0, &defaults);
    end_open(&b, &w, 1, &defaults);
    ends_connect(&a, &b);
    fill(a.mem, 256, 3);
    struct wr first = wr_write(&a, &b, 0, 4096, 64), send = wr_send(&a, 64, 64), wait = wr_wait(&a, 1),
              last = wr_write(&a, &b, 128, 8192, 64);
    if (!refused)
        sn_port_set_tap(w.port, lose_one, &loss);
    put_wqe(&a, &first);
    put_wqe(&a, refused ? &send : &first);
    put_wqe(&a, &wait);
    put_wqe(&a, &last);
    ring(&a);
    world_run(&w);
    if (refused) {
        expect_ok(&a, 0);
        expect_none(&a);
        post_recv(&b, b.mem, 64, b.mkey);
    }
    world_pass(&w, 100000000, 1000000);
    for (uint32_t i = refused ? 1 : 0; i < 4; i++)
        expect_ok(&a, i);
    expect_none(&a);
    assert_memory_equal(b.mem + 4096, a.mem, 64);
    assert_memory_equal(b.mem + 8192, a.mem + 128, 64);
    if (refused)
        assert_memory_equal(b.mem, a.mem + 64, 64);
    else
        assert_true(loss.done);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

static void test_wait_behind_what_is_refused(void **state)
{
    (void)state;
    wait_behind(true, false);
}

static void test_wait_behind_what_is_lost(void **state)
{
    (void)state;
    wait_behind(false, false);
    wait_behind(false, true);
}

/* ---- fences and limits ----------------------------------------------------------------------------------------- */

/* Sees every burst: how many reads and atomics are under way, and whether a fenced WQE came too early. */
struct watch {
    int reads, most;
    bool fenced_early;
    uint32_t fenced_imm;
};

static int count_reads(void *arg, const struct sn_burst *b)
{
    struct watch *watch = arg;

    if (b->kind == SN_KIND_READ_REQUEST || (b->kind >= SN_KIND_ATOMIC_CS && b->kind <= SN_KIND_ATOMIC_MASKED_FA))
        watch->reads++;
    if (b->kind == SN_KIND_ATOMIC_ACK || (b->kind == SN_KIND_READ_RESPONSE && (b->flags & SN_BURST_LAST)))
        watch->reads--;
    if (watch->reads > watch->most)
        watch->most = watch->reads;
    if (b->kind == SN_KIND_WRITE && (b->flags & SN_BURST_IMM) && b->imm == watch->fenced_imm && watch->reads != 0)
        watch->fenced_early = true;
    return SN_TAP_PASS;
}

static void test_read_limit(void **state)
{
    (void)state;
    for (uint8_t log = 0; log < 3; log++) {
        struct fixture f;
        struct watch watch = {0};
        struct options o = defaults;
        o.log_sra = log;
        open_fixture(&f, &o);
        sn_port_set_tap(f.w.port, count_reads, &watch);
        for (int k = 0; k < 16; k++) {
            struct wr wr = k & 1 ? wr_read(&f.a, &f.a, 4096, 0, 3000) : wr_fetch_add(&f.a, &f.a, 64, 0, 1);
            put_wqe(&f.a, &wr);
        }
        ring(&f.a);
        world_run(&f.w);
        for (uint32_t k = 0; k < 16; k++)
            expect_ok(&f.a, k);
        assert_int_equal(watch.most, 1 << log);
        close_fixture(&f);
    }
}

/* The responder refuses more than it promised to keep. */
static void test_responder_limit(void **state)
{
    struct fixture f;
    struct options o = defaults;
    struct watch watch = {0};
    (void)state;
    o.log_sra = 3;
    o.log_rra = 2;
    open_fixture(&f, &o);
    sn_port_set_tap(f.w.port, count_reads, &watch);
    for (int k = 0; k < 8; k++) {
        struct wr wr = wr_read(&f.a, &f.a, 1 << 20, 0, 1 << 20); /* long ones: they are answered in pieces */
        put_wqe(&f.a, &wr);
    }
    ring(&f.a);
    world_run(&f.w);
    const struct sn_cqe64 *c;
    int ok = 0;
    while ((c = next_cqe(&f.a)) != NULL && cqe_opcode(c) == SN_CQE_REQ)
        ok++;
    assert_non_null(c);
    assert_int_equal(cqe_syndrome(c), SN_SYND_REMOTE_INVALID);
    assert_true(ok >= 4 && ok < 8);
    close_fixture(&f);
}

static void test_fences(void **state)
{
    static const struct {
        uint8_t fence;
        bool early; /* may overtake the reads before it */
    } table[] = {{SN_FENCE_NONE, true}, {SN_FENCE_SMALL, true}, {SN_FENCE_READS, false}, {SN_FENCE_STRONG, false},
                 {SN_FENCE_READS_SMALL, false}};
    (void)state;
    for (unsigned k = 0; k < 5; k++) {
        struct fixture f;
        struct watch watch = {.fenced_imm = 0x1234};
        open_fixture(&f, &defaults);
        sn_port_set_tap(f.w.port, count_reads, &watch);
        struct wr read = wr_read(&f.a, &f.a, 1 << 20, 0, 1 << 19), write = wr_write(&f.a, &f.a, 0, 8192, 8);
        write.opcode = SN_OPCODE_RDMA_WRITE_IMM;
        write.imm = 0x1234;
        write.fm_ce_se = (uint8_t)(8 | table[k].fence << 5);
        post_recv(&f.a, NULL, 0, 0);
        put_wqe(&f.a, &read);
        put_wqe(&f.a, &write);
        ring(&f.a);
        world_run(&f.w);
        expect_ok(&f.a, 0); /* CQEs are in order in any case */
        expect_ok(&f.a, 1);
        assert_int_equal(watch.fenced_early, table[k].early);
        close_fixture(&f);
    }
}

/* ---- overrun --------------------------------------------------------------------------------------------------- */

static void test_overrun(void **state)
{
    struct fixture f;
    struct options o = defaults;
    struct sn_qp_error error;
    (void)state;
    o.overrun = true;
    o.log_cq = 2;
    open_fixture(&f, &o);
    struct wr wr = wr_write(&f.a, &f.a, 0, 4096, 8);
    for (int k = 0; k < 4; k++)
        post(&f.a, &wr);
    world_run(&f.w);
    assert_int_equal(end_state(&f.a), SN_QP_RTS);
    expect_ok(&f.a, 0); /* makes room for one */
    post(&f.a, &wr);
    world_run(&f.w);
    assert_int_equal(end_state(&f.a), SN_QP_RTS);
    post(&f.a, &wr); /* one too many */
    world_run(&f.w);
    assert_int_equal(end_state(&f.a), SN_QP_ERR);
    sn_qp_query(f.a.nic, f.a.qpn, NULL, NULL, NULL, &error);
    assert_true(error.has_error);
    for (uint32_t k = 1; k < 5; k++) /* nothing in the ring was overwritten */
        expect_ok(&f.a, k);
    expect_none(&f.a);
    close_fixture(&f);
}

static void test_overrun_ignored(void **state)
{
    struct fixture f;
    struct options o = defaults;
    uint32_t count;
    (void)state;
    o.log_cq = 2;
    open_fixture(&f, &o);
    struct wr wr = wr_write(&f.a, &f.a, 0, 4096, 8);
    for (int k = 0; k < 1000; k++) {
        post(&f.a, &wr);
        world_run(&f.w);
    }
    assert_int_equal(end_state(&f.a), SN_QP_RTS);
    sn_cq_producer(f.a.nic, f.a.cqn, &count);
    assert_int_equal(count, 1000);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait),          cmocka_unit_test(test_wait_collapsed), cmocka_unit_test(test_wait_counts_errors),
        cmocka_unit_test(test_wait_behind_what_is_refused),
        cmocka_unit_test(test_wait_behind_what_is_lost),
        cmocka_unit_test(test_wait_gives_up), cmocka_unit_test(test_read_limit),     cmocka_unit_test(test_responder_limit),
        cmocka_unit_test(test_fences),        cmocka_unit_test(test_overrun),        cmocka_unit_test(test_overrun_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
