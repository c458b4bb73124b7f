/* SPDX-License-Identifier: Apache-2.0 */
/* The three memory types. */
#include "host/gpu_mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/dmabuf_notes.h"
#include "host/sdk.h"

#define GDR_PAGE 65536u /* GPU page: GDRCopy pins whole ones */

size_t host_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* `granule`: the allocation ends on a multiple of it, counted from its aligned start. */
static int alloc_device(struct doca_gpu_open *gpu, struct gpu_allocation *a, size_t alignment, size_t granule)
{
    /* The allocator's own alignment is 256 bytes; room to align further. */
    size_t room = alignment > 256 ? alignment : 0, whole = align_up(a->size, granule);
    int err;

    if (whole < a->size || whole > SIZE_MAX - room) {
        a->refused = "size and alignment overflow";
        return -ENOMEM;
    }
    err = gpu->ops->alloc(gpu->device, whole + room, &a->base);
    if (err != 0)
        return err;
    a->gpu = (void *)(uintptr_t)align_up((uintptr_t)a->base, alignment > 256 ? alignment : 1);
    a->placement = MEMORY_DEVICE;
    return 0;
}

static int alloc_host(struct doca_gpu_open *gpu, struct gpu_allocation *a, size_t alignment)
{
    size_t page = host_page_size();
    size_t size = align_up(a->size, page); /* whole pages, so that nothing else shares a registered page */
    void *device = NULL;
    int err;

    if (size < a->size || posix_memalign(&a->base, alignment > page ? alignment : page, size) != 0) {
        a->refused = "no such host memory";
        return -ENOMEM;
    }
    memset(a->base, 0, size);
    err = gpu->ops->host_register(a->base, size, 0, &device);
    if (err != 0) {
        free(a->base);
        return err;
    }
    a->cpu = a->base;
    a->gpu = device;
    a->placement = MEMORY_HOST;
    return 0;
}

static int alloc_mapped(struct doca_gpu_open *gpu, struct gpu_allocation *a, size_t alignment)
{
    const char *why = "";
    int err;

    if (alignment < GDR_PAGE)
        alignment = GDR_PAGE;
    if (gpu_memory_is_host(gpu->ops)) {
        err = alloc_device(gpu, a, alignment, 1);
        a->cpu = a->gpu;
        return err;
    }
    if (!gdrcopy_available(&why)) {
        HOST_LOG(LOG_INFO, "GPU_CPU memory on %s is pinned host memory: no GDRCopy (%s)", gpu->bus_id, why);
        return alloc_host(gpu, a, alignment);
    }
    err = alloc_device(gpu, a, alignment, GDR_PAGE); /* whole pages are mapped: no other allocation in them */
    if (err != 0)
        return err;
    err = gdrcopy_map(a->gpu, align_up(a->size, GDR_PAGE), &a->cpu, &a->gdr);
    if (err == 0) {
        a->placement = MEMORY_DEVICE_MAPPED;
        return 0;
    }
    HOST_LOG(LOG_WARNING, "GDRCopy refused %zu bytes at %p: GPU_CPU memory is pinned host memory", a->size, a->gpu);
    gpu->ops->free(a->base);
    return alloc_host(gpu, a, alignment);
}

static doca_error_t error_of(int err)
{
    return err == -ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
}

static doca_error_t check_alloc(const doca_gpu_t *gpu, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
                                void **memptr_gpu, void **memptr_cpu)
{
    if (!gpu_handle_is_valid(gpu) || memptr_gpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "allocating GPU memory: %s is NULL",
                        memptr_gpu == NULL ? "memptr_gpu" : "gpu_dev");
    if ((unsigned)mtype > DOCA_GPU_MEM_TYPE_CPU_GPU)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "allocating GPU memory: memory type %d does not exist", (int)mtype);
    if (mtype != DOCA_GPU_MEM_TYPE_GPU && memptr_cpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "allocating memory type %d: memptr_cpu is NULL", (int)mtype);
    if (size == 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "allocating GPU memory: size is 0");
    if (alignment != 0 && !is_power_of_two(alignment))
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "allocating GPU memory: alignment %zu is not a power of two", alignment);
    return DOCA_SUCCESS;
}

static int place(struct doca_gpu_open *gpu, struct gpu_allocation *a, size_t alignment, enum doca_gpu_mem_type mtype)
{
    switch (mtype) {
    case DOCA_GPU_MEM_TYPE_GPU:
        return alloc_device(gpu, a, alignment, 1);
    case DOCA_GPU_MEM_TYPE_GPU_CPU:
        return alloc_mapped(gpu, a, alignment);
    default:
        return alloc_host(gpu, a, alignment);
    }
}

