/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum { HANG_SECONDS = 120, QUIET_POLLS = 200 };

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int rig_rc = (call);                                                                                           \
        if (rig_rc)                                                                                                    \
            fail_msg("%s: %d (errno %s)", #call, rig_rc, strerror(errno));                                             \
    } while (0)

void rig_env(const char *link)
{
    setenv("SOFTNIC_DEVICES", "2", 1);
    setenv("SOFTNIC_WIRE", "none", 1);
    setenv("SOFTNIC_LINK", link, 1);
    if (!getenv("RIG_LOG"))
        setenv("SOFTNIC_LOG", "off", 1);
}

struct ibv_context *rig_context(unsigned device)
{
    int count;
    struct ibv_device **list = softnic_ibv_get_device_list(&count);
    assert_non_null(list);
    assert_true((int)device < count);
    struct ibv_context *ctx = softnic_ibv_open_device(list[device]);
    softnic_ibv_free_device_list(list);
    assert_non_null(ctx);
    return ctx;
}

static uint32_t or_else(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

struct ibv_qp *rig_qp(struct rig_end *e, const struct rig_options *o)
{
    struct ibv_qp_init_attr attr = {.qp_context = e,
                                    .send_cq = e->scq,
                                    .recv_cq = e->rcq,
                                    .srq = e->srq,
                                    .qp_type = or_else(o->type, IBV_QPT_RC),
                                    .sq_sig_all = o->signal_all,
                                    .cap = {.max_send_wr = or_else(o->wr, 64),
                                            .max_recv_wr = e->srq ? 0 : or_else(o->wr, 64),
                                            .max_send_sge = or_else(o->sge, 4),
                                            .max_recv_sge = or_else(o->sge, 4),
                                            .max_inline_data = o->inlines}};
    struct ibv_qp *qp = softnic_ibv_create_qp(e->pd, &attr);
    assert_non_null(qp);
    return qp;
}

static void find_address(struct rig_end *e)
{
    struct ibv_port_attr port;
    OK((softnic_ibv_query_port)(e->ctx, 1, (struct _compat_ibv_port_attr *)(void *)&port));
    e->ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
    e->lid = port.lid;
    OK(softnic_ibv_query_gid(e->ctx, 1, e->ethernet, &e->gid));
}

void rig_open_end(struct rig_end *e, unsigned device, const struct rig_options *o)
{
    memset(e, 0, sizeof(*e));
    e->ctx = rig_context(device);
    find_address(e);
    e->pd = softnic_ibv_alloc_pd(e->ctx);
    e->scq = softnic_ibv_create_cq(e->ctx, (int)or_else(o->cqe, 256), e, NULL, 0);
    e->rcq = o->one_cq ? e->scq : softnic_ibv_create_cq(e->ctx, (int)or_else(o->cqe, 256), e, NULL, 0);
    assert_non_null(e->pd);
    assert_non_null(e->scq);
    assert_non_null(e->rcq);
    e->mem = calloc(1, RIG_BYTES);
    e->mr = softnic_ibv_reg_mr_iova2(e->pd, e->mem, RIG_BYTES, (uintptr_t)e->mem,
                                     o->no_local_write ? 0
                                                       : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    assert_non_null(e->mr);
    if (o->srq) {
        struct ibv_srq_init_attr attr = {
            .attr = {.max_wr = or_else(o->srq_wr, or_else(o->wr, 64)), .max_sge = or_else(o->sge, 4)}};
        e->srq = softnic_ibv_create_srq(e->pd, &attr);
        assert_non_null(e->srq);
    }
    e->qp = rig_qp(e, o);
}

void rig_close_end(struct rig_end *e)
{
    if (e->ah)
        OK(softnic_ibv_destroy_ah(e->ah));
    if (e->qp)
        OK(softnic_ibv_destroy_qp(e->qp));
    if (e->srq)
        OK(softnic_ibv_destroy_srq(e->srq));
    if (e->rcq != e->scq)
        OK(softnic_ibv_destroy_cq(e->rcq));
    OK(softnic_ibv_destroy_cq(e->scq));
    OK(softnic_ibv_dereg_mr(e->mr));
    OK(softnic_ibv_dealloc_pd(e->pd));
    OK(softnic_ibv_close_device(e->ctx));
    free(e->mem);
}

void rig_address(const struct rig_end *to, struct ibv_ah_attr *out)
{
    *out = (struct ibv_ah_attr){.port_num = 1, .dlid = to->lid};
    if (!to->ethernet)
        return;
    out->is_global = 1;
    out->grh.dgid = to->gid;
    out->grh.sgid_index = 1;
    out->grh.hop_limit = 64;
}

void rig_init(struct ibv_qp *qp, const struct rig_options *o)
{
    int every = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                            .port_num = 1,
                            .qkey = RIG_QKEY,
                            .qp_access_flags = (unsigned)(o->access < 0 ? 0 : o->access ? o->access : every)};
    OK(softnic_ibv_modify_qp(qp, &a,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                 (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

void rig_rtr(struct ibv_qp *qp, const struct rig_options *o, const struct rig_end *peer, uint32_t peer_qpn)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = or_else(o->mtu, IBV_MTU_1024),
                            .dest_qp_num = peer_qpn,
                            .rq_psn = peer_qpn & 0xffff,
                            .max_dest_rd_atomic = 16,
                            .min_rnr_timer = 1};
    int mask = IBV_QP_STATE;
    if (qp->qp_type != IBV_QPT_UD) {
        rig_address(peer, &a.ah_attr);
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    }
    if (qp->qp_type == IBV_QPT_RC)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    OK(softnic_ibv_modify_qp(qp, &a, mask));
}

void rig_rts(struct ibv_qp *qp, const struct rig_options *o)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
                            .sq_psn = qp->qp_num & 0xffff,
                            .timeout = (uint8_t)or_else(o->timeout, 14),
                            .retry_cnt = o->fail_fast ? 0 : (uint8_t)or_else(o->retry, 7),
                            .rnr_retry = o->fail_fast ? 0 : (uint8_t)or_else(o->rnr_retry, 7),
                            .max_rd_atomic = 16};
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (qp->qp_type == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    OK(softnic_ibv_modify_qp(qp, &a, mask));
}

void rig_connect(struct rig *r)
{
    struct rig_end *e[2] = {&r->a, &r->b};
    for (int i = 0; i < 2; i++) {
        rig_init(e[i]->qp, &r->o);
        rig_rtr(e[i]->qp, &r->o, e[!i], e[!i]->qp->qp_num);
        rig_rts(e[i]->qp, &r->o);
    }
}

void rig_open(struct rig *r, const struct rig_options *o)
{
    r->o = *o;
    rig_open_end(&r->a, 0, o);
    rig_open_end(&r->b, 1, o);
    rig_connect(r);
    if (o->type != IBV_QPT_UD)
        return;
    struct ibv_ah_attr attr;
    rig_address(&r->b, &attr);
    r->a.ah = softnic_ibv_create_ah(r->a.pd, &attr);
    assert_non_null(r->a.ah);
}

void rig_close(struct rig *r)
{
    rig_close_end(&r->a);
    rig_close_end(&r->b);
}

void rig_move(struct ibv_qp *qp, enum ibv_qp_state to)
{
    struct ibv_qp_attr a = {.qp_state = to};
    OK(softnic_ibv_modify_qp(qp, &a, IBV_QP_STATE));
}

enum ibv_qp_state rig_state(struct ibv_qp *qp)
{
    struct ibv_qp_attr a;
    struct ibv_qp_init_attr init;
    OK(softnic_ibv_query_qp(qp, &a, IBV_QP_STATE, &init));
    return a.qp_state;
}

/* ---- work ---------------------------------------------------------------------------------------------------------- */

int rig_recv(struct rig_end *e, uint64_t wr_id, size_t offset, uint32_t length)
{
    struct ibv_sge sge = {(uintptr_t)e->mem + offset, length, e->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = length != 0}, *bad;
    return e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad);
}

struct ibv_send_wr rig_write(struct rig *r, struct ibv_sge *sge, uint64_t wr_id)
{
    struct ibv_send_wr wr = {.wr_id = wr_id,
                             .sg_list = sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};
    wr.wr.rdma.remote_addr = (uintptr_t)r->b.mem;
    wr.wr.rdma.rkey = r->b.mr->rkey;
    return wr;
}

int rig_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad = NULL;
    int rc = ibv_post_send(qp, wr, &bad);
    assert_true(rc ? bad != NULL : bad == NULL);
    return rc;
}

