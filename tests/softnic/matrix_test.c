/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operation over the configurations that change its path: CQ kind, CQE size, ring size, completion mode, between two
 * NICs and in loopback, with index and PSN wraps. Contents are compared with a model of both memories.
 */
#include <stdlib.h>

#include "harness.h"

enum kind {
    WRITE,
    WRITE_INLINE,
    WRITE_IMM,
    WRITE_GATHER,
    WRITE_EMPTY,
    READ,
    READ_SCATTER,
    SEND,
    SEND_INLINE,
    SEND_IMM,
    FETCH_ADD,
    CMP_SWAP,
    MASKED_FA4,
    MASKED_FA8,
    MASKED_CS4,
    MASKED_CS8,
    NOP,
    DUMP,
    KINDS
};

struct setup {
    const char *name;
    struct options o;
    bool loopback;
    unsigned rounds;
};

/* One request of a kind, its expected effect on the peer's memory (or ours), and what the receiver sees. */
struct request {
    struct wr wr;
    uint8_t *where;
    uint8_t expect[4096];
    uint32_t length;
    int rcqe; /* expected receive CQE opcode, -1: none */
    uint32_t bytes;
};

enum { SRC = 0, DST = 1 << 19, LOCAL = 1 << 20, COUNTER = (1 << 20) + (1 << 19) };

static void expect_bytes(struct request *r, uint8_t *where, const void *bytes, uint32_t length)
{
    r->where = where;
    r->length = length;
    if (length != 0)
        memcpy(r->expect, bytes, length);
}

static void make_atomic(struct end *a, struct end *b, enum kind k, uint32_t n, struct request *r)
{
    uint64_t old = 0x1122334455667788ull + n, now;
    uint32_t size = k == MASKED_FA4 || k == MASKED_CS4 ? 4 : 8;
    struct wr *wr = &r->wr;

    *wr = wr_write(a, b, LOCAL, COUNTER, size);
    memcpy(b->mem + COUNTER, &old, 8);
    switch (k) {
    case FETCH_ADD:
        wr->opcode = SN_OPCODE_ATOMIC_FA;
        wr->swap_add = 0xf000000000000001ull;
        now = old + wr->swap_add;
        break;
    case CMP_SWAP:
        wr->opcode = SN_OPCODE_ATOMIC_CS;
        wr->compare = n & 1 ? old : old + 1; /* hits and misses */
        wr->swap_add = 77;
        now = n & 1 ? 77 : old;
        break;
    case MASKED_FA4:
        wr->opcode = SN_OPCODE_ATOMIC_MASKED_FA;
        wr->opmod = SN_OPMOD_MASKED_4;
        wr->compare_mask = 0x80008000; /* two fields of 16 bits */
        wr->swap_add = 0xffff8001;
        now = (old & 0xffffffff00000000ull) | ((((old >> 16) + 0xffff) & 0xffff) << 16) | ((old + 0x8001) & 0xffff);
        break;
    case MASKED_FA8:
        wr->opcode = SN_OPCODE_ATOMIC_MASKED_FA;
        wr->opmod = SN_OPMOD_MASKED_8;
        wr->compare_mask = 1ull << 31; /* 32 + 32 bits */
        wr->swap_add = 0x00000001ffffffffull;
        now = (((old >> 32) + 1) << 32) | ((old + 0xffffffffu) & 0xffffffffu);
        break;
    case MASKED_CS4:
        wr->opcode = SN_OPCODE_ATOMIC_MASKED_CS;
        wr->opmod = SN_OPMOD_MASKED_4;
        wr->compare = old & 0xff;
        wr->compare_mask = 0xff;
        wr->swap_add = 0xabcd0000;
        wr->swap_mask = 0xffff0000;
        now = (old & 0xffffffff0000ffffull) | 0xabcd0000u;
        break;
    default:
        wr->opcode = SN_OPCODE_ATOMIC_MASKED_CS;
        wr->opmod = SN_OPMOD_MASKED_8;
        wr->compare = old ^ 0xff00; /* differs where the mask does not look */
        wr->compare_mask = ~0xff00ull;
        wr->swap_add = 0x55ull << 56;
        wr->swap_mask = 0xffull << 56;
        now = (old & ~(0xffull << 56)) | 0x55ull << 56;
        break;
    }
    expect_bytes(r, b->mem + COUNTER, &now, 8);
    memset(a->mem + LOCAL, 0xee, 16);
}

static void check_atomic_result(struct end *a, enum kind k, uint32_t n)
{
    uint64_t old = 0x1122334455667788ull + n;
    uint32_t size = k == MASKED_FA4 || k == MASKED_CS4 ? 4 : 8;

    assert_memory_equal(a->mem + LOCAL, &old, size);
    for (uint32_t i = size; i < 16; i++)
        assert_int_equal(a->mem[LOCAL + i], 0xee);
}

