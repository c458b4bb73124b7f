/* SPDX-License-Identifier: Apache-2.0 */
/* The requester of a reliable connection against hand-made answers (IBTA vol. 1, 9.7.2, 9.7.3, 9.7.6, 9.9.2). */
#include "packets.h"

#define PSN RIG_PSN
enum { MTU = 1024, AT = 1 << 16 };

static struct options rc(uint32_t psn)
{
    struct options o = defaults;
    o.psn = psn;
    return o;
}

static uint32_t post_write(struct rig *r, uint32_t length)
{
    struct wr wr = wr_write(&r->e, &r->e, 0, AT, length);
    uint32_t index = post(&r->e, &wr);
    rig_run(r);
    return index;
}

static uint32_t post_read(struct rig *r, uint32_t length)
{
    struct wr wr = wr_read(&r->e, &r->e, AT, 0, length);
    uint32_t index = post(&r->e, &wr);
    rig_run(r);
    return index;
}

static void expect_sent(struct rig *r, int kind, uint32_t psn)
{
    const struct sent *s = rig_out(r);

    assert_non_null(s);
    assert_int_equal(s->b.kind, kind);
    assert_int_equal(s->b.psn, psn & 0xffffff);
}

static void skip_sent(struct rig *r)
{
    r->read = r->count;
}

static void pass(struct rig *r, uint64_t ns)
{
    r->w.now += ns;
    rig_run(r);
}

static void answer_read(struct rig *r, unsigned flags, uint32_t psn, uint32_t length)
{
    struct sn_burst b = rig_packet(r, SN_KIND_READ_RESPONSE, flags, psn);
    b.syndrome = SN_AETH_ACK;
    rig_in(r, &b, rig_bytes, length);
}

static void answer_atomic(struct rig *r, uint32_t psn, uint64_t orig)
{
    struct sn_burst b = rig_packet(r, SN_KIND_ATOMIC_ACK, ONLY, psn);
    b.syndrome = SN_AETH_ACK;
    b.atomic_orig = orig;
    rig_in(r, &b, NULL, 0);
}

/* ---- requests (9.7.3) ------------------------------------------------------------------------------------------- */

static void test_segmentation(void **state)
{
    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++)
        for (int k = 0; k < 6; k++) {
            uint32_t bytes = 128u << mtu, lengths[] = {0, 1, bytes, bytes + 1, 3 * bytes, 3 * bytes + 5};
            uint32_t length = lengths[k], n = length == 0 ? 1 : (length + bytes - 1) / bytes;
            struct options o = rc(0xffffff);
            struct rig r;
            o.mtu = mtu;
            rig_open(&r, &o);
            fill(r.e.mem, 65536, 3);
            struct wr wr = wr_send(&r.e, 0, length);
            wr.opcode = k & 1 ? SN_OPCODE_SEND_IMM : SN_OPCODE_SEND_INVAL;
            wr.imm = 0x01020304;
            wr.fm_ce_se |= SN_WQE_SOLICITED;
            uint32_t index = post(&r.e, &wr);
            rig_run(&r);
            for (uint32_t i = 0; i < n; i++) {
                const struct sent *s = rig_out(&r);
                unsigned flags = (i == 0 ? FIRST : 0) | (i == n - 1 ? LAST | SN_BURST_ACKREQ | SN_BURST_SOLICITED : 0);
                flags |= i != n - 1 ? 0 : k & 1 ? SN_BURST_IMM : SN_BURST_INVALIDATE;
                assert_non_null(s);
                assert_int_equal(s->b.flags, flags);
                assert_int_equal(s->b.psn, (0xffffff + i) & 0xffffff);
                assert_int_equal(s->b.length, i == n - 1 ? length - i * bytes : bytes);
                assert_memory_equal(s->payload, r.e.mem + i * bytes, s->b.length);
                if (i == n - 1)
                    assert_int_equal(s->b.imm, 0x01020304); /* the bytes as they were */
            }
            rig_expect_silence(&r);
            expect_none(&r.e);
            rig_answer(&r, SN_AETH_ACK, 0xffffff + n - 1);
            expect_ok(&r.e, index);
            rig_close(&r);
        }
}

