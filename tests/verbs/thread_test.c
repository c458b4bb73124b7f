/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs are thread-safe: several threads post to one queue pair, several poll one CQ, others make and destroy queue pairs on
 * the same CQs and change their size. Every request completes once, on either side.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "rig.h"

enum { POSTERS = 3, POLLERS = 2, EACH = 1500, TOTAL = POSTERS * EACH, CHURN_MARK = 1 << 20 };

struct shared {
    struct rig r;
    atomic_uint sent[TOTAL], received[TOTAL];
    atomic_uint sends_done, receives_done, failures;
    atomic_uint next_poster, next_receiver;
};

static struct shared s;

static void note_failure(const char *what, unsigned value)
{
    fprintf(stderr, "%s: %u\n", what, value);
    atomic_fetch_add(&s.failures, 1);
}

static bool over(void)
{
    return atomic_load(&s.failures) || (atomic_load(&s.sends_done) == TOTAL && atomic_load(&s.receives_done) == TOTAL);
}

static void *post_sends(void *arg)
{
    unsigned base = atomic_fetch_add(&s.next_poster, 1) * EACH;
    (void)arg;
    for (unsigned i = 0; i < EACH && !over();) {
        struct ibv_sge sge = {(uintptr_t)s.r.a.mem, 64, s.r.a.mr->lkey};
        struct ibv_send_wr wr = {.wr_id = base + i,
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags = IBV_SEND_SIGNALED | (i % 3 ? IBV_SEND_INLINE : 0u)},
                           *bad;
        int rc = ibv_post_send(s.r.a.qp, &wr, &bad);
        if (!rc)
            i++;
        else if (rc == ENOMEM)
            sched_yield();
        else
            note_failure("ibv_post_send", (unsigned)rc);
    }
    return NULL;
}

static void *post_receives(void *arg)
{
    unsigned base = atomic_fetch_add(&s.next_receiver, 1) * EACH;
    (void)arg;
    for (unsigned i = 0; i < EACH && !over();) {
        struct ibv_sge sge = {(uintptr_t)s.r.b.mem, 64, s.r.b.mr->lkey};
        struct ibv_recv_wr wr = {.wr_id = base + i, .sg_list = &sge, .num_sge = 1}, *bad;
        int rc = s.r.b.srq ? ibv_post_srq_recv(s.r.b.srq, &wr, &bad) : ibv_post_recv(s.r.b.qp, &wr, &bad);
        if (!rc)
            i++;
        else if (rc == ENOMEM)
            sched_yield();
        else
            note_failure("ibv_post_recv", (unsigned)rc);
    }
    return NULL;
}

static void take(struct ibv_cq *cq, atomic_uint *seen, atomic_uint *done)
{
    struct ibv_wc wc[5];
    int n = ibv_poll_cq(cq, 5, wc);
    if (n < 0)
        note_failure("ibv_poll_cq", 0);
    for (int i = 0; i < n; i++) {
        if (wc[i].wr_id == CHURN_MARK)
            continue; /* of a queue pair that comes and goes */
        if (wc[i].status != IBV_WC_SUCCESS || wc[i].wr_id >= TOTAL || atomic_fetch_add(&seen[wc[i].wr_id], 1))
            note_failure("a completion that is wrong, or comes twice", wc[i].status);
        else
            atomic_fetch_add(done, 1);
    }
}

static void *poll_sends(void *arg)
{
    (void)arg;
    while (!over())
        take(s.r.a.scq, s.sent, &s.sends_done);
    return NULL;
}

static void *poll_receives(void *arg)
{
    (void)arg;
    while (!over())
        take(s.r.b.rcq, s.received, &s.receives_done);
    return NULL;
}

/* Queue pairs that flush into the CQs of others and are gone before all of it is polled. */
static void *churn(void *arg)
{
    struct rig_options o = {.wr = 4, .sge = 1};
    struct rig_end *e = arg;
    for (unsigned round = 0; !over(); round++) {
        struct ibv_qp_init_attr attr = {.send_cq = s.r.a.scq,
                                        .recv_cq = s.r.a.scq,
                                        .qp_type = IBV_QPT_RC,
                                        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
        struct ibv_qp *qp = softnic_ibv_create_qp(e->pd, &attr);
        struct ibv_recv_wr recv = {.wr_id = CHURN_MARK}, *bad;
        if (!qp) {
            note_failure("ibv_create_qp", round);
            break;
        }
        rig_init(qp, &o);
        for (int i = 0; i < 3; i++)
            ibv_post_recv(qp, &recv, &bad);
        rig_move(qp, IBV_QPS_ERR);
        sched_yield();
        if (softnic_ibv_destroy_qp(qp))
            note_failure("ibv_destroy_qp", round);
        if (round % 8 == 0 && softnic_ibv_resize_cq(s.r.a.scq, round & 8 ? 300 : 900))
            note_failure("ibv_resize_cq", round);
    }
    return NULL;
}

static void run(const struct rig_options *o)
{
    pthread_t t[2 * POSTERS + 2 * POLLERS + 1];
    int n = 0;
    memset(&s, 0, sizeof(s));
    rig_open(&s.r, o);
    for (int i = 0; i < POSTERS; i++) {
        assert_int_equal(pthread_create(&t[n++], NULL, post_receives, NULL), 0);
        assert_int_equal(pthread_create(&t[n++], NULL, post_sends, NULL), 0);
    }
    for (int i = 0; i < POLLERS; i++) {
        assert_int_equal(pthread_create(&t[n++], NULL, poll_sends, NULL), 0);
        assert_int_equal(pthread_create(&t[n++], NULL, poll_receives, NULL), 0);
    }
    assert_int_equal(pthread_create(&t[n++], NULL, churn, &s.r.a), 0);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&s.failures), 0);
    for (unsigned i = 0; i < TOTAL; i++) {
        assert_int_equal(atomic_load(&s.sent[i]), 1);
        assert_int_equal(atomic_load(&s.received[i]), 1);
    }
    rig_close(&s.r);
}

static void test_threads(void **state)
{
    const struct rig_options rows[] = {
        {.wr = 16, .inlines = 64, .cqe = 500},
        {.wr = 16, .inlines = 64, .cqe = 500, .srq = true, .srq_wr = 31},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        run(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    rig_env("eth");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
