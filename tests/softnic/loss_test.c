/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lost and doubled bursts, made by a tap under a seed: every byte arrives, every completion once, every atomic once, every
 * SEND in order. One burst a packet, so that messages lose their middles too.
 */
#include <stdlib.h>

#include "harness.h"
#include "softnic/wire/frame.h"

struct chaos {
    struct sn_port *frames; /* every packet becomes a frame and is parsed again; NULL: bursts as they are */
    uint64_t x;
    uint32_t drop, twice; /* per 1024 */
    uint32_t dropped, doubled;
    int only;             /* a kind, or -1 */
};

static uint32_t rnd(struct chaos *c)
{
    c->x ^= c->x << 13;
    c->x ^= c->x >> 7;
    c->x ^= c->x << 17;
    return (uint32_t)(c->x >> 16);
}

static int chaos(void *arg, const struct sn_burst *b)
{
    struct chaos *c = arg;
    uint32_t r = rnd(c) & 1023;

    if (c->only >= 0 && b->kind != c->only)
        return SN_TAP_PASS;
    if (r < c->drop) {
        c->dropped++;
        return SN_TAP_DROP;
    }
    if (r < c->drop + c->twice) {
        c->doubled++;
        return SN_TAP_DUPLICATE;
    }
    return SN_TAP_PASS;
}

/* What a frame does not say has to be found out by the queue pair that it is for. */
static void deliver_frame(struct sn_port *port, const struct sn_burst *b)
{
    uint8_t frame[SN_FRAME_MAX];
    struct sn_frame_path path = {.smac = {2}, .dmac = {2, 1}, .ip_id = 7}, got;
    struct sn_burst packet;
    int n = sn_frame_build(b, &path, SN_LAYER_ETHERNET, frame, sizeof(frame));

    assert_true(n > 0);
    assert_int_equal(sn_frame_parse(frame, (size_t)n, SN_LAYER_ETHERNET, true, &packet, &got), SN_FRAME_OK);
    assert_int_equal(packet.mtu, 0);
    struct sn_nic *nic = sn_port_find_nic(port, packet.dgid);
    assert_non_null(nic);
    sn_nic_receive(nic, &packet);
}

static int chaos_frames(void *arg, const struct sn_burst *b)
{
    struct chaos *c = arg;
    int verdict = chaos(c, b);

    for (int k = 0; k < (verdict == SN_TAP_DROP ? 0 : verdict == SN_TAP_DUPLICATE ? 2 : 1); k++)
        deliver_frame(c->frames, b);
    return SN_TAP_DROP;
}

enum { AREA = 1 << 16, COUNTER = 1 << 20, RESULTS = (1 << 20) + 4096, RECV = 3 << 19 };

/* A batch of everything; then time passes until it is through. */
static void batch(struct world *w, struct end *a, struct end *b, struct chaos *c, uint32_t *adds, uint32_t *sends)
{
    uint32_t first = a->ci, n = 1 + rnd(c) % 6, expected[8];

    for (uint32_t k = 0; k < n; k++) {
        struct wr wr;
        uint32_t length = rnd(c) % 6000, off = rnd(c) % (AREA - 6000);
        switch (rnd(c) % 6) {
        case 0:
        case 1:
            wr = wr_write(a, b, off, off, length);
            break;
        case 2:
            wr = wr_read(a, b, (1 << 19) + off, (1 << 19) + off, length);
            break;
        case 3:
            wr = wr_fetch_add(a, b, RESULTS + (*adds % 64) * 8, COUNTER, 1);
            ++*adds;
            break;
        case 4: /* for all before it, which may have to be sent again */
            wr = (struct wr){.opcode = SN_OPCODE_WAIT, .fm_ce_se = 8, .cqn = a->cqn, .index = first + k - 1};
            break;
        default:
            post_recv(b, b->mem + RECV + (*sends % 16) * 6000, 6000, b->mkey);
            wr = wr_send(a, off, length);
            ++*sends;
            break;
        }
        expected[k] = put_wqe(a, &wr);
    }
    ring(a);
    for (int t = 0; t < 4000 && a->ci - first < n; t++) {
        world_pass(w, 1000000, 250000);
        for (const struct sn_cqe64 *cqe; (cqe = next_cqe(a)) != NULL;) {
            if (cqe_opcode(cqe) != SN_CQE_REQ)
                fail_msg("syndrome 0x%02x", cqe_syndrome(cqe));
            assert_int_equal(sn_get16(cqe->wqe_counter), expected[a->ci - 1 - first] & 0xffff);
        }
    }
    assert_int_equal(a->ci - first, n);
}

