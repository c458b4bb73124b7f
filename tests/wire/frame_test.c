/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of every opcode, there and back; what only the bytes can show (IBTA vol. 1, 9.2 table 38, 9.3; A17). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"
#include "reference.h"
#include "softnic/wire/opcode.h"
#include "vector.h"

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(vector_random(&seed) % n);
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

static void random_gids(struct sn_burst *p)
{
    bool ipv4 = one_in(2);

    for (unsigned i = 0; i < 16; i++) {
        p->sgid[i] = (uint8_t)vector_random(&seed);
        p->dgid[i] = (uint8_t)vector_random(&seed);
    }
    if (ipv4) {
        memset(p->sgid, 0, 10);
        memset(p->dgid, 0, 10);
        p->sgid[10] = p->sgid[11] = p->dgid[10] = p->dgid[11] = 0xff;
    } else {
        p->sgid[0] = 0xfd;
        p->flow_label = below(1u << 20);
    }
}

static uint32_t random_length(uint8_t rule)
{
    static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};

    switch (rule) {
    case SN_PAYLOAD_FULL:
        return mtus[below(5)];
    case SN_PAYLOAD_SOME:
        return 1 + below(one_in(2) ? 16 : 4096);
    case SN_PAYLOAD_ANY:
        return below(one_in(2) ? 16 : 4097);
    default:
        return 0;
    }
}

static void random_headers(struct sn_burst *p, uint8_t headers)
{
    if (headers & SN_HAS_DETH) {
        p->qkey = (uint32_t)vector_random(&seed);
        p->sqpn = below(1u << 24);
    }
    if (headers & (SN_HAS_RETH | SN_HAS_ATOMIC | SN_HAS_MASKED)) {
        p->va = vector_random(&seed);
        p->rkey = (uint32_t)vector_random(&seed);
    }
    if (headers & SN_HAS_RETH)
        p->dmalen = (uint32_t)vector_random(&seed);
    if (headers & (SN_HAS_ATOMIC | SN_HAS_MASKED)) {
        p->atomic_size = headers & SN_HAS_MASKED && one_in(2) ? 4 : 8;
        p->swap_add = vector_random(&seed);
        p->compare = vector_random(&seed);
    }
    if (headers & SN_HAS_MASKED) {
        p->swap_mask = vector_random(&seed);
        p->compare_mask = vector_random(&seed);
    }
    p->syndrome = SN_AETH_ACK;
    if (headers & SN_HAS_AETH) {
        p->syndrome = (uint8_t)vector_random(&seed);
        p->msn = below(1u << 24);
    }
    if (headers & SN_HAS_ATOMIC_ACK)
        p->atomic_orig = vector_random(&seed);
    if (headers & (SN_HAS_IMMDT | SN_HAS_IETH))
        p->imm = (uint32_t)vector_random(&seed);
}

/* A packet of an opcode, as parsing should give it. */
static void random_packet(const struct sn_roce_opcode *o, uint8_t *payload, struct sn_burst *p)
{
    memset(p, 0, sizeof(*p));
    random_gids(p);
    p->service = o->service;
    p->kind = o->kind;
    p->flags = o->flags;
    p->flags |= one_in(2) ? SN_BURST_SOLICITED : 0;
    p->flags |= one_in(2) ? SN_BURST_ACKREQ : 0;
    p->flags |= one_in(4) ? SN_BURST_BECN : 0;
    p->dqpn = below(1u << 24);
    p->psn = below(1u << 24);
    p->pkey = (uint16_t)vector_random(&seed);
    p->tclass = (uint8_t)vector_random(&seed);
    p->hop_limit = (uint8_t)(1 + below(255));
    p->udp_sport = (uint16_t)(1 + below(65535));
    p->npackets = o->kind == SN_KIND_READ_REQUEST ? 0 : 1;
    random_headers(p, o->headers);
    p->length = random_length(o->payload);
    p->iov_count = p->length != 0;
    p->iov[0] = (struct sn_iov){.addr = payload, .length = p->length, .space = SN_SPACE_HOST};
}

