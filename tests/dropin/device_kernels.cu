/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of device_test.c, which makes their queue with verbs. */
#include "doca_gpunetio_device.h"
#include "device_test.h"

__global__ void put_each(struct device_job job)
{
    for (int i = 0; i < job.count; i++) {
        doca_gpu_dev_verbs_ticket_t ticket;
        struct doca_gpu_dev_verbs_addr to = {job.to.addr + (uint64_t)i * job.bytes, job.to.key},
                                       from = {job.from.addr + (uint64_t)i * job.bytes, job.from.key};
        doca_gpu_dev_verbs_put<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(job.qp, to, from, job.bytes, &ticket);
        if (job.wait)
            *job.status |= doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(job.qp, ticket);
    }
}

__global__ void wait_for(struct device_job job)
{
    *job.status = doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_EXCLUSIVE>(job.qp, job.ticket);
}

static int finish(const struct device_job *job)
{
    cudaError_t status = cudaDeviceSynchronize();
    return status != cudaSuccess ? (int)status : *job->status;
}

extern "C" int run_put_each(const struct device_job *job)
{
    put_each<<<1, 1>>>(*job);
    return finish(job);
}

extern "C" int run_wait_for(const struct device_job *job)
{
    wait_for<<<1, 1>>>(*job);
    return finish(job);
}
