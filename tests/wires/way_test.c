/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lone frames leave through a connected socket after a while (wire/udp_way.h). A packet socket looks at what is really on the
 * wire: each frame's invariant CRC is right with the identification that the kernel gave it, before, meanwhile, when that is
 * over, and when it begins again.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"
#include "format/roce.h"
#include "softnic/engine.h"
#include "softnic/wire/packet_internal.h"
#include "softnic/wire/udp.h"
#include "softnic/wire/udp_internal.h"

enum { PUTS = 200 };

static struct station a, b;
static int tap;

struct seen {
    unsigned frames, numbered; /* of both directions; with an identification */
    bool known[2];
    uint16_t last[2]; /* identification, by direction */
};

static struct udp_backend *backend_of(const struct station *s)
{
    return (struct udp_backend *)((struct sn_packet_wire *)s->wire)->backend;
}

static unsigned connected(const struct station *s)
{
    const struct udp_backend *u = backend_of(s);
    unsigned n = 0;

    for (unsigned i = 0; i < UDP_WAYS; i++)
        n += u->way[i].connected >= 0;
    return n;
}

/* All that has left since the last time. Every frame of RoCEv2 must be right in every bit that its CRC covers. */
static void look_at_wire(struct seen *seen)
{
    uint8_t bytes[70000];
    struct sockaddr_ll from;
    socklen_t size = sizeof(from);
    ssize_t n;

    while ((n = recvfrom(tap, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &size)) >= 0) {
        struct sn_burst packet;
        struct sn_frame_path path;
        size = sizeof(from);
        if (from.sll_pkttype != PACKET_OUTGOING)
            continue;
        enum sn_frame_verdict v = sn_frame_parse(bytes, (size_t)n, SN_LAYER_ETHERNET, true, &packet, &path);
        if (v == SN_FRAME_NOT_ROCE)
            continue;
        if (v != SN_FRAME_OK)
            fail_msg("a frame of %zd bytes, identification %u: %s", n, path.ip_id, sn_frame_verdict_name(v));
        unsigned there = packet.dqpn == b.e.qpn;
        assert_false(path.df_clear);
        assert_true(path.ip_id == 0 || !seen->known[there] || seen->last[there] == 0 ||
                    path.ip_id == (uint16_t)(seen->last[there] + 1));
        seen->last[there] = path.ip_id;
        seen->known[there] = true;
        seen->frames++;
        seen->numbered += path.ip_id != 0;
    }
}

/* Runs are seen as the kernel passes them on within a host, in one piece: they are for other tests. */
static void look_away(void)
{
    uint8_t bytes[2048];

    while (recv(tap, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
        continue;
}

static void puts_each_way(unsigned n, struct seen *seen)
{
    *seen = (struct seen){0};
    for (unsigned i = 0; i < n; i++) {
        uint64_t word = i;
        memcpy(a.e.mem, &word, 8);
        struct wr wr = wr_write(&a.e, &b.e, 0, 64, i % 9 == 8 ? 3 : 8);
        station_expect(&a, &b, post(&a.e, &wr));
        assert_memory_equal(b.e.mem + 64, &word, i % 9 == 8 ? 3 : 8);
        look_at_wire(seen);
    }
    assert_true(seen->frames >= 2 * n); /* requests and acknowledgements */
}

static void between(const char *first, const char *second, bool numbered)
{
    struct sn_backend *ua, *ub;
    struct sn_packet_counters before, after;
    struct options o = defaults;
    struct seen seen;

    o.ack_timeout = 20; /* 4 s: a timeout is a reason to disconnect, and whoever shares a processor with others is not run for a while */
    assert_int_equal(sn_udp_open(&ua), 0);
    assert_int_equal(sn_udp_open(&ub), 0);
    station_open(&a, ua, first, &o);
    station_open(&b, ub, second, &o);
    stations_connect(&a, &b);
    sn_packet_count(&before);
    puts_each_way(UDP_WAY_AFTER / 2, &seen);
    assert_int_equal(connected(&a) + connected(&b), 0);
    assert_int_equal(seen.numbered, 0);
    puts_each_way(PUTS, &seen);
    assert_int_equal(connected(&a), 1);
    assert_int_equal(connected(&b), 1);
    assert_true(numbered ? seen.numbered > PUTS : seen.numbered == 0);

    /* Other frames in between go the other way, with their own numbers: runs, and what is too long. */
    exercise(&a, &b, 12, 7);
    look_away();
    puts_each_way(PUTS, &seen);
    assert_int_equal(connected(&a), 1);
    assert_true(!numbered || seen.numbered > PUTS);

    /* A timeout: nothing is certain any more. */
    a.w.nic[0]->counters.local_ack_timeout_err++;
    for (unsigned i = 0; i < 2048; i++)
        assert_true(sn_port_run(a.w.port) >= 0);
    assert_int_equal(connected(&a), 0);
    assert_int_equal(connected(&b), 1);
    puts_each_way(PUTS, &seen);
    assert_int_equal(connected(&a), 0);

    /* And after a long time it begins again. */
    for (unsigned i = 0; i < UDP_WAYS; i++)
        backend_of(&a)->way[i].after = UDP_WAY_AFTER;
    puts_each_way(PUTS, &seen);
    assert_int_equal(connected(&a), 1);
    assert_true(!numbered || seen.numbered > PUTS);

    /* A frame that the kernel does not take, here because the socket is no socket any more, goes the other way at once. */
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (unsigned i = 0; i < UDP_WAYS; i++)
        if (backend_of(&a)->way[i].connected >= 0)
            assert_true(dup2(nothing, backend_of(&a)->way[i].connected) >= 0);
    close(nothing);
    puts_each_way(1, &seen);
    assert_int_equal(connected(&a), 0);
    assert_int_equal(a.w.nic[0]->counters.retransmissions, 0);
    sn_packet_count(&after);
    for (unsigned v = 1; v < SN_FRAME_VERDICTS; v++)
        assert_int_equal(after.refused[v], before.refused[v]);
    assert_int_equal(after.lost, before.lost);
    station_close(&a);
    station_close(&b);
}

static void over_ipv4(void **state)
{
    (void)state;
    between("127.0.0.1", "127.0.0.2", true);
}

static void over_ipv6(void **state)
{
    (void)state;
    between("::1", "::1", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(over_ipv4), cmocka_unit_test(over_ipv6)};

    if (!own_network())
        skip_all("no network namespace of our own");
    tap = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    if (tap < 0)
        skip_all("no packet socket");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