static void make(struct end *a, struct end *b, enum kind k, uint32_t n, struct request *r)
{
    static const uint32_t sizes[] = {1, 7, 8, 12, 64, 255, 1024, 1025, 3000, 4096};
    uint32_t length = sizes[n % 10], off = (n * 13) % 50;
    const uint8_t *src = a->mem + SRC + off;

    memset(r, 0, sizeof(*r));
    r->rcqe = -1;
    r->bytes = length;
    switch (k) {
    case WRITE:
        r->wr = wr_write(a, b, SRC + off, DST + off, length);
        expect_bytes(r, b->mem + DST + off, src, length);
        break;
    case WRITE_INLINE:
        length = n % 2 ? 12 : 8 + n % 200;
        r->wr = wr_write(a, b, 0, DST + off, 0);
        r->wr.sges = 0;
        r->wr.inl = src;
        r->wr.inl_length = length;
        expect_bytes(r, b->mem + DST + off, src, length);
        break;
    case WRITE_IMM:
        r->wr = wr_write(a, b, SRC + off, DST + off, length);
        r->wr.opcode = SN_OPCODE_RDMA_WRITE_IMM;
        r->wr.imm = 0x04030201u + n;
        expect_bytes(r, b->mem + DST + off, src, length);
        r->rcqe = SN_CQE_RESP_WR_IMM;
        break;
    case WRITE_GATHER: /* three pieces, the middle one empty */
        r->wr = wr_write(a, b, SRC + off, DST + off, length);
        r->wr.sges = 4;
        r->wr.sge[1] = r->wr.sge[0];
        r->wr.sge[1].length = 0;
        r->wr.sge[1].lkey = 0xbad;
        r->wr.sge[2] = r->wr.sge[0];
        r->wr.sge[3] = r->wr.sge[0];
        r->wr.sge[0].length = length / 3;
        r->wr.sge[2].addr += length / 3;
        r->wr.sge[2].length = length / 3;
        r->wr.sge[3].addr += length / 3 * 2;
        r->wr.sge[3].length = length - length / 3 * 2;
        expect_bytes(r, b->mem + DST + off, src, length);
        break;
    case WRITE_EMPTY:
        r->wr = wr_write(a, b, SRC, DST, 0);
        r->wr.rkey = 0xbad; /* no bytes, no key */
        r->wr.sges = n & 1;
        break;
    case READ:
        r->wr = wr_read(a, b, LOCAL + off, DST + off, length);
        expect_bytes(r, a->mem + LOCAL + off, b->mem + DST + off, length);
        break;
    case READ_SCATTER:
        r->wr = wr_read(a, b, LOCAL + off, DST + off, length);
        r->wr.sges = 2;
        r->wr.sge[1] = r->wr.sge[0];
        r->wr.sge[0].length = length / 2;
        r->wr.sge[1].addr += length / 2;
        r->wr.sge[1].length = length - length / 2;
        expect_bytes(r, a->mem + LOCAL + off, b->mem + DST + off, length);
        break;
    case SEND:
    case SEND_IMM:
        r->wr = wr_send(a, SRC + off, length);
        if (k == SEND_IMM) {
            r->wr.opcode = SN_OPCODE_SEND_IMM;
            r->wr.imm = 0x99000000u + n;
        }
        expect_bytes(r, b->mem + DST + off, src, length);
        r->rcqe = k == SEND ? SN_CQE_RESP_SEND : SN_CQE_RESP_SEND_IMM;
        break;
    case SEND_INLINE:
        r->wr = wr_send(a, 0, 0);
        r->wr.sges = 0;
        r->wr.inl = src;
        r->bytes = r->wr.inl_length = 1 + n % 100;
        expect_bytes(r, b->mem + DST + off, src, r->bytes);
        r->rcqe = SN_CQE_RESP_SEND;
        break;
    case NOP:
        r->wr = (struct wr){.opcode = SN_OPCODE_NOP};
        break;
    case DUMP:
        r->wr = (struct wr){.opcode = SN_OPCODE_DUMP, .sge = {{(uintptr_t)a->mem, a->mkey, 64}}, .sges = 1};
        break;
    default:
        make_atomic(a, b, k, n, r);
        break;
    }
    if (r->rcqe >= 0 && k != WRITE_IMM)
        post_recv(b, b->mem + DST + off, 5000, b->mkey);
    else if (k == WRITE_IMM)
        post_recv(b, NULL, 0, 0);
}

static void check_receive(struct end *b, const struct request *r)
{
    const struct sn_cqe64 *c = next_rcqe(b);

    if (r->rcqe < 0) {
        assert_null(c);
        return;
    }
    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), r->rcqe);
    assert_int_equal(sn_get32(c->byte_cnt), r->bytes);
    assert_int_equal(sn_get32(c->sop_drop_qpn) & 0xffffff, b->qpn);
    assert_int_equal(sn_get32(c->srqn_uidx), 0x123456);
    if (r->rcqe != SN_CQE_RESP_SEND)
        assert_int_equal(c->imm, r->wr.imm);
    assert_int_equal((c->op_own & SN_CQE_SOLICITED) != 0, (r->wr.fm_ce_se & SN_WQE_SOLICITED) != 0);
}

