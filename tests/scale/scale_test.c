/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 10,000 queue pairs and 100,000 memory keys in one process: all of them work, idle ones cost neither a timer nor a turn,
 * and a cold queue's first doorbell is seen while another queue is busy. Verdicts count turns, never time; times are
 * printed for whoever reads them.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cluster.h"
#include "softnic/engine.h"
#include "softnic/port/thread.h"

enum { PAIRS = 5000, KEYS = 100000 };

static struct cluster many;
static uint64_t virtual_time = 1000000000;

static uint64_t virtual_now(void *unused)
{
    (void)unused;
    return virtual_time;
}

static const struct sn_port_config quiet_port = {.now = virtual_now, .no_thread = true};

static int open_many(void **state)
{
    (void)state;
    return cluster_open(&many, PAIRS, &quiet_port);
}

static int close_many(void **state)
{
    (void)state;
    cluster_close(&many);
    return 0;
}

static void rest(struct cluster *c)
{
    unsigned quiet = 0;

    for (unsigned i = 0; i < 10000000 && quiet < 32; i++) /* a turn looks at 64 active queues, work or not */
        quiet = sn_port_run(c->port) > 0 || c->port->active_count != 0 ? 0 : quiet + 1;
    assert_int_equal(quiet, 32);
}

/* Turns until the queue's put is complete. */
static unsigned turns_of_put(struct cluster *c, unsigned i, uint64_t value)
{
    struct queue *q = &c->queue[0][i];
    unsigned turns = 0;
    int got = 0;

    queue_put(q, &c->queue[1][i], value);
    while (got == 0 && turns < 100000) {
        sn_port_run(c->port);
        turns++;
        got = queue_poll(q);
    }
    assert_int_equal(got, 1);
    return turns;
}

static void every_queue_works(void **state)
{
    uint64_t begun = clock_ns(), value;

    (void)state;
    for (int side = 0; side < 2; side++)
        for (unsigned i = 0; i < PAIRS; i++)
            queue_put(&many.queue[side][i], &many.queue[!side][i], ((uint64_t)side << 32) + i + 1);
    rest(&many);
    for (int side = 0; side < 2; side++)
        for (unsigned i = 0; i < PAIRS; i++) {
            assert_int_equal(queue_poll(&many.queue[side][i]), 1);
            assert_int_equal(queue_poll(&many.queue[side][i]), 0);
            assert_int_equal(many.queue[side][i].pi, 1);
        }
    for (unsigned i = 0; i < PAIRS; i++) {
        memcpy(&value, many.queue[1][i].data, 8);
        /* The peer's own put may have read its data before or after ours came: both are legal. */
        assert_true(value == i + 1u || value == (1ull << 32) + i + 1);
    }
    print_message("%u queue pairs: created in %.1f us and connected in %.1f us each; one put of each: %.2f us\n", 2 * PAIRS,
                  (double)many.create_ns / 2e3 / PAIRS, (double)many.connect_ns / 2e3 / PAIRS,
                  (double)(clock_ns() - begun) / 2e3 / PAIRS);
}

/* After the acknowledgement timeout of what was sent, no timer is armed, however many queues are connected. */
static void idle_queues_have_no_timer(void **state)
{
    (void)state;
    rest(&many);
    virtual_time += 1000000000;
    rest(&many);
    assert_int_equal(many.port->wheel.armed, 0);
    assert_int_equal(many.port->active_count, 0);
    assert_true(sn_port_next_deadline(many.port) == UINT64_MAX);
}

static void busy_queue_takes_the_same_turns(void **state)
{
    struct cluster few;
    unsigned alone = 0, among = 0;

    (void)state;
    assert_int_equal(cluster_open(&few, 1, &quiet_port), 0);
    turns_of_put(&few, 0, 1);
    turns_of_put(&many, 7, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        alone += turns_of_put(&few, 0, i);
        among += turns_of_put(&many, 7, i);
    }
    assert_int_equal(among, alone);
    assert_true(many.port->hot_count <= SN_HOT_UARS);
    cluster_close(&few);
}

/*
 * A busy queue must not hold up the sweep over the others: a cold doorbell is seen within a bounded number of its puts, which
 * is the same however many others there are. A turn is worth 20 ns of the sweep at least.
 */
