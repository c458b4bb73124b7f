/* SPDX-License-Identifier: Apache-2.0 */
/* The language of fault plans: what is understood, and what is refused with the rule and value at fault. */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"
#include "softnic/fault/plan.h"

static int parse(const char *text, struct sn_fault_plan *plan, char *why, size_t size)
{
    /* Without a terminator, in memory of its own: a parser that reads too far is seen. */
    size_t length = strlen(text);
    char *copy = malloc(length == 0 ? 1 : length);
    int rc;

    assert_non_null(copy);
    memcpy(copy, text, length);
    rc = sn_fault_parse(copy, length, plan, why, size);
    free(copy);
    return rc;
}

static struct sn_fault_rule only(const char *text)
{
    struct sn_fault_plan plan;
    char why[256] = "";

    if (parse(text, &plan, why, sizeof(why)) != 0)
        fail_msg("%s: %s", text, why);
    assert_int_equal(plan.count, 1);
    return plan.rule[0];
}

static void test_defaults(void **state)
{
    (void)state;
    for (int a = 0; a < SN_INJECT_COUNT; a++) {
        const char *name = sn_inject_name((enum sn_inject)a);
        bool needs = a == SN_INJECT_DELAY || a == SN_INJECT_DOORBELL_DELAYED || a == SN_INJECT_NAK;
        char text[64], why[256];
        struct sn_fault_plan plan;
        assert_non_null(name);
        snprintf(text, sizeof(text), "%s%s", name, !needs ? "" : a == SN_INJECT_NAK ? ":code=op" : ":us=7");
        struct sn_fault_rule r = only(text);
        assert_int_equal(r.action, a);
        assert_true(r.threshold == UINT64_MAX && r.from_ns == 0 && r.until_ns == UINT64_MAX && r.nth == 0);
        assert_true(r.limit == (a == SN_INJECT_RETRY_EXCEEDED ? 1 : UINT64_MAX));
        if (needs)
            assert_int_equal(parse(name, &plan, why, sizeof(why)), -EINVAL);
    }
    assert_null(sn_inject_name(SN_INJECT_COUNT));
}

static void test_keys(void **state)
{
    struct sn_fault_rule r;

    (void)state;
    r = only("drop:rate=0.01,kind=write,part=last,qpn=0x1ff,dir=rx,count=5,at=10ms,for=5us");
    assert_true(r.threshold / 184467440737095516u == 1); /* 2^64 / 100 */
    assert_int_equal(r.kinds, 1u << SN_KIND_WRITE);
    assert_int_equal(r.part, SN_PART_LAST);
    assert_true(r.has_qpn && r.qpn == 0x1ff && r.incoming && r.limit == 5);
    assert_true(r.from_ns == 10000000 && r.until_ns == 10005000);
    r = only("dup:kind=atomic,nth=3");
    assert_true(r.nth == 3 && r.limit == 1 && r.every == 0);
    r = only("dup:every=4");
    assert_true(r.nth == 4 && r.every == 4 && r.limit == UINT64_MAX);
    r = only("drop:nth=2,count=3");
    assert_true(r.nth == 2 && r.limit == 3);
    r = only("delay:us=500");
    assert_true(r.hold_ns == 500000);
    r = only("delay:by=1s");
    assert_true(r.hold_ns == 1000000000);
    r = only("reorder:gap=3,hold=7ns");
    assert_true(r.gap == 3 && r.hold_ns == 7);
    r = only("lose-response:kind=atomic,nth=1");
    assert_int_equal(r.kinds, 1u << SN_KIND_ATOMIC_ACK);
    r = only("lose-response");
    assert_int_equal(r.kinds, 1u << SN_KIND_ATOMIC_ACK | 1u << SN_KIND_READ_RESPONSE | 1u << SN_KIND_ACK);
    r = only("nak:code=access,nth=3");
    assert_int_equal(r.code, SN_AETH_NAK_ACCESS);
    r = only("rnr:timer=0");
    assert_int_equal(r.code, 0);
    r = only("rnr");
    assert_int_equal(r.code, SN_FAULT_RNR_OF_QP);
    r = only("link-down:at=10ms,for=5ms");
    assert_true(r.nth == 0 && r.from_ns == 10000000 && r.until_ns == 15000000);
    r = only("link-down:nth=5,for=20ms");
    assert_true(r.nth == 5 && r.down_ns == 20000000 && r.until_ns == UINT64_MAX);
    r = only("drop:rate=1.000000000");
    assert_true(r.threshold == UINT64_MAX);
}

