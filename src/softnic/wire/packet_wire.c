/* SPDX-License-Identifier: Apache-2.0 */
/* The core of every wire that carries frames. */
#include "softnic/wire/packet_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "format/bth.h"
#include "format/mad.h"
#include "softnic/engine.h"
#include "softnic/fault/inject.h"
#include "softnic/wire/cut.h"
#include "softnic/wire/packet_icrc.h"
#include "softnic/wire/packet_internal.h"

enum { QUIET_POLLS = 512, QUIET_EVERY = 8 }; /* a wire that nobody uses is looked at in each eighth turn */
enum { CLOCK_EVERY = 8 }; /* turns in which an acknowledgement waits */
enum { RETRIES_EVERY = 1024 }; /* polls */
enum { RECEIVE_BATCH = 64 };
#define BURST_BYTES 65536u   /* most payload of a burst: what one run of frames holds, about */
#define STUCK_NS 100000000ull /* a kernel or peer that takes nothing for so long is a cut cable */

struct sn_packet_totals sn_packet_totals;

static struct sn_packet_wire *own(struct sn_wire *wire)
{
    return (struct sn_packet_wire *)wire;
}

int sn_packet_watch(struct sn_backend *b, int fd)
{
    if (b->fds == SN_PACKET_MAX_FDS)
        return -ENOSPC;
    if (b->wire) {
        struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)b->fds + 1};
        if (epoll_ctl(b->wire->epoll, EPOLL_CTL_ADD, fd, &e))
            return -errno;
    }
    b->fd[b->fds++] = fd;
    return 0;
}

void sn_packet_unwatch(struct sn_backend *b, int fd)
{
    for (unsigned i = 0; i < b->fds; i++)
        if (b->fd[i] == fd) {
            if (b->wire)
                epoll_ctl(b->wire->epoll, EPOLL_CTL_DEL, fd, NULL);
            b->fd[i] = b->fd[--b->fds];
            return;
        }
}

/* ---- out -------------------------------------------------------------------------------------------------------- */

static void forget_sent(struct sn_packet_wire *w, unsigned n)
{
    w->out_first += n;
    if (w->out_first == w->out_count)
        w->out_first = w->out_count = 0, w->out_used = 0, w->run_length = 0;
}

/* Frames of the run that begins at `first`. */
static unsigned run_of(const struct sn_packet_wire *w, unsigned first)
{
    unsigned n = 1;
    while (first + n < w->out_count && w->out[first + n].ip_id != 0)
        n++;
    return n;
}

static void count_sent(const struct sn_frame_out *f, unsigned n)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += f[i].length;
    sn_packet_add(&sn_packet_totals.frames_sent, n);
    sn_packet_add(&sn_packet_totals.bytes_sent, bytes);
}

/* Nothing could be sent. After a while what waits is lost, or a dead peer would keep the port awake for ever. */
static void stuck(struct sn_packet_wire *w)
{
    uint64_t now = sn_port_now(w->wire.port);
    if (!w->full_since) {
        w->full_since = now;
    } else if (now - w->full_since > STUCK_NS) {
        sn_packet_add(&sn_packet_totals.lost, w->out_count - w->out_first);
        forget_sent(w, w->out_count - w->out_first);
        w->full_since = 0;
    }
}

void sn_packet_flush(struct sn_packet_wire *w)
{
    struct sn_backend *b = w->backend;
    while (w->out_first < w->out_count) {
        const struct sn_frame_out *f = &w->out[w->out_first];
        int n = b->ops->send(b, f, w->out_count - w->out_first);
        if (n == 0) {
            stuck(w);
            return;
        }
        w->full_since = 0;
        if (n > 0) {
            count_sent(f, (unsigned)n);
        } else {
            n = (int)run_of(w, w->out_first);
            sn_packet_add(&sn_packet_totals.lost, (unsigned)n);
        }
        forget_sent(w, (unsigned)n);
    }
}

