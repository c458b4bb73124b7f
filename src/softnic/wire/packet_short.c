/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/packet_short.h"

#include <string.h>

#include "format/bth.h"
#include "softnic/engine.h"
#include "softnic/wire/frame_internal.h"
#include "softnic/wire/icrc.h"
#include "softnic/wire/opcode.h"
#include "softnic/wire/packet_icrc.h"
#include "softnic/wire/packet_internal.h"

enum { BTH_BYTES = 12, RETH_BYTES = 16, AETH_BYTES = 4 };
enum { ACK_FRAME = BTH_BYTES + AETH_BYTES + SN_ICRC_BYTES };
enum { USUAL_PKEY = 0xffff };
enum { ONLY = SN_BURST_FIRST | SN_BURST_LAST };

_Static_assert(BTH_BYTES + RETH_BYTES + SN_SHORT_BYTES + SN_ICRC_BYTES == SN_SHORT_FRAME, "the longest");

/* Of what is alike in all frames that have this BTH up to the queue pair, `bytes` from there to the CRC. */
static uint32_t crc_of_way(const struct sn_burst *packet, const uint8_t *bth, size_t bytes)
{
    const struct sn_frame_path path = {0};
    uint8_t headers[SN_FRAME_IP_UDP + SN_ICRC_WAY_BTH];
    size_t n = sn_frame_ip_udp(packet, &path, bytes, headers);

    memcpy(headers + n, bth, SN_ICRC_WAY_BTH);
    return sn_icrc_begin_way(headers);
}

/* ---- out ------------------------------------------------------------------------------------------------------- */

/* What the transport's long way would put in a burst, up to the payload. */
static void to_burst(const struct sn_burst *header, const struct sn_short *m, uint16_t udp_sport, struct sn_burst *b)
{
    memcpy(b, header, offsetof(struct sn_burst, psn));
    memset((uint8_t *)b + offsetof(struct sn_burst, psn), 0, offsetof(struct sn_burst, iov) - offsetof(struct sn_burst, psn));
    b->pkey = header->pkey;
    b->udp_sport = udp_sport;
    b->kind = m->kind;
    b->flags = m->flags;
    b->psn = m->psn;
    b->npackets = 1;
    b->syndrome = m->syndrome;
    b->msn = m->msn;
    b->length = b->dmalen = m->length;
}

static bool make_form(struct sn_packet_wire *w, const struct sn_burst *header, const struct sn_short *m,
                      const struct sn_short_out *o, struct sn_short_form *form)
{
    static const uint8_t nothing[SN_SHORT_BYTES];
    const struct sn_frame_path path = {0};
    struct sn_burst *b = &w->packet;
    uint8_t frame[SN_SHORT_FRAME];

    to_burst(header, m, o->frame.udp_sport, b);
    b->iov_count = m->length != 0;
    b->iov[0] = (struct sn_iov){nothing, m->length, SN_SPACE_HOST};
    int n = sn_frame_build(b, &path, SN_LAYER_UDP, frame, sizeof(frame));
    if (n <= 0)
        return false;
    *form = (struct sn_short_form){.bytes = (uint32_t)n, .payload = m->length, .flags = m->flags};
    memcpy(form->bth, frame, BTH_BYTES);
    form->crc = crc_of_way(b, frame, (size_t)n);
    return true;
}

static struct sn_short_out *way_out(struct sn_packet_wire *w, const struct sn_burst *header, struct sn_route *route)
{
    struct sn_short_out *o = &w->shorts.out[(header->sqpn ^ header->sqpn >> 8) % SN_SHORT_WAYS];
    uint16_t udp_sport = header->udp_sport;

    if (o->id == route->id && o->id != 0)
        return o;
    if (w->backend->ops->address(w->backend, header, &udp_sport) != 0)
        return NULL;
    *o = (struct sn_short_out){.id = ++w->shorts.last_id, .frame = {.udp_sport = udp_sport, .tclass = header->tclass}};
    memcpy(o->frame.sgid, header->sgid, 16);
    memcpy(o->frame.dgid, header->dgid, 16);
    o->ipv4 = sn_frame_is_ipv4(header);
    *route = (struct sn_route){.id = o->id};
    return o;
}

static bool send_ack(struct sn_packet_wire *w, const struct sn_burst *header, const struct sn_short_out *o,
                     const struct sn_short *m)
{
    const struct sn_frame_path path = {0};

    if (!sn_aeth_is_ack(m->syndrome))
        return false;
    w->quiet = 0;
    if (sn_packet_renew_ack(w, m, header->sqpn, o->id))
        return true;
    to_burst(header, m, o->frame.udp_sport, &w->packet);
    return sn_packet_hold_ack(w, &w->packet, o->frame.udp_sport, &path, o->id);
}

