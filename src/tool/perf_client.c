/* SPDX-License-Identifier: Apache-2.0 */
/* The client's end: decides the rounds, runs the measured kernel, gathers and prints. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gdaki/info.h>

#include "info.h"
#include "perf_run.h"
#include "report.h"
#include "round.h"
#include "tool.h"

#define ROUND_BYTES (1ull << 30)   /* a round ends before a kernel runs for very long */
#define ROUND_MESSAGES (1ull << 18)
#define SAMPLES_MAX (4u << 20)

struct client {
    const struct perf_options *options;
    const struct perf_plan *plan;
    struct oob *oob;
    struct endpoint *ep;
    struct endpoint_address *remote;
    struct report report;
    uint64_t round_number;
    double tick_ns; /* of the longest kernel so far: the best measure */
    uint64_t tick_span_ns;
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static int send_plan(struct client *c)
{
    uint8_t payload[2048];
    struct oob_writer w = {.data = payload, .size = sizeof(payload), .ok = true};

    perf_plan_write(c->plan, &w);
    return oob_send(c->oob, OOB_HELLO, payload, w.used);
}

static int send_round(struct client *c, const struct round *round)
{
    uint8_t payload[64];
    struct oob_writer w = {.data = payload, .size = sizeof(payload), .ok = true};

    round_write(round, &w);
    return oob_send(c->oob, OOB_READY, payload, w.used);
}

static int receive_result(struct client *c, struct round_result *result)
{
    uint8_t payload[1200];
    struct oob_reader r = {.data = payload, .ok = true};
    int rc = oob_receive(c->oob, OOB_RESULT, payload, 1, sizeof(payload), &r.size);

    return rc ? rc : round_result_read(result, &r, c->oob->why);
}

/* One round at both ends; `mine` and `theirs` are filled. 0, or an exit code after giving up. */
static int run_round(struct client *c, const struct round *round, struct round_result *mine,
                     struct round_result *theirs)
{
    const char *label = parse_word_name(perf_tests, c->plan->test);
    int rc;

    memset(mine, 0, sizeof(*mine));
    if (round_prepare(c->ep, round, true))
        return perf_give_up(c->oob, c->ep->exit_code, c->ep->why);
    if (send_round(c, round) || oob_receive(c->oob, OOB_GO, NULL, 0, 0, NULL))
        return perf_give_up(c->oob, TOOL_FAILED, c->oob->why);
    rc = round_launch(c->ep, c->remote, round, true);
    if (!rc)
        rc = round_wait(c->ep, round, mine, label);
    if (rc)
        return perf_give_up(c->oob, c->ep->exit_code, c->ep->why);
    if (oob_send(c->oob, OOB_DONE, NULL, 0) || receive_result(c, theirs))
        return perf_lost_peer(c->oob, c->plan, round, mine);
    if (round_verify(c->ep, round, true, mine))
        return perf_give_up(c->oob, c->ep->exit_code, c->ep->why);
    if (mine->error || theirs->error) {
        char why[1200];

        snprintf(why, sizeof(why), "%s of %" PRIu64 " B failed: %s%s%s%s", label, round->size, mine->text,
                 mine->error && theirs->error ? "; " : "", theirs->error ? "peer: " : "", theirs->text);
        return perf_give_up(c->oob, TOOL_FAILED, why);
    }
    if (mine->done != round->iterations) {
        char why[160];

        snprintf(why, sizeof(why), "%s of %" PRIu64 " B: %" PRIu64 " of %" PRIu64 " messages completed", label,
                 round->size, mine->done, round->iterations);
        return perf_give_up(c->oob, TOOL_FAILED, why);
    }
    return 0;
}

static void keep_tick(struct client *c, const struct round_result *mine)
{
    if (mine->tick_span_ns >= c->tick_span_ns) {
        c->tick_span_ns = mine->tick_span_ns;
        c->tick_ns = mine->tick_ns;
    }
}

static void add_to_row(struct client *c, struct report_row *row, const struct round *round,
                       const struct round_result *mine, const struct round_result *theirs)
{
    uint64_t ways = c->plan->bidirectional ? 2 : 1;

    row->messages += mine->done * ways;
    row->bytes += mine->done * ways * round->size;
    row->elapsed_ns += c->plan->bidirectional && theirs->elapsed_ns > mine->elapsed_ns ? theirs->elapsed_ns
                                                                                       : mine->elapsed_ns;
    if (!row->wrong && (mine->wrong || theirs->wrong))
        row->first_wrong = mine->wrong ? mine->first_wrong : theirs->first_wrong;
    row->checked += mine->checked + theirs->checked;
    row->wrong += mine->wrong + theirs->wrong;
}

/* Messages of the next round: what is left, cut to a bearable length and to whole warps. */
static uint64_t next_iterations(const struct perf_plan *plan, uint64_t size, uint64_t wanted)
{
    uint64_t limit = ROUND_BYTES / size, n;

    if (limit > ROUND_MESSAGES)
        limit = ROUND_MESSAGES;
    if (!limit)
        limit = 1;
    n = wanted < limit ? wanted : limit;
    if (plan->scope == GDAKI_SCOPE_WARP)
        n = (n + 31) / 32 * 32;
    return n;
}

static struct round make_round(struct client *c, uint64_t size, uint64_t iterations, bool measured)
{
    struct round round = {.size = size, .iterations = next_iterations(c->plan, size, iterations), .measured = measured};

