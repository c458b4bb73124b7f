/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes, one device: the child opens it itself (it was forked before anything was open) and the two exchange
 * addresses over a socket pair.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

enum { HALF = RIG_DATA_BYTES / 2 };

struct child {
    pid_t pid;
    int socket;
};

/* The child's side: a queue pair that is connected, its memory filled, and nothing but the NIC thread to serve it. */
struct served {
    struct rig r;
    struct rig_qp q;
};

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 131 + (i >> 7) + seed);
}

/* cmocka's assertions jump into the parent's frames, so the child ends here if one fails. */
static void child_fails(int signal)
{
    (void)signal;
    _exit(99);
}

static void exchange(int socket, const struct rig_address *own, struct rig_address *peer)
{
    assert_int_equal(write(socket, own, sizeof(*own)), sizeof(*own));
    assert_int_equal(read(socket, peer, sizeof(*peer)), sizeof(*peer));
}

static void connect_impatiently(int socket, struct rig *r, struct rig_qp *q, struct rig_address *peer, bool impatient)
{
    rig_open(r, 0);
    rig_qp_create(q, r);
    if (impatient) {
        q->ack_timeout = 14; /* 67 ms */
        q->retries = 3;
    }
    struct rig_address own = rig_address_of(q);
    exchange(socket, &own, peer);
    rig_connect(q, peer);
    uint8_t ready = 1; /* both are in RTS before anybody posts */
    assert_int_equal(write(socket, &ready, 1), 1);
    assert_int_equal(read(socket, &ready, 1), 1);
}

static void connect_over(int socket, struct rig *r, struct rig_qp *q, struct rig_address *peer)
{
    connect_impatiently(socket, r, q, peer, false);
}

/* Serves until the parent says stop; then writes back what the parent asked for: its memory's checksum or nothing. */
static void serve(int socket, bool posts)
{
    struct served s;
    struct rig_address peer;
    connect_over(socket, &s.r, &s.q, &peer);
    for (;;) {
        uint8_t command;
        if (read(socket, &command, 1) != 1 || command == 'q')
            break;
        if (command == 'c') /* a copy of our upper half, so that the parent can compare */
            assert_int_equal(send(socket, s.r.data + HALF, 65536, 0), 65536);
        if (command == 'w' && posts) { /* traffic the other way */
            fill(s.r.data, 5000, 77);
            rig_post_rdma(&s.q, RIG_WRITE, &peer, 1000, 0, 5000);
            uint8_t ok = rig_wait(&s.q, 60).opcode == 0;
            assert_int_equal(write(socket, &ok, 1), 1);
        }
    }
    rig_qp_destroy(&s.q);
    rig_close(&s.r);
}

static struct child start(void)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct child c = {fork(), pair[0]};
    assert_true(c.pid >= 0);
    if (!c.pid) {
        signal(SIGABRT, child_fails);
        alarm(100);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind, not even a stopped child */
        close(pair[0]);
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion aborts instead of jumping */
        serve(pair[1], true);
        _exit(0);
    }
    close(pair[1]);
    return c;
}

static void stop(struct child *c)
{
    uint8_t quit = 'q';
    int status;
    assert_int_equal(write(c->socket, &quit, 1), 1);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(c->socket);
}

static void ok(struct rig_qp *q)
{
    struct rig_cqe c = rig_wait(q, 60);
    if (c.opcode)
        fail_msg("CQE opcode %u, syndrome 0x%x", c.opcode, c.syndrome);
}

static void data_both_ways(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 8, 9, 64, 4096, 4097, 32768, 32769, 100000, HALF};
    struct child c = start();
    struct rig r;
    struct rig_qp q;
    struct rig_address peer;
    struct softnic_stats before, after;
    softnic_stats(&before, sizeof(before));
    connect_over(c.socket, &r, &q, &peer);
    assert_int_not_equal(q.qpn >> 16, peer.qpn >> 16); /* two process slots */
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fill(r.data, sizes[i], i);
        rig_post_rdma(&q, RIG_WRITE, &peer, HALF, 0, sizes[i]);
        ok(&q);
        rig_post_rdma(&q, RIG_READ, &peer, HALF, HALF, sizes[i]);
        ok(&q);
        assert_memory_equal(r.data, r.data + HALF, sizes[i]);
    }
    uint8_t command = 'c', *copy = malloc(65536);
    assert_int_equal(write(c.socket, &command, 1), 1);
    assert_int_equal(recv(c.socket, copy, 65536, MSG_WAITALL), 65536);
    assert_memory_equal(copy, r.data, 65536); /* it really is in the other process */
    free(copy);
    memset(r.data, 0, 8192);
    command = 'w';
    assert_int_equal(write(c.socket, &command, 1), 1);
    assert_int_equal(read(c.socket, &command, 1), 1);
    assert_int_equal(command, 1);
    uint8_t expected[5000];
    fill(expected, 5000, 77);
    assert_memory_equal(r.data + 1000, expected, 5000);
    uint64_t *old = (uint64_t *)(void *)r.data;
    for (uint64_t i = 0; i < 10; i++) {
        rig_post_atomic(&q, RIG_FETCH_ADD, &peer, RIG_DATA_BYTES - 8, 0, 5, 0);
        ok(&q);
        if (i)
            assert_int_equal(*old, *(uint64_t *)(void *)(r.data + 64) + 5);
        *(uint64_t *)(void *)(r.data + 64) = *old;
    }
    softnic_stats(&after, sizeof(after));
    assert_true(after.shm_bursts_sent > before.shm_bursts_sent && after.shm_bytes_received > before.shm_bytes_received);
    rig_qp_destroy(&q);
    rig_close(&r);
    stop(&c);
}

