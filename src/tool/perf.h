/* SPDX-License-Identifier: Apache-2.0 */
/* What a performance test is: the options of a command line, and the part of them that both ends must agree on. */
#ifndef GDAKI_TOOL_PERF_H
#define GDAKI_TOOL_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/abi.h"
#include "oob.h"
#include "parse.h"

enum perf_test { PERF_PUT_BW, PERF_PUT_LAT, PERF_WRITE_BW, PERF_WRITE_LAT, PERF_GET_BW, PERF_SIGNAL_LAT, PERF_POST_RATE };
enum perf_role { PERF_SERVER, PERF_CLIENT, PERF_LOCAL, PERF_PAIR };
enum perf_handler { PERF_HANDLER_AUTO, PERF_HANDLER_GPU_DB, PERF_HANDLER_GPU_NO_DBR, PERF_HANDLER_GPU_BF, PERF_HANDLER_CPU_PROXY };
enum perf_mem { PERF_MEM_GPU, PERF_MEM_HOST };

#define PERF_SIZE_MAX (1ull << 30) /* one WQE: DOCA_GPUNETIO_VERBS_MAX_TRANSFER_SIZE */
#define PERF_SPAN_MAX (4ull << 30)
#define PERF_QPS_MAX 8192
#define PERF_DEPTH_MAX 32768
#define PERF_THREADS_MAX 1024
#define PERF_SEED_MAX INT64_MAX /* what JSON's integers hold, so that a printed seed can be given again */
#define PERF_CTAS_MAX 4096
#define PERF_QP_TIMEOUT_MAX 31 /* five bits */
#define PERF_INLINE_MAX 28 /* DOCA_GPUNETIO_VERBS_MAX_INLINE_SIZE: what fits one 64-byte WQE */

/* What the client decides for both ends; travels in HELLO. */
struct perf_plan {
    int test;
    struct parse_sizes sizes;
    uint64_t iterations; /* messages of one size; with duration_ns: of the first round */
    uint64_t duration_ns; /* 0: count messages instead */
    uint64_t warmup;
    uint32_t qps, ctas, threads;
    uint32_t scope, sharing; /* enum gdaki_kernel_scope, _sharing */
    int handler;
    bool bidirectional, verify, collapsed;
    uint32_t depth, window, inline_max;
    uint32_t mtu; /* bytes; 0: what the port has */
    uint32_t qp_timeout; /* local ACK timeout, 4.096 us * 2^code, 5 bits; 0: none (IBTA 9.7.6.1.3) */
    uint64_t span; /* bytes over which messages rotate; a power of two; 0: automatic, resolved for each size */
    uint64_t seed;
    uint64_t timeout_ns;
};

struct perf_options {
    struct perf_plan plan;
    int role;
    const char *host, *bind_address;
    uint16_t port;
    int oob_fd; /* of a pair's server, inherited; -1: none */
    const char *device; /* NIC name; NULL: the first */
    const char *gpu;    /* index or PCI bus id; NULL: 0 */
    const char *gpu_backend, *nic, *queue_mem; /* NULL: environment, then auto */
    uint32_t gid_index;
    bool gid_given;
    int mem; /* enum perf_mem, of this end */
    bool floor, quiet;
    bool pin; /* a pair's ends on a CPU each */
    uint64_t idle_ns; /* before measuring: leave the connected queues alone this long and report the CPU time used */
    const char *json, *csv, *plot;
    const char *pcap; /* softnic: capture file of this end */
    const char *argv0;
};

extern const struct parse_word perf_tests[], perf_scopes[], perf_sharings[], perf_handlers[], perf_mems[];

/* Parses and checks a command line; argv[0] is the name for messages. Exits (TOOL_USAGE) on a wrong one, as argp does. */
int perf_options_parse(int test, int argc, char **argv, struct perf_options *options);

/* Checks what a command line or a peer gave. 0 or -EINVAL with `why` (PARSE_WHY_SIZE bytes) naming option and value. */
int perf_plan_check(struct perf_plan *plan, char *why);

/* Plan <-> HELLO payload. perf_plan_read refuses what perf_plan_check refuses. */
void perf_plan_write(const struct perf_plan *plan, struct oob_writer *w);
int perf_plan_read(struct perf_plan *plan, struct oob_reader *r, char *why);

/* Span, stride and slots of a message size: slots is a power of two. */
struct perf_layout {
    uint64_t size, stride, slots;
    uint64_t span; /* stride * slots */
};
void perf_layout_of(const struct perf_plan *plan, uint64_t size, struct perf_layout *layout);

/* True for tests whose server runs a kernel as well. */
bool perf_test_is_ping(int test);
bool perf_test_is_latency(int test);
/* Messages between two waits of a thread (a block for write-bw) and threads that post to one queue. */
uint32_t perf_posters_per_qp(const struct perf_plan *plan);

int perf_run(const struct perf_options *options);
int perf_post_rate(const struct perf_options *options);

#endif
