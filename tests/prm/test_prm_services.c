/* SPDX-License-Identifier: Apache-2.0 */
/* Unreliable connections and datagrams through DEVX: created, moved up, used, queried; and what their commands refuse. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/cqe.h"
#include "format/wqe.h"
#include "rig.h"

enum { RQ = 8, RQ_STRIDE = 64, RQ_BYTES = RQ * RQ_STRIDE, SQ_BYTES = 16 * 64, QKEY = 0x1ee7a1 };

struct queue {
    struct rig_qp q; /* ring: receives first, then sends; both kinds of CQE end in its CQ */
    uint8_t *sq;
    uint32_t rq_pi;
    unsigned st;
};

static struct mlx5dv_devx_umem *reg(struct rig *r, void *addr, size_t size)
{
    struct mlx5dv_devx_umem *u = softnic_mlx5dv_devx_umem_reg(r->context, addr, size, IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(u);
    return u;
}

static void open_queue(struct queue *x, struct rig *r, unsigned st)
{
    uint8_t in[PRM_SIZE_create_qp_in], out[PRM_SIZE_create_qp_out], cq[PRM_SIZE_create_cq_in];
    struct rig_qp *q = &x->q;

    *x = (struct queue){.q = {.rig = r, .log_cq = 5, .log_sq = 4}, .st = st};
    q->uar = softnic_mlx5dv_devx_alloc_uar(r->context, 1u << 31);
    assert_non_null(q->uar);
    q->ring = rig_pages(RQ_BYTES + SQ_BYTES);
    x->sq = q->ring + RQ_BYTES;
    q->cqes = rig_pages(64u << q->log_cq);
    q->records = rig_pages(4096);
    memset(q->cqes, 0xf1, 64u << q->log_cq);
    q->ring_umem = reg(r, q->ring, RQ_BYTES + SQ_BYTES);
    q->cq_umem = reg(r, q->cqes, 64u << q->log_cq);
    q->record_umem = reg(r, q->records, 4096);
    rig_mailbox_cq(cq, q->cq_umem->umem_id, q->record_umem->umem_id, q->uar->page_id, q->log_cq);
    q->cq = softnic_mlx5dv_devx_obj_create(r->context, cq, sizeof(cq), out, sizeof(out));
    assert_non_null(q->cq);
    q->cqn = (uint32_t)prm_get_create_cq_out__cqn(out);
    rig_mailbox_qp(in, q->ring_umem->umem_id, q->record_umem->umem_id, q->uar->page_id, r->pdn, q->cqn, q->log_sq);
    uint8_t *qpc = PRM_AT(in, create_qp_in, qpc);
    prm_set_qpc__st(qpc, st);
    prm_set_qpc__rq_type(qpc, PRM_RQ_TYPE_REGULAR);
    prm_set_qpc__log_rq_size(qpc, 3);
    prm_set_qpc__log_rq_stride(qpc, 2);
    q->qp = softnic_mlx5dv_devx_obj_create(r->context, in, sizeof(in), out, sizeof(out));
    assert_non_null(q->qp);
    q->qpn = (uint32_t)prm_get_create_qp_out__qpn(out);
}

static uint8_t *start(uint8_t in[PRM_SIZE_qp_state_in], unsigned opcode, uint32_t qpn)
{
    memset(in, 0, PRM_SIZE_qp_state_in);
    prm_set_qp_state_in__opcode(in, opcode);
    prm_set_qp_state_in__qpn(in, qpn);
    return PRM_AT(in, qp_state_in, qpc);
}

static int modify(struct queue *x, const uint8_t *in)
{
    uint8_t out[16];
    return softnic_mlx5dv_devx_obj_modify(x->q.qp, in, PRM_SIZE_qp_state_in, out, sizeof(out));
}

/* A datagram queue pair needs no more than this: no peer, no path, no MTU. */
static void datagrams_up(struct queue *x)
{
    uint8_t in[PRM_SIZE_qp_state_in], *qpc = start(in, PRM_OP_RST2INIT_QP, x->q.qpn);

    prm_set_qpc__pm_state(qpc, PRM_PM_MIGRATED);
    prm_set_ads__vhca_port_num(PRM_AT(qpc, qpc, primary_address_path), 1);
    prm_set_qpc__q_key(qpc, QKEY);
    assert_int_equal(modify(x, in), 0);
    start(in, PRM_OP_INIT2RTR_QP, x->q.qpn);
    assert_int_equal(modify(x, in), 0);
    prm_set_qpc__next_send_psn(start(in, PRM_OP_RTR2RTS_QP, x->q.qpn), 0x123456);
    assert_int_equal(modify(x, in), 0);
}

static void post_recv(struct queue *x, uint64_t offset, uint32_t length)
{
    struct sn_data_seg *s = (struct sn_data_seg *)(void *)(x->q.ring + (x->rq_pi % RQ) * RQ_STRIDE);
    struct rig *r = x->q.rig;

    s[0] = (struct sn_data_seg){sn_put32(length), sn_put32(r->mr->lkey), sn_put64((uintptr_t)r->data + offset)};
    s[1] = (struct sn_data_seg){sn_put32(0), sn_put32(SN_LKEY_END), sn_put64(0)};
    x->rq_pi++;
    __atomic_store_n((uint32_t *)(void *)x->q.records, sn_swap32(x->rq_pi), __ATOMIC_RELEASE);
}

static void ring(struct queue *x, uint32_t blocks)
{
    x->q.pi += blocks;
    uint64_t value = (uint64_t)sn_swap32(x->q.qpn << 8) << 32 | sn_swap32((x->q.pi & 0xffff) << 8);
    __atomic_store_n((uint32_t *)(void *)(x->q.records + 4), sn_swap32(x->q.pi & 0xffff), __ATOMIC_RELEASE);
    __atomic_store_n((uint64_t *)x->q.uar->reg_addr, value, __ATOMIC_RELEASE);
}

/* Through an address handle of the device, as a program would: its address vector and the number of the queue pair. */
static void send_datagram(struct queue *x, const struct mlx5_wqe_av *av, uint32_t qpn, uint64_t offset, uint32_t length)
{
    struct rig *r = x->q.rig;
    uint8_t raw[128] __attribute__((aligned(16))) = {0};
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;
    struct sn_av_seg *seg = (struct sn_av_seg *)(void *)(raw + 16);

    ctrl->opmod_idx_opcode = sn_put32((x->q.pi & 0xffff) << 8 | SN_OPCODE_SEND);
    ctrl->qpn_ds = sn_put32(x->q.qpn << 8 | 5);
    ctrl->fm_ce_se = SN_CE_ALWAYS << 2;
    memcpy(seg, av, sizeof(*seg));
    seg->dqp_dct = sn_put32(qpn | SN_AV_EXTENDED);
    seg->qkey = sn_put32(QKEY);
    *(struct sn_data_seg *)(void *)(raw + 64) =
        (struct sn_data_seg){sn_put32(length), sn_put32(r->mr->lkey), sn_put64((uintptr_t)r->data + offset)};
    for (uint32_t k = 0; k < 2; k++)
        memcpy(x->sq + ((x->q.pi + k) & 15) * 64, raw + k * 64, 64);
    ring(x, 2);
}

static void send_connected(struct queue *x, uint8_t opcode, uint64_t offset, uint32_t length)
{
    struct rig *r = x->q.rig;
    uint8_t *raw = x->sq + (x->q.pi & 15) * 64;
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;

    memset(raw, 0, 64);
    ctrl->opmod_idx_opcode = sn_put32((x->q.pi & 0xffff) << 8 | opcode);
    ctrl->qpn_ds = sn_put32(x->q.qpn << 8 | 2);
    ctrl->fm_ce_se = SN_CE_ALWAYS << 2;
    *(struct sn_data_seg *)(void *)(raw + 16) =
        (struct sn_data_seg){sn_put32(length), sn_put32(r->mr->lkey), sn_put64((uintptr_t)r->data + offset)};
    ring(x, 1);
}

/* The CQE itself, since rig_wait tells too little of a receive. */
static const struct sn_cqe64 *wait_cqe(struct queue *x)
{
    const struct sn_cqe64 *c = (const void *)(x->q.cqes + (x->q.ci & 31) * 64);
    struct rig_cqe got = rig_wait(&x->q, 60);

    (void)got;
    return c;
}

static void fill(struct rig *r)
{
    for (unsigned i = 0; i < 4096; i++)
        r->data[i] = (uint8_t)(i * 7 + 3);
}

static void test_datagrams(void **state)
{
    struct rig r;
    struct queue a, b;
    uint8_t qpc[PRM_SIZE_qpc];
    (void)state;

    rig_open(&r, 0);
    open_queue(&a, &r, PRM_QP_ST_UD);
    open_queue(&b, &r, PRM_QP_ST_UD);
    datagrams_up(&a);
    datagrams_up(&b);
    fill(&r);
    struct rig_address self = rig_address_of(&b.q);
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 17, .traffic_class = 8}};
    memcpy(attr.grh.dgid.raw, self.gid, 16);
    struct ibv_ah *ah = softnic_ibv_create_ah(r.pd, &attr);
    assert_non_null(ah);
    struct mlx5dv_ah dah;
    struct mlx5dv_obj obj = {.ah = {.in = ah, .out = &dah}};
    assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
    for (uint32_t k = 0; k < 20; k++) {
        uint32_t length = k * 200;
        post_recv(&b, 8192, 8192);
        send_datagram(&a, dah.av, b.q.qpn, 0, length);
        assert_int_equal(wait_cqe(&a)->op_own >> 4, SN_CQE_REQ);
        const struct sn_cqe64 *c = wait_cqe(&b);
        assert_int_equal(c->op_own >> 4, SN_CQE_RESP_SEND);
        assert_int_equal(sn_get32(c->byte_cnt), 40 + length);
        assert_int_equal(sn_get32(c->flags_rqpn) & 0xffffff, a.q.qpn);
        assert_memory_equal(r.data + 8192 + 40, r.data, length);
        assert_int_equal(r.data[8192 + 7], 17);
        assert_memory_equal(r.data + 8192 + 24, self.gid, 16);
    }
    assert_int_equal(rig_state(&a.q, qpc), PRM_QP_RTS);
    assert_int_equal(prm_get_qpc__st(qpc), PRM_QP_ST_UD);
    assert_int_equal(prm_get_qpc__q_key(qpc), QKEY);
    assert_int_equal(prm_get_qpc__mtu(qpc), 5);
    /* Too long: the send queue is in error, receives go on, SQERR2RTS brings it back. */
    send_datagram(&a, dah.av, b.q.qpn, 0, 4097);
    assert_int_equal(wait_cqe(&a)->op_own >> 4, SN_CQE_REQ_ERR);
    assert_int_equal(rig_state(&a.q, NULL), PRM_QP_SQER);
    uint8_t in[PRM_SIZE_qp_state_in];
    start(in, PRM_OP_SQERR2RTS_QP, a.q.qpn);
    assert_int_equal(modify(&a, in), 0);
    post_recv(&b, 8192, 8192);
    send_datagram(&a, dah.av, b.q.qpn, 0, 4096);
    assert_int_equal(wait_cqe(&a)->op_own >> 4, SN_CQE_REQ);
    assert_int_equal(wait_cqe(&b)->op_own >> 4, SN_CQE_RESP_SEND);
    assert_int_equal(softnic_ibv_destroy_ah(ah), 0);
    rig_qp_destroy(&a.q);
    rig_qp_destroy(&b.q);
    rig_close(&r);
}

