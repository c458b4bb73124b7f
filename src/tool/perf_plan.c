/* SPDX-License-Identifier: Apache-2.0 */
#include "perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct parse_word perf_tests[] = {
    {"put-bw", PERF_PUT_BW},       {"put-lat", PERF_PUT_LAT}, {"write-bw", PERF_WRITE_BW},
    {"write-lat", PERF_WRITE_LAT}, {"get-bw", PERF_GET_BW},   {"signal-lat", PERF_SIGNAL_LAT},
    {"post-rate", PERF_POST_RATE}, {NULL, 0},
};
const struct parse_word perf_scopes[] = {{"thread", GDAKI_SCOPE_THREAD}, {"warp", GDAKI_SCOPE_WARP}, {NULL, 0}};
const struct parse_word perf_sharings[] = {
    {"exclusive", GDAKI_SHARING_EXCLUSIVE}, {"cta", GDAKI_SHARING_CTA}, {"gpu", GDAKI_SHARING_GPU}, {NULL, 0}};
const struct parse_word perf_handlers[] = {
    {"auto", PERF_HANDLER_AUTO},     {"gpu-db", PERF_HANDLER_GPU_DB},       {"gpu-no-dbr", PERF_HANDLER_GPU_NO_DBR},
    {"gpu-bf", PERF_HANDLER_GPU_BF}, {"cpu-proxy", PERF_HANDLER_CPU_PROXY}, {NULL, 0}};
const struct parse_word perf_mems[] = {{"gpu", PERF_MEM_GPU}, {"host", PERF_MEM_HOST}, {NULL, 0}};

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, PARSE_WHY_SIZE, format, args);
    va_end(args);
    return -EINVAL;
}

bool perf_test_is_ping(int test)
{
    return test == PERF_WRITE_LAT || test == PERF_SIGNAL_LAT;
}

bool perf_test_is_latency(int test)
{
    return perf_test_is_ping(test) || test == PERF_PUT_LAT;
}

uint32_t perf_posters_per_qp(const struct perf_plan *plan)
{
    uint64_t threads = (uint64_t)plan->ctas * plan->threads;

    return (uint32_t)((threads + plan->qps - 1) / plan->qps);
}

/* Queues that a sharing mode asks for: one a thread or warp, one a block, or any number. */
static uint32_t queues_needed(const struct perf_plan *plan)
{
    if (plan->sharing == GDAKI_SHARING_CTA)
        return plan->ctas;
    if (plan->sharing == GDAKI_SHARING_GPU)
        return 1;
    if (plan->scope == GDAKI_SCOPE_WARP || plan->test == PERF_WRITE_BW)
        return plan->ctas * (plan->test == PERF_WRITE_BW ? 1 : plan->threads / 32);
    return plan->ctas * plan->threads;
}

static int check_words(const struct perf_plan *plan, char *why)
{
    if (plan->test < PERF_PUT_BW || plan->test > PERF_POST_RATE)
        return refuse(why, "test %d is unknown", plan->test);
    if (plan->scope > GDAKI_SCOPE_WARP)
        return refuse(why, "--scope %u is unknown", plan->scope);
    if (plan->sharing > GDAKI_SHARING_GPU)
        return refuse(why, "--sharing %u is unknown", plan->sharing);
    if (plan->handler < PERF_HANDLER_AUTO || plan->handler > PERF_HANDLER_CPU_PROXY)
        return refuse(why, "--handler %d is unknown", plan->handler);
    return 0;
}

static int check_ranges(const struct perf_plan *plan, char *why)
{
    if (!plan->sizes.count || plan->sizes.count > PARSE_SIZES_MAX)
        return refuse(why, "--size: %u sizes, expected 1 to %d", plan->sizes.count, PARSE_SIZES_MAX);
    for (uint32_t i = 0; i < plan->sizes.count; i++) {
        if (plan->sizes.size[i] < 1 || plan->sizes.size[i] > PERF_SIZE_MAX)
            return refuse(why, "--size %" PRIu64 " is out of range: expected 1 to %llu", plan->sizes.size[i],
                          PERF_SIZE_MAX);
    }
    if (!parse_is_pow2(plan->depth) || plan->depth > PERF_DEPTH_MAX)
        return refuse(why, "--tx-depth %u is not a power of two from 1 to %d", plan->depth, PERF_DEPTH_MAX);
    if (!plan->ctas || plan->ctas > PERF_CTAS_MAX)
        return refuse(why, "--ctas %u is out of range: expected 1 to %d", plan->ctas, PERF_CTAS_MAX);
    if (!plan->threads || plan->threads > PERF_THREADS_MAX)
        return refuse(why, "--threads %u is out of range: expected 1 to %d", plan->threads, PERF_THREADS_MAX);
    if (plan->qps > PERF_QPS_MAX)
        return refuse(why, "--qps %u is out of range: expected 1 to %d", plan->qps, PERF_QPS_MAX);
    if (!plan->iterations || plan->iterations > 1ull << 40)
        return refuse(why, "--iterations %" PRIu64 " is out of range: expected 1 to 2^40", plan->iterations);
    if (plan->span && (!parse_is_pow2(plan->span) || plan->span > PERF_SPAN_MAX))
        return refuse(why, "--span %" PRIu64 " is not a power of two up to %llu", plan->span, PERF_SPAN_MAX);
    if (plan->mtu && (!parse_is_pow2(plan->mtu) || plan->mtu < 256 || plan->mtu > 4096))
        return refuse(why, "--mtu %u is not 256, 512, 1024, 2048 or 4096", plan->mtu);
    if (plan->qp_timeout > PERF_QP_TIMEOUT_MAX)
        return refuse(why, "--qp-timeout %u is out of range: expected 0 to %d", plan->qp_timeout, PERF_QP_TIMEOUT_MAX);
    if (plan->inline_max > PERF_INLINE_MAX)
        return refuse(why, "--inline %u is above %d, what one WQE holds", plan->inline_max, PERF_INLINE_MAX);
    return 0;
}

