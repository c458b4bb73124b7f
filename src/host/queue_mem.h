/* SPDX-License-Identifier: Apache-2.0 */
/* Where the library puts rings and records that it allocates itself. */
#ifndef GDAKI_HOST_QUEUE_MEM_H
#define GDAKI_HOST_QUEUE_MEM_H

#include "host/object.h"

#pragma GCC visibility push(hidden)

struct queue_mem_choice {
    bool valid;                  /* false: GDAKI_QUEUE_MEM is not a choice */
    enum doca_gpu_mem_type type; /* GPU or CPU_GPU */
    const char *why;             /* static text */
};

struct queue_mem_choice queue_mem_choose(const struct gdaki_gpu_ops *gpu, enum gdaki_nic_kind nic);

/* A page-rounded piece of queue memory and its umem. */
struct queue_piece {
    void *memory;
    doca_verbs_umem_t *umem;
};

struct queue_mem_maker {
    doca_gpu_t *gpu;
    doca_dev_t *dev;
    enum doca_gpu_verbs_mem_reg_type mreg;
};

doca_error_t queue_piece_create(const struct queue_mem_maker *maker, enum doca_gpu_mem_type type, size_t size,
                                struct queue_piece *out);

#pragma GCC visibility pop
#endif