static void random_path(struct sn_frame_path *path)
{
    *path = (struct sn_frame_path){.ip_id = (uint16_t)vector_random(&seed),
                                   .m_clear = one_in(2),
                                   .df_clear = one_in(4),
                                   .udp_check = one_in(2) ? SN_UDP_CHECK_MADE : SN_UDP_CHECK_NONE};
    for (unsigned i = 0; i < 6; i++) {
        path->smac[i] = (uint8_t)vector_random(&seed);
        path->dmac[i] = (uint8_t)(1 + below(255));
    }
}

static void there_and_back(uint8_t opcode, const struct sn_roce_opcode *o, uint8_t *payload)
{
    struct sn_burst p, q;
    struct sn_frame_path path, seen;
    uint8_t *frame = malloc(SN_FRAME_MAX), again[SN_FRAME_MAX], headers[SN_FRAME_MAX_HEADERS];
    uint32_t icrc;
    int n, h;

    random_packet(o, payload, &p);
    random_path(&path);
    n = sn_frame_build(&p, &path, SN_LAYER_ETHERNET, frame, SN_FRAME_MAX);
    assert_true(n > 0);
    frame = realloc(frame, (size_t)n);
    size_t bth = 14 + (frame[14] >> 4 == 6 ? 40 : 20) + 8;
    assert_int_equal(frame[bth], opcode);
    icrc = reference_icrc(frame, (size_t)n);
    for (int i = 0; i < 4; i++)
        assert_int_equal(frame[n - 4 + i], (uint8_t)(icrc >> (8 * i)));
    if (path.udp_check == SN_UDP_CHECK_MADE)
        assert_true(reference_udp_sum(frame, (size_t)n) == 0xffff);
    h = sn_frame_headers(&p, &path, SN_LAYER_ETHERNET, headers);
    assert_true(h > 0 && h <= n);
    uint8_t check[2] = {frame[bth - 2], frame[bth - 1]};
    frame[bth - 2] = frame[bth - 1] = 0; /* headers alone have no UDP checksum */
    assert_memory_equal(headers, frame, (size_t)h);
    memcpy(frame + bth - 2, check, 2);

    memset(&q, 0xa5, sizeof(q));
    assert_int_equal(sn_frame_parse(frame, (size_t)n, SN_LAYER_ETHERNET, true, &q, &seen), SN_FRAME_OK);
    assert_memory_equal(&q, &p, offsetof(struct sn_burst, iov));
    if (p.length != 0) {
        assert_int_equal(q.iov[0].length, p.length);
        assert_memory_equal(q.iov[0].addr, payload, p.length);
        assert_true((const uint8_t *)q.iov[0].addr > frame && (const uint8_t *)q.iov[0].addr + p.length < frame + n);
    }
    assert_int_equal(sn_frame_build(&q, &seen, SN_LAYER_ETHERNET, again, sizeof(again)), n);
    assert_memory_equal(again, frame, (size_t)n);
    assert_int_equal(sn_frame_build(&q, &seen, SN_LAYER_ETHERNET, again, (size_t)n - 1), -ENOSPC);
    free(frame);
}

static void every_opcode_returns(void **state)
{
    uint8_t payload[4096];
    unsigned opcodes = 0;

    (void)state;
    seed = 0x0ce0;
    for (unsigned i = 0; i < sizeof(payload); i++)
        payload[i] = (uint8_t)vector_random(&seed);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        const struct sn_roce_opcode *o = sn_opcode_get((uint8_t)opcode);
        if (o == NULL)
            continue;
        opcodes++;
        for (unsigned i = 0; i < 200; i++)
            there_and_back((uint8_t)opcode, o, payload);
    }
    assert_int_equal(opcodes, 23 + 12 + 2 + 1 + 2); /* RC, UC, UD, CNP, masked atomics */
}

/* No two rows for the same packet: the table reads backwards, too. */
static void opcodes_are_distinct(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        const struct sn_roce_opcode *o = sn_opcode_get((uint8_t)i);
        struct sn_burst p = {.iov_count = 0};
        if (o == NULL)
            continue;
        p.service = o->service;
        p.kind = o->kind;
        p.flags = o->flags | SN_BURST_ACKREQ | SN_BURST_SOLICITED | SN_BURST_BECN;
        assert_int_equal(sn_opcode_find(&p), i);
    }
}