/* Requests and answers carry what the address path says. */
static void test_path(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    post_write(&r, 8);
    rig_write(&r, ONLY | SN_BURST_ACKREQ, PSN, AT, 8, 8);
    for (int k = 0; k < 2; k++) {
        const struct sent *s = rig_out(&r);
        assert_non_null(s);
        assert_int_equal(s->b.tclass, 10 << 2); /* DSCP, and no ECN capability */
        assert_int_equal(s->b.hop_limit, 33);
        assert_int_equal(s->b.flow_label, 0x12345);
        assert_int_equal(s->b.udp_sport, 0xc0de);
        assert_int_equal(s->b.dmac[5], 7);
        assert_int_equal(s->b.pkey, 0xffff);
        assert_int_equal(s->b.sqpn, r.e.qpn);
        assert_memory_equal(s->b.dgid, r.peer_gid, 16);
    }
    rig_close(&r);
}

/* A long message asks on its way, so that it does not time out before its end (9.7.2). */
static void test_asks_on_the_way(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    unsigned asked = 0;
    (void)state;

    rig_open(&r, &o);
    post_write(&r, 300 * MTU);
    for (const struct sent *s; (s = rig_out(&r)) != NULL;)
        asked += (s->b.flags & SN_BURST_ACKREQ) != 0;
    assert_in_range(asked, 4, 8);
    rig_close(&r);
}

/* ---- acknowledgements (9.7.6, 9.7.2) ----------------------------------------------------------------------------- */

/* One acknowledgement covers all before it; one about nothing that was sent, or about the past, is dropped. */
static void test_coalesced(void **state)
{
    static const uint32_t starts[] = {0, 0xffffff, 0xfffffd, 0x7fffff, 0x800000};
    (void)state;

    for (unsigned k = 0; k < sizeof(starts) / sizeof(starts[0]); k++) {
        struct options o = rc(starts[k]);
        struct rig r;
        uint32_t index[4];
        rig_open(&r, &o);
        for (int i = 0; i < 4; i++)
            index[i] = post_write(&r, 1500); /* two packets each */
        rig_answer(&r, SN_AETH_ACK, starts[k] + 8);        /* not sent */
        rig_answer(&r, SN_AETH_ACK, starts[k] - 2);        /* before the first */
        rig_answer(&r, SN_AETH_ACK, starts[k] + 0x800000); /* half a circle away */
        rig_answer(&r, SN_AETH_ACK, starts[k] + 0x7fffff);
        expect_none(&r.e);
        rig_answer(&r, SN_AETH_ACK, starts[k] + 4); /* the first packet of the third */
        expect_ok(&r.e, index[0]);
        expect_ok(&r.e, index[1]);
        expect_none(&r.e);
        rig_answer(&r, SN_AETH_ACK, starts[k] + 3); /* out of date */
        expect_none(&r.e);
        rig_answer(&r, 0x0a, starts[k] + 7); /* credits are of no concern (9.7.7.2: end-to-end credits) */
        expect_ok(&r.e, index[2]);
        expect_ok(&r.e, index[3]);
        rig_close(&r);
    }
}

