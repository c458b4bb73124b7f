/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *rig_pages(size_t bytes)
{
    void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    assert_non_null(p);
    memset(p, 0, bytes);
    return p;
}

int rig_open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

void rig_open(struct rig *r, unsigned device)
{
    int count;
    memset(r, 0, sizeof(*r));
    struct ibv_device **list = softnic_ibv_get_device_list(&count);
    assert_non_null(list);
    assert_true((int)device < count);
    r->context = softnic_ibv_open_device(list[device]);
    softnic_ibv_free_device_list(list);
    assert_non_null(r->context);
    r->pd = softnic_ibv_alloc_pd(r->context);
    assert_non_null(r->pd);
    struct mlx5dv_pd dv;
    struct mlx5dv_obj obj = {.pd = {r->pd, &dv}};
    assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
    r->pdn = dv.pdn;
    r->data = rig_pages(RIG_DATA_BYTES);
    r->mr = softnic_ibv_reg_mr_iova2(r->pd, r->data, RIG_DATA_BYTES, (uintptr_t)r->data,
                                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                         IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING);
    assert_non_null(r->mr);
}

void rig_close(struct rig *r)
{
    assert_int_equal(softnic_ibv_dereg_mr(r->mr), 0);
    assert_int_equal(softnic_ibv_dealloc_pd(r->pd), 0);
    assert_int_equal(softnic_ibv_close_device(r->context), 0);
    free(r->data);
}

/* ---- mailboxes ----------------------------------------------------------------------------------------------------
 */

void rig_mailbox_cq(uint8_t in[PRM_SIZE_create_cq_in], uint32_t ring, uint32_t record, uint32_t uar, unsigned log_size)
{
    memset(in, 0, PRM_SIZE_create_cq_in);
    uint8_t *cqc = PRM_AT(in, create_cq_in, cq_context);
    prm_set_create_cq_in__opcode(in, PRM_OP_CREATE_CQ);
    prm_set_create_cq_in__cq_umem_id(in, ring);
    prm_set_create_cq_in__cq_umem_valid(in, 1);
    prm_set_cqc__oi(cqc, 1);
    prm_set_cqc__log_cq_size(cqc, log_size);
    prm_set_cqc__uar_page(cqc, uar);
    prm_set_cqc__c_eqn(cqc, 1);
    prm_set_cqc__dbr_umem_valid(cqc, 1);
    prm_set_cqc__dbr_umem_id(cqc, record);
    prm_set_cqc__dbr_addr(cqc, 64);
}

void rig_mailbox_qp(uint8_t in[PRM_SIZE_create_qp_in], uint32_t ring, uint32_t record, uint32_t uar, uint32_t pdn,
                    uint32_t cqn, unsigned log_size)
{
    memset(in, 0, PRM_SIZE_create_qp_in);
    uint8_t *qpc = PRM_AT(in, create_qp_in, qpc);
    prm_set_create_qp_in__opcode(in, PRM_OP_CREATE_QP);
    prm_set_create_qp_in__wq_umem_id(in, ring);
    prm_set_create_qp_in__wq_umem_valid(in, 1);
    prm_set_qpc__pd(qpc, pdn);
    prm_set_qpc__user_index(qpc, 0x123456);
    prm_set_qpc__uar_page(qpc, uar);
    prm_set_qpc__cqn_snd(qpc, cqn);
    prm_set_qpc__cqn_rcv(qpc, cqn);
    prm_set_qpc__log_sq_size(qpc, log_size);
    prm_set_qpc__rq_type(qpc, PRM_RQ_TYPE_ZERO);
    prm_set_qpc__dbr_umem_valid(qpc, 1);
    prm_set_qpc__dbr_umem_id(qpc, record);
}

static void init_cqes(struct rig_qp *q)
{
    memset(q->cqes, 0, 64u << q->log_cq);
    for (unsigned i = 0; i < 1u << q->log_cq; i++)
        q->cqes[64 * i + 63] = 0xf1;
}

