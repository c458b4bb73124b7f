/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The responder of a reliable connection, packet by packet (IBTA vol. 1, 9.7.4, 9.7.5, 9.9.3): what it answers, what it
 * changes, and that everything else is untouched.
 */
#include "packets.h"

#define PSN RIG_PSN
enum { MTU = 1024, AT = 4096, RECV = 1 << 16, NAK_SEQ = SN_AETH_NAK_SEQUENCE, NAK_INV = SN_AETH_NAK_INVALID };

static struct options rc(uint32_t psn)
{
    struct options o = defaults;
    o.psn = psn;
    return o;
}

static void expect_recv(struct rig *r, uint8_t opcode, uint32_t bytes)
{
    const struct sn_cqe64 *c = next_rcqe(&r->e);

    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), opcode);
    assert_int_equal(sn_get32(c->byte_cnt), bytes);
    assert_null(next_rcqe(&r->e));
}

static bool zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

/* ---- messages of several packets, each born from a frame -------------------------------------------------------- */

/* At each path MTU, around the end of the PSNs: First has the RETH, the others go on from there (9.4.3, 9.7.4.1). */
static void test_write_in_packets(void **state)
{
    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++) {
        struct options o = rc(0xfffffe);
        struct rig r;
        uint32_t bytes = 128u << mtu, total = 4 * bytes + 8;
        o.mtu = mtu;
        rig_open(&r, &o);
        post_recv(&r.e, NULL, 0, r.e.mkey);
        for (uint32_t k = 0; k < 4; k++)
            rig_write(&r, k == 0 ? FIRST : MIDDLE, 0xfffffe + k, AT, bytes, total);
        rig_expect_silence(&r); /* coalesced (9.7.5.1.2) */
        struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, LAST | SN_BURST_IMM | SN_BURST_ACKREQ, 2);
        b.imm = 0xdeadbeef;
        rig_in(&r, &b, rig_bytes, 8);
        rig_expect_ack(&r, SN_AETH_ACK, 2);
        for (uint32_t k = 0; k < 5; k++)
            assert_memory_equal(r.e.mem + AT + k * bytes, rig_bytes, k == 4 ? 8 : bytes);
        expect_recv(&r, SN_CQE_RESP_WR_IMM, total); /* the count is the message's, not the last packet's */
        assert_int_equal(rig_counters(&r).rx_packets, 5);
        assert_int_equal(rig_counters(&r).rx_write_requests, 1);
        rig_close(&r);
    }
}

static void test_send_in_packets(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    post_recv(&r.e, r.e.mem + RECV, 8192, r.e.mkey);
    rig_send(&r, FIRST, PSN, MTU);
    rig_send(&r, MIDDLE, PSN + 1, MTU);
    rig_send(&r, LAST | SN_BURST_ACKREQ, PSN + 2, 1);
    rig_expect_ack(&r, SN_AETH_ACK, PSN + 2);
    assert_memory_equal(r.e.mem + RECV + MTU, rig_bytes, MTU);
    expect_recv(&r, SN_CQE_RESP_SEND, 2 * MTU + 1);
    rig_close(&r);
}

/* A packet in the middle that asks is answered; a long message is, too, now and then: nobody times out (9.7.5.1). */
static void test_acknowledgements(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    rig_write(&r, FIRST | SN_BURST_ACKREQ, PSN, AT, MTU, 200 * MTU);
    rig_expect_ack(&r, SN_AETH_ACK, PSN);
    for (uint32_t k = 1; k < 199; k++)
        rig_write(&r, MIDDLE, PSN + k, 0, MTU, 0);
    unsigned acks = 0;
    for (const struct sent *s; (s = rig_out(&r)) != NULL; acks++)
        assert_int_equal(s->b.syndrome, SN_AETH_ACK);
    assert_in_range(acks, 2, 6);
    rig_write(&r, LAST, PSN + 199, 0, MTU, 0);
    rig_expect_ack(&r, SN_AETH_ACK, PSN + 199);
    rig_close(&r);
}

/*
 * Answers leave in the order of their requests (9.7.5.1), whatever waits for room: what acknowledges a WRITE leaves before the response
 * to the READ or atomic behind it, and what acknowledges a later WRITE stays behind that.
 */
