/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are not taken, each with the reason: everything else about them is right. */
#include <stdio.h>
#include <stdlib.h>

#include "reference.h"
#include "vector.h"

enum { IP = 14 };

/* Where things lie in the frame at hand. */
struct frame {
    uint8_t bytes[8192];
    size_t length, ip, udp, bth;
};

static void make(struct frame *f, uint8_t service, uint8_t kind, uint8_t flags, uint32_t length, bool ipv4)
{
    static uint8_t payload[4096];
    struct sn_burst p = {.service = service,
                         .kind = kind,
                         .flags = flags,
                         .dqpn = 5,
                         .atomic_size = 8,
                         .length = length,
                         .iov_count = length != 0,
                         .iov = {{.addr = payload, .length = length}}};
    struct sn_frame_path path = {.dmac = {2, 0, 0, 0, 0, 1}};
    int n;

    memcpy(p.sgid, ipv4 ? "\0\0\0\0\0\0\0\0\0\0\377\377\12\0\0\1" : "\375\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
    memcpy(p.dgid, ipv4 ? "\0\0\0\0\0\0\0\0\0\0\377\377\12\0\0\2" : "\375\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16);
    n = sn_frame_build(&p, &path, SN_LAYER_ETHERNET, f->bytes, sizeof(f->bytes));
    assert_true(n > 0);
    f->length = (size_t)n;
    f->ip = IP;
    f->udp = f->ip + (ipv4 ? 20 : 40);
    f->bth = f->udp + 8;
}

static enum sn_frame_verdict judge(const struct frame *f)
{
    uint8_t *exact = malloc(f->length);
    struct sn_burst p;
    enum sn_frame_verdict v;

    memcpy(exact, f->bytes, f->length);
    v = sn_frame_parse(exact, f->length, SN_LAYER_ETHERNET, true, &p, NULL);
    free(exact);
    return v;
}

/* Inserts bytes before the CRC and makes lengths and check sums right again. */
static void grow(struct frame *f, size_t n)
{
    f->length += n;
    memset(f->bytes + f->length - n - 4, 0, n + 4);
    reference_refit(f->bytes, f->length);
}

static void shrink(struct frame *f, size_t n)
{
    f->length -= n;
    reference_refit(f->bytes, f->length);
}

enum { ONLY = SN_BURST_FIRST | SN_BURST_LAST };

static void the_rest_is_right(void **state)
{
    struct frame f;

    (void)state;
    for (unsigned ipv4 = 0; ipv4 < 2; ipv4++) {
        make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 13, ipv4);
        assert_int_equal(judge(&f), SN_FRAME_OK);
        reference_refit(f.bytes, f.length);
        assert_int_equal(judge(&f), SN_FRAME_OK);
    }
}

/* One byte changed, or bits of it; check sums made right again where `refit` says so. */
static void changed_bytes(void **state)
{
    static const struct {
        const char *what;
        enum { FROM_ETH, FROM_IP, FROM_UDP, FROM_BTH } from;
        unsigned at;
        uint8_t set;
        bool refit;
        enum sn_frame_verdict expected;
    } rows[] = {
        {"ARP", FROM_ETH, 13, 0x06, false, SN_FRAME_NOT_ROCE},
        {"a VLAN tag", FROM_ETH, 12, 0x81, false, SN_FRAME_NOT_ROCE},
        {"IP version 5", FROM_IP, 0, 0x55, false, SN_FRAME_IP},
        {"a header of 16 bytes", FROM_IP, 0, 0x44, false, SN_FRAME_IP},
        {"IP options", FROM_IP, 0, 0x46, false, SN_FRAME_IP},
        {"header checksum", FROM_IP, 10, 0xaa, false, SN_FRAME_IP},
        {"time to live without its checksum", FROM_IP, 8, 0x11, false, SN_FRAME_IP},
        {"more fragments", FROM_IP, 6, 0x20, true, SN_FRAME_IP},
        {"reserved flag", FROM_IP, 6, 0xc0, true, SN_FRAME_IP},
        {"a later fragment", FROM_IP, 7, 0x09, true, SN_FRAME_NOT_ROCE},
        {"TCP", FROM_IP, 9, 6, true, SN_FRAME_NOT_ROCE},
        {"another port", FROM_UDP, 3, 0xb8, true, SN_FRAME_NOT_ROCE},
        {"UDP length too small", FROM_UDP, 5, 0x10, false, SN_FRAME_LENGTH},
        {"UDP length too large", FROM_UDP, 4, 0x10, false, SN_FRAME_LENGTH},
        {"transport version 1 (9.2.6)", FROM_BTH, 1, 0x71, true, SN_FRAME_BTH},
        {"opcode 0x15, reserved", FROM_BTH, 0, 0x15, true, SN_FRAME_BTH},
        {"opcode of a reliable datagram", FROM_BTH, 0, 0x44, true, SN_FRAME_BTH},
        {"READ of an unreliable connection", FROM_BTH, 0, 0x2c, true, SN_FRAME_BTH},
        {"WRITE of a datagram", FROM_BTH, 0, 0x6a, true, SN_FRAME_BTH},
        {"opcode of XRC", FROM_BTH, 0, 0xa4, true, SN_FRAME_BTH},
        {"a manufacturer's opcode that is not ours", FROM_BTH, 0, 0xc2, true, SN_FRAME_BTH},
        {"a byte of the payload", FROM_BTH, 12, 0x77, false, SN_FRAME_ICRC},
        {"the PSN", FROM_BTH, 11, 0x77, false, SN_FRAME_ICRC},
        {"reserved bits beside the acknowledge request (covered)", FROM_BTH, 8, 0x01, false, SN_FRAME_ICRC},
        {"the same, and the CRC with them", FROM_BTH, 8, 0x01, true, SN_FRAME_OK},
        {"forward congestion (not covered)", FROM_BTH, 4, 0x80, false, SN_FRAME_OK},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct frame f;
        make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 13, true);
        size_t base = rows[i].from == FROM_ETH   ? 0
                      : rows[i].from == FROM_IP  ? f.ip
                      : rows[i].from == FROM_UDP ? f.udp
                                                 : f.bth;
        f.bytes[base + rows[i].at] = rows[i].set;
        if (rows[i].refit)
            reference_refit(f.bytes, f.length);
        enum sn_frame_verdict v = judge(&f);
        if (v != rows[i].expected)
            fail_msg("%s: %s, not %s", rows[i].what, sn_frame_verdict_name(v), sn_frame_verdict_name(rows[i].expected));
    }
}

