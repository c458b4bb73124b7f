/* SPDX-License-Identifier: Apache-2.0 */
/* The extended calls beside the classic ones: the same requests give the same completions and the same bytes. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pair.h"

enum {
    ALL_RC = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
             IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
             IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV,
    ALL_UC = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
             IBV_QP_EX_WITH_SEND_WITH_IMM,
    ALL_UD = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
    FROM = 0, RESULT = 4096, TO = 8192, RECEIVE = 16384, /* offsets in a side's memory */
    WR_ID = 77, RECV_ID = 99,
};

enum fill { FILL_SGE, FILL_LIST, FILL_INLINE, FILL_INLINE_LIST, FILL_NONE };

struct request {
    const char *name;
    enum ibv_wr_opcode opcode;
    enum fill fill;
    uint32_t length; /* in two pieces where there is a list */
    unsigned services; /* 1 << enum ibv_qp_type */
    int bad_key;       /* the remote key is none */
};

#define RC (1u << IBV_QPT_RC)
#define UC (1u << IBV_QPT_UC)
#define UD (1u << IBV_QPT_UD)

static const struct request requests[] = {
    {"write", IBV_WR_RDMA_WRITE, FILL_SGE, 100, RC | UC, 0},
    {"write of nothing", IBV_WR_RDMA_WRITE, FILL_NONE, 0, RC | UC, 0},
    {"write, list", IBV_WR_RDMA_WRITE, FILL_LIST, 3000, RC | UC, 0},
    {"write, inline", IBV_WR_RDMA_WRITE, FILL_INLINE, 33, RC | UC, 0},
    {"write, inline list", IBV_WR_RDMA_WRITE, FILL_INLINE_LIST, 64, RC | UC, 0},
    {"write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, FILL_SGE, 12, RC | UC, 0},
    {"send", IBV_WR_SEND, FILL_SGE, 500, RC | UC | UD, 0},
    {"send of nothing", IBV_WR_SEND, FILL_NONE, 0, RC | UC | UD, 0},
    {"send, list", IBV_WR_SEND, FILL_LIST, 500, RC | UC | UD, 0},
    {"send, inline", IBV_WR_SEND, FILL_INLINE, 1, RC | UC | UD, 0},
    {"send with immediate", IBV_WR_SEND_WITH_IMM, FILL_INLINE_LIST, 40, RC | UC | UD, 0},
    {"read", IBV_WR_RDMA_READ, FILL_SGE, 2500, RC, 0},
    {"read, list", IBV_WR_RDMA_READ, FILL_LIST, 64, RC, 0},
    {"compare and swap", IBV_WR_ATOMIC_CMP_AND_SWP, FILL_SGE, 8, RC, 0},
    {"fetch and add", IBV_WR_ATOMIC_FETCH_AND_ADD, FILL_SGE, 8, RC, 0},
    {"write, no such key", IBV_WR_RDMA_WRITE, FILL_SGE, 100, RC, 1},
    {"send with invalidate, no such key", IBV_WR_SEND_WITH_INV, FILL_SGE, 100, RC, 1},
};

static const uint64_t add = 0x1122334455667788u, compare = 0x0102030405060708u, swap = 0xa1a2a3a4a5a6a7a8u;
static const uint32_t imm = 0x12345678;

static unsigned pieces(const struct request *r, struct side *s, struct ibv_sge sge[2])
{
    uint64_t local = (uintptr_t)s->mem + (r->opcode == IBV_WR_RDMA_READ || r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
                                                  r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
                                              ? RESULT
                                              : FROM);
    uint32_t first = r->fill == FILL_LIST || r->fill == FILL_INLINE_LIST ? r->length / 3 : r->length;

    sge[0] = (struct ibv_sge){.addr = local, .length = first, .lkey = s->mr->lkey};
    sge[1] = (struct ibv_sge){.addr = local + first, .length = r->length - first, .lkey = s->mr->lkey};
    return r->fill == FILL_NONE ? 0 : first == r->length ? 1 : 2;
}

static void post_classic(const struct request *r, struct side *s, struct side *peer)
{
    struct ibv_sge sge[2];
    struct ibv_send_wr wr = {.wr_id = WR_ID, .opcode = r->opcode, .sg_list = sge, .send_flags = IBV_SEND_SIGNALED}, *bad;

    wr.num_sge = (int)pieces(r, s, sge);
    if (r->fill == FILL_INLINE || r->fill == FILL_INLINE_LIST)
        wr.send_flags |= IBV_SEND_INLINE;
    wr.imm_data = htobe32(imm);
    if (r->opcode == IBV_WR_SEND_WITH_INV)
        wr.invalidate_rkey = 0x99999999;
    if (r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = (uintptr_t)peer->mem + TO;
        wr.wr.atomic.rkey = peer->mr->rkey;
        wr.wr.atomic.compare_add = r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? add : compare;
        wr.wr.atomic.swap = swap;
    } else if (s->ah) {
        wr.wr.ud.ah = s->ah;
        wr.wr.ud.remote_qpn = peer->qp->qp_num;
        wr.wr.ud.remote_qkey = PAIR_QKEY;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)peer->mem + TO;
        wr.wr.rdma.rkey = r->bad_key ? ~peer->mr->rkey : peer->mr->rkey;
    }
    assert_int_equal(ibv_post_send(s->qp, &wr, &bad), 0);
}

