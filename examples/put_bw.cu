/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel writes a buffer to the other end with one-sided puts, from many threads that share one queue. */
#include <cuda_runtime.h>

#include "doca_gpunetio_device.h"

#include "end.h"

/* Message i goes from and to slot i of the buffer. Every thread waits for the last message that it posted. */
template <enum doca_gpu_dev_verbs_exec_scope scope>
__global__ void put_bw(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                       struct doca_gpu_dev_verbs_addr laddr, size_t size, unsigned slots, unsigned iterations,
                       uint64_t *times, int *status)
{
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    bool posted = false;

    if (threadIdx.x == 0)
        times[0] = doca_gpu_dev_verbs_query_globaltimer();
    for (unsigned i = threadIdx.x; i < iterations; i += blockDim.x) {
        struct doca_gpu_dev_verbs_addr to = raddr, from = laddr;

        to.addr += (i % slots) * size;
        from.addr += (i % slots) * size;
        doca_gpu_dev_verbs_put<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, scope>(
            qp, to, from, size, &ticket);
        posted = true;
    }
    if (posted && doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU>(qp, ticket) != 0)
        atomicExch(status, 3);
    __syncthreads();
    if (threadIdx.x == 0) {
        times[1] = doca_gpu_dev_verbs_query_globaltimer();
        atomicCAS(status, -1, 0);
    }
}

int main(int argc, char **argv)
{
    example::options o = example::parse(argc, argv);
    const unsigned slots = 64;
    const size_t bytes = slots * o.size + 64;

    if (o.warp && (o.threads % 32 || o.iterations % 32)) {
        fprintf(stderr, "error: --warp: -t %u and -n %u must be multiples of 32\n", o.threads, o.iterations);
        return 2;
    }
    if (o.iterations < slots) {
        fprintf(stderr, "error: -n %u: expected at least %u, one message for each slot\n", o.iterations, slots);
        return 2;
    }
    auto client = [&](int channel) {
        example::end e(o, channel, true, bytes);
        uint64_t *times = (uint64_t *)((uint8_t *)e.cpu + slots * o.size / 8 * 8 + 8);

        example::fill(e.cpu, slots * o.size, 1);
        if (o.warp)
            put_bw<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>
                <<<1, o.threads, 0, e.stream>>>(e.qp, e.there(), e.here(), o.size, slots, o.iterations, times, e.status);
        else
            put_bw<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>
                <<<1, o.threads, 0, e.stream>>>(e.qp, e.there(), e.here(), o.size, slots, o.iterations, times, e.status);
        int status = e.finish();
        double seconds = (double)(times[1] - times[0]) / 1e9;

        if (status == 0)
            printf("%u puts of %zu bytes in %.6f s: %.0f messages/s, %.3f GB/s\n", o.iterations, o.size, seconds,
                   o.iterations / seconds, (double)o.iterations * (double)o.size / seconds / 1e9);
        example::meet(channel);
        example::meet(channel); /* the other end has looked at its memory */
        return status;
    };
    auto server = [&](int channel) {
        example::end e(o, channel, false, bytes);

        example::meet(channel);
        int status = example::verify(e.cpu, slots * o.size, 1);
        example::meet(channel);
        return status;
    };
    return example::run(o, client, server);
}
