/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small WRITE between two processes takes the short way at both ends (transport/far.c); under a capture, or over a wire that
 * takes no short messages, the long one. Each scenario is run all four ways, and must leave the same behind: bytes, CQEs, states,
 * errors, counters. Which way was taken is told by what the wire is asked. All this over shared memory, and over frames
 * (wire/packet_short.h).
 */
#include <stdlib.h>
#include <time.h>

#include "left_behind.h"
#include "near_program.h"
#include "sides.h"
#include "softnic/engine.h"
#include "softnic/port/thread.h"
#include "softnic/wire/wire.h"

enum { SEEN = LEFT_SEEN };
enum { GROUPS = 10, PROGRAMS = 15 }; /* of random programs; those of a group share their worlds */
enum { LONG_SENDS = 1, LONG_ARRIVALS = 2 }; /* ways */

enum wire { SHARED_MEMORY, FRAMES_IPV4, FRAMES_IPV6, WIRES };

static const struct sn_wire_ops *real;
static enum wire wire_kind;
static unsigned sent, sent_short;

static int count_send(struct sn_wire *wire, const struct sn_burst *b)
{
    sent++;
    return real->send(wire, b);
}

static bool count_short(struct sn_wire *wire, const struct sn_burst *header, struct sn_route *route, const struct sn_short *m)
{
    bool done = real->send_short(wire, header, route, m);

    sent_short += done;
    return done;
}

static void look(void *arg, const struct sn_burst *b)
{
    (void)arg;
    (void)b;
}

struct both {
    struct side a, b;
    struct sn_wire_ops ops;
    const struct sn_wire_ops *own[2]; /* what the wires came with: the same functions */
};

static void settle(struct both *p)
{
    while (sides_turn(&p->a, &p->b, 16, 0) != 0)
        continue;
}

static void pass(struct both *p, uint64_t ns, uint64_t step)
{
    for (uint64_t passed = 0; passed < ns; passed += step) {
        (void)sides_turn(&p->a, &p->b, 1, step);
        settle(p);
    }
}

static void expect_good(struct both *p, struct end *e)
{
    const struct sn_cqe64 *c;

    while ((c = next_cqe(e)) == NULL)
        (void)sides_turn(&p->a, &p->b, 1, 0);
    assert_int_equal(cqe_opcode(c), SN_CQE_REQ);
}

static void both_open(struct both *p, const struct options *o, unsigned way)
{
    if (wire_kind == SHARED_MEMORY) {
        side_open(&p->a, o, 1, NULL);
        side_open(&p->b, o, 2, NULL);
    } else {
        struct sn_backend *end[2];
        cable_ends(&end[0], &end[1]);
        side_open_frames(&p->a, o, 1, end[0], wire_kind == FRAMES_IPV4);
        side_open_frames(&p->b, o, 2, end[1], wire_kind == FRAMES_IPV4);
    }
    ends_connect(&p->a.e, &p->b.e);
    fill(p->a.e.mem, SEEN, 7);
    fill(p->b.e.mem, SEEN, 8);
    real = p->a.wire->ops;
    p->ops = *real;
    p->ops.send = count_send;
    p->ops.send_short = way & LONG_SENDS ? NULL : count_short;
    for (int i = 0; i < 2; i++) {
        struct side *s = i == 0 ? &p->a : &p->b;
        sn_port_lock(s->w.port);
        p->own[i] = s->wire->ops;
        s->wire->ops = &p->ops;
        if (way & LONG_ARRIVALS)
            sn_port_set_capture(s->w.port, look, NULL);
        sn_port_unlock(s->w.port);
    }
    /* The connection is made in real time, by threads; from here on all is the turns' doing. */
    struct wr wr = wr_write(&p->a.e, &p->b.e, 0, SEEN, 8);
    wr.fm_ce_se = 8;
    post(&p->a.e, &wr);
    expect_good(p, &p->a.e);
    sent = sent_short = 0;
}

