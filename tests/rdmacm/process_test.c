/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections between processes that share a device: children that are forked before and after the NIC runs, that are
 * killed, or that end without a word.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cmocka.h>

enum { TIMEOUT_MS = 60000 /* a hang, not a verdict */ };
enum child_end { DESTROYS, EXITS, IS_KILLED, VANISHES /* before it is accepted */ };

static struct rdma_event_channel *ch;
static struct rdma_cm_id *listener;
static int go[2] = {-1, -1}; /* a child waits for a word there first */

static struct rdma_cm_event *fetch(struct rdma_event_channel *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    struct rdma_cm_event *e = NULL;
    if (poll(&p, 1, TIMEOUT_MS) != 1 || rdma_get_cm_event(c, &e))
        return NULL;
    return e;
}

static int wait_for(struct rdma_event_channel *c, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *e = fetch(c);
    int good = e && e->event == type && !e->status;
    if (e && !good)
        fprintf(stderr, "%s (%d) in place of %s\n", rdma_event_str(e->event), e->status, rdma_event_str(type));
    if (e)
        rdma_ack_cm_event(e);
    return good ? 0 : -1;
}

static int add_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    return rdma_create_qp(id, NULL, &attr);
}

/* ---- the child ----------------------------------------------------------------------------------------------------------- */

static int talk(struct rdma_cm_id *id)
{
    char text[32] = "from a child";
    struct ibv_wc wc;
    struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof(text));
    if (!mr || rdma_post_send(id, NULL, text, sizeof(text), mr, 0) || rdma_get_send_comp(id, &wc) != 1 ||
        wc.status != IBV_WC_SUCCESS)
        return -1;
    return rdma_dereg_mr(mr);
}

static void child(uint16_t port, enum child_end end, int ready)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct rdma_event_channel *c = rdma_create_event_channel();
    struct rdma_cm_id *id;
    char word;
    if (go[0] >= 0 && read(go[0], &word, 1) != 1)
        _exit(4);
    if (!c || rdma_create_id(c, &id, NULL, RDMA_PS_TCP) || rdma_resolve_addr(id, NULL, (struct sockaddr *)&a, 1000) ||
        wait_for(c, RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(id, 1000) ||
        wait_for(c, RDMA_CM_EVENT_ROUTE_RESOLVED) || add_qp(id) || rdma_connect(id, NULL))
        _exit(2);
    if (end == VANISHES) {
        (void)!write(ready, "x", 1);
        pause();
    }
    if (wait_for(c, RDMA_CM_EVENT_ESTABLISHED) || talk(id))
        _exit(3);
    (void)!write(ready, "x", 1);
    if (end == IS_KILLED)
        pause();
    if (end == EXITS)
        exit(0); /* destructors run; the identifier is left to them */
    rdma_destroy_qp(id);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(c);
    exit(0);
}

static pid_t start(enum child_end end, int *ready)
{
    uint16_t port = ntohs(rdma_get_src_port(listener));
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fd[0]);
        child(port, end, fd[1]);
    }
    close(fd[1]);
    *ready = fd[0];
    return pid;
}

/* ---- the parent ------------------------------------------------------------------------------------------------------------ */

static struct rdma_cm_id *accept_child(char *text, size_t size)
{
    struct rdma_cm_event *e = fetch(ch);
    assert_non_null(e);
    assert_int_equal(e->event, RDMA_CM_EVENT_CONNECT_REQUEST);
    struct rdma_cm_id *id = e->id;
    rdma_ack_cm_event(e);
    assert_int_equal(add_qp(id), 0);
    struct ibv_mr *mr = rdma_reg_msgs(id, text, size);
    assert_non_null(mr);
    assert_int_equal(rdma_post_recv(id, NULL, text, size, mr), 0);
    assert_int_equal(rdma_accept(id, NULL), 0);
    return id;
}

