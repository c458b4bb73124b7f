/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreliable connections and datagrams (IBTA vol. 1, 9.8). Nothing is answered: the requester is done when the wire has
 * the last packet, the responder drops in silence what does not fit.
 */
#include <string.h>

#include "format/roce.h"
#include "softnic/exec/state.h"
#include "softnic/transport/message.h"

enum { GRH_BYTES = 40 /* before the payload of a datagram */ };

/* ---- requester ----------------------------------------------------------------------------------------------- */

/*
 * Handed to the wire is done (9.8.2.1). A wire has copied the payload; within the port it is still referred to, so it is
 * delivered before the CQE says that the buffer is free.
 */
void sn_unreliable_sent(struct sn_qp *qp)
{
    if (qp->tx.head == qp->tx.tail)
        return;
    if (qp->port->inproc->tail != 0 || qp->port->xfers != NULL)
        sn_xfer_quiesce(qp->port);
    if (!sn_state_drains(qp->state))
        return; /* it talks to itself, and the responder has met an error */
    qp->tx.una = sn_tx_limit(qp);
    sn_rc_complete(qp);
}

/*
 * InfiniBand has no UDP ports, so in that field a datagram carries what its local route header would say: the sender's LID,
 * and whether a GRH follows. (A frame of RoCE, as in a capture, has a port of the dynamic range.)
 */
enum { SPORT_IB = 0x8000, SPORT_GRH = 0x4000, SPORT_LID = 0x3fff };

static uint16_t sport_of(const struct sn_qp *qp, const struct sn_av_seg *av)
{
    if (qp->nic->config.link == SN_LINK_ETHERNET)
        return sn_get16(av->rlid_udp_sport);
    return (uint16_t)(SPORT_IB | (sn_av_has_grh(av) ? SPORT_GRH : 0) | (qp->nic->config.lid & SPORT_LID));
}

static bool has_grh(const struct sn_qp *qp, const struct sn_burst *b)
{
    return qp->nic->config.link == SN_LINK_ETHERNET || !(b->udp_sport & SPORT_IB) || b->udp_sport & SPORT_GRH;
}

static uint16_t slid_of(const struct sn_qp *qp, const struct sn_burst *b)
{
    return qp->nic->config.link == SN_LINK_INFINIBAND && b->udp_sport & SPORT_IB ? b->udp_sport & SPORT_LID : 0;
}

/* Within a subnet of InfiniBand a LID leads to its port; here the vector has the GID of that port, too. */
bool sn_ud_reaches(const struct sn_qp *qp, const struct sn_entry *e)
{
    static const uint8_t nowhere[16];
    const struct sn_av_seg *av = sn_wqe_av(e->raw);

    if (sn_av_has_grh(av))
        return sn_av_sgid_index(av) < qp->nic->config.gid_count;
    return qp->nic->config.link == SN_LINK_INFINIBAND && memcmp(av->rgid, nowhere, sizeof(nowhere)) != 0;
}

/* A Q_Key with the top bit set stands for the queue pair's own (10.2.5). */
void sn_ud_address(struct sn_qp *qp, const struct sn_entry *e, struct sn_burst *b)
{
    const struct sn_av_seg *av = sn_wqe_av(e->raw);

    memcpy(b->dgid, av->rgid, 16);
    memcpy(b->sgid, qp->nic->config.gid[sn_av_has_grh(av) ? sn_av_sgid_index(av) : 0], 16);
    memcpy(b->dmac, av->rmac, 6);
    b->dqpn = e->w.dqpn;
    b->qkey = e->w.qkey & 0x80000000u ? qp->params.qkey : e->w.qkey;
    b->tclass = av->tclass;
    b->hop_limit = av->hop_limit;
    b->flow_label = sn_get32(av->grh_gid_fl) & 0xfffffu;
    b->udp_sport = sport_of(qp, av);
}

/* ---- responder ----------------------------------------------------------------------------------------------- */

static void drop(struct sn_qp *qp)
{
    qp->nic->counters.unreliable_dropped++;
}

/* The message in progress ends without a trace; its receive WQE serves the next one (9.8.2.2). */
static void drop_message(struct sn_qp *qp)
{
    qp->rx.kind = SN_KIND_COUNT;
    drop(qp);
}

