/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA driver API that the seam calls, resolved from libcuda.so.1 at run time. Types and numbers are
 * the driver ABI's (handles are pointers, device pointers 64 bits), so that building needs no CUDA toolkit.
 */
#ifndef GDAKI_CUDA_DRIVER_H
#define GDAKI_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_deviceptr;
typedef struct cu_ctx_handle *cu_context;
typedef struct cu_stream_handle *cu_stream;
typedef struct cu_event_handle *cu_event;

enum {
    CU_OK = 0,
    CU_ERROR_INVALID_VALUE = 1,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NOT_INITIALIZED = 3,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_INVALID_DEVICE = 101,
    CU_ERROR_INVALID_CONTEXT = 201,
    CU_ERROR_NOT_READY = 600,
    CU_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CU_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CU_ERROR_NOT_PERMITTED = 800,
    CU_ERROR_NOT_SUPPORTED = 801,
};

enum { CU_HOST_REGISTER_PORTABLE = 1, CU_HOST_REGISTER_DEVICEMAP = 2, CU_HOST_REGISTER_IOMEMORY = 4 };
enum { CU_POINTER_MEMORY_TYPE = 2, CU_POINTER_SYNC_MEMOPS = 6, CU_POINTER_IS_MANAGED = 8, CU_POINTER_DEVICE_ORDINAL = 9 };
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2 };
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_HANDLE_DMA_BUF_FD = 1 };

/* X(member, symbol, required, parameters) */
#define GDAKI_CUDA_FUNCTIONS(X)                                                                                        \
    X(init, "cuInit", 1, (unsigned flags))                                                                             \
    X(device_count, "cuDeviceGetCount", 1, (int *count))                                                               \
    X(device_get, "cuDeviceGet", 1, (cu_device * device, int ordinal))                                                 \
    X(device_name, "cuDeviceGetName", 1, (char *name, int len, cu_device device))                                      \
    X(device_bus_id, "cuDeviceGetPCIBusId", 1, (char *bus_id, int len, cu_device device))                              \
    X(device_by_bus_id, "cuDeviceGetByPCIBusId", 1, (cu_device * device, const char *bus_id))                          \
    X(device_attr, "cuDeviceGetAttribute", 1, (int *value, int attr, cu_device device))                                \
    X(primary_retain, "cuDevicePrimaryCtxRetain", 1, (cu_context * ctx, cu_device device))                             \
    X(ctx_push, "cuCtxPushCurrent_v2", 1, (cu_context ctx))                                                            \
    X(ctx_pop, "cuCtxPopCurrent_v2", 1, (cu_context * ctx))                                                            \
    X(ctx_current, "cuCtxGetCurrent", 1, (cu_context * ctx))                                                           \
    X(ctx_device, "cuCtxGetDevice", 1, (cu_device * device))                                                           \
    X(ctx_synchronize, "cuCtxSynchronize", 1, (void))                                                                  \
    X(mem_alloc, "cuMemAlloc_v2", 1, (cu_deviceptr * ptr, size_t size))                                                \
    X(mem_free, "cuMemFree_v2", 1, (cu_deviceptr ptr))                                                                 \
    X(host_register, "cuMemHostRegister_v2", 1, (void *ptr, size_t size, unsigned flags))                              \
    X(host_unregister, "cuMemHostUnregister", 1, (void *ptr))                                                          \
    X(host_device_pointer, "cuMemHostGetDevicePointer_v2", 1, (cu_deviceptr * out, void *ptr, unsigned flags))         \
    X(memcpy_async, "cuMemcpyAsync", 1, (cu_deviceptr dst, cu_deviceptr src, size_t size, cu_stream stream))           \
    X(memset_async, "cuMemsetD8Async", 1, (cu_deviceptr dst, unsigned char value, size_t size, cu_stream stream))      \
    X(stream_create, "cuStreamCreate", 1, (cu_stream * stream, unsigned flags))                                        \
    X(stream_create_priority, "cuStreamCreateWithPriority", 0, (cu_stream * stream, unsigned flags, int priority))     \
    X(stream_priorities, "cuCtxGetStreamPriorityRange", 0, (int *least, int *greatest))                                \
    X(event_create, "cuEventCreate", 1, (cu_event * event, unsigned flags))                                            \
    X(event_record, "cuEventRecord", 1, (cu_event event, cu_stream stream))                                            \
    X(event_query, "cuEventQuery", 1, (cu_event event))                                                                \
    X(event_synchronize, "cuEventSynchronize", 1, (cu_event event))                                                    \
    X(pointer_get, "cuPointerGetAttribute", 1, (void *value, int attr, cu_deviceptr ptr))                              \
    X(pointer_set, "cuPointerSetAttribute", 1, (const void *value, int attr, cu_deviceptr ptr))                        \
    X(error_name, "cuGetErrorName", 1, (cu_result err, const char **name))                                             \
    X(address_range_handle, "cuMemGetHandleForAddressRange", 0,                                                        \
      (void *handle, cu_deviceptr ptr, size_t size, int type, unsigned long long flags))

struct gdaki_cuda_driver {
#define X(member, symbol, required, params) cu_result(*member) params;
    GDAKI_CUDA_FUNCTIONS(X)
#undef X
};

#pragma GCC visibility push(hidden)

/* Filled before gdaki_cuda_driver_get first returns non-NULL, constant afterwards. */
extern struct gdaki_cuda_driver gdaki_cuda_table;

/* Opens the driver and initialises it, once a process. NULL: *why (static text) says which step failed. */
const struct gdaki_cuda_driver *gdaki_cuda_driver_get(const char **why);

/* Negative errno for a driver code; 0 for success. */
int gdaki_cuda_errno(cu_result result);

/* Pushes the primary context of `device` (retained once, for the life of the process); pop with gdaki_cuda_leave. */
int gdaki_cuda_enter(int device);
void gdaki_cuda_leave(void);

/* Device of the caller's current context, or 0 where there is none. */
int gdaki_cuda_current_device(void);

/* Records a failing driver call for last_error and returns its errno. */
int gdaki_cuda_fail(cu_result result, const char *call, const void *ptr, size_t size);

/*
 * A lane is one copy in flight: an event of its own, behind the copy, in one of the device's few copy streams. Copies of
 * one stream run one after the other; none waits for a resident kernel.
 */
struct gdaki_cuda_lane {
    cu_stream stream;
    cu_event event;
    int device;
    struct gdaki_cuda_lane *next;
};

/* All need the device's context entered. prepare makes the streams: call it before the user can have a kernel resident. */
int gdaki_cuda_lanes_prepare(int device);
int gdaki_cuda_lane_get(int device, struct gdaki_cuda_lane **lane);
void gdaki_cuda_lane_put(struct gdaki_cuda_lane *lane);

#pragma GCC visibility pop
#endif
