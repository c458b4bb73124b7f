/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void pair_environment(void)
{
    setenv("SOFTNIC_DEVICES", "2", 1);
    setenv("SOFTNIC_WIRE", "none", 1); /* nobody else is met */
    unsetenv("SOFTNIC_FAULTS");
}

struct ibv_context *pair_device(unsigned index)
{
    int count;
    struct ibv_device **list = softnic_ibv_get_device_list(&count);

    assert_non_null(list);
    assert_true((int)index < count);
    struct ibv_context *context = softnic_ibv_open_device(list[index]);
    softnic_ibv_free_device_list(list);
    assert_non_null(context);
    return context;
}

static struct ibv_cq *make_cq(struct side *s, const struct pair_options *o, struct ibv_comp_channel *channel)
{
    int cqe = o->cqe ? o->cqe : 64;
    struct ibv_cq *cq;

    if (!o->ex_cq) {
        cq = softnic_ibv_create_cq(s->context, cqe, s, channel, 0);
    } else {
        struct ibv_cq_init_attr_ex attr = {.cqe = (uint32_t)cqe,
                                           .cq_context = s,
                                           .channel = channel,
                                           .wc_flags = o->wc_flags,
                                           .comp_mask = o->cq_flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
                                           .flags = o->cq_flags};
        struct ibv_cq_ex *ex = ibv_create_cq_ex(s->context, &attr);
        cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
    }
    assert_non_null(cq);
    return cq;
}

static void make_qp(struct side *s, const struct pair_options *o)
{
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = s->scq,
        .recv_cq = s->rcq,
        .srq = s->srq,
        .cap = {.max_send_wr = o->max_wr, .max_recv_wr = o->max_wr, .max_send_sge = o->max_sge, .max_recv_sge = o->max_sge,
                .max_inline_data = o->max_inline},
        .qp_type = o->type,
        .comp_mask = IBV_QP_INIT_ATTR_PD | (o->send_ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
        .pd = s->pd,
        .send_ops_flags = o->send_ops};

    s->qp = ibv_create_qp_ex(s->context, &attr);
    assert_non_null(s->qp);
    s->ex = softnic_ibv_qp_to_qp_ex(s->qp);
    assert_true((s->ex != NULL) == (o->send_ops != 0));
}

static void open_side(struct side *s, unsigned device, const struct pair_options *o)
{
    s->context = pair_device(device);
    assert_int_equal(softnic_ibv_query_gid(s->context, 1, 0, &s->gid), 0);
    s->pd = softnic_ibv_alloc_pd(s->context);
    assert_non_null(s->pd);
    s->mem = aligned_alloc(4096, PAIR_BYTES);
    assert_non_null(s->mem);
    memset(s->mem, 0, PAIR_BYTES);
    s->mr = softnic_ibv_reg_mr_iova2(s->pd, s->mem, PAIR_BYTES, (uintptr_t)s->mem,
                                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                         IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
    assert_non_null(s->mr);
    if (o->channel) {
        s->channel = softnic_ibv_create_comp_channel(s->context);
        assert_non_null(s->channel);
    }
    s->scq = make_cq(s, o, NULL);
    s->rcq = make_cq(s, o, s->channel);
    if (o->srq) {
        struct ibv_srq_init_attr attr = {.attr = {.max_wr = o->max_wr, .max_sge = o->max_sge}};
        s->srq = softnic_ibv_create_srq(s->pd, &attr);
        assert_non_null(s->srq);
    }
    make_qp(s, o);
}

static struct ibv_ah_attr address_of(const struct side *peer)
{
    return (struct ibv_ah_attr){
        .grh = {.dgid = peer->gid, .sgid_index = 0, .hop_limit = 64}, .is_global = 1, .port_num = 1};
}

static void connect_side(struct side *s, const struct side *peer, const struct pair_options *o, bool to_rts)
{
    unsigned all = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                            .port_num = 1,
                            .qkey = PAIR_QKEY,
                            .qp_access_flags = o->access ? (int)o->access : (int)all};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    bool rc = o->type == IBV_QPT_RC, ud = o->type == IBV_QPT_UD;

    assert_int_equal(softnic_ibv_modify_qp(s->qp, &a, mask | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)), 0);
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = IBV_MTU_1024,
                             .dest_qp_num = peer->qp->qp_num,
                             .rq_psn = 0x123,
                             .max_dest_rd_atomic = 4,
                             .min_rnr_timer = 1,
                             .ah_attr = address_of(peer)};
    mask = IBV_QP_STATE | (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
           (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    assert_int_equal(softnic_ibv_modify_qp(s->qp, &a, mask), 0);
    if (!to_rts)
        return;
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                             .sq_psn = 0x123,
                             .timeout = o->timeout,
                             .retry_cnt = o->retry,
                             .rnr_retry = o->rnr_retry,
                             .max_rd_atomic = 4};
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN |
           (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0);
    assert_int_equal(softnic_ibv_modify_qp(s->qp, &a, mask), 0);
}

void pair_connect(struct pair *p)
{
    for (int i = 0; i < 2; i++)
        connect_side(&p->side[i], &p->side[1 - i], &p->o, i == 0 || !p->o.stay_rtr);
}

