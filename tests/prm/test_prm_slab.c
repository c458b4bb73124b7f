/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs as GPUNetIO 4 and later makes them, and the NVSHMEM transport on it: four slabs of host memory (rings and
 * records of completion queues and of send queues) that all queue pairs share by offset, each registered once with the
 * size of a page in pgsz_bitmap; collapsed completion queues; a pair connected to itself; the CPU builds WQEs of one and
 * of two slots and reads completions.
 */
#include <endian.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig.h"

enum { COUNT = 2, SECONDS = 60, MASKED_CS = 0x14, MASKED_FA = 0x15, OPMOD_8_BYTES = 9, RECORD = 64, PAGE = 4096 };

struct slab {
    uint8_t *at;
    struct mlx5dv_devx_umem *umem;
};

struct slabs {
    struct slab cqes, cq_records, rings, records;
};

static struct slab slab(struct rig *r, size_t bytes)
{
    struct slab s = {.at = rig_pages(bytes)};
    struct mlx5dv_devx_umem_in in = {
        .addr = s.at, .size = bytes, .access = IBV_ACCESS_LOCAL_WRITE, .pgsz_bitmap = PAGE};
    s.umem = softnic_mlx5dv_devx_umem_reg_ex(r->context, &in);
    assert_non_null(s.umem);
    return s;
}

static void give_back(struct slab *s)
{
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(s->umem), 0);
    free(s->at);
}

static void create_cq(struct rig_qp *q, const struct slabs *s, unsigned i)
{
    uint8_t in[PRM_SIZE_create_cq_in], out[PRM_SIZE_create_cq_out];
    uint8_t *cqc = PRM_AT(in, create_cq_in, cq_context);
    rig_mailbox_cq(in, s->cqes.umem->umem_id, s->cq_records.umem->umem_id, q->uar->page_id, RIG_LOG_CQ);
    prm_set_create_cq_in__cq_umem_offset(in, (uint64_t)i << (RIG_LOG_CQ + 6));
    prm_set_cqc__dbr_addr(cqc, (uint64_t)RECORD * i);
    prm_set_cqc__cc(cqc, 1);
    q->cqes = s->cqes.at + ((size_t)i << (RIG_LOG_CQ + 6));
    memset(q->cqes, 0xff, 64u << RIG_LOG_CQ);
    q->cq = softnic_mlx5dv_devx_obj_create(q->rig->context, in, sizeof(in), out, sizeof(out));
    assert_non_null(q->cq);
    q->cqn = (uint32_t)prm_get_create_cq_out__cqn(out);
}

static void create_qp(struct rig_qp *q, const struct slabs *s, unsigned i)
{
    uint8_t in[PRM_SIZE_create_qp_in], out[PRM_SIZE_create_qp_out];
    rig_mailbox_qp(in, s->rings.umem->umem_id, s->records.umem->umem_id, q->uar->page_id, q->rig->pdn, q->cqn, RIG_LOG_SQ);
    prm_set_create_qp_in__wq_umem_offset(in, (uint64_t)i << (RIG_LOG_SQ + 6));
    prm_set_qpc__dbr_addr(PRM_AT(in, create_qp_in, qpc), (uint64_t)RECORD * i);
    q->ring = s->rings.at + ((size_t)i << (RIG_LOG_SQ + 6));
    q->records = s->records.at + (size_t)RECORD * i;
    q->qp = softnic_mlx5dv_devx_obj_create(q->rig->context, in, sizeof(in), out, sizeof(out));
    assert_non_null(q->qp);
    q->qpn = (uint32_t)prm_get_create_qp_out__qpn(out);
}

