/* SPDX-License-Identifier: Apache-2.0 */
/* Data between queue pairs of one process, through what the library exports and nothing else. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"

struct pair {
    struct rig r;
    struct rig_qp a, b;
    struct rig_address to_a, to_b;
};

static void pair_open(struct pair *p, bool no_record)
{
    rig_open(&p->r, 0);
    (no_record ? rig_qp_create_no_record : rig_qp_create)(&p->a, &p->r);
    (no_record ? rig_qp_create_no_record : rig_qp_create)(&p->b, &p->r);
    p->to_a = rig_address_of(&p->a);
    p->to_b = rig_address_of(&p->b);
    rig_connect(&p->a, &p->to_b);
    rig_connect(&p->b, &p->to_a);
}

static void pair_close(struct pair *p)
{
    rig_qp_destroy(&p->a);
    rig_qp_destroy(&p->b);
    rig_close(&p->r);
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 31 + (i >> 8) + seed);
}

static void expect(struct rig_qp *q, uint16_t counter)
{
    struct rig_cqe c = rig_wait(q, 60);
    if (c.opcode || c.wqe_counter != counter)
        fail_msg("CQE opcode %u, syndrome 0x%x, counter %u; expected counter %u", c.opcode, c.syndrome, c.wqe_counter,
                 counter);
}

static const uint32_t sizes[] = {1, 8, 64, 4095, 4096, 4097, 65536, 1 << 20};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void write_and_read(void **state)
{
    bool no_record = *(bool *)*state;
    struct pair p;
    uint32_t half = RIG_DATA_BYTES / 2;
    pair_open(&p, no_record);
    for (unsigned i = 0; i < SIZES; i++) {
        uint32_t n = sizes[i];
        memset(p.r.data + half, 0, half);
        fill(p.r.data, n, i);
        rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, half, 0, n);
        expect(&p.a, (uint16_t)(2 * i));
        assert_memory_equal(p.r.data, p.r.data + half, n);
        memset(p.r.data, 0, n);
        rig_post_rdma(&p.a, RIG_READ, &p.to_b, half, 0, n);
        expect(&p.a, (uint16_t)(2 * i + 1));
        assert_memory_equal(p.r.data, p.r.data + half, n);
        if (n < half)
            assert_int_equal(p.r.data[half + n], 0);
    }
    pair_close(&p);
}

static void atomics(void **state)
{
    (void)state;
    struct pair p;
    pair_open(&p, false);
    uint64_t *counter = (uint64_t *)(void *)(p.r.data + 4096), *old = (uint64_t *)(void *)p.r.data;
    *counter = 100;
    for (uint64_t i = 0; i < 20; i++) {
        rig_post_atomic(&p.a, RIG_FETCH_ADD, &p.to_b, 4096, 0, 3, 0);
        expect(&p.a, (uint16_t)i);
        assert_int_equal(*old, 100 + 3 * i);
    }
    rig_post_atomic(&p.a, RIG_CAS, &p.to_b, 4096, 0, 7, 160);
    expect(&p.a, 20);
    assert_int_equal(*old, 160);
    assert_int_equal(*counter, 7);
    rig_post_atomic(&p.a, RIG_CAS, &p.to_b, 4096, 0, 9, 160);
    expect(&p.a, 21);
    assert_int_equal(*old, 7);
    assert_int_equal(*counter, 7);
    pair_close(&p);
}

/* Ring and CQ wrap many times, several WQEs in flight. */
static void many_wraps(void **state)
{
    bool no_record = *(bool *)*state;
    struct pair p;
    pair_open(&p, no_record);
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned k = 0; k < 8; k++) {
            fill(p.r.data + 64 * k, 64, round + k);
            rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, 65536 + 64 * k, 64 * k, 64);
        }
        for (unsigned k = 0; k < 8; k++)
            expect(&p.a, (uint16_t)(round * 8 + k));
        assert_memory_equal(p.r.data, p.r.data + 65536, 8 * 64);
    }
    pair_close(&p);
}

static void remote_access_error(void **state)
{
    (void)state;
    struct pair p;
    struct softnic_qp_error e;
    pair_open(&p, false);
    struct rig_address wrong = p.to_b;
    assert_int_equal(softnic_query_qp_error(p.r.context, p.a.qpn, &e), 0);
    assert_false(e.has_error);
    wrong.rkey ^= 0x5500;
    rig_post_rdma(&p.a, RIG_WRITE, &wrong, 0, 0, 64);
    rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, 0, 0, 64);
    struct rig_cqe c = rig_wait(&p.a, 60);
    assert_int_equal(c.opcode, 13);
    assert_int_equal(c.syndrome, 0x13);
    assert_int_equal(c.wqe_counter, 0);
    c = rig_wait(&p.a, 60);
    assert_int_equal(c.opcode, 13);
    assert_int_equal(c.syndrome, 0x05); /* flushed */
    assert_int_equal(rig_state(&p.a, NULL), PRM_QP_ERR);
    assert_int_equal(softnic_query_qp_error(p.r.context, p.a.qpn, &e), 0);
    assert_true(e.has_error);
    assert_int_equal(e.syndrome, 0x13);
    assert_int_equal(e.wqe_counter, 0);
    assert_int_equal(softnic_query_qp_error(p.r.context, 0x1234, &e), -ENOENT);
    pair_close(&p);
}

/* Beyond the region's end, and with a key that is gone: named by syndrome, nothing written. */
static void bad_ranges(void **state)
{
    (void)state;
    struct pair p;
    pair_open(&p, false);
    rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, RIG_DATA_BYTES - 32, 0, 64);
    assert_int_equal(rig_wait(&p.a, 60).syndrome, 0x13);
    pair_close(&p);
    pair_open(&p, false);
    rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, 0, RIG_DATA_BYTES - 32, 64); /* local */
    assert_int_equal(rig_wait(&p.a, 60).syndrome, 0x04);
    pair_close(&p);
}

