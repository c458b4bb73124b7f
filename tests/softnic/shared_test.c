/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What outlives a queue pair or a key that goes: a receive of an SRQ that a message had begun to fill (IBTA vol. 1, 10.2.9),
 * and memory windows on a region whose key a peer has ended (10.6.7.2).
 */
#include "packets.h"
#include "softnic/engine.h"

#define PSN RIG_PSN
enum { MTU = 1024, AT = 4096, RECV = 1 << 16 };

static struct options shared(bool linked)
{
    struct options o = defaults;
    o.psn = PSN;
    o.srq = true;
    o.srq_linked = linked;
    return o;
}

/* Two receives, and the first packet of a message of two. */
static void begin_message(struct rig *r, const struct options *o)
{
    rig_open(r, o);
    post_recv(&r->e, r->e.mem + RECV, 4 * MTU, r->e.mkey);
    post_recv(&r->e, r->e.mem + 2 * RECV, 4 * MTU, r->e.mkey);
    rig_send(r, FIRST, PSN, MTU);
    assert_null(next_rcqe(&r->e));
}

static void expect_flushed_once(struct rig *r)
{
    const struct sn_cqe64 *c = next_rcqe(&r->e);
    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
    assert_int_equal(cqe_syndrome(c), SN_SYND_FLUSH);
    assert_int_equal(sn_get16(c->wqe_counter), 0);
    assert_int_equal(sn_get32(c->sop_drop_qpn) & 0xffffff, r->e.qpn);
    assert_null(next_rcqe(&r->e));
}

/* The receive is consumed, and its owner hears of it; the next message takes the other one. */
static void test_reset_within_a_message(void **state)
{
    (void)state;
    for (int linked = 0; linked < 2; linked++) {
        struct options o = shared(linked);
        struct rig r;
        begin_message(&r, &o);
        assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_RST, NULL, 0), 0);
        expect_flushed_once(&r);
        rig_close(&r);
    }
}

static void test_destroyed_within_a_message(void **state)
{
    (void)state;
    for (int linked = 0; linked < 2; linked++) {
        struct options o = shared(linked);
        struct rig r;
        begin_message(&r, &o);
        struct sn_qp_attr attr;
        uint32_t fresh;
        assert_int_equal(sn_qp_query(r.e.nic, r.e.qpn, NULL, NULL, &attr, NULL), 0);
        assert_int_equal(sn_qp_destroy(r.e.nic, r.e.qpn), 0);
        expect_flushed_once(&r);
        assert_int_equal(sn_qp_create(r.e.nic, &attr, &fresh), 0);
        r.e.qpn = fresh; /* for the end of the test */
        rig_close(&r);
    }
}

/* ERR has told already: nothing comes twice. */
static void test_destroyed_after_the_flush(void **state)
{
    struct options o = shared(true);
    struct rig r;
    (void)state;
    begin_message(&r, &o);
    assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_ERR, NULL, 0), 0);
    rig_run(&r);
    expect_flushed_once(&r);
    assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_RST, NULL, 0), 0);
    rig_run(&r);
    assert_null(next_rcqe(&r.e));
    rig_close(&r);
}

/* No message is under way: the receives stay for others. */
static void test_destroyed_between_messages(void **state)
{
    struct options o = shared(true);
    struct rig r;
    (void)state;
    rig_open(&r, &o);
    post_recv(&r.e, r.e.mem + RECV, MTU, r.e.mkey);
    assert_int_equal(sn_qp_modify(r.e.nic, r.e.qpn, SN_QP_RST, NULL, 0), 0);
    rig_run(&r);
    assert_null(next_rcqe(&r.e));
    rig_close(&r);
}

/* ---- windows on a key that a peer ends ------------------------------------------------------------------------------- */

