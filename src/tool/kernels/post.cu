/* SPDX-License-Identifier: Apache-2.0 */
/* Posting rate: the whole device path of a put, availability check skipped, into a ring that no NIC reads. */
#include "common.cuh"

template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing, enum doca_gpu_dev_verbs_exec_scope scope>
__global__ void post_kernel(struct gdaki_kernel_args a)
{
    struct doca_gpu_dev_verbs_qp *qp = &a.qps[tool_queue(a)];
    struct doca_gpu_dev_verbs_addr raddr = tool_addr(a.raddr, a.rkey_be), laddr = tool_addr(a.laddr, a.lkey_be);
    uint64_t done = 0;

    tool_begin(a);
    for (uint64_t i = tool_thread(); i < a.iterations; i += tool_threads()) {
        doca_gpu_dev_verbs_ticket_t ticket;
        uint64_t begun = (uint64_t)clock64();

        doca_gpu_dev_verbs_put<sharing, TOOL_HANDLER, scope>(qp, raddr, laddr, a.size, &ticket,
                                                             DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_AVAILABILITY_CHECK);
        tool_sample(a, done++, (uint64_t)clock64() - begun);
    }
    tool_end(a, done);
}

int tool_launch_post(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                     cudaStream_t stream)
{
#define LAUNCH_POST(sharing, scope) post_kernel<sharing, scope><<<ctas, threads, 0, stream>>>(*args)
    if (kernel != GDAKI_KERNEL_POST)
        return -EINVAL;
    TOOL_DISPATCH(args->sharing, args->scope, LAUNCH_POST);
    return 0;
}
