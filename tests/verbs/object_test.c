/* SPDX-License-Identifier: Apache-2.0 */
/* Life of queues: sizes that are reported, limits, transitions and their attributes, resizing, order of destruction. */
#include "rig.h"

static void test_caps(void **state)
{
    static const struct ibv_qp_cap asked[] = {
        {1, 1, 1, 1, 0},    {1, 0, 1, 0, 0},        {0, 1, 0, 1, 0},        {100, 7, 3, 5, 64},
        {16, 16, 30, 30, 0}, {8192, 32768, 1, 1, 0}, {4, 4, 1, 1, 900},      {0, 0, 0, 0, 0},
    };
    struct rig_end e;
    struct rig_options o = {0};
    (void)state;
    rig_open_end(&e, 0, &o);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = e.scq, .recv_cq = e.rcq, .qp_type = IBV_QPT_RC, .cap = asked[i], .sq_sig_all = i & 1};
        struct ibv_qp *qp = softnic_ibv_create_qp(e.pd, &attr);
        assert_non_null(qp);
        assert_true(attr.cap.max_send_wr >= asked[i].max_send_wr && attr.cap.max_recv_wr >= asked[i].max_recv_wr);
        assert_true(attr.cap.max_send_sge >= asked[i].max_send_sge && attr.cap.max_recv_sge >= asked[i].max_recv_sge);
        assert_true(attr.cap.max_inline_data >= asked[i].max_inline_data);
        if (asked[i].max_send_wr && asked[i].max_send_wr <= 8192)
            assert_true(attr.cap.max_inline_data >= 60); /* unasked, as on a ConnectX */
        assert_int_equal(qp->state, IBV_QPS_RESET);
        struct ibv_qp_attr got;
        struct ibv_qp_init_attr init;
        assert_int_equal(softnic_ibv_query_qp(qp, &got, IBV_QP_CAP, &init), 0);
        assert_memory_equal(&got.cap, &attr.cap, sizeof(attr.cap));
        assert_memory_equal(&init.cap, &attr.cap, sizeof(attr.cap));
        assert_ptr_equal(init.send_cq, e.scq);
        assert_ptr_equal(init.recv_cq, e.rcq);
        assert_int_equal(init.qp_type, IBV_QPT_RC);
        assert_int_equal(init.sq_sig_all, i & 1);
        assert_int_equal(softnic_ibv_destroy_qp(qp), 0);
    }
    rig_close_end(&e);
}

