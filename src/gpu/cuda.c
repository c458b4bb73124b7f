/* SPDX-License-Identifier: Apache-2.0 */
/* The `cuda` table over the driver API. */
#include "gpu/cuda_driver.h"
#include "gpu/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct gdaki_cuda_driver *const cu = &gdaki_cuda_table;

static int get_device(int device, cu_device *out)
{
    cu_result result = cu->device_get(out, device);

    return result == CU_OK ? 0 : gdaki_cuda_fail(result, "cuDeviceGet", NULL, (size_t)device);
}

static int cuda_device_count(int *count)
{
    cu_result result = cu->device_count(count);

    return result == CU_OK ? 0 : gdaki_cuda_fail(result, "cuDeviceGetCount", NULL, 0);
}

static int cuda_device_name(int device, char *out, size_t size)
{
    cu_device handle;
    cu_result result;
    int err = get_device(device, &handle);

    if (err != 0)
        return err;
    result = cu->device_name(out, (int)size, handle);
    return result == CU_OK ? 0 : gdaki_cuda_fail(result, "cuDeviceGetName", NULL, (size_t)device);
}

static int cuda_device_bus_id(int device, char *out, size_t size)
{
    cu_device handle;
    cu_result result;
    int err = get_device(device, &handle);

    if (err != 0)
        return err;
    result = cu->device_bus_id(out, (int)size, handle);
    return result == CU_OK ? 0 : gdaki_cuda_fail(result, "cuDeviceGetPCIBusId", NULL, (size_t)device);
}

static int cuda_device_by_bus_id(const char *bus_id, int *device)
{
    struct gdaki_bus_id id;
    char canonical[32];
    cu_device handle;
    cu_result result;

    if (gdaki_bus_id_parse(bus_id, &id) != 0)
        return gdaki_gpu_fail(-EINVAL, "cuda: \"%s\" is not a PCI bus id ([domain:]bus:device[.function])", bus_id);
    snprintf(canonical, sizeof(canonical), "%04x:%02x:%02x.%x", id.domain, id.bus, id.device, id.function);
    result = cu->device_by_bus_id(&handle, canonical);
    if (result != CU_OK)
        return gdaki_gpu_fail(-ENODEV, "cuda: no GPU at %s (driver code %d)", canonical, result);
    *device = handle;
    return 0;
}

static int attr_code(enum gdaki_gpu_attr attr)
{
    switch (attr) {
    case GDAKI_GPU_ATTR_COMPUTE_MAJOR:
        return 75;
    case GDAKI_GPU_ATTR_COMPUTE_MINOR:
        return 76;
    case GDAKI_GPU_ATTR_SM_COUNT:
        return 16;
    case GDAKI_GPU_ATTR_DMA_BUF_SUPPORTED:
        return 124;
    case GDAKI_GPU_ATTR_RDMA_WRITES_ORDERING:
        return 118;
    case GDAKI_GPU_ATTR_HOST_NATIVE_ATOMIC:
        return 86;
    }
    return -1;
}

static int cuda_device_attr(int device, enum gdaki_gpu_attr attr, int *value)
{
    int code = attr_code(attr);
    cu_device handle;
    cu_result result;
    int err;

    if (code < 0)
        return gdaki_gpu_fail(-EINVAL, "cuda: unknown device attribute %d", (int)attr);
    err = get_device(device, &handle);
    if (err != 0)
        return err;
    result = cu->device_attr(value, code, handle);
    return result == CU_OK ? 0 : gdaki_cuda_fail(result, "cuDeviceGetAttribute", NULL, (size_t)code);
}

static int cuda_alloc(int device, size_t size, void **ptr)
{
    cu_deviceptr address = 0;
    unsigned on = 1;
    cu_result result;
    int err = gdaki_cuda_enter(device);

    if (err != 0)
        return err;
    err = gdaki_cuda_lanes_prepare(device);
    if (err != 0)
        goto leave;
    result = cu->mem_alloc(&address, size);
    if (result != CU_OK) {
        err = gdaki_cuda_fail(result, "cuMemAlloc", NULL, size);
        goto leave;
    }
    result = cu->pointer_set(&on, CU_POINTER_SYNC_MEMOPS, address);
    if (result != CU_OK) {
        err = gdaki_cuda_fail(result, "cuPointerSetAttribute(SYNC_MEMOPS)", (void *)(uintptr_t)address, size);
        cu->mem_free(address);
        goto leave;
    }
    *ptr = (void *)(uintptr_t)address;
leave:
    gdaki_cuda_leave();
    return err;
}

