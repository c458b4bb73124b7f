/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes on one host, as two programs would be: each opens the device, the queue pairs meet over shared memory. Each
 * service, each operation, all bytes checked by the process that has them. The child's verdict is its exit code.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

enum { COUNT = 50, LENGTH = 20000, DATAGRAM = 800, AREA = 65536 };

struct address {
    uint32_t qpn, rkey;
    uint64_t mem;
    union ibv_gid gid;
    uint16_t lid;
};

struct side {
    struct rig_end e;
    struct rig_options o;
    int in, out;
    struct address peer;
    struct rig_end peer_end; /* its address only */
};

static void say(struct side *s, const void *data, size_t length)
{
    assert_int_equal(write(s->out, data, length), length);
}

static void hear(struct side *s, void *data, size_t length)
{
    assert_int_equal(read(s->in, data, length), length);
}

/* Both have come this far. */
static void meet(struct side *s)
{
    char c = 'x';
    say(s, &c, 1);
    hear(s, &c, 1);
}

static void connect_side(struct side *s)
{
    rig_open_end(&s->e, 0, &s->o);
    struct address mine = {s->e.qp->qp_num, s->e.mr->rkey, (uintptr_t)s->e.mem, s->e.gid, s->e.lid};
    say(s, &mine, sizeof(mine));
    hear(s, &s->peer, sizeof(s->peer));
    s->peer_end = (struct rig_end){.gid = s->peer.gid, .lid = s->peer.lid, .ethernet = s->e.ethernet};
    rig_init(s->e.qp, &s->o);
    rig_rtr(s->e.qp, &s->o, &s->peer_end, s->peer.qpn);
    rig_rts(s->e.qp, &s->o);
    if (s->o.type != IBV_QPT_UD)
        return;
    struct ibv_ah_attr attr;
    rig_address(&s->peer_end, &attr);
    s->e.ah = softnic_ibv_create_ah(s->e.pd, &attr);
    assert_non_null(s->e.ah);
}

static struct ibv_send_wr request(struct side *s, struct ibv_sge *sge, enum ibv_wr_opcode opcode, uint64_t wr_id)
{
    struct ibv_send_wr wr = {
        .wr_id = wr_id, .sg_list = sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    if (s->o.type == IBV_QPT_UD) {
        wr.wr.ud.ah = s->e.ah;
        wr.wr.ud.remote_qpn = s->peer.qpn;
        wr.wr.ud.remote_qkey = RIG_QKEY;
    } else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = s->peer.mem + AREA;
        wr.wr.atomic.rkey = s->peer.rkey;
        wr.wr.atomic.compare_add = 3;
    } else {
        wr.wr.rdma.remote_addr = s->peer.mem + AREA;
        wr.wr.rdma.rkey = s->peer.rkey;
    }
    return wr;
}

/* Ping-pong: each answers what it has received; the receive is posted before the peer may send. */
static void ping_pong(struct side *s, bool first)
{
    bool ud = s->o.type == IBV_QPT_UD;
    uint32_t length = ud ? DATAGRAM : LENGTH;
    struct ibv_sge sge = {(uintptr_t)s->e.mem + 2 * AREA, length, s->e.mr->lkey};
    assert_int_equal(rig_recv(&s->e, 0, 0, length + RIG_GRH), 0);
    meet(s);
    for (uint64_t i = 0; i < COUNT; i++) {
        struct ibv_send_wr wr = request(s, &sge, IBV_WR_SEND, 1000 + i);
        rig_fill(s->e.mem + 2 * AREA, length, (uint32_t)i * 2 + first);
        if (first)
            assert_int_equal(rig_post(s->e.qp, &wr), 0);
        struct ibv_wc wc = rig_poll(s->e.rcq);
        assert_int_equal(wc.status, IBV_WC_SUCCESS);
        assert_int_equal(wc.wr_id, i);
        assert_int_equal(wc.byte_len, length + (ud ? RIG_GRH : 0));
        assert_true(rig_same(s->e.mem + (ud ? RIG_GRH : 0), length, (uint32_t)i * 2 + !first));
        assert_int_equal(rig_recv(&s->e, i + 1, 0, length + RIG_GRH), 0);
        if (!first)
            assert_int_equal(rig_post(s->e.qp, &wr), 0);
        rig_expect(s->e.scq, 1000 + i, IBV_WC_SUCCESS);
    }
    meet(s);
}

