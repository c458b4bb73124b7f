/* SPDX-License-Identifier: Apache-2.0 */
/* The whole: creation, the loop, what is checked at the end. */
#include "sim/sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sim/internal.h"

/* ---- services to the parts ------------------------------------------------------------------------------------------ */

void sim_at(struct sim *sim, uint64_t time, void (*fire)(void *object, uint64_t arg), void *object, uint64_t arg)
{
    if (sim_heap_push(&sim->heap, (struct sim_event){.time = time, .fire = fire, .object = object, .arg = arg}) != 0)
        sim->error = -ENOMEM;
}

void sim_trace(struct sim *sim, uint64_t a, uint64_t b)
{
    sim->r.hash = sim_mix(sim->r.hash ^ sim_mix(a + sim->now) ^ b * 0x9e3779b97f4a7c15ull);
}

void sim_violation(struct sim *sim, const char *format, ...)
{
    char *out = sim->r.violations < SIM_VIOLATIONS_KEPT ? sim->r.violation[sim->r.violations] : NULL;
    int n;
    va_list args;

    sim->r.violations++;
    if (out == NULL)
        return;
    n = snprintf(out, SIM_VIOLATION_SIZE, "%llu.%03u us: ", (unsigned long long)(sim->now / 1000), (unsigned)(sim->now % 1000));
    va_start(args, format);
    vsnprintf(out + n, SIM_VIOLATION_SIZE - (size_t)n, format, args);
    va_end(args);
}

void sim_latency_add(struct sim *sim, uint64_t ns)
{
    if (sim->latencies == sim->latency_room) {
        size_t room = sim->latency_room == 0 ? 1024 : sim->latency_room * 2;
        uint64_t *latency = realloc(sim->latency, room * sizeof(*latency));
        if (latency == NULL) {
            sim->error = -ENOMEM;
            return;
        }
        sim->latency = latency;
        sim->latency_room = room;
    }
    sim->latency[sim->latencies++] = ns;
}

bool sim_plant_now(struct sim *sim, enum sim_plant plant)
{
    if (sim->sc.plant != plant || sim->planted || ++sim->plant_count != sim->sc.plant_nth)
        return false;
    sim->planted = true;
    return true;
}

static double seconds(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* ---- creation ------------------------------------------------------------------------------------------------------- */

/* Each NIC's registers are a memory file of its own. */
static int allow_files(uint32_t nics, char *why)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    if (limit.rlim_cur >= nics + 64u)
        return 0;
    if (limit.rlim_max < nics + 64u) {
        snprintf(why, SIM_WHY_SIZE, "%u NICs need as many open files, and this process may have %llu (ulimit -Hn)", nics,
                 (unsigned long long)limit.rlim_max);
        return -EMFILE;
    }
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return 0;
}

