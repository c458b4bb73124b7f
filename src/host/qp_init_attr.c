/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue pair is created from. */
#include <stdlib.h>

#include "host/accessor.h"
#include "host/v2.h"

#define ATTR doca_verbs_qp_init_attr_t

#define USER_INDEX_MAX 0xffffffu

DEFINE_CREATE(qp, doca_verbs_qp_init_attr_create, ATTR)
DEFINE_DESTROY(qp, doca_verbs_qp_init_attr_destroy, ATTR)

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_sq_sig_all, ATTR, int, sq_sig_all, true)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_sq_wr, ATTR, uint32_t, sq_wr, true)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_rq_wr, ATTR, uint32_t, rq_wr, true)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_send_max_sges, ATTR, uint32_t, send_max_sges, true)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_receive_max_sges, ATTR, uint32_t, receive_max_sges, true)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_max_inline_data, ATTR, uint32_t, max_inline_data, true)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_user_index, ATTR, uint32_t, user_index, value <= USER_INDEX_MAX)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_qp_type, ATTR, uint32_t, qp_type, true)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_core_direct_master, ATTR, uint8_t, core_direct_master, value <= 1)
DEFINE_SETTER(qp, doca_verbs_qp_init_attr_set_send_dbr_mode, ATTR, enum doca_verbs_qp_send_dbr_mode, send_dbr_mode,
              (unsigned)value <= DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT)

DEFINE_GETTER(doca_verbs_qp_init_attr_get_sq_sig_all, ATTR, int, sq_sig_all, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_sq_wr, ATTR, uint32_t, sq_wr, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_rq_wr, ATTR, uint32_t, rq_wr, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_send_max_sges, ATTR, uint32_t, send_max_sges, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_receive_max_sges, ATTR, uint32_t, receive_max_sges, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_max_inline_data, ATTR, uint32_t, max_inline_data, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_user_index, ATTR, uint32_t, user_index, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_qp_type, ATTR, uint32_t, qp_type, 0)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_core_direct_master, ATTR, uint8_t, core_direct_master, 0)

doca_error_t doca_verbs_qp_init_attr_get_send_dbr_mode(const doca_verbs_qp_init_attr_t *qp_init_attr,
                                                       enum doca_verbs_qp_send_dbr_mode *send_dbr_mode)
{
    CHECK_HANDLE(qp_init_attr, __func__);
    if (send_dbr_mode == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: send_dbr_mode is NULL", __func__);
    *send_dbr_mode = IS_SDK(qp_init_attr)
                         ? sdk_qp_table.doca_verbs_qp_init_attr_get_send_dbr_mode(qp_init_attr->sdk)
                         : qp_init_attr->open->send_dbr_mode;
    return DOCA_SUCCESS;
}

enum doca_verbs_qp_send_dbr_mode
doca_verbs_qp_init_attr_get_send_dbr_mode_v2(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr)
{
    enum doca_verbs_qp_send_dbr_mode mode = DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID;

    if (verbs_qp_init_attr != NULL && verbs_qp_init_attr->open != NULL)
        doca_verbs_qp_init_attr_get_send_dbr_mode(verbs_qp_init_attr, &mode);
    return mode;
}

/* The SDK has no such flag. */
doca_error_t doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                            bool emulate_no_dbr_ext)
{
    CHECK_HANDLE(qp_init_attr, __func__);
    if (IS_SDK(qp_init_attr))
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: the object is the DOCA SDK's", __func__);
    qp_init_attr->open->emulate_no_dbr_ext = emulate_no_dbr_ext;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(const doca_verbs_qp_init_attr_t *qp_init_attr,
                                                            bool *emulate_no_dbr_ext)
{
    CHECK_HANDLE(qp_init_attr, __func__);
    if (emulate_no_dbr_ext == NULL || IS_SDK(qp_init_attr))
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: %s", __func__,
                        emulate_no_dbr_ext == NULL ? "the result is NULL" : "the object is the DOCA SDK's");
    *emulate_no_dbr_ext = qp_init_attr->open->emulate_no_dbr_ext;
    return DOCA_SUCCESS;
}

bool doca_verbs_qp_init_attr_get_emulate_no_dbr_ext_v2(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr)
{
    return verbs_qp_init_attr != NULL && !IS_SDK(verbs_qp_init_attr) && verbs_qp_init_attr->open != NULL &&
           verbs_qp_init_attr->open->emulate_no_dbr_ext;
}

/* ---- objects ------------------------------------------------------------------------------------------------------ */

static doca_error_t set_pd_sdk(doca_verbs_qp_init_attr_t *attr, const doca_dev_t *dev)
{
    struct ibv_pd *pd = NULL;
    void *imported = NULL;
    doca_error_t err = sdk_device_pd(dev, &pd);

    if (err == DOCA_SUCCESS)
        err = SDK_CALL(qp, doca_verbs_bridge_verbs_pd_import, pd, &imported);
    return err != DOCA_SUCCESS ? err : SDK_CALL(qp, doca_verbs_qp_init_attr_set_pd, attr->sdk, imported);
}