/* A collapsed CQ shows its last CQE in slot 0, whatever the count. */
static void check_completion(struct end *a, uint32_t index, bool signalled, uint32_t *count)
{
    uint32_t produced;

    sn_cq_producer(a->nic, a->cqn, &produced);
    *count += signalled;
    assert_int_equal(produced, *count);
    if (!signalled)
        return;
    if (!a->o.collapsed) {
        expect_ok(a, index);
        return;
    }
    const struct sn_cqe64 *c = (const struct sn_cqe64 *)(const void *)(a->cq + a->o.cqe_size - 64);
    assert_int_equal(cqe_opcode(c), SN_CQE_REQ);
    assert_int_equal(sn_get16(c->wqe_counter), index & 0xffff);
}

static void run_setup(const struct setup *s)
{
    static struct request r;
    struct world w;
    struct end a, b, *peer;
    uint32_t count = 0, blocks;

    world_open(&w, &s->o);
    end_open(&a, &w, 0, &s->o);
    end_open(&b, &w, 1, &s->o);
    peer = s->loopback ? &a : &b;
    ends_connect(&a, peer);
    fill(a.mem + SRC, 8192, 5);
    for (uint32_t n = 0; n < s->rounds; n++)
        for (unsigned k = 0; k < KINDS; k++) {
            uint8_t ce = (n + k) % 3 == 0 ? SN_CE_ON_ERROR : (n + k) % 3 == 1 ? SN_CE_ALWAYS : SN_CE_ALWAYS_EQE;
            blocks = 1u << s->o.log_sq;
            make(&a, peer, (enum kind)k, n, &r);
            r.wr.fm_ce_se = (uint8_t)(ce << 2) | (n & 1 ? SN_WQE_SOLICITED : 0);
            uint32_t before = a.pi;
            uint32_t index = put_wqe(&a, &r.wr);
            if (a.pi - before > blocks) { /* does not fit this ring at all: not this test's business */
                a.pi = before;
                if (r.rcqe >= 0)
                    fail_msg("a receive was posted for nothing");
                continue;
            }
            ring(&a);
            world_run(&w);
            check_completion(&a, index, ce >= SN_CE_ALWAYS, &count);
            if (r.length != 0)
                assert_memory_equal(r.where, r.expect, r.length);
            if (k >= FETCH_ADD && k <= MASKED_CS8)
                check_atomic_result(&a, (enum kind)k, n);
            if (!s->o.collapsed || r.rcqe < 0)
                check_receive(peer, &r);
            else
                peer->rci++;
        }
    assert_int_equal(end_state(&a), SN_QP_RTS);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

#define SETUP(label, loop, n, ...)                                                                                         \
    static void test_##label(void **state)                                                                                 \
    {                                                                                                                      \
        struct setup s = {.name = #label, .o = defaults, .loopback = loop, .rounds = n};                                   \
        struct options *o = &s.o;                                                                                          \
        (void)state;                                                                                                       \
        (void)o;                                                                                                           \
        __VA_ARGS__;                                                                                                       \
        run_setup(&s);                                                                                                     \
    }

SETUP(plain, false, 100, )
SETUP(loopback, true, 100, )
SETUP(cqe128, false, 60, o->cqe_size = 128)
SETUP(collapsed, false, 60, o->collapsed = true)
SETUP(collapsed128, true, 30, o->collapsed = true; o->cqe_size = 128)
SETUP(big_rings, false, 60, o->log_sq = 15; o->log_cq = 16)
SETUP(small_cq, false, 60, o->log_cq = 0)
SETUP(small_ring, false, 60, o->log_sq = 3; o->log_cq = 1)
SETUP(overrun_watched, false, 60, o->overrun = true)
SETUP(no_record, false, 60, o->no_record = true)
SETUP(psn_wrap, false, 60, o->psn = 0xfffff8)
SETUP(mtu256, false, 40, o->mtu = 1)
SETUP(mtu4096, true, 40, o->mtu = 5)
SETUP(one_packet_bursts, false, 60, o->burst_bytes = 1)
SETUP(srq_cyclic, false, 60, o->srq = true)
SETUP(srq_linked, false, 60, o->srq = true; o->srq_linked = true)
/* 18 operations and 20-odd basic blocks a round: the 16-bit index wraps. */
SETUP(index_wrap, false, 3300, o->log_sq = 4)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),         cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_cqe128),        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_collapsed128),  cmocka_unit_test(test_big_rings),
        cmocka_unit_test(test_small_cq),      cmocka_unit_test(test_small_ring),
        cmocka_unit_test(test_overrun_watched), cmocka_unit_test(test_no_record),
        cmocka_unit_test(test_psn_wrap),      cmocka_unit_test(test_mtu256),
        cmocka_unit_test(test_mtu4096),       cmocka_unit_test(test_one_packet_bursts),
        cmocka_unit_test(test_srq_cyclic),    cmocka_unit_test(test_srq_linked),
        cmocka_unit_test(test_index_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