static bool is_device_memory(const void *ptr, int *device)
{
    unsigned type = 0, managed = 0;
    int ordinal = 0;
    cu_deviceptr address = (cu_deviceptr)(uintptr_t)ptr;

    if (cu->pointer_get(&type, CU_POINTER_MEMORY_TYPE, address) != CU_OK || type != CU_MEMORY_DEVICE)
        return false;
    /* Managed memory answers "device", but the CPU reaches it. */
    if (cu->pointer_get(&managed, CU_POINTER_IS_MANAGED, address) == CU_OK && managed != 0)
        return false;
    if (device != NULL && cu->pointer_get(&ordinal, CU_POINTER_DEVICE_ORDINAL, address) == CU_OK)
        *device = ordinal;
    return true;
}

/* Pointer queries need an initialised driver but no current context. */
static int cuda_pointer_space(const void *ptr, enum gdaki_gpu_space *space)
{
    *space = is_device_memory(ptr, NULL) ? GDAKI_GPU_SPACE_DEVICE : GDAKI_GPU_SPACE_HOST;
    return 0;
}

static int cuda_free(void *ptr)
{
    int device = gdaki_cuda_current_device();
    cu_result result;
    int err;

    is_device_memory(ptr, &device);
    err = gdaki_cuda_enter(device);
    if (err != 0)
        return err;
    result = cu->mem_free((cu_deviceptr)(uintptr_t)ptr);
    if (result != CU_OK)
        err = gdaki_cuda_fail(result, "cuMemFree", ptr, 0);
    gdaki_cuda_leave();
    return err;
}

static int cuda_host_register(void *ptr, size_t size, unsigned flags, void **device_ptr)
{
    unsigned cu_flags = CU_HOST_REGISTER_PORTABLE | CU_HOST_REGISTER_DEVICEMAP;
    cu_deviceptr address = 0;
    cu_result result;
    int device = gdaki_cuda_current_device();
    int err = gdaki_cuda_enter(device);

    if (err != 0)
        return err;
    err = gdaki_cuda_lanes_prepare(device);
    if (err != 0)
        goto leave;
    if (flags & GDAKI_GPU_REGISTER_IOMEMORY)
        cu_flags |= CU_HOST_REGISTER_IOMEMORY;
    result = cu->host_register(ptr, size, cu_flags);
    if (result != CU_OK)
        err = gdaki_cuda_fail(result, flags & GDAKI_GPU_REGISTER_IOMEMORY ? "cuMemHostRegister(IOMEMORY)" : "cuMemHostRegister",
                              ptr, size);
    if (err != 0 && err != -EEXIST)
        goto leave;
    if (device_ptr == NULL)
        goto leave;
    result = cu->host_device_pointer(&address, ptr, 0);
    if (result == CU_OK) {
        *device_ptr = (void *)(uintptr_t)address;
    } else if (err == 0) {
        err = gdaki_cuda_fail(result, "cuMemHostGetDevicePointer", ptr, size);
        cu->host_unregister(ptr);
    }
leave:
    gdaki_cuda_leave();
    return err;
}

static int cuda_host_unregister(void *ptr)
{
    cu_result result;
    int err = gdaki_cuda_enter(gdaki_cuda_current_device());

    if (err != 0)
        return err;
    result = cu->host_unregister(ptr);
    if (result != CU_OK)
        err = gdaki_cuda_fail(result, "cuMemHostUnregister", ptr, 0);
    gdaki_cuda_leave();
    return err;
}

/* The device whose copy engine moves the bytes: the one that owns device memory among the two. */
static int copy_device(const void *dst, const void *src)
{
    int device = gdaki_cuda_current_device();

    if (!is_device_memory(dst, &device))
        is_device_memory(src, &device);
    return device;
}

static int start_on_lane(void *dst, const void *src, size_t size, struct gdaki_cuda_lane **out)
{
    int device = copy_device(dst, src);
    struct gdaki_cuda_lane *lane = NULL;
    cu_result result;
    int err = gdaki_cuda_enter(device);

    if (err != 0)
        return err;
    err = gdaki_cuda_lane_get(device, &lane);
    if (err != 0)
        goto leave;
    result = cu->memcpy_async((cu_deviceptr)(uintptr_t)dst, (cu_deviceptr)(uintptr_t)src, size, lane->stream);
    if (result == CU_OK)
        result = cu->event_record(lane->event, lane->stream);
    if (result != CU_OK) {
        err = gdaki_cuda_fail(result, "cuMemcpyAsync", dst, size);
        gdaki_cuda_lane_put(lane);
        goto leave;
    }
    *out = lane;
leave:
    gdaki_cuda_leave();
    return err;
}