static uint32_t power_of_two(uint64_t n)
{
    uint32_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

/* Whether packets can arrive twice or not in order. */
static bool may_disorder(const struct sim_scenario *sc)
{
    bool disorder = sc->spray;

    for (uint32_t i = 0; i < sc->rules; i++)
        disorder |= sc->rule[i].p.duplicate != 0 || sc->rule[i].p.reorder != 0;
    for (uint32_t i = 0; i < sc->faults; i++)
        disorder |= sc->fault[i].kind == SIM_FAULT_DUPLICATE || sc->fault[i].kind == SIM_FAULT_DELAY;
    return disorder;
}

static void size_queues(struct sim *sim)
{
    uint64_t depth = 1, receives = 1, wrs = 1;

    for (uint32_t i = 0; i < sim->sc.workloads; i++) {
        const struct sim_workload *w = &sim->sc.workload[i];
        uint64_t most = w->depth < w->messages ? w->depth : w->messages; /* outstanding at a time */
        depth = most > depth ? most : depth;
        receives = w->receives > receives ? w->receives : receives;
        wrs = sim->sc.qp.service == SIM_UC && w->messages > wrs ? w->messages : wrs;
    }
    sim->depth = power_of_two(depth);
    sim->receives = power_of_two(receives);
    sim->wrs = power_of_two(wrs > depth ? wrs : depth);
    sim->disorder = may_disorder(&sim->sc);
}

static int copy_scenario(struct sim *sim, const struct sim_scenario *sc)
{
    sim->sc = *sc;
    sim->sc.cable = NULL;
    if (sc->cables == 0)
        return 0;
    sim->sc.cable = malloc(sc->cables * sizeof(*sc->cable));
    if (sim->sc.cable == NULL)
        return -ENOMEM;
    memcpy(sim->sc.cable, sc->cable, sc->cables * sizeof(*sc->cable));
    return 0;
}

static int create_parts(struct sim *sim, char *why)
{
    int ret = allow_files(sim->sc.nics, why);

    if (ret != 0)
        return ret;
    snprintf(why, SIM_WHY_SIZE, "no memory for %u NICs", sim->sc.nics);
    sim_large_pages(sim->sc.nics);
    sim->host = aligned_alloc(64, sim->sc.nics * sizeof(*sim->host));
    if (sim->host == NULL)
        return -ENOMEM;
    memset(sim->host, 0, sim->sc.nics * sizeof(*sim->host));
    for (uint32_t i = 0; ret == 0 && i < sim->sc.nics; i++)
        ret = sim_host_create(sim, i, why);
    if (ret == 0)
        ret = sim_network_create(sim, why);
    if (ret == 0)
        ret = sim_model_create(sim);
    if (ret == 0)
        ret = sim_lanes_create(sim);
    return ret;
}

int sim_create(const struct sim_scenario *sc, struct sim **out, char *why)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    double begin = seconds(CLOCK_MONOTONIC);
    int ret;

    if (sim == NULL) {
        snprintf(why, SIM_WHY_SIZE, "no memory");
        return -ENOMEM;
    }
    ret = copy_scenario(sim, sc);
    if (ret == 0) {
        sim->r.seed = sc->seed;
        sim->r.nics = sc->nics;
        size_queues(sim);
        ret = create_parts(sim, why);
    }
    if (ret != 0) {
        sim_destroy(sim);
        return ret;
    }
    sim->r.create_s = seconds(CLOCK_MONOTONIC) - begin;
    *out = sim;
    return 0;
}

