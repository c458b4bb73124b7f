/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks, their shared memory, and the pool of stacks. */
#include "executor/exec.h"

#include <stdlib.h>
#include <string.h>

#include "executor/env.h"
#include "executor/store_buffer.h"

#define POOLED_STACKS 2048u
#define POISON 0xcd /* shared memory is not cleared on hardware either */

struct ex_stack *ex_stack_get(struct ex_worker *worker)
{
    struct ex_stack *stack = worker->stacks;

    if (!stack)
        return ex_stack_create(ex_env()->stack_kb * 1024);
    worker->stacks = stack->next;
    worker->pooled--;
    return stack;
}

/* May be the stack that runs now: it is not touched before the next ex_stack_get, which comes after it was left. */
void ex_stack_put(struct ex_worker *worker, struct ex_stack *stack, bool dirty)
{
    if (dirty && worker->pooled >= POOLED_STACKS) {
        ex_stack_destroy(stack);
        return;
    }
    if (dirty)
        ex_stack_prepare(stack, NULL, NULL, true);
    stack->next = worker->stacks;
    worker->stacks = stack;
    worker->pooled++;
}

static struct gdaki_cpu_dim unlinear(uint64_t index, const struct gdaki_cpu_dim *dim)
{
    struct gdaki_cpu_dim out = {
        .x = (unsigned)(index % dim->x),
        .y = (unsigned)(index / dim->x % dim->y),
        .z = (unsigned)(index / dim->x / dim->y),
    };

    return out;
}

static bool init_threads(struct ex_block *block)
{
    const struct gdaki_cpu_dim *dim = &block->view.block_dim;
    bool buffered = ex_env()->store_buffer;

    for (unsigned i = 0; i < block->nthreads; i++) {
        struct ex_thread *thread = &block->threads[i];

        thread->view.thread_idx = unlinear(i, dim);
        thread->view.linear = i;
        thread->view.block = &block->view;
        thread->block = block;
        thread->warp = &block->warps[i / EX_LANES];
        thread->place.what = "not started";
        if (i % EX_LANES == 0)
            thread->warp->lanes = thread;
        thread->warp->exists |= 1u << (i % EX_LANES);
        if (buffered && ex_buffer_attach(thread))
            return false;
        ex_list_append(&block->ring, thread);
    }
    block->runnable = block->live = block->nthreads;
    return true;
}

static bool alloc_dynamic_shared(struct ex_block *block, size_t size)
{
    if (!size)
        return true;
    if (posix_memalign(&block->view.dynamic_shared, 1024, (size + 1023) & ~(size_t)1023))
        return false;
    memset(block->view.dynamic_shared, POISON, size);
    block->view.dynamic_shared_size = size;
    return true;
}

struct ex_block *ex_block_create(struct ex_worker *worker, struct ex_launch *launch, uint64_t number)
{
    const struct gdaki_cpu_dim *dim = &launch->config.block;
    unsigned nthreads = dim->x * dim->y * dim->z;
    unsigned nwarps = (nthreads + EX_LANES - 1) / EX_LANES;
    struct ex_block *block = calloc(1, sizeof(*block));

    if (!block)
        return NULL;
    block->threads = calloc(nthreads, sizeof(*block->threads));
    block->warps = calloc(nwarps, sizeof(*block->warps));
    block->launch = launch;
    block->worker = worker;
    block->nthreads = nthreads;
    block->nwarps = nwarps;
    block->view.grid_dim = launch->config.grid;
    block->view.block_dim = *dim;
    block->view.block_idx = unlinear(number, &launch->config.grid);
    block->random = ex_env()->seed * 0x2545f4914f6cdd1du + number;
    if (!block->threads || !block->warps || !alloc_dynamic_shared(block, launch->config.shared)) {
        ex_block_destroy(block);
        return NULL;
    }
    if (!init_threads(block)) {
        ex_block_destroy(block);
        return NULL;
    }
    return block;
}

void ex_block_destroy(struct ex_block *block)
{
    for (unsigned i = 0; block->threads && i < block->nthreads; i++) {
        if (block->threads[i].buffer)
            ex_buffer_detach(&block->threads[i]);
        if (block->threads[i].stack)
            ex_stack_put(block->worker, block->threads[i].stack, true);
    }
    for (unsigned i = 0; i < block->nslots; i++)
        free(block->slots[i]);
    free(block->slots);
    free(block->view.dynamic_shared);
    free(block->warps);
    free(block->threads);
    free(block);
}

/* Numbers of static __shared__ variables, given out at first use. 0: none yet. */
static unsigned next_slot = 1;

static unsigned slot_number(unsigned *slot)
{
    unsigned number = __atomic_load_n(slot, __ATOMIC_ACQUIRE), mine;

    if (number)
        return number;
    mine = __atomic_fetch_add(&next_slot, 1, __ATOMIC_RELAXED);
    if (__atomic_compare_exchange_n(slot, &number, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return mine;
    return number;
}

static bool grow_slots(struct ex_block *block, unsigned number)
{
    unsigned want = number + 8;
    void **slots = realloc(block->slots, want * sizeof(*slots));

    if (!slots)
        return false;
    memset(slots + block->nslots, 0, (want - block->nslots) * sizeof(*slots));
    block->slots = slots;
    block->nslots = want;
    block->view.slots = slots;
    block->view.nslots = want;
    return true;
}

void *gdaki_cpu_shared_get(unsigned *slot, size_t size, size_t align)
{
    unsigned number = slot_number(slot);
    struct ex_block *block = gdaki_cpu_tls.kernel ? ex_current()->block : NULL;
    void *memory = NULL;

    if (!block) {
        ex_report("a __shared__ variable is used outside of a kernel");
        abort();
    }
    if (number < block->nslots && block->slots[number])
        return block->slots[number];
    if (block->slot_bytes + size + block->view.dynamic_shared_size > EX_SHARED_MAX) {
        ex_report("kernel %s: more than %u bytes of shared memory in a block", block->launch->name, EX_SHARED_MAX);
        ex_stop(701 /* cudaErrorLaunchOutOfResources */);
    }
    if ((number >= block->nslots && !grow_slots(block, number)) ||
        posix_memalign(&memory, align < 16 ? 16 : align, (size + 15) & ~(size_t)15)) {
        ex_report("kernel %s: no memory for %zu bytes of shared memory", block->launch->name, size);
        ex_stop(701 /* cudaErrorLaunchOutOfResources */);
    }
    memset(memory, POISON, size);
    block->slots[number] = memory;
    block->slot_bytes += size;
    return memory;
}
