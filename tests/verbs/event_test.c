/* SPDX-License-Identifier: Apache-2.0 */
/* Completion channels: what a program that sleeps may count on. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pair.h"

enum { HANG_S = 120 /* a lost wake-up is a hang: the alarm ends the test */ };

static bool readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

static void set_nonblocking(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);
    assert_int_equal(fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK), 0);
}

static void send_from(struct side *s, unsigned flags)
{
    struct ibv_sge sge = {.addr = (uintptr_t)s->mem, .length = 16, .lkey = s->mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED | flags}, *bad;

    assert_int_equal(ibv_post_send(s->qp, &wr, &bad), 0);
}

/* One message from side 0 to side 1, through to the sender's completion; the receiver's stays where it is. */
static uint64_t message(struct pair *p, unsigned flags)
{
    static uint64_t count;
    pair_post_recv(&p->side[1], ++count, 4096, 64);
    send_from(&p->side[0], flags);
    assert_int_equal(pair_wait(&p->side[0], p->side[0].scq, false).status, IBV_WC_SUCCESS);
    return count;
}

static void expect_event(struct side *s)
{
    struct ibv_cq *cq;
    void *arg;

    assert_int_equal(softnic_ibv_get_cq_event(s->channel, &cq, &arg), 0);
    assert_ptr_equal(cq, s->rcq);
    assert_ptr_equal(arg, s);
}

static void expect_no_event(struct side *s)
{
    struct ibv_cq *cq;
    void *arg;

    assert_false(readable(s->channel->fd, 0));
    set_nonblocking(s->channel->fd, true);
    assert_int_equal(softnic_ibv_get_cq_event(s->channel, &cq, &arg), -1);
    assert_int_equal(errno, EAGAIN);
    set_nonblocking(s->channel->fd, false);
}

static void requests_and_events(void **state)
{
    struct pair_options o = {.channel = true};
    struct pair p;
    struct told t;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    assert_ptr_equal(b->rcq->channel, b->channel);
    assert_true(fcntl(b->channel->fd, F_GETFD) & FD_CLOEXEC);
    message(&p, 0);
    expect_no_event(b); /* nobody asked */
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0); /* for what is there already */
    assert_true(readable(b->channel->fd, -1));
    expect_event(b);
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0); /* before it is read: an event tells of something new */
    expect_no_event(b);
    message(&p, 0);
    message(&p, 0);
    expect_event(b);
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0); /* that event stands for both messages */
    expect_no_event(b);
    uint64_t last = message(&p, 0);
    expect_event(b);
    assert_true(pair_poll(b, b->rcq, false, &t)); /* what it was about has been read, and others not: those are told */
    while (t.wr_id != last)
        assert_true(pair_poll(b, b->rcq, false, &t));
    message(&p, 0);
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0);
    expect_event(b);
    message(&p, 0); /* one request, one event */
    expect_no_event(b);
    while (pair_poll(b, b->rcq, false, &t))
        ;
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0); /* all has been polled */
    expect_no_event(b);
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0); /* asking twice is asking once */
    message(&p, 0);
    expect_event(b);
    message(&p, 0);
    expect_no_event(b);
    softnic_ibv_ack_cq_events(b->rcq, 5);
    assert_int_equal(softnic_ibv_destroy_comp_channel(b->channel), EBUSY); /* a CQ reports to it */
    pair_close(&p);
}

static void solicited(void **state)
{
    struct pair_options o = {.channel = true};
    struct pair p;
    struct told t;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    assert_int_equal(ibv_req_notify_cq(b->rcq, 1), 0);
    message(&p, 0);
    expect_no_event(b);
    message(&p, IBV_SEND_SOLICITED);
    expect_event(b);
    while (pair_poll(b, b->rcq, false, &t))
        ;
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0); /* "any" is not made less by a later request */
    assert_int_equal(ibv_req_notify_cq(b->rcq, 1), 0);
    message(&p, 0);
    expect_event(b);
    while (pair_poll(b, b->rcq, false, &t))
        ;
    pair_post_recv(b, 9, 0, 64);
    assert_int_equal(ibv_req_notify_cq(b->rcq, 1), 0); /* errors are always told */
    assert_int_equal(pair_move(b->qp, IBV_QPS_ERR), 0);
    expect_event(b);
    assert_int_equal(pair_wait(b, b->rcq, false).status, IBV_WC_WR_FLUSH_ERR);
    softnic_ibv_ack_cq_events(b->rcq, 3);
    pair_close(&p);
}

