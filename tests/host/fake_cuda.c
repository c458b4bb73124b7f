/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 of the test's own: one device, its memory a marked piece of host memory, copies that finish when they
 * are asked for the third time. It checks that a context is current where the real driver needs one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    OK = 0,
    INVALID = 1,
    NO_MEMORY = 2,
    NO_CONTEXT = 201,
    NOT_READY = 600,
    REGISTERED = 712,
    NOT_REGISTERED = 713,
    NOT_SUPPORTED = 801
};

#define ARENA_BYTES (1u << 20)
static char arena[ARENA_BYTES] __attribute__((aligned(4096)));
static size_t used;
static _Thread_local int depth; /* pushed contexts */
static struct {
    void *ptr;
    size_t size;
} registered[16];
int fake_cuda_streams, fake_cuda_contexts;

struct event {
    int asked;
};
struct stream {
    void *dst;
    const void *src;
    size_t size;
};

static int in_arena(uint64_t p)
{
    return p >= (uintptr_t)arena && p < (uintptr_t)arena + ARENA_BYTES;
}

int cuInit(unsigned flags)
{
    return flags == 0 ? OK : INVALID;
}
int cuDeviceGetCount(int *count)
{
    *count = 1;
    return OK;
}
int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? OK : 101;
}
int cuDeviceGetName(char *name, int len, int device)
{
    (void)device;
    strncpy(name, "Fake GPU", (size_t)len);
    return OK;
}
int cuDeviceGetPCIBusId(char *id, int len, int device)
{
    (void)device;
    strncpy(id, "0000:17:00.0", (size_t)len);
    return OK;
}
int cuDeviceGetByPCIBusId(int *device, const char *id)
{
    *device = 0;
    return strcmp(id, "0000:17:00.0") == 0 ? OK : 101;
}
int cuDeviceGetAttribute(int *value, int attr, int device)
{
    (void)device;
    *value = attr == 75 ? 9 : attr == 124 ? 1 : attr == 118 ? 100 : 0;
    return OK;
}
int cuDevicePrimaryCtxRetain(void **ctx, int device)
{
    (void)device;
    *ctx = arena;
    fake_cuda_contexts++;
    return OK;
}
int cuCtxPushCurrent_v2(void *ctx)
{
    (void)ctx;
    depth++;
    return OK;
}
int cuCtxPopCurrent_v2(void **ctx)
{
    *ctx = arena;
    depth--;
    return OK;
}
int cuCtxGetCurrent(void **ctx)
{
    *ctx = depth > 0 ? arena : NULL;
    return OK;
}
int cuCtxGetDevice(int *device)
{
    *device = 0;
    return depth > 0 ? OK : NO_CONTEXT;
}
int cuCtxSynchronize(void)
{
    return depth > 0 ? OK : NO_CONTEXT;
}
int cuMemAlloc_v2(uint64_t *ptr, size_t size)
{
    if (depth == 0)
        return NO_CONTEXT;
    if (size > ARENA_BYTES - used)
        return NO_MEMORY;
    *ptr = (uintptr_t)arena + used;
    used += (size + 255) / 256 * 256;
    return OK;
}
int cuMemFree_v2(uint64_t ptr)
{
    return depth == 0 ? NO_CONTEXT : in_arena(ptr) ? OK : INVALID;
}
int cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags)
{
    if (depth == 0)
        return NO_CONTEXT;
    if (flags & 4) /* ordinary memory is no I/O memory */
        return INVALID;
    for (int i = 0; i < 16; i++) {
        if (registered[i].ptr == ptr)
            return REGISTERED;
    }
    for (int i = 0; i < 16; i++) {
        if (registered[i].ptr == NULL) {
            registered[i].ptr = ptr;
            registered[i].size = size;
            return OK;
        }
    }
    return NO_MEMORY;
}
int cuMemHostUnregister(void *ptr)
{
    for (int i = 0; i < 16; i++) {
        if (registered[i].ptr == ptr) {
            registered[i].ptr = NULL;
            return OK;
        }
    }
    return NOT_REGISTERED;
}
int cuMemHostGetDevicePointer_v2(uint64_t *out, void *ptr, unsigned flags)
{
    (void)flags;
    *out = (uintptr_t)ptr;
    return OK;
}
static void finish(struct stream *s)
{
    if (s->size != 0)
        memmove(s->dst, s->src, s->size);
    s->size = 0;
}
int cuMemcpyAsync(uint64_t dst, uint64_t src, size_t size, struct stream *stream)
{
    if (depth == 0)
        return NO_CONTEXT;
    finish(stream); /* copies of one stream run in order */
    *stream = (struct stream){(void *)(uintptr_t)dst, (const void *)(uintptr_t)src, size};
    return OK;
}
int cuMemsetD8Async(uint64_t dst, unsigned char value, size_t size, struct stream *stream)
{
    (void)stream;
    memset((void *)(uintptr_t)dst, value, size);
    return depth > 0 ? OK : NO_CONTEXT;
}
int cuStreamCreate(struct stream **stream, unsigned flags)
{
    fake_cuda_streams++;
    *stream = calloc(1, sizeof(**stream));
    return flags == 1 ? OK : INVALID;
}
int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return depth > 0 ? OK : NO_CONTEXT;
}
/* A copy in a stream of the user's priority could wait behind a resident kernel for ever: only the highest will do. */
int cuStreamCreateWithPriority(struct stream **stream, unsigned flags, int priority)
{
    return priority == -5 ? cuStreamCreate(stream, flags) : INVALID;
}
static struct {
    struct event *event;
    struct stream *stream;
} pairs[64];
int cuEventCreate(struct event **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(**event));
    return OK;
}
int cuEventRecord(struct event *event, struct stream *stream)
{
    event->asked = 0;
    for (int i = 0; i < 64; i++) {
        if (pairs[i].event == NULL || pairs[i].event == event) {
            pairs[i].event = event;
            pairs[i].stream = stream;
            return OK;
        }
    }
    return NO_MEMORY;
}
int cuEventQuery(struct event *event)
{
    if (++event->asked < 3)
        return NOT_READY;
    for (int i = 0; i < 64; i++) {
        if (pairs[i].event == event)
            finish(pairs[i].stream);
    }
    return OK;
}
int cuEventSynchronize(struct event *event)
{
    while (cuEventQuery(event) == NOT_READY)
        ;
    return OK;
}
int cuEventDestroy_v2(struct event *event)
{
    free(event);
    return OK;
}
int cuPointerGetAttribute(void *value, int attr, uint64_t ptr)
{
    if (!in_arena(ptr))
        return INVALID;
    *(unsigned *)value = attr == 2 ? 2 : 0;
    return OK;
}
int cuPointerSetAttribute(const void *value, int attr, uint64_t ptr)
{
    return attr == 6 && *(const unsigned *)value == 1 && in_arena(ptr) ? OK : INVALID;
}
int cuGetErrorName(int error, const char **name)
{
    *name = error == INVALID ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_OTHER";
    return OK;
}
int cuMemGetHandleForAddressRange(void *handle, uint64_t ptr, size_t size, int type, unsigned long long flags)
{
    if (ptr % 4096 != 0 || size % 4096 != 0 || type != 1 || flags != 0)
        return INVALID;
    *(int *)handle = 123;
    return OK;
}
