/* SPDX-License-Identifier: Apache-2.0 */
/* State transitions: for every pair of states and every mask bit, what is allowed; and what the commands carry. */
#include "support.h"

#include <string.h>

#include "fake_nic.h"

#define M(name) DOCA_VERBS_QP_ATTR_##name

enum { RST, INIT, RTR, RTS, ERR, STATES };

struct fixture {
    doca_dev_t *dev;
    doca_verbs_cq_t *cq;
    doca_verbs_qp_t *qp;
    doca_verbs_qp_attr_t *attr;
    doca_verbs_ah_attr_t *ah;
} f;

static int setup(void **state)
{
    doca_verbs_cq_attr_t *cq_attr;
    doca_verbs_qp_init_attr_t *init;
    struct doca_verbs_gid gid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};

    (void)state;
    fake_nic_install();
    OK(doca_verbs_dev_open(&fake_pd, &f.dev));
    OK(doca_verbs_cq_attr_create(&cq_attr));
    OK(doca_verbs_cq_attr_set_cq_size(cq_attr, 16));
    OK(doca_verbs_cq_create(f.dev, cq_attr, &f.cq));
    OK(doca_verbs_cq_attr_destroy(cq_attr));
    OK(doca_verbs_qp_init_attr_create(&init));
    OK(doca_verbs_qp_init_attr_set_pd(init, f.dev));
    OK(doca_verbs_qp_init_attr_set_sq_wr(init, 16));
    OK(doca_verbs_qp_init_attr_set_send_max_sges(init, 1));
    OK(doca_verbs_qp_init_attr_set_send_cq(init, f.cq));
    OK(doca_verbs_qp_create(f.dev, init, &f.qp));
    OK(doca_verbs_qp_init_attr_destroy(init));
    OK(doca_verbs_ah_attr_create(f.dev, &f.ah));
    OK(doca_verbs_ah_attr_set_gid(f.ah, gid));
    OK(doca_verbs_ah_attr_set_addr_type(f.ah, DOCA_VERBS_ADDR_TYPE_IPv4));
    OK(doca_verbs_ah_attr_set_sgid_index(f.ah, 2));
    OK(doca_verbs_ah_attr_set_hop_limit(f.ah, 200));
    OK(doca_verbs_ah_attr_set_traffic_class(f.ah, 0xb8));
    OK(doca_verbs_qp_attr_create(&f.attr));
    OK(doca_verbs_qp_attr_set_port_num(f.attr, 1));
    OK(doca_verbs_qp_attr_set_path_mtu(f.attr, DOCA_VERBS_MTU_SIZE_1K_BYTES));
    OK(doca_verbs_qp_attr_set_ah_attr(f.attr, f.ah));
    OK(doca_verbs_qp_attr_set_max_rd_atomic(f.attr, 8));
    OK(doca_verbs_qp_attr_set_max_dest_rd_atomic(f.attr, 16));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(doca_verbs_qp_attr_destroy(f.attr));
    OK(doca_verbs_ah_attr_destroy(f.ah));
    OK(doca_verbs_qp_destroy(f.qp));
    OK(doca_verbs_cq_destroy(f.cq));
    OK(doca_verbs_dev_close(f.dev));
    assert_int_equal(fake_nic_alive(), 0);
    return 0;
}

struct rule {
    int from, to, required, optional;
    unsigned opcode;
};

/* The documented table, written down independently of the library's. */
static const struct rule rules[] = {
    {RST, INIT, M(PKEY_INDEX) | M(PORT_NUM) | M(ALLOW_REMOTE_WRITE) | M(ALLOW_REMOTE_READ), M(ATOMIC_MODE), 0x502},
    {INIT, INIT, 0, M(PKEY_INDEX) | M(PORT_NUM) | M(ALLOW_REMOTE_WRITE) | M(ALLOW_REMOTE_READ) | M(ATOMIC_MODE), 0x50e},
    {INIT, RTR, M(RQ_PSN) | M(DEST_QP_NUM) | M(PATH_MTU) | M(AH_ATTR) | M(MIN_RNR_TIMER),
     M(PKEY_INDEX) | M(ALLOW_REMOTE_WRITE) | M(ALLOW_REMOTE_READ) | M(MAX_DEST_RD_ATOMIC) | M(ATOMIC_MODE), 0x503},
    {RTR, RTS, M(SQ_PSN) | M(ACK_TIMEOUT) | M(RETRY_CNT) | M(RNR_RETRY),
     M(MIN_RNR_TIMER) | M(ALLOW_REMOTE_WRITE) | M(MAX_QP_RD_ATOMIC) | M(ATOMIC_MODE), 0x504},
    {RTS, RTS, 0, M(ALLOW_REMOTE_WRITE) | M(ALLOW_REMOTE_READ) | M(MIN_RNR_TIMER) | M(AH_ATTR) | M(ATOMIC_MODE), 0x505},
};

