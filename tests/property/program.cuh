/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs: what a step is, and the kernel that runs them.
 *
 * Every thread has a list of steps; each step posts one operation on a queue that many threads share. A step's ticket is
 * written back, so that the reference model can replay each queue's operations in the order in which the queue had them.
 */
#ifndef GDAKI_TESTS_PROPERTY_PROGRAM_CUH
#define GDAKI_TESTS_PROPERTY_PROGRAM_CUH

#include "doca_gpunetio_device.h"

enum { MAX_QUEUES = 6, MAX_BYTES = 192, WRONG_BYTES = -1000 /* the status of a step whose counter moved too early */ };

enum step_kind {
    STEP_PUT,         /* length bytes from source to target; length 0 posts a NOP */
    STEP_P,           /* 8 bytes of value */
    STEP_GET,         /* length bytes from target to the step's own result slot */
    STEP_SIGNAL,      /* value added to a shared word; old value to the result slot */
    STEP_PUT_SIGNAL,
    STEP_P_SIGNAL,
    STEP_WRITE_2,     /* by hand, two gather entries */
    STEP_WRITE_INLINE,
    STEP_COMPARE_SWAP,
    STEP_MASKED_ADD_4,
    STEP_PUT_COUNTER, /* to the step's own bytes; when they are there, value added to the queue's counter: old value to result */
    STEP_PUT_SIGNAL_COUNTER, /* the same, with 1 added to a second counter in between */
    STEP_BAD_KEY,     /* by hand, a WRITE with a key that does not exist */
    STEP_BAD_RANGE,   /* a put that ends beyond the region */
    STEP_BAD_LOCAL,   /* a put from memory that the local key does not cover */
    STEP_KINDS
};

struct step {
    uint8_t kind;
    uint8_t queue;
    uint8_t wait;   /* wait for the ticket afterwards */
    uint8_t skip_db; /* leave the doorbell to a later step */
    uint32_t length;
    uint32_t target; /* offset in the queue's region */
    uint32_t source;
    uint32_t word;   /* index of an 8-byte word in the queue's words */
    uint64_t value;
    /* written by the kernel */
    uint64_t ticket;
    int32_t status; /* of the wait, if there was one */
    int32_t posted;
};

struct program {
    struct doca_gpu_dev_verbs_qp *qps[MAX_QUEUES], *companions[MAX_QUEUES];
    struct doca_gpu_dev_verbs_addr counters[MAX_QUEUES]; /* two words: counter, counter of signals */
    struct doca_gpu_dev_verbs_addr own; /* bytes of counted steps, MAX_BYTES each */
    struct doca_gpu_dev_verbs_addr target[MAX_QUEUES], words[MAX_QUEUES];
    struct doca_gpu_dev_verbs_addr source, results; /* results: MAX_BYTES a step */
    struct step *steps;
    int steps_per_thread;
    uint32_t region_bytes;
    int *final_status; /* [thread * MAX_QUEUES + queue] */
    int *companion_status; /* the same */
    int queues;
};

#define GT_SHARED DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define GT_AUTO   DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define GT_ADD    DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD

__device__ static inline struct doca_gpu_dev_verbs_addr at(struct doca_gpu_dev_verbs_addr addr, uint64_t offset)
{
    addr.addr += offset;
    return addr;
}

