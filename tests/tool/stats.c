/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles: nearest rank on known samples. */
#include "testing.h"

#include "tool/stats.h"

static void percentiles(void **state)
{
    uint64_t samples[1000];
    struct stats s;
    (void)state;

    for (int i = 0; i < 1000; i++)
        samples[i] = (uint64_t)((i * 7919) % 1000 + 1); /* 1..1000, shuffled */
    stats_compute(samples, 1000, 0.5, &s);
    assert_int_equal(s.count, 1000);
    assert_true(s.min == 0.5);
    assert_true(s.p50 == 250);
    assert_true(s.p99 == 495);
    assert_true(s.p999 == 499.5);
    assert_true(s.max == 500);
    assert_true(s.mean == 250.25);
}

static void few_samples(void **state)
{
    uint64_t one[] = {42}, two[] = {9, 3};
    struct stats s;
    (void)state;

    stats_compute(one, 1, 1, &s);
    assert_true(s.min == 42 && s.p50 == 42 && s.p99 == 42 && s.p999 == 42 && s.max == 42);
    stats_compute(two, 2, 1, &s);
    assert_true(s.min == 3 && s.p50 == 3 && s.p99 == 9 && s.max == 9);
    stats_compute(NULL, 0, 1, &s);
    assert_true(s.count == 0 && s.max == 0);
    assert_int_equal(stats_percentile(one, 0, 50), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(percentiles), cmocka_unit_test(few_samples)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
