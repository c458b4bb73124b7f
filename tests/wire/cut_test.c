/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts into packets (IBTA vol. 1, 9.2, 9.7.2: full path MTUs, then what is left; who carries which flag). */
#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"
#include "softnic/wire/cut.h"
#include "vector.h"

static uint64_t seed;

static void random_burst(struct sn_burst *b, uint8_t *payload, uint32_t length)
{
    static const uint8_t kinds[] = {SN_KIND_SEND, SN_KIND_WRITE, SN_KIND_READ_RESPONSE};
    size_t at = 0;

    *b = (struct sn_burst){.kind = kinds[vector_random(&seed) % 3],
                           .flags = (uint8_t)vector_random(&seed) & SN_BURST_FLAGS_ALL,
                           .mtu = (uint8_t)(1 + vector_random(&seed) % 5),
                           .psn = (uint32_t)vector_random(&seed) & 0xffffff,
                           .va = vector_random(&seed),
                           .length = length};
    b->npackets = sn_mtu_packets(length, b->mtu);
    while (at < length && b->iov_count < SN_BURST_MAX_IOV) { /* pieces of any length, some of none */
        size_t left = length - at, n = vector_random(&seed) % 4 == 0 ? 0 : vector_random(&seed) % (left + 1);
        if (b->iov_count == SN_BURST_MAX_IOV - 1)
            n = left;
        b->iov[b->iov_count++] =
            (struct sn_iov){.addr = payload + at, .length = n, .space = (uint32_t)(b->iov_count & 1)};
        at += n;
    }
}

static void check_flags(const struct sn_burst *b, const struct sn_burst *p, uint32_t i)
{
    const uint8_t at_end = SN_BURST_LAST | SN_BURST_IMM | SN_BURST_INVALIDATE | SN_BURST_SOLICITED | SN_BURST_ACKREQ;
    uint8_t expected = b->flags;

    expected &= (uint8_t) ~(i != 0 ? SN_BURST_FIRST : 0);
    expected &= (uint8_t) ~(i + 1 != b->npackets ? at_end : 0);
    assert_int_equal(p->flags, expected);
}

static void check(const struct sn_burst *b, const uint8_t *payload)
{
    struct sn_burst p;
    struct sn_cut cut;
    uint32_t i = 0, bytes = 0, mtu = sn_mtu_bytes(b->mtu);

    sn_cut_begin(&cut, b);
    for (; sn_cut_next(&cut, &p); i++) {
        uint32_t sum = 0;
        assert_int_equal(p.psn, (b->psn + i) & 0xffffff);
        assert_int_equal(p.npackets, 1);
        assert_int_equal(p.length, b->length - bytes < mtu ? b->length - bytes : mtu);
        assert_true(p.va == b->va);
        check_flags(b, &p, i);
        for (uint32_t v = 0; v < p.iov_count; v++) {
            assert_true(p.iov[v].length != 0);
            assert_ptr_equal(p.iov[v].addr, payload + bytes + sum);
            sum += (uint32_t)p.iov[v].length;
        }
        assert_int_equal(sum, p.length);
        bytes += p.length;
    }
    assert_int_equal(i, b->npackets);
    assert_int_equal(bytes, b->length);
    assert_false(sn_cut_next(&cut, &p));
}

static void random_bursts(void **state)
{
    uint8_t *payload = malloc(1 << 16);

    (void)state;
    seed = 11;
    for (unsigned i = 0; i < 3000; i++) {
        struct sn_burst b;
        random_burst(&b, payload, (uint32_t)(vector_random(&seed) % (i % 2 == 0 ? 1 << 16 : 2048)));
        check(&b, payload);
    }
    free(payload);
}

static void edges(void **state)
{
    static uint8_t payload[20480];

    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++) {
        const uint32_t m = sn_mtu_bytes(mtu), lengths[] = {0, 1, m - 1, m, m + 1, 2 * m, 2 * m + 1, 4 * m};
        for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            struct sn_burst b = {.kind = SN_KIND_WRITE,
                                 .flags = SN_BURST_FLAGS_ALL,
                                 .mtu = mtu,
                                 .psn = 0xffffff,
                                 .npackets = sn_mtu_packets(lengths[i], mtu),
                                 .length = lengths[i],
                                 .iov_count = 1,
                                 .iov = {{.addr = payload, .length = lengths[i]}}};
            check(&b, payload);
        }
    }
}

/* A READ request is one packet that takes the PSNs of its response; a packet stays one. */
static void what_is_not_cut(void **state)
{
    struct sn_burst read = {.kind = SN_KIND_READ_REQUEST, .flags = 3, .mtu = 3, .npackets = 977, .dmalen = 1000000}, p;
    struct sn_burst packet = {
        .kind = SN_KIND_SEND, .mtu = 0, .npackets = 1, .length = 4096, .iov_count = 1, .iov = {{&read, 4096, 0}}};
    struct sn_cut cut;

    (void)state;
    sn_cut_begin(&cut, &read);
    assert_true(sn_cut_next(&cut, &p));
    assert_int_equal(p.npackets, 977);
    assert_false(sn_cut_next(&cut, &p));
    sn_cut_begin(&cut, &packet);
    assert_true(sn_cut_next(&cut, &p));
    assert_int_equal(p.length, 4096);
    assert_false(sn_cut_next(&cut, &p));
}

/* A count that does not fit the payload, and a list that is too short, end with what is there. */
static void false_counts(void **state)
{
    static const uint8_t byte[300];
    struct sn_burst b = {.kind = SN_KIND_SEND,
                         .flags = 3,
                         .mtu = 1,
                         .npackets = 1u << 23,
                         .length = 600,
                         .iov_count = 1,
                         .iov = {{byte, 300, 0}}},
                    p;
    struct sn_cut cut;
    unsigned n = 0;
    size_t bytes = 0;

    (void)state;
    sn_cut_begin(&cut, &b);
    while (sn_cut_next(&cut, &p)) {
        n++;
        for (uint32_t i = 0; i < p.iov_count; i++)
            bytes += p.iov[i].length;
    }
    assert_int_equal(n, 3);
    assert_int_equal(bytes, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bursts),
        cmocka_unit_test(edges),
        cmocka_unit_test(what_is_not_cut),
        cmocka_unit_test(false_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
