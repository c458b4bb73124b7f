/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidth, rate and latency of RMA writes between two processes, through libfabric's public API, as put-bw and put-lat
 * measure softnic: one page-aligned buffer at each end that every message moves, `--window` writes and then a wait for all
 * their completions, both ends spinning on a CPU of their own. The receiver's buffer is cleared before and compared after.
 *     fabric_put [--provider shm] [--size N] [--window N] [--seconds S] [--delivery] [--cpus A,B]
 * One line of JSON. --delivery: a completion says that the bytes have been placed, not only that they were taken.
 */
#include <getopt.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "fabric_end.h"

enum { MOST_WINDOW = 1024, SAMPLES = 65536 };

struct options {
    const char *provider;
    size_t size;
    unsigned window;
    double seconds;
    bool delivery;
    int cpu[2];
};

enum stage { STARTING, READY, OVER, RIGHT, WRONG };

struct meeting { /* memory of both processes */
    atomic_int client, server;
    struct fabric_card client_card, server_card;
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set) != 0)
        perror("fabric_put: sched_setaffinity");
}

static uint8_t pattern(size_t i)
{
    return (uint8_t)(i * 131 + (i >> 8) + 7);
}

static int complain(const struct fabric_end *e, int rc)
{
    fprintf(stderr, "fabric_put: %s: %s\n", e->what != NULL ? e->what : "fi_getinfo", fi_strerror(-rc));
    return 1;
}

/* ---- the receiving end: drives the provider until the other one is done, then compares --------------------------- */

static int serve(const struct options *o, struct meeting *m)
{
    struct fabric_end e = {0};
    struct fi_cq_entry entry;
    fi_addr_t peer;

    pin(o->cpu[1]);
    int rc = fabric_open(&e, o->provider, o->size, o->delivery);
    if (rc == 0)
        rc = fabric_show(&e, &m->server_card);
    if (rc < 0)
        return complain(&e, rc);
    memset(e.buffer, 0, o->size);
    atomic_store(&m->server, READY);
    while (atomic_load(&m->client) < READY)
        ;
    rc = fabric_meet(&e, &m->client_card, &peer);
    if (rc < 0)
        return complain(&e, rc);
    while (atomic_load_explicit(&m->client, memory_order_acquire) != OVER)
        (void)fi_cq_read(e.cq, &entry, 1);
    size_t wrong = 0;
    for (size_t i = 0; i < o->size; i++)
        wrong += e.buffer[i] != pattern(i);
    atomic_store(&m->server, wrong == 0 ? RIGHT : WRONG);
    fabric_close(&e);
    return wrong != 0;
}

/* ---- the sending end --------------------------------------------------------------------------------------------- */

struct sender {
    struct fabric_end e;
    fi_addr_t peer;
    uint64_t address, key;
    struct fi_context2 context[MOST_WINDOW];
    uint64_t done;
};

static int take_completions(struct sender *s, unsigned *left)
{
    struct fi_cq_entry entries[64];
    ssize_t n = fi_cq_read(s->e.cq, entries, 64);

    if (n == -FI_EAGAIN)
        return 0;
    if (n < 0) {
        s->e.what = "a completion";
        return (int)n;
    }
    *left -= (unsigned)n;
    return 0;
}

