/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, the port that drives them, and what a fork does to both. */
#include "softnic/port/lock.h"
#include "softnic/port/own_thread.h"
#include "softnic/port/thread.h"
#include "softnic/verbs/device.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdaki/softnic.h"
#include "softnic/gsi/gsi.h"
#include "softnic/verbs/capture.h"
#include "softnic/verbs/env.h"
#include "softnic/verbs/fault.h"
#include "softnic/verbs/log.h"
#include "softnic/wire/descriptors.h"
#include "softnic/wire/packet_wire.h"
#include "softnic/wire/shm.h"

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static struct sv_device devices[SV_MAX_DEVICES];
static unsigned device_count;
static struct sv_config config;
static struct sn_wire *wire;
static struct sv_context *open_contexts;
static atomic_uint generation;

/*
 * Who drives takes the port's lock first and looks then whether there is a port: so the lock is none of the port's. What needs
 * more than that has the lock too, while there is a port.
 */
static struct sn_lock port_lock;

/*
 * The port, as others see it who take no lock. `inside` counts callers that are in it; the port
 * is destroyed only after the pointer is gone and nobody is inside any more. Both sides are sequentially consistent: a
 * caller announces itself before it reads the pointer, the destroyer clears the pointer before it reads the counts.
 * There are several counts, and a thread has one of them, because several threads may ring doorbells all the time.
 */
enum { INSIDE_SLOTS = 32 };
static struct sn_port *_Atomic port;
static struct {
    _Alignas(64) atomic_uint count;
} inside[INSIDE_SLOTS];

static struct sn_port *port_enter(unsigned *slot)
{
    *slot = (unsigned)((uint64_t)pthread_self() * 0x9e3779b97f4a7c15u >> 59); /* 32 slots */
    atomic_fetch_add(&inside[*slot].count, 1);
    return atomic_load(&port);
}

static void port_leave(unsigned slot)
{
    atomic_fetch_sub_explicit(&inside[slot].count, 1, memory_order_release);
}

static void wait_until_left(void)
{
    for (unsigned i = 0; i < INSIDE_SLOTS; i++)
        while (atomic_load(&inside[i].count))
            sched_yield();
}

int softnic_drive(void)
{
    if (!atomic_load_explicit(&port, memory_order_relaxed))
        return 0;
    if (!sn_lock_try_to_drive(&port_lock))
        return -EBUSY;
    struct sn_port *p = atomic_load_explicit(&port, memory_order_acquire);
    int rc = p ? sn_port_run_locked(p) : 0;
    sn_lock_release(&port_lock);
    return rc;
}

void softnic_wake(void)
{
    unsigned slot;
    if (!atomic_load_explicit(&sn_sleepers, memory_order_relaxed))
        return;
    struct sn_port *p = port_enter(&slot);
    if (p)
        sn_port_wake(p);
    port_leave(slot);
}

unsigned sv_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

/* ---- fork ------------------------------------------------------------------------------------------------------ */

static void before_fork(void)
{
    pthread_mutex_lock(&registry);
    sv_memory_fork_lock(true);
    sn_own_threads_before_fork(); /* last: none of them takes one of the two */
}

static void after_fork_parent(void)
{
    sn_own_threads_after_fork_parent();
    sv_memory_fork_lock(false);
    pthread_mutex_unlock(&registry);
}

/*
 * The child has no NIC thread, and its parent goes on using the one NIC there is. So the child forgets it all (the
 * memory is not freed: no lock of the parent's may be taken), closes the sockets that would keep the parent's peers
 * from noticing its death, and may open devices of its own.
 */
static void after_fork_child(void)
{
    static struct {
        struct sn_port *port;
        struct sn_wire *wire;
        struct sv_context *contexts;
    } parents __attribute__((used)); /* known to be there, for those who look for leaks */
    parents.port = atomic_load(&port);
    parents.wire = wire;
    parents.contexts = open_contexts;
    atomic_fetch_add(&generation, 1);
    atomic_store(&port, NULL);
    sn_lock_reset(&port_lock); /* a thread of the parent's may have had it */
    for (unsigned i = 0; i < INSIDE_SLOTS; i++)
        atomic_store(&inside[i].count, 0);
    wire = NULL;
    open_contexts = NULL;
    sn_own_threads_after_fork_child();
    sn_fd_after_fork_child();
    sv_gsi_after_fork_child();
    for (unsigned i = 0; i < device_count; i++) {
        devices[i].nic = NULL;
        devices[i].contexts = 0;
    }
    sv_memory_fork_lock(false);
    pthread_mutex_unlock(&registry);
}

