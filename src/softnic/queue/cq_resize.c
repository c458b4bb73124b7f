/* SPDX-License-Identifier: Apache-2.0 */
/* A completion queue gets another ring (IBTA vol. 1, 11.2.8.4: resize CQ). */
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "format/doorbell.h"

static const char what[] = "resize a CQ";

static int check(const struct sn_cq *cq, const struct sn_span *ring, uint8_t log_size)
{
    if (log_size > SN_LOG_CQ_MAX)
        return sn_fail(-EINVAL, what, "cq", cq->number, "log_size beyond 22", log_size);
    if (ring->addr == NULL || ring->length < ((size_t)cq->stride << log_size) || ((uintptr_t)ring->addr & 63) != 0)
        return sn_fail(-EINVAL, what, "cq", cq->number, "ring memory too small or not aligned, bytes", ring->length);
    if (cq->gpu || ring->space == SN_SPACE_GPU || cq->collapsed || cq->attr.record.length < 8)
        return sn_fail(-EOPNOTSUPP, what, "cq", cq->number, "in GPU memory, collapsed or without a record", 0);
    if (cq->failed)
        return sn_fail(-EINVAL, what, "cq", cq->number, "it has overrun, CQEs so far", cq->producer);
    return 0;
}

/* What has not been read yet moves to where it belongs in the new ring, with the owner bit of its pass there. */
static void move(const struct sn_cq *cq, uint8_t *ring, uint8_t log_size, uint32_t consumer)
{
    const uint32_t mask = (1u << log_size) - 1;

    for (uint32_t n = consumer; n != cq->producer; n++) {
        const uint8_t *from = sn_cq_slot(cq, n);
        uint8_t *to = ring + (size_t)(n & mask) * cq->stride + cq->cqe_offset;
        memcpy(to, from, 64);
        to[63] = (uint8_t)((to[63] & ~SN_CQE_OWNER) | sn_cqe_owner(n, log_size));
    }
}

/*
 * The caller keeps consumers away and has filled the new ring with entries that were never written. -EINVAL: what waits to
 * be read does not fit.
 */
int sn_cq_resize(struct sn_nic *nic, uint32_t cqn, const struct sn_span *ring, uint8_t log_size)
{
    struct sn_cq *cq = sn_cq_find(nic, cqn);
    uint32_t ci, waiting;
    int ret;

    if (cq == NULL)
        return sn_fail(-ENOENT, what, "cq", cqn, "no such CQ", cqn);
    ret = check(cq, ring, log_size);
    if (ret != 0)
        return ret;
    ci = sn_swap32(sn_load_acquire32((const uint8_t *)cq->attr.record.addr + SN_CQ_DBR_CI)) & 0xffffffu;
    waiting = (cq->producer - ci) & 0xffffffu;
    if (waiting > cq->mask + 1)
        return sn_fail(-EINVAL, what, "cq", cqn, "its consumer index is false", ci);
    if (waiting > 1u << log_size)
        return sn_fail(-EINVAL, what, "cq", cqn, "CQEs that wait to be read do not fit", waiting);
    move(cq, ring->addr, log_size, cq->producer - waiting);
    cq->consumer = cq->producer - waiting;
    cq->attr.ring = *ring;
    cq->attr.log_size = cq->log_size = log_size;
    cq->ring = ring->addr;
    cq->mask = (1u << log_size) - 1;
    return 0;
}
