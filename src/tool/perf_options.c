/* SPDX-License-Identifier: Apache-2.0 */
#include "perf.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "tool.h"

enum long_only {
    OPT_GPU_BACKEND = 256, OPT_NIC, OPT_CTAS, OPT_THREADS, OPT_SCOPE, OPT_HANDLER, OPT_SHARING, OPT_MEM, OPT_QUEUE_MEM,
    OPT_CQ, OPT_WARMUP, OPT_VERIFY, OPT_NO_VERIFY, OPT_JSON, OPT_CSV, OPT_PLOT, OPT_SEED, OPT_LOCAL, OPT_PAIR,
    OPT_FLOOR, OPT_PIN, OPT_SPAN, OPT_WINDOW, OPT_BIND, OPT_TIMEOUT, OPT_QUIET, OPT_IDLE, OPT_OOB_FD, OPT_PCAP,
    OPT_END,
};

static const struct argp_option option_table[] = {
    {0, 0, 0, 0, "Ends:", 1},
    {"local", OPT_LOCAL, 0, 0, "Both ends in this process, two threads", 0},
    {"pair", OPT_PAIR, 0, 0, "Both ends as two processes of this host", 0},
    {"port", 'p', "PORT", 0, "TCP port of the out-of-band exchange (18515)", 0},
    {"bind", OPT_BIND, "ADDRESS", 0, "Server: address to listen on (127.0.0.1)", 0},
    {"oob-fd", OPT_OOB_FD, "FD", OPTION_HIDDEN, 0, 0},
    {0, 0, 0, 0, "Devices:", 2},
    {"device", 'd', "NAME", 0, "NIC (the first)", 0},
    {"gpu", 'g', "INDEX|BUS_ID", 0, "GPU (0)", 0},
    {"gpu-backend", OPT_GPU_BACKEND, "auto|cuda|cpu", 0, "GPU back-end (GDAKI_GPU, else auto)", 0},
    {"nic", OPT_NIC, "auto|rdma-core|softnic", 0, "NIC back-end (GDAKI_NIC, else auto)", 0},
    {"gid-index", 'x', "N", 0, "GID of this end's port (the first usable)", 0},
    {"mtu", 'm', "BYTES", 0, "Path MTU: 256 to 4096 (the port's)", 0},
    {0, 0, 0, 0, "Traffic:", 3},
    {"size", 's', "BYTES", 0, "Message size, a list 8,64,4K or a range 8..1M (bandwidth: 64K, latency: 8)", 0},
    {"all", 'a', 0, 0, "All sizes 8..1M", 0},
    {"iterations", 'n', "N", 0, "Messages of each size (bandwidth: 5000, latency: 1000)", 0},
    {"duration", 'D', "SECONDS", 0, "Run each size for this long instead", 0},
    {"warmup", OPT_WARMUP, "N", 0, "Messages before the measured ones (100)", 0},
    {"bidirectional", 'b', 0, 0, "Both ends send at the same time", 0},
    {"inline", 'I', "BYTES", 0, "Carry messages up to this size inside the WQE (0)", 0},
    {"span", OPT_SPAN, "BYTES", 0, "Buffer over which messages rotate, a power of two (64K, or one message)", 0},
    {"seed", OPT_SEED, "N", 0, "Seed of the data pattern (random)", 0},
    {0, 0, 0, 0, "Kernel and queues:", 4},
    {"qps", 'q', "N", 0, "Queue pairs (what --sharing needs)", 0},
    {"ctas", OPT_CTAS, "N", 0, "Blocks (1)", 0},
    {"threads", OPT_THREADS, "N", 0, "Threads of a block (bandwidth: 32; latency: 1, at warp scope 32)", 0},
    {"scope", OPT_SCOPE, "thread|warp", 0, "Execution scope (thread)", 0},
    {"sharing", OPT_SHARING, "exclusive|cta|gpu", 0, "Who uses a queue (gpu; one thread: exclusive)", 0},
    {"handler", OPT_HANDLER, "MODE", 0, "Doorbell: auto, gpu-db, gpu-no-dbr, gpu-bf, cpu-proxy (auto)", 0},
    {"tx-depth", 't', "N", 0, "WQEs of a send queue, a power of two (1024)", 0},
    {"window", OPT_WINDOW, "N", 0, "Messages a thread posts before it waits (what the depth allows)", 0},
    {"qp-timeout", 'u', "N", 0, "Local ACK timeout: 4.096 us * 2^N, 7 retries; 0: none (14)", 0},
    {"cq", OPT_CQ, "regular|collapsed", 0, "Kind of completion queue (regular)", 0},
    {"mem", OPT_MEM, "gpu|host", 0, "Where this end's data lies (gpu)", 0},
    {"queue-mem", OPT_QUEUE_MEM, "auto|gpu|host", 0, "Where queues lie (GDAKI_QUEUE_MEM, else auto)", 0},
    {0, 0, 0, 0, "Checks and results:", 5},
    {"verify", OPT_VERIFY, 0, 0, "Compare every byte at the receiver (default)", 0},
    {"no-verify", OPT_NO_VERIFY, 0, 0, "Do not compare", 0},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "A wait longer than this fails the run (10)", 0},
    {"pin", OPT_PIN, 0, 0, "With --pair: the client's threads on the first CPU, the server's on the second", 0},
    {"floor", OPT_FLOOR, 0, 0, "Measure this machine's floors before and after each size and print them beside it", 0},
    {"idle", OPT_IDLE, "SECONDS", 0, "First leave the connected queues idle and report the CPU time that takes", 0},
    {"json", OPT_JSON, "FILE", 0, "Write results as JSON (- for stdout instead of the table)", 0},
    {"csv", OPT_CSV, "FILE", 0, "Write results as CSV (- for stdout instead of the table)", 0},
    {"plot", OPT_PLOT, "FILE.svg|FILE.png", 0, "Draw the curves (needs gnuplot)", 0},
    {"pcap", OPT_PCAP, "FILE", 0,
     "softnic: capture this end's packets (--pair: the server's go to NAME.server.pcap for NAME.pcap)", 0},
    {"quiet", OPT_QUIET, 0, 0, "No progress on stderr", 0},
    {0, 0, 0, 0, 0, 0},
};

