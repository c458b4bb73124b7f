/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bursts that arrive for a queue pair. All of one QP are executed in order; while one waits for the copy engine the later
 * ones queue up behind it. A burst that goes to the copy engine is executed again from its start when the copy is done,
 * with rx_phase telling what is behind it: nothing of its effects has been kept before.
 */
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/state.h"
#include "softnic/fault/inject.h"

struct sn_rx_burst {
    struct sn_rx_burst *next;
    uint8_t *payload; /* own copy, or NULL: pinned by the sender */
    bool stays;
    struct sn_burst b;
};

static size_t burst_size(const struct sn_burst *b)
{
    return offsetof(struct sn_burst, iov) + b->iov_count * sizeof(b->iov[0]);
}

static struct sn_rx_burst *keep_burst(struct sn_port *port, const struct sn_burst *b, bool payload)
{
    struct sn_rx_burst *r = calloc(1, offsetof(struct sn_rx_burst, b) + sizeof(struct sn_burst));
    uint8_t *at;

    if (r == NULL)
        return NULL;
    memcpy(&r->b, b, burst_size(b));
    r->stays = port->payload_stays || !payload;
    if (r->stays || b->length == 0)
        return r;
    at = r->payload = malloc(b->length);
    if (at == NULL) {
        free(r);
        return NULL;
    }
    for (uint32_t i = 0; i < b->iov_count; i++) {
        if (b->iov[i].length != 0) /* an empty piece may be nowhere */
            memcpy(at, b->iov[i].addr, b->iov[i].length);
        at += b->iov[i].length;
    }
    r->b.iov_count = 1;
    r->b.iov[0] = (struct sn_iov){.addr = r->payload, .length = b->length, .space = SN_SPACE_HOST};
    r->stays = true; /* from here on it does */
    return r;
}

/* A burst that cannot be kept is lost, as on a link: the requester sends it again. */
static void enqueue(struct sn_qp *qp, const struct sn_burst *b, bool payload)
{
    struct sn_rx_burst *r;

    if (qp->rx_count >= SN_RX_QUEUE_MAX || qp->rx_bytes >= SN_RX_QUEUE_BYTES ||
        (r = keep_burst(qp->port, b, payload)) == NULL)
        return;
    if (qp->rx_first == NULL)
        qp->rx_last = &qp->rx_first;
    *qp->rx_last = r;
    qp->rx_last = &r->next;
    qp->rx_count++;
    qp->rx_bytes += r->payload != NULL ? b->length : 0;
}

static bool execute(struct sn_qp *qp, const struct sn_burst *b)
{
    if (qp->attr.service != SN_SERVICE_RC)
        return sn_unreliable_receive(qp, b);
    switch (b->kind) {
    case SN_KIND_ACK:
        sn_rc_acknowledged(qp, b->psn, b->syndrome);
        return true;
    case SN_KIND_READ_RESPONSE:
    case SN_KIND_ATOMIC_ACK:
        return sn_rc_response(qp, b);
    default:
        return sn_rc_request(qp, b);
    }
}

static void pop(struct sn_qp *qp)
{
    struct sn_rx_burst *r = qp->rx_first;

    qp->rx_first = r->next;
    qp->rx_count--;
    qp->rx_bytes -= r->payload != NULL ? r->b.length : 0;
    free(r->payload);
    free(r);
}

static void copy_done(struct sn_xfer *xfer)
{
    struct sn_qp *qp = xfer->arg;
    struct sn_port *port = qp->port;
    bool stays = port->payload_stays;

    if (xfer->error != 0)
        qp->rx_error = xfer->error;
    sn_xfer_free(xfer);
    qp->rx_phase++;
    while (qp->rx_first != NULL) {
        port->payload_stays = qp->rx_first->stays;
        if (!execute(qp, &qp->rx_first->b))
            break;
        if (port->gpu_atomic == qp)
            port->gpu_atomic = NULL;
        qp->rx_phase = 0;
        qp->rx_error = 0;
        if (qp->rx_first != NULL) /* an error on the way may have dropped them all */
            pop(qp);
    }
    port->payload_stays = stays;
}

void sn_qp_wait_copy(struct sn_qp *qp, struct sn_xfer *xfer)
{
    sn_xfer_submit(qp->port, xfer, copy_done, qp);
}

void sn_qp_receive(struct sn_qp *qp, const struct sn_burst *b)
{
    if (qp->rx_first != NULL) {
        enqueue(qp, b, true);
        return;
    }
    qp->rx_phase = 0;
    qp->rx_error = 0;
    if (execute(qp, b))
        return;
    enqueue(qp, b, false); /* the copy has the payload already */
}

/* Frees what waits. The caller has made sure that no copy of this QP is under way. */
void sn_qp_drop_pending(struct sn_qp *qp)
{
    while (qp->rx_first != NULL)
        pop(qp);
    qp->rx_phase = 0;
    qp->rx_error = 0;
}

/* ---- checks --------------------------------------------------------------------------------------------------- */

static bool payload_adds_up(const struct sn_burst *b)
{
    size_t sum = 0;

    if (b->iov_count > SN_BURST_MAX_IOV)
        return false;
    for (uint32_t i = 0; i < b->iov_count; i++) {
        if (b->iov[i].length > b->length)
            return false;
        sum += b->iov[i].length;
    }
    return sum == b->length;
}

static bool same_gid(const uint8_t *a, const uint8_t *b)
{
    uint64_t x[2], y[2];
    memcpy(x, a, 16);
    memcpy(y, b, 16);
    return x[0] == y[0] && x[1] == y[1];
}

