/* SPDX-License-Identifier: Apache-2.0 */
/* Packets to frames. */
#include "softnic/wire/frame.h"

#include <errno.h>
#include <string.h>

#include "format/bth.h"
#include "softnic/exec/order.h"
#include "softnic/wire/frame_internal.h"
#include "softnic/wire/icrc.h"
#include "softnic/wire/opcode.h"

const char *sn_frame_verdict_name(enum sn_frame_verdict verdict)
{
    static const char *const names[SN_FRAME_VERDICTS] = {
        [SN_FRAME_OK] = "taken",        [SN_FRAME_NOT_ROCE] = "not RoCEv2", [SN_FRAME_SHORT] = "too short",
        [SN_FRAME_IP] = "IP header",    [SN_FRAME_LENGTH] = "lengths",      [SN_FRAME_BTH] = "base transport header",
        [SN_FRAME_PAYLOAD] = "payload", [SN_FRAME_ICRC] = "invariant CRC",
    };
    return (unsigned)verdict < SN_FRAME_VERDICTS ? names[verdict] : "unknown";
}

/* ---- IP and UDP ------------------------------------------------------------------------------------------------ */

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}; /* RFC 4291, 2.5.5.2 */

bool sn_frame_is_ipv4(const struct sn_burst *packet)
{
    return memcmp(packet->sgid, mapped_prefix, 12) == 0 && memcmp(packet->dgid, mapped_prefix, 12) == 0;
}

/* By words of four bytes; the sum of larger words is the same once it is folded (RFC 1071, 2). */
uint32_t sn_frame_sum(uint32_t sum, const uint8_t *bytes, size_t length)
{
    uint64_t wide = sum;
    uint32_t word;

    for (; length >= 4; bytes += 4, length -= 4) {
        memcpy(&word, bytes, 4);
        wide += sn_swap32(word);
    }
    for (; length >= 2; bytes += 2, length -= 2)
        wide += (uint32_t)(bytes[0] << 8 | bytes[1]);
    if (length != 0)
        wide += (uint32_t)(bytes[0] << 8);
    wide = (wide >> 32) + (wide & 0xffffffff);
    return (uint32_t)((wide >> 32) + (wide & 0xffffffff));
}

uint16_t sn_frame_fold(uint32_t sum)
{
    sum = (sum >> 16) + (sum & 0xffff);
    sum += sum >> 16;
    return (uint16_t)sum;
}

/*
 * A source port out of the dynamic range, the same for all packets between two queue pairs, so that networks that
 * spread flows by it keep them in order (A17.4.1 leaves the choice to the sender).
 */
static uint16_t source_port(const struct sn_burst *packet)
{
    uint32_t h;

    if (packet->udp_sport != 0)
        return packet->udp_sport;
    h = (packet->sqpn ^ packet->dqpn) * 0x9e3779b1u + (packet->sqpn + packet->dqpn) * 0x85ebca6bu;
    return (uint16_t)(0xc000 | (h >> 18));
}

static uint8_t hop_limit(const struct sn_burst *packet)
{
    return packet->hop_limit == 0 ? 64 : packet->hop_limit;
}

static size_t put_ipv4(const struct sn_burst *packet, const struct sn_frame_path *path, size_t bytes, uint8_t *out)
{
    struct sn_ipv4 h = {.version_ihl = 0x45,
                        .tos = packet->tclass,
                        .length = sn_put16((uint16_t)(sizeof(h) + bytes)),
                        .id = sn_put16(path->ip_id),
                        .flags_offset = sn_put16(path->df_clear ? 0 : SN_IPV4_DF),
                        .ttl = hop_limit(packet),
                        .protocol = SN_IP_PROTO_UDP};

    memcpy(h.src, packet->sgid + 12, 4);
    memcpy(h.dst, packet->dgid + 12, 4);
    h.check = sn_put16((uint16_t)~sn_frame_fold(sn_frame_sum(0, (const uint8_t *)&h, sizeof(h))));
    memcpy(out, &h, sizeof(h));
    return sizeof(h);
}