__device__ static inline uint64_t post_by_hand(const struct program &program, const struct step &step,
                                               struct doca_gpu_dev_verbs_addr result)
{
    struct doca_gpu_dev_verbs_qp *qp = program.qps[step.queue];
    const struct doca_gpu_dev_verbs_addr target = at(program.target[step.queue], step.target);
    const struct doca_gpu_dev_verbs_addr source = at(program.source, step.source);
    const struct doca_gpu_dev_verbs_addr word = at(program.words[step.queue], (uint64_t)step.word * 8);
    const enum doca_gpu_dev_verbs_wqe_ctrl_flags flags = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
    const uint64_t index = doca_gpu_dev_verbs_reserve_wq_slots<GT_SHARED>(qp, 1);
    struct doca_gpu_dev_verbs_wqe *wqe = doca_gpu_dev_verbs_get_wqe_ptr(qp, (uint16_t)index);
    switch (step.kind) {
    case STEP_WRITE_2:
        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, flags,
                                             0, target.addr, target.key, source.addr, source.key, step.length / 2,
                                             source.addr + step.length / 2, source.key,
                                             step.length - step.length / 2);
        break;
    case STEP_WRITE_INLINE:
        doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, wqe, (uint16_t)index, flags, target.addr, target.key, source.addr,
                                                 step.length);
        break;
    case STEP_COMPARE_SWAP:
        doca_gpu_dev_verbs_wqe_prepare_atomic(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_CS, flags,
                                              word.addr, word.key, result.addr, result.key, 8, step.length, step.value);
        break;
    case STEP_MASKED_ADD_4:
        doca_gpu_dev_verbs_wqe_prepare_atomic_ext<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>(
            qp, wqe, nullptr, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_ATOMIC_MASKED_FA, flags, word.addr,
            word.key, result.addr, result.key, (uint32_t)step.value, 0, 0, 0, 0, 0);
        break;
    default: /* STEP_BAD_KEY */
        doca_gpu_dev_verbs_wqe_prepare_write(qp, wqe, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, flags,
                                             0, target.addr, target.key ^ 0x5a5a5a00u, source.addr, source.key, 8);
        break;
    }
    doca_gpu_dev_verbs_mark_wqes_ready<GT_SHARED>(qp, index, index);
    doca_gpu_dev_verbs_submit<GT_SHARED, DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS, GT_AUTO>(qp, index + 1);
    return index;
}

__device__ static inline uint64_t post(const struct program &program, const struct step &step,
                                       struct doca_gpu_dev_verbs_addr result)
{
    struct doca_gpu_dev_verbs_qp *qp = program.qps[step.queue];
    const struct doca_gpu_dev_verbs_addr target = at(program.target[step.queue], step.target);
    const struct doca_gpu_dev_verbs_addr source = at(program.source, step.source);
    const struct doca_gpu_dev_verbs_addr word = at(program.words[step.queue], (uint64_t)step.word * 8);
    const uint32_t options = step.skip_db ? DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING
                                          : DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT;
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    switch (step.kind) {
    case STEP_PUT:
        doca_gpu_dev_verbs_put<GT_SHARED>(qp, target, source, step.length, &ticket, options);
        return ticket;
    case STEP_P:
        doca_gpu_dev_verbs_p<uint64_t, GT_SHARED>(qp, target, step.value, &ticket, options);
        return ticket;
    case STEP_GET:
        doca_gpu_dev_verbs_get<GT_SHARED>(qp, target, result, step.length, result, &ticket, options);
        return ticket;
    case STEP_SIGNAL:
        doca_gpu_dev_verbs_signal<GT_ADD, GT_SHARED, GT_AUTO, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
            qp, word, result, step.value, &ticket, options);
        return ticket;
    case STEP_PUT_SIGNAL:
        doca_gpu_dev_verbs_put_signal<GT_ADD, GT_SHARED>(qp, target, source, step.length, word, result, step.value,
                                                         &ticket, options);
        return ticket;
    case STEP_P_SIGNAL:
        doca_gpu_dev_verbs_p_signal<uint64_t, GT_ADD, GT_SHARED>(qp, target, step.value, word, result, step.value,
                                                                 &ticket, options);
        return ticket;
    case STEP_BAD_RANGE:
        doca_gpu_dev_verbs_put<GT_SHARED>(qp, at(program.target[step.queue], program.region_bytes - 4), source, 8,
                                          &ticket, options);
        return ticket;
    case STEP_BAD_LOCAL: {
        struct doca_gpu_dev_verbs_addr wrong = source;
        wrong.addr -= 1ull << 40;
        doca_gpu_dev_verbs_put<GT_SHARED>(qp, target, wrong, 8, &ticket, options);
        return ticket;
    }
    default:
        return post_by_hand(program, step, result);
    }
}