/* A WRITE with immediate byte by byte, by hand from table 38 and figures of 9.2, 9.3.3 and 9.3.6. */
static void known_bytes(void **state)
{
    static const uint8_t expected[] = {
        0x45, 0x02, 0x00, 0x44, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 192,  0,    2,    1,
        192,  0,    2,    9,                                                                            /* IPv4 */
        0xc1, 0x23, 0x12, 0xb7, 0x00, 0x30, 0x00, 0x00,                                                 /* UDP */
        0x0b, 0xf0, 0x80, 0x01, 0x40, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef,                         /* BTH */
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x99, 0x88, 0x77, 0x66, 0x00, 0x00, 0x00, 0x01, /* RETH */
        0xde, 0xad, 0xbe, 0xef,                                                                         /* ImmDt */
        0x5a, 0x00, 0x00, 0x00,                                                                         /* and pad */
    };
    static const uint8_t payload[] = {0x5a}, imm[] = {0xde, 0xad, 0xbe, 0xef};
    struct sn_burst p = {.service = SN_SERVICE_RC,
                         .kind = SN_KIND_WRITE,
                         .flags = SN_BURST_FLAGS_ALL & ~SN_BURST_INVALIDATE,
                         .dqpn = 0x123456,
                         .psn = 0xabcdef,
                         .pkey = 0x8001,
                         .tclass = 2,
                         .udp_sport = 0xc123,
                         .va = 0x0102030405060708,
                         .rkey = 0x99887766,
                         .dmalen = 1,
                         .length = 1,
                         .npackets = 1,
                         .iov_count = 1,
                         .iov = {{.addr = payload, .length = 1}}};
    struct sn_frame_path path = {.ip_id = 0};
    uint8_t frame[128];

    (void)state;
    memcpy(&p.imm, imm, 4);
    memcpy(p.sgid, "\0\0\0\0\0\0\0\0\0\0\377\377\300\0\2\1", 16);
    memcpy(p.dgid, "\0\0\0\0\0\0\0\0\0\0\377\377\300\0\2\11", 16);
    assert_int_equal(sn_frame_build(&p, &path, SN_LAYER_IP, frame, sizeof(frame)), sizeof(expected) + 4);
    frame[10] = frame[11] = 0; /* header checksum: by the reference, in every other test */
    assert_memory_equal(frame, expected, sizeof(expected));
}

/* A17.9.3: opcode 0x81, BECN, 16 bytes of zeros; 60 bytes of IPv4. */
static void congestion_notification(void **state)
{
    static const uint8_t zeros[16];
    struct sn_burst p = {
        .kind = SN_KIND_CNP, .flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_BECN, .dqpn = 0x77, .pkey = 0xffff};
    struct sn_frame_path path = {.ip_id = 0};
    uint8_t frame[128];

    (void)state;
    for (unsigned service = 0; service < 4; service++) {
        p.service = (uint8_t)service; /* whatever the congested queue is */
        assert_int_equal(sn_frame_build(&p, &path, SN_LAYER_UDP, frame, sizeof(frame)), 12 + 16 + 4);
        assert_int_equal(frame[0], 0x81);
        assert_int_equal(frame[4], 0x40);
        assert_memory_equal(frame + 12, zeros, 16);
    }
    frame[0] = 0x81; /* any reserved bytes are taken (A17.9.3: ignored by receivers) */
    frame[20] = 0xff;
    assert_int_equal(sn_frame_parse(frame, 32, SN_LAYER_UDP, false, &p, NULL), SN_FRAME_OK);
    assert_int_equal(p.kind, SN_KIND_CNP);
    assert_int_equal(p.length, 0);
    assert_int_equal(sn_frame_parse(frame, 28, SN_LAYER_UDP, false, &p, NULL), SN_FRAME_PAYLOAD);
}

/* No port given: from the dynamic range, the same for a flow, spread over flows (A17.4.1). */
static void source_port(void **state)
{
    struct sn_burst p = {.kind = SN_KIND_ACK, .flags = SN_BURST_FIRST | SN_BURST_LAST};
    struct sn_frame_path path = {.ip_id = 0};
    static uint8_t seen[65536];
    unsigned distinct = 0;
    uint8_t frame[128];

    (void)state;
    p.sgid[0] = p.dgid[0] = 0xfd;
    for (uint32_t qpn = 0; qpn < 1000; qpn++) {
        uint16_t port[2];
        for (unsigned way = 0; way < 2; way++) {
            p.sqpn = way == 0 ? 0x010000 + qpn : 0x020000 + qpn * 3;
            p.dqpn = way == 0 ? 0x020000 + qpn * 3 : 0x010000 + qpn;
            assert_true(sn_frame_headers(&p, &path, SN_LAYER_IP, frame) > 0);
            port[way] = (uint16_t)(frame[40] << 8 | frame[41]);
        }
        assert_int_equal(port[0], port[1]);
        assert_in_range(port[0], 0xc000, 0xffff);
        distinct += !seen[port[0]];
        seen[port[0]] = 1;
    }
    assert_true(distinct > 900);
}