uint16_t sn_packet_next_id(const struct sn_packet_wire *w, const struct sn_frame_out *f)
{
    const struct sn_frame_out *last = &w->out[w->out_count - 1];
    if (!w->backend->runs || w->out_count == w->out_first || last->length != w->run_length ||
        last->ip_id + 1 >= SN_PACKET_RUN || (last->ip_id + 2u) * w->run_length > SN_PACKET_RUN_BYTES)
        return 0;
    bool joins = last->udp_sport == f->udp_sport && last->tclass == f->tclass && !memcmp(last->dgid, f->dgid, 16) &&
                 !memcmp(last->sgid, f->sgid, 16) && f->length <= w->run_length;
    return joins ? (uint16_t)(last->ip_id + 1) : 0; /* only the last of a run may differ, by being shorter */
}

void sn_packet_queue(struct sn_packet_wire *w, const struct sn_frame_out *f)
{
    w->out[w->out_count++] = *f;
    if (!f->ip_id)
        w->run_length = f->length;
    w->out_used += f->length;
}

/* A frame behind the last one. What has no wire form is lost: the transport has been told of no such thing. */
static void append(struct sn_packet_wire *w, struct sn_burst *p, struct sn_frame_path *path)
{
    const struct sn_backend *b = w->backend;
    uint8_t *at = w->out_bytes + w->out_used;
    size_t room = w->out_room - w->out_used;
    struct sn_frame_out f = {.bytes = at, .udp_sport = p->udp_sport, .tclass = p->tclass};
    memcpy(f.sgid, p->sgid, 16);
    memcpy(f.dgid, p->dgid, 16);
    path->ip_id = f.ip_id = sn_packet_next_id(w, &f);
    int n = sn_frame_build(p, path, b->ops->layer, at, room);
    if (n > 0 && path->ip_id && (uint32_t)n > w->run_length) {
        path->ip_id = f.ip_id = 0;
        n = sn_frame_build(p, path, b->ops->layer, at, room);
    }
    if (n <= 0) {
        sn_packet_add(&sn_packet_totals.lost, 1);
        return;
    }
    f.length = (uint32_t)n;
    sn_packet_queue(w, &f);
}

/* ---- acknowledgements that wait ---- */

static bool is_plain_ack(const struct sn_burst *b)
{
    return b->kind == SN_KIND_ACK && b->service == SN_SERVICE_RC && sn_aeth_is_ack(b->syndrome);
}

static uint32_t qpn_of(const struct sn_held_ack *h)
{
    uint32_t qpn;
    memcpy(&qpn, h->burst + offsetof(struct sn_burst, sqpn), sizeof(qpn));
    return qpn;
}

/* Replaced while it waited. By one that says no more: the peer has sent again, since it misses this one. */
static void ack_replaced(struct sn_packet_wire *w, const struct sn_held_ack *h, uint32_t sqpn, uint32_t psn)
{
    uint32_t before;
    memcpy(&before, h->burst + offsetof(struct sn_burst, psn), sizeof(before));
    w->ack_news = sn_psn_diff(psn, before) > 0;
    if (w->ack_news)
        sn_talk_covered(&w->talks, sqpn);
    else
        w->patience = 1;
}

static void append_acks(struct sn_packet_wire *w)
{
    if (w->acks == 1)
        sn_talk_left(&w->talks, qpn_of(&w->ack[0]), w->patience == 1);
    w->patience = 0;
    for (unsigned i = 0; i < w->acks; i++) {
        struct sn_held_ack *h = &w->ack[i];
        if (!sn_packet_has_room(w))
            sn_packet_flush(w);
        memcpy(&w->packet, h->burst, sizeof(h->burst));
        w->packet.udp_sport = h->udp_sport;
        if (sn_packet_has_room(w))
            append(w, &w->packet, &h->path);
        else
            sn_packet_add(&sn_packet_totals.lost, 1);
    }
    w->acks = 0;
    w->acks_waited = false;
}

