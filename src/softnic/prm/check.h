/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parsers: lengths, and bits that nobody modelled. */
#ifndef SOFTNIC_PRM_CHECK_H
#define SOFTNIC_PRM_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "format/prm.h"
#include "softnic/prm/refuse.h"

enum { PRM_MAX_INPUT = 4096 };

struct prm_layout { /* where a structure of the tables lies in a mailbox */
    enum prm_struct_id id;
    size_t at;
};

/*
 * The mailbox is at least `size` bytes and has only zeros outside the fields of `layout` (`count` entries) and outside
 * `free_at` .. `free_at + free_bytes` (a byte array such as rgid_rip).
 */
int prm_check_layout(const void *in, size_t inlen, size_t size, const struct prm_layout *layout, size_t count,
                     size_t free_at, size_t free_bytes, struct prm_call *call);

#endif
