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

static bool take_short(struct shm_wire *w, struct shm_connection *c, union shm_line *line)
{
    const uint32_t dqpn = line->header.dqpn, sqpn = line->header.sqpn;
    const uint8_t *from, *to;
    if (dqpn == c->came_dqpn && sqpn == c->came_sqpn && sn_port_receive_short(w->wire.port, &line->message, &c->origin))
        return true;
    if (!addresses(c, &line->header, &from, &to))
        return false;
    struct sn_nic *nic = sn_port_find_nic(w->wire.port, to);
    line->message.dqpn &= 0xffffff;
    line->message.sqpn &= 0xffffff;
    c->came_dqpn = dqpn;
    c->came_sqpn = sqpn;
    c->origin.qp = NULL;
    return nic && sn_nic_receive_short(nic, &line->message, from, &c->origin);
}

/* A message of few words may go past record and burst, as it is. False: it has to become one, and is judged (shm_ring.c). */
static bool deliver_short(struct shm_wire *w, struct shm_connection *c)
{
    union shm_line line;
    shm_rx_line(&c->rx, &line);
    if (line.header.length > SN_SHORT_BYTES || line.header.mtu_service == 0 || !take_short(w, c, &line))
        return false;
    shm_rx_consume_line(&c->rx);
    shm_add(&shm_totals.bytes_received, line.message.length);
    return true;
}

static enum shm_verdict deliver_record(struct shm_wire *w, struct shm_connection *c)
{
    struct shm_record r;
    enum shm_verdict verdict = shm_rx_peek(&c->rx, &r);
    const uint8_t *from, *to;
    if (verdict != SHM_RECORD)
        return verdict;
    if (!addresses(c, &r.header, &from, &to))
        return SHM_BAD;
    deliver_burst(c, sn_port_find_nic(w->wire.port, to), &r, from, to);
    shm_rx_consume(&c->rx, &r);
    shm_add(&shm_totals.bytes_received, r.header.length);
    return SHM_RECORD;
}

unsigned shm_deliver(struct shm_wire *w, struct shm_connection *c, unsigned budget)
{
    unsigned done = 0;
    while (done < budget && c->open && !c->dead && shm_rx_ready(&c->rx)) {
        enum shm_verdict verdict = deliver_short(w, c) ? SHM_RECORD : deliver_record(w, c);
        if (verdict == SHM_BAD) {
            shm_add(&shm_totals.bad_records, 1);
            shm_peer_kill(w, c);
        }
        if (verdict != SHM_RECORD)
            break;
        done++;
    }
    shm_add(&shm_totals.bursts_received, done);
    if (c->open)
        shm_rx_publish(&c->rx);
    return done;
}
