/* SPDX-License-Identifier: Apache-2.0 */
/* The events that are still to come, earliest first; those of one instant in the order in which they were added. */
#ifndef GDAKI_SIM_HEAP_H
#define GDAKI_SIM_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct sim_event {
    uint64_t time;  /* ns */
    uint64_t order; /* breaks ties: set by sim_heap_push */
    void (*fire)(void *object, uint64_t arg);
    void *object;
    uint64_t arg;
};

struct sim_heap {
    struct sim_event *event; /* a 4-ary heap: two cache lines a step, half the steps of a binary one */
    size_t count, room, peak;
    uint64_t pushed;
};

int sim_heap_push(struct sim_heap *heap, struct sim_event event); /* 0 or -ENOMEM */
struct sim_event sim_heap_pop(struct sim_heap *heap);              /* count != 0 */
void sim_heap_free(struct sim_heap *heap);

static inline uint64_t sim_heap_next(const struct sim_heap *heap)
{
    return heap->count == 0 ? UINT64_MAX : heap->event[0].time;
}

#endif
