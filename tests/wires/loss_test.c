/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loss that the kernel makes (nftables, random drop of 1 and 5 %) under UDP sockets and packet sockets: every byte
 * right, every completion once, every atomic executed once (IBTA vol. 1, 9.7.5, 9.9.2). In a network namespace of our
 * own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rig.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/udp.h"

static struct station a, b;

static bool drop(const char *interface, const char *hook, unsigned percent)
{
    char command[400];
    snprintf(command, sizeof(command),
             "nft 'add table netdev loss_%s; "
             "add chain netdev loss_%s c { type filter hook %s device %s priority 0; }; "
             "flush chain netdev loss_%s c; "
             "add rule netdev loss_%s c udp dport 4791 numgen random mod 100 < %u counter drop' 2>/dev/null",
             interface, interface, hook, interface, interface, interface, percent);
    return sh(command);
}

/* Packets that the rule has dropped. */
static unsigned long dropped(const char *interface)
{
    char command[160];
    unsigned long packets = 0;
    snprintf(command, sizeof(command),
             "nft list chain netdev loss_%s c | sed -n 's/.*counter packets \\([0-9]*\\).*/\\1/p'", interface);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%lu", &packets) != 1)
        packets = 0;
    if (f)
        pclose(f);
    return packets;
}

static void run(struct sn_backend *first, struct sn_backend *second, const char *from, const char *to, uint8_t mtu)
{
    struct options o = defaults;
    o.mtu = mtu;
    o.ack_timeout = 9; /* 2 ms */
    o.retry = 7;
    station_open(&a, first, from, &o);
    station_open(&b, second, to, &o);
    stations_connect(&a, &b);
    exercise(&a, &b, 14, mtu * 77);
    for (int i = 0; i < 100; i++) { /* whatever is still under way arrives, and completes nothing twice */
        sn_port_run(a.w.port);
        sn_port_run(b.w.port);
    }
    expect_none(&a.e);
    expect_none(&b.e);
    assert_null(next_rcqe(&a.e));
    assert_null(next_rcqe(&b.e));
    station_close(&a);
    station_close(&b);
}

static struct sn_backend *udp(void)
{
    struct sn_backend *backend;
    assert_int_equal(sn_udp_open(&backend), 0);
    return backend;
}

static void udp_sockets(void **state)
{
    static const unsigned percent[] = {1, 5};
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_true(drop("lo", "ingress", percent[i]));
        for (uint8_t mtu = 1; mtu <= 5; mtu += 2) {
            run(udp(), udp(), "127.0.0.1", "127.0.0.1", mtu);
            run(udp(), udp(), "::1", "::1", mtu);
        }
        assert_true(dropped("lo") > 0);
    }
}

static struct sn_backend *packet(const char *interface)
{
    struct sn_backend *backend;
    assert_int_equal(sn_afpacket_open(interface, &backend), 0);
    backend->answers = true;
    return backend;
}

static void packet_sockets(void **state)
{
    (void)state;
    if (!sh("ip link add va mtu 9000 type veth peer name vb mtu 9000 && ip link set va up && ip link set vb up") ||
        !drop("va", "egress", 5) || !drop("vb", "egress", 1))
        skip();
    for (uint8_t mtu = 1; mtu <= 5; mtu += 2)
        run(packet("va"), packet("vb"), "192.0.2.1", "192.0.2.2", mtu);
    assert_true(dropped("va") > 0);
}

int main(void)
{
    if (!own_network())
        skip_all("no network namespace of our own may be made");
    if (!drop("lo", "ingress", 1))
        skip_all("nftables cannot drop packets of an interface here (needs nft, and CAP_NET_ADMIN in the namespace)");
    const struct CMUnitTest tests[] = {cmocka_unit_test(udp_sockets), cmocka_unit_test(packet_sockets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
