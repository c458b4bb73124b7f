/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that are held back: copies, until their time comes or those that go first have gone. */
#include <stdlib.h>
#include <string.h>

#include "softnic/exec/order.h"
#include "softnic/fault/internal.h"

static struct held_packet *of_timer(struct sn_timer *timer)
{
    return (struct held_packet *)((char *)timer - offsetof(struct held_packet, timer));
}

static void unlink_packet(struct held_packet *h)
{
    *h->link = h->next;
    if (h->next != NULL)
        h->next->link = h->link;
    else
        h->faults->packets_tail = h->link;
    h->faults->packet_count--;
    h->faults->bytes -= h->b.length;
    sn_timer_cancel(&h->faults->port->wheel, &h->timer);
}

static void free_packet(struct held_packet *h)
{
    free(h->payload);
    free(h);
}

static bool nic_is_there(const struct sn_port *port, const struct sn_nic *nic)
{
    for (const struct sn_nic *n = port->nics; n != NULL; n = n->next)
        if (n == nic)
            return true;
    return false;
}

/* True: gone, for whatever reason. False: the wire has no room now. */
static bool deliver(struct held_packet *h)
{
    struct sn_faults *f = h->faults;
    bool before = f->passing, done = true;

    f->passing = true;
    if (h->nic == NULL) {
        done = sn_port_forward(f->port, &h->b) != SN_SENT_FULL;
    } else if (nic_is_there(f->port, h->nic)) {
        f->arriving_again = true;
        sn_nic_receive(h->nic, &h->b);
        f->arriving_again = false;
    }
    f->passing = before;
    return done;
}

static void fire(struct sn_timer *timer)
{
    struct held_packet *h = of_timer(timer);
    struct sn_port *port = h->faults->port;

    if (!deliver(h)) {
        sn_timer_arm(&port->wheel, timer, sn_port_now(port) + SN_WHEEL_NS);
        return;
    }
    unlink_packet(h);
    free_packet(h);
}

static bool copy_payload(struct sn_port *port, struct held_packet *h, const struct sn_burst *b)
{
    uint8_t *at;

    if (b->length == 0)
        return true;
    at = h->payload = malloc(b->length);
    if (at == NULL)
        return false;
    for (uint32_t i = 0; i < b->iov_count; i++) {
        const struct sn_iov *v = &b->iov[i];
        if (v->space == SN_SPACE_HOST)
            sn_dma_read(at, v->addr, v->length);
        else if (sn_mem_copy_now(port, at, v->addr, v->length, v->space) != 0)
            return false;
        at += v->length;
    }
    h->b.iov_count = 1;
    h->b.iov[0] = (struct sn_iov){.addr = h->payload, .length = b->length, .space = SN_SPACE_HOST};
    return true;
}

bool sn_hold_packet(struct sn_faults *f, struct sn_nic *nic, const struct sn_burst *b, uint64_t ns, uint64_t gap)
{
    struct held_packet *h;

    if (f->packet_count >= SN_HOLD_PACKETS || b->length > SN_HOLD_BYTES - f->bytes)
        return false;
    h = calloc(1, sizeof(*h));
    if (h == NULL)
        return false;
    memcpy(&h->b, b, offsetof(struct sn_burst, iov) + b->iov_count * sizeof(b->iov[0]));
    if (!copy_payload(f->port, h, b)) {
        free_packet(h);
        return false;
    }
    h->faults = f;
    h->nic = nic;
    h->gap = gap;
    h->timer.fire = fire;
    h->link = f->packets == NULL ? &f->packets : f->packets_tail;
    *h->link = h;
    f->packets_tail = &h->next;
    f->packet_count++;
    f->bytes += b->length;
    sn_timer_arm(&f->port->wheel, &h->timer, sn_port_now(f->port) + ns);
    return true;
}

static bool same_flow(const struct sn_burst *a, const struct sn_burst *b)
{
    return a->dqpn == b->dqpn && a->sqpn == b->sqpn && memcmp(a->dgid, b->dgid, sizeof(a->dgid)) == 0;
}

/* Those that have waited for enough others are due; the wheel delivers them behind this one. */
void sn_hold_overtaken(struct sn_faults *f, const struct sn_burst *b)
{
    for (struct held_packet *h = f->packets; h != NULL; h = h->next)
        if (h->gap != 0 && same_flow(&h->b, b) && --h->gap == 0)
            sn_timer_arm(&f->port->wheel, &h->timer, sn_port_now(f->port));
}

void sn_hold_end(struct sn_faults *f, bool deliver_them)
{
    while (f->packets != NULL) {
        struct held_packet *h = f->packets;
        if (deliver_them)
            (void)deliver(h); /* a full wire loses it */
        unlink_packet(h);
        free_packet(h);
    }
}
