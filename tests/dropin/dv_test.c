/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlx5dv beyond commands: event channels, parent domains, DC queue pairs that carry nothing, and verbs objects looked at and
 * moved by commands.
 */
#include "../prm/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "softnic/dv/dv.h"

enum { EVENT_BYTES = 72, HANG_MS = 60000 };

struct event {
    uint64_t cookie;
    uint8_t eqe[64];
};

static uint32_t be32_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

static void arm(struct rig_qp *q, unsigned number)
{
    uint32_t word = htobe32(number << 28 | (q->ci & 0xffffff));
    __atomic_store_n((uint32_t *)(void *)(q->records + 64 + 4), word, __ATOMIC_RELEASE);
    if (!RIG_TSAN) /* there a UAR has no pages of its own */
        *(volatile uint64_t *)((uint8_t *)q->uar->base_addr + 0x20) = 0; /* clients ring as well: it goes nowhere */
}

static struct event take(struct mlx5dv_devx_event_channel *c)
{
    struct event e;
    assert_true(readable(c->fd, HANG_MS));
    assert_int_equal(softnic_mlx5dv_devx_get_event(c, (void *)&e, sizeof(e)), EVENT_BYTES);
    return e;
}

static void completions_that_were_asked_for(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    struct mlx5dv_devx_event_channel *c = softnic_mlx5dv_devx_create_event_channel(r.context, 0);
    assert_non_null(c);
    assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
    uint16_t completion = 0;
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event(c, q.cq, 2, &completion, 0x123456789a), 0);
    rig_post_rdma(&q, RIG_WRITE, &self, 0, 4096, 64);
    assert_int_equal(rig_wait(&q, 60).syndrome, 0);
    struct event e;
    errno = 0;
    assert_int_equal(softnic_mlx5dv_devx_get_event(c, (void *)&e, sizeof(e)), -1); /* nobody asked */
    assert_int_equal(errno, EAGAIN);
    for (unsigned n = 0; n < 5; n++) {
        arm(&q, n & 3);
        rig_post_rdma(&q, RIG_WRITE, &self, 0, 4096, 64);
        e = take(c);
        assert_int_equal(e.cookie, 0x123456789a);
        assert_int_equal(e.eqe[1], 0);
        assert_int_equal(be32_at(e.eqe + 56), q.cqn);
        assert_int_equal(rig_wait(&q, 60).syndrome, 0);
        assert_false(readable(c->fd, 0));
    }
    assert_int_equal(softnic_mlx5dv_devx_get_event(c, (void *)&e, 16), -1);
    assert_int_equal(errno, EINVAL);
    softnic_mlx5dv_devx_destroy_event_channel(c);
    rig_qp_destroy(&q);
    rig_close(&r);
}

static void errors_of_a_queue_pair(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    struct mlx5dv_devx_event_channel *c = softnic_mlx5dv_devx_create_event_channel(r.context, 0),
                                     *bare = softnic_mlx5dv_devx_create_event_channel(r.context, 1);
    assert_true(c && bare);
    uint16_t numbers[] = {0x10, 0x11};
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event(c, q.qp, sizeof(numbers), numbers, 7), 0);
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event(bare, q.qp, sizeof(numbers), numbers, 8), 0);
    int fd = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event_fd(c, fd, q.qp, 0x11), 0);
    self.rkey ^= 0x5a5a;
    rig_post_rdma(&q, RIG_WRITE, &self, 0, 4096, 64); /* as responder it meets a key that there is not */
    assert_int_equal(rig_wait(&q, 60).syndrome, 0x13);
    struct event e = take(c);
    assert_int_equal(e.cookie, 7);
    assert_int_equal(e.eqe[1], 0x11);
    assert_int_equal(be32_at(e.eqe + 56), q.qpn);
    assert_int_equal(softnic_mlx5dv_devx_get_event(bare, (void *)&e, 8), 8);
    assert_int_equal(e.cookie, 8);
    assert_true(readable(fd, HANG_MS));
    uint16_t migrated = 1, completion = 0;
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event(c, q.qp, 2, &migrated, 0), EOPNOTSUPP);
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event(c, q.qp, 2, &completion, 0), EOPNOTSUPP);
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event(c, q.qp, 3, &completion, 0), EINVAL);
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event_fd(c, -1, q.qp, 0x11), EBADF);
    assert_null(softnic_mlx5dv_devx_create_event_channel(r.context, 2));
    uint16_t port = 9;
    assert_int_equal(softnic_mlx5dv_devx_subscribe_devx_event(c, NULL, 2, &port, 0), 0);
    close(fd);
    rig_qp_destroy(&q);
    rig_close(&r); /* with the channels still there */
}

