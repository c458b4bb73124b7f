/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody who is not the peer: other addresses, other numbers, PSNs at random. A connection belongs to one GID (and, where
 * the wire says it, one QPN) and a PSN that is due; a datagram queue to those who have its Q_Key.
 */
#include "packets.h"

enum { PSN = RIG_PSN };

static void open_rig(struct rig *r, enum sn_service service)
{
    struct options o = defaults;

    o.psn = PSN;
    o.service = service;
    o.qkey = 0x1ee7c0de;
    rig_open(r, &o);
    post_recv(&r->e, r->e.mem + 4096, 4096, r->e.mkey);
}

static struct sn_burst a_write(struct rig *r)
{
    struct sn_burst b = rig_packet(r, SN_KIND_WRITE, ONLY | SN_BURST_ACKREQ, PSN);

    b.va = (uintptr_t)r->e.mem;
    b.rkey = r->e.mkey;
    b.dmalen = 64;
    return b;
}

static void nothing_happened(struct rig *r)
{
    static uint8_t zeros[8192];

    rig_expect_silence(r);
    assert_memory_equal(r->e.mem, zeros, sizeof(zeros));
    assert_int_equal(end_state(&r->e), SN_QP_RTS);
    assert_null(next_rcqe(&r->e));
}

/* 9.6.1.1: each header check on its own is enough to drop the packet in silence. */
static void not_the_peer(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 22; i++) {
        struct rig r;
        open_rig(&r, SN_SERVICE_RC);
        uint64_t dropped = rig_counters(&r).rx_dropped;
        struct sn_burst b = a_write(&r);
        if (i < 16)
            b.sgid[i] ^= 1; /* any byte of the address */
        else if (i == 16)
            b.service = SN_SERVICE_UC;
        else if (i == 17)
            b.service = SN_SERVICE_UD;
        else if (i == 18)
            b.dqpn ^= 0x8000;
        else if (i == 19)
            b.dqpn |= 1u << 24;
        b.mtu = i >= 20 ? r.e.o.mtu : 0; /* as a burst, which says all of it */
        b.sqpn = i >= 20 ? RIG_PEER_QPN : 0;
        if (i == 20)
            b.sqpn ^= 1;
        if (i == 21)
            b.mtu ^= 1;
        rig_in(&r, &b, rig_bytes, 64);
        nothing_happened(&r);
        if (rig_counters(&r).rx_dropped != dropped + 1)
            fail_msg("case %u is not counted", i);
        b = a_write(&r); /* and the peer itself still gets through */
        rig_in(&r, &b, rig_bytes, 64);
        rig_expect_ack(&r, SN_AETH_ACK, PSN);
        rig_close(&r);
    }
}

/* 9.7.4.1.2: packets beyond what is due ask for the right one, once; packets before it are answered and not executed. */
static void psn_at_random(void **state)
{
    static uint8_t zeros[8192];
    unsigned naks = 0, x = 12345;
    struct rig r;

    (void)state;
    open_rig(&r, SN_SERVICE_RC);
    for (unsigned i = 0; i < 2000; i++) {
        struct sn_burst b = a_write(&r);
        x = x * 1664525 + 1013904223;
        b.psn = x >> 8;
        if (b.psn == PSN)
            continue;
        rig_in(&r, &b, rig_bytes, 64);
        for (const struct sent *s; (s = rig_out(&r)) != NULL;) {
            naks += s->b.syndrome == SN_AETH_NAK_SEQUENCE;
            assert_true(s->b.syndrome == SN_AETH_NAK_SEQUENCE || s->b.syndrome == SN_AETH_ACK);
        }
        r.count = r.read = 0; /* room for more */
    }
    assert_int_equal(naks, 1);
    assert_memory_equal(r.e.mem, zeros, sizeof(zeros));
    assert_int_equal(end_state(&r.e), SN_QP_RTS);
    struct sn_burst b = a_write(&r);
    rig_in(&r, &b, rig_bytes, 64);
    rig_expect_ack(&r, SN_AETH_ACK, PSN);
    rig_close(&r);
}

/* Answers that nobody asked for (9.7.6): no effect on a requester that waits for nothing. */
static void answers_to_nothing(void **state)
{
    static const enum sn_kind kinds[] = {SN_KIND_ACK, SN_KIND_READ_RESPONSE, SN_KIND_ATOMIC_ACK};
    static const uint8_t syndromes[] = {SN_AETH_ACK, SN_AETH_RNR | 5, SN_AETH_NAK_SEQUENCE, SN_AETH_NAK_INVALID, SN_AETH_NAK_ACCESS,
                                        SN_AETH_NAK_OP, 0x64, 0x7f};
    struct rig r;

    (void)state;
    open_rig(&r, SN_SERVICE_RC);
    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned s = 0; s < sizeof(syndromes); s++)
            for (uint32_t psn = PSN - 2; psn != PSN + 3; psn++) {
                struct sn_burst b = rig_packet(&r, kinds[kind], ONLY, psn);
                b.syndrome = syndromes[s];
                rig_in(&r, &b, rig_bytes, kind == 1 ? 64 : 0);
                nothing_happened(&r);
            }
    rig_close(&r);
}

/* 9.2.5: a datagram needs the Q_Key; all the others drop in silence, whoever sends. */
static void q_key(void **state)
{
    struct rig r;

    (void)state;
    open_rig(&r, SN_SERVICE_UD);
    for (unsigned bit = 0; bit < 32; bit++) {
        struct sn_burst b = rig_packet(&r, SN_KIND_SEND, ONLY, 0);
        b.sqpn = RIG_PEER_QPN;
        b.qkey = r.e.o.qkey ^ 1u << bit;
        rig_in(&r, &b, rig_bytes, 64);
        nothing_happened(&r);
    }
    struct sn_burst b = rig_packet(&r, SN_KIND_SEND, ONLY, 0);
    b.sqpn = RIG_PEER_QPN;
    b.qkey = r.e.o.qkey;
    rig_in(&r, &b, rig_bytes, 64);
    assert_non_null(next_rcqe(&r.e));
    rig_close(&r);
}

/* A datagram queue executes sends and nothing else, whatever key is known (9.8.3). */
static void datagrams_touch_no_memory(void **state)
{
    struct rig r;

    (void)state;
    open_rig(&r, SN_SERVICE_UD);
    for (unsigned kind = SN_KIND_WRITE; kind < SN_KIND_COUNT; kind++) {
        struct sn_burst b = rig_packet(&r, (enum sn_kind)kind, ONLY | SN_BURST_ACKREQ, PSN);
        b.sqpn = RIG_PEER_QPN;
        b.qkey = r.e.o.qkey;
        b.va = (uintptr_t)r.e.mem;
        b.rkey = r.e.mkey;
        b.dmalen = 8;
        b.atomic_size = 8;
        b.swap_add = 1;
        rig_in(&r, &b, rig_bytes, kind == SN_KIND_WRITE || kind == SN_KIND_READ_RESPONSE ? 8 : 0);
        nothing_happened(&r);
    }
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(not_the_peer), cmocka_unit_test(psn_at_random),
                                       cmocka_unit_test(answers_to_nothing), cmocka_unit_test(q_key),
                                       cmocka_unit_test(datagrams_touch_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