static void both_close(struct both *p)
{
    for (int i = 0; i < 2; i++) {
        struct side *s = i == 0 ? &p->a : &p->b;
        sn_port_lock(s->w.port);
        s->wire->ops = p->own[i];
        sn_port_unlock(s->w.port);
    }
    side_close(&p->a);
    side_close(&p->b);
}

typedef void scenario(struct both *p);

static struct left_behind *run(scenario *body, const struct options *o, unsigned way)
{
    struct left_behind *out = calloc(1, sizeof(*out));
    struct both p;

    assert_non_null(out);
    both_open(&p, o, way);
    body(&p);
    settle(&p);
    left_collect(&p.a.e, &p.b.e, out);
    assert_true(!(way & LONG_SENDS) || sent_short == 0);
    assert_true(!(way & LONG_ARRIVALS) || sent_short == 0); /* a capture sees bursts that leave, too */
    both_close(&p);
    return out;
}

static void same(scenario *body, const struct options *o)
{
    struct left_behind *first = run(body, o, 0);

    for (unsigned way = 1; way < 4; way++) {
        struct left_behind *other = run(body, o, way);
        left_same(first, other);
        free(other);
    }
    free(first);
}

/* ---- scenarios ------------------------------------------------------------------------------------------------ */

static void sizes(struct both *p)
{
    for (unsigned i = 0; i < 24; i++) {
        struct wr wr = wr_write(&p->a.e, &p->b.e, 16 + i, 4096 + 3 * i, i % 12);
        wr.fm_ce_se = (uint8_t)((i % 5 == 4 ? 0 : 8) | (i & 2)); /* some without a CQE, some solicited */
        post(&p->a.e, &wr);
        if (i % 3 != 2)
            settle(p);
    }
}

static void in_one_go(struct both *p)
{
    for (unsigned i = 0; i < 60; i++) {
        struct wr wr = wr_write(&p->a.e, &p->b.e, 64 * i, 64 * (60 - i), i % 11 == 10 ? 300 : 8);
        wr.fm_ce_se = i % 3 == 0 ? 8 : 0;
        put_wqe(&p->a.e, &wr);
        if (i % 13 != 12)
            continue;
        ring(&p->a.e);
        settle(p);
    }
    ring(&p->a.e);
}

static void both_directions(struct both *p)
{
    for (unsigned i = 0; i < 20; i++) {
        struct wr there = wr_write(&p->a.e, &p->b.e, 8 * i, 1024, 8), back = wr_write(&p->b.e, &p->a.e, 1024, 2048 + i, 7);
        post(&p->a.e, &there);
        if (i % 3 == 0)
            settle(p);
        post(&p->b.e, &back);
        if (i % 4 == 0)
            settle(p);
    }
}

static void pieces(struct both *p)
{
    struct end *a = &p->a.e;
    struct wr wr = wr_write(a, &p->b.e, 0, 5000, 0);

    wr.sges = 2;
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = 0; k < 2; k++) {
            wr.sge[k].addr = (uintptr_t)a->mem + 100 * k + i;
            wr.sge[k].lkey = a->mkey;
            wr.sge[k].length = k == 0 ? i : 4;
        }
        wr.raddr += 16;
        post(a, &wr);
        settle(p);
    }
    wr.sges = 0;
    wr.inl = "in the WQE";
    for (wr.inl_length = 0; wr.inl_length < 10; wr.inl_length++) {
        wr.raddr += 16;
        post(a, &wr);
    }
}

/* Short messages between, before and behind those that are answered otherwise, or wait. */
static void mixed(struct both *p)
{
    struct end *a = &p->a.e, *b = &p->b.e;

    for (unsigned i = 0; i < 6; i++) {
        struct wr write = wr_write(a, b, 8 * i, 512 + 8 * i, 8), read = wr_read(a, b, 3000, 512, 48),
                  add = wr_fetch_add(a, b, 4000, 4096, i), back = wr_write(b, a, 64, 6000 + 8 * i, 8);
        if (i & 1)
            put_wqe(a, &read);
        put_wqe(a, &write);
        put_wqe(a, &add);
        write = wr_write(a, b, 3000, 5000 + 8 * i, 8);
        write.fm_ce_se = 8 | 2 << 5; /* behind the reads */
        put_wqe(a, &write);
        ring(a);
        post(b, &back);
        if (i & 2)
            settle(p);
    }
}

