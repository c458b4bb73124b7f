/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables that the host library and the GPU seam read. The table is what `gdaki info --env` prints. */
#ifndef GDAKI_HOST_ENV_H
#define GDAKI_HOST_ENV_H

#include <stdbool.h>

/* Value, or NULL when unset. The name must be in the table: a variable that is not listed is a bug. */
const char *env_get(const char *name) __attribute__((visibility("hidden")));

/* True for a non-zero integer. */
bool env_flag(const char *name) __attribute__((visibility("hidden")));

#endif
