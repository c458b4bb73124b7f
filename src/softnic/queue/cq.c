/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: where CQEs go, who waits for them, and what happens when nobody makes room. */
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "softnic/fault/inject.h"
#include "softnic/queue/cq.h"
#include "format/doorbell.h"

/* CQEs on their way to GPU memory: first all bodies, then all last words. */
enum { PENDING_BATCH = 64 };

struct sn_cq_pending {
    struct sn_cq_pending *next;
    uint32_t counter; /* its number among all CQEs */
    struct sn_cqe64 cqe;
};

void sn_cq_release_waiters(struct sn_cq *cq)
{
    struct sn_qp *qp = cq->waiters;

    cq->waiters = NULL;
    while (qp != NULL) {
        struct sn_qp *next = qp->wait_next;
        qp->waits_on = NULL;
        qp->tx.waiting_cq = false;
        sn_qp_activate(qp);
        qp = next;
    }
}

static void flight_start(struct sn_cq *cq);

static void flight_done(struct sn_xfer *xfer)
{
    struct sn_cq *cq = xfer->arg;
    uint32_t n = xfer->tag; /* CQEs in this flight */

    for (uint32_t i = 0; i < n; i++) {
        struct sn_cq_pending *p = cq->pending;
        cq->pending = p->next;
        free(p);
    }
    if (cq->pending == NULL)
        cq->pending_tail = &cq->pending;
    cq->producer += n;
    sn_xfer_free(xfer);
    sn_cq_release_waiters(cq);
    if (cq->arms)
        (void)sn_cq_check_arm(cq);
    if (cq->pending != NULL)
        flight_start(cq);
}

/* One copy per CQE of a flight; a collapsed CQ needs its last CQE only. */
static struct sn_xfer *flight_copy(struct sn_cq *cq, uint32_t n, size_t from, size_t length)
{
    struct sn_xfer *xfer = sn_xfer_new(cq->nic->port);
    struct sn_cq_pending *p = cq->pending;

    for (uint32_t i = 0; xfer != NULL && i < n; i++, p = p->next)
        if (!cq->collapsed || i == n - 1)
            sn_xfer_add(cq->nic->port, xfer, sn_cq_slot(cq, p->counter) + from, (uint8_t *)&p->cqe + from, length);
    if (xfer != NULL)
        xfer->tag = n;
    return xfer;
}

static void flight_bodies_done(struct sn_xfer *xfer)
{
    struct sn_cq *cq = xfer->arg;
    uint32_t n = xfer->tag;
    struct sn_xfer *last = flight_copy(cq, n, 56, 8);

    if (last == NULL) { /* out of memory: try again in the next turn */
        sn_xfer_submit(cq->nic->port, xfer, flight_bodies_done, cq);
        return;
    }
    sn_xfer_free(xfer);
    sn_xfer_submit(cq->nic->port, last, flight_done, cq);
}

static void flight_start(struct sn_cq *cq)
{
    uint32_t n = 0;
    struct sn_xfer *xfer;

    for (struct sn_cq_pending *p = cq->pending; p != NULL && n < PENDING_BATCH; p = p->next)
        n++;
    xfer = flight_copy(cq, n, 0, 56);
    if (xfer != NULL)
        sn_xfer_submit(cq->nic->port, xfer, flight_bodies_done, cq);
    else
        cq->failed = true;
}

static bool push_to_gpu(struct sn_cq *cq, const struct sn_cqe64 *cqe)
{
    struct sn_cq_pending *p = malloc(sizeof(*p));
    bool idle = cq->pending == NULL;

    if (p == NULL)
        return false;
    p->next = NULL;
    p->counter = cq->assigned++;
    p->cqe = *cqe;
    *cq->pending_tail = p;
    cq->pending_tail = &p->next;
    if (idle)
        flight_start(cq);
    return !cq->failed;
}

