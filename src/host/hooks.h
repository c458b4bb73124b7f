/* SPDX-License-Identifier: Apache-2.0 */
/* Ties the CPU executor to softnic when both are in the process: waiting fibers drive the NIC, doorbells wake it. */
#ifndef GDAKI_HOST_HOOKS_H
#define GDAKI_HOST_HOOKS_H

/* Cheap once done; called wherever a queue or device is made, because the executor may be loaded late. Any thread. */
void hooks_connect(void) __attribute__((visibility("hidden")));

#endif