    round.seed = c->plan->seed + ++c->round_number * 0x9e3779b97f4a7c15ull;
    return round;
}

struct collected {
    uint64_t *samples;
    size_t count;
};

static int measure_rounds(struct client *c, struct report_row *row, struct collected *col)
{
    uint64_t begun = now_ns(), batch = c->plan->iterations, done = 0;
    int rc;

    for (;;) {
        struct round_result mine, theirs;
        struct round round = make_round(c, row->size, c->plan->duration_ns ? batch : c->plan->iterations - done, true);

        rc = run_round(c, &round, &mine, &theirs);
        if (rc)
            return rc;
        keep_tick(c, &mine);
        add_to_row(c, row, &round, &mine, &theirs);
        if (round_collect(c->ep, &col->samples, &col->count, SAMPLES_MAX))
            return perf_give_up(c->oob, c->ep->exit_code, c->ep->why);
        done += round.iterations;
        if (c->plan->duration_ns ? now_ns() - begun >= c->plan->duration_ns : done >= c->plan->iterations)
            return 0;
        if (mine.elapsed_ns < 250000000) /* longer rounds: less of the time goes into checking */
            batch = round.iterations * 2;
    }
}

/* Not in the figures, but checked as the others are. */
static int warm_up(struct client *c, struct report_row *row)
{
    int rc = 0;

    for (uint64_t done = 0; done < c->plan->warmup && !rc;) {
        struct round_result mine, theirs;
        struct round round = make_round(c, row->size, c->plan->warmup - done, false);

        rc = run_round(c, &round, &mine, &theirs);
        if (rc)
            break;
        done += round.iterations;
        keep_tick(c, &mine);
        if (!row->wrong && (mine.wrong || theirs.wrong))
            row->first_wrong = mine.wrong ? mine.first_wrong : theirs.first_wrong;
        row->checked += mine.checked + theirs.checked;
        row->wrong += mine.wrong + theirs.wrong;
    }
    return rc;
}

static int measure_size(struct client *c, uint32_t index)
{
    struct report_row *row = &c->report.rows[index];
    struct collected col = {0};
    int rc = 0;

    row->size = c->plan->sizes.size[index];
    if (!c->options->quiet)
        tool_note("%s: %" PRIu64 " B (size %u of %u)", parse_word_name(perf_tests, c->plan->test), row->size,
                  index + 1, c->plan->sizes.count);
    if (c->options->floor)
        floor_measure(&row->before);
    if (c->options->floor && !strcmp(c->ep->gpu_backend, "cuda") && floor_measure_flag(c->ep->kernels, &row->before))
        return perf_give_up(c->oob, TOOL_FAILED, c->ep->kernels->error_text());
    rc = warm_up(c, row);
    if (!rc)
        rc = measure_rounds(c, row, &col);
    if (!rc && c->options->floor)
        floor_measure(&row->after);
    stats_compute(col.samples, col.count, c->tick_ns * 1e-3 / (perf_test_is_ping(c->plan->test) ? 2 : 1),
                  &row->latency);
    free(col.samples);
    row->verdict = row->wrong ? REPORT_WRONG : c->plan->verify ? REPORT_VERIFIED : REPORT_NOT_CHECKED;
    return rc;
}

static const char *wire_name(const struct client *c, const char *nic)
{
    if (strcmp(nic, "softnic"))
        return c->ep->local.link == 1 ? "RoCEv2" : "InfiniBand";
    if (c->options->role == PERF_LOCAL)
        return "in process";
    const char *(*wire)(void) = (const char *(*)(void))info_softnic_symbol("softnic_wire_name");
    const char *name = wire ? wire() : "shm";
    return strcmp(name, "shm") ? name : "shared memory";
}

static void describe(struct client *c)
{
    struct report *r = &c->report;
    struct gdaki_choice nic;

    gdaki_nic_describe(&nic);
    r->options = c->options;
    r->gpu_backend = c->ep->gpu_backend;
    r->nic_backend = nic.name;
    r->wire = wire_name(c, nic.name);
    r->handler = c->ep->handler;
    r->queue_mem = c->ep->queue_mem;
    r->mtu = c->remote->mtu < c->ep->local.mtu ? c->remote->mtu : c->ep->local.mtu;
    memcpy(r->gpu_name, c->ep->gpu_name, sizeof(r->gpu_name));
    memcpy(r->nic_name, c->ep->nic_name, sizeof(r->nic_name));
}

/* The table goes to stdout unless another form of the results does. */
static FILE *table_stream(const struct perf_options *o)
{
    bool taken = (o->json && !strcmp(o->json, "-")) || (o->csv && !strcmp(o->csv, "-"));

    return taken ? stderr : stdout;
}

static double cpu_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* CPU time of a thread that only sleeps for 1 ms at a time, as long as `ns`, in percent of a core. */
static double naps_percent(uint64_t ns)
{
    struct timespec nap = {0, 1000000}, ts;
    uint64_t begun = now_ns(), used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    used = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
    while (now_ns() - begun < ns)
        nanosleep(&nap, NULL);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    used = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec - used;
    return 100 * (double)used / (double)(now_ns() - begun);
}

/* What connected queues cost when nobody uses them; with --local both ends' queues are in this process. */
static void stay_idle(struct client *c)
{
    uint64_t begun, ns = c->options->idle_ns;
    double used;
    struct timespec nap = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    if (!ns)
        return;
    usleep(100 * 1000); /* what setting up has started comes to rest */
    c->report.idle_floor_before = c->options->floor ? naps_percent(ns / 5) : 0;
    begun = now_ns();
    used = cpu_seconds();
    while (nanosleep(&nap, &nap) && errno == EINTR)
        ;
    c->report.idle_percent = 100 * (cpu_seconds() - used) * 1e9 / (double)(now_ns() - begun);
    c->report.idle_floor_after = c->options->floor ? naps_percent(ns / 5) : 0;
}

static int measure_all(struct client *c)
{
    struct round end = {.end = true};
    bool wrong = false;
    int rc = 0;

    describe(c);
    stay_idle(c);
    report_header(&c->report, table_stream(c->options));
    for (uint32_t i = 0; i < c->plan->sizes.count && !rc; i++) {
        rc = measure_size(c, i);
        if (rc)
            break;
        c->report.count = i + 1;
        wrong = wrong || c->report.rows[i].wrong;
        report_row_print(&c->report, &c->report.rows[i], table_stream(c->options));
    }
    if (!rc)
        send_round(c, &end);
    if (report_write(&c->report) && !rc)
        rc = TOOL_FAILED;
    return rc ? rc : wrong ? TOOL_UNVERIFIED : TOOL_OK;
}

static int run(struct client *c)
{
    c->oob->timeout_ms = (int)(c->plan->timeout_ns / 1000000) * 2 + 120 * 1000;
    if (send_plan(c))
        return perf_give_up(c->oob, TOOL_FAILED, c->oob->why);
    if (endpoint_open(c->ep, c->options, c->plan))
        return perf_give_up(c->oob, c->ep->exit_code, c->ep->why);
    if (perf_exchange(c->ep, c->oob, c->remote))
        return perf_give_up(c->oob, TOOL_FAILED, c->oob->why);
    if (endpoint_connect(c->ep, c->remote))
        return perf_give_up(c->oob, c->ep->exit_code, c->ep->why);
    return measure_all(c);
}

int perf_client(const struct perf_options *options, struct oob *oob)
{
    struct client *c = calloc(1, sizeof(*c));
    int rc = TOOL_FAILED;

    if (!c)
        return rc;
    c->options = options;
    c->plan = &options->plan;
    c->oob = oob;
    c->tick_ns = 1.0;
    c->ep = calloc(1, sizeof(*c->ep));
    c->remote = calloc(1, sizeof(*c->remote));
    if (c->ep && c->remote)
        rc = run(c);
    if (c->ep)
        endpoint_close(c->ep);
    free(c->ep);
    free(c->remote);
    free(c);
    return rc;
}
