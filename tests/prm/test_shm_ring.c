/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of the shared-memory wire: order, wrap, fullness, sleep flag, and whatever a hostile producer or consumer
 * writes. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "softnic/nic.h"
#include "softnic/wire/shm_ring.h"

enum { RING = 65536, RING_LARGE = 1 << 20, NONCE = 0x12345679 };

struct both {
    void *region;
    struct shm_tx tx;
    struct shm_rx rx;
};

static void setup(struct both *b)
{
    b->region = aligned_alloc(4096, shm_region_bytes(RING));
    assert_non_null(b->region);
    memset(b->region, 0, shm_region_bytes(RING));
    shm_tx_init(&b->tx, b->region, 1, RING, NONCE);
    shm_rx_init(&b->rx, b->region, 1, RING, NONCE);
}

static int copy(void *arg, void *dst, uint64_t from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        ((uint8_t *)dst)[i] = (uint8_t)((from + i) * 7 + *(uint32_t *)arg);
    return 0;
}

static int copy_fails(void *arg, void *dst, uint64_t from, uint64_t n)
{
    (void)arg, (void)dst, (void)from, (void)n;
    return -EIO;
}

static bool put(struct both *b, uint32_t number, uint32_t length)
{
    struct shm_header h = {.dqpn = number, .kind = SN_KIND_WRITE, .mtu_service = 3, .length = length, .va = number};
    if (!shm_tx_room(&b->tx, shm_record_bytes(&h)))
        return false;
    assert_true(shm_tx_put(&b->tx, &h, NULL, copy, &number) >= 0);
    return true;
}

static void check_payload(const struct shm_record *r, uint32_t number)
{
    uint64_t at = 0;
    for (unsigned s = 0; s < r->spans; s++)
        for (size_t i = 0; i < r->span[s].length; i++, at++)
            if (((const uint8_t *)r->span[s].addr)[i] != (uint8_t)(at * 7 + number))
                fail_msg("record %u, byte %llu", number, (unsigned long long)at);
    assert_int_equal(at, r->header.length);
}

static const uint32_t lengths[] = {0, 1, 8, 9, 63, 64, 65, 4096, 8, 30000, 0, 17};

static void order_and_wrap(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    uint32_t sent = 0, got = 0;
    while (got < 2000) {
        while (put(&b, sent & 0xffffff, lengths[sent % 12]))
            sent++;
        struct shm_record r;
        while (shm_rx_peek(&b.rx, &r) == SHM_RECORD) {
            assert_int_equal(r.header.dqpn, got);
            assert_int_equal(r.header.va, got);
            check_payload(&r, got);
            shm_rx_consume(&b.rx, &r);
            got++;
        }
        shm_rx_publish(&b.rx);
        assert_int_equal(got, sent);
        assert_false(shm_rx_ready(&b.rx));
    }
    assert_false(b.tx.bad);
    free(b.region);
}

static void a_full_ring_takes_no_more(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    unsigned n = 0;
    while (put(&b, n, 8))
        n++;
    assert_int_equal(n, RING / 64);
    struct shm_record r;
    assert_int_equal(shm_rx_peek(&b.rx, &r), SHM_RECORD);
    shm_rx_consume(&b.rx, &r);
    assert_false(put(&b, n, 8)); /* consumed, but not published yet */
    shm_rx_publish(&b.rx);
    assert_true(put(&b, n, 8));
    assert_false(put(&b, n, 8));
    free(b.region);
}

static void the_sleeper_is_woken_once(void **state)
{
    (void)state;
    struct both b;
    struct shm_header h = {.kind = SN_KIND_ACK, .mtu_service = 1};
    setup(&b);
    assert_int_equal(shm_tx_put(&b.tx, &h, NULL, copy, NULL), 0);
    shm_rx_asleep(&b.rx, true);
    assert_true(shm_rx_ready(&b.rx));
    assert_int_equal(shm_tx_put(&b.tx, &h, NULL, copy, NULL), 1);
    assert_int_equal(shm_tx_put(&b.tx, &h, NULL, copy, NULL), 0);
    shm_rx_asleep(&b.rx, true);
    shm_rx_asleep(&b.rx, false);
    assert_int_equal(shm_tx_put(&b.tx, &h, NULL, copy, NULL), 0);
    free(b.region);
}

static void failed_payload_is_not_committed(void **state)
{
    (void)state;
    struct both b;
    uint32_t number = 5;
    struct shm_header h = {.kind = SN_KIND_WRITE, .mtu_service = 1, .length = 500};
    setup(&b);
    assert_int_equal(shm_tx_put(&b.tx, &h, NULL, copy_fails, NULL), -EIO);
    assert_false(shm_rx_ready(&b.rx));
    assert_int_equal(shm_tx_put(&b.tx, &h, NULL, copy, &number), 0);
    struct shm_record r;
    assert_int_equal(shm_rx_peek(&b.rx, &r), SHM_RECORD);
    check_payload(&r, 5);
    free(b.region);
}

