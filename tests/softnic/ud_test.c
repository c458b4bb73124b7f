/* SPDX-License-Identifier: Apache-2.0 */
/* Unreliable datagrams (IBTA vol. 1, 9.8.3), their GRH on RoCEv2 (A17.4.5), Q_Keys (9.2.5, 10.2.5). */
#include "datagram.h"
#include "packets.h"

#include "format/roce.h"

#define PSN  RIG_PSN
#define QKEY 0x11111111u
enum { GRH = 40, RECV = 1 << 16 };

static struct options ud(void)
{
    struct options o = defaults;
    o.service = SN_SERVICE_UD;
    o.psn = PSN;
    o.qkey = QKEY;
    return o;
}

static struct datagram to_peer(struct rig *r, uint32_t length)
{
    struct datagram d = {.qpn = RIG_PEER_QPN, .qkey = QKEY, .length = length};
    memcpy(d.gid, r->peer_gid, 16);
    return d;
}

/* ---- requester ----------------------------------------------------------------------------------------------- */

static void test_send(void **state)
{
    struct options o = ud();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    fill(r.e.mem, 4096, 7);
    for (uint32_t k = 0; k < 3; k++) {
        struct datagram d = to_peer(&r, 100 * k);
        d.tclass = 0xb8;
        d.hops = 33;
        d.flow = 0xabcde;
        d.sport = 0xc123;
        d.opcode = k == 2 ? SN_OPCODE_SEND_IMM : 0;
        d.imm = 0x01020304;
        uint32_t index = put_datagram(&r.e, &d);
        ring(&r.e);
        rig_run(&r);
        expect_ok(&r.e, index);
        const struct sent *s = rig_out(&r);
        assert_non_null(s);
        assert_int_equal(s->b.service, SN_SERVICE_UD);
        assert_int_equal(s->b.kind, SN_KIND_SEND);
        assert_int_equal(s->b.flags, ONLY | (k == 2 ? SN_BURST_IMM : 0)); /* and no acknowledge request */
        assert_int_equal(s->b.psn, PSN + k);
        assert_int_equal(s->b.dqpn, RIG_PEER_QPN);
        assert_int_equal(s->b.sqpn, r.e.qpn);
        assert_int_equal(s->b.qkey, QKEY);
        assert_int_equal(s->b.length, 100 * k);
        assert_int_equal(s->b.tclass, 0xb8);
        assert_int_equal(s->b.hop_limit, 33);
        assert_int_equal(s->b.flow_label, 0xabcde);
        assert_int_equal(s->b.udp_sport, 0xc123);
        assert_memory_equal(s->b.dgid, r.peer_gid, 16);
        assert_memory_equal(s->b.sgid, sn_nic_get_config(r.e.nic)->gid[0], 16);
        assert_memory_equal(s->payload, r.e.mem, 100 * k);
    }
    rig_expect_silence(&r);
    rig_close(&r);
}

/* The top bit of a Q_Key in a WQE says: the queue pair's own (10.2.5). */
static void test_controlled_qkey(void **state)
{
    struct options o = ud();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct datagram d = to_peer(&r, 8);
    d.qkey = 0x22222222;
    put_datagram(&r.e, &d);
    d.qkey = 0x80000000;
    put_datagram(&r.e, &d);
    ring(&r.e);
    rig_run(&r);
    assert_int_equal(rig_out(&r)->b.qkey, 0x22222222);
    assert_int_equal(rig_out(&r)->b.qkey, QKEY);
    rig_close(&r);
}

