/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of another process of this host. */
#ifndef SOFTNIC_WIRE_SHM_PROCESS_H
#define SOFTNIC_WIRE_SHM_PROCESS_H

#include <stdbool.h>

/*
 * True if a thread of the process is runnable, or waits for a device (proc(5): states R and D): it does not run for want of a
 * processor. False if all of its threads sleep, if it is stopped, traced, dead, or cannot be seen from here. Reads /proc.
 *
 * The caller holds a port's lock, so one call looks at a bounded number of threads; of a process with more, the next call
 * looks at the following ones.
 */
bool sn_process_wants_cpu(int pid);
bool sn_process_wants_cpu_among(int pid, unsigned threads); /* with a bound of its own: for tests */

#endif
