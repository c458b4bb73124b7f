/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame parser. Whatever it takes has to be a packet that can be built again and then says the same; whatever a burst
 * can be cut into has to be taken. Nothing is read beyond the frame (the sanitizer's judgement).
 */
#include <string.h>

#include "rig.h"
#include "softnic/wire/cut.h"
#include "softnic/wire/frame.h"

static const uint8_t gid4[2][16] = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}, {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2}};

static enum sn_frame_verdict parse(const uint8_t *frame, size_t length, enum sn_layer layer, bool icrc,
                                   const struct sn_burst *addressed, struct sn_burst *packet, struct sn_frame_path *path)
{
    memset(packet, 0, sizeof(*packet));
    if (layer == SN_LAYER_UDP) {
        memcpy(packet->sgid, addressed != NULL ? addressed->sgid : gid4[0], 16);
        memcpy(packet->dgid, addressed != NULL ? addressed->dgid : gid4[1], 16);
        packet->udp_sport = addressed != NULL ? addressed->udp_sport : 0xc123;
    }
    return sn_frame_parse(frame, length, layer, icrc, packet, path);
}

static void same(const struct sn_burst *a, const struct sn_burst *b, enum sn_layer layer)
{
    FUZZ_CHECK(a->kind == b->kind && a->flags == b->flags && a->psn == b->psn && a->dqpn == b->dqpn && a->pkey == b->pkey &&
                   a->service == b->service,
               "base header: kind %u flags 0x%x psn %u", a->kind, a->flags, a->psn);
    FUZZ_CHECK(a->va == b->va && a->rkey == b->rkey && a->dmalen == b->dmalen && a->imm == b->imm &&
                   a->syndrome == b->syndrome && a->msn == b->msn && a->atomic_orig == b->atomic_orig &&
                   a->swap_add == b->swap_add && a->compare == b->compare && a->qkey == b->qkey,
               "extension headers of kind %u", a->kind);
    FUZZ_CHECK(a->length == b->length, "payload of %u bytes, then %u", a->length, b->length);
    FUZZ_CHECK(a->length == 0 || memcmp(a->iov[0].addr, b->iov[0].addr, a->length) == 0, "payload differs");
    if (layer != SN_LAYER_UDP)
        FUZZ_CHECK(memcmp(a->sgid, b->sgid, 16) == 0 && memcmp(a->dgid, b->dgid, 16) == 0, "addresses differ");
}

static void taken_can_be_built(const uint8_t *frame, size_t length, enum sn_layer layer, bool icrc)
{
    uint8_t built[SN_FRAME_MAX + 64], again[SN_FRAME_MAX + 64];
    struct sn_burst packet, second;
    struct sn_frame_path path = {0}, path2 = {0};
    enum sn_frame_verdict verdict = parse(frame, length, layer, icrc, NULL, &packet, &path);
    int n, m;

    FUZZ_CHECK(verdict < SN_FRAME_VERDICTS && sn_frame_verdict_name(verdict) != NULL, "verdict %d", (int)verdict);
    if (verdict != SN_FRAME_OK)
        return;
    FUZZ_CHECK(packet.iov_count <= 1, "%u pieces", packet.iov_count);
    if (packet.iov_count == 1)
        FUZZ_CHECK((const uint8_t *)packet.iov[0].addr >= frame &&
                       (const uint8_t *)packet.iov[0].addr + packet.iov[0].length <= frame + length &&
                       packet.iov[0].length == packet.length,
                   "payload is not inside the frame");
    n = sn_frame_build(&packet, &path, layer, built, sizeof(built));
    if (n < 0 && length > SN_FRAME_MAX)
        return; /* more than a path MTU of 4096 */
    FUZZ_CHECK(n > 0, "a frame that was taken cannot be built: %d (kind %u, flags 0x%x)", n, packet.kind, packet.flags);
    FUZZ_CHECK((size_t)n <= sizeof(built), "%d bytes", n);
    path2 = path;
    verdict = parse(built, (size_t)n, layer, true, &packet, &second, &path2);
    FUZZ_CHECK(verdict == SN_FRAME_OK, "what was built is refused: %s", sn_frame_verdict_name(verdict));
    same(&packet, &second, layer);
    m = sn_frame_build(&second, &path2, layer, again, sizeof(again));
    FUZZ_CHECK(m == n && memcmp(built, again, (size_t)n) == 0, "built twice, %d and %d bytes, and not the same", n, m);
}