/* What ibv_query_device promises can be had, and one more cannot. */
static void test_limits(void **state)
{
    struct rig_end e;
    struct rig_options o = {0};
    struct ibv_device_attr d;
    (void)state;
    rig_open_end(&e, 0, &o);
    assert_int_equal(softnic_ibv_query_device(e.ctx, &d), 0);
    const struct {
        struct ibv_qp_cap cap;
        bool good;
    } rows[] = {
        {{(uint32_t)d.max_qp_wr, 1, 1, 1, 0}, true},     {{(uint32_t)d.max_qp_wr + 1, 1, 1, 1, 0}, false},
        {{1, (uint32_t)d.max_qp_wr, 1, 1, 0}, true},     {{1, (uint32_t)d.max_qp_wr + 1, 1, 1, 0}, false},
        {{1, 1, (uint32_t)d.max_sge, 1, 0}, true},       {{1, 1, (uint32_t)d.max_sge + 1, 1, 0}, false},
        {{1, 1, 1, (uint32_t)d.max_sge, 0}, true},       {{1, 1, 1, (uint32_t)d.max_sge + 1, 0}, false},
        {{1, 1, 1, 1, 956}, true},
        {{1, 1, 1, 1, 957}, false},                   {{UINT32_MAX, 1, UINT32_MAX, 1, 0}, false},
        {{1, UINT32_MAX, 1, UINT32_MAX, UINT32_MAX}, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ibv_qp_init_attr attr = {.send_cq = e.scq, .recv_cq = e.rcq, .qp_type = IBV_QPT_RC, .cap = rows[i].cap};
        errno = 0;
        struct ibv_qp *qp = softnic_ibv_create_qp(e.pd, &attr);
        if (!rows[i].good) {
            assert_null(qp);
            assert_int_equal(errno, EINVAL);
            continue;
        }
        assert_non_null(qp);
        assert_int_equal(softnic_ibv_destroy_qp(qp), 0);
    }
    struct ibv_cq *cq = softnic_ibv_create_cq(e.ctx, d.max_cqe, NULL, NULL, 0);
    assert_non_null(cq);
    assert_int_equal(cq->cqe, d.max_cqe);
    assert_int_equal(softnic_ibv_destroy_cq(cq), 0);
    assert_null(softnic_ibv_create_cq(e.ctx, d.max_cqe + 1, NULL, NULL, 0));
    assert_null(softnic_ibv_create_cq(e.ctx, 0, NULL, NULL, 0));
    assert_null(softnic_ibv_create_cq(e.ctx, 1, NULL, NULL, e.ctx->num_comp_vectors));
    setenv("MLX5_CQE_SIZE", "100", 1); /* libmlx5's own variable: 64 or 128 */
    errno = 0;
    assert_null(softnic_ibv_create_cq(e.ctx, 1, NULL, NULL, 0));
    assert_int_equal(errno, EINVAL);
    setenv("MLX5_CQE_SIZE", "128", 1);
    struct ibv_cq *wide = softnic_ibv_create_cq(e.ctx, 1, NULL, NULL, 0);
    unsetenv("MLX5_CQE_SIZE");
    struct mlx5dv_cq dv;
    struct mlx5dv_obj object = {.cq = {wide, &dv}};
    assert_non_null(wide);
    assert_int_equal(softnic_mlx5dv_init_obj(&object, MLX5DV_OBJ_CQ), 0);
    assert_int_equal(dv.cqe_size, 128);
    assert_int_equal(softnic_ibv_destroy_cq(wide), 0);
    struct ibv_srq_init_attr s = {.attr = {.max_wr = (uint32_t)d.max_srq_wr, .max_sge = (uint32_t)d.max_srq_sge}};
    struct ibv_srq *srq = softnic_ibv_create_srq(e.pd, &s);
    assert_non_null(srq);
    assert_int_equal(s.attr.max_wr, d.max_srq_wr);
    assert_int_equal(softnic_ibv_destroy_srq(srq), 0);
    s.attr = (struct ibv_srq_attr){0};
    srq = softnic_ibv_create_srq(e.pd, &s);
    assert_non_null(srq);
    assert_int_equal(s.attr.max_wr, 1);
    assert_int_equal(softnic_ibv_destroy_srq(srq), 0);
    s.attr.max_wr = (uint32_t)d.max_srq_wr + 1;
    assert_null(softnic_ibv_create_srq(e.pd, &s));
    rig_close_end(&e);
}

/* ---- transitions --------------------------------------------------------------------------------------------------- */

static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

static void move_to(struct rig_end *e, const struct rig_options *o, enum ibv_qp_state state)
{
    rig_move(e->qp, IBV_QPS_RESET);
    if (state == IBV_QPS_RESET)
        return;
    rig_init(e->qp, o);
    if (state == IBV_QPS_ERR) {
        rig_move(e->qp, IBV_QPS_ERR);
        return;
    }
    if (state == IBV_QPS_INIT)
        return;
    rig_rtr(e->qp, o, e, e->qp->qp_num);
    if (state == IBV_QPS_RTR)
        return;
    rig_rts(e->qp, o);
    if (state == IBV_QPS_SQD) {
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD};
        assert_int_equal(softnic_ibv_modify_qp(e->qp, &a, IBV_QP_STATE), 0);
    }
}