/* One register for all, as create_qp_list makes them. */
static void create(struct rig_qp *q, struct rig *r, struct slabs *s)
{
    struct mlx5dv_devx_uar *uar = softnic_mlx5dv_devx_alloc_uar(r->context, 1u << 31);
    assert_non_null(uar);
    *s = (struct slabs){slab(r, (size_t)COUNT << (RIG_LOG_CQ + 6)), slab(r, RECORD * COUNT),
                        slab(r, (size_t)COUNT << (RIG_LOG_SQ + 6)), slab(r, RECORD * COUNT)};
    for (unsigned i = 0; i < COUNT; i++) {
        q[i] = (struct rig_qp){
            .rig = r, .uar = uar, .log_cq = RIG_LOG_CQ, .log_sq = RIG_LOG_SQ, .ack_timeout = 18, .retries = 7};
        create_cq(&q[i], s, i);
        create_qp(&q[i], s, i);
    }
}

static void destroy(struct rig_qp *q, struct slabs *s)
{
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(softnic_mlx5dv_devx_obj_destroy(q[i].qp), 0);
        assert_int_equal(softnic_mlx5dv_devx_obj_destroy(q[i].cq), 0);
    }
    softnic_mlx5dv_devx_free_uar(q[0].uar);
    give_back(&s->cqes);
    give_back(&s->cq_records);
    give_back(&s->rings);
    give_back(&s->records);
}

static uint32_t be32_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return be32toh(v);
}

/* The one entry of a collapsed queue, once it names WQE `index`: 16 bits of index, then the byte of opcode and owner. */
static const uint8_t *completed(struct rig_qp *q, uint16_t index)
{
    time_t end = time(NULL) + SECONDS;
    for (;;) {
        uint32_t last = be32toh(atomic_load_explicit((_Atomic uint32_t *)(void *)(q->cqes + 60), memory_order_acquire));
        if ((last & 0xff) != 0xff && last >> 16 == index)
            return q->cqes;
        assert_true(time(NULL) < end);
        sched_yield();
    }
}

static void expect_good(const uint8_t *cqe, const struct rig_qp *q, unsigned opcode)
{
    assert_int_equal(cqe[63] >> 4, 0); /* a requester's */
    assert_int_equal(be32_at(cqe + 56), opcode << 24 | q->qpn);
    for (unsigned i = 64; i < 64u << RIG_LOG_CQ; i++)
        assert_int_equal(cqe[i], 0xff); /* collapsed: nothing behind the first entry */
}

/* A slot of the ring: a WQE of two slots wraps to the first one like everything else. */
static uint8_t *at(struct rig_qp *q, unsigned ds)
{
    return q->ring + (64 * (size_t)q->pi + 16 * (size_t)ds) % (64u << RIG_LOG_SQ);
}

/*
 * A masked atomic on 8 bytes: compare and swap has five segments of 16 bytes and thus two slots, fetch and add has four. The
 * answer goes to `local`.
 */
static void post_masked(struct rig_qp *q, unsigned opcode, uint64_t remote, uint64_t local, const uint64_t *operands)
{
    unsigned ds = 0, count = opcode == MASKED_CS ? 4 : 2;
    uint8_t *w = at(q, ds++);
    memset(w, 0, 16);
    rig_put32(w, (uint32_t)OPMOD_8_BYTES << 24 | (q->pi & 0xffff) << 8 | opcode);
    rig_put32(w + 4, q->qpn << 8 | (3 + count / 2));
    w[11] = 2 << 2;
    w = at(q, ds++);
    memset(w, 0, 16);
    rig_put64(w, (uintptr_t)q->rig->data + remote);
    rig_put32(w + 8, q->rig->mr->rkey);
    for (unsigned i = 0; i < count; i += 2) {
        w = at(q, ds++);
        rig_put64(w, operands[i]);
        rig_put64(w + 8, operands[i + 1]);
    }
    w = at(q, ds++);
    rig_put32(w, 8);
    rig_put32(w + 4, q->rig->mr->lkey);
    rig_put64(w + 8, (uintptr_t)q->rig->data + local);
    q->pi += (ds + 3) / 4;
    atomic_store_explicit((_Atomic uint32_t *)(void *)(q->records + 4), htobe32(q->pi & 0xffff), memory_order_release);
    uint64_t value;
    rig_put32((uint8_t *)&value, (q->pi & 0xffff) << 8);
    rig_put32((uint8_t *)&value + 4, q->qpn << 8);
    atomic_store_explicit((_Atomic uint64_t *)q->uar->reg_addr, value, memory_order_release);
}