static void atomics_carry_operands(void **state)
{
    (void)state;
    struct both b;
    struct shm_header h = {.kind = SN_KIND_ATOMIC_CS, .mtu_service = 1, .psn = 8u << 24};
    struct shm_operands o = {1, 2, 3, 4};
    struct shm_record r;
    setup(&b);
    assert_int_equal(shm_tx_put(&b.tx, &h, &o, copy, NULL), 0);
    assert_int_equal(shm_rx_peek(&b.rx, &r), SHM_RECORD);
    assert_memory_equal(&r.operands, &o, sizeof(o));
    assert_int_equal(r.spans, 0);
    assert_int_equal(r.bytes, 128);
    free(b.region);
}

/* Headers that no honest producer writes. */
static void bad_headers_are_refused(void **state)
{
    (void)state;
    static const struct shm_header bad[] = {
        {.kind = SN_KIND_COUNT, .mtu_service = 1},
        {.kind = SN_KIND_WRITE, .mtu_service = 0}, /* a frame's */
        {.kind = SN_KIND_ACK, .mtu_service = SN_SERVICE_UC << 4},
        {.kind = 0xff, .mtu_service = 1},
        {.kind = SN_KIND_WRITE, .flags = 0x80, .mtu_service = 1},
        {.kind = SN_KIND_WRITE, .mtu_service = 6},
        {.kind = SN_KIND_WRITE, .mtu_service = 15},
        {.kind = SN_KIND_WRITE, .mtu_service = 1, .npackets = 1u << 24},
        {.kind = SN_KIND_WRITE, .mtu_service = 1, .length = RING},
        {.kind = SN_KIND_WRITE, .mtu_service = 1, .length = RING - 63},
        {.kind = SN_KIND_WRITE, .mtu_service = 1, .length = 0x7fffffff},
        {.kind = SN_KIND_WRITE, .mtu_service = 1, .length = 0xffffffff},
        {.kind = SN_KIND_WRITE, .mtu_service = 1, .length = 0xffffffc1},
        {.kind = SN_KIND_ATOMIC_FA, .mtu_service = 1, .psn = 3u << 24},
        {.kind = SN_KIND_ATOMIC_FA, .mtu_service = 1, .psn = 8u << 24, .length = 8},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct both b;
        struct shm_record r;
        setup(&b);
        uint64_t word = b.rx.nonce;
        memcpy(b.rx.data + 8, &bad[i], sizeof(bad[i]));
        memcpy(b.rx.data, &word, 8);
        if (shm_rx_peek(&b.rx, &r) != SHM_BAD)
            fail_msg("header %zu was taken", i);
        free(b.region);
    }
}

/* Random ring contents with a commit word that is always right: whatever is taken stays inside the ring (ASan watches).
 */
static void random_contents(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    uint64_t x = 0x9e3779b97f4a7c15ull, taken = 0, refused = 0;
    volatile uint8_t sink = 0;
    for (int round = 0; round < 200000; round++) {
        struct shm_header h;
        for (size_t i = 0; i < sizeof(h); i += 8) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            memcpy((uint8_t *)&h + i, &x, sizeof(h) - i < 8 ? sizeof(h) - i : 8);
        }
        if (round % 2) { /* half of them nearly right, so that some pass */
            h.kind %= SN_KIND_COUNT;
            h.flags &= SN_BURST_FLAGS_ALL;
            h.mtu_service &= 0xf3;
            h.npackets &= 0xffffff;
            h.length %= RING + 100;
        }
        uint64_t word = b.rx.nonce + b.rx.head;
        memcpy(b.rx.data + (b.rx.head & (RING - 1)) + 8, &h, sizeof(h));
        memcpy(b.rx.data + (b.rx.head & (RING - 1)), &word, 8);
        struct shm_record r;
        enum shm_verdict v = shm_rx_peek(&b.rx, &r);
        assert_int_not_equal(v, SHM_NONE);
        if (v == SHM_BAD) {
            refused++;
            b.rx.head += 64;
            continue;
        }
        for (unsigned s = 0; s < r.spans; s++) {
            const uint8_t *p = r.span[s].addr;
            assert_true((p >= b.rx.data && p + r.span[s].length <= b.rx.data + RING) ||
                        (p == (const uint8_t *)&r.header.inlined && r.span[s].length <= 8));
            sink ^= p[0] ^ p[r.span[s].length - 1];
        }
        taken++;
        shm_rx_consume(&b.rx, &r);
    }
    assert_true(taken > 1000 && refused > 1000);
    free(b.region);
}