/* A later acknowledgement of the same queue pair says all that the earlier one did (9.7.5.1.2). */
bool sn_packet_hold_ack(struct sn_packet_wire *w, const struct sn_burst *b, uint16_t sport, const struct sn_frame_path *path,
                        uint64_t route)
{
    unsigned i = 0;
    while (i < w->acks && memcmp(w->ack[i].burst, b, offsetof(struct sn_burst, service))) /* GIDs and numbers */
        i++;
    if (i == SN_HELD_ACKS)
        return false;
    if (w->patience && i < w->acks)
        ack_replaced(w, &w->ack[i], b->sqpn, b->psn);
    else
        w->ack_news = true;
    w->acks += i == w->acks;
    w->ack[i].route = route;
    w->ack[i].udp_sport = sport;
    w->ack[i].path = *path;
    memcpy(w->ack[i].burst, b, sizeof(w->ack[i].burst));
    return true;
}

bool sn_packet_renew_ack(struct sn_packet_wire *w, const struct sn_short *m, uint32_t sqpn, uint64_t route)
{
    struct sn_held_ack *h = &w->ack[0];
    if (w->acks != 1 || h->route != route)
        return false;
    if (w->patience)
        ack_replaced(w, h, sqpn, m->psn);
    else
        w->ack_news = true;
    h->burst[offsetof(struct sn_burst, syndrome)] = m->syndrome;
    memcpy(h->burst + offsetof(struct sn_burst, psn), &m->psn, sizeof(m->psn));
    memcpy(h->burst + offsetof(struct sn_burst, msn), &m->msn, sizeof(m->msn));
    return true;
}

static bool is_request(const struct sn_burst *b)
{
    return b->kind != SN_KIND_ACK && b->kind != SN_KIND_READ_RESPONSE && b->kind != SN_KIND_ATOMIC_ACK;
}

static uint32_t packets_of(const struct sn_burst *b)
{
    uint32_t mtu = 128u << b->mtu;
    return b->length <= mtu ? 1 : (b->length + mtu - 1) / mtu;
}

static bool has_room(const struct sn_packet_wire *w, const struct sn_burst *b, uint32_t packets)
{
    return w->out_count + packets <= w->out_max &&
           w->out_used + b->length + (size_t)packets * SN_PACKET_OVERHEAD <= w->out_room;
}

/* Frames are built in host memory: payload elsewhere comes through the copy engine first. */
static int fetch_payload(struct sn_packet_wire *w, const struct sn_burst *b, struct sn_burst *copy)
{
    size_t at = 0;
    if (b->length > w->stage_room) {
        uint8_t *stage = realloc(w->stage, b->length);
        if (!stage)
            return -ENOMEM;
        w->stage = stage;
        w->stage_room = b->length;
    }
    for (uint32_t i = 0; i < b->iov_count; i++) {
        const struct sn_iov *v = &b->iov[i];
        int rc = -EFAULT;
        if (v->length <= b->length - at)
            rc = sn_mem_copy_now(w->wire.port, w->stage + at, v->addr, v->length, v->space);
        if (rc)
            return rc;
        at += v->length;
    }
    memcpy(copy, b, offsetof(struct sn_burst, iov));
    copy->iov_count = 1;
    copy->iov[0] = (struct sn_iov){w->stage, b->length, SN_SPACE_HOST};
    return at == b->length ? 0 : -EFAULT;
}

static bool in_host_memory(const struct sn_burst *b)
{
    for (uint32_t i = 0; i < b->iov_count; i++)
        if (b->iov[i].space != SN_SPACE_HOST)
            return false;
    return true;
}

/* Source port or MAC addresses of a burst's frames. */
static int address(struct sn_packet_wire *w, const struct sn_burst *b, uint16_t *sport, struct sn_frame_path *path)
{
    struct sn_backend *backend = w->backend;
    static const uint8_t none[6];
    *sport = b->udp_sport;
    memcpy(path->smac, backend->mac, 6);
    memcpy(path->dmac, b->dmac, 6);
    if (backend->ops->address)
        return backend->ops->address(backend, b, sport);
    if (w->neigh && !memcmp(b->dmac, none, 6))
        return sn_neigh_find(w->neigh, b->sgid, b->dgid, path->dmac);
    return 0;
}

