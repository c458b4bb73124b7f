/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who can reach a NIC at all. By default (shared memory) no network socket exists, and another user's process is turned away
 * by its credentials; SOFTNIC_WIRE=udp, with no address, listens on loopback only.
 *
 *   security_reach         the shared-memory wire
 *   security_reach none    no wire
 *   security_reach udp     UDP sockets
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <netinet/in.h>

#include "rig.h"

struct setup {
    struct rig r;
    struct rig_qp q;
    struct rig_address self;
};

static void open_setup(struct setup *s)
{
    memset(s, 0, sizeof(*s));
    rig_open(&s->r, 0);
    rig_qp_create(&s->q, &s->r);
    s->self = rig_address_of(&s->q);
    rig_connect(&s->q, &s->self);
}

static void still_works(struct setup *s)
{
    rig_post_rdma(&s->q, RIG_WRITE, &s->self, 4096, 0, 8);
    assert_int_equal(rig_wait(&s->q, 60).opcode, 0);
}

static void close_setup(struct setup *s)
{
    rig_qp_destroy(&s->q);
    rig_close(&s->r);
}

/* Sockets of this process by family; every address of the internet families has to be a loopback one. */
static unsigned network_sockets(unsigned *beyond_loopback)
{
    unsigned count = 0;
    DIR *d = opendir("/proc/self/fd");

    *beyond_loopback = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        struct sockaddr_storage a;
        socklen_t size = sizeof(a);
        int fd = atoi(e->d_name);
        if (e->d_name[0] == '.' || getsockname(fd, (struct sockaddr *)&a, &size) != 0)
            continue;
        if (a.ss_family == AF_UNIX)
            continue;
        count++;
        const struct sockaddr_in *in = (const void *)&a;
        const struct sockaddr_in6 *in6 = (const void *)&a;
        bool loopback = (a.ss_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 == 127) ||
                        (a.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr)) ||
                        (a.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127);
        if (!loopback)
            ++*beyond_loopback;
    }
    closedir(d);
    return count;
}

static void no_network_by_default(void **state)
{
    struct setup s;
    unsigned beyond;

    (void)state;
    open_setup(&s);
    still_works(&s);
    assert_int_equal(network_sockets(&beyond), 0);
    close_setup(&s);
}

static void udp_is_loopback(void **state)
{
    struct setup s;
    unsigned beyond;

    (void)state;
    open_setup(&s);
    still_works(&s);
    assert_string_equal(softnic_wire_name(), "udp");
    assert_true(network_sockets(&beyond) >= 1);
    assert_int_equal(beyond, 0);
    close_setup(&s);
}

/* Where this user's NIC with that GID would listen: an abstract name, which has no owner that connect looks at. */
static socklen_t name_of(const struct setup *s, unsigned slot, struct sockaddr_un *out)
{
    char name[80];
    int n = snprintf(name, sizeof(name), "softnic/%u/", (unsigned)getuid());

    for (int i = 0; i < 16; i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", s->self.gid[i]);
    n += snprintf(name + n, sizeof(name) - (size_t)n, "/%u", slot);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, name, (size_t)n);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

enum { TURNED_AWAY, LISTENED_TO, NOT_TRIED };

/* In a child. The kernel notes the credentials at connect. */
static int try_as(const struct setup *s, uid_t uid)
{
    struct sockaddr_un a;
    socklen_t size = name_of(s, s->q.qpn >> 16, &a);
    /* Silence is a welcome: the NIC waits for a greeting. A stranger is given longer, to be hung up on. */
    struct timeval limit = uid == getuid() ? (struct timeval){0, 200000} : (struct timeval){60, 0};
    uint8_t byte;

    if (setresuid(uid, uid, uid) != 0)
        return NOT_TRIED;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, size) != 0)
        return NOT_TRIED;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ssize_t got = recv(fd, &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET) ? TURNED_AWAY : LISTENED_TO;
}

static int in_a_child(const struct setup *s, uid_t uid)
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(try_as(s, uid));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void another_user_is_turned_away(void **state)
{
    struct setup s;

    (void)state;
    if (getuid() != 0) {
        print_message("SKIP: another user's process needs root\n");
        skip();
    }
    open_setup(&s);
    assert_int_equal(in_a_child(&s, getuid()), LISTENED_TO); /* the same one is listened to: the check is about the user */
    assert_int_equal(in_a_child(&s, 65534), TURNED_AWAY);
    still_works(&s);
    close_setup(&s);
}

/* Somebody else has taken the name of a peer: nothing is sent to him, and the queue ends in an error as if nobody were there. */
static void an_impostor_gets_nothing(void **state)
{
    struct setup s;
    int to_parent[2], to_child[2], status;
    char byte = 0;

    (void)state;
    if (getuid() != 0) {
        print_message("SKIP: another user's process needs root\n");
        skip();
    }
    open_setup(&s);
    assert_int_equal(pipe(to_parent), 0);
    assert_int_equal(pipe(to_child), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sockaddr_un a;
        socklen_t size = name_of(&s, 200, &a);
        if (setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) != 0 || listen(fd, 8) != 0 || write(to_parent[1], "", 1) != 1 || read(to_child[0], &byte, 1) != 1)
            _exit(2);
        int got = 0;
        for (int c; (c = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) >= 0; close(c)) {
            char hello[256];
            got += recv(c, hello, sizeof(hello), 0) > 0;
        }
        _exit(got != 0);
    }
    assert_int_equal(read(to_parent[0], &byte, 1), 1);
    struct rig_qp victim;
    struct rig_address impostor = s.self;
    impostor.qpn = 200u << 16 | 0x1234;
    rig_qp_create(&victim, &s.r);
    victim.ack_timeout = 8;
    victim.retries = 1;
    rig_connect(&victim, &impostor);
    rig_post_rdma(&victim, RIG_WRITE, &impostor, 0, 0, 8);
    assert_int_equal(rig_wait(&victim, 60).opcode, 13);
    assert_int_equal(write(to_child[1], "", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 0);
    still_works(&s);
    rig_qp_destroy(&victim);
    close_setup(&s);
    for (int i = 0; i < 2; i++) {
        close(to_parent[i]);
        close(to_child[i]);
    }
}

int main(int argc, char **argv)
{
    setenv("SOFTNIC_LOG", "off", 1);
    if (argc > 1) {
        const struct CMUnitTest udp[] = {cmocka_unit_test(udp_is_loopback)}, none[] = {cmocka_unit_test(no_network_by_default)};
        setenv("SOFTNIC_WIRE", argv[1], 1);
        return strcmp(argv[1], "udp") == 0 ? cmocka_run_group_tests(udp, NULL, NULL) : cmocka_run_group_tests(none, NULL, NULL);
    }
    unsetenv("SOFTNIC_WIRE");
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_network_by_default), cmocka_unit_test(another_user_is_turned_away),
                                       cmocka_unit_test(an_impostor_gets_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
