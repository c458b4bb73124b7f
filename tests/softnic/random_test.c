/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs against a simple model of memory: 4 queue pairs in a ring over two NICs (so loopback, both directions
 * and two devices), each with regions of its own, several ring wraps, an error in one program of four. The model applies
 * each WQE when its CQE says that it is done; memory must agree at the end of each batch. A failing seed is printed.
 */
#include <stdlib.h>

#include "harness.h"

enum { QPS = 4, REGION = 8192, OPS = 500 };

struct model {
    uint8_t local[REGION], remote[REGION];
};

struct op {
    struct wr wr;
    uint32_t index, from, to, length;
    bool bad;
};

struct queue {
    struct end e;
    struct end *peer;
    struct model m;
    uint32_t base; /* of its regions: local in e.mem, remote in peer->mem */
    struct op pending[16];
    unsigned count;
    bool failed;
};

static uint64_t x, current;

static uint32_t rnd(uint32_t n)
{
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)(x >> 20) % n;
}

static void draw(struct queue *q, struct op *op, bool bad)
{
    uint32_t length = rnd(4) == 0 ? rnd(3000) : rnd(64);
    struct end *e = &q->e;

    memset(op, 0, sizeof(*op));
    op->from = rnd(REGION - 3000);
    op->to = rnd(REGION - 3000);
    op->length = length;
    switch (rnd(6)) {
    case 0:
    case 1:
        op->wr = wr_write(e, q->peer, q->base + op->from, q->base + REGION * QPS + op->to, length);
        break;
    case 2:
        op->length = rnd(60) + 1;
        op->wr = wr_write(e, q->peer, 0, q->base + REGION * QPS + op->to, 0);
        op->wr.sges = 0;
        op->wr.inl = e->mem + q->base + op->from;
        op->wr.inl_length = op->length;
        break;
    case 3:
        op->wr = wr_read(e, q->peer, q->base + op->from, q->base + REGION * QPS + op->to, length);
        break;
    case 4:
        op->from &= ~7u;
        op->to &= ~7u;
        op->length = 8;
        op->wr = wr_fetch_add(e, q->peer, q->base + op->from, q->base + REGION * QPS + op->to, rnd(1000));
        break;
    default:
        op->wr = (struct wr){.opcode = SN_OPCODE_NOP, .fm_ce_se = 8};
        break;
    }
    /* What one WQE reads may be what another one of the batch writes: a fence makes the order the model's. */
    op->wr.fm_ce_se = 8 | SN_FENCE_STRONG << 5;
    op->bad = bad && op->wr.opcode != SN_OPCODE_NOP && op->length != 0;
    if (op->bad)
        op->wr.rkey ^= 0x40;
}

static void apply(struct queue *q, const struct op *op)
{
    uint64_t old, sum;

    switch (op->wr.opcode) {
    case SN_OPCODE_RDMA_WRITE:
        if (op->wr.inl != NULL) /* taken when it was posted, before the batch ran: see step */
            memcpy(q->m.remote + op->to, op->wr.inl, op->length);
        else
            memcpy(q->m.remote + op->to, q->m.local + op->from, op->length);
        break;
    case SN_OPCODE_RDMA_READ:
        memcpy(q->m.local + op->from, q->m.remote + op->to, op->length);
        break;
    case SN_OPCODE_ATOMIC_FA:
        memcpy(&old, q->m.remote + op->to, 8);
        sum = old + op->wr.swap_add;
        memcpy(q->m.remote + op->to, &sum, 8);
        memcpy(q->m.local + op->from, &old, 8);
        break;
    default:
        break;
    }
}

static void reap(struct queue *q, uint8_t inl[16][64])
{
    for (unsigned k = 0; k < q->count; k++) {
        struct op *op = &q->pending[k];
        op->wr.inl = op->wr.inl != NULL ? inl[k] : NULL;
        if (q->failed) {
            expect_error(&q->e, op->index, SN_SYND_FLUSH);
        } else if (op->bad) {
            expect_error(&q->e, op->index, SN_SYND_REMOTE_ACCESS);
            q->failed = true;
        } else {
            expect_ok(&q->e, op->index);
            apply(q, op);
        }
    }
    expect_none(&q->e);
    assert_memory_equal(q->e.mem + q->base, q->m.local, REGION);
    assert_memory_equal(q->peer->mem + q->base + REGION * QPS, q->m.remote, REGION);
    q->count = 0;
}

