/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs: the same seed gives the same events and the same capture, whatever is asked of the simulation; each fault
 * does what its line says; each operation meets each loss.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/rng.h"
#include "sim/sim.h"
#include "softnic/wire/burst.h"
#include "softnic/wire/frame.h"

/* ---- help ---------------------------------------------------------------------------------------------------------- */

struct capture {
    uint64_t frames, bytes, hash;
};

static void capture(void *arg, uint64_t ns, const uint8_t *frame, size_t length)
{
    struct capture *c = arg;

    c->frames++;
    c->bytes += length;
    c->hash = sim_mix(c->hash ^ ns);
    for (size_t i = 0; i < length; i++)
        c->hash = sim_mix(c->hash ^ frame[i]);
}

static void run_scenario(const struct sim_scenario *sc, struct sim_result *r, struct capture *sent, struct capture *received)
{
    struct sim *sim = NULL;
    char why[SIM_WHY_SIZE] = "";

    if (sim_create(sc, &sim, why) != 0)
        fail_msg("%s", why);
    if (sent != NULL)
        sim_capture(sim, capture, sent, false);
    if (received != NULL)
        sim_capture(sim, capture, received, true);
    assert_int_equal(sim_run(sim), 0);
    *r = *sim_get_result(sim);
    sim_destroy(sim);
}

static void run_text(const char *text, struct sim_result *r)
{
    struct sim_scenario sc;
    char why[SIM_WHY_SIZE] = "";

    if (sim_scenario_parse("test", text, strlen(text), &sc, why) != 0)
        fail_msg("%s", why);
    run_scenario(&sc, r, NULL, NULL);
    sim_scenario_free(&sc);
}

static void expect_clean(const struct sim_result *r)
{
    if (r->violations != 0)
        fail_msg("%llu violations, the first: %s", (unsigned long long)r->violations, r->violation[0]);
}

static uint64_t all_lost(const struct sim_result *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < SIM_LOSSES; i++)
        sum += r->lost[i];
    return sum;
}

/* ---- the same again ------------------------------------------------------------------------------------------------- */

static void test_repeats(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct sim_scenario sc;
        struct sim_result a, b, c;
        struct capture sent[2] = {{0}, {0}}, received[2] = {{0}, {0}};
        sim_scenario_random(seed, &sc);
        run_scenario(&sc, &a, &sent[0], &received[0]);
        run_scenario(&sc, &b, &sent[1], &received[1]);
        run_scenario(&sc, &c, NULL, NULL); /* looking at it changes nothing */
        assert_int_equal(a.hash, b.hash);
        assert_int_equal(a.hash, c.hash);
        assert_int_equal(a.events, b.events);
        assert_int_equal(a.virtual_ns, b.virtual_ns);
        assert_memory_equal(&sent[0], &sent[1], sizeof(sent[0]));
        assert_memory_equal(&received[0], &received[1], sizeof(received[0]));
        assert_int_equal(sent[0].frames, a.packets);
        sc.seed++;
        run_scenario(&sc, &b, NULL, NULL);
        assert_int_not_equal(a.hash, b.hash);
    }
}

/* Packets by reference and packets as bytes are the same exchange: every packet has a form as a frame, and only that. */
static void test_modes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct sim_scenario sc;
        struct sim_result a, b;
        struct capture sent[2] = {{0}, {0}};
        sim_scenario_random(seed, &sc);
        sc.rule[0].p.corrupt = 0;
        for (uint32_t i = 0; i < sc.faults; i++)
            if (sc.fault[i].kind == SIM_FAULT_CORRUPT)
                sc.fault[i].kind = SIM_FAULT_DROP;
        sc.mode = SIM_MODE_PACKETS;
        run_scenario(&sc, &a, &sent[0], NULL);
        sc.mode = SIM_MODE_FRAMES;
        run_scenario(&sc, &b, &sent[1], NULL);
        expect_clean(&a);
        expect_clean(&b);
        assert_memory_equal(&sent[0], &sent[1], sizeof(sent[0]));
        assert_int_equal(a.virtual_ns, b.virtual_ns);
        assert_int_equal(b.lost[SIM_LOST_ICRC] + b.lost[SIM_LOST_FORMAT], 0);
    }
}

/* ---- faults by name ------------------------------------------------------------------------------------------------- */

#define PAIR "workload pattern=pairs messages=40 size=3000 depth=4 mix=write:1,send:1,read:1,fetch-add:1,cmp-swap:1\n"

