/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreliable connections (IBTA vol. 1, 9.8.2) and datagrams (9.8.3) over frame wires: payload, source, and the GRH with
 * what the IP header said (A17.4.5).
 */

#include "../softnic/datagram.h"
#include "rig.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/udp.h"

enum { QKEY = 0x22222222, GRH = 40, AT = MEM_SIZE / 2 };

static struct station a, b;
static const struct sn_cqe64 *got;

static bool arrived(void *arg)
{
    got = next_rcqe(arg);
    return got != NULL;
}

static void receive(uint32_t bytes)
{
    if (!stations_run(&a, &b, arrived, &b.e))
        fail_msg("nothing arrived");
    assert_int_equal(sn_get32(got->byte_cnt), bytes);
}

static void unreliable_connection(void)
{
    static const uint32_t sizes[] = {0, 1, 1024, 1025, 20000};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        fill(a.e.mem, 20000, i + 1);
        post_recv(&b.e, b.e.mem + AT, 65536, b.e.mkey);
        struct wr wr = wr_write(&a.e, &b.e, 0, 0, sizes[i]);
        station_expect(&a, &b, post(&a.e, &wr));
        wr = wr_send(&a.e, 0, sizes[i]); /* behind the WRITE, so what it wrote is there when this arrives */
        station_expect(&a, &b, post(&a.e, &wr));
        receive(sizes[i]);
        assert_memory_equal(b.e.mem, a.e.mem, sizes[i]);
        assert_memory_equal(b.e.mem + AT, a.e.mem, sizes[i]);
    }
}

static void datagram(bool ipv4)
{
    for (uint32_t length = 0; length <= 1024; length += 256) {
        struct datagram d = {.qpn = b.e.qpn, .qkey = QKEY, .length = length, .tclass = 0x28, .hops = 33};
        memcpy(d.gid, sn_nic_get_config(b.w.nic[0])->gid[0], 16);
        fill(a.e.mem, length, length + 1);
        memset(b.e.mem + AT, 0x77, GRH);
        post_recv(&b.e, b.e.mem + AT, 2048, b.e.mkey);
        uint32_t index = put_datagram(&a.e, &d);
        ring(&a.e);
        station_expect(&a, &b, index);
        receive(GRH + length);
        assert_memory_equal(b.e.mem + AT + GRH, a.e.mem, length);
        assert_int_equal(sn_get32(got->flags_rqpn) & 0xffffff, a.e.qpn);
        const uint8_t *ip = b.e.mem + AT + (ipv4 ? 20 : 0);
        assert_int_equal(ip[0] >> 4, ipv4 ? 4 : 6);
        if (ipv4) {
            assert_memory_equal(ip + 12, sn_nic_get_config(a.w.nic[0])->gid[0] + 12, 4);
            assert_int_equal(ip[1], 0x28);
        } else {
            assert_memory_equal(ip + 8, sn_nic_get_config(a.w.nic[0])->gid[0], 16);
        }
    }
}

static void run(struct sn_backend *first, struct sn_backend *second, const char *from, const char *to,
                enum sn_service service)
{
    struct options o = defaults;
    o.service = service;
    o.qkey = QKEY;
    station_open(&a, first, from, &o);
    station_open(&b, second, to, &o);
    stations_connect(&a, &b);
    if (service == SN_SERVICE_UC)
        unreliable_connection();
    else
        datagram(strchr(from, '.') != NULL);
    station_close(&a);
    station_close(&b);
}

static struct sn_backend *udp(void)
{
    struct sn_backend *backend;
    assert_int_equal(sn_udp_open(&backend), 0);
    return backend;
}

static void on_udp(const char *from, const char *to)
{
    run(udp(), udp(), from, to, SN_SERVICE_UC);
    run(udp(), udp(), from, to, SN_SERVICE_UD);
}

static void udp_ipv4(void **state)
{
    (void)state;
    on_udp("127.0.0.1", "127.0.0.1");
    on_udp("127.0.0.2", "127.0.0.3");
}

static void udp_ipv6(void **state)
{
    uint8_t gid[16];
    (void)state;
    gid_of("::1", gid);
    if (sn_udp_mtu(gid) < 0)
        skip();
    on_udp("::1", "::1");
}

static void datagram_sockets(void **state)
{
    static const enum sn_service services[] = {SN_SERVICE_UC, SN_SERVICE_UD};
    static const char *const addresses[][2] = {{"192.0.2.1", "192.0.2.2"}, {"fe80::1", "fe80::2"}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct sn_backend *first, *second;
        datagram_pair(&first, &second);
        run(first, second, addresses[i / 2][0], addresses[i / 2][1], services[i % 2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(udp_ipv4), cmocka_unit_test(udp_ipv6),
                                       cmocka_unit_test(datagram_sockets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
