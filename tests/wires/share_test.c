/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several NICs of one host share an address on the UDP wire: a frame that the kernel gives to the wrong one is passed
 * on, and its receiver then has a socket for that source, so the next ones come straight. Payload behind the copy
 * engine.
 */
#include <stdlib.h>
#include <time.h>

#include "../softnic/fake_gpu.h"
#include "rig.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/udp.h"

enum { NICS = 6 };

static struct station s[NICS];

static struct sn_packet_counters count(void)
{
    struct sn_packet_counters c;
    sn_packet_count(&c);
    return c;
}

static struct sn_backend *udp(void)
{
    struct sn_backend *b;
    assert_int_equal(sn_udp_open(&b), 0);
    return b;
}

/* Everybody with his neighbour; the others are driven too, for they may have to pass frames on. */
static void pair_round(unsigned seed)
{
    for (int i = 0; i < NICS; i += 2)
        exercise(&s[i], &s[i + 1], 6, seed);
}

static bool quiet(void *arg)
{
    static int turns;
    (void)arg;
    for (int i = 0; i < NICS; i++)
        sn_port_run(s[i].w.port);
    return ++turns % 64 == 0;
}

static bool background(void *arg)
{
    for (int i = 0; i < NICS; i++)
        sn_port_run(s[i].w.port);
    return next_cqe(arg) != NULL;
}

/* One message each way with all NICs driven, until the sockets are sorted out. */
static void settle(void)
{
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < NICS; i++) {
            struct wr wr = wr_write(&s[i].e, &s[i ^ 1].e, 0, 4096, 64);
            post(&s[i].e, &wr);
            assert_true(stations_run(&s[i], &s[i ^ 1], background, &s[i].e));
        }
    stations_run(&s[0], &s[1], quiet, NULL);
}

static void passing_on(void **state)
{
    struct options o = defaults;
    struct sn_packet_counters before, after;
    (void)state;
    o.ack_timeout = 8; /* 1 ms */
    before = count();
    for (int i = 0; i < NICS; i++) {
        station_open(&s[i], udp(), "127.0.0.1", &o);
        assert_int_equal(s[i].e.qpn >> 16, i + 1);
    }
    for (int i = 0; i < NICS; i += 2)
        stations_connect(&s[i], &s[i + 1]);
    settle();
    after = count();
    /* Six sockets, one of which the kernel picks by addresses and ports: that all six are right is beyond belief. */
    assert_true(after.passed_on > before.passed_on);
    assert_int_equal(after.passed_to_us - before.passed_to_us, after.passed_on - before.passed_on);
    before = after;
    pair_round(5);
    after = count();
    assert_int_equal(after.passed_on, before.passed_on); /* straight, all of them */
    for (int i = 0; i < NICS; i++)
        station_close(&s[i]);
}

/* Nobody has that slot: counted, and the requester finds out by itself. */
static void nobody_there(void **state)
{
    struct options o = defaults;
    (void)state;
    o.ack_timeout = 4;
    o.retry = 1;
    station_open(&s[0], udp(), "127.0.0.1", &o);
    station_open(&s[1], udp(), "127.0.0.1", &o);
    stations_connect(&s[0], &s[1]);
    struct wr wr = wr_write(&s[0].e, &s[1].e, 0, 0, 64);
    station_close(&s[1]);
    struct sn_packet_counters before = count();
    uint32_t index = post(&s[0].e, &wr);
    time_t end = time(NULL) + 60;
    while (end_state(&s[0].e) != SN_QP_ERR && time(NULL) <= end)
        sn_port_run(s[0].w.port);
    expect_error(&s[0].e, index, 0x15); /* transport retry counter exceeded */
    /* The timers are short: a slow machine may be through with them before it looks at the frame. */
    for (end = time(NULL) + 60; count().no_nic == before.no_nic && time(NULL) <= end;)
        sn_port_run(s[0].w.port);
    assert_true(count().no_nic > before.no_nic);
    station_close(&s[0]);
}

static void gpu_payload(void **state)
{
    static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 1}, mac_b[6] = {2, 0, 0, 0, 0, 2};
    struct options o = defaults;
    int fd[2];
    (void)state;
    o.ack_timeout = 16; /* 268 ms: the copy engine takes its time, and verdicts are not to depend on it */
    o.gpu = &fake_gpu;
    o.gpu_data = true;
    fake_gpu_seed(7);
    fake_gpu_fail_after(-1);
    station_open(&s[0], udp(), "127.0.0.1", &o);
    station_open(&s[1], udp(), "127.0.0.1", &o);
    stations_connect(&s[0], &s[1]);
    exercise(&s[0], &s[1], 11, 9);
    station_close(&s[0]);
    station_close(&s[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
    struct sn_backend *first, *second;
    assert_int_equal(sn_dgram_open_fd(fd[0], mac_a, &first), 0);
    assert_int_equal(sn_dgram_open_fd(fd[1], mac_b, &second), 0);
    station_open(&s[0], first, "192.0.2.1", &o);
    station_open(&s[1], second, "192.0.2.2", &o);
    stations_connect(&s[0], &s[1]);
    exercise(&s[0], &s[1], 11, 10);
    station_close(&s[0]);
    station_close(&s[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passing_on), cmocka_unit_test(nobody_there),
                                       cmocka_unit_test(gpu_payload)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
