/* SPDX-License-Identifier: Apache-2.0 */
/* Stub of libdoca_gpunetio.so: GPU handles and memory. Each call goes through the other two libraries first. */
#include "stub.h"

#include <stdlib.h>

doca_error_t doca_verbs_qp_init_attr_create(void **attr); /* libdoca_verbs.so's, and a name of our library too */
doca_error_t doca_verbs_qp_init_attr_destroy(void *attr);

#define ENTER()                                                                                                        \
    do {                                                                                                               \
        doca_error_t enter_code = stub_enter(__func__);                                                                \
                                                                                                                       \
        if (enter_code != DOCA_SUCCESS)                                                                                \
            return enter_code;                                                                                         \
        enter_code = cross_call();                                                                                     \
        if (enter_code != DOCA_SUCCESS)                                                                                \
            return enter_code;                                                                                         \
    } while (0)

/* Fails when the function of the same name in our library answers. */
static doca_error_t cross_call(void)
{
    void *attr = NULL;
    doca_error_t code = doca_verbs_qp_init_attr_create(&attr);

    if (code != DOCA_SUCCESS || !stub_is(attr, STUB_INIT_ATTR))
        return DOCA_ERROR_UNEXPECTED;
    return doca_verbs_qp_init_attr_destroy(attr);
}

#define NEED(object, kind)                                                                                             \
    do {                                                                                                               \
        if (!stub_is(object, kind))                                                                                    \
            return DOCA_ERROR_INVALID_VALUE;                                                                           \
    } while (0)

/* Prototypes as the SDK has them: handles are opaque. */
doca_error_t doca_gpu_create(const char *gpu_bus_id, void **gpu_dev);
doca_error_t doca_gpu_destroy(void *gpu_dev);
doca_error_t doca_gpu_mem_alloc(void *gpu_dev, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
                                void **memptr_gpu, void **memptr_cpu);
doca_error_t doca_gpu_mem_free(void *gpu, void *memptr_gpu);
doca_error_t doca_gpu_dmabuf_fd(void *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd);

doca_error_t doca_gpu_create(const char *gpu_bus_id, void **gpu_dev)
{
    ENTER();
    (void)gpu_bus_id;
    return stub_make(STUB_GPU, NULL, NULL, gpu_dev);
}

doca_error_t doca_gpu_destroy(void *gpu_dev)
{
    ENTER();
    return stub_drop(gpu_dev, STUB_GPU);
}

doca_error_t doca_gpu_mem_alloc(void *gpu_dev, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
                                void **memptr_gpu, void **memptr_cpu)
{
    void *memory = NULL;

    ENTER();
    NEED(gpu_dev, STUB_GPU);
    if (posix_memalign(&memory, alignment < 4096 ? 4096 : alignment, size) != 0)
        return DOCA_ERROR_NO_MEMORY;
    *memptr_gpu = memory;
    if (memptr_cpu != NULL)
        *memptr_cpu = mtype == DOCA_GPU_MEM_TYPE_GPU ? NULL : memory;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_mem_free(void *gpu, void *memptr_gpu)
{
    ENTER();
    NEED(gpu, STUB_GPU);
    free(memptr_gpu);
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_dmabuf_fd(void *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd)
{
    ENTER();
    NEED(gpu_dev, STUB_GPU);
    (void)memptr_gpu, (void)size;
    *dmabuf_fd = 77;
    return DOCA_SUCCESS;
}