doca_error_t doca_gpu_mem_alloc(doca_gpu_t *gpu_dev, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
                                void **memptr_gpu, void **memptr_cpu)
{
    doca_error_t status = check_alloc(gpu_dev, size, alignment, mtype, memptr_gpu, memptr_cpu);
    struct doca_gpu_open *gpu;
    struct gpu_allocation *a;
    int err;

    if (status != DOCA_SUCCESS)
        return status;
    if (gpu_dev->type == DOCA_GPU_LIB_TYPE_SDK)
        return SDK_CALL(gpu, doca_gpu_mem_alloc, gpu_dev->sdk, size, alignment, mtype, memptr_gpu, memptr_cpu);
    gpu = gpu_dev->open;
    a = calloc(1, sizeof(*a));
    if (a == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "allocating %zu bytes on GPU %s: no memory to track it", size, gpu->bus_id);
    a->size = size;
    err = place(gpu, a, alignment == 0 ? host_page_size() : alignment, mtype);
    if (err != 0) {
        const char *why = a->refused != NULL ? a->refused : gpu->ops->last_error();

        free(a);
        return HOST_ERR(error_of(err), "allocating %zu bytes of memory type %d on GPU %s: %s (%s)", size, (int)mtype,
                        gpu->bus_id, strerror(-err), why);
    }
    pthread_mutex_lock(&gpu->lock);
    a->next = gpu->allocations;
    gpu->allocations = a;
    pthread_mutex_unlock(&gpu->lock);
    *memptr_gpu = a->gpu;
    if (memptr_cpu != NULL)
        *memptr_cpu = mtype == DOCA_GPU_MEM_TYPE_GPU ? NULL : a->cpu;
    return DOCA_SUCCESS;
}

static struct gpu_allocation *take_allocation(struct doca_gpu_open *gpu, const void *memptr_gpu)
{
    struct gpu_allocation **at = &gpu->allocations;
    struct gpu_allocation *found;

    pthread_mutex_lock(&gpu->lock);
    while (*at != NULL && (*at)->gpu != memptr_gpu)
        at = &(*at)->next;
    found = *at;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&gpu->lock);
    return found;
}

static int release(struct doca_gpu_open *gpu, struct gpu_allocation *a)
{
    int err;

    if (a->placement == MEMORY_HOST) {
        err = gpu->ops->host_unregister(a->base);
        free(a->base);
        return err;
    }
    if (a->gdr != NULL)
        gdrcopy_unmap(a->gdr);
    return gpu->ops->free(a->base);
}

doca_error_t doca_gpu_mem_free(doca_gpu_t *gpu, void *memptr_gpu)
{
    struct gpu_allocation *a;
    int err;

    if (!gpu_handle_is_valid(gpu) || memptr_gpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "freeing GPU memory: %s is NULL", memptr_gpu == NULL ? "memptr_gpu" : "gpu");
    if (gpu->type == DOCA_GPU_LIB_TYPE_SDK)
        return SDK_CALL(gpu, doca_gpu_mem_free, gpu->sdk, memptr_gpu);
    a = take_allocation(gpu->open, memptr_gpu);
    if (a == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "freeing %p on GPU %s: not an allocation of this handle", memptr_gpu,
                        gpu->open->bus_id);
    dmabuf_notes_forget(memptr_gpu);
    err = release(gpu->open, a);
    free(a);
    if (err != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "freeing %p on GPU %s: %s", memptr_gpu, gpu->open->bus_id,
                        gpu->open->ops->last_error());
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_get_dmabuf_fd(doca_gpu_t *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd)
{
    struct doca_gpu_open *gpu;
    int fd = -1, err;

    if (!gpu_handle_is_valid(gpu_dev) || dmabuf_fd == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "exporting a DMA-BUF: %s is NULL", dmabuf_fd == NULL ? "dmabuf_fd" : "gpu_dev");
    if (memptr_gpu == NULL || size == 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "exporting a DMA-BUF of %zu bytes at %p: nothing to export", size, memptr_gpu);
    if (gpu_dev->type == DOCA_GPU_LIB_TYPE_SDK)
        return SDK_CALL(gpu, doca_gpu_dmabuf_fd, gpu_dev->sdk, memptr_gpu, size, dmabuf_fd);
    gpu = gpu_dev->open;
    if (!gpu->dmabuf_supported)
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "exporting a DMA-BUF of %zu bytes at %p: GPU %s (%s) exports none", size,
                        memptr_gpu, gpu->bus_id, gpu->ops->name);
    err = gpu->ops->dmabuf_fd(memptr_gpu, size, &fd);
    if (err != 0)
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "exporting a DMA-BUF of %zu bytes at %p on GPU %s: %s", size, memptr_gpu,
                        gpu->bus_id, gpu->ops->last_error());
    dmabuf_notes_add(fd, memptr_gpu, size);
    *dmabuf_fd = fd;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_dmabuf_fd(doca_gpu_t *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd)
{
    return doca_gpu_get_dmabuf_fd(gpu_dev, memptr_gpu, size, dmabuf_fd);
}
