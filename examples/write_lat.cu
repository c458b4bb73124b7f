/* SPDX-License-Identifier: Apache-2.0 */
/* Ping-pong between two kernels: each waits for the other's write, then answers. Half a round trip is the latency. */
#include <cuda_runtime.h>

#include "doca_gpunetio_device.h"

#include "end.h"

static const uint64_t PATIENCE_NS = 60000000000ull; /* far beyond any hop */

/* A byte that never comes, since the other end's queue has failed, is no completion of ours: so the wait has a bound. */
__device__ bool arrives(uint8_t *last, uint8_t sequence)
{
    uint64_t began = 0;

    for (unsigned looks = 1; doca_gpu_dev_verbs_load_relaxed_sys_global(last) != sequence; looks++) {
        if (looks % 4096 != 0) /* the clock would cost more than the look */
            continue;
        if (began == 0)
            began = doca_gpu_dev_verbs_query_globaltimer();
        else if (doca_gpu_dev_verbs_query_globaltimer() - began > PATIENCE_NS)
            return false;
    }
    return true;
}

/* The message's last byte counts. Messages go from the first half of the memory to the second half at the other end. */
__global__ void write_lat(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                          struct doca_gpu_dev_verbs_addr laddr, uint8_t *inbox, unsigned size, unsigned iterations,
                          bool first, uint64_t *times, int *status)
{
    uint8_t *last_out = (uint8_t *)laddr.addr + size - 1, *last_in = inbox + size - 1;

    times[0] = doca_gpu_dev_verbs_query_globaltimer();
    for (unsigned i = 1; i <= iterations; i++) {
        uint8_t sequence = (uint8_t)i;

        if (!first && !arrives(last_in, sequence)) {
            *status = 3;
            return;
        }
        *(volatile uint8_t *)last_out = sequence;

        uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(qp, 1);
        struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);

        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
                                             DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, raddr.addr, raddr.key, laddr.addr,
                                             laddr.key, size);
        /* The message lies in host memory, so the release before the doorbell is a system-wide one. */
        doca_gpu_dev_verbs_submit<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE,
                                  DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(qp, index + 1);
        if (doca_gpu_dev_verbs_poll_cq_at<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(
                doca_gpu_dev_verbs_qp_get_cq_sq(qp), index) != 0) {
            *status = 3;
            return;
        }
        if (first && !arrives(last_in, sequence)) {
            *status = 3;
            return;
        }
    }
    times[1] = doca_gpu_dev_verbs_query_globaltimer();
    *status = 0;
}

int main(int argc, char **argv)
{
    example::options defaults;
    defaults.size = 8;
    example::options o = example::parse(argc, argv, defaults);
    const size_t half = (o.size + 63) / 64 * 64;

    auto play = [&](int channel, bool first) {
        example::end e(o, channel, first, 2 * half + 64);
        uint8_t *inbox = (uint8_t *)e.data + half, *inbox_cpu = (uint8_t *)e.cpu + half;
        uint64_t *times = (uint64_t *)((uint8_t *)e.cpu + 2 * half);

        example::fill(e.cpu, o.size, first ? 3 : 4);
        example::meet(channel); /* both inboxes are empty and watched from here on */
        write_lat<<<1, 1, 0, e.stream>>>(e.qp, e.there(half), e.here(), inbox, (unsigned)o.size, o.iterations, first, times,
                                         e.status);
        int status = e.finish();

        if (status == 0 && first)
            printf("%u round trips of %zu bytes: %.3f us one way\n", o.iterations, o.size,
                   (double)(times[1] - times[0]) / 1e3 / o.iterations / 2);
        example::meet(channel);
        if (status == 0 && inbox_cpu[o.size - 1] != (uint8_t)o.iterations) {
            fprintf(stderr, "error: the last message counts %u, expected %u\n", inbox_cpu[o.size - 1],
                    (uint8_t)o.iterations);
            status = 1;
        }
        if (status == 0)
            status = example::verify(inbox_cpu, o.size - 1, first ? 4 : 3);
        example::meet(channel);
        return status;
    };
    return example::run(o, [&](int channel) { return play(channel, true); },
                        [&](int channel) { return play(channel, false); });
}
