/* SPDX-License-Identifier: Apache-2.0 */
#include "floor.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/abi.h"
#include "stats.h"

#define PING_BATCH 1000
#define PING_BATCHES 21
#define SMALL_SPAN (64u << 10)
#define LARGE_SPAN (64u << 20)
#define FLAG_ROUNDS 2000
#define COPY_PASSES 1000
#define COPY_NS 20000000ull

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* ---- cache-line round trip ------------------------------------------------------------------------------------ */

struct ping {
    _Alignas(128) _Atomic uint32_t request;
    _Alignas(128) _Atomic uint32_t answer;
    int cpu;
};

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *answer_pings(void *arg)
{
    struct ping *p = arg;
    uint32_t total = PING_BATCH * PING_BATCHES;

    pin(p->cpu);
    for (uint32_t i = 1; i <= total; i++) {
        while (atomic_load_explicit(&p->request, memory_order_acquire) != i)
            ;
        atomic_store_explicit(&p->answer, i, memory_order_release);
    }
    return NULL;
}

static struct {
    bool known;
    int first, second;
} pinned; /* floor_pin has looked: the set of this thread is smaller now */

/* Two CPUs of this process's set; false if it has only one. */
static bool two_cpus(int *first, int *second)
{
    cpu_set_t set;
    int found = 0;

    if (pinned.known) {
        *first = pinned.first;
        *second = pinned.second;
        return true;
    }
    if (sched_getaffinity(0, sizeof(set), &set))
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (CPU_ISSET((size_t)cpu, &set))
            *(found++ ? second : first) = cpu;
    }
    return found == 2;
}

