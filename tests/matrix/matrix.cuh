/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix: handler x sharing x sync scope x exec scope x operation x CQ kind, each with a ring small enough to wrap.
 * One handler a program (matrix_<handler>.cu defines MATRIX_HANDLER and includes this file), so that they run side by
 * side and a failure names the handler. The same source runs on `cpu` (gdaki-nvcc) and on a GPU (nvcc).
 */
#ifndef GDAKI_TESTS_MATRIX_MATRIX_CUH
#define GDAKI_TESTS_MATRIX_MATRIX_CUH

#include <memory>

#include "../support/pair.h"
#include "operations.cuh"

using gdaki_test::queue;
using gdaki_test::queue_options;
using gdaki_test::region;
using gdaki_test::world;

static const char *const op_names[OP_COUNT] = {
    "put", "p", "get", "signal", "put_signal", "p_signal", "put_counter", "p_counter", "put_signal_counter",
    "signal_counter", "get_counter", "write", "write_2", "write_inline", "read", "fetch_add", "compare_swap",
    "masked_fetch_add_4", "masked_fetch_add_8", "masked_compare_swap_4", "masked_compare_swap_8", "nop", "dump"};

/* What an operation does to memory, by kind. */
static bool puts_source(enum op op)
{
    return op == OP_PUT || op == OP_PUT_SIGNAL || op == OP_PUT_COUNTER || op == OP_PUT_SIGNAL_COUNTER ||
           op == OP_WRITE || op == OP_WRITE_2;
}
static bool puts_value(enum op op)
{
    return op == OP_P || op == OP_P_SIGNAL || op == OP_P_COUNTER;
}
static bool gets_target(enum op op)
{
    return op == OP_GET || op == OP_GET_COUNTER || op == OP_READ;
}
static bool signals(enum op op)
{
    return op == OP_SIGNAL || op == OP_PUT_SIGNAL || op == OP_P_SIGNAL || op == OP_PUT_SIGNAL_COUNTER ||
           op == OP_SIGNAL_COUNTER;
}
static bool counts(enum op op)
{
    return op >= OP_PUT_COUNTER && op <= OP_GET_COUNTER;
}

typedef void (*kernel_fn)(struct job);

struct shape { /* how a kernel of this sharing mode is launched */
    const char *name;
    enum doca_gpu_dev_verbs_resource_sharing_mode sharing;
    const char *sync_name;
    bool warp;
    kernel_fn kernel;
    int blocks, threads, queues;
};

#define GT_EXCLUSIVE DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
#define GT_CTA       DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
#define GT_GPU       DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define GT_SHAPE(mode, scope, exec, blocks, threads, queues)                                                           \
    {                                                                                                                  \
        #mode, GT_##mode, #scope, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_##exec == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP,        \
            run<GT_##mode, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_##scope, MATRIX_HANDLER,                                     \
                DOCA_GPUNETIO_VERBS_EXEC_SCOPE_##exec>,                                                                \
            blocks, threads, queues                                                                                    \
    }

static const struct shape shapes[] = {
    GT_SHAPE(EXCLUSIVE, SYS, THREAD, 2, 2, 4), GT_SHAPE(EXCLUSIVE, GPU, THREAD, 2, 2, 4),
    GT_SHAPE(EXCLUSIVE, CTA, THREAD, 1, 1, 1), GT_SHAPE(EXCLUSIVE, THREAD, THREAD, 1, 1, 1),
    GT_SHAPE(EXCLUSIVE, GPU, WARP, 1, 64, 2),  GT_SHAPE(CTA, SYS, THREAD, 2, 48, 2),
    GT_SHAPE(CTA, GPU, THREAD, 2, 33, 2),      GT_SHAPE(CTA, CTA, THREAD, 2, 32, 2),
    GT_SHAPE(CTA, THREAD, THREAD, 1, 40, 1),   GT_SHAPE(CTA, GPU, WARP, 2, 64, 2),
    GT_SHAPE(GPU, SYS, THREAD, 2, 64, 1),      GT_SHAPE(GPU, GPU, THREAD, 3, 40, 1),
    GT_SHAPE(GPU, CTA, THREAD, 2, 17, 1),      GT_SHAPE(GPU, THREAD, THREAD, 2, 32, 1),
    GT_SHAPE(GPU, GPU, WARP, 2, 64, 1),
};

