/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stub of the DOCA SDK: three libraries that depend on each other as the SDK's do, and call doca_* functions across
 * each other. Objects carry a magic number; a call that lands in another library of the same function names (ours)
 * returns something without it, which is an error here.
 */
#ifndef STUB_SDK_H
#define STUB_SDK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/doca_error.h"

/* The SDK's headers have opaque handles, so ours, which have not, cannot be included; values are the same. */
enum doca_gpu_mem_type { DOCA_GPU_MEM_TYPE_GPU, DOCA_GPU_MEM_TYPE_GPU_CPU, DOCA_GPU_MEM_TYPE_CPU_GPU };


#define STUB_MAGIC 0x57ab57abu

struct stub_object {
    uint32_t magic;
    int kind;
    void *first, *second; /* what it was made from */
    uint32_t value;
};

enum stub_kind { STUB_GPU, STUB_DEV, STUB_UMEM, STUB_UAR, STUB_CQ_ATTR, STUB_CQ, STUB_INIT_ATTR, STUB_QP_ATTR, STUB_AH, STUB_QP, STUB_CONTEXT, STUB_PD };

/* In libdoca_common.so. */
doca_error_t stub_enter(const char *function); /* counts; the code it was told to fail with, else success */
void stub_fail_next(const char *function, doca_error_t code);
unsigned stub_count(const char *function);
unsigned stub_alive(void);
unsigned stub_strangers(void); /* objects seen that are not the stub's: a call went astray */
doca_error_t stub_make(int kind, void *first, void *second, void **out);
doca_error_t stub_drop(void *object, int kind);
bool stub_is(const void *object, int kind);

#endif
