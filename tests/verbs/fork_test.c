/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forked child has none of its parent's queues: every call on one of them fails with a reason and touches nothing, while the
 * parent goes on. The child may open the device for itself.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "in the child: %s is false (errno %d)\n", #condition, errno);                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static void inherited(struct rig *r)
{
    struct ibv_sge sge = {(uintptr_t)r->a.mem, 8, r->a.mr->lkey};
    struct ibv_send_wr wr = rig_write(r, &sge, 1), *bad = NULL;
    struct ibv_recv_wr recv = {.wr_id = 1}, *bad_recv = NULL;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_init_attr init;
    struct ibv_srq_attr limit;
    struct ibv_wc wc;

    EXPECT(ibv_post_send(r->a.qp, &wr, &bad) == ENODEV && bad == &wr);
    EXPECT(ibv_post_recv(r->a.qp, &recv, &bad_recv) == ENODEV && bad_recv == &recv);
    EXPECT(ibv_post_srq_recv(r->b.srq, &recv, &bad_recv) == ENODEV);
    EXPECT(ibv_poll_cq(r->a.scq, 1, &wc) == -1 && errno == ENODEV);
    EXPECT(softnic_ibv_modify_qp(r->a.qp, &attr, IBV_QP_STATE) == ENODEV);
    EXPECT(softnic_ibv_query_qp(r->a.qp, &attr, 0, &init) == ENODEV);
    EXPECT(softnic_ibv_query_srq(r->b.srq, &limit) == ENODEV);
    EXPECT(softnic_ibv_resize_cq(r->a.scq, 7) == ENODEV);
    EXPECT(softnic_ibv_create_cq(r->a.ctx, 7, NULL, NULL, 0) == NULL && errno == ENODEV);
    EXPECT(softnic_ibv_destroy_qp(r->a.qp) == ENODEV);
    EXPECT(softnic_ibv_destroy_srq(r->b.srq) == ENODEV);
    EXPECT(softnic_ibv_destroy_cq(r->a.scq) == ENODEV);
}

/* Its own device, connected to itself. */
static void of_its_own(void)
{
    struct rig_options o = {0};
    struct rig r = {.o = o};
    struct ibv_wc wc;
    time_t end = time(NULL) + 60;
    int n;
    rig_open_end(&r.a, 0, &o);
    rig_init(r.a.qp, &o);
    rig_rtr(r.a.qp, &o, &r.a, r.a.qp->qp_num);
    rig_rts(r.a.qp, &o);
    r.b = r.a;
    struct ibv_sge sge = {(uintptr_t)r.a.mem, 8, r.a.mr->lkey};
    struct ibv_send_wr wr = rig_write(&r, &sge, 5), *bad;
    wr.wr.rdma.remote_addr += 64;
    rig_fill(r.a.mem, 8, 9);
    EXPECT(ibv_post_send(r.a.qp, &wr, &bad) == 0);
    while ((n = ibv_poll_cq(r.a.scq, 1, &wc)) == 0 && time(NULL) <= end)
        continue;
    EXPECT(n == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == 5);
    EXPECT(rig_same(r.a.mem + 64, 8, 9));
    rig_close_end(&r.a);
}

static void work(struct rig *r)
{
    struct ibv_sge sge = {(uintptr_t)r->a.mem, 8, r->a.mr->lkey};
    for (uint64_t i = 0; i < 100; i++) {
        struct ibv_send_wr wr = rig_write(r, &sge, i);
        rig_fill(r->a.mem, 8, (uint32_t)i);
        assert_int_equal(rig_post(r->a.qp, &wr), 0);
        rig_expect(r->a.scq, i, IBV_WC_SUCCESS);
        assert_true(rig_same(r->b.mem, 8, (uint32_t)i));
    }
}

static void test_fork(void **state)
{
    struct rig r;
    struct rig_options o = {.wr = 8}, shared = {.srq = true};
    struct rig_end with_srq;
    (void)state;
    rig_open(&r, &o);
    rig_open_end(&with_srq, 1, &shared);
    r.b.srq = with_srq.srq;
    for (int round = 0; round < 5; round++) {
        int status;
        work(&r);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            inherited(&r);
            of_its_own();
            _exit(0);
        }
        work(&r); /* beside the child */
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        work(&r);
    }
    r.b.srq = NULL;
    rig_close_end(&with_srq);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fork)};
#if defined(__SANITIZE_THREAD__)
    printf("SKIP: ThreadSanitizer does not follow a fork of a process with threads\n");
    return 77;
#endif
    rig_env("eth");
    setenv("SOFTNIC_WIRE", "shm", 1); /* descriptors that the child must not keep */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