static bool applies(const struct shape &shape, enum op op, bool collapsed)
{
    if (op == OP_MASKED_COMPARE_SWAP_8 && !collapsed)
        return false; /* polling a regular CQ by index takes one CQE a slot */
    if (!shape.warp)
        return true;
    /* Warp scope exists for these; the others are thread scope by definition. */
    return op == OP_PUT || op == OP_P || op == OP_GET || op == OP_SIGNAL || op == OP_PUT_SIGNAL;
}

static uint8_t source_byte(uint64_t i)
{
    return (uint8_t)(i * 7 + (i >> 8) * 13 + 1);
}
static uint8_t target_byte(uint64_t i)
{
    return (uint8_t)(i * 11 + (i >> 8) * 5 + 3);
}
static uint64_t word_before(uint64_t slot)
{
    return slot + 1;
}

struct bench { /* memory of one run */
    region source, target, words, fetched, signal, counter, status;
    explicit bench(world &w)
        : source(w, 512 * 1024), target(w, 512 * 1024), words(w, 64 * 1024), fetched(w, 64 * 1024), signal(w, 4096),
          counter(w, 4096), status(w, 4096)
    {
    }
    void reset(uint64_t slots)
    {
        for (uint64_t i = 0; i < slots * SLOT_BYTES; ++i) {
            source.data[i] = source_byte(i);
            target.data[i] = target_byte(i);
        }
        for (uint64_t i = 0; i < slots; ++i) {
            ((uint64_t *)words.data)[i] = word_before(i);
            ((uint64_t *)fetched.data)[i] = 0xfeedfeedfeedfeedull;
        }
        memset(signal.data, 0, signal.size);
        memset(counter.data, 0, counter.size);
        memset(status.data, 0xff, status.size);
    }
};

static bool same(const char *what, uint64_t slot, uint64_t got, uint64_t want)
{
    if (got == want)
        return true;
    fprintf(stderr, "  %s of slot %llu: got 0x%llx, want 0x%llx\n", what, (unsigned long long)slot,
            (unsigned long long)got, (unsigned long long)want);
    return false;
}

static uint64_t word_after(enum op op, uint64_t slot)
{
    const uint64_t before = word_before(slot);
    switch (op) {
    case OP_FETCH_ADD:
        return before + 1000 + slot;
    case OP_COMPARE_SWAP:
        return ~slot;
    case OP_MASKED_FETCH_ADD_4:
        return (before & 0xffffffff00000000ull) | (uint32_t)(before + 7);
    case OP_MASKED_FETCH_ADD_8:
        return before + 7;
    case OP_MASKED_COMPARE_SWAP_4:
        return (before & 0xffffffffff00ff00ull) | (0x11223344 & 0x00ff00ff);
    case OP_MASKED_COMPARE_SWAP_8:
        return (before & 0xff00ff00ff00ff00ull) | (0x1122334455667788ull & 0x00ff00ff00ff00ffull);
    default:
        return before;
    }
}

static bool check_slot(const bench &b, enum op op, uint64_t slot)
{
    const uint64_t value = 0x0101010101010101ull * ((slot & 0x7f) + 1);
    for (uint64_t j = 0; j < SLOT_BYTES; ++j) {
        const uint64_t i = slot * SLOT_BYTES + j;
        uint8_t source = source_byte(i), target = target_byte(i);
        if (puts_source(op) || (op == OP_WRITE_INLINE && j < INLINE_BYTES))
            target = source;
        else if (puts_value(op) && j < 8)
            target = (uint8_t)value;
        else if (gets_target(op))
            source = target;
        if (!same("source byte", slot, b.source.data[i], source) || !same("target byte", slot, b.target.data[i], target))
            return false;
    }
    if (!same("word", slot, ((uint64_t *)b.words.data)[slot], word_after(op, slot)))
        return false;
    const bool atomic8 = op == OP_FETCH_ADD || op == OP_COMPARE_SWAP || op == OP_MASKED_FETCH_ADD_8 ||
                         op == OP_MASKED_COMPARE_SWAP_8;
    return !atomic8 || same("old value", slot, ((uint64_t *)b.fetched.data)[slot], word_before(slot));
}

