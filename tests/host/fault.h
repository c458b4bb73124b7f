/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail on demand and are counted; linked with --wrap=malloc and its kin. */
#ifndef TESTS_HOST_FAULT_H
#define TESTS_HOST_FAULT_H

#include <stdatomic.h>

extern atomic_uint fault_allocations; /* so far */
extern atomic_uint fault_fail_at;     /* 1-based; 0: none fails */
extern atomic_int fault_alive;

#endif