static bool well_formed(const struct sn_burst *b)
{
    return b->kind < SN_KIND_COUNT && (b->flags & ~SN_BURST_FLAGS_ALL) == 0 && b->psn <= SN_PSN_MASK &&
           b->npackets >= 1 && b->npackets <= (1u << 23) && payload_adds_up(b);
}

static bool from_peer(const struct sn_qp *qp, const struct sn_burst *b)
{
    if (qp->attr.service == SN_SERVICE_UD)
        return true; /* from anybody who has the Q_Key */
    return b->sqpn == qp->params.remote_qpn && b->mtu == qp->mtu && same_gid(b->sgid, qp->params.path.dgid);
}

/*
 * What a packet's headers have to say before its queue pair is shown it (9.6.1.1). The partition table has one entry, the
 * default partition's full member, which goes with itself and with limited members (10.9.3). A connected queue pair is
 * reached by its own address (9.6.1.2), not by another one of its port. Bursts from NICs of this make have no such fields.
 */
static bool addressed(const struct sn_qp *qp, const struct sn_burst *packet)
{
    return (packet->pkey | 0x8000) == 0xffff &&
           (qp->attr.service == SN_SERVICE_UD || same_gid(packet->dgid, qp->header.sgid));
}

/* A packet does not say everything: its sender, the path MTU, and how many PSNs a READ takes are the QP's to know. */
static void complete_packet(const struct sn_qp *qp, const struct sn_burst *packet, struct sn_burst *out)
{
    memcpy(out, packet, packet->iov_count > SN_BURST_MAX_IOV ? offsetof(struct sn_burst, iov) : burst_size(packet));
    out->mtu = qp->mtu;
    if (qp->attr.service != SN_SERVICE_UD)
        out->sqpn = qp->params.remote_qpn;
    if (out->kind == SN_KIND_READ_REQUEST) /* one that is too long will be refused: it takes no PSNs */
        out->npackets = out->dmalen > SN_MESSAGE_MAX ? 1 : sn_mtu_packets(out->dmalen, qp->mtu);
}

static void drop(struct sn_nic *nic)
{
    nic->counters.rx_dropped++;
}

/* ---- congestion (A17.9) --------------------------------------------------------------------------------------- */

enum { ECN_CE = 3, CNP_INTERVAL_NS = 50000 };

/* A packet came marked: its sender is told, once in CNP_INTERVAL_NS a QP. A CNP that finds no room is not missed. */
static void notify(struct sn_qp *qp)
{
    uint64_t now = sn_port_now(qp->port);
    struct sn_burst *b;

    qp->nic->counters.np_ecn_marked_roce_packets++;
    if (qp->attr.service == SN_SERVICE_UD || now < qp->cnp_after || (b = sn_port_burst(qp, false)) == NULL)
        return;
    b->kind = SN_KIND_CNP;
    b->flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_BECN;
    b->psn = 0;
    b->npackets = 1;
    b->length = 0;
    if (sn_port_send(qp, b) == SN_SENT_FULL)
        return;
    qp->cnp_after = now + CNP_INTERVAL_NS;
    qp->nic->counters.np_cnp_sent++;
}

/* Nothing slows down for one: congestion control is not modelled. */
static void notified(struct sn_nic *nic, const struct sn_qp *qp, const struct sn_burst *b)
{
    bool ours = qp != NULL && qp->state >= SN_QP_RTR && qp->attr.service != SN_SERVICE_UD &&
                same_gid(b->sgid, qp->params.path.dgid);

    if (ours)
        nic->counters.rp_cnp_handled++;
    else
        nic->counters.rp_cnp_ignored++;
}

/* A fault plan held it back, or made it: not new on the wire. */
static bool held_back_here(const struct sn_port *port)
{
    return port->faults != NULL && sn_faults_arrived_before(port->faults);
}

/* ---- the door ------------------------------------------------------------------------------------------------ */

static void take_up(struct sn_qp *qp, const struct sn_burst *b)
{
    if (!well_formed(b) || !from_peer(qp, b)) {
        drop(qp->nic);
        return;
    }
    if (!held_back_here(qp->port)) {
        qp->nic->counters.rx_packets += b->kind == SN_KIND_READ_REQUEST ? 1 : b->npackets;
        qp->nic->counters.rx_bytes += b->length;
    }
    if (qp->port->faults != NULL && sn_faults_arrive(qp->port->faults, qp, b))
        return;
    if (qp->state == SN_QP_RTR && !qp->established && qp->attr.service != SN_SERVICE_UD) { /* 11.6.3.1 */
        qp->established = true;
        sn_qp_tell(qp, SN_EVENT_QP_ESTABLISHED, 0);
    }
    if (b->flags & SN_BURST_BECN)
        qp->nic->counters.rp_becn++;
    if ((b->tclass & 3) == ECN_CE)
        notify(qp);
    sn_qp_receive(qp, b);
}

void sn_nic_receive(struct sn_nic *nic, const struct sn_burst *b)
{
    struct sn_qp *qp = sn_qp_find(nic, b->dqpn);

    if (nic->port->capture != NULL && payload_adds_up(b) && !held_back_here(nic->port))
        sn_port_capture_arrival(nic->port, qp, b);
    if (b->kind == SN_KIND_CNP) {
        notified(nic, qp, b);
    } else if (qp == NULL || qp->attr.service != b->service || qp->attr.service == SN_SERVICE_DC ||
               qp->state < SN_QP_RTR) {
        drop(nic);
    } else if (b->mtu != 0) {
        take_up(qp, b);
    } else if (!addressed(qp, b)) {
        drop(nic);
    } else {
        struct sn_burst packet;
        complete_packet(qp, b, &packet);
        take_up(qp, &packet);
    }
}
