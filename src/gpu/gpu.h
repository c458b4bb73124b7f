/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU seam, host side: the small part of the CUDA driver API that the library and softnic need, behind a table.
 * `cuda` opens libcuda.so.1 at run time and is never linked; `cpu` is the executor's stand-in, where GPU memory is host
 * memory. Selected by name or automatically (GDAKI_GPU=auto|cuda|cpu).
 *
 * Errors: 0 or negative errno. Thread-safe unless said otherwise. The caller's current CUDA context is used; where there
 * is none, the primary context of device 0 is retained.
 */
#ifndef GDAKI_GPU_H
#define GDAKI_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gdaki_gpu_space { GDAKI_GPU_SPACE_HOST = 0, GDAKI_GPU_SPACE_DEVICE = 1 };

enum gdaki_gpu_attr {
    GDAKI_GPU_ATTR_COMPUTE_MAJOR,
    GDAKI_GPU_ATTR_COMPUTE_MINOR,
    GDAKI_GPU_ATTR_SM_COUNT,
    GDAKI_GPU_ATTR_DMA_BUF_SUPPORTED,       /* CU_DEVICE_ATTRIBUTE 124 */
    GDAKI_GPU_ATTR_RDMA_WRITES_ORDERING,    /* 118; >= 100: no flush needed */
    GDAKI_GPU_ATTR_HOST_NATIVE_ATOMIC,      /* 86 */
};

enum gdaki_gpu_register_flags { GDAKI_GPU_REGISTER_IOMEMORY = 1 }; /* the range is a device register, not RAM */

struct gdaki_gpu_copy { void *opaque[2]; }; /* one split-phase copy in flight */

struct gdaki_gpu_ops {
    const char *name; /* "cuda" or "cpu" */
    int (*device_count)(int *count);
    int (*device_name)(int device, char *out, size_t size);
    int (*device_bus_id)(int device, char *out, size_t size);
    int (*device_by_bus_id)(const char *bus_id, int *device); /* -ENODEV unknown, -EINVAL malformed */
    int (*device_attr)(int device, enum gdaki_gpu_attr attr, int *value);
    int (*alloc)(int device, size_t size, void **ptr); /* device memory, 256-byte aligned, synchronous-memops set */
    int (*free)(void *ptr);
    int (*host_register)(void *ptr, size_t size, unsigned flags, void **device_ptr); /* -EEXIST already registered */
    int (*host_unregister)(void *ptr);
    int (*copy)(void *dst, const void *src, size_t size); /* any spaces; done on return; safe beside a resident kernel */
    int (*copy_start)(void *dst, const void *src, size_t size, struct gdaki_gpu_copy *copy); /* split-phase */
    int (*copy_done)(struct gdaki_gpu_copy *copy); /* 1 done (handle released), 0 not yet, negative errno failed */
    int (*fill)(void *dst, uint8_t value, size_t size);
    int (*pointer_space)(const void *ptr, enum gdaki_gpu_space *space); /* never fails for host memory */
    int (*dmabuf_fd)(void *ptr, size_t size, int *fd); /* -EOPNOTSUPP */
    int (*synchronize)(void); /* whole device: waits for running kernels */
    const char *(*last_error)(void); /* this thread's last failure: which driver call, which value, why; "" if none */
};

/*
 * name: "auto", "cuda", "cpu" or NULL (then GDAKI_GPU, then auto). auto takes cuda if a device answers, else cpu.
 * On failure returns NULL and *why says what was missing (static or thread-local text).
 */
const struct gdaki_gpu_ops *gdaki_gpu_select(const char *name, const char **why);

/* The table in use in this process; selects on first use. Never NULL: falls back to cpu only under auto. */
const struct gdaki_gpu_ops *gdaki_gpu_current(const char **why);

#ifdef __cplusplus
}
#endif
#endif
