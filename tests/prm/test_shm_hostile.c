/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that does not keep to the protocol: a raw socket speaks to a NIC of this process. The NIC must refuse, keep
 * working for others, and leave nothing behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"
#include "softnic/wire/shm_internal.h"

enum { RING = 65536 };

struct setup {
    struct rig r;
    struct rig_qp q; /* connected to itself: proof that the NIC works */
    struct rig_address self;
    unsigned posts;
    uint8_t slot;
};

static void open_setup(struct setup *s)
{
    memset(s, 0, sizeof(*s));
    rig_open(&s->r, 0);
    rig_qp_create(&s->q, &s->r);
    s->self = rig_address_of(&s->q);
    s->slot = (uint8_t)(s->q.qpn >> 16);
    rig_connect(&s->q, &s->self);
}

static void close_setup(struct setup *s)
{
    rig_qp_destroy(&s->q);
    rig_close(&s->r);
}

static void still_works(struct setup *s)
{
    uint64_t *p = (uint64_t *)(void *)s->r.data;
    p[0] = 0x1111 + s->posts++;
    p[512] = 0;
    rig_post_rdma(&s->q, RIG_WRITE, &s->self, 4096, 0, 8);
    assert_int_equal(rig_wait(&s->q, 60).opcode, 0);
    assert_int_equal(p[512], p[0]);
}

static int dial(const struct setup *s)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char name[80];
    int n = snprintf(name, sizeof(name), "softnic/%u/", (unsigned)getuid());
    for (int i = 0; i < 16; i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", s->self.gid[i]);
    n += snprintf(name + n, sizeof(name) - (size_t)n, "/%u", s->slot);
    memcpy(a.sun_path + 1, name, (size_t)n);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(
        connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)), 0);
    return fd;
}

static void say(int fd, const void *bytes, size_t size, int memory)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {(void *)(uintptr_t)bytes, size};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (memory >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &memory, sizeof(int));
    }
    assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL), (ssize_t)size);
}

