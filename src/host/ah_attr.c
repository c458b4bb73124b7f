/* SPDX-License-Identifier: Apache-2.0 */
/* Address-handle attributes. */
#include <stdlib.h>

#include "host/accessor.h"
#include "host/v2.h"

doca_error_t ah_open_create(doca_verbs_ah_attr_t **out)
{
    doca_verbs_ah_attr_t *handle = calloc(1, sizeof(*handle));

    if (handle != NULL)
        handle->open = calloc(1, sizeof(*handle->open));
    if (handle == NULL || handle->open == NULL) {
        free(handle);
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating AH attributes: no memory");
    }
    handle->open->f.addr_type = DOCA_VERBS_ADDR_TYPE_IPv4;
    *out = handle;
    return DOCA_SUCCESS;
}

static doca_error_t create_sdk(const doca_dev_t *dev, doca_verbs_ah_attr_t **out)
{
    doca_verbs_ah_attr_t *handle;
    void *context = NULL;
    doca_error_t err;

    if (sdk_qp() == NULL)
        return HOST_ERR(DOCA_ERROR_INITIALIZATION, "creating AH attributes: the device is the DOCA SDK's, which has no AH");
    err = sdk_device_context(dev, &context);
    if (err != DOCA_SUCCESS)
        return err;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating AH attributes: no memory");
    handle->type = DOCA_VERBS_SDK_LIB_TYPE_SDK;
    err = sdk_create_result(sdk_qp_table.doca_verbs_ah_attr_create(context, &handle->sdk), "doca_verbs_ah_attr_create");
    if (err != DOCA_SUCCESS)
        free(handle);
    else
        *out = handle;
    return err;
}

doca_error_t doca_verbs_ah_attr_create(doca_dev_t *net_dev, doca_verbs_ah_attr_t **ah_attr)
{
    if (net_dev == NULL || net_dev->open == NULL || ah_attr == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating AH attributes: %s is NULL", ah_attr == NULL ? "ah_attr" : "net_dev");
    return IS_SDK(net_dev) ? create_sdk(net_dev, ah_attr) : ah_open_create(ah_attr);
}

doca_error_t doca_verbs_ah_attr_create_v2(struct ibv_context *context, doca_verbs_ah_attr_t **verbs_ah)
{
    if (context == NULL || verbs_ah == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating AH attributes: %s is NULL", context == NULL ? "context" : "verbs_ah");
    return ah_open_create(verbs_ah);
}

DEFINE_DESTROY(qp, doca_verbs_ah_attr_destroy, doca_verbs_ah_attr_t)

doca_error_t doca_verbs_ah_attr_set_gid(doca_verbs_ah_attr_t *ah_attr, struct doca_verbs_gid gid)
{
    CHECK_HANDLE(ah_attr, __func__);
    if (IS_SDK(ah_attr))
        return SDK_CALL(qp, doca_verbs_ah_attr_set_gid, ah_attr->sdk, gid);
    ah_attr->open->f.gid = gid;
    return DOCA_SUCCESS;
}

DEFINE_SETTER(qp, doca_verbs_ah_attr_set_addr_type, doca_verbs_ah_attr_t, enum doca_verbs_addr_type, f.addr_type,
              (unsigned)value <= DOCA_VERBS_ADDR_TYPE_IB_NO_GRH)
DEFINE_SETTER(qp, doca_verbs_ah_attr_set_dlid, doca_verbs_ah_attr_t, uint32_t, f.dlid, true)
DEFINE_SETTER(qp, doca_verbs_ah_attr_set_sl, doca_verbs_ah_attr_t, uint8_t, f.sl, true)
DEFINE_SETTER(qp, doca_verbs_ah_attr_set_sgid_index, doca_verbs_ah_attr_t, uint8_t, f.sgid_index, true)
DEFINE_SETTER(qp, doca_verbs_ah_attr_set_static_rate, doca_verbs_ah_attr_t, uint8_t, f.static_rate, true)
DEFINE_SETTER(qp, doca_verbs_ah_attr_set_hop_limit, doca_verbs_ah_attr_t, uint8_t, f.hop_limit, true)
DEFINE_SETTER(qp, doca_verbs_ah_attr_set_traffic_class, doca_verbs_ah_attr_t, uint8_t, f.traffic_class, true)

DEFINE_GETTER(doca_verbs_ah_get_gid, doca_verbs_ah_attr_t, struct doca_verbs_gid, f.gid, (struct doca_verbs_gid){{0}})
DEFINE_GETTER(doca_verbs_ah_get_addr_type, doca_verbs_ah_attr_t, enum doca_verbs_addr_type, f.addr_type,
              DOCA_VERBS_ADDR_TYPE_IPv4)
DEFINE_GETTER(doca_verbs_ah_get_dlid, doca_verbs_ah_attr_t, uint32_t, f.dlid, 0)
DEFINE_GETTER(doca_verbs_ah_get_sl, doca_verbs_ah_attr_t, uint8_t, f.sl, 0)
DEFINE_GETTER(doca_verbs_ah_get_sgid_index, doca_verbs_ah_attr_t, uint8_t, f.sgid_index, 0)
DEFINE_GETTER(doca_verbs_ah_get_static_rate, doca_verbs_ah_attr_t, uint8_t, f.static_rate, 0)
DEFINE_GETTER(doca_verbs_ah_get_hop_limit, doca_verbs_ah_attr_t, uint8_t, f.hop_limit, 0)
DEFINE_GETTER(doca_verbs_ah_get_traffic_class, doca_verbs_ah_attr_t, uint8_t, f.traffic_class, 0)
