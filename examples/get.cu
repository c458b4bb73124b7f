/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel reads a buffer of the other end. The dump behind the reads makes sure that all of it has arrived. */
#include <cuda_runtime.h>

#include "doca_gpunetio_device.h"

#include "end.h"

__global__ void get(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                    struct doca_gpu_dev_verbs_addr laddr, size_t size, unsigned count, int *status)
{
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    bool posted = false;
    int rc = 0;

    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
        struct doca_gpu_dev_verbs_addr from = raddr, to = laddr;

        from.addr += i * size;
        to.addr += i * size;
        doca_gpu_dev_verbs_get<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>(qp, from, to, size, laddr, &ticket);
        posted = true;
    }
    if (posted)
        rc = doca_gpu_dev_verbs_get_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO,
                                         DOCA_GPUNETIO_VERBS_MCST_ENABLED>(qp, laddr, ticket);
    if (rc != 0)
        atomicExch(status, 3);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicCAS(status, -1, 0);
}

int main(int argc, char **argv)
{
    example::options defaults;
    defaults.iterations = 256;
    example::options o = example::parse(argc, argv, defaults);
    const size_t bytes = o.iterations * o.size;

    auto client = [&](int channel) {
        example::end e(o, channel, true, bytes);

        example::meet(channel); /* the other end has filled its memory */
        get<<<1, o.threads, 0, e.stream>>>(e.qp, e.there(), e.here(), o.size, o.iterations, e.status);
        int status = e.finish();

        if (status == 0)
            status = example::verify(e.cpu, bytes, 5);
        example::meet(channel);
        return status;
    };
    auto server = [&](int channel) {
        example::end e(o, channel, false, bytes);

        example::fill(e.cpu, bytes, 5);
        example::meet(channel);
        example::meet(channel);
        return 0;
    };
    return example::run(o, client, server);
}
