/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings, records, CQEs and payload in memory that only a (slow, seeded) copy engine reaches: same results, other queues
 * run on meanwhile, and a copy that fails ends in an error CQE.
 */
#include "fake_gpu.h"
#include "harness.h"


/* a's data and queues in "GPU memory" or not, b's likewise: 16 ways, all operations, several in flight. */
static void run(const struct options *oa, const struct options *ob, uint64_t seed)
{
    struct world w;
    struct end a, b;
    uint64_t *counter, old;

    fake_gpu_seed(seed);
    world_open(&w, oa);
    end_open(&a, &w, 0, oa);
    end_open(&b, &w, 1, ob);
    ends_connect(&a, &b);
    fill(a.mem, 1 << 16, (uint32_t)seed);
    fill(b.mem + (1 << 19), 1 << 16, (uint32_t)seed + 1);
    counter = (uint64_t *)(void *)(b.mem + (1 << 20));
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t n = 1 + (round * 977) % 9000, at[6], k = 0;
        struct wr wr = wr_write(&a, &b, round, 4096 + round, n);
        at[k++] = put_wqe(&a, &wr);
        wr = wr_read(&a, &b, 1 << 17, (1 << 19) + round, n);
        at[k++] = put_wqe(&a, &wr);
        wr = wr_fetch_add(&a, &b, 1 << 20, 1 << 20, 3);
        at[k++] = put_wqe(&a, &wr);
        wr = wr_write(&a, &b, 0, 1 << 18, 0);
        wr.sges = 0;
        wr.inl = a.mem + 100;
        wr.inl_length = 12;
        at[k++] = put_wqe(&a, &wr);
        post_recv(&b, b.mem + (3 << 18), 9000, b.mkey);
        wr = wr_send(&a, round, n);
        at[k++] = put_wqe(&a, &wr);
        ring(&a);
        for (int spin = 0; spin < 20000 && fake_gpu_in_flight() + (unsigned)sn_port_run(w.port) != 0; spin++)
            ;
        world_run(&w);
        assert_int_equal(fake_gpu_in_flight(), 0);
        for (uint32_t i = 0; i < k; i++)
            expect_ok(&a, at[i]);
        assert_memory_equal(b.mem + 4096 + round, a.mem + round, n);
        assert_memory_equal(a.mem + (1 << 17), b.mem + (1 << 19) + round, n);
        assert_int_equal(*counter, 3 * (round + 1));
        memcpy(&old, a.mem + (1 << 20), 8);
        assert_int_equal(old, 3 * round);
        assert_memory_equal(b.mem + (1 << 18), a.mem + 100, 12);
        const struct sn_cqe64 *c = next_rcqe(&b);
        assert_non_null(c);
        assert_int_equal(sn_get32(c->byte_cnt), n);
        assert_memory_equal(b.mem + (3 << 18), a.mem + round, n);
    }
    end_close(&a);
    end_close(&b);
    world_close(&w);
}

static void test_all_places(void **state)
{
    (void)state;
    for (unsigned m = 0; m < 16; m++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct options oa = defaults, ob = defaults;
            oa.gpu = ob.gpu = &fake_gpu;
            oa.ack_timeout = ob.ack_timeout = 20; /* virtual time stands still: no timer may help */
            oa.gpu_queues = m & 1;
            oa.gpu_data = m & 2;
            ob.gpu_queues = m & 4;
            ob.gpu_data = m & 8;
            if (seed == 4)
                oa.burst_bytes = 1;
            run(&oa, &ob, m * 16 + seed);
        }
}

static void test_collapsed_cq(void **state)
{
    struct world w;
    struct end a;
    struct options o = defaults;
    uint32_t count;
    (void)state;
    o.gpu = &fake_gpu;
    o.gpu_queues = true;
    o.collapsed = true;
    fake_gpu_seed(3);
    world_open(&w, &o);
    end_open(&a, &w, 0, &o);
    ends_connect(&a, &a);
    struct wr wr = wr_write(&a, &a, 0, 4096, 8);
    for (int k = 0; k < 16; k++)
        put_wqe(&a, &wr);
    ring(&a);
    for (int spin = 0; spin < 5000; spin++)
        sn_port_run(w.port);
    const struct sn_cqe64 *c = (const struct sn_cqe64 *)(const void *)a.cq;
    assert_int_equal(sn_get16(c->wqe_counter), 15);
    assert_int_equal(cqe_opcode(c), SN_CQE_REQ);
    sn_cq_producer(a.nic, a.cqn, &count);
    assert_int_equal(count, 16);
    end_close(&a);
    world_close(&w);
}

