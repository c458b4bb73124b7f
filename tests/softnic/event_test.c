/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the engine: who hears of what, when, and how often. Virtual time: nothing depends on the machine. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "harness.h"
#include "softnic/fault/inject.h"

enum { LOG_MAX = 64 };

struct listener {
    struct sn_watch watch;
    unsigned count;
    struct sn_event log[LOG_MAX];
};

static void hear(struct sn_watch *w, const struct sn_event *event)
{
    struct listener *l = (struct listener *)(void *)w;

    assert_true(l->count < LOG_MAX);
    l->log[l->count++] = *event;
}

static struct listener listener(void)
{
    return (struct listener){.watch = {.fn = hear}};
}

/* Exactly this event has been heard since the last call, once. */
static void expect_event(struct listener *l, enum sn_event_type type, uint32_t number)
{
    assert_int_equal(l->count, 1);
    assert_int_equal(l->log[0].type, type);
    assert_int_equal(l->log[0].number, number);
    l->count = 0;
}

static void expect_silence(struct listener *l)
{
    assert_int_equal(l->count, 0);
}

struct fixture {
    struct world w;
    struct end a, b;
    struct listener qa, qb; /* of the queue pairs */
};

static void open_fixture(struct fixture *f, const struct options *o)
{
    memset(f, 0, sizeof(*f));
    world_open(&f->w, o);
    end_open(&f->a, &f->w, 0, o);
    end_open(&f->b, &f->w, 1, o);
    f->qa = f->qb = listener();
    assert_int_equal(sn_qp_watch(f->a.nic, f->a.qpn, &f->qa.watch), 0);
    assert_int_equal(sn_qp_watch(f->b.nic, f->b.qpn, &f->qb.watch), 0);
    ends_connect(&f->a, &f->b);
    expect_silence(&f->qa);
    expect_silence(&f->qb);
}

static void close_fixture(struct fixture *f)
{
    end_close(&f->a);
    end_close(&f->b);
    world_close(&f->w);
    assert_null(f->qa.watch.link); /* its object has gone */
}

/* ---- completions ---------------------------------------------------------------------------------------------- */

static void arm(uint32_t *record, unsigned number, bool solicited, uint32_t ci)
{
    uint32_t word = SN_CQ_ARM_NUMBER(number) | (solicited ? SN_CQ_ARM_SOLICITED : 0) | (ci & 0xffffff);
    __atomic_store_n(record + 1, htobe32(word), __ATOMIC_RELEASE);
}

static void send_one(struct fixture *f, bool solicited)
{
    struct wr wr = wr_send(&f->a, 0, 8);

    wr.fm_ce_se = solicited ? 8 | SN_WQE_SOLICITED : 8;
    post_recv(&f->b, f->b.mem, 64, f->b.mkey);
    post(&f->a, &wr);
    world_run(&f->w);
}

static void completions(void **state)
{
    struct options o = defaults;
    struct fixture f;
    struct listener cq = listener();
    uint32_t *record;
    (void)state;

    open_fixture(&f, &o);
    record = f.b.cq_record + 2;
    arm(record, 3, false, 0); /* the number of no request */
    assert_int_equal(sn_cq_watch(f.b.nic, f.b.rcqn, &cq.watch), 0);
    send_one(&f, false);
    expect_silence(&cq); /* nobody asked */

    /* Asked for what is there already: at once. */
    arm(record, 0, false, 0);
    assert_int_equal(sn_cq_look_arm(f.b.nic, f.b.rcqn), 0);
    expect_event(&cq, SN_EVENT_COMPLETION, f.b.rcqn);

    /* One request, one event. */
    send_one(&f, false);
    arm(record, 0, false, 1);
    assert_int_equal(sn_cq_look_arm(f.b.nic, f.b.rcqn), 0);
    expect_silence(&cq);

    /* A new number: from the consumer index on. */
    arm(record, 1, false, 2);
    assert_int_equal(sn_cq_look_arm(f.b.nic, f.b.rcqn), 0);
    expect_silence(&cq);
    send_one(&f, false);
    expect_event(&cq, SN_EVENT_COMPLETION, f.b.rcqn);
    send_one(&f, true);
    expect_silence(&cq);
    sn_unwatch(&cq.watch);
    arm(record, 2, false, 0);
    send_one(&f, false);
    expect_silence(&cq);
    close_fixture(&f);
}

