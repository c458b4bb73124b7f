/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting rate without a NIC: queues are laid out by hand in memory that the GPU reaches, the doorbell is a word of its
 * own, the availability check is skipped. Each line stands beside a floor kernel of the same shape in the same run.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "doca_gpunetio_host.h"
#include "endpoint.h"
#include "floor.h"
#include "gpu/gpu.h"
#include "kernels.h"
#include "report.h"
#include "stats.h"
#include "tool.h"

#define DUMMY_WORDS 16 /* u64 for each queue: one 128-byte line */
#define REPEATS 5

struct post_bench {
    const struct perf_options *options;
    const struct perf_plan *plan;
    const struct gdaki_kernels *k;
    const struct gdaki_gpu_ops *gpu;
    char gpu_name[96];
    void *stream;
    struct doca_gpu_dev_verbs_qp *qps; /* GPU memory */
    uint8_t *rings, *cqes;             /* GPU or host memory */
    uint64_t *dummy;                   /* doorbells */
    uint64_t *counters;                /* the floor's, in GPU memory as the queues' own are */
    uint32_t *records;
    bool host_rings;
    struct gdaki_kernel_result *result; /* GPU memory */
};

struct post_figures {
    double rate[REPEATS], floor[REPEATS]; /* WQEs a second */
};

static int gpu_fail(const struct post_bench *b, const char *what)
{
    tool_error("%s: %s", what, b->k->error_text());
    return TOOL_FAILED;
}

static int alloc(const struct post_bench *b, size_t size, void **out)
{
    return b->host_rings ? b->k->host_alloc(size, out) : b->k->device_alloc(size, out);
}

static void release(const struct post_bench *b, void *ptr)
{
    if (!ptr)
        return;
    if (b->host_rings)
        b->k->host_free(ptr);
    else
        b->k->device_free(ptr);
}

static enum doca_gpu_dev_verbs_nic_handler handler_of(int handler)
{
    switch (handler) {
    case PERF_HANDLER_CPU_PROXY: return DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
    case PERF_HANDLER_GPU_NO_DBR: return DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;
    case PERF_HANDLER_GPU_BF: return DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF;
    default: return DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
    }
}

/* A queue as export would build it, but for a register that is plain memory. */
static void describe_queue(const struct post_bench *b, uint32_t index, struct doca_gpu_dev_verbs_qp *qp)
{
    uint32_t number = 0x100 + index, depth = b->plan->depth;

    memset(qp, 0, sizeof(*qp));
    qp->sq_num = number;
    qp->sq_num_shift8 = number << 8;
    qp->sq_num_shift8_be = htobe32(number << 8);
    qp->sq_num_shift8_be_1ds = htobe32(number << 8 | 1);
    qp->sq_num_shift8_be_2ds = htobe32(number << 8 | 2);
    qp->sq_num_shift8_be_3ds = htobe32(number << 8 | 3);
    qp->sq_num_shift8_be_4ds = htobe32(number << 8 | 4);
    qp->sq_num_shift8_be_5ds = htobe32(number << 8 | 5);
    qp->sq_wqe_num = (uint16_t)depth;
    qp->sq_wqe_mask = (uint16_t)(depth - 1);
    qp->sq_wqe_daddr = b->rings + (size_t)index * depth * 64;
    qp->sq_dbrec = &b->records[index * 32];
    qp->sq_db = &b->dummy[(size_t)index * DUMMY_WORDS];
    qp->cq_sq.cqe_daddr = b->cqes + (size_t)index * depth * 64;
    qp->cq_sq.cq_num = number;
    qp->cq_sq.cqe_num = depth;
    qp->cq_sq.cqe_mask = depth - 1;
    qp->cq_sq.cqe_size = 64;
    qp->nic_handler = handler_of(b->plan->handler);
    qp->mem_type = b->host_rings ? DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST : DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
    qp->cq_sq.mem_type = qp->mem_type;
}

static int copy_queues(struct post_bench *b)
{
    struct doca_gpu_dev_verbs_qp *all = calloc(b->plan->qps, sizeof(*all));
    int rc;

    if (!all)
        return TOOL_FAILED;
    for (uint32_t i = 0; i < b->plan->qps; i++)
        describe_queue(b, i, &all[i]);
    rc = b->k->copy(b->qps, all, b->plan->qps * sizeof(*all), b->stream);
    free(all);
    return rc ? gpu_fail(b, "cannot copy queues") : 0;
}