static void test_several_rules(void **state)
{
    struct sn_fault_plan plan;
    char why[256], text[1024];
    size_t used = 0;

    (void)state;
    assert_int_equal(parse("drop:rate=0.5;dup;cq-overrun:nth=9", &plan, why, sizeof(why)), 0);
    assert_int_equal(plan.count, 3);
    assert_int_equal(plan.rule[2].action, SN_INJECT_CQ_OVERRUN);
    for (int i = 0; i < SN_FAULT_RULES; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%sdup", i == 0 ? "" : ";");
    assert_int_equal(parse(text, &plan, why, sizeof(why)), 0);
    assert_int_equal(plan.count, SN_FAULT_RULES);
    strcat(text, ";dup");
    assert_int_equal(parse(text, &plan, why, sizeof(why)), -EINVAL);
    assert_non_null(strstr(why, "more than 32 rules"));
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "empty fault plan"},
        {";", "rule 1: an empty rule"},
        {"drop;", "rule 2: an empty rule"},
        {"dropp", "no action is called 'dropp'"},
        {"Drop", "no action"},
        {" drop", "no action"},
        {"drop:", "nothing behind 'drop:'"},
        {"drop:nth=1,", "nothing behind the last comma"},
        {"drop:,nth=1", "has no key ''"},
        {"dup;drop:speed=1", "rule 2: drop has no key 'speed'"},
        {"drop:nth", "nth has no value"},
        {"drop:nth=", "nth has no value"},
        {"drop:nth=0", "nth=0: expected a number from 1"},
        {"drop:nth=-1", "expected a number"},
        {"drop:nth=1x", "expected a number"},
        {"drop:nth=99999999999999999999", "expected a number"},
        {"drop:nth=1,nth=2", "nth is there twice"},
        {"drop:nth=1=2", "expected a number"},
        {"drop:rate=0", "rate=0: expected a fraction above 0, up to 1"},
        {"drop:rate=1.5", "expected a fraction"},
        {"drop:rate=.5", "expected a fraction"},
        {"drop:rate=0.", "expected a fraction"},
        {"drop:rate=0.1234567890", "expected a fraction"},
        {"drop:rate=1e-3", "expected a fraction"},
        {"drop:rate=0.1,nth=2", "rate beside nth or every"},
        {"drop:rate=0.1,every=2", "rate beside nth or every"},
        {"drop:kind=writes", "kind=writes: expected one of any, request"},
        {"drop:part=end", "expected one of any, first"},
        {"drop:dir=up", "expected one of tx, rx"},
        {"drop:qpn=0x1000000", "expected a number from 1 to 16777215"},
        {"drop:qpn=0x", "expected a number"},
        {"drop:qpn=0xG", "expected a number"},
        {"drop:at=10", "expected a time with its unit"},
        {"drop:at=10min", "expected a time with its unit"},
        {"drop:for=3601s", "one hour at most"},
        {"delay", "delay needs by=TIME or us=NUMBER"},
        {"delay:us=1,by=1us", "both say how long"},
        {"doorbell-delayed:nth=1", "needs by=TIME"},
        {"nak", "nak needs code="},
        {"nak:code=7", "expected one of sequence, invalid, access, op"},
        {"nak:code=op,dir=rx", "nak has no key 'dir'"},
        {"rnr:timer=32", "expected a number from 0 to 31"},
        {"rnr:kind=ack", "rnr is about requests"},
        {"lose-response:kind=ack", "is about requests"},
        {"link-down:at=1ms,nth=2", "at a time or at the nth packet, not both"},
        {"link-down:rate=0.5", "has no key 'rate'"},
        {"cq-overrun:kind=write", "cq-overrun has no key 'kind'"},
        {"doorbell-lost:gap=2", "doorbell-lost has no key 'gap'"},
        {"reorder:gap=0", "expected a number from 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sn_fault_plan plan, before;
        char why[256] = "";
        memset(&plan, 0x5a, sizeof(plan));
        before = plan;
        if (parse(rows[i].text, &plan, why, sizeof(why)) != -EINVAL)
            fail_msg("'%s' was taken", rows[i].text);
        if (strstr(why, rows[i].says) == NULL)
            fail_msg("'%s': '%s' does not say '%s'", rows[i].text, why, rows[i].says);
        assert_memory_equal(&plan, &before, sizeof(plan));
        assert_int_equal(parse(rows[i].text, &plan, NULL, 0), -EINVAL);
    }
}

static void test_too_long(void **state)
{
    struct sn_fault_plan plan;
    char why[256], text[SN_FAULT_TEXT_MAX + 2];

    (void)state;
    memset(text, ';', sizeof(text));
    assert_int_equal(sn_fault_parse(text, sizeof(text), &plan, why, sizeof(why)), -EINVAL);
    assert_non_null(strstr(why, "4096 at most"));
}

/* Every cut of good plans, and seeded changes of single bytes: taken or refused, never more. */
static void test_mutations(void **state)
{
    static const char good[] = "drop:rate=0.01,kind=data,part=first;delay:us=500,rate=0.1;nak:code=access,nth=3;"
                               "link-down:at=10ms,for=5ms;reorder:gap=2,hold=1ms,qpn=0x10203";
    uint64_t x = 88172645463325252ull;
    char why[32]; /* short: messages are cut, not overrun */
    unsigned taken = 0, refused = 0;

    (void)state;
    for (size_t n = 0; n < sizeof(good); n++) {
        struct sn_fault_plan plan;
        char cut[sizeof(good)];
        snprintf(cut, n + 1, "%s", good);
        (void)parse(cut, &plan, why, sizeof(why));
    }
    for (int i = 0; i < 20000; i++) {
        struct sn_fault_plan plan;
        char text[sizeof(good)];
        memcpy(text, good, sizeof(good));
        for (int k = 0; k < 1 + i % 3; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            text[x % (sizeof(good) - 1)] = (char)((x >> 32) % 255 + 1);
        }
        if (parse(text, &plan, why, sizeof(why)) == 0) {
            assert_in_range(plan.count, 1, SN_FAULT_RULES);
            for (uint32_t r = 0; r < plan.count; r++)
                assert_in_range(plan.rule[r].action, 0, SN_INJECT_COUNT - 1);
            taken++;
        } else {
            refused++;
        }
    }
    assert_true(taken != 0 && refused != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_keys),     cmocka_unit_test(test_several_rules),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_too_long), cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
