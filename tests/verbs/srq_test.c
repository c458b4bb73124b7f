/* SPDX-License-Identifier: Apache-2.0 */
/* A shared receive queue loses no room when a queue pair ends in the middle of a message (IBTA vol. 1, 10.2.9). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pair.h"

enum { BYTES = 20000, HANG_S = 60 };

/* The last packet of each message is lost, again and again. */
static void send_most_of_a_message(struct pair *p, uint64_t wr_id)
{
    struct side *a = &p->side[0], *b = &p->side[1];
    struct ibv_sge sge = {.addr = (uintptr_t)a->mem, .length = BYTES, .lkey = a->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    const volatile uint8_t *first = b->mem;
    time_t end = time(NULL) + HANG_S;

    memset(a->mem, 0x5a, BYTES);
    b->mem[0] = 0;
    pair_post_recv(b, wr_id, 0, BYTES);
    assert_int_equal(ibv_post_send(a->qp, &wr, &bad), 0);
    while (*first != 0x5a)
        assert_true(time(NULL) < end);
}

/* How many more receives it takes. */
static unsigned room_of(struct side *s)
{
    struct ibv_recv_wr wr = {.wr_id = 99}, *bad;
    unsigned count = 0;
    while (!ibv_post_srq_recv(s->srq, &wr, &bad))
        count++;
    return count;
}

static void room_comes_back(void **state)
{
    struct pair_options o = {.srq = true};
    struct ibv_srq_attr attr;
    struct told t;
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    assert_int_equal(softnic_ibv_query_srq(b->srq, &attr), 0);
    for (uint64_t round = 0; round < 3; round++) {
        send_most_of_a_message(&p, round);
        assert_int_equal(pair_move(b->qp, IBV_QPS_RESET), 0);
        assert_false(pair_poll(b, b->rcq, false, &t)); /* as all of a queue pair's that is reset */
        assert_int_equal(pair_move(p.side[0].qp, IBV_QPS_RESET), 0);
        pair_connect(&p);
    }
    assert_int_equal(room_of(b), attr.max_wr);
    pair_close(&p);
}

/* In ERR first, it is told. */
static void error_tells_first(void **state)
{
    struct pair_options o = {.srq = true};
    struct ibv_srq_attr attr;
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    assert_int_equal(softnic_ibv_query_srq(b->srq, &attr), 0);
    send_most_of_a_message(&p, 7);
    assert_int_equal(pair_move(b->qp, IBV_QPS_ERR), 0);
    struct told t = pair_wait(b, b->rcq, false);
    assert_int_equal(t.wr_id, 7);
    assert_int_equal(t.status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(room_of(b), attr.max_wr);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(room_comes_back), cmocka_unit_test(error_tells_first)};
    pair_environment();
    setenv("SOFTNIC_FAULTS", "drop:kind=send,part=last", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