static void run_as(uint64_t seed, uint32_t drop, uint32_t twice, int only, bool small, bool frames, uint8_t mtu)
{
    struct world w;
    struct end a, b;
    struct options o = defaults;
    struct chaos c = {.x = seed * 0x9e3779b97f4a7c15ull + 1, .drop = drop, .twice = twice, .only = only};
    uint32_t adds = 0, sends = 0, receives = 0;

    o.burst_bytes = small ? 1 : 4096;
    o.ack_timeout = 8;
    o.psn = 0xffff00;
    o.mtu = mtu;
    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    end_open(&b, &w, 1, &o);
    ends_connect(&a, &b);
    fill(a.mem, AREA, (uint32_t)seed);
    fill(b.mem + (1 << 19), AREA, (uint32_t)seed + 1);
    c.frames = w.port;
    sn_port_set_tap(w.port, frames ? chaos_frames : chaos, &c);
    for (int k = 0; k < 30; k++) {
        batch(&w, &a, &b, &c, &adds, &sends);
        for (const struct sn_cqe64 *r; (r = next_rcqe(&b)) != NULL; receives++)
            assert_int_equal(cqe_opcode(r), SN_CQE_RESP_SEND);
        assert_int_equal(receives, sends);
        assert_int_equal(*(uint64_t *)(void *)(b.mem + COUNTER), adds);
    }
    for (uint32_t i = 0; i < AREA; i++) /* what was written is the source; what was not is 0 */
        if (b.mem[i] != 0)
            assert_int_equal(b.mem[i], a.mem[i]);
    for (uint32_t i = 1 << 19; i < (1 << 19) + AREA; i++)
        if (a.mem[i] != 0)
            assert_int_equal(a.mem[i], b.mem[i]);
    for (uint32_t k = adds > 64 ? adds - 64 : 0; k < adds; k++)
        assert_int_equal(*(uint64_t *)(void *)(a.mem + RESULTS + (k % 64) * 8), k);
    if (drop != 0)
        assert_true(c.dropped != 0);
    assert_int_equal(end_state(&a), SN_QP_RTS);
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

static void run(uint64_t seed, uint32_t drop, uint32_t twice, int only, bool small)
{
    run_as(seed, drop, twice, only, small, false, 3);
}

/* The same through frames and back, at each path MTU. */
static void test_frames(void **state)
{
    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++) {
        run_as(mtu, 0, 0, -1, true, true, mtu);
        run_as(mtu + 5u, 30, 30, -1, true, true, mtu);
    }
}

static void test_doubled(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        run(seed, 0, 512, -1, seed & 1);
}

static void test_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        run(seed, 50, 50, -1, seed & 1);
}

static void test_lost_by_kind(void **state)
{
    (void)state;
    for (int kind = 0; kind < SN_KIND_COUNT; kind++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            if (kind == SN_KIND_SEND || kind == SN_KIND_WRITE || kind == SN_KIND_ACK || kind == SN_KIND_READ_REQUEST ||
                kind == SN_KIND_READ_RESPONSE || kind == SN_KIND_ATOMIC_FA || kind == SN_KIND_ATOMIC_ACK)
                run(seed, 200, 100, kind, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubled),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_lost_by_kind),
        cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