/* An edge-triggered poller sees each event, and the descriptor is quiet once all have been taken. */
static void edges(void **state)
{
    struct pair_options o = {.channel = true};
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    struct pair p;
    struct told t;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    int ep = epoll_create1(EPOLL_CLOEXEC);
    assert_true(ep >= 0);
    assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, b->channel->fd, &e), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0);
        assert_int_equal(epoll_wait(ep, &e, 1, 0), 0);
        message(&p, 0);
        assert_int_equal(epoll_wait(ep, &e, 1, -1), 1);
        expect_event(b);
        expect_no_event(b);
        while (pair_poll(b, b->rcq, false, &t))
            ;
    }
    softnic_ibv_ack_cq_events(b->rcq, 5);
    close(ep);
    pair_close(&p);
}

/* Two CQs on one channel; the event of one that is destroyed goes with it. */
static void two_queues(void **state)
{
    struct pair_options o = {.channel = true};
    struct pair p;
    struct ibv_cq *cq;
    void *arg;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    struct ibv_cq *more = softnic_ibv_create_cq(b->context, 8, &p, b->channel, 0);
    assert_non_null(more);
    struct ibv_qp_init_attr attr = {.send_cq = more,
                                    .recv_cq = more,
                                    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = softnic_ibv_create_qp(b->pd, &attr);
    assert_non_null(qp);
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    assert_int_equal(softnic_ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
    struct ibv_recv_wr wr = {.wr_id = 5}, *bad;
    assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
    assert_int_equal(ibv_req_notify_cq(more, 0), 0);
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0);
    message(&p, 0);
    assert_true(readable(b->channel->fd, -1)); /* of b->rcq */
    assert_int_equal(pair_move(qp, IBV_QPS_ERR), 0); /* flushes the receive: an event of the other */
    for (struct told t; !pair_poll(b, more, false, &t);)
        ;
    assert_int_equal(softnic_ibv_get_cq_event(b->channel, &cq, &arg), 0);
    assert_ptr_equal(cq, b->rcq);
    softnic_ibv_ack_cq_events(cq, 1);
    assert_true(readable(b->channel->fd, -1)); /* more's */
    assert_int_equal(softnic_ibv_destroy_qp(qp), 0);
    assert_int_equal(softnic_ibv_destroy_cq(more), 0);
    expect_no_event(b);
    pair_close(&p);
}

/* A client of direct verbs stores its requests in the record, as device code may: nothing tells the NIC. */
static void requests_in_the_record(void **state)
{
    struct pair_options o = {.channel = true};
    struct pair p;
    struct mlx5dv_cq dv;
    struct told t;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    struct mlx5dv_obj obj = {.cq = {b->rcq, &dv}};
    assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
    for (uint32_t n = 0; n < 6; n++) {
        if (n & 1)
            message(&p, 0); /* there before the request is made */
        __atomic_store_n((uint32_t *)(void *)dv.dbrec + 1, htobe32((n & 3) << 28 | n), __ATOMIC_RELEASE);
        if (!(n & 1))
            message(&p, 0);
        expect_event(b); /* sleeps until it comes */
        assert_true(pair_poll(b, b->rcq, false, &t));
    }
    softnic_ibv_ack_cq_events(b->rcq, 6);
    pair_close(&p);
}

/* ---- threads that sleep ---------------------------------------------------------------------------------------------- */

struct sleeper {
    struct side *s;
    int rc, error;
    atomic_bool done;
};

static void *sleep_once(void *arg)
{
    struct sleeper *z = arg;
    struct ibv_cq *cq;
    void *context;

    z->rc = softnic_ibv_get_cq_event(z->s->channel, &cq, &context);
    z->error = errno;
    atomic_store(&z->done, true);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
}

static void handle(bool restart)
{
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = restart ? SA_RESTART : 0};
    assert_int_equal(sigaction(SIGUSR1, &sa, NULL), 0);
}

/* Until the thread sleeps (or is about to): nothing tells, and nothing depends on it but what the test covers. */
static void let_it_sleep(void)
{
    usleep(20000);
}

static void signals_and_cancellation(void **state)
{
    struct pair_options o = {.channel = true};
    struct pair p;
    pthread_t thread;
    void *result;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    struct sleeper z = {.s = b};
    handle(false); /* a signal ends the sleep, as it ends a read */
    assert_int_equal(pthread_create(&thread, NULL, sleep_once, &z), 0);
    while (!atomic_load(&z.done)) {
        let_it_sleep();
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
    assert_int_equal(z.rc, -1);
    assert_int_equal(z.error, EINTR);

    handle(true); /* with SA_RESTART it goes on */
    z = (struct sleeper){.s = b};
    assert_int_equal(pthread_create(&thread, NULL, sleep_once, &z), 0);
    for (int i = 0; i < 5; i++) {
        let_it_sleep();
        pthread_kill(thread, SIGUSR1);
    }
    assert_false(atomic_load(&z.done));
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0);
    message(&p, 0);
    pthread_join(thread, NULL);
    assert_int_equal(z.rc, 0);

    z = (struct sleeper){.s = b}; /* cancelled: the next one gets the event */
    assert_int_equal(pthread_create(&thread, NULL, sleep_once, &z), 0);
    let_it_sleep();
    assert_int_equal(pthread_cancel(thread), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0);
    message(&p, 0);
    expect_event(b);
    softnic_ibv_ack_cq_events(b->rcq, 2);
    pair_close(&p);
}

