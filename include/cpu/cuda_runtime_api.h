/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the CUDA runtime API that the CPU executor offers. Names and numbers are CUDA's; the symbols are
 * gdaki_cpu_cuda*, so that a process may hold the real runtime too. A name that is missing here is not covered.
 */
#ifndef GDAKI_CPU_CUDA_RUNTIME_API_H
#define GDAKI_CPU_CUDA_RUNTIME_API_H

#ifdef __CUDA_ARCH__
#error "include/cpu is for the CPU executor; nvcc has its own cuda_runtime_api.h"
#endif

#include <stddef.h>
#include <stdint.h>

#include "gdaki_cpu_errors.h"
#include "gdaki_cpu_vector_types.h"

#ifndef GDAKI_CPU
#define GDAKI_CPU 1
#endif
#define CUDART_VERSION 12000
#define CUDARTAPI
#define CUDART_CB

#ifdef __cplusplus
extern "C" {
#define GDAKI_CPU_DEFAULT(value) = value
#else
#define GDAKI_CPU_DEFAULT(value)
#endif

typedef enum cudaError {
#define GDAKI_CPU_ERROR_ENUM(name, number, text) name = number,
    GDAKI_CPU_ERRORS(GDAKI_CPU_ERROR_ENUM)
#undef GDAKI_CPU_ERROR_ENUM
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef void (*cudaHostFn_t)(void *arg);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *arg);
#define cudaStreamLegacy    ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
};

#define cudaHostAllocDefault       0x00
#define cudaHostAllocPortable      0x01
#define cudaHostAllocMapped        0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault    0x00
#define cudaHostRegisterPortable   0x01
#define cudaHostRegisterMapped     0x02
#define cudaHostRegisterIoMemory   0x04
#define cudaHostRegisterReadOnly   0x08
#define cudaMemAttachGlobal        0x01
#define cudaMemAttachHost          0x02
#define cudaStreamDefault          0x00
#define cudaStreamNonBlocking      0x01
#define cudaEventDefault           0x00
#define cudaEventBlockingSync      0x01
#define cudaEventDisableTiming     0x02
#define cudaEventWaitDefault       0x00
#define cudaDeviceScheduleAuto         0x00
#define cudaDeviceScheduleSpin         0x01
#define cudaDeviceScheduleYield        0x02
#define cudaDeviceScheduleBlockingSync 0x04
#define cudaDeviceMapHost              0x08

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    size_t sharedMemPerBlockOptin;
    size_t sharedMemPerMultiprocessor;
    size_t totalConstMem;
    int regsPerBlock;
    int regsPerMultiprocessor;
    int warpSize;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate; /* kHz */
    int major, minor;
    int multiProcessorCount;
    int maxThreadsPerMultiProcessor;
    int maxBlocksPerMultiProcessor;
    int l2CacheSize;
    int concurrentKernels;
    int asyncEngineCount;
    int canMapHostMemory;
    int unifiedAddressing;
    int managedMemory;
    int cooperativeLaunch;
    int integrated;
    int pageableMemoryAccess;
    int hostNativeAtomicSupported;
    int hostRegisterSupported;
    int ECCEnabled;
    int pciBusID, pciDeviceID, pciDomainID;
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrPciBusId = 33,
    cudaDevAttrPciDeviceId = 34,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrAsyncEngineCount = 40,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrPciDomainId = 50,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrHostNativeAtomicSupported = 86,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrCanUseHostPointerForRegisteredMem = 91,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrGPUDirectRDMASupported = 116,
    cudaDevAttrGPUDirectRDMAWritesOrdering = 118
};

enum cudaLimit { cudaLimitStackSize = 0, cudaLimitPrintfFifoSize = 1, cudaLimitMallocHeapSize = 2 };
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaFuncCache {
    cudaFuncCachePreferNone = 0,
    cudaFuncCachePreferShared = 1,
    cudaFuncCachePreferL1 = 2,
    cudaFuncCachePreferEqual = 3
};

#define GDAKI_CPU_API(name) __asm__("gdaki_cpu_" #name)

/* Errors */
cudaError_t cudaGetLastError(void) GDAKI_CPU_API(cudaGetLastError);
cudaError_t cudaPeekAtLastError(void) GDAKI_CPU_API(cudaPeekAtLastError);
const char *cudaGetErrorName(cudaError_t error) GDAKI_CPU_API(cudaGetErrorName);
const char *cudaGetErrorString(cudaError_t error) GDAKI_CPU_API(cudaGetErrorString);