static time_t seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec;
}

struct ibv_wc rig_poll(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    time_t begin = seconds();
    for (;;) {
        memset(&wc, 0xa5, sizeof(wc)); /* every field has to be written */
        int n = ibv_poll_cq(cq, 1, &wc);
        if (n == 1)
            return wc;
        if (n < 0 || seconds() - begin > HANG_SECONDS)
            fail_msg("no completion: ibv_poll_cq says %d", n);
    }
}

void rig_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
    struct ibv_wc wc = rig_poll(cq);
    if (wc.wr_id != wr_id || wc.status != status)
        fail_msg("wr_id 0x%llx (0x%llx expected): status %d (%d expected), vendor 0x%x", (unsigned long long)wc.wr_id,
                 (unsigned long long)wr_id, (int)wc.status, (int)status, wc.vendor_err);
}

void rig_wait_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
    time_t begin = seconds();
    struct ibv_wc wc;
    while (rig_state(qp) != state) {
        if (ibv_poll_cq(qp->send_cq, 0, &wc) < 0 || seconds() - begin > HANG_SECONDS)
            fail_msg("state %d never came: %d", (int)state, (int)rig_state(qp));
    }
}

void rig_expect_none(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    for (int i = 0; i < QUIET_POLLS; i++)
        assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

void rig_fill(uint8_t *at, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        at[i] = (uint8_t)((i + seed) * 2654435761u >> 24);
}

bool rig_same(const uint8_t *at, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        if (at[i] != (uint8_t)((i + seed) * 2654435761u >> 24))
            return false;
    return true;
}
