/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs: sizes, creation, destruction. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/prm.h"
#include "host/caps.h"
#include "host/sdk.h"
#include "host/v2.h"

#define SEGMENT_BYTES      16u
#define SEND_HEADER_BYTES  32u /* control and remote-address segment */
#define INLINE_HEADER      4u
#define INLINE_OVERHEAD    36u /* what a WQE has beside inline data: both segments and the inline header */
#define SQ_BYTES_MAX       0x7fffffffu
#define RQ_STRIDE_LOG_BASE 4u  /* log_rq_stride counts from 16 bytes */

/* What the sizes come to, before anything is allocated. */
struct qp_plan {
    uint64_t rq_bytes, sq_bytes;
    uint32_t rq_entries, rwqe_bytes;
    uint32_t sq_wqe_bytes, sq_wqebbs;
    uint64_t record_offset; /* internal memory: behind both rings */
};

#define REFUSE(...) return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a QP: " __VA_ARGS__)

static doca_error_t check_attr(const struct doca_verbs_qp_init_attr_open *a, const struct nic_caps *caps)
{
    if (a->pd == NULL)
        REFUSE("no protection domain was set");
    if ((a->umem == NULL) != (a->dbr_umem == NULL))
        REFUSE("%s umem without %s umem", a->umem == NULL ? "a record" : "a ring", a->umem == NULL ? "a ring" : "a record");
    if (a->qp_type != DOCA_VERBS_QP_TYPE_RC)
        REFUSE("type %u is not RC (0)", a->qp_type);
    if (a->send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT) {
        if (!caps->no_dbr_ext)
            return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "creating a QP without a send doorbell record: the device cannot");
        if (a->emulate_no_dbr_ext)
            REFUSE("record-less mode cannot be both the device's and emulated");
    }
    if (a->sq_wr > 0 && (a->send_cq == NULL || a->send_cq->open == NULL))
        REFUSE("%u send WRs without a send CQ", a->sq_wr);
    if ((a->rq_wr > 0 || a->srq != NULL) && (a->receive_cq == NULL || a->receive_cq->open == NULL))
        REFUSE("a receive side without a receive CQ");
    if ((a->send_cq != NULL && IS_SDK(a->send_cq)) || (a->receive_cq != NULL && IS_SDK(a->receive_cq)))
        REFUSE("a CQ is the DOCA SDK's, the QP would not be");
    return DOCA_SUCCESS;
}

static doca_error_t plan_rq(const struct doca_verbs_qp_init_attr_open *a, const struct nic_caps *caps, struct qp_plan *p)
{
    uint64_t wqe;

    if (a->rq_wr == 0 || a->srq != NULL)
        return DOCA_SUCCESS;
    if (a->rq_wr > (uint32_t)caps->ibv.max_qp_wr)
        REFUSE("%u receive WRs, the device has %d", a->rq_wr, caps->ibv.max_qp_wr);
    if (a->receive_max_sges == 0)
        REFUSE("%u receive WRs of 0 SGEs", a->rq_wr);
    wqe = round_up_power_of_two((uint64_t)SEGMENT_BYTES * a->receive_max_sges);
    if (wqe > caps->max_wqe_sz_rq)
        REFUSE("%u receive SGEs need %llu bytes a WQE, the device has %u", a->receive_max_sges, (unsigned long long)wqe,
               caps->max_wqe_sz_rq);
    p->rwqe_bytes = (uint32_t)wqe;
    p->rq_bytes = round_up_power_of_two(a->rq_wr * wqe);
    if (p->rq_bytes < HOST_WQEBB_BYTES)
        p->rq_bytes = HOST_WQEBB_BYTES;
    p->rq_entries = (uint32_t)(p->rq_bytes / wqe);
    return DOCA_SUCCESS;
}