static void test_answers_in_order(void **state)
{
    static const enum sn_kind kind[] = {SN_KIND_ACK, SN_KIND_READ_RESPONSE, SN_KIND_ATOMIC_ACK, SN_KIND_ACK};
    static const uint32_t psn[] = {1, 2, 3, 5}, messages[] = {2, 3, 4, 6}; /* done when each of them became due */
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    for (unsigned room = 0; room <= 4; room++) { /* how many of them find room at first */
        uint32_t at = PSN + room * 6;
        r.full = room == 0;
        r.room = room;
        sn_port_lock(r.w.port);
        struct sn_burst b[6] = {rig_packet(&r, SN_KIND_WRITE, ONLY, at), rig_packet(&r, SN_KIND_WRITE, ONLY | SN_BURST_ACKREQ, at + 1),
                                rig_packet(&r, SN_KIND_READ_REQUEST, ONLY, at + 2), rig_packet(&r, SN_KIND_ATOMIC_FA, ONLY, at + 3),
                                rig_packet(&r, SN_KIND_WRITE, ONLY, at + 4), rig_packet(&r, SN_KIND_WRITE, ONLY, at + 5)};
        for (unsigned i = 0; i < 6; i++) {
            b[i].va = (uintptr_t)r.e.mem + AT;
            b[i].rkey = r.e.mkey;
            b[i].dmalen = b[i].kind == SN_KIND_READ_REQUEST ? 8 : 0;
            b[i].atomic_size = 8;
            sn_nic_receive(r.e.nic, &b[i]); /* all in one turn */
        }
        sn_port_unlock(r.w.port);
        rig_run(&r);
        r.full = false;
        r.room = 0;
        rig_run(&r);
        for (unsigned i = room == 0; i < 4; i++) { /* where nothing had room, the response acknowledges the first two as well */
            const struct sent *s = rig_out(&r);
            assert_non_null(s);
            assert_int_equal(s->b.kind, kind[i]);
            assert_int_equal(s->b.psn, at + psn[i]);
            assert_true(sn_aeth_is_ack(s->b.syndrome));
            assert_int_equal(s->b.msn, room * 6 + messages[i]);
        }
        rig_expect_silence(&r);
    }
    rig_close(&r);
}

/* ---- PSNs (9.7.1, 9.7.4.1.1) ----------------------------------------------------------------------------------- */

/*
 * Where a PSN stands to the expected one, over the whole circle: 2^23 - 1 ahead is a gap, one more is a duplicate. The
 * expected PSN is put at places where the sums wrap.
 */
static void test_psn_regions(void **state)
{
    static const uint32_t expected[] = {0, 1, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff, PSN};
    static const struct {
        int32_t offset;
        int answer; /* 0: new; 1: NAK sequence error; 2: duplicate, acknowledged again */
    } rows[] = {{0, 0},  {1, 1},  {2, 1},  {0x3fffff, 1},  {0x7ffffe, 1},  {0x7fffff, 1},
                {-1, 2}, {-2, 2}, {-3, 2}, {-0x400000, 2}, {-0x7fffff, 2}, {-0x800000, 2}};
    (void)state;

    for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            struct options o = rc(expected[i]);
            struct rig r;
            rig_open(&r, &o);
            rig_write(&r, ONLY | SN_BURST_ACKREQ, expected[i] + (uint32_t)rows[k].offset, AT, 16, 16);
            if (rows[k].answer == 0)
                rig_expect_ack(&r, SN_AETH_ACK, expected[i]);
            else
                rig_expect_ack(&r, rows[k].answer == 1 ? NAK_SEQ : SN_AETH_ACK, expected[i] - (rows[k].answer == 2));
            assert_int_equal(zero(r.e.mem + AT, 16), rows[k].answer != 0);
            assert_int_equal(rig_counters(&r).out_of_sequence, rows[k].answer == 1);
            assert_int_equal(rig_counters(&r).duplicate_request, rows[k].answer == 2);
            rig_close(&r);
        }
}