/* The NIC's side hangs up (end of file). */
static bool hung_up(int fd)
{
    uint8_t byte;
    struct timeval limit = {60, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ssize_t n = recv(fd, &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static int memory(size_t bytes, bool seal)
{
    int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    if (seal)
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return fd;
}

static struct shm_hello honest(void)
{
    return (struct shm_hello){.magic = SHM_HELLO_MAGIC, .version = SHM_HELLO_VERSION, .ring_bytes = RING, .nonce = 0x12345679};
}

static void bad_hellos(void **state)
{
    (void)state;
    struct setup s;
    open_setup(&s);
    struct shm_hello ok = honest(), h;
    size_t bytes = shm_region_bytes(RING);
    for (int i = 0; i < 9; i++) {
        int fd = dial(&s), m = -1;
        size_t size = sizeof(h);
        h = ok;
        m = memory(i == 0 ? bytes - 4096 : bytes, i != 1); /* 0: too small; 1: not sealed */
        if (i == 2)
            h.magic++;
        if (i == 3)
            h.version = 99;
        if (i == 4)
            h.ring_bytes = 3 * 65536;
        if (i == 5)
            h.ring_bytes = 1ull << 40;
        if (i == 6)
            size = 8;
        say(fd, &h, size, i == 7 ? -1 : m); /* 7: no memory at all; 8: an identity of zeros */
        if (!hung_up(fd))
            fail_msg("hello %d was taken", i);
        close(m);
        close(fd);
        still_works(&s);
    }
    close_setup(&s);
}

/* A connection that passes the hello; its rings are ours to spoil. */
struct enemy {
    int fd;
    uint8_t *map;
    struct shm_tx tx;
};

static struct enemy befriend_as(const struct setup *s, const uint8_t gid[16])
{
    struct enemy e = {.fd = dial(s)};
    struct shm_hello h = honest();
    size_t bytes = shm_region_bytes(RING);
    int m = memory(bytes, true);
    e.map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m, 0);
    assert_ptr_not_equal(e.map, MAP_FAILED);
    shm_tx_init(&e.tx, e.map, 0, RING, h.nonce);
    e.tx.shared->producer = (struct shm_identity){.slot = 200, .gid_count = 1};
    memcpy(e.tx.shared->producer.gid[0], gid, 16);
    say(e.fd, &h, sizeof(h), m);
    close(m);
    return e;
}

static struct enemy befriend(const struct setup *s)
{
    return befriend_as(s, (const uint8_t[16]){0xfe, 0x80, 1});
}

static void part(struct enemy *e)
{
    munmap(e->map, shm_region_bytes(RING));
    close(e->fd);
}

static void commit(struct enemy *e, const struct shm_header *h)
{
    uint64_t at = e->tx.tail & (RING - 1);
    memcpy(e->tx.data + at + 8, h, sizeof(*h));
    atomic_store((_Atomic uint64_t *)(void *)(e->tx.data + at), e->tx.nonce + e->tx.tail);
    send(e->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void bad_records_close_the_connection(void **state)
{
    (void)state;
    struct setup s;
    open_setup(&s);
    const struct shm_header bad[] = {
        {.kind = 77, .mtu_service = 3},
        {.kind = SN_KIND_WRITE, .mtu_service = 3, .length = 0xffffff00},
        {.kind = SN_KIND_WRITE, .mtu_service = 3, .dqpn = 3u << 24, .length = 8}, /* our GID number 3 */
        {.kind = SN_KIND_WRITE, .mtu_service = 3, .sqpn = 1u << 24, .length = 8}, /* its GID number 1 */
        {.kind = SN_KIND_WRITE, .mtu_service = 3, .flags = 0xff},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct softnic_stats before, after;
        struct enemy e = befriend(&s);
        softnic_stats(&before, sizeof(before));
        commit(&e, &bad[i]);
        if (!hung_up(e.fd))
            fail_msg("record %zu was taken", i);
        softnic_stats(&after, sizeof(after));
        assert_int_equal(after.shm_bad_records - before.shm_bad_records, 1);
        part(&e);
        still_works(&s);
    }
    close_setup(&s);
}

/* Well-formed, but lies: to queue pairs that exist or not, with keys it does not have. Only queue pairs may suffer. */
static void lies_do_no_harm(void **state)
{
    (void)state;
    struct setup s;
    open_setup(&s);
    memset(s.r.data, 0x11, RIG_DATA_BYTES);
    struct enemy e = befriend(&s);
    uint64_t x = 0x2545f4914f6cdd1dull;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        struct shm_header h = {.dqpn = (x & 1 ? s.q.qpn ^ 0x40 : (uint32_t)x & 0xffffff),
                               .sqpn = (uint32_t)(x >> 8) & 0xffffff,
                               .kind = (uint8_t)((x >> 16) % SN_KIND_COUNT),
                               .flags = (uint8_t)(x >> 24) & SN_BURST_FLAGS_ALL,
                               .mtu_service = (uint8_t)(3 | (x >> 50 & 3) << 4), /* RC, UC, none, UD */
                               .psn = (uint32_t)(x >> 40) & 3,
                               .npackets = 1 + ((uint32_t)(x >> 30) & 1),
                               .length = (uint32_t)(x >> 33) % 100,
                               .va = (uintptr_t)s.r.data,
                               .rkey = (uint32_t)x,
                               .dmalen = 64};
        if (h.kind >= SN_KIND_ATOMIC_CS && h.kind <= SN_KIND_ATOMIC_MASKED_FA) {
            h.length = 0;
            h.psn |= 8u << 24;
        }
        if (!shm_tx_room(&e.tx, shm_record_bytes(&h))) {
            softnic_drive();
            sched_yield();
            i--;
            continue;
        }
        uint64_t bytes = shm_record_bytes(&h);
        commit(&e, &h);
        e.tx.tail += bytes;
    }
    still_works(&s);
    for (size_t i = 8192; i < RIG_DATA_BYTES; i++)
        if (s.r.data[i] != 0x11)
            fail_msg("byte %zu was written", i);
    part(&e);
    close_setup(&s);
}

/* Hellos with more descriptors than one, which is refused: none of the descriptors stays open. */
static void too_many_descriptors(void **state)
{
    (void)state;
#ifdef GDAKI_EMULATED
    printf("SKIP: the emulator takes descriptors that the program has no room for, and keeps them\n");
    skip();
#endif
    struct setup s;
    open_setup(&s);
    still_works(&s);
    int before = rig_open_fds();
    for (int i = 0; i < 50; i++) {
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(8 * sizeof(int))];
        } control = {0};
        struct shm_hello h = honest();
        struct iovec iov = {&h, sizeof(h)};
        struct msghdr m = {
            .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        int fd = dial(&s), mine = memory(shm_region_bytes(RING), true);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(8 * sizeof(int));
        for (size_t k = 0; k < 8; k++)
            memcpy(CMSG_DATA(c) + k * sizeof(int), &mine, sizeof(int));
        assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL), (ssize_t)sizeof(h));
        assert_true(hung_up(fd));
        close(mine);
        close(fd);
    }
    time_t end = time(NULL) + 60;
    while (rig_open_fds() != before && time(NULL) < end)
        sched_yield();
    assert_int_equal(rig_open_fds(), before);
    still_works(&s);
    close_setup(&s);
}