/* One packet, no more (9.8.3); opcodes of other services; address vectors that say too little: the send queue fails. */
static void test_bad_wqes(void **state)
{
    static const struct {
        struct datagram d;
        uint8_t syndrome;
    } rows[] = {
        {{.length = 1025}, SN_SYND_LOCAL_LENGTH},
        {{.length = 8, .opcode = SN_OPCODE_RDMA_WRITE}, SN_SYND_LOCAL_QP_OP},
        {{.length = 8, .opcode = SN_OPCODE_RDMA_READ}, SN_SYND_LOCAL_QP_OP},
        {{.length = 8, .opcode = SN_OPCODE_ATOMIC_FA}, SN_SYND_LOCAL_QP_OP},
        {{.length = 8, .opcode = SN_OPCODE_SEND_INVAL}, SN_SYND_LOCAL_QP_OP},
        {{.length = 8, .compact = true}, SN_SYND_LOCAL_QP_OP},
        {{.length = 8, .no_grh = true}, SN_SYND_LOCAL_QP_OP},
        {{.length = 8, .sgid_index = 1}, SN_SYND_LOCAL_QP_OP},
    };
    struct options o = ud();
    struct rig r;
    (void)state;

    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        rig_open(&r, &o);
        struct datagram d = rows[k].d, ok = to_peer(&r, 1024);
        memcpy(d.gid, r.peer_gid, 16);
        d.qpn = RIG_PEER_QPN;
        uint32_t first = put_datagram(&r.e, &ok), bad = put_datagram(&r.e, &d), last = put_datagram(&r.e, &ok);
        ring(&r.e);
        rig_run(&r);
        expect_ok(&r.e, first);
        expect_error(&r.e, bad, rows[k].syndrome);
        expect_error(&r.e, last, SN_SYND_FLUSH);
        assert_int_equal(r.count, 1);
        assert_int_equal(end_state(&r.e), SN_QP_SQER);
        rig_close(&r);
    }
}

/* ---- responder ----------------------------------------------------------------------------------------------- */

static struct sn_burst datagram_in(struct rig *r, uint32_t psn)
{
    struct sn_burst b = rig_packet(r, SN_KIND_SEND, ONLY, psn);
    b.qkey = QKEY;
    b.sqpn = 0x456789;
    b.tclass = 0x28;
    b.hop_limit = 61;
    b.flow_label = 0x12345;
    return b;
}

static uint16_t sum(const uint8_t *p, size_t n)
{
    uint32_t s = 0;
    for (size_t i = 0; i < n; i += 2)
        s += (uint32_t)p[i] << 8 | p[i + 1];
    while (s >> 16)
        s = (s & 0xffff) + (s >> 16);
    return (uint16_t)s;
}

/* The CQE names the sender, its byte count has the GRH, and the GRH is the packet's IPv6 header (A17.4.5). */
static void test_receive_ipv6(void **state)
{
    struct options o = ud();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    for (uint32_t k = 0; k < 2; k++) {
        post_recv(&r.e, r.e.mem + RECV, 4096, r.e.mkey);
        struct sn_burst b = datagram_in(&r, k * 77); /* PSNs of datagrams say nothing */
        b.flags |= k == 1 ? SN_BURST_IMM | SN_BURST_SOLICITED : 0;
        b.imm = 0xcafe;
        rig_in(&r, &b, rig_bytes, 101);
        const struct sn_cqe64 *c = next_rcqe(&r.e);
        assert_non_null(c);
        assert_int_equal(cqe_opcode(c), k == 0 ? SN_CQE_RESP_SEND : SN_CQE_RESP_SEND_IMM);
        assert_int_equal(sn_get32(c->byte_cnt), GRH + 101);
        assert_int_equal(sn_get32(c->flags_rqpn) & 0xffffff, 0x456789);
        assert_int_equal(sn_get32(c->flags_rqpn) >> 28 & 3, 1);              /* there is a GRH */
        assert_int_equal(sn_get32(c->flags_rqpn) >> 24 & 3, SN_CQE_L3_IPV6); /* of this kind */
        assert_int_equal(c->imm, k == 0 ? 0 : 0xcafe);
        assert_int_equal((c->op_own & SN_CQE_SOLICITED) != 0, k == 1);
        assert_memory_equal(r.e.mem + RECV + GRH, rig_bytes, 101);
        const struct sn_ipv6 *ip = (const struct sn_ipv6 *)(const void *)(r.e.mem + RECV);
        assert_int_equal(sn_get32(ip->version_class_flow), 0x62812345);
        assert_int_equal(sn_get16(ip->length), 8 + 12 + 8 + (k == 1 ? 4 : 0) + 104 + 4);
        assert_int_equal(ip->next, 17);
        assert_int_equal(ip->hop_limit, 61);
        assert_memory_equal(ip->src, r.peer_gid, 16);
        assert_memory_equal(ip->dst, sn_nic_get_config(r.e.nic)->gid[0], 16);
    }
    rig_expect_silence(&r);
    rig_close(&r);
}

