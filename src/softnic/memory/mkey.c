/* SPDX-License-Identifier: Apache-2.0 */
/* Memory keys by value: open addressing over random 32-bit keys, so the key itself is the hash. */
#include <stdlib.h>

#include "softnic/engine.h"

static struct sn_mkey gone; /* marks a bucket that held a key once */

static uint32_t slot_of(const struct sn_mkeys *keys, uint32_t key)
{
    return (key * 0x9e3779b1u) & (keys->buckets - 1);
}

struct sn_mkey *sn_mkey_find(const struct sn_mkeys *keys, uint32_t key)
{
    if (keys->buckets == 0)
        return NULL;
    for (uint32_t i = slot_of(keys, key);; i = (i + 1) & (keys->buckets - 1)) {
        struct sn_mkey *k = keys->bucket[i];
        if (k == NULL)
            return NULL;
        if (k != &gone && k->key == key)
            return k;
    }
}

static void insert(struct sn_mkeys *keys, struct sn_mkey *k)
{
    uint32_t i = slot_of(keys, k->key);
    while (keys->bucket[i] != NULL && keys->bucket[i] != &gone)
        i = (i + 1) & (keys->buckets - 1);
    if (keys->bucket[i] == &gone)
        keys->tombs--;
    keys->bucket[i] = k;
    keys->used++;
}

/* Keeps buckets at most half full, tombstones counted. */
static int make_room(struct sn_mkeys *keys)
{
    struct sn_mkeys bigger = {0};

    if ((keys->used + keys->tombs + 1) * 2 <= keys->buckets)
        return 0;
    bigger.buckets = keys->buckets == 0 ? 64 : keys->used * 4 > keys->buckets ? keys->buckets * 2 : keys->buckets;
    bigger.bucket = calloc(bigger.buckets, sizeof(*bigger.bucket));
    if (bigger.bucket == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < keys->buckets; i++)
        if (keys->bucket[i] != NULL && keys->bucket[i] != &gone)
            insert(&bigger, keys->bucket[i]);
    free(keys->bucket);
    *keys = bigger;
    return 0;
}

void sn_mkeys_free(struct sn_mkeys *keys)
{
    for (uint32_t i = 0; i < keys->buckets; i++)
        if (keys->bucket[i] != &gone)
            free(keys->bucket[i]);
    free(keys->bucket);
    *keys = (struct sn_mkeys){0};
}

static uint32_t new_key(struct sn_nic *nic)
{
    for (;;) {
        uint32_t key = (uint32_t)sn_nic_random(nic);
        if (key != 0 && key != SN_LKEY_END && key != UINT32_MAX && sn_mkey_find(&nic->mkeys, key) == NULL)
            return key;
    }
}

int sn_mkey_create(struct sn_nic *nic, const struct sn_mkey_attr *attr, uint32_t *key)
{
    static const char what[] = "create a memory key";
    struct sn_pd *pd = sn_table_get(&nic->pds, attr->pdn);
    struct sn_span span = attr->span;
    struct sn_mkey *k;
    int ret;

    if (pd == NULL)
        return sn_fail(-EINVAL, what, "pd", attr->pdn, "no such protection domain", attr->pdn);
    if (attr->iova + span.length < attr->iova)
        return sn_fail(-EINVAL, what, "pd", attr->pdn, "address range wraps", attr->iova);
    if (span.addr == NULL && span.length != 0)
        return sn_fail(-EINVAL, what, "pd", attr->pdn, "no memory behind the key, length", span.length);
    ret = sn_span_resolve(nic->port, &span);
    if (ret != 0)
        return sn_fail(ret, what, "pd", attr->pdn, "GPU memory, but no GPU seam in this process", 0);
    ret = make_room(&nic->mkeys);
    if (ret != 0)
        return sn_fail(ret, what, "pd", attr->pdn, "keys so far", nic->mkeys.used);
    k = calloc(1, sizeof(*k));
    if (k == NULL)
        return sn_fail(-ENOMEM, what, "pd", attr->pdn, "keys so far", nic->mkeys.used);
    k->iova = attr->iova;
    k->length = span.length;
    k->addr = span.addr;
    k->pdn = attr->pdn;
    k->access = attr->access;
    k->space = span.space;
    k->key = new_key(nic);
    insert(&nic->mkeys, k);
    pd->users++;
    *key = k->key;
    return 0;
}

int sn_mkey_destroy(struct sn_nic *nic, uint32_t key)
{
    struct sn_mkeys *keys = &nic->mkeys;
    struct sn_mkey *k = sn_mkey_find(keys, key);

    if (k == NULL)
        return sn_fail(-ENOENT, "destroy a memory key", "mkey", key, "no such key", key);
    if (k->space == SN_SPACE_GPU || nic->port->xfers != NULL)
        sn_xfer_quiesce(nic->port); /* a copy may still read or write through it */
    ((struct sn_pd *)sn_table_get(&nic->pds, k->pdn))->users--;
    for (uint32_t i = slot_of(keys, key);; i = (i + 1) & (keys->buckets - 1))
        if (keys->bucket[i] == k) {
            keys->bucket[i] = &gone;
            break;
        }
    keys->used--;
    keys->tombs++;
    nic->key_generation++;
    nic->port->keys_gone++;
    free(k);
    return 0;
}

uint32_t sn_port_keys_gone(const struct sn_port *port)
{
    return port->keys_gone;
}

/* The key stays until its owner destroys it, but its range is empty and at the end of all addresses: no access fits. */
int sn_mkey_invalidate(struct sn_nic *nic, uint32_t key, uint32_t pdn)
{
    struct sn_mkey *k = sn_mkey_find(&nic->mkeys, key);

    if (k == NULL || k->pdn != pdn || !(k->access & SN_ACCESS_REMOTE_INVALIDATE) || k->iova == UINT64_MAX)
        return -EACCES;
    k->iova = UINT64_MAX; /* an access that has begun ends; the memory itself is its owner's until the key is destroyed */
    k->length = 0;
    return 0;
}

/* Looks a key up through the QP's cache of the last one. */
struct sn_mkey *sn_qp_key(struct sn_qp *qp, struct sn_key_cache *cache, uint32_t key)
{
    struct sn_nic *nic = qp->nic;

    if (cache->key != NULL && cache->value == key && cache->generation == nic->key_generation)
        return cache->key;
    struct sn_mkey *k = sn_mkey_find(&nic->mkeys, key);
    if (k != NULL)
        *cache = (struct sn_key_cache){.key = k, .value = key, .generation = nic->key_generation};
    return k;
}
