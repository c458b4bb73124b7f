/* SPDX-License-Identifier: Apache-2.0 */
/* Records out of rings. Payload goes to its destination straight from the ring. */
#include <string.h>

#include "softnic/wire/shm_internal.h"

/* Who sent a record, and to whom. False: nonsense. */
static bool addresses(struct shm_connection *c, const struct shm_header *h, const uint8_t **from, const uint8_t **to)
{
    unsigned dgid = h->dqpn >> 24, sgid = h->sqpn >> 24;
    const struct shm_identity *own = &c->endpoint->identity;
    if (!c->known && !shm_peer_know(c))
        return false;
    if (sgid >= c->peer.gid_count)
        return false;
    *from = c->peer.gid[sgid];
    if (dgid == SHM_ACCEPTED_GID && !c->connector)
        *to = c->target;
    else if (dgid < own->gid_count)
        *to = own->gid[dgid];
    else
        return false;
    return true;
}

static void fill(const struct shm_record *r, struct sn_burst *b)
{
    const struct shm_header *h = &r->header;
    b->dqpn = h->dqpn & 0xffffff;
    b->sqpn = h->sqpn & 0xffffff;
    b->kind = h->kind;
    b->flags = h->flags;
    b->mtu = h->mtu_service & 15;
    b->service = h->mtu_service >> 4;
    b->syndrome = h->syndrome;
    b->psn = h->psn & 0xffffff;
    b->atomic_size = (uint8_t)(h->psn >> 24);
    b->npackets = h->npackets;
    b->length = h->length;
    b->va = h->va;
    b->rkey = h->rkey;
    b->dmalen = h->dmalen;
    b->imm = h->imm;
    b->msn = h->msn & 0xffffff;
    bool datagram = b->service == SN_SERVICE_UD; /* see shm_send.c */
    b->qkey = datagram ? h->rkey : 0;
    b->flow_label = datagram ? h->dmalen & 0xfffff : 0;
    b->tclass = datagram ? (uint8_t)h->va : 0;
    b->hop_limit = datagram ? (uint8_t)(h->va >> 8) : 0;
    b->udp_sport = 0;
    b->epoch = 0;
    memset(b->dmac, 0, sizeof(b->dmac));
    b->pkey = 0xffff; /* the table has one entry */
    b->atomic_orig = h->kind == SN_KIND_ATOMIC_ACK ? h->inlined : 0;
    b->swap_add = r->operands.swap_add;
    b->compare = r->operands.compare;
    b->swap_mask = r->operands.swap_mask;
    b->compare_mask = r->operands.compare_mask;
    b->iov_count = r->spans;
    for (unsigned i = 0; i < r->spans; i++)
        b->iov[i] = (struct sn_iov){r->span[i].addr, r->span[i].length, SN_SPACE_HOST};
}

static void deliver_burst(struct shm_connection *c, struct sn_nic *nic, struct shm_record *r, const uint8_t from[16],
                          const uint8_t to[16])
{
    struct sn_burst b;
    bool whole = !(r->header.flags & SHM_BY_REFERENCE) || shm_window_resolve(c, r);
    memcpy(b.sgid, from, 16);
    memcpy(b.dgid, to, 16);
    fill(r, &b);
    if (whole && nic)
        sn_nic_receive(nic, &b);
}

/* A message of few words may go past the burst. False: it has to become one. */
static bool deliver_short(struct sn_nic *nic, const struct shm_header *h, const uint8_t from[16])
{
    if (h->npackets != 1 || h->length > SN_SHORT_BYTES || h->dmalen != h->length || h->mtu_service > 15 || h->psn >> 24)
        return false;
    const struct sn_short m = {.kind = h->kind,
                               .flags = h->flags,
                               .syndrome = h->syndrome,
                               .mtu = h->mtu_service,
                               .dqpn = h->dqpn & 0xffffff,
                               .sqpn = h->sqpn & 0xffffff,
                               .psn = h->psn,
                               .length = h->length,
                               .rkey = h->rkey,
                               .msn = h->msn & 0xffffff,
                               .va = h->va,
                               .word = h->inlined};
    return sn_nic_receive_short(nic, &m, from);
}

unsigned shm_deliver(struct shm_wire *w, struct shm_connection *c, unsigned budget)
{
    unsigned done = 0;
    while (done < budget && c->open && !c->dead) {
        struct shm_record r;
        enum shm_verdict verdict = shm_rx_peek(&c->rx, &r);
        if (verdict == SHM_NONE)
            break;
        const uint8_t *from, *to;
        if (verdict == SHM_BAD || !addresses(c, &r.header, &from, &to)) {
            shm_add(&shm_totals.bad_records, 1);
            shm_peer_kill(w, c);
            break;
        }
        struct sn_nic *nic = sn_port_find_nic(w->wire.port, to);
        if (!nic || !deliver_short(nic, &r.header, from))
            deliver_burst(c, nic, &r, from, to);
        shm_rx_consume(&c->rx, &r);
        shm_add(&shm_totals.bursts_received, 1);
        shm_add(&shm_totals.bytes_received, r.header.length);
        done++;
    }
    if (c->open)
        shm_rx_publish(&c->rx);
    return done;
}