static void test_receive_ipv4(void **state)
{
    struct options o = ud();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    post_recv(&r.e, r.e.mem + RECV, 4096, r.e.mkey);
    memset(r.e.mem + RECV, 0xee, 64);
    struct sn_burst b = datagram_in(&r, 3);
    memset(b.sgid, 0, 16);
    memset(b.dgid, 0, 16);
    b.sgid[10] = b.sgid[11] = b.dgid[10] = b.dgid[11] = 0xff;
    memcpy(b.sgid + 12, (uint8_t[]){10, 77, 0, 1}, 4);
    memcpy(b.dgid + 12, (uint8_t[]){10, 77, 0, 2}, 4);
    rig_in(&r, &b, rig_bytes, 100);
    const struct sn_cqe64 *c = next_rcqe(&r.e);
    assert_non_null(c);
    assert_int_equal(sn_get32(c->flags_rqpn) >> 24 & 3, SN_CQE_L3_IPV4);
    const struct sn_ipv4 *ip = (const struct sn_ipv4 *)(const void *)(r.e.mem + RECV + 20);
    assert_int_equal(ip->version_ihl, 0x45);
    assert_int_equal(ip->tos, 0x28);
    assert_int_equal(sn_get16(ip->length), 20 + 8 + 12 + 8 + 100 + 4);
    assert_int_equal(ip->ttl, 61);
    assert_int_equal(ip->protocol, 17);
    assert_memory_equal(ip->src, b.sgid + 12, 4);
    assert_memory_equal(ip->dst, b.dgid + 12, 4);
    assert_int_equal(sum((const uint8_t *)ip, 20), 0xffff);
    assert_memory_equal(r.e.mem + RECV + GRH, rig_bytes, 100);
    rig_close(&r);
}

/* The receive is scattered over its list like any other, the GRH first; 40 bytes must be there for it. */
static void test_scatter(void **state)
{
    struct options o = ud();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct sn_data_seg *s = (struct sn_data_seg *)(void *)r.e.rq;
    for (uint32_t k = 0; k < 3; k++) { /* the ends of the pieces lie within the GRH and within the payload */
        s[k].byte_count = sn_put32(k == 0 ? 30 : k == 1 ? 20 : 1000);
        s[k].lkey = sn_put32(r.e.mkey);
        s[k].addr = sn_put64((uintptr_t)r.e.mem + RECV + k * 4096);
    }
    s[3].lkey = sn_put32(SN_LKEY_END);
    r.e.rq_pi++;
    __atomic_store_n(r.e.record, sn_swap32(1), __ATOMIC_RELEASE);
    struct sn_burst b = datagram_in(&r, 0);
    rig_in(&r, &b, rig_bytes, 200);
    const struct sn_cqe64 *c = next_rcqe(&r.e);
    assert_non_null(c);
    assert_int_equal(sn_get32(c->byte_cnt), GRH + 200);
    assert_memory_equal(r.e.mem + RECV + 4096 + 10, rig_bytes, 10);
    assert_memory_equal(r.e.mem + RECV + 8192, rig_bytes + 10, 190);
    assert_memory_equal(r.e.mem + RECV + 8, r.peer_gid, 16); /* source address of the header */
    post_recv(&r.e, r.e.mem + RECV, GRH + 9, r.e.mkey);
    rig_in(&r, &b, rig_bytes, 10); /* a byte too much (9.9.3) */
    c = next_rcqe(&r.e);
    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
    assert_int_equal(cqe_syndrome(c), SN_SYND_LOCAL_LENGTH);
    assert_int_equal(end_state(&r.e), SN_QP_ERR);
    rig_close(&r);
}