void pair_open(struct pair *p, const struct pair_options *o)
{
    memset(p, 0, sizeof(*p));
    p->o = *o;
    if (!p->o.type)
        p->o.type = IBV_QPT_RC;
    if (!p->o.max_wr)
        p->o.max_wr = 16;
    if (!p->o.max_sge)
        p->o.max_sge = 2;
    if (!p->o.max_inline)
        p->o.max_inline = 64;
    if (!p->o.timeout)
        p->o.timeout = 18;
    if (!p->o.retry)
        p->o.retry = 7;
    if (!p->o.rnr_retry)
        p->o.rnr_retry = 7;
    for (unsigned i = 0; i < 2; i++)
        open_side(&p->side[i], i, &p->o);
    pair_connect(p);
    for (int i = 0; i < 2 && p->o.type == IBV_QPT_UD; i++) {
        struct ibv_ah_attr attr = address_of(&p->side[1 - i]);
        p->side[i].ah = softnic_ibv_create_ah(p->side[i].pd, &attr);
        assert_non_null(p->side[i].ah);
    }
}

void pair_close(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        struct side *s = &p->side[i];
        if (s->qp)
            assert_int_equal(softnic_ibv_destroy_qp(s->qp), 0);
        if (s->srq)
            assert_int_equal(softnic_ibv_destroy_srq(s->srq), 0);
        if (s->scq)
            assert_int_equal(softnic_ibv_destroy_cq(s->scq), 0);
        if (s->rcq)
            assert_int_equal(softnic_ibv_destroy_cq(s->rcq), 0);
        if (s->channel)
            assert_int_equal(softnic_ibv_destroy_comp_channel(s->channel), 0);
        if (s->ah)
            assert_int_equal(softnic_ibv_destroy_ah(s->ah), 0);
        assert_int_equal(softnic_ibv_dereg_mr(s->mr), 0);
        assert_int_equal(softnic_ibv_dealloc_pd(s->pd), 0);
        assert_int_equal(softnic_ibv_close_device(s->context), 0);
        free(s->mem);
    }
}

int pair_move(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr a = {.qp_state = state};
    return softnic_ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

enum ibv_qp_state pair_state(struct ibv_qp *qp)
{
    struct ibv_qp_attr a;
    struct ibv_qp_init_attr init;
    assert_int_equal(softnic_ibv_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
    return a.qp_state;
}

void pair_post_recv(struct side *s, uint64_t wr_id, uint32_t offset, uint32_t length)
{
    struct ibv_sge sge = {.addr = (uintptr_t)s->mem + offset, .length = length, .lkey = s->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

    assert_int_equal(s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad), 0);
}

/* ---- completions ----------------------------------------------------------------------------------------------- */

static bool poll_plain(struct ibv_cq *cq, struct told *out)
{
    struct ibv_wc wc;
    int n = ibv_poll_cq(cq, 1, &wc);

    assert_true(n >= 0);
    if (!n)
        return false;
    *out = (struct told){.wr_id = wc.wr_id,
                         .status = wc.status,
                         .opcode = wc.opcode,
                         .vendor_err = wc.vendor_err,
                         .byte_len = wc.byte_len,
                         .imm = wc.imm_data,
                         .qp_num = wc.qp_num,
                         .src_qp = wc.src_qp,
                         .slid = wc.slid,
                         .wc_flags = wc.wc_flags,
                         .sl = wc.sl,
                         .path_bits = wc.dlid_path_bits};
    return true;
}

static void read_all(struct ibv_cq_ex *ex, struct told *out)
{
    *out = (struct told){.wr_id = ex->wr_id,
                         .status = ex->status,
                         .opcode = ibv_wc_read_opcode(ex),
                         .vendor_err = ibv_wc_read_vendor_err(ex),
                         .wc_flags = ibv_wc_read_wc_flags(ex)};
    out->byte_len = ex->read_byte_len ? ibv_wc_read_byte_len(ex) : 0;
    out->imm = ex->read_imm_data ? ibv_wc_read_imm_data(ex) : 0;
    out->qp_num = ex->read_qp_num ? ibv_wc_read_qp_num(ex) : 0;
    out->src_qp = ex->read_src_qp ? ibv_wc_read_src_qp(ex) : 0;
    out->slid = ex->read_slid ? ibv_wc_read_slid(ex) : 0;
    out->sl = ex->read_sl ? ibv_wc_read_sl(ex) : 0;
    out->path_bits = ex->read_dlid_path_bits ? ibv_wc_read_dlid_path_bits(ex) : 0;
    out->completion_ts = ex->read_completion_ts ? ibv_wc_read_completion_ts(ex) : 0;
    out->wallclock = ex->read_completion_wallclock_ns ? ibv_wc_read_completion_wallclock_ns(ex) : 0;
}

bool pair_poll(struct side *s, struct ibv_cq *cq, bool ex, struct told *out)
{
    struct ibv_poll_cq_attr attr = {0};
    struct ibv_cq_ex *e = (struct ibv_cq_ex *)(void *)cq; /* an extended CQ begins like a plain one */
    (void)s;

    if (!ex)
        return poll_plain(cq, out);
    int rc = ibv_start_poll(e, &attr);
    if (rc == ENOENT)
        return false;
    assert_int_equal(rc, 0);
    read_all(e, out);
    ibv_end_poll(e);
    return true;
}

struct told pair_wait(struct side *s, struct ibv_cq *cq, bool ex)
{
    time_t end = time(NULL) + 60;
    struct told t;

    for (unsigned i = 0; !pair_poll(s, cq, ex, &t); i++)
        if (i % 1024 == 0)
            assert_true(time(NULL) < end);
    return t;
}

/* ---- what inline functions of the header fall back to; programs have them from the drop-in library ------------------ */

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    return softnic_ibv_create_qp(pd, attr);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    return softnic_ibv_query_device(context, attr);
}

int(ibv_query_port)(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
    return (softnic_ibv_query_port)(context, port_num, attr);
}
