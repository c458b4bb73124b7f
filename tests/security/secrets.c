/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory keys and queue pair numbers are what a peer has to know. By default they come from the kernel's generator: no two
 * runs, NICs or neighbours tell anything about each other. The bounds are 6 sigma and wider: a good generator fails one run
 * in millions.
 */
#include <errno.h>
#include <stdlib.h>

#include "packets.h"

enum { KEYS = 4096, QPS = 512 };

struct nics {
    struct sn_port *port;
    struct sn_nic *nic[2];
    uint32_t pdn[2];
    uint8_t memory[64];
};

static void open_nics(struct nics *n, uint64_t seed)
{
    struct sn_port_config config = {.no_thread = true};

    memset(n, 0, sizeof(*n));
    assert_int_equal(sn_port_create(&config, &n->port), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct sn_nic_config c = {.gid_count = 1, .gid = {{0xfe, [15] = (uint8_t)i}}, .slot = (uint8_t)(i + 1), .seed = seed};
        assert_int_equal(sn_nic_create(n->port, &c, &n->nic[i]), 0);
        assert_int_equal(sn_pd_create(n->nic[i], &n->pdn[i]), 0);
    }
}

static void close_nics(struct nics *n)
{
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(sn_nic_destroy(n->nic[i]), 0);
    sn_port_destroy(n->port);
}

static uint32_t new_key(struct nics *n, unsigned nic)
{
    struct sn_mkey_attr attr = {.pdn = n->pdn[nic], .access = 15, .iova = 0, .span = {.addr = n->memory, .length = 64}};
    uint32_t key;

    assert_int_equal(sn_mkey_create(n->nic[nic], &attr, &key), 0);
    return key;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Each bit, and each bit of the difference to the one before, is set in half of them: 6 sigma of 4,096 coins are 192. */
static void balanced(const uint32_t *v, size_t n, unsigned bits)
{
    int64_t most = 0;

    while (most * most < 9 * (int64_t)n)
        most++;
    for (unsigned bit = 0; bit < bits; bit++) {
        int64_t ones = 0, changes = 0;
        for (size_t i = 0; i < n; i++)
            ones += v[i] >> bit & 1;
        for (size_t i = 1; i < n; i++)
            changes += (v[i] ^ v[i - 1]) >> bit & 1;
        if (llabs(ones - (int64_t)n / 2) > most || llabs(changes - (int64_t)n / 2) > most)
            fail_msg("bit %u: %lld ones and %lld changes in %zu", bit, (long long)ones, (long long)changes, n);
    }
}

static void keys_tell_nothing(void **state)
{
    static uint32_t key[2][KEYS], step[KEYS];
    struct nics n;

    (void)state;
    open_nics(&n, 0);
    for (unsigned nic = 0; nic < 2; nic++)
        for (unsigned i = 0; i < KEYS; i++) {
            key[nic][i] = new_key(&n, nic);
            assert_int_not_equal(key[nic][i], 0);
        }
    balanced(key[0], KEYS, 32);
    balanced(key[1], KEYS, 32);
    for (unsigned i = 1; i < KEYS; i++)
        step[i] = key[0][i] - key[0][i - 1];
    qsort(step + 1, KEYS - 1, sizeof(step[0]), by_value);
    for (unsigned i = 2, same = 0; i < KEYS; i++) { /* no common step */
        same += step[i] == step[i - 1];
        assert_true(same < 4);
    }
    for (unsigned i = 0, same = 0; i < KEYS; i++) { /* two NICs of a process go their own ways */
        same += key[0][i] == key[1][i];
        assert_true(same < 3);
    }
    qsort(key[0], KEYS, sizeof(key[0][0]), by_value);
    for (unsigned i = 1; i < KEYS; i++)
        assert_int_not_equal(key[0][i], key[0][i - 1]);
    close_nics(&n);
}

/* Two NICs under one seed are alike (that is what a seed is for), and the default is no seed. */
static void only_a_seed_repeats(void **state)
{
    uint32_t a, b, c, d;
    struct nics n;

    (void)state;
    open_nics(&n, 77);
    a = new_key(&n, 0);
    b = new_key(&n, 1);
    close_nics(&n);
    assert_int_equal(a, b);
    open_nics(&n, 0);
    c = new_key(&n, 0);
    d = new_key(&n, 0);
    close_nics(&n);
    open_nics(&n, 0);
    assert_false(new_key(&n, 0) == c && new_key(&n, 0) == d);
    close_nics(&n);
}

/* A destroyed key is dead at once and does not come back in a hurry. */
static void keys_do_not_come_back(void **state)
{
    uint32_t last = 0;
    struct nics n;

    (void)state;
    open_nics(&n, 0);
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t key = new_key(&n, 0);
        assert_int_not_equal(key, last);
        assert_int_equal(sn_mkey_destroy(n.nic[0], key), 0);
        assert_int_equal(sn_mkey_destroy(n.nic[0], key), -ENOENT);
        last = key;
    }
    close_nics(&n);
}