static size_t put_ipv6(const struct sn_burst *packet, size_t bytes, uint8_t *out)
{
    struct sn_ipv6 h = {.version_class_flow =
                            sn_put32(6u << 28 | (uint32_t)packet->tclass << 20 | (packet->flow_label & 0xfffff)),
                        .length = sn_put16((uint16_t)bytes),
                        .next = SN_IP_PROTO_UDP,
                        .hop_limit = hop_limit(packet)};

    memcpy(h.src, packet->sgid, 16);
    memcpy(h.dst, packet->dgid, 16);
    memcpy(out, &h, sizeof(h));
    return sizeof(h);
}

size_t sn_frame_ip_udp(const struct sn_burst *packet, const struct sn_frame_path *path, size_t bytes, uint8_t *out)
{
    struct sn_udp udp = {.sport = sn_put16(source_port(packet)),
                         .dport = sn_put16(SN_ROCE_PORT),
                         .length = sn_put16((uint16_t)(sizeof(udp) + bytes))};
    size_t n = sn_frame_is_ipv4(packet) ? put_ipv4(packet, path, sizeof(udp) + bytes, out)
                                        : put_ipv6(packet, sizeof(udp) + bytes, out);

    memcpy(out + n, &udp, sizeof(udp));
    return n + sizeof(udp);
}

/* With the pseudo header of RFC 768 or RFC 8200, 8.1, which sum up alike. `ip` begins the packet. */
static void put_udp_check(uint8_t *ip, bool ipv4, size_t udp_bytes)
{
    size_t n = ipv4 ? sizeof(struct sn_ipv4) : sizeof(struct sn_ipv6);
    struct sn_udp *udp = (struct sn_udp *)(ip + n);
    size_t addresses = ipv4 ? 8 : 32;
    uint32_t sum = SN_IP_PROTO_UDP + (uint32_t)udp_bytes;
    uint16_t check;

    sum = sn_frame_sum(sum, ip + n - addresses, addresses);
    check = (uint16_t)~sn_frame_fold(sn_frame_sum(sum, ip + n, udp_bytes));
    udp->check = sn_put16(check == 0 ? 0xffff : check);
}

/* ---- BTH and extension headers ----------------------------------------------------------------------------------- */

static uint8_t *put_bytes(uint8_t *at, const void *header, size_t bytes)
{
    memcpy(at, header, bytes);
    return at + bytes;
}

static uint8_t *put_bth(const struct sn_burst *packet, const struct sn_frame_path *path, uint8_t opcode, uint8_t *at)
{
    uint8_t pad = (uint8_t)(-packet->length & SN_BTH_PAD);
    struct sn_bth h = {.opcode = opcode,
                       .se_m_pad_tver = (uint8_t)((packet->flags & SN_BURST_SOLICITED ? SN_BTH_SE : 0) |
                                                  (path->m_clear ? 0 : SN_BTH_M) | pad << SN_BTH_PAD_SHIFT),
                       .pkey = sn_put16(packet->pkey),
                       .fecn_becn = packet->flags & SN_BURST_BECN ? SN_BTH_BECN : 0,
                       .dqpn = sn_put24(packet->dqpn),
                       .ackreq = packet->flags & SN_BURST_ACKREQ ? SN_BTH_ACKREQ : 0,
                       .psn = sn_put24(packet->psn)};

    return put_bytes(at, &h, sizeof(h));
}

static uint8_t *put_atomics(const struct sn_burst *packet, uint8_t headers, uint8_t *at)
{
    struct sn_atomic_eth plain = {.va = sn_put64(packet->va),
                                  .rkey = sn_put32(packet->rkey),
                                  .swap_add = sn_put64(packet->swap_add),
                                  .compare = sn_put64(packet->compare)};
    struct sn_masked_atomic_eth masked = {.va = sn_put64(packet->va),
                                          .rkey = sn_put32(packet->rkey),
                                          .size = sn_put32(packet->atomic_size),
                                          .swap_add = sn_put64(packet->swap_add),
                                          .compare = sn_put64(packet->compare),
                                          .swap_mask = sn_put64(packet->swap_mask),
                                          .compare_mask = sn_put64(packet->compare_mask)};

    return headers & SN_HAS_ATOMIC ? put_bytes(at, &plain, sizeof(plain)) : put_bytes(at, &masked, sizeof(masked));
}

