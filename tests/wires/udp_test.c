/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP wire between two NICs of one host that share an address, or have one each; IPv4 and IPv6; all path MTUs. */
#include "format/bth.h"
#include "rig.h"
#include "softnic/engine.h"
#include "softnic/fault/inject.h"
#include "softnic/wire/packet_internal.h"
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

/* READs and atomics take PSNs, too: however many come between two WRITEs, they are no part of the window. */
static void reads_between_writes(void **state)
{
    enum { BYTES = 1 << 17, READS = 64 /* 8 MiB: more than any window */ };
    struct options o = defaults;
    (void)state;
    o.mtu = 5;
    o.ack_timeout = 14;
    station_open(&a, udp(), "127.0.0.2", &o);
    station_open(&b, udp(), "127.0.0.3", &o);
    stations_connect(&a, &b);
    for (int round = 0; round < 2; round++) {
        struct wr wr = wr_write(&a.e, &b.e, 0, 0, 8);
        station_expect(&a, &b, post(&a.e, &wr));
        for (int i = 0; i < READS; i++) {
            wr = wr_read(&a.e, &b.e, 0, 0, BYTES);
            station_expect(&a, &b, post(&a.e, &wr));
        }
    }
    station_close(&a);
    station_close(&b);
}

/* A connection that ended with a full window leaves none of it to the queue's next one, wherever that begins. */
static void window_of_a_new_connection(void **state)
{
    static struct sn_flows f;
    struct sn_burst write = {.sqpn = 0x010203, .kind = SN_KIND_WRITE, .service = SN_SERVICE_RC, .mtu = 5,
                             .psn = 0xfffff8, .npackets = 16, .length = 1 << 16};
    struct sn_burst ack = {.dqpn = 0x010203, .kind = SN_KIND_ACK, .service = SN_SERVICE_RC, .syndrome = SN_AETH_ACK};
    (void)state;
    for (int i = 0; i < 4; i++, write.psn = (write.psn + 16) & SN_PSN_MASK) {
        assert_true(sn_flow_may_send(&f, &write, 1 << 18));
        sn_flow_sent(&f, &write);
    }
    assert_false(sn_flow_may_send(&f, &write, 1 << 18));
    ack.psn = 7; /* of the first burst's last packet */
    sn_flow_arrived(&f, &ack);
    assert_true(sn_flow_may_send(&f, &write, 1 << 18));
    sn_flow_sent(&f, &write);
    write.psn = 0x2000;
    assert_false(sn_flow_may_send(&f, &write, 1 << 18));
    write.epoch++;
    assert_true(sn_flow_may_send(&f, &write, 1 << 18));
}

/* A fault plan from before the wire makes bursts of one packet. When it ends they grow again, and the wire has room. */
static void plan_before_the_wire(void **state)
{
    static const char text[] = "drop:rate=0.5";
    struct sn_fault_plan plan;
    struct sn_port *port;
    struct sn_wire *wire;
    char why[200];
    (void)state;
    assert_int_equal(sn_fault_parse(text, strlen(text), &plan, why, sizeof(why)), 0);
    assert_int_equal(sn_port_create(&(struct sn_port_config){.no_thread = true}, &port), 0);
    assert_int_equal(sn_port_set_faults(port, &plan, 1), 0);
    assert_int_equal(sn_packet_wire_create(port, udp(), true, &wire), 0);
    assert_int_equal(port->burst_bytes, 1);
    assert_int_equal(sn_port_set_faults(port, NULL, 0), 0);
    assert_in_range(port->burst_bytes, 4096, 65536);
    const struct sn_packet_wire *w = (struct sn_packet_wire *)wire;
    assert_true(w->out_room >= port->burst_bytes + (size_t)port->burst_bytes / 256 * 160);
    assert_true(w->out_max >= port->burst_bytes / 256);
    wire->ops->destroy(wire);
    sn_port_destroy(port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_address), cmocka_unit_test(two_addresses),
                                       cmocka_unit_test(ipv6), cmocka_unit_test(reads_between_writes),
                                       cmocka_unit_test(window_of_a_new_connection),
                                       cmocka_unit_test(plan_before_the_wire)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