static void write_frame(struct sn_packet_wire *w, struct sn_short_out *o, const struct sn_short *m)
{
    const struct sn_short_form *form = &o->write;
    uint8_t *at = w->out_bytes + w->out_used;
    struct sn_bth *bth = (struct sn_bth *)at;
    const struct sn_reth reth = {.va = sn_put64(m->va), .rkey = sn_put32(m->rkey), .length = sn_put32(m->length)};
    uint32_t crc_at = form->bytes - SN_ICRC_BYTES;

    o->frame.bytes = at;
    o->frame.length = form->bytes;
    o->frame.ip_id = sn_packet_next_id(w, &o->frame);
    memcpy(at, form->bth, BTH_BYTES);
    bth->psn = sn_put24(m->psn);
    memcpy(at + BTH_BYTES, &reth, sizeof(reth));
    memcpy(at + BTH_BYTES + RETH_BYTES, &m->word, sizeof(m->word)); /* a pad is zero as the rest of the word is */
    uint32_t crc = sn_icrc_add(form->crc, at + SN_ICRC_WAY_BTH, crc_at - SN_ICRC_WAY_BTH);
    if (o->frame.ip_id != 0 && o->ipv4)
        crc ^= sn_icrc_of_id(form->bytes, o->frame.ip_id);
    sn_icrc_store(crc, at + crc_at);
    sn_packet_queue(w, &o->frame);
}

bool sn_packet_send_short(struct sn_wire *wire, const struct sn_burst *header, struct sn_route *route, const struct sn_short *m)
{
    struct sn_packet_wire *w = (struct sn_packet_wire *)wire;
    struct sn_short_out *o;

    if (!sn_packet_has_room(w) || (o = way_out(w, header, route)) == NULL)
        return false;
    if (m->kind == SN_KIND_ACK)
        return send_ack(w, header, o, m);
    if (w->backend->window && !sn_flow_has_room(&w->flows, header, m->psn, m->length, w->backend->window))
        return false;
    if ((o->write.bytes == 0 || o->write.payload != m->length || o->write.flags != m->flags) &&
        !make_form(w, header, m, o, &o->write))
        return false;
    w->quiet = 0;
    write_frame(w, o, m);
    w->answer_qpn = header->sqpn;
    if (w->backend->window)
        sn_flow_sent_psns(&w->flows, header->sqpn, m->psn, 1);
    return true;
}

/* ---- in -------------------------------------------------------------------------------------------------------- */

/* Nothing but a small WRITE and an acknowledgement, whose headers say nothing that would have to be looked into. */
static bool is_short(const struct sn_frame_in *in)
{
    const struct sn_bth *bth = (const struct sn_bth *)in->bytes;
    uint32_t pad = bth->se_m_pad_tver >> SN_BTH_PAD_SHIFT & SN_BTH_PAD;

    if ((bth->se_m_pad_tver & SN_BTH_TVER) != 0 || (bth->fecn_becn & SN_BTH_BECN) != 0 ||
        sn_get16(bth->pkey) != USUAL_PKEY)
        return false;
    if (bth->opcode == (SN_ROCE_RC | SN_ROCE_ACKNOWLEDGE))
        return in->length == ACK_FRAME && pad == 0;
    return bth->opcode == (SN_ROCE_RC | SN_ROCE_WRITE_ONLY) && in->length % 4 == 0 &&
           in->length >= BTH_BYTES + RETH_BYTES + SN_ICRC_BYTES + pad && in->length <= SN_SHORT_FRAME;
}

static bool is_way(const struct sn_packet_wire *w, const struct sn_short_in *i, const struct sn_frame_in *in)
{
    return i->bytes == in->length && i->udp_sport == in->udp_sport && memcmp(i->bth, in->bytes, sizeof(i->bth)) == 0 &&
           memcmp(i->sgid, in->sgid, 16) == 0 && memcmp(i->dgid, in->dgid, 16) == 0 && i->topology == w->port->topology;
}

static bool make_way(struct sn_packet_wire *w, struct sn_short_in *i, const struct sn_frame_in *in)
{
    uint32_t qpn = sn_get24(((const struct sn_bth *)in->bytes)->dqpn);
    struct sn_burst *b = &w->packet;
    const struct sn_qp *qp;
    bool ours;

    i->bytes = 0;
    i->nic = is_short(in) ? sn_packet_find_nic(w->port, in->dgid, qpn, &ours) : NULL;
    qp = i->nic != NULL ? sn_qp_find(i->nic, qpn) : NULL;
    if (qp == NULL || memcmp(qp->header.sgid, in->dgid, 16) != 0) /* reached by its own address only (9.6.1.2) */
        return false;
    memset(b, 0, offsetof(struct sn_burst, iov));
    memcpy(b->sgid, in->sgid, 16);
    memcpy(b->dgid, in->dgid, 16);
    b->udp_sport = in->udp_sport;
    memcpy(i->sgid, in->sgid, 16);
    memcpy(i->dgid, in->dgid, 16);
    memcpy(i->bth, in->bytes, sizeof(i->bth));
    i->bytes = in->length;
    i->udp_sport = in->udp_sport;
    i->topology = w->port->topology;
    i->id_unknown = w->backend->id_unknown && sn_frame_is_ipv4(b);
    i->crc = crc_of_way(b, in->bytes, in->length);
    return true;
}