static int cuda_copy(void *dst, const void *src, size_t size)
{
    struct gdaki_cuda_lane *lane = NULL;
    cu_result result;
    int err;

    if (size == 0)
        return 0;
    err = start_on_lane(dst, src, size, &lane);
    if (err != 0)
        return err;
    result = cu->event_synchronize(lane->event);
    if (result != CU_OK)
        err = gdaki_cuda_fail(result, "copy", dst, size);
    gdaki_cuda_lane_put(lane);
    return err;
}

static int cuda_copy_start(void *dst, const void *src, size_t size, struct gdaki_gpu_copy *copy)
{
    struct gdaki_cuda_lane *lane = NULL;
    int err = size == 0 ? 0 : start_on_lane(dst, src, size, &lane);

    if (err != 0)
        return err;
    copy->opaque[0] = lane;
    copy->opaque[1] = NULL;
    return 0;
}

static int cuda_copy_done(struct gdaki_gpu_copy *copy)
{
    struct gdaki_cuda_lane *lane = copy->opaque[0];
    cu_result result;

    if (lane == NULL)
        return 1;
    result = cu->event_query(lane->event);
    if (result == CU_ERROR_NOT_READY)
        return 0;
    copy->opaque[0] = NULL;
    gdaki_cuda_lane_put(lane);
    return result == CU_OK ? 1 : gdaki_cuda_fail(result, "cuEventQuery of a copy", NULL, 0);
}

static int cuda_fill(void *dst, uint8_t value, size_t size)
{
    int device = gdaki_cuda_current_device();
    struct gdaki_cuda_lane *lane = NULL;
    cu_result result;
    int err;

    if (!is_device_memory(dst, &device)) {
        memset(dst, value, size);
        return 0;
    }
    err = gdaki_cuda_enter(device);
    if (err != 0)
        return err;
    err = gdaki_cuda_lane_get(device, &lane);
    if (err != 0)
        goto leave;
    result = cu->memset_async((cu_deviceptr)(uintptr_t)dst, value, size, lane->stream);
    if (result == CU_OK)
        result = cu->event_record(lane->event, lane->stream);
    if (result == CU_OK)
        result = cu->event_synchronize(lane->event);
    if (result != CU_OK)
        err = gdaki_cuda_fail(result, "cuMemsetD8Async", dst, size);
    gdaki_cuda_lane_put(lane);
leave:
    gdaki_cuda_leave();
    return err;
}

static int cuda_dmabuf_fd(void *ptr, size_t size, int *fd)
{
    int device = gdaki_cuda_current_device();
    cu_result result;
    int err, out = -1;

    if (cu->address_range_handle == NULL)
        return gdaki_gpu_fail(-EOPNOTSUPP, "cuda: this driver has no cuMemGetHandleForAddressRange");
    is_device_memory(ptr, &device);
    err = gdaki_cuda_enter(device);
    if (err != 0)
        return err;
    result = cu->address_range_handle(&out, (cu_deviceptr)(uintptr_t)ptr, size, CU_HANDLE_DMA_BUF_FD, 0);
    if (result != CU_OK) {
        err = gdaki_cuda_fail(result, "cuMemGetHandleForAddressRange(DMA_BUF_FD)", ptr, size);
        if (err == -EINVAL)
            err = -EOPNOTSUPP;
    } else {
        *fd = out;
    }
    gdaki_cuda_leave();
    return err;
}

static int cuda_synchronize(void)
{
    cu_result result;
    int err = gdaki_cuda_enter(gdaki_cuda_current_device());

    if (err != 0)
        return err;
    result = cu->ctx_synchronize();
    if (result != CU_OK)
        err = gdaki_cuda_fail(result, "cuCtxSynchronize", NULL, 0);
    gdaki_cuda_leave();
    return err;
}

static const struct gdaki_gpu_ops cuda_ops = {
    .name = "cuda",
    .device_count = cuda_device_count,
    .device_name = cuda_device_name,
    .device_bus_id = cuda_device_bus_id,
    .device_by_bus_id = cuda_device_by_bus_id,
    .device_attr = cuda_device_attr,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .host_register = cuda_host_register,
    .host_unregister = cuda_host_unregister,
    .copy = cuda_copy,
    .copy_start = cuda_copy_start,
    .copy_done = cuda_copy_done,
    .fill = cuda_fill,
    .pointer_space = cuda_pointer_space,
    .dmabuf_fd = cuda_dmabuf_fd,
    .synchronize = cuda_synchronize,
    .last_error = gdaki_gpu_last_error,
};

const struct gdaki_gpu_ops *gdaki_gpu_cuda_ops(const char **why)
{
    return gdaki_cuda_driver_get(why) != NULL ? &cuda_ops : NULL;
}
