/* SPDX-License-Identifier: Apache-2.0 */
/* Completion-queue attributes. */
#include <stdlib.h>

#include "host/accessor.h"

DEFINE_CREATE(cq, doca_verbs_cq_attr_create, doca_verbs_cq_attr_t)
DEFINE_DESTROY(cq, doca_verbs_cq_attr_destroy, doca_verbs_cq_attr_t)
DEFINE_SETTER(cq, doca_verbs_cq_attr_set_cq_size, doca_verbs_cq_attr_t, uint32_t, cq_size, true)
DEFINE_SETTER(cq, doca_verbs_cq_attr_set_cq_overrun, doca_verbs_cq_attr_t, enum doca_verbs_cq_overrun, overrun,
              (unsigned)value <= DOCA_VERBS_CQ_ENABLE_OVERRUN)
DEFINE_SETTER(cq, doca_verbs_cq_attr_set_cq_collapsed, doca_verbs_cq_attr_t, uint8_t, collapsed, value <= 1)

doca_error_t doca_verbs_cq_attr_set_cq_context(doca_verbs_cq_attr_t *cq_attr, void *cq_context)
{
    CHECK_HANDLE(cq_attr, __func__);
    if (IS_SDK(cq_attr))
        return SDK_CALL(cq, doca_verbs_cq_attr_set_cq_context, cq_attr->sdk, cq_context);
    cq_attr->open->cq_context = cq_context;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_cq_attr_set_external_umem(doca_verbs_cq_attr_t *cq_attr, doca_verbs_umem_t *external_umem,
                                                  uint64_t external_umem_offset)
{
    CHECK_SAME_MAKER(cq_attr, external_umem, __func__);
    if (IS_SDK(cq_attr)) {
        doca_error_t err = SDK_CALL(cq, doca_verbs_cq_attr_set_external_umem, cq_attr->sdk, external_umem->sdk,
                                    external_umem_offset);

        return err != DOCA_SUCCESS ? err : SDK_CALL(cq, doca_verbs_cq_attr_set_external_datapath_en, cq_attr->sdk, 1);
    }
    cq_attr->open->umem = external_umem;
    cq_attr->open->umem_offset = external_umem_offset;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_cq_attr_set_external_dbr_umem(doca_verbs_cq_attr_t *cq_attr, doca_verbs_umem_t *external_umem,
                                                      uint64_t external_umem_offset)
{
    CHECK_SAME_MAKER(cq_attr, external_umem, __func__);
    if (IS_SDK(cq_attr))
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "a CQ of the DOCA SDK has its record behind its ring");
    cq_attr->open->dbr_umem = external_umem;
    cq_attr->open->dbr_umem_offset = external_umem_offset;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_cq_attr_set_external_uar(doca_verbs_cq_attr_t *cq_attr, doca_verbs_uar_t *external_uar)
{
    CHECK_SAME_MAKER(cq_attr, external_uar, __func__);
    if (IS_SDK(cq_attr))
        return SDK_CALL(cq, doca_verbs_cq_attr_set_external_uar, cq_attr->sdk, external_uar->sdk);
    cq_attr->open->uar = external_uar;
    return DOCA_SUCCESS;
}