/* A source either leaves the identification at 0 or counts on: in a run, or always. */
static bool crc_fits(struct sn_packet_wire *w, const struct sn_short_in *i, const struct sn_frame_in *in)
{
    uint32_t at = in->length - SN_ICRC_BYTES;
    uint32_t difference =
        sn_icrc_add(i->crc, in->bytes + SN_ICRC_WAY_BTH, at - SN_ICRC_WAY_BTH) ^ sn_icrc_load(in->bytes + at);
    uint16_t *next = &w->shorts.next_id[(in->udp_sport ^ in->sgid[15]) % SN_SHORT_WAYS], id = *next;

    if (!i->id_unknown)
        return difference == 0;
    if (difference == 0)
        id = 0;
    else if (difference != sn_icrc_of_id(in->length, id) && !sn_icrc_find_id(difference, in->length, &id))
        return false;
    *next = (uint16_t)(id + 1);
    return true;
}

static uint8_t flags_of(const struct sn_bth *bth)
{
    return ONLY | (bth->ackreq & SN_BTH_ACKREQ ? SN_BURST_ACKREQ : 0) |
           (bth->se_m_pad_tver & SN_BTH_SE ? SN_BURST_SOLICITED : 0);
}

/* False: the RETH and the packet disagree about the length. */
static bool read_write(const struct sn_frame_in *in, struct sn_short *m)
{
    const struct sn_bth *bth = (const struct sn_bth *)in->bytes;
    const struct sn_reth *reth = (const struct sn_reth *)(in->bytes + BTH_BYTES);

    m->kind = SN_KIND_WRITE;
    m->flags = flags_of(bth);
    m->va = sn_get64(reth->va);
    m->rkey = sn_get32(reth->rkey);
    m->length = in->length - (BTH_BYTES + RETH_BYTES + SN_ICRC_BYTES) - (bth->se_m_pad_tver >> SN_BTH_PAD_SHIFT & SN_BTH_PAD);
    m->dmalen = sn_get32(reth->length);
    memcpy(&m->word, in->bytes + BTH_BYTES + RETH_BYTES, m->length);
    return m->dmalen == m->length;
}

static void read_ack(const struct sn_frame_in *in, struct sn_short *m)
{
    const struct sn_bth *bth = (const struct sn_bth *)in->bytes;
    const struct sn_aeth *aeth = (const struct sn_aeth *)(in->bytes + BTH_BYTES);

    m->kind = SN_KIND_ACK;
    m->flags = flags_of(bth);
    m->syndrome = aeth->syndrome;
    m->msn = sn_get24(aeth->msn);
}

bool sn_packet_take_short(struct sn_packet_wire *w, const struct sn_frame_in *in)
{
    enum { ECN_CE = 3 };

    if (in->length < ACK_FRAME || in->length > SN_SHORT_FRAME || in->passed_on || (in->tclass & 3) == ECN_CE)
        return false;
    const struct sn_bth *bth = (const struct sn_bth *)in->bytes;
    uint32_t qpn = sn_get24(bth->dqpn);
    struct sn_short_in *i = &w->shorts.in[(qpn ^ qpn >> 8 ^ bth->opcode) % SN_SHORT_WAYS];
    struct sn_short m = {.dqpn = qpn, .psn = sn_get24(bth->psn), .npackets = 1};

    if ((!is_way(w, i, in) && !make_way(w, i, in)) || !crc_fits(w, i, in))
        return false;
    if (bth->opcode == (SN_ROCE_RC | SN_ROCE_ACKNOWLEDGE))
        read_ack(in, &m);
    else if (!read_write(in, &m))
        return false;
    if (m.kind == SN_KIND_ACK && sn_aeth_is_ack(m.syndrome))
        sn_flow_acknowledged(&w->flows, qpn, sn_psn_add(m.psn, 1));
    if (!sn_nic_receive_short(i->nic, &m, in->sgid, NULL))
        return false;
    if (i->id_unknown)
        sn_packet_add(&sn_packet_totals.partly, 1);
    return true;
}

void sn_packet_forget_shorts(struct sn_packet_wire *w)
{
    for (unsigned i = 0; i < SN_SHORT_WAYS; i++)
        w->shorts.out[i].id = w->shorts.in[i].bytes = 0;
}
