/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "softnic/engine.h"

static int grow(struct sn_table *t, uint32_t limit)
{
    uint32_t size = t->size == 0 ? 16 : t->size * 2;
    void **slot;

    if (size > limit)
        size = limit;
    if (size <= t->size)
        return -ENOSPC;
    slot = realloc(t->slot, size * sizeof(*slot));
    if (slot == NULL)
        return -ENOMEM;
    memset(slot + t->size, 0, (size - t->size) * sizeof(*slot));
    t->slot = slot;
    t->next = t->size == 0 ? 1 : t->size;
    t->size = size;
    return 0;
}

/* `limit` is the number of slots, slot 0 included. */
int sn_table_add(struct sn_table *t, void *object, uint32_t limit, uint32_t *id)
{
    if (t->used + 1 >= t->size) {
        int ret = grow(t, limit);
        if (ret != 0)
            return ret;
    }
    while (t->next >= t->size || t->next == 0 || t->slot[t->next] != NULL)
        t->next = t->next + 1 < t->size ? t->next + 1 : 1;
    *id = t->next++;
    t->slot[*id] = object;
    t->used++;
    return 0;
}

void sn_table_remove(struct sn_table *t, uint32_t id)
{
    if (sn_table_get(t, id) == NULL)
        return;
    t->slot[id] = NULL;
    t->used--;
}

void sn_table_free(struct sn_table *t)
{
    free(t->slot);
    memset(t, 0, sizeof(*t));
}

/* ---- map --------------------------------------------------------------------------------------------------------- */

enum { MAP_SLOTS = 16 /* at first */ };

int sn_map_room(struct sn_map *m)
{
    uint32_t slots = m->slot == NULL ? 0 : m->mask + 1;
    struct sn_map bigger = {0};

    if ((m->used + 1) * 2 <= slots)
        return 0;
    slots = slots == 0 ? MAP_SLOTS : slots * 2;
    bigger.slot = calloc(slots, sizeof(*bigger.slot));
    if (bigger.slot == NULL)
        return -ENOMEM;
    bigger.mask = slots - 1;
    for (uint32_t i = 0; m->slot != NULL && i <= m->mask; i++)
        if (m->slot[i].object != NULL)
            sn_map_add(&bigger, m->slot[i].number, m->slot[i].object);
    free(m->slot);
    *m = bigger;
    return 0;
}

void sn_map_add(struct sn_map *m, uint32_t number, void *object)
{
    uint32_t i = number & m->mask;

    while (m->slot[i].object != NULL)
        i = (i + 1) & m->mask;
    m->slot[i] = (struct sn_map_slot){.number = number, .object = object};
    m->used++;
}

/* Those behind it move up, unless that would put them before their place. */
void sn_map_remove(struct sn_map *m, uint32_t number)
{
    uint32_t hole = number & m->mask;

    if (m->used == 0)
        return;
    while (m->slot[hole].number != number || m->slot[hole].object == NULL) {
        if (m->slot[hole].object == NULL)
            return;
        hole = (hole + 1) & m->mask;
    }
    for (uint32_t i = (hole + 1) & m->mask; m->slot[i].object != NULL; i = (i + 1) & m->mask)
        if (((i - m->slot[i].number) & m->mask) >= ((i - hole) & m->mask)) {
            m->slot[hole] = m->slot[i];
            hole = i;
        }
    m->slot[hole] = (struct sn_map_slot){0};
    m->used--;
}

void sn_map_free(struct sn_map *m)
{
    free(m->slot);
    *m = (struct sn_map){0};
}
