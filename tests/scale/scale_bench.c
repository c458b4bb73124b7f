/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What connected queues cost whom, as their number grows. All sizes exist at once and are measured in turn, round after
 * round: on a machine whose speed changes from one second to the next nothing else can be compared. One line of JSON each:
 *   busy    latency of puts on one queue while all others are idle; the poster drives the port. busy_ratio: of each round
 *           the median as a ratio to the first size's in that round; of these the median
 *   clock   from the store to a register that was not rung lately to its completion, by the thread which drives the port and
 *           puts on the busy queue meanwhile. clock_smooth: without those during
 *           which a thread concerned stood still for more than 50 us between two looks, which no NIC answers for
 *   cold    the same by another thread, which waits, while the first keeps the port busy; each is bound to a CPU of its
 *           own, since else the scheduler may have one wait behind the other for a whole time slice
 *   idle    CPU time of the port's thread while nobody does anything, and beside it that of a thread that only sleeps
 *   create, connect, destroy   a queue pair with its completion queue and register
 *     scale_bench PAIRS...
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster.h"

enum {
    SIZES = 16,
    ROUNDS = 100,
    WARM = 3000, /* puts of a round that do not count: what was rung in the round before is no longer among the hot ones */
    PUTS = 1500,
    PROBES = 4,  /* first doorbells of a round, by each of the two ways */
    APART = 300, /* puts between two of them, so that they come at any point of the sweep */
    STILL_NS = 50000, /* a put in one process takes less, whatever it sweeps */
    IDLE_NS = 1500000000
};

struct probes {
    uint64_t ns[ROUNDS * PROBES];
    uint64_t smooth[ROUNDS * PROBES];
    unsigned count, smooth_count;
};

struct size {
    struct cluster c;
    unsigned next; /* queue to ring first */
    uint64_t busy[ROUNDS * PUTS], mid[ROUNDS], ratio[ROUNDS];
    struct probes clock, cold;
};

static struct size *sizes;
static unsigned count;

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

/* ---- processors ------------------------------------------------------------------------------------------------------ */

static cpu_set_t all_cpus;

static int cpu_of(unsigned n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all_cpus) && n-- == 0)
            return cpu;
    return -1;
}

