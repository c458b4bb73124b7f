/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/inproc.h"

#include <errno.h>
#include <stdlib.h>

#include "softnic/engine.h"

int sn_inproc_create(struct sn_inproc *q)
{
    q->head = q->tail = 0;
    q->slot = calloc(SN_INPROC_SLOTS, sizeof(*q->slot));
    return q->slot == NULL ? -ENOMEM : 0;
}

void sn_inproc_destroy(struct sn_inproc *q)
{
    free(q->slot);
    q->slot = NULL;
}

struct sn_burst *sn_inproc_slot(struct sn_inproc *q, int request)
{
    uint32_t limit = request ? SN_INPROC_REQUESTS : SN_INPROC_SLOTS;

    return q->tail - q->head >= limit ? NULL : &q->slot[q->tail % SN_INPROC_SLOTS];
}

void sn_inproc_push(struct sn_inproc *q, struct sn_nic *to)
{
    q->to[q->tail % SN_INPROC_SLOTS] = to;
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
    struct sn_inproc *q = &port->inproc;
    unsigned delivered = 0;

    port->payload_stays = true;
    do {
        while (q->head != q->tail) {
            uint32_t i = q->head % SN_INPROC_SLOTS;
            deliver(port, q->to[i], &q->slot[i]);
            q->head++; /* the slot is not reused before its burst is done with */
            delivered++;
        }
        q->head = q->tail = 0; /* the same slots again: they are in the cache */
        sn_rc_send_acks(port);
    } while (q->head != q->tail);
    port->payload_stays = false;
    return delivered;
}
