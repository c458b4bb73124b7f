/* SPDX-License-Identifier: Apache-2.0 */
/* The event heap: earliest first, and of one instant in the order of adding, whatever the order of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/heap.h"
#include "sim/rng.h"

static void test_order(void **state)
{
    struct sim_heap heap = {0};
    struct sim_rng rng = sim_rng_stream(7, 7);
    uint64_t last_time = 0, last_arg = 0, out = 0;

    (void)state;
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(sim_heap_push(&heap, (struct sim_event){.time = sim_rng_below(&rng, 300), .arg = i}), 0);
    while (heap.count != 0) {
        uint64_t next = sim_heap_next(&heap);
        struct sim_event e = sim_heap_pop(&heap);
        assert_int_equal(e.time, next);
        assert_true(e.time > last_time || out == 0 || (e.time == last_time && e.arg > last_arg));
        last_time = e.time;
        last_arg = e.arg;
        out++;
    }
    assert_int_equal(out, 5000);
    assert_int_equal(heap.peak, 5000);
    assert_int_equal(sim_heap_next(&heap), UINT64_MAX);
    sim_heap_free(&heap);
}

static void test_mixed(void **state)
{
    struct sim_heap heap = {0};
    struct sim_rng rng = sim_rng_stream(8, 8);
    uint64_t now = 0, order = 0, in = 0, out = 0;

    (void)state;
    while (out < 200000) { /* pushes into the present and the future while it pops, as a simulation does */
        uint64_t most = in % 1000 < 700 ? 100 : 10, far = in % 3 == 0 ? 1000 : 5;
        while (heap.count < most && in < 200000) {
            sim_heap_push(&heap, (struct sim_event){.time = now + sim_rng_below(&rng, far)});
            in++;
        }
        const struct sim_event *ahead = sim_heap_ahead(&heap, 3), *next = sim_heap_ahead(&heap, 0);
        assert_true(ahead == NULL || ahead->time >= next->time);
        struct sim_event e = sim_heap_pop(&heap);
        assert_true(out == 0 || e.time > now || (e.time == now && e.order > order));
        now = e.time;
        order = e.order;
        out++;
    }
    assert_int_equal(heap.count, 0);
    sim_heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_mixed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
