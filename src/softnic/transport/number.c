/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pair numbers: the process's slot and 16 random bits. Where connections are managed, a number rests after its queue
 * pair has gone: another queue pair of the same number within time-wait would be taken for the old connection, and refused as
 * stale (IBTA vol. 1, 12.9.8.3, 12.9.8.4). The last RESTING numbers rest, which is longer than time-wait at 8,000 queue pairs a
 * second; of few numbers one in a thousand would come again otherwise.
 */
#include <stdlib.h>

#include "softnic/engine.h"

enum { QPN_LOW = 0xffff, RESTING = 4096, MOST = 60000 /* and those that rest: some are always left */ };

struct sn_resting {
    uint64_t set[(QPN_LOW + 1) / 64];
    uint16_t ring[RESTING]; /* in the order in which they went */
    uint64_t gone;          /* so many have */
};

int sn_numbers_rest(struct sn_nic *nic)
{
    if (nic->resting == NULL)
        nic->resting = calloc(1, sizeof(*nic->resting));
    return nic->resting == NULL ? -ENOMEM : 0;
}

void sn_numbers_free(struct sn_nic *nic)
{
    free(nic->resting);
    nic->resting = NULL;
}

static bool rests(const struct sn_nic *nic, uint32_t low)
{
    return nic->resting != NULL && (nic->resting->set[low / 64] >> (low % 64) & 1) != 0;
}

int sn_number_pick(struct sn_nic *nic, uint32_t *qpn)
{
    uint32_t low;

    if (nic->qps.used >= MOST)
        return -ENOSPC;
    do {
        low = (uint32_t)sn_nic_random(nic) & QPN_LOW;
        *qpn = (uint32_t)nic->config.slot << 16 | low;
    } while (*qpn == 0 || rests(nic, low) || sn_qp_find(nic, *qpn) != NULL);
    return 0;
}

void sn_number_gone(struct sn_nic *nic, uint32_t qpn)
{
    struct sn_resting *r = nic->resting;
    uint32_t low = qpn & QPN_LOW;
    uint16_t *place;

    if (r == NULL || rests(nic, low))
        return;
    place = &r->ring[r->gone % RESTING];
    if (r->gone++ >= RESTING)
        r->set[*place / 64] &= ~(1ull << (*place % 64));
    *place = (uint16_t)low;
    r->set[low / 64] |= 1ull << (low % 64);
}