static int send_burst(struct sn_wire *wire, const struct sn_burst *burst)
{
    struct sn_packet_wire *w = own(wire);
    struct sn_frame_path path = {0};
    struct sn_burst *packet = &w->packet;
    struct sn_cut cut;
    uint16_t sport;
    uint32_t packets = packets_of(burst);

    if (!has_room(w, burst, packets)) {
        sn_packet_flush(w);
        if (!has_room(w, burst, packets)) {
            sn_packet_add(&sn_packet_totals.full, 1);
            return w->out_count == w->out_first ? -EHOSTUNREACH : -EAGAIN; /* larger than any burst may be */
        }
    }
    bool counts = w->backend->window && sn_flow_counts(burst);
    if (counts && !sn_flow_may_send(&w->flows, burst, w->backend->window)) {
        sn_packet_add(&sn_packet_totals.full, 1);
        return -EAGAIN;
    }
    int rc = address(w, burst, &sport, &path);
    if (rc) {
        if (rc != -EAGAIN)
            sn_packet_add(&sn_packet_totals.unresolved, 1);
        return rc;
    }
    if (!in_host_memory(burst)) {
        if (fetch_payload(w, burst, &w->fetched))
            return -EHOSTUNREACH; /* could not be read: as packets that were never sent */
        burst = &w->fetched;
    }
    w->quiet = 0;
    if (is_plain_ack(burst) && sn_packet_hold_ack(w, burst, sport, &path, 0))
        return 0;
    if (w->acks && !is_request(burst))
        append_acks(w); /* answers keep their order */
    sn_cut_begin(&cut, burst);
    while (sn_cut_next(&cut, packet)) {
        packet->udp_sport = sport;
        if (counts && cut.next == packets)
            packet->flags |= SN_BURST_ACKREQ;
        append(w, packet, &path);
    }
    w->answer_qpn = is_request(burst) && burst->service == SN_SERVICE_RC ? burst->sqpn : 0;
    if (counts)
        sn_flow_sent(&w->flows, burst);
    return 0;
}

void sn_packet_send_raw(struct sn_packet_wire *w, const uint8_t *bytes, size_t length)
{
    if (w->out_count == w->out_max || w->out_used + length > w->out_room)
        return; /* will be asked or answered again */
    struct sn_frame_out *f = &w->out[w->out_count++];
    *f = (struct sn_frame_out){w->out_bytes + w->out_used, (uint32_t)length, 0, 0, 0, {0}, {0}};
    memcpy(w->out_bytes + w->out_used, bytes, length);
    w->out_used += length;
    w->run_length = 0;
}

/* ---- in --------------------------------------------------------------------------------------------------------- */

struct sn_nic *sn_packet_find_nic(struct sn_port *port, const uint8_t gid[16], uint32_t qpn, bool *ours)
{
    *ours = false;
    for (struct sn_nic *nic = port->nics; nic; nic = nic->next)
        for (unsigned i = 0; i < nic->config.gid_count; i++)
            if (!memcmp(nic->config.gid[i], gid, 16)) {
                *ours = true;
                if (nic->config.slot == (uint8_t)(qpn >> 16) || qpn == SN_GSI_QPN)
                    return nic;
            }
    return NULL;
}

/* The invariant CRC where the socket hides a part of what it covers. */
static enum sn_frame_verdict check_hidden(const struct sn_frame_in *in)
{
    if (!sn_icrc_check_udp4(in->bytes, in->length, in->sgid + 12, in->dgid + 12, in->udp_sport))
        return SN_FRAME_ICRC;
    sn_packet_add(&sn_packet_totals.partly, 1);
    return SN_FRAME_OK;
}

static enum sn_frame_verdict parse(struct sn_packet_wire *w, const struct sn_frame_in *in, struct sn_burst *packet)
{
    const struct sn_backend *b = w->backend;
    struct sn_frame_path path = {0};
    bool hidden = b->id_unknown && sn_gid_is_ipv4(in->dgid);
    if (b->ops->layer == SN_LAYER_UDP) {
        memcpy(packet->sgid, in->sgid, 16);
        memcpy(packet->dgid, in->dgid, 16);
        packet->udp_sport = in->udp_sport;
    }
    enum sn_frame_verdict v = sn_frame_parse(in->bytes, in->length, b->ops->layer, !hidden, packet, &path);
    if (b->ops->layer == SN_LAYER_UDP) {
        packet->tclass = in->tclass;
        packet->hop_limit = in->hop_limit;
    }
    return v == SN_FRAME_OK && hidden ? check_hidden(in) : v;
}