static const struct rule *rule_of(int from, int to)
{
    static const struct rule reset = {0, RST, 0, 0, 0x50a}, error = {0, ERR, 0, 0, 0x507};

    if (to == RST)
        return &reset;
    if (to == ERR)
        return &error;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].from == from && rules[i].to == to)
            return &rules[i];
    }
    return NULL;
}

static doca_error_t modify(int from, int to, int mask)
{
    OK(doca_verbs_qp_attr_set_current_state(f.attr, (enum doca_verbs_qp_state)from));
    OK(doca_verbs_qp_attr_set_next_state(f.attr, (enum doca_verbs_qp_state)to));
    return doca_verbs_qp_modify(f.qp, f.attr, mask | M(CURRENT_STATE) | M(NEXT_STATE));
}

static struct fake_object *device_qp(void)
{
    return fake.last; /* the QP was the last object made */
}

static void every_pair_and_bit(void **state)
{
    (void)state;
    for (int from = 0; from < STATES; from++) {
        for (int to = 0; to < STATES; to++) {
            const struct rule *r = rule_of(from, to);

            if (r == NULL) {
                INVALID(modify(from, to, 0));
                continue;
            }
            OK(modify(from, to, r->required));
            assert_int_equal(prm_get_cmd_in__opcode(device_qp()->modify), r->opcode);
            for (int bit = 0; bit < 20; bit++) {
                int one = 1 << bit;

                if (one == M(CURRENT_STATE) || one == M(NEXT_STATE))
                    continue;
                if (r->required & one)
                    INVALID(modify(from, to, r->required & ~one));
                else if (r->optional & one)
                    OK(modify(from, to, r->required | one));
                else
                    INVALID(modify(from, to, r->required | one));
            }
        }
    }
    INVALID(modify(5, INIT, 0));
    INVALID(modify(-1, RST, 0));
    INVALID(modify(RST, 7, 0));
}

/* Without CURRENT_STATE the state of the last success counts; a refused transition changes nothing. */
static void tracked_state(void **state)
{
    const struct rule *up = rule_of(RST, INIT);

    (void)state;
    OK(modify(RTS, RST, 0));
    OK(doca_verbs_qp_attr_set_next_state(f.attr, DOCA_VERBS_QP_STATE_RTS));
    INVALID(doca_verbs_qp_modify(f.qp, f.attr, M(NEXT_STATE)));
    OK(doca_verbs_qp_attr_set_next_state(f.attr, DOCA_VERBS_QP_STATE_INIT));
    fake.fail_at = fake.calls + 4; /* two queries of the device before: caps; then the command */
    while (doca_verbs_qp_modify(f.qp, f.attr, M(NEXT_STATE) | up->required) == DOCA_ERROR_DRIVER)
        fake.fail_at = 0;
    OK(doca_verbs_qp_modify(f.qp, f.attr, M(NEXT_STATE))); /* INIT to INIT */
    assert_int_equal(device_qp()->state, PRM_QP_INIT);
}

static void values(void **state)
{
    const struct rule *up = rule_of(RST, INIT), *rtr = rule_of(INIT, RTR);
    doca_verbs_qp_attr_t *bare;

    (void)state;
    OK(doca_verbs_qp_attr_set_port_num(f.attr, 2));
    INVALID(modify(RST, INIT, up->required));
    OK(doca_verbs_qp_attr_set_port_num(f.attr, 0));
    INVALID(modify(RST, INIT, up->required));
    OK(doca_verbs_qp_attr_set_port_num(f.attr, 1));
    OK(doca_verbs_qp_attr_set_pkey_index(f.attr, 129));
    INVALID(modify(RST, INIT, up->required));
    OK(doca_verbs_qp_attr_set_pkey_index(f.attr, 0));
    OK(doca_verbs_qp_attr_set_path_mtu(f.attr, DOCA_VERBS_MTU_SIZE_RAW_ETHERNET));
    INVALID(modify(INIT, RTR, rtr->required));
    OK(doca_verbs_qp_attr_set_path_mtu(f.attr, DOCA_VERBS_MTU_SIZE_4K_BYTES));
    OK(doca_verbs_qp_attr_set_dest_qp_num(f.attr, 0x1000000));
    INVALID(modify(INIT, RTR, rtr->required));
    OK(doca_verbs_qp_attr_set_dest_qp_num(f.attr, 0xffffff));
    OK(doca_verbs_ah_attr_set_sgid_index(f.ah, 4)); /* the attribute holds a copy: no effect until set again */
    OK(modify(INIT, RTR, rtr->required));
    OK(doca_verbs_qp_attr_set_ah_attr(f.attr, f.ah));
    INVALID(modify(INIT, RTR, rtr->required));
    /* AH_ATTR and the rd_atomic bits without a value */
    OK(doca_verbs_qp_attr_create(&bare));
    OK(doca_verbs_qp_attr_set_current_state(bare, DOCA_VERBS_QP_STATE_INIT));
    OK(doca_verbs_qp_attr_set_next_state(bare, DOCA_VERBS_QP_STATE_RTR));
    INVALID(doca_verbs_qp_modify(f.qp, bare, rtr->required | M(CURRENT_STATE) | M(NEXT_STATE)));
    OK(doca_verbs_qp_attr_set_ah_attr(bare, f.ah));
    INVALID(doca_verbs_qp_modify(f.qp, bare, rtr->required | M(MAX_DEST_RD_ATOMIC) | M(CURRENT_STATE) | M(NEXT_STATE)));
    OK(doca_verbs_qp_attr_destroy(bare));
}

