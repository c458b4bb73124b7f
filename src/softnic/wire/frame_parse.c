/* SPDX-License-Identifier: Apache-2.0 */
/* Frames to packets. Nothing is read before its length is known; nothing in a frame is believed. */
#include <string.h>

#include "format/bth.h"
#include "softnic/wire/frame_internal.h"
#include "softnic/wire/icrc.h"
#include "softnic/wire/opcode.h"

enum { ETHERNET_SHORTEST = 60 /* without FCS: shorter frames are padded (IEEE 802.3, 3.2.8) */ };

/* What is left to read. */
struct cursor {
    const uint8_t *at;
    size_t left;
};

/* The next header, or NULL. */
static const void *next(struct cursor *c, size_t bytes)
{
    const uint8_t *at = c->at;

    if (c->left < bytes)
        return NULL;
    c->at += bytes;
    c->left -= bytes;
    return at;
}

static bool take(struct cursor *c, void *out, size_t bytes)
{
    const void *at = next(c, bytes);

    if (at != NULL)
        memcpy(out, at, bytes);
    return at != NULL;
}

/* ---- Ethernet, IP, UDP ------------------------------------------------------------------------------------------- */

static void map_ipv4(const uint8_t address[4], uint8_t gid[16])
{
    memset(gid, 0, 10);
    gid[10] = gid[11] = 0xff;
    memcpy(gid + 12, address, 4);
}

/* The IP packet ends where its header says; `spare` bytes may follow it. */
static bool trim(struct cursor *c, size_t bytes, bool spare)
{
    if (bytes > c->left || (bytes < c->left && !spare))
        return false;
    c->left = bytes;
    return true;
}

static enum sn_frame_verdict parse_ipv4(struct cursor *c, bool spare, struct sn_burst *packet,
                                        struct sn_frame_path *path)
{
    const uint8_t *start = c->at;
    struct sn_ipv4 h;
    uint16_t flags;

    if (!take(c, &h, sizeof(h)))
        return SN_FRAME_SHORT;
    flags = sn_get16(h.flags_offset);
    if (h.version_ihl >> 4 != 4 || (h.version_ihl & 15) < 5)
        return SN_FRAME_IP;
    if (h.protocol != SN_IP_PROTO_UDP || (flags & SN_IPV4_OFFSET) != 0)
        return SN_FRAME_NOT_ROCE; /* a later fragment has no ports: nobody's that we know */
    if (c->left >= 4 && (h.version_ihl & 15) == 5 && ((c->at[2] << 8) | c->at[3]) != SN_ROCE_PORT)
        return SN_FRAME_NOT_ROCE;
    if (h.version_ihl != 0x45 || (flags & (SN_IPV4_MF | SN_IPV4_RESERVED)) != 0 ||
        sn_frame_fold(sn_frame_sum(0, start, sizeof(h))) != 0xffff)
        return SN_FRAME_IP;
    if (sn_get16(h.length) < sizeof(h) || !trim(c, sn_get16(h.length) - sizeof(h), spare))
        return SN_FRAME_LENGTH;
    path->ip_id = sn_get16(h.id);
    path->df_clear = (flags & SN_IPV4_DF) == 0;
    packet->tclass = h.tos;
    packet->hop_limit = h.ttl;
    map_ipv4(h.src, packet->sgid);
    map_ipv4(h.dst, packet->dgid);
    return SN_FRAME_OK;
}

static enum sn_frame_verdict parse_ipv6(struct cursor *c, bool spare, struct sn_burst *packet,
                                        struct sn_frame_path *path)
{
    struct sn_ipv6 h;
    uint32_t word;