void sim_capture(struct sim *sim, sim_capture_fn fn, void *arg, bool received)
{
    sim->capture[received] = fn;
    sim->capture_arg[received] = arg;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------- */

/* Asks the cache for what the next events will touch; each is a step nearer than it was. Step 0 as early as can be. */
static void expect(struct sim *sim)
{
    enum { APART = 6 /* events between steps: time for memory to answer */ };

    sn_asks_make_room(&sim->asks);
    for (unsigned step = 0; step < SIM_EXPECTS; step++) {
        const struct sim_event *e = sim_heap_ahead(&sim->heap, SIM_HEAP_AHEAD - 2 - APART * step);
        if (e == NULL)
            continue;
        if (e->fire == sim_packet_arrive)
            sim_packet_expect(sim, e->object, step);
        else if (e->fire == sim_host_wake)
            sim_host_expect(sim, e->object, step);
    }
}

static void loop(struct sim *sim)
{
    enum { FEW = 128 /* NICs that are in the cache anyway: with 100 of them it costs a fifth */ };

    while (sim->heap.count != 0 && sim->error == 0) {
        struct sim_event event = sim_heap_pop(&sim->heap);
        if (sim->heap.moved && sim->sc.nics > FEW)
            expect(sim);
        sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
        if (event.time > sim->sc.duration) {
            if (sim->conns_open != 0) /* otherwise it is a late timer: nobody's work */
                sim->now = sim->sc.duration;
            break;
        }
        sim->now = event.time;
        sim->r.events++;
        event.fire(event.object, event.arg);
    }
}

/* What is still at work when the time is over. */
static void tell_unfinished(struct sim *sim)
{
    uint32_t told = 0;

    if (sim->conns_open == 0)
        return;
    sim_violation(sim, "%llu connections are not over (the duration is %llu us)", (unsigned long long)sim->conns_open,
                  (unsigned long long)(sim->sc.duration / 1000));
    for (uint32_t h = 0; h < sim->sc.nics; h++)
        for (uint32_t i = 0; i < sim->host[h].ends && told < 4; i++) {
            const struct sim_end *end = &sim->host[h].end[i];
            if (end->conn == NULL || (end->settled == end->posted && end->conn->in_flight == 0))
                continue;
            sim_violation(sim, "nic%u QP 0x%x to nic%u: %llu of %llu requests posted, %llu completed, %u packets in flight", h,
                          end->qpn, end->peer->host->number, (unsigned long long)end->posted, (unsigned long long)end->goal,
                          (unsigned long long)end->settled, end->conn->in_flight);
            told++;
        }
}

static void tell_leaks(struct sim *sim)
{
    if (sim->conns_open != 0)
        return;
    for (uint32_t i = 0; i < sim->lanes; i++)
        if (sim->lane[i].step != sim->lane[i].steps) {
            sim_violation(sim, "nic%u opened %llu of %llu connections", sim->lane[i].host, (unsigned long long)sim->lane[i].step,
                          (unsigned long long)sim->lane[i].steps);
            break;
        }
    if (sim->pool.packets_out != 0 || sim->pool.bytes_out != 0)
        sim_violation(sim, "%llu packets and %llu payloads were never released", (unsigned long long)sim->pool.packets_out,
                      (unsigned long long)sim->pool.bytes_out);
    for (uint32_t h = 0; h < sim->sc.nics; h++)
        if (sn_port_next_deadline(sim->host[h].port) != UINT64_MAX)
            sim_violation(sim, "nic%u has a timer armed and no connection", h);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Nearest rank, `per_mille` of 1000. */
static uint64_t percentile(const struct sim *sim, uint64_t per_mille)
{
    size_t rank = (size_t)((sim->latencies * per_mille + 999) / 1000);

    return sim->latency[rank == 0 ? 0 : rank - 1];
}

static void summarize_latency(struct sim *sim)
{
    struct sim_latency *l = &sim->r.latency;
    double sum = 0;

    l->count = sim->latencies;
    if (l->count == 0)
        return;
    qsort(sim->latency, sim->latencies, sizeof(*sim->latency), by_value);
    for (size_t i = 0; i < sim->latencies; i++)
        sum += (double)sim->latency[i];
    l->mean = sum / (double)l->count;
    l->min = sim->latency[0];
    l->p50 = percentile(sim, 500);
    l->p90 = percentile(sim, 900);
    l->p99 = percentile(sim, 990);
    l->p999 = percentile(sim, 999);
    l->max = sim->latency[sim->latencies - 1];
}

int sim_run(struct sim *sim)
{
    double begin = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

    for (uint32_t i = 0; i < sim->lanes; i++)
        sim_lane_fill(sim, &sim->lane[i]);
    loop(sim);
    if (sim->error == 0) {
        tell_unfinished(sim);
        tell_leaks(sim);
        sim_model_check_noise(sim);
        for (uint32_t h = 0; h < sim->sc.nics; h++) {
            sim_host_shared_check(&sim->host[h]);
            sim_host_destroy(&sim->host[h]); /* now, so that what cannot be destroyed is told */
        }
    }
    sim->r.virtual_ns = sim->conns_open == 0 ? sim->last_close : sim->now; /* late timers are no work */
    sim->r.peak_events = sim->heap.peak;
    sim->r.plant = sim->sc.plant;
    sim->r.plant_nth = sim->sc.plant_nth;
    sim->r.plant_occasions = sim->plant_count;
    sim_trace(sim, sim->r.completed, sim->r.violations);
    summarize_latency(sim);
    sim->r.wall_s = seconds(CLOCK_MONOTONIC) - begin;
    sim->r.cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return sim->error;
}

const struct sim_result *sim_get_result(const struct sim *sim)
{
    return &sim->r;
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

void sim_destroy(struct sim *sim)
{
    if (sim == NULL)
        return;
    for (uint32_t i = 0; sim->host != NULL && i < sim->sc.nics; i++)
        sim_host_destroy(&sim->host[i]);
    sim_network_free(sim);
    sim_heap_free(&sim->heap);
    sim_blocks_free(sim);
    sim_pool_free(&sim->pool);
    sim_slabs_free(sim->conn_slabs);
    sn_inproc_destroy(&sim->bursts);
    free(sim->host);
    free(sim->lane);
    free(sim->noise);
    free(sim->latency);
    free(sim->sc.cable);
    free(sim);
}
