/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA writes whose WQEs the kernel builds by hand: each thread reserves a slot and fills it, the last thread of the block
 * announces all of them and waits for the last one. One warp: its reservations are in lane order, so that the last
 * thread's index is the highest. (With several warps it need not be; then one thread reserves for all.)
 */
#include <cuda_runtime.h>

#include "doca_gpunetio_device.h"

#include "end.h"

__global__ void write_bw(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                         struct doca_gpu_dev_verbs_addr laddr, unsigned size, unsigned iterations, int *status)
{
    __shared__ int failed;

    if (threadIdx.x == 0)
        failed = 0;
    __syncthreads();
    for (unsigned i = 0; i < iterations; i++) {
        uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots(qp, 1);
        struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);
        uint64_t offset = (uint64_t)threadIdx.x * size;

        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
                                             DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, raddr.addr + offset, raddr.key,
                                             laddr.addr + offset, laddr.key, size);
        __syncthreads(); /* every WQE is written */
        if (threadIdx.x == blockDim.x - 1) {
            doca_gpu_dev_verbs_submit(qp, index + 1);
            if (doca_gpu_dev_verbs_poll_cq_at(doca_gpu_dev_verbs_qp_get_cq_sq(qp), index) != 0)
                failed = 1;
        }
        __syncthreads();
        if (failed)
            break;
    }
    if (threadIdx.x == 0)
        *status = failed ? 3 : 0;
}

int main(int argc, char **argv)
{
    example::options defaults;
    defaults.iterations = 128;
    example::options o = example::parse(argc, argv, defaults);
    const size_t bytes = o.threads * o.size;

    if (o.threads > 32 || o.depth < o.threads) {
        fprintf(stderr, "error: -t %u, --depth %u: expected one warp at most, and a slot for each thread\n", o.threads,
                o.depth);
        return 2;
    }
    auto client = [&](int channel) {
        example::end e(o, channel, true, bytes);

        example::fill(e.cpu, bytes, 2);
        write_bw<<<1, o.threads, 0, e.stream>>>(e.qp, e.there(), e.here(), (unsigned)o.size, o.iterations, e.status);
        int status = e.finish();

        example::meet(channel);
        example::meet(channel);
        return status;
    };
    auto server = [&](int channel) {
        example::end e(o, channel, false, bytes);

        example::meet(channel);
        int status = example::verify(e.cpu, bytes, 2);
        example::meet(channel);
        return status;
    };
    return example::run(o, client, server);
}