/* Dropped in silence: wrong Q_Key (9.2.5) or P_Key (9.6.1.1), no receive WQE, what no datagram can be. The queue pair goes on. */
static void test_dropped(void **state)
{
    struct options o = ud();
    struct rig r;
    (void)state;

    rig_open(&r, &o);
    struct sn_burst b = datagram_in(&r, 0);
    rig_in(&r, &b, rig_bytes, 10);
    assert_int_equal(rig_counters(&r).out_of_buffer, 1);
    post_recv(&r.e, r.e.mem + RECV, 8192, r.e.mkey);
    b.qkey ^= 1;
    rig_in(&r, &b, rig_bytes, 10);
    assert_int_equal(rig_counters(&r).qkey_violations, 1);
    b.qkey ^= 1;
    b.pkey = 0x8001;
    rig_in(&r, &b, rig_bytes, 10);
    assert_int_equal(rig_counters(&r).rx_dropped, 1);
    b.pkey = 0xffff;
    rig_in(&r, &b, rig_bytes, 1025); /* beyond the path MTU */
    b.flags = FIRST;
    rig_in(&r, &b, rig_bytes, 1024);
    b.flags = LAST;
    rig_in(&r, &b, rig_bytes, 10);
    b.flags = ONLY;
    b.kind = SN_KIND_WRITE;
    b.va = (uintptr_t)r.e.mem;
    b.rkey = r.e.mkey;
    b.dmalen = 10;
    rig_in(&r, &b, rig_bytes, 10);
    b.kind = SN_KIND_READ_REQUEST;
    b.npackets = 0;
    rig_in(&r, &b, NULL, 0);
    assert_int_equal(r.e.mem[0], 0);
    assert_null(next_rcqe(&r.e));
    assert_int_equal(rig_counters(&r).unreliable_dropped, 7);
    b = datagram_in(&r, 9);
    rig_in(&r, &b, rig_bytes, 1024);
    assert_int_equal(sn_get32(next_rcqe(&r.e)->byte_cnt), GRH + 1024);
    rig_expect_silence(&r);
    rig_close(&r);
}

/* Two NICs of one port: many to one, answers to the number in the CQE. */
static void test_pair(void **state)
{
    struct options o = ud();
    struct world w;
    struct end a, b;
    (void)state;

    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    end_open(&b, &w, 1, &o);
    ends_connect(&a, &b);
    fill(a.mem, 2048, 3);
    for (uint32_t k = 0; k < 8; k++)
        post_recv(&b, b.mem + k * 2048, 2048, b.mkey);
    struct datagram d = {.qpn = b.qpn, .qkey = QKEY, .length = 1000};
    memcpy(d.gid, sn_nic_get_config(b.nic)->gid[0], 16);
    for (uint32_t k = 0; k < 8; k++) {
        d.qpn = k == 3 ? b.qpn ^ 1 : b.qpn; /* nobody there: lost, and nobody is told */
        uint32_t index = put_datagram(&a, &d);
        ring(&a);
        world_run(&w);
        expect_ok(&a, index);
    }
    for (uint32_t k = 0; k < 7; k++) {
        const struct sn_cqe64 *c = next_rcqe(&b);
        assert_non_null(c);
        assert_int_equal(sn_get32(c->flags_rqpn) & 0xffffff, a.qpn);
        assert_memory_equal(b.mem + k * 2048 + GRH, a.mem, 1000);
    }
    assert_null(next_rcqe(&b));
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_send),      cmocka_unit_test(test_controlled_qkey), cmocka_unit_test(test_bad_wqes),
        cmocka_unit_test(test_receive_ipv6), cmocka_unit_test(test_receive_ipv4), cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_dropped),   cmocka_unit_test(test_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