/* All AETH syndromes (9.7.5.2, tables 43 and 44). A NAK acknowledges what came before it. */
static void test_syndromes(void **state)
{
    (void)state;
    for (unsigned s = 0; s < 256; s++) {
        struct options o = rc(PSN);
        struct rig r;
        uint32_t a, b;
        bool ack = s < 0x20, rnr = s >= 0x20 && s < 0x40, known = ack || rnr || (s >= 0x60 && s <= 0x63);
        rig_open(&r, &o);
        a = post_write(&r, 100);
        b = post_write(&r, 100);
        skip_sent(&r);
        rig_answer(&r, (uint8_t)s, PSN + 1);
        if (!known) { /* reserved: as if it had not come */
            expect_none(&r.e);
            rig_expect_silence(&r);
            assert_int_equal(rig_counters(&r).rx_reserved_syndrome, 1);
        } else {
            expect_ok(&r.e, a);
            if (ack)
                expect_ok(&r.e, b);
            else if (s == 0x60)
                expect_sent(&r, SN_KIND_WRITE, PSN + 1);
            else if (s == 0x61)
                expect_error(&r.e, b, SN_SYND_REMOTE_INVALID);
            else if (s == 0x62)
                expect_error(&r.e, b, SN_SYND_REMOTE_ACCESS);
            else if (s == 0x63)
                expect_error(&r.e, b, SN_SYND_REMOTE_OP);
            expect_none(&r.e);
            assert_int_equal(end_state(&r.e), s > 0x60 ? SN_QP_ERR : SN_QP_RTS);
        }
        rig_close(&r);
    }
}

/* PSN sequence error: from that PSN on, once more, in the middle of a message too (9.7.6.1, go-back-N). */
static void test_go_back(void **state)
{
    struct options o = rc(0xfffffe);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    uint32_t a = post_write(&r, 5000), b = post_write(&r, 10);
    skip_sent(&r);
    rig_answer(&r, SN_AETH_NAK_SEQUENCE, 1); /* the fourth packet */
    for (uint32_t k = 3; k < 6; k++) {
        const struct sent *s = rig_out(&r);
        assert_non_null(s);
        assert_int_equal(s->b.psn, k - 2);
        assert_int_equal(s->b.flags, k == 5 ? ONLY | SN_BURST_ACKREQ : k == 4 ? LAST | SN_BURST_ACKREQ : MIDDLE);
    }
    rig_expect_silence(&r);
    rig_answer(&r, SN_AETH_ACK, 3);
    expect_ok(&r.e, a);
    expect_ok(&r.e, b);
    assert_int_equal(rig_counters(&r).packet_seq_err, 1);
    rig_close(&r);
}

/*
 * Answers about what was sent before the requester went back, while nothing has been sent again: they count (9.7.6.1.1).
 * The wire takes nothing meanwhile.
 */
static void test_late_answers(void **state)
{
    static const struct {
        uint32_t syndrome, psn; /* the late answer */
        uint32_t resumes;       /* PSN at which sending goes on; 5: nothing is left */
    } rows[] = {{SN_AETH_ACK, 4, 5},          {SN_AETH_ACK, 2, 3},          {SN_AETH_ACK, 0, 1},
                {SN_AETH_NAK_SEQUENCE, 2, 2}, {SN_AETH_NAK_SEQUENCE, 4, 4}, {SN_AETH_ACK, 5, 0}};
    (void)state;

    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        for (int nak = 0; nak < 2; nak++) {
            struct options o = rc(0xfffffd);
            struct rig r;
            uint32_t base = 0xfffffd;
            rig_open(&r, &o);
            uint32_t a = post_write(&r, 5000);
            skip_sent(&r);
            r.full = true;
            if (nak)
                rig_answer(&r, SN_AETH_NAK_SEQUENCE, base);
            for (int i = 0; !nak && i < 40 && rig_counters(&r).retransmissions == 0; i++)
                pass(&r, 4096ull << 8);
            assert_int_equal(rig_counters(&r).retransmissions, 1);
            rig_answer(&r, (uint8_t)rows[k].syndrome, base + rows[k].psn);
            r.full = false;
            rig_run(&r);
            for (uint32_t i = rows[k].resumes; i < 5; i++)
                expect_sent(&r, SN_KIND_WRITE, base + i);
            rig_expect_silence(&r);
            if (rows[k].resumes < 5)
                rig_answer(&r, SN_AETH_ACK, base + 4);
            expect_ok(&r.e, a);
            rig_close(&r);
        }
}

