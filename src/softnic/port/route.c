/* SPDX-License-Identifier: Apache-2.0 */
/* Where a QP's bursts go: to a NIC of this port when it owns the GID and the QP number's slot, else to the wire. */
#include <string.h>

#include <errno.h>

#include "format/mad.h"
#include "softnic/engine.h"
#include "softnic/fault/inject.h"
#include "softnic/wire/wire.h"

struct sn_nic *sn_port_find_nic(struct sn_port *port, const uint8_t gid[16])
{
    for (struct sn_nic *nic = port->nics; nic != NULL; nic = nic->next)
        for (unsigned i = 0; i < nic->config.gid_count; i++)
            if (memcmp(nic->config.gid[i], gid, 16) == 0)
                return nic;
    return NULL;
}

/* Two devices of one process may share a GID (several opens of one device): the slot tells them apart. */
struct sn_nic *sn_port_find_peer(struct sn_port *port, const uint8_t gid[16], uint32_t qpn)
{
    struct sn_nic *match = NULL;

    for (struct sn_nic *nic = port->nics; nic != NULL; nic = nic->next) {
        if (qpn >> 16 != nic->config.slot && qpn != SN_GSI_QPN) /* that one is the device's, not the process's */
            continue;
        for (unsigned i = 0; i < nic->config.gid_count; i++)
            if (memcmp(nic->config.gid[i], gid, 16) == 0) {
                if (sn_qp_find(nic, qpn) != NULL)
                    return nic;
                match = qpn == SN_GSI_QPN ? match : nic;
            }
    }
    return match;
}

static struct sn_nic *peer_of(struct sn_qp *qp, const struct sn_burst *b)
{
    if (qp->attr.service == SN_SERVICE_UD)
        return sn_port_find_peer(qp->port, b->dgid, b->dqpn);
    if (qp->route_generation != qp->port->topology) {
        qp->peer = sn_port_find_peer(qp->port, qp->params.path.dgid, qp->params.remote_qpn);
        qp->route_generation = qp->port->topology;
    }
    return qp->peer;
}

struct sn_burst *sn_port_burst(struct sn_qp *qp, bool request)
{
    struct sn_burst *b = sn_inproc_slot(qp->port->inproc, request);

    if (b != NULL) {
        memcpy(b, &qp->header, offsetof(struct sn_burst, psn));
        b->pkey = qp->header.pkey;
        b->iov_count = 0;
    }
    return b;
}

/* What nobody takes is lost, and found missing by the transport. */
static enum sn_sent send(struct sn_qp *qp, struct sn_burst *b)
{
    struct sn_port *port = qp->port;
    struct sn_nic *peer = peer_of(qp, b);

    if (port->faults != NULL && sn_faults_leave(port->faults, qp, b))
        return SN_SENT;
    if (peer != NULL) {
        sn_inproc_push(port->inproc, peer);
        return SN_SENT;
    }
    if (port->wire == NULL)
        return SN_SENT;
    if (port->wire->ops->send(port->wire, b) != -EAGAIN)
        return SN_SENT;
    if (port->faults != NULL)
        sn_faults_again(port->faults, b);
    return SN_SENT_FULL;
}

enum sn_sent sn_port_send(struct sn_qp *qp, struct sn_burst *b)
{
    uint32_t packets = b->kind == SN_KIND_READ_REQUEST ? 1 : b->npackets, bytes = b->length;
    enum sn_sent sent = send(qp, b);

    if (sent == SN_SENT) {
        qp->nic->counters.tx_packets += packets;
        qp->nic->counters.tx_bytes += bytes;
    }
    /* A burst that found no room is offered again. One in the queue of deliveries stays as it is until its turn. */
    if (qp->port->capture != NULL && sent == SN_SENT)
        qp->port->capture(qp->port->capture_arg, b);
    return sent;
}

void sn_port_capture_arrival(struct sn_port *port, const struct sn_qp *qp, const struct sn_burst *b)
{
    /* A packet that was born from a frame does not name its sender: the queue pair knows it. */
    uint32_t sqpn = b->sqpn == 0 && qp != NULL ? qp->params.remote_qpn : b->sqpn;

    if (port->capture != NULL && sn_port_find_peer(port, b->sgid, sqpn) == NULL)
        port->capture(port->capture_arg, b);
}

void sn_port_set_capture(struct sn_port *port, void (*fn)(void *arg, const struct sn_burst *burst), void *arg)
{
    port->capture = fn;
    port->capture_arg = arg;
}

enum sn_sent sn_port_forward(struct sn_port *port, const struct sn_burst *b)
{
    struct sn_nic *peer = sn_port_find_peer(port, b->dgid, b->dqpn);

    if (peer != NULL) {
        sn_nic_receive(peer, b);
        return SN_SENT;
    }
    if (port->wire == NULL)
        return SN_SENT;
    return port->wire->ops->send(port->wire, b) == -EAGAIN ? SN_SENT_FULL : SN_SENT;
}

void sn_port_attach_wire(struct sn_port *port, struct sn_wire *wire)
{
    port->wire = wire;
    atomic_store_explicit(&port->wire_look_ns, wire != NULL ? wire->ops->look_ns : 0, memory_order_relaxed);
    if (wire != NULL && wire->port != port) /* a wire with threads has been told when it was made */
        wire->port = port;
    port->topology++;
}

/*
 * Nothing is torn down: a peer that died does not answer, and the QPs that talk to it run out of retries. Without an
 * acknowledgement timeout they would wait for ever, so those are told.
 */
void sn_port_peer_gone(struct sn_port *port, const uint8_t gid[16], uint8_t slot)
{
    for (struct sn_nic *nic = port->nics; nic != NULL; nic = nic->next)
        for (uint32_t i = 0; nic->qps.used != 0 && i <= nic->qps.mask; i++) {
            struct sn_qp *qp = nic->qps.slot[i].object;
            if (qp == NULL || qp->state != SN_QP_RTS || qp->params.remote_qpn >> 16 != slot ||
                memcmp(qp->params.path.dgid, gid, 16) != 0)
                continue;
            if (qp->params.ack_timeout == 0)
                qp->params.ack_timeout = 14; /* 67 ms */
            sn_qp_activate(qp);
        }
}

void sn_port_set_tap(struct sn_port *port, int (*fn)(void *arg, const struct sn_burst *burst), void *arg)
{
    port->tap = fn;
    port->tap_arg = arg;
}
