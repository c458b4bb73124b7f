/* SPDX-License-Identifier: Apache-2.0 */
/* Floors: what the machine does when nothing but the unavoidable is left. */
#include "common.cuh"

struct tool_line {
    ulonglong2 part[4];
};

/*
 * Per operation 64 bytes of stores to the ring, per warp one atomic on the queue's counter: a post with one reservation
 * a warp and nothing else (no fence, no hand-over, no doorbell). `dummy` holds a counter every 16 words, `laddr` the
 * rings, `size` the slots of one ring.
 */
__global__ void store_kernel(struct gdaki_kernel_args a)
{
    uint32_t queue = tool_queue(a), lane = threadIdx.x & 31;
    struct tool_line *ring = (struct tool_line *)a.laddr + (uint64_t)queue * a.size;
    uint32_t width = blockDim.x < 32 ? blockDim.x : 32;
    uint32_t mask = width == 32 ? 0xffffffffu : (1u << width) - 1;
    uint64_t done = 0;

    tool_begin(a);
    for (uint64_t i = tool_thread(); i < a.iterations; i += tool_threads()) {
        tool_u64 base = 0;
        ulonglong2 value;

        if (lane == 0)
            base = atomicAdd((tool_u64 *)&a.dummy[(uint64_t)queue * 16], (tool_u64)width);
        base = __shfl_sync(mask, base, 0) + lane;
        value.x = base;
        value.y = i;
        for (int part = 0; part < 4; part++)
            ring[base & (a.size - 1)].part[part] = value;
        done++;
    }
    tool_end(a, done);
}

/* Answers the CPU's counter in flags[0] with the same value in flags[16]. */
__global__ void flag_kernel(struct gdaki_kernel_args a)
{
    uint64_t done = 0;

    tool_begin(a);
    for (uint64_t i = 1; i <= a.iterations; i++) {
        struct tool_patience patience(a.timeout_ns);
        bool late = false;

        while (*(volatile uint64_t *)&a.flags[0] != i && !late)
            late = patience.over();
        if (late) {
            tool_fail(a, -ETIMEDOUT, i - 1);
            break;
        }
        *(volatile uint64_t *)&a.flags[16] = i;
        done++;
    }
    tool_end(a, done);
}

int tool_launch_floor(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                      cudaStream_t stream)
{
    if (kernel == GDAKI_KERNEL_FLOOR_STORE)
        store_kernel<<<ctas, threads, 0, stream>>>(*args);
    else if (kernel == GDAKI_KERNEL_FLOOR_FLAG)
        flag_kernel<<<1, 1, 0, stream>>>(*args);
    else
        return -EINVAL;
    return 0;
}
