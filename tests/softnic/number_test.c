/* SPDX-License-Identifier: Apache-2.0 */
/* Where connections are managed, the number of a queue pair that has gone does not come again within time-wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "harness.h"
#include "softnic/engine.h"

enum { REST = 4096, TIMES = 3 * REST };

static void receive(void *arg, struct sn_nic *nic, const struct sn_gsi_mad *mad)
{
    (void)arg;
    (void)nic;
    (void)mad;
}

/* How many of the numbers were one of the last REST before. */
static unsigned come_again(struct sn_nic *nic)
{
    static uint32_t last[65536]; /* when it was used, from 1 */
    unsigned again = 0;

    memset(last, 0, sizeof(last));
    for (uint32_t i = 1; i <= TIMES; i++) {
        uint32_t qpn;
        assert_int_equal(sn_number_pick(nic, &qpn), 0);
        assert_int_equal(qpn >> 16, nic->config.slot);
        again += last[qpn & 0xffff] != 0 && i - last[qpn & 0xffff] <= REST;
        last[qpn & 0xffff] = i;
        sn_number_gone(nic, qpn);
    }
    return again;
}

static void numbers_rest(void **state)
{
    const struct sn_gsi_user user = {.receive = receive};
    struct world w;
    (void)state;

    world_open(&w, &defaults);
    assert_true(come_again(w.nic[0]) > 100); /* nobody manages connections: any number that is free */
    assert_int_equal(sn_nic_set_gsi(w.nic[0], &user), 0);
    assert_int_equal(come_again(w.nic[0]), 0);
    world_close(&w);
}

/* Through the door: queue pairs that come and go. */
static void queue_pairs_rest(void **state)
{
    const struct sn_gsi_user user = {.receive = receive};
    static bool seen[65536];
    struct world w;
    (void)state;

    world_open(&w, &defaults);
    assert_int_equal(sn_nic_set_gsi(w.nic[0], &user), 0);
    for (unsigned i = 0; i < 1500; i++) { /* by chance some seventeen would come again */
        struct end e;
        end_open(&e, &w, 0, &defaults);
        assert_false(seen[e.qpn & 0xffff]);
        seen[e.qpn & 0xffff] = true;
        end_close(&e);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_rest),
        cmocka_unit_test(queue_pairs_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
