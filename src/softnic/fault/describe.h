/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue pair is doing, and above all what it waits for, in words: hangs can be explained. */
#ifndef SOFTNIC_FAULT_DESCRIBE_H
#define SOFTNIC_FAULT_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

struct sn_nic;

/* Lines of text, each ended by a newline. Returns the length that all of it has (as snprintf), or -ENOENT. Port's lock held. */
int sn_qp_describe(struct sn_nic *nic, uint32_t qpn, char *out, size_t size);

#endif