static const struct parse_word cq_words[] = {{"regular", 0}, {"collapsed", 1}, {NULL, 0}};
static const struct parse_word gpu_words[] = {{"auto", 0}, {"cuda", 1}, {"cpu", 2}, {NULL, 0}};
static const struct parse_word nic_words[] = {{"auto", 0}, {"rdma-core", 1}, {"softnic", 2}, {NULL, 0}};
static const struct parse_word queue_words[] = {{"auto", 0}, {"gpu", 1}, {"host", 2}, {NULL, 0}};

struct parsing {
    struct perf_options *options;
    bool sizes_given, threads_given, sharing_given, iterations_given, seed_given;
    bool given[OPT_END]; /* by option key */
};

/* Where an option has no effect. It is refused there: who gives it expects something of it. */
enum { NOT_POST_RATE = 1, NOT_SERVER = 2, NOT_CLIENT = 4, NOT_BOTH_ENDS = 8 };

static const struct {
    int key;
    const char *name;
    unsigned where;
} without_effect[] = {
    {OPT_LOCAL, "--local", NOT_POST_RATE}, {OPT_PAIR, "--pair", NOT_POST_RATE},
    {'p', "--port", NOT_POST_RATE | NOT_BOTH_ENDS}, {OPT_BIND, "--bind", NOT_POST_RATE | NOT_CLIENT | NOT_BOTH_ENDS},
    {'d', "--device", NOT_POST_RATE}, {OPT_NIC, "--nic", NOT_POST_RATE}, {'x', "--gid-index", NOT_POST_RATE},
    {'m', "--mtu", NOT_POST_RATE}, {'D', "--duration", NOT_POST_RATE}, {OPT_WARMUP, "--warmup", NOT_POST_RATE},
    {'b', "--bidirectional", NOT_POST_RATE}, {'I', "--inline", NOT_POST_RATE}, {OPT_SPAN, "--span", NOT_POST_RATE},
    {OPT_SEED, "--seed", NOT_POST_RATE}, {OPT_WINDOW, "--window", NOT_POST_RATE}, {OPT_CQ, "--cq", NOT_POST_RATE},
    {'u', "--qp-timeout", NOT_POST_RATE},
    {OPT_MEM, "--mem", NOT_POST_RATE}, {OPT_VERIFY, "--verify", NOT_POST_RATE},
    {OPT_NO_VERIFY, "--no-verify", NOT_POST_RATE}, {OPT_FLOOR, "--floor", NOT_POST_RATE | NOT_SERVER},
    {OPT_IDLE, "--idle", NOT_POST_RATE | NOT_SERVER}, {OPT_CSV, "--csv", NOT_POST_RATE | NOT_SERVER},
    {OPT_PLOT, "--plot", NOT_POST_RATE | NOT_SERVER}, {OPT_JSON, "--json", NOT_SERVER},
    {OPT_PCAP, "--pcap", NOT_POST_RATE},
};

