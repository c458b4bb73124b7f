/* SPDX-License-Identifier: Apache-2.0 */
/* The timer wheel against a plain array: what fires and when, and the earliest deadline, also where it is told from the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "softnic/transport/wheel.h"

enum { TIMERS = 24, STEPS = 40000 };

static struct sn_timer timer[TIMERS];
static uint64_t due[TIMERS]; /* UINT64_MAX: not armed */
static unsigned fired;

static void fire(struct sn_timer *t)
{
    due[t - timer] = UINT64_MAX;
    fired++;
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (*state >> 33) % below;
}

static uint64_t earliest(void)
{
    uint64_t best = UINT64_MAX;

    for (unsigned i = 0; i < TIMERS; i++)
        best = due[i] < best ? due[i] : best;
    return best;
}

static void test_random(void **state)
{
    struct sn_wheel *wheel = calloc(1, sizeof(*wheel));
    uint64_t seed = 3, now = 0, revolution = SN_WHEEL_SLOTS * SN_WHEEL_NS;
    unsigned told = 0;

    (void)state;
    assert_non_null(wheel);
    for (unsigned i = 0; i < TIMERS; i++) {
        timer[i].fire = fire;
        due[i] = UINT64_MAX;
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)draw(&seed, TIMERS), late = 0;
        uint64_t when = now + draw(&seed, draw(&seed, 4) == 0 ? 3 * revolution : 40 * SN_WHEEL_NS);
        switch (draw(&seed, 5)) {
        case 0:
            sn_timer_cancel(wheel, &timer[i]);
            due[i] = UINT64_MAX;
            break;
        case 1:
            now += draw(&seed, 50 * SN_WHEEL_NS);
            fired = 0;
            for (unsigned k = 0; k < TIMERS; k++)
                late += due[k] <= now;
            assert_int_equal(sn_wheel_run(wheel, now), late);
            assert_int_equal(fired, late);
            break;
        default:
            sn_timer_arm(wheel, &timer[i], when);
            due[i] = when;
        }
        assert_true(wheel->soonest <= earliest()); /* a bound, never too late */
        if (draw(&seed, 2) == 0) {
            uint64_t limit = now + draw(&seed, 60 * SN_WHEEL_NS), next = earliest();
            assert_int_equal(sn_wheel_next_before(wheel, limit) < limit, next < limit);
            if (next < limit) {
                assert_int_equal(sn_wheel_next_before(wheel, limit), next);
                told++;
            }
        }
    }
    assert_true(told > STEPS / 10);
    assert_int_equal(sn_wheel_next(wheel), earliest());
    for (unsigned i = 0; i < TIMERS; i++)
        sn_timer_cancel(wheel, &timer[i]);
    assert_int_equal(sn_wheel_next(wheel), UINT64_MAX);
    assert_int_equal(wheel->armed, 0);
    free(wheel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
