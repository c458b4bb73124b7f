/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of CUDA's driver that are stood before. Numbers and types are the driver's interface; older versions of a
 * function have their own names in it (NAME, NAME_v2), and cuGetProcAddress gives the version that the caller was built for.
 */
#include <string.h>

#include "shim.h"

#define EXPORT __attribute__((visibility("default")))

enum { CU_ERROR_NOT_FOUND = 500 };

#define NEXT(name) ((__typeof__(&name))shim_next(#name))

EXPORT cu_result cuMemHostRegister(void *from, size_t size, unsigned flags);
EXPORT cu_result cuMemHostRegister_v2(void *from, size_t size, unsigned flags);
EXPORT cu_result cuMemGetHandleForAddressRange(void *handle, cu_deviceptr from, size_t size, int type,
                                               unsigned long long flags);
EXPORT cu_result cuMemFree(cu_deviceptr from);
EXPORT cu_result cuMemFree_v2(cu_deviceptr from);
EXPORT cu_result cuMemUnmap(cu_deviceptr from, size_t size);
EXPORT cu_result cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
EXPORT cu_result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);
extern cu_result cuMemGetAddressRange_v2(cu_deviceptr *base, size_t *size, cu_deviceptr at);

/* ---- registrations ------------------------------------------------------------------------------------------------- */

/* softnic's doorbells are ordinary memory, and the driver refuses to take that for a device's. */
static unsigned flags_of(const void *from, size_t size, unsigned flags)
{
    return flags & CU_HOST_REGISTER_IOMEMORY && shim_is_doorbell(from, size) ? flags & ~CU_HOST_REGISTER_IOMEMORY : flags;
}

cu_result cuMemHostRegister_v2(void *from, size_t size, unsigned flags)
{
    __typeof__(&cuMemHostRegister_v2) next = NEXT(cuMemHostRegister_v2);
    return next ? next(from, size, flags_of(from, size, flags)) : CU_ERROR_NOT_FOUND;
}

cu_result cuMemHostRegister(void *from, size_t size, unsigned flags)
{
    __typeof__(&cuMemHostRegister) next = NEXT(cuMemHostRegister);
    return next ? next(from, size, flags_of(from, size, flags)) : CU_ERROR_NOT_FOUND;
}

/* ---- DMA-BUFs ------------------------------------------------------------------------------------------------------ */

cu_result cuMemGetHandleForAddressRange(void *handle, cu_deviceptr from, size_t size, int type, unsigned long long flags)
{
    __typeof__(&cuMemGetHandleForAddressRange) next = NEXT(cuMemGetHandleForAddressRange);
    cu_result rc = next ? next(handle, from, size, type, flags) : CU_ERROR_NOT_FOUND;
    if (rc == CU_OK && type == CU_HANDLE_DMA_BUF_FD)
        shim_exported(*(const int *)handle, (void *)(uintptr_t)from, size);
    return rc;
}

/* Before the memory is freed: afterwards its addresses may already be another's. */
static void before_free(cu_deviceptr from)
{
    __typeof__(&cuMemGetAddressRange_v2) range = shim_has_exports() ? NEXT(cuMemGetAddressRange_v2) : NULL;
    cu_deviceptr base;
    size_t size;
    if (range && from && range(&base, &size, from) == CU_OK)
        shim_freed((void *)(uintptr_t)base, size);
}

cu_result cuMemFree_v2(cu_deviceptr from)
{
    __typeof__(&cuMemFree_v2) next = NEXT(cuMemFree_v2);
    before_free(from);
    return next ? next(from) : CU_ERROR_NOT_FOUND;
}

cu_result cuMemFree(cu_deviceptr from)
{
    __typeof__(&cuMemFree) next = NEXT(cuMemFree);
    return next ? next(from) : CU_ERROR_NOT_FOUND; /* of 32-bit device pointers: DMA-BUF is younger */
}

cu_result cuMemUnmap(cu_deviceptr from, size_t size)
{
    __typeof__(&cuMemUnmap) next = NEXT(cuMemUnmap);
    if (shim_has_exports())
        shim_freed((void *)(uintptr_t)from, size);
    return next ? next(from, size) : CU_ERROR_NOT_FOUND;
}

/* ---- by name ------------------------------------------------------------------------------------------------------- */

/* `since`: driver version, as cuGetProcAddress takes it, from which the plain name means this function. */
static const struct {
    const char *name, *plain;
    int since, before;
    void *own;
} functions[] = {
    {"cuMemHostRegister_v2", "cuMemHostRegister", 6050, 0, (void *)cuMemHostRegister_v2},
    {"cuMemHostRegister", "cuMemHostRegister", 4000, 6050, (void *)cuMemHostRegister},
    {"cuMemGetHandleForAddressRange", "cuMemGetHandleForAddressRange", 11070, 0, (void *)cuMemGetHandleForAddressRange},
    {"cuMemFree_v2", "cuMemFree", 3020, 0, (void *)cuMemFree_v2},
    {"cuMemFree", "cuMemFree", 0, 3020, (void *)cuMemFree},
    {"cuMemUnmap", "cuMemUnmap", 10020, 0, (void *)cuMemUnmap},
    {"cuGetProcAddress", "cuGetProcAddress", 11030, 12000, (void *)cuGetProcAddress},
    {"cuGetProcAddress_v2", "cuGetProcAddress", 12000, 0, (void *)cuGetProcAddress_v2},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* A driver that lacks a function must not seem to have it. */
void *shim_own(const char *name)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i].name, name))
            return shim_next(name) ? functions[i].own : NULL;
    return NULL;
}

/* What the driver gave is replaced by ours of the same version. */
static void replace(const char *name, int version, void **out)
{
    if (!name || !out || !*out)
        return;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (!strcmp(functions[i].plain, name) && version >= functions[i].since &&
            (!functions[i].before || version < functions[i].before)) {
            *out = functions[i].own;
            return;
        }
}

cu_result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    __typeof__(&cuGetProcAddress_v2) next = NEXT(cuGetProcAddress_v2);
    cu_result rc = next ? next(name, out, version, flags, status) : CU_ERROR_NOT_FOUND;
    if (rc == CU_OK)
        replace(name, version, out);
    return rc;
}

cu_result cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    __typeof__(&cuGetProcAddress) next = NEXT(cuGetProcAddress);
    cu_result rc = next ? next(name, out, version, flags) : CU_ERROR_NOT_FOUND;
    if (rc == CU_OK)
        replace(name, version, out);
    return rc;
}
