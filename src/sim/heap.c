/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/heap.h"

#include <errno.h>
#include <stdlib.h>

enum { WAYS = 4, FEW = 256 };

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

/* ---- heaps ------------------------------------------------------------------------------------------------------ */

static int make_room(struct sim_event_tree *tree, size_t most)
{
    size_t room = tree->room == 0 ? 64 : tree->room * 2;
    struct sim_event *event;

    if (most <= tree->room)
        return 0;
    event = realloc(tree->event, room * sizeof(*event));
    if (event == NULL)
        return -ENOMEM;
    tree->event = event;
    tree->room = room;
    return 0;
}

static void tree_push(struct sim_event_tree *tree, const struct sim_event *event)
{
    size_t at = tree->count++;

    while (at != 0 && before(event, &tree->event[(at - 1) / WAYS])) {
        tree->event[at] = tree->event[(at - 1) / WAYS];
        at = (at - 1) / WAYS;
    }
    tree->event[at] = *event;
}

static size_t earliest_child(const struct sim_event_tree *tree, size_t parent)
{
    size_t first = parent * WAYS + 1, best = first;

    for (size_t i = first + 1; i < first + WAYS && i < tree->count; i++)
        if (before(&tree->event[i], &tree->event[best]))
            best = i;
    return best;
}

static void tree_pop(struct sim_event_tree *tree, struct sim_event *out)
{
    struct sim_event last = tree->event[--tree->count];
    size_t at = 0;

    *out = tree->event[0];
    while (at * WAYS + 1 < tree->count) {
        size_t child = earliest_child(tree, at);
        if (!before(&tree->event[child], &last))
            break;
        tree->event[at] = tree->event[child];
        at = child;
    }
    if (tree->count != 0)
        tree->event[at] = last;
}

/* ---- buckets ----------------------------------------------------------------------------------------------------- */

enum { SLAB = 32 /* pieces */, LINE = 64 };

static struct sim_event_piece *piece_new(struct sim_heap *heap)
{
    struct sim_event_piece *piece = heap->free_pieces;

    if (piece == NULL) {
        uint8_t *slab = aligned_alloc(LINE, LINE + SLAB * sizeof(*piece));
        if (slab == NULL)
            return NULL;
        *(void **)(void *)slab = heap->slabs;
        heap->slabs = slab;
        for (unsigned i = SLAB; i-- != 0; heap->free_pieces = piece) {
            piece = (struct sim_event_piece *)(void *)(slab + LINE + i * sizeof(*piece));
            piece->next = heap->free_pieces;
        }
    }
    heap->free_pieces = piece->next;
    piece->count = 0;
    return piece;
}

static int bucket_push(struct sim_heap *heap, const struct sim_event *event)
{
    uint32_t n = (uint32_t)(event->time / SIM_HEAP_TICK % SIM_HEAP_BUCKETS);
    struct sim_event_piece *piece = heap->bucket[n];

    if (piece == NULL || piece->count == SIM_HEAP_PIECE) {
        piece = piece_new(heap);
        if (piece == NULL)
            return -ENOMEM;
        heap->buckets += heap->bucket[n] == NULL;
        piece->next = heap->bucket[n];
        heap->bucket[n] = piece;
        heap->used[n / 64] |= 1ull << n % 64;
    }
    piece->event[piece->count++] = *event;
    return 0;
}

static void ask_for(const struct sim_event_piece *piece)
{
    for (size_t i = 0; piece != NULL && i < sizeof(*piece); i += LINE)
        __builtin_prefetch((const uint8_t *)piece + i);
}

/* All of one moves to `soon`. */
static void bucket_empty(struct sim_heap *heap, uint32_t n)
{
    struct sim_event_piece *piece = heap->bucket[n], *next;

    heap->bucket[n] = NULL;
    heap->buckets--;
    heap->used[n / 64] &= ~(1ull << n % 64);
    for (; piece != NULL; piece = next) {
        next = piece->next;
        ask_for(next);
        for (uint32_t i = 0; i < piece->count; i++)
            tree_push(&heap->soon, &piece->event[i]);
        piece->next = heap->free_pieces;
        heap->free_pieces = piece;
    }
}

