/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pair 1, the general services interface (IBTA vol. 1, 13.5.1): an unreliable datagram queue pair with the
 * well-known Q_Key. It has no rings: its one user is inside this library, takes MADs through a function and hands them
 * over one by one. On the wire it is a queue pair like any other.
 */
#include <stdlib.h>
#include <string.h>

#include "format/mad.h"
#include "softnic/engine.h"

enum { MAD_MTU = 1 /* 256 bytes: a MAD fits every link */ };

static void remove_qp(struct sn_nic *nic, struct sn_qp *qp)
{
    sn_xfer_quiesce(nic->port);
    sn_map_remove(&nic->qps, SN_GSI_QPN);
    free(qp);
}

static struct sn_qp *new_qp(struct sn_nic *nic)
{
    struct sn_qp *qp = aligned_alloc(SN_CACHE_LINE, (sizeof(*qp) + SN_CACHE_LINE - 1) / SN_CACHE_LINE * SN_CACHE_LINE);

    if (qp == NULL)
        return NULL;
    memset(qp, 0, sizeof(*qp));
    qp->nic = nic;
    qp->port = nic->port;
    qp->qpn = SN_GSI_QPN;
    qp->state = SN_QP_RTS;
    qp->attr.service = SN_SERVICE_UD;
    qp->attr.no_sq = true;
    qp->params.qkey = SN_GSI_QKEY;
    qp->params.mtu = qp->mtu = MAD_MTU;
    qp->rx.kind = SN_KIND_COUNT;
    qp->header.service = SN_SERVICE_UD;
    qp->header.sqpn = SN_GSI_QPN;
    qp->header.mtu = MAD_MTU;
    qp->header.pkey = 0xffff;
    return qp;
}

int sn_nic_set_gsi(struct sn_nic *nic, const struct sn_gsi_user *user)
{
    struct sn_qp *qp = sn_qp_find(nic, SN_GSI_QPN);

    if (user == NULL) {
        if (qp != NULL)
            remove_qp(nic, qp);
        return 0;
    }
    if (qp != NULL)
        return -EBUSY;
    if (sn_numbers_rest(nic) != 0 || sn_map_room(&nic->qps) != 0 || (qp = new_qp(nic)) == NULL)
        return sn_fail(-ENOMEM, "create QP 1", NULL, 0, "QPs so far", nic->qps.used);
    qp->gsi = user;
    sn_map_add(&nic->qps, SN_GSI_QPN, qp);
    return 0;
}

/* In host memory, whatever wire it came by: nobody's GPU memory is sent as a MAD. */
static bool copy_mad(const struct sn_burst *b, uint8_t out[SN_MAD_BYTES])
{
    size_t at = 0;

    if (b->length != SN_MAD_BYTES)
        return false;
    for (uint32_t i = 0; i < b->iov_count; at += b->iov[i].length, i++)
        if (b->iov[i].space != SN_SPACE_HOST)
            return false;
        else if (b->iov[i].length != 0)
            memcpy(out + at, b->iov[i].addr, b->iov[i].length);
    return true;
}

void sn_gsi_receive(struct sn_qp *qp, const struct sn_burst *b)
{
    struct sn_gsi_mad m;

    if (!copy_mad(b, m.bytes)) {
        qp->nic->counters.unreliable_dropped++;
        return;
    }
    memcpy(m.local, b->dgid, 16);
    memcpy(m.remote, b->sgid, 16);
    m.remote_qpn = b->sqpn;
    qp->nic->counters.rx_send_requests++;
    qp->gsi->receive(qp->gsi->arg, qp->nic, &m);
}

int sn_gsi_send(struct sn_nic *nic, const struct sn_gsi_mad *m)
{
    struct sn_qp *qp = sn_qp_find(nic, SN_GSI_QPN);
    struct sn_burst *b;

    if (qp == NULL)
        return -ENOTCONN;
    if ((b = sn_port_burst(qp, true)) == NULL)
        return -EAGAIN;
    memcpy(b->sgid, m->local, 16);
    memcpy(b->dgid, m->remote, 16);
    b->dqpn = m->remote_qpn;
    b->qkey = SN_GSI_QKEY;
    b->kind = SN_KIND_SEND;
    b->flags = SN_BURST_FIRST | SN_BURST_LAST;
    b->psn = qp->tx.psn;
    b->npackets = 1;
    b->length = SN_MAD_BYTES;
    b->iov_count = 1;
    b->iov[0] = (struct sn_iov){.addr = m->bytes, .length = SN_MAD_BYTES, .space = SN_SPACE_HOST};
    if (sn_port_send(qp, b) == SN_SENT_FULL)
        return -EAGAIN;
    qp->tx.psn = sn_psn_add(qp->tx.psn, 1);
    sn_xfer_quiesce(nic->port); /* within the port the payload is still referred to */
    return 0;
}

void sn_gsi_show(struct sn_nic *nic, const struct sn_gsi_mad *m)
{
    struct sn_port *port = nic->port;
    struct sn_burst b;

    if (port->capture == NULL)
        return;
    memset(&b, 0, offsetof(struct sn_burst, iov));
    memcpy(b.dgid, m->local, 16);
    memcpy(b.sgid, m->remote, 16);
    b.dqpn = SN_GSI_QPN;
    b.sqpn = m->remote_qpn;
    b.qkey = SN_GSI_QKEY;
    b.service = SN_SERVICE_UD;
    b.kind = SN_KIND_SEND;
    b.flags = SN_BURST_FIRST | SN_BURST_LAST;
    b.mtu = MAD_MTU;
    b.pkey = 0xffff;
    b.npackets = 1;
    b.length = SN_MAD_BYTES;
    b.iov_count = 1;
    b.iov[0] = (struct sn_iov){.addr = m->bytes, .length = SN_MAD_BYTES, .space = SN_SPACE_HOST};
    port->capture(port->capture_arg, &b);
}