static bool check(const bench &b, const struct shape &shape, enum op op, int iterations)
{
    const int threads = shape.blocks * shape.threads;
    for (int t = 0; t < threads; ++t)
        if (!same("wait's result", (uint64_t)t, (uint64_t)((int *)b.status.data)[t], 0))
            return false;
    for (uint64_t slot = 0; slot < (uint64_t)threads * (uint64_t)iterations; ++slot)
        if (!check_slot(b, op, slot))
            return false;
    const uint64_t posts = (uint64_t)(threads / shape.queues) * (uint64_t)iterations;
    for (int q = 0; q < shape.queues; ++q) {
        if (!same("signal", (uint64_t)q, ((uint64_t *)b.signal.data)[q], signals(op) ? posts * 3 : 0))
            return false;
        if (!same("counter", (uint64_t)q, ((uint64_t *)b.counter.data)[q], counts(op) ? posts * 5 : 0))
            return false;
    }
    return true;
}

struct tally {
    int passed = 0, failed = 0;
};

static void run_shape(world &w, bench &b, const struct shape &shape, const queue_options &options,
                      struct tally *tally)
{
    doca_gpu_verbs_service_t service = nullptr;
    GT_OK(doca_gpu_verbs_create_service(&service));
    std::vector<std::unique_ptr<queue>> queues;
    struct job job;
    memset(&job, 0, sizeof(job));
    for (int q = 0; q < shape.queues; ++q) {
        queues.emplace_back(new queue(w, options, true));
        queues.back()->monitor(service);
        job.qps[q] = queues.back()->dev_main;
        job.companions[q] = queues.back()->dev_companion;
    }
    job.source = b.source.at(0);
    job.target = b.target.at(0);
    job.words = b.words.at(0);
    job.fetched = b.fetched.at(0);
    job.signal = b.signal.at(0);
    job.counter = b.counter.at(0);
    job.status = (int *)b.status.data;
    const int threads = shape.blocks * shape.threads;
    for (int o = 0; o < OP_COUNT; ++o) {
        job.op = (enum op)o;
        if (!applies(shape, job.op, options.collapsed))
            continue;
        /* At least three wraps of every ring over the operations of a shape; one here for the small shapes. */
        job.iterations = threads >= 32 ? 3 : 40;
        b.reset((uint64_t)threads * (uint64_t)job.iterations);
        shape.kernel<<<dim3((unsigned)shape.blocks), dim3((unsigned)shape.threads)>>>(job);
        GT_CUDA(cudaGetLastError());
        GT_CUDA(cudaDeviceSynchronize());
        const bool good = check(b, shape, job.op, job.iterations);
        (good ? tally->passed : tally->failed)++;
        if (!good)
            printf("FAILED handler %s sharing %s sync %s exec %s cq %s ring %u op %s\n", MATRIX_NAME, shape.name,
                   shape.sync_name, shape.warp ? "WARP" : "THREAD", options.collapsed ? "collapsed" : "regular",
                   options.sq_nwqe, op_names[o]);
    }
    GT_OK(doca_gpu_verbs_destroy_service(service));
}

/* `auto` can be told the queues' handler, so that one build covers them all where building takes long (nvcc). */
static const struct {
    const char *name;
    enum doca_gpu_dev_verbs_nic_handler handler;
    enum doca_gpu_verbs_send_dbr_mode_ext mode;
} queue_handlers[] = {
    {"gpu-db", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
    {"gpu-bf", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
    {"gpu-no-dbr", DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW},
    {"cpu-proxy", DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
};

[[maybe_unused]] static bool choose_handler(const char *name, queue_options *options)
{
    for (const auto &choice : queue_handlers)
        if (strcmp(choice.name, name) == 0) {
            options->handler = choice.handler;
            options->dbr_mode = choice.mode;
            return true;
        }
    fprintf(stderr, "no handler is called '%s': gpu-db, gpu-bf, gpu-no-dbr or cpu-proxy\n", name);
    return false;
}

/* `queues`: the handler that the queues were told, where it is not the one in the kernels' name. */
static int run_matrix(const queue_options &base, const char *queues = MATRIX_NAME)
{
    world w;
    bench b(w);
    struct tally tally;
    for (const struct shape &shape : shapes)
        for (int collapsed = 0; collapsed < 2; ++collapsed) {
            queue_options options = base;
            options.collapsed = collapsed != 0;
            options.sq_nwqe = shape.warp ? 64 : 16;
            run_shape(w, b, shape, options, &tally);
        }
    printf("matrix %s, queues %s: %d passed, %d failed\n", MATRIX_NAME, queues, tally.passed, tally.failed);
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}

#endif
