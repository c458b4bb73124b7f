/* SPDX-License-Identifier: Apache-2.0 */
/* Memory windows: what a peer may do through one, when that begins and when it ends, by posted, extended and plain calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

enum { WINDOW = 8192, SIZE = 4096, BIND_ID = 5, INV_ID = 6, WRITE_ID = 7 };

/* Side 1 owns the memory and the windows, side 0 is the peer. */
static struct ibv_mw_bind_info part(struct side *s, uint64_t offset, uint64_t length, unsigned access)
{
    return (struct ibv_mw_bind_info){
        .mr = s->mr, .addr = (uintptr_t)s->mem + offset, .length = length, .mw_access_flags = access};
}

enum way { PLAIN, EXTENDED };

static void post_bind(struct side *s, enum way way, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
    struct ibv_send_wr wr = {.wr_id = BIND_ID, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;

    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info = *info;
    if (way == PLAIN) {
        assert_int_equal(ibv_post_send(s->qp, &wr, &bad), 0);
        return;
    }
    ibv_wr_start(s->ex);
    s->ex->wr_id = BIND_ID;
    s->ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_bind_mw(s->ex, mw, rkey, info);
    assert_int_equal(ibv_wr_complete(s->ex), 0);
}

static void post_invalidate(struct side *s, enum way way, uint32_t rkey)
{
    struct ibv_send_wr wr = {
        .wr_id = INV_ID, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = rkey}, *bad;

    if (way == PLAIN) {
        assert_int_equal(ibv_post_send(s->qp, &wr, &bad), 0);
        return;
    }
    ibv_wr_start(s->ex);
    s->ex->wr_id = INV_ID;
    s->ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_local_inv(s->ex, rkey);
    assert_int_equal(ibv_wr_complete(s->ex), 0);
}

static void expect_done(struct side *s, uint64_t wr_id, int status, int opcode)
{
    struct told t = pair_wait(s, s->scq, false);

    assert_int_equal(t.wr_id, wr_id);
    assert_int_equal(t.status, status);
    if (status == IBV_WC_SUCCESS)
        assert_int_equal(t.opcode, opcode);
}

/* What the peer gets. After a refusal both queue pairs are in error, and are connected anew. */
static void expect_peer(struct pair *p, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, uint32_t rkey, int status)
{
    struct side *a = &p->side[0];
    struct ibv_sge sge = {.addr = (uintptr_t)a->mem, .length = length, .lkey = a->mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = WRITE_ID, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;

    wr.wr.rdma.remote_addr = at;
    wr.wr.rdma.rkey = rkey;
    assert_int_equal(ibv_post_send(a->qp, &wr, &bad), 0);
    struct told t = pair_wait(a, a->scq, false);
    assert_int_equal(t.status, status);
    if (status == IBV_WC_SUCCESS)
        return;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pair_move(p->side[i].qp, IBV_QPS_RESET), 0);
    for (int i = 0; i < 2; i++)
        while (pair_poll(&p->side[i], p->side[i].scq, false, &t))
            ;
    pair_connect(p);
}

static const unsigned all = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static void open_pair(struct pair *p)
{
    struct pair_options o = {.send_ops = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV};
    pair_open(p, &o);
}

static void capabilities(void **state)
{
    struct ibv_device_attr attr;
    struct pair p;
    (void)state;

    open_pair(&p);
    assert_int_equal(softnic_ibv_query_device(p.side[0].context, &attr), 0);
    assert_true(attr.max_mw > 0);
    assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
    assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
    assert_null(ibv_alloc_mw(p.side[0].pd, (enum ibv_mw_type)3));
    assert_int_equal(errno, EINVAL);
    pair_close(&p);
}

static void type_1(void **state)
{
    struct pair p;
    (void)state;

    open_pair(&p);
    struct side *b = &p.side[1];
    uint64_t base = (uintptr_t)b->mem + WINDOW;
    struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
    assert_non_null(mw);
    expect_peer(&p, IBV_WR_RDMA_WRITE, base, 64, mw->rkey, IBV_WC_REM_ACCESS_ERR); /* bound to nothing */

    struct ibv_mw_bind bind = {
        .wr_id = BIND_ID, .send_flags = IBV_SEND_SIGNALED, .bind_info = part(b, WINDOW, SIZE, all)};
    uint32_t before = mw->rkey;
    assert_int_equal(ibv_bind_mw(b->qp, mw, &bind), 0);
    assert_int_equal(mw->rkey >> 8, before >> 8);
    assert_int_not_equal(mw->rkey, before);
    expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
    memset(p.side[0].mem, 0x5a, SIZE);
    expect_peer(&p, IBV_WR_RDMA_WRITE, base, SIZE, mw->rkey, IBV_WC_SUCCESS);
    assert_memory_equal(p.side[0].mem, b->mem + WINDOW, SIZE);
    assert_int_equal(b->mem[WINDOW + SIZE], 0);
    expect_peer(&p, IBV_WR_RDMA_READ, base, SIZE, mw->rkey, IBV_WC_SUCCESS);
    expect_peer(&p, IBV_WR_RDMA_WRITE, base, 64, before, IBV_WC_REM_ACCESS_ERR); /* the key that it had */
    expect_peer(&p, IBV_WR_RDMA_WRITE, base + 1, SIZE, mw->rkey, IBV_WC_REM_ACCESS_ERR); /* beyond */
    expect_peer(&p, IBV_WR_RDMA_WRITE, base - 1, 8, mw->rkey, IBV_WC_REM_ACCESS_ERR);    /* before */

    before = mw->rkey; /* anew: fewer rights, another place, counted from 0 */
    bind.bind_info = part(b, 2 * WINDOW, 64, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED);
    assert_int_equal(ibv_bind_mw(b->qp, mw, &bind), 0);
    expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
    expect_peer(&p, IBV_WR_RDMA_READ, base, 8, before, IBV_WC_REM_ACCESS_ERR);
    memset(b->mem + 2 * WINDOW, 0x77, 64);
    expect_peer(&p, IBV_WR_RDMA_READ, 0, 64, mw->rkey, IBV_WC_SUCCESS);
    assert_int_equal(p.side[0].mem[63], 0x77);
    expect_peer(&p, IBV_WR_RDMA_WRITE, 0, 64, mw->rkey, IBV_WC_REM_ACCESS_ERR);

    bind.bind_info = (struct ibv_mw_bind_info){0}; /* of no bytes: it ends */
    assert_int_equal(softnic_ibv_dereg_mr(b->mr), EBUSY); /* not while a window is on it */
    assert_int_equal(ibv_bind_mw(b->qp, mw, &bind), 0);
    expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
    expect_peer(&p, IBV_WR_RDMA_READ, 0, 8, mw->rkey, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    pair_close(&p);
}

static void type_2(void **state)
{
    struct pair p;
    (void)state;

    for (enum way way = PLAIN; way <= EXTENDED; way++) {
        open_pair(&p);
        struct side *a = &p.side[0], *b = &p.side[1];
        uint64_t base = (uintptr_t)b->mem + WINDOW;
        struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2);
        struct ibv_mw_bind_info info = part(b, WINDOW, SIZE, all);
        struct ibv_mw_bind bind = {.bind_info = info};
        assert_non_null(mw);
        assert_int_equal(ibv_bind_mw(b->qp, mw, &bind), EINVAL); /* that call is for type 1 */
        uint32_t rkey = ibv_inc_rkey(mw->rkey);
        post_bind(b, way, mw, rkey, &info);
        expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
        expect_peer(&p, IBV_WR_RDMA_WRITE, base, SIZE, rkey, IBV_WC_SUCCESS);

        post_invalidate(b, way, rkey); /* by its owner */
        expect_done(b, INV_ID, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV);
        expect_peer(&p, IBV_WR_RDMA_WRITE, base, 8, rkey, IBV_WC_REM_ACCESS_ERR);

        rkey = ibv_inc_rkey(rkey); /* bound again, and ended by the peer */
        post_bind(b, way, mw, rkey, &info);
        expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
        pair_post_recv(b, 1, 0, 64);
        struct ibv_sge sge = {.addr = (uintptr_t)a->mem, .length = 8, .lkey = a->mr->lkey};
        struct ibv_send_wr wr = {
            .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = rkey}, *bad;
        assert_int_equal(ibv_post_send(a->qp, &wr, &bad), 0);
        struct told t = pair_wait(b, b->rcq, false);
        assert_int_equal(t.status, IBV_WC_SUCCESS);
        assert_true(t.wc_flags & IBV_WC_WITH_INV);
        assert_int_equal(t.imm, rkey);
        expect_peer(&p, IBV_WR_RDMA_WRITE, base, 8, rkey, IBV_WC_REM_ACCESS_ERR);

        post_bind(b, way, mw, ibv_inc_rkey(rkey), &info); /* its end takes the binding along */
        expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
        assert_int_equal(ibv_dealloc_mw(mw), 0);
        expect_peer(&p, IBV_WR_RDMA_WRITE, base, 8, ibv_inc_rkey(rkey), IBV_WC_REM_ACCESS_ERR);
        pair_close(&p);
    }
}

/* Each ends in a completion, and the window is as it was. */
static void refused(struct pair *p, struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
    struct side *b = &p->side[1];

    post_bind(b, PLAIN, mw, ibv_inc_rkey(mw->rkey), info);
    expect_done(b, BIND_ID, IBV_WC_MW_BIND_ERR, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pair_move(p->side[i].qp, IBV_QPS_RESET), 0);
    pair_connect(p);
}

static void refusals(void **state)
{
    struct pair p;
    (void)state;

    open_pair(&p);
    struct side *b = &p.side[1];
    struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2);
    struct ibv_mw_bind_info info = part(b, PAIR_BYTES - 64, 128, all); /* beyond the region */
    refused(&p, mw, &info);
    info = part(b, 0, 0, all);
    refused(&p, mw, &info); /* type 2 is not ended like this */
    struct ibv_mr *mr = softnic_ibv_reg_mr_iova2(b->pd, b->mem, SIZE, (uintptr_t)b->mem, IBV_ACCESS_LOCAL_WRITE);
    info = (struct ibv_mw_bind_info){.mr = mr, .addr = (uintptr_t)b->mem, .length = 64, .mw_access_flags = all};
    refused(&p, mw, &info); /* a region without IBV_ACCESS_MW_BIND */
    assert_int_equal(softnic_ibv_dereg_mr(mr), 0);
    mr = softnic_ibv_reg_mr_iova2(b->pd, b->mem, SIZE, (uintptr_t)b->mem, IBV_ACCESS_MW_BIND);
    info.mr = mr;
    refused(&p, mw, &info); /* nobody may write there */
    info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
    post_bind(b, PLAIN, mw, ibv_inc_rkey(mw->rkey), &info); /* reading is another matter */
    expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
    refused(&p, mw, &info); /* it is bound */
    post_invalidate(b, PLAIN, mw->rkey); /* not the key that it has */
    expect_done(b, INV_ID, IBV_WC_MW_BIND_ERR, 0);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_int_equal(softnic_ibv_dereg_mr(mr), 0);

    struct ibv_pd *other = softnic_ibv_alloc_pd(b->context);
    mw = ibv_alloc_mw(other, IBV_MW_TYPE_1);
    struct ibv_mw_bind bind = {.bind_info = part(b, 0, 64, all)};
    assert_int_equal(ibv_bind_mw(b->qp, mw, &bind), EPERM); /* another domain's window */
    struct ibv_mw *own = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
    bind.bind_info = part(b, 0, 64, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
    assert_int_equal(ibv_bind_mw(b->qp, own, &bind), EINVAL); /* a window on a window: there is none */
    bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | 1 << 12;
    assert_int_equal(ibv_bind_mw(b->qp, own, &bind), EINVAL); /* a flag that nobody knows */
    bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
    assert_int_equal(ibv_bind_mw(b->qp, own, &bind), 0); /* what may be ignored */
    assert_int_equal(ibv_dealloc_mw(own), 0);
    struct ibv_send_wr none = {.opcode = IBV_WR_BIND_MW}, *bad = NULL;
    assert_int_equal(ibv_post_send(b->qp, &none, &bad), EINVAL);
    assert_ptr_equal(bad, &none);
    assert_int_equal(softnic_ibv_dealloc_pd(other), EBUSY);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_int_equal(softnic_ibv_dealloc_pd(other), 0);
    pair_close(&p);
}

/* A window's key is no local one, whatever it is bound to. */
static void not_a_local_key(void **state)
{
    struct pair p;
    (void)state;

    open_pair(&p);
    struct side *b = &p.side[1];
    struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_1);
    struct ibv_mw_bind bind = {
        .wr_id = BIND_ID, .send_flags = IBV_SEND_SIGNALED, .bind_info = part(b, WINDOW, SIZE, all)};
    assert_int_equal(ibv_bind_mw(b->qp, mw, &bind), 0);
    expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
    struct ibv_sge sge = {.addr = (uintptr_t)b->mem + WINDOW, .length = 8, .lkey = mw->rkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
    assert_int_equal(ibv_post_send(b->qp, &wr, &bad), 0);
    assert_int_equal(pair_wait(b, b->scq, false).status, IBV_WC_LOC_PROT_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    pair_close(&p);
}

/* Type 2 belongs to the queue pair that bound it, and to nobody once that has gone. Many bindings go around the ring. */
static void of_one_queue_pair(void **state)
{
    struct pair p;
    (void)state;

    open_pair(&p);
    struct side *b = &p.side[1];
    struct ibv_mw *mw = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2);
    struct ibv_mw_bind_info info = part(b, WINDOW, SIZE, all);
    uint32_t rkey = mw->rkey;
    for (int i = 0; i < 600; i++) { /* also past all low bits of the key */
        rkey = ibv_inc_rkey(rkey);
        post_bind(b, i & 1 ? PLAIN : EXTENDED, mw, rkey, &info);
        expect_done(b, BIND_ID, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
        if (i == 599)
            break;
        post_invalidate(b, i & 2 ? PLAIN : EXTENDED, rkey);
        expect_done(b, INV_ID, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV);
    }
    expect_peer(&p, IBV_WR_RDMA_WRITE, (uintptr_t)b->mem + WINDOW, 8, rkey, IBV_WC_SUCCESS);
    assert_int_equal(softnic_ibv_dereg_mr(b->mr), EBUSY);
    struct pair q = p; /* another queue pair of the owner's, for the same peer */
    struct ibv_qp_init_attr attr = {.send_cq = b->scq,
                                    .recv_cq = b->rcq,
                                    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    q.side[1].qp = softnic_ibv_create_qp(b->pd, &attr);
    assert_non_null(q.side[1].qp);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pair_move(p.side[i].qp, IBV_QPS_RESET), 0);
    pair_connect(&q);
    expect_peer(&q, IBV_WR_RDMA_WRITE, (uintptr_t)b->mem + WINDOW, 8, rkey, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(softnic_ibv_destroy_qp(p.side[1].qp), 0); /* the binding goes with it: dereg_mr finds none */
    p.side[1].qp = q.side[1].qp;
    expect_peer(&q, IBV_WR_RDMA_WRITE, (uintptr_t)b->mem + WINDOW, 8, rkey, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    pair_close(&p);

    struct ibv_context *context = pair_device(0); /* left behind: closing the device ends it */
    struct ibv_pd *pd = softnic_ibv_alloc_pd(context);
    assert_non_null(ibv_alloc_mw(pd, IBV_MW_TYPE_2));
    assert_int_equal(softnic_ibv_close_device(context), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capabilities), cmocka_unit_test(type_1),          cmocka_unit_test(type_2),
        cmocka_unit_test(refusals),     cmocka_unit_test(not_a_local_key), cmocka_unit_test(of_one_queue_pair),
    };
    pair_environment();
    setenv("SOFTNIC_LOG", "off", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