static doca_error_t plan_sq(const struct doca_verbs_qp_init_attr_open *a, const struct nic_caps *caps, struct qp_plan *p)
{
    uint64_t gather = SEND_HEADER_BYTES + (uint64_t)SEGMENT_BYTES * a->send_max_sges;
    uint64_t inlined = 0, wqe;

    if (a->sq_wr == 0)
        return DOCA_SUCCESS;
    if (caps->max_wqe_sz_sq == 0 || a->sq_wr > SQ_BYTES_MAX / caps->max_wqe_sz_sq)
        REFUSE("%u send WRs, with WQEs of up to %u bytes", a->sq_wr, caps->max_wqe_sz_sq);
    if (a->send_max_sges == 0)
        REFUSE("%u send WRs of 0 SGEs", a->sq_wr);
    if (a->max_inline_data > 0)
        inlined = SEND_HEADER_BYTES + align_up((uint64_t)INLINE_HEADER + a->max_inline_data, SEGMENT_BYTES);
    if (gather > caps->max_wqe_sz_sq || inlined > caps->max_wqe_sz_sq)
        REFUSE("%u send SGEs and %u inline bytes need more than the device's %u bytes a WQE", a->send_max_sges,
               a->max_inline_data, caps->max_wqe_sz_sq);
    wqe = align_up(gather > inlined ? gather : inlined, HOST_WQEBB_BYTES);
    p->sq_wqe_bytes = (uint32_t)wqe;
    p->sq_bytes = round_up_power_of_two(wqe * a->sq_wr);
    p->sq_wqebbs = (uint32_t)(p->sq_bytes / HOST_WQEBB_BYTES);
    if (caps->log_max_qp_sz < 32 && p->sq_wqebbs > (uint64_t)1 << caps->log_max_qp_sz)
        REFUSE("%u send WRs come to %u basic blocks, the device has 2^%u", a->sq_wr, p->sq_wqebbs, caps->log_max_qp_sz);
    return DOCA_SUCCESS;
}

/* Rounded sizes are what a query reports. */
static void note_sizes(struct doca_verbs_qp_open *qp, const struct qp_plan *p)
{
    qp->rq_entries = p->rq_entries;
    qp->rwqe_bytes = p->rwqe_bytes;
    qp->sq_wqebbs = p->sq_wqebbs;
    if (p->rq_entries != 0)
        qp->init.rq_wr = p->rq_entries;
    if (p->sq_wqe_bytes != 0) {
        qp->init.sq_wr = (uint32_t)(p->sq_bytes / p->sq_wqe_bytes);
        if (qp->init.max_inline_data > 0)
            qp->init.max_inline_data = p->sq_wqe_bytes - INLINE_OVERHEAD;
    }
}

static doca_error_t use_external(struct doca_verbs_qp_open *qp, const struct qp_plan *p)
{
    const struct doca_verbs_qp_init_attr_open *a = &qp->init;
    uint64_t need = p->rq_bytes + p->sq_bytes;
    uint64_t size = a->umem->open->size, record_size = a->dbr_umem->open->size;

    if (a->umem_offset % HOST_NIC_PAGE != 0)
        REFUSE("ring offset %llu is not a multiple of %u", (unsigned long long)a->umem_offset, HOST_NIC_PAGE);
    if (a->umem_offset > size || size - a->umem_offset < need)
        REFUSE("the rings need %llu bytes at offset %llu, the umem has %llu", (unsigned long long)need,
               (unsigned long long)a->umem_offset, (unsigned long long)size);
    if (a->dbr_umem_offset % HOST_RECORD_BYTES != 0 || a->dbr_umem_offset > record_size ||
        record_size - a->dbr_umem_offset < HOST_RECORD_BYTES)
        REFUSE("the doorbell record needs 8 aligned bytes at offset %llu, the umem has %llu",
               (unsigned long long)a->dbr_umem_offset, (unsigned long long)record_size);
    qp->rq = (uint8_t *)a->umem->open->address + a->umem_offset;
    qp->record = (uint32_t *)((uint8_t *)a->dbr_umem->open->address + a->dbr_umem_offset);
    return DOCA_SUCCESS;
}

static doca_error_t use_internal(struct doca_verbs_qp_open *qp, struct ibv_context *context, struct qp_plan *p)
{
    int err;

    p->record_offset = align_up(p->rq_bytes + p->sq_bytes, 64);
    err = queue_memory_create(qp->nic, context, p->record_offset + HOST_RECORD_BYTES, &qp->memory);
    if (err != 0)
        return HOST_ERR(err == -ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER, "creating a QP: memory of its rings: %s%s",
                        strerror(-err), nic_reason(qp->nic));
    qp->rq = qp->memory.buffer;
    qp->record = (uint32_t *)(qp->rq + p->record_offset);
    return DOCA_SUCCESS;
}

static doca_error_t choose_register(struct doca_verbs_qp_open *qp, struct ibv_context *context)
{
    doca_verbs_uar_t *uar = qp->init.uar;

    if (uar == NULL) {
        doca_error_t err = uar_create_any(context, true, &qp->own_uar);

        if (err != DOCA_SUCCESS)
            return HOST_PASS_ON(err, "creating a QP: no doorbell page");
        uar = qp->own_uar;
    }
    qp->uar_reg = qp->init.send_dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT ? uar_dbr_less_of(uar)
                                                                                   : (void *)uar_register_of(uar);
    return DOCA_SUCCESS;
}

