/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files: what is read, what is refused and how, and that printing and reading again changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/rng.h"
#include "sim/scenario.h"

#define WORK "workload pattern=pairs\n"

static const struct {
    const char *text, *expected; /* the message holds it */
} bad[] = {
    {"", "f: no line 'workload'"},
    {"links on=all\n", "f:1: 'links' begins no line"},
    {"run seed=x\n" WORK, "f:1: key 'seed': value 'x': expected a number"},
    {"run seed=1 seed=2\n" WORK, "f:1: key 'seed': value '2': given twice"},
    {"run sed=1\n" WORK, "f:1: key 'sed' is unknown on a line 'run'"},
    {"run seed=-1\n" WORK, "expected a number"},
    {"run seed=99999999999999999999\n" WORK, "out of range"},
    {"run seed\n" WORK, "'seed' is no KEY=VALUE"},
    {"run seed=\n" WORK, "is no KEY=VALUE"},
    {"run seed=1\nrun seed=2\n" WORK, "f:2: a second line 'run'"},
    {"run duration=5\n" WORK, "expected a time with its unit"},
    {"run duration=5xs\n" WORK, "key 'duration': value '5xs'"},
    {"run duration=0.3ns\n" WORK, "out of range"},
    {"run duration=1.3ns\n" WORK, "whole number of ns"},
    {"run duration=1e9s\n" WORK, "expected a time with its unit"},
    {"run mode=frame\n" WORK, "expected packets or frames"},
    {"link loss=2\n" WORK, "f:1: key 'loss': value '2': expected a probability"},
    {"link loss=101%\n" WORK, "expected a probability"},
    {"link loss=0x1\n" WORK, "expected a probability"},
    {"link loss=nan\n" WORK, "expected a probability"},
    {"link loss=1..2\n" WORK, "expected a probability"},
    {"link rate=100\n" WORK, "expected a rate with its unit"},
    {"link on=nic\n" WORK, "expected all, host, core"},
    {"link on=nic4-2\n" WORK, "expected all, host, core"},
    {"link on=nic99999999\n" WORK, "expected all, host, core"},
    {"qp mtu=1000\n" WORK, "f:1: key 'mtu': value '1000': expected 256"},
    {"qp mtu=8192\n" WORK, "out of range"},
    {"qp timeout=0\n" WORK, "out of range, expected 1 to 31"},
    {"qp retry=8\n" WORK, "out of range, expected 0 to 7"},
    {"qp rd-atomic=3\n" WORK, "expected a power of two"},
    {"qp psn=0x1000000\n" WORK, "out of range"},
    {"topology nics=3\n" WORK, "f:1: key 'nics': value '3': a pair has 2"},
    {"topology shape=fat-tree k=3\n" WORK, "a fat tree's k is even"},
    {"topology shape=fat-tree k=4 nics=17\n" WORK, "has room for 16"},
    {"topology shape=star k=4\n" WORK, "belongs to the shape 'fat-tree'"},
    {"topology shape=star nics=1\n" WORK, "out of range"},
    {"topology shape=star nics=3\ncable a=nic0 b=sw0\n" WORK, "cable lines belong to the shape 'graph'"},
    {"topology shape=graph\ncable a=nic0 b=nic1\n" WORK, "f:2: a cable between two NICs"},
    {"topology shape=graph\ncable a=nic0\n" WORK, "f:2: a cable needs both ends"},
    {"topology shape=graph\ncable a=nic0 b=sw0\ncable a=nic0 b=sw1\n" WORK, "f:3: a second cable of nic0"},
    {"topology shape=graph\ncable a=nic0 b=sw0\ncable a=nic2 b=sw0\n" WORK, "f:1: a graph needs cables of nic0 to nicN"},
    {"topology shape=graph\ncable a=sw1 b=sw1\n" WORK, "from a node to itself"},
    {"topology shape=graph nics=2\ncable a=nic0 b=sw0\ncable a=nic1 b=sw0\n" WORK, "the cables of a graph tell"},
    {"fault on=nic0\n" WORK, "f:1: key 'kind' is missing"},
    {"fault kind=partition\n" WORK, "a partition needs the NICs of one side"},
    {"fault kind=flap period=1us up=1us\n" WORK, "up for less than its period"},
    {"run seed=1\nfault kind=drop on=nic2\n" WORK, "f:2: key 'on': nic2: there are 2 NICs"},
    {"link on=nic0-1 loss=0.1\nlink on=nic1-2 loss=0.1\n" WORK, "f:2: key 'on': nic2: there are 2 NICs"},
    {"link on=sw0 loss=0.1\n" WORK, "f:1: key 'on': sw0: there are 0 switches"},
    {"topology shape=star nics=3\nfault kind=down on=sw1\n" WORK, "f:2: key 'on': sw1: there are 1 switches"},
    {"topology shape=fat-tree k=4\nlink on=sw0-20 loss=0.1\n" WORK, "f:2: key 'on': sw20: there are 20 switches"},
    {"topology shape=chain nics=4\nlink on=sw4 loss=0.1\n" WORK, "f:2: key 'on': sw4: there are 4 switches"},
    {"topology shape=graph\ncable a=nic0 b=sw1\ncable a=nic1 b=sw1\nlink on=sw2 loss=0.1\n" WORK, "f:4: key 'on': sw2: there are 2"},
    {"workload pattern=some\n", "expected all-to-all, pairs, ring, incast or random"},
    {"workload size=4K..8\n", "expected the smaller size first"},
    {"workload size=2M\n", "out of range"},
    {"workload mix=write:0\n", "expected OPERATION:WEIGHT"},
    {"workload mix=write:1,write:2\n", "each operation once"},
    {"workload mix=writ\n", "'writ' is no operation"},
    {"workload mix=write:1,\n", "'' is no operation"},
    {"qp service=ud\n" WORK, "expected rc or uc"},
    {"qp service=uc\nworkload mix=read:1\n", "f:2: key 'mix': 'read' needs service=rc"},
    {"qp service=uc\nworkload messages=1025\n", "at most 1024 with service=uc"},
    {"workload both-ways=1\n", "expected yes or no"},
    {"workload depth=257\n", "out of range, expected 1 to 256"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sim_scenario sc;
        char why[SIM_WHY_SIZE] = "";
        int ret = sim_scenario_parse("f", bad[i].text, strlen(bad[i].text), &sc, why);
        if (ret == 0 || strstr(why, bad[i].expected) == NULL)
            fail_msg("%s gave %d '%s', expected '%s'", bad[i].text, ret, why, bad[i].expected);
        sim_scenario_free(&sc);
    }
}

