/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "softnic/wire/wire.h"

const struct options defaults = {.log_sq = 4,
                                 .log_cq = 5,
                                 .log_rq = 4,
                                 .log_rq_stride = 6,
                                 .cqe_size = 64,
                                 .mtu = 3,
                                 .retry = 7,
                                 .rnr_retry = 6,
                                 .ack_timeout = 10,
                                 .log_sra = 4,
                                 .log_rra = 4,
                                 .min_rnr = 12,
                                 .atomic_mode = 3};

static uint64_t virtual_now(void *arg)
{
    return ((struct world *)arg)->now;
}

static void must(int ret)
{
    char text[256];

    if (ret == 0)
        return;
    sn_err_format(sn_err_last(), text, sizeof(text));
    fail_msg("returned %d: %s", ret, text);
}

void world_open(struct world *w, const struct options *o)
{
    struct sn_port_config config = {
        .now = virtual_now, .now_arg = w, .no_thread = true, .burst_bytes = o->burst_bytes, .gpu = o->gpu};

    memset(w, 0, sizeof(*w));
    w->now = 1000000000;
    must(sn_port_create(&config, &w->port));
    for (int i = 0; i < 2; i++) {
        struct sn_nic_config nic = {
            .name = i == 0 ? "softnic0" : "softnic1", .gid_count = 1, .slot = (uint8_t)(i + 1), .seed = 42u + (unsigned)i};
        nic.gid[0][0] = 0xfe;
        nic.gid[0][15] = (uint8_t)(i + 1);
        must(sn_nic_create(w->port, &nic, &w->nic[i]));
    }
}

void world_close(struct world *w)
{
    for (int i = 0; i < 2; i++)
        must(sn_nic_destroy(w->nic[i]));
    sn_port_destroy(w->port);
}

int world_run(struct world *w)
{
    int total = 0, quiet = 0;

    for (int i = 0; i < 1000000; i++) {
        int work = sn_port_run(w->port);
        assert_true(work >= 0);
        total += work;
        quiet = work == 0 ? quiet + 1 : 0;
        if (quiet == 4)
            return total;
    }
    fail_msg("the port never came to rest");
    return -1;
}

void world_pass(struct world *w, uint64_t total, uint64_t step)
{
    for (uint64_t passed = 0; passed < total; passed += step) {
        w->now += step;
        world_run(w);
    }
}

static void *zeroed(size_t size)
{
    void *p = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
    assert_non_null(p);
    memset(p, 0, size);
    return p;
}

static uint32_t make_cq(struct end *e, uint8_t **ring, uint32_t *record)
{
    size_t size = (size_t)e->o.cqe_size << e->o.log_cq;
    uint32_t cqn;
    uint32_t space = e->o.gpu_queues ? SN_SPACE_GPU : SN_SPACE_HOST;

    *ring = zeroed(size);
    memset(*ring, 0xff, size);
    for (size_t i = e->o.cqe_size - 1; i < size; i += e->o.cqe_size)
        (*ring)[i] = 0xf1; /* opcode invalid, owner 1 */
    struct sn_cq_attr attr = {.ring = {.addr = *ring, .length = size, .space = space},
                              .log_size = e->o.log_cq,
                              .cqe_size = e->o.cqe_size,
                              .collapsed = e->o.collapsed,
                              .overrun_ignore = !e->o.overrun,
                              .record = {.addr = record, .length = 8, .space = SN_SPACE_HOST},
                              .uar = e->uar.index};
    must(sn_cq_create(e->nic, &attr, &cqn));
    return cqn;
}

uint32_t end_key(struct end *e, void *addr, size_t length, uint64_t iova, uint32_t access)
{
    struct sn_mkey_attr attr = {
        .pdn = e->pdn,
        .access = access,
        .iova = iova,
        .span = {.addr = addr, .length = length, .space = e->o.gpu_data ? SN_SPACE_GPU : SN_SPACE_HOST}};
    uint32_t key;

    must(sn_mkey_create(e->nic, &attr, &key));
    return key;
}

