/* SPDX-License-Identifier: Apache-2.0 */
/* The process's devices and its one port. */
#ifndef SOFTNIC_VERBS_DEVICE_H
#define SOFTNIC_VERBS_DEVICE_H

#include "softnic/verbs/context.h"

/* Process generation: changes in a forked child. */
unsigned sv_generation(void);

/* Devices of this process, made on first use. Registry lock taken inside. Returns the count or negative errno. */
int sv_device_list(struct sv_device **first);

/* Brings a device up for a context, or releases it; creates the port with the first, destroys it with the last. */
int sv_device_get(struct sv_device *device, struct sv_context *ctx);
void sv_device_put(struct sv_device *device, struct sv_context *ctx);

bool sv_context_known(const struct ibv_context *context);

/* Runs `fn` with the process's port, or NULL while no device is open. Registry lock held, port not locked. */
int sv_with_port(int (*fn)(struct sn_port *port, void *arg), void *arg);

/* True if the pointer is one of our devices. */
bool sv_device_known(const struct ibv_device *device);

#endif
