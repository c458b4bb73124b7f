/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets whose messages come alone are read without control data (udp_lone.h): the rule by itself, and over the kernel's
 * sockets: runs that were put together before the switch, runs after it, marks, and datagrams.
 */
#include <netinet/udp.h>
#include <stdlib.h>

#include "rig.h"
#include "softnic/wire/udp_internal.h"

enum { WRITE_ONLY = 0x0a, UD_SEND_ONLY = 0x64, CNP = 0x81, CAPABLE = 2, CE = 3, SIZE = 40, SPORT = 0xc123, LONG = 2 * UDP_LONE_AFTER };

/* ---- the rule by itself ---- */

static bool found(struct udp_lone *l, bool told, bool run, size_t length, uint8_t tclass)
{
    static const uint8_t bytes[4096] = {WRITE_ONLY};
    return udp_lone_found(l, &(struct udp_said){bytes, length, told, run, tclass, 64});
}

/* One message before a look that finds nothing. True: it may begin. */
static bool alone(struct udp_lone *l)
{
    assert_false(found(l, !udp_lone_may_be_bare(l), false, SIZE, 0));
    return udp_lone_nothing(l);
}

static struct udp_lone bare(void)
{
    struct udp_lone l = {0};
    for (int i = 1; i < UDP_LONE_AFTER; i++)
        assert_false(alone(&l));
    assert_true(alone(&l));
    assert_false(udp_lone_may_be_bare(&l));
    udp_lone_begin(&l, true, false);
    assert_true(udp_lone_may_be_bare(&l));
    return l;
}

static void every_sixteenth_is_told(void **state)
{
    struct udp_lone l = bare();
    unsigned told = 0;
    (void)state;
    for (int i = 0; i < 16 * UDP_LONE_TOLD_EVERY; i++) {
        told += !udp_lone_may_be_bare(&l);
        assert_false(alone(&l));
    }
    assert_int_equal(told, 16);
}

static void what_ends_it(void **state)
{
    struct udp_lone l = bare();
    (void)state;
    assert_true(found(&l, true, true, SIZE, 0)); /* a run */
    assert_false(udp_lone_may_be_bare(&l));
    l = bare();
    assert_true(found(&l, false, false, UDP_LONE_LARGE, 0));
    assert_false(udp_lone_may_be_bare(&l));
    l = bare();
    for (int i = 0; i < UDP_LONE_ROW; i++)
        assert_false(found(&l, false, false, SIZE, 0));
    assert_true(found(&l, false, false, SIZE, 0)); /* one of many */
    assert_false(udp_lone_may_be_bare(&l));
    assert_false(udp_lone_nothing(&l));
    for (int i = 1; i < UDP_LONE_AFTER; i++) /* and it begins again */
        assert_false(alone(&l));
    assert_true(alone(&l));
    udp_lone_begin(&l, false, false); /* something came meanwhile */
    for (int i = 1; i < UDP_LONE_AFTER; i++)
        assert_false(alone(&l));
    assert_true(alone(&l));
}

static void only_at_an_empty_queue(void **state)
{
    struct udp_lone l = {0};
    (void)state;
    for (int i = 0; i < 8 * UDP_LONE_AFTER; i++) { /* three at a time are no talk */
        assert_false(found(&l, true, false, SIZE, 0));
        assert_false(found(&l, true, false, SIZE, 0));
        assert_false(alone(&l));
    }
    for (int i = 0; i < UDP_LONE_AFTER / 2; i++) { /* but a message and an acknowledgement are */
        assert_false(found(&l, true, false, SIZE, 0));
        assert_int_equal(alone(&l), i == UDP_LONE_AFTER / 2 - 1);
    }
}

static void what_has_to_be_told(void **state)
{
    static const uint8_t datagram[SIZE] = {UD_SEND_ONLY}, cnp[SIZE] = {CNP};
    struct udp_lone l;
    (void)state;
    for (uint8_t ecn = 1; ecn <= 3; ecn++) {
        l = bare();
        assert_true(found(&l, true, false, SIZE, ecn));
    }
    l = bare();
    assert_true(udp_lone_found(&l, &(struct udp_said){.bytes = cnp, .length = SIZE}));
    l = bare();
    assert_true(udp_lone_found(&l, &(struct udp_said){.bytes = datagram, .length = SIZE}));
    for (int i = 1; i < UDP_LONE_AFTER_MARKS; i++) /* much later only */
        assert_false(alone(&l));
    assert_true(alone(&l));
    udp_lone_begin(&l, false, true); /* this kernel would not */
    for (int i = 0; i < 2 * UDP_LONE_AFTER_MARKS; i++)
        assert_false(alone(&l));
    assert_false(udp_lone_may_be_bare(&l));
}

