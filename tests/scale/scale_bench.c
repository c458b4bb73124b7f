/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What connected queues cost whom, as their number grows. For each number of queue pairs, one line of JSON:
 *   busy    latency of puts on one queue while all others are idle; the poster drives the port
 *   cold    from the store to a register that was never rung before to its completion, by another thread, while the first
 *           keeps the port busy
 *   clock   the same by one thread, which drives the port and puts on the busy queue meanwhile: from the store to the
 *           completion; clock_cpu: the same in the thread's CPU time, which is without the scheduler's share
 *   idle    CPU time of the port's thread while nobody does anything, and beside it that of a thread that only sleeps
 *   create, connect, destroy   a queue pair with its completion queue and register
 *     scale_bench PAIRS...
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"

enum { BUSY_PUTS = 50000, COLD_PUTS = 400, IDLE_NS = 1500000000 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double percentile(uint64_t *v, unsigned n, double p)
{
    qsort(v, n, sizeof(*v), by_value);
    return n == 0 ? 0 : (double)v[(unsigned)(p * (n - 1))] / 1e3;
}

/* One put, driven by the caller. */
static void put_and_wait(struct cluster *c, unsigned i, uint64_t value)
{
    queue_put(&c->queue[0][i], &c->queue[1][i], value);
    while (queue_poll(&c->queue[0][i]) == 0)
        sn_port_run(c->port);
}

static void measure_busy(struct cluster *c)
{
    static uint64_t v[BUSY_PUTS];

    for (unsigned i = 0; i < 1000; i++)
        put_and_wait(c, 0, i);
    for (unsigned i = 0; i < BUSY_PUTS; i++) {
        uint64_t begun = clock_ns();
        put_and_wait(c, 0, i);
        v[i] = clock_ns() - begun;
    }
    printf("\"busy_p50_us\": %.3f, \"busy_p99_us\": %.3f, ", percentile(v, BUSY_PUTS, 0.5), percentile(v, BUSY_PUTS, 0.99));
}

struct cold {
    struct cluster *c;
    atomic_bool over;
    uint64_t v[COLD_PUTS];
    unsigned count;
};

/* Queues that nobody has rung before, one after the other; nobody wakes or drives anything here. */
static void *ring_cold(void *arg)
{
    struct cold *x = arg;
    unsigned step = x->c->pairs > COLD_PUTS ? x->c->pairs / COLD_PUTS : 1;

    for (unsigned i = 1; i < x->c->pairs && x->count < COLD_PUTS; i += step) {
        struct queue *q = &x->c->queue[0][i];
        uint64_t begun = clock_ns();
        queue_put(q, &x->c->queue[1][i], i);
        while (queue_poll(q) == 0)
            ;
        x->v[x->count++] = clock_ns() - begun;
    }
    atomic_store(&x->over, true);
    return NULL;
}

static void measure_cold(struct cluster *c)
{
    static struct cold x;
    pthread_t thread;

    x.c = c;
    x.count = 0;
    atomic_store(&x.over, false);
    if (pthread_create(&thread, NULL, ring_cold, &x) != 0)
        return;
    for (uint64_t i = 0; !atomic_load(&x.over); i++)
        put_and_wait(c, 0, i);
    pthread_join(thread, NULL);
    printf("\"cold_count\": %u, \"cold_p50_us\": %.3f, \"cold_p99_us\": %.3f, \"cold_max_us\": %.3f, ", x.count,
           percentile(x.v, x.count, 0.5), percentile(x.v, x.count, 0.99), percentile(x.v, x.count, 1));
}

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Whoever waits for a cold queue drives; between two looks at it, it puts once on the busy one. */
static void measure_clock(struct cluster *c)
{
    static uint64_t v[COLD_PUTS], cpu[COLD_PUTS];
    unsigned count = 0, step = c->pairs > COLD_PUTS ? c->pairs / COLD_PUTS : 1;

    /* Those between the ones that ring_cold has taken, where there are any. */
    for (unsigned i = 1 + step / 2; i < c->pairs && count < COLD_PUTS; i += step) {
        struct queue *q = &c->queue[0][i];
        for (unsigned k = 0; k < 300; k++) /* at any point of the sweep */
            put_and_wait(c, 0, k + clock_ns() % 7);
        uint64_t used = cpu_ns(CLOCK_THREAD_CPUTIME_ID), begun = clock_ns();
        queue_put(q, &c->queue[1][i], i);
        while (queue_poll(q) == 0)
            put_and_wait(c, 0, i);
        v[count] = clock_ns() - begun;
        cpu[count++] = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - used;
    }
    printf("\"clock_count\": %u, \"clock_p50_us\": %.3f, \"clock_p99_us\": %.3f, \"clock_max_us\": %.3f, ", count,
           percentile(v, count, 0.5), percentile(v, count, 0.99), percentile(v, count, 1));
    printf("\"clock_cpu_p99_us\": %.3f, \"clock_cpu_max_us\": %.3f, ", percentile(cpu, count, 0.99), percentile(cpu, count, 1));
}

static double naps(void)
{
    struct timespec nap = {0, 1000000};
    uint64_t begun = clock_ns(), used = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

    while (clock_ns() - begun < IDLE_NS / 3)
        nanosleep(&nap, NULL);
    return 100.0 * (double)(cpu_ns(CLOCK_THREAD_CPUTIME_ID) - used) / (double)(clock_ns() - begun);
}

static int measure_idle(unsigned pairs)
{
    struct sn_port_config config = {0};
    struct timespec settle = {0, 100000000}, whole = {IDLE_NS / 1000000000, IDLE_NS % 1000000000};
    struct cluster c;
    uint64_t begun, used;
    double before, percent;
    int ret = cluster_open(&c, pairs, &config);

    if (ret != 0)
        return ret;
    nanosleep(&settle, NULL);
    before = naps();
    begun = clock_ns();
    used = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    nanosleep(&whole, NULL);
    percent = 100.0 * (double)(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - used) / (double)(clock_ns() - begun);
    printf("\"idle_percent\": %.3f, \"idle_floor_before\": %.3f, \"idle_floor_after\": %.3f, ", percent, before, naps());
    cluster_close(&c);
    return 0;
}

static int measure(unsigned pairs)
{
    struct sn_port_config config = {.no_thread = true};
    struct cluster c;
    uint64_t begun;
    int ret = cluster_open(&c, pairs, &config);

    if (ret != 0)
        return ret;
    printf("{\"pairs\": %u, \"create_us\": %.3f, \"connect_us\": %.3f, ", pairs, (double)c.create_ns / 2e3 / pairs,
           (double)c.connect_ns / 2e3 / pairs);
    measure_busy(&c);
    measure_clock(&c);
    measure_cold(&c);
    ret = measure_idle(pairs);
    begun = clock_ns();
    cluster_close(&c);
    printf("\"destroy_us\": %.3f}\n", (double)(clock_ns() - begun) / 2e3 / pairs);
    fflush(stdout);
    return ret;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        long pairs = strtol(argv[i], NULL, 10);
        int ret = pairs < 1 || pairs > 30000 ? -1 : measure((unsigned)pairs);

        if (ret != 0) {
            fprintf(stderr, "scale_bench: %s queue pairs: %s\n", argv[i], ret == -1 ? "1 to 30000" : strerror(-ret));
            return 1;
        }
    }
    return 0;
}