/* Eight messages in flight, ring and CQ wrapping, then everything read back. */
static void many_in_flight(void **state)
{
    (void)state;
    struct child c = start();
    struct rig r;
    struct rig_qp q;
    struct rig_address peer;
    connect_over(c.socket, &r, &q, &peer);
    for (unsigned round = 0; round < 200; round++) {
        uint32_t n = round % 3 ? 64 : 20000;
        fill(r.data, 8 * n, round);
        for (unsigned k = 0; k < 8; k++)
            rig_post_rdma(&q, RIG_WRITE, &peer, HALF + k * n, k * n, n);
        for (unsigned k = 0; k < 8; k++)
            ok(&q);
        memset(r.data + HALF, 0, 8 * n);
        rig_post_rdma(&q, RIG_READ, &peer, HALF, HALF, 8 * n);
        ok(&q);
        assert_memory_equal(r.data, r.data + HALF, 8 * n);
    }
    rig_qp_destroy(&q);
    rig_close(&r);
    stop(&c);
}

/* Messages many times as large as a ring: pieces, fullness, and bursts that go on where they stopped. */
static void smallest_ring(void **state)
{
    setenv("SOFTNIC_SHM_RING", "65536", 1);
    data_both_ways(state);
    many_in_flight(state);
    unsetenv("SOFTNIC_SHM_RING");
}

static void expect_retry_exceeded(struct rig_qp *q)
{
    struct rig_cqe e = rig_wait(q, 60);
    assert_int_equal(e.opcode, 13);
    assert_int_equal(e.syndrome, 0x15);
    assert_int_equal(rig_state(q, NULL), PRM_QP_ERR);
}

static void a_killed_peer_is_an_error(void **state)
{
    (void)state;
    struct child c = start();
    struct rig r;
    struct rig_qp q;
    struct rig_address peer;
    struct softnic_stats s;
    connect_impatiently(c.socket, &r, &q, &peer, true);
    rig_post_rdma(&q, RIG_WRITE, &peer, HALF, 0, 64); /* makes the connection; may itself time out on a slow machine */
    rig_wait(&q, 60);
    assert_int_equal(rig_to(&q, PRM_OP_2RST_QP), 0);
    rig_connect(&q, &peer);
    q.pi = 0;
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    close(c.socket);
    rig_post_rdma(&q, RIG_WRITE, &peer, HALF, 0, 64);
    expect_retry_exceeded(&q);
    softnic_stats(&s, sizeof(s));
    assert_true(s.shm_peers_lost >= 1);
    /* The device lives on: the same queue pair, reset, works with itself. */
    assert_int_equal(rig_to(&q, PRM_OP_2RST_QP), 0);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    rig_qp_destroy(&q);
    rig_close(&r);
}

