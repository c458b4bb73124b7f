/* SPDX-License-Identifier: Apache-2.0 */
/* The port: one lock domain, and the bounded turn that drives everything in it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/fault/inject.h"
#include "softnic/port/thread.h"
#include "softnic/wire/wire.h"

enum {
    WIRE_BUDGET = 64,  /* bursts a turn */
    SLICE_BUSY = 8,    /* cold registers looked at in a turn that had little work */
    SLICE_IDLE = 2048, /* and in one that had none */
    ACTIVE_BUDGET = 64 /* QPs a turn */
};

#define WORK_NS  40u /* of a piece of work, payload apart; a guess that needs no clock */
/*
 * A busy port sees all cold registers in SWEEP_NS of the clock's. Slices are measured in guessed work, since the clock
 * is too dear for each turn; it is read once a sweep, and tells how far off the guess is.
 */
#define SWEEP_NS         75000u
#define SWEEP_EFFORT     30000u  /* to begin with, and where the clock is a simulation's */
#define SWEEP_EFFORT_MAX 200000u
#define SWEEP_EFFORT_MIN 2000u
#define SWEEP_FEW        512u     /* registers that cost little, whatever the slice */
#define SWEEP_BROKEN_NS  1000000u /* the driver was not running: says nothing about work */

/* ---- life ---------------------------------------------------------------------------------------------------- */

int sn_port_create(const struct sn_port_config *config, struct sn_port **out)
{
    static const char what[] = "create a port";
    struct sn_port *port = sn_lines(sizeof(*port));
    int ret;

    if (port == NULL)
        return sn_fail(-ENOMEM, what, NULL, 0, "bytes", sizeof(*port));
    if (config != NULL)
        port->config = *config;
    port->burst_most = port->config.burst_bytes != 0 ? port->config.burst_bytes : SN_BURST_BYTES;
    port->burst_bytes = port->burst_most;
    port->sweep_effort = SWEEP_EFFORT;
    pthread_mutex_init(&port->mutex, NULL);
    if (!port->config.no_thread) {
        ret = sn_thread_start(port);
        if (ret != 0) {
            sn_inproc_destroy(&port->inproc);
            pthread_mutex_destroy(&port->mutex);
            free(port);
            return sn_fail(ret, what, NULL, 0, "cannot start the port's thread", 0);
        }
    }
    *out = port;
    return 0;
}

void sn_port_destroy(struct sn_port *port)
{
    if (port == NULL)
        return;
    sn_thread_stop(port);
    sn_faults_destroy(port->faults);
    sn_inproc_destroy(&port->inproc);
    pthread_mutex_destroy(&port->mutex);
    free(port);
}

void sn_port_lock(struct sn_port *port)
{
    atomic_fetch_add_explicit(&port->waiters, 1, memory_order_relaxed);
    pthread_mutex_lock(&port->mutex);
    atomic_fetch_sub_explicit(&port->waiters, 1, memory_order_relaxed);
}

void sn_port_unlock(struct sn_port *port)
{
    pthread_mutex_unlock(&port->mutex);
}

uint64_t sn_port_now(struct sn_port *port)
{
    struct timespec ts;

    if (port->now_valid)
        return port->now_ns;
    if (port->config.now != NULL) {
        port->now_ns = port->config.now(port->config.now_arg);
    } else {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        port->now_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    }
    port->now_valid = true;
    return port->now_ns;
}

uint64_t sn_port_next_deadline(struct sn_port *port)
{
    return sn_wheel_next(&port->wheel);
}

uint64_t sn_port_next_deadline_before(struct sn_port *port, uint64_t when)
{
    return sn_wheel_next_before(&port->wheel, when);
}

/* ---- active queue pairs -------------------------------------------------------------------------------------- */

