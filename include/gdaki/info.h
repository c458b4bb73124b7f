/* SPDX-License-Identifier: Apache-2.0 */
/* What the host library uses in this process, for tools that print it. All functions may be called from any thread. */
#ifndef GDAKI_INFO_H
#define GDAKI_INFO_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gdaki_env_entry {
    const char *name;
    const char *default_value;
    const char *help;
};

size_t gdaki_env_count(void);
const struct gdaki_env_entry *gdaki_env_at(size_t index); /* NULL past the end */

/* One half of the library's outside: which implementation, and why that one (static text, "" when nothing to say). */
struct gdaki_choice {
    const char *name;
    const char *why;
};

void gdaki_nic_describe(struct gdaki_choice *out);       /* "rdma-core", "softnic" or "none" */
void gdaki_gpu_describe(struct gdaki_choice *out);       /* "cuda", "cpu" or "none" */
void gdaki_queue_mem_describe(struct gdaki_choice *out); /* "gpu" or "host": what a queue made now would get */
void gdaki_gdrcopy_describe(struct gdaki_choice *out);   /* "gdrcopy" or "none" */

/* Text of this thread's last error from a doca_* function: what was attempted, on which object, with which value. "" before one. */
const char *gdaki_host_last_error(void);

/* State of one loader unit of the DOCA SDK. */
struct gdaki_sdk_unit {
    const char *name;  /* gpu, dev, umem, uar, cq, qp */
    bool in_use;
    const char *why;   /* why not, or the folder */
};

/* Looks for the SDK if that has not happened. Returns the number of units; writes at most `max`. */
size_t gdaki_sdk_describe(struct gdaki_sdk_unit *out, size_t max);

#ifdef __cplusplus
}
#endif
#endif
