/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table tests of exec: one body for C, C++ and CUDA, host or device. Each check returns through a counter, since a
 * kernel has no assert that a test could catch: exec_table_run returns the number of checks, and how many failed with the
 * line of the first.
 */
#ifndef TESTS_SOFTNIC_EXEC_TABLE_H
#define TESTS_SOFTNIC_EXEC_TABLE_H

#include "softnic/exec/atomic.h"
#include "softnic/exec/cqe.h"
#include "softnic/exec/doorbell.h"
#include "softnic/exec/mkey.h"
#include "softnic/exec/state.h"
#include "softnic/exec/wqe.h"
#include "format/bth.h"

struct exec_table_result {
    uint32_t checks, failed, first_line;
};

SN_FN void exec_table_check(struct exec_table_result *r, int ok, uint32_t line)
{
    r->checks++;
    if (ok)
        return;
    if (r->failed++ == 0)
        r->first_line = line;
}

#define EXEC_CHECK(ok) exec_table_check(r, (ok), __LINE__)

struct exec_raw {
    sn_word word[32]; /* 16 segments */
};

SN_FN uint8_t *exec_seg(struct exec_raw *raw, uint32_t n)
{
    return (uint8_t *)(void *)raw + n * SN_WQE_SEG;
}

SN_FN void exec_ctrl(struct exec_raw *raw, uint8_t opcode, uint8_t opmod, uint16_t index, uint32_t ds, uint8_t fm_ce_se)
{
    struct sn_ctrl_seg *c = (struct sn_ctrl_seg *)(void *)raw;
    for (int i = 0; i < 32; i++)
        raw->word[i] = 0xccccccccccccccccull;
    c->opmod_idx_opcode = sn_put32(((uint32_t)opmod << 24) | ((uint32_t)index << 8) | opcode);
    c->qpn_ds = sn_put32((0x123456u << 8) | ds);
    c->fm_ce_se = fm_ce_se;
    c->imm = 0x01020304;
}

SN_FN void exec_data(struct exec_raw *raw, uint32_t seg, uint64_t addr, uint32_t lkey, uint32_t count)
{
    struct sn_data_seg *d = (struct sn_data_seg *)(void *)exec_seg(raw, seg);
    d->byte_count = sn_put32(count);
    d->lkey = sn_put32(lkey);
    d->addr = sn_put64(addr);
}

SN_FN void exec_raddr(struct exec_raw *raw, uint64_t raddr, uint32_t rkey)
{
    struct sn_raddr_seg *s = (struct sn_raddr_seg *)(void *)exec_seg(raw, 1);
    s->raddr = sn_put64(raddr);
    s->rkey = sn_put32(rkey);
}

SN_FN enum sn_fault exec_parse(struct exec_raw *raw, struct sn_wqe *w)
{
    return sn_wqe_parse((const uint8_t *)raw, 16, 1u << 30, w);
}

