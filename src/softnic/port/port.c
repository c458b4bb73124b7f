/* SPDX-License-Identifier: Apache-2.0 */
/* The port: one lock domain, and the bounded turn that drives everything in it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/fault/inject.h"
#include "softnic/port/thread.h"
#include "softnic/queue/regs.h"
#include "softnic/wire/wire.h"

enum {
    WIRE_BUDGET = 64,  /* bursts a turn */
    IDLE_LINES = 256,  /* cold registers' cache lines looked at in a turn that had no work, */
    IDLE_TURNS = 32,   /* or so many turns for all: each turn may be the one that somebody's answer waits for */
    ACTIVE_BUDGET = 64, /* QPs a turn */
    SETTLE_TURNS = 64,
    CLOCK_IDLE = 7, CLOCK_BUSY = 15, /* bits of a turn's number: the clock is looked at where none is set */
    PUT_OFF = 3, PUT_OFF_NS = 1000,  /* turns in a row that end early, while what they did was little */
    GLANCE_TURNS = 3, GLANCES = 4,   /* bits of the number of an idle turn that is but glances: any is set; how many of those */
    GLANCE_HOT = 4                   /* most registers for that */
};

#define WORK_NS  40u /* of a piece of work, payload apart; a guess that needs no clock */
/*
 * A busy port sees all cold registers in SWEEP_NS of the clock's. Slices are measured in guessed work, since the clock
 * is too dear for each turn; it is read once a sweep, and tells how far off the guess is.
 */
#define SWEEP_NS         50000u
#define SWEEP_EFFORT     30000u  /* to begin with, and where the clock is a simulation's */
#define SWEEP_EFFORT_MAX 200000u
#define SWEEP_EFFORT_MIN 2000u
#define SWEEP_FEW        256u     /* lines that stay in the nearest cache: some in each turn */
#define TURN_NS          20u      /* of a turn as such */
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
    port->inproc = port->config.bursts != NULL ? port->config.bursts : &port->own_inproc;
    port->burst_most = port->config.burst_bytes != 0 ? port->config.burst_bytes : SN_BURST_BYTES;
    port->burst_bytes = port->burst_most;
    port->sweep_effort = SWEEP_EFFORT;
    port->lock = port->config.lock != NULL ? port->config.lock : &port->own_lock;
    if (!port->config.no_thread) {
        ret = sn_thread_start(port);
        if (ret != 0) {
            sn_inproc_destroy(&port->own_inproc);
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
    sn_inproc_destroy(&port->own_inproc);
    free(port);
}

void sn_port_lock(struct sn_port *port)
{
    sn_lock_take(port->lock);
}

void sn_port_unlock(struct sn_port *port)
{
    sn_lock_release(port->lock);
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
        if (port->inproc->tail > SN_INPROC_REQUESTS / 2)
            work += sn_inproc_drain(port);
    }
    if (port->inproc->tail != 0 || port->ack_first != NULL)
        work += sn_inproc_drain(port);
    return work;
}

/* ---- doorbells ----------------------------------------------------------------------------------------------- */

/* Nothing was rung, for all that one load tells; false where there is more to look at. */
static bool is_quiet(const struct sn_uar_object *uar)
{
    return sn_load_relaxed64(uar->reg[SN_REG_PLAIN]) == uar->empty && uar->other == NULL && uar->nic->recordless_users == 0;
}

static unsigned look_hot(struct sn_port *port)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < port->hot_count;) {
        struct sn_uar_object *uar = port->hot[i];
        if (is_quiet(uar))
            uar->idle_turns++;
        else
            taken += sn_uar_look(uar);
        if (uar->idle_turns > SN_HOT_IDLE_TURNS)
            sn_uar_cool(uar); /* another one takes its place in the array */
        else
            i++;
    }
    return taken;
}