void sn_qp_activate(struct sn_qp *qp)
{
    struct sn_port *port = qp->port;

    if (qp->active)
        return;
    qp->active = true;
    qp->active_next = NULL;
    qp->active_prev = port->active_last;
    if (port->active_last != NULL)
        port->active_last->active_next = qp;
    else
        port->active_first = qp;
    port->active_last = qp;
    port->active_count++;
}

void sn_qp_deactivate(struct sn_qp *qp)
{
    struct sn_port *port = qp->port;

    if (!qp->active)
        return;
    qp->active = false;
    if (qp->active_prev != NULL)
        qp->active_prev->active_next = qp->active_next;
    else
        port->active_first = qp->active_next;
    if (qp->active_next != NULL)
        qp->active_next->active_prev = qp->active_prev;
    else
        port->active_last = qp->active_prev;
    port->active_count--;
}

/* Each active QP once; those that become active on the way wait for the next turn, unless there is room. */
static unsigned run_active(struct sn_port *port)
{
    unsigned n = port->active_count < ACTIVE_BUDGET ? port->active_count : ACTIVE_BUDGET;
    unsigned work = 0;

    while (n-- != 0 && port->active_first != NULL) {
        struct sn_qp *qp = port->active_first;
        sn_qp_deactivate(qp);
        work += sn_rc_transmit(qp);
        if (port->inproc.tail > SN_INPROC_REQUESTS / 2)
            work += sn_inproc_drain(port);
    }
    if (port->inproc.tail != 0 || port->ack_first != NULL)
        work += sn_inproc_drain(port);
    return work;
}

/* ---- doorbells ----------------------------------------------------------------------------------------------- */

static unsigned look_hot(struct sn_port *port)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < port->hot_count;) {
        struct sn_uar_object *uar = port->hot[i];
        taken += sn_uar_look(uar);
        if (uar->idle_turns > SN_HOT_IDLE_TURNS)
            sn_uar_cool(uar); /* another one takes its place in the array */
        else
            i++;
    }
    return taken;
}

/* Eight registers in a row. */
static unsigned look_group(struct sn_nic *nic, uint32_t first)
{
    const uint8_t *reg = nic->regs + (size_t)first * 64;
    unsigned taken = 0;
    uint64_t any = 0;

    for (unsigned i = 0; i < 8; i++)
        any |= sn_load_relaxed64(reg + i * 64);
    for (unsigned i = 0; any != 0 && i < 8; i++) {
        struct sn_uar_object *uar = sn_load_relaxed64(reg + i * 64) == 0 ? NULL : sn_uar_of_slot(nic, first + i);
        if (uar != NULL)
            taken += sn_uar_look(uar);
    }
    return taken;
}

/* At least the next `slots` registers, over all NICs, but none twice. */
static unsigned look_cold(struct sn_port *port, uint64_t slots)
{
    unsigned taken = 0;
    struct sn_nic *nic = port->sweep_nic != NULL ? port->sweep_nic : port->nics;

    if (nic == NULL)
        return 0;
    for (uint64_t looked = 0; looked < slots && looked < port->reg_slots; looked += 8) {
        while (nic->cursor >= nic->reg_slots) {
            nic->cursor = 0;
            nic = nic->next != NULL ? nic->next : port->nics;
        }
        if ((nic->cursor & 8) != 0 || nic->dbrless_users != 0) /* else: 8 registers that nobody is to ring */
            taken += look_group(nic, nic->cursor);
        nic->cursor += 8;
    }
    port->sweep_nic = nic;
    port->cold_found += taken;
    port->swept += (uint32_t)(slots < port->reg_slots ? slots : port->reg_slots);
    return taken;
}