static void test_unreliable_connection(void **state)
{
    struct rig r;
    struct queue a, b;
    uint8_t qpc[PRM_SIZE_qpc];
    (void)state;

    rig_open(&r, 0);
    open_queue(&a, &r, PRM_QP_ST_UC);
    open_queue(&b, &r, PRM_QP_ST_UC);
    struct rig_address to_a = rig_address_of(&a.q), to_b = rig_address_of(&b.q);
    rig_connect(&a.q, &to_b);
    rig_connect(&b.q, &to_a);
    fill(&r);
    post_recv(&b, 8192, 8192);
    send_connected(&a, SN_OPCODE_SEND, 0, 4000);
    assert_int_equal(wait_cqe(&a)->op_own >> 4, SN_CQE_REQ);
    const struct sn_cqe64 *c = wait_cqe(&b);
    assert_int_equal(c->op_own >> 4, SN_CQE_RESP_SEND);
    assert_int_equal(sn_get32(c->byte_cnt), 4000);
    assert_memory_equal(r.data + 8192, r.data, 4000);
    assert_int_equal(rig_state(&a.q, qpc), PRM_QP_RTS);
    assert_int_equal(prm_get_qpc__st(qpc), PRM_QP_ST_UC);
    rig_qp_destroy(&a.q);
    rig_qp_destroy(&b.q);
    rig_close(&r);
}