/* The same over operations of all kinds: it ends at a READ without its answer. */
static void test_late_answer_and_read(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct wr nop = {.opcode = SN_OPCODE_NOP, .fm_ce_se = 8};
    uint32_t a = post_write(&r, 8), n = post(&r.e, &nop), b = post_read(&r, 8);
    uint32_t c = post_write(&r, 8), d = post_read(&r, 8);
    rig_run(&r);
    skip_sent(&r);
    r.full = true;
    rig_answer(&r, SN_AETH_NAK_SEQUENCE, PSN);
    rig_answer(&r, SN_AETH_ACK, PSN + 2);
    expect_ok(&r.e, a);
    expect_ok(&r.e, n);
    expect_none(&r.e);
    r.full = false;
    rig_run(&r);
    expect_sent(&r, SN_KIND_READ_REQUEST, PSN + 1);
    expect_sent(&r, SN_KIND_WRITE, PSN + 2);
    expect_sent(&r, SN_KIND_READ_REQUEST, PSN + 3);
    rig_expect_silence(&r);
    answer_read(&r, ONLY, PSN + 1, 8);
    answer_read(&r, ONLY, PSN + 3, 8); /* and acknowledges the WRITE before it */
    expect_ok(&r.e, b);
    expect_ok(&r.e, c);
    expect_ok(&r.e, d);
    rig_close(&r);
}

/* ---- timers and counters (9.7.6.1.3, 9.9.2.1.1) -------------------------------------------------------------------- */

/* Nothing is sent again before 4.096 us * 2^code; after at most four times that it is. Code 0: never. */
static void test_ack_timeout(void **state)
{
    (void)state;
    for (uint8_t code = 0; code < 32; code++) {
        struct options o = rc(PSN);
        struct rig r;
        uint64_t t = 4096ull << code;
        o.ack_timeout = code;
        rig_open(&r, &o);
        post_write(&r, 100);
        skip_sent(&r);
        pass(&r, t - t / 16);
        rig_expect_silence(&r);
        for (int k = 0; k < 32 && r.read == r.count; k++)
            pass(&r, t / 8);
        if (code == 0) {
            pass(&r, 3600ull * 1000000000);
            rig_expect_silence(&r);
        } else {
            expect_sent(&r, SN_KIND_WRITE, PSN);
            assert_int_equal(rig_counters(&r).local_ack_timeout_err, 1);
        }
        rig_close(&r);
    }
}

/* retry_count retries, no more and no less; 7 is a number like the others (9.9.2.1.1). */
static void test_retry_count(void **state)
{
    (void)state;
    for (uint8_t count = 0; count < 8; count++) {
        struct options o = rc(PSN);
        struct rig r;
        o.retry = count;
        o.ack_timeout = 8;
        rig_open(&r, &o);
        uint32_t a = post_write(&r, 100), b = post_write(&r, 100);
        for (int k = 0; k < 200; k++)
            pass(&r, 1 << 20);
        assert_int_equal(r.count, 2u + 2u * count);
        expect_error(&r.e, a, SN_SYND_RETRY_EXCEEDED);
        expect_error(&r.e, b, SN_SYND_FLUSH);
        assert_int_equal(end_state(&r.e), SN_QP_ERR);
        rig_close(&r);
    }
}

/* Progress gives all retries back. */
static void test_retries_come_back(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    o.retry = 1;
    rig_open(&r, &o);
    uint32_t a = post_write(&r, 20 * MTU);
    for (uint32_t k = 1; k < 20; k++) {
        skip_sent(&r);
        rig_answer(&r, SN_AETH_NAK_SEQUENCE, PSN + k);
        expect_sent(&r, SN_KIND_WRITE, PSN + k);
    }
    expect_none(&r.e);
    rig_answer(&r, SN_AETH_ACK, PSN + 19);
    expect_ok(&r.e, a);
    rig_close(&r);
}

