/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewinding a queue after its QP was moved to RST. The QP counts WQEs from 0 again; its CQ does not restart: the next
 * CQE goes to the slot, and carries the owner bit, that the CQ's own count says. So kernels are told that count
 * (cqe_rsvd), and every slot is refilled to look not yet written for the pass that comes next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/gdaki_wqe.h"
#include "format/prm.h"
#include "host/export.h"
#include "host/sdk.h"

#define COUNTER_BITS 24u
#define COUNTER_MASK ((1u << COUNTER_BITS) - 1)

bool cq_query_producer(const doca_verbs_cq_t *cq, uint32_t *producer)
{
    uint8_t in[PRM_SIZE_query_cq_in] = {0}, out[PRM_SIZE_query_cq_out] = {0};

    if (IS_SDK(cq))
        return false;
    prm_set_query_cq_in__opcode(in, PRM_OP_QUERY_CQ);
    prm_set_query_cq_in__cqn(in, cq->open->cqn);
    if (cq->open->nic->mlx5dv_devx_obj_query(cq->open->obj, in, sizeof(in), out, sizeof(out)) != 0) {
        HOST_LOG(LOG_INFO, "the device does not answer QUERY_CQ%s", nic_reason(cq->open->nic));
        return false;
    }
    *producer = (uint32_t)prm_get_cqc__producer_counter(PRM_CAT(out, query_cq_out, cq_context));
    return true;
}

/* Largest count up to `limit` with these low bits: each reserved WQE made at most one CQE, so `limit` is not exceeded. */
static uint64_t extend_counter(uint32_t low, uint64_t limit)
{
    uint64_t count = (limit & ~(uint64_t)COUNTER_MASK) | low;

    return count > limit && count >= (uint64_t)1 << COUNTER_BITS ? count - ((uint64_t)1 << COUNTER_BITS) : count;
}

static unsigned owner_of(uint64_t cqe_index, uint32_t entries)
{
    return (cqe_index & entries) != 0;
}

/* Is CQE number `index` the one in its slot? */
static bool slot_holds(const uint8_t *ring, uint64_t index, uint32_t entries)
{
    uint8_t op_own = ring[(index & (entries - 1)) * HOST_CQE_BYTES + HOST_CQE_BYTES - 1];

    return op_own >> 4 != DOCA_GPUNETIO_IB_MLX5_CQE_INVALID && (op_own & 1u) == owner_of(index, entries);
}

/* Without the device's word: CQEs are in the ring up to the count, so walk down from the limit to the last one there. */
static uint64_t count_in_ring(const uint8_t *ring, uint32_t entries, uint64_t first, uint64_t limit)
{
    uint64_t count = limit;

    while (count > first && limit - count < entries && !slot_holds(ring, count - 1, entries))
        count--;
    return count;
}

static doca_error_t produced_cqes(struct exported_qp *q, uint64_t before, uint64_t limit, uint64_t *produced)
{
    const struct doca_gpu_dev_verbs_cq *cq = &q->pub.qp_cpu->cq_sq;
    size_t bytes = (size_t)cq->cqe_num * HOST_CQE_BYTES;
    uint32_t low;
    uint8_t *ring;

    if (cq_query_producer(q->cq, &low)) {
        *produced = extend_counter(low, limit);
        return DOCA_SUCCESS;
    }
    *produced = limit;
    if (cq->gdaki_kind == GDAKI_CQ_KIND_COLLAPSED)
        return DOCA_SUCCESS; /* only WAIT uses the count there: right when every WQE was signalled */
    ring = malloc(bytes);
    if (ring == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "resetting QP 0x%x: no memory", q->pub.qp_cpu->sq_num);
    if (q->ops->copy(ring, cq->cqe_daddr, bytes) != 0) {
        free(ring);
        return HOST_ERR(DOCA_ERROR_DRIVER, "resetting QP 0x%x: reading its CQ ring: %s", q->pub.qp_cpu->sq_num,
                        q->ops->last_error());
    }
    *produced = count_in_ring(ring, cq->cqe_num, before, limit);
    free(ring);
    return DOCA_SUCCESS;
}

