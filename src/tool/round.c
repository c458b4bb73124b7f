/* SPDX-License-Identifier: Apache-2.0 */
#include "round.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "endpoint_internal.h"
#include "pattern.h"
#include "tool.h"

#define CLIENT_SALT 0x636c69656e743031ull /* what the client sends differs from what the server sends */
#define PROGRESS_NS 1000000000ull

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* ---- messages ------------------------------------------------------------------------------------------------------- */

void round_write(const struct round *round, struct oob_writer *w)
{
    oob_put(w, round->size, 8);
    oob_put(w, round->iterations, 8);
    oob_put(w, round->seed, 8);
    oob_put(w, (uint64_t)(round->measured | round->end << 1), 1);
}

int round_read(struct round *round, const struct perf_plan *plan, struct oob_reader *r, char *why)
{
    uint8_t flags;
    bool known = false;

    round->size = oob_get(r, 8);
    round->iterations = oob_get(r, 8);
    round->seed = oob_get(r, 8);
    flags = (uint8_t)oob_get(r, 1);
    round->measured = flags & 1;
    round->end = flags & 2;
    for (uint32_t i = 0; i < plan->sizes.count; i++)
        known = known || plan->sizes.size[i] == round->size;
    if (!r->ok || r->used != r->size || flags & ~3u || (!round->end && (!known || !round->iterations))) {
        snprintf(why, PARSE_WHY_SIZE, "malformed round: size %" PRIu64 ", %" PRIu64 " messages, flags 0x%02x",
                 round->size, round->iterations, flags);
        return -EPROTO;
    }
    return 0;
}

void round_result_write(const struct round_result *result, struct oob_writer *w)
{
    oob_put(w, result->done, 8);
    oob_put(w, result->elapsed_ns, 8);
    oob_put(w, result->checked, 8);
    oob_put(w, result->wrong, 8);
    oob_put(w, result->first_wrong, 8);
    oob_put(w, (uint32_t)result->error, 4);
    oob_put_text(w, result->text);
}

int round_result_read(struct round_result *result, struct oob_reader *r, char *why)
{
    memset(result, 0, sizeof(*result));
    result->done = oob_get(r, 8);
    result->elapsed_ns = oob_get(r, 8);
    result->checked = oob_get(r, 8);
    result->wrong = oob_get(r, 8);
    result->first_wrong = oob_get(r, 8);
    result->error = (int32_t)oob_get(r, 4);
    oob_get_text(r, result->text, sizeof(result->text));
    if (!r->ok || r->used != r->size || result->wrong > result->checked) {
        snprintf(why, PARSE_WHY_SIZE, "malformed RESULT: %zu bytes, %" PRIu64 " of %" PRIu64 " bytes wrong", r->size,
                 result->wrong, result->checked);
        return -EPROTO;
    }
    return 0;
}

/* ---- who does what ---------------------------------------------------------------------------------------------------- */

bool round_end_sends(const struct perf_plan *plan, bool client)
{
    return client || plan->bidirectional || perf_test_is_ping(plan->test);
}

bool round_end_receives(const struct perf_plan *plan, bool client)
{
    if (plan->bidirectional || perf_test_is_ping(plan->test))
        return true;
    return plan->test == PERF_GET_BW ? client : !client;
}

/* Seed of what the named end sends. */
static uint64_t seed_of(const struct round *round, bool client)
{
    return client ? round->seed ^ CLIENT_SALT : round->seed;
}

/* ---- before ------------------------------------------------------------------------------------------------------------ */

static int clear_device(struct endpoint *ep, void *ptr, size_t size)
{
    void *zeros = calloc(1, size);
    int rc = zeros ? ep->kernels->copy(ptr, zeros, size, ep->stream) : -ENOMEM;

    free(zeros);
    return rc ? endpoint_fail(ep, TOOL_FAILED, rc, "cannot clear %zu bytes: %s", size, ep->kernels->error_text()) : 0;
}

static int prepare_data(struct endpoint *ep, const struct round *round, bool client)
{
    struct perf_layout layout;
    uint8_t *receive = ep->staging + ep->span;
    int rc;

    perf_layout_of(ep->plan, round->size, &layout);
    pattern_fill(ep->staging, layout.span, seed_of(round, client), 0);
    pattern_scrub(receive, layout.span, seed_of(round, !client), 0);
    if (ep->plan->test == PERF_WRITE_LAT)
        receive[round->size - 1] = 0; /* the sequence number before the first message */
    rc = endpoint_write(ep, 0, ep->staging, layout.span);
    if (!rc)
        rc = endpoint_write(ep, ep->span, receive, layout.span);
    memset(ep->staging, 0, ENDPOINT_TAIL);
    return rc ? rc : endpoint_write(ep, 2 * ep->span, ep->staging, ENDPOINT_TAIL);
}

