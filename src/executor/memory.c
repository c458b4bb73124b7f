/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the CPU "GPU": host memory, with a registry so that attributes can be told and mistakes refused. As on hardware,
 * cudaFree waits for running kernels, which may use the memory.
 */
#include <stdlib.h>
#include <string.h>

#include "executor/stream.h"

enum kind { DEVICE, HOST, MANAGED, REGISTERED };

struct range {
    uintptr_t low, high;
    enum kind kind;
    unsigned flags;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges; /* sorted, disjoint */
static size_t count, room;

/* Index of the first range that ends above the address. */
static size_t first_above(uintptr_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (ranges[middle].high > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct range *find(const void *ptr)
{
    size_t i = first_above((uintptr_t)ptr);

    return i < count && ranges[i].low <= (uintptr_t)ptr ? &ranges[i] : NULL;
}

static cudaError_t insert(const void *ptr, size_t size, enum kind kind, unsigned flags)
{
    uintptr_t low = (uintptr_t)ptr, high = low + size;
    size_t i = first_above(low);

    if (i < count && ranges[i].low < high)
        return cudaErrorHostMemoryAlreadyRegistered;
    if (count == room) {
        size_t want = room ? 2 * room : 64;
        struct range *grown = realloc(ranges, want * sizeof(*grown));

        if (!grown)
            return cudaErrorMemoryAllocation;
        ranges = grown;
        room = want;
    }
    memmove(&ranges[i + 1], &ranges[i], (count - i) * sizeof(*ranges));
    ranges[i] = (struct range){.low = low, .high = high, .kind = kind, .flags = flags};
    count++;
    return cudaSuccess;
}

static void erase(struct range *range)
{
    size_t i = (size_t)(range - ranges);

    count--;
    memmove(range, range + 1, (count - i) * sizeof(*ranges));
}

static cudaError_t allocate(void **ptr, size_t size, size_t align, enum kind kind, unsigned flags)
{
    cudaError_t error;
    void *memory;

    if (!ptr)
        return ex_error(cudaErrorInvalidValue);
    *ptr = NULL;
    if (!size)
        return cudaSuccess;
    if (posix_memalign(&memory, align, size))
        return ex_error(cudaErrorMemoryAllocation);
    pthread_mutex_lock(&lock);
    error = insert(memory, size, kind, flags);
    pthread_mutex_unlock(&lock);
    if (error) {
        free(memory);
        return ex_error(error);
    }
    *ptr = memory;
    return cudaSuccess;
}

/* Takes the range out of the registry if ptr is its start and its kind is among the two. */
static bool forget(void *ptr, enum kind kind, enum kind other)
{
    struct range *range;
    bool good;

    pthread_mutex_lock(&lock);
    range = find(ptr);
    good = range && range->low == (uintptr_t)ptr && (range->kind == kind || range->kind == other);
    if (good)
        erase(range);
    pthread_mutex_unlock(&lock);
    return good;
}

cudaError_t cudaMalloc(void **ptr, size_t size)
{
    return allocate(ptr, size, 512, DEVICE, 0);
}

cudaError_t cudaMallocManaged(void **ptr, size_t size, unsigned int flags)
{
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return ex_error(cudaErrorInvalidValue);
    return allocate(ptr, size, 4096, MANAGED, 0);
}

cudaError_t cudaHostAlloc(void **ptr, size_t size, unsigned int flags)
{
    if (flags & ~7u)
        return ex_error(cudaErrorInvalidValue);
    return allocate(ptr, size, 4096, HOST, flags);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t cudaFree(void *ptr)
{
    cudaError_t error;

    if (!ptr)
        return cudaSuccess;
    error = ex_streams_drain();
    if (!forget(ptr, DEVICE, MANAGED))
        return ex_error(cudaErrorInvalidValue);
    free(ptr);
    return error;
}

cudaError_t cudaFreeHost(void *ptr)
{
    if (!ptr)
        return cudaSuccess;
    if (!forget(ptr, HOST, HOST))
        return ex_error(cudaErrorInvalidValue);
    free(ptr);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaStream_t stream)
{
    (void)stream; /* usable at once, which is earlier than asked for */
    return allocate(ptr, size, 512, DEVICE, 0);
}

static void free_device(void *ptr)
{
    if (forget(ptr, DEVICE, MANAGED))
        free(ptr);
}

cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
    struct ex_op *op;
    bool good;

    if (!ptr)
        return cudaSuccess;
    pthread_mutex_lock(&lock);
    good = find(ptr) && find(ptr)->low == (uintptr_t)ptr && find(ptr)->kind == DEVICE;
    pthread_mutex_unlock(&lock);
    if (!good)
        return ex_error(cudaErrorInvalidValue);
    op = ex_op_create(EX_OP_CALL);
    if (op) {
        op->call = free_device;
        op->arg = ptr;
    }
    return ex_stream_submit(stream, op);
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    cudaError_t error;

    if (!ptr || !size || flags & ~15u)
        return ex_error(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    error = insert(ptr, size, REGISTERED, flags);
    pthread_mutex_unlock(&lock);
    return ex_error(error);
}

cudaError_t cudaHostUnregister(void *ptr)
{
    if (!ptr)
        return ex_error(cudaErrorInvalidValue);
    return forget(ptr, REGISTERED, REGISTERED) ? cudaSuccess : ex_error(cudaErrorHostMemoryNotRegistered);
}

static bool lookup(const void *ptr, struct range *out)
{
    const struct range *range;

    pthread_mutex_lock(&lock);
    range = find(ptr);
    if (range)
        *out = *range;
    pthread_mutex_unlock(&lock);
    return range != NULL;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    struct range range;

    if (!device || flags || !lookup(host, &range) || range.kind == DEVICE)
        return ex_error(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host)
{
    struct range range;

    if (!flags || !lookup(host, &range) || range.kind == DEVICE || range.kind == MANAGED)
        return ex_error(cudaErrorInvalidValue);
    *flags = range.flags;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    static const enum cudaMemoryType types[] = {
        [DEVICE] = cudaMemoryTypeDevice,
        [HOST] = cudaMemoryTypeHost,
        [MANAGED] = cudaMemoryTypeManaged,
        [REGISTERED] = cudaMemoryTypeHost,
    };
    struct range range;

    if (!attributes)
        return ex_error(cudaErrorInvalidValue);
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = -2};
    if (!lookup(ptr, &range)) {
        attributes->hostPointer = (void *)(uintptr_t)ptr;
        return cudaSuccess;
    }
    attributes->type = types[range.kind];
    attributes->device = 0;
    attributes->devicePointer = (void *)(uintptr_t)ptr;
    attributes->hostPointer = range.kind == DEVICE ? NULL : (void *)(uintptr_t)ptr;
    return cudaSuccess;
}

static struct ex_op *copy_op(void *dst, const void *src, size_t size)
{
    struct ex_op *op = ex_op_create(EX_OP_COPY);

    if (op) {
        op->dst = dst;
        op->src = src;
        op->size = size;
    }
    return op;
}

static bool bad_copy(const void *dst, const void *src, size_t size, enum cudaMemcpyKind kind)
{
    return (size && (!dst || !src)) || (unsigned)kind > cudaMemcpyDefault;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind)
{
    if (bad_copy(dst, src, size, kind))
        return ex_error(cudaErrorInvalidValue);
    return ex_stream_run(NULL, copy_op(dst, src, size));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (bad_copy(dst, src, size, kind))
        return ex_error(cudaErrorInvalidValue);
    return ex_stream_submit(stream, copy_op(dst, src, size));
}

static struct ex_op *set_op(void *dst, int value, size_t size)
{
    struct ex_op *op = ex_op_create(EX_OP_SET);

    if (op) {
        op->dst = dst;
        op->value = value;
        op->size = size;
    }
    return op;
}

cudaError_t cudaMemset(void *dst, int value, size_t size)
{
    if (size && !dst)
        return ex_error(cudaErrorInvalidValue);
    return ex_stream_run(NULL, set_op(dst, value, size));
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t size, cudaStream_t stream)
{
    if (size && !dst)
        return ex_error(cudaErrorInvalidValue);
    return ex_stream_submit(stream, set_op(dst, value, size));
}
