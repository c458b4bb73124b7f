/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burst cut into packets, payload by reference: what a wire, a capture or a lossy link sees of it. Each packet is a
 * burst of one packet (a READ request keeps the number of PSNs of its response). First, last, immediate, acknowledge
 * request and solicited event go to the packet that carries them (IBTA vol. 1, 9.2).
 */
#ifndef SOFTNIC_WIRE_CUT_H
#define SOFTNIC_WIRE_CUT_H

#include <stdbool.h>

#include "softnic/wire/burst.h"

struct sn_cut {
    const struct sn_burst *burst;
    uint32_t next;   /* packets given out */
    uint32_t iov;    /* cursor in the payload */
    size_t offset;
};

void sn_cut_begin(struct sn_cut *cut, const struct sn_burst *burst);

/* Fills `packet`; false when all have been given out. */
bool sn_cut_next(struct sn_cut *cut, struct sn_burst *packet);

#endif
