/* SPDX-License-Identifier: Apache-2.0 */
/* Doorbell pages inside the library. */
#ifndef GDAKI_HOST_UAR_H
#define GDAKI_HOST_UAR_H

#include "host/object.h"

#pragma GCC visibility push(hidden)

/* True if `reg` is a register of a UAR made here on softnic: ordinary memory, which CUDA maps without IOMEMORY. */
bool uar_register_is_memory(const void *reg);

/* Maps the register for the GPU; counted by host address. */
doca_error_t uar_map(const struct gdaki_gpu_ops *ops, uint64_t *reg, uint64_t **gpu_reg);
doca_error_t uar_unmap(uint64_t *gpu_or_host_reg);

/* Whether the GPU can map such a register; probed once a kind of register and GPU table. */
bool uar_can_map(const struct gdaki_gpu_ops *ops, uint64_t *reg);

#pragma GCC visibility pop
#endif
