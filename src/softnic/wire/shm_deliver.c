/* SPDX-License-Identifier: Apache-2.0 */
/* Records out of rings. Payload goes to its destination straight from the ring. */
#include <string.h>

#include "softnic/wire/shm_internal.h"

static bool addresses(struct shm_connection *c, const struct shm_header *h, struct sn_burst *b)
{
    unsigned dgid = h->dqpn >> 24, sgid = h->sqpn >> 24;
    const struct shm_identity *own = &c->endpoint->identity;
    if (!c->known && !shm_peer_know(c))
        return false;
    if (sgid >= c->peer.gid_count)
        return false;
    memcpy(b->sgid, c->peer.gid[sgid], 16);
    if (dgid == SHM_ACCEPTED_GID && !c->connector)
        memcpy(b->dgid, c->target, 16);
    else if (dgid < own->gid_count)
        memcpy(b->dgid, own->gid[dgid], 16);
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

unsigned shm_deliver(struct shm_wire *w, struct shm_connection *c, unsigned budget)
{
    unsigned done = 0;
    while (done < budget && c->open && !c->dead) {
        struct shm_record r;
        enum shm_verdict verdict = shm_rx_peek(&c->rx, &r);
        if (verdict == SHM_NONE)
            break;
        struct sn_burst b;
        if (verdict == SHM_BAD || !addresses(c, &r.header, &b)) {
            shm_add(&shm_totals.bad_records, 1);
            shm_peer_kill(w, c);
            break;
        }
        bool whole = !(r.header.flags & SHM_BY_REFERENCE) || shm_window_resolve(c, &r);
        fill(&r, &b);
        struct sn_nic *nic = whole ? sn_port_find_nic(w->wire.port, b.dgid) : NULL;
        if (nic)
            sn_nic_receive(nic, &b);
        shm_rx_consume(&c->rx, &r);
        shm_add(&shm_totals.bursts_received, 1);
        shm_add(&shm_totals.bytes_received, b.length);
        done++;
    }
    if (c->open)
        shm_rx_publish(&c->rx);
    return done;
}