/* What has no wire form is not built: nothing is written instead. */
static void refused_bursts(void **state)
{
    static const uint8_t payload[8192];
    static const struct {
        const char *what;
        struct sn_burst b;
    } rows[] = {
        {"more than a path MTU", {.kind = SN_KIND_SEND, .flags = 3, .mtu = 1, .length = 257}},
        {"more than 4096", {.kind = SN_KIND_SEND, .flags = 3, .length = 4097}},
        {"an empty first packet", {.kind = SN_KIND_SEND, .flags = SN_BURST_FIRST}},
        {"an empty last packet", {.kind = SN_KIND_WRITE, .flags = SN_BURST_LAST}},
        {"a middle packet of odd length", {.kind = SN_KIND_WRITE, .length = 255}},
        {"payload of an acknowledgement", {.kind = SN_KIND_ACK, .flags = 3, .length = 4}},
        {"a READ of an unreliable connection", {.kind = SN_KIND_READ_REQUEST, .flags = 3, .service = SN_SERVICE_UC}},
        {"a WRITE of a datagram", {.kind = SN_KIND_WRITE, .flags = 3, .service = SN_SERVICE_UD}},
        {"half a datagram", {.kind = SN_KIND_SEND, .flags = SN_BURST_FIRST, .service = SN_SERVICE_UD, .length = 256}},
        {"WRITE with invalidate", {.kind = SN_KIND_WRITE, .flags = 3 | SN_BURST_INVALIDATE}},
        {"immediate in a first packet", {.kind = SN_KIND_SEND, .flags = SN_BURST_FIRST | SN_BURST_IMM, .length = 256}},
        {"a plain atomic of four bytes", {.kind = SN_KIND_ATOMIC_FA, .flags = 3, .atomic_size = 4}},
        {"a QP number of 25 bits", {.kind = SN_KIND_ACK, .flags = 3, .dqpn = 1u << 24}},
        {"a PSN of 25 bits", {.kind = SN_KIND_ACK, .flags = 3, .psn = 1u << 24}},
        {"an unknown kind", {.kind = SN_KIND_COUNT, .flags = 3}},
        {"an unknown service", {.kind = SN_KIND_SEND, .flags = 3, .service = 2}},
        {"an unknown service beyond the table", {.kind = SN_KIND_SEND, .flags = 3, .service = 200}},
    };
    struct sn_frame_path path = {.ip_id = 0};
    uint8_t frame[SN_FRAME_MAX + 4096];
    struct sn_burst b;

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        b = rows[i].b;
        b.iov_count = b.length != 0;
        b.iov[0] = (struct sn_iov){.addr = payload, .length = b.length};
        if (sn_frame_build(&b, &path, SN_LAYER_ETHERNET, frame, sizeof(frame)) != -EINVAL ||
            sn_frame_headers(&b, &path, SN_LAYER_ETHERNET, frame) != -EINVAL)
            fail_msg("%s was built", rows[i].what);
    }
    b = (struct sn_burst){.kind = SN_KIND_SEND, .flags = 3, .length = 8, .iov_count = 1};
    b.iov[0] = (struct sn_iov){.addr = payload, .length = 8, .space = SN_SPACE_GPU};
    assert_int_equal(sn_frame_build(&b, &path, SN_LAYER_UDP, frame, sizeof(frame)), -EINVAL); /* not at hand */
    b.iov[0] = (struct sn_iov){.addr = payload, .length = 4};
    assert_int_equal(sn_frame_build(&b, &path, SN_LAYER_UDP, frame, sizeof(frame)), -EINVAL); /* does not add up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_returns), cmocka_unit_test(opcodes_are_distinct),
        cmocka_unit_test(known_bytes),          cmocka_unit_test(congestion_notification),
        cmocka_unit_test(source_port),          cmocka_unit_test(refused_bursts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
