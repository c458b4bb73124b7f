/* SPDX-License-Identifier: Apache-2.0 */
/* The plan that both ends share: what is refused, how it travels, how buffers are laid out. */
#include "testing.h"

#include <errno.h>
#include <string.h>

#include "tool/perf.h"

static struct perf_plan good_plan(void)
{
    struct perf_plan plan = {.test = PERF_PUT_BW, .iterations = 1000, .ctas = 1, .threads = 32, .depth = 1024,
                             .sharing = GDAKI_SHARING_GPU, .timeout_ns = 1000000000, .verify = true, .seed = 99};

    plan.sizes.count = 2;
    plan.sizes.size[0] = 8;
    plan.sizes.size[1] = 65536;
    return plan;
}

static void defaults_are_filled_in(void **state)
{
    struct perf_plan plan = good_plan();
    char why[PARSE_WHY_SIZE];
    (void)state;

    assert_int_equal(perf_plan_check(&plan, why), 0);
    assert_int_equal(plan.qps, 1);
    assert_int_equal(plan.window, 32); /* 1,024 slots for 32 threads */
    plan = good_plan();
    plan.sharing = GDAKI_SHARING_EXCLUSIVE;
    assert_int_equal(perf_plan_check(&plan, why), 0);
    assert_int_equal(plan.qps, 32);
    plan = good_plan();
    plan.sharing = GDAKI_SHARING_EXCLUSIVE;
    plan.scope = GDAKI_SCOPE_WARP;
    plan.threads = 64;
    assert_int_equal(perf_plan_check(&plan, why), 0);
    assert_int_equal(plan.qps, 2);
    plan = good_plan();
    plan.sharing = GDAKI_SHARING_CTA;
    plan.ctas = 7;
    assert_int_equal(perf_plan_check(&plan, why), 0);
    assert_int_equal(plan.qps, 7);
}

/* Each line changes one thing; the refusal must name it. */
static void wrong_plans_are_refused(void **state)
{
    char why[PARSE_WHY_SIZE];
    (void)state;
#define REFUSED(change, named)                                                                                         \
    do {                                                                                                               \
        struct perf_plan plan = good_plan();                                                                           \
        change;                                                                                                        \
        why[0] = 0;                                                                                                    \
        assert_int_equal(perf_plan_check(&plan, why), -EINVAL);                                                        \
        if (!strstr(why, named))                                                                                       \
            fail_msg("'%s' does not name %s", why, named);                                                             \
    } while (0)

    REFUSED(plan.depth = 0, "--tx-depth 0");
    REFUSED(plan.depth = 100, "--tx-depth 100");
    REFUSED(plan.depth = 65536, "--tx-depth 65536");
    REFUSED(plan.depth = 16; plan.scope = GDAKI_SCOPE_WARP, "--tx-depth 16");
    REFUSED(plan.ctas = 0, "--ctas 0");
    REFUSED(plan.ctas = PERF_CTAS_MAX + 1, "--ctas");
    REFUSED(plan.threads = 0, "--threads 0");
    REFUSED(plan.threads = 1025, "--threads 1025");
    REFUSED(plan.threads = 33; plan.scope = GDAKI_SCOPE_WARP, "--threads 33");
    REFUSED(plan.sizes.count = 0, "--size");
    REFUSED(plan.sizes.size[1] = 0, "--size 0");
    REFUSED(plan.sizes.size[1] = PERF_SIZE_MAX + 1, "--size 1073741825");
    REFUSED(plan.iterations = 0, "--iterations 0");
    REFUSED(plan.span = 3000, "--span 3000");
    REFUSED(plan.span = 4096, "--size 65536 is beyond the buffer");
    REFUSED(plan.mtu = 1500, "--mtu 1500");
    REFUSED(plan.qp_timeout = 32, "--qp-timeout 32");
    REFUSED(plan.inline_max = 29, "--inline 29");
    REFUSED(plan.inline_max = 8; plan.test = PERF_GET_BW, "get-bw");
    REFUSED(plan.inline_max = 16; plan.sizes.size[0] = 12, "--size 12");
    REFUSED(plan.sharing = GDAKI_SHARING_EXCLUSIVE; plan.qps = 3, "--qps 3");
    REFUSED(plan.sharing = GDAKI_SHARING_CTA; plan.ctas = 4; plan.qps = 2, "--qps 2");
    REFUSED(plan.sharing = GDAKI_SHARING_EXCLUSIVE; plan.ctas = 4096; plan.threads = 1024, "4194304 queues");
    REFUSED(plan.window = 33, "--window 33");
    REFUSED(plan.test = PERF_PUT_LAT; plan.window = 2, "--window 2");
    REFUSED(plan.test = PERF_WRITE_LAT, "--threads 32");
    REFUSED(plan.test = PERF_WRITE_LAT; plan.threads = 1; plan.bidirectional = true, "--bidirectional");
    REFUSED(plan.test = PERF_WRITE_BW; plan.threads = 64; plan.depth = 32, "--threads 64");
    REFUSED(plan.test = PERF_SIGNAL_LAT; plan.threads = 1; plan.depth = 1, "--tx-depth 1");
    REFUSED(plan.test = 99, "test 99");
    REFUSED(plan.scope = 2, "--scope");
    REFUSED(plan.sharing = 3, "--sharing");
    REFUSED(plan.handler = 9, "--handler");
#undef REFUSED
}

