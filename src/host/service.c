/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU-proxy service: a thread that steps all its queues, and steps back while none has work. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host/env.h"
#include "host/export.h"

#define DEFAULT_SPIN_US  50u
#define DEFAULT_SLEEP_US 100u
#define SLEEP_MAX_US     1000000u

struct service {
    pthread_t thread;
    atomic_bool stop;
    pthread_mutex_t lock; /* guards the set */
    struct exported_qp **queues;
    size_t count, capacity;
    uint64_t spin_ns, sleep_max_ns;
    struct service *next; /* in `services` */
};

/* All services, for queues that go away; taken before a service's own lock. */
static pthread_mutex_t services_lock = PTHREAD_MUTEX_INITIALIZER;
static struct service *services;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

    nanosleep(&t, NULL);
}

/* True if a queue or the NIC had work. */
static bool step_all(struct service *s)
{
    const struct gdaki_nic_ops *soft = NULL;
    bool progressed = false;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count; i++) {
        progressed |= proxy_step(s->queues[i]);
        if (s->queues[i]->soft != NULL)
            soft = s->queues[i]->soft;
    }
    pthread_mutex_unlock(&s->lock);
    return (soft != NULL && soft->drive() > 0) || progressed;
}

/* Idle for spin_ns: sleep, doubling from 1 us up to sleep_max_ns. A queue's counter cannot wake us, so that is its worst case. */
static void *serve(void *arg)
{
    struct service *s = arg;
    uint64_t idle_since = now_ns(), sleep = 0;

    while (!atomic_load_explicit(&s->stop, memory_order_acquire)) {
        if (step_all(s)) {
            idle_since = now_ns();
            sleep = 0;
        } else if (now_ns() - idle_since >= s->spin_ns && s->sleep_max_ns > 0) {
            sleep = sleep == 0 ? 1000 : sleep * 2;
            if (sleep > s->sleep_max_ns)
                sleep = s->sleep_max_ns;
            sleep_ns(sleep);
            continue;
        }
        sched_yield();
    }
    return NULL;
}

static doca_error_t read_microseconds(const char *name, unsigned long fallback, uint64_t *ns)
{
    const char *text = env_get(name);
    unsigned long value = fallback;
    char *end;

    if (text != NULL && text[0] != '\0') {
        value = strtoul(text, &end, 10);
        if (*end != '\0' || text[0] == '-' || value > SLEEP_MAX_US)
            return HOST_ERR(DOCA_ERROR_BAD_CONFIG, "%s=\"%s\" is not a number of microseconds up to %u", name, text,
                            SLEEP_MAX_US);
    }
    *ns = value * 1000u;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_create_service(doca_gpu_verbs_service_t *out_service)
{
    uint64_t spin_ns = 0, sleep_ns_max = 0;
    struct service *s;
    doca_error_t status;
    int err;

    if (out_service == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a proxy service: out_service is NULL");
    status = read_microseconds("GDAKI_PROXY_SPIN_US", DEFAULT_SPIN_US, &spin_ns);
    if (status == DOCA_SUCCESS)
        status = read_microseconds("GDAKI_PROXY_SLEEP_US", DEFAULT_SLEEP_US, &sleep_ns_max);
    if (status != DOCA_SUCCESS)
        return status;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a proxy service: no memory");
    s->spin_ns = spin_ns;
    s->sleep_max_ns = sleep_ns_max;
    pthread_mutex_init(&s->lock, NULL);
    err = pthread_create(&s->thread, NULL, serve, s);
    if (err != 0) {
        pthread_mutex_destroy(&s->lock);
        free(s);
        return HOST_ERR(DOCA_ERROR_DRIVER, "creating a proxy service: its thread: %s", strerror(err));
    }
    pthread_mutex_lock(&services_lock);
    s->next = services;
    services = s;
    pthread_mutex_unlock(&services_lock);
    *out_service = s;
    return DOCA_SUCCESS;
}

void services_hold(void)
{
    pthread_mutex_lock(&services_lock);
    for (struct service *s = services; s != NULL; s = s->next)
        pthread_mutex_lock(&s->lock);
}

void services_release(void)
{
    for (struct service *s = services; s != NULL; s = s->next)
        pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&services_lock);
}

void services_forget(const struct exported_qp *q)
{
    services_hold();
    for (struct service *s = services; s != NULL; s = s->next) {
        for (size_t i = 0; i < s->count; i++) {
            if (s->queues[i] == q)
                s->queues[i--] = s->queues[--s->count];
        }
    }
    services_release();
}

static void unlink_service(const struct service *s)
{
    struct service **at = &services;

    pthread_mutex_lock(&services_lock);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&services_lock);
}

static bool contains(const struct service *s, const struct exported_qp *q)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->queues[i] == q)
            return true;
    }
    return false;
}

static int grow(struct service *s)
{
    size_t capacity = s->capacity == 0 ? 16 : s->capacity * 2;
    struct exported_qp **queues;

    if (s->count < s->capacity)
        return 0;
    queues = realloc(s->queues, capacity * sizeof(*queues));
    if (queues == NULL)
        return -ENOMEM;
    s->queues = queues;
    s->capacity = capacity;
    return 0;
}

/* A queue that rings its own doorbells may be in the set too: there is never anything to do for it. */
doca_error_t doca_gpu_verbs_service_monitor_qp(doca_gpu_verbs_service_t service, struct doca_gpu_verbs_qp *qp)
{
    struct service *s = service;
    int err = 0;

    if (service == NULL || qp == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "monitoring a QP: %s is NULL", service == NULL ? "service" : "qp");
    pthread_mutex_lock(&s->lock);
    if (!contains(s, exported_of(qp))) {
        err = grow(s);
        if (err == 0)
            s->queues[s->count++] = exported_of(qp);
    }
    pthread_mutex_unlock(&s->lock);
    return err == 0 ? DOCA_SUCCESS : HOST_ERR(DOCA_ERROR_NO_MEMORY, "monitoring QP 0x%x: no memory", qp->qp_cpu->sq_num);
}

doca_error_t doca_gpu_verbs_destroy_service(doca_gpu_verbs_service_t service)
{
    struct service *s = service;

    if (service == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying a proxy service: service is NULL");
    unlink_service(s);
    atomic_store_explicit(&s->stop, true, memory_order_release);
    pthread_join(s->thread, NULL);
    pthread_mutex_destroy(&s->lock);
    free(s->queues);
    free(s);
    return DOCA_SUCCESS;
}
