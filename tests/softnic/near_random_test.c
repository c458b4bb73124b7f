/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs of WQEs, most of them with hostile ones, played the short way (transport/near.c) and, under a tap that
 * passes everything, the long way; each must leave the same behind (near_program.h).
 */
#include "near_program.h"

enum { GROUPS = 60, PROGRAMS = 50 }; /* programs of a group share a world, one after the other */

static unsigned bursts; /* that a tap saw */
static uint64_t current;

static int pass_on(void *arg, const struct sn_burst *b)
{
    (void)arg;
    (void)b;
    bursts++;
    return SN_TAP_PASS;
}

static void pass_time(void *arg, uint64_t ns)
{
    struct world *w = arg;

    if (ns == 0)
        world_run(w);
    else
        world_pass(w, ns, ns > 10000000 ? ns / 20 : 1000000);
}

static struct near_log *play(uint64_t group, bool tapped)
{
    struct near_log *log = NULL;
    struct options o;
    struct world w;
    struct end a, b;
    struct near_pair pair = {.a = &a, .b = &b, .pass = pass_time, .arg = &w};

    near_options(group, &o);
    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    end_open(&b, &w, 1, &o);
    if (tapped)
        sn_port_set_tap(w.port, pass_on, NULL);
    for (uint64_t i = 0; i < PROGRAMS; i++)
        log = near_play(log, group * PROGRAMS + i, &pair);
    end_close(&a);
    end_close(&b);
    world_close(&w);
    return log;
}

static void hostile_programs(void **state)
{
    static const uint8_t syndromes[] = {SN_SYND_LOCAL_LENGTH, SN_SYND_LOCAL_QP_OP,  SN_SYND_LOCAL_PROT,
                                        SN_SYND_FLUSH,        SN_SYND_REMOTE_ACCESS, SN_SYND_REMOTE_INVALID,
                                        SN_SYND_RNR_EXCEEDED};
    const struct near_range range = near_groups(GROUPS);
    unsigned good = 0, bad[sizeof(syndromes)] = {0};

    (void)state;
    for (current = range.first; current < range.end; current++) {
        bursts = 0;
        struct near_log *longer = play(current, true);
        assert_true(bursts != 0);
        struct near_log *shorter = play(current, false);
        near_compare(longer, shorter);
        good += near_count(shorter, SN_SYND_OK);
        for (unsigned i = 0; i < sizeof(syndromes); i++)
            bad[i] += near_count(shorter, syndromes[i]);
        near_log_free(longer);
        near_log_free(shorter);
    }
    if (range.end - range.first < GROUPS)
        return;
    assert_true(good > 10000); /* programs that fail at once would agree, too */
    for (unsigned i = 0; i < sizeof(syndromes); i++)
        if (bad[i] < 10)
            fail_msg("syndrome 0x%02x came %u times only", syndromes[i], bad[i]);
}

/* Runs after a failure too. */
static int say_group(void **state)
{
    (void)state;
    print_message("  last group: %llu\n", (unsigned long long)current);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(hostile_programs, say_group)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