/* The receive WQE itself is at fault: it ends in an error, and so does the queue pair (9.9.3, class of local errors). */
static void local_error(struct sn_qp *qp, const struct sn_burst *b, uint8_t syndrome)
{
    sn_qp_error_note(qp, true, syndrome, syndrome, b->kind, qp->rx.wqe_index);
    if (qp->rx.has_wqe)
        sn_rq_complete(qp, SN_CQE_RESP_ERR, syndrome, 0, 0, false);
    else
        sn_qp_tell(qp, SN_EVENT_QP_FATAL, syndrome);
    if (qp->state != SN_QP_ERR)
        sn_qp_error_enter(qp);
}

/* A receive WQE is there. False: dropped, or the QP has failed. */
static bool take_wqe(struct sn_qp *qp, const struct sn_burst *b)
{
    int ret = sn_message_take_wqe(qp);

    if (ret == -EIO)
        local_error(qp, b, SN_SYND_LOCAL_PROT);
    else if (ret != 0)
        drop_message(qp);
    return ret == 0;
}

static void placing_failed(struct sn_qp *qp, const struct sn_burst *b, enum sn_fault fault)
{
    if (b->kind == SN_KIND_SEND) {
        local_error(qp, b, fault == SN_FAULT_LENGTH ? SN_SYND_LOCAL_LENGTH : SN_SYND_LOCAL_PROT);
        return;
    }
    qp->nic->counters.resp_remote_access_errors++;
    drop_message(qp);
}

static bool uc_fits(const struct sn_qp *qp, const struct sn_burst *b, struct sn_arrival *a)
{
    sn_message_begin(qp, b, 0, a);
    return sn_message_length_fits(b, a) && (b->kind == SN_KIND_SEND || qp->params.rwe);
}

/*
 * A packet is the one that is due, or it ends the message in progress; then only the first packet of another message is
 * of use, whatever its PSN (9.8.2.2).
 */
static bool uc_receive(struct sn_qp *qp, const struct sn_burst *b)
{
    struct sn_arrival a;
    enum sn_fault fault;
    bool due = b->psn == qp->rx.epsn && sn_message_order_fits(qp, b);

    if (!sn_is_data(b) || !sn_message_packets_fit(qp, b) || (b->flags & SN_BURST_INVALIDATE) ||
        (!due && !(b->flags & SN_BURST_FIRST))) {
        drop_message(qp);
        return true;
    }
    if (!due && qp->rx.kind != SN_KIND_COUNT)
        drop_message(qp);
    if (!uc_fits(qp, b, &a)) {
        drop_message(qp);
        return true;
    }
    if (qp->rx_error != 0) {
        local_error(qp, b, SN_SYND_LOCAL_PROT);
        return true;
    }
    if (sn_message_takes_wqe(b) && !take_wqe(qp, b))
        return true;
    if (!sn_message_place(qp, b, &a, &fault))
        return false;
    if (fault != SN_FAULT_NONE) {
        placing_failed(qp, b, fault);
        return true;
    }
    qp->rx.epsn = sn_psn_add(b->psn, b->npackets);
    sn_message_commit(qp, b, &a);
    return true;
}

/* ---- datagrams ----------------------------------------------------------------------------------------------- */

static bool is_mapped(const uint8_t gid[16])
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

static bool over_ipv4(const struct sn_qp *qp, const struct sn_burst *b)
{
    return qp->nic->config.link == SN_LINK_ETHERNET && is_mapped(b->dgid) && is_mapped(b->sgid);
}

static uint8_t hops(const struct sn_burst *b)
{
    return b->hop_limit != 0 ? b->hop_limit : 64;
}

static uint16_t sum16(const uint8_t *p, size_t n)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i += 2)
        sum += (uint32_t)p[i] << 8 | p[i + 1];
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/*
 * What stands before the payload: the network header of the packet, an IPv4 one in the last 20 of the 40 bytes (A17.4.5).
 * The burst does not carry the IPv4 identification; it reads 0.
 */
