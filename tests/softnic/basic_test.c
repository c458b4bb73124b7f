/* SPDX-License-Identifier: Apache-2.0 */
/* One of each: WRITE, READ, SEND, atomics and an error, between two NICs and in loopback. */
#include "harness.h"

static void with_pair(void (*body)(struct end *a, struct end *b), const struct options *o)
{
    struct world w;
    struct end a, b;

    world_open(&w, o);
    end_open(&a, &w, 0, o);
    end_open(&b, &w, 1, o);
    ends_connect(&a, &b);
    body(&a, &b);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

static void write_8(struct end *a, struct end *b)
{
    fill(a->mem, 64, 1);
    struct wr wr = wr_write(a, b, 0, 4096, 8);
    uint32_t i = post(a, &wr);
    world_run(a->w);
    expect_ok(a, i);
    expect_none(a);
    assert_memory_equal(a->mem, b->mem + 4096, 8);
    for (int k = 8; k < 64; k++)
        assert_int_equal(b->mem[4096 + k], 0);
}

static void one_of_each(struct end *a, struct end *b)
{
    fill(a->mem, MEM_SIZE / 2, 2);
    struct wr wr = wr_write(a, b, 16, 1024, 300000);
    uint32_t i = post(a, &wr);
    world_run(a->w);
    expect_ok(a, i);
    assert_memory_equal(a->mem + 16, b->mem + 1024, 300000);

    wr = wr_read(a, b, 1 << 20, 1024, 300000);
    i = post(a, &wr);
    world_run(a->w);
    expect_ok(a, i);
    assert_memory_equal(a->mem + (1 << 20), b->mem + 1024, 300000);

    uint64_t *counter = (uint64_t *)(void *)(b->mem + 8), old;
    *counter = 100;
    wr = wr_fetch_add(a, b, 0, 8, 23);
    i = post(a, &wr);
    world_run(a->w);
    expect_ok(a, i);
    assert_int_equal(*counter, 123);
    memcpy(&old, a->mem, 8);
    assert_int_equal(old, 100);

    post_recv(b, b->mem + 5000, 100, b->mkey);
    wr = wr_send(a, 64, 77);
    i = post(a, &wr);
    world_run(a->w);
    expect_ok(a, i);
    const struct sn_cqe64 *c = next_rcqe(b);
    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), SN_CQE_RESP_SEND);
    assert_int_equal(sn_get32(c->byte_cnt), 77);
    assert_memory_equal(a->mem + 64, b->mem + 5000, 77);

    wr = wr_write(a, b, 0, 0, 8);
    wr.rkey ^= 1;
    i = post(a, &wr);
    world_run(a->w);
    expect_error(a, i, SN_SYND_REMOTE_ACCESS);
    assert_int_equal(end_state(a), SN_QP_ERR);
    assert_int_equal(end_state(b), SN_QP_ERR);
    wr = wr_write(a, b, 0, 0, 8);
    i = post(a, &wr);
    world_run(a->w);
    expect_error(a, i, SN_SYND_FLUSH);
}

static void test_write_8(void **state)
{
    (void)state;
    with_pair(write_8, &defaults);
}

static void test_one_of_each(void **state)
{
    (void)state;
    with_pair(one_of_each, &defaults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write_8), cmocka_unit_test(test_one_of_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