/* RNR NAK: the wait of table 45, in units of 10 us, then the same request (9.7.5.2.8). */
static void test_rnr_timers(void **state)
{
    static const uint32_t table[32] = {65536, 1,   2,   3,    4,    6,    8,    12,   16,   24,   32,
                                       48,    64,  96,  128,  192,  256,  384,  512,  768,  1024, 1536,
                                       2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    (void)state;

    for (uint8_t code = 0; code < 32; code++) {
        struct options o = rc(PSN);
        struct rig r;
        uint64_t t = table[code] * 10000ull;
        o.ack_timeout = 31;
        o.rnr_retry = 1;
        rig_open(&r, &o);
        struct wr wr = wr_send(&r.e, 0, 10);
        uint32_t a = post(&r.e, &wr);
        rig_run(&r);
        skip_sent(&r);
        rig_answer(&r, SN_AETH_RNR | code, PSN);
        rig_answer(&r, SN_AETH_RNR | code, PSN); /* a double counts once and does not prolong the wait */
        pass(&r, t - 1000);
        rig_expect_silence(&r);
        pass(&r, t / 8 + 1000000); /* the wheel's grain is coarse, but never early */
        expect_sent(&r, SN_KIND_SEND, PSN);
        rig_answer(&r, SN_AETH_ACK, PSN);
        expect_ok(&r.e, a);
        assert_int_equal(rig_counters(&r).rnr_nak_retry_err, 2);
        rig_close(&r);
    }
}

/* rnr_retry times; 7 is for ever (9.7.5.2.8). */
static void test_rnr_retry(void **state)
{
    (void)state;
    for (uint8_t count = 0; count < 8; count++) {
        struct options o = rc(PSN);
        struct rig r;
        unsigned naks = 0;
        o.rnr_retry = count;
        o.retry = 0;
        o.ack_timeout = 0;
        rig_open(&r, &o);
        struct wr wr = wr_send(&r.e, 0, 10);
        uint32_t a = post(&r.e, &wr);
        rig_run(&r);
        while (naks < 50 && end_state(&r.e) == SN_QP_RTS) {
            skip_sent(&r);
            rig_answer(&r, SN_AETH_RNR | 1, PSN);
            naks++;
            pass(&r, 2000000);
        }
        if (count == 7) {
            assert_int_equal(naks, 50);
            rig_answer(&r, SN_AETH_ACK, PSN);
            expect_ok(&r.e, a);
        } else {
            assert_int_equal(naks, count + 1);
            expect_error(&r.e, a, SN_SYND_RNR_EXCEEDED);
        }
        rig_close(&r);
    }
}

/*
 * Some responders (Linux's rdma_rxe) answer the packets behind the one that they were not ready for with NAK sequence error.
 * That is no loss: nothing is sent before the wait ends, and no retry is used up, however often it happens; nor is one by
 * such a NAK that comes after the wait.
 */
static void test_rnr_then_sequence(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    o.rnr_retry = 7;
    o.retry = 1;
    o.ack_timeout = 0;
    rig_open(&r, &o);
    struct wr wr = wr_send(&r.e, 0, 10);
    uint32_t a = post(&r.e, &wr), b = post(&r.e, &wr);
    rig_run(&r);
    for (unsigned round = 0; round < 50; round++) {
        bool late = round % 2;
        skip_sent(&r);
        rig_answer(&r, SN_AETH_RNR | 12, PSN); /* 0.64 ms */
        if (!late)
            rig_answer(&r, SN_AETH_NAK_SEQUENCE, PSN);
        rig_run(&r);
        rig_expect_silence(&r);
        pass(&r, 2000000);
        expect_sent(&r, SN_KIND_SEND, PSN);
        if (late)
            rig_answer(&r, SN_AETH_NAK_SEQUENCE, PSN);
        assert_int_equal(end_state(&r.e), SN_QP_RTS);
    }
    skip_sent(&r);
    rig_answer(&r, SN_AETH_ACK, PSN + 1);
    expect_ok(&r.e, a);
    expect_ok(&r.e, b);
    rig_close(&r);
}

/* ---- READ and atomics (9.7.6.1.2) ---------------------------------------------------------------------------------- */

static void test_read_in_packets(void **state)
{
    struct options o = rc(0xffffff);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    uint32_t a = post_read(&r, 3 * MTU + 8), b = post_read(&r, 0);
    expect_sent(&r, SN_KIND_READ_REQUEST, 0xffffff);
    expect_sent(&r, SN_KIND_READ_REQUEST, 3); /* a READ takes the PSNs of its response */
    answer_read(&r, FIRST, 0xffffff, MTU);
    answer_read(&r, MIDDLE, 0, MTU);
    answer_read(&r, MIDDLE, 1, MTU);
    answer_read(&r, MIDDLE, 1, MTU); /* a duplicate is dropped */
    expect_none(&r.e);
    answer_read(&r, LAST, 2, 8);
    expect_ok(&r.e, a);
    answer_read(&r, ONLY, 3, 0);
    expect_ok(&r.e, b);
    for (int k = 0; k < 4; k++)
        assert_memory_equal(r.e.mem + AT + k * MTU, rig_bytes, k == 3 ? 8 : MTU);
    rig_close(&r);
}

/*
 * A response is lost: the rest is asked for again, once, however many of the old responses still come; the answer may
 * begin with a First or go on with a Middle.
 */
static void test_lost_response(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct options o = rc(PSN);
        struct rig r;
        o.retry = 1;
        rig_open(&r, &o);
        uint32_t a = post_read(&r, 60 * MTU);
        skip_sent(&r);
        answer_read(&r, FIRST, PSN, MTU);
        for (uint32_t k = 2; k < 60; k++)
            answer_read(&r, k == 59 ? LAST : MIDDLE, PSN + k, MTU);
        const struct sent *s = rig_out(&r);
        assert_non_null(s);
        assert_int_equal(s->b.kind, SN_KIND_READ_REQUEST);
        assert_int_equal(s->b.psn, PSN + 1);
        assert_true(s->b.va == (uintptr_t)r.e.mem + MTU);
        assert_int_equal(s->b.dmalen, 59 * MTU);
        rig_expect_silence(&r);
        for (uint32_t k = 1; k < 60; k++)
            answer_read(&r, k == 59 ? LAST : k == 1 && first ? FIRST : MIDDLE, PSN + k, MTU);
        expect_ok(&r.e, a);
        rig_close(&r);
    }
}