static void wrong_remote_key(struct both *p)
{
    struct wr good = wr_write(&p->a.e, &p->b.e, 0, 512, 8), bad = good;

    bad.rkey ^= 0x10;
    put_wqe(&p->a.e, &good);
    put_wqe(&p->a.e, &bad);
    put_wqe(&p->a.e, &good);
    ring(&p->a.e);
}

static void beyond_the_region(struct both *p)
{
    struct wr wr = wr_write(&p->a.e, &p->b.e, 0, 512, 8);

    wr.raddr = (uintptr_t)p->b.e.mem + MEM_SIZE - 4;
    post(&p->a.e, &wr);
}

static void read_only(struct both *p)
{
    struct wr wr = wr_write(&p->a.e, &p->b.e, 0, 512, 8);

    sn_port_lock(p->b.w.port);
    wr.rkey = end_key(&p->b.e, p->b.e.mem, 4096, (uintptr_t)p->b.e.mem, SN_ACCESS_REMOTE_READ);
    sn_port_unlock(p->b.w.port);
    post(&p->a.e, &wr);
}

static void wrong_local_key(struct both *p)
{
    struct wr wr = wr_write(&p->a.e, &p->b.e, 0, 512, 8);

    post(&p->a.e, &wr);
    wr.sge[0].lkey ^= 0x10;
    post(&p->a.e, &wr);
}

static void peer_fails(struct both *p)
{
    struct wr wr = wr_write(&p->a.e, &p->b.e, 0, 512, 8);

    post(&p->a.e, &wr);
    settle(p);
    sn_port_lock(p->b.w.port);
    assert_int_equal(sn_qp_modify(p->b.e.nic, p->b.e.qpn, SN_QP_ERR, NULL, 0), 0);
    sn_port_unlock(p->b.w.port);
    post(&p->a.e, &wr);
    pass(p, 200000000, 10000000); /* beyond all retries */
}

static void connect_again(struct both *p)
{
    for (int i = 0; i < 2; i++) {
        struct side *s = i == 0 ? &p->a : &p->b;
        sn_port_lock(s->w.port);
        end_reconnect(&s->e, i == 0 ? &p->b.e : &p->a.e);
        sn_port_unlock(s->w.port);
    }
}

static void connected_anew(struct both *p)
{
    struct wr wr = wr_write(&p->a.e, &p->b.e, 0, 512, 8);

    post(&p->a.e, &wr);
    settle(p);
    connect_again(p);
    wr = wr_write(&p->a.e, &p->b.e, 64, 600, 8);
    post(&p->a.e, &wr);
}

static void takes_no_writes(struct both *p)
{
    struct wr wr = wr_write(&p->a.e, &p->b.e, 0, 512, 8);

    p->b.e.o.no_rwe = true;
    connect_again(p);
    post(&p->a.e, &wr);
}

/* A ring of the wire is full of messages that nobody takes; those that wait, and all behind them, come in order. */
static void no_room(struct both *p)
{
    struct wr big = wr_write(&p->a.e, &p->b.e, 0, SEEN, 40000), wr = wr_write(&p->a.e, &p->b.e, 8, 512, 8);

    put_wqe(&p->a.e, &big);
    put_wqe(&p->a.e, &big);
    put_wqe(&p->a.e, &wr);
    ring(&p->a.e);
    for (int i = 0; i < 8; i++)
        side_run(&p->a);
    post(&p->a.e, &wr);
}

