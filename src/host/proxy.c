/* SPDX-License-Identifier: Apache-2.0 */
/* CPU-assisted doorbells: one step for one queue. */
#include "common/gdaki_wqe.h"
#include "host/export.h"
#include "host/v2.h"

#define SYS DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS

/* The register is written twice around the record, so that the NIC starts early and cannot miss the record's value. */
static void ring(struct exported_qp *q, uint64_t producer)
{
    uint64_t value = gdaki_doorbell_value(q->pub.sq_num_shift8_be, producer);

    gdaki_fence_release(SYS); /* orders what the device wrote before the counter, acquired by us, before the doorbell */
    if (q->full_proxy)
        gdaki_store_mmio_u64(q->pub.sq_db, value);
    if (q->pub.send_dbr_mode_ext != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW) {
        gdaki_store_u32(q->record_word, gdaki_record_value(producer), SYS);
        gdaki_fence_release(SYS); /* orders the record before the doorbell that makes the NIC read it */
        gdaki_store_mmio_u64(q->pub.sq_db, value);
    }
    if (q->soft != NULL)
        q->soft->wake();
}

bool proxy_step(struct exported_qp *q)
{
    uint64_t producer;

    if (q->pub.cpu_db == NULL) /* assisted, and the kernel's copy does not exist yet */
        return false;
    producer = gdaki_load_u64(q->pub.cpu_db, SYS);
    if (producer == q->pub.sq_wqe_pi_last)
        return false;
    gdaki_fence_acquire(SYS); /* orders the counter before everything the device released with it */
    ring(q, producer);
    q->pub.sq_wqe_pi_last = producer;
    return true;
}

doca_error_t doca_gpu_verbs_cpu_proxy_progress(struct doca_gpu_verbs_qp *qp_cpu, bool *out_progressed)
{
    struct exported_qp *q = exported_of(qp_cpu);
    bool progressed;

    if (qp_cpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "a CPU-proxy step: qp_cpu is NULL");
    if (!qp_cpu->cpu_proxy)
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "a CPU-proxy step: QP 0x%x rings its own doorbells", qp_cpu->qp_cpu->sq_num);
    progressed = proxy_step(q);
    if (!progressed && q->soft != NULL)
        q->soft->drive(); /* who calls this in a loop waits for the NIC: it gets the turn */
    if (out_progressed != NULL)
        *out_progressed = progressed;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_cpu_proxy_progress_v1(struct doca_gpu_verbs_qp *qp_cpu)
{
    return doca_gpu_verbs_cpu_proxy_progress(qp_cpu, NULL);
}