static uint32_t new_qp(struct nics *n, uint8_t *memory, uint32_t cqn, uint32_t uar)
{
    struct sn_qp_attr attr = {.pdn = n->pdn[0],
                              .log_sq_size = 0,
                              .sq = {.addr = memory, .length = 64},
                              .cqn_snd = cqn,
                              .rq_kind = SN_RQ_NONE,
                              .record = {.addr = memory + 64, .length = 8},
                              .uar = uar};
    uint32_t qpn;

    assert_int_equal(sn_qp_create(n->nic[0], &attr, &qpn), 0);
    return qpn;
}

static void numbers_tell_nothing(void **state)
{
    static uint8_t memory[256] __attribute__((aligned(64)));
    uint32_t qpn[QPS], cqn;
    struct sn_uar uar;
    struct nics n;
    unsigned up = 0;

    (void)state;
    open_nics(&n, 0);
    assert_int_equal(sn_uar_alloc(n.nic[0], &uar), 0);
    struct sn_cq_attr cq = {.ring = {.addr = memory + 128, .length = 64},
                            .cqe_size = 64,
                            .overrun_ignore = true,
                            .uar = uar.index};
    assert_int_equal(sn_cq_create(n.nic[0], &cq, &cqn), 0);
    for (unsigned i = 0; i < QPS; i++) {
        qpn[i] = new_qp(&n, memory, cqn, uar.index);
        assert_int_equal(qpn[i] >> 16, 1); /* the process slot */
        up += i != 0 && qpn[i] > qpn[i - 1];
    }
    balanced(qpn, QPS, 16);
    assert_in_range(up, QPS / 3, QPS - QPS / 3); /* no counter */
    close_nics(&n);
}

/* A guess of a key costs the connection: the second one is not looked at (9.9.3). */
static void a_guess_costs_the_connection(void **state)
{
    static uint8_t zeros[64];
    struct options o = defaults;
    struct rig r;

    (void)state;
    o.psn = RIG_PSN;
    rig_open(&r, &o);
    struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, ONLY | SN_BURST_ACKREQ, RIG_PSN);
    b.va = (uintptr_t)r.e.mem;
    b.dmalen = 64;
    b.rkey = r.e.mkey ^ 1;
    rig_in(&r, &b, rig_bytes, 64);
    rig_expect_ack(&r, SN_AETH_NAK_ACCESS, RIG_PSN);
    b.rkey = r.e.mkey;
    for (unsigned i = 0; i < 4; i++) {
        b.psn = RIG_PSN + i;
        rig_in(&r, &b, rig_bytes, 64);
    }
    rig_expect_silence(&r);
    assert_int_equal(end_state(&r.e), SN_QP_ERR);
    assert_memory_equal(r.e.mem, zeros, 64);
    rig_close(&r);
}

/* A key that is destroyed between two packets of a message: the second is refused (10.6.5). */
static void a_stale_key_is_refused_within_a_message(void **state)
{
    static uint8_t zeros[256];
    struct options o = defaults;
    struct rig r;

    (void)state;
    o.psn = RIG_PSN;
    o.mtu = 1;
    rig_open(&r, &o);
    uint32_t key = end_key(&r.e, r.e.mem, 512, (uintptr_t)r.e.mem, 15);
    struct sn_burst b = rig_packet(&r, SN_KIND_WRITE, FIRST, RIG_PSN);
    b.va = (uintptr_t)r.e.mem;
    b.dmalen = 512;
    b.rkey = key;
    rig_in(&r, &b, rig_bytes, 256);
    assert_memory_equal(r.e.mem, rig_bytes, 256);
    assert_int_equal(sn_mkey_destroy(r.e.nic, key), 0);
    b = rig_packet(&r, SN_KIND_WRITE, LAST | SN_BURST_ACKREQ, RIG_PSN + 1);
    rig_in(&r, &b, rig_bytes, 256);
    rig_expect_ack(&r, SN_AETH_NAK_ACCESS, RIG_PSN + 1);
    assert_memory_equal(r.e.mem + 256, zeros, 256);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_tell_nothing),     cmocka_unit_test(only_a_seed_repeats),
        cmocka_unit_test(keys_do_not_come_back), cmocka_unit_test(numbers_tell_nothing),
        cmocka_unit_test(a_guess_costs_the_connection), cmocka_unit_test(a_stale_key_is_refused_within_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
