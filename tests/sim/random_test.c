/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of small scenarios drawn under a seed: topologies, faults and workloads of every kind; no invariant is broken.
 * GDAKI_SIM_TEST_SEEDS=FIRST-LAST runs others. A seed that fails is replayed with `gdaki sim --random SEED`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/sim.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FIRST = 1, LAST = 500 }; /* each costs ten times as much */
#else
enum { FIRST = 1, LAST = 2000 };
#endif

struct total {
    uint64_t runs, completed, failed, packets, lost[SIM_LOSSES], changed, by_op[SIM_OPS];
};

static void add(struct total *t, const struct sim_result *r)
{
    t->runs++;
    t->completed += r->completed;
    t->failed += r->connections_failed;
    t->packets += r->packets;
    t->changed += r->duplicated + r->reordered + r->delayed;
    for (unsigned i = 0; i < SIM_LOSSES; i++)
        t->lost[i] += r->lost[i];
    for (unsigned i = 0; i < SIM_OPS; i++)
        t->by_op[i] += r->by_op[i];
}

static unsigned run(uint64_t seed, struct total *t)
{
    struct sim_scenario sc;
    struct sim *sim = NULL;
    char why[SIM_WHY_SIZE] = "";
    unsigned wrong;

    sim_scenario_random(seed, &sc);
    if (sim_create(&sc, &sim, why) != 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed, why);
    assert_int_equal(sim_run(sim), 0);
    const struct sim_result *r = sim_get_result(sim);
    wrong = r->violations != 0;
    if (wrong)
        print_message("seed %llu: %llu violations, the first: %s\n", (unsigned long long)seed,
                      (unsigned long long)r->violations, r->violation[0]);
    add(t, r);
    sim_destroy(sim);
    sim_scenario_free(&sc);
    return wrong;
}

static void test_seeds(void **state)
{
    const char *range = getenv("GDAKI_SIM_TEST_SEEDS");
    unsigned long first = FIRST, last = LAST;
    struct total t = {0};
    unsigned wrong = 0;

    (void)state;
    if (range != NULL && sscanf(range, "%lu-%lu", &first, &last) != 2)
        fail_msg("GDAKI_SIM_TEST_SEEDS='%s': expected FIRST-LAST", range);
    for (unsigned long seed = first; seed <= last; seed++)
        wrong += run(seed, &t);
    print_message("%llu scenarios, %llu requests, %llu packets, %llu connections ended in retry errors\n",
                  (unsigned long long)t.runs, (unsigned long long)t.completed, (unsigned long long)t.packets,
                  (unsigned long long)t.failed);
    assert_int_equal(wrong, 0);
    if (last - first < 1000)
        return;
    for (unsigned i = 0; i < SIM_OPS; i++) /* the scenarios are worth something: everything happened */
        assert_true(t.by_op[i] > 100);
    for (unsigned i = 0; i < SIM_LOSSES; i++)
        assert_true(t.lost[i] > 100);
    assert_true(t.changed > 1000 && t.failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
