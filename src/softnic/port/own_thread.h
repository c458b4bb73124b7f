/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NIC's own threads: the port's, the wires' helpers, queue pair 1's. They block all signals, which are the program's, and
 * they stand still while the process forks: what a thread is in the middle of at that moment stays so in the child for
 * ever. The C library brings its own locks into order at a fork, but the allocators that a program may run on instead
 * (AddressSanitizer's of GCC 12 among them) do not, and a child that allocates would wait without end.
 */
#ifndef SOFTNIC_PORT_OWN_THREAD_H
#define SOFTNIC_PORT_OWN_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Starts a thread; `name` of at most 15 characters, static. Returns when it is up, so that its start is over before its creator
 * goes on. 0 or a negative errno. It works until it rests, and what it sleeps or waits for elsewhere than under a lock
 * belongs between rests and works.
 */
int sn_own_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, const char *name);

/* By such a thread, holding no lock. Nested calls are not allowed. */
void sn_own_thread_rests(void);
void sn_own_thread_works(void); /* waits while the process forks */
void sn_own_thread_sleep(uint64_t ns);

extern atomic_bool sn_own_threads_halt;

/* By such a thread, in each turn of a loop that may go on for long; holding no lock. */
static inline void sn_own_thread_turn(void)
{
    if (atomic_load_explicit(&sn_own_threads_halt, memory_order_relaxed)) {
        sn_own_thread_rests();
        sn_own_thread_works();
    }
}

/*
 * Around a fork, after the locks that the forking thread takes for it: none of those may be wanted by a thread of the NIC. Waits
 * until all rest, for a second at most: one that waits for a lock of the program's, which in turn waits for the fork, must
 * not stop it. Then exactly one of the other two: in the parent, in the child (which has no such thread).
 */
void sn_own_threads_before_fork(void);
void sn_own_threads_after_fork_parent(void);
void sn_own_threads_after_fork_child(void);

#endif
