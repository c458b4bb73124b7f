/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launching, and shared memory. gdaki-nvcc writes, on the same line,
 *   k<<<grid, block, shared, stream>>>(args)   as   ::gdaki_cpu::on(grid, block, shared, stream).kernel("k", lambda)(args)
 *   __shared__ T a[N];                         as   a local struct with that member, and a reference to the block's copy
 *   extern __shared__ T a[];                   as   a reference to the block's dynamic shared memory
 */
#ifndef GDAKI_CPU_KERNEL_HPP
#define GDAKI_CPU_KERNEL_HPP
#pragma GCC system_header

#include <string.h>

#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gdaki_cpu_launch.h"

namespace gdaki_cpu
{
template <class F, class... A>
struct closure {
    F kernel;
    std::tuple<A...> args; /* each thread's parameters are copied from here */

    static void run(void *self)
    {
        const closure *c = static_cast<const closure *>(self);

        std::apply(c->kernel, c->args);
    }
    static void destroy(void *self)
    {
        delete static_cast<closure *>(self);
    }
};

template <class F>
struct launcher {
    gdaki_cpu_launch_config config;
    const char *name;
    F kernel;

    template <class... A>
    cudaError_t operator()(A &&...args) const
    {
        using type = closure<F, std::decay_t<A>...>;
        type *c = new (std::nothrow) type{kernel, std::tuple<std::decay_t<A>...>(std::forward<A>(args)...)};

        if (!c)
            return cudaErrorMemoryAllocation;
        return static_cast<cudaError_t>(gdaki_cpu_launch(&config, name, type::run, type::destroy, c));
    }
};

struct configured {
    gdaki_cpu_launch_config config;

    template <class F>
    launcher<F> kernel(const char *name, F f) const
    {
        return {config, name, f};
    }
};

inline configured on(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0)
{
    return {{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream}};
}

/* The block's copy of the variables in T, one struct type for each __shared__ declaration. */
template <class T>
inline T &shared()
{
    static unsigned slot; /* the declaration's number */
    static_assert(sizeof(T) <= 48 * 1024, "more than 48 KiB of static shared memory");
    const gdaki_cpu_block_view *block = gdaki_cpu_tls.thread->block;
    unsigned number = __atomic_load_n(&slot, __ATOMIC_RELAXED);

    if (__builtin_expect(number && number < block->nslots && block->slots[number], 1))
        return *static_cast<T *>(block->slots[number]);
    return *static_cast<T *>(gdaki_cpu_shared_get(&slot, sizeof(T), alignof(T)));
}

/* The block's dynamic shared memory, as an array of T. */
template <class T>
inline T &dynamic_shared()
{
    return *reinterpret_cast<T *>(gdaki_cpu_tls.thread->block->dynamic_shared);
}
} // namespace gdaki_cpu

namespace gdaki_cpu
{
template <class... P, size_t... I>
inline cudaError_t launch_array(void (*kernel)(P...), const configured &config, void **args, std::index_sequence<I...>)
{
    (void)args;
    return config.kernel("(launched by cudaLaunchKernel)", [kernel](const auto &...a) { kernel(a...); })(
        *static_cast<std::remove_reference_t<P> *>(args[I])...);
}
} // namespace gdaki_cpu

/* The kernel's type must be known: gdaki-nvcc takes a cast to void * off the first argument. */
template <class... P>
inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **args, size_t shared = 0,
                                    cudaStream_t stream = 0)
{
    return gdaki_cpu::launch_array(kernel, gdaki_cpu::on(grid, block, shared, stream), args, std::index_sequence_for<P...>());
}

/* All blocks are resident at once as long as they fit the device, which is what a grid-wide barrier needs. */
template <class... P>
inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **args, size_t shared = 0,
                                               cudaStream_t stream = 0)
{
    if ((uint64_t)grid.x * grid.y * grid.z * block.x * block.y * block.z > 65536)
        return cudaErrorCooperativeLaunchTooLarge;
    return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

template <class F>
inline cudaError_t cudaFuncSetAttribute(F *, enum cudaFuncAttribute attribute, int value)
{
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && (value < 0 || value > 227 * 1024))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

template <class F>
inline cudaError_t cudaFuncSetCacheConfig(F *, enum cudaFuncCache)
{
    return cudaSuccess;
}

template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F *, int threads, size_t shared)
{
    if (!blocks || threads <= 0 || threads > 1024 || shared > 227 * 1024)
        return cudaErrorInvalidValue;
    *blocks = min(32, 2048 / threads);
    return cudaSuccess;
}

template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, F *, size_t = 0, int limit = 0)
{
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = 65536 / *block;
    return cudaSuccess;
}

template <class T>
inline cudaError_t cudaMemcpyToSymbol(T &symbol, const void *src, size_t size, size_t offset = 0,
                                      enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    if (offset + size > sizeof(T))
        return cudaErrorInvalidValue;
    return cudaMemcpy((char *)(void *)&symbol + offset, src, size, kind);
}

template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t size, size_t offset = 0,
                                        enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    if (offset + size > sizeof(T))
        return cudaErrorInvalidValue;
    return cudaMemcpy(dst, (const char *)(const void *)&symbol + offset, size, kind);
}

template <class T>
inline cudaError_t cudaGetSymbolAddress(void **ptr, const T &symbol)
{
    *ptr = (void *)(uintptr_t)&symbol;
    return cudaSuccess;
}

/* Typed pointers, as the runtime's own C++ overloads take them. */
template <class T>
inline cudaError_t cudaMalloc(T **ptr, size_t size)
{
    return cudaMalloc((void **)(void *)ptr, size);
}

template <class T>
inline cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned flags = cudaHostAllocDefault)
{
    return cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T>
inline cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned flags)
{
    return cudaHostAlloc((void **)(void *)ptr, size, flags);
}

template <class T>
inline cudaError_t cudaMallocManaged(T **ptr, size_t size, unsigned flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged((void **)(void *)ptr, size, flags);
}

template <class T>
inline cudaError_t cudaMallocAsync(T **ptr, size_t size, cudaStream_t stream)
{
    return cudaMallocAsync((void **)(void *)ptr, size, stream);
}

template <class T>
inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags)
{
    return cudaHostGetDevicePointer((void **)(void *)device, host, flags);
}

inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags);
}

#endif
