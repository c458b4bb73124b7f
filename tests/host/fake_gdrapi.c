/* SPDX-License-Identifier: Apache-2.0 */
/* GDRCopy's library for tests: "GPU memory" of the test's driver is host memory, so a mapping is the memory itself. */
#include <stddef.h>
#include <stdint.h>

typedef struct gdr_handle {
    unsigned long h;
} gdr_mh_t;

enum { GPU_PAGE = 65536 };

static unsigned long pinned;
static size_t pinned_size;

void *gdr_open(void)
{
    return &pinned;
}

int gdr_close(void *gdr)
{
    return gdr == &pinned ? 0 : 22;
}

int gdr_pin_buffer(void *gdr, unsigned long address, size_t size, uint64_t token, uint32_t va_space, gdr_mh_t *handle)
{
    if (gdr != &pinned || address % GPU_PAGE != 0 || size % GPU_PAGE != 0 || size == 0 || token != 0 || va_space != 0)
        return 22;
    pinned = address;
    pinned_size = size;
    handle->h = address;
    return 0;
}

int gdr_unpin_buffer(void *gdr, gdr_mh_t handle)
{
    return gdr == &pinned && handle.h == pinned ? 0 : 22;
}

int gdr_map(void *gdr, gdr_mh_t handle, void **va, size_t size)
{
    if (gdr != &pinned || handle.h != pinned || size != pinned_size)
        return 22;
    *va = (void *)handle.h;
    return 0;
}

int gdr_unmap(void *gdr, gdr_mh_t handle, void *va, size_t size)
{
    return gdr == &pinned && handle.h == pinned && (unsigned long)va == pinned && size == pinned_size ? 0 : 22;
}