/* Reads the consumer index again: 24 bits in the record, extended to a running count. */
static bool has_room(struct sn_cq *cq)
{
    uint32_t word = 0, ci;

    if (cq->assigned - cq->consumer <= cq->mask)
        return true;
    if (cq->consumer_record != NULL)
        word = sn_load_acquire32(cq->consumer_record);
    else
        (void)sn_mem_copy_now(cq->nic->port, &word, cq->attr.record.addr, 4, SN_SPACE_GPU);
    ci = sn_swap32(word) & 0xffffffu;
    cq->consumer = cq->assigned - ((cq->assigned - ci) & 0xffffffu);
    return cq->assigned - cq->consumer <= cq->mask;
}

static bool push(struct sn_cq *cq, const struct sn_cqe_info *info)
{
    struct sn_cqe64 cqe;

    if (cq->failed)
        return false;
    if (!cq->overrun_ignore && !has_room(cq)) {
        cq->failed = true;
        sn_watch_tell(cq->watches, SN_EVENT_CQ_ERROR, cq->number, 0);
        sn_cq_release_waiters(cq); /* nothing more will be counted: they see that the CQ has failed */
        return false;
    }
    sn_cqe_build(info, sn_cqe_owner(cq->assigned, cq->log_size), &cqe);
    if (cq->timestamps && !sn_cqe_is_error(info->cqe_opcode))
        cqe.timestamp = sn_put64(sn_port_now(cq->nic->port));
    if (cq->arms && (info->solicited || sn_cqe_is_error(info->cqe_opcode))) {
        cq->has_notable = true;
        cq->notable = cq->assigned;
    }
    if (cq->gpu)
        return push_to_gpu(cq, &cqe);
    sn_cq_write(cq, (const sn_word *)(const void *)&cqe);
    return true;
}

/*
 * Overrun by a fault plan. The ring does have room, so the completion that is lost ends in an error CQE, and what comes
 * behind it is flushed: a kernel that polls learns of it, as a program on the host does by the event of a ConnectX.
 */
static bool overrun(struct sn_cq *cq, const struct sn_cqe_info *info)
{
    struct sn_cqe_info error = *info;
    bool request = info->cqe_opcode == SN_CQE_REQ || info->cqe_opcode == SN_CQE_REQ_ERR;

    error.cqe_opcode = request ? SN_CQE_REQ_ERR : SN_CQE_RESP_ERR;
    error.syndrome = SN_SYND_LOCAL_QP_OP;
    error.vendor = SN_VENDOR_CQ_OVERRUN;
    sn_watch_tell(cq->watches, SN_EVENT_CQ_ERROR, cq->number, 0);
    (void)push(cq, &error);
    return false;
}