static void solicited_only(void **state)
{
    struct options o = defaults;
    struct fixture f;
    struct listener cq = listener();
    uint32_t *record;
    (void)state;

    open_fixture(&f, &o);
    record = f.b.cq_record + 2;
    arm(record, 3, false, 0);
    assert_int_equal(sn_cq_watch(f.b.nic, f.b.rcqn, &cq.watch), 0);
    arm(record, 0, true, 0);
    send_one(&f, false);
    expect_silence(&cq);
    send_one(&f, true);
    expect_event(&cq, SN_EVENT_COMPLETION, f.b.rcqn);

    /* That one is told, wherever the consumer index is; the next one is told once more. */
    arm(record, 1, true, 0);
    assert_int_equal(sn_cq_look_arm(f.b.nic, f.b.rcqn), 0);
    send_one(&f, false);
    expect_silence(&cq);
    arm(record, 1, true, 2);
    send_one(&f, true);
    expect_event(&cq, SN_EVENT_COMPLETION, f.b.rcqn);
    send_one(&f, true); /* came before the request, and after the last event */
    arm(record, 2, true, 5);
    assert_int_equal(sn_cq_look_arm(f.b.nic, f.b.rcqn), 0);
    expect_silence(&cq); /* but it has been read */
    arm(record, 2, true, 4);
    assert_int_equal(sn_cq_look_arm(f.b.nic, f.b.rcqn), 0);
    expect_event(&cq, SN_EVENT_COMPLETION, f.b.rcqn);

    /* An error is always told. */
    arm(record, 3, true, 5);
    post_recv(&f.b, f.b.mem, 64, f.b.mkey);
    assert_int_equal(sn_qp_modify(f.b.nic, f.b.qpn, SN_QP_ERR, NULL, 0), 0);
    world_run(&f.w);
    expect_event(&cq, SN_EVENT_COMPLETION, f.b.rcqn);
    close_fixture(&f);
}

/* Device code stores the request and tells nobody: an idle turn finds it. Forty CQs, so that not all are seen in one. */
static void found_in_the_record(void **state)
{
    enum { N = 40 };
    struct options o = defaults;
    struct world w;
    static struct end e[N];
    static struct listener cq[N];
    (void)state;

    world_open(&w, &o);
    for (int i = 0; i < N; i++) {
        end_open(&e[i], &w, i & 1, &o);
        cq[i] = listener();
        arm(e[i].cq_record, 3, false, 0);
        assert_int_equal(sn_cq_watch(e[i].nic, e[i].cqn, &cq[i].watch), 0);
        ends_connect(&e[i], &e[i]);
        struct wr wr = wr_write(&e[i], &e[i], 0, 64, 8);
        post(&e[i], &wr);
    }
    world_run(&w);
    for (int i = 0; i < N; i++) {
        expect_silence(&cq[i]);
        arm(e[i].cq_record, 0, false, 0);
    }
    for (int i = 0; i < N; i++) /* idle turns */
        (void)sn_port_run(w.port);
    for (int i = 0; i < N; i++)
        expect_event(&cq[i], SN_EVENT_COMPLETION, e[i].cqn);
    /* Destroyed while they are on the list of those that are not armed, in any order. */
    for (int i = 0; i < N; i++) {
        struct wr wr = wr_write(&e[i], &e[i], 0, 64, 8);
        post(&e[i], &wr);
    }
    world_run(&w);
    for (int i = 0; i < N; i++)
        end_close(&e[i * 7 % N]);
    world_close(&w);
}

static void several_watches(void **state)
{
    struct options o = defaults;
    struct fixture f;
    struct listener all = listener(), errors = listener();
    (void)state;

    open_fixture(&f, &o);
    errors.watch.without = 1u << SN_EVENT_COMPLETION;
    assert_int_equal(sn_cq_watch(f.b.nic, f.b.rcqn, &errors.watch), 0);
    send_one(&f, false);
    assert_int_equal(sn_cq_watch(f.b.nic, f.b.rcqn, &all.watch), 0);
    expect_event(&all, SN_EVENT_COMPLETION, f.b.rcqn); /* a record of zeroes is request 0, "any" from index 0 on */
    expect_silence(&errors);
    assert_int_equal(sn_cq_watch(f.b.nic, 0x123456, &all.watch), -ENOENT);
    assert_int_equal(sn_qp_watch(f.b.nic, 0x123456, &all.watch), -ENOENT);
    assert_int_equal(sn_srq_watch(f.b.nic, 0x123456, &all.watch), -ENOENT);
    close_fixture(&f);
}