/* All have been seen: how long did it take? In steps, since now and then it was the scheduler that took it. */
static void sweep_done(struct sn_port *port)
{
    uint64_t now = sn_port_now(port), took = now - port->sweep_begun;
    bool tells = port->sweep_begun != 0 && !port->sweep_idled && took < SWEEP_BROKEN_NS && took != 0;

    if (tells && took > SWEEP_NS)
        port->sweep_effort -= port->sweep_effort / (took > 2 * SWEEP_NS ? 4 : 16);
    else if (tells)
        port->sweep_effort += port->sweep_effort / 16;
    if (port->sweep_effort < SWEEP_EFFORT_MIN)
        port->sweep_effort = SWEEP_EFFORT_MIN;
    if (port->sweep_effort > SWEEP_EFFORT_MAX)
        port->sweep_effort = SWEEP_EFFORT_MAX;
    port->sweep_begun = now;
    port->sweep_idled = false;
    port->swept = 0;
}

/* Work holds up the sweep, so the slice grows with it: all registers are seen in time, whatever the others do. */
static unsigned sweep(struct sn_port *port, bool idle)
{
    unsigned taken =
        look_cold(port, idle ? SLICE_IDLE : SLICE_BUSY + port->reg_slots * port->effort / port->sweep_effort);

    port->sweep_idled |= idle;
    if (port->swept >= port->reg_slots && port->reg_slots > SWEEP_FEW && port->config.now == NULL && !port->thread_looks)
        sweep_done(port);
    return taken;
}

/* ---- the turn ------------------------------------------------------------------------------------------------ */

/* Reading the clock costs as much as half an idle turn, and whoever waits for an answer makes millions of those. */
static bool time_to_look_at_clock(const struct sn_port *port, unsigned work)
{
    if (port->config.now != NULL || port->thread_looks)
        return work == 0 || (port->turn & 15) == 0;
    return (port->turn & (work == 0 ? 7 : 15)) == 0;
}

/* A look at the wire may be a system call. What a doorbell has just announced leaves before that, but not time after time. */
static bool wire_is_due(struct sn_port *port, unsigned rung)
{
    port->wire_put_off = rung != 0 && !port->wire_put_off;
    return !port->wire_put_off;
}

static unsigned turn(struct sn_port *port)
{
    unsigned work = 0, rung;

    port->now_valid = false;
    port->turn++;
    rung = look_hot(port);
    if (port->wire != NULL && wire_is_due(port, rung)) {
        int got = port->wire->ops->poll(port->wire, WIRE_BUDGET);
        work += got > 0 ? (unsigned)got : 0;
        if (port->ack_first != NULL)
            sn_rc_send_acks(port); /* a peer waits for it; the rest of the turn can */
    }
    if (port->xfers != NULL)
        work += sn_xfer_poll(port);
    if (port->hot_count != port->uar_count) /* else all have been looked at */
        rung += sweep(port, rung == 0 && port->effort == 0);
    port->effort = 0;
    if (port->active_count != 0 || port->inproc.tail != 0 || port->ack_first != NULL)
        work += run_active(port);
    if (port->unarmed != NULL && (work + rung == 0 || (port->turn & 15) == 0))
        work += sn_port_look_arms(port);
    port->effort += work * WORK_NS;
    if (port->wheel.armed != 0 && time_to_look_at_clock(port, work))
        work += sn_wheel_run(&port->wheel, sn_port_now(port));
    if (port->wire != NULL && port->wire->ops->flush != NULL)
        port->wire->ops->flush(port->wire);
    return work + rung;
}

unsigned sn_port_turn_locked(struct sn_port *port)
{
    return turn(port);
}

int sn_port_run(struct sn_port *port)
{
    int work;

    if (atomic_load_explicit(&port->waiters, memory_order_relaxed) != 0 || pthread_mutex_trylock(&port->mutex) != 0)
        return -EBUSY;
    work = (int)turn(port);
    /* Tells the thread that somebody drives. The lock makes one writer of it, so no locked instruction is needed. */
    atomic_store_explicit(&port->foreign_turns, atomic_load_explicit(&port->foreign_turns, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    unsigned unattended = atomic_load_explicit(&port->unattended, memory_order_relaxed);
    if (unattended != 0)
        atomic_store_explicit(&port->unattended, unattended - 1, memory_order_relaxed);
    pthread_mutex_unlock(&port->mutex);
    return work;
}
