/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a CQE in host memory, for those who have made sure that there is room for it: queue/cq.c, transport/near.c. */
#ifndef SOFTNIC_QUEUE_CQ_H
#define SOFTNIC_QUEUE_CQ_H

#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"

void sn_cq_release_waiters(struct sn_cq *cq); /* WAITs look again */

static inline void sn_cq_write(struct sn_cq *cq, const struct sn_cqe64 *cqe)
{
    uint8_t *slot = sn_cq_slot(cq, cq->assigned++);
    uint64_t last;

    sn_put_cqe_body(slot, cqe);
    memcpy(&last, (const uint8_t *)cqe + 56, 8);
    sn_store_release64(slot + 56, last); /* op_own with the last word: everything before it is visible first */
    cq->producer++;
    if (cq->waiters != NULL)
        sn_cq_release_waiters(cq);
    if (cq->arms)
        (void)sn_cq_check_arm(cq);
}

#endif