static int open_bench(struct post_bench *b)
{
    size_t ring = (size_t)b->plan->qps * b->plan->depth * 64;
    size_t dummy = (size_t)b->plan->qps * DUMMY_WORDS * sizeof(uint64_t);
    const char *why = "";
    char load_why[PARSE_WHY_SIZE];
    int index = 0, rc;

    b->gpu = gdaki_gpu_select(NULL, &why);
    if (!b->gpu) {
        tool_error("no GPU back-end: %s", why);
        return TOOL_FAILED;
    }
    b->k = kernels_load(b->gpu->name, load_why);
    if (!b->k) {
        tool_error("%s", load_why);
        return TOOL_FAILED;
    }
    rc = endpoint_pick_gpu(b->options->gpu, b->gpu, &index, load_why);
    if (rc) {
        tool_error("%s", load_why);
        return rc;
    }
    b->gpu->device_name(index, b->gpu_name, sizeof(b->gpu_name));
    b->host_rings = b->options->queue_mem && !strcmp(b->options->queue_mem, "host");
    if (b->k->open(index) || b->k->stream_create(&b->stream) ||
        b->k->device_alloc(b->plan->qps * sizeof(*b->qps), (void **)&b->qps) || alloc(b, ring, (void **)&b->rings) ||
        alloc(b, ring, (void **)&b->cqes) || alloc(b, dummy, (void **)&b->dummy) ||
        alloc(b, (size_t)b->plan->qps * 128, (void **)&b->records) ||
        b->k->device_alloc(dummy, (void **)&b->counters) || b->k->device_alloc(sizeof(*b->result), (void **)&b->result))
        return gpu_fail(b, "cannot set up");
    return copy_queues(b);
}

static void close_bench(struct post_bench *b)
{
    if (!b->k)
        return;
    release(b, b->rings);
    release(b, b->cqes);
    release(b, b->dummy);
    release(b, b->records);
    if (b->qps)
        b->k->device_free(b->qps);
    if (b->counters)
        b->k->device_free(b->counters);
    if (b->result)
        b->k->device_free(b->result);
    if (b->stream)
        b->k->stream_destroy(b->stream);
}

static int wait_idle(const struct post_bench *b)
{
    unsigned tries = 0;
    int rc;

    while ((rc = b->k->stream_query(b->stream)) == -EAGAIN) {
        usleep(100);
        if (++tries > 600000) {
            tool_error("the kernel has not ended after 60 s");
            return TOOL_FAILED;
        }
    }
    return rc ? gpu_fail(b, "kernel failed") : 0;
}

/* Runs one kernel; *rate is WQEs a second by the kernel's own clock. */
static int run_kernel(struct post_bench *b, enum gdaki_kernel kernel, double *rate)
{
    const struct perf_plan *p = b->plan;
    struct gdaki_kernel_result r = {.start_ns = UINT64_MAX};
    struct gdaki_kernel_args args = {0};

    args.qps = b->qps;
    args.nqps = p->qps;
    args.laddr = kernel == GDAKI_KERNEL_FLOOR_STORE ? (uint64_t)(uintptr_t)b->rings : 0x10000;
    args.raddr = 0x20000;
    args.size = kernel == GDAKI_KERNEL_FLOOR_STORE ? p->depth : p->sizes.size[0];
    args.iterations = p->iterations;
    args.sharing = p->sharing;
    args.scope = p->scope;
    args.timeout_ns = p->timeout_ns;
    args.dummy = b->counters;
    args.result = b->result;
    if (b->k->copy(b->result, &r, sizeof(r), b->stream) ||
        b->k->launch(kernel, p->ctas, p->threads, &args, b->stream))
        return gpu_fail(b, "cannot start the kernel");
    if (wait_idle(b))
        return TOOL_FAILED;
    if (b->k->copy(&r, b->result, sizeof(r), b->stream))
        return gpu_fail(b, "cannot read the result");
    if (r.done != p->iterations) {
        tool_error("%" PRIu64 " of %" PRIu64 " WQEs posted", r.done, p->iterations);
        return TOOL_FAILED;
    }
    *rate = (double)r.done * 1e9 / (double)(r.end_ns > r.start_ns ? r.end_ns - r.start_ns : 1);
    return 0;
}

/* The queues must show what was posted: every index handed out, handed over and announced. */
static int check_queues(struct post_bench *b, uint64_t expected)
{
    struct doca_gpu_dev_verbs_qp *all = calloc(b->plan->qps, sizeof(*all));
    uint64_t reserved = 0, ready = 0, rung = 0;
    int rc;

    if (!all)
        return TOOL_FAILED;
    rc = b->k->copy(all, b->qps, b->plan->qps * sizeof(*all), b->stream);
    for (uint32_t i = 0; i < b->plan->qps && !rc; i++) {
        reserved += all[i].sq_rsvd_index;
        ready += all[i].sq_ready_index;
        rung += all[i].sq_wqe_pi;
    }
    free(all);
    if (rc)
        return gpu_fail(b, "cannot read queues");
    if (reserved != expected || ready != expected || rung != expected) {
        tool_error("queues hold %" PRIu64 " reserved, %" PRIu64 " ready, %" PRIu64 " announced WQEs, expected %" PRIu64,
                   reserved, ready, rung, expected);
        return TOOL_UNVERIFIED;
    }
    return 0;
}