static void post_batch(struct queue *q, uint8_t inl[16][64], unsigned *left, int *error_at)
{
    uint32_t start = q->e.pi, n = 1 + rnd(8);

    for (unsigned k = 0; k < n && *left != 0 && q->e.pi - start <= 10; k++) {
        struct op *op = &q->pending[q->count];
        draw(q, op, *error_at >= 0 && --*error_at < 0);
        if (op->wr.inl != NULL)
            memcpy(inl[q->count], op->wr.inl, op->length);
        op->index = put_wqe(&q->e, &op->wr);
        q->count++;
        --*left;
        if (rnd(3) == 0)
            ring(&q->e);
    }
    ring(&q->e);
    if (rnd(4) == 0) /* late, or doubled; a queue without a record has nothing else to tell how far it is */
        write_register(&q->e, q->e.pi - (q->e.o.no_record ? 0 : rnd(3)));
}

static void program(uint64_t seed)
{
    static struct queue q[QPS];
    static uint8_t inl[QPS][16][64];
    struct options o = defaults;
    struct world w;
    int error_at[QPS];
    unsigned left[QPS], todo = 1;

    x = seed * 0x9e3779b97f4a7c15ull + 1;
    memset(q, 0, sizeof(q));
    o.psn = rnd(1 << 24);
    o.mtu = (uint8_t)(1 + rnd(5));
    o.cqe_size = rnd(2) ? 64 : 128;
    o.log_cq = (uint8_t)(4 + rnd(3));
    o.burst_bytes = rnd(3) == 0 ? 1 : 0;
    world_open(&w, &o);
    for (unsigned k = 0; k < QPS; k++) {
        o.no_record = rnd(4) == 0;
        end_open(&q[k].e, &w, (int)(k & 1), &o);
    }
    for (unsigned k = 0; k < QPS; k++) { /* 0 <-> 1, 2 loop, 3 loop */
        q[k].peer = k < 2 ? &q[k ^ 1].e : &q[k].e;
        q[k].base = k * REGION;
        fill(q[k].m.local, REGION, rnd(1 << 30));
        fill(q[k].m.remote, REGION, rnd(1 << 30));
        memcpy(q[k].e.mem + q[k].base, q[k].m.local, REGION);
        memcpy(q[k].peer->mem + q[k].base + REGION * QPS, q[k].m.remote, REGION);
        left[k] = OPS / QPS;
        /* One program of four has an error; in a loopback queue, since a pair would take each other down. */
        error_at[k] = seed % 4 == 0 && k == 2 + (seed / 4) % 2 ? (int)rnd(100) : -1;
    }
    ends_connect(&q[0].e, &q[1].e);
    ends_connect(&q[2].e, &q[2].e);
    ends_connect(&q[3].e, &q[3].e);
    while (todo != 0) {
        todo = 0;
        for (unsigned k = 0; k < QPS; k++)
            if (left[k] != 0 && rnd(4) != 0)
                post_batch(&q[k], inl[k], &left[k], &error_at[k]);
        world_run(&w);
        for (unsigned k = 0; k < QPS; k++) {
            reap(&q[k], inl[k]);
            todo += left[k];
        }
    }
    for (unsigned k = 0; k < QPS; k++)
        end_close(&q[k].e);
    world_close(&w);
}

static void test_programs(void **state)
{
    const char *only = getenv("SOFTNIC_TEST_SEED"), *n = getenv("SOFTNIC_TEST_SEEDS");
    uint64_t first = only != NULL ? strtoull(only, NULL, 0) : 1;
    uint64_t last = only != NULL ? first : n != NULL ? strtoull(n, NULL, 0) : 60;
    (void)state;
    for (current = first; current <= last; current++)
        program(current);
}

/* Runs after a failure too: SOFTNIC_TEST_SEED=<it> repeats that program alone. */
static int say_seed(void **state)
{
    (void)state;
    print_message("  last seed: %llu\n", (unsigned long long)current);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_programs, say_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