SN_FN void exec_table_wqe(struct exec_table_result *r)
{
    struct exec_raw raw;
    struct sn_wqe w;

    exec_ctrl(&raw, SN_OPCODE_RDMA_WRITE, 0, 0xfffe, 4, 8 | 2 << 5 | 2);
    exec_raddr(&raw, 0x1122334455667788ull, 0xa1b2c3d4);
    exec_data(&raw, 2, 0x1000, 7, 100);
    exec_data(&raw, 3, 0x2000, 8, 23);
    EXEC_CHECK(sn_ctrl_matches((struct sn_ctrl_seg *)(void *)&raw, 0x123456, 0xfffe));
    EXEC_CHECK(!sn_ctrl_matches((struct sn_ctrl_seg *)(void *)&raw, 0x123457, 0xfffe));
    EXEC_CHECK(!sn_ctrl_matches((struct sn_ctrl_seg *)(void *)&raw, 0x123456, 0xffff));
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_NONE);
    EXEC_CHECK(w.op == SN_OP_WRITE && w.index == 0xfffe && w.ds == 4 && w.blocks == 1 && w.length == 123);
    EXEC_CHECK(w.raddr == 0x1122334455667788ull && w.rkey == 0xa1b2c3d4 && w.ce == SN_CE_ALWAYS);
    EXEC_CHECK(w.fence == SN_FENCE_READS && w.solicited && !w.has_imm && !w.has_inline);
    exec_data(&raw, 2, 0x1000, 7, 0x40000000);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_LENGTH); /* 1 GiB and 23 bytes */
    exec_data(&raw, 3, 0x2000, 8, 0);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_NONE && w.length == 0x40000000);

    exec_ctrl(&raw, SN_OPCODE_RDMA_WRITE_IMM, 0, 1, 3, 0);
    exec_raddr(&raw, 1, 2);
    ((struct sn_inline_seg *)(void *)exec_seg(&raw, 2))->byte_count = sn_put32(SN_INLINE_SEG | 12);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_NONE && w.has_inline && w.length == 12 && w.has_imm);
    ((struct sn_inline_seg *)(void *)exec_seg(&raw, 2))->byte_count = sn_put32(SN_INLINE_SEG | 13);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_INLINE);
    ((struct sn_inline_seg *)(void *)exec_seg(&raw, 2))->byte_count = sn_put32(0xffffffffu);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_INLINE);

    exec_ctrl(&raw, SN_OPCODE_RDMA_READ, 0, 1, 3, 8);
    exec_raddr(&raw, 1, 2);
    ((struct sn_inline_seg *)(void *)exec_seg(&raw, 2))->byte_count = sn_put32(SN_INLINE_SEG | 8);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_INLINE);
    for (uint32_t ds = 0; ds < 64; ds++) { /* no segment count makes the parser read beyond ds or the ring */
        exec_ctrl(&raw, SN_OPCODE_NOP, 0, 1, ds, 8);
        EXEC_CHECK((exec_parse(&raw, &w) == SN_FAULT_NONE) == (ds != 0));
        EXEC_CHECK((sn_wqe_parse((const uint8_t *)&raw, 2, 1u << 30, &w) == SN_FAULT_NONE) == (ds >= 1 && ds <= 8));
        EXEC_CHECK(w.blocks == (ds == 0 ? 1 : (ds + 3) / 4));
    }
    for (uint32_t fence = 0; fence < 8; fence++) {
        exec_ctrl(&raw, SN_OPCODE_NOP, 0, 1, 1, (uint8_t)(fence << 5));
        EXEC_CHECK((exec_parse(&raw, &w) == SN_FAULT_FENCE) == (fence > 4));
    }
}

/* A bind, and each thing about it that makes it none. */
SN_FN void exec_table_bind(struct exec_table_result *r, struct exec_raw *raw)
{
    struct sn_umr_ctrl_seg *umr = (struct sn_umr_ctrl_seg *)(void *)exec_seg(raw, 1);
    struct sn_mkey_seg *key = (struct sn_mkey_seg *)(void *)exec_seg(raw, 4);
    struct sn_klm_seg *klm = (struct sn_klm_seg *)(void *)exec_seg(raw, 8);
    struct sn_wqe w;

    exec_ctrl(raw, SN_OPCODE_UMR, 0, 1, SN_UMR_DS, 8);
    ((struct sn_ctrl_seg *)(void *)exec_seg(raw, 0))->imm = sn_swap32(0x12345678);
    umr->flags = SN_UMR_INLINE;
    umr->klm_octowords = sn_put16(4);
    umr->mkey_mask = sn_put64(SN_UMR_MASK_BIND);
    key->free = 0;
    key->access = SN_MKEY_REMOTE_READ;
    key->qpn_mkey = sn_put32(0xabcdef79);
    key->start_addr = sn_put64(0x1000);
    key->len = sn_put64(0x200);
    klm->byte_count = sn_put32(0x200);
    klm->mkey = sn_put32(77);
    klm->address = sn_put64(0x5000);
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_NONE && w.op == SN_OP_BIND && w.rkey == 0x12345678 && w.bind_low == 0x79 &&
               w.dqpn == 0xabcdef && w.raddr == 0x1000 && w.compare == 0x5000 && w.swap_add == 0x200 && w.wait_cqn == 77 &&
               w.bind_access == SN_MKEY_REMOTE_READ && w.blocks == 3);
    key->free = SN_MKEY_FREE;
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_NONE && w.swap_add == 0);
    key->free = 0;
    klm->byte_count = sn_put32(0x201);
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_BIND);
    klm->byte_count = sn_put32(0x200);
    umr->mkey_mask = sn_put64(SN_UMR_MASK_BIND | SN_UMR_MASK_LOCAL_WRITE);
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_OPCODE);
    umr->mkey_mask = sn_put64(SN_UMR_MASK_BIND);
    umr->klm_octowords = sn_put16(8);
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_DS);
    umr->klm_octowords = sn_put16(4);
    umr->flags = 0;
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_DS);
    for (uint32_t ds = 1; ds < SN_UMR_DS; ds++) {
        exec_ctrl(raw, SN_OPCODE_UMR, 0, 1, ds, 8);
        EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_DS);
    }
    exec_ctrl(raw, SN_OPCODE_LOCAL_INVAL, 0, 1, 1, 8);
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_NONE && w.op == SN_OP_INVALIDATE && w.rkey == 0x04030201);
    exec_ctrl(raw, SN_OPCODE_LOCAL_INVAL, 0, 1, 2, 8);
    EXEC_CHECK(exec_parse(raw, &w) == SN_FAULT_DS);
}

