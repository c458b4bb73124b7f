/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw Ethernet wire with a hostile segment behind it: frames of any content from their first byte on, RoCE and not (ARP and
 * neighbour discovery are answered here), down to the queue pairs. What leaves has to be frames that the parser takes.
 * Inputs that end in SOCKET meet a UDP socket's wire instead: frames from their BTH on, small ones among them (wire/packet_short.h),
 * also with headers that were changed under a right invariant CRC.
 */
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "softnic/wire/frame.h"
#include "softnic/wire/frame_internal.h"
#include "softnic/wire/icrc.h"
#include "softnic/wire/packet_wire.h"

enum { QUEUE = 16, ROOM = SN_FRAME_MAX + 64, SOCKET = 0x75, SPORT = 0xc123, BTH = 12, CRC = 4 };

struct segment {
    struct sn_backend backend; /* first */
    uint8_t bytes[QUEUE][ROOM];
    uint32_t length[QUEUE];
    unsigned queued, given;
    bool full, gone;
    uint8_t tclass[QUEUE];
};

static struct segment segment;
static struct fuzz_world w;

static int segment_send(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count)
{
    struct segment *s = (struct segment *)b;

    if (s->full)
        return 0;
    for (unsigned i = 0; i < count; i++) {
        struct sn_burst packet;
        struct sn_frame_path path = {.ip_id = frames[i].ip_id};
        memset(&packet, 0, sizeof(packet));
        memcpy(packet.sgid, frames[i].sgid, 16);
        memcpy(packet.dgid, frames[i].dgid, 16);
        packet.udp_sport = frames[i].udp_sport;
        enum sn_frame_verdict v = sn_frame_parse(frames[i].bytes, frames[i].length, b->ops->layer, true, &packet, &path);
        FUZZ_CHECK(v == SN_FRAME_OK || v == SN_FRAME_NOT_ROCE, "a frame of ours is refused: %s", sn_frame_verdict_name(v));
    }
    return (int)count;
}

static int segment_receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max)
{
    struct segment *s = (struct segment *)b;
    unsigned n = 0;

    for (; n < max && s->given < s->queued; n++, s->given++) {
        memset(&frames[n], 0, sizeof(frames[n]));
        frames[n].bytes = s->bytes[s->given];
        frames[n].length = s->length[s->given];
        memcpy(frames[n].sgid, fuzz_attacker_gid, 16); /* an Ethernet frame says that itself */
        memcpy(frames[n].dgid, sn_nic_get_config(w.nic[0])->gid[0], 16);
        frames[n].udp_sport = SPORT;
        frames[n].tclass = s->tclass[s->given];
    }
    return (int)n;
}

static int segment_address(struct sn_backend *b, const struct sn_burst *burst, uint16_t *udp_sport)
{
    (void)b;
    (void)burst;
    *udp_sport = SPORT;
    return 0;
}

static void segment_destroy(struct sn_backend *b)
{
    ((struct segment *)b)->gone = true;
}

static const struct sn_backend_ops ops = {
    .name = "fuzz", .layer = SN_LAYER_ETHERNET, .send = segment_send, .receive = segment_receive, .destroy = segment_destroy};

static const struct sn_backend_ops socket_ops = {.name = "fuzz",
                                                 .layer = SN_LAYER_UDP,
                                                 .address = segment_address,
                                                 .send = segment_send,
                                                 .receive = segment_receive,
                                                 .destroy = segment_destroy};

static bool is_socket(void)
{
    return segment.backend.ops->layer == SN_LAYER_UDP;
}