static void set_u32(struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max,
                    uint32_t *out)
{
    char why[PARSE_WHY_SIZE];
    uint64_t value = 0;

    if (parse_u64(text, min, max, &value, why))
        argp_error(state, "%s: %s", option, why);
    *out = (uint32_t)value;
}

static void set_u64(struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max,
                    uint64_t *out)
{
    char why[PARSE_WHY_SIZE];

    if (parse_u64(text, min, max, out, why))
        argp_error(state, "%s: %s", option, why);
}

static void set_word(struct argp_state *state, const char *option, const char *text, const struct parse_word *table,
                     int *out)
{
    char why[PARSE_WHY_SIZE];

    if (parse_word(text, table, out, why))
        argp_error(state, "%s: %s", option, why);
}

static void set_sizes(struct argp_state *state, struct parsing *p, const char *text)
{
    char why[PARSE_WHY_SIZE];

    if (parse_sizes(text, 1, PERF_SIZE_MAX, &p->options->plan.sizes, why))
        argp_error(state, "--size: %s", why);
    p->sizes_given = true;
}

static void set_plot(struct argp_state *state, struct perf_options *o, const char *text)
{
    const char *dot = strrchr(text, '.');

    if (!dot || (strcmp(dot, ".svg") && strcmp(dot, ".png")))
        argp_error(state, "--plot: '%s' does not end in .svg or .png", text);
    o->plot = text;
}

