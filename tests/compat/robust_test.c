/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a program on the drop-in libraries that forks, gets signals, has threads, closes libraries. */
#include <setjmp.h> /* cmocka wants these first */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rdma_pair.h"

static const double PATIENCE = 60; /* seconds; a hang guard */

struct two {
    struct rp a, b;
};

static struct two *make(bool events)
{
    struct two *two = calloc(1, sizeof(*two));
    assert_non_null(two);
    assert_int_equal(rp_open(&two->a, events), 0);
    assert_int_equal(rp_open(&two->b, events), 0);
    assert_int_equal(rp_join(&two->a, &two->b), 0);
    return two;
}

static void end(struct two *two)
{
    rp_close(&two->a);
    rp_close(&two->b);
    free(two);
}

/* Writes and compares `count` times; what failed, or NULL. */
static const char *traffic(struct two *two, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct ibv_wc wc;
        uint32_t bytes = 1 + i * 37 % 8000;
        memset(two->a.memory + RP_HALF, (int)(i + 1), bytes);
        if (rp_post(&two->a, IBV_WR_RDMA_WRITE, i, 0, bytes))
            return "ibv_post_send refused";
        if (rp_complete(&two->a, &wc, PATIENCE))
            return "no completion";
        if (wc.status != IBV_WC_SUCCESS || wc.wr_id != i)
            return ibv_wc_status_str(wc.status);
        for (uint32_t j = 0; j < bytes; j++)
            if (two->b.memory[j] != (unsigned char)(i + 1))
                return "a wrong byte";
    }
    return NULL;
}

#define ASSERT_TRAFFIC(two, count)                \
    do {                                          \
        const char *bad_ = traffic(two, count);   \
        if (bad_)                                 \
            fail_msg("traffic: %s", bad_);        \
    } while (0)

/* ---- descriptors ------------------------------------------------------------------------------------------------------- */

static unsigned list_descriptors(bool open_ones[256])
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        int fd = atoi(e->d_name);
        if (isdigit((unsigned char)e->d_name[0]) && fd != dirfd(dir) && fd < 256) {
            open_ones[fd] = true;
            count++;
        }
    }
    closedir(dir);
    return count;
}

static void descriptors_are_closed_by_exec(void **state)
{
    (void)state;
    bool before[256] = {0}, after[256] = {0}, at_end[256] = {0};
    unsigned first = list_descriptors(before), found = 0;
    struct two *two = make(true);
    ASSERT_TRAFFIC(two, 10);
    list_descriptors(after);
    for (int fd = 0; fd < 256; fd++)
        if (after[fd] && !before[fd]) {
            found++;
            if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC)) {
                char path[64], target[256] = "";
                snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                if (readlink(path, target, sizeof(target) - 1) < 0)
                    target[0] = 0;
                fail_msg("descriptor %d (%s) would be inherited through exec", fd, target);
            }
        }
    assert_true(found > 0); /* a completion channel has one at least */
    end(two);
    assert_int_equal(list_descriptors(at_end), first); /* and nothing stays open */
}

/* ---- fork -------------------------------------------------------------------------------------------------------------- */

/* Mappings of memory that another process shares: rings, doorbells of a memfd. */
static unsigned shared_memfds(void)
{
    char line[512];
    unsigned count = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof(line), f))
        count += strstr(line, "memfd:") && strstr(line, " rw-s ");
    if (f)
        fclose(f);
    return count;
}