/* Stopped, not dead: nothing hangs up, and timers decide. */
static void a_stopped_peer_is_an_error(void **state)
{
    (void)state;
    struct child c = start();
    struct rig r;
    struct rig_qp q;
    struct rig_address peer;
    connect_impatiently(c.socket, &r, &q, &peer, true);
    int status;
    assert_int_equal(kill(c.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(c.pid, &status, WUNTRACED), c.pid); /* until then its threads may still answer */
    assert_true(WIFSTOPPED(status));
    rig_post_rdma(&q, RIG_WRITE, &peer, HALF, 0, HALF);
    expect_retry_exceeded(&q);
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    close(c.socket);
    rig_qp_destroy(&q);
    rig_close(&r);
}

static void nobody_in_that_slot(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    struct rig_address nobody = rig_address_of(&q);
    nobody.qpn = 0xfe1234;
    q.ack_timeout = 14;
    q.retries = 3;
    rig_connect(&q, &nobody);
    rig_post_rdma(&q, RIG_WRITE, &nobody, 0, 0, 8);
    expect_retry_exceeded(&q);
    rig_qp_destroy(&q);
    rig_close(&r);
}

/* LIDs instead of GIDs on the way to a queue pair; the rings are the same. */
static void infiniband(void **state)
{
    setenv("SOFTNIC_LINK", "ib", 1);
    data_both_ways(state);
    unsetenv("SOFTNIC_LINK");
}

/* A NIC with several peers at once, and a device of its own that each of them could also have reached. */
static void several_peers(void **state)
{
    (void)state;
    enum { PEERS = 3 };
    struct child c[PEERS];
    struct rig r;
    struct rig_qp q[PEERS];
    struct rig_address own, peer[PEERS];
    uint8_t ready = 1;
    for (int i = 0; i < PEERS; i++)
        c[i] = start();
    rig_open(&r, 0);
    for (int i = 0; i < PEERS; i++) {
        rig_qp_create(&q[i], &r);
        own = rig_address_of(&q[i]);
        exchange(c[i].socket, &own, &peer[i]);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(peer[i].qpn >> 16, peer[k].qpn >> 16);
        rig_connect(&q[i], &peer[i]);
    }
    for (int i = 0; i < PEERS; i++) {
        assert_int_equal(write(c[i].socket, &ready, 1), 1);
        assert_int_equal(read(c[i].socket, &ready, 1), 1);
    }
    for (unsigned round = 0; round < 50; round++) {
        for (int i = 0; i < PEERS; i++) {
            fill(r.data + 50000 * i, 50000, round * 3 + (unsigned)i);
            rig_post_rdma(&q[i], RIG_WRITE, &peer[i], HALF, 50000u * (unsigned)i, 50000);
            rig_post_rdma(&q[i], RIG_READ, &peer[i], HALF, HALF + 50000u * (unsigned)i, 50000);
        }
        for (int i = 0; i < PEERS; i++) {
            ok(&q[i]);
            ok(&q[i]);
        }
        assert_memory_equal(r.data, r.data + HALF, PEERS * 50000);
    }
    for (int i = 0; i < PEERS; i++)
        rig_qp_destroy(&q[i]);
    rig_close(&r);
    for (int i = 0; i < PEERS; i++)
        stop(&c[i]);
}

/* Both sides sleep for a while between messages: nobody may be left asleep. */
static void after_a_pause(void **state)
{
    (void)state;
    struct child c = start();
    struct rig r;
    struct rig_qp q;
    struct rig_address peer;
    struct rig_cqe e;
    connect_over(c.socket, &r, &q, &peer);
    for (int i = 0; i < 30; i++) {
        usleep(i * 500);
        rig_post_rdma(&q, RIG_WRITE, &peer, HALF, 0, 64);
        while (!rig_poll(&q, &e))
            usleep(100); /* the NIC threads of both processes do it all; a hang is the failure */
        assert_int_equal(e.opcode, 0);
    }
    rig_qp_destroy(&q);
    rig_close(&r);
    stop(&c);
}

/* Descriptors and mappings of connections go away with them. */
static void connections_leak_nothing(void **state)
{
    (void)state;
    int fds = 0;
    for (int i = 0; i < 12; i++) {
        struct child c = start();
        struct rig r;
        struct rig_qp q;
        struct rig_address peer;
        struct softnic_stats s;
        connect_over(c.socket, &r, &q, &peer);
        rig_post_rdma(&q, RIG_WRITE, &peer, HALF, 0, 64);
        ok(&q);
        rig_qp_destroy(&q);
        rig_close(&r);
        stop(&c);
        softnic_stats(&s, sizeof(s));
        assert_int_equal(s.shm_connections, 0);
        if (i == 1)
            fds = rig_open_fds();
    }
    assert_int_equal(rig_open_fds(), fds);
}

int main(void)
{
    setenv("SOFTNIC_LOG", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_both_ways),
        cmocka_unit_test(many_in_flight),
        cmocka_unit_test(smallest_ring),
        cmocka_unit_test(a_killed_peer_is_an_error),
        cmocka_unit_test(a_stopped_peer_is_an_error),
        cmocka_unit_test(infiniband),
        cmocka_unit_test(several_peers),
        cmocka_unit_test(after_a_pause),
        cmocka_unit_test(nobody_in_that_slot),
        cmocka_unit_test(connections_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
