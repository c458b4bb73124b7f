/* SPDX-License-Identifier: Apache-2.0 */
/* Device attributes: a snapshot of the capabilities. */
#include <stdlib.h>

#include "host/caps.h"

struct doca_verbs_device_attr {
    struct nic_caps caps;
};

doca_error_t doca_verbs_query_device(struct ibv_context *context, struct doca_verbs_device_attr **verbs_device_attr)
{
    const struct gdaki_nic_ops *nic;
    struct doca_verbs_device_attr *attr;
    doca_error_t err;

    if (context == NULL || verbs_device_attr == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "querying a device: %s is NULL",
                        context == NULL ? "context" : "verbs_device_attr");
    nic = host_nic_of(context);
    if (nic == NULL)
        return DOCA_ERROR_NOT_FOUND;
    attr = calloc(1, sizeof(*attr));
    if (attr == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "querying a device: no memory");
    err = caps_query(nic, context, &attr->caps);
    if (err != DOCA_SUCCESS) {
        free(attr);
        return err;
    }
    *verbs_device_attr = attr;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_device_attr_free(struct doca_verbs_device_attr *verbs_device_attr)
{
    if (verbs_device_attr == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "freeing device attributes: verbs_device_attr is NULL");
    free(verbs_device_attr);
    return DOCA_SUCCESS;
}

/* 0 for NULL. */
#define DEFINE_LIMIT(type, name, field)                                                                                \
    type doca_verbs_device_attr_get_##name(const struct doca_verbs_device_attr *verbs_device_attr)                     \
    {                                                                                                                  \
        return verbs_device_attr == NULL ? 0 : (type)verbs_device_attr->caps.field;                                    \
    }

DEFINE_LIMIT(uint32_t, max_qp, ibv.max_qp)
DEFINE_LIMIT(uint32_t, max_qp_wr, ibv.max_qp_wr)
DEFINE_LIMIT(uint32_t, max_sge, ibv.max_sge)
DEFINE_LIMIT(uint32_t, max_cq, ibv.max_cq)
DEFINE_LIMIT(uint32_t, max_cqe, ibv.max_cqe)
DEFINE_LIMIT(uint32_t, max_mr, ibv.max_mr)
DEFINE_LIMIT(uint32_t, max_pd, ibv.max_pd)
DEFINE_LIMIT(uint32_t, max_ah, ibv.max_ah)
DEFINE_LIMIT(uint32_t, max_srq, ibv.max_srq)
DEFINE_LIMIT(uint32_t, max_srq_wr, ibv.max_srq_wr)
DEFINE_LIMIT(uint32_t, max_srq_sge, ibv.max_srq_sge)
DEFINE_LIMIT(uint16_t, max_pkeys, ibv.max_pkeys)
DEFINE_LIMIT(uint8_t, send_dbr_mode_no_dbr_ext, no_dbr_ext)
DEFINE_LIMIT(uint8_t, max_qp_rd_atom, ibv.max_qp_rd_atom)
DEFINE_LIMIT(uint8_t, max_qp_init_rd_atom, ibv.max_qp_init_rd_atom)

doca_error_t doca_verbs_device_attr_get_is_qp_type_supported(const struct doca_verbs_device_attr *verbs_device_attr,
                                                             uint32_t qp_type)
{
    if (verbs_device_attr == NULL || qp_type != DOCA_VERBS_QP_TYPE_RC)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "asking for QP type %u: %s", qp_type,
                        verbs_device_attr == NULL ? "verbs_device_attr is NULL" : "only RC (0) is known");
    return verbs_device_attr->caps.rc ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}
