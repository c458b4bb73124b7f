/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks can fail: bugs put in on purpose (a payload byte that changes under a right CRC, a byte beside the region, an
 * atomic executed twice, a completion seen twice or not at all, a packet that is never released) are each reported, by the
 * invariant that they break, and the same seed without them is clean.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/sim.h"

#define WORK "topology shape=star nics=3\nlink loss=0.01\n" \
    "workload pattern=all-to-all messages=60 size=100..3000 depth=2 mix=write:3,send:1,fetch-add:2,cmp-swap:1\n"

static void run_with(const char *work, const char *plant, unsigned nth, uint64_t seed, struct sim_result *r)
{
    char text[512], why[SIM_WHY_SIZE] = "";
    struct sim_scenario sc;
    struct sim *sim = NULL;

    snprintf(text, sizeof(text), "run seed=%llu duration=1s plant=%s plant-nth=%u\n%s", (unsigned long long)seed, plant, nth,
             work);
    if (sim_scenario_parse("test", text, strlen(text), &sc, why) != 0 || sim_create(&sc, &sim, why) != 0)
        fail_msg("%s", why);
    assert_int_equal(sim_run(sim), 0);
    *r = *sim_get_result(sim);
    sim_destroy(sim);
    sim_scenario_free(&sc);
}

static void run(const char *plant, unsigned nth, uint64_t seed, struct sim_result *r)
{
    run_with(WORK, plant, nth, seed, r);
}

static bool reports(const struct sim_result *r, const char *what)
{
    for (uint64_t i = 0; i < r->violations && i < SIM_VIOLATIONS_KEPT; i++)
        if (strstr(r->violation[i], what) != NULL)
            return true;
    return false;
}

static void test_reported(void **state)
{
    static const struct {
        const char *plant, *what;
    } table[] = {
        {"modify", "has succeeded, but byte"},
        {"stray", "a guard outside all regions"},
        {"source", "the source of its messages"},
        {"repeat", "the target of atomics"},
        {"twice", "where"},
        {"forget", "where"},
        {"leak", "packets in flight"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct sim_result r, clean;
            run("none", 1, seed, &clean);
            if (clean.violations != 0)
                fail_msg("seed %llu, nothing planted: %s", (unsigned long long)seed, clean.violation[0]);
            run(table[i].plant, 1 + (unsigned)seed % 4, seed, &r);
            /* What is forgotten at the very end leaves nothing that comes after it, but a connection that is never over. */
            if (r.violations == 0 || (!reports(&r, table[i].what) && !reports(&r, "are not over")))
                fail_msg("seed %llu: '%s' was not reported (%llu violations, the first: %s)", (unsigned long long)seed,
                         table[i].plant, (unsigned long long)r.violations, r.violation[0]);
            assert_int_not_equal(r.hash, clean.hash);
        }
}

/*
 * The same for unreliable connections, whose checks are others. The last WRITE, so that no later one covers it, and of
 * few: a wrong byte that another message had there passes, as it may have been the last to arrive.
 */
static void test_reported_unreliable(void **state)
{
    static const struct {
        const char *plant, *what;
        unsigned nth;
    } table[] = {{"modify", "differ from the model", 10}, {"stray", "a guard outside all regions", 5}, {"twice", "where", 5}};

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct sim_result r;
            run_with("qp service=uc\nworkload pattern=pairs messages=10 size=2000..3000 depth=2\n", table[i].plant, table[i].nth,
                     seed, &r);
            if (r.violations == 0 || !reports(&r, table[i].what))
                fail_msg("seed %llu: '%s' was not reported (%llu violations, the first: %s)", (unsigned long long)seed,
                         table[i].plant, (unsigned long long)r.violations, r.violation[0]);
            run_with("qp service=uc\nworkload pattern=pairs messages=10 size=2000..3000 depth=2\n", "none", 1, seed, &r);
            assert_int_equal(r.violations, 0);
        }
}

/*
 * Connections of one request hold what they compare in another form: noise but for one place. Which plant meets an occasion
 * depends on the mix; what is read only is looked at once, at the end of all.
 */
static void test_reported_single(void **state)
{
    static const struct {
        const char *plant, *mix, *what;
    } table[] = {
        {"modify", "write:1", "has succeeded, but byte"},
        {"stray", "write:1", "a guard outside all regions"},
        {"repeat", "fetch-add:1", "the target of atomics"},
        {"repeat", "cmp-swap:1", "the target of atomics"},
        {"source", "write:1", "only read"},
        {"source", "send:1", "only read"},
        {"source", "read:1", "only read"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct sim_result r;
            char work[256];
            snprintf(work, sizeof(work),
                     "topology shape=star nics=3\nworkload pattern=all-to-all connections=3 messages=1 size=100..3000 mix=%s\n",
                     table[i].mix);
            run_with(work, "none", 1, seed, &r);
            assert_int_equal(r.violations, 0);
            run_with(work, table[i].plant, 1 + (unsigned)seed, seed, &r);
            if (!reports(&r, table[i].what))
                fail_msg("seed %llu, %s: '%s' was not reported (%llu violations, the first: %s)", (unsigned long long)seed,
                         table[i].mix, table[i].plant, (unsigned long long)r.violations, r.violation[0]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reported), cmocka_unit_test(test_reported_unreliable),
                                       cmocka_unit_test(test_reported_single)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