/* A right frame for one of the queue pairs, with fields as the input wants them. */
static uint32_t roce(struct fuzz_in *in, uint8_t *out)
{
    struct fuzz_qp *q = &w.qp[fuzz_u8(in) % FUZZ_TARGETS];
    uint8_t area = fuzz_u8(in), shape = fuzz_u8(in);
    struct sn_frame_path path = {.dmac = {2, 0, 0, 0, 0, 1}, .smac = {2, 0, 0, 0, 0, 9}};
    struct sn_burst b;
    uint32_t length;

    fuzz_packet(&w, q, &b);
    b.kind = shape % SN_KIND_COUNT;
    b.flags = fuzz_u8(in) & SN_BURST_FLAGS_ALL;
    b.psn = (q->rcv_psn + (uint32_t)(int8_t)fuzz_u8(in)) & 0xffffff;
    b.rkey = w.key[area % FUZZ_KEYS];
    b.va = w.iova[area % FUZZ_AREAS] + (uint64_t)(int16_t)fuzz_u16(in);
    length = fuzz_u16(in) % 4097;
    b.dmalen = area & 0x80 ? fuzz_u32(in) : length;
    b.syndrome = fuzz_u8(in);
    b.atomic_size = 8;
    b.tclass = area & 0x40 ? 3 : 0;
    fuzz_payload(&b, b.kind == SN_KIND_SEND || b.kind == SN_KIND_WRITE || b.kind == SN_KIND_READ_RESPONSE ? length : 0, 2);
    if (b.psn == q->rcv_psn)
        q->rcv_psn = (q->rcv_psn + 1) & 0xffffff;
    b.udp_sport = is_socket() ? SPORT : b.udp_sport;
    segment.tclass[segment.queued] = b.tclass;
    int n = sn_frame_build(&b, &path, segment.backend.ops->layer, out, ROOM);
    return n < 0 ? 0 : (uint32_t)n;
}

/* A small WRITE or an acknowledgement, as most are but for what the input changes. */
static uint32_t small(struct fuzz_in *in, uint8_t *out)
{
    struct fuzz_qp *q = &w.qp[fuzz_u8(in) % FUZZ_TARGETS];
    uint8_t area = fuzz_u8(in), shape = fuzz_u8(in);
    struct sn_frame_path path = {.ip_id = 0};
    struct sn_burst b;

    fuzz_packet(&w, q, &b);
    b.kind = shape & 1 ? SN_KIND_ACK : SN_KIND_WRITE;
    b.flags = SN_BURST_FIRST | SN_BURST_LAST | (shape & 1 ? 0 : SN_BURST_ACKREQ) | (shape & 2 ? SN_BURST_SOLICITED : 0);
    b.psn = (q->rcv_psn + (shape & 4 ? (uint32_t)(int8_t)fuzz_u8(in) : 0)) & 0xffffff;
    b.rkey = w.key[area % FUZZ_KEYS];
    b.va = w.iova[area % FUZZ_AREAS] + (uint64_t)(int16_t)fuzz_u16(in);
    b.dmalen = shape >> 3 & 15;
    b.syndrome = shape & 0x80 ? fuzz_u8(in) : 0x1f;
    b.udp_sport = SPORT;
    fuzz_payload(&b, b.kind == SN_KIND_WRITE ? b.dmalen : 0, 1);
    if (b.kind == SN_KIND_WRITE && b.psn == q->rcv_psn)
        q->rcv_psn = (q->rcv_psn + 1) & 0xffffff;
    segment.tclass[segment.queued] = 0;
    int n = sn_frame_build(&b, &path, SN_LAYER_UDP, out, ROOM);
    return n < 0 ? 0 : (uint32_t)n;
}

/* Whatever the frame holds by now, its invariant CRC is right. */
static void sign(uint8_t *frame, uint32_t length)
{
    uint8_t headers[SN_FRAME_IP_UDP + BTH];
    const struct sn_frame_path path = {.ip_id = 0};
    struct sn_burst packet;

    if (length < BTH + CRC)
        return;
    memset(&packet, 0, sizeof(packet));
    memcpy(packet.sgid, fuzz_attacker_gid, 16);
    memcpy(packet.dgid, sn_nic_get_config(w.nic[0])->gid[0], 16);
    packet.udp_sport = SPORT;
    size_t n = sn_frame_ip_udp(&packet, &path, length, headers);
    memcpy(headers + n, frame, BTH);
    sn_icrc_store(sn_icrc_add(sn_icrc_begin(headers), frame + BTH, length - BTH - CRC), frame + length - CRC);
}

