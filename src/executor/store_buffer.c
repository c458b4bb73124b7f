/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store buffer: what x86 hides.
 *
 * A store that device code makes through gdaki_cpu_store or gdaki_cpu_store_weak becomes an entry, at first visible to its
 * own thread only. An entry rises: to its block (CTA), to all threads of the GPU (GPU), and to plain memory, where it
 * ceases to be an entry; only there the NIC, the host and code without helpers see it. What makes it rise:
 *   - a release (fence, store, atomic, barrier) of the thread, of that scope; SYS means memory. Releases are cumulative:
 *     they also lift what the thread may have seen of others, which is its block's CTA entries, and for SYS all GPU ones;
 *   - time: at random, in any order, one level or all the way. Atomic stores rise in the end, weak ones perhaps never;
 *   - the end of the thread.
 * Read-modify-writes act on memory at once, after the entries of the same bytes; register stores go to memory at once. Neither
 * drags other entries along. A load sees the newest entry that is visible to it, else memory. A GPU-visible entry of another
 * block is visible to strong loads of GPU or SYS scope; to others only when the block has acquired at such a scope since (as
 * an L1 cache would have it), which finds missing and too narrow acquires.
 *
 * Entries lie within one aligned 8-byte word. Coherence: stores to one byte are ordered by the time they were made; when one
 * drains, older entries lose those bytes. The seed also chooses a temper: two thirds of the seeds keep weak stores back until
 * a release or the end, the rest let them drain like atomic ones.
 */
#include "executor/store_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "executor/env.h"

#define BUCKETS  4096u
#define KEPT_MAX 4096u /* entries in all, before some are made to drain */

enum level { LEVEL_OWN, LEVEL_CTA, LEVEL_GPU, LEVEL_MEMORY };

struct entry {
    struct entry *next, *prev;         /* in the bucket, by age */
    struct entry *own_next, *own_prev; /* of the thread, by age */
    uintptr_t word;
    uint8_t mask; /* bytes of the word */
    uint8_t bytes[8];
    bool strong;
    enum level level;
    uint64_t number, gpu_at; /* when it was stored; when it became visible to the GPU */
    struct ex_thread *thread;
    size_t place; /* in pool[strong] */
};

struct ex_store_buffer {
    struct entry *oldest, *newest;
};

struct pool {
    struct entry **list;
    size_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct entry *oldest, *newest;
} buckets[BUCKETS];
static struct pool pools[2]; /* weak, strong */
static uint64_t now;

static unsigned bucket_of(uintptr_t word)
{
    return (unsigned)((word >> 3) * 0x9e3779b1u >> 7) % BUCKETS;
}

static bool pool_add(struct pool *pool, struct entry *entry)
{
    if (pool->count == pool->room) {
        size_t room = pool->room ? 2 * pool->room : 256;
        struct entry **list = realloc(pool->list, room * sizeof(struct entry *));

        if (!list)
            return false;
        pool->list = list;
        pool->room = room;
    }
    entry->place = pool->count;
    pool->list[pool->count++] = entry;
    return true;
}

static void remove_entry(struct entry *entry)
{
    struct pool *pool = &pools[entry->strong];
    struct ex_store_buffer *buffer = entry->thread->buffer;
    unsigned b = bucket_of(entry->word);

    pool->list[entry->place] = pool->list[--pool->count];
    pool->list[entry->place]->place = entry->place;
    *(entry->prev ? &entry->prev->next : &buckets[b].oldest) = entry->next;
    *(entry->next ? &entry->next->prev : &buckets[b].newest) = entry->prev;
    *(entry->own_prev ? &entry->own_prev->own_next : &buffer->oldest) = entry->own_next;
    *(entry->own_next ? &entry->own_next->own_prev : &buffer->newest) = entry->own_prev;
    free(entry);
}

static void write_memory(uintptr_t word, uint8_t mask, const uint8_t *bytes)
{
    if (mask == 0xff) {
        uint64_t value;

        memcpy(&value, bytes, sizeof(value));
        __atomic_store_n((uint64_t *)word, value, __ATOMIC_RELEASE);
        return;
    }
    for (unsigned half = 0; half < 8; half += 4) {
        uint32_t value;

        if (((mask >> half) & 0xf) == 0xf) {
            memcpy(&value, bytes + half, sizeof(value));
            __atomic_store_n((uint32_t *)(word + half), value, __ATOMIC_RELEASE);
            continue;
        }
        for (unsigned i = half; i < half + 4; i += 2) {
            uint16_t pair;

            if (((mask >> i) & 3) == 3) {
                memcpy(&pair, bytes + i, sizeof(pair));
                __atomic_store_n((uint16_t *)(word + i), pair, __ATOMIC_RELEASE);
            } else if ((mask >> i) & 3) {
                unsigned k = i + ((mask >> i) & 1 ? 0 : 1);

                __atomic_store_n((uint8_t *)(word + k), bytes[k], __ATOMIC_RELEASE);
            }
        }
    }
}

