/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gdaki/softnic.h"
#include "softnic/fault/inject.h"
#include "softnic/verbs/device.h"
#include "softnic/verbs/log.h"

/* Lock order: registry (device.c), this one, port. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chosen {
    bool active;
    struct sn_fault_plan plan;
    uint64_t seed;
} of_environment, of_call;
static bool called; /* softnic_fault_set or _clear: the environment counts no more */
static struct sn_fault_counts last; /* of the plan that ended last */

static int parse(const char *what, const char *text, uint64_t seed, struct chosen *out)
{
    char why[256];
    struct chosen c = {.active = true, .seed = seed};

    if (sn_fault_parse(text, strnlen(text, SN_FAULT_TEXT_MAX + 1), &c.plan, why, sizeof(why)) != 0)
        return -sv_refuse(EINVAL, "%s: %s", what, why);
    *out = c;
    return 0;
}

int sv_faults_configure(const char *text, uint64_t seed)
{
    struct chosen c = {0};
    int rc = text == NULL || *text == 0 ? 0 : parse("SOFTNIC_FAULTS", text, seed, &c);

    if (rc == 0) {
        pthread_mutex_lock(&lock);
        of_environment = c;
        pthread_mutex_unlock(&lock);
    }
    return rc;
}

/* Puts to work what counts now. */
static int apply(struct sn_port *port)
{
    const struct chosen *c = called ? &of_call : &of_environment;
    int rc;

    sn_port_lock(port);
    if (sn_port_has_faults(port))
        sn_port_fault_counts(port, &last);
    rc = sn_port_set_faults(port, c->active ? &c->plan : NULL, c->seed);
    if (rc == 0)
        last.held = 0; /* delivered */
    sn_port_unlock(port);
    sn_port_wake(port);
    return rc;
}

int sv_faults_start(struct sn_port *port)
{
    int rc;

    pthread_mutex_lock(&lock);
    rc = apply(port);
    if (rc == 0 && (called ? of_call.active : of_environment.active))
        sv_log(SV_LOG_WARN, "a fault plan is active: packets, completions or doorbells will be tampered with");
    pthread_mutex_unlock(&lock);
    return rc;
}

/* "faults injected: drop 3, dup 1 (looked at 240 packets, 12 doorbells, 60 completions)" */
static void tell(const struct sn_fault_counts *c)
{
    char text[512] = "nothing";
    size_t used = 0;

    for (int i = 0; i < SN_INJECT_COUNT; i++)
        if (c->injected[i] != 0 && used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %llu", used == 0 ? "" : ", ",
                                     sn_inject_name((enum sn_inject)i), (unsigned long long)c->injected[i]);
    sv_log(SV_LOG_INFO, "faults injected: %s (looked at %llu packets, %llu doorbells, %llu completions)", text,
           (unsigned long long)c->packets, (unsigned long long)c->doorbells, (unsigned long long)c->cqes);
}

void sv_faults_stop(struct sn_port *port)
{
    bool active;

    pthread_mutex_lock(&lock);
    sn_port_lock(port);
    active = sn_port_has_faults(port);
    if (active)
        sn_port_fault_counts(port, &last);
    sn_port_unlock(port);
    last.held = 0; /* lost with the port */
    if (active)
        tell(&last);
    pthread_mutex_unlock(&lock);
}

static int apply_locked(struct sn_port *port, void *arg)
{
    int rc;

    pthread_mutex_lock(&lock);
    called = true;
    of_call = *(struct chosen *)arg;
    rc = port == NULL ? 0 : apply(port);
    pthread_mutex_unlock(&lock);
    return rc;
}

int softnic_fault_set(const char *plan, uint64_t seed)
{
    struct chosen c;
    int rc;

    if (plan == NULL)
        return -sv_refuse(EINVAL, "softnic_fault_set: plan is NULL (softnic_fault_clear ends one)");
    rc = parse("softnic_fault_set", plan, seed, &c);
    return rc != 0 ? rc : sv_with_port(apply_locked, &c);
}

int softnic_fault_clear(void)
{
    struct chosen none = {0};

    return sv_with_port(apply_locked, &none);
}

static int count(struct sn_port *port, void *arg)
{
    struct sn_fault_counts *c = arg;

    pthread_mutex_lock(&lock);
    *c = last;
    if (port != NULL) {
        sn_port_lock(port);
        if (sn_port_has_faults(port))
            sn_port_fault_counts(port, c);
        sn_port_unlock(port);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

size_t softnic_fault_stats(struct softnic_fault_stats *stats, size_t size)
{
    struct sn_fault_counts c = {0};
    struct softnic_fault_stats s;

    (void)sv_with_port(count, &c);
    s = (struct softnic_fault_stats){
        .packets_seen = c.packets,
        .doorbells_seen = c.doorbells,
        .completions_seen = c.cqes,
        .dropped = c.injected[SN_INJECT_DROP],
        .duplicated = c.injected[SN_INJECT_DUP],
        .delayed = c.injected[SN_INJECT_DELAY],
        .reordered = c.injected[SN_INJECT_REORDER],
        .corrupted = c.injected[SN_INJECT_CORRUPT],
        .corrupted_passed = c.survived,
        .responses_lost = c.injected[SN_INJECT_LOSE_RESPONSE],
        .retry_exceeded = c.injected[SN_INJECT_RETRY_EXCEEDED],
        .link_down = c.injected[SN_INJECT_LINK_DOWN],
        .naks = c.injected[SN_INJECT_NAK],
        .rnr_naks = c.injected[SN_INJECT_RNR],
        .cq_overruns = c.injected[SN_INJECT_CQ_OVERRUN],
        .doorbells_lost = c.injected[SN_INJECT_DOORBELL_LOST],
        .doorbells_delayed = c.injected[SN_INJECT_DOORBELL_DELAYED],
        .doorbells_merged = c.injected[SN_INJECT_DOORBELL_MERGED],
        .held = c.held,
        .overflow = c.overflow,
    };
    if (stats != NULL)
        memcpy(stats, &s, size < sizeof(s) ? size : sizeof(s));
    return sizeof(s);
}
