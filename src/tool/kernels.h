/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the kernels for a GPU back-end. */
#ifndef GDAKI_TOOL_KERNELS_H
#define GDAKI_TOOL_KERNELS_H

#include "kernels/abi.h"

/*
 * Loads gdaki-kernels-<backend>.so from beside the program, or from the installed library folder. Returns NULL and writes
 * the reason into `why` (PARSE_WHY_SIZE bytes). The object stays loaded.
 */
const struct gdaki_kernels *kernels_load(const char *backend, char *why);
/* True if the object for a back-end is there; `path` (size bytes) gets where it was looked for first. */
int kernels_present(const char *backend, char *path, size_t size);

#endif