SN_FN void exec_table_atomics_parse(struct exec_table_result *r)
{
    struct exec_raw raw;
    struct sn_wqe w;

    exec_ctrl(&raw, SN_OPCODE_ATOMIC_CS, 0, 1, 4, 8);
    exec_raddr(&raw, 8, 2);
    ((struct sn_atomic_seg *)(void *)exec_seg(&raw, 2))->swap_add = sn_put64(5);
    ((struct sn_atomic_seg *)(void *)exec_seg(&raw, 2))->compare = sn_put64(6);
    exec_data(&raw, 3, 0x1000, 7, 8);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_NONE && w.op == SN_OP_ATOMIC && w.atomic_size == 8);
    EXEC_CHECK(w.swap_add == 5 && w.compare == 6 && w.length == 8);
    exec_data(&raw, 3, 0x1000, 7, 7);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_LENGTH);

    exec_ctrl(&raw, SN_OPCODE_ATOMIC_MASKED_CS, SN_OPMOD_MASKED_8, 1, 5, 8);
    exec_raddr(&raw, 8, 2);
    ((struct sn_masked_cs64_seg *)(void *)exec_seg(&raw, 2))->swap = sn_put64(1);
    ((struct sn_masked_cs64_seg *)(void *)exec_seg(&raw, 2))->compare = sn_put64(2);
    ((struct sn_masked_cs64_seg *)(void *)exec_seg(&raw, 3))->swap = sn_put64(3);
    ((struct sn_masked_cs64_seg *)(void *)exec_seg(&raw, 3))->compare = sn_put64(4);
    exec_data(&raw, 4, 0x1000, 7, 8);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_NONE && w.blocks == 2 && w.data_seg == 4);
    EXEC_CHECK(w.swap_add == 1 && w.compare == 2 && w.swap_mask == 3 && w.compare_mask == 4);
    exec_ctrl(&raw, SN_OPCODE_ATOMIC_MASKED_CS, SN_OPMOD_MASKED_4, 1, 4, 8);
    exec_raddr(&raw, 8, 2);
    for (uint32_t i = 0; i < 4; i++)
        ((sn_be32 *)(void *)exec_seg(&raw, 2))[i] = sn_put32(i + 1);
    exec_data(&raw, 3, 0x1000, 7, 4);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_NONE && w.atomic_size == 4 && w.length == 4);
    EXEC_CHECK(w.swap_add == 1 && w.compare == 2 && w.swap_mask == 3 && w.compare_mask == 4);
    for (uint32_t opmod = 0; opmod < 256; opmod++) {
        exec_ctrl(&raw, SN_OPCODE_ATOMIC_MASKED_FA, (uint8_t)opmod, 1, 4, 8);
        exec_raddr(&raw, 8, 2);
        exec_data(&raw, 3, 0x1000, 7, 8);
        EXEC_CHECK((exec_parse(&raw, &w) == SN_FAULT_NONE) == (opmod == 8 || opmod == 9));
    }
    exec_ctrl(&raw, SN_OPCODE_WAIT, 0, 1, 2, 8);
    ((struct sn_wait_seg *)(void *)exec_seg(&raw, 1))->max_index = sn_put32(0xfffffffe);
    ((struct sn_wait_seg *)(void *)exec_seg(&raw, 1))->cqn = sn_put32(77);
    EXEC_CHECK(exec_parse(&raw, &w) == SN_FAULT_NONE && w.wait_cqn == 77 && w.wait_index == 0xfffffffeu);
    exec_table_bind(r, &raw);
    for (uint32_t opcode = 0; opcode < 256; opcode++) {
        int known = opcode <= 1 || (opcode >= 8 && opcode <= 0xb) || opcode == 0x0f || (opcode >= 0x10 && opcode <= 0x12) ||
                    opcode == 0x14 || opcode == 0x15 || opcode == 0x1b || opcode == 0x23 || opcode == 0x25;
        exec_ctrl(&raw, (uint8_t)opcode, 0, 1, 2, 8);
        EXEC_CHECK((exec_parse(&raw, &w) != SN_FAULT_OPCODE) == known);
    }
}