static int check_inline(const struct perf_plan *plan, char *why)
{
    if (!plan->inline_max)
        return 0;
    if (plan->test == PERF_GET_BW || plan->test == PERF_SIGNAL_LAT)
        return refuse(why, "--inline %u: %s has no inline form", plan->inline_max,
                      parse_word_name(perf_tests, plan->test));
    if (plan->test != PERF_PUT_BW && plan->test != PERF_PUT_LAT)
        return 0;
    for (uint32_t i = 0; i < plan->sizes.count; i++) {
        uint64_t size = plan->sizes.size[i];

        if (size <= plan->inline_max && !(parse_is_pow2(size) && size <= 8))
            return refuse(why, "--inline %u with --size %" PRIu64 ": an inline put carries 1, 2, 4 or 8 bytes "
                          "(write-bw: up to %d)", plan->inline_max, size, PERF_INLINE_MAX);
    }
    return 0;
}

static int check_shape(struct perf_plan *plan, char *why)
{
    uint32_t needed;

    if (plan->scope == GDAKI_SCOPE_WARP && plan->threads % 32)
        return refuse(why, "--threads %u with --scope warp: expected a multiple of 32", plan->threads);
    if (perf_test_is_ping(plan->test)) {
        if (plan->ctas != 1 || plan->threads != 1 || plan->qps > 1)
            return refuse(why, "%s runs one thread on one queue: --ctas %u, --threads %u, --qps %u do not fit",
                          parse_word_name(perf_tests, plan->test), plan->ctas, plan->threads, plan->qps);
        if (plan->bidirectional)
            return refuse(why, "--bidirectional: %s goes both ways by itself",
                          parse_word_name(perf_tests, plan->test));
    }
    if (plan->test == PERF_WRITE_BW && plan->threads > plan->depth)
        return refuse(why, "--threads %u with --tx-depth %u: a block reserves a slot for each thread at once",
                      plan->threads, plan->depth);
    if (plan->test == PERF_SIGNAL_LAT && plan->depth < 2)
        return refuse(why, "--tx-depth %u: put with signal takes two slots", plan->depth);
    if (plan->scope == GDAKI_SCOPE_WARP && plan->depth < 32)
        return refuse(why, "--tx-depth %u with --scope warp: a warp reserves 32 slots at once", plan->depth);
    needed = queues_needed(plan);
    if (!plan->qps)
        plan->qps = needed;
    if (plan->qps > PERF_QPS_MAX)
        return refuse(why, "--sharing %s with --ctas %u and --threads %u needs %u queues, more than %d",
                      parse_word_name(perf_sharings, (int)plan->sharing), plan->ctas, plan->threads, needed,
                      PERF_QPS_MAX);
    if (plan->qps < needed)
        return refuse(why, "--qps %u is too few: --sharing %s with --ctas %u and --threads %u needs %u", plan->qps,
                      parse_word_name(perf_sharings, (int)plan->sharing), plan->ctas, plan->threads, needed);
    return 0;
}

/* Most messages that may be in flight without a reservation ever waiting for a slot. */
static uint32_t window_limit(const struct perf_plan *plan)
{
    uint32_t posters = perf_posters_per_qp(plan), limit = plan->depth / (posters ? posters : 1);

    return limit ? limit : 1;
}

static int check_window(struct perf_plan *plan, char *why)
{
    uint32_t limit = window_limit(plan);

    if (perf_test_is_latency(plan->test)) {
        if (plan->window > 1)
            return refuse(why, "--window %u: %s waits for each message", plan->window,
                          parse_word_name(perf_tests, plan->test));
        plan->window = 1;
    }
    if (!plan->window)
        plan->window = limit;
    if (plan->window > limit)
        return refuse(why, "--window %u with %u threads on a queue of --tx-depth %u: at most %u fit", plan->window,
                      perf_posters_per_qp(plan), plan->depth, limit);
    return 0;
}

