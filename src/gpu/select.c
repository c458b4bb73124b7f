/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU table this process uses: by name, by GDAKI_GPU, or automatically. */
#include "gpu/internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char last_error_text[320];
static _Thread_local char why_text[400];

int gdaki_gpu_fail(int err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(last_error_text, sizeof(last_error_text), fmt, args);
    va_end(args);
    return err;
}

const char *gdaki_gpu_last_error(void)
{
    return last_error_text;
}

static const struct gdaki_gpu_ops *select_auto(const char **why)
{
    const char *cuda_why = NULL;
    const struct gdaki_gpu_ops *ops = gdaki_gpu_cuda_ops(&cuda_why);

    if (ops != NULL)
        return ops;
    snprintf(why_text, sizeof(why_text), "cpu, because cuda is not usable: %s", cuda_why);
    if (why != NULL)
        *why = why_text;
    return gdaki_gpu_cpu_ops();
}

const struct gdaki_gpu_ops *gdaki_gpu_select(const char *name, const char **why)
{
    const char *given = name;

    if (why != NULL)
        *why = "";
    if (given == NULL)
        given = getenv("GDAKI_GPU");
    if (given == NULL || given[0] == '\0' || strcmp(given, "auto") == 0)
        return select_auto(why);
    if (strcmp(given, "cpu") == 0)
        return gdaki_gpu_cpu_ops();
    if (strcmp(given, "cuda") == 0) {
        const char *cuda_why = NULL;
        const struct gdaki_gpu_ops *ops = gdaki_gpu_cuda_ops(&cuda_why);

        if (ops == NULL) {
            snprintf(why_text, sizeof(why_text), "cuda was asked for, but %s", cuda_why);
            if (why != NULL)
                *why = why_text;
        }
        return ops;
    }
    snprintf(why_text, sizeof(why_text), "%s=\"%s\": not one of auto, cuda, cpu", name != NULL ? "GPU" : "GDAKI_GPU",
             given);
    if (why != NULL)
        *why = why_text;
    return NULL;
}

static pthread_once_t current_once = PTHREAD_ONCE_INIT;
static const struct gdaki_gpu_ops *current_ops;
static char current_why[400];

static int refuse(void)
{
    return gdaki_gpu_fail(-ENODEV, "%s", current_why);
}

static int refuse_count(int *count)
{
    *count = 0;
    return refuse();
}
static int refuse_text(int device, char *out, size_t size)
{
    (void)device, (void)out, (void)size;
    return refuse();
}
static int refuse_lookup(const char *bus_id, int *device)
{
    (void)bus_id, (void)device;
    return refuse();
}
static int refuse_attr(int device, enum gdaki_gpu_attr attr, int *value)
{
    (void)device, (void)attr, (void)value;
    return refuse();
}
static int refuse_alloc(int device, size_t size, void **ptr)
{
    (void)device, (void)size, (void)ptr;
    return refuse();
}
static int refuse_ptr(void *ptr)
{
    (void)ptr;
    return refuse();
}
static int refuse_register(void *ptr, size_t size, unsigned flags, void **device_ptr)
{
    (void)ptr, (void)size, (void)flags, (void)device_ptr;
    return refuse();
}
static int refuse_copy(void *dst, const void *src, size_t size)
{
    (void)dst, (void)src, (void)size;
    return refuse();
}
static int refuse_start(void *dst, const void *src, size_t size, struct gdaki_gpu_copy *copy)
{
    (void)dst, (void)src, (void)size, (void)copy;
    return refuse();
}
static int refuse_done(struct gdaki_gpu_copy *copy)
{
    (void)copy;
    return refuse();
}
static int refuse_fill(void *dst, uint8_t value, size_t size)
{
    (void)dst, (void)value, (void)size;
    return refuse();
}
static int host_space(const void *ptr, enum gdaki_gpu_space *space)
{
    (void)ptr;
    *space = GDAKI_GPU_SPACE_HOST; /* without a GPU every pointer is a host pointer */
    return 0;
}
static int refuse_dmabuf(void *ptr, size_t size, int *fd)
{
    (void)ptr, (void)size, (void)fd;
    return refuse();
}

/* Stands in when GDAKI_GPU names something that cannot be had: every call fails and says so. */
static const struct gdaki_gpu_ops refusing_ops = {
    .name = "none",
    .device_count = refuse_count,
    .device_name = refuse_text,
    .device_bus_id = refuse_text,
    .device_by_bus_id = refuse_lookup,
    .device_attr = refuse_attr,
    .alloc = refuse_alloc,
    .free = refuse_ptr,
    .host_register = refuse_register,
    .host_unregister = refuse_ptr,
    .copy = refuse_copy,
    .copy_start = refuse_start,
    .copy_done = refuse_done,
    .fill = refuse_fill,
    .pointer_space = host_space,
    .dmabuf_fd = refuse_dmabuf,
    .synchronize = refuse,
    .last_error = gdaki_gpu_last_error,
};

static void select_current(void)
{
    const char *why = "";
    const struct gdaki_gpu_ops *ops = gdaki_gpu_select(NULL, &why);

    snprintf(current_why, sizeof(current_why), "%s", why);
    current_ops = ops != NULL ? ops : &refusing_ops;
}

const struct gdaki_gpu_ops *gdaki_gpu_current(const char **why)
{
    pthread_once(&current_once, select_current);
    if (why != NULL)
        *why = current_why;
    return current_ops;
}