static int parse_device_option(int key, char *arg, struct argp_state *state, struct parsing *p)
{
    struct perf_options *o = p->options;
    int word = 0;

    switch (key) {
    case 'd': o->device = arg; break;
    case 'g': o->gpu = arg; break;
    case OPT_GPU_BACKEND:
        set_word(state, "--gpu-backend", arg, gpu_words, &word);
        o->gpu_backend = arg;
        break;
    case OPT_NIC:
        set_word(state, "--nic", arg, nic_words, &word);
        o->nic = arg;
        break;
    case OPT_QUEUE_MEM:
        set_word(state, "--queue-mem", arg, queue_words, &word);
        o->queue_mem = arg;
        break;
    case 'x':
        set_u32(state, "--gid-index", arg, 0, 255, &o->gid_index);
        o->gid_given = true;
        break;
    case 'm': set_u32(state, "--mtu", arg, 256, 4096, &o->plan.mtu); break;
    case OPT_MEM: set_word(state, "--mem", arg, perf_mems, &o->mem); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int parse_traffic_option(int key, char *arg, struct argp_state *state, struct parsing *p)
{
    struct perf_plan *plan = &p->options->plan;
    char why[PARSE_WHY_SIZE];

    switch (key) {
    case 's': set_sizes(state, p, arg); break;
    case 'a': set_sizes(state, p, "8..1M"); break;
    case 'n':
        set_u64(state, "--iterations", arg, 1, 1ull << 40, &plan->iterations);
        p->iterations_given = true;
        break;
    case 'D':
        if (parse_seconds(arg, 0.01, 3600, &plan->duration_ns, why))
            argp_error(state, "--duration: %s", why);
        break;
    case OPT_WARMUP: set_u64(state, "--warmup", arg, 0, 1ull << 30, &plan->warmup); break;
    case 'b': plan->bidirectional = true; break;
    case 'I': set_u32(state, "--inline", arg, 0, PERF_INLINE_MAX, &plan->inline_max); break;
    case OPT_SPAN:
        if (parse_size(arg, 1, PERF_SPAN_MAX, &plan->span, why))
            argp_error(state, "--span: %s", why);
        break;
    case OPT_SEED:
        set_u64(state, "--seed", arg, 0, PERF_SEED_MAX, &plan->seed);
        p->seed_given = true;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int parse_kernel_option(int key, char *arg, struct argp_state *state, struct parsing *p)
{
    struct perf_plan *plan = &p->options->plan;
    int word = 0;

    switch (key) {
    case 'q': set_u32(state, "--qps", arg, 1, PERF_QPS_MAX, &plan->qps); break;
    case OPT_CTAS: set_u32(state, "--ctas", arg, 1, PERF_CTAS_MAX, &plan->ctas); break;
    case OPT_THREADS:
        set_u32(state, "--threads", arg, 1, PERF_THREADS_MAX, &plan->threads);
        p->threads_given = true;
        break;
    case OPT_SCOPE:
        set_word(state, "--scope", arg, perf_scopes, &word);
        plan->scope = (uint32_t)word;
        break;
    case OPT_SHARING:
        set_word(state, "--sharing", arg, perf_sharings, &word);
        plan->sharing = (uint32_t)word;
        p->sharing_given = true;
        break;
    case OPT_HANDLER: set_word(state, "--handler", arg, perf_handlers, &plan->handler); break;
    case 't': set_u32(state, "--tx-depth", arg, 0, UINT32_MAX, &plan->depth); break;
    case 'u': set_u32(state, "--qp-timeout", arg, 0, PERF_QP_TIMEOUT_MAX, &plan->qp_timeout); break;
    case OPT_WINDOW: set_u32(state, "--window", arg, 1, PERF_DEPTH_MAX, &plan->window); break;
    case OPT_CQ:
        set_word(state, "--cq", arg, cq_words, &word);
        plan->collapsed = word;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int parse_result_option(int key, char *arg, struct argp_state *state, struct parsing *p)
{
    struct perf_options *o = p->options;
    char why[PARSE_WHY_SIZE];
    uint32_t value = 0;

    switch (key) {
    case OPT_VERIFY: o->plan.verify = true; break;
    case OPT_NO_VERIFY: o->plan.verify = false; break;
    case OPT_TIMEOUT:
        if (parse_seconds(arg, 0.1, 600, &o->plan.timeout_ns, why))
            argp_error(state, "--timeout: %s", why);
        break;
    case OPT_FLOOR: o->floor = true; break;
    case OPT_PIN: o->pin = true; break;
    case OPT_IDLE:
        if (parse_seconds(arg, 0.1, 600, &o->idle_ns, why))
            argp_error(state, "--idle: %s", why);
        break;
    case OPT_JSON: o->json = arg; break;
    case OPT_CSV: o->csv = arg; break;
    case OPT_PLOT: set_plot(state, o, arg); break;
    case OPT_PCAP:
        if (!*arg)
            argp_error(state, "--pcap: an empty file name");
        o->pcap = arg;
        break;
    case OPT_QUIET: o->quiet = true; break;
    case OPT_BIND: o->bind_address = arg; break;
    case 'p':
        set_u32(state, "--port", arg, 1, 65535, &value);
        o->port = (uint16_t)value;
        break;
    case OPT_OOB_FD:
        set_u32(state, "--oob-fd", arg, 3, 65535, &value);
        o->oob_fd = (int)value;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void set_role(struct argp_state *state, struct perf_options *o, int role)
{
    if (o->role != PERF_SERVER)
        argp_error(state, "only one of --local, --pair and a server's HOST can be given");
    o->role = role;
}

static unsigned place_of(const struct perf_options *o, const char **text)
{
    if (o->plan.test == PERF_POST_RATE) {
        *text = "post-rate, which has no NIC and no peer";
        return NOT_POST_RATE;
    }
    switch (o->role) {
    case PERF_SERVER: *text = "a server: its client decides and reports"; return NOT_SERVER;
    case PERF_CLIENT: *text = "a client: it does not listen"; return NOT_CLIENT;
    default: *text = "both ends by themselves: they use no port"; return NOT_BOTH_ENDS;
    }
}

static void refuse_without_effect(struct argp_state *state, const struct parsing *p)
{
    const char *text;
    unsigned place = place_of(p->options, &text);

    for (size_t i = 0; i < sizeof(without_effect) / sizeof(without_effect[0]); i++) {
        if (p->given[without_effect[i].key] && (without_effect[i].where & place))
            argp_error(state, "%s has no effect for %s", without_effect[i].name, text);
    }
    if (place == NOT_POST_RATE && p->sizes_given && p->options->plan.sizes.count > 1)
        argp_error(state, "--size: post-rate takes one size, %u are given", p->options->plan.sizes.count);
}

static void finish(struct argp_state *state, struct parsing *p)
{
    struct perf_plan *plan = &p->options->plan;
    bool latency = perf_test_is_latency(plan->test);
    char why[PARSE_WHY_SIZE];

    refuse_without_effect(state, p);
    if (!p->sizes_given)
        set_sizes(state, p, latency || plan->test == PERF_POST_RATE ? "8" : "64K");
    if (!p->iterations_given)
        plan->iterations = plan->test == PERF_POST_RATE ? 1 << 20 : latency ? 1000 : 5000;
    if (!p->threads_given)
        plan->threads = perf_test_is_ping(plan->test) || (latency && plan->scope == GDAKI_SCOPE_THREAD) ? 1 : 32;
    if (!p->sharing_given)
        plan->sharing = plan->ctas * plan->threads == 1 ? GDAKI_SHARING_EXCLUSIVE : GDAKI_SHARING_GPU;
    if (!p->seed_given && getrandom(&plan->seed, sizeof(plan->seed), 0) != sizeof(plan->seed))
        argp_failure(state, TOOL_FAILED, errno, "cannot draw a seed");
    if (!p->seed_given)
        plan->seed &= PERF_SEED_MAX;
    if (p->options->pin && p->options->role != PERF_PAIR)
        argp_error(state, "--pin needs --pair");
    if (perf_plan_check(plan, why))
        argp_error(state, "%s", why);
    if (p->options->json && p->options->csv && !strcmp(p->options->json, "-") && !strcmp(p->options->csv, "-"))
        argp_error(state, "--json - and --csv -: only one can go to stdout");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parsing *p = state->input;
    int (*const groups[])(int, char *, struct argp_state *, struct parsing *) = {
        parse_device_option, parse_traffic_option, parse_kernel_option, parse_result_option};

    if (key > 0 && key < OPT_END)
        p->given[key] = true;
    switch (key) {
    case OPT_LOCAL: set_role(state, p->options, PERF_LOCAL); return 0;
    case OPT_PAIR: set_role(state, p->options, PERF_PAIR); return 0;
    case ARGP_KEY_ARG:
        set_role(state, p->options, PERF_CLIENT);
        p->options->host = arg;
        return 0;
    case ARGP_KEY_END: finish(state, p); return 0;
    default: break;
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (groups[i](key, arg, state, p) == 0)
            return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const char *test_doc(int test)
{
    switch (test) {
    case PERF_PUT_BW: return "Rate and bandwidth of one-sided puts that a kernel posts.";
    case PERF_PUT_LAT: return "Latency of a put, from the call to its completion, as the posting kernel sees it.";
    case PERF_WRITE_BW: return "Rate and bandwidth of RDMA writes whose WQEs a kernel builds by hand.";
    case PERF_WRITE_LAT: return "Ping-pong of RDMA writes between two kernels; half a round trip is reported.";
    case PERF_GET_BW: return "Rate and bandwidth of one-sided gets (RDMA reads).";
    case PERF_SIGNAL_LAT: return "Ping-pong of puts with a signal; half a round trip is reported.";
    default: return "Rate at which a kernel posts, with no NIC behind the ring, beside a floor kernel in the same run.";
    }
}

int perf_options_parse(int test, int argc, char **argv, struct perf_options *options)
{
    struct parsing p = {.options = options};
    struct argp argp = {.options = option_table, .parser = parse_option, .args_doc = "[HOST]"};
    char doc[1024];

    memset(options, 0, sizeof(*options));
    options->plan.test = test;
    options->role = PERF_SERVER;
    options->bind_address = "127.0.0.1";
    options->port = OOB_PORT;
    options->oob_fd = -1;
    options->plan.ctas = 1;
    options->plan.depth = 1024;
    options->plan.qp_timeout = 14;
    options->plan.warmup = 100;
    options->plan.verify = true;
    options->plan.timeout_ns = 10ull * 1000 * 1000 * 1000;
    snprintf(doc, sizeof(doc),
             "%s\n\nWithout HOST it is the server and waits for a client; with HOST it is the client of the server there. "
             "The client decides what is run; -d, -g, -x, --mem and --queue-mem are each end's own.\v"
             "Exit status: 0 all bytes verified, 1 bytes differ, 2 wrong option, 3 the run failed.",
             test_doc(options->plan.test));
    argp.doc = doc;
    return argp_parse(&argp, argc, argv, 0, NULL, &p) ? TOOL_USAGE : TOOL_OK;
}
