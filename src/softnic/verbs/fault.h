/* SPDX-License-Identifier: Apache-2.0 */
/* The process's fault plan: of the environment, or set by a call, which counts more. */
#ifndef SOFTNIC_VERBS_FAULT_H
#define SOFTNIC_VERBS_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/nic.h"

/* Checks SOFTNIC_FAULTS (NULL or "": none) and keeps it for ports that start later. 0 or -EINVAL with a refusal. */
int sv_faults_configure(const char *text, uint64_t seed);

/* A port has started, is about to stop. Registry lock held, port not locked. */
int sv_faults_start(struct sn_port *port);
void sv_faults_stop(struct sn_port *port);

#endif