static void deliver(struct sn_packet_wire *w, const struct sn_frame_in *in)
{
    struct sn_backend *b = w->backend;
    struct sn_burst *packet = &w->packet;
    bool ours;
    if (w->ops.send_short && sn_packet_take_short(w, in))
        return;
    enum sn_frame_verdict v = parse(w, in, packet);
    if (v == SN_FRAME_NOT_ROCE && w->neigh && sn_neigh_frame(w->neigh, in->bytes, in->length))
        return;
    if (v != SN_FRAME_OK) {
        sn_packet_add(&sn_packet_totals.refused[v], 1);
        return;
    }
    struct sn_nic *nic = sn_packet_find_nic(w->wire.port, packet->dgid, packet->dqpn, &ours);
    if (in->passed_on && nic) {
        sn_packet_add(&sn_packet_totals.passed_to_us, 1);
        if (b->ops->passed_on)
            b->ops->passed_on(b, in);
    }
    if (nic) {
        sn_flow_arrived(&w->flows, packet);
        sn_nic_receive(nic, packet);
        return;
    }
    if (ours && !in->passed_on && b->ops->pass_on && b->ops->pass_on(b, in, (uint8_t)(packet->dqpn >> 16)) == 0)
        sn_packet_add(&sn_packet_totals.passed_on, 1);
    else
        sn_packet_add(&sn_packet_totals.no_nic, 1);
}

/* Now and then: has a transport missed something? */
static void look_at_retries(struct sn_packet_wire *w)
{
    uint64_t retries = 0;
    for (const struct sn_nic *nic = w->port->nics; nic; nic = nic->next)
        retries += nic->counters.local_ack_timeout_err + nic->counters.packet_seq_err;
    if (retries != w->retries && w->backend->ops->doubt)
        w->backend->ops->doubt(w->backend);
    w->retries = retries;
}

static int poll_wire(struct sn_wire *wire, unsigned budget)
{
    struct sn_packet_wire *w = own(wire);
    struct sn_frame_in in[RECEIVE_BATCH];
    uint64_t bytes = 0;
    if (w->out_first < w->out_count)
        sn_packet_flush(w);
    if (++w->polls % RETRIES_EVERY == 0)
        look_at_retries(w);
    if (++w->quiet > QUIET_POLLS && w->quiet % QUIET_EVERY != 0 && !w->backend->look_all && !w->backend->more)
        return 0;
    int n = w->backend->ops->receive(w->backend, in, budget < RECEIVE_BATCH ? budget : RECEIVE_BATCH);
    w->backend->look_all = false;
    if (n <= 0)
        return 0;
    w->quiet = 0;
    for (int i = 0; i < n; i++) {
        bytes += in[i].length;
        deliver(w, &in[i]);
    }
    sn_packet_add(&sn_packet_totals.frames_received, (unsigned)n);
    sn_packet_add(&sn_packet_totals.bytes_received, bytes);
    return n;
}

/*
 * Acknowledgements wait one turn for requests to go before them. Several requests take them along in their run: that is
 * throughput. A lone request is what a peer waits for: it leaves at once, and they are made while the peer is at work, or not
 * at all (packet_talk.h).
 */