/* Ticks from `opened` to the next bucket that is not empty, at least `from`; SIM_HEAP_BUCKETS: there is none. */
static uint32_t next_used(const struct sim_heap *heap, uint32_t from)
{
    while (from < SIM_HEAP_BUCKETS) {
        uint32_t n = (uint32_t)((heap->opened + from) % SIM_HEAP_BUCKETS);
        uint64_t bits = heap->used[n / 64] >> n % 64;
        if (bits != 0) {
            from += (uint32_t)__builtin_ctzll(bits);
            break;
        }
        from += 64 - n % 64;
    }
    return from < SIM_HEAP_BUCKETS ? from : SIM_HEAP_BUCKETS;
}

/* The next tick in which there is something: that comes to `soon`. False: there is nothing, or not for long while something is near. */
static bool open_next(struct sim_heap *heap)
{
    uint32_t n = next_used(heap, 0), after;
    uint64_t tick = n == SIM_HEAP_BUCKETS ? UINT64_MAX : heap->opened + n;
    uint64_t late = heap->late.count == 0 ? UINT64_MAX : heap->late.event[0].time / SIM_HEAP_TICK;

    if (tick == UINT64_MAX && late == UINT64_MAX)
        return false;
    if (heap->near_count != 0 && (tick < late ? tick : late) > heap->now / SIM_HEAP_TICK + SIM_HEAP_BUCKETS / 2)
        return false; /* what comes before it is still to be added */
    if (tick <= late) {
        after = next_used(heap, n + 1);
        if (after != SIM_HEAP_BUCKETS)
            ask_for(heap->bucket[(heap->opened + after) % SIM_HEAP_BUCKETS]);
        bucket_empty(heap, (uint32_t)(tick % SIM_HEAP_BUCKETS));
    } else {
        tick = late;
    }
    while (heap->late.count != 0 && heap->late.event[0].time / SIM_HEAP_TICK == tick) {
        struct sim_event event;
        tree_pop(&heap->late, &event);
        tree_push(&heap->soon, &event);
    }
    heap->opened = tick + 1;
    return true;
}

/* None before any of the near ones. */
static int far_push(struct sim_heap *heap, const struct sim_event *event)
{
    uint64_t tick = event->time / SIM_HEAP_TICK;

    if (heap->count < FEW && heap->buckets == 0 && tick - heap->opened < SIM_HEAP_BUCKETS &&
        (heap->late.count == 0 || tick < heap->late.event[0].time / SIM_HEAP_TICK))
        heap->opened = tick + 1; /* a heap of few is in the cache */
    if (tick < heap->opened) {
        tree_push(&heap->soon, event);
        return 0;
    }
    if (tick - heap->opened < SIM_HEAP_BUCKETS)
        return bucket_push(heap, event);
    if (make_room(&heap->late, heap->late.count + 1) != 0)
        return -ENOMEM;
    tree_push(&heap->late, event);
    return 0;
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
        tree_push(&heap->soon, near_at(heap, --heap->near_count));
    for (at = heap->near_count++; at != 0 && near_at(heap, at - 1)->time > event->time; at--)
        *near_at(heap, at) = *near_at(heap, at - 1);
    *near_at(heap, at) = *event;
}

static void near_fill(struct sim_heap *heap)
{
    while (heap->near_count < SIM_HEAP_AHEAD && (heap->soon.count != 0 || open_next(heap)))
        tree_pop(&heap->soon, near_at(heap, heap->near_count++));
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
        if (make_room(&heap->soon, heap->count + 1) != 0)
            return -ENOMEM;
        if (heap->near_count != 0 && event.time < near_at(heap, heap->near_count - 1)->time)
            near_push(heap, &event);
        else if (far_push(heap, &event) != 0)
            return -ENOMEM;
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

uint64_t sim_heap_next(struct sim_heap *heap)
{
    if (heap->present_count != 0)
        return heap->now;
    if (heap->near_count == 0)
        near_fill(heap);
    return heap->near_count != 0 ? near_at(heap, 0)->time : UINT64_MAX;
}

void sim_heap_free(struct sim_heap *heap)
{
    while (heap->slabs != NULL) {
        void *slab = heap->slabs;
        heap->slabs = *(void **)slab;
        free(slab);
    }
    free(heap->soon.event);
    free(heap->late.event);
    free(heap->present);
    *heap = (struct sim_heap){0};
}