SN_FN void exec_table_values(struct exec_table_result *r)
{
    struct sn_atomic_args op = {SN_OPCODE_ATOMIC_FA, 8, 1, 0, 0, 0};

    EXEC_CHECK(sn_atomic_result(&op, ~0ull) == 0);
    op.opcode = SN_OPCODE_ATOMIC_CS;
    op.compare = 10;
    op.swap_add = 20;
    EXEC_CHECK(sn_atomic_result(&op, 10) == 20 && sn_atomic_result(&op, 11) == 11);
    EXEC_CHECK(sn_masked_add(0xff, 1, 0x80) == 0);            /* one field of 8 bits, then a free-running rest */
    EXEC_CHECK(sn_masked_add(0xff00ff, 0x010001, 0x808080) == 0); /* bytes for themselves */
    EXEC_CHECK(sn_masked_add(0x7f, 1, 0x80) == 0x80);
    EXEC_CHECK(sn_masked_add(1, 1, ~0ull) == 0); /* every bit a field: exclusive or */
    EXEC_CHECK(sn_masked_add(~0ull, 1, 0) == 0);
    for (uint64_t a = 1; a != 0; a = a * 5 + 0x0101) { /* against the slow way, field by field of 16 bits */
        uint64_t b = a * 0x9e3779b97f4a7c15ull, want = 0;
        for (int f = 0; f < 64; f += 16)
            want |= (((a >> f) + (b >> f)) & 0xffff) << f;
        EXEC_CHECK(sn_masked_add(a, b, 0x8000800080008000ull) == want);
        if (r->checks > 4000)
            break;
    }
    op.opcode = SN_OPCODE_ATOMIC_MASKED_FA;
    op.size = 4;
    op.swap_add = 1;
    op.compare_mask = 0;
    EXEC_CHECK(sn_atomic_result(&op, 0xffffffffull) == 0); /* stays within 4 bytes */
    op.opcode = SN_OPCODE_ATOMIC_MASKED_CS;
    op.swap_add = 0xab00;
    op.swap_mask = 0xff00;
    op.compare = 0x12;
    op.compare_mask = 0xff;
    EXEC_CHECK(sn_atomic_result(&op, 0x55665512) == 0x5566ab12 && sn_atomic_result(&op, 0x55665513) == 0x55665513);
}

SN_FN void exec_table_keys(struct exec_table_result *r)
{
    struct sn_mkey k = {0x1000, 0x100, (uint8_t *)0, 5, 3, 1 | 2, 0, 0, 0, 0, 0};

    EXEC_CHECK(sn_mkey_check(&k, 3, 2, 0x1000, 0x100) == SN_FAULT_NONE);
    EXEC_CHECK(sn_mkey_check(&k, 3, 2, 0x10ff, 1) == SN_FAULT_NONE);
    EXEC_CHECK(sn_mkey_check(&k, 3, 2, 0x1100, 0) == SN_FAULT_NONE);
    EXEC_CHECK(sn_mkey_check(&k, 3, 2, 0x1000, 0x101) == SN_FAULT_RANGE);
    EXEC_CHECK(sn_mkey_check(&k, 3, 2, 0xfff, 1) == SN_FAULT_RANGE);
    EXEC_CHECK(sn_mkey_check(&k, 3, 2, 0x10ff, ~0ull) == SN_FAULT_RANGE);
    EXEC_CHECK(sn_mkey_check(&k, 3, 2, ~0ull, 2) == SN_FAULT_RANGE);
    EXEC_CHECK(sn_mkey_check(&k, 4, 2, 0x1000, 1) == SN_FAULT_PD);
    EXEC_CHECK(sn_mkey_check(&k, 3, 4, 0x1000, 1) == SN_FAULT_ACCESS);
    EXEC_CHECK(sn_mkey_check((const struct sn_mkey *)0, 3, 0, 0x1000, 1) == SN_FAULT_KEY);
}

