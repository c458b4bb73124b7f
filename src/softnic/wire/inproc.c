/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/inproc.h"

#include <stdlib.h>

#include "softnic/engine.h"

void sn_inproc_destroy(struct sn_inproc *q)
{
    for (unsigned i = 0; i < SN_INPROC_SLOTS; i++)
        free(q->slot[i].burst);
    *q = (struct sn_inproc){0};
}

struct sn_burst *sn_inproc_slot(struct sn_inproc *q, int request)
{
    uint32_t limit = request ? SN_INPROC_REQUESTS : SN_INPROC_SLOTS;

    struct sn_burst **slot = &q->slot[q->tail % SN_INPROC_SLOTS].burst;

    if (q->tail - q->head >= limit)
        return NULL;
    if (*slot == NULL)
        *slot = calloc(1, sizeof(**slot)); /* without memory it is as full */
    return *slot;
}

void sn_inproc_push(struct sn_inproc *q, struct sn_nic *to)
{
    q->slot[q->tail % SN_INPROC_SLOTS].to = to;
    q->tail++;
}

static void deliver(struct sn_port *port, struct sn_nic *to, const struct sn_burst *b)
{
    int verdict = port->tap == NULL ? SN_TAP_PASS : port->tap(port->tap_arg, b);

    if (verdict == SN_TAP_DROP)
        return;
    sn_nic_receive(to, b);
    if (verdict == SN_TAP_DUPLICATE)
        sn_nic_receive(to, b);
}

unsigned sn_inproc_drain(struct sn_port *port)
{
    struct sn_inproc *q = port->inproc;
    unsigned delivered = 0;

    port->payload_stays = true;
    do {
        while (q->head != q->tail) {
            const struct sn_inproc_slot *slot = &q->slot[q->head % SN_INPROC_SLOTS];
            deliver(port, slot->to, slot->burst);
            q->head++; /* the slot is not reused before its burst is done with */
            delivered++;
        }
        q->head = q->tail = 0; /* the same slots again: they are in the cache */
        sn_rc_send_acks(port);
    } while (q->head != q->tail);
    port->payload_stays = false;
    return delivered;
}
