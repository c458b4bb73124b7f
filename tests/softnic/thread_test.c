/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port's own thread, producers on other threads, control calls meanwhile. Under TSan this shows that ordering between
 * a producer, the engine and a consumer is expressed; verdicts do not depend on timing.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "harness.h"

enum { THREADS = 3, PUTS = 3000 };

struct producer {
    struct end *e;
    bool drive; /* runs the port while it waits */
    pthread_t thread;
};

static void *produce(void *arg)
{
    struct producer *p = arg;
    struct end *e = p->e;

    for (uint32_t k = 0; k < PUTS; k++) {
        struct wr wr = wr_write(e, e, 0, 4096, 64);
        fill(e->mem, 64, k);
        uint32_t i = post(e, &wr);
        sn_port_wake(e->w->port);
        const struct sn_cqe64 *c;
        while ((c = next_cqe(e)) == NULL)
            if (!p->drive || sn_port_run(e->w->port) <= 0)
                sched_yield();
        assert_int_equal(cqe_opcode(c), SN_CQE_REQ);
        assert_int_equal(sn_get16(c->wqe_counter), i & 0xffff);
        assert_memory_equal(e->mem, e->mem + 4096, 64);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct world w = {0};
    struct sn_port_config config = {0};
    struct end e[THREADS];
    struct producer p[THREADS];
    (void)state;

    assert_int_equal(sn_port_create(&config, &w.port), 0);
    sn_port_lock(w.port);
    for (int i = 0; i < 2; i++) {
        struct sn_nic_config nic = {.name = "softnic", .gid_count = 1, .slot = (uint8_t)(i + 1), .seed = 7u + (unsigned)i};
        nic.gid[0][15] = (uint8_t)(i + 1);
        assert_int_equal(sn_nic_create(w.port, &nic, &w.nic[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        end_open(&e[i], &w, i & 1, &defaults);
        ends_connect(&e[i], &e[i]);
    }
    sn_port_unlock(w.port);
    for (int i = 0; i < THREADS; i++) {
        p[i] = (struct producer){.e = &e[i], .drive = i == 1};
        assert_int_equal(pthread_create(&p[i].thread, NULL, produce, &p[i]), 0);
    }
    for (int k = 0; k < 300; k++) { /* control calls beside all that */
        struct end extra;
        sn_port_lock(w.port);
        uint32_t key = end_key(&e[0], e[0].mem, 4096, 0, SN_ACCESS_LOCAL_WRITE);
        assert_int_equal(sn_mkey_destroy(e[0].nic, key), 0);
        if (k % 10 == 0) {
            end_open(&extra, &w, 0, &defaults);
            ends_connect(&extra, &extra);
            end_close(&extra);
        }
        sn_port_unlock(w.port);
        sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(p[i].thread, NULL);
    sn_port_lock(w.port);
    for (int i = 0; i < THREADS; i++)
        end_close(&e[i]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sn_nic_destroy(w.nic[i]), 0);
    sn_port_unlock(w.port);
    sn_port_destroy(w.port);
}

/* The thread goes to sleep and is woken, with and without sn_port_wake. */
static void test_sleep(void **state)
{
    struct world w = {0};
    struct sn_port_config config = {0};
    struct sn_nic_config nic = {.name = "softnic", .gid_count = 1, .slot = 9};
    struct end e;
    (void)state;

    nic.gid[0][15] = 1;
    assert_int_equal(sn_port_create(&config, &w.port), 0);
    sn_port_lock(w.port);
    assert_int_equal(sn_nic_create(w.port, &nic, &w.nic[0]), 0);
    end_open(&e, &w, 0, &defaults);
    ends_connect(&e, &e);
    sn_port_unlock(w.port);
    for (int k = 0; k < 60; k++) {
        struct timespec rest = {.tv_nsec = k % 6 * 1000000};
        struct wr wr = wr_write(&e, &e, 0, 4096, 8);
        nanosleep(&rest, NULL);
        uint32_t i = post(&e, &wr);
        if (k & 1)
            sn_port_wake(w.port);
        const struct sn_cqe64 *c;
        while ((c = next_cqe(&e)) == NULL)
            sched_yield();
        assert_int_equal(sn_get16(c->wqe_counter), i & 0xffff);
    }
    sn_port_lock(w.port);
    end_close(&e);
    assert_int_equal(sn_nic_destroy(w.nic[0]), 0);
    sn_port_unlock(w.port);
    sn_port_destroy(w.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads), cmocka_unit_test(test_sleep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