/* `count` writes and their completions. */
static int batch(struct sender *s, size_t size, unsigned count)
{
    unsigned left = count;

    for (unsigned i = 0; i < count;) {
        ssize_t rc = fi_write(s->e.ep, s->e.buffer, size, fi_mr_desc(s->e.mr), s->peer, s->address, s->key, &s->context[i]);
        if (rc == 0) {
            i++;
            continue;
        }
        if (rc != -FI_EAGAIN) {
            s->e.what = "fi_write";
            return (int)rc;
        }
        int err = take_completions(s, &left);
        if (err < 0)
            return err;
    }
    while (left != 0) {
        int err = take_completions(s, &left);
        if (err < 0)
            return err;
    }
    s->done += count;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int measure(struct sender *s, const struct options *o)
{
    static uint64_t sample[SAMPLES];
    uint64_t begun, last, end, batches = 0;
    int rc = 0;

    for (unsigned i = 0; i < 200 && rc == 0; i++) /* warm */
        rc = batch(s, o->size, o->window);
    s->done = 0;
    begun = last = now_ns();
    end = begun + (uint64_t)(o->seconds * 1e9);
    while (rc == 0 && last < end) {
        rc = batch(s, o->size, o->window);
        uint64_t now = now_ns();
        sample[batches++ % SAMPLES] = now - last;
        last = now;
    }
    if (rc != 0)
        return rc;
    double seconds = (double)(last - begun) / 1e9;
    uint64_t n = batches < SAMPLES ? batches : SAMPLES;
    qsort(sample, n, sizeof(*sample), by_value);
    printf("{\"provider\": \"%s\", \"size\": %zu, \"window\": %u, \"delivery\": %s, \"messages\": %llu, \"seconds\": %.6f, "
           "\"gb_per_s\": %.6f, \"messages_per_s\": %.1f, \"batch_p50_us\": %.3f, ",
           s->e.info->fabric_attr->prov_name, o->size, o->window, o->delivery ? "true" : "false",
           (unsigned long long)s->done, seconds, (double)s->done * (double)o->size / seconds / 1e9,
           (double)s->done / seconds, (double)sample[n / 2] / 1e3);
    return 0;
}

static int send_all(const struct options *o, struct meeting *m)
{
    static struct sender s;
    int rc;

    pin(o->cpu[0]);
    rc = fabric_open(&s.e, o->provider, o->size, o->delivery);
    if (rc == 0)
        rc = fabric_show(&s.e, &m->client_card);
    if (rc < 0)
        return complain(&s.e, rc);
    for (size_t i = 0; i < o->size; i++)
        s.e.buffer[i] = pattern(i);
    while (atomic_load(&m->server) < READY)
        if (waitpid(-1, NULL, WNOHANG) != 0)
            return 1; /* it has said why */
    rc = fabric_meet(&s.e, &m->server_card, &s.peer);
    s.address = m->server_card.base;
    s.key = m->server_card.key;
    atomic_store(&m->client, READY);
    if (rc == 0)
        rc = measure(&s, o);
    if (rc < 0)
        return complain(&s.e, rc);
    /* What was only taken by the provider is placed while the peer drives: it gets time before it compares. */
    if (!o->delivery)
        usleep(20000);
    atomic_store_explicit(&m->client, OVER, memory_order_release);
    while (atomic_load(&m->server) < RIGHT)
        if (waitpid(-1, NULL, WNOHANG) > 0 && atomic_load(&m->server) < RIGHT)
            return 1;
    bool right = atomic_load(&m->server) == RIGHT;
    printf("\"verified\": %s}\n", right ? "true" : "false");
    fabric_close(&s.e);
    return !right;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int usage(void)
{
    fprintf(stderr, "usage: fabric_put [--provider NAME] [--size BYTES] [--window 1..%d] [--seconds S] [--delivery] "
                    "[--cpus CLIENT,SERVER]\n", MOST_WINDOW);
    return 2;
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"provider", required_argument, NULL, 'p'}, {"size", required_argument, NULL, 's'},
        {"window", required_argument, NULL, 'w'},   {"seconds", required_argument, NULL, 't'},
        {"delivery", no_argument, NULL, 'd'},       {"cpus", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
        switch (c) {
        case 'p': o->provider = optarg; break;
        case 's': o->size = strtoull(optarg, NULL, 0); break;
        case 'w': o->window = (unsigned)strtoul(optarg, NULL, 0); break;
        case 't': o->seconds = strtod(optarg, NULL); break;
        case 'd': o->delivery = true; break;
        case 'c':
            if (sscanf(optarg, "%d,%d", &o->cpu[0], &o->cpu[1]) != 2)
                return false;
            break;
        default: return false;
        }
    return optind == argc && o->size != 0 && o->window >= 1 && o->window <= MOST_WINDOW && o->seconds > 0;
}

int main(int argc, char **argv)
{
    struct options o = {.provider = "shm", .size = 65536, .window = 32, .seconds = 0.5, .cpu = {-1, -1}};

    if (!parse(argc, argv, &o))
        return usage();
    struct meeting *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) {
        perror("fabric_put: mmap");
        return 1;
    }
    pid_t parent = getpid(), server = fork();
    if (server < 0) {
        perror("fabric_put: fork");
        return 1;
    }
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        _exit(serve(&o, m));
    }
    int rc = send_all(&o, m);
    if (rc != 0)
        kill(server, SIGKILL);
    waitpid(server, NULL, 0); /* unless it has been waited for */
    return rc;
}