/* IBTA vol. 1, 11.2.5.2: attributes that a transition needs; -1 for one that does not exist. */
static int required(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to)
{
    bool rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;
    if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
        return 0;
    if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
        return IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    if (from == IBV_QPS_INIT && to == IBV_QPS_RTR)
        return (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
               (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
        return IBV_QP_SQ_PSN |
               (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0);
    if ((from == to && from != IBV_QPS_RESET && from != IBV_QPS_RTR && from != IBV_QPS_ERR) ||
        (from == IBV_QPS_RTS && to == IBV_QPS_SQD) || (from == IBV_QPS_SQD && to == IBV_QPS_RTS))
        return 0;
    return -1;
}

static struct ibv_qp_attr good_values(const struct rig_end *e, enum ibv_qp_state to)
{
    struct ibv_qp_attr a = {.qp_state = to,
                            .port_num = 1,
                            .qkey = 1,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = e->qp->qp_num,
                            .timeout = 14,
                            .max_rd_atomic = 1,
                            .max_dest_rd_atomic = 1};
    rig_address(e, &a.ah_attr);
    return a;
}

/* Every pair of states on every service: with what it needs it happens, without any one of them it does not. */
static void test_transitions(void **state)
{
    const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR};
    (void)state;
    for (int t = 0; t < 3; t++) {
        struct rig_end e;
        struct rig_options o = {.type = types[t]};
        rig_open_end(&e, 0, &o);
        for (int f = 0; f < 6; f++)
            for (int s = 0; s < 6; s++) {
                int need = required(types[t], states[f], states[s]);
                struct ibv_qp_attr a = good_values(&e, states[s]);
                for (int bit = 1; bit < 1 << 22; bit *= 2) {
                    if (need < 0 || !(need & bit))
                        continue;
                    move_to(&e, &o, states[f]);
                    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, IBV_QP_STATE | (need & ~bit)), EINVAL);
                    assert_int_equal(rig_state(e.qp), states[f]);
                }
                move_to(&e, &o, states[f]);
                int rc = softnic_ibv_modify_qp(e.qp, &a, IBV_QP_STATE | (need < 0 ? 0 : need));
                if (rc != (need < 0 ? EINVAL : 0))
                    fail_msg("type %d, %d to %d: %d", (int)types[t], (int)states[f], (int)states[s], rc);
                assert_int_equal(rig_state(e.qp), need < 0 ? states[f] : states[s]);
                assert_int_equal(e.qp->state, need < 0 ? states[f] : states[s]);
            }
        rig_close_end(&e);
    }
}

/* What does not belong to a transition, and values that cannot be. */
static void test_bad_attributes(void **state)
{
    struct rig_end e;
    struct rig_options o = {0};
    const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    struct ibv_qp_attr a;
    (void)state;
    rig_open_end(&e, 0, &o);
    a = good_values(&e, IBV_QPS_INIT);
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, init | IBV_QP_TIMEOUT), EINVAL);
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, init | IBV_QP_QKEY), EINVAL);
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, init | IBV_QP_CAP), EINVAL);
    a.port_num = 2;
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, init), EINVAL);
    a.port_num = 1;
    a.pkey_index = 1;
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, init), EINVAL);
    a.pkey_index = 0;
    a.cur_qp_state = IBV_QPS_RTS;
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, init | IBV_QP_CUR_STATE), EINVAL);
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, init), 0);
    for (int i = 0; i < 7; i++) {
        a = good_values(&e, IBV_QPS_RTR);
        a.path_mtu = i == 0 ? (enum ibv_mtu)6 : i == 1 ? (enum ibv_mtu)0 : IBV_MTU_1024;
        a.min_rnr_timer = i == 2 ? 32 : 0;
        a.max_dest_rd_atomic = i == 3 ? 17 : 1;
        a.dest_qp_num = i == 4 ? 0x1000000 : 1;
        a.ah_attr.grh.sgid_index = i == 5 ? 9 : 1;
        a.ah_attr.is_global = i != 6;
        assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, rtr), EINVAL);
        assert_int_equal(rig_state(e.qp), IBV_QPS_INIT);
    }
    a = good_values(&e, IBV_QPS_RTR);
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a, rtr | IBV_QP_ALT_PATH), EOPNOTSUPP);
    assert_int_equal(softnic_ibv_modify_qp(NULL, &a, rtr), EINVAL);
    assert_int_equal(softnic_ibv_modify_qp(e.qp, NULL, rtr), EINVAL);
    rig_close_end(&e);
}

