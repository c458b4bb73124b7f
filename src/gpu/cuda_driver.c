/* SPDX-License-Identifier: Apache-2.0 */
/* Finds libcuda.so.1, resolves its functions, keeps one primary context a device. */
#include "gpu/cuda_driver.h"
#include "gpu/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#define MAX_DEVICES 64

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
struct gdaki_cuda_driver gdaki_cuda_table;
static char open_why[300];

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static cu_context contexts[MAX_DEVICES];

static int resolve(void *lib)
{
    const struct {
        void **slot;
        const char *symbol;
        int required;
    } table[] = {
#define X(member, symbol, required, params) {(void **)&gdaki_cuda_table.member, symbol, required},
        GDAKI_CUDA_FUNCTIONS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        *table[i].slot = dlsym(lib, table[i].symbol);
        if (*table[i].slot == NULL && table[i].required) {
            snprintf(open_why, sizeof(open_why), "libcuda.so.1 lacks %s", table[i].symbol);
            return -ENOSYS;
        }
    }
    return 0;
}

static void open_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    cu_result result;
    int count = 0;

    if (lib == NULL) {
        snprintf(open_why, sizeof(open_why), "%s", dlerror());
        return;
    }
    if (resolve(lib) != 0)
        goto close;
    result = gdaki_cuda_table.init(0);
    if (result != CU_OK) {
        snprintf(open_why, sizeof(open_why), "cuInit failed with code %d", result);
        goto close;
    }
    result = gdaki_cuda_table.device_count(&count);
    if (result != CU_OK || count < 1) {
        snprintf(open_why, sizeof(open_why), "the CUDA driver lists no device (code %d)", result);
        goto close;
    }
    open_why[0] = '\0';
    return; /* never closed again: the driver keeps threads of its own */
close:
    dlclose(lib);
}

const struct gdaki_cuda_driver *gdaki_cuda_driver_get(const char **why)
{
    pthread_once(&open_once, open_driver);
    *why = open_why;
    return open_why[0] == '\0' ? &gdaki_cuda_table : NULL;
}

int gdaki_cuda_errno(cu_result result)
{
    switch (result) {
    case CU_OK:
        return 0;
    case CU_ERROR_INVALID_VALUE:
    case CU_ERROR_INVALID_CONTEXT:
        return -EINVAL;
    case CU_ERROR_OUT_OF_MEMORY:
        return -ENOMEM;
    case CU_ERROR_NOT_INITIALIZED:
    case CU_ERROR_NO_DEVICE:
    case CU_ERROR_INVALID_DEVICE:
        return -ENODEV;
    case CU_ERROR_NOT_READY:
        return -EAGAIN;
    case CU_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
        return -EEXIST;
    case CU_ERROR_HOST_MEMORY_NOT_REGISTERED:
        return -ENOENT;
    case CU_ERROR_NOT_PERMITTED:
        return -EPERM;
    case CU_ERROR_NOT_SUPPORTED:
        return -EOPNOTSUPP;
    default:
        return -EIO;
    }
}

int gdaki_cuda_fail(cu_result result, const char *call, const void *ptr, size_t size)
{
    const char *name = NULL;

    if (gdaki_cuda_table.error_name(result, &name) != CU_OK || name == NULL)
        name = "unknown CUDA error";
    return gdaki_gpu_fail(gdaki_cuda_errno(result), "%s(%p, %zu bytes): %s (%d)", call, ptr, size, name, result);
}

static int primary_context(int device, cu_context *out)
{
    cu_device handle;
    cu_result result = CU_OK;

    if (device < 0 || device >= MAX_DEVICES)
        return gdaki_gpu_fail(-ENODEV, "cuda: device %d is out of range 0..%d", device, MAX_DEVICES - 1);
    pthread_mutex_lock(&contexts_lock);
    if (contexts[device] == NULL) {
        result = gdaki_cuda_table.device_get(&handle, device);
        if (result == CU_OK)
            result = gdaki_cuda_table.primary_retain(&contexts[device], handle);
    }
    *out = contexts[device];
    pthread_mutex_unlock(&contexts_lock);
    return result == CU_OK ? 0 : gdaki_cuda_fail(result, "cuDevicePrimaryCtxRetain", NULL, (size_t)device);
}

int gdaki_cuda_enter(int device)
{
    cu_context ctx = NULL;
    cu_result result;
    int err = primary_context(device, &ctx);

    if (err != 0)
        return err;
    result = gdaki_cuda_table.ctx_push(ctx);
    return result == CU_OK ? 0 : gdaki_cuda_fail(result, "cuCtxPushCurrent", ctx, 0);
}

void gdaki_cuda_leave(void)
{
    cu_context ctx;

    gdaki_cuda_table.ctx_pop(&ctx);
}

int gdaki_cuda_current_device(void)
{
    cu_context ctx = NULL;
    cu_device device = 0;

    if (gdaki_cuda_table.ctx_current(&ctx) != CU_OK || ctx == NULL || gdaki_cuda_table.ctx_device(&device) != CU_OK)
        return 0;
    return device;
}
