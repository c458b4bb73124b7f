/* SPDX-License-Identifier: Apache-2.0 */
/* A queue that waits says what for: each way of waiting is set up, and the description names it. */
#include "harness.h"

#include <errno.h>
#include <stdio.h>

#include "softnic/fault/describe.h"
#include "softnic/fault/inject.h"

struct pair {
    struct world w;
    struct end a, b;
    struct options o;
    char text[2048];
};

static void open_pair(struct pair *p)
{
    world_open(&p->w, &p->o);
    end_open(&p->a, &p->w, 0, &p->o);
    end_open(&p->b, &p->w, 1, &p->o);
    ends_connect(&p->a, &p->b);
    world_run(&p->w);
}

static void close_pair(struct pair *p)
{
    end_close(&p->a);
    end_close(&p->b);
    world_close(&p->w);
}

static void faults(struct pair *p, const char *text)
{
    struct sn_fault_plan plan;

    assert_int_equal(sn_fault_parse(text, strlen(text), &plan, p->text, sizeof(p->text)), 0);
    assert_int_equal(sn_port_set_faults(p->w.port, &plan, 1), 0);
}

static void says(struct pair *p, const char *what)
{
    int n = sn_qp_describe(p->a.nic, p->a.qpn, p->text, sizeof(p->text));
    char small[40];

    assert_true(n > 0 && (size_t)n == strlen(p->text));
    if (strstr(p->text, what) == NULL)
        fail_msg("'%s' is not in:\n%s", what, p->text);
    assert_int_equal(sn_qp_describe(p->a.nic, p->a.qpn, small, sizeof(small)), n); /* cut, and the length told */
    assert_int_equal(strlen(small), sizeof(small) - 1);
    assert_int_equal(sn_qp_describe(p->a.nic, p->a.qpn, NULL, 0), n);
}

static void post_write(struct pair *p)
{
    struct wr wr = wr_write(&p->a, &p->b, 0, 0, 100);
    put_wqe(&p->a, &wr);
    ring(&p->a);
    world_run(&p->w);
}

static void test_idle_and_unknown(void **state)
{
    struct pair p = {.o = defaults};

    (void)state;
    open_pair(&p);
    says(&p, "state RTS");
    says(&p, "nothing to do");
    post_write(&p);
    says(&p, "fetched up to 1, posted up to 1; 0 WQEs in flight");
    assert_int_equal(sn_qp_describe(p.a.nic, p.a.qpn ^ 0x8000, p.text, sizeof(p.text)), -ENOENT);
    close_pair(&p);
}

static void test_acknowledgement(void **state)
{
    struct pair p = {.o = defaults};

    (void)state;
    p.o.psn = 77;
    open_pair(&p);
    faults(&p, "drop:kind=response");
    post_write(&p);
    says(&p, "oldest incomplete: WQE 0 (RDMA WRITE), PSN 77, 1 packets, 1 sent");
    says(&p, "waits for: an acknowledgement of PSN 77; asks again in");
    says(&p, "7 retries left");
    close_pair(&p);
    p.o.ack_timeout = 0;
    open_pair(&p);
    faults(&p, "drop:kind=response");
    post_write(&p);
    says(&p, "for ever: the queue has no ACK timeout");
    close_pair(&p);
}

static void test_receiver_not_ready(void **state)
{
    struct pair p = {.o = defaults};
    struct wr wr;

    (void)state;
    open_pair(&p);
    wr = wr_send(&p.a, 0, 10);
    put_wqe(&p.a, &wr);
    ring(&p.a);
    world_run(&p.w);
    says(&p, "waits for: the peer, which was not ready to receive (RNR)");
    close_pair(&p);
}

static void test_wait_and_limits(void **state)
{
    struct wr wait = {.opcode = SN_OPCODE_WAIT, .fm_ce_se = 8, .index = 3};
    struct pair p = {.o = defaults};
    struct wr wr;
    char what[128];

    (void)state;
    open_pair(&p);
    wait.cqn = p.a.cqn;
    put_wqe(&p.a, &wait);
    ring(&p.a);
    world_run(&p.w);
    snprintf(what, sizeof(what), "waits for: WAIT on CQ 0x%x, which has counted 0 CQEs and has to count 4", p.a.cqn);
    says(&p, what);
    close_pair(&p);

    p.o.log_sra = 0; /* one read at a time */
    open_pair(&p);
    faults(&p, "drop:kind=response");
    for (int k = 0; k < 2; k++) {
        wr = wr_read(&p.a, &p.b, 0, 0, 8);
        put_wqe(&p.a, &wr);
    }
    ring(&p.a);
    world_run(&p.w);
    says(&p, "the limit of reads and atomics: 1 outstanding, max_rd_atomic 1 (WQE 1)");
    close_pair(&p);

    p.o.log_sra = 4;
    open_pair(&p);
    faults(&p, "drop:kind=response");
    wr = wr_read(&p.a, &p.b, 0, 0, 8);
    put_wqe(&p.a, &wr);
    wr = wr_write(&p.a, &p.b, 0, 0, 8);
    wr.fm_ce_se = 8 | SN_FENCE_READS << 5;
    put_wqe(&p.a, &wr);
    ring(&p.a);
    world_run(&p.w);
    says(&p, "waits for: a fence (WQE 1, RDMA WRITE) behind 1 outstanding");
    close_pair(&p);
}

static void test_doorbells(void **state)
{
    struct pair p = {.o = defaults};
    struct wr wr;

    (void)state;
    open_pair(&p);
    wr = wr_write(&p.a, &p.b, 0, 0, 8);
    put_wqe(&p.a, &wr);
    write_record(&p.a, p.a.pi); /* and no register */
    world_run(&p.w);
    says(&p, "waits for: a doorbell. The record announces 1 more WQE blocks (up to 1)");
    close_pair(&p);

    open_pair(&p);
    write_record(&p.a, 1); /* a doorbell without its WQE */
    write_register(&p.a, 1);
    for (int k = 0; k < 10; k++)
        sn_port_run(p.w.port);
    says(&p, "waits for: WQE 0, which a doorbell announced");
    close_pair(&p);
}

static void test_errors(void **state)
{
    struct pair p = {.o = defaults};

    (void)state;
    open_pair(&p);
    faults(&p, "nak:code=access,nth=1");
    post_write(&p);
    says(&p, "state ERR");
    says(&p, "first error: syndrome 0x13, vendor syndrome 0x88, WQE 0, opcode 0x08, seen by the requester");
    close_pair(&p);
    open_pair(&p);
    faults(&p, "retry-exceeded:nth=1");
    post_write(&p);
    says(&p, "a fault plan swallows this queue's requests");
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_and_unknown), cmocka_unit_test(test_acknowledgement),
        cmocka_unit_test(test_receiver_not_ready), cmocka_unit_test(test_wait_and_limits),
        cmocka_unit_test(test_doorbells), cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