/* One NAK a gap: what follows is dropped in silence until the expected PSN comes; a new gap has its own (9.7.5.2). */
static void test_one_nak_a_gap(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    rig_write(&r, FIRST, PSN, AT, MTU, 4 * MTU);
    rig_write(&r, MIDDLE, PSN + 2, 0, MTU, 0);
    rig_expect_ack(&r, NAK_SEQ, PSN + 1);
    rig_write(&r, LAST | SN_BURST_ACKREQ, PSN + 3, 0, MTU, 0);
    rig_expect_silence(&r);
    rig_write(&r, MIDDLE, PSN + 1, 0, MTU, 0);
    rig_write(&r, LAST | SN_BURST_ACKREQ, PSN + 3, 0, MTU, 0);
    rig_expect_ack(&r, NAK_SEQ, PSN + 2);
    rig_write(&r, MIDDLE, PSN + 2, 0, MTU, 0);
    rig_write(&r, LAST | SN_BURST_ACKREQ, PSN + 3, 0, MTU, 0);
    rig_expect_ack(&r, SN_AETH_ACK, PSN + 3);
    assert_int_equal(rig_counters(&r).out_of_sequence, 3);
    assert_int_equal(rig_counters(&r).tx_nak_sequence, 2);
    for (uint32_t k = 0; k < 4; k++)
        assert_memory_equal(r.e.mem + AT + k * MTU, rig_bytes, MTU);
    rig_close(&r);
}

/* ---- requests that cannot be (9.7.4.1.2 to 9.7.4.1.6: NAK invalid request, and the connection ends) --------------- */

struct packet {
    int kind, flags;
    uint32_t length, dmalen;
};

static void in(struct rig *r, const struct packet *p, uint32_t psn)
{
    struct sn_burst b = rig_packet(r, (enum sn_kind)p->kind, (unsigned)p->flags, psn);

    if ((p->flags & FIRST) && p->kind != SN_KIND_SEND) {
        b.va = (uintptr_t)r->e.mem + AT;
        b.rkey = r->e.mkey;
        b.dmalen = p->dmalen;
        b.atomic_size = 8;
    }
    rig_in(r, &b, rig_bytes, p->length);
}

static void test_invalid_requests(void **state)
{
    enum { S = SN_KIND_SEND, W = SN_KIND_WRITE, R = SN_KIND_READ_REQUEST, A = SN_KIND_ATOMIC_FA };
    static const struct {
        const char *what;
        unsigned good; /* packets before the bad one */
        struct packet p[3];
    } rows[] = {
        {"a middle without a first", 0, {{W, MIDDLE, MTU, 0}}},
        {"a last without a first", 0, {{S, LAST, 10, 0}}},
        {"a first after a first", 1, {{W, FIRST, MTU, 2 * MTU}, {W, FIRST, MTU, 2 * MTU}}},
        {"an only after a first", 1, {{S, FIRST, MTU, 0}, {S, ONLY, 10, 0}}},
        {"a SEND in a WRITE", 1, {{W, FIRST, MTU, 3 * MTU}, {S, MIDDLE, MTU, 0}}},
        {"a WRITE in a SEND", 1, {{S, FIRST, MTU, 0}, {W, LAST, 10, 0}}},
        {"a READ in a WRITE", 1, {{W, FIRST, MTU, 2 * MTU}, {R, ONLY, 0, 8}}},
        {"an atomic in a SEND", 1, {{S, FIRST, MTU, 0}, {A, ONLY, 0, 0}}},
        {"a first that is not full", 0, {{W, FIRST, MTU - 4, 2 * MTU}}},
        {"a middle that is not full", 1, {{S, FIRST, MTU, 0}, {S, MIDDLE, MTU - 1, 0}}},
        {"a last without a byte", 1, {{S, FIRST, MTU, 0}, {S, LAST, 0, 0}}},
        {"a first that is all of it", 0, {{W, FIRST, MTU, MTU}}},
        {"an only beyond the MTU", 0, {{S, ONLY, MTU + 1, 0}}},
        {"less than the RETH said", 0, {{W, ONLY, 16, 17}}},
        {"more than the RETH said", 0, {{W, ONLY, 16, 15}}},
        {"a message that should have ended", 1, {{W, FIRST, MTU, 2 * MTU}, {W, MIDDLE, MTU, 0}}},
        {"longer than 2^30", 0, {{W, FIRST, MTU, (1u << 30) + 1}}},
        {"immediate in the middle", 0, {{S, FIRST | SN_BURST_IMM, MTU, 0}}},
        {"a READ with payload", 0, {{R, ONLY, 8, 8}}},
        {"a READ longer than 2^30", 0, {{R, ONLY, 0, (1u << 30) + 1}}},
    };
    (void)state;

    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct options o = rc(PSN);
        struct rig r;
        rig_open(&r, &o);
        post_recv(&r.e, r.e.mem + RECV, 8192, r.e.mkey);
        for (unsigned i = 0; i < rows[k].good; i++) {
            in(&r, &rows[k].p[i], PSN + i);
            rig_expect_silence(&r);
        }
        in(&r, &rows[k].p[rows[k].good], PSN + rows[k].good);
        rig_expect_ack(&r, NAK_INV, PSN + rows[k].good);
        assert_int_equal(end_state(&r.e), SN_QP_ERR);
        assert_int_equal(rig_counters(&r).tx_nak_invalid, 1);
        rig_write(&r, ONLY | SN_BURST_ACKREQ, PSN + rows[k].good, 0, 8, 8); /* and nothing more is looked at */
        rig_expect_silence(&r);
        assert_true(zero(r.e.mem, 8));
        rig_close(&r);
    }
}

