/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first error of a queue, from whoever knows most: the word that a kernel's poll left in the device copy, softnic,
 * an error CQE in the ring. The QP's state alone says only that there is one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/gdaki_wqe.h"
#include "host/export.h"
#include "host/sdk.h"

#define SYNDROME_FLUSHED 0x05

static bool from_device_copy(const struct exported_qp *q, struct doca_gpu_verbs_qp_error_info *info)
{
    struct doca_gpu_dev_verbs_cq cq;
    struct gdaki_queue_error e;

    if (q->pub.qp_gpu == NULL || q->ops->copy(&cq, &q->pub.qp_gpu->cq_sq, sizeof(cq)) != 0)
        return false;
    e = gdaki_error_unpack(cq.gdaki_error, cq.gdaki_error_index);
    if (!e.has_error)
        return false;
    info->has_error = true;
    if (e.state == GDAKI_ERROR_SOFTWARE)
        return true; /* no CQE: nothing more to say */
    info->syndrome = e.syndrome;
    info->vendor_err_synd = e.vendor_err_synd;
    info->hw_err_synd = e.hw_err_synd;
    info->hw_synd_type = e.hw_synd_type;
    info->wqe_counter = e.wqe_counter;
    return true;
}

static bool from_softnic(doca_verbs_qp_t *qp, struct doca_gpu_verbs_qp_error_info *info)
{
    struct softnic_qp_error e = {0};
    const struct gdaki_nic_ops *nic = IS_SDK(qp) ? NULL : qp->open->nic;

    if (nic == NULL || nic->query_qp_error == NULL || nic->query_qp_error(qp->open->context, qp->open->qpn, &e) != 0 ||
        !e.has_error)
        return false;
    *info = (struct doca_gpu_verbs_qp_error_info){
        .has_error = true,
        .syndrome = e.syndrome,
        .vendor_err_synd = e.vendor_err_synd,
        .hw_err_synd = e.hw_err_synd,
        .hw_synd_type = e.hw_synd_type,
        .wqe_counter = e.wqe_counter,
    };
    return true;
}

static void fill_from_cqe(const struct doca_gpunetio_ib_mlx5_err_cqe_ex *cqe, struct doca_gpu_verbs_qp_error_info *info)
{
    info->syndrome = cqe->syndrome;
    info->vendor_err_synd = cqe->vendor_err_synd;
    info->hw_err_synd = cqe->hw_err_synd;
    info->hw_synd_type = cqe->hw_synd_type;
    info->wqe_counter = gdaki_bswap16(cqe->wqe_counter);
}

/* What caused the rest to be flushed is the one to report. */
static void from_ring(const struct exported_qp *q, struct doca_gpu_verbs_qp_error_info *info)
{
    const struct doca_gpu_dev_verbs_cq *cq = &q->pub.qp_cpu->cq_sq;
    size_t entries = cq->gdaki_kind == GDAKI_CQ_KIND_COLLAPSED ? 1 : cq->cqe_num;
    struct doca_gpunetio_ib_mlx5_err_cqe_ex *ring = malloc(entries * sizeof(*ring));
    bool found = false;

    if (ring == NULL || q->ops->copy(ring, cq->cqe_daddr, entries * sizeof(*ring)) != 0) {
        HOST_LOG(LOG_WARNING, "QP 0x%x is in error, but its CQ ring could not be read", q->pub.qp_cpu->sq_num);
        free(ring);
        return;
    }
    for (size_t i = 0; i < entries; i++) {
        unsigned opcode = ring[i].op_own >> 4;
        bool cause = ring[i].syndrome != SYNDROME_FLUSHED;

        if (opcode != DOCA_GPUNETIO_IB_MLX5_CQE_REQ_ERR && opcode != DOCA_GPUNETIO_IB_MLX5_CQE_RESP_ERR)
            continue;
        if (!found || cause)
            fill_from_cqe(&ring[i], info);
        found = true;
        if (cause)
            break;
    }
    free(ring);
}

doca_error_t qp_is_in_error(doca_verbs_qp_t *qp, bool *in_error)
{
    doca_verbs_qp_attr_t *attr = NULL;
    doca_verbs_qp_init_attr_t *init = NULL;
    enum doca_verbs_qp_state state = DOCA_VERBS_QP_STATE_RST;
    doca_error_t err = doca_verbs_qp_attr_create(&attr);

    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_init_attr_create(&init);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_query(qp, attr, init, NULL);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_attr_get_current_state(attr, &state);
    *in_error = err == DOCA_SUCCESS && state == DOCA_VERBS_QP_STATE_ERR;
    if (init != NULL)
        doca_verbs_qp_init_attr_destroy(init);
    if (attr != NULL)
        doca_verbs_qp_attr_destroy(attr);
    return err;
}

doca_error_t doca_gpu_verbs_query_last_error(struct doca_gpu_verbs_qp *qp, struct doca_gpu_verbs_qp_error_info *error_info)
{
    struct doca_gpu_verbs_qp_error_info info = {0};
    bool in_error = false;
    doca_error_t err;

    if (qp == NULL || qp->qp == NULL || error_info == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "asking for a QP's error: %s is NULL",
                        error_info == NULL ? "error_info" : qp == NULL ? "qp" : "qp->qp");
    err = qp_is_in_error(qp->qp, &in_error);
    if (err != DOCA_SUCCESS)
        return err;
    /* A kernel that polls a collapsed CQ may have seen a flushed WQE only; the NIC knows what came first. */
    if ((!from_device_copy(exported_of(qp), &info) || info.syndrome == SYNDROME_FLUSHED) &&
        !from_softnic(qp->qp, &info) && !info.has_error && in_error) {
        info.has_error = true;
        from_ring(exported_of(qp), &info);
    }
    *error_info = info;
    return DOCA_SUCCESS;
}