/* Slot s is next written in the pass of the first index >= produced that falls on it: give it the other owner. */
static doca_error_t refill_cq(struct exported_qp *q, uint64_t produced)
{
    const struct doca_gpu_dev_verbs_cq *cq = &q->pub.qp_cpu->cq_sq;
    size_t bytes = (size_t)cq->cqe_num * HOST_CQE_BYTES;
    uint8_t *ring = calloc(1, bytes);
    int err;

    if (ring == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "resetting QP 0x%x: no memory", q->pub.qp_cpu->sq_num);
    for (uint64_t index = produced; index < produced + cq->cqe_num; index++) {
        uint8_t *cqe = ring + (index & cq->cqe_mask) * HOST_CQE_BYTES;

        cqe[HOST_CQE_BYTES - 1] = (uint8_t)(DOCA_GPUNETIO_IB_MLX5_CQE_INVALID << 4 | !owner_of(index, cq->cqe_num));
    }
    err = q->ops->copy(cq->cqe_daddr, ring, bytes);
    free(ring);
    return err == 0 ? DOCA_SUCCESS
                    : HOST_ERR(DOCA_ERROR_DRIVER, "resetting QP 0x%x: rewriting its CQ ring: %s", q->pub.qp_cpu->sq_num,
                               q->ops->last_error());
}

static doca_error_t clear_memory(struct exported_qp *q)
{
    const struct doca_gpu_dev_verbs_qp *d = q->pub.qp_cpu;
    const uint32_t zero = 0;
    int err = q->ops->fill(d->sq_wqe_daddr, 0, (size_t)d->sq_wqe_num * HOST_WQEBB_BYTES);

    if (err == 0)
        err = q->ops->copy(q->record_word, &zero, sizeof(zero));
    if (q->full_proxy)
        gdaki_store_u64(q->pub.cpu_db, 0, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS);
    return err == 0 ? DOCA_SUCCESS
                    : HOST_ERR(DOCA_ERROR_DRIVER, "resetting QP 0x%x: clearing its ring and record: %s", d->sq_num,
                               q->ops->last_error());
}

static void rewind_template(struct doca_gpu_dev_verbs_qp *d, uint64_t produced)
{
    d->sq_rsvd_index = d->sq_ready_index = d->sq_wqe_pi = 0;
    d->sq_lock = 0;
    d->gdaki_ring = 0;
    d->cq_sq.cqe_ci = 0;
    d->cq_sq.cqe_rsvd = produced;
    d->cq_sq.gdaki_error = 0;
    d->cq_sq.gdaki_error_index = 0;
}

static doca_error_t reset(struct exported_qp *q)
{
    struct doca_gpu_dev_verbs_qp live = *q->pub.qp_cpu;
    uint64_t before, produced = 0;
    doca_error_t err;

    if (q->pub.qp_gpu != NULL && q->ops->copy(&live, q->pub.qp_gpu, sizeof(live)) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "resetting QP 0x%x: reading its device copy: %s", live.sq_num, q->ops->last_error());
    before = live.cq_sq.cqe_rsvd;
    err = produced_cqes(q, before, before + live.sq_rsvd_index, &produced);
    if (err == DOCA_SUCCESS)
        err = refill_cq(q, produced);
    if (err == DOCA_SUCCESS)
        err = clear_memory(q);
    if (err != DOCA_SUCCESS)
        return err;
    rewind_template(q->pub.qp_cpu, produced);
    q->pub.sq_wqe_pi_last = 0;
    if (q->pub.qp_gpu != NULL && q->ops->copy(q->pub.qp_gpu, q->pub.qp_cpu, sizeof(*q->pub.qp_cpu)) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "resetting QP 0x%x: writing its device copy: %s", live.sq_num, q->ops->last_error());
    if (q->ops->synchronize() != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "resetting QP 0x%x: synchronizing the device: %s", live.sq_num,
                        q->ops->last_error());
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_reset_tracking_and_memory(struct doca_gpu_verbs_qp *qp_gverbs)
{
    if (qp_gverbs == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "resetting a QP's tracking: qp_gverbs is NULL");
    return reset(exported_of(qp_gverbs));
}