/* A producer that goes by what has been fetched and not by what has completed: its newest WQEs wait for a place. */
static void more_than_the_ring(struct both *p)
{
    struct wr wr = wr_write(&p->a.e, &p->b.e, 8, 512, 8), odd = wr_write(&p->a.e, &p->b.e, 16, 1024, 300);

    for (unsigned i = 0; i < 1u << p->a.e.o.log_sq; i++)
        post(&p->a.e, &wr);
    for (int i = 0; i < 16; i++)
        side_run(&p->a);
    post(&p->a.e, &wr);
    for (int i = 0; i < 16; i++)
        side_run(&p->a);
    post(&p->a.e, &odd);
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static void same_as_the_long_way(void **state)
{
    scenario *const all[] = {sizes,         in_one_go, both_directions, pieces,     mixed,          wrong_remote_key, beyond_the_region,
                             read_only,     no_room,   wrong_local_key, peer_fails, connected_anew,   takes_no_writes,
                             more_than_the_ring};

    (void)state;
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        for (unsigned variant = 0; variant < 5; variant++) {
            struct options o = defaults;
            o.mtu = (uint8_t)(1 + variant);
            o.psn = variant & 1 ? 0xfffff0 : o.psn;
            o.log_cq = 8;
            o.log_sq = all[i] == more_than_the_ring ? 4 : o.log_sq;
            o.overrun = variant == 1;
            o.no_record = variant == 2;
            o.ack_timeout = all[i] == peer_fails ? 8 : 0;
            o.retry = 2;
            o.cqe_size = variant == 4 ? 128 : o.cqe_size;
            same(all[i], &o);
        }
}

static void pass_time(void *arg, uint64_t ns)
{
    if (ns == 0)
        settle(arg);
    else
        pass(arg, ns, ns > 10000000 ? ns / 20 : 1000000);
}

static struct near_log *play(uint64_t group, unsigned way)
{
    struct near_log *log = NULL;
    struct options o;
    struct both p;
    struct near_pair pair = {.a = &p.a.e, .b = &p.b.e, .pass = pass_time, .arg = &p, .replaces = wire_kind != SHARED_MEMORY};

    near_options(group, &o);
    both_open(&p, &o, way);
    for (uint64_t i = 0; i < PROGRAMS; i++)
        log = near_play(log, group * PROGRAMS + i, &pair);
    assert_true(way != 0 || sent_short != 0);
    both_close(&p);
    return log;
}

static void hostile_programs(void **state)
{
    const struct near_range range = near_groups(GROUPS);

    (void)state;
    for (uint64_t group = range.first; group < range.end; group++) {
        struct near_log *shorter = play(group, 0), *longer = play(group, LONG_SENDS | LONG_ARRIVALS);
        near_compare(longer, shorter);
        near_log_free(longer);
        near_log_free(shorter);
    }
}

/* Two short messages each: a WRITE and its acknowledgement. */
static void taken_when_plain(void **state)
{
    struct both p;

    (void)state;
    both_open(&p, &defaults, 0);
    for (unsigned i = 0; i <= 9; i++) {
        struct wr wr = wr_write(&p.a.e, &p.b.e, 0, 512, i);
        sent = sent_short = 0;
        post(&p.a.e, &wr);
        expect_good(&p, &p.a.e);
        settle(&p);
        assert_int_equal(sent_short, i <= SN_SHORT_BYTES ? 2 : 1);
        assert_int_equal(sent, i <= SN_SHORT_BYTES ? 0 : 1);
    }
    both_close(&p);
}

/* What is lost comes again, the long way, from what was remembered. */
static void sent_again(void **state)
{
    struct options o = defaults;
    struct both p;

    (void)state;
    o.ack_timeout = 8;
    both_open(&p, &o, 0);
    struct wr wr = wr_write(&p.a.e, &p.b.e, 0, 512, 8);
    wr.inl = "again...";
    wr.inl_length = 8;
    wr.sges = 0;
    sn_port_lock(p.b.w.port);
    assert_int_equal(sn_qp_modify(p.b.e.nic, p.b.e.qpn, SN_QP_RST, NULL, 0), 0);
    sn_port_unlock(p.b.w.port);
    post(&p.a.e, &wr);
    settle(&p); /* dropped */
    assert_int_equal(sent_short, 1);
    assert_null(next_cqe(&p.a.e));
    struct sn_counters before, after;
    sn_nic_get_counters(p.a.e.nic, &before);
    sn_port_lock(p.b.w.port);
    p.b.e.o.psn = defaults.psn + 1; /* the first WRITE made the connection */
    end_reconnect(&p.b.e, &p.a.e);
    sn_port_unlock(p.b.w.port);
    pass(&p, 10000000, 1000000);
    expect_good(&p, &p.a.e);
    assert_memory_equal(p.b.e.mem + 512, "again...", 8);
    sn_nic_get_counters(p.a.e.nic, &after);
    assert_int_equal(after.retransmissions - before.retransmissions, 1);
    both_close(&p);
}

/* In real time most idle turns but glance at the wire: the others are enough for timers.. */
static void timers_end_while_turns_glance(void **state)
{
    struct options o = defaults;
    struct both p;
    const struct sn_cqe64 *c;

    (void)state;
    o.ack_timeout = 8;
    o.retry = 1;
    both_open(&p, &o, 0);
    sn_port_lock(p.b.w.port);
    assert_int_equal(sn_qp_modify(p.b.e.nic, p.b.e.qpn, SN_QP_RST, NULL, 0), 0);
    sn_port_unlock(p.b.w.port);
    sn_port_lock(p.a.w.port);
    p.a.w.port->config.now = NULL;
    sn_port_unlock(p.a.w.port);
    struct wr wr = wr_write(&p.a.e, &p.b.e, 0, 512, 8);
    post(&p.a.e, &wr);
    for (const time_t end = time(NULL) + 30; (c = next_cqe(&p.a.e)) == NULL && time(NULL) < end;)
        for (int i = 0; i < 100; i++) {
            (void)side_run(&p.a);
            (void)side_run(&p.b);
        }
    assert_non_null(c);
    assert_int_equal(cqe_syndrome(c), SN_SYND_RETRY_EXCEEDED);
    both_close(&p);
}

/* A register that has cooled is not glanced at: whoever needs what was posted to be under way does not rely on a turn without work. */
static void settling_sees_a_cold_register(void **state)
{
    struct options o = defaults;
    struct both p;

    (void)state;
    both_open(&p, &o, 0);
    sn_port_lock(p.a.w.port);
    p.a.w.port->config.now = NULL;
    sn_port_unlock(p.a.w.port);
    struct wr wr = wr_write(&p.a.e, &p.b.e, 0, 512, 8);
    for (int i = 0; i < 8; i++) { /* at each of the turns between two whole ones */
        for (unsigned turns = 0; p.a.w.port->hot_count != 0 || (p.a.w.port->turn & 3) != (unsigned)i % 4; turns++) {
            assert_true(turns < 8 * SN_HOT_IDLE_TURNS);
            (void)side_run(&p.a);
        }
        unsigned before = sent + sent_short;
        post(&p.a.e, &wr);
        sn_port_lock(p.a.w.port);
        sn_port_settle_locked(p.a.w.port);
        sn_port_unlock(p.a.w.port);
        assert_int_equal(sent + sent_short, before + 1);
        for (unsigned polls = 0; polls < 1000 && next_cqe(&p.a.e) == NULL; polls++) {
            (void)side_run(&p.b);
            (void)side_run(&p.a);
        }
    }
    both_close(&p);
}

/* What does not fit is left alone: nothing is counted, placed or answered. */
static void refuses_what_is_not_plain(void **state)
{
    struct options o = defaults;
    struct both p;
    struct sn_counters before, after;

    (void)state;
    both_open(&p, &o, 0);
    struct end *a = &p.a.e, *b = &p.b.e;
    const uint8_t *gid = sn_nic_get_config(a->nic)->gid[0];
    struct sn_origin origin = {0};
    sn_port_lock(p.b.w.port);
    const struct sn_short good = {.kind = SN_KIND_WRITE,
                                  .flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ,
                                  .mtu = o.mtu,
                                  .dqpn = b->qpn,
                                  .sqpn = a->qpn,
                                  .psn = (o.psn + 1) & 0xffffff,
                                  .npackets = 1,
                                  .length = 8,
                                  .va = (uintptr_t)b->mem,
                                  .rkey = b->mkey,
                                  .dmalen = 8,
                                  .word = 0x1122334455667788};
    struct sn_short bad[24];
    unsigned n = 0;
#define BAD(field, value) (bad[n] = good, bad[n++].field = (value))
    BAD(kind, SN_KIND_SEND);
    BAD(kind, SN_KIND_READ_REQUEST);
    BAD(kind, SN_KIND_ACK);
    BAD(flags, SN_BURST_FIRST | SN_BURST_LAST);
    BAD(flags, good.flags | SN_BURST_IMM);
    BAD(flags, SN_BURST_FIRST | SN_BURST_ACKREQ);
    BAD(mtu, (uint8_t)(o.mtu ^ 1));
    BAD(dqpn, b->qpn ^ 1);
    BAD(sqpn, a->qpn ^ 1);
    BAD(psn, good.psn + 1);
    BAD(psn, good.psn - 1);
    BAD(psn, good.psn | 1u << 24);
    BAD(npackets, 0);
    BAD(npackets, 2);
    BAD(length, 9);
    BAD(length, 7);
    BAD(dmalen, 16);
    BAD(rkey, b->mkey ^ 0x100);
    BAD(va, (uintptr_t)b->mem + MEM_SIZE - 7);
    BAD(va, (uintptr_t)b->mem - 1);
    BAD(va, UINT64_MAX - 3);
#undef BAD
    sn_nic_get_counters(b->nic, &before);
    memset(b->mem, 0x55, 64);
    for (unsigned i = 0; i < n; i++)
        assert_false(sn_nic_receive_short(b->nic, &bad[i], gid, &origin));
    assert_false(sn_nic_receive_short(b->nic, &good, sn_nic_get_config(b->nic)->gid[0], &origin)); /* from another one */
    sn_port_set_capture(p.b.w.port, look, NULL);
    assert_false(sn_nic_receive_short(b->nic, &good, gid, &origin));
    sn_port_set_capture(p.b.w.port, NULL, NULL);
    sn_nic_get_counters(b->nic, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    for (int i = 0; i < 64; i++)
        assert_int_equal(b->mem[i], 0x55);
    assert_false(sn_port_receive_short(p.b.w.port, &good, &(struct sn_origin){0}));
    assert_true(sn_nic_receive_short(b->nic, &good, gid, &origin));
    assert_memory_equal(b->mem, &good.word, 8);
    /* Where it came from is remembered until any connection changes. */
    struct sn_short next = good;
    next.psn = (good.psn + 1) & 0xffffff;
    next.word = 0x99;
    assert_true(sn_port_receive_short(p.b.w.port, &next, &origin));
    assert_memory_equal(b->mem, &next.word, 8);
    next.psn = (good.psn + 2) & 0xffffff;
    assert_int_equal(sn_qp_modify(b->nic, b->qpn, SN_QP_ERR, NULL, 0), 0);
    assert_false(sn_port_receive_short(p.b.w.port, &next, &origin));
    sn_port_unlock(p.b.w.port);
    both_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_long_way),
        cmocka_unit_test(hostile_programs),
        cmocka_unit_test(taken_when_plain),
        cmocka_unit_test(sent_again),
        cmocka_unit_test(timers_end_while_turns_glance),
        cmocka_unit_test(settling_sees_a_cold_register),
        cmocka_unit_test(refuses_what_is_not_plain),
    };
    int failed = 0;

    for (wire_kind = 0; wire_kind < WIRES; wire_kind++)
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    return failed;
}
