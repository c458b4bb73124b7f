/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and atomics at the responder, and what it makes of requests that it has seen before (IBTA vol. 1, 9.4.4, 9.4.5,
 * 9.7.5.1): a SEND or WRITE is acknowledged again and not executed, a READ is executed again, an atomic is answered from
 * its saved result.
 */
#include "packets.h"

#define PSN RIG_PSN
enum { MTU = 1024, AT = 4096, RECV = 1 << 16 };

static struct options rc(uint32_t psn)
{
    struct options o = defaults;
    o.psn = psn;
    return o;
}

static uint64_t word(struct rig *r, uint32_t at)
{
    uint64_t v;
    memcpy(&v, r->e.mem + at, 8);
    return v;
}

/* The response packets [from, to) of a READ whose first response has `psn`, of `length` bytes at `at`. */
static void expect_read(struct rig *r, uint32_t psn, uint32_t from, uint32_t at, uint32_t length)
{
    uint32_t packets = length == 0 ? 1 : (length + MTU - 1) / MTU;

    for (uint32_t k = from; k < packets; k++) {
        const struct sent *s = rig_out(r);
        uint32_t n = k == packets - 1 ? length - k * MTU : MTU;
        assert_non_null(s);
        assert_int_equal(s->b.kind, SN_KIND_READ_RESPONSE);
        assert_int_equal(s->b.psn, (psn + k) & 0xffffff);
        assert_int_equal(s->b.flags, (k == 0 ? FIRST : 0) | (k == packets - 1 ? LAST : 0));
        assert_int_equal(s->b.length, n);
        assert_int_equal(s->b.syndrome, SN_AETH_ACK);
        assert_memory_equal(s->payload, r->e.mem + at + k * MTU, n);
    }
}

static void expect_atomic(struct rig *r, uint32_t psn, uint64_t orig)
{
    const struct sent *s = rig_out(r);

    assert_non_null(s);
    assert_int_equal(s->b.kind, SN_KIND_ATOMIC_ACK);
    assert_int_equal(s->b.psn, psn & 0xffffff);
    assert_int_equal(s->b.atomic_orig, orig);
}