/* What was given can be asked for. */
static void test_query(void **state)
{
    struct rig_end e;
    struct rig_options o = {0};
    struct ibv_qp_attr a, g;
    struct ibv_qp_init_attr init;
    (void)state;
    rig_open_end(&e, 0, &o);
    rig_init(e.qp, &(struct rig_options){.access = IBV_ACCESS_REMOTE_READ});
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = IBV_MTU_2048,
                             .dest_qp_num = 0xabcdef,
                             .rq_psn = 0x123456,
                             .max_dest_rd_atomic = 3,
                             .min_rnr_timer = 17};
    rig_address(&e, &a.ah_attr);
    a.ah_attr.sl = 3;
    a.ah_attr.grh.traffic_class = 0x60;
    a.ah_attr.grh.flow_label = 0x54321;
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &a,
                                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                     0);
    struct ibv_qp_attr b = {.qp_state = IBV_QPS_RTS,
                            .sq_psn = 0x654321,
                            .timeout = 19,
                            .retry_cnt = 5,
                            .rnr_retry = 6,
                            .max_rd_atomic = 5};
    assert_int_equal(softnic_ibv_modify_qp(e.qp, &b,
                                           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                               IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
                     0);
    assert_int_equal(softnic_ibv_query_qp(e.qp, &g, 0, &init), 0);
    assert_int_equal(g.qp_state, IBV_QPS_RTS);
    assert_int_equal(g.cur_qp_state, IBV_QPS_RTS);
    assert_int_equal(g.path_mtu, IBV_MTU_2048);
    assert_int_equal(g.dest_qp_num, 0xabcdef);
    assert_int_equal(g.rq_psn, 0x123456);
    assert_int_equal(g.sq_psn, 0x654321);
    assert_int_equal(g.qp_access_flags, IBV_ACCESS_REMOTE_READ);
    assert_int_equal(g.max_dest_rd_atomic, 3);
    assert_int_equal(g.max_rd_atomic, 5);
    assert_int_equal(g.min_rnr_timer, 17);
    assert_int_equal(g.timeout, 19);
    assert_int_equal(g.retry_cnt, 5);
    assert_int_equal(g.rnr_retry, 6);
    assert_int_equal(g.port_num, 1);
    assert_int_equal(g.pkey_index, 0);
    assert_int_equal(g.path_mig_state, IBV_MIG_MIGRATED);
    assert_memory_equal(&g.ah_attr, &a.ah_attr, sizeof(a.ah_attr));
    rig_move(e.qp, IBV_QPS_RESET);
    assert_int_equal(softnic_ibv_query_qp(e.qp, &g, 0, NULL), 0);
    assert_int_equal(g.qp_state, IBV_QPS_RESET);
    assert_int_equal(g.max_rd_atomic, 0);
    rig_close_end(&e);
}

/* SQD: what has begun ends, the rest waits for RTS. */
static void test_sqd(void **state)
{
    struct rig r;
    struct rig_options o = {0};
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD};
    (void)state;
    rig_open(&r, &o);
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    struct ibv_send_wr wr = rig_write(&r, &sge, 1);
    assert_int_equal(softnic_ibv_modify_qp(r.a.qp, &a, IBV_QP_STATE), 0);
    assert_int_equal(softnic_ibv_query_qp(r.a.qp, &a, 0, NULL), 0);
    assert_int_equal(a.qp_state, IBV_QPS_SQD);
    assert_int_equal(a.sq_draining, 0);
    assert_int_equal(rig_post(r.a.qp, &wr), 0);
    rig_expect_none(r.a.scq);
    a.qp_state = IBV_QPS_RTS;
    assert_int_equal(softnic_ibv_modify_qp(r.a.qp, &a, IBV_QP_STATE), 0);
    rig_expect(r.a.scq, 1, IBV_WC_SUCCESS);
    rig_close(&r);
}

/* ---- completion queues --------------------------------------------------------------------------------------------- */

