/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreliable services under seeds: packets are lost, and what arrives is whole, in order and what was sent (IBTA vol. 1,
 * 9.8.2, 9.8.3); the same with payload that only a slow copy engine reaches.
 */
#include <stdlib.h>

#include "datagram.h"
#include "fake_gpu.h"
#include "harness.h"

enum { MESSAGE = 8192, AREA = 64 * MESSAGE, GRH = 40, QKEY = 77 };

struct chaos {
    uint64_t x;
    uint32_t drop; /* per 1024 */
    uint32_t dropped;
};

static uint32_t rnd(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return (uint32_t)(*x >> 16);
}

static int lose(void *arg, const struct sn_burst *b)
{
    struct chaos *c = arg;

    (void)b;
    if ((rnd(&c->x) & 1023) >= c->drop)
        return SN_TAP_PASS;
    c->dropped++;
    return SN_TAP_DROP;
}

static uint32_t post_message(struct end *a, struct end *b, uint32_t from, uint32_t length)
{
    if (a->o.service == SN_SERVICE_UC) {
        struct wr wr = wr_send(a, from, length);
        return post(a, &wr);
    }
    struct datagram d = {.qpn = b->qpn, .qkey = QKEY, .from = from, .length = length};
    memcpy(d.gid, sn_nic_get_config(b->nic)->gid[0], 16);
    uint32_t index = put_datagram(a, &d);
    ring(a);
    return index;
}

/* Message k carries its number in its first bytes; the receives say which of them came. */
static void run(enum sn_service service, uint64_t seed, uint32_t drop, bool gpu)
{
    struct options o = defaults;
    struct chaos c = {.x = seed * 0x9e3779b97f4a7c15ull + 1, .drop = drop};
    struct world w;
    struct end a, b;
    uint32_t received = 0, skip = service == SN_SERVICE_UD ? GRH : 0, next = 0, dropped = 0;
    const struct sn_cqe64 *cqe;

    fake_gpu_seed(seed);
    fake_gpu_fail_after(-1);
    o.service = service;
    o.qkey = QKEY;
    o.psn = 0xfffff0;
    o.mtu = (uint8_t)(1 + seed % 5);
    o.srq = seed & 4;
    o.srq_linked = seed & 8;
    o.burst_bytes = 1;
    o.gpu = gpu ? &fake_gpu : NULL;
    o.gpu_data = gpu && (seed & 1);
    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    o.gpu_data = gpu && (seed & 2);
    end_open(&b, &w, 1, &o);
    ends_connect(&a, &b);
    fill(a.mem, AREA, (uint32_t)seed);
    if (drop != 0)
        sn_port_set_tap(w.port, lose, &c);
    for (uint32_t k = 0; k < 60; k++) {
        uint32_t length = 8 + rnd(&c.x) % (service == SN_SERVICE_UD ? (128u << o.mtu) - 7 : MESSAGE - 64);
        uint32_t from = k * MESSAGE;
        memcpy(a.mem + from, &k, 4);
        memcpy(a.mem + from + 4, &length, 4);
        if (b.rq_pi - received < 8)
            post_recv(&b, b.mem + (b.rq_pi % 16) * MESSAGE, MESSAGE, b.mkey);
        uint32_t index = post_message(&a, &b, from, length);
        world_run(&w);
        expect_ok(&a, index);
        memset(a.mem + from + 8, 0xee, 8); /* it is ours again: nothing of this may arrive */
        while ((cqe = next_rcqe(&b)) != NULL) {
            const uint8_t *at = b.mem + (received % 16) * MESSAGE + skip;
            uint32_t which, n;
            assert_int_equal(cqe_opcode(cqe), SN_CQE_RESP_SEND);
            memcpy(&which, at, 4);
            memcpy(&n, at + 4, 4);
            assert_in_range(which, next, k);
            assert_int_equal(sn_get32(cqe->byte_cnt), skip + n);
            if (n >= 24) {
                assert_memory_equal(at + 16, a.mem + which * MESSAGE + 16, n - 16);
                assert_true(memcmp(at + 8, "\xee\xee\xee\xee\xee\xee\xee\xee", 8) != 0);
            }
            dropped += which - next;
            next = which + 1;
            received++;
        }
    }
    assert_true(drop == 0 ? received == 60 : received != 0 && c.dropped != 0 && dropped != 0);
    assert_int_equal(end_state(&a), SN_QP_RTS);
    assert_int_equal(end_state(&b), SN_QP_RTS);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

static void test_loss(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++)
        for (int ud = 0; ud < 2; ud++) {
            run(ud ? SN_SERVICE_UD : SN_SERVICE_UC, seed, 0, false);
            run(ud ? SN_SERVICE_UD : SN_SERVICE_UC, seed, 100, false);
        }
}

static void test_copy_engine(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int ud = 0; ud < 2; ud++) {
            run(ud ? SN_SERVICE_UD : SN_SERVICE_UC, seed, 0, true);
            run(ud ? SN_SERVICE_UD : SN_SERVICE_UC, seed, 100, true);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loss), cmocka_unit_test(test_copy_engine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