static void test_bytes(void **state)
{
    static const char zero[] = "run seed=1\0\n" WORK;
    char *line = malloc(3000), why[SIM_WHY_SIZE];
    struct sim_scenario sc;

    (void)state;
    assert_int_not_equal(sim_scenario_parse("f", zero, sizeof(zero) - 1, &sc, why), 0);
    assert_non_null(strstr(why, "a byte 0"));
    sim_scenario_free(&sc);
    memset(line, 'a', 3000);
    assert_int_not_equal(sim_scenario_parse("f", line, 3000, &sc, why), 0);
    assert_non_null(strstr(why, "f:1: a line of more than"));
    sim_scenario_free(&sc);
    free(line);
}

static void test_values(void **state)
{
    static const char text[] = "# comment\n"
                               "run seed=0x10 duration=1.5ms mode=frames expect=any   # more\r\n"
                               "\n"
                               "topology shape=fat-tree k=6 nics=50 spray=yes nic-buffer=4K\n"
                               "qp mtu=4096 timeout=14 psn=16777215\n"
                               "link on=core rate=2.5Gb/s loss=1% queue=64K\n"
                               "link on=nic3-7 loss=0.5 delay=3us\n"
                               "fault kind=drop on=sw2 op=atomic-ack nth=3 count=2 at=10us for=1ms\n"
                               "workload pattern=all-to-all size=8..4K mix=write:4,fetch-add:1 both-ways=yes";
    struct sim_scenario sc;
    char why[SIM_WHY_SIZE] = "";

    (void)state;
    if (sim_scenario_parse("f", text, sizeof(text) - 1, &sc, why) != 0)
        fail_msg("%s", why);
    assert_int_equal(sc.seed, 16);
    assert_int_equal(sc.duration, 1500000);
    assert_int_equal(sc.mode, SIM_MODE_FRAMES);
    assert_int_equal(sc.expect, SIM_EXPECT_ANY);
    assert_int_equal(sc.nics, 50);
    assert_true(sc.spray);
    assert_int_equal(sc.qp.psn, 0xffffff);
    assert_int_equal(sc.rules, 3);
    assert_int_equal(sc.rule[1].p.rate, 2500000000u);
    assert_int_equal(sc.rule[1].p.loss, 42949673u);
    assert_int_equal(sc.rule[2].on.kind, SIM_ON_NICS);
    assert_int_equal(sc.rule[2].on.last, 7);
    assert_int_equal(sc.rule[2].p.loss, SIM_ALWAYS / 2);
    assert_int_equal(sc.fault[0].op, SIM_CLASS_ATOMIC_ACK);
    assert_int_equal(sc.fault[0].count, 2);
    assert_int_equal(sc.workload[0].size_min, 8);
    assert_int_equal(sc.workload[0].size_max, 4096);
    assert_int_equal(sc.workload[0].mix[SIM_OP_FETCH_ADD], 1);
    assert_true(sc.workload[0].both_ways);
    sim_scenario_free(&sc);
}

static char *print(const struct sim_scenario *sc, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);

    assert_non_null(f);
    sim_scenario_print(sc, f);
    fclose(f);
    return text;
}

static void test_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct sim_scenario sc, again;
        char why[SIM_WHY_SIZE] = "";
        size_t size[2];
        sim_scenario_random(seed, &sc);
        char *text = print(&sc, &size[0]);
        if (sim_scenario_parse("f", text, size[0], &again, why) != 0)
            fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, why, text);
        char *more = print(&again, &size[1]);
        assert_string_equal(text, more);
        assert_int_equal(again.rules, sc.rules);
        free(text);
        free(more);
        sim_scenario_free(&sc);
        sim_scenario_free(&again);
    }
}

/* Whatever is done to a good file, it is read or refused with a message. */
static void test_damaged(void **state)
{
    struct sim_rng rng = sim_rng_stream(3, 3);
    unsigned refused = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct sim_scenario sc;
        char why[SIM_WHY_SIZE] = "";
        size_t size;
        sim_scenario_random(seed % 50, &sc);
        char *text = print(&sc, &size);
        sim_scenario_free(&sc);
        for (uint64_t n = sim_rng_between(&rng, 1, 4); n != 0; n--)
            text[sim_rng_below(&rng, size)] = (char)sim_rng_next(&rng);
        if (sim_scenario_parse("f", text, sim_rng_below(&rng, size + 1), &sc, why) != 0) {
            refused++;
            assert_true(why[0] == 'f' && why[1] == ':');
        }
        sim_scenario_free(&sc);
        free(text);
    }
    assert_true(refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_values), cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
