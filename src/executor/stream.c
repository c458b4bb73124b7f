/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation starts when it is at the head of its stream and
 *   - for the legacy default stream: every blocking stream has finished what was submitted before it;
 *   - for a blocking stream: the legacy default stream has finished what was submitted before it;
 *   - for a wait: the event's record that was the latest at the call has finished.
 * Kernels go to the pool; everything else is done on the spot, by the thread that found it ready (the caller, or the worker
 * that finished the operation before). One mutex guards all streams; it is not held while an operation is carried out.
 */
#include "executor/stream.h"

#include <stdlib.h>
#include <string.h>

struct CUstream_st {
    struct ex_op *head, *tail;
    bool running; /* the head has started */
    bool blocking, legacy, zombie;
    struct CUstream_st *next;
};

struct CUevent_st {
    uint64_t recorded, done; /* generations */
    uint64_t time_ns;
    unsigned users; /* operations that name it */
    bool destroyed, timing;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct CUstream_st legacy_stream = {.legacy = true};
static struct CUstream_st *streams = &legacy_stream;
static __thread cudaStream_t per_thread;
static uint64_t submitted;

struct ex_op *ex_op_create(enum ex_op_kind kind)
{
    struct ex_op *op = calloc(1, sizeof(*op));

    if (op)
        op->kind = kind;
    return op;
}

static struct CUstream_st *create(unsigned flags)
{
    struct CUstream_st *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->blocking = !(flags & cudaStreamNonBlocking);
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
    return stream;
}

static bool known(const struct CUstream_st *stream)
{
    for (const struct CUstream_st *s = streams; s; s = s->next) {
        if (s == stream)
            return !s->zombie;
    }
    return false;
}

/* NULL: not a stream. */
static struct CUstream_st *resolve(cudaStream_t stream)
{
    bool good;

