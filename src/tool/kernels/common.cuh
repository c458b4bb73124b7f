/* SPDX-License-Identifier: Apache-2.0 */
/* Device helpers of the tool's kernels: timing, bounded waits, the choice of a queue, template dispatch. */
#ifndef GDAKI_TOOL_KERNELS_COMMON_CUH
#define GDAKI_TOOL_KERNELS_COMMON_CUH

#include <errno.h>
#include <stdint.h>

#include <cuda_runtime.h>

#include "doca_gpunetio_device.h"

#include "abi.h"

typedef unsigned long long tool_u64; /* what CUDA's 64-bit atomics take */

#define TOOL_SHARING_EXCLUSIVE DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE
#define TOOL_SHARING_CTA DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA
#define TOOL_SHARING_GPU DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define TOOL_HANDLER DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO /* the queue's own, chosen when it was exported */

/* Once a turn of a waiting loop: on the executor other fibers and the NIC go on, a GPU needs nothing. */
__device__ static __forceinline__ void tool_relax()
{
#ifdef GDAKI_CPU
    gdaki_cpu_relax();
#endif
}

__device__ static __forceinline__ uint32_t tool_thread()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static __forceinline__ uint32_t tool_threads()
{
    return gridDim.x * blockDim.x;
}

/* A thread's queue: its own, its block's, or one that warps share evenly, so that a warp never splits over queues. */
__device__ static __forceinline__ uint32_t tool_queue(const struct gdaki_kernel_args &a)
{
    uint32_t warps_per_block = (blockDim.x + 31) / 32;
    uint32_t warp = blockIdx.x * warps_per_block + threadIdx.x / 32;

    if (a.sharing == GDAKI_SHARING_CTA)
        return blockIdx.x % a.nqps;
    if (a.sharing == GDAKI_SHARING_EXCLUSIVE && a.scope == GDAKI_SCOPE_THREAD)
        return tool_thread() % a.nqps;
    return warp % a.nqps;
}

__device__ static __forceinline__ void tool_begin(const struct gdaki_kernel_args &a)
{
    uint64_t now = doca_gpu_dev_verbs_query_globaltimer();

    atomicMin((tool_u64 *)&a.result->start_ns, (tool_u64)now);
    if (tool_thread() == 0) {
        a.result->timer_begin = now;
        a.result->clock_begin = (uint64_t)clock64();
    }
}

__device__ static __forceinline__ void tool_end(const struct gdaki_kernel_args &a, uint64_t done)
{
    uint64_t now = doca_gpu_dev_verbs_query_globaltimer();

    if (tool_thread() == 0) {
        a.result->timer_end = now;
        a.result->clock_end = (uint64_t)clock64();
    }
    atomicMax((tool_u64 *)&a.result->end_ns, (tool_u64)now);
    atomicAdd((tool_u64 *)&a.result->done, (tool_u64)done);
}

/* Keeps the first failure of the launch. */
__device__ static __forceinline__ void tool_fail(const struct gdaki_kernel_args &a, int error, uint64_t operation)
{
    if (atomicCAS(&a.result->error, 0, error) == 0) {
        a.result->error_at = operation;
        a.result->error_thread = tool_thread();
    }
}

__device__ static __forceinline__ void tool_sample(const struct gdaki_kernel_args &a, uint64_t number, uint64_t ticks)
{
    if (a.samples)
        a.samples[(uint64_t)tool_thread() * a.sample_cap + number % a.sample_cap] = ticks;
}

/* A deadline that costs a timer read only every so many turns. */
struct tool_patience {
    uint64_t limit_ns, since;
    uint32_t turns;

    __device__ __forceinline__ explicit tool_patience(uint64_t limit) : limit_ns(limit), since(0), turns(0) {}

    __device__ __forceinline__ bool over()
    {
        tool_relax();
        return late();
    }

    /* After a look that has given way by itself. */
    __device__ __forceinline__ bool late()
    {
        uint64_t now;

        if (++turns & 255)
            return false;
        now = doca_gpu_dev_verbs_query_globaltimer();
        if (!since)
            since = now;
        return now - since > limit_ns;
    }
};

/* Waits for the completion of WQE `ticket`: 0, -EIO (error CQE), -ETIMEDOUT. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing>
__device__ static __forceinline__ int tool_wait(const struct gdaki_kernel_args &a, struct doca_gpu_dev_verbs_qp *qp,
                                                uint64_t ticket)
{
    struct tool_patience patience(a.timeout_ns);
    int rc;

    for (;;) {
        rc = doca_gpu_dev_verbs_poll_one_cq_at<sharing>(doca_gpu_dev_verbs_qp_get_cq_sq(qp), ticket);
        if (rc != EBUSY)
            return rc;
        if (patience.late())
            return -ETIMEDOUT;
    }
}

__device__ static __forceinline__ struct doca_gpu_dev_verbs_addr tool_addr(uint64_t address, uint32_t key_be)
{
    struct doca_gpu_dev_verbs_addr addr = {};

    addr.addr = address;
    addr.key = key_be;
    return addr;
}

/* Calls `launch<sharing, scope>` for run-time values; the scope is a template parameter of type int. */
#define TOOL_DISPATCH(sharing, scope, LAUNCH)                                                                          \
    do {                                                                                                               \
        if ((scope) == GDAKI_SCOPE_WARP) {                                                                             \
            if ((sharing) == GDAKI_SHARING_EXCLUSIVE)                                                                  \
                LAUNCH(TOOL_SHARING_EXCLUSIVE, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP);                                   \
            else if ((sharing) == GDAKI_SHARING_CTA)                                                                   \
                LAUNCH(TOOL_SHARING_CTA, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP);                                         \
            else                                                                                                       \
                LAUNCH(TOOL_SHARING_GPU, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP);                                         \
        } else {                                                                                                       \
            if ((sharing) == GDAKI_SHARING_EXCLUSIVE)                                                                  \
                LAUNCH(TOOL_SHARING_EXCLUSIVE, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD);                                 \
            else if ((sharing) == GDAKI_SHARING_CTA)                                                                   \
                LAUNCH(TOOL_SHARING_CTA, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD);                                       \
            else                                                                                                       \
                LAUNCH(TOOL_SHARING_GPU, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD);                                       \
        }                                                                                                              \
    } while (0)

/* Each .cu offers its launches to runtime.cu; 0 or -EINVAL for a kernel that is not its own. */
int tool_launch_onesided(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads,
                         const struct gdaki_kernel_args *args, cudaStream_t stream);
int tool_launch_write(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                      cudaStream_t stream);
int tool_launch_ping(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                     cudaStream_t stream);
int tool_launch_post(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                     cudaStream_t stream);
int tool_launch_floor(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                      cudaStream_t stream);

#endif
