/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a CQE in host memory, for those who have made sure that there is room for it: queue/cq.c, transport/near.c, transport/complete.c. */
#ifndef SOFTNIC_QUEUE_CQ_H
#define SOFTNIC_QUEUE_CQ_H

#include "softnic/engine.h"
#include "softnic/exec/order.h"

void sn_cq_release_waiters(struct sn_cq *cq); /* WAITs look again */

/* Is there nothing to decide about a CQE but where it goes? A full ring is looked at again by queue/cq.c. */
static inline bool sn_cq_takes(const struct sn_cq *cq)
{
    return !cq->failed && !cq->gpu && !cq->timestamps &&
           (cq->overrun_ignore || cq->assigned - cq->consumer <= cq->mask);
}

static inline void sn_cq_write(struct sn_cq *cq, const sn_word cqe[8])
{
    uint8_t *slot = sn_cq_slot(cq, cq->assigned++);

    sn_put_cqe_body(slot, cqe);
    sn_store_release64(slot + 56, cqe[7]); /* op_own with the last word: everything before it is visible first */
    cq->producer++;
    if (cq->waiters != NULL)
        sn_cq_release_waiters(cq);
    if (cq->arms)
        (void)sn_cq_check_arm(cq);
}

/* Of a send WQE that went well and brought no bytes back, where sn_cq_takes. */
static inline void sn_cq_write_sent(struct sn_qp *qp, uint8_t opcode, uint16_t index)
{
    struct sn_cq *cq = qp->send_cq;
    sn_word cqe[8];

    sn_cqe_build_sent(opcode, index, qp->qpn, qp->attr.user_index, qp->port->now_ns, sn_cqe_owner(cq->assigned, cq->log_size), cqe);
    sn_cq_write(cq, cqe);
}

#endif
