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
