/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: queues of operations, each started when it is at its stream's head and what it depends on has finished. */
#ifndef GDAKI_EXECUTOR_STREAM_H
#define GDAKI_EXECUTOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/cuda_runtime_api.h"
#include "executor/exec.h"

enum ex_op_kind { EX_OP_KERNEL, EX_OP_COPY, EX_OP_SET, EX_OP_RECORD, EX_OP_WAIT, EX_OP_CALL, EX_OP_CALLBACK };

struct ex_op {
    struct ex_op *next;
    enum ex_op_kind kind;
    uint64_t number; /* order of submission over all streams */
    struct CUstream_st *stream;
    struct ex_launch *launch;
    void *dst;
    const void *src;
    size_t size;
    int value;
    struct CUevent_st *event;
    uint64_t generation; /* of the event's record that a wait is for */
    cudaHostFn_t call;
    cudaStreamCallback_t callback;
    void *arg;
    uint64_t *waiter; /* counts down when done; see ex_stream_run */
};

/* Appends op (malloc'ed; taken over) and starts what can start. stream: as the user gave it. */
cudaError_t ex_stream_submit(cudaStream_t stream, struct ex_op *op);
/* The same, and waits until it is done. */
cudaError_t ex_stream_run(cudaStream_t stream, struct ex_op *op);
/* Waits for all streams. */
cudaError_t ex_streams_drain(void);
struct ex_op *ex_op_create(enum ex_op_kind kind);

/* error.c: remembers an error for this thread's cudaGetLastError, and returns it. */
cudaError_t ex_error(cudaError_t error);
/* The error of a failed kernel: returned by every later call that waits or launches, until cudaDeviceReset. */
void ex_error_stick(cudaError_t error);
cudaError_t ex_error_stuck(void);
void ex_error_reset(void);

#endif