/* ---- domains ------------------------------------------------------------------------------------------------------- */

struct pool {
    unsigned given, taken, refused;
    uint32_t kinds; /* 1 << low bits of MLX5DV_RES_TYPE_* */
    void *closed;
    size_t closed_bytes;
};

static void *give(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t resource)
{
    struct pool *p = context;
    (void)pd;
    p->kinds |= 1u << (resource & 31);
    if (resource == MLX5DV_RES_TYPE_DBR)
        return IBV_ALLOCATOR_USE_DEFAULT;
    p->given++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void *give_nothing(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t resource)
{
    (void)pd, (void)size, (void)alignment, (void)resource;
    ((struct pool *)context)->refused++;
    return NULL;
}

/* Mapped, and not for the CPU: as memory of a device may be. */
static void *give_closed(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t resource)
{
    (void)pd, (void)alignment, (void)resource;
    struct pool *pool = context;
    pool->closed = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pool->closed_bytes = size;
    assert_ptr_not_equal(pool->closed, MAP_FAILED);
    return pool->closed;
}

static void unmap_closed(struct ibv_pd *pd, void *context, void *memory, uint64_t resource)
{
    (void)pd, (void)resource;
    struct pool *pool = context;
    assert_ptr_equal(memory, pool->closed);
    assert_int_equal(munmap(pool->closed, pool->closed_bytes), 0);
    pool->closed = NULL;
}

static void take_back(struct ibv_pd *pd, void *context, void *memory, uint64_t resource)
{
    (void)pd, (void)resource;
    ((struct pool *)context)->taken++;
    free(memory);
}

static struct ibv_qp_init_attr small(struct ibv_cq *cq)
{
    return (struct ibv_qp_init_attr){.send_cq = cq,
                                     .recv_cq = cq,
                                     .qp_type = IBV_QPT_RC,
                                     .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
}

static void parent_domains(void **state)
{
    (void)state;
    struct rig r;
    struct pool pool = {0};
    rig_open(&r, 0);
    struct ibv_td *td = ibv_alloc_td(r.context, &(struct ibv_td_init_attr){0});
    assert_non_null(td);
    struct ibv_parent_domain_init_attr a = {.pd = r.pd,
                                            .td = td,
                                            .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
                                                         IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
                                            .alloc = give,
                                            .free = take_back,
                                            .pd_context = &pool};
    struct ibv_pd *parent = ibv_alloc_parent_domain(r.context, &a);
    assert_non_null(parent);
    struct mlx5dv_pd one, two;
    struct mlx5dv_obj o1 = {.pd = {r.pd, &one}}, o2 = {.pd = {parent, &two}};
    assert_int_equal(softnic_mlx5dv_init_obj(&o1, MLX5DV_OBJ_PD) | softnic_mlx5dv_init_obj(&o2, MLX5DV_OBJ_PD), 0);
    assert_int_equal(one.pdn, two.pdn);
    struct ibv_cq *cq = softnic_ibv_create_cq(r.context, 8, NULL, NULL, 0);
    struct ibv_qp_init_attr qa = small(cq);
    struct ibv_qp *qp = softnic_ibv_create_qp(parent, &qa);
    assert_non_null(qp);
    assert_ptr_equal(qp->pd, parent);
    assert_int_equal(pool.given, 1);
    assert_int_equal(pool.kinds, 1u << (MLX5DV_RES_TYPE_QP & 31) | 1u << (MLX5DV_RES_TYPE_DBR & 31));
    assert_int_equal(softnic_ibv_dealloc_pd(parent), EBUSY);
    assert_int_equal(ibv_dealloc_td(td), EBUSY);
    assert_int_equal(softnic_ibv_destroy_qp(qp), 0);
    assert_int_equal(pool.taken, 1);
    assert_int_equal(softnic_ibv_dealloc_pd(parent), 0);
    a.alloc = give_nothing;
    parent = ibv_alloc_parent_domain(r.context, &a);
    assert_non_null(parent);
    assert_null(softnic_ibv_create_qp(parent, &qa));
    assert_int_equal(errno, ENOMEM);
    assert_true(pool.refused > 0);
    assert_int_equal(softnic_ibv_dealloc_pd(parent), 0);
    a.alloc = give_closed;
    a.free = unmap_closed;
    parent = ibv_alloc_parent_domain(r.context, &a);
    assert_non_null(parent);
    assert_null(softnic_ibv_create_qp(parent, &qa)); /* refused before it is touched, and given back */
    assert_int_equal(errno, EFAULT);
    assert_true(pool.closed_bytes > 0);
    assert_null(pool.closed);
    assert_int_equal(softnic_ibv_dealloc_pd(parent), 0);
    assert_int_equal(ibv_dealloc_td(td), 0);
    a.td = NULL;
    a.comp_mask = 1u << 30;
    assert_null(ibv_alloc_parent_domain(r.context, &a));
    assert_int_equal(softnic_ibv_destroy_cq(cq), 0);
    rig_close(&r);
}

/* ---- DC ------------------------------------------------------------------------------------------------------------ */

static void dc_objects(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, 0);
    struct ibv_cq *cq = softnic_ibv_create_cq(r.context, 8, NULL, NULL, 0);
    struct ibv_srq_init_attr sa = {.attr = {.max_wr = 8, .max_sge = 1}};
    struct ibv_srq *srq = softnic_ibv_create_srq(r.pd, &sa);
    struct ibv_qp_init_attr_ex a = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .srq = srq,
                                    .qp_type = IBV_QPT_DRIVER,
                                    .comp_mask = IBV_QP_INIT_ATTR_PD,
                                    .pd = r.pd,
                                    .cap = {.max_send_wr = 4, .max_send_sge = 1}};
    struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
                                     .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = 5}};
    struct ibv_qp *dct = softnic_mlx5dv_create_qp(r.context, &a, &dv);
    dv.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
    a.cap.max_send_wr = 4;
    a.cap.max_send_sge = 1;
    struct ibv_qp *dci = softnic_mlx5dv_create_qp(r.context, &a, &dv);
    assert_true(dct && dci && dct->qp_num && dct->qp_num != dci->qp_num);
    assert_int_equal(dct->qp_type, IBV_QPT_DRIVER);
    struct ibv_qp_attr m = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int to_init = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX;
    assert_int_equal(softnic_ibv_modify_qp(dct, &m, to_init), EINVAL); /* a DCT says what it allows */
    assert_int_equal(softnic_ibv_modify_qp(dct, &m, to_init | IBV_QP_ACCESS_FLAGS), 0);
    assert_int_equal(softnic_ibv_modify_qp(dci, &m, to_init), 0);
    m = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096, .ah_attr = {.port_num = 1}};
    assert_int_equal(
        softnic_ibv_modify_qp(dct, &m, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER), 0);
    assert_int_equal(softnic_ibv_modify_qp(dci, &m, IBV_QP_STATE | IBV_QP_PATH_MTU), 0);
    m.qp_state = IBV_QPS_RTS;
    int to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    assert_int_equal(softnic_ibv_modify_qp(dct, &m, to_rts), EINVAL);
    assert_int_equal(softnic_ibv_modify_qp(dci, &m, to_rts), 0);
    assert_int_equal(dci->state, IBV_QPS_RTS);
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad = NULL;
    assert_int_not_equal(ibv_post_send(dci, &wr, &bad), 0);
    assert_ptr_equal(bad, &wr);
    struct ibv_qp_attr q;
    struct ibv_qp_init_attr qi;
    assert_int_equal(softnic_ibv_query_qp(dci, &q, IBV_QP_STATE, &qi), 0);
    assert_int_equal(q.qp_state, IBV_QPS_RTS);
    a.qp_type = IBV_QPT_RC;
    assert_null(softnic_mlx5dv_create_qp(r.context, &a, &dv));
    dv.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
    dv.send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE;
    assert_null(softnic_mlx5dv_create_qp(r.context, &a, &dv));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(softnic_ibv_destroy_qp(dct) | softnic_ibv_destroy_qp(dci), 0);
    assert_int_equal(softnic_ibv_destroy_srq(srq) | softnic_ibv_destroy_cq(cq), 0);
    rig_close(&r);
}

