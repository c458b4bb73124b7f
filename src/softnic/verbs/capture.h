/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTNIC_PCAP: the port's traffic in a capture file while a device is open. */
#ifndef SOFTNIC_VERBS_CAPTURE_H
#define SOFTNIC_VERBS_CAPTURE_H

#include <stddef.h>

struct sn_port;

/* Checks a file name's length; keeps it (empty: no capture). 0 or a negative errno with a refusal that names the variable. */
int sv_capture_configure(const char *path);

/* Starts what is configured, stops what was started. A file that cannot be made is a refusal. */
int sv_capture_start(struct sn_port *port);
void sv_capture_stop(void);

#endif
