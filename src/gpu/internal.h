/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the GPU seam share with each other. */
#ifndef GDAKI_GPU_INTERNAL_H
#define GDAKI_GPU_INTERNAL_H

#include "gpu/gpu.h"

#pragma GCC visibility push(hidden)

struct gdaki_bus_id {
    unsigned domain, bus, device, function;
};

/* "[domain:]bus:device[.function]", hexadecimal. 0, or -EINVAL with nothing written. */
int gdaki_bus_id_parse(const char *text, struct gdaki_bus_id *out);

const struct gdaki_gpu_ops *gdaki_gpu_cpu_ops(void);

/* NULL when no driver or no device answers; *why (static or thread-local text) then says which. */
const struct gdaki_gpu_ops *gdaki_gpu_cuda_ops(const char **why);

/* Records the text that ops->last_error returns on this thread, and passes `err` through. */
int gdaki_gpu_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *gdaki_gpu_last_error(void);

#pragma GCC visibility pop
#endif