static void fill_queues(struct doca_verbs_qp_open *qp, const struct qp_plan *p, uint8_t *qpc)
{
    const struct doca_verbs_qp_init_attr_open *a = &qp->init;

    if (p->sq_bytes != 0) {
        prm_set_qpc__log_sq_size(qpc, log2_of(p->sq_wqebbs));
        prm_set_qpc__cqn_snd(qpc, a->send_cq->open->cqn);
    } else {
        prm_set_qpc__no_sq(qpc, 1);
    }
    if (a->srq != NULL) {
        prm_set_qpc__rq_type(qpc, PRM_RQ_TYPE_SRQ);
        prm_set_qpc__srqn_rmpn_xrqn(qpc, a->srq->srqn);
    } else if (p->rq_bytes != 0) {
        prm_set_qpc__rq_type(qpc, PRM_RQ_TYPE_REGULAR);
        prm_set_qpc__log_rq_size(qpc, log2_of(p->rq_entries));
        prm_set_qpc__log_rq_stride(qpc, log2_of(p->rwqe_bytes) - RQ_STRIDE_LOG_BASE);
    } else {
        prm_set_qpc__rq_type(qpc, PRM_RQ_TYPE_ZERO);
    }
    if (a->receive_cq != NULL)
        prm_set_qpc__cqn_rcv(qpc, a->receive_cq->open->cqn);
}

static doca_error_t create_command(struct doca_verbs_qp_open *qp, struct ibv_context *context, const struct qp_plan *p)
{
    uint8_t in[PRM_SIZE_create_qp_in] = {0}, out[PRM_SIZE_create_qp_out] = {0};
    const struct doca_verbs_qp_init_attr_open *a = &qp->init;
    const doca_verbs_uar_t *uar = a->uar != NULL ? a->uar : qp->own_uar;
    uint8_t *qpc = PRM_AT(in, create_qp_in, qpc);
    bool internal = a->umem == NULL;
    struct mlx5dv_pd pd = {0};
    struct mlx5dv_obj obj = {.pd = {.in = a->pd, .out = &pd}};

    if (qp->nic->mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "creating a QP: reading the protection domain's number failed%s",
                        nic_reason(qp->nic));
    prm_set_create_qp_in__opcode(in, PRM_OP_CREATE_QP);
    prm_set_qpc__st(qpc, PRM_QP_ST_RC);
    prm_set_qpc__pd(qpc, pd.pdn);
    prm_set_qpc__user_index(qpc, a->user_index);
    prm_set_qpc__uar_page(qpc, uar_page_of(uar));
    prm_set_qpc__send_dbr_mode(qpc, a->send_dbr_mode);
    prm_set_qpc__cd_master(qpc, a->core_direct_master);
    fill_queues(qp, p, qpc);
    prm_set_qpc__dbr_umem_id(qpc, internal ? qp->memory.umem->umem_id : a->dbr_umem->open->umem->umem_id);
    prm_set_qpc__dbr_umem_valid(qpc, 1);
    prm_set_qpc__dbr_addr(qpc, internal ? p->record_offset : a->dbr_umem_offset);
    prm_set_create_qp_in__wq_umem_id(in, internal ? qp->memory.umem->umem_id : a->umem->open->umem->umem_id);
    prm_set_create_qp_in__wq_umem_valid(in, 1);
    prm_set_create_qp_in__wq_umem_offset(in, internal ? 0 : a->umem_offset);
    errno = 0;
    qp->obj = qp->nic->mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
    if (qp->obj == NULL)
        return HOST_ERR(DOCA_ERROR_DRIVER, "CREATE_QP with %u basic blocks failed: %s, syndrome 0x%x%s", p->sq_wqebbs,
                        strerror(errno), (unsigned)prm_get_cmd_out__syndrome(out), nic_reason(qp->nic));
    qp->qpn = (uint32_t)prm_get_create_qp_out__qpn(out);
    return DOCA_SUCCESS;
}

static doca_error_t build(struct doca_verbs_qp_open *qp, struct ibv_context *context)
{
    struct qp_plan plan = {0};
    struct nic_caps caps;
    doca_error_t err = caps_query(qp->nic, context, &caps);

    if (err == DOCA_SUCCESS)
        err = check_attr(&qp->init, &caps);
    if (err == DOCA_SUCCESS)
        err = plan_rq(&qp->init, &caps, &plan);
    if (err == DOCA_SUCCESS)
        err = plan_sq(&qp->init, &caps, &plan);
    if (err == DOCA_SUCCESS && plan.rq_bytes + plan.sq_bytes == 0 && qp->init.srq == NULL)
        err = HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a QP: neither send nor receive WRs");
    if (err == DOCA_SUCCESS)
        err = choose_register(qp, context);
    if (err != DOCA_SUCCESS)
        return err;
    err = qp->init.umem != NULL ? use_external(qp, &plan) : use_internal(qp, context, &plan);
    if (err != DOCA_SUCCESS)
        return err;
    qp->sq = qp->rq + plan.rq_bytes;
    note_sizes(qp, &plan);
    return create_command(qp, context, &plan);
}

