/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WRITE inside a port takes the short way (transport/near.c) or, under a tap that passes everything, the long one. Both
 * must leave the same behind: bytes, CQEs, states, counters but for one case. Each scenario is run both ways, and what it left
 * is compared. That the short way is taken where it should be, and only there, is told by what the tap would have seen.
 */
#include "left_behind.h"

#include <stdlib.h>

enum { SEEN = LEFT_SEEN };

static unsigned bursts; /* that a tap saw */

static int pass(void *arg, const struct sn_burst *b)
{
    (void)arg;
    (void)b;
    bursts++;
    return SN_TAP_PASS;
}

typedef void scenario(struct end *a, struct end *b);

static struct left_behind *run(scenario *body, const struct options *o, bool tapped)
{
    struct left_behind *out = calloc(1, sizeof(*out));
    struct world w;
    struct end a, b;

    assert_non_null(out);
    world_open(&w, o);
    end_open(&a, &w, 0, o);
    end_open(&b, &w, 1, o);
    ends_connect(&a, &b);
    fill(a.mem, SEEN, 7);
    fill(b.mem, SEEN, 8);
    bursts = 0;
    if (tapped)
        sn_port_set_tap(w.port, pass, NULL);
    body(&a, &b);
    world_run(&w);
    left_collect(&a, &b, out);
    end_close(&a);
    end_close(&b);
    world_close(&w);
    return out;
}

/* The long way answers several WRITEs of a turn with one acknowledgement. */
static void forget_acknowledgements(struct left_behind *l)
{
    for (int i = 0; i < 2; i++)
        l->counters[i].rx_packets = l->counters[i].tx_packets = 0;
}

static void same(scenario *body, const struct options *o, bool batches)
{
    struct left_behind *longer = run(body, o, true), *shorter;

    assert_true(bursts != 0 || longer->state[0] == SN_QP_ERR);
    shorter = run(body, o, false);
    if (batches) {
        forget_acknowledgements(longer);
        forget_acknowledgements(shorter);
    }
    left_same(longer, shorter);
    free(longer);
    free(shorter);
}

/* ---- scenarios ------------------------------------------------------------------------------------------------ */

static void sizes(struct end *a, struct end *b)
{
    static const uint32_t lengths[] = {0, 1, 2, 4, 7, 8, 9, 63, 64, 255, 256, 257, 1023, 1024, 1025, 3000};

    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct wr wr = wr_write(a, b, 16 + i, 4096 + 3 * i, lengths[i]);
        post(a, &wr);
        world_run(a->w);
    }
}

static void in_one_go(struct end *a, struct end *b)
{
    for (unsigned i = 0; i < 40; i++) {
        struct wr wr = wr_write(a, b, 64 * i, 64 * (40 - i), 8);
        wr.fm_ce_se = i % 3 == 0 ? 8 : 0; /* some without a CQE */
        put_wqe(a, &wr);
        if (i % 7 != 6)
            continue;
        ring(a);
        world_run(a->w);
    }
    ring(a);
}

static void both_directions(struct end *a, struct end *b)
{
    for (unsigned i = 0; i < 20; i++) {
        struct wr there = wr_write(a, b, 8 * i, 1024, 600), back = wr_write(b, a, 1024, 2048 + i, 600);
        post(a, &there);
        if (i % 3 == 0)
            world_run(a->w);
        post(b, &back);
        world_run(a->w);
    }
}

static void pieces(struct end *a, struct end *b)
{
    struct wr wr = wr_write(a, b, 0, 5000, 0);

    wr.sges = 3;
    for (unsigned i = 0; i < 3; i++) {
        wr.sge[i].addr = (uintptr_t)a->mem + 100 * i + i;
        wr.sge[i].lkey = a->mkey;
        wr.sge[i].length = i == 1 ? 0 : 70 + i;
    }
    wr.ds = 5;
    post(a, &wr);
    world_run(a->w);
    wr = wr_write(a, b, 0, 6000, 0);
    wr.sges = 0;
    wr.inl = "in the WQE itself";
    wr.inl_length = 17;
    post(a, &wr);
}

