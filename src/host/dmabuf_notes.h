/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memory a DMA-BUF stands for, told to softnic, which cannot find out from the file descriptor. Exports made before
 * libsoftnic is loaded are kept here, each with a descriptor of its own, since the caller may close his.
 */
#ifndef GDAKI_HOST_DMABUF_NOTES_H
#define GDAKI_HOST_DMABUF_NOTES_H

#include <stddef.h>

#include "host/nic_seam.h"

#pragma GCC visibility push(hidden)

/* `fd` is an export of size bytes at base. Without memory to keep it, it stays unknown to softnic. */
void dmabuf_notes_add(int fd, void *base, size_t size);

/* The memory at base is about to be freed. */
void dmabuf_notes_forget(void *base);

/* libsoftnic has been loaded: everything kept goes to it. */
void dmabuf_notes_hand_over(const struct gdaki_nic_ops *softnic);

#pragma GCC visibility pop
#endif