static void build_grh(const struct sn_qp *qp, const struct sn_burst *b, uint8_t out[GRH_BYTES])
{
    bool roce = qp->nic->config.link == SN_LINK_ETHERNET;
    uint32_t imm = b->flags & SN_BURST_IMM ? sizeof(struct sn_immdt) : 0;
    uint32_t transport = sizeof(struct sn_bth) + sizeof(struct sn_deth) + imm + ((b->length + 3) & ~3u) + 4 /* CRC */;

    if (roce)
        transport += sizeof(struct sn_udp);
    memset(out, 0, GRH_BYTES);
    if (over_ipv4(qp, b)) {
        struct sn_ipv4 *ip = (struct sn_ipv4 *)(void *)(out + GRH_BYTES - sizeof(*ip));
        ip->version_ihl = 0x45;
        ip->tos = b->tclass;
        ip->length = sn_put16((uint16_t)(sizeof(*ip) + transport));
        ip->flags_offset = sn_put16(0x4000); /* do not fragment */
        ip->ttl = hops(b);
        ip->protocol = 17;
        memcpy(ip->src, b->sgid + 12, 4);
        memcpy(ip->dst, b->dgid + 12, 4);
        ip->check = sn_put16((uint16_t)~sum16((const uint8_t *)ip, sizeof(*ip)));
        return;
    }
    struct sn_ipv6 *ip = (struct sn_ipv6 *)(void *)out;
    ip->version_class_flow = sn_put32(6u << 28 | (uint32_t)b->tclass << 20 | (b->flow_label & 0xfffff));
    ip->length = sn_put16((uint16_t)transport);
    ip->next = roce ? 17 : 0x1b; /* UDP, or IBA's own (8.3.1) */
    ip->hop_limit = hops(b);
    memcpy(ip->src, b->sgid, 16);
    memcpy(ip->dst, b->dgid, 16);
}

static bool place_datagram(struct sn_qp *qp, const struct sn_burst *b)
{
    struct sn_burst whole;
    struct sn_placing p;

    whole.length = GRH_BYTES + b->length;
    whole.iov_count = b->iov_count + 1;
    whole.iov[0] = (struct sn_iov){.addr = qp->grh, .length = GRH_BYTES, .space = SN_SPACE_HOST};
    memcpy(whole.iov + 1, b->iov, b->iov_count * sizeof(b->iov[0]));
    build_grh(qp, b, qp->grh);
    sn_place_begin(&p, qp, &whole, 0);
    (void)sn_message_scatter(qp, 0, whole.length, &p);
    return sn_place_end(&p);
}

/* RoCE: what kind of network header there is, in the place of the service level. */
static uint8_t cqe_flags(const struct sn_qp *qp, const struct sn_burst *b)
{
    uint8_t l3 = over_ipv4(qp, b) ? SN_CQE_L3_IPV4 : SN_CQE_L3_IPV6;
    return (uint8_t)((has_grh(qp, b) ? SN_CQE_GRH : 0) | (qp->nic->config.link == SN_LINK_ETHERNET ? l3 : 0));
}

static bool ud_fits(const struct sn_qp *qp, const struct sn_burst *b)
{
    const unsigned only = SN_BURST_FIRST | SN_BURST_LAST;

    return b->kind == SN_KIND_SEND && (b->flags & only) == only && !(b->flags & SN_BURST_INVALIDATE) &&
           b->npackets == 1 && b->length <= sn_mtu_bytes(qp->mtu) && b->iov_count < SN_BURST_MAX_IOV;
}

static bool ud_receive(struct sn_qp *qp, const struct sn_burst *b)
{
    enum sn_fault fault;

    if (b->qkey != qp->params.qkey) { /* 9.2.5, 10.2.5: in silence, and counted */
        qp->nic->counters.qkey_violations++;
        drop(qp);
        return true;
    }
    if (!ud_fits(qp, b)) {
        drop(qp);
        return true;
    }
    if (qp->gsi != NULL) {
        sn_gsi_receive(qp, b);
        return true;
    }
    if (qp->rx_error != 0) {
        local_error(qp, b, SN_SYND_LOCAL_PROT);
        return true;
    }
    if (!take_wqe(qp, b))
        return true;
    fault = sn_message_scatter(qp, 0, GRH_BYTES + b->length, NULL);
    if (fault != SN_FAULT_NONE) {
        placing_failed(qp, b, fault);
        return true;
    }
    if (qp->rx_phase == 0 && !place_datagram(qp, b))
        return false;
    qp->nic->counters.rx_send_requests++;
    sn_ud_complete(qp, GRH_BYTES + b->length, b, cqe_flags(qp, b), slid_of(qp, b));
    return true;
}

bool sn_unreliable_receive(struct sn_qp *qp, const struct sn_burst *b)
{
    if (!sn_state_receives(qp->state))
        return true;
    return qp->attr.service == SN_SERVICE_UC ? uc_receive(qp, b) : ud_receive(qp, b);
}