/* An acknowledgement beyond a READ that is not answered says that its response was lost; and it acknowledges no more. */
static void test_implied_nak(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    uint32_t a = post_write(&r, 8), b = post_read(&r, 2 * MTU), c = post_write(&r, 8);
    skip_sent(&r);
    rig_answer(&r, SN_AETH_ACK, PSN + 3);
    assert_int_equal(rig_counters(&r).implied_nak_seq_err, 1);
    expect_sent(&r, SN_KIND_READ_REQUEST, PSN + 1);
    expect_sent(&r, SN_KIND_WRITE, PSN + 3);
    expect_ok(&r.e, a);
    expect_none(&r.e);
    answer_read(&r, FIRST, PSN + 1, MTU);
    answer_read(&r, LAST, PSN + 2, MTU);
    expect_ok(&r.e, b);
    expect_none(&r.e);
    rig_answer(&r, SN_AETH_ACK, PSN + 3);
    expect_ok(&r.e, c);
    rig_close(&r);
}

/* A response acknowledges the requests before its own (9.7.5.1.2). */
static void test_response_acknowledges(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    uint32_t a = post_write(&r, 3000), b = post_read(&r, 8);
    answer_read(&r, ONLY, PSN + 3, 8);
    expect_ok(&r.e, a);
    expect_ok(&r.e, b);
    rig_close(&r);
}

