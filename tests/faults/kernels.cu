/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults below the verbs line, met by a running kernel: each fault beside each operation. The kernel waits by ticket, with a
 * bound that only a hang reaches. Either every message has happened exactly once, or the wait ends in -EIO and the queue
 * says which error it was.
 *
 * Runs the same under the executor's store buffer (GDAKI_CPU_STORE_BUFFER, GDAKI_CPU_SEED), where WQEs, records and
 * doorbells become visible late and in seeded order.
 */
#include <memory>

#include <sched.h>

#include "../support/pair.h"
#include "doca_gpunetio_device.h"
#include "gdaki/explain.h"
#include "gdaki/softnic.h"

using gdaki_test::queue;
using gdaki_test::queue_options;
using gdaki_test::region;
using gdaki_test::world;

#define EXCL   DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
#define AUTO   DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define THREAD DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD
#define ADD    DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD

enum op { OP_PUT, OP_PUT_SIGNAL, OP_GET, OP_P, OP_SIGNAL, OP_PUT_COUNTER, OPS };
static const char *const op_names[OPS] = {"put", "put_signal", "get", "p", "signal", "put_counter"};

enum { MESSAGES = 4, SIZE = 3000, STEP = 4096 }; /* a path MTU of 1 KiB: three packets a message */
enum { NOT_RUN = 12345 };
static const uint64_t GUARD_NS = 60ull * 1000000000ull; /* a wait that takes so long hangs */

struct job {
    struct doca_gpu_dev_verbs_qp *qp, *companion;
    struct doca_gpu_dev_verbs_addr source, target, word, counter, fetched;
    int *status; /* of each message's wait */
    uint32_t *go; /* the host's: goes on */
    enum op op;
    uint64_t guard_ns;
};

__device__ static struct doca_gpu_dev_verbs_addr plus(struct doca_gpu_dev_verbs_addr addr, uint64_t offset)
{
    addr.addr += offset;
    return addr;
}

__device__ static uint64_t value_of(uint64_t k)
{
    return 0x0101010101010101ull * (k + 1);
}

__device__ static int one_message(const struct job &job, uint64_t k)
{
    const struct doca_gpu_dev_verbs_addr source = plus(job.source, k * STEP), target = plus(job.target, k * STEP);
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    struct doca_gpu_dev_verbs_qp *qp = job.qp;

    switch (job.op) {
    case OP_PUT:
        doca_gpu_dev_verbs_put<EXCL, AUTO, THREAD>(qp, target, source, SIZE, &ticket);
        break;
    case OP_PUT_SIGNAL:
        doca_gpu_dev_verbs_put_signal<ADD, EXCL, AUTO, THREAD>(qp, target, source, SIZE, job.word, job.fetched, 3, &ticket);
        break;
    case OP_GET:
        doca_gpu_dev_verbs_get<EXCL, AUTO, THREAD>(qp, target, source, SIZE, source, &ticket);
        break;
    case OP_P:
        doca_gpu_dev_verbs_p<uint64_t, EXCL, AUTO, THREAD>(qp, target, value_of(k), &ticket);
        break;
    case OP_SIGNAL:
        doca_gpu_dev_verbs_signal<ADD, EXCL, AUTO, THREAD>(qp, job.word, job.fetched, 3, &ticket);
        break;
    default:
        doca_gpu_dev_verbs_put_counter<EXCL, AUTO>(qp, target, source, SIZE, job.companion, job.counter, job.fetched, 5);
        ticket = doca_gpu_dev_verbs_atomic_read<uint64_t, EXCL>(&qp->sq_rsvd_index) - 1;
        break;
    }
    int rc = doca_gpu_dev_verbs_wait_bounded<EXCL, AUTO>(qp, ticket, job.guard_ns);
    if (rc == 0 && job.op == OP_PUT_COUNTER)
        rc = doca_gpu_dev_verbs_wait_bounded<EXCL, AUTO>(
            job.companion, doca_gpu_dev_verbs_atomic_read<uint64_t, EXCL>(&job.companion->sq_rsvd_index) - 1, job.guard_ns);
    return rc;
}

/* One message after the other; after the first failure nothing more is asked for. */
__global__ void messages(struct job job)
{
    for (uint64_t k = 0; k < MESSAGES; k++) {
        job.status[k] = one_message(job, k);
        if (job.status[k] != 0)
            return;
    }
}