int floor_pin(int which)
{
    cpu_set_t set;

    if (!two_cpus(&pinned.first, &pinned.second))
        return -ENODEV;
    pinned.known = true;
    CPU_ZERO(&set);
    CPU_SET((size_t)(which == 0 ? pinned.first : pinned.second), &set);
    return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static double run_pings(struct ping *p)
{
    uint64_t samples[PING_BATCHES];
    struct stats s;
    uint32_t value = 0;

    for (int batch = 0; batch < PING_BATCHES; batch++) {
        uint64_t begun = now_ns();

        for (int i = 0; i < PING_BATCH; i++) {
            atomic_store_explicit(&p->request, ++value, memory_order_release);
            while (atomic_load_explicit(&p->answer, memory_order_acquire) != value)
                ;
        }
        samples[batch] = now_ns() - begun;
    }
    stats_compute(samples, PING_BATCHES, 1.0 / PING_BATCH, &s);
    return s.p50;
}

static double measure_round_trip(void)
{
    struct ping ping = {0};
    cpu_set_t before;
    pthread_t thread;
    int mine = 0;
    double ns;

    if (!two_cpus(&mine, &ping.cpu) || sched_getaffinity(0, sizeof(before), &before))
        return 0;
    if (pthread_create(&thread, NULL, answer_pings, &ping))
        return 0;
    pin(mine);
    ns = run_pings(&ping);
    pthread_join(thread, NULL);
    pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
    return ns;
}

/* ---- memcpy --------------------------------------------------------------------------------------------------- */

/* ns of one pass of 64 KiB copies over the span, repeated until a pass is long enough for the clock. */
static uint64_t copy_pass(char *to, const char *from, size_t span, unsigned repeat)
{
    uint64_t at = now_ns();

    for (unsigned turn = 0; turn < repeat; turn++) {
        for (size_t offset = 0; offset < span; offset += SMALL_SPAN) {
            memcpy(to + offset, from + offset, SMALL_SPAN);
            __asm__ volatile("" : : "r"(to) : "memory"); /* the copy is not dead */
        }
    }
    return now_ns() - at;
}

/*
 * Copies of 64 KiB inside a span, as messages of that size do; median of the passes of 20 ms, and of five at least.
 * The buffers are the halves of one page-aligned block, as the endpoints' are: where the destination lies a few bytes
 * beyond the source within a page, `rep movsb` (what memcpy uses for such lengths) is 20 times slower on some processors.
 */
static double measure_memcpy(size_t span)
{
    unsigned repeat = span > SMALL_SPAN ? 1 : 16, count = 0;
    char *block = aligned_alloc(4096, 2 * span);
    uint64_t samples[COPY_PASSES], begun;
    struct stats s;

    if (!block)
        return 0;
    memset(block, 1, 2 * span); /* every page is there */
    copy_pass(block + span, block, span, 1);
    begun = now_ns();
    while (count < COPY_PASSES && (count < 5 || now_ns() - begun < COPY_NS))
        samples[count++] = copy_pass(block + span, block, span, repeat);
    free(block);
    stats_compute(samples, count, 1.0, &s);
    return s.p50 > 0 ? (double)span * repeat / s.p50 : 0;
}

void floor_measure(struct floors *out)
{
    out->round_trip_ns = measure_round_trip();
    out->memcpy_64k_gbs = measure_memcpy(SMALL_SPAN);
    out->memcpy_64m_gbs = measure_memcpy(LARGE_SPAN);
}

const char *floor_placement(const struct floors *floors)
{
    if (floors->round_trip_ns <= 0)
        return "one CPU";
    return floors->round_trip_ns < 250 ? "near" : "far";
}

/* ---- CPU to GPU to CPU ------------------------------------------------------------------------------------------ */

static int play_flags(volatile uint64_t *flags, uint64_t *samples)
{
    for (uint64_t i = 1; i <= FLAG_ROUNDS; i++) {
        uint64_t begun = now_ns(), limit = begun + 2000000000ull;

        __atomic_store_n(&flags[0], i, __ATOMIC_RELEASE);
        while (__atomic_load_n(&flags[16], __ATOMIC_ACQUIRE) != i) {
            if (now_ns() > limit)
                return -ETIMEDOUT;
        }
        samples[i - 1] = now_ns() - begun;
    }
    return 0;
}

static int run_flags(const struct gdaki_kernels *k, void *stream, uint64_t *flags, struct gdaki_kernel_result *result,
                     struct floors *out)
{
    struct gdaki_kernel_args args = {.nqps = 1, .iterations = FLAG_ROUNDS, .timeout_ns = 1000000000ull, .flags = flags,
                                     .result = result};
    uint64_t *samples = calloc(FLAG_ROUNDS, sizeof(*samples));
    struct stats s;
    int rc, idle;

    if (!samples)
        return -ENOMEM;
    rc = k->launch(GDAKI_KERNEL_FLOOR_FLAG, 1, 1, &args, stream);
    if (!rc) {
        rc = play_flags(flags, samples);
        do
            idle = k->stream_query(stream); /* ends by itself: every wait of the kernel is bounded */
        while (idle == -EAGAIN);
        rc = rc ? rc : idle;
    }
    if (!rc) {
        stats_compute(samples + FLAG_ROUNDS / 10, FLAG_ROUNDS - FLAG_ROUNDS / 10, 1e-3, &s);
        out->flag_min_us = s.min;
        out->flag_p50_us = s.p50;
    }
    free(samples);
    return rc;
}

int floor_measure_flag(const struct gdaki_kernels *k, struct floors *out)
{
    void *stream = NULL, *flags = NULL, *result = NULL;
    int rc = k->host_alloc(4096, &flags);

    if (rc)
        return rc;
    memset(flags, 0, 4096);
    rc = k->host_alloc(sizeof(struct gdaki_kernel_result), &result);
    if (!rc) {
        memset(result, 0, sizeof(struct gdaki_kernel_result));
        rc = k->stream_create(&stream);
    }
    if (!rc)
        rc = run_flags(k, stream, flags, result, out);
    if (stream)
        k->stream_destroy(stream);
    if (result)
        k->host_free(result);
    k->host_free(flags);
    return rc;
}
