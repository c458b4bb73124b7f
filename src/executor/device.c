/* SPDX-License-Identifier: Apache-2.0 */
/* The one device: what it says of itself. 32 multiprocessors of 2,048 threads is what the pool keeps resident. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "executor/env.h"
#include "executor/stream.h"

#define BUS_ID          "ffff:00:00.0"
#define MULTIPROCESSORS 32

static size_t memory_pages(int name)
{
    long pages = sysconf(name), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count)
        return ex_error(cudaErrorInvalidValue);
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    if (!device)
        return ex_error(cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device ? ex_error(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    return flags & ~0xfu ? ex_error(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    if (!prop || device)
        return ex_error(prop ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *prop = (struct cudaDeviceProp){
        .name = "gdaki CPU executor",
        .totalGlobalMem = memory_pages(_SC_PHYS_PAGES),
        .sharedMemPerBlock = 48 * 1024,
        .sharedMemPerBlockOptin = EX_SHARED_MAX,
        .sharedMemPerMultiprocessor = EX_SHARED_MAX + 1024,
        .totalConstMem = 65536,
        .regsPerBlock = 65536,
        .regsPerMultiprocessor = 65536,
        .warpSize = EX_LANES,
        .maxThreadsPerBlock = EX_MAX_THREADS,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {0x7fffffff, 65535, 65535},
        .clockRate = 1000000,
        .major = 9,
        .minor = 0,
        .multiProcessorCount = MULTIPROCESSORS,
        .maxThreadsPerMultiProcessor = 2048,
        .maxBlocksPerMultiProcessor = 32,
        .concurrentKernels = 1,
        .asyncEngineCount = 1,
        .canMapHostMemory = 1,
        .unifiedAddressing = 1,
        .managedMemory = 1,
        .cooperativeLaunch = 1,
        .integrated = 1,
        .pageableMemoryAccess = 1,
        .hostNativeAtomicSupported = 1,
        .hostRegisterSupported = 1,
        .pciDomainID = 0xffff,
    };
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    static const struct {
        enum cudaDeviceAttr attr;
        int value;
    } table[] = {
        {cudaDevAttrMaxThreadsPerBlock, EX_MAX_THREADS},
        {cudaDevAttrMaxBlockDimX, 1024},
        {cudaDevAttrMaxBlockDimY, 1024},
        {cudaDevAttrMaxBlockDimZ, 64},
        {cudaDevAttrMaxGridDimX, 0x7fffffff},
        {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535},
        {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
        {cudaDevAttrWarpSize, EX_LANES},
        {cudaDevAttrClockRate, 1000000},
        {cudaDevAttrMultiProcessorCount, MULTIPROCESSORS},
        {cudaDevAttrIntegrated, 1},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrPciBusId, 0},
        {cudaDevAttrPciDeviceId, 0},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
        {cudaDevAttrAsyncEngineCount, 1},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrPciDomainId, 0xffff},
        {cudaDevAttrComputeCapabilityMajor, 9},
        {cudaDevAttrComputeCapabilityMinor, 0},
        {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrHostNativeAtomicSupported, 1},
        {cudaDevAttrPageableMemoryAccess, 1},
        {cudaDevAttrConcurrentManagedAccess, 1},
        {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, EX_SHARED_MAX},
        {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
        {cudaDevAttrGPUDirectRDMASupported, 0},
        {cudaDevAttrGPUDirectRDMAWritesOrdering, 200},
    };

    if (!value || device)
        return ex_error(value ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].attr == attr) {
            *value = table[i].value;
            return cudaSuccess;
        }
    }
    return ex_error(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *bus_id)
{
    if (!device || !bus_id)
        return ex_error(cudaErrorInvalidValue);
    if (strcasecmp(bus_id, BUS_ID) && strcmp(bus_id, "cpu") && strcmp(bus_id, "cpu0"))
        return ex_error(cudaErrorInvalidDevice);
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus_id, int size, int device)
{
    if (!bus_id || size < (int)sizeof(BUS_ID))
        return ex_error(cudaErrorInvalidValue);
    if (device)
        return ex_error(cudaErrorInvalidDevice);
    memcpy(bus_id, BUS_ID, sizeof(BUS_ID));
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return ex_streams_drain();
}

cudaError_t cudaDeviceReset(void)
{
    ex_streams_drain();
    ex_error_reset();
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    if (limit == cudaLimitStackSize)
        return value <= ex_env()->stack_kb * 1024 ? cudaSuccess : ex_error(cudaErrorNotSupported);
    return limit <= cudaLimitMallocHeapSize ? cudaSuccess : ex_error(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    if (!value || limit > cudaLimitMallocHeapSize)
        return ex_error(cudaErrorInvalidValue);
    *value = limit == cudaLimitStackSize ? ex_env()->stack_kb * 1024 : memory_pages(_SC_PHYS_PAGES);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (!version)
        return ex_error(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    if (!free_bytes || !total)
        return ex_error(cudaErrorInvalidValue);
    *free_bytes = memory_pages(_SC_AVPHYS_PAGES);
    *total = memory_pages(_SC_PHYS_PAGES);
    return cudaSuccess;
}
