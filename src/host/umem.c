/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory for queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/gpu_mem.h"
#include "host/sdk.h"
#include "host/v2.h"

#define NO_DMABUF ((int)DOCA_VERBS_DMABUF_INVALID_FD)

static int register_umem(const struct gdaki_nic_ops *nic, struct ibv_context *context, void *address, size_t size,
                         uint32_t access, int dmabuf_fd, size_t dmabuf_offset, struct mlx5dv_devx_umem **out)
{
    struct mlx5dv_devx_umem_in in = {
        .addr = address,
        .size = size,
        .access = access,
        .pgsz_bitmap = host_page_size(),
    };

    if (dmabuf_fd >= 0) {
        in.addr = (void *)(uintptr_t)dmabuf_offset; /* with a DMA-BUF the field carries the offset inside it */
        in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
        in.dmabuf_fd = dmabuf_fd;
    }
    errno = 0;
    *out = nic->mlx5dv_devx_umem_reg_ex(context, &in);
    if (*out != NULL)
        return 0;
    return errno != 0 ? -errno : -EIO;
}

int queue_memory_create(const struct gdaki_nic_ops *nic, struct ibv_context *context, size_t size,
                        struct queue_memory *out)
{
    size_t page = host_page_size();
    void *buffer = NULL;
    int err;

    size = align_up(size, page);
    if (posix_memalign(&buffer, page, size) != 0)
        return -ENOMEM;
    memset(buffer, 0, size);
    err = register_umem(nic, context, buffer, size, IBV_ACCESS_LOCAL_WRITE, -1, 0, &out->umem);
    if (err != 0) {
        free(buffer);
        return err;
    }
    out->buffer = buffer;
    return 0;
}

void queue_memory_destroy(const struct gdaki_nic_ops *nic, struct queue_memory *memory)
{
    if (memory->umem == NULL)
        return;
    if (nic->mlx5dv_devx_umem_dereg(memory->umem) != 0) {
        HOST_LOG(LOG_ERR, "deregistering queue memory at %p failed%s; it is left allocated", memory->buffer, nic_reason(nic));
        return; /* the NIC may still write there */
    }
    free(memory->buffer);
    *memory = (struct queue_memory){0};
}

doca_error_t umem_open_create(struct ibv_context *context, void *address, size_t size, uint32_t access_flags,
                              int dmabuf_fd, size_t dmabuf_offset, doca_verbs_umem_t **out)
{
    const struct gdaki_nic_ops *nic = host_nic_of(context);
    struct doca_verbs_umem_open *umem;
    doca_verbs_umem_t *handle;
    int err;

    if (nic == NULL)
        return DOCA_ERROR_DRIVER;
    handle = calloc(1, sizeof(*handle));
    umem = calloc(1, sizeof(*umem));
    if (handle == NULL || umem == NULL) {
        free(handle);
        free(umem);
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "registering %zu bytes at %p: no memory", size, address);
    }
    *umem = (struct doca_verbs_umem_open){.nic = nic, .address = address, .size = size};
    err = register_umem(nic, context, address, size, access_flags, dmabuf_fd == NO_DMABUF ? -1 : dmabuf_fd, dmabuf_offset,
                        &umem->umem);
    if (err != 0) {
        free(handle);
        free(umem);
        return HOST_ERR(DOCA_ERROR_DRIVER, "registering %zu bytes at %p (access 0x%x, DMA-BUF fd %d offset %zu): %s%s", size,
                        address, access_flags, dmabuf_fd, dmabuf_offset, strerror(-err), nic_reason(nic));
    }
    handle->open = umem;
    *out = handle;
    return DOCA_SUCCESS;
}

static doca_error_t check_create(const void *device, const char *device_name, const void *address, size_t size,
                                 const void *out)
{
    const char *missing = device == NULL ? device_name : address == NULL ? "address" : out == NULL ? "umem_obj" : NULL;

    if (missing != NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "registering memory: %s is NULL", missing);
    if (size == 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "registering memory at %p: size is 0", address);
    return DOCA_SUCCESS;
}