/* Are mappings kept from children that are not to have them (MADV_DONTFORK)? User-mode emulation takes the advice for a hint. */
static bool forks_leave_mappings(void)
{
    int fd = memfd_create("asked", MFD_CLOEXEC), status = 0;
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    assert_int_equal(madvise(p, 4096, MADV_DONTFORK), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(shared_memfds() ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    munmap(p, 4096);
    close(fd);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static unsigned sockets_open(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++) {
        char path[64], target[256];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        count += n > 7 && !strncmp(target, "socket:", 7);
    }
    return count;
}

/* In the child: every call on what was inherited fails, says why, and does not hang. Its exit status tells which did not. */
static int child_tries(struct two *two, unsigned sockets_before)
{
    struct ibv_port_attr port;
    struct ibv_device_attr device;
    errno = 0;
    if (ibv_alloc_pd(two->a.ctx) || !errno)
        return 1;
    if (ibv_create_cq(two->a.ctx, 4, NULL, NULL, 0))
        return 2;
    if (ibv_reg_mr(two->a.pd, two->a.memory, 64, 0))
        return 3;
    if (!ibv_query_device(two->a.ctx, &device) || !ibv_query_port(two->a.ctx, 1, &port))
        return 4;
    if (!rp_post(&two->a, IBV_WR_RDMA_WRITE, 1, 0, 8))
        return 5;
    if (!rp_receive(&two->a))
        return 6;
    struct ibv_wc wc;
    if (ibv_poll_cq(two->a.cq, 1, &wc) > 0)
        return 7;
    if (sockets_open() > sockets_before)
        return 8; /* it would keep the peers' connections alive */
    /* A device of its own is there for the asking. */
    struct two *own = calloc(1, sizeof(*own));
    if (!own || rp_open(&own->a, false) || rp_open(&own->b, false) || rp_join(&own->a, &own->b))
        return 9;
    return traffic(own, 20) ? 10 : 0;
}

/* A device of its own means threads of its own. */
static void skip_where_children_have_no_threads(void)
{
#ifdef __SANITIZE_THREAD__
    printf("SKIP: ThreadSanitizer ends a child of a process with threads that starts one\n");
    skip();
#endif
}

static void forked_child(void **state)
{
    (void)state;
    skip_where_children_have_no_threads();
    unsigned sockets_before = sockets_open();
    struct two *two = make(false);
    ASSERT_TRAFFIC(two, 20);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(child_tries(two, sockets_before));
    ASSERT_TRAFFIC(two, 200); /* the parent goes on meanwhile */
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    ASSERT_TRAFFIC(two, 20);
    end(two);
}

/* Neither rings that it shares with peers nor doorbells. */
static void forked_child_has_no_mappings(void **state)
{
    (void)state;
    if (!forks_leave_mappings()) {
        printf("SKIP: a child keeps mappings here in spite of MADV_DONTFORK\n");
        skip();
    }
    struct two *two = make(false);
    ASSERT_TRAFFIC(two, 20);
    assert_true(shared_memfds() > 0);
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(shared_memfds() ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    end(two);
}

/* A program that becomes a daemon may close what it does not know: the NIC's descriptors, too. */
static int child_closes(void)
{
    struct two *two = calloc(1, sizeof(*two));
    const struct timespec quiet = {.tv_nsec = 50000000};
    alarm(60);
    if (!two || rp_open(&two->a, false) || rp_open(&two->b, false) || rp_join(&two->a, &two->b) || traffic(two, 20))
        return 1;
    nanosleep(&quiet, NULL); /* its threads wait */
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    if (traffic(two, 20)) /* between its own queue pairs no descriptor is needed */
        return 2;
    rp_close(&two->a);
    rp_close(&two->b);
    return 0;
}

static void descriptors_closed_by_the_program(void **state)
{
    (void)state;
    skip_where_children_have_no_threads();
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(child_closes());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void *busy(void *argument)
{
    struct two *two = argument;
    return (void *)traffic(two, 300);
}

static atomic_bool storm_begins, storm_ends;

static void *busy_in_the_storm(void *argument)
{
    const char *bad = NULL;
    atomic_store(&storm_begins, true);
    while (!bad && !atomic_load(&storm_ends))
        bad = traffic(argument, 10);
    return (void *)bad;
}

/*
 * The other thread neither starts nor ends meanwhile: that is the sanitizer's time in it, whose allocator a child would find
 * locked.
 */
static void fork_storm(void **state)
{
    (void)state;
    enum { FORKS = 12 };
    struct two *two = make(false);
    pthread_t thread;
    void *bad;
    assert_int_equal(pthread_create(&thread, NULL, busy_in_the_storm, two), 0);
    while (!atomic_load(&storm_begins))
        sched_yield();
    for (int i = 0; i < FORKS; i++) { /* whatever locks the other thread and the NIC hold */
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (!pid) {
            struct ibv_device **list = ibv_get_device_list(NULL);
            _exit(list && list[0] ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&storm_ends, true);
    assert_int_equal(pthread_join(thread, &bad), 0);
    if (bad)
        fail_msg("traffic: %s", (const char *)bad);
    end(two);
}

/* ---- signals ----------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t rings;
static pthread_t main_thread;
static volatile sig_atomic_t elsewhere;

static void on_signal(int number)
{
    (void)number;
    rings++;
    if (!pthread_equal(pthread_self(), main_thread))
        elsewhere++;
}

static void threads_block_signals(void **state)
{
    (void)state;
    struct two *two = make(true);
    DIR *dir = opendir("/proc/self/task");
    unsigned others = 0;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[64], line[256];
        if (!isdigit((unsigned char)e->d_name[0]) || atoi(e->d_name) == getpid())
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", e->d_name);
        FILE *f = fopen(path, "r");
        unsigned long long blocked = 0;
        char name[64] = "";
        while (f && fgets(line, sizeof(line), f)) {
            sscanf(line, "SigBlk: %llx", &blocked);
            sscanf(line, "Name: %63[^\n]", name);
        }
        if (!f)
            continue; /* it has ended */
        fclose(f);
        others++;
        for (int s = 1; s <= SIGTERM; s++) /* but for those that a fault raises in the thread itself, and the unblockable */
            if (s != SIGKILL && s != SIGSEGV && s != SIGBUS && s != SIGFPE && s != SIGILL && s != SIGTRAP && s != SIGABRT &&
                !(blocked >> (s - 1) & 1))
                fail_msg("thread %s (%s) may get signal %d", e->d_name, name, s);
    }
    closedir(dir);
    assert_true(others > 0);
    end(two);
}

static void signal_storm(void **state)
{
    (void)state;
    struct two *two = make(true);
    struct sigaction action = {.sa_handler = on_signal}, before; /* no SA_RESTART: every call may be interrupted */
    struct itimerval fast = {{0, 500}, {0, 500}}, none = {{0, 0}, {0, 0}};
    main_thread = pthread_self();
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &fast, NULL), 0);
    const char *bad = NULL;
    for (int i = 0; i < 200 && !bad && (i < 20 || rings < 20); i++)
        bad = traffic(two, 50);
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    if (bad)
        fail_msg("traffic: %s", bad);
    assert_true(rings > 0);
    assert_int_equal(elsewhere, 0);
    end(two);
}

/* ---- threads ----------------------------------------------------------------------------------------------------------- */

static void *open_and_close(void *argument)
{
    for (int i = 0; i < 10; i++) {
        struct two two = {0};
        if (rp_open(&two.a, i & 1) || rp_open(&two.b, i & 1) || rp_join(&two.a, &two.b))
            return (void *)"opening failed";
        const char *bad = traffic(&two, 10);
        if (bad)
            return (void *)bad;
        rp_close(&two.a);
        rp_close(&two.b);
    }
    return argument;
}

static void threads_at_once(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct two *two[THREADS];
    pthread_t busy_ones[THREADS], openers[2];
    void *bad;
    for (int i = 0; i < THREADS; i++)
        two[i] = make(i & 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&busy_ones[i], NULL, busy, two[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&openers[i], NULL, open_and_close, NULL), 0);
    for (int i = 0; i < THREADS + 2; i++) {
        assert_int_equal(pthread_join(i < THREADS ? busy_ones[i] : openers[i - THREADS], &bad), 0);
        if (bad)
            fail_msg("thread %d: %s", i, (const char *)bad);
    }
    for (int i = 0; i < THREADS; i++)
        end(two[i]);
}

/* ---- dlclose ----------------------------------------------------------------------------------------------------------- */

static void dlclose_while_it_runs(void **state)
{
    (void)state;
    Dl_info where;
    assert_true(dladdr((void *)(uintptr_t)&ibv_get_device_list, &where));
    char path[4096], mlx5[4096];
    snprintf(path, sizeof(path), "%s", where.dli_fname);
    snprintf(mlx5, sizeof(mlx5), "%.*s/libmlx5.so.1", (int)(strrchr(path, '/') - path), path);
    struct two *two = make(false);
    ASSERT_TRAFFIC(two, 10);
    for (int i = 0; i < 5; i++) {
        void *verbs = dlopen(path, RTLD_NOW), *direct = dlopen(mlx5, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(verbs);
        if (!direct)
            fail_msg("%s", dlerror());
        bool (*supported)(struct ibv_device *) = (bool (*)(struct ibv_device *))dlsym(direct, "mlx5dv_is_supported");
        assert_non_null(supported);
        assert_true(supported(two->a.ctx->device));
        /* More often than it was opened: the libraries stay, since the NIC's thread runs in them. */
        dlclose(direct);
        dlclose(direct);
        dlclose(verbs);
        assert_true(supported(two->a.ctx->device));
        ASSERT_TRAFFIC(two, 20);
    }
    end(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_are_closed_by_exec), cmocka_unit_test(forked_child),
        cmocka_unit_test(forked_child_has_no_mappings),   cmocka_unit_test(fork_storm),
        cmocka_unit_test(threads_block_signals),          cmocka_unit_test(signal_storm),
        cmocka_unit_test(threads_at_once),                cmocka_unit_test(dlclose_while_it_runs),
        cmocka_unit_test(descriptors_closed_by_the_program),
    };
    char address[32];
    snprintf(address, sizeof(address), "127.202.%u.%u", (unsigned)getpid() >> 8 & 255, (unsigned)getpid() & 255);
    setenv("SOFTNIC_GID", address, 1); /* addresses that no other test has */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
