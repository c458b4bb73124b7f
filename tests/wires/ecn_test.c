/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion experienced (A17.9) over frame wires: packets that come marked are executed like others, for every service; a
 * connection's sender is told by a CNP, which it takes and counts, and goes on.
 */
#include <stdio.h>

#include "../softnic/datagram.h"
#include "rig.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/udp.h"

enum { QKEY = 0x22222222, GRH = 40, CE = 3, ROUNDS = 5, AT = MEM_SIZE / 2 };

static struct station a, b;
static const struct sn_cqe64 *got;

static struct sn_counters counters(const struct station *s)
{
    struct sn_counters c;
    sn_nic_get_counters(s->w.nic[0], &c);
    return c;
}

static bool told(void *arg)
{
    (void)arg;
    struct sn_counters at_b = counters(&b);
    return at_b.np_cnp_sent != 0 && counters(&a).rp_cnp_handled == at_b.np_cnp_sent;
}

static bool arrived(void *arg)
{
    (void)arg;
    got = next_rcqe(&b.e);
    return got != NULL;
}

static void connection(void)
{
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        fill(a.e.mem, 3000, i);
        post_recv(&b.e, b.e.mem + AT, 4096, b.e.mkey);
        struct wr write = wr_write(&a.e, &b.e, 0, 0, 3000), send = wr_send(&a.e, 0, 3000);
        uint32_t first = put_wqe(&a.e, &write), second = post(&a.e, &send);
        station_expect(&a, &b, first);
        station_expect(&a, &b, second);
        assert_true(stations_run(&a, &b, arrived, NULL));
        assert_int_equal(sn_get32(got->byte_cnt), 3000);
        assert_memory_equal(b.e.mem, a.e.mem, 3000);
        assert_memory_equal(b.e.mem + AT, a.e.mem, 3000);
        assert_true(stations_run(&a, &b, told, NULL));
        assert_true(counters(&b).np_ecn_marked_roce_packets >= i * 6); /* 3 packets each, at 1 KiB */
    }
    struct sn_counters at_a = counters(&a), at_b = counters(&b);
    assert_true(at_b.np_cnp_sent <= at_b.np_ecn_marked_roce_packets);
    assert_int_equal(at_a.np_cnp_sent, 0); /* nothing that came back was marked */
    assert_int_equal(at_a.rp_cnp_ignored + at_b.rp_cnp_ignored, 0);
    assert_int_equal(at_a.rx_dropped + at_b.rx_dropped, 0);
}

/* A datagram's sender is not told: there is no connection to slow down. */
static void datagrams(void)
{
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        struct datagram d = {.qpn = b.e.qpn, .qkey = QKEY, .length = 500, .tclass = 0x28 | CE, .hops = 33};
        memcpy(d.gid, sn_nic_get_config(b.w.nic[0])->gid[0], 16);
        fill(a.e.mem, 500, i);
        post_recv(&b.e, b.e.mem + AT, 1024, b.e.mkey);
        uint32_t index = put_datagram(&a.e, &d);
        ring(&a.e);
        station_expect(&a, &b, index);
        assert_true(stations_run(&a, &b, arrived, NULL));
        assert_int_equal(sn_get32(got->byte_cnt), GRH + 500);
        assert_memory_equal(b.e.mem + AT + GRH, a.e.mem, 500);
        assert_int_equal(counters(&b).np_ecn_marked_roce_packets, i);
    }
    assert_int_equal(counters(&b).np_cnp_sent, 0);
    assert_int_equal(counters(&b).rx_dropped, 0);
}

static void run(struct sn_backend *first, struct sn_backend *second, const char *from, const char *to,
                enum sn_service service)
{
    struct options o = defaults;
    o.service = service;
    o.qkey = QKEY;
    station_open(&a, first, from, &o);
    station_open(&b, second, to, &o);
    a.e.o.tclass = CE;
    stations_connect(&a, &b);
    if (service == SN_SERVICE_UD)
        datagrams();
    else
        connection();
    station_close(&a);
    station_close(&b);
}

static const enum sn_service services[] = {SN_SERVICE_RC, SN_SERVICE_UC, SN_SERVICE_UD};

static void on_udp(const char *from, const char *to)
{
    for (int i = 0; i < 3; i++) {
        struct sn_backend *first, *second;
        assert_int_equal(sn_udp_open(&first), 0);
        assert_int_equal(sn_udp_open(&second), 0);
        run(first, second, from, to, services[i]);
    }
}

static void udp_ipv4(void **state)
{
    (void)state;
    on_udp("127.0.0.2", "127.0.0.3");
}

static void udp_ipv6(void **state)
{
    uint8_t gid[16];
    (void)state;
    gid_of("::1", gid);
    if (sn_udp_mtu(gid) < 0) {
        printf("SKIP: no IPv6 here\n");
        skip();
    }
    on_udp("::1", "::1");
}

static void datagram_sockets(void **state)
{
    static const char *const addresses[][2] = {{"192.0.2.1", "192.0.2.2"}, {"fe80::1", "fe80::2"}};
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct sn_backend *first, *second;
        datagram_pair(&first, &second);
        run(first, second, addresses[i / 3][0], addresses[i / 3][1], services[i % 3]);
    }
}

static void packet_sockets(void **state)
{
    struct sn_backend *first, *second;
    (void)state;
    if (!own_network() || !sh("ip link add va type veth peer name vb && ip link set va up && ip link set vb up") ||
        sn_afpacket_open("va", &first) != 0) {
        printf("SKIP: no interfaces of our own\n");
        skip();
    }
    first->ops->destroy(first);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sn_afpacket_open("va", &first), 0);
        assert_int_equal(sn_afpacket_open("vb", &second), 0);
        first->answers = second->answers = true;
        run(first, second, "192.0.2.1", "192.0.2.2", services[i]);
    }
    sh("ip link del va");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(udp_ipv4), cmocka_unit_test(udp_ipv6),
                                       cmocka_unit_test(datagram_sockets), cmocka_unit_test(packet_sockets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