/* A READ takes as many PSNs as its response has packets; the next request follows behind (9.7.3.1). */
static void test_read_takes_psns(void **state)
{
    static const uint32_t lengths[] = {0, 1, MTU - 1, MTU, MTU + 1, 5000};
    (void)state;

    for (unsigned k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
        for (int wrap = 0; wrap < 2; wrap++) {
            struct options o = rc(wrap ? 0xfffffd : PSN);
            struct rig r;
            uint32_t n = lengths[k] == 0 ? 1 : (lengths[k] + MTU - 1) / MTU;
            rig_open(&r, &o);
            fill(r.e.mem + AT, 8192, k);
            rig_read(&r, o.psn, AT, lengths[k]);
            expect_read(&r, o.psn, 0, AT, lengths[k]);
            rig_expect_silence(&r);
            rig_write(&r, ONLY | SN_BURST_ACKREQ, o.psn + n, 0, 8, 8);
            rig_expect_ack(&r, SN_AETH_ACK, o.psn + n);
            rig_close(&r);
        }
}

/* A SEND or WRITE that came before: acknowledged with the newest PSN, nothing else happens (9.7.5.1). */
static void test_duplicate_data(void **state)
{
    struct options o = rc(0xffffff);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    post_recv(&r.e, r.e.mem + RECV, 64, r.e.mkey);
    post_recv(&r.e, r.e.mem + RECV + 64, 64, r.e.mkey);
    rig_send(&r, ONLY | SN_BURST_ACKREQ, 0xffffff, 10);
    rig_expect_ack(&r, SN_AETH_ACK, 0xffffff);
    rig_write(&r, ONLY | SN_BURST_ACKREQ, 0, AT, 8, 8);
    rig_expect_ack(&r, SN_AETH_ACK, 0);
    assert_non_null(next_rcqe(&r.e));
    memset(r.e.mem + AT, 0x77, 8);
    rig_write(&r, ONLY | SN_BURST_ACKREQ, 0, AT, 8, 8);
    rig_expect_ack(&r, SN_AETH_ACK, 0);
    rig_send(&r, ONLY | SN_BURST_ACKREQ, 0xffffff, 10);
    rig_expect_ack(&r, SN_AETH_ACK, 0);
    assert_null(next_rcqe(&r.e)); /* the second receive is still there */
    assert_int_equal(r.e.mem[AT], 0x77);
    assert_int_equal(rig_counters(&r).duplicate_request, 2);
    rig_send(&r, ONLY | SN_BURST_ACKREQ, 1, 11);
    rig_expect_ack(&r, SN_AETH_ACK, 1);
    assert_non_null(next_rcqe(&r.e));
    rig_close(&r);
}

/* In the middle of a message the packets that have come are duplicates, the others are not. */
static void test_duplicate_in_a_message(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    rig_write(&r, FIRST, PSN, AT, MTU, 3 * MTU);
    rig_write(&r, MIDDLE, PSN + 1, 0, MTU, 0);
    rig_write(&r, FIRST, PSN, AT, MTU, 3 * MTU);
    rig_expect_ack(&r, SN_AETH_ACK, PSN + 1);
    rig_write(&r, MIDDLE | SN_BURST_ACKREQ, PSN + 1, 0, MTU, 0);
    rig_expect_ack(&r, SN_AETH_ACK, PSN + 1);
    rig_write(&r, LAST | SN_BURST_ACKREQ, PSN + 2, 0, MTU, 0);
    rig_expect_ack(&r, SN_AETH_ACK, PSN + 2);
    for (int k = 0; k < 3; k++)
        assert_memory_equal(r.e.mem + AT + k * MTU, rig_bytes, MTU);
    rig_close(&r);
}

/* A READ again, as a whole or from where the response broke off: read anew (9.4.4), with the PSNs that are asked for. */
static void test_duplicate_read(void **state)
{
    struct options o = rc(0xfffffe);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem + AT, 8192, 1);
    rig_read(&r, 0xfffffe, AT, 5000);
    expect_read(&r, 0xfffffe, 0, AT, 5000);
    fill(r.e.mem + AT, 8192, 2); /* executed again: what is there now */
    rig_read(&r, 0xfffffe, AT, 5000);
    expect_read(&r, 0xfffffe, 0, AT, 5000);
    for (uint32_t k = 1; k < 5; k++) {
        rig_read(&r, 0xfffffe + k, AT + k * MTU, 5000 - k * MTU);
        expect_read(&r, 0xfffffe, k, AT, 5000);
        rig_expect_silence(&r);
    }
    /* The rest of another READ, of another place, or beyond what was asked for: nobody's duplicate (9.7.4.1.1). */
    rig_read(&r, 0xffffff, AT, 5000 - MTU);
    rig_read(&r, 0xffffff, AT + MTU, 5000);
    rig_read(&r, 0xffffff, AT + MTU, 5000 - MTU + 1);
    rig_read(&r, 0xffffff, AT + MTU + 1, 100);
    rig_read(&r, 0xffffff, AT + MTU, 0); /* no packet of the answer is empty */
    rig_read(&r, 2, AT + 4 * MTU, 5000 - 4 * MTU + 1);
    rig_read(&r, 0xfffffd, AT - MTU, 100); /* before it */
    rig_fetch_add(&r, 0xffffff, AT, 1);
    struct sn_burst b = rig_packet(&r, SN_KIND_READ_REQUEST, ONLY, 0xffffff);
    b.va = (uintptr_t)r.e.mem + AT + MTU;
    b.rkey = r.e.mkey ^ 8;
    b.dmalen = 5000 - MTU;
    rig_in(&r, &b, NULL, 0);
    rig_expect_silence(&r);
    assert_int_equal(end_state(&r.e), SN_QP_RTS);
    rig_close(&r);
}

/* The packets of a part, `bytes` from packet `from` of the READ on: the answer of that READ, ended early. */
static void expect_part(struct rig *r, uint32_t psn, uint32_t from, uint32_t at, uint32_t bytes, uint32_t msn)
{
    uint32_t packets = (bytes + MTU - 1) / MTU;

    for (uint32_t k = 0; k < packets; k++) {
        const struct sent *s = rig_out(r);
        uint32_t n = k == packets - 1 ? bytes - k * MTU : MTU;
        assert_non_null(s);
        assert_int_equal(s->b.kind, SN_KIND_READ_RESPONSE);
        assert_int_equal(s->b.psn, (psn + from + k) & 0xffffff);
        assert_int_equal(s->b.flags, (from + k == 0 ? FIRST : 0) | (k == packets - 1 ? LAST : 0));
        assert_int_equal(s->b.length, n);
        assert_int_equal(s->b.msn, msn);
        assert_memory_equal(s->payload, r->e.mem + at + (from + k) * MTU, n);
    }
}

/*
 * A part that does not reach the end of the READ: its beginning, its middle, less than a packet of it (9.4.4, 9.7.5.1.5). Its
 * PSNs, address and length lie within the READ; what it does not ask for is not sent.
 */