/* A doorbell that is lost: a bounded wait says that nothing has come; the next message's doorbell tells of both. */
__global__ void wait_twice(struct job job)
{
    doca_gpu_dev_verbs_ticket_t first, second;

    doca_gpu_dev_verbs_put<EXCL, AUTO, THREAD>(job.qp, job.target, job.source, SIZE, &first);
    atomicExch(&job.status[0], doca_gpu_dev_verbs_wait_bounded<EXCL, AUTO>(job.qp, first, 20000000)); /* the host looks */
    while (doca_gpu_dev_verbs_atomic_read<uint32_t, DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>(job.go) == 0)
        ;
    doca_gpu_dev_verbs_put<EXCL, AUTO, THREAD>(job.qp, plus(job.target, STEP), plus(job.source, STEP), SIZE, &second);
    job.status[1] = doca_gpu_dev_verbs_wait_bounded<EXCL, AUTO>(job.qp, second, job.guard_ns);
    job.status[2] = doca_gpu_dev_verbs_wait_bounded<EXCL, AUTO>(job.qp, first, job.guard_ns);
}

/* ---- one run ------------------------------------------------------------------------------------------------------- */

struct bench {
    region source, target, words, status;
    explicit bench(world &w) : source(w, MESSAGES * STEP), target(w, MESSAGES * STEP), words(w, 4096), status(w, 4096) {}

    void reset()
    {
        for (size_t i = 0; i < source.size; i++) {
            source.data[i] = (uint8_t)(i * 7 + 1);
            target.data[i] = (uint8_t)(i * 11 + 3);
        }
        memset(words.data, 0, words.size);
        memset(status.data, 0, status.size);
        for (int k = 0; k < MESSAGES; k++)
            ((int *)status.data)[k] = NOT_RUN;
    }
    uint64_t word(int n) const
    {
        return __atomic_load_n((uint64_t *)words.data + n, __ATOMIC_ACQUIRE);
    }
};

struct expectation {
    const char *plan;
    bool repaired;         /* all messages happen once */
    int syndrome, vendor;  /* else: the error of the queue */
    int adds;              /* else: how often the peer's words have been added to; -1: not looked at */
};

static const struct expectation rows[] = {
    {"drop:nth=1", true, 0, 0, 0},
    {"drop:rate=0.1", true, 0, 0, 0},
    {"drop:kind=response,nth=1", true, 0, 0, 0},
    {"dup", true, 0, 0, 0},
    {"delay:us=300,rate=0.5", true, 0, 0, 0},
    {"reorder:rate=0.3", true, 0, 0, 0},
    {"corrupt:nth=1", true, 0, 0, 0},
    {"lose-response:nth=1", true, 0, 0, 0},
    {"nak:code=sequence,nth=1", true, 0, 0, 0},
    {"rnr:timer=1,nth=1", true, 0, 0, 0},
    {"link-down:nth=1,for=3ms", true, 0, 0, 0},
    {"doorbell-delayed:by=500us", true, 0, 0, 0},
    {"doorbell-merged:hold=500us", true, 0, 0, 0},
    {"retry-exceeded", false, 0x15, 0x81, 0},
    {"lose-response", false, 0x15, 0x81, 1}, /* it has happened, and once, although the requester cannot know */
    {"link-down", false, 0x15, 0x81, 0},
    {"nak:code=invalid", false, 0x12, 0x8a, 0},
    {"nak:code=access", false, 0x13, 0x88, 0},
    {"nak:code=op", false, 0x14, 0x89, 0},
    {"rnr:timer=1", false, 0x16, 0x87, 0},
    {"cq-overrun:nth=1", false, 0x02, 0x30, -1},
};

static uint64_t sum(const struct softnic_fault_stats &s)
{
    return s.dropped + s.duplicated + s.delayed + s.reordered + s.corrupted + s.responses_lost + s.retry_exceeded +
           s.link_down + s.naks + s.rnr_naks + s.cq_overruns + s.doorbells_lost + s.doorbells_delayed + s.doorbells_merged;
}

static uint64_t injected()
{
    struct softnic_fault_stats s;

    GT_TRUE(softnic_fault_stats(&s, sizeof(s)) == sizeof(s));
    return sum(s);
}