/* However many packets its answer would have: a READ beyond 2^31 at the smallest path MTU has more than the PSNs allow. */
static void test_endless_read(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;
    o.mtu = 1;
    rig_open(&r, &o);
    rig_read(&r, PSN, AT, UINT32_MAX);
    rig_expect_ack(&r, NAK_INV, PSN);
    assert_int_equal(end_state(&r.e), SN_QP_ERR);
    rig_close(&r);
}

/* Rights of the queue pair (9.7.4.1.2): a service that is not enabled is an invalid request. */
static void test_rights_of_the_queue(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct options o = rc(PSN);
        struct rig r;
        o.no_rwe = k == 0;
        o.no_rre = k == 1;
        o.no_rae = k == 2;
        rig_open(&r, &o);
        if (k == 0)
            rig_write(&r, ONLY, PSN, AT, 8, 8);
        else if (k == 1)
            rig_read(&r, PSN, AT, 8);
        else
            rig_fetch_add(&r, PSN, AT, 1);
        rig_expect_ack(&r, NAK_INV, PSN);
        assert_true(zero(r.e.mem + AT, 8));
        rig_close(&r);
    }
}

/* Keys (9.7.4.1.5, 10.6.7): NAK remote access error. No byte is touched, not even those within the range. */
static void test_access(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int k = 0; k < 6; k++) {
            struct options o = rc(PSN);
            struct rig r;
            rig_open(&r, &o);
            enum sn_kind kinds[] = {SN_KIND_WRITE, SN_KIND_READ_REQUEST, SN_KIND_ATOMIC_FA};
            struct sn_burst b = rig_packet(&r, kinds[kind], ONLY, PSN);
            uint32_t weak = end_key(&r.e, r.e.mem, MEM_SIZE, (uintptr_t)r.e.mem, SN_ACCESS_LOCAL_WRITE), pdn, alien;
            struct sn_mkey_attr attr = {.access = 0xf,
                                        .iova = (uintptr_t)r.e.mem,
                                        .span = {r.e.mem, MEM_SIZE, SN_SPACE_HOST}};
            assert_int_equal(sn_pd_create(r.e.nic, &pdn), 0);
            attr.pdn = pdn;
            assert_int_equal(sn_mkey_create(r.e.nic, &attr, &alien), 0);
            b.va = (uintptr_t)r.e.mem + AT;
            b.rkey = r.e.mkey;
            b.dmalen = 8;
            b.atomic_size = 8;
            b.swap_add = 1;
            switch (k) {
            case 0:
                b.rkey ^= 0x100;
                break;
            case 1:
                b.rkey = weak;
                break;
            case 2:
                b.rkey = alien;
                break;
            case 3:
                b.va = (uintptr_t)r.e.mem - 8;
                break;
            case 4:
                b.va = (uintptr_t)r.e.mem + MEM_SIZE;
                break;
            default:
                b.va = UINT64_MAX - 7; /* va + length wraps to 0 */
                break;
            }
            rig_in(&r, &b, rig_bytes, kind == 0 ? 8 : 0);
            rig_expect_ack(&r, SN_AETH_NAK_ACCESS, PSN);
            assert_true(zero(r.e.mem, MEM_SIZE));
            assert_int_equal(end_state(&r.e), SN_QP_ERR);
            assert_int_equal(rig_counters(&r).resp_remote_access_errors, 1);
            assert_int_equal(sn_mkey_destroy(r.e.nic, weak), 0);
            assert_int_equal(sn_mkey_destroy(r.e.nic, alien), 0);
            rig_close(&r);
        }
}