/* What INIT2RTR and RTR2RTS carry on Ethernet. */
static void commands(void **state)
{
    const uint8_t *qpc = PRM_CAT(device_qp()->modify, qp_state_in, qpc);
    const uint8_t *path = PRM_CAT(qpc, qpc, primary_address_path);
    uint32_t opt, psn;

    (void)state;
    OK(doca_verbs_qp_attr_set_rq_psn(f.attr, 0xab123456));
    OK(doca_verbs_qp_attr_set_dest_qp_num(f.attr, 0x1234));
    OK(doca_verbs_qp_attr_set_min_rnr_timer(f.attr, 5));
    OK(modify(INIT, RTR, rule_of(INIT, RTR)->required | M(MAX_DEST_RD_ATOMIC)));
    psn = doca_verbs_qp_attr_get_rq_psn(f.attr);
    assert_int_equal(psn, 0x123456);
    assert_int_equal(prm_get_qpc__next_rcv_psn(qpc), 0x123456);
    assert_int_equal(prm_get_qpc__remote_qpn(qpc), 0x1234);
    assert_int_equal(prm_get_qpc__mtu(qpc), 3);
    assert_int_equal(prm_get_qpc__log_msg_max(qpc), 30);
    assert_int_equal(prm_get_qpc__min_rnr_nak(qpc), 5);
    assert_int_equal(prm_get_qpc__log_rra_max(qpc), 4);
    assert_int_equal(prm_get_ads__rmac_47_32(path), 0x0200);
    assert_int_equal(prm_get_ads__rmac_31_0(path), 0x00010203);
    assert_int_equal(prm_get_ads__src_addr_index(path), 2);
    assert_int_equal(prm_get_ads__hop_limit(path), 200);
    assert_int_equal(prm_get_ads__dscp(path), 0xb8 >> 2);
    assert_true(prm_get_ads__udp_sport(path) >= 0xc000);
    assert_int_equal(prm_get_ads__grh(path), 0);
    opt = (uint32_t)prm_get_qp_state_in__opt_param_mask(device_qp()->modify);
    assert_int_equal(opt, 0);
    OK(doca_verbs_qp_attr_set_ack_timeout(f.attr, 14));
    OK(doca_verbs_qp_attr_set_retry_cnt(f.attr, 7));
    OK(doca_verbs_qp_attr_set_rnr_retry(f.attr, 6));
    OK(doca_verbs_qp_attr_set_sq_psn(f.attr, 0x777));
    OK(modify(RTR, RTS, rule_of(RTR, RTS)->required | M(MAX_QP_RD_ATOMIC) | M(MIN_RNR_TIMER)));
    assert_int_equal(prm_get_ads__ack_timeout(path), 14);
    assert_int_equal(prm_get_qpc__retry_count(qpc), 7);
    assert_int_equal(prm_get_qpc__rnr_retry(qpc), 6);
    assert_int_equal(prm_get_qpc__next_send_psn(qpc), 0x777);
    assert_int_equal(prm_get_qpc__log_sra_max(qpc), 3);
    opt = (uint32_t)prm_get_qp_state_in__opt_param_mask(device_qp()->modify);
    assert_int_equal(opt, PRM_OPT_MIN_RNR_NAK);
}