static struct job make_job(const bench &b, const queue &q, enum op op)
{
    struct job job;

    memset(&job, 0, sizeof(job));
    job.qp = q.dev_main;
    job.companion = q.dev_companion;
    job.source = b.source.at(0);
    job.target = b.target.at(0);
    job.word = b.words.at(0);
    job.counter = b.words.at(8);
    job.fetched = b.words.at(2048);
    job.status = (int *)b.status.data;
    job.go = (uint32_t *)(b.status.data + 2048);
    job.op = op;
    job.guard_ns = GUARD_NS;
    return job;
}

static bool complain(const struct expectation &row, enum op op, const char *what, long long got, long long want)
{
    if (got == want)
        return true;
    fprintf(stderr, "%s, %s: %s is %lld (0x%llx), not %lld (0x%llx)\n", row.plan, op_names[op], what, got, got, want, want);
    return false;
}

/* GET reads from target into source, the others write from source to target. */
static bool bytes_moved(const bench &b, enum op op)
{
    for (int k = 0; k < MESSAGES; k++) {
        const uint8_t *source = b.source.data + k * STEP, *target = b.target.data + k * STEP;
        const uint64_t value = 0x0101010101010101ull * (uint64_t)(k + 1);
        if (op == OP_P ? memcmp(target, &value, 8) != 0 : op != OP_SIGNAL && memcmp(source, target, SIZE) != 0)
            return false;
        if (op != OP_P && op != OP_SIGNAL && target[SIZE] != (uint8_t)((size_t)(k * STEP + SIZE) * 11 + 3))
            return false; /* not a byte more */
    }
    return true;
}

/* The error in words: which queue and WQE, which operation, what it means. */
static bool check_words(const queue &q, const struct expectation &row, enum op op,
                        const struct doca_gpu_verbs_qp_error_info &error)
{
    char text[2048], number[32];

    if (op == OP_PUT_COUNTER)
        return true; /* the companion's, in part of the rows */
    const size_t n = gdaki_explain_qp_error(q.handle(), text, sizeof(text));
    snprintf(number, sizeof(number), "queue 0x%06x: WQE %d", q.handle()->qp_cpu->sq_num, error.wqe_counter);
    bool good = n != 0 && n == strlen(text) && strstr(text, number) != nullptr;
    good = good && strstr(text, gdaki_explain_syndrome_name(row.syndrome)) != nullptr;
    good = good && strstr(text, gdaki_explain_vendor_name(row.vendor)) != nullptr;
    if (op == OP_PUT || op == OP_P)
        good = good && strstr(text, "(RDMA_WRITE, remote address 0x") != nullptr;
    if (op == OP_GET && error.wqe_counter == 0)
        good = good && strstr(text, "(RDMA_READ, remote address 0x") != nullptr;
    if (op == OP_SIGNAL)
        good = good && strstr(text, "(ATOMIC_FA, remote address 0x") != nullptr;
    if (!good)
        fprintf(stderr, "%s, %s: not explained well:\n%s", row.plan, op_names[op], text);
    return good;
}

static bool check(const bench &b, const queue &q, const struct expectation &row, enum op op)
{
    const int *status = (const int *)b.status.data;
    struct doca_gpu_verbs_qp_error_info error;
    bool good = true;

    if (row.repaired) {
        for (int k = 0; k < MESSAGES; k++)
            good = complain(row, op, "a wait's result", status[k], 0) && good;
        good = complain(row, op, "signal", (long long)b.word(0), op == OP_SIGNAL || op == OP_PUT_SIGNAL ? 3 * MESSAGES : 0) &&
               good;
        good = complain(row, op, "counter", (long long)b.word(1), op == OP_PUT_COUNTER ? 5 * MESSAGES : 0) && good;
        return complain(row, op, "every byte moved", bytes_moved(b, op), 1) && good;
    }
    good = complain(row, op, "the first wait's result", status[0], -EIO);
    good = complain(row, op, "what came behind it", status[1], NOT_RUN) && good;
    GT_OK(doca_gpu_verbs_query_last_error(q.handle(), &error));
    if (op == OP_PUT_COUNTER && !error.has_error) /* it was the companion's */
        GT_OK(doca_gpu_verbs_query_last_error(q.group->qp_companion.qp_gverbs, &error));
    good = complain(row, op, "has_error", error.has_error, 1) && good;
    good = complain(row, op, "the syndrome", error.syndrome, row.syndrome) && good;
    good = complain(row, op, "the vendor syndrome", error.vendor_err_synd, row.vendor) && good;
    if (row.adds >= 0 && op == OP_SIGNAL)
        good = complain(row, op, "signal", (long long)b.word(0), 3 * row.adds) && good;
    return check_words(q, row, op, error) && good;
}

