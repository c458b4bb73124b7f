/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a test: a NIC, a GPU, memory, connected queues, and the kernel's bookkeeping. */
#ifndef GDAKI_TOOL_ENDPOINT_H
#define GDAKI_TOOL_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/abi.h"
#include "perf.h"

struct ibv_context;
struct ibv_mr;
struct ibv_pd;
struct doca_gpu_verbs_qp_hl;

/* What one end tells the other; travels in ENDPOINT. */
struct endpoint_address {
    uint8_t gid[16];
    uint16_t lid;
    uint8_t link; /* 1 Ethernet, 2 InfiniBand */
    uint32_t mtu; /* bytes */
    uint32_t psn;
    uint64_t send_addr, recv_addr, flag_addr; /* as WQEs of the peer name them */
    uint64_t span;
    uint32_t rkey; /* host order */
    uint32_t nqps;
    uint32_t qpn[PERF_QPS_MAX];
};

struct endpoint {
    const struct perf_options *options;
    const struct perf_plan *plan;
    const struct gdaki_kernels *kernels;
    const char *gpu_backend;
    char gpu_name[96], gpu_bus_id[32], nic_name[64];
    int gpu_index;
    struct ibv_context *context;
    struct ibv_pd *pd;
    void *gpu, *dev; /* doca_gpu_t, doca_dev_t */
    struct ibv_mr *mr;
    void *data; /* as kernels and the NIC see it: [send span][recv span][flag, scratch] */
    size_t data_size;
    uint64_t span;
    struct doca_gpu_verbs_qp_hl **queues;
    void **gverbs;
    uint32_t nqps;
    struct doca_gpu_dev_verbs_qp *qp_array; /* in GPU memory */
    bool proxy;                             /* the CPU must ring */
    const char *handler, *queue_mem;        /* as resolved */
    void *stream;
    struct gdaki_kernel_result *result; /* GPU memory */
    uint64_t *samples;                  /* GPU memory */
    size_t sample_count;
    uint8_t *staging; /* host memory, data_size bytes */
    uint32_t gid_index;
    struct endpoint_address local;
    char why[512];
    int exit_code; /* what the failure in `why` means for the program */
};

#define ENDPOINT_FLAG 0      /* offsets behind the two spans */
#define ENDPOINT_SCRATCH 128
#define ENDPOINT_TAIL 4096

/* Sets the environment that the back-ends read; before anything else of the library runs. */
void endpoint_environment(const struct perf_options *options);

struct gdaki_gpu_ops;
/* --gpu (an index, a bus id, or NULL for the first) to an index. 0, or an exit code with `why` (PARSE_WHY_SIZE bytes). */
int endpoint_pick_gpu(const char *wanted, const struct gdaki_gpu_ops *ops, int *index, char *why);

/* 0, or negative errno with why and exit_code set; endpoint_close frees what there is in either case. */
int endpoint_open(struct endpoint *ep, const struct perf_options *options, const struct perf_plan *plan);
int endpoint_connect(struct endpoint *ep, const struct endpoint_address *remote);
void endpoint_close(struct endpoint *ep);

/* Copies between host memory and the data region, which may be GPU memory. */
int endpoint_write(struct endpoint *ep, uint64_t offset, const void *from, size_t size);
int endpoint_read(struct endpoint *ep, uint64_t offset, void *to, size_t size);

/* One bounded step of CPU-assisted doorbells; true if any rang. */
bool endpoint_proxy_step(struct endpoint *ep);
/* Text of the first queue in error ("queue 3: syndrome 0x13 ..."), or "" */
void endpoint_describe_error(struct endpoint *ep, char *out, size_t size);
/* In full, to stderr: the first queue in error, or else the first that has not completed everything. */
void endpoint_explain(struct endpoint *ep);

/* What is outstanding on the queues, for a wait that was not answered; "" if nothing is. */
void endpoint_describe_outstanding(struct endpoint *ep, char *out, size_t size);

void endpoint_address_write(const struct endpoint_address *address, struct oob_writer *w);
int endpoint_address_read(struct endpoint_address *address, struct oob_reader *r, char *why);

#endif
