/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with the soname libcuda.so.1 that stands before CUDA's driver. The loader takes it for the driver wherever one
 * is asked for by that name, so the few functions that are defined here are found first, by linked programs and by those
 * that open the driver at run time; the statically linked CUDA runtime is among them. All others are the driver's, which
 * `softnic run` preloads behind this library: linked programs find them there, and dlsym on our handle passes them on.
 *
 * Without a register of softnic's in an argument nothing is changed. The library stays passive until it is called.
 */
#ifndef SOFTNIC_CUDA_SHIM_H
#define SOFTNIC_CUDA_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/cuda_driver.h"

#pragma GCC visibility push(hidden)

/* The driver's function of that name, or NULL. */
void *shim_next(const char *name);

/* Ours of that name, or NULL. */
void *shim_own(const char *name);

/*
 * What dlsym(handle, name) shall give instead of what it would; NULL: nothing else. SHIM_ABSENT: NULL, and dlerror says
 * why. Called from dlsym.S.
 */
#define SHIM_ABSENT ((void *)-1)
void *shim_choose(void *handle, const char *name);

/* The C library's dlsym; set before shim_choose returns. */
extern void *(*shim_libc_dlsym)(void *handle, const char *name);

/* ---- softnic (softnic.c) ------------------------------------------------------------------------------------------ */

/* True if the bytes lie in a doorbell page of softnic's. */
bool shim_is_doorbell(const void *from, size_t size);

/* `fd` was exported for that memory; the memory of [from, from + size) goes away. */
void shim_exported(int fd, void *base, size_t size);
void shim_freed(void *from, size_t size);
bool shim_has_exports(void);

#pragma GCC visibility pop
#endif
