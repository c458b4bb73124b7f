/* SPDX-License-Identifier: Apache-2.0 */
/* Host part of a kernel object: the table that the tool calls. Written against the CUDA runtime API, real or shim. */
#include <string.h>

#include "common.cuh"

static thread_local char last_error[256];

static int failed(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return 0;
    (void)cudaGetLastError();
    strncpy(last_error, what, sizeof(last_error) - 1);
    strncat(last_error, ": ", sizeof(last_error) - strlen(last_error) - 1);
    strncat(last_error, cudaGetErrorString(error), sizeof(last_error) - strlen(last_error) - 1);
    return error == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

static int runtime_open(int device)
{
    int rc = failed(cudaSetDevice(device), "cudaSetDevice");

    /* Creates the context; with CUDA_MODULE_LOADING=EAGER, set by the tool, every kernel is loaded with it. */
    return rc ? rc : failed(cudaFree(0), "cudaFree(0)");
}

static int runtime_stream_create(void **stream)
{
    cudaStream_t s = 0;
    int rc = failed(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");

    *stream = (void *)s;
    return rc;
}

static int runtime_stream_destroy(void *stream)
{
    return failed(cudaStreamDestroy((cudaStream_t)stream), "cudaStreamDestroy");
}

static int runtime_stream_query(void *stream)
{
    cudaError_t error = cudaStreamQuery((cudaStream_t)stream);

    return error == cudaErrorNotReady ? -EAGAIN : failed(error, "kernel");
}

static int runtime_launch(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads,
                          const struct gdaki_kernel_args *args, void *stream)
{
    typedef int launch_fn(enum gdaki_kernel, uint32_t, uint32_t, const struct gdaki_kernel_args *, cudaStream_t);
    static launch_fn *const launches[] = {tool_launch_onesided, tool_launch_write, tool_launch_ping, tool_launch_post,
                                          tool_launch_floor};

    for (launch_fn *launch : launches) {
        if (launch(kernel, ctas, threads, args, (cudaStream_t)stream) == 0)
            return failed(cudaGetLastError(), "kernel launch");
    }
    strncpy(last_error, "kernel launch: no such kernel or shape", sizeof(last_error) - 1);
    return -EINVAL;
}

static int runtime_device_alloc(size_t size, void **ptr)
{
    return failed(cudaMalloc(ptr, size), "cudaMalloc");
}

static int runtime_device_free(void *ptr)
{
    return failed(cudaFree(ptr), "cudaFree");
}

static int runtime_host_alloc(size_t size, void **ptr)
{
    return failed(cudaHostAlloc(ptr, size, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
}

static int runtime_host_free(void *ptr)
{
    return failed(cudaFreeHost(ptr), "cudaFreeHost");
}

static int runtime_copy(void *dst, const void *src, size_t size, void *stream)
{
    int rc = failed(cudaMemcpyAsync(dst, src, size, cudaMemcpyDefault, (cudaStream_t)stream), "cudaMemcpyAsync");

    return rc ? rc : failed(cudaStreamSynchronize((cudaStream_t)stream), "cudaStreamSynchronize");
}

static const char *runtime_error_text(void)
{
    return last_error;
}

static struct gdaki_kernels make_table(void)
{
    struct gdaki_kernels table;

    table.abi = GDAKI_KERNELS_ABI;
#ifdef GDAKI_CPU
    table.backend = "cpu";
#else
    table.backend = "cuda";
#endif
    table.open = runtime_open;
    table.stream_create = runtime_stream_create;
    table.stream_destroy = runtime_stream_destroy;
    table.stream_query = runtime_stream_query;
    table.launch = runtime_launch;
    table.device_alloc = runtime_device_alloc;
    table.device_free = runtime_device_free;
    table.host_alloc = runtime_host_alloc;
    table.host_free = runtime_host_free;
    table.copy = runtime_copy;
    table.error_text = runtime_error_text;
    return table;
}

/* Both ends of a local run ask for it at once. */
extern "C" __attribute__((visibility("default"))) const struct gdaki_kernels *gdaki_kernels_get(void)
{
    static const struct gdaki_kernels table = make_table();

    return &table;
}