/* Refused, each with its reason; the queue pair stays where it was. */
static void test_refused(void **state)
{
    struct rig r;
    struct queue ud, uc;
    uint8_t in[PRM_SIZE_qp_state_in];
    (void)state;

    rig_open(&r, 0);
    open_queue(&ud, &r, PRM_QP_ST_UD);
    open_queue(&uc, &r, PRM_QP_ST_UC);
    uint8_t *qpc = start(in, PRM_OP_RST2INIT_QP, uc.q.qpn); /* a Q_Key for a connection */
    prm_set_qpc__pm_state(qpc, PRM_PM_MIGRATED);
    prm_set_ads__vhca_port_num(PRM_AT(qpc, qpc, primary_address_path), 1);
    prm_set_qpc__q_key(qpc, QKEY);
    assert_int_not_equal(modify(&uc, in), 0);
    assert_int_equal(rig_state(&uc.q, NULL), PRM_QP_RST);
    datagrams_up(&ud);
    start(in, PRM_OP_RTS2RTS_QP, ud.q.qpn); /* a path for a queue pair that has none */
    prm_set_qp_state_in__opt_param_mask(in, PRM_OPT_SGID_INDEX);
    assert_int_not_equal(modify(&ud, in), 0);
    start(in, PRM_OP_SQERR2RTS_QP, ud.q.qpn); /* it is in RTS */
    assert_int_not_equal(modify(&ud, in), 0);
    assert_int_equal(rig_state(&ud.q, NULL), PRM_QP_RTS);
    rig_qp_destroy(&ud.q);
    rig_qp_destroy(&uc.q);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_datagrams), cmocka_unit_test(test_unreliable_connection),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