/* A DCI of DEVX, whose ring is written by hand: an error CQE, local QP operation error. */
static void dci_in_a_ring(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    uint8_t in[PRM_SIZE_create_qp_in], out[16];
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    assert_int_equal(softnic_mlx5dv_devx_obj_destroy(q.qp), 0);
    rig_mailbox_qp(in, q.ring_umem->umem_id, q.record_umem->umem_id, q.uar->page_id, r.pdn, q.cqn, q.log_sq);
    prm_set_qpc__st(PRM_AT(in, create_qp_in, qpc), PRM_QP_ST_DCI);
    q.qp = softnic_mlx5dv_devx_obj_create(r.context, in, sizeof(in), out, sizeof(out));
    assert_non_null(q.qp);
    q.qpn = (uint32_t)prm_get_cmd_out__object_id(out);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    assert_int_equal(rig_state(&q, NULL), PRM_QP_RTS);
    memset(r.data, 0x11, 8192);
    memset(r.data + 4096, 0x22, 64);
    rig_post_rdma(&q, RIG_WRITE, &self, 0, 4096, 64);
    struct rig_cqe c = rig_wait(&q, 60);
    assert_int_equal(c.opcode, 13);
    assert_int_equal(c.syndrome, 0x02);
    for (int i = 0; i < 64; i++)
        assert_int_equal(r.data[i], 0x11);
    rig_qp_destroy(&q);
    rig_close(&r);
}