static void register_fork_handlers(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

static void fill_device(struct sv_device *d, unsigned index)
{
    memset(d, 0, sizeof(*d)); /* padding too: the result is compared */
    d->index = index;
    d->link = config.link;
    sv_identity_of(index, config.link, &d->identity);
    sv_wire_identity(&config.wire, index, &d->identity);
    if (index < config.gids)
        sv_identity_choose(&d->identity, config.link, config.gid[index]);
    d->path_mtu = config.wire.path_mtu;
    d->finds_macs = sv_wire_finds_macs(&config.wire);
    d->ibv.node_type = IBV_NODE_CA;
    d->ibv.transport_type = IBV_TRANSPORT_IB;
    sv_names_of(config.names, config.devices, index, d->ibv.name);
    /* As libibverbs fills them. The paths lead somewhere under `softnic run`, which presents them. */
    snprintf(d->ibv.dev_name, sizeof(d->ibv.dev_name), "uverbs%u", index);
    snprintf(d->ibv.dev_path, sizeof(d->ibv.dev_path), "/sys/class/infiniband_verbs/uverbs%u", index);
    snprintf(d->ibv.ibdev_path, sizeof(d->ibv.ibdev_path), "/sys/class/infiniband/%s", d->ibv.name);
}

/*
 * Reads the environment again unless a device is open: tests and tools may change it in between. A device that stays as it
 * is is not written: others may be reading the name in a list that they got before.
 */
static int refresh(void)
{
    struct sv_config fresh;
    if (open_contexts)
        return 0;
    int rc = sv_config_read(&fresh);
    if (rc)
        return rc;
    config = fresh;
    sv_identity_expect_chosen(config.gids > 0);
    device_count = config.devices;
    for (unsigned i = 0; i < device_count; i++) {
        struct sv_device d;
        fill_device(&d, i);
        if (memcmp(&d, &devices[i], offsetof(struct sv_device, nic)) != 0)
            memcpy(&devices[i], &d, sizeof(d));
    }
    return 0;
}

int sv_device_list(struct sv_device **first)
{
    pthread_once(&fork_once, register_fork_handlers);
    pthread_mutex_lock(&registry);
    int rc = refresh();
    *first = devices;
    int count = (int)device_count;
    pthread_mutex_unlock(&registry);
    return rc ? rc : count;
}

bool sv_device_known(const struct ibv_device *device)
{
    for (unsigned i = 0; i < SV_MAX_DEVICES; i++)
        if (device == &devices[i].ibv)
            return true;
    return false;
}

/* ---- port ------------------------------------------------------------------------------------------------------ */

static int start_port(void)
{
    struct sn_port *p;
    int rc = sn_port_create(&(struct sn_port_config){.no_thread = !config.thread, .lock = &port_lock}, &p);
    if (rc)
        return -sv_refuse(-rc, "cannot create a port: %s", strerror(-rc));
    rc = sv_faults_start(p);
    if (rc) {
        sv_refuse(-rc, "cannot start the fault plan: %s", strerror(-rc));
        sn_port_destroy(p);
        return rc;
    }
    rc = sv_capture_start(p);
    if (rc) {
        sv_faults_stop(p);
        sn_port_destroy(p);
        return rc;
    }
    rc = sv_wire_open(&config.wire, p, config.ring_bytes, !config.thread, &wire);
    if (rc) {
        sv_capture_stop();
        sv_faults_stop(p);
        sn_port_destroy(p);
        return rc;
    }
    if (wire) {
        sn_port_lock(p);
        sn_port_attach_wire(p, wire);
        sn_port_unlock(p);
    }
    atomic_store(&port, p);
    return 0;
}

static void stop_port(void)
{
    struct sn_port *p = atomic_exchange(&port, NULL);
    wait_until_left();
    sn_port_lock(p);   /* whoever drives it has come to an end, */
    sn_port_unlock(p); /* and nobody will find it any more */
    sv_faults_stop(p);
    if (wire) {
        sn_port_lock(p);
        sn_port_attach_wire(p, NULL);
        sn_port_unlock(p);
        wire->ops->destroy(wire);
        wire = NULL;
    }
    sv_capture_stop();
    sn_port_destroy(p);
}

static int start_nic(struct sv_device *d)
{
    struct sn_nic_config c = {.name = d->ibv.name,
                              .link = d->link,
                              .gid_count = (uint8_t)d->identity.gid_count,
                              .lid = d->identity.lid,
                              .slot = 1,
                              .max_uars = 16384, /* a register for each of 10,000 queues, and some */
                              .seed = config.seed ? config.seed + d->index : 0};
    memcpy(c.gid, d->identity.gid, sizeof(c.gid));
    memcpy(c.mac, d->identity.mac, sizeof(c.mac));
    int rc = sv_wire_bind(&config.wire, wire, &d->identity, &c.slot);
    if (rc)
        return rc;
    struct sn_port *p = atomic_load(&port);
    sn_port_lock(p);
    rc = sn_nic_create(p, &c, &d->nic);
    sn_port_unlock(p);
    if (rc) {
        sv_wire_unbind(&config.wire, wire, &d->identity);
        return -sv_refuse(-rc, "%s: cannot create the NIC: %s", c.name, strerror(-rc));
    }
    d->slot = c.slot;
    sv_gsi_attach(d);
    return 0;
}

static void stop_nic(struct sv_device *d)
{
    sv_gsi_detach(d);
    sv_wire_unbind(&config.wire, wire, &d->identity);
    struct sn_port *p = atomic_load(&port);
    sn_port_lock(p);
    sn_nic_destroy(d->nic);
    sn_port_unlock(p);
    d->nic = NULL;
}

static int bring_up(struct sv_device *d)
{
    bool started = false;
    if (!atomic_load(&port)) {
        int rc = start_port();
        if (rc)
            return rc;
        started = true;
    }
    int rc = d->nic ? 0 : start_nic(d);
    if (rc && started)
        stop_port();
    return rc;
}

int sv_device_get(struct sv_device *d, struct sv_context *ctx)
{
    pthread_once(&fork_once, register_fork_handlers);
    pthread_mutex_lock(&registry);
    int rc = d->index < device_count ? bring_up(d) : -sv_refuse(ENODEV, "%s is gone", d->ibv.name);
    if (!rc) {
        d->contexts++;
        ctx->device = d;
        ctx->nic = d->nic;
        ctx->port = atomic_load(&port);
        ctx->generation = sv_generation();
        ctx->next_context = open_contexts;
        open_contexts = ctx;
    }
    pthread_mutex_unlock(&registry);
    return rc;
}

void sv_device_put(struct sv_device *d, struct sv_context *ctx)
{
    pthread_mutex_lock(&registry);
    for (struct sv_context **p = &open_contexts; *p; p = &(*p)->next_context)
        if (*p == ctx) {
            *p = ctx->next_context;
            break;
        }
    if (--d->contexts == 0)
        stop_nic(d);
    if (!open_contexts)
        stop_port();
    pthread_mutex_unlock(&registry);
}

int sv_with_port(int (*fn)(struct sn_port *port, void *arg), void *arg)
{
    pthread_mutex_lock(&registry);
    int rc = fn(atomic_load(&port), arg);
    pthread_mutex_unlock(&registry);
    return rc;
}

bool sv_context_known(const struct ibv_context *context)
{
    bool known = false;
    pthread_mutex_lock(&registry);
    for (struct sv_context *c = open_contexts; c && !known; c = c->next_context)
        known = &c->verbs.context == context;
    pthread_mutex_unlock(&registry);
    return known;
}

bool softnic_owns_register(const void *address)
{
    bool owned = false;
    pthread_mutex_lock(&registry);
    for (struct sv_context *c = open_contexts; c && !owned; c = c->next_context) {
        sn_port_lock(c->port);
        owned = sv_uar_covers(c, address);
        sn_port_unlock(c->port);
    }
    pthread_mutex_unlock(&registry);
    return owned;
}

bool softnic_owns_doorbells(const void *from, size_t size)
{
    bool owned = false;
    pthread_mutex_lock(&registry);
    for (struct sv_context *c = open_contexts; c && !owned; c = c->next_context) {
        sn_port_lock(c->port);
        owned = sv_uar_touches(c, from, size);
        sn_port_unlock(c->port);
    }
    pthread_mutex_unlock(&registry);
    return owned;
}

/* The thread's naps until it has looked at every register; before there is a port, of one with few registers. */
uint64_t softnic_worst_wake_ns(void)
{
    struct sv_device *unused;
    unsigned slot;
    if (sv_device_list(&unused) >= 0 && !config.thread)
        return UINT64_MAX;
    struct sn_port *p = port_enter(&slot);
    uint64_t ns = p ? sn_port_worst_wake_ns(p) : SN_WORST_WAKE_NS;
    port_leave(slot);
    return ns;
}

const char *softnic_wire_name(void)
{
    struct sv_device *unused;
    if (sv_device_list(&unused) < 0)
        return "none";
    return sv_wire_name(&config.wire);
}

const char *softnic_wire_says(void)
{
    struct sv_device *unused;
    if (sv_device_list(&unused) < 0)
        return "";
    return sv_wire_says(&config.wire);
}