/* Responses that do not fit what was asked: bad response error (9.9.2.4). */
static void test_bad_responses(void **state)
{
    static const struct {
        unsigned flags;
        uint32_t length;
        bool atomic;
    } rows[] = {
        {ONLY, MTU, false},   {FIRST, MTU - 1, false}, {FIRST | LAST, 8, false},
        {FIRST, 0, false},    {FIRST, MTU + 1, false}, {ONLY, 0, true},
    };
    (void)state;

    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct options o = rc(PSN);
        struct rig r;
        rig_open(&r, &o);
        uint32_t a = post_read(&r, 2 * MTU);
        if (rows[k].atomic)
            answer_atomic(&r, PSN, 1);
        else
            answer_read(&r, rows[k].flags, PSN, rows[k].length);
        expect_error(&r.e, a, SN_SYND_BAD_RESPONSE);
        for (int i = 0; i < 2 * MTU; i++)
            assert_int_equal(r.e.mem[AT + i], 0);
        rig_close(&r);
    }
}

/* The response to an atomic is lost: the same request again; the result is placed once. */
static void test_atomic(void **state)
{
    struct options o = rc(0xffffff);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct wr wr = wr_fetch_add(&r.e, &r.e, AT, 64, 5);
    uint32_t a = post(&r.e, &wr);
    rig_run(&r);
    expect_sent(&r, SN_KIND_ATOMIC_FA, 0xffffff);
    for (int k = 0; k < 40 && r.read == r.count; k++)
        pass(&r, 4096ull << 8);
    const struct sent *s = rig_out(&r);
    assert_non_null(s);
    assert_int_equal(s->b.kind, SN_KIND_ATOMIC_FA);
    assert_int_equal(s->b.psn, 0xffffff);
    assert_true(s->b.swap_add == 5);
    answer_atomic(&r, 0xffffff, 77);
    answer_atomic(&r, 0xffffff, 78);
    expect_ok(&r.e, a);
    expect_none(&r.e);
    assert_int_equal(r.e.mem[AT], 77);
    rig_close(&r);
}

/* max_rd_atomic of the initiator (9.4.4): the next one leaves when an older one has been answered. Writes do not count. */
static void test_read_limit(void **state)
{
    (void)state;
    for (uint8_t log = 0; log < 4; log++) {
        struct options o = rc(PSN);
        struct rig r;
        uint32_t limit = 1u << log;
        o.log_sra = log;
        rig_open(&r, &o);
        post_write(&r, 8);
        for (uint32_t k = 0; k < limit + 3; k++)
            post_read(&r, 8);
        assert_int_equal(r.count, 1 + limit);
        for (uint32_t k = 0; k < 3; k++) {
            answer_read(&r, ONLY, PSN + 1 + k, 8);
            assert_int_equal(r.count, 2 + limit + k);
        }
        rig_close(&r);
    }
}

/* A fence waits for the READs and atomics before it, and for nothing else (10.8.3.3). */
static void test_fence(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    post_write(&r, 8);
    struct wr wr = wr_write(&r.e, &r.e, 0, AT, 8);
    wr.fm_ce_se |= SN_FENCE_READS << 5;
    post(&r.e, &wr);
    rig_run(&r);
    assert_int_equal(r.count, 2);
    post_read(&r, 8);
    post(&r.e, &wr);
    rig_run(&r);
    assert_int_equal(r.count, 3);
    answer_read(&r, ONLY, PSN + 2, 8);
    assert_int_equal(r.count, 4);
    rig_close(&r);
}

/* ---- states (10.3.1) --------------------------------------------------------------------------------------------- */