/* ---- verbs objects under commands ------------------------------------------------------------------------------------ */

static void commands_on_verbs_objects(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, 0);
    struct ibv_cq *cq = softnic_ibv_create_cq(r.context, 100, NULL, NULL, 0);
    struct ibv_qp_init_attr qa = small(cq);
    struct ibv_qp *qp = softnic_ibv_create_qp(r.pd, &qa);
    assert_true(cq && qp);
    uint8_t in[PRM_SIZE_query_qp_in] = {0}, out[PRM_SIZE_query_qp_out], cmd[16] = {0}, answer[16];
    prm_set_cmd_in__opcode(in, PRM_OP_QUERY_QP);
    prm_set_query_qp_in__qpn(in, qp->qp_num);
    assert_int_equal(softnic_mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), 0);
    const uint8_t *qpc = PRM_CAT(out, query_qp_out, qpc);
    assert_int_equal(prm_get_qpc__state(qpc), PRM_QP_RST);
    struct mlx5dv_qp dq;
    struct mlx5dv_obj qo = {.qp = {qp, &dq}};
    assert_int_equal(softnic_mlx5dv_init_obj(&qo, MLX5DV_OBJ_QP), 0);
    assert_int_equal(1u << prm_get_qpc__log_sq_size(qpc), dq.sq.wqe_cnt);
    struct ibv_qp_attr m = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int to_init = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
    assert_int_equal(softnic_ibv_modify_qp(qp, &m, to_init), 0);
    prm_set_cmd_in__opcode(cmd, PRM_OP_2ERR_QP);
    prm_set_cmd_in__object_id(cmd, qp->qp_num);
    assert_int_equal(softnic_mlx5dv_devx_qp_modify(qp, cmd, sizeof(cmd), answer, sizeof(answer)), 0);
    assert_int_equal(qp->state, IBV_QPS_ERR);
    prm_set_cmd_in__object_id(cmd, qp->qp_num ^ 1); /* another number than the object's */
    assert_int_equal(softnic_mlx5dv_devx_qp_modify(qp, cmd, sizeof(cmd), answer, sizeof(answer)), EREMOTEIO);
    struct mlx5dv_cq dc;
    struct mlx5dv_obj obj = {.cq = {cq, &dc}};
    assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
    assert_int_equal(dc.cqe_cnt, 128);
    assert_int_equal(softnic_ibv_destroy_qp(qp) | softnic_ibv_destroy_cq(cq), 0);
    rig_close(&r);
}