/* A consumer's position that moves backwards, beyond what was sent, or between lines. */
static void bad_positions_are_noticed(void **state)
{
    (void)state;
    const uint64_t bad[] = {64 + 1, RING + 64, UINT64_MAX, 1ull << 40};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct both b;
        setup(&b);
        unsigned n = 0;
        while (put(&b, n, 8))
            n++;
        atomic_store(&b.tx.shared->head, bad[i]);
        assert_false(put(&b, n, 8));
        assert_true(b.tx.bad);
        free(b.region);
    }
    struct both b;
    setup(&b);
    while (put(&b, 1, 8))
        continue;
    atomic_store(&b.tx.shared->head, 128);
    assert_true(put(&b, 1, 8) && put(&b, 1, 8) && !put(&b, 1, 8));
    atomic_store(&b.tx.shared->head, 64); /* backwards */
    assert_false(put(&b, 1, 8));
    assert_true(b.tx.bad);
    free(b.region);
}

static void *producer(void *arg)
{
    struct both *b = arg;
    for (uint32_t i = 0; i < 100000;)
        if (put(b, i & 0xffffff, lengths[i % 9]))
            i++;
        else
            sched_yield();
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    struct both b;
    pthread_t t;
    setup(&b);
    assert_int_equal(pthread_create(&t, NULL, producer, &b), 0);
    for (uint32_t got = 0; got < 100000;) {
        struct shm_record r;
        enum shm_verdict v = shm_rx_peek(&b.rx, &r);
        assert_int_not_equal(v, SHM_BAD);
        if (v == SHM_NONE) {
            shm_rx_publish(&b.rx);
            sched_yield();
            continue;
        }
        assert_int_equal(r.header.dqpn, got);
        check_payload(&r, got);
        shm_rx_consume(&b.rx, &r);
        got++;
    }
    pthread_join(t, NULL);
    free(b.region);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static unsigned resident(void *region, size_t from, size_t bytes)
{
    unsigned char page[2 * RING_LARGE / 4096 + 1];
    unsigned n = 0;
    assert_int_equal(mincore((uint8_t *)region + from, bytes, page), 0);
    for (size_t i = 0; i < (bytes + 4095) / 4096; i++)
        n += page[i] & 1;
    return n;
}

/*
 * Who writes finds memory, and so does who waits behind that: no page fault has to make it for both. A ring that has hardly been
 * used has little.
 */
static void memory_is_there_beforehand(void **state)
{
    (void)state;
    const size_t bytes = shm_region_bytes(RING_LARGE);
    void *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(region, MAP_FAILED);
#ifdef MADV_POPULATE_WRITE
    const bool can = sysconf(_SC_PAGESIZE) == SHM_CONTROL_BYTES && madvise(region, SHM_CONTROL_BYTES, MADV_POPULATE_WRITE) == 0 &&
                     resident(region, 0, SHM_CONTROL_BYTES) == 1; /* an emulator says yes to whatever it does not know */
#else
    const bool can = false;
#endif
    struct both b = {.region = region};
    shm_tx_init(&b.tx, region, 1, RING_LARGE, NONCE);
    shm_rx_init(&b.rx, region, 1, RING_LARGE, NONCE);
    for (uint32_t n = 0; can && b.tx.tail < 2 * RING_LARGE; n++) {
        const uint32_t length = n % 300 == 299 ? 20000 : 8;
        const uint64_t all = length > SHM_INLINE ? SHM_LINE + (length + SHM_LINE - 1) / SHM_LINE * SHM_LINE : SHM_LINE;
        assert_true(shm_tx_room(&b.tx, all));
        for (uint64_t at = b.tx.tail / 4096 * 4096; at <= b.tx.tail + all; at += 4096)
            assert_int_equal(resident(region, SHM_CONTROL_BYTES + RING_LARGE + at % RING_LARGE, 4096), 1);
        assert_true(put(&b, n, length));
        if (n == 0)
            assert_in_range(resident(region, SHM_CONTROL_BYTES, 2 * RING_LARGE), 1, 4);
        struct shm_record r;
        assert_int_equal(shm_rx_peek(&b.rx, &r), SHM_RECORD);
        check_payload(&r, n);
        shm_rx_consume(&b.rx, &r);
        shm_rx_publish(&b.rx);
    }
    if (can) {
        assert_int_equal(resident(region, SHM_CONTROL_BYTES + RING_LARGE, RING_LARGE), RING_LARGE / 4096);
        assert_int_equal(resident(region, SHM_CONTROL_BYTES, RING_LARGE), 0); /* the other direction is the peer's */
    }
    munmap(region, bytes);
    if (!can)
        skip(); /* no such call here: pages come as they are touched */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_wrap),
        cmocka_unit_test(a_full_ring_takes_no_more),
        cmocka_unit_test(the_sleeper_is_woken_once),
        cmocka_unit_test(failed_payload_is_not_committed),
        cmocka_unit_test(atomics_carry_operands),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(random_contents),
        cmocka_unit_test(bad_positions_are_noticed),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(memory_is_there_beforehand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