/* At least the next `lines` lines, over all NICs, but none twice. */
static unsigned look_cold(struct sn_port *port, uint64_t lines)
{
    struct sn_nic *nic = port->sweep_nic != NULL ? port->sweep_nic : port->nics;
    uint64_t looked = 0;
    unsigned taken = 0;

    lines = lines < port->reg_lines ? lines : port->reg_lines;
    while (looked < lines) {
        while (nic->cursor >= nic->regs.groups) {
            nic->cursor = 0;
            nic = nic->next != NULL ? nic->next : port->nics;
        }
        looked += sn_regs_look(nic, nic->cursor++, &taken);
    }
    port->sweep_nic = nic;
    port->cold_found += taken;
    port->swept += (uint32_t)looked;
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

/* Lines to look at in a turn without work. In virtual time nobody's answer is late. */
static uint64_t idle_slice(const struct sn_port *port)
{
    if (port->thread_looks || port->config.now != NULL)
        return SN_LOOK_LINES;
    return port->reg_lines / IDLE_TURNS > IDLE_LINES ? port->reg_lines / IDLE_TURNS : IDLE_LINES;
}

/*
 * Work holds up the sweep, so the slice grows with it: all registers are seen in time, whatever the others do. It is a whole
 * number of groups, and among many registers most turns of a busy queue have none.
 */
static uint64_t busy_slice(struct sn_port *port)
{
    uint64_t lines = 0, group = (uint64_t)port->sweep_effort * SN_REG_GROUP;

    port->sweep_owed += port->reg_lines * (port->effort + TURN_NS);
    if (port->sweep_owed >= group) { /* seldom, and a division is long */
        lines = port->sweep_owed / group * SN_REG_GROUP;
        port->sweep_owed -= lines * port->sweep_effort;
    }
    return lines == 0 && port->reg_lines <= SWEEP_FEW ? SN_REG_GROUP : lines;
}

static unsigned sweep(struct sn_port *port, bool idle)
{
    uint64_t lines = idle ? idle_slice(port) : busy_slice(port);
    unsigned taken = lines == 0 ? 0 : look_cold(port, lines);

    port->sweep_idled |= idle;
    if (port->swept >= port->reg_lines && port->reg_lines > SWEEP_FEW && port->config.now == NULL && !port->thread_looks)
        sweep_done(port);
    return taken;
}

/* ---- the turn ------------------------------------------------------------------------------------------------ */

/* Reading the clock costs as much as half an idle turn, and whoever waits for an answer makes millions of those. */
static bool time_to_look_at_clock(const struct sn_port *port, unsigned work)
{
    if (port->config.now != NULL || port->thread_looks)
        return work == 0 || (port->turn & CLOCK_BUSY) == 0;
    return (port->turn & (work == 0 ? CLOCK_IDLE : CLOCK_BUSY)) == 0;
}

/*
 * May this turn end with what it has begun with, since somebody waits for just that? What a hot register has announced leaves before
 * the wire and the cold registers are looked at (the slice then makes up for it), and what a peer has sent alone is told: not time
 * after time, and not in the turns that look at the clock.
 */
static bool may_put_off(struct sn_port *port)
{
    return port->put_off < PUT_OFF && port->effort < PUT_OFF_NS && port->xfers == NULL && (port->turn & CLOCK_BUSY) != 0;
}

/* A look may be a system call, or a few loads. */
static bool may_put_off_wire(const struct sn_port *port)
{
    const struct sn_wire *wire = port->wire;

    return wire == NULL || !port->wire_put_off || (wire->ops->glance != NULL && !wire->ops->glance(port->wire));
}

static unsigned did(struct sn_port *port, unsigned work, unsigned rung)
{
    if (port->wire != NULL && port->wire->ops->flush != NULL)
        port->wire->ops->flush(port->wire);
    port->was_idle = work + rung == 0;
    return work + rung;
}

static unsigned did_little(struct sn_port *port, unsigned work, unsigned rung)
{
    port->put_off++;
    port->effort += work * WORK_NS;
    return did(port, work, rung);
}

static bool has_work(const struct sn_port *port)
{
    return port->active_count != 0 || port->inproc->tail != 0 || port->ack_first != NULL;
}

/* What others have sent. After a turn that found nothing it is one message, answered at once: as a rule there is no other. */
static unsigned look_at_wire(struct sn_port *port, bool alone)
{
    int got;

    port->answers_now = alone;
    got = port->wire->ops->poll(port->wire, alone ? 1 : WIRE_BUDGET);
    port->answers_now = false;
    if (port->ack_first != NULL)
        sn_rc_send_acks(port); /* a peer waits for it; the rest of the turn can */
    return got > 0 ? (unsigned)got : 0;
}

static unsigned whole_turn(struct sn_port *port)
{
    unsigned work = 0, rung;

    port->now_valid = false;
    port->at_once = 0;
    rung = look_hot(port);
    if (rung != 0 && may_put_off(port) && may_put_off_wire(port)) {
        port->wire_put_off = port->wire != NULL;
        work = port->at_once == rung || !has_work(port) ? port->at_once : run_active(port);
        return did_little(port, work, rung);
    }
    port->wire_put_off = false;
    if (port->wire != NULL) {
        bool alone = port->was_idle && rung == 0 && port->wire->ops->glance != NULL;
        work = look_at_wire(port, alone);
        if (alone && work != 0 && may_put_off(port))
            return did_little(port, work, 0);
    }
    if (port->xfers != NULL)
        work += sn_xfer_poll(port);
    if (port->hot_count == port->uar_count) { /* all have been looked at */
        port->effort = 0;
        port->put_off = 0;
    } else if (rung + work != 0 && may_put_off(port)) {
        port->put_off++;
    } else {
        port->put_off = 0;
        rung += sweep(port, port->thread_looks || (rung == 0 && port->effort == 0));
        port->effort = 0;
    }
    if (has_work(port))
        work += run_active(port);
    if (port->unarmed != NULL && (work + rung == 0 || (port->turn & CLOCK_BUSY) == 0))
        work += sn_port_look_arms(port);
    port->effort += work * WORK_NS;
    if (port->wheel.armed != 0 && time_to_look_at_clock(port, work))
        work += sn_wheel_run(&port->wheel, sn_port_now(port));
    return did(port, work, rung);
}

/*
 * What ends a wait is as a rule a doorbell of a hot register or the next message of a peer. Where both can be seen by a few loads,
 * three of four idle turns look for nothing else, some times in a row: so it is seen sooner.
 */
static bool may_glance(const struct sn_port *port)
{
    return port->was_idle && (port->turn & GLANCE_TURNS) != 0 && port->wire != NULL && port->wire->ops->glance != NULL &&
           port->hot_count <= GLANCE_HOT && !has_work(port) && port->xfers == NULL && port->config.now == NULL && !port->thread_looks;
}

static bool glance(struct sn_port *port)
{
    for (unsigned i = 0; i < port->hot_count; i++)
        if (!is_quiet(port->hot[i]))
            return true;
    return port->wire->ops->glance(port->wire);
}

static unsigned turn(struct sn_port *port) /* returns work done */
{
    port->turn++;
    if (!may_glance(port))
        return whole_turn(port);
    for (unsigned n = 0; n < GLANCES; n++)
        if (glance(port))
            return whole_turn(port);
    return 0;
}

unsigned sn_port_turn_locked(struct sn_port *port)
{
    return turn(port);
}

/*
 * What has been rung before the call leaves before it ends, as far as it can: every register is looked at, which a turn need not do.
 * The turns are bounded, for others may go on posting.
 */
void sn_port_settle_locked(struct sn_port *port)
{
    port->now_valid = false;
    unsigned work = look_hot(port) + look_cold(port, port->reg_lines);

    port->sweep_idled = true; /* says nothing about how long a sweep takes */
    for (unsigned turns = 0; turns < SETTLE_TURNS && (work != 0 || has_work(port) || port->xfers != NULL); turns++) {
        port->turn++;
        work = whole_turn(port);
    }
}

int sn_port_run_locked(struct sn_port *port)
{
    int work = (int)turn(port);

    if (port->config.no_thread)
        return work;
    /* Tells the thread that somebody drives. The lock makes one writer of it, so no locked instruction is needed. */
    atomic_store_explicit(&port->foreign_turns, atomic_load_explicit(&port->foreign_turns, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    unsigned unattended = atomic_load_explicit(&port->unattended, memory_order_relaxed);
    if (unattended != 0)
        atomic_store_explicit(&port->unattended, unattended - 1, memory_order_relaxed);
    return work;
}

int sn_port_run(struct sn_port *port)
{
    int work;

    if (!sn_lock_try_to_drive(port->lock))
        return -EBUSY;
    work = sn_port_run_locked(port);
    sn_lock_release(port->lock);
    return work;
}
