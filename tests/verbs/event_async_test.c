/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous events: each one, once, on the right object; and what sleeping for them, acknowledging and closing mean. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdaki/softnic.h"
#include "pair.h"

static bool readable(struct ibv_context *context, int ms)
{
    struct pollfd p = {.fd = context->async_fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

/* Turns that somebody else has refused, who may not run just now, are none. */
static void drive(void)
{
    for (int turns = 0; turns < 200;)
        if (softnic_drive() >= 0)
            turns++;
        else
            sched_yield();
}

static struct ibv_async_event take(struct side *s)
{
    struct ibv_async_event e;

    assert_int_equal(softnic_ibv_get_async_event(s->context, &e), 0);
    return e;
}

static void expect_qp_event(struct side *s, enum ibv_event_type type)
{
    struct ibv_async_event e = take(s);

    assert_string_equal(softnic_ibv_event_type_str(e.event_type), softnic_ibv_event_type_str(type));
    assert_ptr_equal(e.element.qp, s->qp);
    softnic_ibv_ack_async_event(&e);
}

static void expect_silence(struct side *s)
{
    struct ibv_async_event e;
    int flags = fcntl(s->context->async_fd, F_GETFL);

    drive();
    assert_false(readable(s->context, 0));
    assert_int_equal(fcntl(s->context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
    assert_int_equal(softnic_ibv_get_async_event(s->context, &e), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(fcntl(s->context->async_fd, F_SETFL, flags), 0);
}

static void post(struct side *s, struct side *peer, enum ibv_wr_opcode opcode, uint32_t length, uint32_t rkey)
{
    struct ibv_sge sge = {.addr = (uintptr_t)s->mem, .length = length, .lkey = s->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}, *bad;

    wr.wr.rdma.remote_addr = (uintptr_t)peer->mem;
    wr.wr.rdma.rkey = rkey;
    assert_int_equal(ibv_post_send(s->qp, &wr, &bad), 0);
}

static void access_error(void **state)
{
    struct pair_options o = {0};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    assert_true(fcntl(p.side[0].context->async_fd, F_GETFD) & FD_CLOEXEC);
    post(&p.side[0], &p.side[1], IBV_WR_RDMA_WRITE, 64, ~p.side[1].mr->rkey);
    expect_qp_event(&p.side[1], IBV_EVENT_QP_ACCESS_ERR);
    assert_int_equal(pair_wait(&p.side[0], p.side[0].scq, false).status, IBV_WC_REM_ACCESS_ERR);
    expect_silence(&p.side[0]);
    expect_silence(&p.side[1]);
    pair_close(&p);
}

static void request_error(void **state)
{
    struct pair_options o = {.access = IBV_ACCESS_REMOTE_WRITE};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    post(&p.side[0], &p.side[1], IBV_WR_RDMA_READ, 64, p.side[1].mr->rkey);
    expect_qp_event(&p.side[1], IBV_EVENT_QP_REQ_ERR);
    assert_int_equal(pair_wait(&p.side[0], p.side[0].scq, false).status, IBV_WC_REM_INV_REQ_ERR);
    expect_silence(&p.side[0]);
    pair_close(&p);
}

static void established(void **state)
{
    struct pair_options o = {.stay_rtr = true};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    for (int i = 0; i < 2; i++) {
        post(&p.side[0], &p.side[1], IBV_WR_RDMA_WRITE, 64, p.side[1].mr->rkey);
        assert_int_equal(pair_wait(&p.side[0], p.side[0].scq, false).status, IBV_WC_SUCCESS);
    }
    expect_qp_event(&p.side[1], IBV_EVENT_COMM_EST);
    expect_silence(&p.side[1]);
    pair_close(&p);
}

static void drained(void **state)
{
    struct pair_options o = {0};
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    post(&p.side[0], &p.side[1], IBV_WR_SEND, 64, 0); /* nobody receives yet: it stays under way */
    drive();
    assert_int_equal(softnic_ibv_modify_qp(p.side[0].qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
    drive();
    expect_silence(&p.side[0]);
    pair_post_recv(&p.side[1], 1, 0, 64);
    expect_qp_event(&p.side[0], IBV_EVENT_SQ_DRAINED);
    assert_int_equal(pair_wait(&p.side[0], p.side[0].scq, false).status, IBV_WC_SUCCESS);
    pair_close(&p);
}

static void shared_receive_queue(void **state)
{
    struct pair_options o = {.srq = true};
    struct ibv_srq_attr limit = {.srq_limit = 2};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    for (int i = 0; i < 3; i++)
        pair_post_recv(b, 1, 0, 64);
    assert_int_equal(softnic_ibv_modify_srq(b->srq, &limit, IBV_SRQ_LIMIT), 0);
    expect_silence(b);
    for (int left = 2; left >= 1; left--) {
        post(&p.side[0], b, IBV_WR_SEND, 64, 0);
        assert_int_equal(pair_wait(b, b->rcq, false).status, IBV_WC_SUCCESS);
        if (left == 2)
            expect_silence(b);
    }
    struct ibv_async_event e = take(b);
    assert_int_equal(e.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    assert_ptr_equal(e.element.srq, b->srq);
    softnic_ibv_ack_async_event(&e);
    assert_int_equal(pair_move(b->qp, IBV_QPS_ERR), 0);
    expect_qp_event(b, IBV_EVENT_QP_LAST_WQE_REACHED);
    expect_silence(b);
    pair_close(&p);
}

static void overrun(void **state)
{
    struct pair_options o = {.cqe = 1, .max_wr = 16};
    struct pair p;
    bool seen[2] = {false, false};
    (void)state;

    pair_open(&p, &o);
    struct side *a = &p.side[0];
    for (int i = 0; i <= a->scq->cqe + 1; i++) /* one more than fits, whatever it was rounded up to */
        post(a, &p.side[1], IBV_WR_RDMA_WRITE, 8, p.side[1].mr->rkey);
    for (int i = 0; i < 2; i++) {
        struct ibv_async_event e = take(a);
        if (e.event_type == IBV_EVENT_CQ_ERR) {
            assert_ptr_equal(e.element.cq, a->scq);
            seen[0] = true;
        } else {
            assert_int_equal(e.event_type, IBV_EVENT_QP_FATAL);
            assert_ptr_equal(e.element.qp, a->qp);
            seen[1] = true;
        }
        softnic_ibv_ack_async_event(&e);
    }
    assert_true(seen[0] && seen[1]);
    assert_int_equal(pair_state(a->qp), IBV_QPS_ERR);
    pair_close(&p);
}

static void expect_port_event(struct side *s, enum ibv_event_type type, enum ibv_port_state now)
{
    struct ibv_port_attr attr;
    struct ibv_async_event e = take(s);

    assert_int_equal(e.event_type, type);
    assert_int_equal(e.element.port_num, 1);
    softnic_ibv_ack_async_event(&e);
    assert_int_equal(ibv_query_port(s->context, 1, &attr), 0);
    assert_int_equal(attr.state, now);
}

static void link_state(void **state)
{
    struct pair_options o = {0};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    assert_int_equal(softnic_fault_set("link-down", 1), 0);
    for (int i = 0; i < 2; i++)
        expect_port_event(&p.side[i], IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    assert_int_equal(softnic_fault_clear(), 0);
    for (int i = 0; i < 2; i++)
        expect_port_event(&p.side[i], IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
    assert_int_equal(softnic_fault_set("link-down:at=1ms", 1), 0); /* nobody sends: the port's thread looks at the time */
    expect_port_event(&p.side[0], IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    assert_int_equal(softnic_fault_clear(), 0);
    pair_close(&p);
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

/* What nobody took goes with its object. */
static void purged(void **state)
{
    struct pair_options o = {0};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    post(&p.side[0], b, IBV_WR_RDMA_WRITE, 64, ~b->mr->rkey);
    assert_true(readable(b->context, -1));
    assert_int_equal(softnic_ibv_destroy_qp(b->qp), 0);
    b->qp = NULL;
    expect_silence(b);
    pair_close(&p);
}

struct sleeper {
    struct ibv_context *context;
    struct ibv_async_event event;
    int rc, error;
    atomic_bool done;
    atomic_int tid; /* of a thread that goes to sleep next */
};

static void *sleep_once(void *arg)
{
    struct sleeper *z = arg;

    atomic_store(&z->tid, (int)gettid());
    z->rc = softnic_ibv_get_async_event(z->context, &z->event);
    z->error = errno;
    atomic_store(&z->done, true);
    return NULL;
}

/* Until the thread sleeps in the call that it is about to make. */
static void wait_until_asleep(struct sleeper *z)
{
    char path[64], state = 0;
    int tid;

    while ((tid = atomic_load(&z->tid)) == 0)
        usleep(100);
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    while (state != 'S') {
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
        fclose(f);
        usleep(100);
    }
}

static void *acknowledge_later(void *arg)
{
    struct sleeper *z = arg;

    usleep(20000);
    atomic_store(&z->done, true);
    softnic_ibv_ack_async_event(&z->event);
    return NULL;
}

static void destroy_waits(void **state)
{
    struct pair_options o = {0};
    struct pair p;
    pthread_t thread;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    struct sleeper z = {.context = b->context};
    post(&p.side[0], b, IBV_WR_RDMA_WRITE, 64, ~b->mr->rkey);
    z.event = take(b);
    assert_int_equal(pthread_create(&thread, NULL, acknowledge_later, &z), 0);
    assert_int_equal(softnic_ibv_destroy_qp(b->qp), 0);
    b->qp = NULL;
    assert_true(atomic_load(&z.done));
    pthread_join(thread, NULL);
    pair_close(&p);
}

/* A thread that sleeps for events when the device is closed wakes up, and learns it. */
static void closing_wakes(void **state)
{
    struct sleeper z[3] = {{0}};
    pthread_t thread[3];
    struct ibv_context *context = pair_device(0);
    (void)state;

    for (int i = 0; i < 3; i++) {
        z[i].context = context;
        assert_int_equal(pthread_create(&thread[i], NULL, sleep_once, &z[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        wait_until_asleep(&z[i]);
    assert_int_equal(softnic_ibv_close_device(context), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(z[i].rc, -1);
        assert_int_equal(z[i].error, ENODEV);
    }
}

/* Two opens of one device have their own events. */
static void two_contexts(void **state)
{
    struct pair_options o = {0};
    struct pair p;
    (void)state;

    pair_open(&p, &o);
    struct side other = {.context = pair_device(1)};
    post(&p.side[0], &p.side[1], IBV_WR_RDMA_WRITE, 64, ~p.side[1].mr->rkey);
    expect_qp_event(&p.side[1], IBV_EVENT_QP_ACCESS_ERR);
    expect_silence(&other);
    assert_int_equal(softnic_ibv_close_device(other.context), 0);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_error),
        cmocka_unit_test(request_error),
        cmocka_unit_test(established),
        cmocka_unit_test(drained),
        cmocka_unit_test(shared_receive_queue),
        cmocka_unit_test(overrun),
        cmocka_unit_test(link_state),
        cmocka_unit_test(purged),
        cmocka_unit_test(destroy_waits),
        cmocka_unit_test(closing_wakes),
        cmocka_unit_test(two_contexts),
    };
    pair_environment();
    setenv("SOFTNIC_LOG", "off", 0);
    alarm(120); /* an event that does not come is a hang */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
