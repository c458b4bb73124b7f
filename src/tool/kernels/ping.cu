/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ping-pong, one thread at each end: half a round trip is the one-way latency as a receiving kernel sees it.
 *
 * write: the last byte of the message carries the sequence number and is what the receiver polls, as perftest does. It
 * says that the message has begun to arrive in its last byte; that all bytes are right is checked by the host at the end.
 * Completions are taken up to 64 messages late (half a ring, if that is less), so that none is waited for: the answer to a
 * message says that it has arrived.
 * signal: the receiver polls the 8-byte flag that the atomic adds to, which is ordered behind the data. Its completion, which
 * brings the atomic's old value, is waited for before the next message.
 */
#include "common.cuh"

__device__ static __forceinline__ int wait_byte(const struct gdaki_kernel_args &a, uint64_t address, uint8_t value)
{
    struct tool_patience patience(a.timeout_ns);

    while (doca_gpu_dev_verbs_load_relaxed_sys_global((uint8_t *)address) != value) {
        if (patience.over())
            return -ETIMEDOUT;
    }
    doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
    return 0;
}

__device__ static __forceinline__ int wait_flag(const struct gdaki_kernel_args &a, uint64_t address, uint64_t value)
{
    struct tool_patience patience(a.timeout_ns);

    while ((int64_t)(doca_gpu_dev_verbs_load_relaxed_sys_global((uint64_t *)address) - value) < 0) {
        if (patience.over())
            return -ETIMEDOUT;
    }
    doca_gpu_dev_verbs_fence_acquire<DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS>();
    return 0;
}

__device__ static __forceinline__ uint64_t post_write(const struct gdaki_kernel_args &a,
                                                      struct doca_gpu_dev_verbs_qp *qp, uint8_t value)
{
    uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<TOOL_SHARING_EXCLUSIVE>(qp, 1);
    struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);

    *(volatile uint8_t *)(a.laddr + a.size - 1) = value; /* before the NIC reads it: the release of submit orders it */
    if (a.size <= a.inline_max)
        doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE,
                                                 a.raddr, a.rkey_be, a.laddr, (uint32_t)a.size);
    else
        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
                                             DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, a.raddr, a.rkey_be, a.laddr,
                                             a.lkey_be, (uint32_t)a.size);
    doca_gpu_dev_verbs_mark_wqes_ready<TOOL_SHARING_EXCLUSIVE>(qp, index, index);
    doca_gpu_dev_verbs_submit<TOOL_SHARING_EXCLUSIVE, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, TOOL_HANDLER>(qp, index + 1);
    return index;
}

__device__ static __forceinline__ uint64_t post_signal(const struct gdaki_kernel_args &a,
                                                       struct doca_gpu_dev_verbs_qp *qp)
{
    doca_gpu_dev_verbs_ticket_t ticket = 0;

    doca_gpu_dev_verbs_put_signal<DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, TOOL_SHARING_EXCLUSIVE, TOOL_HANDLER>(
        qp, tool_addr(a.raddr, a.rkey_be), tool_addr(a.laddr, a.lkey_be), a.size, tool_addr(a.flag_raddr, a.rkey_be),
        tool_addr(a.scratch_laddr, a.lkey_be), 1, &ticket);
    return ticket;
}

#define PING_LATE 64u

template <bool signal> __global__ void ping_kernel(struct gdaki_kernel_args a)
{
    struct doca_gpu_dev_verbs_qp *qp = a.qps;
    uint64_t done = 0, ticket = 0, late = a.qps->sq_wqe_num / 2;
    int rc = 0;

    if (signal || late > PING_LATE)
        late = signal ? 0 : PING_LATE;
    tool_begin(a);
    for (uint64_t i = 1; i <= a.iterations && !rc; i++) {
        uint64_t sequence = a.sequence + i, begun = (uint64_t)clock64();

        if (a.initiator)
            ticket = signal ? post_signal(a, qp) : post_write(a, qp, (uint8_t)sequence);
        rc = signal ? wait_flag(a, a.flag_laddr, sequence) : wait_byte(a, a.flag_laddr + a.size - 1, (uint8_t)sequence);
        if (!rc && a.initiator)
            tool_sample(a, done, (uint64_t)clock64() - begun);
        if (!rc && !a.initiator)
            ticket = signal ? post_signal(a, qp) : post_write(a, qp, (uint8_t)sequence);
        if (!rc && i > late) /* a message takes one slot, so tickets follow each other */
            rc = tool_wait<TOOL_SHARING_EXCLUSIVE>(a, qp, ticket - late);
        else if (rc && doca_gpu_dev_verbs_poll_one_cq_at<TOOL_SHARING_EXCLUSIVE>(doca_gpu_dev_verbs_qp_get_cq_sq(qp),
                                                                                 ticket) == -EIO)
            rc = -EIO; /* the peer's answer is missing because our message failed: say that */
        if (!rc && i == a.iterations)
            rc = tool_wait<TOOL_SHARING_EXCLUSIVE>(a, qp, ticket);
        if (rc)
            tool_fail(a, rc, i - 1);
        else
            done++;
    }
    tool_end(a, done);
}

int tool_launch_ping(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                     cudaStream_t stream)
{
    if (ctas != 1 || threads != 1)
        return -EINVAL;
    if (kernel == GDAKI_KERNEL_WRITE_PING)
        ping_kernel<false><<<1, 1, 0, stream>>>(*args);
    else if (kernel == GDAKI_KERNEL_SIGNAL_PING)
        ping_kernel<true><<<1, 1, 0, stream>>>(*args);
    else
        return -EINVAL;
    return 0;
}