static void bind_to(unsigned n)
{
    cpu_set_t one;

    if (cpu_of(n) < 0)
        return; /* one CPU only: then there is nothing to choose */
    CPU_ZERO(&one);
    CPU_SET(cpu_of(n), &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

/* ---- latencies ------------------------------------------------------------------------------------------------------- */

/* One put, driven by the caller. */
static void put_and_wait(struct cluster *c, unsigned i, uint64_t value)
{
    queue_put(&c->queue[0][i], &c->queue[1][i], value);
    while (queue_poll(&c->queue[0][i]) == 0)
        sn_port_run(c->port);
}

static void busy_round(struct size *s, unsigned round)
{
    for (unsigned i = 0; i < WARM; i++)
        put_and_wait(&s->c, 0, i);
    for (unsigned i = 0; i < PUTS; i++) {
        uint64_t begun = clock_ns();
        put_and_wait(&s->c, 0, i);
        s->busy[round * PUTS + i] = clock_ns() - begun;
    }
    s->mid[round] = (uint64_t)(percentile(s->busy + (size_t)round * PUTS, PUTS, 0.5) * 1e3);
}

static unsigned probes_of(const struct size *s)
{
    return s->c.pairs - 1 < PROBES ? s->c.pairs - 1 : PROBES;
}

/* Another queue than the busy one: one that was never rung while there are such, else the one whose turn is longest ago. */
static unsigned cold_queue(struct size *s)
{
    unsigned step = s->c.pairs / (2 * PROBES * ROUNDS) + 1;

    s->next += step;
    if (s->next >= s->c.pairs)
        s->next = 1;
    return s->next;
}

static void note(struct probes *p, uint64_t ns, uint64_t still)
{
    p->ns[p->count++] = ns;
    if (still < STILL_NS)
        p->smooth[p->smooth_count++] = ns;
}

/* Whoever waits for a cold queue drives; between two looks at it, it puts once on the busy one. */
static void clock_round(struct size *s)
{
    for (unsigned k = 0; k < probes_of(s); k++) {
        unsigned i = cold_queue(s);
        struct queue *q = &s->c.queue[0][i];
        uint64_t begun, now, last, still = 0;

        for (unsigned n = APART + clock_ns() % APART; n != 0; n--)
            put_and_wait(&s->c, 0, n);
        begun = now = clock_ns();
        queue_put(q, &s->c.queue[1][i], i);
        while (queue_poll(q) == 0) {
            put_and_wait(&s->c, 0, k);
            last = now;
            now = clock_ns();
            still = now - last > still ? now - last : still;
        }
        last = now;
        now = clock_ns();
        note(&s->clock, now - begun, now - last > still ? now - last : still);
    }
}

static struct {
    sem_t go;
    _Atomic(struct size *) size; /* NULL: the end */
    atomic_bool over;
    atomic_ullong still; /* ns: the driver's longest time between two puts since this was 0 */
} ringer;

/* Rings, and waits for the completion; nobody wakes or drives anything here. */
static void ring_once(struct size *s)
{
    unsigned i = cold_queue(s);
    struct queue *q = &s->c.queue[0][i];
    uint64_t begun = clock_ns(), now, last, still = 0;

    while (clock_ns() - begun < 20000 + begun % 32768) /* a time that the sweep does not know */
        ;
    atomic_store(&ringer.still, 0);
    begun = now = clock_ns();
    queue_put(q, &s->c.queue[1][i], i);
    do {
        last = now;
        now = clock_ns();
        still = now - last > still ? now - last : still;
    } while (queue_poll(q) == 0);
    last = now;
    now = clock_ns();
    still = now - last > still ? now - last : still;
    uint64_t took = now - begun;
    last = clock_ns();
    while (clock_ns() - last < 2000) /* the driver's last put is over, and in its account */
        ;
    uint64_t driver = atomic_load(&ringer.still);
    note(&s->cold, took, driver > still ? driver : still);
}

static void *ring_cold(void *unused)
{
    (void)unused;
    bind_to(1);
    for (;;) {
        while (sem_wait(&ringer.go) != 0)
            ;
        struct size *s = atomic_load(&ringer.size);
        if (s == NULL)
            return NULL;
        for (unsigned k = 0; k < probes_of(s); k++)
            ring_once(s);
        atomic_store(&ringer.over, true);
    }
}

static void cold_round(struct size *s)
{
    uint64_t last = clock_ns();

    atomic_store(&ringer.over, false);
    atomic_store(&ringer.size, s);
    sem_post(&ringer.go);
    for (uint64_t i = 0; !atomic_load(&ringer.over); i++) {
        put_and_wait(&s->c, 0, i);
        uint64_t now = clock_ns();
        if (now - last > atomic_load_explicit(&ringer.still, memory_order_relaxed))
            atomic_store(&ringer.still, now - last);
        last = now;
    }
}

static int measure_latencies(void)
{
    pthread_t thread;

    sem_init(&ringer.go, 0, 0);
    if (pthread_create(&thread, NULL, ring_cold, NULL) != 0)
        return -EAGAIN;
    bind_to(0);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned k = 0; k < count; k++) {
            busy_round(&sizes[k], round);
            clock_round(&sizes[k]);
            cold_round(&sizes[k]);
            sizes[k].ratio[round] = sizes[k].mid[round] * 1000000 / sizes[0].mid[round];
        }
    atomic_store(&ringer.size, NULL);
    sem_post(&ringer.go);
    pthread_join(thread, NULL);
    (void)sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
    return 0;
}

static void report_probes(const char *name, struct probes *p)
{
    printf("\"%s_count\": %u, \"%s_p50_us\": %.3f, \"%s_p99_us\": %.3f, \"%s_max_us\": %.3f, ", name, p->count, name,
           percentile(p->ns, p->count, 0.5), name, percentile(p->ns, p->count, 0.99), name, percentile(p->ns, p->count, 1));
    printf("\"%s_still\": %u, \"%s_smooth_p99_us\": %.3f, \"%s_smooth_max_us\": %.3f, ", name, p->count - p->smooth_count, name,
           percentile(p->smooth, p->smooth_count, 0.99), name, percentile(p->smooth, p->smooth_count, 1));
}

static void report_busy(struct size *s)
{
    printf("\"busy_p50_us\": %.3f, \"busy_p99_us\": %.3f, ", percentile(s->mid, ROUNDS, 0.5),
           percentile(s->busy, ROUNDS * PUTS, 0.99));
    printf("\"busy_ratio\": %.3f, \"busy_ratio_p90\": %.3f, ", percentile(s->ratio, ROUNDS, 0.5) / 1e3,
           percentile(s->ratio, ROUNDS, 0.9) / 1e3);
}

/* ---- idle ------------------------------------------------------------------------------------------------------------ */

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
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

/* ---- all ------------------------------------------------------------------------------------------------------------- */

static int report(struct size *s)
{
    unsigned pairs = s->c.pairs;

    printf("{\"pairs\": %u, \"create_us\": %.3f, \"connect_us\": %.3f, ", pairs, (double)s->c.create_ns / 2e3 / pairs,
           (double)s->c.connect_ns / 2e3 / pairs);
    report_busy(s);
    report_probes("clock", &s->clock);
    report_probes("cold", &s->cold);
    uint64_t begun = clock_ns();
    cluster_close(&s->c);
    printf("\"destroy_us\": %.3f, ", (double)(clock_ns() - begun) / 2e3 / pairs);
    int ret = measure_idle(pairs);
    printf("\"cpus\": %d}\n", CPU_COUNT(&all_cpus));
    fflush(stdout);
    return ret;
}

static int measure(const unsigned *pairs)
{
    struct sn_port_config config = {.no_thread = true};
    unsigned opened = 0;
    int ret = 0;

    while (ret == 0 && opened < count) {
        ret = cluster_open(&sizes[opened].c, pairs[opened], &config);
        opened += ret == 0;
    }
    if (ret == 0)
        ret = measure_latencies();
    while (opened != 0 && ret != 0)
        cluster_close(&sizes[--opened].c);
    for (unsigned k = 0; k < count && ret == 0; k++)
        ret = report(&sizes[k]);
    return ret;
}

int main(int argc, char **argv)
{
    unsigned pairs[SIZES];

    (void)sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
    for (int i = 1; i < argc; i++) {
        long n = strtol(argv[i], NULL, 10);
        if (n < 2 || n > 30000 || count == SIZES) {
            fprintf(stderr, "scale_bench: %s queue pairs: 2 to 30000, and %d numbers at most\n", argv[i], (int)SIZES);
            return 1;
        }
        pairs[count++] = (unsigned)n;
    }
    sizes = calloc(SIZES, sizeof(*sizes));
    int ret = sizes == NULL ? -ENOMEM : measure(pairs);
    if (ret != 0)
        fprintf(stderr, "scale_bench: %s\n", strerror(-ret));
    free(sizes);
    return ret != 0;
}
