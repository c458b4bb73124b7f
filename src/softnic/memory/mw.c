/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows: keys that a WQE binds to a part of a region, for peers to use (IBTA vol. 1, 10.6.7.2).
 *
 * The upper 24 bits of a window's key are its own and stay; each binding gives the low 8. A bound window is a key like
 * any other, with its own range and rights, so that an access costs no more through it: `addr` is worked out when it is
 * bound, and the region counts the windows on it and stays while there are some. Type 1 belongs to its domain and is
 * bound anew at will. Type 2 belongs to the queue pair that bound it, and has to be invalidated first, by the owner's WQE
 * or by a SEND of the peer (type 2B).
 */
#include "softnic/engine.h"

static struct sn_mkey *find(const struct sn_nic *nic, uint32_t key)
{
    return sn_map_get(&nic->windows, key >> 8);
}

bool sn_mw_owns(const struct sn_nic *nic, uint32_t key)
{
    return find(nic, key) != NULL;
}

/* 24 bits that no key begins with. */
static uint32_t new_prefix(struct sn_nic *nic)
{
    for (;;) {
        uint32_t prefix = (uint32_t)sn_nic_random(nic) >> 8, low = 0;
        if (prefix == 0 || prefix == 0xffffff || sn_map_get(&nic->windows, prefix) != NULL)
            continue;
        while (low < 256 && sn_mkey_find(&nic->mkeys, prefix << 8 | low) == NULL)
            low++;
        if (low == 256)
            return prefix;
    }
}

static void make_empty(struct sn_mkey *k)
{
    k->iova = UINT64_MAX; /* no access fits */
    k->length = 0;
    k->access = 0;
    k->bound = 0;
    k->qpn = 0;
}

int sn_mw_create(struct sn_nic *nic, uint32_t pdn, unsigned type, uint32_t *key)
{
    static const char what[] = "create a memory window";
    struct sn_pd *pd = sn_pd_find(nic, pdn);
    struct sn_mkey *k;

    if (pd == NULL)
        return sn_fail(-EINVAL, what, "pd", pdn, "no such protection domain", pdn);
    if (type != 1 && type != 2)
        return sn_fail(-EINVAL, what, "pd", pdn, "type is neither 1 nor 2", type);
    if (sn_map_room(&nic->mkeys) != 0 || sn_map_room(&nic->windows) != 0 || (k = sn_mkey_new(nic)) == NULL)
        return sn_fail(-ENOMEM, what, "pd", pdn, "keys so far", nic->mkeys.used);
    k->mw = type;
    k->pdn = pdn;
    k->key = new_prefix(nic) << 8 | ((uint32_t)sn_nic_random(nic) & 0xff);
    make_empty(k);
    sn_map_add(&nic->mkeys, k->key, k);
    sn_map_add(&nic->windows, k->key >> 8, k);
    pd->users++;
    *key = k->key;
    return 0;
}

int sn_mw_key(struct sn_nic *nic, uint32_t key, uint32_t *now)
{
    const struct sn_mkey *k = find(nic, key);

    if (k == NULL)
        return sn_fail(-ENOENT, "look up a memory window", "mkey", key, "no such window", key);
    *now = k->key;
    return 0;
}

/* What was looked up before is looked up again. */
static void moved(struct sn_nic *nic)
{
    nic->key_generation++;
    nic->port->keys_gone++;
}

static void unbind(struct sn_nic *nic, struct sn_mkey *k)
{
    struct sn_mkey *region = k->bound != 0 ? sn_mkey_find(&nic->mkeys, k->bound) : NULL;

    if (region != NULL)
        region->windows--;
    make_empty(k);
    moved(nic);
}

/* The window is about to be freed. */
void sn_mw_end(struct sn_nic *nic, struct sn_mkey *k)
{
    unbind(nic, k);
    sn_map_remove(&nic->windows, k->key >> 8);
}

/* A queue pair goes, and its number may be another's soon. */
void sn_mw_qp_gone(struct sn_nic *nic, uint32_t qpn)
{
    for (uint32_t i = 0; nic->windows.used != 0 && i <= nic->windows.mask; i++) {
        struct sn_mkey *k = nic->windows.slot[i].object;
        if (k != NULL && k->qpn == qpn)
            unbind(nic, k);
    }
}

