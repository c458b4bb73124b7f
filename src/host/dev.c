/* SPDX-License-Identifier: Apache-2.0 */
/* Device handles: a protection domain and the NIC it belongs to. */
#include <stdlib.h>

#include "host/hooks.h"
#include "host/sdk.h"

const struct gdaki_nic_ops *host_nic_of(const struct ibv_context *context)
{
    const struct gdaki_nic_ops *nic = nic_of_context(context);

    if (nic == NULL)
        HOST_LOG(LOG_ERR, "device context %p: neither softnic nor a usable rdma-core knows it", (const void *)context);
    return nic;
}

static doca_error_t open_device(struct ibv_pd *pd, doca_dev_t *handle)
{
    const struct gdaki_nic_ops *nic;
    struct doca_dev_open *dev;

    if (pd->context == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "opening a device: protection domain %p has no context", (void *)pd);
    nic = host_nic_of(pd->context);
    if (nic == NULL)
        return DOCA_ERROR_INITIALIZATION;
    dev = calloc(1, sizeof(*dev));
    if (dev == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "opening a device: no memory");
    *dev = (struct doca_dev_open){.pd = pd, .context = pd->context, .nic = nic};
    handle->open = dev;
    return DOCA_SUCCESS;
}

static doca_error_t open_sdk(const struct sdk_dev *sdk, struct ibv_pd *pd, doca_dev_t *handle)
{
    handle->type = DOCA_VERBS_SDK_LIB_TYPE_SDK;
    return sdk_create_result(sdk->doca_rdma_bridge_open_dev_from_pd(pd, &handle->sdk), "doca_rdma_bridge_open_dev_from_pd");
}

doca_error_t doca_verbs_dev_open(struct ibv_pd *verbs_pd, doca_dev_t **net_dev)
{
    const struct sdk_dev *sdk;
    doca_dev_t *handle;
    doca_error_t err;

    if (verbs_pd == NULL || net_dev == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "opening a device: %s is NULL", verbs_pd == NULL ? "verbs_pd" : "net_dev");
    hooks_connect();
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "opening a device: no memory for the handle");
    sdk = sdk_dev();
    err = sdk != NULL ? open_sdk(sdk, verbs_pd, handle) : open_device(verbs_pd, handle);
    if (err != DOCA_SUCCESS) {
        free(handle);
        return err;
    }
    *net_dev = handle;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_dev_close(doca_dev_t *net_dev)
{
    if (net_dev == NULL || net_dev->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "closing a device: %s", net_dev == NULL ? "net_dev is NULL" : "it has no object");
    if (IS_SDK(net_dev)) {
        doca_error_t err = SDK_CALL(dev, doca_dev_close, net_dev->sdk);

        if (err != DOCA_SUCCESS)
            return err;
    } else {
        free(net_dev->open);
    }
    free(net_dev);
    return DOCA_SUCCESS;
}