/* Many that connect and say nothing, then leave. */
static void silent_callers(void **state)
{
    (void)state;
    struct setup s;
    open_setup(&s);
    int fd[100], before = rig_open_fds();
    for (int i = 0; i < 100; i++)
        fd[i] = dial(&s);
    still_works(&s);
    for (int i = 0; i < 100; i++) { /* it does not wait for ever; how long is not judged */
        char byte;
        struct timeval most = {.tv_sec = 120};
        assert_int_equal(setsockopt(fd[i], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)), 0);
        assert_int_equal(recv(fd[i], &byte, 1, 0), 0);
    }
    still_works(&s);
    for (int i = 0; i < 100; i++)
        close(fd[i]);
    time_t end = time(NULL) + 60;
    while (rig_open_fds() != before && time(NULL) < end)
        sched_yield();
    assert_int_equal(rig_open_fds(), before);
    close_setup(&s);
}

/* More callers than the process has descriptors for: it has some left all the time. */
static void program_keeps_descriptors(void **state)
{
    (void)state;
#ifdef GDAKI_EMULATED
    printf("SKIP: the emulator's own descriptors count, too\n");
    skip();
#endif
    struct setup s;
    open_setup(&s);
    still_works(&s);
    struct rlimit before, few;
    int said[2];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    few = before;
    few.rlim_cur = (rlim_t)rig_open_fds() + 80;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int last = -1;
        for (int i = 0; i < 100; i++)
            last = dial(&s);
        char byte = 0; /* the last one is sent away, by and by, like all that are too many or say nothing */
        ssize_t n = recv(last, &byte, 1, 0);
        (void)!write(said[1], &byte, n == 0);
        _exit(0);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    close(said[1]);
    assert_int_equal(fcntl(said[0], F_SETFL, O_NONBLOCK), 0);
    char byte = 1;
    ssize_t n;
    int failures = 0;
    while ((n = read(said[0], &byte, 1)) < 0) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        failures += fd < 0;
        if (fd >= 0)
            close(fd);
        sched_yield();
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(said[0]);
    assert_int_equal(n, 1);
    assert_int_equal(failures, 0);
    still_works(&s);
    close_setup(&s);
}

static void commit_nothing(struct enemy *e)
{
    struct shm_header h = {.kind = SN_KIND_WRITE, .mtu_service = 3, .npackets = 1};
    commit(e, &h);
    e->tx.tail += shm_record_bytes(&h);
}

static uint64_t taken(const struct enemy *e)
{
    return atomic_load(&e->tx.shared->head);
}

static struct enemy befriend_and_open(const struct setup *s)
{
    struct enemy e = befriend(s);
    commit_nothing(&e);
    while (taken(&e) == 0) { /* the helper thread takes the hello when it gets to run */
        softnic_drive();
        sched_yield();
    }
    return e;
}

static bool others_wait(struct enemy *e, int flooder)
{
    bool wait = false;
    for (int i = 0; i < 3; i++)
        wait |= i != flooder && taken(&e[i]) != e[i].tx.tail;
    return wait;
}

/* One peer's ring is full and does not hold up another's: whichever connection is the older one. Nobody else drives. */
static void a_flood_starves_nobody(void **state)
{
    (void)state;
    struct setup s;
    open_setup(&s);
    struct enemy e[3];
    for (int i = 0; i < 3; i++)
        e[i] = befriend_and_open(&s);
    for (int flooder = 0; flooder < 3; flooder++) {
        while (e[flooder].tx.tail - taken(&e[flooder]) < RING)
            commit_nothing(&e[flooder]);
        for (int i = 0; i < 3; i++)
            if (i != flooder)
                commit_nothing(&e[i]);
        /* A turn may find the lock taken by the wire's helper and do nothing, so turns are not counted. */
        while (others_wait(e, flooder) && taken(&e[flooder]) < e[flooder].tx.tail)
            softnic_drive();
        assert_false(others_wait(e, flooder));
        assert_true(taken(&e[flooder]) < e[flooder].tx.tail);
        while (taken(&e[flooder]) < e[flooder].tx.tail)
            softnic_drive();
    }
    for (int i = 0; i < 3; i++)
        part(&e[i]);
    close_setup(&s);
}

static void deliver(struct enemy *e, const struct shm_header *h)
{
    commit(e, h);
    e->tx.tail += shm_record_bytes(h);
    while (taken(e) != e->tx.tail) {
        softnic_drive();
        sched_yield();
    }
}

/*
 * What was a frame names neither a path MTU nor its sender; a record of this wire has to, or else whoever guesses a PSN reaches a
 * queue pair, whatever number it says it has. And when the queue pair that a peer's messages went to is gone, the next one finds
 * nothing.
 */
