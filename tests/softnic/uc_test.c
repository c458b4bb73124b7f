/* SPDX-License-Identifier: Apache-2.0 */
/* Unreliable connections (IBTA vol. 1, 9.8.2). */
#include "packets.h"

#define PSN RIG_PSN
enum { MTU = 1024, AT = 4096 };

static struct options uc(void)
{
    struct options o = defaults;
    o.service = SN_SERVICE_UC;
    o.psn = PSN;
    return o;
}

/* ---- requester (9.8.2.1) ------------------------------------------------------------------------------------- */

static void test_requester_is_done_when_sent(void **state)
{
    struct options o = uc();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem, 4096, 5);
    struct wr wr = wr_write(&r.e, &r.e, 0, 0x1000, 3000);
    uint32_t index = post(&r.e, &wr);
    rig_run(&r);
    for (uint32_t k = 0; k < 3; k++) { /* first, middle, last: none asks for an acknowledgement */
        const struct sent *s = rig_out(&r);
        assert_non_null(s);
        assert_int_equal(s->b.kind, SN_KIND_WRITE);
        assert_int_equal(s->b.service, SN_SERVICE_UC);
        assert_int_equal(s->b.flags, k == 0 ? FIRST : k == 2 ? LAST : MIDDLE);
        assert_int_equal(s->b.psn, PSN + k);
        assert_memory_equal(s->payload, r.e.mem + k * MTU, s->b.length);
    }
    rig_expect_silence(&r);
    expect_ok(&r.e, index);
    world_pass(&r.w, 1000000000, 50000000); /* nothing is sent again */
    rig_expect_silence(&r);
    rig_close(&r);
}

/* What the wire has no room for stays, and the CQE waits with it. */
static void test_requester_waits_for_the_wire(void **state)
{
    struct options o = uc();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct wr wr = wr_send(&r.e, 0, 2000);
    r.full = true;
    uint32_t index = post(&r.e, &wr);
    rig_run(&r);
    expect_none(&r.e);
    r.full = false;
    rig_run(&r);
    assert_int_equal(r.count, 2);
    expect_ok(&r.e, index);
    rig_close(&r);
}

/* READ and atomics need answers: a local error, and the send queue alone is lost (10.3.1.6, SQ error). */
static void test_opcodes_and_sq_error(void **state)
{
    static const uint8_t refused[] = {SN_OPCODE_RDMA_READ, SN_OPCODE_ATOMIC_FA, SN_OPCODE_SEND_INVAL};
    struct options o = uc();
    struct rig r;
    (void)state;

    for (unsigned k = 0; k < sizeof(refused); k++) {
        rig_open(&r, &o);
        struct wr ok = wr_send(&r.e, 0, 10), bad = wr_fetch_add(&r.e, &r.e, 0, 64, 1);
        bad.opcode = refused[k];
        uint32_t first = put_wqe(&r.e, &ok), wrong = put_wqe(&r.e, &bad), third = put_wqe(&r.e, &ok);
        ring(&r.e);
        rig_run(&r);
        expect_ok(&r.e, first);
        expect_error(&r.e, wrong, SN_SYND_LOCAL_QP_OP);
        expect_error(&r.e, third, SN_SYND_FLUSH);
        assert_int_equal(end_state(&r.e), SN_QP_SQER);
        uint32_t late = post(&r.e, &ok);
        rig_run(&r);
        expect_error(&r.e, late, SN_SYND_FLUSH);
        post_recv(&r.e, r.e.mem + 4096, 4096, r.e.mkey); /* receives go on */
        rig_send(&r, ONLY, PSN, 100);
        const struct sn_cqe64 *c = next_rcqe(&r.e);
        assert_non_null(c);
        assert_int_equal(cqe_opcode(c), SN_CQE_RESP_SEND);
        assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_RTS, NULL, 0), 0);
        uint32_t again = post(&r.e, &ok);
        rig_run(&r);
        expect_ok(&r.e, again);
        rig_close(&r);
    }
}

/* ---- responder (9.8.2.2) ------------------------------------------------------------------------------------- */

static void expect_received(struct rig *r, uint32_t bytes)
{
    const struct sn_cqe64 *c = next_rcqe(&r->e);

    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), SN_CQE_RESP_SEND);
    assert_int_equal(sn_get32(c->byte_cnt), bytes);
    assert_null(next_rcqe(&r->e));
}