static void flush_wire(struct sn_wire *wire)
{
    struct sn_packet_wire *w = own(wire);
    if (w->acks && w->out_count - w->out_first == 1) {
        sn_packet_flush(w);
        bool answers = w->acks == 1 && w->out_first == w->out_count && w->answer_qpn == qpn_of(&w->ack[0]);
        if (!answers) {
            w->patience = 0;
        } else if (w->ack_news) { /* else its time runs on, whatever else leaves */
            w->patience = sn_talk_answered(&w->talks, w->answer_qpn);
            w->patience_end = sn_port_now(w->port) + SN_TALK_NS;
        }
        w->ack_news = false;
        w->acks_waited = true;
    }
    /* Who waits makes many turns, and the clock is dear. */
    if (w->patience > 1 && (w->port->now_valid || w->patience % CLOCK_EVERY == 0) &&
        sn_port_now(w->port) >= w->patience_end)
        w->patience = 1; /* in vain */
    if (w->patience > 1 && w->acks == 1 && w->out_first == w->out_count) {
        w->patience--;
        return;
    }
    if (w->acks && w->out_first == w->out_count && !w->acks_waited) {
        w->acks_waited = true;
        return;
    }
    if (w->acks)
        append_acks(w);
    if (w->out_first < w->out_count)
        sn_packet_flush(w);
}

static bool pending(struct sn_wire *wire)
{
    struct sn_packet_wire *w = own(wire);
    struct sn_backend *b = w->backend;
    struct pollfd p[SN_PACKET_MAX_FDS];
    if (w->out_first < w->out_count || w->acks || b->more)
        return true;
    for (unsigned i = 0; i < b->fds; i++)
        p[i] = (struct pollfd){.fd = b->fd[i], .events = POLLIN};
    if (poll(p, b->fds, 0) <= 0)
        return false;
    for (unsigned i = 0; i < b->fds; i++) /* an error alone brings no frame, and may be there for ever */
        b->look_all |= (p[i].revents & POLLIN) != 0;
    return b->look_all;
}

static void sleeping(struct sn_wire *wire, bool asleep)
{
    struct sn_packet_wire *w = own(wire);
    w->asleep = asleep;
    if (asleep && w->helper_started)
        sn_packet_helper_arm(w);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

static void drop_nic(struct sn_packet_wire *w, struct packet_nic *nic)
{
    if (w->backend->ops->unbind)
        w->backend->ops->unbind(w->backend, &nic->slot);
    sn_slot_give(&nic->slot);
    free(nic);
}

int sn_packet_bind(struct sn_wire *wire, const uint8_t gid[][16], unsigned gid_count, uint8_t *slot)
{
    struct sn_packet_wire *w = own(wire);
    struct packet_nic *nic = calloc(1, sizeof(*nic));
    if (!nic)
        return -ENOMEM;
    int rc = sn_slot_take(&nic->slot, gid, gid_count);
    if (rc) {
        free(nic);
        return rc;
    }
    sn_port_lock(wire->port);
    rc = w->backend->ops->bind ? w->backend->ops->bind(w->backend, &nic->slot) : 0;
    if (!rc) {
        nic->next = w->nics;
        w->nics = nic;
        *slot = nic->slot.slot;
    }
    sn_port_unlock(wire->port);
    if (rc) {
        sn_slot_give(&nic->slot);
        free(nic);
    }
    return rc;
}

void sn_packet_unbind(struct sn_wire *wire, const uint8_t gid0[16])
{
    struct sn_packet_wire *w = own(wire);
    sn_port_lock(wire->port);
    sn_packet_forget_shorts(w);
    append_acks(w); /* they would leave with the next turns, and there may be none: a peer waits for them */
    sn_packet_flush(w);
    for (struct packet_nic **p = &w->nics; *p; p = &(*p)->next)
        if (!memcmp((*p)->slot.gid[0], gid0, 16)) {
            struct packet_nic *nic = *p;
            *p = nic->next;
            drop_nic(w, nic);
            break;
        }
    sn_port_unlock(wire->port);
}

static void release(struct sn_packet_wire *w)
{
    if (w->helper_started)
        sn_packet_helper_stop(w);
    while (w->nics) {
        struct packet_nic *nic = w->nics;
        w->nics = nic->next;
        drop_nic(w, nic);
    }
    sn_neigh_destroy(w->neigh);
    w->backend->ops->destroy(w->backend);
    sn_fd_close(w->epoll);
    sn_fd_close(w->poke);
    free(w->out_bytes);
    free(w->out);
    free(w->stage);
    free(w);
}

static void destroy(struct sn_wire *wire)
{
    release(own(wire));
}

enum { LOOK_NS = 800 };

#define OPS(wire_name)                                                                                                 \
    {.name = wire_name, .send = send_burst, .poll = poll_wire, .look_ns = LOOK_NS, .pending = pending,                 \
     .sleeping = sleeping, .flush = flush_wire, .destroy = destroy}

static bool allocate(struct sn_packet_wire *w, uint32_t burst_bytes)
{
    /* Two of the largest bursts, cut to the smallest packets. */
    w->out_max = 2 * (burst_bytes / 256 + 64);
    w->out_room = 2 * ((size_t)burst_bytes + 4096) + (size_t)w->out_max * SN_PACKET_OVERHEAD;
    w->out_bytes = malloc(w->out_room);
    w->out = malloc(w->out_max * sizeof(*w->out));
    return w->out_bytes && w->out;
}

static int open_epoll(struct sn_packet_wire *w)
{
    struct sn_backend *b = w->backend;
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll < 0 || w->poke < 0)
        return -errno;
    sn_fd_track(w->epoll);
    sn_fd_track(w->poke);
    struct epoll_event e = {.events = EPOLLIN};
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->poke, &e))
        return -errno;
    for (unsigned i = 0; i < b->fds; i++) {
        e = (struct epoll_event){.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)i + 1};
        if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, b->fd[i], &e))
            return -errno;
    }
    return 0;
}