static double median(const double *values)
{
    double sorted[REPEATS];

    memcpy(sorted, values, sizeof(sorted));
    for (int i = 0; i < REPEATS; i++) {
        for (int j = i + 1; j < REPEATS; j++) {
            if (sorted[j] < sorted[i]) {
                double t = sorted[i];

                sorted[i] = sorted[j];
                sorted[j] = t;
            }
        }
    }
    return sorted[REPEATS / 2];
}

static void print_table(const struct post_bench *b, double rate, double floor, FILE *out)
{
    const struct perf_plan *p = b->plan;

    fprintf(out, "# gdaki perf post-rate: GPU %s (%s), no NIC, rings in %s memory, %u queues x %u WQEs, doorbell %s\n",
            b->gpu->name, b->gpu_name, b->host_rings ? "host" : "gpu", p->qps, p->depth,
            parse_word_name(perf_handlers, p->handler == PERF_HANDLER_AUTO ? PERF_HANDLER_GPU_DB : p->handler));
    fprintf(out, "# availability check skipped; median of %d runs; floor: 64 bytes of stores a WQE and one atomic a warp\n",
            REPEATS);
    fprintf(out, "%-8s %-10s %6s %8s %12s %14s %14s %7s\n", "scope", "sharing", "CTAs", "threads", "WQEs", "WQE/s",
            "floor WQE/s", "ratio");
    fprintf(out, "%-8s %-10s %6u %8u %12" PRIu64 " %14.0f %14.0f %7.3f\n",
            parse_word_name(perf_scopes, (int)p->scope), parse_word_name(perf_sharings, (int)p->sharing), p->ctas,
            p->threads, p->iterations, rate, floor, rate / floor);
}

static int write_json(const struct post_bench *b, const struct post_figures *f, double rate, double floor)
{
    const struct perf_plan *p = b->plan;
    json_t *runs = json_array(), *floors = json_array();
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:f, s:f, s:o, s:o}", "test",
                             "post-rate", "gpu_backend", b->gpu->name, "gpu", b->gpu_name, "queue_mem",
                             b->host_rings ? "host" : "gpu", "doorbell", parse_word_name(perf_handlers, p->handler),
                             "scope", parse_word_name(perf_scopes, (int)p->scope), "sharing",
                             parse_word_name(perf_sharings, (int)p->sharing), "ctas", (int)p->ctas, "threads",
                             (int)p->threads, "qps", (int)p->qps, "depth", (int)p->depth, "wqes",
                             (json_int_t)p->iterations, "wqe_per_s", rate, "floor_wqe_per_s", floor, "runs", runs,
                             "floor_runs", floors);
    int rc = 0;

    for (int i = 0; i < REPEATS; i++) {
        json_array_append_new(runs, json_real(f->rate[i]));
        json_array_append_new(floors, json_real(f->floor[i]));
    }
    if (root && !strcmp(b->options->json, "-"))
        rc = json_dumpf(root, stdout, JSON_INDENT(2));
    else if (root)
        rc = json_dump_file(root, b->options->json, JSON_INDENT(2));
    json_decref(root);
    if (rc || !root)
        tool_error("cannot write %s", b->options->json);
    return rc || !root ? TOOL_FAILED : TOOL_OK;
}

static int measure(struct post_bench *b)
{
    struct post_figures f;
    bool json_only = b->options->json && !strcmp(b->options->json, "-");
    double warm;
    int rc = run_kernel(b, GDAKI_KERNEL_POST, &warm);

    for (int i = 0; i < REPEATS && !rc; i++) { /* interleaved: both see the same clocks */
        rc = run_kernel(b, GDAKI_KERNEL_FLOOR_STORE, &f.floor[i]);
        if (!rc)
            rc = run_kernel(b, GDAKI_KERNEL_POST, &f.rate[i]);
    }
    if (!rc)
        rc = check_queues(b, b->plan->iterations * (REPEATS + 1));
    if (rc)
        return rc;
    print_table(b, median(f.rate), median(f.floor), json_only ? stderr : stdout);
    return b->options->json ? write_json(b, &f, median(f.rate), median(f.floor)) : TOOL_OK;
}

int perf_post_rate(const struct perf_options *options)
{
    struct post_bench bench;
    struct perf_plan plan = options->plan;
    int rc;

    if (options->role == PERF_CLIENT) {
        tool_error("post-rate has no peer: '%s' cannot be given", options->host);
        return TOOL_USAGE;
    }
    if (plan.threads > plan.depth) {
        tool_error("--threads %u with --tx-depth %u: more threads than slots would overwrite each other", plan.threads,
                   plan.depth);
        return TOOL_USAGE;
    }
    plan.iterations = (plan.iterations + 31) / 32 * 32;
    memset(&bench, 0, sizeof(bench));
    bench.options = options;
    bench.plan = &plan;
    endpoint_environment(options);
    if (report_check(options))
        return TOOL_FAILED;
    setenv("GDAKI_CPU_CHECK", "off", 0); /* posting beyond the ring is the point here, and no mistake */
    rc = open_bench(&bench);
    if (!rc)
        rc = measure(&bench);
    close_bench(&bench);
    return rc;
}