/* The range of a WRITE is judged with its first packet, for the whole message (9.7.4.1.5). */
static void test_access_of_the_whole(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    rig_write(&r, FIRST, PSN, MEM_SIZE - MTU, MTU, MTU + 1);
    rig_expect_ack(&r, SN_AETH_NAK_ACCESS, PSN);
    assert_true(zero(r.e.mem, MEM_SIZE));
    rig_close(&r);
    /* Nothing is touched by no bytes: key and address are not looked at (9.7.4.1.5). */
    rig_open(&r, &o);
    struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, ONLY | SN_BURST_ACKREQ, PSN);
    b.rkey = 0x1234;
    rig_in(&r, &b, NULL, 0);
    rig_expect_ack(&r, SN_AETH_ACK, PSN);
    b = rig_packet(&r, SN_KIND_READ_REQUEST, ONLY, PSN + 1);
    b.rkey = 0x1234;
    rig_in(&r, &b, NULL, 0);
    const struct sent *s = rig_out(&r);
    assert_non_null(s);
    assert_int_equal(s->b.kind, SN_KIND_READ_RESPONSE);
    assert_int_equal(s->b.length, 0);
    rig_close(&r);
}

/* Atomics: aligned, 8 bytes (9.4.5). */
static void test_atomic_alignment(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    rig_fetch_add(&r, PSN, AT + 4, 1);
    rig_expect_ack(&r, NAK_INV, PSN);
    assert_true(zero(r.e.mem + AT, 16));
    rig_close(&r);
}

/* ---- receives --------------------------------------------------------------------------------------------------- */

/* No receive WQE: RNR NAK with the timer code of the queue pair; all 32 (9.7.5.2.8). Then the same PSN again. */
static void test_rnr(void **state)
{
    (void)state;
    for (uint8_t code = 0; code < 32; code++) {
        struct options o = rc(PSN);
        struct rig r;
        o.min_rnr = code;
        rig_open(&r, &o);
        rig_send(&r, ONLY | SN_BURST_ACKREQ, PSN, 10);
        rig_expect_ack(&r, SN_AETH_RNR | code, PSN);
        rig_send(&r, ONLY | SN_BURST_ACKREQ, PSN + 1, 10); /* nothing is said to what follows */
        rig_expect_silence(&r);
        rig_send(&r, ONLY | SN_BURST_ACKREQ, PSN, 10); /* too early: told again */
        rig_expect_ack(&r, SN_AETH_RNR | code, PSN);
        post_recv(&r.e, r.e.mem + RECV, 64, r.e.mkey);
        rig_send(&r, ONLY | SN_BURST_ACKREQ, PSN, 10);
        rig_expect_ack(&r, SN_AETH_ACK, PSN);
        expect_recv(&r, SN_CQE_RESP_SEND, 10);
        assert_int_equal(rig_counters(&r).tx_rnr_nak, 2);
        assert_int_equal(rig_counters(&r).out_of_buffer, 2);
        rig_close(&r);
    }
}

/* Too small a receive: invalid request, local length error (9.7.4.1, 9.9.3); a bad key in it: remote operational error. */
static void test_receive_errors(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct options o = rc(PSN);
        struct rig r;
        o.no_rq = k == 2;
        rig_open(&r, &o);
        if (k != 2)
            post_recv(&r.e, r.e.mem + RECV, k == 0 ? 9 : 64, k == 1 ? r.e.mkey ^ 2 : r.e.mkey);
        rig_send(&r, ONLY | SN_BURST_ACKREQ, PSN, 10);
        rig_expect_ack(&r, k == 1 ? SN_AETH_NAK_OP : NAK_INV, PSN);
        assert_true(zero(r.e.mem + RECV, 64));
        const struct sn_cqe64 *c = next_rcqe(&r.e);
        if (k == 2) {
            assert_null(c);
        } else {
            assert_non_null(c);
            assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
            assert_int_equal(cqe_syndrome(c), k == 0 ? SN_SYND_LOCAL_LENGTH : SN_SYND_LOCAL_PROT);
        }
        assert_int_equal(end_state(&r.e), SN_QP_ERR);
        rig_close(&r);
    }
}