/* One writes into the other, reads it back, and counts in it; the other looks at its memory. */
static void one_sided(struct side *s, bool first)
{
    struct ibv_sge from = {(uintptr_t)s->e.mem + 2 * AREA, LENGTH, s->e.mr->lkey};
    struct ibv_sge to = {(uintptr_t)s->e.mem + 3 * AREA, LENGTH, s->e.mr->lkey};
    struct ibv_sge word = {(uintptr_t)s->e.mem, 8, s->e.mr->lkey};
    for (uint32_t i = 0; i < COUNT; i++) {
        if (first) {
            rig_fill(s->e.mem + 2 * AREA, LENGTH, i);
            struct ibv_send_wr write = request(s, &from, IBV_WR_RDMA_WRITE, i);
            assert_int_equal(rig_post(s->e.qp, &write), 0);
            rig_expect(s->e.scq, i, IBV_WC_SUCCESS);
        }
        if (first && s->o.type == IBV_QPT_RC) {
            struct ibv_send_wr read = request(s, &to, IBV_WR_RDMA_READ, i);
            assert_int_equal(rig_post(s->e.qp, &read), 0);
            rig_expect(s->e.scq, i, IBV_WC_SUCCESS);
            assert_true(rig_same(s->e.mem + 3 * AREA, LENGTH, i));
            uint64_t before, expected;
            memcpy(&expected, s->e.mem + 2 * AREA, 8);
            struct ibv_send_wr add = request(s, &word, IBV_WR_ATOMIC_FETCH_AND_ADD, i);
            assert_int_equal(rig_post(s->e.qp, &add), 0);
            rig_expect(s->e.scq, i, IBV_WC_SUCCESS);
            memcpy(&before, s->e.mem, 8);
            assert_true(before == expected);
        }
        meet(s);
        if (!first && s->o.type == IBV_QPT_RC) { /* an unreliable write may still be under way */
            uint8_t whole[8];
            uint64_t was, is;
            rig_fill(whole, 8, i);
            memcpy(&was, whole, 8);
            memcpy(&is, s->e.mem + AREA, 8);
            assert_true(is == was + 3);
            memcpy(s->e.mem + AREA, whole, 8);
            assert_true(rig_same(s->e.mem + AREA, LENGTH, i));
        }
        meet(s);
    }
}

static void talk(struct side *s, bool first)
{
    connect_side(s);
    meet(s);
    ping_pong(s, first);
    if (s->o.type != IBV_QPT_UD)
        one_sided(s, first);
    meet(s);
    rig_close_end(&s->e);
}

static const struct rig_options rows[] = {
    {.type = IBV_QPT_RC},
    {.type = IBV_QPT_RC, .srq = true, .mtu = IBV_MTU_256},
    {.type = IBV_QPT_UC, .mtu = IBV_MTU_4096},
    {.type = IBV_QPT_UD},
    {.type = IBV_QPT_UD, .srq = true},
};

static struct side child;

static void test_talk(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        child.o = rows[i];
        talk(&child, true);
    }
}

static int run_child(int in, int out)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_talk)};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    child.in = in;
    child.out = out;
    return cmocka_run_group_tests_name("the other process", tests, NULL, NULL);
}

static int to_child[2], from_child[2];
static pid_t child_pid;

static void test_two_processes(void **state)
{
    int status;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct side s;
        s = (struct side){.o = rows[i], .in = from_child[0], .out = to_child[1]};
        talk(&s, false);
    }
    assert_int_equal(waitpid(child_pid, &status, 0), child_pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_processes)};
    const char *link = argc > 1 ? argv[1] : "eth";
    rig_env(link);
    setenv("SOFTNIC_WIRE", "shm", 1);
    setenv("SOFTNIC_DEVICES", "1", 1);
    if (pipe(to_child) || pipe(from_child))
        return 1;
    child_pid = fork(); /* before anything of softnic is there */
    if (child_pid == 0) {
        close(to_child[1]);
        close(from_child[0]);
        _exit(run_child(to_child[0], from_child[1]));
    }
    close(to_child[0]);
    close(from_child[1]);
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
