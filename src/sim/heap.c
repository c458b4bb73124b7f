/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { WAYS = 4 };

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static int grow(struct sim_heap *heap)
{
    size_t room = heap->room == 0 ? 64 : heap->room * 2;
    struct sim_event *event = realloc(heap->event, room * sizeof(*event));

    if (event == NULL)
        return -ENOMEM;
    heap->event = event;
    heap->room = room;
    return 0;
}

int sim_heap_push(struct sim_heap *heap, struct sim_event event)
{
    size_t at = heap->count;

    if (heap->count == heap->room && grow(heap) != 0)
        return -ENOMEM;
    event.order = heap->pushed++;
    while (at != 0 && before(&event, &heap->event[(at - 1) / WAYS])) {
        heap->event[at] = heap->event[(at - 1) / WAYS];
        at = (at - 1) / WAYS;
    }
    heap->event[at] = event;
    if (++heap->count > heap->peak)
        heap->peak = heap->count;
    return 0;
}

static size_t earliest_child(const struct sim_heap *heap, size_t parent)
{
    size_t first = parent * WAYS + 1, best = first;

    for (size_t i = first + 1; i < first + WAYS && i < heap->count; i++)
        if (before(&heap->event[i], &heap->event[best]))
            best = i;
    return best;
}

struct sim_event sim_heap_pop(struct sim_heap *heap)
{
    struct sim_event top = heap->event[0], last = heap->event[--heap->count];
    size_t at = 0;

    while (at * WAYS + 1 < heap->count) {
        size_t child = earliest_child(heap, at);
        if (!before(&heap->event[child], &last))
            break;
        heap->event[at] = heap->event[child];
        at = child;
    }
    if (heap->count != 0)
        heap->event[at] = last;
    return top;
}

void sim_heap_free(struct sim_heap *heap)
{
    free(heap->event);
    *heap = (struct sim_heap){0};
}