    (void)path;
    if (!take(c, &h, sizeof(h)))
        return SN_FRAME_SHORT;
    word = sn_get32(h.version_class_flow);
    if (word >> 28 != 6)
        return SN_FRAME_IP;
    if (h.next != SN_IP_PROTO_UDP || (c->left >= 4 && ((c->at[2] << 8) | c->at[3]) != SN_ROCE_PORT))
        return SN_FRAME_NOT_ROCE;
    if (!trim(c, sn_get16(h.length), spare))
        return SN_FRAME_LENGTH;
    packet->tclass = (uint8_t)(word >> 20);
    packet->flow_label = word & 0xfffff;
    packet->hop_limit = h.hop_limit;
    memcpy(packet->sgid, h.src, 16);
    memcpy(packet->dgid, h.dst, 16);
    return sn_frame_is_ipv4(packet) ? SN_FRAME_IP
                                    : SN_FRAME_OK; /* mapped addresses do not travel (RFC 4291, 2.5.5.2) */
}

static enum sn_frame_verdict parse_udp(struct cursor *c, struct sn_burst *packet, struct sn_frame_path *path)
{
    struct sn_udp h;

    if (!take(c, &h, sizeof(h)))
        return SN_FRAME_SHORT;
    if (sn_get16(h.dport) != SN_ROCE_PORT)
        return SN_FRAME_NOT_ROCE;
    if (sn_get16(h.length) != sizeof(h) + c->left)
        return SN_FRAME_LENGTH;
    packet->udp_sport = sn_get16(h.sport);
    path->udp_check = sn_get16(h.check) == 0 ? SN_UDP_CHECK_NONE : SN_UDP_CHECK_MADE;
    return SN_FRAME_OK;
}

/* Down to the BTH. *ip: where the IP header begins. */
static enum sn_frame_verdict parse_network(struct cursor *c, enum sn_layer layer, struct sn_burst *packet,
                                           struct sn_frame_path *path, const uint8_t **ip)
{
    bool spare = layer == SN_LAYER_ETHERNET && c->left <= ETHERNET_SHORTEST;
    uint16_t type = 0;
    struct sn_eth eth;
    enum sn_frame_verdict v;

    if (layer == SN_LAYER_ETHERNET) {
        if (!take(c, &eth, sizeof(eth)))
            return SN_FRAME_SHORT;
        memcpy(path->dmac, eth.dst, 6);
        memcpy(path->smac, eth.src, 6);
        type = sn_get16(eth.type);
        if (type != SN_ETHERTYPE_IPV4 && type != SN_ETHERTYPE_IPV6)
            return SN_FRAME_NOT_ROCE;
    }
    if (c->left == 0)
        return SN_FRAME_SHORT;
    *ip = c->at;
    if (type == 0)
        type = c->at[0] >> 4 == 6 ? SN_ETHERTYPE_IPV6 : SN_ETHERTYPE_IPV4;
    v = type == SN_ETHERTYPE_IPV4 ? parse_ipv4(c, spare, packet, path) : parse_ipv6(c, spare, packet, path);
    return v != SN_FRAME_OK ? v : parse_udp(c, packet, path);
}

/* ---- transport --------------------------------------------------------------------------------------------------- */

static void take_bth(const struct sn_bth *h, const struct sn_roce_opcode *o, struct sn_burst *packet,
                     struct sn_frame_path *path)
{
    packet->service = o->service;
    packet->kind = o->kind;
    packet->flags = o->flags;
    if (h->se_m_pad_tver & SN_BTH_SE)
        packet->flags |= SN_BURST_SOLICITED;
    if (h->fecn_becn & SN_BTH_BECN)
        packet->flags |= SN_BURST_BECN;
    if (h->ackreq & SN_BTH_ACKREQ)
        packet->flags |= SN_BURST_ACKREQ;
    path->m_clear = (h->se_m_pad_tver & SN_BTH_M) == 0;
    packet->pkey = sn_get16(h->pkey);
    packet->dqpn = sn_get24(h->dqpn);
    packet->psn = sn_get24(h->psn);
    packet->npackets = o->kind == SN_KIND_READ_REQUEST ? 0 : 1;
    packet->syndrome = SN_AETH_ACK; /* of a response's middle packets, which have no AETH */
}

