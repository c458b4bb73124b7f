/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages beyond 1 GiB: one call is several WQEs, lanes of a warp need different numbers of them, and the ring is
 * smaller than what the warp posts at once.
 *
 * The buffers are gigabytes of addresses over 2 MiB of memory, mapped again and again, so that the test needs little of it.
 */
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/pair.h"
#include "doca_gpunetio_device.h"

using namespace gdaki_test;

enum { LANES = 4 };
static const size_t GIB = 1ull << 30, PERIOD = 2ull << 20, SPAN = 3 * GIB;
/* 3 pieces; 1; 2, the second a single byte; 1 of exactly the limit */
static const size_t sizes[LANES] = {2 * GIB + GIB / 4, 64, GIB + 1, GIB};
static const uint64_t tickets[LANES] = {2, 3, 5, 6};

struct large_job {
    struct doca_gpu_dev_verbs_qp *qp;
    struct doca_gpu_dev_verbs_addr source, target;
    size_t size[LANES];
    uint64_t *ticket;
    int *status;
};

__global__ void put_large(struct large_job job)
{
    const int lane = (int)threadIdx.x;
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    doca_gpu_dev_verbs_put<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA>(job.qp, job.target, job.source,
                                                                          job.size[lane], &ticket);
    job.ticket[lane] = ticket;
    job.status[lane] = doca_gpu_dev_verbs_wait<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA>(job.qp, ticket);
}

/* SPAN bytes of addresses that all lead to the same PERIOD bytes. */
static uint8_t *repeat(int fd)
{
    uint8_t *base = (uint8_t *)mmap(nullptr, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    GT_TRUE(base != MAP_FAILED);
    for (size_t at = 0; at < SPAN; at += PERIOD)
        GT_TRUE(mmap(base + at, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == base + at);
    return base;
}

static int memory()
{
    const int fd = memfd_create("large", MFD_CLOEXEC);
    GT_TRUE(fd >= 0 && ftruncate(fd, (off_t)PERIOD) == 0);
    return fd;
}

int main()
{
    world w;
    const int source_fd = memory(), target_fd = memory();
    uint8_t *source = repeat(source_fd), *target = repeat(target_fd);
    for (size_t i = 0; i < PERIOD; ++i)
        source[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + 1);
    struct ibv_mr *source_mr = ibv_reg_mr(w.pd, source, SPAN, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_mr *target_mr = ibv_reg_mr(w.pd, target, SPAN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    GT_TRUE(source_mr != nullptr && target_mr != nullptr);
    {
        region results(w, 4096);
        queue_options options;
        options.sq_nwqe = 4; /* seven WQEs */
        queue q(w, options, false);
        doca_gpu_verbs_service_t service = nullptr;
        GT_OK(doca_gpu_verbs_create_service(&service));
        q.monitor(service);
        struct large_job job = {};
        job.qp = q.dev_main;
        job.source.addr = (uint64_t)(uintptr_t)source;
        job.source.key = htobe32(source_mr->lkey);
        job.target.addr = (uint64_t)(uintptr_t)target;
        job.target.key = htobe32(target_mr->rkey);
        memcpy(job.size, sizes, sizeof(sizes));
        job.ticket = (uint64_t *)results.data;
        job.status = (int *)(results.data + 1024);
        put_large<<<dim3(1), dim3(LANES)>>>(job);
        GT_CUDA(cudaGetLastError());
        GT_CUDA(cudaDeviceSynchronize());
        for (int lane = 0; lane < LANES; ++lane) {
            GT_TRUE(job.status[lane] == 0);
            GT_TRUE(job.ticket[lane] == tickets[lane]); /* the lane's own last WQE, in lane order */
        }
        GT_TRUE(memcmp(source, target, PERIOD) == 0);
        GT_OK(doca_gpu_verbs_destroy_service(service));
    }
    GT_TRUE(ibv_dereg_mr(source_mr) == 0 && ibv_dereg_mr(target_mr) == 0);
    munmap(source, SPAN);
    munmap(target, SPAN);
    close(source_fd);
    close(target_fd);
    printf("4 messages of 64 bytes to 2.25 GiB: verified\n1 passed, 0 failed\n");
    return 0;
}
