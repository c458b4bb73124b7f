/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/heap.h"

#include <errno.h>
#include <stdlib.h>

enum { WAYS = 4 };

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

/* ---- the heap: what is far ------------------------------------------------------------------------------------- */

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

static void far_push(struct sim_heap *heap, const struct sim_event *event)
{
    size_t at = heap->far++;

    while (at != 0 && before(event, &heap->event[(at - 1) / WAYS])) {
        heap->event[at] = heap->event[(at - 1) / WAYS];
        at = (at - 1) / WAYS;
    }
    heap->event[at] = *event;
}

static size_t earliest_child(const struct sim_heap *heap, size_t parent)
{
    size_t first = parent * WAYS + 1, best = first;

    for (size_t i = first + 1; i < first + WAYS && i < heap->far; i++)
        if (before(&heap->event[i], &heap->event[best]))
            best = i;
    return best;
}

static void far_pop(struct sim_heap *heap, struct sim_event *out)
{
    struct sim_event last = heap->event[--heap->far];
    size_t at = 0;

    *out = heap->event[0];
    while (at * WAYS + 1 < heap->far) {
        size_t child = earliest_child(heap, at);
        if (!before(&heap->event[child], &last))
            break;
        heap->event[at] = heap->event[child];
        at = child;
    }
    if (heap->far != 0)
        heap->event[at] = last;
}

/* ---- what is near ---------------------------------------------------------------------------------------------- */

static struct sim_event *near_at(struct sim_heap *heap, uint32_t n)
{
    return &heap->near[(heap->near_head + n) % SIM_HEAP_NEAR];
}

/* Its order is the highest: behind those of its time. Where there is no room the last makes some. */
static void near_push(struct sim_heap *heap, const struct sim_event *event)
{
    uint32_t at;

    if (heap->near_count == SIM_HEAP_NEAR)
        far_push(heap, near_at(heap, --heap->near_count));
    for (at = heap->near_count++; at != 0 && near_at(heap, at - 1)->time > event->time; at--)
        *near_at(heap, at) = *near_at(heap, at - 1);
    *near_at(heap, at) = *event;
}

static void near_fill(struct sim_heap *heap)
{
    while (heap->near_count < SIM_HEAP_AHEAD && heap->far != 0)
        far_pop(heap, near_at(heap, heap->near_count++));
}

/* ---- the present ----------------------------------------------------------------------------------------------- */

static int present_push(struct sim_heap *heap, const struct sim_event *event)
{
    if (heap->present_count == heap->present_room) {
        size_t room = heap->present_room == 0 ? 64 : heap->present_room * 2;
        struct sim_event *present = malloc(room * sizeof(*present));
        if (present == NULL)
            return -ENOMEM;
        for (size_t i = 0; i < heap->present_count; i++)
            present[i] = heap->present[(heap->present_head + i) & (heap->present_room - 1)];
        free(heap->present);
        heap->present = present;
        heap->present_room = room;
        heap->present_head = 0;
    }
    heap->present[(heap->present_head + heap->present_count++) & (heap->present_room - 1)] = *event;
    return 0;
}

/* ---- together ---------------------------------------------------------------------------------------------------- */

int sim_heap_push(struct sim_heap *heap, struct sim_event event)
{
    event.order = heap->pushed;
    if (event.time == heap->now) {
        if (present_push(heap, &event) != 0)
            return -ENOMEM;
    } else {
        if (heap->far == heap->room && grow(heap) != 0) /* also what makes room among the near ones ends there */
            return -ENOMEM;
        if (heap->near_count != 0 && event.time < near_at(heap, heap->near_count - 1)->time)
            near_push(heap, &event);
        else
            far_push(heap, &event);
    }
    heap->pushed++;
    if (++heap->count > heap->peak)
        heap->peak = heap->count;
    return 0;
}

/* Those that were added before their time came go before those that were added since. */
struct sim_event sim_heap_pop(struct sim_heap *heap)
{
    struct sim_event event;

    if (heap->near_count < SIM_HEAP_AHEAD)
        near_fill(heap);
    heap->count--;
    heap->moved = heap->present_count == 0 || (heap->near_count != 0 && near_at(heap, 0)->time == heap->now);
    if (!heap->moved) {
        event = heap->present[heap->present_head];
        heap->present_head = (heap->present_head + 1) & (heap->present_room - 1);
        heap->present_count--;
    } else {
        event = *near_at(heap, 0);
        heap->near_head = (heap->near_head + 1) % SIM_HEAP_NEAR;
        heap->near_count--;
        heap->now = event.time;
    }
    return event;
}

uint64_t sim_heap_next(const struct sim_heap *heap)
{
    if (heap->present_count != 0)
        return heap->now;
    if (heap->near_count != 0)
        return heap->near[heap->near_head].time;
    return heap->far != 0 ? heap->event[0].time : UINT64_MAX;
}

void sim_heap_free(struct sim_heap *heap)
{
    free(heap->event);
    free(heap->present);
    *heap = (struct sim_heap){0};
}
