/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of a port. Who drives the port takes it for each turn, some millions of times a second and as a rule alone, so
 * that is a few instructions. Drivers try only, and step aside for whoever waits for it. All zeros: free.
 */
#ifndef SOFTNIC_PORT_LOCK_H
#define SOFTNIC_PORT_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

enum sn_lock_state { SN_LOCK_FREE, SN_LOCK_TAKEN, SN_LOCK_WANTED /* taken, and somebody may sleep until it is free */ };

struct sn_lock {
    atomic_int state;
    atomic_uint waiters; /* callers of sn_lock_take */
};

/* Nobody has it, whatever it says: after a fork. */
static inline void sn_lock_reset(struct sn_lock *lock)
{
    atomic_store_explicit(&lock->state, SN_LOCK_FREE, memory_order_relaxed);
    atomic_store_explicit(&lock->waiters, 0, memory_order_relaxed);
}

void sn_lock_wait(struct sn_lock *lock);
void sn_lock_wake(struct sn_lock *lock);

/* Whatever the state: takes it, if nobody has. */
static inline bool sn_lock_try(struct sn_lock *lock)
{
    int free = SN_LOCK_FREE;

    return atomic_load_explicit(&lock->state, memory_order_relaxed) == SN_LOCK_FREE &&
           atomic_compare_exchange_strong_explicit(&lock->state, &free, SN_LOCK_TAKEN, memory_order_acquire, memory_order_relaxed);
}

/* The same for a driver. */
static inline bool sn_lock_try_to_drive(struct sn_lock *lock)
{
    return atomic_load_explicit(&lock->waiters, memory_order_relaxed) == 0 && sn_lock_try(lock);
}

static inline void sn_lock_take(struct sn_lock *lock)
{
    if (!sn_lock_try(lock))
        sn_lock_wait(lock);
}

static inline void sn_lock_release(struct sn_lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, SN_LOCK_FREE, memory_order_release) == SN_LOCK_WANTED)
        sn_lock_wake(lock);
}

#endif