static int ended(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void serve_started(enum child_end end, pid_t pid, int ready)
{
    char text[32] = "", byte;
    struct ibv_wc wc;
    struct rdma_cm_id *id = accept_child(text, sizeof(text));
    assert_int_equal(wait_for(ch, RDMA_CM_EVENT_ESTABLISHED), 0);
    assert_int_equal(rdma_get_recv_comp(id, &wc), 1);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_string_equal(text, "from a child");
    assert_int_equal(read(ready, &byte, 1), 1);
    close(ready);
    if (end == IS_KILLED)
        assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(wait_for(ch, RDMA_CM_EVENT_DISCONNECTED), 0);
    assert_int_equal(ended(pid), end == IS_KILLED ? -SIGKILL : 0);
    rdma_destroy_qp(id);
    assert_int_equal(rdma_destroy_id(id), 0);
}

static void serve(enum child_end end)
{
    int ready;
    pid_t pid = start(end, &ready);
    serve_started(end, pid, ready);
}

static void a_child_that_destroys(void **state)
{
    (void)state;
    serve(DESTROYS);
}

static void a_child_that_exits(void **state)
{
    (void)state;
    serve(EXITS);
}

static void children_that_are_killed(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        serve(IS_KILLED);
}

/* It asked, and is dead when it is accepted. */
static void a_child_that_vanishes(void **state)
{
    (void)state;
    char text[32] = "", byte;
    int ready;
    pid_t pid = start(VANISHES, &ready);
    assert_int_equal(read(ready, &byte, 1), 1);
    struct pollfd p = {.fd = ch->fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(ended(pid), -SIGKILL);
    struct rdma_cm_id *id = accept_child(text, sizeof(text));
    struct rdma_cm_event *e = fetch(ch);
    assert_non_null(e);
    assert_int_equal(e->event, RDMA_CM_EVENT_REJECTED); /* invalid communication ID */
    assert_int_equal(e->status, 6);
    rdma_ack_cm_event(e);
    rdma_destroy_qp(id);
    assert_int_equal(rdma_destroy_id(id), 0);
    close(ready);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A request that waits in the listener's queue because there is no descriptor for it: nobody spins, and it is taken later. */
static void no_descriptor_is_left(void **state)
{
    enum { MOST = 512 };
    const struct timespec nap = {.tv_nsec = 10000000};
    struct rlimit before, low;
    int fds[MOST], count = 0, ready;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(pipe(go), 0);
    pid_t pid = start(DESTROYS, &ready);
    low = before;
    low.rlim_cur = 256;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (count < MOST && (fds[count] = dup(go[0])) >= 0)
        count++;
    assert_int_equal(errno, EMFILE);
    assert_int_equal(write(go[1], "x", 1), 1);
    double used = seconds(CLOCK_PROCESS_CPUTIME_ID), began = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < 50; i++)
        nanosleep(&nap, NULL);
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    began = seconds(CLOCK_MONOTONIC) - began;
    while (count)
        close(fds[--count]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (used > began / 2)
        fail_msg("%.3f s of processor time in %.3f s: somebody spins", used, began);
    serve_started(DESTROYS, pid, ready);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        go[i] = -1;
    }
}

static void what_is_the_parents_is_refused(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rdma_cm_event *e;
        int wrong = 0;
        wrong |= rdma_listen(listener, 1) != -1 || errno != ENODEV;
        wrong |= rdma_get_cm_event(ch, &e) != -1 || errno != ENODEV;
        wrong |= rdma_destroy_id(listener) != -1 || errno != ENODEV;
        _exit(wrong);
    }
    assert_int_equal(ended(pid), 0);
    serve(DESTROYS); /* and the parent's goes on */
}

/* A port belongs to one process of the host. */
static void ports_are_the_hosts(void **state)
{
    (void)state;
    fflush(NULL);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = rdma_get_src_port(listener)};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rdma_cm_id *id;
        int rc = rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP);
        _exit(rc || rdma_bind_addr(id, (struct sockaddr *)&a) != -1 || errno != EADDRINUSE);
    }
    assert_int_equal(ended(pid), 0);
}

static int begin(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    (void)state;
    ch = rdma_create_event_channel();
    return !ch || rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) || rdma_bind_addr(listener, (struct sockaddr *)&a) ||
           rdma_listen(listener, 8);
}

static int end(void **state)
{
    (void)state;
    int rc = rdma_destroy_id(listener);
    rdma_destroy_event_channel(ch);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_destroys),    cmocka_unit_test(a_child_that_exits),
        cmocka_unit_test(children_that_are_killed), cmocka_unit_test(a_child_that_vanishes),
        cmocka_unit_test(what_is_the_parents_is_refused), cmocka_unit_test(ports_are_the_hosts),
        cmocka_unit_test(no_descriptor_is_left),
    };
    setenv("SOFTNIC_DEVICES", "1", 1);
    setenv("SOFTNIC_LOG", "off", 1);
#ifdef __SANITIZE_THREAD__
    printf("SKIP: children of a process with threads need what ThreadSanitizer does not allow\n");
    return 77;
#endif
    return cmocka_run_group_tests(tests, begin, end);
}
