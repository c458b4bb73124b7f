/* SPDX-License-Identifier: Apache-2.0 */
/* put and get in a grid-stride loop: bandwidth with a window, latency with window 1. */
#include "common.cuh"

/* Inline put of 1, 2, 4 or 8 bytes; the value is what lies in the local buffer. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_exec_scope scope>
__device__ static __forceinline__ void put_inline(struct doca_gpu_dev_verbs_qp *qp,
                                                  struct doca_gpu_dev_verbs_addr raddr, uint64_t laddr, uint64_t size,
                                                  doca_gpu_dev_verbs_ticket_t *ticket)
{
    if (size == 8)
        doca_gpu_dev_verbs_p<uint64_t, sharing, TOOL_HANDLER, scope>(qp, raddr, *(const uint64_t *)laddr, ticket);
    else if (size == 4)
        doca_gpu_dev_verbs_p<uint32_t, sharing, TOOL_HANDLER, scope>(qp, raddr, *(const uint32_t *)laddr, ticket);
    else if (size == 2)
        doca_gpu_dev_verbs_p<uint16_t, sharing, TOOL_HANDLER, scope>(qp, raddr, *(const uint16_t *)laddr, ticket);
    else
        doca_gpu_dev_verbs_p<uint8_t, sharing, TOOL_HANDLER, scope>(qp, raddr, *(const uint8_t *)laddr, ticket);
}

template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_exec_scope scope, bool get>
__device__ static __forceinline__ void post_one(const struct gdaki_kernel_args &a, struct doca_gpu_dev_verbs_qp *qp,
                                                uint64_t offset, doca_gpu_dev_verbs_ticket_t *ticket)
{
    struct doca_gpu_dev_verbs_addr raddr = tool_addr(a.raddr + offset, a.rkey_be);
    struct doca_gpu_dev_verbs_addr laddr = tool_addr(a.laddr + offset, a.lkey_be);

    if (get)
        doca_gpu_dev_verbs_get<sharing, TOOL_HANDLER, scope>(qp, raddr, laddr, a.size, laddr, ticket);
    else if (a.size <= a.inline_max)
        put_inline<sharing, scope>(qp, raddr, laddr.addr, a.size, ticket);
    else
        doca_gpu_dev_verbs_put<sharing, TOOL_HANDLER, scope>(qp, raddr, laddr, a.size, ticket);
}

/* The host makes iterations a multiple of 32 at warp scope, so that whole warps leave the loop together. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_exec_scope scope, bool get>
__global__ void onesided_kernel(struct gdaki_kernel_args a)
{
    struct doca_gpu_dev_verbs_qp *qp = &a.qps[tool_queue(a)];
    uint64_t done = 0, taken = 0, begun = 0;
    uint32_t posted = 0;

    tool_begin(a);
    for (uint64_t i = tool_thread(); i < a.iterations; i += tool_threads()) {
        bool last = ++posted == a.window || i + tool_threads() >= a.iterations;
        doca_gpu_dev_verbs_ticket_t ticket = 0;
        int rc;

        if (last)
            begun = (uint64_t)clock64();
        post_one<sharing, scope, get>(a, qp, (i & (a.slots - 1)) * a.stride, &ticket);
        if (!last)
            continue;
        rc = tool_wait<sharing>(a, qp, ticket);
        if (rc) {
            tool_fail(a, rc, i);
            break;
        }
        tool_sample(a, taken++, (uint64_t)clock64() - begun);
        done += posted;
        posted = 0;
    }
    tool_end(a, done);
}

int tool_launch_onesided(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads,
                         const struct gdaki_kernel_args *args, cudaStream_t stream)
{
#define LAUNCH_PUT(sharing, scope) onesided_kernel<sharing, scope, false><<<ctas, threads, 0, stream>>>(*args)
#define LAUNCH_GET(sharing, scope) onesided_kernel<sharing, scope, true><<<ctas, threads, 0, stream>>>(*args)
    if (kernel == GDAKI_KERNEL_PUT)
        TOOL_DISPATCH(args->sharing, args->scope, LAUNCH_PUT);
    else if (kernel == GDAKI_KERNEL_GET)
        TOOL_DISPATCH(args->sharing, args->scope, LAUNCH_GET);
    else
        return -EINVAL;
    return 0;
}
