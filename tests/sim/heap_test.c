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

/* Few and many, near and far, with pauses, against the plainest queue there is. */
static void test_scales(void **state)
{
    enum { MOST = 3000 };
    static uint64_t times[MOST], orders[MOST];
    struct sim_heap heap = {0};
    struct sim_rng rng = sim_rng_stream(9, 9);
    uint64_t now = 0, pushed = 0;
    size_t n = 0;

    (void)state;
    for (unsigned round = 0; round < 80; round++) {
        static const size_t sizes[] = {1500, 150, 20, 0};
        size_t most = sizes[round % 4];
        for (unsigned turn = 0; turn < 3000 || n != most; turn++) {
            bool push = n == 0 || (n != MOST && sim_rng_below(&rng, 4) > (n < most ? 0u : 2u));
            if (n == 0 && most == 0)
                break;
            if (push) {
                static const uint64_t span[] = {1, 60, 1000, 60000, 70000, 90000, 120000};
                uint64_t time = now + sim_rng_below(&rng, span[sim_rng_below(&rng, 7)]);
                assert_int_equal(sim_heap_push(&heap, (struct sim_event){.time = time}), 0);
                times[n] = time;
                orders[n++] = pushed++;
                continue;
            }
            size_t first = 0;
            for (size_t i = 1; i < n; i++)
                if (times[i] < times[first] || (times[i] == times[first] && orders[i] < orders[first]))
                    first = i;
            assert_int_equal(sim_heap_next(&heap), times[first]);
            struct sim_event e = sim_heap_pop(&heap);
            assert_int_equal(e.time, times[first]);
            assert_int_equal(e.order, orders[first]);
            now = e.time;
            times[first] = times[--n];
            orders[first] = orders[n];
        }
    }
    assert_int_equal(heap.count, 0);
    assert_int_equal(sim_heap_next(&heap), UINT64_MAX);
    sim_heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_mixed), cmocka_unit_test(test_scales)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