static void test_nth(void **state)
{
    static const char *const ops[] = {"send", "write", "read-request", "read-response", "ack", "atomic", "atomic-ack"};

    (void)state;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        char text[512];
        struct sim_result r;
        snprintf(text, sizeof(text), "fault kind=drop op=%s nth=2 count=2\n" PAIR, ops[i]);
        run_text(text, &r);
        expect_clean(&r);
        assert_int_equal(r.lost[SIM_LOST_FAULT], 2);
        assert_int_equal(all_lost(&r), 2);
        assert_int_equal(r.completed, 40);
        snprintf(text, sizeof(text), "fault kind=duplicate op=%s nth=1 count=3 by=200us\n" PAIR, ops[i]);
        run_text(text, &r);
        expect_clean(&r);
        assert_int_equal(r.duplicated, 3);
        snprintf(text, sizeof(text), "fault kind=corrupt op=%s nth=1\n" PAIR, ops[i]);
        run_text(text, &r);
        expect_clean(&r);
        assert_int_equal(r.corrupted, 1);
        snprintf(text, sizeof(text), "fault kind=delay op=%s nth=1 count=2 by=5ms\n" PAIR, ops[i]);
        run_text(text, &r);
        expect_clean(&r);
        assert_int_equal(r.delayed, 2);
    }
}

/* A cable that is down for longer than all retries: retry errors and flushes, and nothing else (9.9.2.1). */
static void test_down(void **state)
{
    struct sim_result r;

    (void)state;
    run_text("run expect=any\nqp timeout=5 retry=2\nfault kind=down at=10us\n" PAIR, &r);
    expect_clean(&r);
    assert_int_equal(r.connections_failed, 1);
    assert_true(r.failed == 1 && r.completed + r.failed + r.flushed == r.posted && r.completed < 40);
    assert_true(r.lost[SIM_LOST_DOWN] != 0);
    run_text("qp timeout=5 retry=7\nfault kind=down at=10us for=300us\n" PAIR, &r); /* within them: nobody notices */
    expect_clean(&r);
    assert_int_equal(r.completed, 40);
    run_text("run expect=all\nqp timeout=5 retry=2\nfault kind=down at=10us\n" PAIR, &r);
    assert_true(r.violations != 0);
    assert_non_null(strstr(r.violation[0], "all are expected to"));
}

static void test_flap_and_partition(void **state)
{
    struct sim_result r;

    (void)state;
    run_text("fault kind=flap period=20us up=13us\n" PAIR, &r);
    expect_clean(&r);
    assert_true(r.lost[SIM_LOST_DOWN] != 0 && r.completed == 40);
    run_text("topology shape=star nics=4\nfault kind=partition on=nic0-1 at=5us for=2ms\n"
             "workload pattern=all-to-all window=3 messages=20 depth=4\n",
             &r);
    expect_clean(&r);
    assert_true(r.lost[SIM_LOST_PARTITION] != 0);
    assert_int_equal(r.completed, 4 * 3 * 20);
}

/* RNR NAK with nobody posting in time (9.7.5.2.8): retried for ever with 7, given up with a small counter. */
static void test_receiver_not_ready(void **state)
{
    struct sim_result r;

    (void)state;
    run_text("workload pattern=pairs messages=30 mix=send:1 receives=1 receive-delay=50us depth=8\n", &r);
    expect_clean(&r);
    assert_int_equal(r.receives, 30);
    run_text("run expect=any\nqp rnr-retry=1 min-rnr=1\n"
             "workload pattern=pairs messages=30 mix=send:1 receives=1 receive-delay=5ms depth=8\n",
             &r);
    expect_clean(&r);
    assert_int_equal(r.connections_failed, 1);
}

/* Congestion: packets are marked and answered by CNPs (A17.9); a full queue drops, and all arrives nevertheless. */
static void test_congestion(void **state)
{
    struct sim_result r;

    (void)state;
    run_text("topology shape=star nics=9\nlink rate=10Gb/s queue=20K ecn=2K\n"
             "workload pattern=incast messages=40 size=4K depth=8\n",
             &r);
    expect_clean(&r);
    assert_int_equal(r.completed, 8 * 40);
    assert_true(r.marked != 0 && r.sent[SN_KIND_CNP] != 0);
    assert_true(r.lost[SIM_LOST_QUEUE] != 0);
    assert_true(r.queue_peak <= 20 * 1024);
}

/*
 * Unreliable connections (9.8.2): nothing is lost on a good cable; on a bad one messages are missing, and no others are
 * damaged; requesters are done either way, and nothing is answered.
 */
