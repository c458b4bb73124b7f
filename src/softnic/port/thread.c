/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleep policy. Idle for 50 us: sleep, 50 us at first, doubling to 1 ms. Our own CPU paths wake the thread by futex; a GPU
 * store to a register cannot, so 1 ms (and the timer's slack) is the worst case for a first doorbell after a rest. From
 * 512 cache lines of registers on naps grow, to 4 ms at most: looking at more each millisecond would be most of what idle
 * queues cost. Once a look has found a doorbell that nobody announced, they are 1 ms again, for as long as that
 * happens every second. While somebody else drives, the thread steps back: it sleeps in steps of 250 us, doubling to 1 ms while
 * each finds that they spin (on a virtual machine a step's end costs whoever spins on that CPU 20 to 30 us), and is not woken
 * by doorbells, since those are being looked at; whoever is about to sleep for an event calls it back. A port without queues
 * sleeps until it is woken.
 *
 * A doorbell that is stored just when the thread goes to sleep: the thread announces its sleep, makes every other thread of
 * the process pass a barrier (membarrier), and looks once more. So the waker needs one relaxed load and no fence.
 */
#include "softnic/port/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "softnic/engine.h"
#include "softnic/port/own_thread.h"
#include "softnic/wire/wire.h"

#define IDLE_NS      50000ull
#define SLEEP_MIN_NS 50000ull
#define SLEEP_MAX_NS 1000000ull
#define STEP_BACK_NS 250000ull
#define SILENT_NS    1000000000ull /* how long an unannounced doorbell is remembered */

enum { UNATTENDED_TURNS = 16 /* of others, until they count as driving again: whoever arms a CQ looks once more, then sleeps */ };
enum { YIELD_NS = 3000, TURN_NS = 50 }; /* of idle turns until the clock is read and the processor offered to others; what one takes, guessed */
enum { DRIVEN_TURNS = 64 /* of others in one step: they spin, and are not just somebody who polls now and then */ };
enum { NAP_LINES = 256, NAPS_MAX = 4 }; /* cache lines of registers for each millisecond of nap; most of those */

static uint64_t clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void futex_wait(atomic_int *word, int value, uint64_t ns)
{
    struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns == UINT64_MAX ? NULL : &ts, NULL, 0);
}

static void futex_wake(atomic_int *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

atomic_uint sn_sleepers;

void sn_port_wake(struct sn_port *port)
{
    if (atomic_load_explicit(&port->asleep, memory_order_relaxed) == 0)
        return;
    if (atomic_exchange_explicit(&port->asleep, 0, memory_order_acq_rel) == 1)
        futex_wake(&port->asleep);
}

int sn_port_turn_own(struct sn_port *port)
{
    int work;

    if (!sn_lock_try_to_drive(port->lock))
        return -1;
    work = (int)sn_port_turn_locked(port);
    sn_lock_release(port->lock);
    return work;
}

static bool has_queues(const struct sn_port *port)
{
    for (const struct sn_nic *nic = port->nics; nic != NULL; nic = nic->next)
        if (nic->qps.used != 0)
            return true;
    return false;
}

/* All registers, in slices. False: there was something to do. */
static bool look_around(struct sn_port *port)
{
    for (uint64_t looked = 0; looked <= port->reg_lines; looked += SN_LOOK_LINES)
        if (sn_port_turn_locked(port) != 0 || port->active_count != 0 || port->xfers != NULL)
            return false;
    return true;
}

/* Milliseconds that a nap may last. Under the lock. */
static uint64_t naps(struct sn_port *port)
{
    uint64_t n = port->reg_lines / NAP_LINES;

    if (n <= 1 || sn_port_now(port) < port->silent_until)
        return 1;
    return n < NAPS_MAX ? n : NAPS_MAX;
}

/* Under the lock: may the thread sleep, and how long at most? Everything is looked at once more. */
static bool may_sleep(struct sn_port *port, bool first, uint64_t *ns)
{
    uint64_t deadline, now, found = port->cold_found;

    if (!look_around(port)) {
        if (!first && port->cold_found != found && atomic_load_explicit(&port->asleep, memory_order_acquire) != 0)
            port->silent_until = sn_port_now(port) + SILENT_NS; /* rung, and nobody woke us */
        return false;
    }
    if (*ns == SLEEP_MAX_NS)
        *ns *= naps(port);
    if (!has_queues(port) && port->wire == NULL)
        *ns = UINT64_MAX;
    deadline = sn_wheel_next(&port->wheel);
    port->now_valid = false;
    now = sn_port_now(port);
    if (deadline <= now)
        return false;
    if (deadline - now < *ns)
        *ns = deadline - now;
    return true;
}

bool sn_port_thread_looks(const struct sn_port *port)
{
    return port->thread_looks;
}

uint64_t sn_port_worst_wake_ns(struct sn_port *port)
{
    uint64_t n;

    if (!port->thread_started)
        return UINT64_MAX;
    sn_port_lock(port);
    port->now_valid = false;
    n = naps(port);
    sn_port_unlock(port);
    return n * SN_WORST_WAKE_NS;
}

/*
 * One look with the lock held. False: there is something to do, or somebody else has the lock. What came before the wire's
 * peers were told is looked for once more.
 */
static bool look(struct sn_port *port, bool first, uint64_t *ns, bool *told)
{
    bool idle;

    if (!sn_lock_try(port->lock))
        return false;
    port->thread_looks = true;
    idle = may_sleep(port, first, ns);
    port->thread_looks = false;
    if (idle && port->wire != NULL) {
        port->wire->ops->sleeping(port->wire, true);
        *told = true;
        idle = !port->wire->ops->pending(port->wire);
    }
    sn_lock_release(port->lock);
    return idle;
}

/*
 * Sleeps and looks until there is work. `asleep` stays set meanwhile, so one barrier does for all of it, and a doorbell
 * that is rung during a look finds it set.
 */
static void rest(struct sn_port *port)
{
    uint64_t step = SLEEP_MIN_NS;
    bool told = false;

    atomic_fetch_add_explicit(&sn_sleepers, 1, memory_order_relaxed);
    atomic_store_explicit(&port->asleep, 1, memory_order_seq_cst);
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    while (!atomic_load_explicit(&port->thread_stop, memory_order_acquire)) {
        uint64_t ns = step;
        if (!look(port, step == SLEEP_MIN_NS, &ns, &told))
            break;
        sn_own_thread_rests();
        futex_wait(&port->asleep, 1, ns);
        sn_own_thread_works();
        if (atomic_load_explicit(&port->asleep, memory_order_acquire) == 0)
            break; /* woken */
        step = step * 2 < SLEEP_MAX_NS ? step * 2 : SLEEP_MAX_NS;
    }
    atomic_store_explicit(&port->asleep, 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&sn_sleepers, 1, memory_order_relaxed);
    if (!told)
        return;
    sn_port_lock(port);
    if (port->wire != NULL) /* it may have been detached meanwhile */
        port->wire->ops->sleeping(port->wire, false);
    sn_port_unlock(port);
}

static void step_back(struct sn_port *port, uint64_t ns)
{
    atomic_store_explicit(&port->stepped_back, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&port->unattended, memory_order_seq_cst) == 0) {
        sn_own_thread_rests();
        futex_wait(&port->stepped_back, 1, ns);
        sn_own_thread_works();
    }
    atomic_store_explicit(&port->stepped_back, 0, memory_order_relaxed);
}

void sn_port_unattended(struct sn_port *port)
{
    atomic_store_explicit(&port->unattended, UNATTENDED_TURNS, memory_order_seq_cst);
    if (atomic_load_explicit(&port->stepped_back, memory_order_seq_cst) == 1 &&
        atomic_exchange_explicit(&port->stepped_back, 0, memory_order_acq_rel) == 1)
        futex_wake(&port->stepped_back);
}

static void *run(void *arg)
{
    struct sn_port *port = arg;
    uint64_t idle_since = clock_ns();
    uint64_t step = STEP_BACK_NS; /* the last one */
    unsigned refused = 0, quiet_ns = 0;
    unsigned foreign = atomic_load_explicit(&port->foreign_turns, memory_order_relaxed);

    while (!atomic_load_explicit(&port->thread_stop, memory_order_acquire)) {
        sn_own_thread_turn();
        unsigned seen = atomic_load_explicit(&port->foreign_turns, memory_order_relaxed);
        int work;
        if (seen != foreign && atomic_load_explicit(&port->unattended, memory_order_relaxed) == 0) {
            step = seen - foreign >= DRIVEN_TURNS ? (step * 2 < SLEEP_MAX_NS ? step * 2 : SLEEP_MAX_NS) : STEP_BACK_NS;
            foreign = seen;
            step_back(port, step);
            idle_since = clock_ns();
            continue;
        }
        foreign = seen;
        step = STEP_BACK_NS;
        work = sn_port_turn_own(port);
        if (work != 0) {
            if (work > 0)
                refused = 0;
            else if (++refused < 16)
                sched_yield();
            else
                step_back(port, STEP_BACK_NS); /* a long control call: no use in asking again and again */
            idle_since = clock_ns();
            continue;
        }
        refused = 0;
        quiet_ns += TURN_NS + atomic_load_explicit(&port->wire_look_ns, memory_order_relaxed);
        if (quiet_ns < YIELD_NS)
            continue;
        quiet_ns = 0;
        if (clock_ns() - idle_since < IDLE_NS) {
            sched_yield(); /* whoever makes work for us may be waiting for this very processor */
            continue;
        }
        rest(port);
        idle_since = clock_ns();
    }
    return NULL;
}

int sn_thread_start(struct sn_port *port)
{
    int ret;

    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    port->thread_started = true;
    ret = sn_own_thread_start(&port->thread, run, port, "softnic");
    if (ret != 0)
        port->thread_started = false;
    return ret;
}

void sn_thread_stop(struct sn_port *port)
{
    if (!port->thread_started)
        return;
    atomic_store_explicit(&port->thread_stop, true, memory_order_release);
    sn_port_wake(port);
    pthread_join(port->thread, NULL);
    port->thread_started = false;
}