__host__ __device__ static inline bool is_counted(uint8_t kind)
{
    return kind == STEP_PUT_COUNTER || kind == STEP_PUT_SIGNAL_COUNTER;
}

/* These give no ticket: what they write is theirs alone, so that their place in the queue's order does not matter. */
__device__ static inline void post_counted(const struct program &program, const struct step &step, uint64_t number)
{
    struct doca_gpu_dev_verbs_qp *qp = program.qps[step.queue], *companion = program.companions[step.queue];
    const struct doca_gpu_dev_verbs_addr target = at(program.own, number * MAX_BYTES);
    const struct doca_gpu_dev_verbs_addr source = at(program.source, step.source);
    const struct doca_gpu_dev_verbs_addr result = at(program.results, number * MAX_BYTES);
    const struct doca_gpu_dev_verbs_addr counter = program.counters[step.queue];
    const uint32_t options = step.skip_db ? DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING
                                          : DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT;
    if (step.kind == STEP_PUT_COUNTER)
        doca_gpu_dev_verbs_put_counter<GT_SHARED>(qp, target, source, step.length, companion, counter, result, step.value,
                                                  options);
    else
        doca_gpu_dev_verbs_put_signal_counter<GT_ADD, GT_SHARED>(qp, target, source, step.length, at(counter, 8),
                                                                 at(result, 8), 1, companion, counter, result, step.value,
                                                                 options);
}

/* The companion is done with all that was posted to it: the bytes whose arrival it counted are there. */
__device__ static inline int wait_counted(const struct program &program, const struct step &step, uint64_t number)
{
    const int status = doca_gpu_dev_verbs_wait<GT_SHARED, GT_AUTO>(program.companions[step.queue]);
    if (status != 0)
        return status;
    const volatile uint8_t *is = (const volatile uint8_t *)at(program.own, number * MAX_BYTES).addr;
    const volatile uint8_t *sent = (const volatile uint8_t *)at(program.source, step.source).addr;
    for (uint32_t i = 0; i < step.length; ++i)
        if (is[i] != sent[i])
            return WRONG_BYTES;
    return 0;
}

__global__ void run_program(struct program program)
{
    const int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = 0; i < program.steps_per_thread; ++i) {
        const uint64_t number = (uint64_t)thread * (uint64_t)program.steps_per_thread + (uint64_t)i;
        struct step *step = &program.steps[number];
        if (is_counted(step->kind)) {
            post_counted(program, *step, number);
            step->posted = 1;
            if (step->wait)
                step->status = wait_counted(program, *step, number);
            continue;
        }
        step->ticket = post(program, *step, at(program.results, number * MAX_BYTES));
        step->posted = 1;
        if (step->wait)
            step->status = doca_gpu_dev_verbs_wait<GT_SHARED, GT_AUTO>(program.qps[step->queue], step->ticket);
    }
    for (int q = 0; q < program.queues; ++q) {
        /* Rings for every step of this thread that left its doorbell to a later one. */
        struct step nop = {};
        nop.kind = STEP_PUT;
        nop.queue = (uint8_t)q;
        post(program, nop, program.results);
        program.final_status[thread * MAX_QUEUES + q] = doca_gpu_dev_verbs_wait<GT_SHARED, GT_AUTO>(program.qps[q]);
        doca_gpu_dev_verbs_ticket_t last = 0; /* rings the companion's, too */
        doca_gpu_dev_verbs_put<GT_SHARED>(program.companions[q], program.own, program.source, 0, &last);
        program.companion_status[thread * MAX_QUEUES + q] =
            doca_gpu_dev_verbs_wait<GT_SHARED, GT_AUTO>(program.companions[q]);
    }
}

#endif