static void begin(const struct request *r, struct ibv_qp_ex *ex, struct side *peer)
{
    uint64_t to = (uintptr_t)peer->mem + TO;
    uint32_t rkey = r->bad_key ? ~peer->mr->rkey : peer->mr->rkey;

    switch (r->opcode) {
    case IBV_WR_RDMA_WRITE:
        ibv_wr_rdma_write(ex, rkey, to);
        break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(ex, rkey, to, htobe32(imm));
        break;
    case IBV_WR_RDMA_READ:
        ibv_wr_rdma_read(ex, rkey, to);
        break;
    case IBV_WR_SEND:
        ibv_wr_send(ex);
        break;
    case IBV_WR_SEND_WITH_IMM:
        ibv_wr_send_imm(ex, htobe32(imm));
        break;
    case IBV_WR_SEND_WITH_INV:
        ibv_wr_send_inv(ex, 0x99999999);
        break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        ibv_wr_atomic_cmp_swp(ex, rkey, to, compare, swap);
        break;
    default:
        ibv_wr_atomic_fetch_add(ex, rkey, to, add);
        break;
    }
}

/* `late`: a datagram's address comes behind its data. */
static void post_extended(const struct request *r, struct side *s, struct side *peer, bool late)
{
    struct ibv_sge sge[2];
    unsigned n = pieces(r, s, sge);
    struct ibv_data_buf buf[2];

    for (unsigned i = 0; i < 2; i++)
        buf[i] = (struct ibv_data_buf){(void *)(uintptr_t)sge[i].addr, sge[i].length};
    ibv_wr_start(s->ex);
    s->ex->wr_id = WR_ID;
    s->ex->wr_flags = IBV_SEND_SIGNALED;
    begin(r, s->ex, peer);
    if (s->ah && !late)
        ibv_wr_set_ud_addr(s->ex, s->ah, peer->qp->qp_num, PAIR_QKEY);
    if (r->fill == FILL_SGE)
        ibv_wr_set_sge(s->ex, sge[0].lkey, sge[0].addr, sge[0].length);
    else if (r->fill == FILL_LIST)
        ibv_wr_set_sge_list(s->ex, n, sge);
    else if (r->fill == FILL_INLINE)
        ibv_wr_set_inline_data(s->ex, buf[0].addr, buf[0].length);
    else if (r->fill == FILL_INLINE_LIST)
        ibv_wr_set_inline_data_list(s->ex, n, buf);
    if (s->ah && late)
        ibv_wr_set_ud_addr(s->ex, s->ah, peer->qp->qp_num, PAIR_QKEY);
    assert_int_equal(ibv_wr_complete(s->ex), 0);
}

/* ---- one table, four ways ------------------------------------------------------------------------------------------ */