static void test_unreliable(void **state)
{
    struct sim_result r;

    (void)state;
    run_text("qp service=uc\nworkload pattern=pairs messages=200 both-ways=yes size=0..4K mix=send:1,send-imm:1 receives=200\n", &r);
    expect_clean(&r);
    assert_int_equal(r.receives, 400);
    assert_int_equal(r.sent[SN_KIND_ACK], 0);
    run_text("run mode=frames\nqp service=uc\nlink loss=3% corrupt=1%\n"
             "workload pattern=pairs messages=400 both-ways=yes size=0..4K mix=send:2,send-imm:1,write-imm:1,write:1 receives=200\n",
             &r);
    expect_clean(&r);
    assert_int_equal(r.completed, 800);
    assert_true(r.receives > 300 && r.receives < r.by_op[SIM_OP_SEND] + r.by_op[SIM_OP_SEND_IMM] + r.by_op[SIM_OP_WRITE_IMM]);
    run_text("qp service=uc psn=16777200\nlink loss=3% duplicate=5% reorder=5%\n"
             "workload pattern=pairs messages=400 size=8..4K mix=send:2,send-imm:1,write-imm:1,write:1 receives=200\n",
             &r);
    expect_clean(&r);
}

/* ---- shapes ---------------------------------------------------------------------------------------------------------- */

static void test_shapes(void **state)
{
    static const char *const shapes[] = {
        "topology shape=pair\n",
        "topology shape=star nics=6\n",
        "topology shape=chain nics=6\n",
        "topology shape=fat-tree k=4\n",
        "topology shape=fat-tree k=4 nics=9 spray=yes\n",
        "topology shape=graph\ncable a=nic0 b=sw0\ncable a=nic1 b=sw1\ncable a=sw0 b=sw1\ncable a=sw0 b=sw2\n"
        "cable a=sw2 b=sw1\ncable a=nic2 b=sw2\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        char text[1024];
        struct sim_result r;
        snprintf(text, sizeof(text), "%slink loss=1%%\nworkload pattern=all-to-all messages=5 mix=write:1,shared-add:1\n", shapes[i]);
        run_text(text, &r);
        expect_clean(&r);
        assert_int_equal(r.completed, r.nics * (r.nics - 1) * 5);
    }
}

static void test_no_way(void **state)
{
    static const char text[] = "topology shape=graph\ncable a=nic0 b=sw0\ncable a=nic1 b=sw1\nworkload pattern=pairs\n";
    struct sim_scenario sc;
    struct sim *sim = NULL;
    char why[SIM_WHY_SIZE] = "";

    (void)state;
    assert_int_equal(sim_scenario_parse("f", text, sizeof(text) - 1, &sc, why), 0);
    assert_int_not_equal(sim_create(&sc, &sim, why), 0);
    assert_non_null(strstr(why, "no way from nic0 to nic1"));
    sim_scenario_free(&sc);
}

/* A cable carries no more than its rate, and takes its time: one WRITE over a pair. */
static void test_physics(void **state)
{
    struct sim_result r;

    (void)state;
    run_text("link rate=1Gb/s delay=1ms\nqp mtu=4096 timeout=14\nworkload pattern=pairs messages=1 size=4K\n", &r);
    expect_clean(&r);
    /* 8+14+20+8+12+16+4096+4+4+12 = 4194 bytes there, 86 back, each bit 1 ns, and 1 ms each way. */
    assert_int_equal(r.latency.max, 2000000 + 8 * (4194 + 86));
}

/* All-to-all over a fat tree under loss: what the recorded run of 1,000 NICs does, smaller. */
static void test_fat_tree(void **state)
{
    struct sim_result r;

    (void)state;
    run_text("topology shape=fat-tree k=8 nics=64\nlink loss=0.1%\nqp timeout=8\n"
             "workload pattern=all-to-all messages=1 size=256..1K window=2 mix=write:2,send:1,shared-add:1\n",
             &r);
    expect_clean(&r);
    assert_int_equal(r.completed, 64 * 63);
    assert_int_equal(r.connections, 64 * 63);
    assert_true(r.lost[SIM_LOST_LOSS] != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeats),    cmocka_unit_test(test_modes),
        cmocka_unit_test(test_nth),        cmocka_unit_test(test_down),
        cmocka_unit_test(test_flap_and_partition), cmocka_unit_test(test_receiver_not_ready),
        cmocka_unit_test(test_congestion), cmocka_unit_test(test_unreliable),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_no_way),     cmocka_unit_test(test_physics),
        cmocka_unit_test(test_fat_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
