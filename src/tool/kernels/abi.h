/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tool and its kernels agree on. The kernels are two shared objects built from the same .cu files,
 * gdaki-kernels-cpu.so (executor) and gdaki-kernels-cuda.so (real GPU, static CUDA runtime); the tool opens the one that
 * matches the GPU back-end, so the two runtimes never meet in one name space. Each exports one function:
 *
 *     const struct gdaki_kernels *gdaki_kernels_get(void);
 *
 * C and C++, host and device.
 */
#ifndef GDAKI_TOOL_KERNELS_ABI_H
#define GDAKI_TOOL_KERNELS_ABI_H

#include <stddef.h>
#include <stdint.h>

#define GDAKI_KERNELS_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

struct doca_gpu_dev_verbs_qp;

enum gdaki_kernel {
    GDAKI_KERNEL_PUT,         /* one-sided puts: bandwidth, or latency with window 1 */
    GDAKI_KERNEL_GET,
    GDAKI_KERNEL_WRITE,       /* hand-built RDMA_WRITE WQEs, a block at a time */
    GDAKI_KERNEL_WRITE_PING,  /* ping-pong of hand-built writes */
    GDAKI_KERNEL_SIGNAL_PING, /* ping-pong of put_signal */
    GDAKI_KERNEL_POST,        /* posting rate: no NIC behind the ring */
    GDAKI_KERNEL_FLOOR_STORE, /* bare 64-byte stores and one atomic an operation */
    GDAKI_KERNEL_FLOOR_FLAG,  /* flag round trip with the CPU */
    GDAKI_KERNEL_COUNT
};

enum gdaki_kernel_scope { GDAKI_SCOPE_THREAD = 0, GDAKI_SCOPE_WARP = 1 };
enum gdaki_kernel_sharing { GDAKI_SHARING_EXCLUSIVE = 0, GDAKI_SHARING_CTA = 1, GDAKI_SHARING_GPU = 2 };

/* What a kernel leaves behind; one for a launch, zeroed (start_ns: all ones) by the host before. */
struct gdaki_kernel_result {
    uint64_t start_ns, end_ns;       /* earliest begin and latest end of a thread, global timer */
    uint64_t clock_begin, clock_end; /* clock64 and global timer of thread 0: gives the clock's period */
    uint64_t timer_begin, timer_end;
    uint64_t done;       /* operations completed */
    uint64_t error_at;   /* index of the first operation that failed, of the thread that saw it first */
    int32_t error;       /* 0; negative errno of the first failure: -EIO error CQE, -ETIMEDOUT */
    uint32_t error_thread;
};

struct gdaki_kernel_args {
    struct doca_gpu_dev_verbs_qp *qps; /* array in device memory */
    uint32_t nqps;
    uint32_t posters_per_qp; /* threads that post to one queue */
    uint64_t laddr, raddr;   /* start of the span at this end and at the peer */
    uint32_t lkey_be, rkey_be;
    uint64_t size;   /* bytes of a message */
    uint64_t stride; /* distance of two slots */
    uint64_t slots;  /* message i uses slot i mod slots */
    uint64_t iterations; /* messages of this launch, all threads together */
    uint32_t window;     /* messages a thread posts before it waits for the last of them */
    uint32_t inline_max; /* messages up to this size travel inside the WQE; 0: none */
    uint64_t timeout_ns; /* a thread that waits longer ends with -ETIMEDOUT */
    uint64_t *samples;   /* clock64 ticks; sample_cap entries for each thread, written round robin; NULL: none */
    uint32_t sample_cap;
    uint32_t sharing, scope; /* enums above */
    uint32_t collapsed;      /* completion queues are collapsed */
    uint32_t initiator;      /* ping-pong: this end sends first */
    uint32_t sequence;       /* ping-pong: value before the first message */
    uint64_t flag_laddr;     /* signal ping-pong: 8 bytes that the peer's atomic adds to */
    uint64_t flag_raddr;
    uint64_t scratch_laddr;  /* old value of the peer's flag lands here */
    uint64_t *dummy;         /* posting rate: 64-byte aligned words; floor: counter */
    uint64_t *flags;         /* flag floor: [0] CPU to GPU, [16] GPU to CPU, host memory that both see */
    uint32_t data_on_host;   /* payload or flag may be host memory: release at SYS scope */
    struct gdaki_kernel_result *result;
};

struct gdaki_kernels {
    uint32_t abi;        /* GDAKI_KERNELS_ABI */
    const char *backend; /* "cpu" or "cuda" */
    /* Makes `device` current for the calling thread and loads every kernel. 0 or negative errno. */
    int (*open)(int device);
    int (*stream_create)(void **stream); /* non-blocking */
    int (*stream_destroy)(void *stream);
    int (*stream_query)(void *stream); /* 0 idle, -EAGAIN busy, other negative: failed */
    int (*launch)(enum gdaki_kernel kernel, uint32_t ctas, uint32_t threads, const struct gdaki_kernel_args *args,
                  void *stream);
    int (*device_alloc)(size_t size, void **ptr); /* before any resident kernel runs */
    int (*device_free)(void *ptr);
    int (*host_alloc)(size_t size, void **ptr); /* host memory that the GPU sees at the same address */
    int (*host_free)(void *ptr);
    int (*copy)(void *dst, const void *src, size_t size, void *stream); /* done on return */
    const char *(*error_text)(void); /* of the last failure of this thread */
};

const struct gdaki_kernels *gdaki_kernels_get(void);

#ifdef __cplusplus
}
#endif
#endif