/*
 * SEND with invalidate (9.4.1.1.3): a key that allows it grants nothing from then on; a plain region's key, one of
 * another domain or none at all: NAK remote access error, the receive ends in an access error.
 */
static void test_invalidate(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct options o = rc(PSN);
        struct rig r;
        rig_open(&r, &o);
        uint32_t key = end_key(&r.e, r.e.mem, MEM_SIZE, (uintptr_t)r.e.mem,
                               0xf | (k == 1 ? 0 : (uint32_t)SN_ACCESS_REMOTE_INVALIDATE)), pdn, alien;
        struct sn_mkey_attr attr = {.access = SN_ACCESS_REMOTE_INVALIDATE, .span = {r.e.mem, 64, SN_SPACE_HOST}};
        assert_int_equal(sn_pd_create(r.e.nic, &pdn), 0);
        attr.pdn = pdn;
        assert_int_equal(sn_mkey_create(r.e.nic, &attr, &alien), 0);
        post_recv(&r.e, r.e.mem + RECV, 64, r.e.mkey);
        struct sn_burst b = rig_packet(&r, SN_KIND_SEND, ONLY | SN_BURST_INVALIDATE | SN_BURST_ACKREQ, PSN);
        b.imm = sn_swap32(k == 2 ? alien : k == 3 ? key ^ 4 : key);
        rig_in(&r, &b, rig_bytes, 12);
        rig_expect_ack(&r, k == 0 ? SN_AETH_ACK : SN_AETH_NAK_ACCESS, PSN);
        const struct sn_cqe64 *c = next_rcqe(&r.e);
        assert_non_null(c);
        if (k == 0) {
            assert_int_equal(cqe_opcode(c), SN_CQE_RESP_SEND_INV);
            assert_int_equal(sn_swap32(c->imm), key);
            assert_int_equal(sn_get32(c->byte_cnt), 12);
            b = rig_packet(&r, SN_KIND_WRITE, ONLY, PSN + 1);
            b.va = (uintptr_t)r.e.mem;
            b.rkey = key;
            b.dmalen = 8;
            rig_in(&r, &b, rig_bytes, 8);
            rig_expect_ack(&r, SN_AETH_NAK_ACCESS, PSN + 1);
            assert_true(zero(r.e.mem, 8));
        } else {
            assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
            assert_int_equal(cqe_syndrome(c), SN_SYND_LOCAL_ACCESS);
        }
        assert_int_equal(sn_mkey_destroy(r.e.nic, key), 0);
        assert_int_equal(sn_mkey_destroy(r.e.nic, alien), 0);
        rig_close(&r);
    }
}

/* ---- for nobody ------------------------------------------------------------------------------------------------- */

/* Not this queue pair's service, peer, address, partition or state: dropped in silence (9.6.1.1, 9.6.1.2). */
static void test_not_for_us(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    for (int k = 0; k < 10; k++) {
        struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, ONLY | SN_BURST_ACKREQ, PSN);
        b.va = (uintptr_t)r.e.mem;
        b.rkey = r.e.mkey;
        b.dmalen = 8;
        switch (k) {
        case 0:
            b.dqpn ^= 1;
            break;
        case 1:
            b.service = SN_SERVICE_UC;
            break;
        case 2:
            b.sgid[15] ^= 1;
            break;
        case 3:
            b.kind = SN_KIND_COUNT;
            break;
        case 4:
            b.flags |= 0x80;
            break;
        case 5:
            b.dqpn = 0;
            break;
        case 6:
            b.dgid[15] ^= 1;
            break;
        default: /* another partition's */
            b.pkey = (uint16_t[]){0, 0x8001, 0xfffe}[k - 7];
            break;
        }
        rig_in(&r, &b, rig_bytes, 8);
        rig_expect_silence(&r);
        assert_int_equal(rig_counters(&r).rx_dropped, k + 1);
    }
    assert_true(zero(r.e.mem, 8));
    struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, ONLY | SN_BURST_ACKREQ, PSN);
    b.va = (uintptr_t)r.e.mem;
    b.rkey = r.e.mkey;
    b.dmalen = 8;
    b.pkey = 0x7fff; /* a limited member may talk to a full one (10.9.3) */
    rig_in(&r, &b, rig_bytes, 8);
    rig_expect_ack(&r, SN_AETH_ACK, PSN);
    rig_close(&r);
}