static void create_cq(struct rig_qp *q)
{
    uint8_t in[PRM_SIZE_create_cq_in], out[PRM_SIZE_create_cq_out];
    rig_mailbox_cq(in, q->cq_umem->umem_id, q->record_umem->umem_id, q->uar->page_id, q->log_cq);
    q->cq = softnic_mlx5dv_devx_obj_create(q->rig->context, in, sizeof(in), out, sizeof(out));
    assert_non_null(q->cq);
    q->cqn = (uint32_t)prm_get_create_cq_out__cqn(out);
}

static void create_qp(struct rig_qp *q)
{
    uint8_t in[PRM_SIZE_create_qp_in], out[PRM_SIZE_create_qp_out];
    rig_mailbox_qp(in, q->ring_umem->umem_id, q->record_umem->umem_id, q->uar->page_id, q->rig->pdn, q->cqn, q->log_sq);
    prm_set_qpc__send_dbr_mode(PRM_AT(in, create_qp_in, qpc), q->no_record);
    q->qp = softnic_mlx5dv_devx_obj_create(q->rig->context, in, sizeof(in), out, sizeof(out));
    assert_non_null(q->qp);
    q->qpn = (uint32_t)prm_get_create_qp_out__qpn(out);
}

static struct mlx5dv_devx_umem *reg(struct rig *r, void *addr, size_t size)
{
    struct mlx5dv_devx_umem *u = softnic_mlx5dv_devx_umem_reg(r->context, addr, size, IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(u);
    return u;
}

static void create(struct rig_qp *q, struct rig *r, bool no_record)
{
    *q = (struct rig_qp){.rig = r,
                         .log_cq = RIG_LOG_CQ,
                         .log_sq = RIG_LOG_SQ,
                         .no_record = no_record,
                         .ack_timeout = 18,
                         .retries = 7}; /* 1.1 s each */
    q->uar = softnic_mlx5dv_devx_alloc_uar(r->context, 1u << 31);
    assert_non_null(q->uar);
    q->ring = rig_pages(64u << q->log_sq);
    q->cqes = rig_pages(64u << q->log_cq);
    q->records = rig_pages(4096);
    init_cqes(q);
    q->ring_umem = reg(r, q->ring, 64u << q->log_sq);
    q->cq_umem = reg(r, q->cqes, 64u << q->log_cq);
    q->record_umem = reg(r, q->records, 4096);
    create_cq(q);
    create_qp(q);
}

void rig_qp_create(struct rig_qp *q, struct rig *r)
{
    create(q, r, false);
}

void rig_qp_create_no_record(struct rig_qp *q, struct rig *r)
{
    create(q, r, true);
}

void rig_qp_destroy(struct rig_qp *q)
{
    assert_int_equal(softnic_mlx5dv_devx_obj_destroy(q->qp), 0);
    assert_int_equal(softnic_mlx5dv_devx_obj_destroy(q->cq), 0);
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(q->ring_umem), 0);
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(q->cq_umem), 0);
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(q->record_umem), 0);
    softnic_mlx5dv_devx_free_uar(q->uar);
    free(q->ring);
    free(q->cqes);
    free(q->records);
}

struct rig_address rig_address_of(const struct rig_qp *q)
{
    struct rig_address a = {.qpn = q->qpn, .rkey = q->rig->mr->rkey, .data = (uintptr_t)q->rig->data};
    union ibv_gid gid;
    struct ibv_port_attr port;
    assert_int_equal(softnic_ibv_query_gid(q->rig->context, 1, 0, &gid), 0);
    assert_int_equal(softnic_ibv_query_port(q->rig->context, 1, (struct _compat_ibv_port_attr *)&port), 0);
    memcpy(a.gid, gid.raw, 16);
    a.lid = port.lid;
    return a;
}

/* ---- state commands -----------------------------------------------------------------------------------------------
 */

static int modify(struct rig_qp *q, const uint8_t *in, size_t size)
{
    uint8_t out[16];
    int rc = softnic_mlx5dv_devx_obj_modify(q->qp, in, size, out, sizeof(out));
    if (rc) {
        assert_int_not_equal(prm_get_cmd_out__status(out), 0);
        assert_int_not_equal(prm_get_cmd_out__syndrome(out), 0);
    }
    return rc;
}