doca_error_t doca_verbs_qp_init_attr_set_pd(doca_verbs_qp_init_attr_t *qp_init_attr, doca_dev_t *net_dev)
{
    CHECK_SAME_MAKER(qp_init_attr, net_dev, __func__);
    if (IS_SDK(qp_init_attr))
        return set_pd_sdk(qp_init_attr, net_dev);
    qp_init_attr->open->pd = net_dev->open->pd;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_init_attr_set_pd_v2(doca_verbs_qp_init_attr_t *verbs_qp_init_attr, struct ibv_pd *pd)
{
    CHECK_HANDLE(verbs_qp_init_attr, "doca_verbs_qp_init_attr_set_pd");
    if (pd == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "setting a QP's protection domain: pd is NULL");
    if (IS_SDK(verbs_qp_init_attr)) {
        void *imported = NULL;
        doca_error_t err = SDK_CALL(qp, doca_verbs_bridge_verbs_pd_import, pd, &imported);

        return err != DOCA_SUCCESS ? err
                                   : SDK_CALL(qp, doca_verbs_qp_init_attr_set_pd, verbs_qp_init_attr->sdk, imported);
    }
    verbs_qp_init_attr->open->pd = pd;
    return DOCA_SUCCESS;
}

DEFINE_GETTER(doca_verbs_qp_init_attr_get_pd, ATTR, struct ibv_pd *, pd, NULL)

doca_error_t doca_verbs_qp_init_attr_set_send_cq(doca_verbs_qp_init_attr_t *qp_init_attr, doca_verbs_cq_t *send_cq)
{
    CHECK_SAME_MAKER(qp_init_attr, send_cq, __func__);
    if (IS_SDK(qp_init_attr))
        return SDK_CALL(qp, doca_verbs_qp_init_attr_set_send_cq, qp_init_attr->sdk, send_cq->sdk);
    qp_init_attr->open->send_cq = send_cq;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_init_attr_set_receive_cq(doca_verbs_qp_init_attr_t *qp_init_attr, doca_verbs_cq_t *receive_cq)
{
    CHECK_SAME_MAKER(qp_init_attr, receive_cq, __func__);
    if (IS_SDK(qp_init_attr))
        return SDK_CALL(qp, doca_verbs_qp_init_attr_set_receive_cq, qp_init_attr->sdk, receive_cq->sdk);
    qp_init_attr->open->receive_cq = receive_cq;
    return DOCA_SUCCESS;
}

DEFINE_GETTER(doca_verbs_qp_init_attr_get_send_cq, ATTR, doca_verbs_cq_t *, send_cq, NULL)
DEFINE_GETTER(doca_verbs_qp_init_attr_get_receive_cq, ATTR, doca_verbs_cq_t *, receive_cq, NULL)

doca_error_t doca_verbs_qp_init_attr_set_external_umem(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                       doca_verbs_umem_t *external_umem, uint64_t external_umem_offset)
{
    CHECK_SAME_MAKER(qp_init_attr, external_umem, __func__);
    if (IS_SDK(qp_init_attr)) {
        doca_error_t err = SDK_CALL(qp, doca_verbs_qp_init_attr_set_external_umem, qp_init_attr->sdk, external_umem->sdk,
                                    external_umem_offset);

        return err != DOCA_SUCCESS
                   ? err
                   : SDK_CALL(qp, doca_verbs_qp_init_attr_set_external_datapath_en, qp_init_attr->sdk, 1);
    }
    qp_init_attr->open->umem = external_umem;
    qp_init_attr->open->umem_offset = external_umem_offset;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_init_attr_set_external_umem_dbr(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                           doca_verbs_umem_t *external_umem,
                                                           uint64_t external_umem_offset)
{
    CHECK_SAME_MAKER(qp_init_attr, external_umem, __func__);
    if (IS_SDK(qp_init_attr)) {
        doca_error_t err = SDK_CALL(qp, doca_verbs_qp_init_attr_set_external_dbr_umem, qp_init_attr->sdk,
                                    external_umem->sdk, external_umem_offset);

        return err != DOCA_SUCCESS
                   ? err
                   : SDK_CALL(qp, doca_verbs_qp_init_attr_set_external_datapath_en, qp_init_attr->sdk, 1);
    }
    qp_init_attr->open->dbr_umem = external_umem;
    qp_init_attr->open->dbr_umem_offset = external_umem_offset;
    return DOCA_SUCCESS;
}

/* 2.0's name. */
doca_error_t doca_verbs_qp_init_attr_set_external_dbr_umem(doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                           doca_verbs_umem_t *external_umem,
                                                           uint64_t external_umem_offset)
{
    return doca_verbs_qp_init_attr_set_external_umem_dbr(verbs_qp_init_attr, external_umem, external_umem_offset);
}

doca_error_t doca_verbs_qp_init_attr_get_external_umem(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                       doca_verbs_umem_t **external_umem,
                                                       uint64_t *external_umem_offset)
{
    CHECK_HANDLE(verbs_qp_init_attr, __func__);
    if (external_umem == NULL || external_umem_offset == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: a result pointer is NULL", __func__);
    if (IS_SDK(verbs_qp_init_attr))
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "%s: the object is the DOCA SDK's", __func__);
    *external_umem = verbs_qp_init_attr->open->umem;
    *external_umem_offset = verbs_qp_init_attr->open->umem_offset;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_init_attr_set_external_uar(doca_verbs_qp_init_attr_t *qp_init_attr,
                                                      doca_verbs_uar_t *external_uar)
{
    CHECK_SAME_MAKER(qp_init_attr, external_uar, __func__);
    if (IS_SDK(qp_init_attr))
        return SDK_CALL(qp, doca_verbs_qp_init_attr_set_external_uar, qp_init_attr->sdk, external_uar->sdk);
    qp_init_attr->open->uar = external_uar;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_init_attr_get_external_uar(const doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                      doca_verbs_uar_t **external_uar)
{
    CHECK_HANDLE(verbs_qp_init_attr, __func__);
    if (external_uar == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: the result pointer is NULL", __func__);
    if (IS_SDK(verbs_qp_init_attr))
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "%s: the object is the DOCA SDK's", __func__);
    *external_uar = verbs_qp_init_attr->open->uar;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_init_attr_set_qp_context(doca_verbs_qp_init_attr_t *qp_init_attr, void *qp_context)
{
    CHECK_HANDLE(qp_init_attr, __func__);
    if (qp_context == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: qp_context is NULL", __func__);
    if (IS_SDK(qp_init_attr))
        return SDK_CALL(qp, doca_verbs_qp_init_attr_set_qp_context, qp_init_attr->sdk, qp_context);
    qp_init_attr->open->qp_context = qp_context;
    return DOCA_SUCCESS;
}

DEFINE_GETTER(doca_verbs_qp_init_attr_get_qp_context, ATTR, void *, qp_context, NULL)

/* SRQs are always ours, and the SDK's queues cannot take them. */
doca_error_t doca_verbs_qp_init_attr_set_srq(doca_verbs_qp_init_attr_t *qp_init_attr, struct doca_verbs_srq *srq)
{
    CHECK_HANDLE(qp_init_attr, __func__);
    if (srq == NULL || IS_SDK(qp_init_attr))
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: %s", __func__, srq == NULL ? "srq is NULL" : "the object is the DOCA SDK's");
    qp_init_attr->open->srq = srq;
    return DOCA_SUCCESS;
}

DEFINE_GETTER(doca_verbs_qp_init_attr_get_srq, ATTR, struct doca_verbs_srq *, srq, NULL)

/* ---- ordering: the SDK's alone ------------------------------------------------------------------------------------ */

doca_error_t doca_verbs_qp_init_attr_set_ordering_semantic(doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                           enum doca_verbs_qp_ordering_semantic ordering_semantic)
{
    CHECK_HANDLE(verbs_qp_init_attr, __func__);
    if (!IS_SDK(verbs_qp_init_attr))
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "ordering semantic %d: only the DOCA SDK sets it (DOCA_SDK_LIB_PATH)",
                        (int)ordering_semantic);
    if (sdk_qp_table.doca_verbs_qp_init_attr_set_ordering_semantic == NULL)
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "ordering semantic %d: this DOCA SDK cannot set it", (int)ordering_semantic);
    return SDK_CALL(qp, doca_verbs_qp_init_attr_set_ordering_semantic, verbs_qp_init_attr->sdk, ordering_semantic);
}

doca_error_t doca_verbs_qp_init_attr_get_ordering_semantic(doca_verbs_qp_init_attr_t *verbs_qp_init_attr,
                                                           enum doca_verbs_qp_ordering_semantic *ordering_semantic)
{
    CHECK_HANDLE(verbs_qp_init_attr, __func__);
    if (ordering_semantic == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: ordering_semantic is NULL", __func__);
    if (!IS_SDK(verbs_qp_init_attr) || sdk_qp_table.doca_verbs_qp_init_attr_get_ordering_semantic == NULL)
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "ordering semantic: only a DOCA SDK that has it can be asked");
    *ordering_semantic = sdk_qp_table.doca_verbs_qp_init_attr_get_ordering_semantic(verbs_qp_init_attr->sdk);
    return DOCA_SUCCESS;
}
