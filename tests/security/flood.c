/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that floods its own queue pairs with whatever it likes: others go on (turns are counted, not time), memory of the
 * process stays bounded, and nothing outside its keys changes. The rig aborts on a violation (fuzz/rig.h).
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rig.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { COUNTS_MEMORY = 0 }; /* mallinfo is not theirs */
#else
enum { COUNTS_MEMORY = 1 };
#endif

enum { ROUNDS = 600, PACKETS = 64, GROWTH = 24 << 20 };

static uint64_t x;

static uint32_t rnd(uint32_t n)
{
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)(x >> 24) % n;
}

static size_t memory_in_use(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void receive(struct fuzz_world *w, const struct sn_burst *b)
{
    sn_port_lock(w->port);
    sn_nic_receive(w->nic[0], b);
    sn_port_unlock(w->port);
}

/* Mostly in order and mostly correct, so that it is work and not only refusals. */
static void hostile(struct fuzz_world *w)
{
    struct fuzz_qp *q = &w->qp[rnd(FUZZ_TARGETS)];
    uint32_t length = rnd(4) == 0 ? rnd(8192) : rnd(64), mtu = 128u << w->mtu;
    unsigned area = rnd(32) == 0 ? rnd(FUZZ_KEYS) : FUZZ_OPEN;
    struct sn_burst b;

    struct sn_qp_params now;
    assert_int_equal(sn_qp_query(q->nic, q->qpn, NULL, &now, NULL, NULL), 0);
    q->rcv_psn = now.rcv_psn; /* the worst peer knows what is due */
    fuzz_packet(w, q, &b);
    b.kind = (uint8_t)rnd(SN_KIND_COUNT);
    if (b.kind == SN_KIND_SEND && rnd(16) != 0)
        length %= 1024; /* what its receives hold */
    b.flags = (uint8_t)(rnd(32) == 0 ? rnd(256) : SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ);
    b.psn = (q->rcv_psn + (rnd(16) == 0 ? rnd(64) - 32 : 0)) & 0xffffff;
    b.rkey = w->key[area];
    b.va = w->iova[area % FUZZ_AREAS] + (rnd(32) == 0 ? rnd(16384) : 0);
    b.dmalen = length;
    b.atomic_size = 8;
    b.npackets = length == 0 ? 1 : (length + mtu - 1) / mtu;
    fuzz_payload(&b, b.kind == SN_KIND_SEND || b.kind == SN_KIND_WRITE || b.kind == SN_KIND_READ_RESPONSE ? length : 0, 2);
    if (b.length == 0 && b.kind != SN_KIND_READ_REQUEST)
        b.npackets = 1;
    receive(w, &b);
}

/* The attacked queues come back again and again, as those of a server that reconnects would. */
static void revive(struct fuzz_world *w)
{
    sn_port_lock(w->port);
    for (unsigned i = 0; i < FUZZ_TARGETS; i++)
        fuzz_connect(w, &w->qp[i]);
    sn_port_unlock(w->port);
    for (unsigned i = 0; i < FUZZ_TARGETS; i++)
        for (unsigned k = 0; k < 4; k++)
            fuzz_post_recv(w, &w->qp[i], k * 1024, 1024, w->key[FUZZ_LANDING]);
}

static void flood(uint8_t options)
{
    static struct fuzz_world w;
    size_t before = 0;

    x = 88172645463325252ull + options;
    fuzz_world_open(&w, options);
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round % 2 == 0)
            revive(&w);
        for (unsigned i = 0; i < PACKETS; i++) {
            hostile(&w);
            if (i % 8 == 7)
                fuzz_run(&w, 1);
        }
        w.wire_full = rnd(4) == 0;
        w.now += 100000;
        fuzz_witness(&w);
        fuzz_judge(&w);
        if (round == ROUNDS / 4)
            before = memory_in_use();
    }
    if (COUNTS_MEMORY)
        assert_in_range(memory_in_use(), 0, before + GROWTH);
    assert_true(w.sent > ROUNDS * 2); /* the flood was work, not only refusals */
    fuzz_world_close(&w);
}

static void others_go_on(void **state)
{
    (void)state;
    flood(0);
    flood(FUZZ_ONE_PACKET | 1 << FUZZ_MTU_SHIFT);
    flood(FUZZ_GPU_DATA | 2 << FUZZ_MTU_SHIFT);
    flood(FUZZ_GPU_DATA | FUZZ_GPU_QUEUES);
}

/*
 * Bursts that wait behind a copy of the copy engine keep their payload. However many come, what is kept of one queue pair has
 * a limit; what is beyond it is lost, as on a link.
 */
static void what_waits_is_bounded(void **state)
{
    static struct fuzz_world w;
    size_t before;

    (void)state;
    fuzz_world_open(&w, FUZZ_GPU_DATA | 3 << FUZZ_MTU_SHIFT);
    struct fuzz_qp *q = &w.qp[FUZZ_RC];
    before = memory_in_use();
    for (unsigned i = 0; i < 6000; i++) { /* nobody runs the port: the first copy never ends */
        struct sn_burst b;
        fuzz_packet(&w, q, &b);
        b.kind = SN_KIND_WRITE;
        b.rkey = w.key[FUZZ_OPEN];
        b.va = w.iova[FUZZ_OPEN];
        b.dmalen = 65536;
        b.npackets = 16;
        fuzz_payload(&b, 65536, 1);
        if (i == 0) {
            b.dmalen = 4096;
            b.npackets = 1;
            fuzz_payload(&b, 4096, 1);
        }
        receive(&w, &b);
    }
    if (COUNTS_MEMORY)
        assert_in_range(memory_in_use(), before, before + GROWTH);
    fuzz_witness(&w);
    fuzz_world_close(&w);
}

/* READs of the largest region, as many as may be outstanding, again and again (duplicates are executed again). */
static void reads_in_a_row(void **state)
{
    static struct fuzz_world w;

    (void)state;
    fuzz_world_open(&w, 0);
    struct fuzz_qp *q = &w.qp[FUZZ_RC];
    uint32_t packets = FUZZ_AREA_BYTES / 256;
    for (unsigned i = 0; i < 2000; i++) {
        struct sn_burst b;
        fuzz_packet(&w, q, &b);
        b.kind = SN_KIND_READ_REQUEST;
        b.psn = (q->rcv_psn + i % 4 * packets) & 0xffffff;
        b.npackets = packets;
        b.rkey = w.key[FUZZ_READ_ONLY];
        b.va = w.iova[FUZZ_READ_ONLY];
        b.dmalen = FUZZ_AREA_BYTES;
        receive(&w, &b);
        if (i % 64 == 0)
            fuzz_witness(&w);
    }
    assert_true(w.sent >= 2000);
    fuzz_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(others_go_on), cmocka_unit_test(what_waits_is_bounded),
                                       cmocka_unit_test(reads_in_a_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