static void ipv6_headers(void **state)
{
    struct frame f;

    (void)state;
    make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 13, false);
    f.bytes[f.ip] = 0x45;
    assert_int_equal(judge(&f), SN_FRAME_IP);
    f.bytes[f.ip] = 0x60;
    f.bytes[f.ip + 6] = 0; /* hop-by-hop options come next */
    assert_int_equal(judge(&f), SN_FRAME_NOT_ROCE);
    f.bytes[f.ip + 6] = 17;
    f.bytes[f.ip + 5]++;
    assert_int_equal(judge(&f), SN_FRAME_LENGTH);
    f.bytes[f.ip + 5]--;
    assert_int_equal(judge(&f), SN_FRAME_OK);
    for (size_t at = f.ip + 8; at < f.ip + 40; at += 16) /* IPv4-mapped addresses (RFC 4291, 2.5.5.2) */
        memcpy(f.bytes + at, "\0\0\0\0\0\0\0\0\0\0\377\377\12\0\0\1", 16);
    reference_refit(f.bytes, f.length);
    assert_int_equal(judge(&f), SN_FRAME_IP);
}

/* 9.2 (a packet is a multiple of four bytes), 9.2.5 (pad), 9.3 and table 38 (who has payload). */
static void lengths(void **state)
{
    struct frame f;

    (void)state;
    make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 13, true);
    grow(&f, 2);
    assert_int_equal(judge(&f), SN_FRAME_LENGTH);

    make(&f, SN_SERVICE_RC, SN_KIND_ACK, ONLY, 0, true);
    grow(&f, 4);
    assert_int_equal(judge(&f), SN_FRAME_PAYLOAD);
    make(&f, SN_SERVICE_RC, SN_KIND_READ_REQUEST, ONLY, 0, true);
    grow(&f, 256);
    assert_int_equal(judge(&f), SN_FRAME_PAYLOAD);
    make(&f, SN_SERVICE_RC, SN_KIND_ATOMIC_CS, ONLY, 0, true);
    grow(&f, 4);
    assert_int_equal(judge(&f), SN_FRAME_PAYLOAD);

    make(&f, SN_SERVICE_RC, SN_KIND_SEND, SN_BURST_LAST, 4, true);
    shrink(&f, 4);
    assert_int_equal(judge(&f), SN_FRAME_PAYLOAD); /* a last packet has at least a byte (9.3.3.1) */
    make(&f, SN_SERVICE_UC, SN_KIND_WRITE, 0, 256, true);
    shrink(&f, 256);
    assert_int_equal(judge(&f), SN_FRAME_PAYLOAD);
    make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 4, true);
    shrink(&f, 4);
    assert_int_equal(judge(&f), SN_FRAME_OK); /* an empty message */

    make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 4096, true);
    grow(&f, 4);
    assert_int_equal(judge(&f), SN_FRAME_PAYLOAD); /* beyond the largest path MTU */

    make(&f, SN_SERVICE_RC, SN_KIND_SEND, SN_BURST_FIRST, 256, true);
    f.bytes[f.bth + 1] |= 1 << 4;
    reference_refit(f.bytes, f.length);
    assert_int_equal(judge(&f), SN_FRAME_BTH); /* pad in a first packet */
    make(&f, SN_SERVICE_RC, SN_KIND_ACK, ONLY, 0, true);
    f.bytes[f.bth + 1] |= 1 << 4;
    reference_refit(f.bytes, f.length);
    assert_int_equal(judge(&f), SN_FRAME_BTH); /* pad of nothing */
    make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 0, true);
    f.bytes[f.bth + 1] |= 3 << 4;
    reference_refit(f.bytes, f.length);
    assert_int_equal(judge(&f), SN_FRAME_SHORT);

    make(&f, SN_SERVICE_RC, SN_KIND_WRITE, ONLY, 0, true); /* half a RETH */
    shrink(&f, 8);
    assert_int_equal(judge(&f), SN_FRAME_SHORT);
}