    if (!stream || stream == cudaStreamLegacy)
        return &legacy_stream;
    if (stream == cudaStreamPerThread) {
        if (!per_thread)
            per_thread = create(0);
        return per_thread;
    }
    pthread_mutex_lock(&lock);
    good = known(stream);
    pthread_mutex_unlock(&lock);
    return good ? stream : NULL;
}

static bool ready(const struct CUstream_st *stream)
{
    const struct ex_op *op = stream->head;

    if (!op || stream->running)
        return false;
    if (op->kind == EX_OP_WAIT && op->event->done < op->generation)
        return false;
    if (stream->blocking)
        return !legacy_stream.head || legacy_stream.head->number > op->number;
    if (!stream->legacy)
        return true;
    for (const struct CUstream_st *s = streams; s; s = s->next) {
        if (s->blocking && s->head && s->head->number < op->number)
            return false;
    }
    return true;
}

static void put_event(struct CUevent_st *event)
{
    if (!event->users && event->destroyed)
        free(event);
}

static void destroy_zombie(struct CUstream_st *stream)
{
    struct CUstream_st **link = &streams;

    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    free(stream);
}

/* Locked. */
static void finish(struct ex_op *op)
{
    struct CUstream_st *stream = op->stream;

    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->running = false;
    if (op->kind == EX_OP_RECORD) {
        op->event->time_ns = ex_now_ns();
        op->event->done = op->generation;
    }
    if (op->event) {
        op->event->users--;
        put_event(op->event);
    }
    if (op->waiter)
        --*op->waiter;
    free(op);
    if (stream->zombie && !stream->head)
        destroy_zombie(stream);
    pthread_cond_broadcast(&changed);
}

/* A flag or counter that a running kernel looks at is copied in one piece, as a copy engine does. */
static void copy(void *dst, const void *src, size_t size)
{
    bool word = size == 1 || size == 2 || size == 4 || size == 8;

    if (word && (((uintptr_t)dst | (uintptr_t)src) & (size - 1)) == 0)
        gdaki_cpu_plain_store(dst, gdaki_cpu_plain_load(src, (unsigned)size, GDAKI_CPU_ACQUIRE), (unsigned)size,
                              GDAKI_CPU_RELEASE);
    else
        memmove(dst, src, size);
}

/* Not locked. False: it goes on elsewhere and ends in ex_stream_op_done. */
static bool carry_out(struct ex_op *op)
{
    switch (op->kind) {
    case EX_OP_KERNEL:
        ex_pool_submit(op->launch);
        return false;
    case EX_OP_COPY:
        copy(op->dst, op->src, op->size);
        break;
    case EX_OP_SET:
        memset(op->dst, op->value, op->size);
        break;
    case EX_OP_CALL:
        op->call(op->arg);
        break;
    case EX_OP_CALLBACK:
        op->callback(op->stream->legacy ? NULL : op->stream, ex_error_stuck(), op->arg);
        break;
    case EX_OP_RECORD:
    case EX_OP_WAIT:
        break;
    }
    return true;
}

/* Locked, on entry and on return. Starts all that can start; streams may come and go while it works. */
static void pump(void)
{
    struct CUstream_st *stream = streams;

    while (stream) {
        if (!ready(stream)) {
            stream = stream->next;
            continue;
        }
        struct ex_op *op = stream->head;
        bool done;

        stream->running = true;
        pthread_mutex_unlock(&lock);
        done = carry_out(op);
        pthread_mutex_lock(&lock);
        if (done)
            finish(op);
        stream = streams;
    }
}

void ex_stream_op_done(struct ex_op *op, int error)
{
    if (error)
        ex_error_stick((cudaError_t)error);
    pthread_mutex_lock(&lock);
    finish(op);
    pump();
    pthread_mutex_unlock(&lock);
}

static void append(struct CUstream_st *stream, struct ex_op *op)
{
    op->stream = stream;
    op->number = ++submitted;
    if (op->event)
        op->event->users++;
    if (op->kind == EX_OP_RECORD)
        op->generation = ++op->event->recorded;
    else if (op->kind == EX_OP_WAIT)
        op->generation = op->event->recorded;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
}

static cudaError_t submit(cudaStream_t handle, struct ex_op *op, uint64_t *waiter)
{
    struct CUstream_st *stream;

    if (!op)
        return ex_error(cudaErrorMemoryAllocation);
    stream = resolve(handle);
    if (!stream || ex_error_stuck()) {
        free(op);
        return ex_error(stream ? ex_error_stuck() : cudaErrorInvalidResourceHandle);
    }
    op->waiter = waiter;
    pthread_mutex_lock(&lock);
    append(stream, op);
    pump();
    while (waiter && *waiter)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return waiter ? ex_error(ex_error_stuck()) : cudaSuccess;
}

cudaError_t ex_stream_submit(cudaStream_t stream, struct ex_op *op)
{
    return submit(stream, op, NULL);
}

cudaError_t ex_stream_run(cudaStream_t stream, struct ex_op *op)
{
    uint64_t waiter = 1;

    return submit(stream, op, &waiter);
}

static bool all_empty(void)
{
    for (const struct CUstream_st *s = streams; s; s = s->next) {
        if (s->head)
            return false;
    }
    return true;
}

cudaError_t ex_streams_drain(void)
{
    pthread_mutex_lock(&lock);
    while (!all_empty())
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return ex_error(ex_error_stuck());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    if (!stream || flags & ~1u)
        return ex_error(cudaErrorInvalidValue);
    *stream = create(flags);
    return *stream ? cudaSuccess : ex_error(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    (void)priority; /* one priority: see cudaDeviceGetStreamPriorityRange */
    return cudaStreamCreateWithFlags(stream, flags);
}

/* Returns at once, as CUDA does; the stream goes when its work is done. */
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    struct CUstream_st *stream = resolve(handle);

    if (!stream || stream->legacy || handle == cudaStreamPerThread)
        return ex_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    if (stream->head)
        stream->zombie = true;
    else
        destroy_zombie(stream);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    struct CUstream_st *stream = resolve(handle);
    uint64_t last;

    if (!stream)
        return ex_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    last = submitted;
    while (known(stream) && stream->head && stream->head->number <= last)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return ex_error(ex_error_stuck());
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    struct CUstream_st *stream = resolve(handle);
    bool empty;

    if (!stream)
        return ex_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    empty = !stream->head;
    pthread_mutex_unlock(&lock);
    if (ex_error_stuck())
        return ex_error(ex_error_stuck());
    return empty ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    struct ex_op *op;

    if (!event || flags)
        return ex_error(event ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    op = ex_op_create(EX_OP_WAIT);
    if (op)
        op->event = event;
    return ex_stream_submit(stream, op);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg)
{
    struct ex_op *op = fn ? ex_op_create(EX_OP_CALL) : NULL;

    if (!fn)
        return ex_error(cudaErrorInvalidValue);
    if (op) {
        op->call = fn;
        op->arg = arg;
    }
    return ex_stream_submit(stream, op);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn, void *arg, unsigned int flags)
{
    struct ex_op *op = fn && !flags ? ex_op_create(EX_OP_CALLBACK) : NULL;

    if (!fn || flags)
        return ex_error(cudaErrorInvalidValue);
    if (op) {
        op->callback = fn;
        op->arg = arg;
    }
    return ex_stream_submit(stream, op);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    if (!event || flags & ~3u)
        return ex_error(cudaErrorInvalidValue);
    *event = calloc(1, sizeof(**event));
    if (!*event)
        return ex_error(cudaErrorMemoryAllocation);
    (*event)->timing = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event)
        return ex_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    event->destroyed = true;
    put_event(event);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct ex_op *op;

    if (!event)
        return ex_error(cudaErrorInvalidResourceHandle);
    op = ex_op_create(EX_OP_RECORD);
    if (op)
        op->event = event;
    return ex_stream_submit(stream, op);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    uint64_t generation;

    if (!event)
        return ex_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    generation = event->recorded;
    while (event->done < generation)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return ex_error(ex_error_stuck());
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    bool done;

    if (!event)
        return ex_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    done = event->done == event->recorded;
    pthread_mutex_unlock(&lock);
    if (ex_error_stuck())
        return ex_error(ex_error_stuck());
    return done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t error = cudaSuccess;

    if (!ms)
        return ex_error(cudaErrorInvalidValue);
    if (!start || !end || !start->timing || !end->timing)
        return ex_error(cudaErrorInvalidResourceHandle);
    pthread_mutex_lock(&lock);
    if (!start->recorded || !end->recorded)
        error = cudaErrorInvalidResourceHandle;
    else if (start->done < start->recorded || end->done < end->recorded)
        error = cudaErrorNotReady;
    else
        *ms = (float)((double)(int64_t)(end->time_ns - start->time_ns) / 1e6);
    pthread_mutex_unlock(&lock);
    return ex_error(error);
}
