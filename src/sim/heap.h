/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that are still to come, earliest first; those of one instant in the order in which they were added.
 *
 * Four places. What is added for the present instant, often the most, waits in a queue of its own. The next few events
 * lie sorted, so that the loop can ask the cache for what they will touch; with a thousand NICs that is what an event
 * costs. Those of the next 64 microseconds lie in buckets of 64 ns, in no order: a heap of all of them would be out of the
 * cache at each of its levels. A heap sorts the bucket in hand, another one what is beyond the buckets: timers.
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

enum {
    SIM_HEAP_AHEAD = 64,    /* events that are sorted, if there are as many, */
    SIM_HEAP_NEAR = 128,    /* and room for more */
    SIM_HEAP_BUCKETS = 1024,
    SIM_HEAP_PIECE = 6,     /* events: four cache lines with what leads to the next piece */
};
#define SIM_HEAP_TICK 64u /* ns: a bucket */

struct sim_event_tree { /* a 4-ary heap: two cache lines a step, half the steps of a binary one */
    struct sim_event *event;
    size_t count, room;
};

struct sim_event_piece { /* of a bucket, or free */
    struct sim_event_piece *next;
    uint32_t count;
    struct sim_event event[SIM_HEAP_PIECE];
};

struct sim_heap {
    size_t count, peak; /* everywhere */
    uint64_t pushed;
    uint64_t now;       /* time of the event popped last */
    struct sim_event near[SIM_HEAP_NEAR]; /* a ring; none is later than any in another place */
    uint32_t near_head, near_count;
    bool moved; /* the event popped last was the first of these, not one of the present: the others have come nearer */
    struct sim_event *present; /* a ring of `present_room`, a power of two: all at `now` */
    size_t present_head, present_count, present_room;
    uint64_t opened;    /* ticks: what is before is near or in `soon`, which has room for all events */
    struct sim_event_tree soon, late;
    uint32_t buckets;   /* that are not empty */
    struct sim_event_piece *bucket[SIM_HEAP_BUCKETS]; /* [opened, opened + SIM_HEAP_BUCKETS), by the tick modulo their number */
    uint64_t used[SIM_HEAP_BUCKETS / 64]; /* bits: those that are not empty */
    struct sim_event_piece *free_pieces;
    void *slabs;        /* of pieces; each begins with a pointer to the next */
};

int sim_heap_push(struct sim_heap *heap, struct sim_event event); /* 0 or -ENOMEM; none earlier than the one popped last */
struct sim_event sim_heap_pop(struct sim_heap *heap);              /* count != 0 */
uint64_t sim_heap_next(struct sim_heap *heap);                     /* UINT64_MAX: none */
void sim_heap_free(struct sim_heap *heap);

/* The event that comes after `n` others, those of the present instant apart; NULL: not known yet. */
static inline const struct sim_event *sim_heap_ahead(const struct sim_heap *heap, uint32_t n)
{
    return n < heap->near_count ? &heap->near[(heap->near_head + n) % SIM_HEAP_NEAR] : NULL;
}

#endif
