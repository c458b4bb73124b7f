/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/packet_flow.h"

#include "format/bth.h"
#include "softnic/nic.h"

static struct sn_flow *slot_of(struct sn_flows *f, uint32_t qpn)
{
    return &f->flow[(qpn ^ qpn >> 10) & (SN_FLOWS - 1)];
}

bool sn_flow_counts(const struct sn_burst *b)
{
    return b->service == SN_SERVICE_RC && (b->kind == SN_KIND_WRITE || b->kind == SN_KIND_SEND);
}

bool sn_flow_has_room(struct sn_flows *f, const struct sn_burst *h, uint32_t psn, uint32_t length, uint32_t window)
{
    struct sn_flow *flow = slot_of(f, h->sqpn);
    bool idle = flow->acked == flow->next;
    if (idle || flow->qpn != h->sqpn || flow->epoch != h->epoch || sn_psn_diff(psn, flow->next) < 0)
        *flow = (struct sn_flow){h->sqpn, psn, psn, h->epoch};
    int32_t under_way = sn_psn_diff(psn, flow->acked);
    return under_way <= 0 || ((uint64_t)(uint32_t)under_way << (7 + h->mtu)) + length <= window;
}

bool sn_flow_may_send(struct sn_flows *f, const struct sn_burst *b, uint32_t window)
{
    return sn_flow_has_room(f, b, b->psn, b->length, window);
}

void sn_flow_sent_psns(struct sn_flows *f, uint32_t sqpn, uint32_t psn, uint32_t npackets)
{
    slot_of(f, sqpn)->next = sn_psn_add(psn, npackets);
}

void sn_flow_sent(struct sn_flows *f, const struct sn_burst *b)
{
    sn_flow_sent_psns(f, b->sqpn, b->psn, b->npackets);
}

void sn_flow_acknowledged(struct sn_flows *f, uint32_t dqpn, uint32_t psn)
{
    struct sn_flow *flow = slot_of(f, dqpn);
    /* Beyond `next`: about a READ or an atomic behind it, or from before the transport went back. It covers all. */
    if (flow->qpn == dqpn && sn_psn_diff(psn, flow->acked) > 0)
        flow->acked = sn_psn_diff(psn, flow->next) < 0 ? psn : flow->next;
}

void sn_flow_arrived(struct sn_flows *f, const struct sn_burst *p)
{
    bool answers = p->kind == SN_KIND_ACK || p->kind == SN_KIND_READ_RESPONSE || p->kind == SN_KIND_ATOMIC_ACK;
    if (!answers)
        return;
    /* A NAK carries the PSN that is expected: everything before it has arrived (9.7.5.2). */
    bool nak = p->kind == SN_KIND_ACK && !sn_aeth_is_ack(p->syndrome);
    sn_flow_acknowledged(f, p->dqpn, nak ? p->psn : sn_psn_add(p->psn, 1));
}
