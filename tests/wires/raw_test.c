/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wires of whole Ethernet frames: datagram sockets everywhere; packet sockets on a veth pair and TAP interfaces on a
 * bridge in namespaces of our own where we may have them. Every operation at every path MTU, IPv4 and IPv6.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "rig.h"
#include "softnic/wire/packet_internal.h"
#include "softnic/wire/raw.h"

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 1}, mac_b[6] = {2, 0, 0, 0, 0, 2};
static struct station a, b;

static void run(struct sn_backend *first, struct sn_backend *second, const char *from, const char *to, uint8_t mtu,
                unsigned rounds)
{
    struct options o = defaults;
    o.mtu = mtu;
    o.ack_timeout = 14;
    station_open(&a, first, from, &o);
    station_open(&b, second, to, &o);
    stations_connect(&a, &b);
    exercise(&a, &b, rounds, mtu * 100);
    station_close(&a);
    station_close(&b);
}

static void datagrams(void **state)
{
    struct sn_backend *first, *second;
    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++) {
        datagram_pair(&first, &second);
        run(first, second, "192.0.2.1", "192.0.2.2", mtu, 12);
        datagram_pair(&first, &second);
        run(first, second, "fe80::1", "fe80::2", mtu, 12);
    }
}

static void datagrams_by_name(void **state)
{
    char folder[] = "/tmp/softnic-XXXXXX", one[64], two[64];
    struct sn_backend *first, *second, *third;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(one, sizeof(one), "%s/one", folder);
    snprintf(two, sizeof(two), "%s/two", folder);
    close(open(one, O_CREAT | O_CLOEXEC, 0600)); /* a file that is no socket is nobody's to remove */
    assert_int_equal(sn_dgram_open(one, two, mac_a, &first), -EADDRINUSE);
    unlink(one);
    int left = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(name.sun_path, one);
    assert_int_equal(bind(left, (struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(sn_dgram_open(one, two, mac_a, &first), -EADDRINUSE);
    close(left); /* now it is a leftover */
    assert_int_equal(sn_dgram_open(one, two, mac_a, &first), 0);
    assert_int_equal(sn_dgram_open(one, two, mac_a, &third), -EADDRINUSE);
    assert_int_equal(sn_dgram_open(two, one, mac_b, &second), 0);
    run(first, second, "192.0.2.1", "192.0.2.2", 3, 4);
    assert_int_not_equal(access(one, F_OK), 0);
    assert_int_equal(rmdir(folder), 0);
}

/*
 * A segment of 200 stations, all talked to by turns: each gets its place among the neighbours and keeps it. One whose
 * MAC address is not known has to wait, so the others must not push it out meanwhile.
 */
enum { STATIONS = 200 };

static unsigned answer_questions(int fd)
{
    unsigned asked = 0;
    uint8_t q[256], r[60];
    for (ssize_t n; (n = recv(fd, q, sizeof(q), MSG_DONTWAIT)) > 0; asked++) {
        assert_int_equal(q[12] << 8 | q[13], 0x0806);
        memcpy(r, q, sizeof(r));
        memcpy(r, mac_a, 6);
        r[21] = 2; /* an answer */
        memset(r + 22, 2, 5);
        r[27] = q[41];
        memcpy(r + 28, q + 38, 4);
        memcpy(r + 32, q + 22, 10);
        assert_int_equal(send(fd, r, sizeof(r), 0), sizeof(r));
    }
    return asked;
}

static void many_neighbours(void **state)
{
    uint8_t to[16], from[16], mac[6];
    struct sn_backend *backend;
    int fd[2];
    unsigned asked = 0, known = 0;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
    assert_int_equal(sn_dgram_open_fd(fd[0], mac_a, &backend), 0);
    station_open(&a, backend, "192.0.2.1", &defaults);
    struct sn_packet_wire *w = (struct sn_packet_wire *)a.wire;
    gid_of("192.0.2.1", from);
    for (int pass = 0; pass < 5; pass++) {
        known = 0;
        for (int i = 0; i < STATIONS; i++) {
            gid_of("192.0.2.2", to);
            to[14] = (uint8_t)(i * i * 37 + 1);
            to[15] = (uint8_t)i;
            sn_port_lock(a.w.port);
            known += sn_neigh_find(w->neigh, from, to, mac) == 0 && mac[0] == 2 && mac[5] == to[15];
            sn_packet_flush(w);
            sn_port_unlock(a.w.port);
            asked += answer_questions(fd[1]);
            sn_port_run(a.w.port);
        }
    }
    assert_int_equal(known, STATIONS);
    assert_int_equal(asked, STATIONS);
    station_close(&a);
    close(fd[1]);
}

/* ---- with the kernel's interfaces ------------------------------------------------------------------------------- */

/* Interfaces of our own; what may not be had is a reason to skip. */
static bool have_namespace;

static int enter(void **state)
{
    (void)state;
    have_namespace = own_network();
    if (!have_namespace)
        printf("no network namespace of our own: tests of interfaces are skipped\n");
    return 0;
}

static void packet_sockets(void **state)
{
    struct sn_backend *first, *second;
    (void)state;
    if (!have_namespace || !sh("ip link add va mtu 9000 type veth peer name vb mtu 9000 && "
                               "ip addr add 192.0.2.1/24 dev va && ip link set va up && ip link set vb up"))
        skip();
    if (sn_afpacket_open("va", &first))
        skip();
    first->ops->destroy(first);
    assert_int_equal(sn_afpacket_open("nosuch0", &first), -ENODEV);
    for (uint8_t mtu = 1; mtu <= 5; mtu++) {
        /* va has the kernel's own address, which the kernel answers ARP for; vb's address is the NIC's alone. */
        assert_int_equal(sn_afpacket_open("va", &first), 0);
        assert_int_equal(sn_afpacket_open("vb", &second), 0);
        second->answers = true;
        run(first, second, "192.0.2.1", "192.0.2.2", mtu, 8);
        assert_int_equal(sn_afpacket_open("va", &first), 0);
        assert_int_equal(sn_afpacket_open("vb", &second), 0);
        first->answers = second->answers = true;
        run(first, second, "2001:db8::1", "2001:db8::2", mtu, 8);
    }
    sh("ip link del va");
}

/* A datagram to port 4791 whose last byte is `mark`, in a frame with an 802.1Q tag; vid -1: without one. */
static void send_tagged(int fd, int vid, uint8_t mark)
{
    uint8_t f[64] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8};
    size_t at = 12;
    if (vid >= 0) {
        memcpy(f + at, (uint8_t[]){0x81, 0, (uint8_t)(vid >> 8), (uint8_t)vid}, 4);
        at += 4;
    }
    memcpy(f + at, (uint8_t[]){8, 0, 0x45, 0, 0, 44}, 6);
    f[at + 11] = 17;                /* UDP */
    f[at + 24] = SN_ROCE_PORT >> 8; /* destination */
    f[at + 25] = SN_ROCE_PORT & 0xff;
    f[at + 45] = mark;
    assert_int_equal(send(fd, f, at + 46, 0), at + 46);
}

/* The last byte of the next of these frames, among what the kernel says to its neighbours; it has been sent, so it comes. */
static uint8_t next_mark(struct sn_backend *backend)
{
    struct sn_frame_in frame;
    for (int i = 0; i < 10000;) {
        if (backend->ops->receive(backend, &frame, 1) != 1) {
            usleep(1000);
            i++;
        } else if (frame.length == 58 && frame.bytes[6] == 2 && frame.bytes[11] == 8 && frame.bytes[13] == 0) {
            return frame.bytes[57];
        }
    }
    fail_msg("the frame did not come");
    return 0;
}

/* The kernel takes a VLAN's tag out of a frame before packet sockets get it: another VLAN's must not look like ours. */
static void other_vlans(void **state)
{
    struct sn_backend *backend;
    (void)state;
    if (!have_namespace || !sh("ip link add va type veth peer name vb && ip link set va up && ip link set vb up"))
        skip();
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("va")};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0 || sn_afpacket_open("vb", &backend))
        skip();
    assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    send_tagged(fd, 5, 1);
    send_tagged(fd, 4095, 2);
    send_tagged(fd, -1, 3);
    assert_int_equal(next_mark(backend), 3);
    send_tagged(fd, 1, 4);
    send_tagged(fd, 0, 5); /* a priority and no VLAN */
    assert_int_equal(next_mark(backend), 5);
    backend->ops->destroy(backend);
    close(fd);
    sh("ip link del va");
}

