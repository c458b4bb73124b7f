/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that are still to come, earliest first; those of one instant in the order in which they were added.
 *
 * Three places. What is added for the present instant, often the most, waits in a queue of its own. The next few events
 * lie sorted, so that the loop can ask the cache for what they will touch; with a thousand NICs that is what an event
 * costs. The rest is a heap.
 */
#ifndef GDAKI_SIM_HEAP_H
#define GDAKI_SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_event {
    uint64_t time;  /* ns */
    uint64_t order; /* breaks ties: set by sim_heap_push */
    void (*fire)(void *object, uint64_t arg);
    void *object;
    uint64_t arg;
};

enum { SIM_HEAP_AHEAD = 44 /* events that are sorted, if there are as many */, SIM_HEAP_NEAR = 128 /* and room for more */ };

struct sim_heap {
    size_t count, peak; /* everywhere */
    uint64_t pushed;
    uint64_t now;       /* time of the event popped last */
    struct sim_event *event; /* a 4-ary heap: two cache lines a step, half the steps of a binary one */
    size_t far, room;
    struct sim_event near[SIM_HEAP_NEAR]; /* a ring; none is later than any in the heap */
    uint32_t near_head, near_count;
    bool moved; /* the event popped last was the first of these, not one of the present: the others have come nearer */
    struct sim_event *present; /* a ring of `present_room`, a power of two: all at `now` */
    size_t present_head, present_count, present_room;
};

int sim_heap_push(struct sim_heap *heap, struct sim_event event); /* 0 or -ENOMEM; none earlier than the one popped last */
struct sim_event sim_heap_pop(struct sim_heap *heap);              /* count != 0 */
uint64_t sim_heap_next(const struct sim_heap *heap);               /* UINT64_MAX: none */
void sim_heap_free(struct sim_heap *heap);

/* The event that comes after `n` others, those of the present instant apart; NULL: not known yet. */
static inline const struct sim_event *sim_heap_ahead(const struct sim_heap *heap, uint32_t n)
{
    return n < heap->near_count ? &heap->near[(heap->near_head + n) % SIM_HEAP_NEAR] : NULL;
}

#endif