int sn_packet_wire_create(struct sn_port *port, struct sn_backend *backend, bool passive, struct sn_wire **out)
{
    struct sn_packet_wire *w = calloc(1, sizeof(*w));
    int rc = -ENOMEM;
    if (!w) {
        backend->ops->destroy(backend);
        return rc;
    }
    static const struct sn_wire_ops template = OPS("");
    w->ops = template;
    w->ops.name = backend->ops->name;
    sn_icrc_prepare();
    if (backend->ops->layer == SN_LAYER_UDP)
        w->ops.send_short = sn_packet_send_short;
    w->wire.ops = &w->ops;
    w->wire.port = w->port = port;
    w->backend = backend;
    w->epoll = w->poke = -1;
    if (!allocate(w, port->burst_most) || (rc = open_epoll(w)) != 0) {
        release(w);
        return rc;
    }
    backend->wire = w;
    if (port->burst_most > BURST_BYTES)
        port->burst_most = BURST_BYTES;
    if (!sn_port_has_faults(port)) /* else it is restored when the plan ends */
        port->burst_bytes = port->burst_most;
    if (backend->ops->layer == SN_LAYER_ETHERNET && !backend->ops->address && !(w->neigh = sn_neigh_create(w))) {
        release(w);
        return -ENOMEM;
    }
    if (!passive && (rc = sn_packet_helper_start(w)) != 0) {
        release(w);
        return rc;
    }
    *out = &w->wire;
    return 0;
}

uint8_t sn_packet_path_mtu(uint32_t mtu, bool ipv6)
{
    /* IP, UDP, BTH, RETH, immediate, CRC: a WRITE Only with immediate has all of them (9.2). */
    uint32_t headers = (ipv6 ? 40u : 20u) + 8 + 12 + 16 + 4 + 4;
    uint8_t code = 0;
    while (code < 5 && headers + (256u << code) <= mtu)
        code++;
    return code;
}

void sn_packet_count(struct sn_packet_counters *out)
{
#define READ(name) out->name = atomic_load_explicit(&sn_packet_totals.name, memory_order_relaxed)
    READ(frames_sent);
    READ(bytes_sent);
    READ(calls_sent);
    READ(frames_received);
    READ(bytes_received);
    for (unsigned i = 0; i < SN_FRAME_VERDICTS; i++)
        READ(refused[i]);
    READ(partly);
    READ(no_nic);
    READ(passed_on);
    READ(passed_to_us);
    READ(full);
    READ(lost);
    READ(unresolved);
    READ(wakes);
#undef READ
}
