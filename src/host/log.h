/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the host library: DOCA_GPUNETIO_LOG chooses up to which syslog level they go to stderr. */
#ifndef GDAKI_HOST_LOG_H
#define GDAKI_HOST_LOG_H

#include <syslog.h>

#include "host/doca_error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Any thread. Exported, because programs of the original project log through it. */
void doca_gpu_log_print(int level, const char *file, int line, const char *func, const char *fmt, ...)
    __attribute__((format(printf, 5, 6), visibility("default")));

#ifdef __cplusplus
}
#endif

#define HOST_LOG(level, ...) doca_gpu_log_print(level, __FILE__, __LINE__, __func__, __VA_ARGS__)

/* Logs an error (what was attempted, on which object, with which value) and yields its code. */
#define HOST_ERR(code, ...) (HOST_LOG(LOG_ERR, __VA_ARGS__), (code))

/* For a caller that only passes a code on: adds context to the log and leaves the text of the cause as the last error. */
#define HOST_PASS_ON(code, ...) (HOST_LOG(LOG_NOTICE, __VA_ARGS__), (code))

/* Text of a code, for messages. */
const char *host_error_name(doca_error_t code) __attribute__((visibility("hidden")));

#endif