static void test_duplicate_part_of_a_read(void **state)
{
    static const struct {
        uint32_t from, bytes;
    } parts[] = {{0, 1},           {0, MTU},     {0, MTU + 1}, {0, 4 * MTU}, {0, 4999},    {1, 1},
                 {1, MTU},         {2, 2 * MTU}, {3, MTU + 5}, {4, 100},     {4, 5000 - 4 * MTU}};
    struct options o = rc(0xfffffe);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem + AT, 8192, 1);
    rig_read(&r, 0xfffffe, AT, 5000);
    expect_read(&r, 0xfffffe, 0, AT, 5000);
    rig_write(&r, ONLY | SN_BURST_ACKREQ, 3, 0, 8, 8); /* what comes behind it is not asked for again */
    rig_expect_ack(&r, SN_AETH_ACK, 3);
    for (unsigned k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        fill(r.e.mem + AT, 8192, k + 2);
        rig_read(&r, 0xfffffe + parts[k].from, AT + parts[k].from * MTU, parts[k].bytes);
        expect_part(&r, 0xfffffe, parts[k].from, AT, parts[k].bytes, 2);
        rig_expect_silence(&r);
    }
    /* The whole is still there, as long as its place has not been taken. */
    for (uint32_t k = 0; k < 15; k++) {
        rig_read(&r, 4 + k, AT, 8);
        assert_non_null(rig_out(&r));
    }
    rig_read(&r, 0xffffff, AT + MTU, 100);
    expect_part(&r, 0xfffffe, 1, AT, 100, 17);
    rig_read(&r, 4 + 15, AT, 8);
    assert_non_null(rig_out(&r));
    rig_read(&r, 0xffffff, AT + MTU, 100);
    rig_expect_silence(&r);
    assert_int_equal(end_state(&r.e), SN_QP_RTS);
    rig_close(&r);
}

/* A part is asked for while the answer is being sent: first the part, then what had not been sent. */
static void test_part_while_blocked(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem + AT, 8192, 9);
    r.room = 3;
    rig_read(&r, PSN, AT, 5000);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(rig_out(&r)->b.psn, PSN + k);
    rig_read(&r, PSN + 1, AT + MTU, MTU);
    rig_read(&r, PSN + 4, AT + 4 * MTU, 100); /* will be sent anyway */
    r.full = false;
    rig_run(&r);
    expect_part(&r, PSN, 1, AT, MTU, 1);
    expect_read(&r, PSN, 3, AT, 5000);
    rig_expect_silence(&r);
    /* One part after the other, and then the whole. */
    r.full = true;
    rig_read(&r, PSN + 2, AT + 2 * MTU, MTU);
    rig_read(&r, PSN, AT, MTU);
    r.full = false;
    rig_run(&r);
    expect_part(&r, PSN, 0, AT, MTU, 1);
    rig_expect_silence(&r);
    rig_read(&r, PSN, AT, 5000);
    expect_read(&r, PSN, 0, AT, 5000);
    rig_expect_silence(&r);
    rig_close(&r);
}

/* The key is looked at again: it may have gone since (9.7.4.1.5). */
static void test_duplicate_read_without_key(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    uint32_t key = end_key(&r.e, r.e.mem, 4096, 0, SN_ACCESS_REMOTE_READ);
    struct sn_burst b = rig_packet(&r, SN_KIND_READ_REQUEST, ONLY, PSN);
    b.rkey = key;
    b.dmalen = 16;
    rig_in(&r, &b, NULL, 0);
    expect_read(&r, PSN, 0, 0, 16);
    assert_int_equal(sn_mkey_destroy(r.e.nic, key), 0);
    rig_in(&r, &b, NULL, 0);
    rig_expect_ack(&r, SN_AETH_NAK_ACCESS, PSN);
    assert_int_equal(end_state(&r.e), SN_QP_ERR);
    rig_close(&r);
}

/* Exactly once (9.4.5): the word is changed by the first, all later ones get the value from before. */
static void test_duplicate_atomic(void **state)
{
    struct options o = rc(0xfffff8);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    for (uint32_t k = 0; k < 16; k++) {
        rig_fetch_add(&r, 0xfffff8 + k, AT, 1);
        expect_atomic(&r, 0xfffff8 + k, k);
    }
    for (uint32_t k = 16; k-- != 0;) { /* the last 2^log_rra_max are saved */
        rig_fetch_add(&r, 0xfffff8 + k, AT, 1);
        expect_atomic(&r, 0xfffff8 + k, k);
        rig_expect_silence(&r); /* only the one that was asked for */
    }
    assert_int_equal(word(&r, AT), 16);
    rig_fetch_add(&r, 0xfffff8 + 16, AT, 1);
    expect_atomic(&r, 0xfffff8 + 16, 16);
    rig_fetch_add(&r, 0xfffff8, AT, 1); /* older than what is saved: dropped */
    rig_expect_silence(&r);
    assert_int_equal(word(&r, AT), 17);
    rig_close(&r);
}