/* ---- verbs queues that are driven directly ------------------------------------------------------------------------- */

static void connect_to_itself(struct rig *r, struct ibv_qp *qp)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    assert_int_equal(softnic_ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                     0);
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = IBV_MTU_4096,
                             .dest_qp_num = qp->qp_num,
                             .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}}};
    assert_int_equal(softnic_ibv_query_gid(r->context, 1, 0, &a.ah_attr.grh.dgid), 0);
    assert_int_equal(softnic_ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                     0);
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7};
    assert_int_equal(softnic_ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                     0);
}

struct direct {
    struct ibv_qp *qp;
    struct mlx5dv_qp dv;
    uint8_t *reg;
    uint32_t index;
};

/* One RDMA WRITE of 8 bytes, as a client of mlx5dv builds it; the register's two buffers take turns, as in UCX. */
static void post_directly(struct direct *d, const struct rig *r, uint64_t to, uint64_t from)
{
    uint8_t *wqe = (uint8_t *)d->dv.sq.buf + (d->index & (d->dv.sq.wqe_cnt - 1)) * 64;
    struct {
        uint32_t op, qpn_ds, flags, imm, remote[2], rkey, reserved, bytes, lkey, local[2];
    } w = {.op = htobe32(d->index << 8 | RIG_WRITE), .qpn_ds = htobe32(d->qp->qp_num << 8 | 3), .flags = htobe32(8),
           .remote = {htobe32((uint32_t)(to >> 32)), htobe32((uint32_t)to)}, .rkey = htobe32(r->mr->rkey),
           .bytes = htobe32(8), .lkey = htobe32(r->mr->lkey),
           .local = {htobe32((uint32_t)(from >> 32)), htobe32((uint32_t)from)}};
    uint64_t bell;
    memcpy(wqe, &w, sizeof(w));
    memcpy(&bell, wqe, 8);
    d->index++;
    __atomic_store_n(&d->dv.dbrec[1], htobe32(d->index & 0xffff), __ATOMIC_RELEASE);
    __atomic_store_n((uint64_t *)(void *)d->reg, bell, __ATOMIC_RELEASE);
    d->reg = (uint8_t *)((uintptr_t)d->reg ^ 0x100);
}

static void polled(struct ibv_cq *cq, int count)
{
    struct ibv_wc wc;
    time_t end = time(NULL) + HANG_MS / 1000;
    for (int got = 0; got < count;) {
        int n = ibv_poll_cq(cq, 1, &wc); /* the CPU path reads what direct posting completed */
        assert_true(n >= 0 && time(NULL) < end);
        if (n == 1)
            assert_int_equal(wc.status, IBV_WC_SUCCESS);
        got += n;
    }
}

static void arrived(const uint64_t *at, uint64_t value)
{
    time_t end = time(NULL) + HANG_MS / 1000;
    while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value) {
        assert_true(time(NULL) < end);
        sched_yield();
    }
}