/* Short Ethernet frames come padded; longer ones with something behind them are suspicious. */
static void behind_the_packet(void **state)
{
    struct frame f;

    (void)state;
    make(&f, SN_SERVICE_UC, SN_KIND_SEND, ONLY, 0, true); /* 58 bytes */
    assert_int_equal(f.length, 58);
    memset(f.bytes + f.length, 0, 8);
    f.length = 60;
    assert_int_equal(judge(&f), SN_FRAME_OK);
    f.length = 61;
    assert_int_equal(judge(&f), SN_FRAME_LENGTH);
    make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, 64, true);
    f.bytes[f.length++] = 0;
    assert_int_equal(judge(&f), SN_FRAME_LENGTH);
}

static void names(void **state)
{
    (void)state;
    for (unsigned v = 0; v < SN_FRAME_VERDICTS; v++)
        assert_string_not_equal(sn_frame_verdict_name((enum sn_frame_verdict)v), "unknown");
    assert_string_equal(sn_frame_verdict_name(SN_FRAME_VERDICTS), "unknown");
}

/* Random bytes, most of them behind headers that are right: nothing but a verdict may come of them. */
static void noise(void **state)
{
    uint64_t seed = 7;
    unsigned taken = 0;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        struct frame f;
        struct sn_burst p;
        make(&f, SN_SERVICE_RC, SN_KIND_SEND, ONLY, (uint32_t)(vector_random(&seed) % 64), vector_random(&seed) & 1);
        size_t from = i % 4 == 0 ? 0 : f.bth;
        for (size_t at = from; at < f.length; at++)
            f.bytes[at] = (uint8_t)vector_random(&seed);
        taken += judge(&f) == SN_FRAME_OK;
        (void)sn_frame_parse(f.bytes, f.length, SN_LAYER_ETHERNET, false, &p, NULL);
    }
    assert_int_equal(taken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_is_right),
        cmocka_unit_test(changed_bytes),
        cmocka_unit_test(ipv6_headers),
        cmocka_unit_test(lengths),
        cmocka_unit_test(behind_the_packet),
        cmocka_unit_test(names),
        cmocka_unit_test(noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