static void make_srq(struct end *e)
{
    struct sn_srq_attr attr = {.pdn = e->pdn,
                               .log_size = e->o.log_rq,
                               .log_stride = e->o.log_rq_stride,
                               .cyclic = !e->o.srq_linked,
                               .ring = {.addr = e->rq, .length = (size_t)1 << (e->o.log_rq + e->o.log_rq_stride)},
                               .record = {.addr = e->srq_record, .length = 4}};
    uint32_t n = 1u << e->o.log_rq;

    for (uint32_t i = 0; e->o.srq_linked && i < n; i++) {
        struct sn_next_seg *seg = (struct sn_next_seg *)(void *)(e->rq + ((size_t)i << e->o.log_rq_stride));
        seg->next_index = sn_put16((uint16_t)((i + 1) & (n - 1)));
    }
    must(sn_srq_create(e->nic, &attr, &e->srqn));
}

void end_open(struct end *e, struct world *w, int nic, const struct options *o)
{
    uint32_t space = o->gpu_queues ? SN_SPACE_GPU : SN_SPACE_HOST;

    memset(e, 0, sizeof(*e));
    e->w = w;
    e->nic = w->nic[nic];
    e->o = *o;
    must(sn_pd_create(e->nic, &e->pdn));
    if (o->share_uar != 0)
        e->uar.index = o->share_uar;
    else
        must(sn_uar_alloc(e->nic, &e->uar));
    e->sq = zeroed((size_t)64 << o->log_sq);
    e->rq = zeroed((size_t)1 << (o->log_rq + o->log_rq_stride));
    e->mem = zeroed(MEM_SIZE);
    e->record = zeroed(64);
    e->cq_record = zeroed(64);
    e->srq_record = zeroed(64);
    e->record[0] = e->record[1] = 0xdeadbeef; /* garbage before first use */
    e->cqn = make_cq(e, &e->cq, e->cq_record);
    e->rcqn = make_cq(e, &e->rcq, e->cq_record + 2);
    if (o->srq)
        make_srq(e);
    struct sn_qp_attr attr = {
        .service = o->service,
        .pdn = e->pdn,
        .user_index = 0x123456,
        .log_sq_size = o->log_sq,
        .sq = {.addr = e->sq, .length = (size_t)64 << o->log_sq, .space = space},
        .cqn_snd = e->cqn,
        .rq_kind = o->srq ? SN_RQ_SRQ : o->no_rq ? SN_RQ_NONE : SN_RQ_REGULAR,
        .log_rq_size = o->log_rq,
        .log_rq_stride = o->log_rq_stride,
        .rq = {.addr = e->rq, .length = (size_t)1 << (o->log_rq + o->log_rq_stride), .space = space},
        .cqn_rcv = e->rcqn,
        .srqn = e->srqn,
        .record = {.addr = e->record, .length = 8, .space = space},
        .no_send_record = o->no_record,
        .uar = e->uar.index,
    };
    must(sn_qp_create(e->nic, &attr, &e->qpn));
    e->mkey = end_key(e, e->mem, MEM_SIZE, (uintptr_t)e->mem,
                      SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ | SN_ACCESS_REMOTE_ATOMIC);
}

void end_close(struct end *e)
{
    must(sn_qp_destroy(e->nic, e->qpn));
    must(sn_cq_destroy(e->nic, e->cqn));
    must(sn_cq_destroy(e->nic, e->rcqn));
    if (e->o.srq)
        must(sn_srq_destroy(e->nic, e->srqn));
    must(sn_mkey_destroy(e->nic, e->mkey));
    if (e->o.share_uar == 0)
        must(sn_uar_free(e->nic, e->uar.index));
    free(e->sq);
    free(e->rq);
    free(e->cq);
    free(e->rcq);
    free(e->mem);
    free(e->record);
    free(e->cq_record);
    free(e->srq_record);
}