static uint8_t *start(uint8_t in[PRM_SIZE_qp_state_in], unsigned opcode, uint32_t qpn)
{
    memset(in, 0, PRM_SIZE_qp_state_in);
    prm_set_qp_state_in__opcode(in, opcode);
    prm_set_qp_state_in__qpn(in, qpn);
    return PRM_AT(in, qp_state_in, qpc);
}

int rig_to_init(struct rig_qp *q)
{
    uint8_t in[PRM_SIZE_qp_state_in], *qpc = start(in, PRM_OP_RST2INIT_QP, q->qpn);
    prm_set_qpc__pm_state(qpc, PRM_PM_MIGRATED);
    prm_set_qpc__rwe(qpc, 1);
    prm_set_qpc__rre(qpc, 1);
    prm_set_qpc__rae(qpc, 1);
    prm_set_qpc__atomic_mode(qpc, PRM_ATOMIC_MODE_UP_TO_8B);
    prm_set_ads__vhca_port_num(PRM_AT(qpc, qpc, primary_address_path), 1);
    return modify(q, in, sizeof(in));
}

int rig_to_rtr(struct rig_qp *q, const struct rig_address *peer)
{
    uint8_t in[PRM_SIZE_qp_state_in], *qpc = start(in, PRM_OP_INIT2RTR_QP, q->qpn);
    uint8_t *ads = PRM_AT(qpc, qpc, primary_address_path);
    prm_set_qpc__mtu(qpc, 5);
    prm_set_qpc__log_msg_max(qpc, 30);
    prm_set_qpc__remote_qpn(qpc, peer->qpn);
    prm_set_qpc__next_rcv_psn(qpc, 0);
    prm_set_qpc__min_rnr_nak(qpc, 12);
    prm_set_qpc__log_rra_max(qpc, 2);
    if (peer->lid) {
        prm_set_ads__rlid(ads, peer->lid);
    } else {
        memcpy(PRM_AT(ads, ads, rgid_rip), peer->gid, 16);
        prm_set_ads__hop_limit(ads, 64);
        prm_set_ads__udp_sport(ads, 0xc123);
    }
    return modify(q, in, sizeof(in));
}

int rig_to_rts(struct rig_qp *q)
{
    uint8_t in[PRM_SIZE_qp_state_in], *qpc = start(in, PRM_OP_RTR2RTS_QP, q->qpn);
    prm_set_qpc__next_send_psn(qpc, 0);
    prm_set_qpc__retry_count(qpc, q->retries);
    prm_set_qpc__rnr_retry(qpc, 3);
    prm_set_qpc__log_sra_max(qpc, 2);
    prm_set_ads__ack_timeout(PRM_AT(qpc, qpc, primary_address_path), q->ack_timeout);
    return modify(q, in, sizeof(in));
}

int rig_to(struct rig_qp *q, unsigned opcode)
{
    uint8_t in[PRM_SIZE_qp_2any_in] = {0};
    prm_set_qp_2any_in__opcode(in, opcode);
    prm_set_qp_2any_in__qpn(in, q->qpn);
    return modify(q, in, sizeof(in));
}

void rig_connect(struct rig_qp *q, const struct rig_address *peer)
{
    assert_int_equal(rig_to_init(q), 0);
    assert_int_equal(rig_to_rtr(q, peer), 0);
    assert_int_equal(rig_to_rts(q), 0);
}

unsigned rig_state(struct rig_qp *q, uint8_t qpc[PRM_SIZE_qpc])
{
    uint8_t in[PRM_SIZE_query_qp_in] = {0}, out[PRM_SIZE_query_qp_out];
    prm_set_query_qp_in__opcode(in, PRM_OP_QUERY_QP);
    prm_set_query_qp_in__qpn(in, q->qpn);
    assert_int_equal(softnic_mlx5dv_devx_obj_query(q->qp, in, sizeof(in), out, sizeof(out)), 0);
    if (qpc)
        memcpy(qpc, PRM_CAT(out, query_qp_out, qpc), PRM_SIZE_qpc);
    return (unsigned)prm_get_qpc__state(PRM_CAT(out, query_qp_out, qpc));
}

/* ---- data path ----------------------------------------------------------------------------------------------------
 */