static void xdp_sockets(void **state)
{
    struct sn_backend *first, *second, *third;
    (void)state;
    if (!have_namespace || !sh("ip link add xa mtu 3000 type veth peer name xb mtu 3000 && ip link set xa up && "
                               "ip link set xb up && ip addr add 192.0.2.1/24 dev xa"))
        skip();
    int rc = sn_xdp_open("xa", &first);
    if (rc) {
        printf("no AF_XDP here: %s\n", strerror(-rc));
        sh("ip link del xa");
        skip();
    }
    assert_int_equal(sn_xdp_open("xa", &third), -EBUSY);
    assert_int_equal(sn_xdp_open("xb", &second), 0);
    second->answers = true;
    run(first, second, "192.0.2.1", "192.0.2.2", 4, 12);
    assert_int_equal(sn_xdp_open("xa", &first), 0); /* the program went with its descriptor */
    assert_int_equal(sn_afpacket_open("xb", &second), 0);
    first->answers = second->answers = true;
    run(first, second, "2001:db8::1", "2001:db8::2", 3, 12);
    sh("ip link del xa");
}

static void taps(void **state)
{
    struct sn_backend *first, *second;
    (void)state;
    if (!have_namespace || sn_tap_open("tapa", mac_a, &first))
        skip();
    assert_int_equal(sn_tap_open("tapb", mac_b, &second), 0);
    if (!sh("ip link set tapa mtu 9000 && ip link set tapb mtu 9000 && "
            "ip link add br0 type bridge mcast_snooping 0 forward_delay 0 && "
            "ip link set tapa master br0 && ip link set tapb master br0 && ip link set br0 up mtu 9000")) {
        first->ops->destroy(first);
        second->ops->destroy(second);
        skip();
    }
    run(first, second, "192.0.2.1", "192.0.2.2", 5, 12);
    assert_int_equal(sn_tap_open("tapa", mac_a, &first), 0);
    assert_int_equal(sn_tap_open("tapb", mac_b, &second), 0);
    sh("ip link set tapa mtu 9000 master br0; ip link set tapb mtu 9000 master br0");
    run(first, second, "fe80::1", "fe80::2", 3, 12);
    sh("ip link del br0");
}

