/* SPDX-License-Identifier: Apache-2.0 */
/* Queues exported to the GPU. */
#ifndef GDAKI_HOST_EXPORT_H
#define GDAKI_HOST_EXPORT_H

#include "host/gpu_mem.h"
#include "host/object.h"

#pragma GCC visibility push(hidden)

/* What stands behind a struct doca_gpu_verbs_qp: the public part comes first, so that a pointer to it is one to this. */
struct exported_qp {
    struct doca_gpu_verbs_qp pub;
    const struct gdaki_gpu_ops *ops;
    doca_verbs_cq_t *cq;
    uint64_t *uar_gpu;     /* mapped register, NULL in full proxy mode */
    uint32_t *record_word; /* send word as the CPU reaches it */
    const struct gdaki_nic_ops *soft; /* softnic, if it is the queue's NIC: to be woken and driven by the CPU's steps */
    bool full_proxy;       /* the CPU rings doorbells */
    bool assisted;         /* the device rings, the CPU writes the record (SW_EMULATED) */
    bool in_array;         /* qp_gpu lies in an array of export_multi_qps_dev */
};

static inline struct exported_qp *exported_of(struct doca_gpu_verbs_qp *qp)
{
    return (struct exported_qp *)(void *)qp;
}

/* CQEs written to a CQ since its creation; false when the device cannot say. Low 24 bits only. */
bool cq_query_producer(const doca_verbs_cq_t *cq, uint32_t *producer);

/* Device state of the QP behind an export: true if it is the error state. */
doca_error_t qp_is_in_error(doca_verbs_qp_t *qp, bool *in_error);

/* One proxy step; true if it rang or wrote a record. */
bool proxy_step(struct exported_qp *q);

/* No service steps any queue between the two: for changes of what proxy_step reads. */
void services_hold(void);
void services_release(void);
/* Takes a queue that goes away out of every service. */
void services_forget(const struct exported_qp *q);

#pragma GCC visibility pop
#endif
