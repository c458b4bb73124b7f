/* SPDX-License-Identifier: Apache-2.0 */
/* A launch: its configuration checked, its kernel's module found, handed to its stream. */
#define _GNU_SOURCE 1
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "executor/stream.h"

struct module {
    uintptr_t address, low, high;
};

/* The executable segment that holds an address. */
static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct module *module = arg;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr;

        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        if (module->address < low || module->address >= low + header->p_memsz)
            continue;
        module->low = low;
        module->high = low + header->p_memsz;
        return 1;
    }
    return 0;
}

static void set_text_range(struct ex_launch *launch)
{
    static __thread struct module last; /* most launches of a thread come from one module */
    uintptr_t address = (uintptr_t)launch->kernel;

    if (address < last.low || address >= last.high) {
        last = (struct module){.address = address};
        dl_iterate_phdr(find_text, &last);
    }
    launch->text_low = last.low;
    launch->text_high = last.high;
}

static cudaError_t check_config(const struct gdaki_cpu_launch_config *config)
{
    const struct gdaki_cpu_dim *grid = &config->grid, *block = &config->block;

    if (!grid->x || !grid->y || !grid->z || !block->x || !block->y || !block->z)
        return cudaErrorInvalidConfiguration;
    if (grid->x > 0x7fffffffu || grid->y > 65535 || grid->z > 65535)
        return cudaErrorInvalidConfiguration;
    if (block->x > 1024 || block->y > 1024 || block->z > 64 ||
        (uint64_t)block->x * block->y * block->z > EX_MAX_THREADS)
        return cudaErrorInvalidConfiguration;
    if (config->shared > EX_SHARED_MAX)
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t refuse(cudaError_t error, void (*destroy)(void *closure), void *closure)
{
    if (destroy)
        destroy(closure);
    return ex_error(error);
}

int gdaki_cpu_launch(const struct gdaki_cpu_launch_config *config, const char *name, void (*kernel)(void *closure),
                     void (*destroy)(void *closure), void *closure)
{
    cudaError_t error = check_config(config);
    struct ex_launch *launch;
    struct ex_op *op;

    if (error)
        return refuse(error, destroy, closure);
    if (ex_pool_start())
        return refuse(cudaErrorInitializationError, destroy, closure);
    launch = calloc(1, sizeof(*launch));
    op = ex_op_create(EX_OP_KERNEL);
    if (!launch || !op) {
        free(launch);
        free(op);
        return refuse(cudaErrorMemoryAllocation, destroy, closure);
    }
    launch->config = *config;
    launch->name = name;
    launch->kernel = kernel;
    launch->destroy = destroy;
    launch->closure = closure;
    launch->blocks = (uint64_t)config->grid.x * config->grid.y * config->grid.z;
    launch->op = op;
    op->launch = launch;
    set_text_range(launch);
    error = ex_stream_submit(config->stream, op);
    if (error) {
        free(launch);
        return refuse(error, destroy, closure);
    }
    return cudaSuccess;
}