/* ---- over sockets ---- */

struct port {
    struct sn_backend *b;
    struct sn_slot slot;
};

static struct port from, to;
static uint8_t bytes[UDP_BUFFER];

static void open_port(struct port *p, const char *address)
{
    uint8_t gid[1][16];
    gid_of(address, gid[0]);
    assert_int_equal(sn_udp_open(&p->b), 0);
    assert_int_equal(sn_slot_take(&p->slot, (const uint8_t(*)[16])gid, 1), 0);
    assert_int_equal(p->b->ops->bind(p->b, &p->slot), 0);
}

static void open_ports(const char *first, const char *second)
{
    open_port(&from, first);
    open_port(&to, second);
}

static void close_ports(void)
{
    struct port *p[] = {&from, &to};
    for (int i = 0; i < 2; i++) {
        p[i]->b->ops->destroy(p[i]->b);
        sn_slot_give(&p[i]->slot);
    }
}

/* `count` frames of SIZE bytes in one run, whose second byte counts them from `first` on. */
static void send_run(unsigned count, uint8_t opcode, uint8_t tclass, uint8_t first)
{
    struct sn_frame_out f[SN_PACKET_RUN];
    for (unsigned i = 0; i < count; i++) {
        uint8_t *at = bytes + (size_t)i * SIZE;
        memset(at, 0, SIZE);
        at[0] = opcode;
        at[1] = (uint8_t)(first + i);
        f[i] = (struct sn_frame_out){at, SIZE, (uint16_t)i, SPORT, tclass, {0}, {0}};
        memcpy(f[i].sgid, from.slot.gid[0], 16);
        memcpy(f[i].dgid, to.slot.gid[0], 16);
    }
    assert_int_equal(from.b->ops->send(from.b, f, count), count);
}

static unsigned look(struct sn_frame_in *in, unsigned max)
{
    to.b->look_all = true;
    int n = to.b->ops->receive(to.b, in, max);
    assert_in_range(n, 0, max);
    return (unsigned)n;
}

/* Frames of loopback are there as soon as they are sent: one look, one system call's worth. */
static void expect(unsigned count, uint8_t first, uint8_t tclass)
{
    struct sn_frame_in in[SN_PACKET_RUN];
    assert_int_equal(look(in, SN_PACKET_RUN), count);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(in[i].length, SIZE);
        assert_int_equal(in[i].bytes[1], (uint8_t)(first + i));
        assert_int_equal(in[i].tclass, tclass);
        assert_int_equal(in[i].udp_sport, SPORT);
        assert_memory_equal(in[i].sgid, from.slot.gid[0], 16);
        assert_memory_equal(in[i].dgid, to.slot.gid[0], 16);
    }
}

static void expect_nothing(void)
{
    struct sn_frame_in in[1];
    assert_int_equal(look(in, 1), 0);
}

static const struct udp_rx *listener(void)
{
    const struct udp_backend *u = (const struct udp_backend *)to.b;
    assert_int_equal(u->rx[0].role, UDP_LISTENER);
    return &u->rx[0];
}

static bool offload_is_on(void)
{
    int on = 0;
    socklen_t size = sizeof(on);
    assert_int_equal(getsockopt(listener()->fd, SOL_UDP, UDP_GRO, &on, &size), 0);
    return on != 0;
}

static void talk(unsigned messages, uint8_t tclass)
{
    for (unsigned i = 0; i < messages; i++) {
        expect_nothing();
        send_run(1, WRITE_ONLY, tclass, (uint8_t)i);
        expect(1, (uint8_t)i, tclass);
    }
}

static bool has_runs(void)
{
    if (from.b->runs)
        return true;
    print_message("this kernel has no segmentation offload\n");
    return false;
}