/* ---- congestion (A17.9) ------------------------------------------------------------------------------------------ */

/* A marked packet is answered by a CNP, at most one in 50 us a queue pair; and it is executed like any other. */
static void test_ecn(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    for (uint32_t k = 0; k < 4; k++) {
        struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, ONLY, PSN + k);
        b.va = (uintptr_t)r.e.mem + AT;
        b.rkey = r.e.mkey;
        b.dmalen = 8;
        b.tclass = k == 3 ? 2 : 3; /* the last is only capable, not marked */
        rig_in(&r, &b, rig_bytes, 8);
        if (k == 0 || k == 2) {
            const struct sent *s = rig_out(&r);
            assert_non_null(s);
            assert_int_equal(s->b.kind, SN_KIND_CNP);
            assert_int_equal(s->b.flags, ONLY | SN_BURST_BECN);
            assert_int_equal(s->b.dqpn, RIG_PEER_QPN);
        }
        rig_expect_ack(&r, SN_AETH_ACK, PSN + k);
        if (k == 1)
            r.w.now += 50000;
    }
    assert_int_equal(rig_counters(&r).np_ecn_marked_roce_packets, 3);
    assert_int_equal(rig_counters(&r).np_cnp_sent, 2);
    rig_close(&r);
}

/* A CNP is taken and counted, and changes no state; so is BECN on another packet. */
static void test_cnp(void **state)
{
    struct options o = rc(PSN);
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct sn_burst b = rig_packet(&r, SN_KIND_CNP, ONLY | SN_BURST_BECN, 0);
    rig_in(&r, &b, NULL, 0);
    assert_int_equal(rig_counters(&r).rp_cnp_handled, 1);
    b.dqpn ^= 1;
    rig_in(&r, &b, NULL, 0);
    assert_int_equal(rig_counters(&r).rp_cnp_ignored, 1);
    rig_write(&r, ONLY | SN_BURST_BECN, PSN, AT, 8, 8);
    assert_int_equal(rig_counters(&r).rp_becn, 1);
    rig_expect_ack(&r, SN_AETH_ACK, PSN);
    rig_close(&r);
}

/* A name for each counter, in order, each once. */
static void test_counter_names(void **state)
{
    unsigned n = sizeof(struct sn_counters) / sizeof(uint64_t);
    (void)state;

    assert_string_equal(sn_counter_name(0), "rx_packets");
    assert_string_equal(sn_counter_name(offsetof(struct sn_counters, duplicate_request) / 8), "duplicate_request");
    assert_string_equal(sn_counter_name(n - 1), "rp_becn");
    assert_null(sn_counter_name(n));
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(sn_counter_name(i), sn_counter_name(k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_in_packets),
        cmocka_unit_test(test_send_in_packets),
        cmocka_unit_test(test_acknowledgements), cmocka_unit_test(test_answers_in_order),
        cmocka_unit_test(test_psn_regions),
        cmocka_unit_test(test_one_nak_a_gap),
        cmocka_unit_test(test_invalid_requests),
        cmocka_unit_test(test_endless_read),
        cmocka_unit_test(test_rights_of_the_queue),
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_access_of_the_whole),
        cmocka_unit_test(test_atomic_alignment),
        cmocka_unit_test(test_rnr),
        cmocka_unit_test(test_receive_errors),
        cmocka_unit_test(test_invalidate),
        cmocka_unit_test(test_not_for_us),
        cmocka_unit_test(test_ecn),
        cmocka_unit_test(test_cnp),
        cmocka_unit_test(test_counter_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