/* Any burst: cut, built, parsed. */
static void cut_and_build(struct fuzz_in *in)
{
    static const uint8_t mtus[] = {1, 3, 4, 5};
    uint8_t built[SN_FRAME_MAX + 64];
    struct sn_frame_path path = {.ip_id = fuzz_u16(in)};
    struct sn_burst b = {0}, packet, parsed;
    struct sn_cut cut;
    uint32_t packets = 0, bytes = 0, mtu;

    b.mtu = mtus[fuzz_u8(in) % 4];
    mtu = 128u << b.mtu;
    b.kind = fuzz_u8(in) % SN_KIND_COUNT;
    b.flags = fuzz_u8(in) & SN_BURST_FLAGS_ALL;
    b.service = fuzz_u8(in) % 4;
    memcpy(b.sgid, gid4[0], 16);
    memcpy(b.dgid, gid4[1], 16);
    if (fuzz_u8(in) & 1) {
        memcpy(b.sgid, fuzz_attacker_gid, 16);
        memcpy(b.dgid, fuzz_attacker_gid, 16);
    }
    b.dqpn = fuzz_u32(in) & 0xffffff;
    b.sqpn = fuzz_u32(in) & 0xffffff;
    b.psn = fuzz_u32(in) & 0xffffff;
    b.va = fuzz_u64(in);
    b.rkey = fuzz_u32(in);
    b.imm = fuzz_u32(in);
    b.syndrome = fuzz_u8(in);
    b.atomic_size = fuzz_u8(in) & 1 ? 4 : 8;
    b.pkey = 0xffff;
    b.tclass = fuzz_u8(in);
    fuzz_payload(&b, b.kind == SN_KIND_SEND || b.kind == SN_KIND_WRITE || b.kind == SN_KIND_READ_RESPONSE ? fuzz_u16(in) % 20000 : 0,
                 1 + fuzz_u8(in) % 3);
    if (!(b.flags & SN_BURST_LAST)) /* a piece of a message ends with a whole packet */
        fuzz_payload(&b, (b.length + mtu) / mtu * mtu, 2);
    b.dmalen = b.length;
    b.npackets = b.length == 0 ? 1 : (b.length + mtu - 1) / mtu;
    sn_cut_begin(&cut, &b);
    while (sn_cut_next(&cut, &packet)) {
        int n = sn_frame_build(&packet, &path, SN_LAYER_ETHERNET, built, sizeof(built));
        FUZZ_CHECK(packets++ < b.npackets, "more packets than %u", b.npackets);
        bytes += packet.length;
        if (n < 0)
            continue; /* has no wire form, by sn_frame_build's own judgement */
        struct sn_frame_path seen = {0};
        enum sn_frame_verdict verdict = sn_frame_parse(built, (size_t)n, SN_LAYER_ETHERNET, true, &parsed, &seen);
        FUZZ_CHECK(verdict == SN_FRAME_OK, "kind %u flags 0x%x, %u bytes: built and refused: %s", packet.kind, packet.flags,
                   packet.length, sn_frame_verdict_name(verdict));
        FUZZ_CHECK(parsed.length == packet.length && parsed.psn == packet.psn && parsed.dqpn == packet.dqpn, "differs");
        built[(size_t)n - 1 - b.syndrome % 8] ^= 0x20;
        FUZZ_CHECK(sn_frame_parse(built, (size_t)n, SN_LAYER_ETHERNET, true, &parsed, &seen) != SN_FRAME_OK,
                   "a spoilt frame is taken");
    }
    FUZZ_CHECK(bytes == b.length && packets == b.npackets, "%u of %u bytes in %u of %u packets", bytes, b.length, packets,
               b.npackets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};
    uint8_t how = fuzz_u8(&in);

    if (size > 8192)
        return 0;
    if (how & 8)
        cut_and_build(&in);
    else
        taken_can_be_built(in.at, in.left, how % 3, how & 4);
    return 0;
}