/* What was put together while the socket still took runs is read while it does. */
static void run_in_the_queue(const char *first, const char *second)
{
    open_ports(first, second);
    if (has_runs()) {
        talk(UDP_LONE_AFTER, 0);
        assert_true(offload_is_on());
        send_run(8, WRITE_ONLY, 0, 100); /* before the look that would have found nothing */
        send_run(8, WRITE_ONLY, 0, 120);
        expect(8, 100, 0);
        assert_true(offload_is_on());
        expect(8, 120, 0);
        talk(UDP_LONE_AFTER, 0);
        assert_true(offload_is_on());
        expect_nothing();
        assert_false(offload_is_on());
        assert_true(udp_lone_may_be_bare(&listener()->lone));
        talk(LONG, 0);
    }
    close_ports();
}

/* A run that comes to a bare socket comes in pieces; the next one is a run again. */
static void run_after_the_switch(const char *first, const char *second)
{
    open_ports(first, second);
    if (has_runs()) {
        talk(UDP_LONE_AFTER + 3, 0);
        assert_true(udp_lone_may_be_bare(&listener()->lone));
        assert_false(offload_is_on());
        expect_nothing();
        send_run(20, WRITE_ONLY, 0, 50);
        for (unsigned i = 0, n; i < 20; i += n) {
            struct sn_frame_in in[SN_PACKET_RUN];
            n = look(in, SN_PACKET_RUN);
            assert_in_range(n, 1, 20 - i);
            for (unsigned k = 0; k < n; k++) {
                assert_int_equal(in[k].length, SIZE);
                assert_int_equal(in[k].bytes[1], 50 + i + k);
            }
        }
        assert_true(offload_is_on());
        expect_nothing();
        send_run(20, WRITE_ONLY, 0, 50);
        expect(20, 50, 0);
    }
    close_ports();
}

static void marks(const char *first, const char *second)
{
    open_ports(first, second);
    talk(UDP_LONE_AFTER + 2, 0x28); /* a class of service is told from the last frame that has been told */
    assert_true(udp_lone_may_be_bare(&listener()->lone));
    unsigned unseen = 0; /* of a sender who begins to say that it can be told of congestion */
    for (unsigned seen = 0; seen == 0 && unseen <= UDP_LONE_TOLD_EVERY;) {
        struct sn_frame_in in[1];
        send_run(1, WRITE_ONLY, CAPABLE, 1);
        assert_int_equal(look(in, 1), 1);
        seen = in[0].tclass == CAPABLE;
        unseen += !seen;
        expect_nothing();
    }
    assert_in_range(unseen, 1, UDP_LONE_TOLD_EVERY - 1);
    talk(LONG, CAPABLE);
    talk(3, CE);
    talk(LONG, CAPABLE);
    talk(1, CE);
    assert_true(offload_is_on());
    close_ports();
}

/* Their headers are the program's: from the second one on they are right, each of them. */
static void datagrams_between(const char *first, const char *second)
{
    struct sn_frame_in in[1];
    open_ports(first, second);
    talk(UDP_LONE_AFTER + 2, 0);
    send_run(1, UD_SEND_ONLY, 0x28, 9);
    assert_int_equal(look(in, 1), 1);
    for (uint8_t i = 0; i < 3; i++) {
        talk(LONG, 0);
        send_run(1, UD_SEND_ONLY, 0x30, i);
        expect(1, i, 0x30);
    }
    close_ports();
}

static void over_sockets(void (*test)(const char *, const char *))
{
    uint8_t gid[16];
    test("127.0.0.2", "127.0.0.3");
    gid_of("::1", gid);
    if (sn_udp_mtu(gid) >= 0)
        test("::1", "::1");
}

#define OVER_SOCKETS(name)                                                                                             \
    static void name##_sockets(void **state)                                                                           \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        over_sockets(name);                                                                                            \
    }
OVER_SOCKETS(run_in_the_queue)
OVER_SOCKETS(run_after_the_switch)
OVER_SOCKETS(marks)
OVER_SOCKETS(datagrams_between)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sixteenth_is_told),  cmocka_unit_test(what_ends_it),
        cmocka_unit_test(only_at_an_empty_queue), cmocka_unit_test(what_has_to_be_told),
        cmocka_unit_test(run_in_the_queue_sockets), cmocka_unit_test(run_after_the_switch_sockets),
        cmocka_unit_test(marks_sockets),            cmocka_unit_test(datagrams_between_sockets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
