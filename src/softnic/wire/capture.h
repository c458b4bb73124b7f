/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port's traffic in a capture file: each packet that a queue pair of this port sends, once, and each that arrives
 * from outside the port. Between NICs of one port a packet is seen as it is sent, so a capture is the same on every
 * wire; what fault injection or a link loses, doubles or delays behind that point is seen by the other side's capture.
 */
#ifndef SOFTNIC_WIRE_CAPTURE_H
#define SOFTNIC_WIRE_CAPTURE_H

#include <stddef.h>

#include "softnic/nic.h"

struct sn_capture;

/*
 * Captures into `path`, truncated. Processes that name the same file at the same time each get one: the first has
 * `path`, the others "NAME.2.pcap" and so on for "NAME.pcap" (NAME.2, for a name without that ending); a lock on the
 * file, held until the capture ends, tells that it is taken. `actual` is given the name chosen. Time is the port's
 * clock: since 1970 when that is the system's, virtual time as it is. Takes the port's lock by itself.
 */
int sn_capture_start(struct sn_port *port, const char *path, char *actual, size_t size, struct sn_capture **out);

/* Ends it, before the port is destroyed. Returns the first error that writing met. Takes the port's lock by itself. */
int sn_capture_stop(struct sn_capture *capture);

#endif