static void a_plan_travels(void **state)
{
    struct perf_plan plan = good_plan(), other;
    uint8_t data[2048];
    struct oob_writer w = {.data = data, .size = sizeof(data), .ok = true};
    struct oob_reader r = {.data = data, .ok = true};
    char why[PARSE_WHY_SIZE];
    (void)state;

    plan.collapsed = true;
    plan.mtu = 2048;
    plan.qp_timeout = 31;
    plan.warmup = 3;
    plan.handler = PERF_HANDLER_CPU_PROXY;
    assert_int_equal(perf_plan_check(&plan, why), 0);
    perf_plan_write(&plan, &w);
    assert_true(w.ok);
    r.size = w.used;
    assert_int_equal(perf_plan_read(&other, &r, why), 0);
    assert_memory_equal(&plan.sizes, &other.sizes, sizeof(plan.sizes));
    assert_int_equal(other.handler, plan.handler);
    assert_int_equal(other.window, plan.window);
    assert_int_equal(other.qps, plan.qps);
    assert_int_equal(other.seed, plan.seed);
    assert_int_equal(other.qp_timeout, 31);
    assert_true(other.collapsed && other.verify && !other.bidirectional);
}

/* Any cut, and any single byte changed, is either a valid plan or refused; nothing else. */
static void corrupted_plans_do_no_harm(void **state)
{
    struct perf_plan plan = good_plan(), other;
    uint8_t data[2048];
    struct oob_writer w = {.data = data, .size = sizeof(data), .ok = true};
    struct oob_reader r;
    char why[PARSE_WHY_SIZE];
    (void)state;

    assert_int_equal(perf_plan_check(&plan, why), 0);
    perf_plan_write(&plan, &w);
    for (size_t cut = 0; cut < w.used; cut++) {
        r = (struct oob_reader){.data = data, .size = cut, .ok = true};
        assert_int_not_equal(perf_plan_read(&other, &r, why), 0);
    }
    for (size_t at = 0; at < w.used; at++) {
        for (int bit = 0; bit < 8; bit++) {
            data[at] ^= (uint8_t)(1 << bit);
            r = (struct oob_reader){.data = data, .size = w.used, .ok = true};
            if (!perf_plan_read(&other, &r, why))
                assert_int_equal(perf_plan_check(&other, why), 0);
            data[at] ^= (uint8_t)(1 << bit);
        }
    }
}

static void layouts(void **state)
{
    struct perf_plan plan = good_plan();
    struct perf_layout layout;
    (void)state;

    perf_layout_of(&plan, 8, &layout);
    assert_int_equal(layout.stride, 8);
    assert_int_equal(layout.slots, 8192);
    assert_int_equal(layout.span, 65536);
    perf_layout_of(&plan, 100, &layout);
    assert_int_equal(layout.stride, 128);
    assert_int_equal(layout.slots, 512);
    perf_layout_of(&plan, 1 << 20, &layout);
    assert_int_equal(layout.slots, 1);
    assert_int_equal(layout.span, 1 << 20);
    plan.span = 64 << 20;
    perf_layout_of(&plan, 65536, &layout);
    assert_int_equal(layout.slots, 1024);
    plan.test = PERF_WRITE_LAT;
    perf_layout_of(&plan, 8, &layout);
    assert_int_equal(layout.slots, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),     cmocka_unit_test(wrong_plans_are_refused),
        cmocka_unit_test(a_plan_travels),             cmocka_unit_test(corrupted_plans_do_no_harm),
        cmocka_unit_test(layouts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