static void move_up(struct end *e, struct end *peer)
{
    struct sn_qp_params p = {.port = 1,
                             .rwe = !e->o.no_rwe,
                             .rre = !e->o.no_rre,
                             .rae = !e->o.no_rae,
                             .atomic_mode = e->o.atomic_mode,
                             .mtu = e->o.mtu,
                             .log_msg_max = 30,
                             .rcv_psn = e->o.psn,
                             .snd_psn = e->o.psn,
                             .remote_qpn = peer->qpn,
                             .qkey = e->o.qkey,
                             .min_rnr = e->o.min_rnr,
                             .ack_timeout = e->o.ack_timeout,
                             .retry_count = e->o.retry,
                             .rnr_retry = e->o.rnr_retry,
                             .log_sra_max = e->o.log_sra,
                             .log_rra_max = e->o.log_rra};

    memcpy(p.path.dgid, sn_nic_get_config(peer->nic)->gid[0], 16);
    p.path.traffic_class = e->o.tclass;
    must(sn_qp_modify(e->nic, e->qpn, SN_QP_INIT, &p,
                      SN_QPF_PORT | SN_QPF_RWE | SN_QPF_RRE | SN_QPF_RAE | SN_QPF_PKEY_INDEX | SN_QPF_QKEY));
    must(sn_qp_modify(e->nic, e->qpn, SN_QP_RTR, &p,
                      SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH | SN_QPF_MIN_RNR | SN_QPF_RRA |
                          SN_QPF_MSG_MAX));
    must(sn_qp_modify(e->nic, e->qpn, SN_QP_RTS, &p,
                      SN_QPF_SND_PSN | SN_QPF_ACK_TIMEOUT | SN_QPF_RETRY | SN_QPF_RNR_RETRY | SN_QPF_SRA));
}

void ends_connect(struct end *a, struct end *b)
{
    move_up(a, b);
    if (a != b)
        move_up(b, a);
}

void end_reconnect(struct end *e, struct end *peer)
{
    must(sn_qp_modify(e->nic, e->qpn, SN_QP_RST, NULL, 0));
    e->pi = e->rq_pi = 0;
    move_up(e, peer);
}

enum sn_qp_state end_state(struct end *e)
{
    enum sn_qp_state state;
    must(sn_qp_query(e->nic, e->qpn, &state, NULL, NULL, NULL));
    return state;
}

/* ---- WQEs ---------------------------------------------------------------------------------------------------- */

static uint32_t seg_atomic(uint8_t *s, const struct wr *wr)
{
    if (wr->opcode == SN_OPCODE_ATOMIC_MASKED_FA && wr->opmod == SN_OPMOD_MASKED_4) {
        struct sn_masked_fa32_seg *a = (struct sn_masked_fa32_seg *)(void *)s;
        a->add = sn_put32((uint32_t)wr->swap_add);
        a->boundary = sn_put32((uint32_t)wr->compare_mask);
    } else if (wr->opcode == SN_OPCODE_ATOMIC_MASKED_FA) {
        struct sn_masked_fa64_seg *a = (struct sn_masked_fa64_seg *)(void *)s;
        a->add = sn_put64(wr->swap_add);
        a->boundary = sn_put64(wr->compare_mask);
    } else if (wr->opcode == SN_OPCODE_ATOMIC_MASKED_CS && wr->opmod == SN_OPMOD_MASKED_4) {
        struct sn_masked_cs32_seg *a = (struct sn_masked_cs32_seg *)(void *)s;
        a->swap = sn_put32((uint32_t)wr->swap_add);
        a->compare = sn_put32((uint32_t)wr->compare);
        a->swap_mask = sn_put32((uint32_t)wr->swap_mask);
        a->compare_mask = sn_put32((uint32_t)wr->compare_mask);
    } else if (wr->opcode == SN_OPCODE_ATOMIC_MASKED_CS) {
        struct sn_masked_cs64_seg *a = (struct sn_masked_cs64_seg *)(void *)s;
        a[0].swap = sn_put64(wr->swap_add);
        a[0].compare = sn_put64(wr->compare);
        a[1].swap = sn_put64(wr->swap_mask);
        a[1].compare = sn_put64(wr->compare_mask);
        return 2;
    } else {
        struct sn_atomic_seg *a = (struct sn_atomic_seg *)(void *)s;
        a->swap_add = sn_put64(wr->swap_add);
        a->compare = sn_put64(wr->compare);
    }
    return 1;
}

static bool is_atomic(uint8_t opcode)
{
    return opcode == SN_OPCODE_ATOMIC_CS || opcode == SN_OPCODE_ATOMIC_FA || opcode == SN_OPCODE_ATOMIC_MASKED_CS ||
           opcode == SN_OPCODE_ATOMIC_MASKED_FA;
}