static void *ack_later(void *arg)
{
    struct sleeper *z = arg;

    let_it_sleep();
    atomic_store(&z->done, true);
    softnic_ibv_ack_cq_events(z->s->rcq, 1);
    return NULL;
}

/* ibv_destroy_cq returns only when the event that was taken has been acknowledged. */
static void destroy_waits(void **state)
{
    struct pair_options o = {.channel = true};
    struct pair p;
    pthread_t thread;
    (void)state;

    pair_open(&p, &o);
    struct side *b = &p.side[1];
    struct sleeper z = {.s = b};
    assert_int_equal(ibv_req_notify_cq(b->rcq, 0), 0);
    message(&p, 0);
    expect_event(b);
    assert_int_equal(softnic_ibv_destroy_qp(b->qp), 0);
    b->qp = NULL;
    assert_int_equal(pthread_create(&thread, NULL, ack_later, &z), 0);
    assert_int_equal(softnic_ibv_destroy_cq(b->rcq), 0);
    b->rcq = NULL;
    assert_true(atomic_load(&z.done));
    pthread_join(thread, NULL);
    pair_close(&p);
}

/* ---- nothing is lost --------------------------------------------------------------------------------------------------- */

#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 300 };
#else
enum { ROUNDS = 2000 };
#endif

struct player {
    struct side *s;
    bool serves;
    uint64_t random;
    unsigned events;
};

static uint64_t draw(struct player *p)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    return p->random ^= p->random << 17;
}

/* A pause of a few turns' length, or none, so that requests and arrivals meet in every order. */
static void dawdle(struct player *p)
{
    for (uint64_t n = draw(p) % 4 ? 0 : draw(p) % 4000; n > 0; n--)
        __asm__ volatile("" ::: "memory");
}

static void expect_message(struct player *p)
{
    struct told t;
    struct ibv_cq *cq;
    void *context;

    for (;;) {
        dawdle(p);
        assert_int_equal(ibv_req_notify_cq(p->s->rcq, (int)(draw(p) & 1)), 0); /* all messages are solicited */
        dawdle(p);
        if (draw(p) & 1 && pair_poll(p->s, p->s->rcq, false, &t))
            break;
        assert_int_equal(softnic_ibv_get_cq_event(p->s->channel, &cq, &context), 0);
        p->events++;
        if (pair_poll(p->s, p->s->rcq, false, &t))
            break;
    }
    assert_int_equal(t.status, IBV_WC_SUCCESS);
}

static void *play(void *arg)
{
    struct player *p = arg;
    struct told t;

    for (int i = 0; i < ROUNDS; i++) {
        if (p->serves) {
            send_from(p->s, IBV_SEND_SOLICITED);
            expect_message(p);
        } else {
            expect_message(p);
            send_from(p->s, IBV_SEND_SOLICITED);
        }
        pair_post_recv(p->s, 1, 4096, 64);
        while (!pair_poll(p->s, p->s->scq, false, &t))
            ;
        assert_int_equal(t.status, IBV_WC_SUCCESS);
    }
    return NULL;
}

static void no_wakeup_is_lost(void **state)
{
    struct pair_options o = {.channel = true};
    struct pair p;
    pthread_t thread[2];
    (void)state;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct player player[2];
        pair_open(&p, &o);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 4; k++)
                pair_post_recv(&p.side[i], 1, 4096, 64);
        for (int i = 0; i < 2; i++) {
            player[i] = (struct player){.s = &p.side[i], .serves = i == 0, .random = seed * 2654435761u + (uint64_t)i};
            assert_int_equal(pthread_create(&thread[i], NULL, play, &player[i]), 0);
        }
        for (int i = 0; i < 2; i++)
            pthread_join(thread[i], NULL);
        for (int i = 0; i < 2; i++) {
            assert_true(player[i].events > 0);
            softnic_ibv_ack_cq_events(p.side[i].rcq, player[i].events);
        }
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_events),
        cmocka_unit_test(solicited),
        cmocka_unit_test(edges),
        cmocka_unit_test(two_queues),
        cmocka_unit_test(requests_in_the_record),
        cmocka_unit_test(signals_and_cancellation),
        cmocka_unit_test(destroy_waits),
        cmocka_unit_test(no_wakeup_is_lost),
    };
    pair_environment();
    setenv("SOFTNIC_LOG", "off", 0);
    alarm(HANG_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