/* An interface that goes away leaves a descriptor that reports an error for ever: nobody may be kept awake by it. */
static void rest_without(struct sn_backend *backend, const char *gone)
{
    struct timespec before, after;
    station_open_threaded(&a, backend, "192.0.2.1", &defaults);
    assert_true(sh(gone));
    unsigned long long wakes = sn_packet_totals.wakes;
    clock_gettime(CLOCK_MONOTONIC, &before);
    usleep(300000);
    clock_gettime(CLOCK_MONOTONIC, &after);
    wakes = sn_packet_totals.wakes - wakes;
    /* One in 10 ms, however long we slept; without a pause it is one in 60 us. */
    long ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
    assert_in_range(wakes, 0, 20 + ms / 5);
    station_close(&a);
}

static void interface_goes(void **state)
{
    struct sn_backend *backend;
    (void)state;
    if (!have_namespace || sn_tap_open("tapc", mac_a, &backend))
        skip();
    rest_without(backend, "ip link del tapc");
    if (!sh("ip link add va type veth peer name vb && ip link set va up && ip link set vb up"))
        skip();
    assert_int_equal(sn_afpacket_open("va", &backend), 0);
    rest_without(backend, "ip link del va");
    if (!sh("ip link add va type veth peer name vb && ip link set va up && ip link set vb up") ||
        sn_xdp_open("va", &backend))
        skip();
    rest_without(backend, "ip link del va");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(datagrams), cmocka_unit_test(datagrams_by_name),
                                       cmocka_unit_test(many_neighbours),
                                       cmocka_unit_test_setup(packet_sockets, enter), cmocka_unit_test(other_vlans),
                                       cmocka_unit_test(xdp_sockets), cmocka_unit_test(taps),
                                       cmocka_unit_test(interface_goes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