static void write_through(struct rig *r, uint32_t key, uint32_t psn)
{
    struct sn_burst b = rig_packet(r, SN_KIND_WRITE, ONLY | SN_BURST_ACKREQ, psn);
    b.va = (uintptr_t)r->e.mem + AT;
    b.rkey = key;
    b.dmalen = 64;
    rig_in(r, &b, rig_bytes, 64);
}

static uint32_t bind(struct rig *r, unsigned type, uint32_t region)
{
    struct sn_qp *qp = sn_qp_find(r->e.nic, r->e.qpn);
    uint32_t window;
    assert_int_equal(sn_mw_create(r->e.nic, r->e.pdn, type, &window), 0);
    struct sn_wqe w = {.rkey = window,
                       .raddr = (uintptr_t)r->e.mem,
                       .compare = (uintptr_t)r->e.mem,
                       .swap_add = MEM_SIZE,
                       .wait_cqn = region,
                       .dqpn = type == 2 ? r->e.qpn : SN_MKEY_ANY_QP,
                       .bind_access = SN_MKEY_REMOTE_WRITE | SN_MKEY_REMOTE_READ,
                       .bind_low = 7};
    assert_int_equal(sn_mw_bind(qp, &w), SN_FAULT_NONE);
    assert_int_equal(sn_mw_key(r->e.nic, window, &window), 0);
    return window;
}

static void test_windows_of_an_invalidated_key(void **state)
{
    (void)state;
    for (unsigned type = 1; type <= 2; type++) {
        struct options o = defaults;
        struct rig r;
        o.psn = PSN;
        rig_open(&r, &o);
        uint32_t region = end_key(&r.e, r.e.mem, MEM_SIZE, (uintptr_t)r.e.mem,
                                  0xf | SN_ACCESS_MW_BIND | SN_ACCESS_REMOTE_INVALIDATE);
        uint32_t lasting = end_key(&r.e, r.e.mem, MEM_SIZE, (uintptr_t)r.e.mem, 0xf | SN_ACCESS_MW_BIND);
        uint32_t other = bind(&r, type, lasting), first = bind(&r, type, region), second = bind(&r, type, region);
        write_through(&r, first, PSN);
        rig_expect_ack(&r, SN_AETH_ACK, PSN);
        assert_memory_equal(r.e.mem + AT, rig_bytes, 64);
        assert_int_equal(sn_mkey_destroy(r.e.nic, region), -EBUSY);
        memset(r.e.mem + AT, 0, 64);

        post_recv(&r.e, r.e.mem + RECV, 64, r.e.mkey);
        struct sn_burst b = rig_packet(&r, SN_KIND_SEND, ONLY | SN_BURST_INVALIDATE | SN_BURST_ACKREQ, PSN + 1);
        b.imm = sn_swap32(region);
        rig_in(&r, &b, rig_bytes, 12);
        rig_expect_ack(&r, SN_AETH_ACK, PSN + 1);
        write_through(&r, other, PSN + 2); /* a window on another region goes on serving */
        rig_expect_ack(&r, SN_AETH_ACK, PSN + 2);
        memset(r.e.mem + AT, 0, 64);
        write_through(&r, first, PSN + 3);
        rig_expect_ack(&r, SN_AETH_NAK_ACCESS, PSN + 3);
        for (int i = 0; i < 64; i++)
            assert_int_equal(r.e.mem[AT + i], 0);

        assert_int_equal(sn_mkey_destroy(r.e.nic, region), 0); /* nothing is bound to it any more */
        assert_int_equal(sn_mkey_destroy(r.e.nic, first), 0);
        assert_int_equal(sn_mkey_destroy(r.e.nic, second), 0);
        assert_int_equal(sn_mkey_destroy(r.e.nic, other), 0);
        assert_int_equal(sn_mkey_destroy(r.e.nic, lasting), 0);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reset_within_a_message),     cmocka_unit_test(test_destroyed_within_a_message),
        cmocka_unit_test(test_destroyed_after_the_flush),  cmocka_unit_test(test_destroyed_between_messages),
        cmocka_unit_test(test_windows_of_an_invalidated_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