static doca_error_t create_sdk(const struct sdk_umem *sdk, doca_dev_t *dev, doca_gpu_t *gpu, void *address, size_t size,
                               uint32_t access_flags, int dmabuf_fd, doca_verbs_umem_t **out)
{
    doca_verbs_umem_t *handle;
    doca_error_t err;

    if (dmabuf_fd >= 0 && (gpu == NULL || gpu->type != DOCA_GPU_LIB_TYPE_SDK))
        return HOST_ERR(DOCA_ERROR_INITIALIZATION,
                        "registering GPU memory %p with the DOCA SDK's device: the GPU handle is not the SDK's", address);
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "registering %zu bytes at %p: no memory", size, address);
    handle->type = DOCA_VERBS_SDK_LIB_TYPE_SDK;
    if (dmabuf_fd >= 0) /* the SDK exports a DMA-BUF by itself */
        err = sdk_create_result(sdk->doca_umem_gpu_create(gpu->sdk, dev->sdk, address, size, access_flags, &handle->sdk),
                                "doca_umem_gpu_create");
    else
        err = sdk_create_result(sdk->doca_umem_create(dev->sdk, address, size, access_flags, &handle->sdk),
                                "doca_umem_create");
    if (err != DOCA_SUCCESS)
        free(handle);
    else
        *out = handle;
    return err;
}

doca_error_t doca_verbs_umem_create(doca_dev_t *net_dev, doca_gpu_t *gpu, void *address, size_t size,
                                    uint32_t access_flags, int dmabuf_id, size_t dmabuf_offset,
                                    doca_verbs_umem_t **umem_obj)
{
    const struct sdk_umem *sdk;
    int fd = dmabuf_id == NO_DMABUF ? -1 : dmabuf_id;
    doca_error_t err = check_create(net_dev, "net_dev", address, size, umem_obj);

    if (err != DOCA_SUCCESS)
        return err;
    if (net_dev->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "registering memory at %p: net_dev has no object", address);
    sdk = sdk_umem();
    if (IS_SDK(net_dev)) {
        if (sdk == NULL)
            return HOST_ERR(DOCA_ERROR_INITIALIZATION, "registering memory at %p: the device is the DOCA SDK's, which has no umem",
                            address);
        return create_sdk(sdk, net_dev, gpu, address, size, access_flags, fd, umem_obj);
    }
    return flatten_create_error(
        umem_open_create(net_dev->open->context, address, size, access_flags, fd, dmabuf_offset, umem_obj));
}

doca_error_t doca_verbs_umem_create_v2(struct ibv_context *context, void *address, size_t size, uint32_t access_flags,
                                       int dmabuf_id, size_t dmabuf_offset, doca_verbs_umem_t **umem_obj)
{
    doca_error_t err = check_create(context, "context", address, size, umem_obj);

    return err != DOCA_SUCCESS ? err
                               : umem_open_create(context, address, size, access_flags, dmabuf_id, dmabuf_offset, umem_obj);
}

doca_error_t doca_verbs_umem_destroy(doca_verbs_umem_t *umem_obj)
{
    doca_error_t err;

    if (umem_obj == NULL || umem_obj->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying a umem: %s",
                        umem_obj == NULL ? "umem_obj is NULL" : "it has no object");
    if (IS_SDK(umem_obj)) {
        err = SDK_CALL(umem, doca_umem_destroy, umem_obj->sdk);
        if (err != DOCA_SUCCESS)
            return err;
    } else {
        const struct gdaki_nic_ops *nic = umem_obj->open->nic;

        if (nic->mlx5dv_devx_umem_dereg(umem_obj->open->umem) != 0)
            return HOST_ERR(DOCA_ERROR_DRIVER, "deregistering the umem at %p (%zu bytes) failed%s", umem_obj->open->address,
                            umem_obj->open->size, nic_reason(nic));
        free(umem_obj->open);
    }
    free(umem_obj);
    return DOCA_SUCCESS;
}

static doca_error_t check_get(const doca_verbs_umem_t *umem_obj, const void *out, const char *what)
{
    if (umem_obj == NULL || umem_obj->open == NULL || out == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "reading a umem's %s: %s is NULL", what, out == NULL ? "the result" : "umem_obj");
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_get_id(const doca_verbs_umem_t *umem_obj, uint32_t *umem_id)
{
    doca_error_t err = check_get(umem_obj, umem_id, "id");

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(umem_obj))
        return SDK_CALL(umem, doca_umem_get_id, umem_obj->sdk, umem_id);
    *umem_id = umem_obj->open->umem->umem_id;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_get_size(const doca_verbs_umem_t *umem_obj, size_t *umem_size)
{
    doca_error_t err = check_get(umem_obj, umem_size, "size");

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(umem_obj))
        return SDK_CALL(umem, doca_umem_get_size, umem_obj->sdk, umem_size);
    *umem_size = umem_obj->open->size;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_umem_get_address(const doca_verbs_umem_t *umem_obj, void **umem_address)
{
    doca_error_t err = check_get(umem_obj, umem_address, "address");

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(umem_obj))
        return SDK_CALL(umem, doca_umem_get_address, umem_obj->sdk, umem_address);
    *umem_address = umem_obj->open->address;
    return DOCA_SUCCESS;
}