/* All operations again after go-back: each READ and atomic once more, in order, WRITEs acknowledged at the end. */
static void test_go_back_over_everything(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem + AT, 4096, 4);
    memset(r.e.mem + AT + 4096, 0, 8);
    for (int pass = 0; pass < 3; pass++) {
        rig_write(&r, ONLY, PSN, 0, 8, 8);
        (void)rig_out(&r);
        rig_read(&r, PSN + 1, AT, 2500);
        expect_read(&r, PSN + 1, 0, AT, 2500);
        rig_fetch_add(&r, PSN + 4, AT + 4096, 5);
        expect_atomic(&r, PSN + 4, 0);
        rig_read(&r, PSN + 5, AT, 10);
        expect_read(&r, PSN + 5, 0, AT, 10);
        rig_write(&r, ONLY | SN_BURST_ACKREQ, PSN + 6, 8, 8, 8);
        rig_expect_ack(&r, SN_AETH_ACK, PSN + 6);
    }
    assert_int_equal(word(&r, AT + 4096), 5);
    rig_close(&r);
}

/* ---- limits and order --------------------------------------------------------------------------------------------- */

/*
 * More unanswered READs than the responder has room for: invalid request (9.4.4, 9.7.4.1.3). The wire takes nothing, so
 * none is answered; then all that were accepted are, and the refusal behind them.
 */
static void test_read_limit(void **state)
{
    (void)state;
    for (uint8_t log = 0; log <= 4; log++) {
        struct options o = rc(PSN);
        struct rig r;
        uint32_t limit = 1u << log;
        o.log_rra = log;
        rig_open(&r, &o);
        fill(r.e.mem + AT, 4096, 9);
        r.full = true;
        for (uint32_t k = 0; k < limit; k++)
            rig_read(&r, PSN + k, AT, 100);
        assert_int_equal(end_state(&r.e), SN_QP_RTS);
        rig_read(&r, PSN + limit, AT, 100);
        r.full = false;
        rig_run(&r);
        for (uint32_t k = 0; k < limit; k++)
            expect_read(&r, PSN + k, 0, AT, 100);
        rig_expect_ack(&r, SN_AETH_NAK_INVALID, PSN + limit);
        assert_int_equal(end_state(&r.e), SN_QP_ERR);
        rig_close(&r);
    }
}

/* An acknowledgement never passes a response that is due (9.7.5.1.1: answers are in PSN order). */
static void test_answers_in_order(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem + AT, 4096, 9);
    r.full = true;
    rig_read(&r, PSN, AT, 1500);
    rig_fetch_add(&r, PSN + 2, 0, 3);
    rig_write(&r, ONLY | SN_BURST_ACKREQ, PSN + 3, 64, 8, 8);
    r.full = false;
    rig_run(&r);
    expect_read(&r, PSN, 0, AT, 1500);
    expect_atomic(&r, PSN + 2, 0);
    rig_expect_ack(&r, SN_AETH_ACK, PSN + 3);
    rig_close(&r);
}

/* Asked for again while it is being sent: it goes on from the earlier place, once. */
static void test_duplicate_while_blocked(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem + AT, 4096, 9);
    r.full = true;
    rig_read(&r, PSN, AT, 3000);
    rig_read(&r, PSN + 3, AT, 10);
    rig_read(&r, PSN, AT, 3000);
    rig_read(&r, PSN + 1, AT + MTU, 3000 - MTU);
    r.full = false;
    rig_run(&r);
    expect_read(&r, PSN, 0, AT, 3000);
    expect_read(&r, PSN + 3, 0, AT, 10);
    rig_expect_silence(&r);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_takes_psns),
        cmocka_unit_test(test_duplicate_data),
        cmocka_unit_test(test_duplicate_in_a_message),
        cmocka_unit_test(test_duplicate_read),
        cmocka_unit_test(test_duplicate_part_of_a_read),
        cmocka_unit_test(test_part_while_blocked),
        cmocka_unit_test(test_duplicate_read_without_key),
        cmocka_unit_test(test_duplicate_atomic),
        cmocka_unit_test(test_go_back_over_everything),
        cmocka_unit_test(test_read_limit),
        cmocka_unit_test(test_answers_in_order),
        cmocka_unit_test(test_duplicate_while_blocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
