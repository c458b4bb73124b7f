/* SPDX-License-Identifier: Apache-2.0 */
/* What programs written against the original project's source folder take from there: logging. */
#ifndef DOCA_INTERNAL_HPP
#define DOCA_INTERNAL_HPP

#include <syslog.h>

#include "../doca_gpunetio_host.h"

#ifdef __cplusplus
extern "C" {
#endif
void doca_gpu_log_print(int level, const char *file, int line, const char *func, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
#ifdef __cplusplus
}
#endif

#ifndef DOCA_LOG
#define DOCA_LOG(level, ...) doca_gpu_log_print(level, __FILE__, __LINE__, __func__, __VA_ARGS__)
#endif

#endif