/* In one basic block: one piece empty or not, the second one wrong at last; and a message of no piece. */
static void two_pieces(struct end *a, struct end *b)
{
    for (unsigned i = 0; i < 5; i++) {
        struct wr wr = wr_write(a, b, 0, 5000 + 100 * i, 0);

        wr.sges = i == 4 ? 0 : 2;
        wr.ds = i == 4 ? 2 : 4;
        for (unsigned k = 0; k < 2; k++) {
            wr.sge[k].addr = (uintptr_t)a->mem + 100 * k + i;
            wr.sge[k].lkey = a->mkey;
            wr.sge[k].length = i == k ? 0 : 30 + 7 * k;
        }
        wr.fm_ce_se = i & 1 ? 8 : 8 | 2; /* solicited, which a WRITE makes nothing of */
        post(a, &wr);
        world_run(a->w);
    }
    struct wr wr = wr_write(a, b, 0, 6000, 0);
    wr.sges = 2;
    wr.ds = 4;
    for (unsigned k = 0; k < 2; k++) {
        wr.sge[k].addr = (uintptr_t)a->mem + 100 * k;
        wr.sge[k].lkey = a->mkey ^ (k != 0 ? 0x10 : 0);
        wr.sge[k].length = 20;
    }
    post(a, &wr);
}

static void mixed(struct end *a, struct end *b)
{
    for (unsigned i = 0; i < 6; i++) {
        struct wr write = wr_write(a, b, 8 * i, 512 + 8 * i, 8), read = wr_read(a, b, 3000, 512, 48),
                  add = wr_fetch_add(a, b, 4000, 4096, i);
        if (i & 1)
            put_wqe(a, &read);
        put_wqe(a, &write);
        put_wqe(a, &add);
        write = wr_write(a, b, 3000, 5000 + i, 9);
        write.fm_ce_se = 8 | 2 << 5; /* behind the reads */
        put_wqe(a, &write);
        ring(a);
        if (i & 2)
            world_run(a->w);
    }
}

static void with_immediate(struct end *a, struct end *b)
{
    struct wr wr = wr_write(a, b, 0, 512, 30);

    post_recv(b, b->mem + 100, 10, b->mkey);
    wr.opcode = SN_OPCODE_RDMA_WRITE_IMM;
    wr.imm = 0x12345678;
    post(a, &wr);
    world_run(a->w);
    wr = wr_write(a, b, 0, 600, 30);
    post(a, &wr);
}

static void wrong_remote_key(struct end *a, struct end *b)
{
    struct wr good = wr_write(a, b, 0, 512, 8), bad = good;

    post(a, &good);
    world_run(a->w);
    bad.rkey ^= 0x10;
    put_wqe(a, &good);
    put_wqe(a, &bad);
    put_wqe(a, &good);
    ring(a);
}

static void beyond_the_region(struct end *a, struct end *b)
{
    struct wr wr = wr_write(a, b, 0, 512, 8);

    wr.raddr = (uintptr_t)b->mem + MEM_SIZE - 4;
    post(a, &wr);
}

static void read_only(struct end *a, struct end *b)
{
    struct wr wr = wr_write(a, b, 0, 512, 8);

    sn_port_lock(a->w->port);
    wr.rkey = end_key(b, b->mem, 4096, (uintptr_t)b->mem, SN_ACCESS_REMOTE_READ);
    sn_port_unlock(a->w->port);
    post(a, &wr);
}

static void wrong_local_key(struct end *a, struct end *b)
{
    struct wr wr = wr_write(a, b, 0, 512, 8);

    wr.sge[0].lkey ^= 0x10;
    post(a, &wr);
}

static void peer_fails(struct end *a, struct end *b)
{
    struct wr wr = wr_write(a, b, 0, 512, 8);

    post(a, &wr);
    world_run(a->w);
    sn_port_lock(a->w->port);
    assert_int_equal(sn_qp_modify(b->nic, b->qpn, SN_QP_ERR, NULL, 0), 0);
    sn_port_unlock(a->w->port);
    post(a, &wr);
    world_run(a->w);
    world_pass(a->w, 100000000, 1000000);
}