/* Rows of packets, and which messages come of them. One receive WQE is posted: what is dropped leaves it for the next. */
static void test_psn_rules(void **state)
{
    static const struct {
        const char *what;
        struct {
            int flags;
            int32_t psn; /* from PSN */
            uint32_t length;
        } in[5];
        unsigned n;
        uint32_t bytes; /* of the message that arrives; 0: none */
    } rows[] = {
        {"in order", {{FIRST, 0, MTU}, {MIDDLE, 1, MTU}, {LAST, 2, 10}}, 3, 2 * MTU + 10},
        {"an only packet beyond the expected PSN (9.8.2.2)", {{ONLY, 7, 33}}, 1, 33},
        {"an only packet before it", {{ONLY, -5, 33}}, 1, 33},
        {"a middle is lost: the message goes (9.8.2.2)", {{FIRST, 0, MTU}, {LAST, 2, 10}}, 2, 0},
        {"a middle twice", {{FIRST, 0, MTU}, {MIDDLE, 1, MTU}, {MIDDLE, 1, MTU}, {LAST, 2, 10}}, 4, 0},
        {"the first is lost", {{MIDDLE, 1, MTU}, {LAST, 2, 10}}, 2, 0},
        {"the last is lost, another message follows", {{FIRST, 0, MTU}, {FIRST, 2, MTU}, {LAST, 3, 20}}, 3, MTU + 20},
        {"a first follows at once", {{FIRST, 0, MTU}, {FIRST, 1, MTU}, {LAST, 2, 21}}, 3, MTU + 21},
        {"an only ends a message", {{FIRST, 0, MTU}, {ONLY, 1, 22}, {LAST, 2, 10}}, 3, 22},
        {"a gap, the rest, then the next", {{FIRST, 0, MTU}, {MIDDLE, 3, MTU}, {LAST, 4, 1}, {ONLY, 5, 9}}, 4, 9},
        {"a short first (9.8.2.2)", {{FIRST, 0, MTU - 1}, {LAST, 1, 10}}, 2, 0},
        {"a last without payload", {{FIRST, 0, MTU}, {LAST, 1, 0}}, 2, 0},
        {"an empty message", {{ONLY, 0, 0}, {ONLY, 1, 12}}, 1, 0},
        {"too long a packet", {{ONLY, 0, MTU + 1}}, 1, 0},
    };
    (void)state;

    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        for (int wrap = 0; wrap < 2; wrap++) {
            struct options o = uc();
            struct rig r;
            o.psn = wrap ? 0xffffff : PSN;
            rig_open(&r, &o);
            post_recv(&r.e, r.e.mem + 4096, 8192, r.e.mkey);
            for (unsigned i = 0; i < rows[k].n; i++)
                rig_send(&r, (unsigned)rows[k].in[i].flags, o.psn + (uint32_t)rows[k].in[i].psn, rows[k].in[i].length);
            rig_expect_silence(&r); /* no ACK, no NAK, ever */
            assert_int_equal(end_state(&r.e), SN_QP_RTS);
            if (rows[k].bytes != 0) {
                expect_received(&r, rows[k].bytes);
            } else if (rows[k].n == 1 && rows[k].in[0].length == 0) {
                expect_received(&r, 0);
            } else {
                if (next_rcqe(&r.e) != NULL)
                    fail_msg("%s: a message came", rows[k].what);
                assert_true(rig_counters(&r).unreliable_dropped != 0);
                rig_send(&r, ONLY, o.psn + 100, 77); /* the receive WQE is still there */
                expect_received(&r, 77);
                assert_memory_equal(r.e.mem + 4096, rig_bytes, 77);
            }
            rig_close(&r);
        }
}

static void test_write(void **state)
{
    struct options o = uc();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    rig_write(&r, FIRST, PSN, 4096, MTU, MTU + 100);
    rig_write(&r, LAST, PSN + 1, 0, 100, 0);
    assert_memory_equal(r.e.mem + 4096, rig_bytes, MTU);
    assert_memory_equal(r.e.mem + 4096 + MTU, rig_bytes, 100);
    /* With immediate: the receive WQE tells, and the bytes are the whole message's (9.4.3.2). */
    post_recv(&r.e, NULL, 0, r.e.mkey);
    rig_write(&r, FIRST, PSN + 2, 8192, MTU, MTU + 5);
    struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, LAST | SN_BURST_IMM, PSN + 3);
    b.imm = 0x11223344;
    rig_in(&r, &b, rig_bytes, 5);
    const struct sn_cqe64 *c = next_rcqe(&r.e);
    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), SN_CQE_RESP_WR_IMM);
    assert_int_equal(sn_get32(c->byte_cnt), MTU + 5);
    assert_int_equal(c->imm, 0x11223344);
    rig_expect_silence(&r);
    rig_close(&r);
}

/* Bad keys, lengths that lie, rights that are missing: dropped in silence, and nothing is written (9.8.2.2). */
static void test_bad_writes(void **state)
{
    struct options o = uc();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, ONLY, PSN);
    b.va = (uintptr_t)r.e.mem;
    b.dmalen = 64;
    b.rkey = r.e.mkey ^ 1;
    rig_in(&r, &b, rig_bytes, 64);
    b.rkey = r.e.mkey;
    b.va = (uintptr_t)r.e.mem + MEM_SIZE - 63;
    rig_in(&r, &b, rig_bytes, 64);
    b.va = (uintptr_t)r.e.mem;
    rig_in(&r, &b, rig_bytes, 63);
    rig_in(&r, &b, rig_bytes, 65);
    b = rig_packet(&r, SN_KIND_READ_REQUEST, ONLY, PSN); /* no such thing on this service */
    b.va = (uintptr_t)r.e.mem;
    b.rkey = r.e.mkey;
    b.dmalen = 64;
    rig_in(&r, &b, NULL, 0);
    rig_answer(&r, SN_AETH_ACK, PSN);
    for (int i = 0; i < 128; i++)
        assert_int_equal(r.e.mem[i], 0);
    assert_int_equal(rig_counters(&r).unreliable_dropped, 6);
    assert_int_equal(end_state(&r.e), SN_QP_RTS);
    rig_expect_silence(&r);
    rig_close(&r);

    o.no_rwe = true;
    rig_open(&r, &o);
    rig_write(&r, ONLY, PSN, 0, 64, 64);
    assert_int_equal(r.e.mem[0], 0);
    rig_close(&r);
}

