/* SPDX-License-Identifier: Apache-2.0 */
/* GPU memory inside the library. */
#ifndef GDAKI_HOST_GPU_MEM_H
#define GDAKI_HOST_GPU_MEM_H

#include "host/object.h"

#pragma GCC visibility push(hidden)

/* Table to reach the memory of a handle, also one of the SDK's. */
const struct gdaki_gpu_ops *gpu_ops_of(const doca_gpu_t *gpu);
bool gpu_handle_is_valid(const doca_gpu_t *gpu);

/* True where the GPU's memory is host memory (the cpu executor), so that the CPU reads it directly. */
static inline bool gpu_memory_is_host(const struct gdaki_gpu_ops *ops)
{
    return ops->name[0] == 'c' && ops->name[1] == 'p';
}

size_t host_page_size(void);

/* GDRCopy, found by dlopen once. */
bool gdrcopy_available(const char **why);
/* Maps device memory (64 KiB aligned) for the CPU. 0 or negative errno. */
int gdrcopy_map(void *device, size_t size, void **cpu, void **mapping);
void gdrcopy_unmap(void *mapping);

#pragma GCC visibility pop
#endif
