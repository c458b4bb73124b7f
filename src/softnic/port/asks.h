/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache lines that will be needed, asked for a few at a time. A CPU keeps some twenty misses under way and drops what is
 * asked for beyond them: of 32 at once every eighth, of 256 every fifth (docs/results/sim.md), and each of those is waited for in full
 * later. So who knows many lines notes them here, and asks for some now and then between other work.
 */
#ifndef SOFTNIC_PORT_ASKS_H
#define SOFTNIC_PORT_ASKS_H

#include <stddef.h>
#include <stdint.h>

enum {
    SN_ASKS = 512,       /* a power of two */
    SN_ASKS_AT_ONCE = 8, /* with some of those before still under way */
    SN_ASKS_LINE = 64,
};

struct sn_asks { /* zeroed: empty */
    uint32_t head, tail; /* running counts */
    const void *line[SN_ASKS];
};

static inline void sn_ask_some(struct sn_asks *a, unsigned most)
{
    for (; a->head != a->tail && most != 0; most--)
        __builtin_prefetch(a->line[a->head++ % SN_ASKS]);
}

/* Before many are noted: those that there may be no room for are asked for now. Without it the oldest are lost, which costs time only. */
static inline void sn_asks_make_room(struct sn_asks *a)
{
    while (a->tail - a->head > SN_ASKS / 2)
        sn_ask_some(a, 1);
}

static inline void sn_ask(struct sn_asks *a, const void *line)
{
    a->line[a->tail++ % SN_ASKS] = line;
}

/* All lines of a piece of memory; NULL: none. */
static inline void sn_ask_for(struct sn_asks *a, const void *memory, size_t size)
{
    uintptr_t at = (uintptr_t)memory & ~(uintptr_t)(SN_ASKS_LINE - 1);

    for (; memory != NULL && at < (uintptr_t)memory + size; at += SN_ASKS_LINE)
        sn_ask(a, (const void *)at);
}

#endif
