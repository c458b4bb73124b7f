/* SPDX-License-Identifier: Apache-2.0 */
/* GPU handles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gdaki/info.h"
#include "host/gpu_mem.h"
#include "host/hooks.h"
#include "host/sdk.h"

#define WRITES_ORDERED_OWNER 100 /* CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER */
#define ASYNC_STORE_MAJOR    10

static int attribute_or_zero(const struct gdaki_gpu_ops *ops, int device, enum gdaki_gpu_attr attr)
{
    int value = 0;

    return ops->device_attr(device, attr, &value) == 0 ? value : 0;
}

static doca_error_t open_device(const char *gpu_bus_id, struct doca_gpu_open **out)
{
    const char *why;
    const struct gdaki_gpu_ops *ops = gdaki_gpu_current(&why);
    struct doca_gpu_open *gpu;
    int device = 0;
    int err = ops->device_by_bus_id(gpu_bus_id, &device);

    if (err != 0)
        return HOST_ERR(DOCA_ERROR_INITIALIZATION, "opening GPU \"%s\": %s", gpu_bus_id, ops->last_error());
    gpu = calloc(1, sizeof(*gpu));
    if (gpu == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "opening GPU \"%s\": no memory for the handle", gpu_bus_id);
    gpu->ops = ops;
    gpu->device = device;
    ops->device_bus_id(device, gpu->bus_id, sizeof(gpu->bus_id));
    gpu->dmabuf_supported = attribute_or_zero(ops, device, GDAKI_GPU_ATTR_DMA_BUF_SUPPORTED) != 0;
    gpu->writes_ordered =
        attribute_or_zero(ops, device, GDAKI_GPU_ATTR_RDMA_WRITES_ORDERING) >= WRITES_ORDERED_OWNER;
    gpu->async_store_supported = attribute_or_zero(ops, device, GDAKI_GPU_ATTR_COMPUTE_MAJOR) >= ASYNC_STORE_MAJOR;
    pthread_mutex_init(&gpu->lock, NULL);
    HOST_LOG(LOG_INFO, "GPU %s is device %d of %s", gpu->bus_id, device, ops->name);
    *out = gpu;
    return DOCA_SUCCESS;
}

static doca_error_t create_sdk(const struct sdk_gpu *sdk, const char *gpu_bus_id, doca_gpu_t *handle)
{
    handle->type = DOCA_GPU_LIB_TYPE_SDK;
    return sdk_create_result(sdk->doca_gpu_create(gpu_bus_id, &handle->sdk), "doca_gpu_create");
}

/* 3.0 answers INITIALIZATION to everything but a failing allocation, NULL arguments included. */
doca_error_t doca_gpu_create(const char *gpu_bus_id, doca_gpu_t **gpu_dev)
{
    const struct sdk_gpu *sdk;
    doca_gpu_t *handle;
    doca_error_t err;

    if (gpu_bus_id == NULL || gpu_dev == NULL)
        return HOST_ERR(DOCA_ERROR_INITIALIZATION, "creating a GPU handle: %s is NULL",
                        gpu_bus_id == NULL ? "gpu_bus_id" : "gpu_dev");
    hooks_connect();
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a GPU handle: no memory");
    sdk = sdk_gpu();
    err = sdk != NULL ? create_sdk(sdk, gpu_bus_id, handle) : open_device(gpu_bus_id, &handle->open);
    if (err != DOCA_SUCCESS) {
        free(handle);
        return flatten_create_error(err);
    }
    *gpu_dev = handle;
    return DOCA_SUCCESS;
}

static size_t live_allocations(struct doca_gpu_open *gpu)
{
    size_t count = 0;

    pthread_mutex_lock(&gpu->lock);
    for (struct gpu_allocation *a = gpu->allocations; a != NULL; a = a->next)
        count++;
    pthread_mutex_unlock(&gpu->lock);
    return count;
}

doca_error_t doca_gpu_destroy(doca_gpu_t *gpu_dev)
{
    doca_error_t err = DOCA_SUCCESS;
    size_t live;

    if (gpu_dev == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying a GPU handle: gpu_dev is NULL");
    if (gpu_dev->type == DOCA_GPU_LIB_TYPE_SDK) {
        err = SDK_CALL(gpu, doca_gpu_destroy, gpu_dev->sdk);
        if (err == DOCA_SUCCESS)
            free(gpu_dev);
        return err;
    }
    if (gpu_dev->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying GPU handle %p: it has no object", (void *)gpu_dev);
    live = live_allocations(gpu_dev->open);
    if (live != 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying GPU %s: %zu allocation(s) are still live; free them first",
                        gpu_dev->open->bus_id, live);
    pthread_mutex_destroy(&gpu_dev->open->lock);
    free(gpu_dev->open);
    free(gpu_dev);
    return err;
}

void gdaki_gpu_describe(struct gdaki_choice *out)
{
    const char *why = "";
    const struct gdaki_gpu_ops *ops = gdaki_gpu_current(&why);

    *out = (struct gdaki_choice){.name = ops->name, .why = why};
}

const struct gdaki_gpu_ops *gpu_ops_of(const doca_gpu_t *gpu)
{
    return gpu->type == DOCA_GPU_LIB_TYPE_SDK ? gdaki_gpu_current(NULL) : gpu->open->ops;
}

bool gpu_handle_is_valid(const doca_gpu_t *gpu)
{
    return gpu != NULL && (gpu->type == DOCA_GPU_LIB_TYPE_SDK ? gpu->sdk != NULL : gpu->open != NULL);
}