static void a_record_names_its_sender(void **state)
{
    (void)state;
    struct setup s;
    open_setup(&s);
    uint64_t *at = (uint64_t *)(void *)(s.r.data + 8192);
    struct shm_header h = {.dqpn = s.q.qpn | (uint32_t)SHM_ACCEPTED_GID << 24,
                           .sqpn = s.q.qpn ^ 1,
                           .kind = SN_KIND_WRITE,
                           .flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ,
                           .npackets = 1,
                           .length = 8,
                           .va = (uintptr_t)at,
                           .rkey = s.self.rkey,
                           .dmalen = 8,
                           .inlined = 0x2222};
    *at = 0x1111;
    struct enemy e = befriend_as(&s, s.self.gid);
    commit(&e, &h);
    assert_true(hung_up(e.fd));
    part(&e);
    e = befriend_as(&s, s.self.gid);
    for (h.mtu_service = 1; h.mtu_service <= 5; h.mtu_service++)
        deliver(&e, &h);
    assert_int_equal(*at, 0x1111);
    h.sqpn = s.q.qpn;
    for (h.mtu_service = 1; h.mtu_service <= 5; h.mtu_service++) /* one of them is right */
        deliver(&e, &h);
    assert_int_equal(*at, 0x2222);
    rig_qp_destroy(&s.q);
    *at = 0x1111;
    for (h.psn = 0; h.psn < 3; h.psn++)
        for (h.mtu_service = 1; h.mtu_service <= 5; h.mtu_service++)
            deliver(&e, &h);
    assert_int_equal(*at, 0x1111);
    part(&e);
    rig_close(&s.r);
}

struct window_message { /* as shm_window.c has it */
    uint64_t magic;
    uint32_t slot, id;
    uint64_t bytes;
};

/* Files that could be cut short under our reads, and messages that make no sense, end the connection. */
static void bad_windows_close_the_connection(void **state)
{
    (void)state;
    const struct window_message good = {.magic = 0x31776f646e6977ull, .id = 1, .bytes = 65536};
    struct window_message m[6] = {good, good, good, good, good, good};
    struct setup s;
    open_setup(&s);
    m[1].magic++;
    m[2].slot = SHM_WINDOWS;
    m[3].id = 0;
    m[4].bytes = 65537; /* more than the file has */
    m[5].bytes = 0;
    for (size_t i = 0; i < sizeof(m) / sizeof(m[0]); i++) {
        struct enemy e = befriend(&s);
        int fd = memory(65536, i != 0); /* the first is good but for the seal */
        say(e.fd, &m[i], sizeof(m[i]), fd);
        close(fd);
        if (!hung_up(e.fd))
            fail_msg("window %zu was taken", i);
        part(&e);
        still_works(&s);
    }
    close_setup(&s);
}

/* References to windows that were never shown, and beyond the end of one that was: lost, and it is asked to send no more. */
static void references_beyond_a_window(void **state)
{
    (void)state;
    const struct window_message m = {.magic = 0x31776f646e6977ull, .id = 7, .bytes = 65536};
    const struct shm_header h = {.kind = SN_KIND_WRITE, .mtu_service = 3, .flags = SHM_BY_REFERENCE | 3, .npackets = 16,
                                 .length = 16384, .dmalen = 16384};
    struct shm_header bad[] = {h, h, h, h, h};
    struct setup s;
    open_setup(&s);
    bad[1].msn = 7;
    bad[1].inlined = 65536 - 16383;
    bad[2].msn = 7;
    bad[2].inlined = UINT64_MAX - 8;
    bad[3].msn = 8;
    bad[4].msn = 0;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct softnic_stats before, after;
        struct enemy e = befriend(&s);
        int fd = memory(65536, true);
        softnic_stats(&before, sizeof(before));
        say(e.fd, &m, sizeof(m), fd);
        close(fd);
        bad[i].dqpn = s.q.qpn;
        commit(&e, &bad[i]);
        time_t end = time(NULL) + 60;
        while (!atomic_load(&e.tx.shared->no_windows) && time(NULL) <= end)
            softnic_drive();
        assert_int_equal(atomic_load(&e.tx.shared->no_windows), 1);
        softnic_stats(&after, sizeof(after));
        assert_int_equal(after.shm_bad_records, before.shm_bad_records);
        part(&e);
        still_works(&s);
    }
    close_setup(&s);
}

int main(int argc, char **argv)
{
    setenv("SOFTNIC_LOG", "off", 1);
    if (argc > 1 && strcmp(argv[1], "alone") == 0) {
        const struct CMUnitTest alone[] = {cmocka_unit_test(a_flood_starves_nobody)};
        setenv("SOFTNIC_THREAD", "0", 1);
        return cmocka_run_group_tests(alone, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_hellos),
        cmocka_unit_test(bad_records_close_the_connection),
        cmocka_unit_test(lies_do_no_harm),
        cmocka_unit_test(a_record_names_its_sender),
        cmocka_unit_test(bad_windows_close_the_connection),
        cmocka_unit_test(references_beyond_a_window),
        cmocka_unit_test(silent_callers),
        cmocka_unit_test(program_keeps_descriptors),
        cmocka_unit_test(too_many_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