/* The WQE as a row of segments; returns their number. */
static uint32_t build(const struct end *e, const struct wr *wr, uint8_t *raw)
{
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;
    uint32_t ds = 1;

    if (wr->opcode == SN_OPCODE_RDMA_WRITE || wr->opcode == SN_OPCODE_RDMA_WRITE_IMM ||
        wr->opcode == SN_OPCODE_RDMA_READ || is_atomic(wr->opcode)) {
        struct sn_raddr_seg *r = (struct sn_raddr_seg *)(void *)(raw + 16);
        r->raddr = sn_put64(wr->raddr);
        r->rkey = sn_put32(wr->rkey);
        r->reserved = 0xabababab; /* garbage: must be ignored */
        ds = 2;
    }
    if (is_atomic(wr->opcode))
        ds += seg_atomic(raw + ds * 16, wr);
    if (wr->opcode == SN_OPCODE_WAIT) {
        struct sn_wait_seg *s = (struct sn_wait_seg *)(void *)(raw + 16);
        s->max_index = sn_put32(wr->index);
        s->cqn = sn_put32(wr->cqn);
        ds = 2;
    }
    if (wr->inl != NULL) {
        struct sn_inline_seg *s = (struct sn_inline_seg *)(void *)(raw + ds * 16);
        s->byte_count = sn_put32(wr->inl_length | SN_INLINE_SEG);
        memcpy(raw + ds * 16 + 4, wr->inl, wr->inl_length);
        ds += (wr->inl_length + 4 + 15) / 16;
    }
    for (unsigned i = 0; i < wr->sges; i++, ds++) {
        struct sn_data_seg *s = (struct sn_data_seg *)(void *)(raw + ds * 16);
        s->byte_count = sn_put32(wr->sge[i].length);
        s->lkey = sn_put32(wr->sge[i].lkey);
        s->addr = sn_put64(wr->sge[i].addr);
    }
    ctrl->opmod_idx_opcode = sn_put32(((uint32_t)wr->opmod << 24) | ((e->pi & 0xffff) << 8) | wr->opcode);
    ctrl->qpn_ds = sn_put32((e->qpn << 8) | (wr->ds != 0 ? (uint32_t)wr->ds & 0x3f : ds));
    ctrl->signature = 0x5a; /* garbage */
    ctrl->dci[0] = ctrl->dci[1] = 0xa5;
    ctrl->fm_ce_se = wr->fm_ce_se;
    ctrl->imm = wr->imm;
    return ds;
}

uint32_t put_wqe(struct end *e, const struct wr *wr)
{
    uint8_t raw[1024] __attribute__((aligned(64)));
    uint32_t index = e->pi, mask = (1u << e->o.log_sq) - 1;

    memset(raw, 0xcc, sizeof(raw)); /* stale bytes beyond ds */
    uint32_t ds = build(e, wr, raw);
    uint32_t blocks = (ds + 3) / 4;
    for (uint32_t i = 0; i < blocks; i++)
        memcpy(e->sq + ((index + i) & mask) * 64, raw + i * 64, 64);
    e->pi += blocks;
    return index;
}

void write_record(struct end *e, uint32_t pi)
{
    __atomic_store_n(&e->record[1], sn_swap32(pi & 0xffff), __ATOMIC_RELEASE);
}

void write_register(struct end *e, uint32_t pi)
{
    void *reg = e->o.no_record ? e->uar.dbrless : e->uar.reg;
    __atomic_store_n((uint64_t *)reg, sn_doorbell_build(e->qpn, pi), __ATOMIC_RELEASE);
}

void ring(struct end *e)
{
    write_register(e, e->pi);
    if (!e->o.no_record)
        write_record(e, e->pi);
    write_register(e, e->pi);
}

uint32_t post(struct end *e, const struct wr *wr)
{
    uint32_t index = put_wqe(e, wr);
    ring(e);
    return index;
}