int round_prepare(struct endpoint *ep, const struct round *round, bool client)
{
    struct gdaki_kernel_result empty = {.start_ns = UINT64_MAX};
    int rc = prepare_data(ep, round, client);

    if (!rc)
        rc = ep->kernels->copy(ep->result, &empty, sizeof(empty), ep->stream);
    return rc ? rc : clear_device(ep, ep->samples, ep->sample_count * sizeof(uint64_t));
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------- */

static enum gdaki_kernel kernel_of(int test)
{
    switch (test) {
    case PERF_GET_BW: return GDAKI_KERNEL_GET;
    case PERF_WRITE_BW: return GDAKI_KERNEL_WRITE;
    case PERF_WRITE_LAT: return GDAKI_KERNEL_WRITE_PING;
    case PERF_SIGNAL_LAT: return GDAKI_KERNEL_SIGNAL_PING;
    default: return GDAKI_KERNEL_PUT;
    }
}

int round_launch(struct endpoint *ep, const struct endpoint_address *remote, const struct round *round, bool client)
{
    const struct perf_plan *plan = ep->plan;
    struct gdaki_kernel_args args = {0};
    struct perf_layout layout;
    bool get = plan->test == PERF_GET_BW;
    uint64_t threads = (uint64_t)plan->ctas * plan->threads;
    int rc;

    perf_layout_of(plan, round->size, &layout);
    if (remote->span < layout.span)
        return endpoint_fail(ep, TOOL_FAILED, -EMSGSIZE, "message size %" PRIu64 " is beyond the peer's buffer of %"
                             PRIu64 " bytes", layout.span, remote->span);
    args.qps = ep->qp_array;
    args.nqps = ep->nqps;
    args.posters_per_qp = perf_posters_per_qp(plan);
    args.laddr = get ? ep->local.recv_addr : ep->local.send_addr;
    args.raddr = get ? remote->send_addr : remote->recv_addr;
    args.lkey_be = htobe32(ep->local.rkey);
    args.rkey_be = htobe32(remote->rkey);
    args.size = round->size;
    args.stride = layout.stride;
    args.slots = layout.slots;
    args.iterations = round->iterations;
    args.window = plan->window;
    args.inline_max = plan->inline_max;
    args.timeout_ns = plan->timeout_ns;
    args.samples = round->measured ? ep->samples : NULL;
    args.sample_cap = (uint32_t)(ep->sample_count / threads);
    args.sharing = plan->sharing;
    args.scope = plan->scope;
    args.collapsed = plan->collapsed;
    args.initiator = client;
    args.flag_laddr = plan->test == PERF_SIGNAL_LAT ? ep->local.flag_addr : ep->local.recv_addr;
    args.flag_raddr = remote->flag_addr;
    args.scratch_laddr = ep->local.flag_addr + ENDPOINT_SCRATCH;
    args.result = ep->result;
    rc = ep->kernels->launch(kernel_of(plan->test), plan->ctas, plan->threads, &args, ep->stream);
    return rc ? endpoint_fail(ep, TOOL_FAILED, rc, "cannot start the kernel: %s", ep->kernels->error_text()) : 0;
}

static void show_progress(struct endpoint *ep, const struct round *round, const char *label, uint64_t begun,
                          uint64_t *shown)
{
    uint64_t now = now_ns();

    if (ep->options->quiet || now - *shown < PROGRESS_NS)
        return;
    *shown = now;
    tool_note("%s: %" PRIu64 " B, %" PRIu64 " messages, running for %.1f s", label, round->size, round->iterations,
              (double)(now - begun) / 1e9);
}

/* What the kernel met, and what its queues say to it. */
static void describe_failure(struct endpoint *ep, const struct gdaki_kernel_result *r, char *out, size_t size)
{
    char queues[320];

    endpoint_describe_error(ep, queues, sizeof(queues));
    if (!queues[0] && r->error == -ETIMEDOUT)
        endpoint_describe_outstanding(ep, queues, sizeof(queues));
    snprintf(out, size, "thread %u, message %" PRIu64 ": %s%s%s", r->error_thread, r->error_at,
             r->error == -ETIMEDOUT ? "no completion in time"
             : r->error == -EIO     ? "error completion"
                                    : strerror(-r->error),
             queues[0] ? "; " : "", queues);
}

static int read_result(struct endpoint *ep, struct round_result *result)
{
    struct gdaki_kernel_result r;
    int rc = ep->kernels->copy(&r, ep->result, sizeof(r), ep->stream);
    uint64_t ticks;

    if (rc)
        return endpoint_fail(ep, TOOL_FAILED, rc, "cannot read the kernel's result: %s", ep->kernels->error_text());
    ticks = r.clock_end - r.clock_begin;
    result->done = r.done;
    result->elapsed_ns = r.end_ns > r.start_ns ? r.end_ns - r.start_ns : 1;
    result->tick_span_ns = r.timer_end - r.timer_begin;
    result->tick_ns = ticks ? (double)result->tick_span_ns / (double)ticks : 1.0;
    result->error = r.error;
    if (r.error) {
        describe_failure(ep, &r, result->text, sizeof(result->text));
        endpoint_explain(ep);
    }
    return 0;
}

int round_wait(struct endpoint *ep, const struct round *round, struct round_result *result, const char *label)
{
    uint64_t begun = now_ns(), shown = begun;
    uint64_t limit = 60ull * 1000000000ull + 2 * ep->plan->timeout_ns;
    unsigned nap_us = 20, turns = 0;
    int rc;

    for (;;) {
        bool rang = ep->proxy && endpoint_proxy_step(ep);

        if (ep->proxy && (rang || ++turns % 64)) {
            if (!rang)
                sched_yield();
            continue;
        }
        rc = ep->kernels->stream_query(ep->stream);
        if (rc != -EAGAIN)
            break;
        if (now_ns() - begun > limit)
            return endpoint_fail(ep, TOOL_FAILED, -ETIMEDOUT, "the kernel has not ended after %.0f s", (double)limit / 1e9);
        show_progress(ep, round, label, begun, &shown);
        if (!ep->proxy) {
            usleep(nap_us);
            nap_us = nap_us < 1000 ? nap_us * 2 : 1000;
        }
    }
    if (rc)
        return endpoint_fail(ep, TOOL_FAILED, rc, "the kernel failed: %s", ep->kernels->error_text());
    return read_result(ep, result);
}

/* ---- after ------------------------------------------------------------------------------------------------------------- */

static void count_wrong(struct round_result *result, size_t wrong, uint64_t at)
{
    if (wrong && !result->wrong)
        result->first_wrong = at;
    result->wrong += wrong;
}

/* Bytes that no message covers must still be as they were scrubbed. */
static void check_gap(struct round_result *result, uint8_t *at, uint64_t length, uint64_t seed, uint64_t position)
{
    size_t first = 0, wrong;

    if (!length)
        return;
    for (uint64_t i = 0; i < length; i++)
        at[i] = (uint8_t)~at[i];
    wrong = pattern_check(at, length, seed, position, &first);
    result->checked += length;
    count_wrong(result, wrong, position + first);
}

int round_verify(struct endpoint *ep, const struct round *round, bool client, struct round_result *result)
{
    uint64_t seed = seed_of(round, !client), written;
    uint8_t *receive = ep->staging + ep->span;
    struct perf_layout layout;
    size_t first = 0, wrong;
    int rc;

    if (!ep->plan->verify || !round_end_receives(ep->plan, client))
        return 0;
    perf_layout_of(ep->plan, round->size, &layout);
    rc = endpoint_read(ep, ep->span, receive, layout.span);
    if (rc)
        return rc;
    if (ep->plan->test == PERF_WRITE_LAT) { /* the last byte carries the sequence number */
        uint8_t *last = receive + round->size - 1;

        count_wrong(result, *last != (uint8_t)round->iterations, round->size - 1);
        *last = pattern_byte(seed, round->size - 1);
    }
    written = round->iterations < layout.slots ? round->iterations : layout.slots;
    for (uint64_t slot = 0; slot < written; slot++) {
        uint64_t at = slot * layout.stride;

        wrong = pattern_check(receive + at, round->size, seed, at, &first);
        result->checked += round->size;
        count_wrong(result, wrong, at + first);
        check_gap(result, receive + at + round->size, layout.stride - round->size, seed, at + round->size);
    }
    check_gap(result, receive + written * layout.stride, layout.span - written * layout.stride, seed,
              written * layout.stride);
    if (ep->plan->test == PERF_SIGNAL_LAT) {
        uint64_t flag = 0;

        rc = endpoint_read(ep, 2 * ep->span + ENDPOINT_FLAG, &flag, sizeof(flag));
        result->checked += sizeof(flag);
        if (flag != round->iterations)
            count_wrong(result, sizeof(flag), 0);
    }
    return rc;
}

int round_collect(struct endpoint *ep, uint64_t **samples, size_t *count, size_t limit)
{
    uint64_t *all = malloc(ep->sample_count * sizeof(*all)), *grown;
    size_t kept = 0;
    int rc;

    if (!all)
        return endpoint_fail(ep, TOOL_FAILED, -ENOMEM, "cannot allocate %zu samples", ep->sample_count);
    rc = ep->kernels->copy(all, ep->samples, ep->sample_count * sizeof(*all), ep->stream);
    for (size_t i = 0; i < ep->sample_count && !rc; i++) { /* 0: never written */
        if (all[i])
            all[kept++] = all[i];
    }
    if (kept > limit - *count)
        kept = limit - *count;
    grown = rc || !kept ? NULL : realloc(*samples, (*count + kept) * sizeof(*all));
    if (grown) {
        memcpy(grown + *count, all, kept * sizeof(*all));
        *samples = grown;
        *count += kept;
    } else if (!rc && kept) {
        rc = -ENOMEM;
    }
    free(all);
    return rc ? endpoint_fail(ep, TOOL_FAILED, rc, "cannot collect latency samples") : 0;
}
