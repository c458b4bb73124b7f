/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for CUDA's driver: what of its interface softnic run stands before, one function that it does not know, and
 * two that look inside. "GPU memory" is host memory.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda.h"

enum { IOMEMORY = 4, PAGE = 4096 };

static unsigned last_flags, calls;
static cu_deviceptr allocated[64];
static size_t sizes[64];

int cuInit(unsigned flags)
{
    return flags ? 1 : 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

/* Like a real one on a machine whose memory is no device's. */
int cuMemHostRegister_v2(void *from, size_t size, unsigned flags)
{
    (void)from;
    (void)size;
    calls++;
    last_flags = flags;
    return flags & IOMEMORY ? 1 : 0;
}

unsigned fake_last_flags(void)
{
    return last_flags;
}

unsigned fake_calls(void)
{
    return calls;
}

int cuMemAlloc_v2(cu_deviceptr *out, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *out = (cu_deviceptr)(uintptr_t)p;
    for (int i = 0; i < 64; i++)
        if (!allocated[i]) {
            allocated[i] = *out;
            sizes[i] = size;
            return p == MAP_FAILED ? 2 : 0;
        }
    return 2;
}

int cuMemGetAddressRange_v2(cu_deviceptr *base, size_t *size, cu_deviceptr at)
{
    for (int i = 0; i < 64; i++)
        if (allocated[i] && at - allocated[i] < sizes[i]) {
            *base = allocated[i];
            *size = sizes[i];
            return 0;
        }
    return 1;
}

int cuMemFree_v2(cu_deviceptr at)
{
    for (int i = 0; i < 64; i++)
        if (allocated[i] == at && at) {
            allocated[i] = 0;
            return 0; /* stays mapped: what still writes there is to be seen, not to crash */
        }
    return 1;
}

/* The descriptor names no memory, as a real one's does not: it cannot be mapped. */
int cuMemGetHandleForAddressRange(void *handle, cu_deviceptr from, size_t size, int type, unsigned long long flags)
{
    (void)from;
    (void)flags;
    if (type != 1 || !size)
        return 1;
    int fd[2];
    if (pipe(fd))
        return 1;
    close(fd[1]);
    *(int *)handle = fd[0];
    return 0;
}

static const struct {
    const char *name;
    int since;
    void *function;
} table[] = {{"cuInit", 2000, (void *)cuInit},
             {"cuDriverGetVersion", 2020, (void *)cuDriverGetVersion},
             {"cuMemHostRegister", 6050, (void *)cuMemHostRegister_v2},
             {"cuMemFree", 3020, (void *)cuMemFree_v2},
             {"cuMemGetHandleForAddressRange", 11070, (void *)cuMemGetHandleForAddressRange},
             {"cuGetProcAddress", 12000, (void *)cuGetProcAddress_v2},
             {"cuGetProcAddress", 11030, (void *)cuGetProcAddress}};

int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    (void)flags;
    *out = NULL;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !*out; i++)
        if (!strcmp(table[i].name, name) && version >= table[i].since)
            *out = table[i].function;
    if (status)
        *status = *out ? 0 : 1;
    return *out ? 0 : 500;
}

int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