static uint8_t *put_extensions(const struct sn_burst *packet, uint8_t headers, uint8_t *at)
{
    struct sn_deth deth = {.qkey = sn_put32(packet->qkey), .sqpn = sn_put24(packet->sqpn)};
    struct sn_reth reth = {
        .va = sn_put64(packet->va), .rkey = sn_put32(packet->rkey), .length = sn_put32(packet->dmalen)};
    struct sn_aeth aeth = {.syndrome = packet->syndrome, .msn = sn_put24(packet->msn)};
    struct sn_atomic_ack_eth orig = {.orig = sn_put64(packet->atomic_orig)};

    if (headers & SN_HAS_DETH)
        at = put_bytes(at, &deth, sizeof(deth));
    if (headers & SN_HAS_RETH)
        at = put_bytes(at, &reth, sizeof(reth));
    if (headers & (SN_HAS_ATOMIC | SN_HAS_MASKED))
        at = put_atomics(packet, headers, at);
    if (headers & SN_HAS_AETH)
        at = put_bytes(at, &aeth, sizeof(aeth));
    if (headers & SN_HAS_ATOMIC_ACK)
        at = put_bytes(at, &orig, sizeof(orig));
    if (headers & (SN_HAS_IMMDT | SN_HAS_IETH))
        at = put_bytes(at, &packet->imm, sizeof(struct sn_immdt));
    return at;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static bool payload_fits(const struct sn_burst *packet, uint8_t rule)
{
    if (packet->length > 4096 || (packet->mtu >= 1 && packet->mtu <= 5 && packet->length > sn_mtu_bytes(packet->mtu)))
        return false;
    switch (rule) {
    case SN_PAYLOAD_NONE:
    case SN_PAYLOAD_CNP: /* its 16 bytes are none of the packet's */
        return packet->length == 0;
    case SN_PAYLOAD_FULL:
        return packet->length != 0 && packet->length % 4 == 0;
    case SN_PAYLOAD_SOME:
        return packet->length != 0;
    default:
        return true;
    }
}

/* NULL: no packet, or one that has no wire form. */
static const struct sn_roce_opcode *judge(const struct sn_burst *packet, uint8_t *opcode)
{
    int found = sn_opcode_find(packet);
    const struct sn_roce_opcode *o;

    if (found < 0 || packet->dqpn > 0xffffff || packet->psn > 0xffffff)
        return NULL;
    o = &sn_opcode_table[found];
    if (!payload_fits(packet, o->payload) || ((o->headers & SN_HAS_DETH) && packet->sqpn > 0xffffff))
        return NULL;
    if (((o->headers & SN_HAS_ATOMIC) && packet->atomic_size != 8) ||
        ((o->headers & SN_HAS_AETH) && packet->msn > 0xffffff))
        return NULL;
    *opcode = (uint8_t)found;
    return o;
}

struct layout {
    size_t ip, bth, end; /* where they begin, the Ethernet header being at 0 */
};

/* All headers from Ethernet to the last extension header. */
static int put_headers(const struct sn_burst *packet, const struct sn_frame_path *path, uint8_t *out, struct layout *at)
{
    static const uint8_t no_mac[6];
    struct sn_eth eth = {.type = sn_put16(sn_frame_is_ipv4(packet) ? SN_ETHERTYPE_IPV4 : SN_ETHERTYPE_IPV6)};
    uint8_t opcode, *end;
    const struct sn_roce_opcode *o = judge(packet, &opcode);
    size_t transport;

    if (o == NULL)
        return -EINVAL;
    transport =
        sizeof(struct sn_bth) + sn_opcode_header_bytes(o->headers) + ((packet->length + 3) & ~3u) + SN_ICRC_BYTES;
    if (o->payload == SN_PAYLOAD_CNP)
        transport += SN_CNP_BYTES;
    memcpy(eth.dst, memcmp(path->dmac, no_mac, 6) == 0 ? packet->dmac : path->dmac, 6);
    memcpy(eth.src, path->smac, 6);
    memcpy(out, &eth, sizeof(eth));
    at->ip = sizeof(eth);
    at->bth = at->ip + sn_frame_ip_udp(packet, path, transport, out + at->ip);
    end = put_extensions(packet, o->headers, put_bth(packet, path, opcode, out + at->bth));
    if (o->payload == SN_PAYLOAD_CNP) {
        memset(end, 0, SN_CNP_BYTES);
        end += SN_CNP_BYTES;
    }
    at->end = (size_t)(end - out);
    return 0;
}

static size_t layer_start(enum sn_layer layer, const struct layout *at)
{
    return layer == SN_LAYER_ETHERNET ? 0 : layer == SN_LAYER_IP ? at->ip : at->bth;
}

int sn_frame_headers(const struct sn_burst *packet, const struct sn_frame_path *path, enum sn_layer layer, uint8_t *out)
{
    uint8_t headers[SN_FRAME_MAX_HEADERS];
    struct layout at;
    size_t start;
    int ret = put_headers(packet, path, headers, &at);

    if (ret != 0)
        return ret;
    start = layer_start(layer, &at);
    memcpy(out, headers + start, at.end - start);
    return (int)(at.end - start);
}

static bool payload_at_hand(const struct sn_burst *packet)
{
    size_t sum = 0;

    if (packet->iov_count > SN_BURST_MAX_IOV)
        return false;
    for (uint32_t i = 0; i < packet->iov_count; i++) {
        if (packet->iov[i].space != SN_SPACE_HOST || packet->iov[i].length > packet->length)
            return false;
        sum += packet->iov[i].length;
    }
    return sum == packet->length;
}

static uint8_t *put_payload(const struct sn_burst *packet, uint8_t *at)
{
    for (uint32_t i = 0; i < packet->iov_count; at += packet->iov[i++].length)
        if (packet->iov[i].length != 0)
            sn_dma_read(at, packet->iov[i].addr, packet->iov[i].length);
    for (uint32_t pad = -packet->length & SN_BTH_PAD; pad != 0; pad--)
        *at++ = 0;
    return at;
}

int sn_frame_build(const struct sn_burst *packet, const struct sn_frame_path *path, enum sn_layer layer, uint8_t *out,
                   size_t room)
{
    uint8_t headers[SN_FRAME_MAX_HEADERS], *end;
    struct layout at;
    size_t start, bytes, body;
    bool ipv4 = sn_frame_is_ipv4(packet);
    uint32_t crc;
    int ret = put_headers(packet, path, headers, &at);

    if (ret != 0 || !payload_at_hand(packet))
        return -EINVAL;
    start = layer_start(layer, &at);
    bytes = at.end - start + ((packet->length + 3) & ~3u) + SN_ICRC_BYTES;
    if (bytes > room)
        return -ENOSPC;
    memcpy(out, headers + start, at.end - start);
    end = put_payload(packet, out + (at.end - start));
    body = at.bth - start + sizeof(struct sn_bth); /* behind the BTH; from there on it is all in `out` */
    crc = sn_icrc_begin(headers + at.ip);
    crc = sn_icrc_add(crc, out + body, (size_t)(end - out) - body);
    sn_icrc_store(crc, end);
    if (layer != SN_LAYER_UDP &&
        (path->udp_check == SN_UDP_CHECK_MADE || (path->udp_check == SN_UDP_CHECK_USUAL && !ipv4))) {
        uint8_t *ip = out + (at.ip - start);
        put_udp_check(ip, ipv4, bytes - (size_t)(ip - out) - (ipv4 ? sizeof(struct sn_ipv4) : sizeof(struct sn_ipv6)));
    }
    return (int)bytes;
}