SN_FN void exec_table_cqe(struct exec_table_result *r)
{
    struct sn_cqe64 c;
    struct sn_cqe_info in = {SN_CQE_REQ, 8, 0, 0, 0, 0, 1, 0xfffe, 0xabcdef, 0x123456, 0, 99, 7, 0, 0, 0x11, 5};
    const struct sn_err_cqe *e = (const struct sn_err_cqe *)(const void *)&c;

    sn_cqe_build(&in, 1, &c);
    EXEC_CHECK(c.op_own == (SN_CQE_SOLICITED | 1) && sn_get16(c.wqe_counter) == 0xfffe && sn_get32(c.byte_cnt) == 99);
    EXEC_CHECK(sn_get32(c.sop_drop_qpn) == 0x08abcdefu && sn_get32(c.srqn_uidx) == 0x123456 && c.imm == 7 && sn_get16(c.slid) == 0x11);
    for (unsigned i = 0; i < 64; i++) { /* the short way makes the same bytes */
        const struct sn_cqe_info sent = {SN_CQE_REQ, (uint8_t)(i * 37), 0, 0, 0, 0, 0, (uint16_t)(i * 0x1357), i * 0x0f1e2d3u,
                                         i * 0x01c2f3u, 0, 0, 0, 0, 0, 0, i * 0x123456789abcdefull};
        sn_word words[8];
        int same = 1;
        sn_cqe_build(&sent, i & 1, &c);
        sn_cqe_build_sent(sent.wqe_opcode, sent.wqe_counter, sent.qpn, sent.user_index, sent.timestamp, i & 1, words);
        for (unsigned w = 0; w < 8; w++)
            same &= words[w] == ((const sn_word *)(const void *)&c)[w];
        EXEC_CHECK(same);
    }
    in.cqe_opcode = SN_CQE_REQ_ERR;
    in.syndrome = SN_SYND_REMOTE_ACCESS;
    in.vendor = 0x88;
    sn_cqe_build(&in, 0, &c);
    EXEC_CHECK(e->syndrome == 0x13 && e->vendor_err_synd == 0x88 && e->op_own >> 4 == 13 && (e->op_own & 1) == 0);
    EXEC_CHECK(sn_cqe_owner(0, 3) == 0 && sn_cqe_owner(7, 3) == 0 && sn_cqe_owner(8, 3) == 1 && sn_cqe_owner(16, 3) == 0);
    EXEC_CHECK(sn_cqe_owner(0xffffffffu, 3) == 1 && sn_cqe_owner(0, 3) == 0); /* goes on around 2^32 */
    EXEC_CHECK(!sn_wait_is_over(5, 5) && sn_wait_is_over(6, 5) && sn_wait_is_over(3, 0xfffffff0u));
    EXEC_CHECK(!sn_wait_is_over(0xfffffff0u, 3));
}

SN_FN void exec_table_hints(struct exec_table_result *r)
{
    struct sn_doorbell db;

    EXEC_CHECK(sn_doorbell_parse(sn_doorbell_build(0x123456, 0x10007), &db) && db.qpn == 0x123456 && db.producer == 7);
    EXEC_CHECK(!sn_doorbell_parse(sn_doorbell_build(0, 7), &db));
    /* BlueFlame: a control segment with index 0xffff and 5 segments: the next index is 1. */
    EXEC_CHECK(sn_doorbell_parse(sn_swap32(0xffffu << 8 | 8) | (uint64_t)sn_swap32(0x77u << 8 | 5) << 32, &db) && db.producer == 1);
    EXEC_CHECK(sn_ahead(5, 3, 16) == 2 && sn_ahead(3, 3, 16) == 0 && sn_ahead(2, 3, 16) == 0);
    EXEC_CHECK(sn_ahead(3, 0xfff3, 16) == 16 && sn_ahead(4, 0xfff3, 16) == 0 && sn_ahead(0x8000, 0, 32768) == 32768);
    EXEC_CHECK(sn_psn_diff(0, 0xffffff) == 1 && sn_psn_diff(0xffffff, 0) == -1 && sn_psn_diff(0x800000, 0) < 0);
    EXEC_CHECK(sn_mtu_packets(0, 3) == 1 && sn_mtu_packets(1024, 3) == 1 && sn_mtu_packets(1025, 3) == 2);
    EXEC_CHECK(sn_rnr_ns(0) == 655360000u && sn_rnr_ns(1) == 10000 && sn_rnr_ns(12) == 640000 && sn_rnr_ns(31) == 491520000u);
    EXEC_CHECK(sn_ack_timeout_ns(0) == 0 && sn_ack_timeout_ns(14) == 67108864);
    for (unsigned from = 0; from < 8; from++)
        for (unsigned to = 0; to < 8; to++) { /* IBTA vol. 1, figure 124 and what the kernel allows */
            int legal = from < 7 && to < 7 && (to == 0 || (to == 6 && from != 0) || (from == 0 && to == 1) ||
                                               (from == 1 && (to == 1 || to == 2)) || (from == 2 && to == 3) ||
                                               (from == 3 && (to == 3 || to == 5)) || (from == 4 && to == 3) ||
                                               (from == 5 && (to == 3 || to == 5)));
            EXEC_CHECK(sn_state_may_move(from, to) == legal);
        }
}

SN_FN void exec_table_run(struct exec_table_result *r)
{
    r->checks = r->failed = r->first_line = 0;
    exec_table_wqe(r);
    exec_table_atomics_parse(r);
    exec_table_cqe(r);
    exec_table_keys(r);
    exec_table_hints(r);
    exec_table_values(r);
}

#endif