static bool take_atomics(struct cursor *c, uint8_t headers, struct sn_burst *packet)
{
    struct sn_masked_atomic_eth masked;
    struct sn_atomic_eth plain;

    if (headers & SN_HAS_ATOMIC) {
        if (!take(c, &plain, sizeof(plain)))
            return false;
        packet->va = sn_get64(plain.va);
        packet->rkey = sn_get32(plain.rkey);
        packet->swap_add = sn_get64(plain.swap_add);
        packet->compare = sn_get64(plain.compare);
        packet->atomic_size = 8;
        return true;
    }
    if (!take(c, &masked, sizeof(masked)))
        return false;
    packet->va = sn_get64(masked.va);
    packet->rkey = sn_get32(masked.rkey);
    packet->atomic_size = sn_get32(masked.size) > 255 ? 255 : (uint8_t)sn_get32(masked.size);
    packet->swap_add = sn_get64(masked.swap_add);
    packet->compare = sn_get64(masked.compare);
    packet->swap_mask = sn_get64(masked.swap_mask);
    packet->compare_mask = sn_get64(masked.compare_mask);
    return true;
}

static bool take_requests(struct cursor *c, uint8_t headers, struct sn_burst *packet)
{
    struct sn_deth deth;
    struct sn_reth reth;

    if (headers & SN_HAS_DETH) {
        if (!take(c, &deth, sizeof(deth)))
            return false;
        packet->qkey = sn_get32(deth.qkey);
        packet->sqpn = sn_get24(deth.sqpn);
    }
    if (headers & SN_HAS_RETH) {
        if (!take(c, &reth, sizeof(reth)))
            return false;
        packet->va = sn_get64(reth.va);
        packet->rkey = sn_get32(reth.rkey);
        packet->dmalen = sn_get32(reth.length);
    }
    return !(headers & (SN_HAS_ATOMIC | SN_HAS_MASKED)) || take_atomics(c, headers, packet);
}

static bool take_answers(struct cursor *c, uint8_t headers, struct sn_burst *packet)
{
    struct sn_atomic_ack_eth orig;
    struct sn_aeth aeth;

    if (headers & SN_HAS_AETH) {
        if (!take(c, &aeth, sizeof(aeth)))
            return false;
        packet->syndrome = aeth.syndrome;
        packet->msn = sn_get24(aeth.msn);
    }
    if (headers & SN_HAS_ATOMIC_ACK) {
        if (!take(c, &orig, sizeof(orig)))
            return false;
        packet->atomic_orig = sn_get64(orig.orig);
    }
    return !(headers & (SN_HAS_IMMDT | SN_HAS_IETH)) || take(c, &packet->imm, sizeof(struct sn_immdt));
}

/* Payload, pad and CRC are left. */
static enum sn_frame_verdict take_payload(struct cursor *c, const struct sn_roce_opcode *o, uint8_t pad,
                                          struct sn_burst *packet)
{
    size_t room;

    if (c->left < SN_ICRC_BYTES)
        return SN_FRAME_SHORT;
    room = c->left - SN_ICRC_BYTES;
    if (o->payload == SN_PAYLOAD_CNP) {
        if (room != SN_CNP_BYTES)
            return SN_FRAME_PAYLOAD;
        return pad == 0 ? SN_FRAME_OK : SN_FRAME_BTH;
    }
    if (room % 4 != 0)
        return SN_FRAME_LENGTH;
    if (pad > room)
        return o->payload == SN_PAYLOAD_NONE || o->payload == SN_PAYLOAD_FULL ? SN_FRAME_BTH : SN_FRAME_SHORT;
    room -= pad;
    if (o->payload == SN_PAYLOAD_NONE && room != 0)
        return SN_FRAME_PAYLOAD;
    if (pad != 0 && (o->payload == SN_PAYLOAD_NONE || o->payload == SN_PAYLOAD_FULL))
        return SN_FRAME_BTH;
    if (room > 4096 || (room == 0 && (o->payload == SN_PAYLOAD_FULL || o->payload == SN_PAYLOAD_SOME)))
        return SN_FRAME_PAYLOAD;
    packet->length = (uint32_t)room;
    packet->iov_count = room != 0;
    if (room != 0)
        packet->iov[0] = (struct sn_iov){.addr = c->at, .length = room, .space = SN_SPACE_HOST};
    return SN_FRAME_OK;
}