/* Completions wait in a ring that grows and shrinks around them, at every position and in every pass. */
static void test_resize(void **state)
{
    static const int sizes[] = {200, 16, 1000, 12, 4000, 11, 64};
    struct rig r;
    struct rig_options o = {.cqe = 15, .wr = 16};
    uint64_t next = 0, seen = 0;
    (void)state;
    rig_open(&r, &o);
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    for (int round = 0; round < 70; round++) {
        for (int i = 0; i < 10; i++) {
            struct ibv_send_wr wr = rig_write(&r, &sge, next++);
            assert_int_equal(rig_post(r.a.qp, &wr), 0);
        }
        for (int i = 0; i < round % 4; i++)
            rig_expect(r.a.scq, seen++, IBV_WC_SUCCESS);
        if (round % 2) { /* every second time all of them are there when it changes */
            struct ibv_wc wc;
            while (memcmp(r.a.mem, r.b.mem, 8) && ibv_poll_cq(r.b.rcq, 1, &wc) == 0)
                ;
        }
        int size = sizes[round % 7];
        assert_int_equal(softnic_ibv_resize_cq(r.a.scq, size), 0);
        assert_true(r.a.scq->cqe >= size);
        while (seen < next)
            rig_expect(r.a.scq, seen++, IBV_WC_SUCCESS);
    }
    rig_expect_none(r.a.scq);
    assert_int_equal(softnic_ibv_resize_cq(r.a.scq, 0), EINVAL);
    assert_int_equal(softnic_ibv_resize_cq(r.a.scq, 1 << 23), EINVAL);
    rig_close(&r);
}

