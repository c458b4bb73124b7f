/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-built RDMA_WRITE WQEs: a block takes a run of slots with one reservation, each thread builds the WQE of its slot,
 * one thread hands the run over and rings.
 */
#include "common.cuh"

__device__ static __forceinline__ void build_write(const struct gdaki_kernel_args &a,
                                                   struct doca_gpu_dev_verbs_qp *qp, uint64_t index, uint64_t offset)
{
    struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);

    if (a.size <= a.inline_max)
        doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE,
                                                 a.raddr + offset, a.rkey_be, a.laddr + offset, (uint32_t)a.size);
    else
        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
                                             DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, a.raddr + offset, a.rkey_be,
                                             a.laddr + offset, a.lkey_be, (uint32_t)a.size);
}

/* The last iterations need not fill a block: only `count` threads build then. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing> __global__ void write_kernel(struct gdaki_kernel_args a)
{
    __shared__ uint64_t first;
    __shared__ int failed;
    struct doca_gpu_dev_verbs_qp *qp = &a.qps[blockIdx.x % a.nqps];
    uint64_t done = 0, taken = 0, begun = 0, unwaited = 0;
    uint32_t batches = 0;

    if (threadIdx.x == 0)
        failed = 0;
    tool_begin(a);
    for (uint64_t base = (uint64_t)blockIdx.x * blockDim.x; base < a.iterations; base += tool_threads()) {
        uint64_t left = a.iterations - base;
        uint32_t count = left < blockDim.x ? (uint32_t)left : blockDim.x;
        bool last = base + tool_threads() >= a.iterations;

        if (threadIdx.x == 0) {
            begun = (uint64_t)clock64();
            first = doca_gpu_dev_verbs_reserve_wq_slots<sharing>(qp, count);
        }
        __syncthreads();
        if (threadIdx.x < count)
            build_write(a, qp, first + threadIdx.x, ((base + threadIdx.x) & (a.slots - 1)) * a.stride);
        __syncthreads(); /* every WQE of the run is written before thread 0 hands it over */
        if (threadIdx.x == 0) {
            doca_gpu_dev_verbs_mark_wqes_ready<sharing>(qp, first, first + count - 1);
            doca_gpu_dev_verbs_submit<sharing, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, TOOL_HANDLER>(qp, first + count);
            unwaited += count;
            if (++batches == a.window || last) {
                int rc = tool_wait<sharing>(a, qp, first + count - 1);

                if (rc) {
                    tool_fail(a, rc, base);
                    failed = 1;
                } else {
                    tool_sample(a, taken++, (uint64_t)clock64() - begun);
                    done += unwaited;
                }
                unwaited = 0;
                batches = 0;
            }
        }
        __syncthreads();
        if (failed)
            break;
    }
    tool_end(a, done);
}

int tool_launch_write(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                      cudaStream_t stream)
{
    if (kernel != GDAKI_KERNEL_WRITE)
        return -EINVAL;
    if (args->sharing == GDAKI_SHARING_GPU)
        write_kernel<TOOL_SHARING_GPU><<<ctas, threads, 0, stream>>>(*args);
    else if (args->sharing == GDAKI_SHARING_CTA)
        write_kernel<TOOL_SHARING_CTA><<<ctas, threads, 0, stream>>>(*args);
    else
        write_kernel<TOOL_SHARING_EXCLUSIVE><<<ctas, threads, 0, stream>>>(*args);
    return 0;
}