static void cold_doorbell_among_busy(void **state)
{
    unsigned worst = 0, limit = many.port->sweep_effort / 20 + 2;

    (void)state;
    for (unsigned i = 100; i < PAIRS; i += 97) {
        struct queue *cold = &many.queue[0][i];
        unsigned turns = 0;
        int got = 0;

        queue_put(cold, &many.queue[1][i], i);
        while (got == 0 && turns < 2 * limit) {
            turns += turns_of_put(&many, 7, i);
            got = queue_poll(cold);
        }
        assert_int_equal(got, 1);
        if (turns > worst)
            worst = turns;
    }
    print_message("a cold doorbell among %u registers in %u cache lines waited for %u turns of a busy queue at most\n",
                  many.port->uar_count, many.port->reg_lines, worst);
    assert_true(worst <= limit);
}

/* The looks that let the port's thread sleep are at every register, also when the turn before them had work. */
static void looks_before_sleep_are_full(void **state)
{
    struct sn_port *port = many.port;

    (void)state;
    for (unsigned i = 161; i < PAIRS; i += 97) { /* none that has been rung lately */
        turns_of_put(&many, 7, i);
        queue_put(&many.queue[0][i], &many.queue[1][i], i);
        uint64_t found = port->cold_found;
        sn_port_lock(port);
        assert_true(port->effort != 0);
        port->thread_looks = true;
        for (uint64_t looked = 0; looked <= port->reg_lines; looked += SN_LOOK_LINES)
            sn_port_turn_locked(port);
        port->thread_looks = false;
        sn_port_unlock(port);
        assert_int_equal(port->cold_found - found, 1);
        for (unsigned turns = 0; queue_poll(&many.queue[0][i]) == 0; turns++) {
            assert_true(turns < 100000);
            sn_port_run(port);
        }
    }
}

/* So are those of whoever needs that all that was posted is under way (ibv_resize_cq). */
static void settling_is_full(void **state)
{
    struct sn_port *port = many.port;

    (void)state;
    for (unsigned i = 113; i < PAIRS; i += 97) {
        queue_put(&many.queue[0][i], &many.queue[1][i], i);
        sn_port_lock(port);
        sn_port_settle_locked(port);
        sn_port_unlock(port);
        assert_int_equal(queue_poll(&many.queue[0][i]), 1);
    }
}

static void hundred_thousand_keys(void **state)
{
    struct sn_nic *nic = many.nic[1];
    uint32_t *key = calloc(KEYS, sizeof(*key));
    uint64_t begun = clock_ns(), found_ns, destroy_ns;
    struct sn_mkey_attr attr = {
        .pdn = many.pdn[1], .access = SN_ACCESS_REMOTE_WRITE, .span = {.addr = many.queue[1][0].data, .length = 8}};

    (void)state;
    assert_non_null(key);
    for (uint32_t i = 0; i < KEYS; i++) {
        attr.iova = (uint64_t)i << 20;
        assert_int_equal(sn_mkey_create(nic, &attr, &key[i]), 0);
    }
    print_message("%u keys: created in %.0f ns each", KEYS, (double)(clock_ns() - begun) / KEYS);
    begun = clock_ns();
    for (uint32_t i = 0; i < KEYS; i++) {
        const struct sn_mkey *k = sn_mkey_find(&nic->mkeys, key[i]);
        assert_true(k != NULL && k->iova == (uint64_t)i << 20); /* unique, too: no other key has this address */
    }
    found_ns = clock_ns() - begun;
    begun = clock_ns();
    for (uint32_t i = 0; i < KEYS; i += 2)
        assert_int_equal(sn_mkey_destroy(nic, key[i]), 0);
    destroy_ns = clock_ns() - begun;
    for (uint32_t i = 0; i < KEYS; i++)
        assert_true((sn_mkey_find(&nic->mkeys, key[i]) != NULL) == (i % 2 != 0));
    assert_true(nic->mkeys.mask < 8 * KEYS); /* the table grows with what is in it, not with what was */
    for (uint32_t i = 1; i < KEYS; i += 2)
        assert_int_equal(sn_mkey_destroy(nic, key[i]), 0);
    print_message(", found in %.0f ns, destroyed in %.0f ns\n", (double)found_ns / KEYS, (double)destroy_ns * 2 / KEYS);
    free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_queue_works),     cmocka_unit_test(idle_queues_have_no_timer),
        cmocka_unit_test(busy_queue_takes_the_same_turns), cmocka_unit_test(cold_doorbell_among_busy),
        cmocka_unit_test(looks_before_sleep_are_full), cmocka_unit_test(settling_is_full), cmocka_unit_test(hundred_thousand_keys),
    };

    return cmocka_run_group_tests(tests, open_many, close_many);
}
