/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put with a counter: a companion queue waits inside the NIC for the put's completion and adds to a word of this end's
 * memory. The kernel looks at that word only, never at a completion queue, to know that a buffer may be used again.
 */
#include <cuda_runtime.h>

#include "doca_gpunetio_device.h"

#include "end.h"

__global__ void put_counted(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_qp *companion,
                            struct doca_gpu_dev_verbs_addr raddr, struct doca_gpu_dev_verbs_addr laddr, size_t size,
                            struct doca_gpu_dev_verbs_addr counter, struct doca_gpu_dev_verbs_addr scratch, unsigned count,
                            int *status)
{
    for (unsigned i = 1; i <= count; i++) {
        uint64_t deadline = doca_gpu_dev_verbs_query_globaltimer() + 10000000000ull;

        doca_gpu_dev_verbs_put_counter<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(qp, raddr, laddr, size,
                                                                                            companion, counter, scratch, 1);
        /* An error completion releases nobody: only a limit ends this wait then. */
        while (doca_gpu_dev_verbs_load_relaxed_sys_global((uint64_t *)counter.addr) < i) {
            if (doca_gpu_dev_verbs_query_globaltimer() > deadline) {
                *status = 3;
                return;
            }
        }
        doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
        raddr.addr += size;
        laddr.addr += size;
    }
    *status = 0;
}

int main(int argc, char **argv)
{
    example::options defaults;
    defaults.iterations = 256;
    example::options o = example::parse(argc, argv, defaults);
    const size_t bytes = o.iterations * o.size, control = (bytes + 63) / 64 * 64;

    auto client = [&](int channel) {
        example::end e(o, channel, true, control + 128, true);

        example::fill(e.cpu, bytes, 6);
        put_counted<<<1, 1, 0, e.stream>>>(e.qp, e.companion, e.there(), e.here(), o.size, e.here(control),
                                           e.here(control + 64), o.iterations, e.status);
        int status = e.finish();

        printf("counter: %llu of %u\n", *(unsigned long long *)((uint8_t *)e.cpu + control), o.iterations);
        example::meet(channel);
        example::meet(channel);
        return status;
    };
    auto server = [&](int channel) {
        example::end e(o, channel, false, control + 128, true);

        example::meet(channel);
        int status = example::verify(e.cpu, bytes, 6);
        example::meet(channel);
        return status;
    };
    return example::run(o, client, server);
}
