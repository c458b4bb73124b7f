/* SPDX-License-Identifier: Apache-2.0 */
/* Receive rings: a queue pair's own, and shared ones (cyclic or a linked list). */
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"

static uint32_t posted_ahead(const struct sn_rq *rq)
{
    uint32_t ahead = (uint16_t)(rq->posted - rq->taken);
    return ahead <= (1u << rq->log_size) ? ahead : 0; /* a record that is further ahead than the ring is nonsense */
}

/* False: the record cannot be read. */
static bool look_at_record(struct sn_port *port, struct sn_rq *rq)
{
    uint32_t word = 0;

    if (rq->record.space == SN_SPACE_HOST)
        word = sn_load_acquire32(rq->record.addr);
    else if (sn_mem_copy_now(port, &word, rq->record.addr, 4, SN_SPACE_GPU) != 0)
        return false;
    rq->posted = (uint16_t)sn_swap32(word);
    return true;
}

/*
 * Receive queues have no doorbell register: the record is looked at when a message needs a WQE. Rings and records in GPU
 * memory are read with a blocking copy; the device API posts no receives, so this is for completeness.
 */
int sn_rq_take(struct sn_port *port, struct sn_rq *rq, uint8_t *wqe, uint16_t *index)
{
    size_t stride = (size_t)1 << rq->log_stride;
    uint32_t slot;
    const uint8_t *src;
    int ret = 0;

    if (posted_ahead(rq) == 0) {
        if (rq->record.length == 0)
            return -EAGAIN;
        if (!look_at_record(port, rq))
            return -EIO;
        if (posted_ahead(rq) == 0)
            return -EAGAIN;
    }
    slot = (rq->linked ? rq->head : rq->taken) & ((1u << rq->log_size) - 1);
    src = (const uint8_t *)rq->ring.addr + slot * stride;
    if (rq->ring.space == SN_SPACE_HOST)
        sn_fetch(wqe, src, stride);
    else
        ret = sn_mem_copy_now(port, wqe, src, stride, SN_SPACE_GPU);
    if (ret != 0)
        return -EIO;
    *index = rq->linked ? (uint16_t)slot : rq->taken;
    if (rq->linked)
        rq->head = sn_get16(((const struct sn_next_seg *)(const void *)wqe)->next_index);
    rq->taken++;
    return 0;
}

static int check(const struct sn_srq_attr *a)
{
    static const char what[] = "create an SRQ";

    if (a->log_size > SN_LOG_RING_MAX)
        return sn_fail(-EINVAL, what, NULL, 0, "log_size beyond 15", a->log_size);
    if (a->log_stride < (a->cyclic ? 4 : 5) || a->log_stride > 10)
        return sn_fail(-EINVAL, what, NULL, 0, "WQE stride not in 16 (linked list: 32) to 1024 bytes, log2", a->log_stride);
    if (a->ring.addr == NULL || a->ring.length < ((size_t)1 << (a->log_size + a->log_stride)))
        return sn_fail(-EINVAL, what, NULL, 0, "ring memory too small, bytes", a->ring.length);
    if (((uintptr_t)a->ring.addr & 15) != 0)
        return sn_fail(-EINVAL, what, NULL, 0, "ring not aligned to 16 bytes", (uintptr_t)a->ring.addr);
    if (a->record.addr == NULL || a->record.length < 4 || ((uintptr_t)a->record.addr & 3) != 0)
        return sn_fail(-EINVAL, what, NULL, 0, "no doorbell record, or not aligned", (uintptr_t)a->record.addr);
    return 0;
}

int sn_srq_create(struct sn_nic *nic, const struct sn_srq_attr *attr, uint32_t *srqn)
{
    static const char what[] = "create an SRQ";
    struct sn_pd *pd = sn_pd_find(nic, attr->pdn);
    struct sn_srq *srq;
    static const uint32_t zero;
    int ret = check(attr);

    if (ret != 0)
        return ret;
    if (pd == NULL)
        return sn_fail(-EINVAL, what, "pd", attr->pdn, "no such protection domain", attr->pdn);
    srq = calloc(1, sizeof(*srq));
    if (srq == NULL)
        return sn_fail(-ENOMEM, what, NULL, 0, "SRQs so far", nic->srqs.used);
    srq->attr = *attr;
    ret = sn_span_resolve(nic->port, &srq->attr.ring);
    if (ret == 0)
        ret = sn_span_resolve(nic->port, &srq->attr.record);
    if (ret == 0)
        ret = sn_table_add(&nic->srqs, srq, 1u << 24, &srq->number);
    if (ret != 0) {
        free(srq);
        return sn_fail(ret, what, NULL, 0, "SRQs so far", nic->srqs.used);
    }
    srq->nic = nic;
    srq->pdn = attr->pdn;
    srq->rq = (struct sn_rq){.ring = srq->attr.ring,
                             .record = srq->attr.record,
                             .log_size = attr->log_size,
                             .log_stride = attr->log_stride,
                             .linked = !attr->cyclic};
    if (srq->attr.record.space == SN_SPACE_HOST)
        sn_store_release32(srq->attr.record.addr, 0);
    else
        (void)sn_mem_copy_now(nic->port, srq->attr.record.addr, &zero, 4, SN_SPACE_GPU);
    pd->users++;
    *srqn = srq->number;
    return 0;
}

int sn_srq_destroy(struct sn_nic *nic, uint32_t srqn)
{
    struct sn_srq *srq = sn_table_get(&nic->srqs, srqn);

    if (srq == NULL)
        return sn_fail(-ENOENT, "destroy an SRQ", "srq", srqn, "no such SRQ", srqn);
    if (srq->users != 0)
        return sn_fail(-EBUSY, "destroy an SRQ", "srq", srqn, "queue pairs on it", srq->users);
    sn_pd_find(nic, srq->pdn)->users--;
    sn_watch_end(srq->watches);
    sn_table_remove(&nic->srqs, srqn);
    free(srq);
    return 0;
}

/* ---- limit --------------------------------------------------------------------------------------------------- */

void sn_srq_check_limit(struct sn_srq *srq)
{
    if (srq->limit == 0 || posted_ahead(&srq->rq) >= srq->limit || !look_at_record(srq->nic->port, &srq->rq) ||
        posted_ahead(&srq->rq) >= srq->limit)
        return;
    srq->limit = 0;
    sn_watch_tell(srq->watches, SN_EVENT_SRQ_LIMIT, srq->number, 0);
}

int sn_srq_set_limit(struct sn_nic *nic, uint32_t srqn, uint32_t limit)
{
    static const char what[] = "set the limit of an SRQ";
    struct sn_srq *srq = sn_table_get(&nic->srqs, srqn);

    if (srq == NULL)
        return sn_fail(-ENOENT, what, "srq", srqn, "no such SRQ", srqn);
    if (limit > 1u << srq->rq.log_size)
        return sn_fail(-EINVAL, what, "srq", srqn, "limit beyond the ring", limit);
    srq->limit = limit;
    sn_srq_check_limit(srq);
    return 0;
}

int sn_srq_limit(struct sn_nic *nic, uint32_t srqn, uint32_t *limit)
{
    struct sn_srq *srq = sn_table_get(&nic->srqs, srqn);

    if (srq == NULL)
        return sn_fail(-ENOENT, "query an SRQ", "srq", srqn, "no such SRQ", srqn);
    *limit = srq->limit;
    return 0;
}
