/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Producer and consumer, a kernel each: a put carries the data, the atomic behind it tells the other kernel that the data
 * is there. The consumer checks each message on its GPU and gives the slot back with a signal of its own.
 */
#include <cuda_runtime.h>

#include "doca_gpunetio_device.h"

#include "end.h"

static const uint64_t PATIENCE_NS = 60000000000ull; /* far beyond any hop */

/*
 * Memory at each end: message, then (at `control`) flag at 0, scratch for atomics' old values at 8. A flag that never comes,
 * since the other end's queue has failed, is no completion of ours: so the wait has a bound. False: nobody set it.
 */
__device__ bool wait_for(const struct doca_gpu_dev_verbs_addr &flag, uint64_t value)
{
    const uint64_t began = doca_gpu_dev_verbs_query_globaltimer();

    while (doca_gpu_dev_verbs_load_relaxed_sys_global((uint64_t *)flag.addr) < value) {
        if (doca_gpu_dev_verbs_query_globaltimer() - began > PATIENCE_NS)
            return false;
    }
    doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>(); /* data after its flag */
    return true;
}

__global__ void produce(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                        struct doca_gpu_dev_verbs_addr laddr, size_t size, size_t control, unsigned count, int *status)
{
    struct doca_gpu_dev_verbs_addr flag = raddr, scratch = laddr, own_flag = laddr;
    uint64_t *words = (uint64_t *)laddr.addr;

    flag.addr += control;
    scratch.addr += control + 8;
    own_flag.addr += control;
    for (unsigned i = 1; i <= count; i++) {
        doca_gpu_dev_verbs_ticket_t ticket;

        for (size_t w = 0; w < size / 8; w++)
            words[w] = (uint64_t)i << 32 | w;
        doca_gpu_dev_verbs_put_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD,
                                      DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(qp, raddr, laddr, size, flag,
                                                                                           scratch, 1, &ticket);
        if (doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(qp, ticket) != 0) {
            *status = 3;
            return;
        }
        if (!wait_for(own_flag, i)) { /* the consumer is done with it */
            *status = 3;
            return;
        }
    }
    *status = 0;
}

__global__ void consume(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                        struct doca_gpu_dev_verbs_addr laddr, size_t size, size_t control, unsigned count, int *status)
{
    struct doca_gpu_dev_verbs_addr flag = raddr, scratch = laddr, own_flag = laddr;
    volatile uint64_t *words = (volatile uint64_t *)laddr.addr;

    flag.addr += control;
    scratch.addr += control + 8;
    own_flag.addr += control;
    for (unsigned i = 1; i <= count; i++) {
        doca_gpu_dev_verbs_ticket_t ticket;

        if (!wait_for(own_flag, i)) {
            *status = 3;
            return;
        }
        for (size_t w = 0; w < size / 8; w++) {
            if (words[w] != ((uint64_t)i << 32 | w)) {
                *status = 1;
                return;
            }
        }
        doca_gpu_dev_verbs_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(
            qp, flag, scratch, 1, &ticket);
        if (doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(qp, ticket) != 0) {
            *status = 3;
            return;
        }
    }
    *status = 0;
}

int main(int argc, char **argv)
{
    example::options o = example::parse(argc, argv);
    const size_t control = (o.size + 63) / 64 * 64;

    if (o.size % 8 || o.depth < 2) {
        fprintf(stderr, "error: -s %zu, --depth %u: expected a multiple of 8, and room for two WQEs\n", o.size, o.depth);
        return 2;
    }
    auto play = [&](int channel, bool client) {
        example::end e(o, channel, client, control + 64);
        int status;

        if (client)
            produce<<<1, 1, 0, e.stream>>>(e.qp, e.there(), e.here(), o.size, control, o.iterations, e.status);
        else
            consume<<<1, 1, 0, e.stream>>>(e.qp, e.there(), e.here(), o.size, control, o.iterations, e.status);
        status = e.finish();
        if (!client)
            printf("%u messages of %zu bytes %s\n", o.iterations, o.size, status == 0 ? "verified" : "NOT verified");
        example::meet(channel);
        return status;
    };
    return example::run(o, [&](int channel) { return play(channel, true); },
                        [&](int channel) { return play(channel, false); });
}
