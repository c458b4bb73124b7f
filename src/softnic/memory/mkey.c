/* SPDX-License-Identifier: Apache-2.0 */
/* Memory keys: random 32-bit values, so the key itself is the hash. */
#include <stdlib.h>

#include "softnic/engine.h"

void sn_mkeys_free(struct sn_nic *nic)
{
    for (uint32_t i = 0; nic->mkeys.used != 0 && i <= nic->mkeys.mask; i++)
        free(nic->mkeys.slot[i].object);
    sn_map_free(&nic->mkeys);
    while (nic->free_keys != NULL) {
        struct sn_mkey *k = nic->free_keys;
        nic->free_keys = (struct sn_mkey *)(void *)k->addr;
        free(k);
    }
    nic->spare_keys = 0;
}

struct sn_mkey *sn_mkey_new(struct sn_nic *nic)
{
    struct sn_mkey *k = nic->free_keys;

    if (k == NULL)
        return sn_lines(sizeof(*k));
    nic->free_keys = (struct sn_mkey *)(void *)k->addr;
    nic->spare_keys--;
    memset(k, 0, sizeof(*k));
    return k;
}

/* The one that went last is used first: it is in the cache. */
static void put_back(struct sn_nic *nic, struct sn_mkey *k)
{
    if (nic->spare_keys == SN_SPARE_KEYS) {
        free(k);
        return;
    }
    k->addr = (uint8_t *)nic->free_keys;
    nic->free_keys = k;
    nic->spare_keys++;
}

static uint32_t new_key(struct sn_nic *nic)
{
    for (;;) {
        uint32_t key = (uint32_t)sn_nic_random(nic);
        if (key != 0 && key != SN_LKEY_END && key != UINT32_MAX && sn_mkey_find(&nic->mkeys, key) == NULL &&
            !sn_mw_owns(nic, key))
            return key;
    }
}

int sn_mkey_create(struct sn_nic *nic, const struct sn_mkey_attr *attr, uint32_t *key)
{
    static const char what[] = "create a memory key";
    struct sn_pd *pd = sn_pd_find(nic, attr->pdn);
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
    ret = sn_map_room(&nic->mkeys);
    if (ret != 0)
        return sn_fail(ret, what, "pd", attr->pdn, "keys so far", nic->mkeys.used);
    k = sn_mkey_new(nic);
    if (k == NULL)
        return sn_fail(-ENOMEM, what, "pd", attr->pdn, "keys so far", nic->mkeys.used);
    k->iova = attr->iova;
    k->length = span.length;
    k->addr = span.addr;
    k->pdn = attr->pdn;
    k->access = attr->access;
    k->space = span.space;
    k->key = new_key(nic);
    sn_map_add(&nic->mkeys, k->key, k);
    pd->users++;
    *key = k->key;
    return 0;
}

int sn_mkey_destroy(struct sn_nic *nic, uint32_t key)
{
    struct sn_mkey *k = sn_mkey_find(&nic->mkeys, key);

    if (k == NULL)
        return sn_fail(-ENOENT, "destroy a memory key", "mkey", key, "no such key", key);
    if (k->windows != 0)
        return sn_fail(-EBUSY, "destroy a memory key", "mkey", key, "memory windows are bound to it", k->windows);
    if (k->space == SN_SPACE_GPU || nic->port->xfers != NULL)
        sn_xfer_quiesce(nic->port); /* a copy may still read or write through it */
    if (k->mw != 0)
        sn_mw_end(nic, k);
    sn_pd_find(nic, k->pdn)->users--;
    sn_map_remove(&nic->mkeys, key);
    nic->key_generation++;
    nic->port->keys_gone++;
    put_back(nic, k);
    return 0;
}

int sn_mkey_exchange(struct sn_nic *nic, uint32_t a, uint32_t b)
{
    static const char what[] = "exchange memory keys";
    struct sn_mkey *one = sn_mkey_find(&nic->mkeys, a), *two = sn_mkey_find(&nic->mkeys, b), was;

    if (one == NULL || two == NULL)
        return sn_fail(-ENOENT, what, "mkey", one == NULL ? a : b, "no such key", one == NULL ? a : b);
    if (one->windows != 0 || two->windows != 0 || one->mw != 0 || two->mw != 0)
        return sn_fail(-EBUSY, what, "mkey", a, "memory windows are bound to one, or it is one", one->windows);
    sn_xfer_quiesce(nic->port); /* a copy may still read or write through one of them */
    was = *one;
    *one = *two;
    *two = was;
    two->key = one->key; /* numbers stay: *one has b's now */
    one->key = was.key;
    nic->key_generation++;
    nic->port->keys_gone++;
    return 0;
}

uint32_t sn_port_keys_gone(const struct sn_port *port)
{
    return port->keys_gone;
}

/*
 * The key stays until its owner destroys it, but its range is empty and at the end of all addresses: no access fits. Windows
 * on it serve nobody either: they are as before they were bound.
 */
int sn_mkey_invalidate(struct sn_qp *qp, uint32_t key)
{
    struct sn_mkey *k = sn_mkey_find(&qp->nic->mkeys, key);

    if (k == NULL || k->pdn != qp->attr.pdn || !(k->access & SN_ACCESS_REMOTE_INVALIDATE) || k->iova == UINT64_MAX)
        return -EACCES;
    if (k->mw != 0)
        return sn_mw_invalidate(qp, key) == SN_FAULT_NONE ? 0 : -EACCES;
    if (k->windows != 0)
        sn_mw_region_gone(qp->nic, k);
    k->iova = UINT64_MAX; /* an access that has begun ends; the memory itself is its owner's until the key is destroyed */
    k->length = 0;
    qp->nic->key_generation++;
    qp->nic->port->keys_gone++;
    return 0;
}

/* What the cache does not hold, and takes then. */
struct sn_mkey *sn_qp_key_look_up(struct sn_qp *qp, struct sn_key_cache *cache, uint32_t key)
{
    struct sn_nic *nic = qp->nic;
    struct sn_mkey *k = sn_mkey_find(&nic->mkeys, key);

    if (k != NULL && k->mw != 0 && !sn_mw_serves(k, qp, cache == &qp->lkey_cache))
        return NULL;
    if (k != NULL)
        *cache = (struct sn_key_cache){.key = k, .value = key, .generation = nic->key_generation};
    return k;
}