static void overrun(void **state)
{
    struct options o = defaults;
    struct fixture f;
    struct listener cq = listener();
    (void)state;

    o.overrun = true;
    o.log_cq = 1;
    open_fixture(&f, &o);
    cq.watch.without = 1u << SN_EVENT_COMPLETION;
    assert_int_equal(sn_cq_watch(f.a.nic, f.a.cqn, &cq.watch), 0);
    for (int i = 0; i < 3; i++) {
        struct wr wr = wr_write(&f.a, &f.b, 0, 64, 8);
        post(&f.a, &wr);
        world_run(&f.w);
    }
    expect_event(&cq, SN_EVENT_CQ_ERROR, f.a.cqn);
    expect_event(&f.qa, SN_EVENT_QP_FATAL, f.a.qpn);
    assert_int_equal(end_state(&f.a), SN_QP_ERR);
    close_fixture(&f);
}

/* ---- queue pairs ---------------------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    struct fixture f;
    struct wr wr;
    (void)state;

    open_fixture(&f, &defaults); /* a key that is none */
    wr = wr_write(&f.a, &f.b, 0, 64, 8);
    wr.rkey ^= 0x55555555;
    post(&f.a, &wr);
    world_pass(&f.w, 10000000, 1000000);
    expect_event(&f.qb, SN_EVENT_QP_ACCESS, f.b.qpn);
    expect_silence(&f.qa); /* the requester has a CQE */
    close_fixture(&f);

    struct options o = defaults; /* a request that the queue does not take */
    o.no_rre = true;
    open_fixture(&f, &o);
    wr = wr_read(&f.a, &f.b, 0, 64, 8);
    post(&f.a, &wr);
    world_pass(&f.w, 10000000, 1000000);
    expect_event(&f.qb, SN_EVENT_QP_REQUEST, f.b.qpn);
    expect_silence(&f.qa);
    close_fixture(&f);

    open_fixture(&f, &defaults); /* a receive of its own tells: no event */
    post_recv(&f.b, f.b.mem, 4, f.b.mkey);
    wr = wr_send(&f.a, 0, 64);
    post(&f.a, &wr);
    world_pass(&f.w, 10000000, 1000000);
    expect_silence(&f.qb);
    expect_silence(&f.qa);
    assert_int_equal(end_state(&f.b), SN_QP_ERR);
    close_fixture(&f);
}

static void established(void **state)
{
    struct fixture f;
    struct sn_qp_params p = {0};
    (void)state;

    open_fixture(&f, &defaults);
    /* Down to RTR again, as if the ready-to-use message were still under way. */
    assert_int_equal(sn_qp_query(f.b.nic, f.b.qpn, NULL, &p, NULL, NULL), 0);
    assert_int_equal(sn_qp_modify(f.b.nic, f.b.qpn, SN_QP_RST, NULL, 0), 0);
    assert_int_equal(sn_qp_modify(f.b.nic, f.b.qpn, SN_QP_INIT, &p, SN_QPF_PORT | SN_QPF_RWE), 0);
    assert_int_equal(sn_qp_modify(f.b.nic, f.b.qpn, SN_QP_RTR, &p,
                                  SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH | SN_QPF_RRA), 0);
    for (int i = 0; i < 2; i++) { /* told once */
        struct wr wr = wr_write(&f.a, &f.b, 0, 64, 8);
        post(&f.a, &wr);
        world_run(&f.w);
    }
    expect_event(&f.qb, SN_EVENT_QP_ESTABLISHED, f.b.qpn);
    close_fixture(&f);
}

static void drained(void **state)
{
    struct fixture f;
    struct sn_qp_params p = {.sqd_event = true};
    (void)state;

    open_fixture(&f, &defaults);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_SQD, NULL, 0), 0); /* not asked for */
    world_run(&f.w);
    expect_silence(&f.qa);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_RTS, NULL, 0), 0);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_SQD, &p, SN_QPF_SQD_EVENT), 0); /* nothing is under way */
    expect_event(&f.qa, SN_EVENT_QP_DRAINED, f.a.qpn);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_RTS, NULL, 0), 0);

    struct wr wr = wr_send(&f.a, 0, 8); /* no receive is posted: it stays under way */
    post(&f.a, &wr);
    world_run(&f.w);
    assert_int_equal(sn_qp_modify(f.a.nic, f.a.qpn, SN_QP_SQD, &p, SN_QPF_SQD_EVENT), 0);
    world_run(&f.w);
    expect_silence(&f.qa);
    post_recv(&f.b, f.b.mem, 64, f.b.mkey);
    world_pass(&f.w, 100000000, 100000);
    expect_event(&f.qa, SN_EVENT_QP_DRAINED, f.a.qpn);
    expect_ok(&f.a, 0);
    close_fixture(&f);
}