/* No receive WQE: the message is dropped, the next one that finds one is not (9.8.2.2). */
static void test_no_receive(void **state)
{
    struct options o = uc();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    rig_send(&r, FIRST, PSN, MTU);
    post_recv(&r.e, r.e.mem + 4096, 4096, r.e.mkey);
    rig_send(&r, LAST, PSN + 1, 5); /* too late for this one */
    assert_null(next_rcqe(&r.e));
    assert_int_equal(rig_counters(&r).out_of_buffer, 1);
    rig_send(&r, ONLY, PSN + 2, 6);
    expect_received(&r, 6);
    rig_close(&r);
}

/* The receive WQE is too small, or its key is bad: it ends in an error, and so does the queue pair (9.9.3). */
static void test_receive_errors(void **state)
{
    struct options o = uc();
    struct rig r;
    (void)state;

    for (int k = 0; k < 2; k++) {
        rig_open(&r, &o);
        post_recv(&r.e, r.e.mem + 4096, k == 0 ? 10 : 4096, k == 0 ? r.e.mkey : r.e.mkey ^ 1);
        rig_send(&r, ONLY, PSN, 11);
        const struct sn_cqe64 *c = next_rcqe(&r.e);
        assert_non_null(c);
        assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
        assert_int_equal(cqe_syndrome(c), k == 0 ? SN_SYND_LOCAL_LENGTH : SN_SYND_LOCAL_PROT);
        assert_int_equal(end_state(&r.e), SN_QP_ERR);
        rig_expect_silence(&r);
        rig_close(&r);
    }
}

/* ---- two queue pairs ------------------------------------------------------------------------------------------ */

static int drop_middles(void *arg, const struct sn_burst *b)
{
    uint32_t *left = arg;
    return b->flags == MIDDLE && *left != 0 && --*left == 0 ? SN_TAP_DROP : SN_TAP_PASS;
}

/* The buffer is the caller's again when the CQE comes: so the payload has been taken before it does. */
static int no_cqe_yet(void *arg, const struct sn_burst *b)
{
    (void)b;
    expect_none(arg);
    return SN_TAP_PASS;
}

static void test_delivered_before_the_cqe(void **state)
{
    struct options o = uc();
    struct world w;
    struct end a, b;
    (void)state;

    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    end_open(&b, &w, 1, &o);
    ends_connect(&a, &b);
    sn_port_set_tap(w.port, no_cqe_yet, &a);
    struct wr wr = wr_write(&a, &b, 0, AT, 100);
    uint32_t index = post(&a, &wr);
    world_run(&w);
    expect_ok(&a, index);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

/* In process the payload is delivered before the CQE; a lost middle costs its own message only. */
static void test_pair(void **state)
{
    struct options o = uc();
    struct world w;
    struct end a, b;
    (void)state;

    for (int single = 0; single < 2; single++) {
        uint32_t nth = 3;
        o.burst_bytes = single ? 1 : 0;
        o.psn = 0xfffffe;
        world_open(&w, &o);
        end_open(&a, &w, 0, &o);
        end_open(&b, &w, 1, &o);
        ends_connect(&a, &b);
        fill(a.mem, 65536, 3);
        if (single)
            sn_port_set_tap(w.port, drop_middles, &nth); /* in the second message */
        for (uint32_t k = 0; k < 4; k++)
            post_recv(&b, b.mem + k * 4096, 4096, b.mkey);
        for (uint32_t k = 0; k < 4; k++) {
            struct wr wr = wr_send(&a, k * 4096, 3500);
            uint32_t index = post(&a, &wr);
            world_run(&w);
            expect_ok(&a, index);
        }
        for (uint32_t k = 0; k < (single ? 3u : 4u); k++) {
            const struct sn_cqe64 *c = next_rcqe(&b);
            assert_non_null(c);
            assert_int_equal(sn_get32(c->byte_cnt), 3500);
            assert_memory_equal(b.mem + k * 4096, a.mem + (single && k > 0 ? k + 1 : k) * 4096, 3500);
        }
        assert_null(next_rcqe(&b));
        end_close(&a);
        end_close(&b);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requester_is_done_when_sent),
        cmocka_unit_test(test_requester_waits_for_the_wire),
        cmocka_unit_test(test_opcodes_and_sq_error),
        cmocka_unit_test(test_psn_rules),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_bad_writes),
        cmocka_unit_test(test_no_receive),
        cmocka_unit_test(test_receive_errors),
        cmocka_unit_test(test_delivered_before_the_cqe),
        cmocka_unit_test(test_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