/* To memory. Older entries of the same bytes are overtaken and vanish. */
static void drain(struct entry *entry)
{
    struct entry *older = entry->prev, *before;

    write_memory(entry->word, entry->mask, entry->bytes);
    for (; older; older = before) {
        before = older->prev;
        if (older->word != entry->word)
            continue;
        older->mask &= (uint8_t)~entry->mask;
        if (!older->mask)
            remove_entry(older);
    }
    remove_entry(entry);
}

static void lift(struct entry *entry, enum level level)
{
    if (level == LEVEL_MEMORY) {
        drain(entry);
        return;
    }
    if (entry->level >= level)
        return;
    entry->level = level;
    if (level == LEVEL_GPU)
        entry->gpu_at = ++now;
}

static enum level level_of(enum gdaki_cpu_scope scope)
{
    switch (scope) {
    case GDAKI_CPU_SCOPE_SYS:
        return LEVEL_MEMORY;
    case GDAKI_CPU_SCOPE_GPU:
        return LEVEL_GPU;
    case GDAKI_CPU_SCOPE_CTA:
        return LEVEL_CTA;
    default:
        return LEVEL_OWN;
    }
}

static bool random_step_lifts(struct ex_block *block, struct pool *pool, bool likely)
{
    uint64_t random;
    struct entry *entry;

    if (!pool->count)
        return false;
    random = ex_random(block);
    if (random & (likely ? 1 : 7))
        return false;
    entry = pool->list[(random >> 8) % pool->count];
    lift(entry, random & 8 ? LEVEL_MEMORY : (enum level)(entry->level + 1));
    return true;
}

static void step(struct ex_thread *thread)
{
    struct ex_block *block = thread->block;
    bool weak_drain = ex_env_values.seed % 3 == 2;

    random_step_lifts(block, &pools[1], true);
    if (weak_drain)
        random_step_lifts(block, &pools[0], false);
    while (pools[0].count + pools[1].count > KEPT_MAX) {
        struct pool *pool = &pools[pools[1].count > pools[0].count];

        drain(pool->list[ex_random(block) % pool->count]);
    }
}

void ex_buffer_step(struct ex_thread *thread)
{
    pthread_mutex_lock(&lock);
    step(thread);
    pthread_mutex_unlock(&lock);
}

int ex_buffer_attach(struct ex_thread *thread)
{
    thread->buffer = calloc(1, sizeof(*thread->buffer));
    return thread->buffer ? 0 : -1;
}

void ex_buffer_detach(struct ex_thread *thread)
{
    pthread_mutex_lock(&lock);
    while (thread->buffer->oldest)
        drain(thread->buffer->oldest);
    pthread_mutex_unlock(&lock);
    free(thread->buffer);
    thread->buffer = NULL;
}

static void release_own(struct ex_thread *thread, enum level level)
{
    struct entry *entry, *next;

    /* Oldest first; a drained entry never removes a younger one, so `next` stays. */
    for (entry = thread->buffer->oldest; entry; entry = next) {
        next = entry->own_next;
        lift(entry, level);
    }
}

static bool seen_by(const struct entry *entry, const struct ex_thread *thread)
{
    return entry->level == LEVEL_GPU || (entry->level == LEVEL_CTA && entry->thread->block == thread->block);
}

static void release_seen(struct ex_thread *thread, enum level level)
{
    for (unsigned strong = 0; strong < 2; strong++) {
        struct pool *pool = &pools[strong];

        /* Draining removes entries of this pool and the other: start over whenever it shrank. */
        for (size_t i = 0; i < pool->count;) {
            size_t count = pool->count;

            if (seen_by(pool->list[i], thread))
                lift(pool->list[i], level);
            i = pool->count == count ? i + 1 : 0;
        }
    }
}

void ex_buffer_release(struct ex_thread *thread, enum gdaki_cpu_scope scope)
{
    enum level level = level_of(scope);

    pthread_mutex_lock(&lock);
    if (level > LEVEL_CTA)
        release_seen(thread, level);
    release_own(thread, level);
    pthread_mutex_unlock(&lock);
}