void post_recv(struct end *e, void *addr, uint32_t length, uint32_t lkey)
{
    uint32_t n = 1u << e->o.log_rq;
    uint8_t *wqe = e->rq + ((size_t)(e->rq_pi & (n - 1)) << e->o.log_rq_stride);
    struct sn_data_seg *s = (struct sn_data_seg *)(void *)(wqe + (e->o.srq && e->o.srq_linked ? 16 : 0));

    s[0].byte_count = sn_put32(length);
    s[0].lkey = sn_put32(lkey);
    s[0].addr = sn_put64((uintptr_t)addr);
    s[1].byte_count = sn_put32(0);
    s[1].lkey = sn_put32(SN_LKEY_END);
    e->rq_pi++;
    __atomic_store_n(e->o.srq ? e->srq_record : e->record, sn_swap32(e->rq_pi & 0xffff), __ATOMIC_RELEASE);
}

struct wr wr_write(struct end *a, struct end *b, uint32_t from, uint32_t to, uint32_t length)
{
    return (struct wr){.opcode = SN_OPCODE_RDMA_WRITE,
                       .fm_ce_se = 8,
                       .raddr = (uintptr_t)b->mem + to,
                       .rkey = b->mkey,
                       .sge = {{(uintptr_t)a->mem + from, a->mkey, length}},
                       .sges = 1};
}

struct wr wr_read(struct end *a, struct end *b, uint32_t to, uint32_t from, uint32_t length)
{
    struct wr wr = wr_write(a, b, to, from, length);
    wr.opcode = SN_OPCODE_RDMA_READ;
    return wr;
}

struct wr wr_send(struct end *a, uint32_t from, uint32_t length)
{
    return (struct wr){
        .opcode = SN_OPCODE_SEND, .fm_ce_se = 8, .sge = {{(uintptr_t)a->mem + from, a->mkey, length}}, .sges = 1};
}

struct wr wr_fetch_add(struct end *a, struct end *b, uint32_t result, uint32_t counter, uint64_t add)
{
    struct wr wr = wr_write(a, b, result, counter, 8);
    wr.opcode = SN_OPCODE_ATOMIC_FA;
    wr.swap_add = add;
    return wr;
}

/* ---- CQEs ---------------------------------------------------------------------------------------------------- */

static const struct sn_cqe64 *take(struct end *e, const uint8_t *ring, uint32_t *ci, uint32_t *record)
{
    uint32_t mask = (1u << e->o.log_cq) - 1;
    const uint8_t *slot = ring + (size_t)(*ci & mask) * e->o.cqe_size + e->o.cqe_size - 64;
    const struct sn_cqe64 *c = (const struct sn_cqe64 *)(const void *)slot;
    uint8_t own = __atomic_load_n(&c->op_own, __ATOMIC_ACQUIRE);

    if (own >> 4 == SN_CQE_INVALID || (own & 1) != ((*ci >> e->o.log_cq) & 1))
        return NULL;
    ++*ci;
    if (e->o.overrun)
        __atomic_store_n(record, sn_swap32(*ci & 0xffffff), __ATOMIC_RELEASE);
    return c;
}

const struct sn_cqe64 *next_cqe(struct end *e)
{
    return take(e, e->cq, &e->ci, e->cq_record);
}

const struct sn_cqe64 *next_rcqe(struct end *e)
{
    return take(e, e->rcq, &e->rci, e->cq_record + 2);
}

void expect_ok(struct end *e, uint32_t index)
{
    const struct sn_cqe64 *c = next_cqe(e);
    assert_non_null(c);
    if (cqe_opcode(c) != SN_CQE_REQ)
        fail_msg("WQE %u: opcode 0x%x syndrome 0x%02x", index, cqe_opcode(c), cqe_syndrome(c));
    assert_int_equal(sn_get16(c->wqe_counter), index & 0xffff);
    assert_int_equal(sn_get32(c->sop_drop_qpn) & 0xffffff, e->qpn);
}

void expect_error(struct end *e, uint32_t index, uint8_t syndrome)
{
    const struct sn_cqe64 *c = next_cqe(e);
    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), SN_CQE_REQ_ERR);
    assert_int_equal(cqe_syndrome(c), syndrome);
    assert_int_equal(sn_get16(c->wqe_counter), index & 0xffff);
    assert_int_equal(sn_get32(c->sop_drop_qpn) & 0xffffff, e->qpn);
}

void expect_none(struct end *e)
{
    assert_null(next_cqe(e));
}

void fill(uint8_t *p, size_t n, uint32_t seed)
{
    uint32_t x = seed * 2654435761u + 1;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        p[i] = (uint8_t)x;
    }
}