static int check_span(const struct perf_plan *plan, char *why)
{
    for (uint32_t i = 0; plan->span && i < plan->sizes.count; i++) {
        if (plan->sizes.size[i] > plan->span)
            return refuse(why, "--size %" PRIu64 " is beyond the buffer: --span %" PRIu64, plan->sizes.size[i],
                          plan->span);
    }
    return 0;
}

int perf_plan_check(struct perf_plan *plan, char *why)
{
    int (*const plain[])(const struct perf_plan *, char *) = {check_words, check_ranges, check_inline, check_span};
    int rc = 0;

    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]) && !rc; i++)
        rc = plain[i](plan, why);
    if (!rc)
        rc = check_shape(plan, why);
    return rc ? rc : check_window(plan, why);
}

void perf_layout_of(const struct perf_plan *plan, uint64_t size, struct perf_layout *layout)
{
    uint64_t stride = 1, span = plan->span;

    while (stride < size)
        stride *= 2;
    if (!span) /* automatic: 64 KiB, or one message if it is larger */
        span = stride > 65536 ? stride : 65536;
    layout->size = size;
    layout->stride = stride;
    layout->slots = perf_test_is_ping(plan->test) || span < stride ? 1 : span / stride;
    layout->span = layout->slots * stride;
}

void perf_plan_write(const struct perf_plan *plan, struct oob_writer *w)
{
    oob_put(w, (uint64_t)plan->test, 1);
    oob_put(w, plan->scope, 1);
    oob_put(w, plan->sharing, 1);
    oob_put(w, (uint64_t)plan->handler, 1);
    oob_put(w, (uint64_t)(plan->bidirectional | plan->verify << 1 | plan->collapsed << 2), 1);
    oob_put(w, plan->iterations, 8);
    oob_put(w, plan->duration_ns, 8);
    oob_put(w, plan->warmup, 8);
    oob_put(w, plan->qps, 4);
    oob_put(w, plan->ctas, 4);
    oob_put(w, plan->threads, 4);
    oob_put(w, plan->depth, 4);
    oob_put(w, plan->window, 4);
    oob_put(w, plan->inline_max, 4);
    oob_put(w, plan->mtu, 4);
    oob_put(w, plan->qp_timeout, 4);
    oob_put(w, plan->span, 8);
    oob_put(w, plan->seed, 8);
    oob_put(w, plan->timeout_ns, 8);
    oob_put(w, plan->sizes.count, 2);
    for (uint32_t i = 0; i < plan->sizes.count; i++)
        oob_put(w, plan->sizes.size[i], 8);
}

int perf_plan_read(struct perf_plan *plan, struct oob_reader *r, char *why)
{
    uint8_t flags;

    memset(plan, 0, sizeof(*plan));
    plan->test = (int)oob_get(r, 1);
    plan->scope = (uint32_t)oob_get(r, 1);
    plan->sharing = (uint32_t)oob_get(r, 1);
    plan->handler = (int)oob_get(r, 1);
    flags = (uint8_t)oob_get(r, 1);
    plan->iterations = oob_get(r, 8);
    plan->duration_ns = oob_get(r, 8);
    plan->warmup = oob_get(r, 8);
    plan->qps = (uint32_t)oob_get(r, 4);
    plan->ctas = (uint32_t)oob_get(r, 4);
    plan->threads = (uint32_t)oob_get(r, 4);
    plan->depth = (uint32_t)oob_get(r, 4);
    plan->window = (uint32_t)oob_get(r, 4);
    plan->inline_max = (uint32_t)oob_get(r, 4);
    plan->mtu = (uint32_t)oob_get(r, 4);
    plan->qp_timeout = (uint32_t)oob_get(r, 4);
    plan->span = oob_get(r, 8);
    plan->seed = oob_get(r, 8);
    plan->timeout_ns = oob_get(r, 8);
    plan->sizes.count = (uint32_t)oob_get(r, 2);
    if (plan->sizes.count > PARSE_SIZES_MAX)
        return refuse(why, "malformed HELLO: %u sizes, at most %d", plan->sizes.count, PARSE_SIZES_MAX);
    for (uint32_t i = 0; i < plan->sizes.count; i++)
        plan->sizes.size[i] = oob_get(r, 8);
    if (!r->ok || r->used != r->size)
        return refuse(why, "malformed HELLO: %zu bytes do not fit the plan", r->size);
    if (flags & ~7u)
        return refuse(why, "malformed HELLO: flags 0x%02x", flags);
    if (plan->timeout_ns < 1000000 || plan->timeout_ns > 3600000000000ull)
        return refuse(why, "malformed HELLO: time-out %" PRIu64 " ns", plan->timeout_ns);
    plan->bidirectional = flags & 1;
    plan->verify = flags & 2;
    plan->collapsed = flags & 4;
    return perf_plan_check(plan, why);
}