/* A question about our address, or an answer to one of ours. */
static uint32_t neighbour(struct fuzz_in *in, uint8_t *out)
{
    static const uint8_t us[6] = {2, 0, 0, 0, 0, 1}, them[6] = {2, 0, 0, 0, 0, 9};
    uint8_t how = fuzz_u8(in);

    memset(out, 0, 128);
    memcpy(out, us, 6);
    memcpy(out + 6, them, 6);
    if (how & 1) {
        static const uint8_t arp[] = {8, 6, 0, 1, 8, 0, 6, 4, 0};
        memcpy(out + 12, arp, sizeof(arp));
        out[21] = how & 2 ? 2 : 1;
        memcpy(out + 22, them, 6);
        fuzz_bytes(in, out + 28, 14);
        return 42;
    }
    out[12] = 0x86;
    out[13] = 0xdd;
    out[14] = 0x60;
    out[19] = 32;
    out[20] = 58;
    out[21] = 255;
    memcpy(out + 22, fuzz_attacker_gid, 16);
    memcpy(out + 38, sn_nic_get_config(w.nic[0])->gid[0], 16);
    out[54] = how & 2 ? 136 : 135;
    memcpy(out + 62, how & 2 ? fuzz_attacker_gid : sn_nic_get_config(w.nic[0])->gid[0], 16);
    out[78] = how & 2 ? 2 : 1;
    out[79] = 1;
    memcpy(out + 80, them, 6);
    /* ICMPv6 checksum over pseudo header and message. */
    uint32_t sum = 32 + 58;
    for (unsigned i = 22; i < 86; i += 2)
        sum += (uint32_t)out[i] << 8 | out[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    out[56] = (uint8_t)(~sum >> 8);
    out[57] = (uint8_t)~sum;
    return 86;
}

static void frame(struct fuzz_in *in, uint8_t how)
{
    uint8_t *out;
    uint32_t length;

    if (segment.given == segment.queued)
        segment.given = segment.queued = 0;
    if (segment.queued == QUEUE)
        return;
    out = segment.bytes[segment.queued];
    segment.tclass[segment.queued] = 0;
    length = how & 0x80   ? (uint32_t)fuzz_bytes(in, out, fuzz_u8(in))
             : how & 0x40 ? (is_socket() ? small(in, out) : neighbour(in, out))
                          : roce(in, out);
    for (uint8_t n = how >> 4 & 3; n != 0 && length != 0; n--) {
        uint16_t at = fuzz_u16(in);
        if (at & 0x8000)
            length = at % (length + 1);
        else
            out[at % length] ^= fuzz_u8(in);
    }
    if (is_socket() && how & 8)
        sign(out, length);
    segment.length[segment.queued++] = length;
}

static void step(struct fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);

    switch (op % 8) {
    case 0:
        fuzz_run(&w, 1 + (op >> 4));
        break;
    case 1:
        w.now += (uint64_t)fuzz_u16(in) << 12;
        fuzz_run(&w, 2);
        break;
    case 2:
        fuzz_post_recv(&w, &w.qp[(op >> 4) % FUZZ_TARGETS], fuzz_u8(in), fuzz_u16(in), w.key[FUZZ_LANDING]);
        break;
    case 3:
        sn_port_lock(w.port);
        fuzz_connect(&w, &w.qp[(op >> 4) % FUZZ_TARGETS]);
        sn_port_unlock(w.port);
        break;
    case 4:
        segment.full = op & 0x10;
        break;
    default:
        frame(in, fuzz_u8(in));
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};
    struct sn_wire *wire;
    uint8_t slot;

    if (size > 4096)
        return 0;
    fuzz_world_open(&w, fuzz_u8(&in));
    segment.queued = segment.given = 0;
    segment.full = segment.gone = false;
    bool socket = size > 1 && data[size - 1] == SOCKET;
    segment.backend = (struct sn_backend){.ops = socket ? &socket_ops : &ops, .mac = {2, 0, 0, 0, 0, 1}, .answers = true, .mtu = 4200};
    FUZZ_CHECK(sn_packet_wire_create(w.port, &segment.backend, true, &wire) == 0, "wire");
    sn_port_lock(w.port);
    sn_port_attach_wire(w.port, wire);
    sn_port_unlock(w.port);
    FUZZ_CHECK(sn_packet_bind(wire, &sn_nic_get_config(w.nic[0])->gid[0], 1, &slot) == 0, "bind");
    while (in.left != 0)
        step(&in);
    segment.full = false;
    fuzz_run(&w, 8);
    sn_packet_unbind(wire, sn_nic_get_config(w.nic[0])->gid[0]);
    sn_port_lock(w.port);
    sn_port_attach_wire(w.port, &w.wire); /* the rest is the rig's */
    sn_port_unlock(w.port);
    wire->ops->destroy(wire);
    FUZZ_CHECK(segment.gone, "the backend is left");
    fuzz_world_close(&w);
    return 0;
}