/* A ring that would not hold what waits is not made. */
static void test_resize_too_small(void **state)
{
    struct rig r;
    struct rig_options o = {.cqe = 63};
    (void)state;
    rig_open(&r, &o);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(rig_recv(&r.a, i, 0, 8), 0);
    rig_move(r.a.qp, IBV_QPS_ERR);
    struct ibv_qp *last = r.a.qp;
    rig_expect(r.a.rcq, 0, IBV_WC_WR_FLUSH_ERR);
    rig_wait_state(last, IBV_QPS_ERR);
    rig_expect(r.a.rcq, 1, IBV_WC_WR_FLUSH_ERR); /* a turn flushes all of them, so 18 wait */
    assert_int_equal(softnic_ibv_resize_cq(r.a.rcq, 15), EINVAL);
    for (uint64_t i = 2; i < 20; i++)
        rig_expect(r.a.rcq, i, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(softnic_ibv_resize_cq(r.a.rcq, 15), 0);
    rig_close(&r);
}

/* The same for sends that have just been posted: they complete first. */
static void test_resize_posted(void **state)
{
    struct rig r;
    struct rig_options o = {.type = IBV_QPT_UD, .cqe = 7, .wr = 8, .signal_all = true};
    (void)state;
    rig_open(&r, &o);
    for (uint64_t i = 0; i < 6; i++) {
        struct ibv_send_wr wr = {.wr_id = i, .opcode = IBV_WR_SEND};
        wr.wr.ud.ah = r.a.ah;
        wr.wr.ud.remote_qpn = r.b.qp->qp_num;
        wr.wr.ud.remote_qkey = RIG_QKEY;
        assert_int_equal(rig_post(r.a.qp, &wr), 0);
    }
    assert_int_equal(softnic_ibv_resize_cq(r.a.scq, 1), EINVAL);
    for (uint64_t i = 0; i < 6; i++)
        rig_expect(r.a.scq, i, IBV_WC_SUCCESS);
    assert_int_equal(softnic_ibv_resize_cq(r.a.scq, 1), 0);
    rig_close(&r);
}

/* Polling takes as many as are there, at most as many as there is room for. */
static void test_poll_many(void **state)
{
    struct rig r;
    struct rig_options o = {.signal_all = true};
    struct ibv_wc wc[64];
    uint64_t seen = 0;
    (void)state;
    rig_open(&r, &o);
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    for (uint64_t i = 0; i < 40; i++) {
        struct ibv_send_wr wr = rig_write(&r, &sge, i);
        assert_int_equal(rig_post(r.a.qp, &wr), 0);
    }
    while (seen < 40) {
        int n = ibv_poll_cq(r.a.scq, 7, wc);
        assert_true(n >= 0 && n <= 7);
        for (int i = 0; i < n; i++)
            assert_int_equal(wc[i].wr_id, seen++);
    }
    assert_int_equal(ibv_poll_cq(r.a.scq, 64, wc), 0);
    assert_int_equal(ibv_poll_cq(r.a.scq, 0, wc), 0);
    rig_close(&r);
}

/* ---- shared receive queues ----------------------------------------------------------------------------------------- */

/* Two queue pairs take from one SRQ; slots come back in the order of polling, not of posting. */
static void test_srq(void **state)
{
    struct rig r;
    struct rig_options o = {.srq = true, .srq_wr = 7, .wr = 32, .fail_fast = false};
    uint64_t posted = 0, got = 0;
    bool seen[400] = {false};
    (void)state;
    rig_open(&r, &o);
    struct ibv_srq_attr attr;
    assert_int_equal(softnic_ibv_query_srq(r.b.srq, &attr), 0);
    assert_int_equal(attr.max_wr, 7);
    assert_int_equal(attr.srq_limit, 0);
    struct ibv_qp *a2 = rig_qp(&r.a, &o), *b2 = rig_qp(&r.b, &o);
    rig_init(a2, &o), rig_init(b2, &o);
    rig_rtr(a2, &o, &r.b, b2->qp_num), rig_rtr(b2, &o, &r.a, a2->qp_num);
    rig_rts(a2, &o), rig_rts(b2, &o);
    while (got < 300) {
        int rc;
        while ((rc = rig_recv(&r.b, posted, 0, 8)) == 0)
            posted++;
        assert_int_equal(rc, ENOMEM);
        assert_int_equal(posted - got, 7);
        for (int i = 0; i < 5; i++) {
            struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
            assert_int_equal(rig_post(i & 1 ? a2 : r.a.qp, &wr), 0);
        }
        for (int i = 0; i < 5; i++) {
            struct ibv_wc wc = rig_poll(r.b.rcq);
            assert_int_equal(wc.status, IBV_WC_SUCCESS);
            assert_true(wc.wr_id < posted && !seen[wc.wr_id]);
            seen[wc.wr_id] = true;
            got++;
            rig_poll(r.a.scq);
        }
    }
    struct ibv_recv_wr bad_one = {.num_sge = 99}, *bad;
    assert_int_equal(ibv_post_srq_recv(r.b.srq, &bad_one, &bad), EINVAL);
    struct ibv_srq_attr change = {.srq_limit = 3, .max_wr = 100};
    assert_int_equal(softnic_ibv_modify_srq(r.b.srq, &change, IBV_SRQ_MAX_WR), EOPNOTSUPP);
    assert_int_equal(softnic_ibv_modify_srq(r.b.srq, &change, 64), EINVAL);
    assert_int_equal(softnic_ibv_modify_srq(r.b.srq, &change, IBV_SRQ_LIMIT), 0);
    change.srq_limit = 100;
    assert_int_equal(softnic_ibv_modify_srq(r.b.srq, &change, IBV_SRQ_LIMIT), EINVAL);
    assert_int_equal(softnic_ibv_destroy_srq(r.b.srq), EBUSY);
    assert_int_equal(softnic_ibv_destroy_qp(a2), 0);
    assert_int_equal(softnic_ibv_destroy_qp(b2), 0);
    rig_close(&r);
}

/* Receives that a queue pair took and nobody polled are the SRQ's again when the queue pair goes. */
static void test_srq_returns(void **state)
{
    struct rig r;
    struct rig_options o = {.srq = true, .srq_wr = 7};
    (void)state;
    rig_open(&r, &o);
    for (int round = 0; round < 4; round++) {
        struct ibv_qp *a2 = rig_qp(&r.a, &o), *b2 = rig_qp(&r.b, &o);
        rig_init(a2, &o), rig_init(b2, &o);
        rig_rtr(a2, &o, &r.b, b2->qp_num), rig_rtr(b2, &o, &r.a, a2->qp_num);
        rig_rts(a2, &o), rig_rts(b2, &o);
        for (int i = 0; i < 7; i++) {
            assert_int_equal(rig_recv(&r.b, 1, 0, 8), 0);
            struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
            assert_int_equal(rig_post(a2, &wr), 0);
            rig_poll(r.a.scq); /* acknowledged: the receive has its completion */
        }
        assert_int_equal(rig_recv(&r.b, 1, 0, 8), ENOMEM);
        assert_int_equal(softnic_ibv_destroy_qp(b2), 0);
        assert_int_equal(softnic_ibv_destroy_qp(a2), 0);
        rig_expect_none(r.b.rcq);
    }
    rig_close(&r);
}

/* ---- order --------------------------------------------------------------------------------------------------------- */

static void test_busy(void **state)
{
    struct rig_end e;
    struct rig_options o = {0};
    (void)state;
    rig_open_end(&e, 0, &o);
    assert_int_equal(softnic_ibv_destroy_cq(e.scq), EBUSY);
    assert_int_equal(softnic_ibv_dealloc_pd(e.pd), EBUSY);
    rig_close_end(&e);
}

/* A context that is closed with everything still in it leaves nothing behind (the leak checker watches). */
static void test_left_behind(void **state)
{
    struct rig r;
    struct rig_options o = {.srq = true};
    (void)state;
    rig_open(&r, &o);
    for (int i = 0; i < 20; i++)
        rig_qp(&r.a, &o);
    assert_int_equal(softnic_ibv_close_device(r.a.ctx), 0);
    assert_int_equal(softnic_ibv_close_device(r.b.ctx), 0);
    free(r.a.mem);
    free(r.b.mem);
}

/* Thousands of queue pairs come and go: numbers, registers and memory are used again. */
static void test_many(void **state)
{
    enum { COUNT = 2000 };
    static struct ibv_qp *qp[COUNT];
    struct rig_end e;
    struct rig_options o = {.wr = 4, .sge = 1};
    (void)state;
    rig_open_end(&e, 0, &o);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++)
            qp[i] = rig_qp(&e, &o);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(softnic_ibv_destroy_qp(qp[i]), 0);
    }
    rig_close_end(&e);
}