/* What the windows are bound to grants nothing any more. */
void sn_mw_region_gone(struct sn_nic *nic, const struct sn_mkey *region)
{
    for (uint32_t i = 0; region->windows != 0 && i <= nic->windows.mask; i++) {
        struct sn_mkey *k = nic->windows.slot[i].object;
        if (k != NULL && k->bound == region->key)
            unbind(nic, k);
    }
}

/* May a request to this queue pair go through the window? Local accesses never do. */
bool sn_mw_serves(const struct sn_mkey *k, const struct sn_qp *qp, bool local)
{
    return !local && (k->qpn == 0 || k->qpn == qp->qpn);
}

static void rename_key(struct sn_nic *nic, struct sn_mkey *k, uint8_t low)
{
    uint32_t key = (k->key & ~0xffu) | low;

    if (key == k->key)
        return;
    sn_map_remove(&nic->mkeys, k->key);
    k->key = key;
    sn_map_add(&nic->mkeys, key, k); /* there is room: one has just left */
}

static uint32_t rights(const struct sn_mkey *window, uint8_t access)
{
    return (access & SN_MKEY_REMOTE_WRITE ? SN_ACCESS_REMOTE_WRITE : 0) |
           (access & SN_MKEY_REMOTE_READ ? SN_ACCESS_REMOTE_READ : 0) |
           (access & SN_MKEY_ATOMIC ? SN_ACCESS_REMOTE_ATOMIC : 0) |
           (window->mw == 2 ? SN_ACCESS_REMOTE_INVALIDATE : 0);
}

/* Rights and range that the region can give (10.6.7.2.1): writing needs its local write. */
static bool region_gives(const struct sn_mkey *region, const struct sn_mkey *window, const struct sn_wqe *w)
{
    uint32_t need = SN_ACCESS_MW_BIND |
                    (w->bind_access & (SN_MKEY_REMOTE_WRITE | SN_MKEY_ATOMIC) ? SN_ACCESS_LOCAL_WRITE : 0);

    return region != NULL && region->mw == 0 && w->raddr + w->swap_add >= w->raddr &&
           sn_mkey_check(region, window->pdn, need, w->compare, w->swap_add) == SN_FAULT_NONE;
}

enum sn_fault sn_mw_bind(struct sn_qp *qp, const struct sn_wqe *w)
{
    struct sn_nic *nic = qp->nic;
    struct sn_mkey *k = find(nic, w->rkey), *region = sn_mkey_find(&nic->mkeys, w->wait_cqn);
    uint32_t qpn = w->dqpn == SN_MKEY_ANY_QP ? 0 : w->dqpn;

    if (k == NULL || k->pdn != qp->attr.pdn || qpn != (k->mw == 2 ? qp->qpn : 0))
        return SN_FAULT_BIND;
    if (k->mw == 2 && (k->bound != 0 || w->swap_add == 0))
        return SN_FAULT_BIND;
    if (w->swap_add != 0 && !region_gives(region, k, w))
        return SN_FAULT_BIND;
    unbind(nic, k);
    rename_key(nic, k, w->bind_low);
    if (w->swap_add == 0)
        return SN_FAULT_NONE;
    k->iova = w->raddr;
    k->length = w->swap_add;
    k->addr = sn_mkey_at(region, w->compare);
    k->space = region->space;
    k->access = rights(k, w->bind_access);
    k->bound = region->key;
    k->qpn = qpn;
    region->windows++;
    return SN_FAULT_NONE;
}

enum sn_fault sn_mw_invalidate(struct sn_qp *qp, uint32_t key)
{
    struct sn_mkey *k = sn_mkey_find(&qp->nic->mkeys, key);

    if (k == NULL || k->mw != 2 || k->bound == 0 || k->pdn != qp->attr.pdn || k->qpn != qp->qpn)
        return SN_FAULT_BIND;
    unbind(qp->nic, k);
    return SN_FAULT_NONE;
}