static bool run_row(world &w, bench &b, const struct expectation &row, enum op op)
{
    queue_options options;

    options.mtu = DOCA_VERBS_MTU_SIZE_1K_BYTES;
    options.ack_timeout = row.repaired ? 10 : 8; /* 4 ms, 1 ms */
    options.retry_cnt = row.repaired ? 7 : 1;
    options.rnr_retry = row.repaired ? 7 : 1;
    queue q(w, options, op == OP_PUT_COUNTER);
    b.reset();
    GT_TRUE(softnic_fault_set(row.plan, 1 + (uint64_t)op) == 0);
    messages<<<1, 1>>>(make_job(b, q, op));
    GT_CUDA(cudaGetLastError());
    GT_CUDA(cudaDeviceSynchronize());
    bool good = check(b, q, row, op);
    GT_TRUE(softnic_fault_clear() == 0);
    /* Chance may spare the few packets of p, get and signal. */
    if (strstr(row.plan, "rate=") == nullptr || op == OP_PUT_SIGNAL)
        good = complain(row, op, "something was injected", injected() != 0, 1) && good;
    return good;
}

static bool lost_doorbell(world &w, bench &b, enum doca_gpu_verbs_send_dbr_mode_ext mode)
{
    static const struct expectation row = {"doorbell-lost", true, 0, 0, 0};
    queue_options options;

    options.dbr_mode = mode;
    queue q(w, options, false);
    b.reset();
    const int *status = (const int *)b.status.data;
    for (int k = 0; k < 1000;) /* until the look at the record that comes with RTS is over, whoever takes it */
        k += softnic_drive() >= 0;
    GT_TRUE(softnic_fault_set("doorbell-lost", 1) == 0);
    wait_twice<<<1, 1>>>(make_job(b, q, OP_PUT));
    GT_CUDA(cudaGetLastError());
    while (__atomic_load_n(&status[0], __ATOMIC_ACQUIRE) == NOT_RUN)
        sched_yield();
    char text[2048];
    gdaki_explain_qp(q.handle(), text, sizeof(text));
    const bool record = mode == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR;
    bool good = complain(row, OP_PUT, "why it hangs", strstr(text, "announced 1; completions seen up to 0") != nullptr &&
                         strstr(text, record ? "waits for: a doorbell" : "nothing to do") != nullptr, 1);
    if (!good)
        fprintf(stderr, "%s", text);
    GT_TRUE(softnic_fault_clear() == 0); /* from here on doorbells are seen */
    __atomic_store_n((uint32_t *)(b.status.data + 2048), 1, __ATOMIC_RELEASE);
    GT_CUDA(cudaDeviceSynchronize());
    good = complain(row, OP_PUT, "the wait behind a lost doorbell", status[0], EBUSY) && good;
    good = complain(row, OP_PUT, "the second message's wait", status[1], 0) && good;
    good = complain(row, OP_PUT, "the first message's wait, again", status[2], 0) && good;
    good = complain(row, OP_PUT, "bytes", memcmp(b.source.data, b.target.data, SIZE), 0) && good;
    return complain(row, OP_PUT, "a doorbell was lost", injected() != 0, 1) && good;
}

int main()
{
    int passed = 0, failed = 0;
    world w;
    bench b(w);

    GT_TRUE(softnic_fault_set("no-such-fault", 1) == -EINVAL);
    GT_TRUE(strstr(softnic_last_error(), "no action is called 'no-such-fault'") != nullptr);
    for (const struct expectation &row : rows)
        for (int op = 0; op < OPS; op++)
            (run_row(w, b, row, (enum op)op) ? passed : failed)++;
    for (auto mode : {DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW})
        (lost_doorbell(w, b, mode) ? passed : failed)++;
    printf("faults: %d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