/* While one queue waits for the copy engine, another one completes. */
static void test_others_run_on(void **state)
{
    struct world w;
    struct end slow, quick;
    struct options o = defaults;
    (void)state;
    fake_gpu_seed(9);
    o.gpu = &fake_gpu;
    o.gpu_data = true;
    world_open(&w, &o);
    end_open(&slow, &w, 0, &o);
    o.gpu_data = false;
    end_open(&quick, &w, 0, &o);
    ends_connect(&slow, &slow);
    ends_connect(&quick, &quick);
    bool overtaken = false;
    for (int k = 0; k < 50; k++) {
        struct wr wr = wr_write(&slow, &slow, 0, 4096, 100);
        uint32_t i = post(&slow, &wr);
        sn_port_run(w.port);
        bool waits = fake_gpu_in_flight() != 0;
        wr = wr_write(&quick, &quick, 0, 4096, 100);
        uint32_t q = post(&quick, &wr);
        sn_port_run(w.port);
        if (waits && fake_gpu_in_flight() != 0) {
            expect_ok(&quick, q);
            expect_none(&slow);
            overtaken = true;
        } else {
            world_run(&w);
            expect_ok(&quick, q);
        }
        for (int spin = 0; spin < 100; spin++)
            sn_port_run(w.port);
        expect_ok(&slow, i);
    }
    assert_true(overtaken);
    end_close(&slow);
    end_close(&quick);
    world_close(&w);
}

static void test_failed_copy(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct world w;
        struct end a, b;
        struct options o = defaults;
        fake_gpu_seed(2);
        o.gpu = &fake_gpu;
        o.gpu_data = true;
        world_open(&w, &o);
        end_open(&a, &w, 0, &o);
        end_open(&b, &w, 1, &o);
        ends_connect(&a, &b);
        struct wr wr = kind == 0 ? wr_write(&a, &b, 0, 0, 64) : kind == 1 ? wr_read(&a, &b, 0, 0, 64) : wr_fetch_add(&a, &b, 0, 0, 1);
        fake_gpu_fail_after(0);
        uint32_t i = post(&a, &wr);
        for (int spin = 0; spin < 200; spin++)
            sn_port_run(w.port);
        expect_error(&a, i, kind == 1 ? SN_SYND_LOCAL_PROT : SN_SYND_REMOTE_OP);
        end_close(&a);
        end_close(&b);
        world_close(&w);
    }
}

/* Keys and queues destroyed while copies are under way: destruction waits for them. */
static void test_destroy_meanwhile(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct world w;
        struct end a, b;
        struct options o = defaults;
        fake_gpu_seed(seed);
        o.gpu = &fake_gpu;
        o.gpu_data = o.gpu_queues = true;
        world_open(&w, &o);
        end_open(&a, &w, 0, &o);
        end_open(&b, &w, 1, &o);
        ends_connect(&a, &b);
        for (int k = 0; k < 4; k++) {
            struct wr wr = k & 1 ? wr_write(&a, &b, 0, 0, 6400) : wr_fetch_add(&a, &b, 0, 0, 1);
            put_wqe(&a, &wr);
        }
        ring(&a);
        for (uint64_t spin = 0; spin < seed; spin++)
            sn_port_run(w.port);
        if (seed & 1)
            assert_int_equal(sn_qp_modify(b.nic, b.qpn, SN_QP_RST, NULL, 0), 0);
        else
            assert_int_equal(sn_qp_modify(a.nic, a.qpn, SN_QP_ERR, NULL, 0), 0);
        end_close(&a);
        end_close(&b);
        assert_int_equal(fake_gpu_in_flight(), 0);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_places),  cmocka_unit_test(test_collapsed_cq),      cmocka_unit_test(test_others_run_on),
        cmocka_unit_test(test_failed_copy), cmocka_unit_test(test_destroy_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