static void both_buffers(int qps)
{
    enum { MOST = 11, ROUNDS = 9 };
    struct rig r;
    struct direct d[MOST];
    rig_open(&r, 0);
    struct ibv_cq *cq = softnic_ibv_create_cq(r.context, 64, NULL, NULL, 0);
    for (int i = 0; i < qps; i++) {
        struct ibv_qp_init_attr qa = small(cq);
        d[i] = (struct direct){.qp = softnic_ibv_create_qp(r.pd, &qa)};
        assert_non_null(d[i].qp);
        struct mlx5dv_obj obj = {.qp = {d[i].qp, &d[i].dv}};
        assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
        d[i].reg = d[i].dv.bf.reg;
        connect_to_itself(&r, d[i].qp);
    }
    uint64_t *data = (uint64_t *)(void *)r.data;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < qps; i++) { /* each over what another one may just have stored */
            data[i] = (uint64_t)round << 32 | (uint64_t)i;
            post_directly(&d[i], &r, (uintptr_t)&data[1024 + i], (uintptr_t)&data[i]);
        }
        for (int i = 0; i < qps; i++) /* without a call into the library: it has to see the register by itself */
            arrived(&data[1024 + i], data[i]);
        polled(cq, qps);
        for (int i = 0; i < 2000; i++)
            softnic_drive(); /* until the queues are idle */
        for (int i = 0; i < qps; i++)
            assert_int_equal(data[1024 + i], data[i]);
    }
    for (int i = 0; i < qps; i++)
        assert_int_equal(softnic_ibv_destroy_qp(d[i].qp), 0);
    assert_int_equal(softnic_ibv_destroy_cq(cq), 0);
    rig_close(&r);
}

/* The second buffer is nobody's register; then it is one of another queue pair, which does the same. */
static void both_buffers_of_a_register(void **state)
{
    (void)state;
    both_buffers(1);
    both_buffers(4);
    both_buffers(6);
    both_buffers(11);
}

/* Object and key stay; memory, domain and rights are new. */
static void regions_that_change(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, 0);
    uint8_t *other = rig_pages(8192);
    struct ibv_pd *pd = softnic_ibv_alloc_pd(r.context);
    struct ibv_mr *mr = (softnic_ibv_reg_mr)(r.pd, r.data, 4096, IBV_ACCESS_LOCAL_WRITE);
    assert_true(pd && mr);
    uint32_t key = mr->lkey;
    assert_int_equal(softnic_ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, 8192, 0), 0);
    assert_true(mr->addr == other && mr->length == 8192 && mr->pd == r.pd && mr->lkey == key && mr->rkey == key);
    assert_int_equal(softnic_ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0,
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                     0);
    assert_true(mr->addr == other && mr->length == 8192 && mr->pd == pd);
    assert_int_equal(mr->lkey, key);
    assert_int_equal(softnic_ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(softnic_ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)64, 4096, 0),
                     IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(mr->lkey, key);
    assert_int_equal(softnic_ibv_dealloc_pd(pd), EBUSY);
    assert_int_equal(softnic_ibv_dereg_mr(mr), 0);
    assert_int_equal(softnic_ibv_dealloc_pd(pd), 0);
    free(other);
    rig_close(&r);
}

static void what_the_device_says(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, 0);
    struct mlx5dv_context d = {.comp_mask = UINT64_MAX};
    assert_int_equal(softnic_mlx5dv_query_device(r.context, &d), 0);
    assert_true(d.flags & MLX5DV_CONTEXT_FLAGS_CQE_V1);
    assert_false(d.comp_mask & (MLX5DV_CONTEXT_MASK_CQE_COMPRESION | MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD));
    struct mlx5dv_clock_info clock;
    struct timespec now;
    assert_int_equal(softnic_mlx5dv_get_clock_info(r.context, &clock), 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t later = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    assert_true(later >= clock.last_cycles);
    assert_int_equal(mlx5dv_ts_to_ns(&clock, clock.last_cycles + 5000), clock.nsec + 5000);
    char path[64];
    assert_int_equal(softnic_mlx5dv_get_data_direct_sysfs_path(r.context, path, sizeof(path)), ENODEV);
    assert_null(softnic_mlx5dv_reg_dmabuf_mr(r.pd, 0, 4096, 0, 0, 0, 1));
    assert_int_equal(errno, EOPNOTSUPP);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_that_were_asked_for),
        cmocka_unit_test(errors_of_a_queue_pair),
        cmocka_unit_test(parent_domains),
        cmocka_unit_test(dc_objects),
        cmocka_unit_test(dci_in_a_ring),
        cmocka_unit_test(commands_on_verbs_objects),
        cmocka_unit_test(both_buffers_of_a_register),
        cmocka_unit_test(regions_that_change),
        cmocka_unit_test(what_the_device_says),
    };
    setenv("SOFTNIC_WIRE", "none", 1);
    setenv("SOFTNIC_LOG", "off", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