static void last_wqe_and_limit(void **state)
{
    struct options o = defaults;
    struct fixture f;
    struct listener srq = listener();
    uint32_t limit;
    (void)state;

    o.srq = true;
    open_fixture(&f, &o);
    assert_int_equal(sn_srq_watch(f.b.nic, f.b.srqn, &srq.watch), 0);
    for (int i = 0; i < 5; i++)
        post_recv(&f.b, f.b.mem, 64, f.b.mkey);
    assert_int_equal(sn_srq_set_limit(f.b.nic, f.b.srqn, 3), 0);
    expect_silence(&srq);
    for (int left = 4; left >= 0; left--) {
        struct wr wr = wr_send(&f.a, 0, 8);
        assert_int_equal(sn_srq_limit(f.b.nic, f.b.srqn, &limit), 0);
        assert_int_equal(limit, left >= 2 ? 3 : 0);
        post(&f.a, &wr);
        world_run(&f.w);
        if (left == 2)
            expect_event(&srq, SN_EVENT_SRQ_LIMIT, f.b.srqn);
        else
            expect_silence(&srq);
    }
    assert_int_equal(sn_srq_set_limit(f.b.nic, f.b.srqn, 1), 0); /* empty already */
    expect_event(&srq, SN_EVENT_SRQ_LIMIT, f.b.srqn);
    assert_int_equal(sn_srq_set_limit(f.b.nic, f.b.srqn, 1000), -EINVAL);
    assert_int_equal(sn_srq_set_limit(f.b.nic, 0x123456, 1), -ENOENT);

    assert_int_equal(sn_qp_modify(f.b.nic, f.b.qpn, SN_QP_ERR, NULL, 0), 0);
    world_run(&f.w);
    expect_event(&f.qb, SN_EVENT_QP_LAST_WQE, f.b.qpn);
    assert_int_equal(sn_qp_modify(f.b.nic, f.b.qpn, SN_QP_ERR, NULL, 0), 0);
    world_run(&f.w);
    expect_silence(&f.qb); /* once */
    close_fixture(&f);
}

/* ---- the port ------------------------------------------------------------------------------------------------- */

static void plan(struct world *w, const char *text)
{
    struct sn_fault_plan p;
    char why[256];

    assert_int_equal(sn_fault_parse(text, strlen(text), &p, why, sizeof(why)), 0);
    assert_int_equal(sn_port_set_faults(w->port, &p, 1), 0);
}

static void link_state(void **state)
{
    struct fixture f;
    struct listener port[2] = {listener(), listener()};
    (void)state;

    open_fixture(&f, &defaults);
    for (int i = 0; i < 2; i++)
        sn_nic_watch(f.w.nic[i], &port[i].watch);
    plan(&f.w, "link-down:at=1ms,for=2ms");
    expect_silence(&port[0]);
    world_pass(&f.w, 1100000, 50000);
    for (int i = 0; i < 2; i++)
        expect_event(&port[i], SN_EVENT_PORT_DOWN, 1);
    assert_false(sn_nic_link_up(f.w.nic[0]));
    world_pass(&f.w, 2000000, 50000);
    for (int i = 0; i < 2; i++)
        expect_event(&port[i], SN_EVENT_PORT_UP, 1);
    assert_true(sn_nic_link_up(f.w.nic[0]));

    plan(&f.w, "link-down:nth=3,for=1ms"); /* by a packet: WRITE, its acknowledgement, the next WRITE */
    for (int i = 0; i < 2; i++) {
        struct wr wr = wr_write(&f.a, &f.b, 0, 64, 8);
        expect_silence(&port[0]);
        post(&f.a, &wr);
        world_run(&f.w);
    }
    expect_event(&port[0], SN_EVENT_PORT_DOWN, 1);
    world_pass(&f.w, 1100000, 50000);
    expect_event(&port[0], SN_EVENT_PORT_UP, 1);

    plan(&f.w, "link-down:at=0ms");
    expect_event(&port[0], SN_EVENT_PORT_DOWN, 1);
    assert_int_equal(sn_port_set_faults(f.w.port, NULL, 0), 0); /* the plan's end brings it back */
    expect_event(&port[0], SN_EVENT_PORT_UP, 1);

    char text[64];
    snprintf(text, sizeof(text), "link-down:qpn=%u", f.a.qpn); /* one queue pair's cable is not the port's link */
    plan(&f.w, text);
    world_run(&f.w);
    expect_silence(&port[0]);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions),     cmocka_unit_test(solicited_only), cmocka_unit_test(found_in_the_record),
        cmocka_unit_test(several_watches), cmocka_unit_test(overrun),        cmocka_unit_test(refusals),
        cmocka_unit_test(established),     cmocka_unit_test(drained),        cmocka_unit_test(last_wqe_and_limit),
        cmocka_unit_test(link_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