static void release_parts(struct doca_verbs_qp_open *qp)
{
    queue_memory_destroy(qp->nic, &qp->memory);
    if (qp->own_uar != NULL)
        doca_verbs_uar_destroy(qp->own_uar);
    free(qp);
}

doca_error_t qp_open_create(struct ibv_context *context, const struct doca_verbs_qp_init_attr_open *attr,
                            doca_verbs_qp_t **out)
{
    const struct gdaki_nic_ops *nic = host_nic_of(context);
    struct doca_verbs_qp_open *qp;
    doca_verbs_qp_t *handle;
    doca_error_t err;

    if (nic == NULL)
        return DOCA_ERROR_DRIVER;
    handle = calloc(1, sizeof(*handle));
    qp = calloc(1, sizeof(*qp));
    if (handle == NULL || qp == NULL) {
        free(handle);
        free(qp);
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a QP: no memory");
    }
    qp->nic = nic;
    qp->context = context;
    qp->init = *attr;
    err = build(qp, context);
    if (err != DOCA_SUCCESS) {
        release_parts(qp);
        free(handle);
        return err;
    }
    handle->open = qp;
    *out = handle;
    return DOCA_SUCCESS;
}

static doca_error_t create_sdk(const doca_dev_t *dev, const doca_verbs_qp_init_attr_t *attr, doca_verbs_qp_t **out)
{
    doca_verbs_qp_t *handle;
    void *context = NULL;
    doca_error_t err = sdk_device_context(dev, &context);

    if (err != DOCA_SUCCESS)
        return err;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a QP: no memory");
    handle->type = DOCA_VERBS_SDK_LIB_TYPE_SDK;
    err = sdk_create_result(sdk_qp_table.doca_verbs_qp_create(context, attr->sdk, &handle->sdk), "doca_verbs_qp_create");
    if (err != DOCA_SUCCESS)
        free(handle);
    else
        *out = handle;
    return err;
}

doca_error_t doca_verbs_qp_create(doca_dev_t *net_dev, doca_verbs_qp_init_attr_t *qp_init_attr,
                                  doca_verbs_qp_t **verbs_qp)
{
    const char *missing = net_dev == NULL || net_dev->open == NULL             ? "net_dev"
                          : qp_init_attr == NULL || qp_init_attr->open == NULL ? "qp_init_attr"
                          : verbs_qp == NULL                                   ? "verbs_qp"
                                                                               : NULL;

    if (missing != NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a QP: %s is NULL", missing);
    if (net_dev->type != qp_init_attr->type)
        return HOST_ERR(DOCA_ERROR_INITIALIZATION, "creating a QP: device and attributes are not both the DOCA SDK's");
    if (IS_SDK(net_dev))
        return create_sdk(net_dev, qp_init_attr, verbs_qp);
    return flatten_create_error(qp_open_create(net_dev->open->context, qp_init_attr->open, verbs_qp));
}

doca_error_t doca_verbs_qp_create_v2(struct ibv_context *context, doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                     doca_verbs_qp_t **verbs_qp)
{
    if (context == NULL || verbs_qp_init_attr == NULL || verbs_qp_init_attr->open == NULL || verbs_qp == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a QP: an argument is NULL");
    if (IS_SDK(verbs_qp_init_attr))
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "creating a QP: 2.0's call takes no device, which the DOCA SDK needs");
    return qp_open_create(context, verbs_qp_init_attr->open, verbs_qp);
}

doca_error_t doca_verbs_qp_destroy(doca_verbs_qp_t *verbs_qp)
{
    doca_error_t err;

    if (verbs_qp == NULL || verbs_qp->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying a QP: %s", verbs_qp == NULL ? "verbs_qp is NULL" : "it has no object");
    if (IS_SDK(verbs_qp)) {
        err = SDK_CALL(qp, doca_verbs_qp_destroy, verbs_qp->sdk);
        if (err != DOCA_SUCCESS)
            return err;
    } else {
        struct doca_verbs_qp_open *qp = verbs_qp->open;

        if (qp->nic->mlx5dv_devx_obj_destroy(qp->obj) != 0)
            return HOST_ERR(DOCA_ERROR_DRIVER, "destroying QP 0x%x failed%s", qp->qpn, nic_reason(qp->nic));
        release_parts(qp);
    }
    free(verbs_qp);
    return DOCA_SUCCESS;
}