struct outcome {
    struct told sent, received;
    bool has_received;
    uint8_t mem[2][RECEIVE + 4096]; /* both sides' */
};

static void prepare(struct side *s, unsigned seed)
{
    for (unsigned i = 0; i < PAIR_BYTES; i++)
        s->mem[i] = (uint8_t)(i * 31 + i / 256 + seed);
    memcpy(s->mem + TO, &compare, 8); /* what the compare-and-swap finds */
}

static bool receives(const struct request *r)
{
    return r->opcode != IBV_WR_RDMA_WRITE && r->opcode != IBV_WR_RDMA_READ && r->opcode != IBV_WR_ATOMIC_CMP_AND_SWP &&
           r->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void run(const struct request *r, enum ibv_qp_type type, unsigned way, struct outcome *out)
{
    bool ex_post = way & 1, ex_poll = way & 2;
    struct pair_options o = {.type = type,
                             .send_ops = !ex_post ? 0 : type == IBV_QPT_RC ? ALL_RC : type == IBV_QPT_UC ? ALL_UC : ALL_UD,
                             .ex_cq = ex_poll,
                             .wc_flags = IBV_WC_STANDARD_FLAGS};
    struct pair p;

    memset(out, 0, sizeof(*out));
    pair_open(&p, &o);
    for (unsigned i = 0; i < 2; i++)
        prepare(&p.side[i], i);
    pair_post_recv(&p.side[1], RECV_ID, RECEIVE, 4096);
    if (ex_post)
        post_extended(r, &p.side[0], &p.side[1], way & 4);
    else
        post_classic(r, &p.side[0], &p.side[1]);
    out->sent = pair_wait(&p.side[0], p.side[0].scq, ex_poll);
    out->has_received = receives(r);
    if (out->has_received)
        out->received = pair_wait(&p.side[1], p.side[1].rcq, ex_poll);
    else if (type == IBV_QPT_UC && !r->bad_key) { /* nothing says when it has arrived */
        time_t end = time(NULL) + 60;
        while (memcmp(p.side[0].mem + FROM, p.side[1].mem + TO, r->length) != 0 && time(NULL) <= end)
            (void)pair_poll(&p.side[1], p.side[1].rcq, ex_poll, &out->received);
    }
    if (r->opcode == IBV_WR_RDMA_WRITE && !r->bad_key)
        assert_memory_equal(p.side[0].mem + FROM, p.side[1].mem + TO, r->length);
    assert_int_equal(out->sent.qp_num, p.side[0].qp->qp_num);
    out->sent.qp_num = 0;
    if (out->has_received) {
        assert_int_equal(out->received.qp_num, p.side[1].qp->qp_num);
        if (type == IBV_QPT_UD)
            assert_int_equal(out->received.src_qp, p.side[0].qp->qp_num);
        out->received.qp_num = out->received.src_qp = 0;
    }
    for (int i = 0; i < 2; i++)
        memcpy(out->mem[i], p.side[i].mem, sizeof(out->mem[i]));
    pair_close(&p);
}

static void expect_meaning(const struct request *r, const struct outcome *o)
{
    assert_int_equal(o->sent.wr_id, WR_ID);
    assert_int_equal(o->sent.status, r->bad_key ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
    if (!o->has_received)
        return;
    assert_int_equal(o->received.wr_id, RECV_ID);
    if (r->bad_key)
        return;
    assert_int_equal(o->received.status, IBV_WC_SUCCESS);
    assert_int_equal(o->received.opcode,
                     r->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
    bool with_imm = r->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || r->opcode == IBV_WR_SEND_WITH_IMM;
    assert_int_equal((o->received.wc_flags & IBV_WC_WITH_IMM) != 0, with_imm);
    if (with_imm)
        assert_int_equal(o->received.imm, htobe32(imm));
}

static void same_by_every_way(void **state)
{
    static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    static struct outcome first, other;
    (void)state;

    for (unsigned t = 0; t < 3; t++)
        for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
            const struct request *r = &requests[i];
            if (!(r->services & 1u << types[t]))
                continue;
            run(r, types[t], 0, &first);
            expect_meaning(r, &first);
            for (unsigned way = 1; way < (types[t] == IBV_QPT_UD ? 8 : 4); way++) {
                if (way == 4 || way == 6)
                    continue; /* the classic call has no order of setters */
                run(r, types[t], way, &other);
                if (memcmp(&first, &other, sizeof(first)) != 0)
                    fail_msg("%s, type %d, way %u: completions or memory differ", r->name, types[t], way);
            }
        }
}

/* ---- batches ------------------------------------------------------------------------------------------------------- */

static void expect_nothing(struct side *s)
{
    struct told t;

    for (int i = 0; i < 100; i++)
        assert_false(pair_poll(s, s->scq, false, &t));
}

static void write_one(struct side *s, struct side *peer, uint64_t wr_id, uint32_t offset, unsigned flags)
{
    s->ex->wr_id = wr_id;
    s->ex->wr_flags = flags;
    ibv_wr_rdma_write(s->ex, peer->mr->rkey, (uintptr_t)peer->mem + TO + offset);
    ibv_wr_set_sge(s->ex, s->mr->lkey, (uintptr_t)s->mem + FROM + offset, 8);
}

static void batches(void **state)
{
    struct pair_options o = {.send_ops = ALL_RC};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side *a = &p.side[0], *b = &p.side[1];
    prepare(a, 1);

    ibv_wr_start(a->ex); /* nothing at all */
    assert_int_equal(ibv_wr_complete(a->ex), 0);
    expect_nothing(a);

    ibv_wr_start(a->ex); /* given up: nothing of it happens */
    for (int i = 0; i < 3; i++)
        write_one(a, b, 100, 512, IBV_SEND_SIGNALED);
    ibv_wr_abort(a->ex);
    expect_nothing(a);

    ibv_wr_start(a->ex); /* the second is bad: none of the three is posted */
    write_one(a, b, 200, 512, IBV_SEND_SIGNALED);
    ibv_wr_rdma_write(a->ex, b->mr->rkey, (uintptr_t)b->mem + TO);
    ibv_wr_set_inline_data(a->ex, a->mem, 100000);
    write_one(a, b, 201, 512, IBV_SEND_SIGNALED);
    assert_int_equal(ibv_wr_complete(a->ex), EINVAL);
    expect_nothing(a);
    for (int i = 0; i < 8; i++)
        assert_int_equal(b->mem[TO + 512 + i], 0);

    ibv_wr_start(a->ex); /* eight, and one signaled: its completion stands for all */
    for (uint32_t i = 0; i < 8; i++)
        write_one(a, b, 300 + i, i * 8, i == 7 ? IBV_SEND_SIGNALED : 0);
    assert_int_equal(ibv_wr_complete(a->ex), 0);
    assert_int_equal(pair_wait(a, a->scq, false).wr_id, 307);
    assert_memory_equal(a->mem + FROM, b->mem + TO, 64);

    struct ibv_qp_attr qa; /* more than there is room for: none */
    struct ibv_qp_init_attr init;
    assert_int_equal(softnic_ibv_query_qp(a->qp, &qa, IBV_QP_CAP, &init), 0);
    for (uint32_t round = 0; round < 3; round++) {
        ibv_wr_start(a->ex);
        for (uint32_t i = 0; i <= init.cap.max_send_wr; i++)
            write_one(a, b, 400, 512, IBV_SEND_SIGNALED);
        assert_int_equal(ibv_wr_complete(a->ex), ENOMEM);
        expect_nothing(a);
        ibv_wr_start(a->ex); /* as many as fit, all around the ring */
        for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
            write_one(a, b, 500 + i, 0, IBV_SEND_SIGNALED);
        assert_int_equal(ibv_wr_complete(a->ex), 0);
        for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
            assert_int_equal(pair_wait(a, a->scq, false).wr_id, 500 + i);
    }
    pair_close(&p);
}

static void bad_setters(void **state)
{
    struct pair_options o = {.type = IBV_QPT_UD, .send_ops = ALL_UD};
    struct pair p;
    struct ibv_sge sge[40] = {{0}};
    (void)state;

    pair_open(&p, &o);
    struct side *a = &p.side[0];
    ibv_wr_start(a->ex); /* nobody to send it to */
    ibv_wr_send(a->ex);
    ibv_wr_set_sge(a->ex, a->mr->lkey, (uintptr_t)a->mem, 8);
    assert_int_equal(ibv_wr_complete(a->ex), EINVAL);
    ibv_wr_start(a->ex); /* data twice */
    ibv_wr_send(a->ex);
    ibv_wr_set_ud_addr(a->ex, a->ah, 1, 1);
    ibv_wr_set_sge(a->ex, a->mr->lkey, (uintptr_t)a->mem, 8);
    ibv_wr_set_sge(a->ex, a->mr->lkey, (uintptr_t)a->mem, 8);
    assert_int_equal(ibv_wr_complete(a->ex), EINVAL);
    ibv_wr_start(a->ex); /* a list longer than the queue's */
    ibv_wr_send(a->ex);
    ibv_wr_set_ud_addr(a->ex, a->ah, 1, 1);
    ibv_wr_set_sge_list(a->ex, 40, sge);
    assert_int_equal(ibv_wr_complete(a->ex), EINVAL);
    ibv_wr_start(a->ex); /* an address handle of another device */
    ibv_wr_send(a->ex);
    ibv_wr_set_ud_addr(a->ex, p.side[1].ah, 1, 1);
    assert_int_equal(ibv_wr_complete(a->ex), EINVAL);
    pair_close(&p);

    o = (struct pair_options){.send_ops = ALL_RC};
    pair_open(&p, &o);
    a = &p.side[0];
    assert_null(a->ex->wr_local_inv); /* what was not asked for is not there */
    ibv_wr_start(a->ex);
    ibv_wr_rdma_read(a->ex, p.side[1].mr->rkey, (uintptr_t)p.side[1].mem);
    ibv_wr_set_inline_data(a->ex, a->mem, 8); /* there is nothing to take inline data */
    assert_int_equal(ibv_wr_complete(a->ex), EINVAL);
    assert_int_equal(pair_move(a->qp, IBV_QPS_RESET), 0);
    ibv_wr_start(a->ex);
    write_one(a, &p.side[1], 1, 0, 0);
    assert_int_equal(ibv_wr_complete(a->ex), EINVAL); /* not in this state */
    pair_close(&p);
}

static void what_is_refused(void **state)
{
    struct pair_options o = {0};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side *a = &p.side[0];
    static const uint64_t ops[] = {IBV_QP_EX_WITH_TSO, IBV_QP_EX_WITH_ATOMIC_WRITE, 1ull << 40};
    for (unsigned i = 0; i < 3; i++) {
        struct ibv_qp_init_attr_ex attr = {.send_cq = a->scq,
                                           .recv_cq = a->rcq,
                                           .cap = {.max_send_wr = 1, .max_send_sge = 1},
                                           .qp_type = IBV_QPT_RC,
                                           .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                           .pd = a->pd,
                                           .send_ops_flags = ops[i]};
        assert_null(ibv_create_qp_ex(a->context, &attr));
        assert_int_equal(errno, EOPNOTSUPP);
        attr.qp_type = IBV_QPT_UD;
        attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE; /* no such thing for datagrams */
        assert_null(ibv_create_qp_ex(a->context, &attr));
        assert_int_equal(errno, EOPNOTSUPP);
        attr.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        assert_null(ibv_create_qp_ex(a->context, &attr));
        assert_int_equal(errno, EINVAL);
        attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
        assert_null(ibv_create_qp_ex(a->context, &attr));
        assert_int_equal(errno, EOPNOTSUPP);
    }
    struct ibv_cq_init_attr_ex cq = {.cqe = 4, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG};
    assert_null(ibv_create_cq_ex(a->context, &cq));
    assert_int_equal(errno, EOPNOTSUPP);
    cq = (struct ibv_cq_init_attr_ex){.cqe = 4, .wc_flags = IBV_WC_EX_WITH_TM_INFO};
    assert_null(ibv_create_cq_ex(a->context, &cq));
    assert_int_equal(errno, EOPNOTSUPP);
    cq = (struct ibv_cq_init_attr_ex){.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1u << 31};
    assert_null(ibv_create_cq_ex(a->context, &cq));
    assert_int_equal(errno, EOPNOTSUPP);
    cq = (struct ibv_cq_init_attr_ex){.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = p.side[1].pd};
    assert_null(ibv_create_cq_ex(a->context, &cq)); /* of another device */
    assert_int_equal(errno, EINVAL);
    cq = (struct ibv_cq_init_attr_ex){.cqe = 0xffffffff};
    assert_null(ibv_create_cq_ex(a->context, &cq));
    assert_int_equal(errno, EINVAL);
    pair_close(&p);
}

/* ---- polling -------------------------------------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void several_in_a_row(void **state)
{
    struct pair_options o = {.send_ops = ALL_RC,
                             .ex_cq = true,
                             .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_CVLAN,
                             .cq_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
    struct ibv_poll_cq_attr attr = {.comp_mask = 1};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side *a = &p.side[0], *b = &p.side[1];
    struct ibv_cq_ex *cq = (struct ibv_cq_ex *)(void *)a->scq;
    assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
    attr.comp_mask = 0;
    assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
    assert_null(cq->read_qp_num); /* not asked for */
    for (int round = 0; round < 20; round++) { /* more than the ring holds, so the ring's end is passed */
        ibv_wr_start(a->ex);
        for (uint32_t i = 0; i < 10; i++)
            write_one(a, b, 1000 + i, 0, IBV_SEND_SIGNALED);
        assert_int_equal(ibv_wr_complete(a->ex), 0);
        for (uint32_t got = 0; got < 10;) {
            if (ibv_start_poll(cq, &attr))
                continue;
            do {
                assert_int_equal(cq->wr_id, 1000 + got);
                assert_int_equal(cq->status, IBV_WC_SUCCESS);
                assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
                assert_int_equal(ibv_wc_read_cvlan(cq), 0);
                got++;
            } while (ibv_next_poll(cq) == 0);
            ibv_end_poll(cq);
        }
    }
    pair_close(&p);
}

static void times(void **state)
{
    struct pair_options o = {.ex_cq = true,
                             .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                         IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
    static const uint64_t step = 10000000000u; /* the wall clock may be set meanwhile, but hardly by more */
    uint64_t last = 0;
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct ibv_device_attr_ex device;
    assert_int_equal(ibv_query_device_ex(p.side[0].context, NULL, &device), 0);
    assert_true(device.completion_timestamp_mask == UINT64_MAX);
    assert_int_equal(device.hca_core_clock, 1000000); /* kHz */
    for (int i = 0; i < 50; i++) {
        struct told t[2];
        uint64_t before = clock_ns(CLOCK_MONOTONIC), wall = clock_ns(CLOCK_REALTIME);
        pair_post_recv(&p.side[1], RECV_ID, RECEIVE, 4096);
        post_classic(&requests[6], &p.side[0], &p.side[1]);
        t[0] = pair_wait(&p.side[0], p.side[0].scq, true);
        t[1] = pair_wait(&p.side[1], p.side[1].rcq, true);
        uint64_t after = clock_ns(CLOCK_MONOTONIC);
        for (int k = 0; k < 2; k++) {
            assert_true(t[k].completion_ts >= before && t[k].completion_ts <= after);
            assert_true(t[k].wallclock + step >= wall && t[k].wallclock <= clock_ns(CLOCK_REALTIME) + step);
        }
        assert_true(t[0].completion_ts >= last);
        last = t[0].completion_ts;
    }
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_by_every_way), cmocka_unit_test(batches),          cmocka_unit_test(bad_setters),
        cmocka_unit_test(what_is_refused),   cmocka_unit_test(several_in_a_row), cmocka_unit_test(times),
    };
    pair_environment();
    setenv("SOFTNIC_LOG", "off", 0); /* refusals are what is tested */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