/* Device */
cudaError_t cudaGetDeviceCount(int *count) GDAKI_CPU_API(cudaGetDeviceCount);
cudaError_t cudaGetDevice(int *device) GDAKI_CPU_API(cudaGetDevice);
cudaError_t cudaSetDevice(int device) GDAKI_CPU_API(cudaSetDevice);
cudaError_t cudaSetDeviceFlags(unsigned int flags) GDAKI_CPU_API(cudaSetDeviceFlags);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device) GDAKI_CPU_API(cudaGetDeviceProperties);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device) GDAKI_CPU_API(cudaDeviceGetAttribute);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *bus_id) GDAKI_CPU_API(cudaDeviceGetByPCIBusId);
cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int size, int device) GDAKI_CPU_API(cudaDeviceGetPCIBusId);
cudaError_t cudaDeviceSynchronize(void) GDAKI_CPU_API(cudaDeviceSynchronize);
cudaError_t cudaDeviceReset(void) GDAKI_CPU_API(cudaDeviceReset);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) GDAKI_CPU_API(cudaDeviceSetLimit);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) GDAKI_CPU_API(cudaDeviceGetLimit);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) GDAKI_CPU_API(cudaDeviceGetStreamPriorityRange);
cudaError_t cudaDriverGetVersion(int *version) GDAKI_CPU_API(cudaDriverGetVersion);
cudaError_t cudaRuntimeGetVersion(int *version) GDAKI_CPU_API(cudaRuntimeGetVersion);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) GDAKI_CPU_API(cudaMemGetInfo);

/* Memory */
cudaError_t cudaMalloc(void **ptr, size_t size) GDAKI_CPU_API(cudaMalloc);
cudaError_t cudaMallocHost(void **ptr, size_t size) GDAKI_CPU_API(cudaMallocHost);
cudaError_t cudaHostAlloc(void **ptr, size_t size, unsigned int flags) GDAKI_CPU_API(cudaHostAlloc);
cudaError_t cudaMallocManaged(void **ptr, size_t size, unsigned int flags GDAKI_CPU_DEFAULT(cudaMemAttachGlobal))
    GDAKI_CPU_API(cudaMallocManaged);
cudaError_t cudaFree(void *ptr) GDAKI_CPU_API(cudaFree);
cudaError_t cudaFreeHost(void *ptr) GDAKI_CPU_API(cudaFreeHost);
cudaError_t cudaMallocAsync(void **ptr, size_t size, cudaStream_t stream) GDAKI_CPU_API(cudaMallocAsync);
cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream) GDAKI_CPU_API(cudaFreeAsync);
cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags) GDAKI_CPU_API(cudaHostRegister);
cudaError_t cudaHostUnregister(void *ptr) GDAKI_CPU_API(cudaHostUnregister);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags) GDAKI_CPU_API(cudaHostGetDevicePointer);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host) GDAKI_CPU_API(cudaHostGetFlags);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
    GDAKI_CPU_API(cudaPointerGetAttributes);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind) GDAKI_CPU_API(cudaMemcpy);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream GDAKI_CPU_DEFAULT(0)) GDAKI_CPU_API(cudaMemcpyAsync);
cudaError_t cudaMemset(void *dst, int value, size_t size) GDAKI_CPU_API(cudaMemset);
cudaError_t cudaMemsetAsync(void *dst, int value, size_t size, cudaStream_t stream GDAKI_CPU_DEFAULT(0))
    GDAKI_CPU_API(cudaMemsetAsync);

/* Streams and events */
cudaError_t cudaStreamCreate(cudaStream_t *stream) GDAKI_CPU_API(cudaStreamCreate);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) GDAKI_CPU_API(cudaStreamCreateWithFlags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
    GDAKI_CPU_API(cudaStreamCreateWithPriority);
cudaError_t cudaStreamDestroy(cudaStream_t stream) GDAKI_CPU_API(cudaStreamDestroy);
cudaError_t cudaStreamSynchronize(cudaStream_t stream) GDAKI_CPU_API(cudaStreamSynchronize);
cudaError_t cudaStreamQuery(cudaStream_t stream) GDAKI_CPU_API(cudaStreamQuery);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags GDAKI_CPU_DEFAULT(0))
    GDAKI_CPU_API(cudaStreamWaitEvent);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *arg) GDAKI_CPU_API(cudaLaunchHostFunc);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn, void *arg, unsigned int flags)
    GDAKI_CPU_API(cudaStreamAddCallback);
cudaError_t cudaEventCreate(cudaEvent_t *event) GDAKI_CPU_API(cudaEventCreate);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) GDAKI_CPU_API(cudaEventCreateWithFlags);
cudaError_t cudaEventDestroy(cudaEvent_t event) GDAKI_CPU_API(cudaEventDestroy);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream GDAKI_CPU_DEFAULT(0)) GDAKI_CPU_API(cudaEventRecord);
cudaError_t cudaEventSynchronize(cudaEvent_t event) GDAKI_CPU_API(cudaEventSynchronize);
cudaError_t cudaEventQuery(cudaEvent_t event) GDAKI_CPU_API(cudaEventQuery);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) GDAKI_CPU_API(cudaEventElapsedTime);

#undef GDAKI_CPU_DEFAULT
#ifdef __cplusplus
}
#endif
#endif