/* A host record page that is not page-aligned, as calloc gives it. */
static void unaligned_record_page(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    uint8_t in[272], out[16];
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    uint8_t *page = calloc(1, 4096 + 16), *record = page + 16;
    struct mlx5dv_devx_umem *u = softnic_mlx5dv_devx_umem_reg(r.context, record, 4096, 1);
    assert_non_null(u);
    rig_mailbox_qp(in, q.ring_umem->umem_id, u->umem_id, q.uar->page_id, r.pdn, q.cqn, q.log_sq);
    struct mlx5dv_devx_obj *first = q.qp;
    uint32_t first_qpn = q.qpn;
    q.qp = softnic_mlx5dv_devx_obj_create(r.context, in, sizeof(in), out, sizeof(out));
    assert_non_null(q.qp);
    q.qpn = (uint32_t)prm_get_create_qp_out__qpn(out);
    assert_int_not_equal(q.qpn, first_qpn);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    uint8_t *kept = q.records;
    q.records = record;
    fill(r.data, 64, 9);
    rig_post_rdma(&q, RIG_WRITE, &self, 4096, 0, 64);
    expect(&q, 0);
    assert_memory_equal(r.data, r.data + 4096, 64);
    q.records = kept;
    assert_int_equal(softnic_mlx5dv_devx_obj_destroy(first), 0);
    rig_qp_destroy(&q);
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(u), 0);
    free(page);
    rig_close(&r);
}

/* Two devices of one process, and the InfiniBand link layer with LIDs. */
static void two_devices(void **state)
{
    (void)state;
    for (int ib = 0; ib < 2; ib++) {
        struct rig r[2];
        struct rig_qp q[2];
        setenv("SOFTNIC_DEVICES", "2", 1);
        setenv("SOFTNIC_LINK", ib ? "ib" : "eth", 1);
        for (unsigned i = 0; i < 2; i++) {
            rig_open(&r[i], i);
            rig_qp_create(&q[i], &r[i]);
        }
        struct rig_address to[2] = {rig_address_of(&q[0]), rig_address_of(&q[1])};
        assert_int_equal(ib, to[0].lid != 0);
        rig_connect(&q[0], &to[1]);
        rig_connect(&q[1], &to[0]);
        fill(r[0].data, 9000, 3);
        rig_post_rdma(&q[0], RIG_WRITE, &to[1], 100, 0, 9000);
        expect(&q[0], 0);
        assert_memory_equal(r[0].data, r[1].data + 100, 9000);
        for (unsigned i = 0; i < 2; i++) {
            rig_qp_destroy(&q[i]);
            rig_close(&r[i]);
        }
        unsetenv("SOFTNIC_DEVICES");
        unsetenv("SOFTNIC_LINK");
    }
}

/* The NIC thread alone gets work done: nobody drives. */
static void thread_drives(void **state)
{
    (void)state;
    struct pair p;
    struct rig_cqe c;
    pair_open(&p, false);
    for (int i = 0; i < 20; i++) {
        rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, 4096, 0, 64);
        while (!rig_poll(&p.a, &c))
            ; /* a hang is the failure */
        assert_int_equal(c.opcode, 0);
    }
    pair_close(&p);
}

/* Without a thread nothing happens until somebody drives. (A correct build cannot fail the first half, however slow.)
 */
static void nobody_drives(void **state)
{
    (void)state;
    struct pair p;
    struct rig_cqe c;
    setenv("SOFTNIC_THREAD", "0", 1);
    pair_open(&p, false);
    rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, 4096, 0, 64);
    usleep(20000);
    assert_false(rig_poll(&p.a, &c));
    expect(&p.a, 0);
    pair_close(&p);
    unsetenv("SOFTNIC_THREAD");
}

enum { THREADS = 4 };

/* Control calls and data of several threads on one context; everybody drives. */
static void *worker(void *arg)
{
    struct rig *r = arg;
    for (int round = 0; round < 20; round++) {
        struct rig_qp q;
        rig_qp_create(&q, r);
        struct rig_address self = rig_address_of(&q);
        rig_connect(&q, &self);
        struct ibv_mr *mr = (softnic_ibv_reg_mr)(r->pd, r->data, 4096, IBV_ACCESS_LOCAL_WRITE);
        assert_non_null(mr);
        for (unsigned i = 0; i < 5; i++) {
            uint64_t at = 65536 + 4096 * (uint64_t)(q.qpn % 256); /* targets may be shared: nobody compares them */
            rig_post_atomic(&q, RIG_FETCH_ADD, &self, 0, at, 1, 0);
            expect(&q, (uint16_t)i);
        }
        assert_int_equal(softnic_ibv_dereg_mr(mr), 0);
        rig_qp_destroy(&q);
    }
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    struct rig r;
    pthread_t t[THREADS];
    rig_open(&r, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, worker, &r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(*(uint64_t *)(void *)r.data, THREADS * 20 * 5); /* every add counted once */
    rig_close(&r);
}

int main(void)
{
    static bool with = false, without = true;
    setenv("SOFTNIC_LOG", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(write_and_read, &with),
        {"write_and_read without record", write_and_read, NULL, NULL, &without},
        cmocka_unit_test(atomics),
        cmocka_unit_test_prestate(many_wraps, &with),
        {"many_wraps without record", many_wraps, NULL, NULL, &without},
        cmocka_unit_test(remote_access_error),
        cmocka_unit_test(bad_ranges),
        cmocka_unit_test(unaligned_record_page),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(thread_drives),
        cmocka_unit_test(nobody_drives),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
