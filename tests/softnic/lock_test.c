/* SPDX-License-Identifier: Apache-2.0 */
/* The port's lock: one at a time, drivers step aside for whoever waits, and who waits is woken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "softnic/port/lock.h"

enum { TAKERS = 3, DRIVERS = 2, TIMES = 4000 };

static struct sn_lock lock;
static unsigned inside, clashes, counted, taken[TAKERS + DRIVERS]; /* plain: the lock orders them, and ThreadSanitizer sees whether it does */
static atomic_uint takers_left;

static void alone(unsigned who)
{
    clashes += inside != 0;
    inside = 1;
    counted++;
    taken[who]++;
    if (counted % 64 == 0)
        sched_yield(); /* with the lock: others come to wait for it */
    inside = 0;
}

static void *take(void *arg)
{
    for (unsigned i = 0; i < TIMES; i++) {
        sn_lock_take(&lock);
        alone((unsigned)(uintptr_t)arg);
        sn_lock_release(&lock);
    }
    atomic_fetch_sub(&takers_left, 1);
    return NULL;
}

static void *drive(void *arg)
{
    while (atomic_load(&takers_left) != 0) {
        if (!sn_lock_try_to_drive(&lock)) {
            sched_yield();
            continue;
        }
        alone((unsigned)(uintptr_t)arg);
        sn_lock_release(&lock);
    }
    return NULL;
}

static void one_at_a_time(void **state)
{
    pthread_t thread[TAKERS + DRIVERS];
    unsigned sum = 0;

    (void)state;
    atomic_store(&takers_left, TAKERS);
    for (uintptr_t i = 0; i < TAKERS + DRIVERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, i < TAKERS ? take : drive, (void *)i), 0);
    for (unsigned i = 0; i < TAKERS + DRIVERS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < TAKERS + DRIVERS; i++)
        sum += taken[i];
    for (unsigned i = 0; i < TAKERS; i++)
        assert_int_equal(taken[i], TIMES);
    assert_int_equal(clashes, 0);
    assert_int_equal(counted, sum);
    assert_int_equal(atomic_load(&lock.state), SN_LOCK_FREE);
    assert_int_equal(atomic_load(&lock.waiters), 0);
}

static void *take_once(void *arg)
{
    sn_lock_take(&lock);
    atomic_store((atomic_bool *)arg, true);
    sn_lock_release(&lock);
    return NULL;
}

static void drivers_step_aside(void **state)
{
    static atomic_bool had_it;
    pthread_t thread;

    (void)state;
    assert_true(sn_lock_try_to_drive(&lock));
    assert_false(sn_lock_try(&lock));
    assert_int_equal(pthread_create(&thread, NULL, take_once, &had_it), 0);
    while (atomic_load(&lock.waiters) == 0 || atomic_load(&lock.state) != SN_LOCK_WANTED)
        sched_yield();
    sn_lock_release(&lock);
    if (sn_lock_try_to_drive(&lock)) { /* not before the other one has had it */
        assert_true(atomic_load(&had_it));
        sn_lock_release(&lock);
    }
    pthread_join(thread, NULL);
    assert_true(atomic_load(&had_it));
    atomic_store(&lock.waiters, 1); /* free, and somebody is about to take it */
    assert_false(sn_lock_try_to_drive(&lock));
    assert_true(sn_lock_try(&lock));
    sn_lock_reset(&lock);
    assert_true(sn_lock_try_to_drive(&lock));
    sn_lock_release(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(drivers_step_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
