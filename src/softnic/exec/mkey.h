/* SPDX-License-Identifier: Apache-2.0 */
/* Memory keys: what they grant, and the check of one access. */
#ifndef SOFTNIC_EXEC_MKEY_H
#define SOFTNIC_EXEC_MKEY_H

#include "softnic/exec/fault.h"

struct sn_mkey {
    uint64_t iova;   /* address that names the first byte */
    uint64_t length; /* bytes */
    uint8_t *addr;   /* where the first byte is */
    uint32_t key;    /* 0: free */
    uint32_t pdn;
    uint32_t access; /* enum sn_access */
    uint32_t space;  /* enum sn_space */
    /* Memory windows (memory/mw.c). */
    uint32_t mw;      /* 0: no window; else its type, 1 or 2 */
    uint32_t bound;   /* a window: key that it is bound to; 0: to none */
    uint32_t qpn;     /* a window: queue pair that alone may be asked through it; 0: any */
    uint32_t windows; /* a region: windows bound to it */
};

/*
 * May a queue of protection domain `pdn` touch [va, va + length) through this key with every right of `need`? `key` may
 * be NULL (not found). Zero bytes touch nothing and are always allowed: the caller does not ask.
 */
SN_FN enum sn_fault sn_mkey_check(const struct sn_mkey *key, uint32_t pdn, uint32_t need, uint64_t va, uint64_t length)
{
    if (key == 0)
        return SN_FAULT_KEY;
    if (key->pdn != pdn)
        return SN_FAULT_PD;
    if ((key->access & need) != need)
        return SN_FAULT_ACCESS;
    /* In this order no sum can overflow. */
    if (va < key->iova || va - key->iova > key->length || length > key->length - (va - key->iova))
        return SN_FAULT_RANGE;
    return SN_FAULT_NONE;
}

SN_FN uint8_t *sn_mkey_at(const struct sn_mkey *key, uint64_t va)
{
    return key->addr + (va - key->iova);
}

#endif