/* 3.0's setter needs the mask bit, 2.0's does not; permissions count only with theirs. */
static void access_rights(void **state)
{
    const uint8_t *in = device_qp()->modify, *qpc = PRM_CAT(in, qp_state_in, qpc);
    int rts = 0;

    (void)state;
    OK(doca_verbs_qp_attr_set_allow_remote_write(f.attr, 1));
    OK(doca_verbs_qp_attr_set_allow_remote_read(f.attr, 1));
    OK(doca_verbs_qp_attr_set_atomic_mode(f.attr, DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES));
    OK(modify(RTS, RTS, rts));
    assert_int_equal(prm_get_qpc__rwe(qpc), 0);
    assert_int_equal(prm_get_qpc__rae(qpc), 0);
    assert_int_equal(prm_get_qp_state_in__opt_param_mask(in), 0);
    OK(modify(RTS, RTS, M(ALLOW_REMOTE_WRITE) | M(ATOMIC_MODE)));
    assert_int_equal(prm_get_qpc__rwe(qpc), 1);
    assert_int_equal(prm_get_qpc__rre(qpc), 0);
    assert_int_equal(prm_get_qpc__rae(qpc), 1);
    assert_int_equal(prm_get_qpc__atomic_mode(qpc), 3);
    assert_int_equal(prm_get_qp_state_in__opt_param_mask(in), PRM_OPT_RWE | PRM_OPT_RAE);
    OK(doca_verbs_qp_attr_set_allow_remote_atomic(f.attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC));
    OK(modify(RTS, RTS, rts));
    assert_int_equal(prm_get_qpc__atomic_mode(qpc), 1);
    assert_int_equal(prm_get_qp_state_in__opt_param_mask(in), PRM_OPT_RAE);
}

static void query(void **state)
{
    doca_verbs_qp_init_attr_t *init;
    enum doca_verbs_qp_state current;

    (void)state;
    OK(doca_verbs_qp_init_attr_create(&init));
    OK(doca_verbs_qp_attr_set_dest_qp_num(f.attr, 0x4242));
    OK(modify(INIT, RTR, rule_of(INIT, RTR)->required | M(MAX_DEST_RD_ATOMIC)));
    fake.query_mtu = 5;
    OK(doca_verbs_qp_query(f.qp, f.attr, init, NULL));
    OK(doca_verbs_qp_attr_get_current_state(f.attr, &current));
    assert_int_equal(current, DOCA_VERBS_QP_STATE_RTR);
    assert_int_equal(doca_verbs_qp_attr_get_next_state(f.attr), DOCA_VERBS_QP_STATE_RTR);
    assert_int_equal(doca_verbs_qp_attr_get_dest_qp_num(f.attr), 0x4242);
    assert_int_equal(doca_verbs_qp_attr_get_path_mtu(f.attr), DOCA_VERBS_MTU_SIZE_4K_BYTES);
    assert_int_equal(doca_verbs_qp_init_attr_get_sq_wr(init), 16);
    assert_ptr_equal(doca_verbs_qp_init_attr_get_send_cq(init), f.cq);
    assert_ptr_equal(doca_verbs_qp_init_attr_get_pd(init), &fake_pd);
    assert_int_equal(doca_verbs_ah_get_hop_limit(doca_verbs_qp_attr_get_ah_attr(f.attr)), 200);
    fake.query_mtu = 7;
    OK(doca_verbs_qp_query(f.qp, f.attr, init, NULL));
    assert_int_equal(doca_verbs_qp_attr_get_path_mtu(f.attr), DOCA_VERBS_MTU_SIZE_RAW_ETHERNET);
    fake.query_mtu = 6;
    FAILS(doca_verbs_qp_query(f.qp, f.attr, init, NULL), DOCA_ERROR_UNEXPECTED);
    fake.query_mtu = 1;
    device_qp()->state = PRM_QP_SQD;
    FAILS(doca_verbs_qp_query(f.qp, f.attr, init, NULL), DOCA_ERROR_UNEXPECTED);
    device_qp()->state = PRM_QP_ERR;
    OK(doca_verbs_qp_query(f.qp, f.attr, init, NULL));
    OK(doca_verbs_qp_attr_get_current_state(f.attr, &current));
    assert_int_equal(current, DOCA_VERBS_QP_STATE_ERR);
    OK(doca_verbs_qp_init_attr_destroy(init));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_pair_and_bit, setup, teardown),
        cmocka_unit_test_setup_teardown(tracked_state, setup, teardown),
        cmocka_unit_test_setup_teardown(values, setup, teardown),
        cmocka_unit_test_setup_teardown(commands, setup, teardown),
        cmocka_unit_test_setup_teardown(access_rights, setup, teardown),
        cmocka_unit_test_setup_teardown(query, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
