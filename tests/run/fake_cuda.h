/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_FAKE_CUDA_H
#define RUN_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t cu_deviceptr;

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuMemHostRegister_v2(void *from, size_t size, unsigned flags);
int cuMemAlloc_v2(cu_deviceptr *out, size_t size);
int cuMemFree_v2(cu_deviceptr at);
int cuMemGetAddressRange_v2(cu_deviceptr *base, size_t *size, cu_deviceptr at);
int cuMemGetHandleForAddressRange(void *handle, cu_deviceptr from, size_t size, int type, unsigned long long flags);
int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

unsigned fake_last_flags(void); /* of the last registration that reached the driver */
unsigned fake_calls(void);

#endif
