/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams: where they come from, how that is answered, on both link layers; Q_Keys. The argument is the link layer.
 */
#include <stdio.h>

#include "rig.h"

enum { LENGTH = 200 };

static bool infiniband;

static int send_to(struct rig_end *from, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, uint64_t wr_id)
{
    struct ibv_sge sge = {(uintptr_t)from->mem, LENGTH, from->mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    wr.wr.ud.ah = ah;
    wr.wr.ud.remote_qpn = qpn;
    wr.wr.ud.remote_qkey = qkey;
    return rig_post(from->qp, &wr);
}

/* An answer goes to where the completion says the datagram came from. */
static void ping_pong(struct rig *r, struct ibv_ah *ah, bool grh)
{
    rig_fill(r->a.mem, LENGTH, 5);
    assert_int_equal(rig_recv(&r->b, 1, 0, LENGTH + RIG_GRH), 0);
    assert_int_equal(rig_recv(&r->a, 2, 4096, LENGTH + RIG_GRH), 0);
    assert_int_equal(send_to(&r->a, ah, r->b.qp->qp_num, RIG_QKEY, 3), 0);
    rig_expect(r->a.scq, 3, IBV_WC_SUCCESS);
    struct ibv_wc wc = rig_poll(r->b.rcq);
    assert_int_equal(wc.wr_id, 1);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.src_qp, r->a.qp->qp_num);
    assert_int_equal(wc.byte_len, LENGTH + RIG_GRH);
    assert_int_equal(wc.wc_flags, grh ? IBV_WC_GRH : 0);
    assert_int_equal(wc.slid, infiniband ? r->a.lid : 0);
    assert_true(rig_same(r->b.mem + RIG_GRH, LENGTH, 5));

    struct ibv_ah_attr attr;
    assert_int_equal(softnic_ibv_init_ah_from_wc(r->b.ctx, 1, &wc, (struct ibv_grh *)(void *)r->b.mem, &attr), 0);
    assert_int_equal(attr.is_global, grh);
    assert_int_equal(attr.port_num, 1);
    if (grh)
        assert_memory_equal(&attr.grh.dgid, &r->a.gid, sizeof(attr.grh.dgid));
    struct ibv_ah *back =
        softnic_ibv_create_ah_from_wc(r->b.pd, &wc, (struct ibv_grh *)(void *)r->b.mem, 1);
    assert_non_null(back);
    memmove(r->b.mem, r->b.mem + RIG_GRH, LENGTH);
    assert_int_equal(send_to(&r->b, back, wc.src_qp, RIG_QKEY, 4), 0);
    rig_expect(r->b.scq, 4, IBV_WC_SUCCESS);
    wc = rig_poll(r->a.rcq);
    assert_int_equal(wc.wr_id, 2);
    assert_int_equal(wc.src_qp, r->b.qp->qp_num);
    assert_true(rig_same(r->a.mem + 4096 + RIG_GRH, LENGTH, 5));
    assert_int_equal(softnic_ibv_destroy_ah(back), 0);
}

static void test_answer(void **state)
{
    struct rig r;
    struct rig_options o = {.type = IBV_QPT_UD};
    (void)state;
    rig_open(&r, &o);
    ping_pong(&r, r.a.ah, !infiniband);
    rig_close(&r);
}

/* By GID on either link; on Ethernet by each of its kinds, the MAC's (IPv6 header) and the mapped one (IPv4 header). */
static void test_every_gid(void **state)
{
    struct rig r;
    struct rig_options o = {.type = IBV_QPT_UD};
    (void)state;
    rig_open(&r, &o);
    for (int i = 0; i < (infiniband ? 1 : 2); i++) {
        assert_int_equal(softnic_ibv_query_gid(r.a.ctx, 1, i, &r.a.gid), 0);
        assert_int_equal(softnic_ibv_query_gid(r.b.ctx, 1, i, &r.b.gid), 0);
        struct ibv_ah_attr attr = {.port_num = 1, .dlid = r.b.lid, .is_global = 1};
        attr.grh.dgid = r.b.gid;
        attr.grh.sgid_index = (uint8_t)i;
        attr.grh.hop_limit = 9;
        struct ibv_ah *ah = softnic_ibv_create_ah(r.a.pd, &attr);
        assert_non_null(ah);
        ping_pong(&r, ah, true);
        assert_int_equal(softnic_ibv_destroy_ah(ah), 0);
    }
    rig_close(&r);
}

/* A datagram of another Q_Key is dropped; one with the top bit set stands for the sender's own (10.2.5). */
static void test_qkey(void **state)
{
    struct rig r;
    struct rig_options o = {.type = IBV_QPT_UD};
    (void)state;
    rig_open(&r, &o);
    assert_int_equal(rig_recv(&r.b, 1, 0, LENGTH + RIG_GRH), 0);
    assert_int_equal(send_to(&r.a, r.a.ah, r.b.qp->qp_num, RIG_QKEY + 1, 2), 0);
    rig_expect(r.a.scq, 2, IBV_WC_SUCCESS);
    assert_int_equal(send_to(&r.a, r.a.ah, r.b.qp->qp_num ^ 1, RIG_QKEY, 3), 0); /* nobody */
    rig_expect(r.a.scq, 3, IBV_WC_SUCCESS);
    rig_expect_none(r.b.rcq);
    assert_int_equal(send_to(&r.a, r.a.ah, r.b.qp->qp_num, 0x80000000u, 4), 0);
    rig_expect(r.a.scq, 4, IBV_WC_SUCCESS);
    rig_expect(r.b.rcq, 1, IBV_WC_SUCCESS);
    rig_close(&r);
}

static void test_bad_handles(void **state)
{
    struct rig r;
    struct rig_options o = {.type = IBV_QPT_UD};
    struct ibv_ah_attr good, a;
    (void)state;
    rig_open(&r, &o);
    rig_address(&r.b, &good);
    a = good;
    a.port_num = 2;
    assert_null(softnic_ibv_create_ah(r.a.pd, &a));
    assert_int_equal(errno, EINVAL);
    a = good;
    a.is_global = 1;
    a.grh.sgid_index = 9;
    assert_null(softnic_ibv_create_ah(r.a.pd, &a));
    assert_int_equal(errno, EINVAL);
    a = good;
    a.is_global = 0;
    a.dlid = 0x999; /* nobody's; Ethernet has none at all */
    assert_null(softnic_ibv_create_ah(r.a.pd, &a));
    assert_int_equal(errno, infiniband ? EHOSTUNREACH : EINVAL);
    assert_int_equal(send_to(&r.a, NULL, r.b.qp->qp_num, RIG_QKEY, 1), EINVAL);
    rig_expect_none(r.a.scq);
    rig_close(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_every_gid),
        cmocka_unit_test(test_qkey),
        cmocka_unit_test(test_bad_handles),
    };
    if (argc != 2 || (strcmp(argv[1], "ib") && strcmp(argv[1], "eth"))) {
        fprintf(stderr, "usage: %s eth|ib\n", argv[0]);
        return 2;
    }
    infiniband = !strcmp(argv[1], "ib");
    rig_env(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