void rig_put32(uint8_t *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, 4);
}

void rig_put64(uint8_t *p, uint64_t v)
{
    v = htobe64(v);
    memcpy(p, &v, 8);
}

static uint8_t *begin(struct rig_qp *q, unsigned opcode, unsigned ds)
{
    uint8_t *w = q->ring + 64 * (q->pi & ((1u << q->log_sq) - 1));
    memset(w, 0xa5, 64); /* what is behind ds must not matter */
    memset(w, 0, 16);
    rig_put32(w, (q->pi & 0xffff) << 8 | opcode);
    rig_put32(w + 4, q->qpn << 8 | ds);
    w[11] = 2 << 2; /* ce: always a CQE */
    return w;
}

static void remote(uint8_t *seg, const struct rig_address *peer, uint64_t offset)
{
    memset(seg, 0, 16);
    rig_put64(seg, peer->data + offset);
    rig_put32(seg + 8, peer->rkey);
}

static void data(uint8_t *seg, const struct rig_qp *q, uint64_t offset, uint32_t length)
{
    rig_put32(seg, length);
    rig_put32(seg + 4, q->rig->mr->lkey);
    rig_put64(seg + 8, (uintptr_t)q->rig->data + offset);
}

/* Record, then register; each ordered after the WQE by release. */
static void ring(struct rig_qp *q)
{
    uint64_t value;
    q->pi++;
    rig_put32((uint8_t *)&value, (q->pi & 0xffff) << 8);
    rig_put32((uint8_t *)&value + 4, q->qpn << 8);
    if (!q->no_record)
        atomic_store_explicit((_Atomic uint32_t *)(void *)(q->records + 4), htobe32(q->pi & 0xffff),
                              memory_order_release);
    uint8_t *reg = q->no_record ? (uint8_t *)q->uar->base_addr + 0x600 : q->uar->reg_addr;
    atomic_store_explicit((_Atomic uint64_t *)(void *)reg, value, memory_order_release);
    softnic_wake();
}

void rig_post_rdma(struct rig_qp *q, unsigned opcode, const struct rig_address *peer, uint64_t remote_offset,
                   uint64_t local_offset, uint32_t length)
{
    uint8_t *w = begin(q, opcode, 3);
    remote(w + 16, peer, remote_offset);
    data(w + 32, q, local_offset, length);
    ring(q);
}

void rig_post_atomic(struct rig_qp *q, unsigned opcode, const struct rig_address *peer, uint64_t remote_offset,
                     uint64_t local_offset, uint64_t swap_add, uint64_t compare)
{
    uint8_t *w = begin(q, opcode, 4);
    remote(w + 16, peer, remote_offset);
    rig_put64(w + 32, swap_add);
    rig_put64(w + 40, compare);
    data(w + 48, q, local_offset, 8);
    ring(q);
}

bool rig_poll(struct rig_qp *q, struct rig_cqe *out)
{
    uint8_t *cqe = q->cqes + 64 * (q->ci & ((1u << q->log_cq) - 1));
    /* The NIC writes the last 8 bytes at once, after the rest. */
    uint64_t last = be64toh(atomic_load_explicit((_Atomic uint64_t *)(void *)(cqe + 56), memory_order_acquire));
    uint8_t op_own = (uint8_t)last;
    if (op_own >> 4 == 0xf || (op_own & 1) != (q->ci >> q->log_cq & 1))
        return false;
    *out = (struct rig_cqe){.opcode = op_own >> 4, .wqe_counter = (uint16_t)(last >> 16)};
    if (out->opcode == 13) {
        out->vendor = cqe[54];
        out->syndrome = cqe[55];
    }
    q->ci++;
    return true;
}

struct rig_cqe rig_wait(struct rig_qp *q, unsigned seconds)
{
    struct rig_cqe cqe;
    time_t end = time(NULL) + seconds + 1;
    while (!rig_poll(q, &cqe)) {
        if (softnic_drive() <= 0)
            sched_yield();
        if (time(NULL) > end)
            fail_msg("no CQE of QP 0x%x within %u s", q->qpn, seconds);
    }
    return cqe;
}
