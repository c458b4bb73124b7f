/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ to C++: launches and __shared__ declarations, on the same lines. */
#ifndef GDAKI_NVCC_REWRITE_H
#define GDAKI_NVCC_REWRITE_H

#include <stddef.h>
#include <stdio.h>

/*
 * Rewrites preprocessed text (plain text works too) named `name`. On success *out is malloc'ed. Errors go to `errors` as
 * "file:line: error: ..." and give -EINVAL; -ENOMEM.
 */
int rewrite(const char *name, const char *source, size_t size, char **out, size_t *out_size, FILE *errors);

/* Names barriers that stand in code which not every thread of the block may reach; returns how many. */
int lint(const char *name, const char *source, size_t size, FILE *errors);

#endif
