/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP wire between two NICs of one host that share an address, or have one each; IPv4 and IPv6; all path MTUs. */
#include "rig.h"
#include "softnic/wire/udp.h"

static struct sn_backend *udp(void)
{
    struct sn_backend *b;
    assert_int_equal(sn_udp_open(&b), 0);
    return b;
}

static struct station a, b;

static void run(const char *from, const char *to, uint8_t mtu, unsigned rounds)
{
    struct options o = defaults;
    o.mtu = mtu;
    o.ack_timeout = 14;
    station_open(&a, udp(), from, &o);
    station_open(&b, udp(), to, &o);
    assert_int_not_equal(a.e.qpn >> 16, b.e.qpn >> 16 & (strcmp(from, to) ? 0 : 0xff));
    stations_connect(&a, &b);
    exercise(&a, &b, rounds, mtu);
    station_close(&a);
    station_close(&b);
}

static void one_address(void **state)
{
    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++)
        run("127.0.0.1", "127.0.0.1", mtu, 16);
}

static void two_addresses(void **state)
{
    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++)
        run("127.0.0.2", "127.0.0.3", mtu, 16);
}

static void ipv6(void **state)
{
    uint8_t gid[16];
    (void)state;
    gid_of("::1", gid);
    if (sn_udp_mtu(gid) < 0)
        skip();
    for (uint8_t mtu = 1; mtu <= 5; mtu++)
        run("::1", "::1", mtu, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_address), cmocka_unit_test(two_addresses),
                                       cmocka_unit_test(ipv6)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
