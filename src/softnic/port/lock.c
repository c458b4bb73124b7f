/* SPDX-License-Identifier: Apache-2.0 */
/* The port's lock when it is not to be had at once: a futex. */
#include "softnic/port/lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* It is left in the state WANTED, for there may be others who wait. */
void sn_lock_wait(struct sn_lock *lock)
{
    atomic_fetch_add_explicit(&lock->waiters, 1, memory_order_relaxed);
    while (atomic_exchange_explicit(&lock->state, SN_LOCK_WANTED, memory_order_acquire) != SN_LOCK_FREE)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, SN_LOCK_WANTED, NULL, NULL, 0);
    atomic_fetch_sub_explicit(&lock->waiters, 1, memory_order_relaxed);
}

void sn_lock_wake(struct sn_lock *lock)
{
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