void ex_buffer_acquire(struct ex_thread *thread, enum gdaki_cpu_scope scope)
{
    if (scope != GDAKI_CPU_SCOPE_SYS && scope != GDAKI_CPU_SCOPE_GPU)
        return;
    pthread_mutex_lock(&lock);
    thread->block->acquired = now;
    pthread_mutex_unlock(&lock);
}

/* One word's part of a store. False: no memory, and the caller stores at once. */
static bool append(struct ex_thread *thread, uintptr_t word, unsigned offset, const void *src, size_t size, bool strong)
{
    struct entry *entry = calloc(1, sizeof(*entry));
    struct ex_store_buffer *buffer = thread->buffer;
    unsigned b = bucket_of(word);

    if (!entry)
        return false;
    *entry = (struct entry){.word = word, .strong = strong, .number = ++now, .thread = thread};
    entry->mask = (uint8_t)(((1u << size) - 1) << offset);
    memcpy(entry->bytes + offset, src, size);
    if (!pool_add(&pools[strong], entry)) {
        free(entry);
        return false;
    }
    entry->prev = buckets[b].newest;
    *(entry->prev ? &entry->prev->next : &buckets[b].oldest) = entry;
    buckets[b].newest = entry;
    entry->own_prev = buffer->newest;
    *(entry->own_prev ? &entry->own_prev->own_next : &buffer->oldest) = entry;
    buffer->newest = entry;
    return true;
}

void ex_buffer_store(struct ex_thread *thread, void *ptr, const void *src, size_t size, bool strong)
{
    uintptr_t at = (uintptr_t)ptr;
    const char *from = src;

    pthread_mutex_lock(&lock);
    step(thread);
    while (size) {
        unsigned offset = at & 7;
        size_t part = size < 8 - offset ? size : 8 - offset;

        if (!append(thread, at - offset, offset, from, part, strong)) {
            uint8_t bytes[8] = {0};

            memcpy(bytes + offset, from, part);
            write_memory(at - offset, (uint8_t)(((1u << part) - 1) << offset), bytes);
        }
        at += part;
        from += part;
        size -= part;
    }
    pthread_mutex_unlock(&lock);
}

static bool visible(const struct entry *entry, const struct ex_thread *thread, bool gpu_load)
{
    if (entry->thread == thread)
        return true;
    if (entry->level >= LEVEL_CTA && entry->thread->block == thread->block)
        return true;
    return entry->level == LEVEL_GPU && (gpu_load || entry->gpu_at <= thread->block->acquired);
}

/* Lays the visible entries over what memory holds, oldest first. */
static void overlay(struct ex_thread *thread, char *dst, uintptr_t at, size_t size, bool gpu_load)
{
    uintptr_t word = at & ~(uintptr_t)7;

    for (; word < at + size; word += 8) {
        for (struct entry *entry = buckets[bucket_of(word)].oldest; entry; entry = entry->next) {
            if (entry->word != word || !visible(entry, thread, gpu_load))
                continue;
            for (unsigned i = 0; i < 8; i++) {
                if (entry->mask >> i & 1 && word + i >= at && word + i < at + size)
                    dst[word + i - at] = (char)entry->bytes[i];
            }
        }
    }
}

void ex_buffer_load(struct ex_thread *thread, void *dst, const void *ptr, size_t size, bool strong,
                    enum gdaki_cpu_scope scope)
{
    pthread_mutex_lock(&lock);
    step(thread);
    if (strong) {
        uint64_t value = gdaki_cpu_plain_load(ptr, (unsigned)size, GDAKI_CPU_ACQUIRE);

        memcpy(dst, &value, size); /* little-endian, as the GPU is; asserted below */
    } else {
        memcpy(dst, ptr, size);
    }
    overlay(thread, dst, (uintptr_t)ptr, size, strong && scope <= GDAKI_CPU_SCOPE_GPU);
    pthread_mutex_unlock(&lock);
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "CUDA devices and their hosts are little-endian");

void ex_buffer_flush_bytes(const void *ptr, size_t size)
{
    uintptr_t at = (uintptr_t)ptr, word = at & ~(uintptr_t)7;

    pthread_mutex_lock(&lock);
    for (; word < at + size; word += 8) {
        struct entry *entry, *next;

        for (entry = buckets[bucket_of(word)].oldest; entry; entry = next) {
            uint8_t mask = 0;

            next = entry->next;
            if (entry->word != word)
                continue;
            for (unsigned i = 0; i < 8; i++) {
                if (word + i >= at && word + i < at + size)
                    mask |= (uint8_t)(1u << i);
            }
            if (entry->mask & mask)
                drain(entry);
        }
    }
    pthread_mutex_unlock(&lock);
}