bool sn_cq_push(struct sn_cq *cq, const struct sn_cqe_info *info)
{
    struct sn_faults *faults = cq->nic->port->faults;

    if (faults != NULL && !cq->failed && sn_faults_overrun(faults, info))
        return overrun(cq, info);
    return push(cq, info);
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

static int check(const struct sn_cq_attr *a)
{
    static const char what[] = "create a CQ";

    if (a->log_size > SN_LOG_CQ_MAX)
        return sn_fail(-EINVAL, what, NULL, 0, "log_size beyond 22", a->log_size);
    if (a->cqe_size != 64 && a->cqe_size != 128)
        return sn_fail(-EINVAL, what, NULL, 0, "CQE size is neither 64 nor 128", a->cqe_size);
    if (a->ring.addr == NULL || a->ring.length < ((size_t)a->cqe_size << (a->collapsed ? 0 : a->log_size)))
        return sn_fail(-EINVAL, what, NULL, 0, "ring memory too small, bytes", a->ring.length);
    if (((uintptr_t)a->ring.addr & 63) != 0)
        return sn_fail(-EINVAL, what, NULL, 0, "ring not aligned to 64 bytes", (uintptr_t)a->ring.addr);
    if (a->record.length < 8 && !a->overrun_ignore)
        return sn_fail(-EINVAL, what, NULL, 0, "no doorbell record, but overrun is to be noticed", a->record.length);
    if (((uintptr_t)a->record.addr & 3) != 0)
        return sn_fail(-EINVAL, what, NULL, 0, "record not aligned", (uintptr_t)a->record.addr);
    return 0;
}

int sn_cq_create(struct sn_nic *nic, const struct sn_cq_attr *attr, uint32_t *cqn)
{
    static const char what[] = "create a CQ";
    struct sn_cq *cq;
    int ret = check(attr);

    if (ret != 0)
        return ret;
    cq = sn_lines(sizeof(*cq));
    if (cq == NULL)
        return sn_fail(-ENOMEM, what, NULL, 0, "CQs so far", nic->cqs.used);
    cq->attr = *attr;
    ret = sn_span_resolve(nic->port, &cq->attr.ring);
    if (ret == 0)
        ret = sn_span_resolve(nic->port, &cq->attr.record);
    if (ret != 0) {
        ret = sn_fail(ret, what, NULL, 0, "queue in GPU memory, but no GPU seam in this process", 0);
        goto fail;
    }
    if (attr->uar != 0 && (cq->uar = sn_uar_get(nic, attr->uar)) == NULL) {
        ret = sn_fail(-EINVAL, what, NULL, 0, "no such UAR", attr->uar);
        goto fail;
    }
    ret = sn_table_add(&nic->cqs, cq, 1u << 24, &cq->number);
    if (ret != 0) {
        ret = sn_fail(ret, what, NULL, 0, "CQs so far", nic->cqs.used);
        goto put_uar;
    }
    cq->nic = nic;
    cq->ring = cq->attr.ring.addr;
    cq->gpu = cq->attr.ring.space == SN_SPACE_GPU;
    cq->log_size = attr->log_size;
    cq->mask = (1u << attr->log_size) - 1;
    cq->stride = attr->cqe_size;
    cq->cqe_offset = (uint8_t)(attr->cqe_size - 64);
    cq->collapsed = attr->collapsed;
    cq->overrun_ignore = attr->overrun_ignore;
    cq->timestamps = attr->timestamps;
    if (cq->attr.record.space == SN_SPACE_HOST && cq->attr.record.length != 0)
        cq->consumer_record = (const uint8_t *)cq->attr.record.addr + SN_CQ_DBR_CI;
    cq->pending_tail = &cq->pending;
    sn_cq_arm_init(cq);
    *cqn = cq->number;
    return 0;
put_uar:
    if (cq->uar != NULL)
        sn_uar_put(cq->uar);
fail:
    free(cq);
    return ret;
}

int sn_cq_destroy(struct sn_nic *nic, uint32_t cqn)
{
    struct sn_cq *cq = sn_cq_find(nic, cqn);

    if (cq == NULL)
        return sn_fail(-ENOENT, "destroy a CQ", "cq", cqn, "no such CQ", cqn);
    if (cq->users != 0)
        return sn_fail(-EBUSY, "destroy a CQ", "cq", cqn, "queue pairs on it", cq->users);
    while (cq->pending != NULL) /* one flight after the other */
        sn_xfer_quiesce(nic->port);
    sn_cq_release_waiters(cq); /* they find no CQ and fail */
    sn_cq_arm_end(cq);
    sn_table_remove(&nic->cqs, cqn);
    if (cq->uar != NULL)
        sn_uar_put(cq->uar);
    free(cq);
    return 0;
}

struct sn_cq *sn_cq_find(const struct sn_nic *nic, uint32_t cqn)
{
    return sn_table_get(&nic->cqs, cqn);
}

int sn_cq_producer(struct sn_nic *nic, uint32_t cqn, uint32_t *count)
{
    struct sn_cq *cq = sn_cq_find(nic, cqn);

    if (cq == NULL)
        return sn_fail(-ENOENT, "query a CQ", "cq", cqn, "no such CQ", cqn);
    *count = cq->producer;
    return 0;
}