/* SQD (10.3.1.5): what has begun is finished, lost packets are sent again; what is posted waits for RTS. */
static void test_draining(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    bool draining;
    (void)state;

    rig_open(&r, &o);
    uint32_t a = post_write(&r, 3000);
    assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_SQD, NULL, 0), 0);
    uint32_t b = post_write(&r, 8);
    assert_int_equal(r.count, 3);
    skip_sent(&r);
    assert_int_equal(sn_qp_draining(r.e.nic, r.e.qpn, &draining), 0);
    assert_true(draining);
    rig_answer(&r, SN_AETH_NAK_SEQUENCE, PSN + 1);
    expect_sent(&r, SN_KIND_WRITE, PSN + 1);
    expect_sent(&r, SN_KIND_WRITE, PSN + 2);
    rig_expect_silence(&r);
    for (int k = 0; k < 40 && r.read == r.count; k++) /* and the timer runs */
        pass(&r, 4096ull << 8);
    expect_sent(&r, SN_KIND_WRITE, PSN + 1);
    skip_sent(&r);
    rig_answer(&r, SN_AETH_ACK, PSN + 2);
    expect_ok(&r.e, a);
    sn_qp_draining(r.e.nic, r.e.qpn, &draining);
    assert_false(draining);
    pass(&r, 1000000000);
    rig_expect_silence(&r);
    rig_write(&r, ONLY | SN_BURST_ACKREQ, PSN, AT, 8, 8); /* the responder works on */
    rig_expect_ack(&r, SN_AETH_ACK, PSN);
    assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_RTS, NULL, 0), 0);
    rig_run(&r);
    expect_sent(&r, SN_KIND_WRITE, PSN + 3);
    rig_answer(&r, SN_AETH_ACK, PSN + 3);
    expect_ok(&r.e, b);
    rig_close(&r);
}

/* A message that is half on the wire when SQD comes has begun, and leaves as a whole. */
static void test_draining_in_a_message(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    r.room = 2;
    uint32_t a = post_write(&r, 4000);
    post_write(&r, 8);
    assert_int_equal(r.count, 2);
    assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_SQD, NULL, 0), 0);
    r.full = false;
    rig_run(&r);
    assert_int_equal(r.count, 4);
    assert_int_equal(r.sent[3].b.flags & LAST, LAST);
    rig_answer(&r, SN_AETH_ACK, PSN + 3);
    expect_ok(&r.e, a);
    rig_close(&r);
}

/* ERR: everything ends in flush errors, in order; answers are not listened to (10.3.1.7). */
static void test_flush(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    uint32_t a = post_write(&r, 3000), b = post_read(&r, 8);
    post_recv(&r.e, r.e.mem, 8, r.e.mkey);
    assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_ERR, NULL, 0), 0);
    rig_answer(&r, SN_AETH_ACK, PSN + 2);
    uint32_t c = post_write(&r, 8);
    skip_sent(&r);
    expect_error(&r.e, a, SN_SYND_FLUSH);
    expect_error(&r.e, b, SN_SYND_FLUSH);
    expect_error(&r.e, c, SN_SYND_FLUSH);
    const struct sn_cqe64 *rc = next_rcqe(&r.e);
    assert_non_null(rc);
    assert_int_equal(cqe_syndrome(rc), SN_SYND_FLUSH);
    rig_write(&r, ONLY | SN_BURST_ACKREQ, PSN, AT, 8, 8);
    rig_expect_silence(&r);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segmentation),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_asks_on_the_way),
        cmocka_unit_test(test_coalesced),
        cmocka_unit_test(test_syndromes),
        cmocka_unit_test(test_go_back),
        cmocka_unit_test(test_late_answers),
        cmocka_unit_test(test_late_answer_and_read),
        cmocka_unit_test(test_ack_timeout),
        cmocka_unit_test(test_retry_count),
        cmocka_unit_test(test_retries_come_back),
        cmocka_unit_test(test_rnr_timers),
        cmocka_unit_test(test_rnr_retry),
        cmocka_unit_test(test_rnr_then_sequence),
        cmocka_unit_test(test_read_in_packets),
        cmocka_unit_test(test_lost_response),
        cmocka_unit_test(test_implied_nak),
        cmocka_unit_test(test_response_acknowledges),
        cmocka_unit_test(test_bad_responses),
        cmocka_unit_test(test_atomic),
        cmocka_unit_test(test_read_limit),
        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_draining),
        cmocka_unit_test(test_draining_in_a_message),
        cmocka_unit_test(test_flush),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
