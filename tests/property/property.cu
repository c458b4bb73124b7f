/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs from many threads against a reference model of memory.
 *
 *   property [first seed] [number of seeds] [repairable]      one line a failing seed; the same seed fails again
 *
 * A seed draws 4 to 6 queues, 1,024 operations of 128 threads, rings small enough for several wraps, both CQ kinds, every
 * handler, doorbells left to later steps, and in one seed of four an operation that fails. On `cpu` the store buffer and
 * the seeded splitting of warps are on. `repairable`: no operation fails, for runs with faults below, where a refusal that
 * overtakes an earlier answer may take that answer with it (the responder's queue is in error, and repeats nothing).
 */
#include <memory>
#include <random>

#include "../support/pair.h"
#include "model.h"

using namespace gdaki_test;

enum { THREADS = 128, STEPS = 8, REGION = 4096, WORDS = 8, SOURCE = 8192 };

struct draw {
    std::mt19937_64 engine;
    explicit draw(uint64_t seed) : engine(seed)
    {
    }
    uint32_t below(uint32_t n)
    {
        return (uint32_t)(engine() % n);
    }
};

static const struct {
    const char *name;
    enum doca_gpu_dev_verbs_nic_handler handler;
    enum doca_gpu_verbs_send_dbr_mode_ext mode;
} handlers[] = {
    {"gpu-db", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
    {"gpu-bf", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
    {"gpu-no-dbr", DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW},
    {"cpu-proxy", DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
};

static struct step draw_step(draw &draw, int queues)
{
    static const uint8_t good[] = {STEP_PUT,      STEP_PUT,     STEP_P,       STEP_GET,          STEP_SIGNAL,       STEP_PUT_SIGNAL,
                                   STEP_P_SIGNAL, STEP_WRITE_2, STEP_WRITE_INLINE, STEP_COMPARE_SWAP, STEP_MASKED_ADD_4,
                                   STEP_PUT_COUNTER, STEP_PUT_SIGNAL_COUNTER};
    struct step step = {};
    step.kind = good[draw.below(sizeof(good))];
    step.queue = (uint8_t)draw.below((uint32_t)queues);
    step.length = draw.below(8) == 0 ? 0 : 1 + draw.below(MAX_BYTES);
    if (step.kind == STEP_WRITE_INLINE)
        step.length = 1 + draw.below(28);
    if (step.kind == STEP_WRITE_2 || step.kind == STEP_GET)
        step.length = 2 + draw.below(MAX_BYTES - 2);
    if (step.kind == STEP_COMPARE_SWAP)
        step.length = draw.below(4); /* the expected value: small, so that it sometimes matches */
    step.target = draw.below(REGION - MAX_BYTES);
    step.source = draw.below(SOURCE - MAX_BYTES);
    step.word = draw.below(WORDS);
    step.value = step.kind == STEP_COMPARE_SWAP ? draw.below(4) : draw.engine();
    if (is_counted(step.kind))
        step.value = 1 + draw.below(1000);
    step.wait = draw.below(4) == 0;
    step.skip_db = !step.wait && draw.below(4) == 0;
    return step;
}

struct memory { /* shared by all seeds of a process */
    region source, results, steps, status, own, counters, companion_status;
    std::vector<std::unique_ptr<region>> targets, words;
    explicit memory(world &w)
        : source(w, SOURCE), results(w, THREADS * STEPS * MAX_BYTES), steps(w, THREADS * STEPS * sizeof(struct step)),
          status(w, THREADS * MAX_QUEUES * sizeof(int)), own(w, THREADS * STEPS * MAX_BYTES), counters(w, 4096),
          companion_status(w, THREADS * MAX_QUEUES * sizeof(int))
    {
        for (int q = 0; q < MAX_QUEUES; ++q) {
            targets.emplace_back(new region(w, REGION));
            words.emplace_back(new region(w, 4096));
        }
    }
};

static bool fail(uint64_t seed, const char *what, uint64_t a, uint64_t b)
{
    printf("FAILED seed %llu: %s (%llu, %llu)\n", (unsigned long long)seed, what, (unsigned long long)a,
           (unsigned long long)b);
    return false;
}

static const uint64_t UNTOUCHED = 0xeeeeeeeeeeeeeeeeull; /* what result slots hold before */

static bool all_zero(const uint8_t *bytes, size_t length)
{
    return std::all_of(bytes, bytes + length, [](uint8_t byte) { return byte == 0; });
}

/*
 * A counted step of a queue that fails: what is posted is counted, done or flushed; what is not posted is not. So bytes
 * that arrived were counted, bytes are all there or not at all, and no signal was added without them.
 */
static bool check_counted_in_error(uint64_t seed, memory &m, const struct step &step, size_t i, const uint64_t found[2])
{
    const uint8_t *own = m.own.data + i * MAX_BYTES, *sent = m.source.data + step.source;
    const bool arrived = memcmp(own, sent, step.length) == 0, may_be_absent = all_zero(own, step.length);
    const bool signalled = step.kind == STEP_PUT_SIGNAL_COUNTER && found[1] != UNTOUCHED;
    if (!arrived && !may_be_absent)
        return fail(seed, "some bytes of a counted put: step, length", i, step.length);
    if (signalled && !arrived)
        return fail(seed, "a signal without its put: step, length", i, step.length);
    if (found[0] == UNTOUCHED && (signalled || (step.kind == STEP_PUT_COUNTER && !may_be_absent)))
        return fail(seed, "a counted step was done and not counted: step, kind", i, step.kind);
    if (step.wait && step.status != 0 && step.status != WRONG_BYTES)
        return fail(seed, "a wait for a counter failed", i, (uint64_t)step.status);
    return true;
}

static bool check_counted(uint64_t seed, memory &m, const struct step &step, size_t i, const uint64_t found[2])
{
    if (found[0] == UNTOUCHED || (step.kind == STEP_PUT_SIGNAL_COUNTER && found[1] == UNTOUCHED))
        return fail(seed, "a counted step was not counted: step, kind", i, step.kind);
    if (step.wait && step.status != 0)
        return fail(seed, step.status == WRONG_BYTES ? "a counter moved before its put" : "a wait for a counter failed", i,
                    (uint64_t)step.status);
    if (memcmp(m.own.data + i * MAX_BYTES, m.source.data + step.source, step.length) != 0)
        return fail(seed, "bytes of a counted put: step, length", i, step.length);
    return true;
}

/* Counted steps of a queue: each addition once, each after its put. Every wait for the companion ends, and without error. */
static bool check_counters(uint64_t seed, memory &m, const std::vector<struct step> &steps, int q, bool queue_fails)
{
    std::vector<addition> counted, signalled;
    for (size_t i = 0; i < steps.size(); ++i) {
        const struct step &step = steps[i];
        uint64_t found[2];
        if (!is_counted(step.kind) || step.queue != q)
            continue;
        memcpy(found, m.results.data + i * MAX_BYTES, sizeof(found));
        if (!(queue_fails ? check_counted_in_error(seed, m, step, i, found) : check_counted(seed, m, step, i, found)))
            return false;
        if (found[0] != UNTOUCHED)
            counted.push_back({found[0], step.value});
        if (step.kind == STEP_PUT_SIGNAL_COUNTER && found[1] != UNTOUCHED)
            signalled.push_back({found[1], 1});
    }
    const uint64_t *end = (const uint64_t *)m.counters.data + 2 * q;
    if (!adds_up(counted, end[0]))
        return fail(seed, "counter of queue, value", (uint64_t)q, end[0]);
    if (!adds_up(signalled, end[1]))
        return fail(seed, "signals of counted puts of queue, value", (uint64_t)q, end[1]);
    for (int t = 0; t < THREADS; ++t)
        if (((int *)m.companion_status.data)[t * MAX_QUEUES + q] != 0)
            return fail(seed, "final wait of thread on the companion of queue", (uint64_t)t, (uint64_t)q);
    return true;
}

static bool check_queue(uint64_t seed, memory &m, const std::vector<struct step> &steps, int q, queue &queue)
{
    queue_model model;
    model.target.resize(REGION);
    model.written.resize(REGION);
    model.halves.resize(REGION);
    model.words.assign(WORDS, 0);
    model.source = m.source.data;
    for (size_t i = 0; i < REGION; ++i)
        model.target[i] = (uint8_t)(i * 31 + (size_t)q);
    const std::vector<const struct step *> order = in_order(steps, q);
    const bool queue_fails =
        std::any_of(order.begin(), order.end(), [](const struct step *step) { return is_bad(step->kind); });
    if (!check_counters(seed, m, steps, q, queue_fails))
        return false;
    for (const struct step *step : order) {
        if (model.failed == nullptr && is_bad(step->kind))
            model.failed = step;
        if (model.failed != nullptr && step->ticket >= model.failed->ticket) {
            if (step->wait && step->status == 0)
                return fail(seed, "a wait returned success for an operation at or after the failed one", step->ticket,
                            model.failed->ticket);
            if (step->ticket == GDAKI_TICKET_NONE)
                model.remember_half(*step);
            continue;
        }
        uint8_t want[MAX_BYTES];
        const size_t defined = model.apply(*step, want);
        const size_t number = (size_t)(step - steps.data());
        if (memcmp(want, m.results.data + number * MAX_BYTES, defined) != 0)
            return fail(seed, "result of step, kind", number, step->kind);
        /* Once a queue has failed, every wait on it fails, also one for an earlier operation; before, none does. */
        if (step->wait && step->status != 0 && !queue_fails)
            return fail(seed, "a wait failed", number, (uint64_t)step->status);
    }
    for (const queue_model::pending_get &get : model.gets)
        if (!model.may_read(get, m.results.data + (size_t)(get.step - steps.data()) * MAX_BYTES))
            return fail(seed, "a READ returned bytes that never were there: step, ticket",
                        (uint64_t)(get.step - steps.data()), get.step->ticket);
    for (size_t i = 0; i < REGION; ++i)
        if (!model.may_hold(i, m.targets[(size_t)q]->data[i]))
            return fail(seed, "target byte of queue, offset", (uint64_t)q, i);
    if (memcmp(m.words[(size_t)q]->data, model.words.data(), WORDS * 8) != 0)
        return fail(seed, "words of queue", (uint64_t)q, 0);
    for (int t = 0; t < THREADS; ++t) {
        /* A thread may be done before another posts what fails; the one that posts it must see it. */
        const int status = ((int *)m.status.data)[t * MAX_QUEUES + q];
        const bool must_fail = model.failed != nullptr && (model.failed - steps.data()) / STEPS == t;
        if ((status != 0 && model.failed == nullptr) || (status == 0 && must_fail))
            return fail(seed, "final wait of thread on queue", (uint64_t)t, (uint64_t)q);
    }
    struct doca_gpu_verbs_qp_error_info info;
    GT_OK(doca_gpu_verbs_query_last_error(queue.handle(), &info));
    if (info.has_error != (model.failed != nullptr))
        return fail(seed, "query_last_error of queue says", (uint64_t)q, info.has_error);
    if (model.failed != nullptr && info.syndrome != syndrome_of(model.failed->kind))
        return fail(seed, "syndrome of queue", (uint64_t)q, (uint64_t)info.syndrome);
    if (model.failed != nullptr && (uint16_t)info.wqe_counter != (uint16_t)model.failed->ticket)
        return fail(seed, "wqe_counter of the error: got, want", (uint64_t)info.wqe_counter, model.failed->ticket);
    return true;
}

static bool run_seed(world &w, memory &m, uint64_t seed, bool repairable)
{
    draw draw(seed);
    const int count = 4 + (int)draw.below(3);
    const auto &handler = handlers[draw.below(4)];
    queue_options options;
    options.handler = handler.handler;
    options.dbr_mode = handler.mode;
    options.collapsed = draw.below(2) != 0;
    options.sq_nwqe = (uint16_t)(8u << draw.below(4));
    options.mtu = (enum doca_verbs_mtu_size)draw.below(5);

    std::vector<struct step> steps(THREADS * STEPS);
    for (struct step &step : steps)
        step = draw_step(draw, count);
    const char *fault = "no fault";
    if (draw.below(4) == 0 && !repairable) {
        static const uint8_t bad[] = {STEP_BAD_KEY, STEP_BAD_RANGE, STEP_BAD_LOCAL};
        struct step &step = steps[draw.below((uint32_t)steps.size())];
        step.kind = bad[draw.below(3)];
        step.skip_db = 0;
        fault = step.kind == STEP_BAD_KEY ? "bad key" : step.kind == STEP_BAD_RANGE ? "bad range" : "bad local key";
    }
    for (size_t i = 0; i < SOURCE; ++i)
        m.source.data[i] = (uint8_t)(draw.engine() >> 13);
    memset(m.results.data, 0xee, m.results.size);
    memset(m.own.data, 0, m.own.size);
    memset(m.counters.data, 0, m.counters.size);
    memcpy(m.steps.data, steps.data(), steps.size() * sizeof(struct step));

    doca_gpu_verbs_service_t service = nullptr;
    GT_OK(doca_gpu_verbs_create_service(&service));
    std::vector<std::unique_ptr<queue>> queues;
    struct program program;
    memset(&program, 0, sizeof(program));
    for (int q = 0; q < count; ++q) {
        queues.emplace_back(new queue(w, options, true));
        queues.back()->monitor(service);
        program.qps[q] = queues.back()->dev_main;
        program.companions[q] = queues.back()->dev_companion;
        program.counters[q] = m.counters.at(16 * (uint64_t)q);
        program.target[q] = m.targets[(size_t)q]->at(0);
        program.words[q] = m.words[(size_t)q]->at(0);
        for (size_t i = 0; i < REGION; ++i)
            m.targets[(size_t)q]->data[i] = (uint8_t)(i * 31 + (size_t)q);
        memset(m.words[(size_t)q]->data, 0, WORDS * 8);
    }
    program.source = m.source.at(0);
    program.results = m.results.at(0);
    program.own = m.own.at(0);
    program.companion_status = (int *)m.companion_status.data;
    program.steps = (struct step *)m.steps.data;
    program.steps_per_thread = STEPS;
    program.region_bytes = REGION;
    program.final_status = (int *)m.status.data;
    program.queues = count;
#ifdef GDAKI_CPU
    gdaki_cpu_configure(1, (int)draw.below(2), seed);
#endif
    run_program<<<dim3(THREADS / 64), dim3(64)>>>(program);
    GT_CUDA(cudaGetLastError());
    GT_CUDA(cudaDeviceSynchronize());
    memcpy(steps.data(), m.steps.data, steps.size() * sizeof(struct step));
    bool good = true;
    for (int q = 0; q < count && good; ++q)
        good = check_queue(seed, m, steps, q, *queues[(size_t)q]);
    if (!good)
        printf("  seed %llu: %d queues, ring %u, %s, %s CQ, %s\n", (unsigned long long)seed, count, options.sq_nwqe,
               handler.name, options.collapsed ? "collapsed" : "regular", fault);
    GT_OK(doca_gpu_verbs_destroy_service(service));
    return good;
}

static bool parse(const char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    return *text != '\0' && *end == '\0';
}

int main(int argc, char **argv)
{
    uint64_t first = 1, number = 100;
    const bool repairable = argc > 3;
    if (argc > 4 || (argc > 1 && !parse(argv[1], &first)) || (argc > 2 && !parse(argv[2], &number)) ||
        (repairable && strcmp(argv[3], "repairable") != 0)) {
        fprintf(stderr, "usage: property [first seed] [number of seeds] [repairable]\n");
        return 2;
    }
    world w;
    memory m(w);
    uint64_t failed = 0;
    for (uint64_t seed = first; seed < first + number; ++seed)
        failed += run_seed(w, m, seed, repairable) ? 0 : 1;
    printf("property: %llu passed, %llu failed\n", (unsigned long long)(number - failed), (unsigned long long)failed);
    return failed == 0 && number > 0 ? 0 : 1;
}
