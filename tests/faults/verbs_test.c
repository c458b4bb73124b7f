/* SPDX-License-Identifier: Apache-2.0 */
/* Plans by environment and by call, through the exported functions alone: which one counts, and for how long. */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    struct rig r;
    struct rig_qp a, b;
    struct rig_address to_a, to_b;
};

static void open_pair(struct pair *p)
{
    memset(p, 0, sizeof(*p));
    rig_open(&p->r, 0);
    rig_qp_create(&p->a, &p->r);
    rig_qp_create(&p->b, &p->r);
    p->a.ack_timeout = p->b.ack_timeout = 10;
    p->a.retries = p->b.retries = 7;
    p->to_a = rig_address_of(&p->a);
    p->to_b = rig_address_of(&p->b);
    rig_connect(&p->a, &p->to_b);
    rig_connect(&p->b, &p->to_a);
}

static void close_pair(struct pair *p)
{
    rig_qp_destroy(&p->a);
    rig_qp_destroy(&p->b);
    rig_close(&p->r);
}

static void write_once(struct pair *p)
{
    p->r.data[0]++;
    rig_post_rdma(&p->a, RIG_WRITE, &p->to_b, 65536, 0, 64);
    assert_int_equal(rig_wait(&p->a, 60).syndrome, 0);
    assert_int_equal(p->r.data[65536], p->r.data[0]);
}

static struct softnic_fault_stats stats(void)
{
    struct softnic_fault_stats s;

    memset(&s, 0xff, sizeof(s));
    assert_int_equal(softnic_fault_stats(&s, sizeof(s)), sizeof(s));
    assert_int_equal(softnic_fault_stats(NULL, 0), sizeof(s));
    return s;
}

/* The order of the tests counts: after the first call the environment has no say in this process. */
static void test_environment(void **state)
{
    struct pair p;

    (void)state;
    setenv("SOFTNIC_FAULTS", "drop:nth=x", 1);
    assert_null(softnic_ibv_get_device_list(NULL));
    assert_int_equal(errno, EINVAL);
    assert_string_equal(softnic_last_error(),
                        "SOFTNIC_FAULTS: rule 1: nth=x: expected a number from 1 to 18446744073709551615");
    setenv("SOFTNIC_FAULTS", "drop:nth=1", 1);
    setenv("SOFTNIC_FAULT_SEED", "-1", 1);
    assert_null(softnic_ibv_get_device_list(NULL));
    setenv("SOFTNIC_FAULT_SEED", "5", 1);
    open_pair(&p);
    write_once(&p);
    assert_int_equal(stats().dropped, 1);
    assert_true(stats().packets_seen >= 2);
    close_pair(&p);
    assert_int_equal(stats().dropped, 1); /* still told when the port has gone */
    unsetenv("SOFTNIC_FAULTS");
    open_pair(&p);
    write_once(&p);
    assert_int_equal(stats().dropped, 1);
    close_pair(&p);
}

static void test_call(void **state)
{
    struct pair p;

    (void)state;
    setenv("SOFTNIC_FAULTS", "drop", 1); /* nothing would work */
    assert_int_equal(softnic_fault_set(NULL, 1), -EINVAL);
    assert_int_equal(softnic_fault_set("", 1), -EINVAL);
    assert_int_equal(softnic_fault_set("dup", 1), 0); /* before there is a device */
    open_pair(&p);
    write_once(&p);
    assert_true(stats().duplicated >= 2);
    assert_int_equal(stats().dropped, 0);
    assert_int_equal(softnic_fault_set("rnr:oops", 1), -EINVAL); /* changes nothing */
    uint64_t before = stats().duplicated;
    write_once(&p);
    assert_true(stats().duplicated > before);
    close_pair(&p);
    open_pair(&p); /* the call outlives the devices */
    write_once(&p);
    assert_true(stats().duplicated >= 2);
    assert_int_equal(softnic_fault_clear(), 0);
    before = stats().packets_seen;
    write_once(&p);
    assert_int_equal(stats().packets_seen, before); /* of the plan that has ended */
    assert_int_equal(stats().held, 0);
    close_pair(&p);
    open_pair(&p);
    write_once(&p); /* and the environment's "drop" has no say */
    close_pair(&p);
    unsetenv("SOFTNIC_FAULTS");
}

static void test_explain(void **state)
{
    struct pair p;
    char text[1024];

    (void)state;
    open_pair(&p);
    assert_true(softnic_explain_qp(p.r.context, p.a.qpn, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "state RTS"));
    assert_int_equal(softnic_explain_qp(p.r.context, p.a.qpn, NULL, 0), (int)strlen(text));
    assert_int_equal(softnic_explain_qp(p.r.context, p.a.qpn, NULL, 8), -EINVAL);
    assert_int_equal(softnic_explain_qp(p.r.context, p.a.qpn ^ 0x5555, text, sizeof(text)), -ENOENT);
    assert_int_equal(softnic_explain_qp(NULL, p.a.qpn, text, sizeof(text)), -EINVAL);
    assert_int_equal(softnic_fault_set("nak:code=op", 1), 0);
    rig_post_rdma(&p.a, RIG_WRITE, &p.to_b, 65536, 0, 64);
    assert_int_equal(rig_wait(&p.a, 60).syndrome, 0x14);
    assert_true(softnic_explain_qp(p.r.context, p.b.qpn, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "seen by the responder"));
    assert_int_equal(softnic_fault_clear(), 0);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_explain),
    };
    setenv("SOFTNIC_WIRE", "none", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