static void test_refused(void **state)
{
    struct rig_end e, f;
    struct rig_options o = {0};
    (void)state;
    rig_open_end(&e, 0, &o);
    rig_open_end(&f, 1, &o);
    struct ibv_qp_init_attr attr = {
        .send_cq = e.scq, .recv_cq = e.rcq, .qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};
    struct ibv_qp_init_attr bad = attr;
    bad.send_cq = NULL;
    assert_null(softnic_ibv_create_qp(e.pd, &bad));
    bad = attr;
    bad.recv_cq = f.rcq; /* of another context */
    assert_null(softnic_ibv_create_qp(e.pd, &bad));
    assert_int_equal(errno, EINVAL);
    bad = attr;
    bad.qp_type = IBV_QPT_RAW_PACKET;
    assert_null(softnic_ibv_create_qp(e.pd, &bad));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(softnic_ibv_create_qp(NULL, &attr));
    assert_null(softnic_ibv_create_qp(e.pd, NULL));
    assert_int_equal(softnic_ibv_destroy_qp(NULL), EINVAL);
    assert_int_equal(softnic_ibv_destroy_cq(NULL), EINVAL);
    assert_int_equal(softnic_ibv_destroy_srq(NULL), EINVAL);
    rig_close_end(&f);
    rig_close_end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caps),        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_transitions), cmocka_unit_test(test_bad_attributes),
        cmocka_unit_test(test_query),       cmocka_unit_test(test_sqd),
        cmocka_unit_test(test_resize),      cmocka_unit_test(test_resize_too_small),
        cmocka_unit_test(test_resize_posted),
        cmocka_unit_test(test_poll_many),   cmocka_unit_test(test_srq),
        cmocka_unit_test(test_srq_returns), cmocka_unit_test(test_busy),
        cmocka_unit_test(test_left_behind), cmocka_unit_test(test_many),
        cmocka_unit_test(test_refused),
    };
    rig_env("eth");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