static uint64_t word(const struct rig *r, uint64_t offset)
{
    uint64_t v;
    memcpy(&v, r->data + offset, 8);
    return v;
}

static void set_word(struct rig *r, uint64_t offset, uint64_t v)
{
    memcpy(r->data + offset, &v, 8);
}

static void writes_of_pairs(void **state)
{
    struct rig *r = *state;
    struct rig_qp q[COUNT];
    struct slabs s;
    create(q, r, &s);
    struct rig_address address[COUNT] = {rig_address_of(&q[0]), rig_address_of(&q[1])};
    rig_connect(&q[0], &address[1]);
    rig_connect(&q[1], &address[0]);
    for (unsigned n = 0; n < 100; n++)
        for (unsigned i = 0; i < COUNT; i++) {
            uint64_t from = 8192 * (uint64_t)i, to = 65536 + 8192 * (uint64_t)i;
            memset(r->data + from, (int)(n + i + 1), 5000);
            rig_post_rdma(&q[i], RIG_WRITE, &address[1 - i], to, from, 5000);
            const uint8_t *cqe = completed(&q[i], (uint16_t)(q[i].pi - 1));
            expect_good(cqe, &q[i], RIG_WRITE);
            assert_memory_equal(r->data + to, r->data + from, 5000);
        }
    destroy(q, &s);
}

/* Many turns, so that WQEs of two slots lie across the end of the ring, too. */
static void masked_atomics_to_itself(void **state)
{
    struct rig *r = *state;
    struct rig_qp q[COUNT];
    struct slabs s;
    create(q, r, &s);
    struct rig_address self = rig_address_of(&q[0]);
    rig_connect(&q[0], &self);
    set_word(r, 4096, 0x1122334455667788);
    for (unsigned n = 0; n < 60; n++) {
        uint64_t old = word(r, 4096), low = n * 3 % 256;
        uint16_t index = (uint16_t)q[0].pi;
        /* swap, compare, swap mask, compare mask: the low byte takes `low` if the byte above it is still 0x77 */
        uint64_t swap[] = {low, 0x7700, 0xff, 0xff00};
        post_masked(&q[0], MASKED_CS, 4096, 0, swap);
        expect_good(completed(&q[0], index), &q[0], MASKED_CS);
        assert_int_equal(word(r, 0), old);
        assert_int_equal(word(r, 4096), (old & ~(uint64_t)0xff) | low);
        assert_int_equal(q[0].pi, (uint32_t)index + 2);
        /* add, field boundary: two counters of 32 bits, whose lower one's carry stops at the boundary */
        uint64_t add[] = {0x1f0000000, 0x80000000};
        old = word(r, 4096);
        index = (uint16_t)q[0].pi;
        post_masked(&q[0], MASKED_FA, 4096, 8, add);
        expect_good(completed(&q[0], index), &q[0], MASKED_FA);
        assert_int_equal(word(r, 8), old);
        assert_int_equal(word(r, 4096), ((old >> 32) + 1) << 32 | (uint32_t)(old + 0xf0000000));
    }
    /* A comparison that fails changes nothing and returns what is there. */
    uint64_t old = word(r, 4096), swap[] = {0, 0x6600, 0xff, 0xff00};
    uint16_t index = (uint16_t)q[0].pi;
    post_masked(&q[0], MASKED_CS, 4096, 16, swap);
    expect_good(completed(&q[0], index), &q[0], MASKED_CS);
    assert_int_equal(word(r, 16), old);
    assert_int_equal(word(r, 4096), old);
    destroy(q, &s);
}

static int open_rig(void **state)
{
    static struct rig r;
    rig_open(&r, 0);
    *state = &r;
    return 0;
}

static int close_rig(void **state)
{
    rig_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_of_pairs, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(masked_atomics_to_itself, open_rig, close_rig),
    };
    return cmocka_run_group_tests_name("queue pairs in shared slabs", tests, NULL, NULL);
}