static enum sn_frame_verdict parse_transport(struct cursor c, struct sn_burst *packet, struct sn_frame_path *path)
{
    const struct sn_roce_opcode *o;
    struct sn_bth bth;

    if (!take(&c, &bth, sizeof(bth)))
        return SN_FRAME_SHORT;
    o = sn_opcode_get(bth.opcode);
    if (o == NULL || (bth.se_m_pad_tver & SN_BTH_TVER) != 0)
        return SN_FRAME_BTH;
    take_bth(&bth, o, packet, path);
    if (!take_requests(&c, o->headers, packet) || !take_answers(&c, o->headers, packet))
        return SN_FRAME_SHORT;
    return take_payload(&c, o, bth.se_m_pad_tver >> SN_BTH_PAD_SHIFT & SN_BTH_PAD, packet);
}

/* `transport` runs from the BTH to the CRC; ip is NULL where the headers below were not seen. */
static bool icrc_good(struct cursor transport, const uint8_t *ip, const struct sn_burst *packet,
                      const struct sn_frame_path *path)
{
    uint8_t headers[SN_FRAME_IP_UDP + sizeof(struct sn_bth)], stored[SN_ICRC_BYTES];
    const uint8_t *bth = transport.at, *end = transport.at + transport.left - SN_ICRC_BYTES;
    uint32_t crc;

    if (ip == NULL) {
        size_t n = sn_frame_ip_udp(packet, path, transport.left, headers);
        memcpy(headers + n, bth, sizeof(struct sn_bth));
        ip = headers;
    }
    crc = sn_icrc_begin(ip);
    crc = sn_icrc_add(crc, bth + sizeof(struct sn_bth), (size_t)(end - bth) - sizeof(struct sn_bth));
    sn_icrc_store(crc, stored);
    return memcmp(stored, end, sizeof(stored)) == 0;
}

/* All but the payload's list, which is long; addresses that the caller has given stay. */
static void clear(struct sn_burst *packet, enum sn_layer layer)
{
    uint8_t sgid[16], dgid[16];
    uint16_t sport = packet->udp_sport;

    memcpy(sgid, packet->sgid, 16);
    memcpy(dgid, packet->dgid, 16);
    memset(packet, 0, offsetof(struct sn_burst, iov));
    if (layer != SN_LAYER_UDP)
        return;
    memcpy(packet->sgid, sgid, 16);
    memcpy(packet->dgid, dgid, 16);
    packet->udp_sport = sport;
}

enum sn_frame_verdict sn_frame_parse(const uint8_t *frame, size_t length, enum sn_layer layer, bool check_icrc,
                                     struct sn_burst *packet, struct sn_frame_path *path)
{
    struct sn_frame_path seen = {.ip_id = 0};
    struct cursor c = {frame, length};
    const uint8_t *ip = NULL;
    enum sn_frame_verdict v = SN_FRAME_OK;

    clear(packet, layer);
    if (layer == SN_LAYER_UDP && path != NULL)
        seen = *path;
    if (layer != SN_LAYER_UDP)
        v = parse_network(&c, layer, packet, &seen, &ip);
    if (v == SN_FRAME_OK && c.left > UINT16_MAX - SN_FRAME_IP_UDP)
        v = SN_FRAME_LENGTH;
    if (v == SN_FRAME_OK)
        v = parse_transport(c, packet, &seen);
    if (v == SN_FRAME_OK && check_icrc && !icrc_good(c, ip, packet, &seen))
        v = SN_FRAME_ICRC;
    if (v == SN_FRAME_OK && path != NULL)
        *path = seen;
    return v;
}