static void connected_anew(struct end *a, struct end *b)
{
    struct wr wr = wr_write(a, b, 0, 512, 8);

    post(a, &wr);
    world_run(a->w);
    end_reconnect(a, b);
    end_reconnect(b, a);
    wr = wr_write(a, b, 64, 600, 8);
    post(a, &wr);
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static void same_as_the_long_way(void **state)
{
    static const struct {
        scenario *body;
        bool batches;
    } all[] = {{sizes, false},
               {in_one_go, true},
               {both_directions, true},
               {pieces, true},
               {two_pieces, false},
               {mixed, true},
               {with_immediate, true},
               {wrong_remote_key, true},
               {beyond_the_region, false},
               {read_only, false},
               {wrong_local_key, false},
               {peer_fails, false},
               {connected_anew, false}};

    (void)state;
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        for (unsigned variant = 0; variant < 12; variant++) {
            struct options o = defaults;
            o.mtu = (uint8_t)(1 + variant % 5);
            o.psn = variant & 1 ? 0xfffff0 : o.psn;
            o.collapsed = variant == 5;
            o.overrun = variant == 6;
            o.no_record = variant == 7;
            o.srq = variant == 8;
            o.no_rwe = variant == 9;
            o.burst_bytes = variant == 10 ? 1 : 0;
            o.cqe_size = variant == 11 ? 128 : o.cqe_size;
            if (o.collapsed && all[i].body == in_one_go)
                continue; /* CQEs overwrite each other there */
            same(all[i].body, &o, all[i].batches);
        }
}

static void overruns(struct end *a, struct end *b)
{
    for (unsigned i = 0; i < 10; i++) {
        struct wr wr = wr_write(a, b, 0, 512 + i, 8);
        post(a, &wr);
        world_run(a->w);
    }
}

static void same_when_the_cq_overruns(void **state)
{
    struct options o = defaults;

    (void)state;
    o.log_cq = 2;
    o.overrun = true;
    same(overruns, &o, false);
}

/* A WRITE, a SEND that finds no receive, a WAIT for the WRITE, and a WRITE of 100 bytes behind it. */
static void in_vain(struct end *a, struct end *b)
{
    struct wr write = wr_write(a, b, 0, 512, 8), send = wr_send(a, 0, 8), last = wr_write(a, b, 0, 1024, 100);
    struct wr wait = {.opcode = SN_OPCODE_WAIT, .fm_ce_se = 8, .cqn = a->cqn, .index = 0};

    put_wqe(a, &write);
    put_wqe(a, &send);
    put_wqe(a, &wait);
    put_wqe(a, &last);
    ring(a);
    world_run(a->w);
    world_pass(a->w, 20000000, 1000000);
}

/*
 * The one thing that tells which way was taken: the WAIT is over at once where the WRITE is complete at once, and the last WRITE
 * leaves before the refusal of the SEND comes, once more than on the long way. It is dropped, as a link's latency would have it.
 */
static void same_but_for_what_leaves_in_vain(void **state)
{
    struct options o = defaults;
    struct left_behind *longer, *shorter;

    (void)state;
    o.rnr_retry = 1;
    longer = run(in_vain, &o, true);
    shorter = run(in_vain, &o, false);
    assert_int_equal(longer->state[0], SN_QP_ERR);
    assert_int_equal(longer->counters[0].tx_bytes, 8 + 8 + 8 + 100);
    assert_int_equal(shorter->counters[0].tx_bytes, 8 + 8 + 100 + 8 + 100);
    assert_int_equal(longer->counters[1].out_of_sequence, 1);
    assert_int_equal(shorter->counters[1].out_of_sequence, 2);
    for (int way = 0; way < 2; way++) {
        struct left_behind *l = way == 0 ? longer : shorter;
        assert_int_equal(l->counters[0].tx_bytes, l->counters[1].rx_bytes);
        assert_int_equal(l->counters[0].tx_packets, l->counters[1].rx_packets);
        l->counters[0].tx_bytes = l->counters[1].rx_bytes = l->counters[1].out_of_sequence = 0;
        forget_acknowledgements(l);
    }
    left_same(longer, shorter);
    free(longer);
    free(shorter);
}

/* The tap counts what is delivered; off, it must not have been needed. */
static void taken_when_plain(void **state)
{
    struct world w;
    struct end a, b;
    uint64_t before, after;
    struct sn_counters c;

    (void)state;
    world_open(&w, &defaults);
    end_open(&a, &w, 0, &defaults);
    end_open(&b, &w, 1, &defaults);
    ends_connect(&a, &b);
    struct wr wr = wr_write(&a, &b, 0, 512, 8);
    sn_nic_get_counters(b.nic, &c);
    before = c.rx_packets;
    for (int i = 0; i < 4; i++) {
        uint32_t index;
        bursts = 0;
        sn_port_set_tap(w.port, i & 1 ? pass : NULL, NULL); /* changes between them: no state is left behind */
        index = post(&a, &wr);
        /* A doorbell, a WRITE and its CQE are one turn the short way. */
        assert_true(sn_port_run(w.port) > 0);
        expect_ok(&a, index);
        assert_int_equal(bursts, i & 1 ? 2 : 0);
    }
    sn_nic_get_counters(b.nic, &c);
    after = c.rx_packets;
    assert_int_equal(after - before, 4);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

/* A queue pair that is gone, or that another one claims to be connected to, is not written to. */
static void peer_is_gone(void **state)
{
    struct world w;
    struct end a, b, c;

    (void)state;
    world_open(&w, &defaults);
    end_open(&a, &w, 0, &defaults);
    end_open(&b, &w, 1, &defaults);
    end_open(&c, &w, 1, &defaults);
    ends_connect(&a, &b);
    struct wr wr = wr_write(&a, &b, 0, 512, 8);
    uint32_t i = post(&a, &wr);
    world_run(&w);
    expect_ok(&a, i);
    end_reconnect(&b, &c); /* b believes that c is its peer; a still writes to b */
    memset(b.mem, 0, 1024);
    i = post(&a, &wr);
    world_pass(&w, 2000000000, 10000000);
    expect_error(&a, i, SN_SYND_RETRY_EXCEEDED);
    for (int k = 0; k < 1024; k++)
        assert_int_equal(b.mem[k], 0);
    end_close(&b);
    end_reconnect(&a, &c);
    i = post(&a, &wr);
    world_pass(&w, 2000000000, 10000000);
    expect_error(&a, i, SN_SYND_RETRY_EXCEEDED); /* c is not connected to a */
    end_close(&a);
    end_close(&c);
    world_close(&w);
}

static int lose(void *arg, const struct sn_burst *b)
{
    (void)arg;
    (void)b;
    return SN_TAP_DROP;
}

/* A WRITE that was fetched and then had to wait, behind a fence or for another try, looks for its source's key again. */
static void source_key_is_gone(bool fenced)
{
    struct world w;
    struct end a, b;

    world_open(&w, &defaults);
    end_open(&a, &w, 0, &defaults);
    end_open(&b, &w, 1, &defaults);
    ends_connect(&a, &b);
    memset(b.mem, 0, 1024);
    sn_port_set_tap(w.port, lose, NULL);
    struct wr read = wr_read(&a, &b, 0, 512, 8), wr = wr_write(&a, &b, 1024, 256, 64);
    uint32_t first = fenced ? post(&a, &read) : 0;
    wr.sge[0].lkey = end_key(&a, a.mem + 1024, 64, (uintptr_t)a.mem + 1024, SN_ACCESS_LOCAL_WRITE);
    wr.fm_ce_se = fenced ? SN_FENCE_READS_SMALL << 5 | 8 : 0;
    uint32_t i = post(&a, &wr);
    world_run(&w);
    expect_none(&a);
    sn_port_lock(w.port);
    assert_int_equal(sn_mkey_destroy(a.nic, wr.sge[0].lkey), 0);
    sn_port_unlock(w.port);
    sn_port_set_tap(w.port, NULL, NULL);
    world_pass(&w, 2000000000, 10000000);
    if (fenced)
        expect_ok(&a, first);
    expect_error(&a, i, SN_SYND_LOCAL_PROT);
    for (int k = 0; k < 1024; k++)
        assert_int_equal(b.mem[k], 0);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

static void key_is_gone_behind_a_fence(void **state)
{
    (void)state;
    source_key_is_gone(true);
}

static void key_is_gone_before_a_retry(void **state)
{
    (void)state;
    source_key_is_gone(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_long_way),
        cmocka_unit_test(same_when_the_cq_overruns),
        cmocka_unit_test(same_but_for_what_leaves_in_vain),
        cmocka_unit_test(taken_when_plain),
        cmocka_unit_test(peer_is_gone),
        cmocka_unit_test(key_is_gone_behind_a_fence),
        cmocka_unit_test(key_is_gone_before_a_retry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
