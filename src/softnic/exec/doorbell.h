/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a send queue has got, from hints. Plain memory raises no events, stores merge, doorbells come twice, late or out
 * of order; a producer is never more than a ring ahead of what has been fetched.
 */
#ifndef SOFTNIC_EXEC_DOORBELL_H
#define SOFTNIC_EXEC_DOORBELL_H

#include "format/doorbell.h"

/* Basic blocks that `candidate` lies ahead of `fetched`; 0 when it is stale or nonsense. Indices are modulo 2^16. */
SN_FN uint32_t sn_ahead(uint16_t candidate, uint16_t fetched, uint32_t ring_blocks)
{
    uint32_t distance = (uint16_t)(candidate - fetched);
    return distance <= ring_blocks ? distance : 0;
}

#endif
