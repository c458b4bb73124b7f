/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers, command by command: a valid mailbox passes, and each single change to it gets its own refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/prm.h"
#include "softnic/prm/parse.h"

enum base { CQ, QP, RMP, INIT, INIT2, RTR, RTS, RTS2, ERR, RST, QUERY, CAP, ROCE };

static size_t build(enum base base, uint8_t *in)
{
    memset(in, 0, 512);
    uint8_t *qpc = PRM_AT(in, qp_state_in, qpc), *ads = PRM_AT(qpc, qpc, primary_address_path);
    switch (base) {
    case CQ:
        prm_set_cmd_in__opcode(in, PRM_OP_CREATE_CQ);
        prm_set_create_cq_in__cq_umem_valid(in, 1);
        prm_set_create_cq_in__cq_umem_id(in, 7);
        prm_set_cqc__log_cq_size(PRM_AT(in, create_cq_in, cq_context), 4);
        prm_set_cqc__dbr_umem_valid(PRM_AT(in, create_cq_in, cq_context), 1);
        return PRM_SIZE_create_cq_in;
    case QP:
        prm_set_cmd_in__opcode(in, PRM_OP_CREATE_QP);
        prm_set_create_qp_in__wq_umem_valid(in, 1);
        prm_set_qpc__rq_type(qpc, PRM_RQ_TYPE_ZERO);
        prm_set_qpc__dbr_umem_valid(qpc, 1);
        prm_set_qpc__log_sq_size(qpc, 5);
        return PRM_SIZE_create_qp_in;
    case RMP: {
        uint8_t *ctx = PRM_AT(in, create_rmp_in, ctx), *wq = PRM_AT(ctx, rmpc, wq);
        prm_set_cmd_in__opcode(in, PRM_OP_CREATE_RMP);
        prm_set_rmpc__state(ctx, 1);
        prm_set_wq__log_wq_stride(wq, 6);
        prm_set_wq__log_wq_sz(wq, 4);
        prm_set_wq__end_padding_mode(wq, 1);
        prm_set_wq__wq_umem_valid(wq, 1);
        prm_set_wq__dbr_umem_valid(wq, 1);
        return PRM_SIZE_create_rmp_in;
    }
    case INIT:
        prm_set_cmd_in__opcode(in, PRM_OP_RST2INIT_QP);
        prm_set_qpc__pm_state(qpc, 3);
        prm_set_ads__vhca_port_num(ads, 1);
        return PRM_SIZE_qp_state_in;
    case INIT2:
        prm_set_cmd_in__opcode(in, PRM_OP_INIT2INIT_QP);
        return PRM_SIZE_qp_state_long_in;
    case RTR:
        prm_set_cmd_in__opcode(in, PRM_OP_INIT2RTR_QP);
        prm_set_qpc__mtu(qpc, 3);
        prm_set_qpc__log_msg_max(qpc, 30);
        memset(PRM_AT(ads, ads, rgid_rip), 0xfe, 16);
        return PRM_SIZE_qp_state_in;
    case RTS:
        prm_set_cmd_in__opcode(in, PRM_OP_RTR2RTS_QP);
        return PRM_SIZE_qp_state_in;
    case RTS2:
        prm_set_cmd_in__opcode(in, PRM_OP_RTS2RTS_QP);
        return PRM_SIZE_qp_state_long_in;
    case ERR:
    case RST:
        prm_set_cmd_in__opcode(in, base == ERR ? PRM_OP_2ERR_QP : PRM_OP_2RST_QP);
        return 16;
    case QUERY:
        prm_set_cmd_in__opcode(in, PRM_OP_QUERY_QP);
        return 16;
    case CAP:
        prm_set_cmd_in__opcode(in, PRM_OP_QUERY_HCA_CAP);
        prm_set_query_hca_cap_in__op_mod(in, 1);
        return 16;
    case ROCE:
        prm_set_cmd_in__opcode(in, PRM_OP_QUERY_ROCE_ADDRESS);
        return 16;
    }
    return 0;
}

static int parse(enum base base, const uint8_t *in, size_t size, struct prm_call *call)
{
    union {
        struct prm_cq_args cq;
        struct prm_qp_args qp;
        struct prm_rmp_args rmp;
        struct prm_state_args state;
    } a;
    uint32_t number;
    unsigned value;
    bool current;
    *call = (struct prm_call){.opcode = prm_opcode(in, size)};
    switch (base) {
    case CQ:
        return prm_parse_create_cq(in, size, &a.cq, call);
    case QP:
        return prm_parse_create_qp(in, size, &a.qp, call);
    case RMP:
        return prm_parse_create_rmp(in, size, &a.rmp, call);
    case QUERY:
        return prm_parse_query(in, size, &number, call);
    case CAP:
        return prm_parse_query_hca_cap(in, size, &value, &current, call);
    case ROCE:
        return prm_parse_query_roce_address(in, size, &value, call);
    default:
        return prm_parse_state(in, size, &a.state, call);
    }
}

static const enum base all[] = {CQ, QP, RMP, INIT, INIT2, RTR, RTS, RTS2, ERR, RST, QUERY, CAP, ROCE};

static void valid_mailboxes_pass(void **state)
{
    (void)state;
    uint8_t in[512];
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct prm_call call;
        size_t size = build(all[i], in);
        if (parse(all[i], in, size, &call))
            fail_msg("%s", call.text);
        assert_int_equal(call.status, 0);
    }
}

/* What every command has in common: length, op_mod, and the last byte of the mailbox, which no command uses. */
static void common_refusals(void **state)
{
    (void)state;
    uint8_t in[512];
    struct prm_call call;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        size_t size = build(all[i], in);
        assert_int_equal(parse(all[i], in, 15, &call), -EREMOTEIO);
        assert_int_equal(call.status, PRM_STATUS_BAD_INPUT_LEN);
        assert_int_equal(call.syndrome & 0xff, PRM_WHY_INPUT_LENGTH);
        if (all[i] != CAP) {
            prm_set_cmd_in__op_mod(in, 5);
            assert_int_equal(parse(all[i], in, size, &call), -EREMOTEIO);
            assert_int_equal(call.syndrome & 0xff, PRM_WHY_VALUE);
            assert_non_null(strstr(call.text, "op_mod = 5"));
            prm_set_cmd_in__op_mod(in, 0);
        }
        in[size - 1] |= 0x40;
        if (size > 16) { /* in the 16-byte ones the last byte may belong to a field */
            assert_int_equal(parse(all[i], in, size, &call), -EREMOTEIO);
            assert_int_equal(call.syndrome & 0xff, PRM_WHY_RESERVED);
        }
        assert_int_equal(call.syndrome >> 8 & 0xffff, prm_opcode(in, size));
        assert_int_equal(call.syndrome >> 24, 0x5f);
    }
}

#define QPC(field, value)                                                                                              \
    {                                                                                                                  \
        PRM_AT_create_qp_in__qpc * 8 + PRM_qpc__##field##__BIT, PRM_qpc__##field##__WIDTH, value                       \
    }
#define ADS(field, value)                                                                                              \
    {                                                                                                                  \
        (PRM_AT_create_qp_in__qpc + PRM_AT_qpc__primary_address_path) * 8 + PRM_ads__##field##__BIT,                   \
            PRM_ads__##field##__WIDTH, value                                                                           \
    }
#define CQC(field, value)                                                                                              \
    {                                                                                                                  \
        PRM_AT_create_cq_in__cq_context * 8 + PRM_cqc__##field##__BIT, PRM_cqc__##field##__WIDTH, value                \
    }
#define RMPC(field, value)                                                                                             \
    {                                                                                                                  \
        PRM_AT_create_rmp_in__ctx * 8 + PRM_rmpc__##field##__BIT, PRM_rmpc__##field##__WIDTH, value                    \
    }
#define WQ(field, value)                                                                                               \
    {                                                                                                                  \
        (PRM_AT_create_rmp_in__ctx + PRM_AT_rmpc__wq) * 8 + PRM_wq__##field##__BIT, PRM_wq__##field##__WIDTH, value    \
    }
#define TOP(s, field, value)                                                                                           \
    {                                                                                                                  \
        PRM_##s##__##field##__BIT, PRM_##s##__##field##__WIDTH, value                                                  \
    }

struct change {
    unsigned bit, width;
    uint64_t value;
};

static const struct {
    enum base base;
    struct change change;
    enum prm_reason why; /* 0: accepted */
    const char *names;   /* must be in the text */
} changes[] = {
    {CQ, CQC(cqe_sz, 1), 0, NULL},
    {CQ, CQC(cqe_sz, 2), PRM_WHY_VALUE, "cqe_sz = 2"},
    {CQ, CQC(log_cq_size, 23), PRM_WHY_RANGE, "log_cq_size = 23"},
    {CQ, CQC(page_offset, 1), PRM_WHY_VALUE, "page_offset = 1"},
    {CQ, CQC(dbr_umem_valid, 0), PRM_WHY_VALUE, "dbr_umem_valid = 0"},
    {CQ, CQC(dbr_addr, 2), PRM_WHY_ALIGNMENT, "dbr_addr = 0x2"},
    {CQ, CQC(cc, 1), 0, NULL},
    {CQ, CQC(log_page_size, 3), 0, NULL},
    {CQ, TOP(create_cq_in, cq_umem_valid, 0), PRM_WHY_VALUE, "cq_umem_valid = 0"},
    {CQ, {PRM_AT_create_cq_in__cq_context * 8, 4, 1}, PRM_WHY_RESERVED, "byte 0x10"},
    {QP, QPC(st, 1), 0, NULL},
    {QP, QPC(st, 2), 0, NULL},
    {QP, QPC(q_key, 5), PRM_WHY_VALUE, "q_key = 5"},
    {QP, QPC(dc_access_key, 9), PRM_WHY_VALUE, "dc_access_key = 9"},
    {QP, QPC(st, 3), PRM_WHY_VALUE, "st = 3"},
    {QP, QPC(st, 5), 0, NULL},
    {QP, QPC(st, 6), PRM_WHY_VALUE, "st = 6"},
    {QP, QPC(state, 3), PRM_WHY_VALUE, "state = 3"},
    {QP, QPC(send_dbr_mode, 1), 0, NULL},
    {QP, QPC(send_dbr_mode, 2), PRM_WHY_VALUE, "send_dbr_mode = 2"},
    {QP, QPC(rq_type, 2), PRM_WHY_VALUE, "rq_type = 2"},
    {QP, QPC(rq_type, 1), 0, NULL},
    {QP, QPC(dbr_umem_valid, 0), PRM_WHY_VALUE, "dbr_umem_valid = 0"},
    {QP, QPC(dbr_addr, 6), PRM_WHY_ALIGNMENT, "dbr_addr = 0x6"},
    {QP, QPC(no_sq, 1), 0, NULL},
    {QP, QPC(next_rcv_psn, 1), 0, NULL}, /* what a 64-bit store to cd_master really sets */
    {QP, QPC(cd_master, 1), 0, NULL},
    {QP, TOP(create_qp_in, wq_umem_valid, 0), PRM_WHY_VALUE, "wq_umem_valid = 0"},
    {QP, {PRM_AT_create_qp_in__qpc * 8 + 0x10, 1, 1}, PRM_WHY_RESERVED, "byte 0x1a"},
    {RMP, RMPC(state, 0), PRM_WHY_VALUE, "state = 0"},
    {RMP, RMPC(basic_cyclic_rcv_wqe, 1), PRM_WHY_VALUE, "basic_cyclic_rcv_wqe = 1"},
    {RMP, WQ(wq_type, 2), PRM_WHY_VALUE, "wq_type = 2"},
    {RMP, WQ(log_wq_sz, 16), PRM_WHY_RANGE, "log_wq_sz = 16"},
    {RMP, WQ(log_wq_stride, 3), PRM_WHY_RANGE, "log_wq_stride = 3"},
    {RMP, WQ(end_padding_mode, 2), PRM_WHY_VALUE, "end_padding_mode = 2"},
    {RMP, WQ(wq_umem_valid, 0), PRM_WHY_VALUE, "wq_umem_valid = 0"},
    {RMP, WQ(dbr_umem_valid, 0), PRM_WHY_VALUE, "dbr_umem_valid = 0"},
    {INIT, QPC(q_key, 7), PRM_WHY_VALUE, "q_key = 7"},
    {INIT, QPC(dc_access_key, 0x5623ceaf), PRM_WHY_VALUE, "dc_access_key = 0x5623ceaf"},
    {INIT, QPC(pm_state, 0), PRM_WHY_VALUE, "pm_state = 0"},
    {INIT, ADS(vhca_port_num, 2), PRM_WHY_VALUE, "vhca_port_num = 2"},
    {INIT, ADS(pkey_index, 1), PRM_WHY_VALUE, "pkey_index = 1"},
    {INIT, QPC(rwe, 1), 0, NULL},
    {INIT, QPC(rae, 1), PRM_WHY_VALUE, "atomic_mode = 0"},
    {INIT, TOP(qp_state_in, opt_param_mask, PRM_OPT_RWE), PRM_WHY_VALUE, "opt_param_mask"},
    {INIT2, TOP(qp_state_in, opt_param_mask, PRM_OPT_RWE | PRM_OPT_RRE | PRM_OPT_PKEY_INDEX), 0, NULL},
    {INIT2, TOP(qp_state_in, opt_param_mask, PRM_OPT_PRI_PORT), PRM_WHY_VALUE, "vhca_port_num = 0"},
    {INIT2, TOP(qp_state_in, opt_param_mask, PRM_OPT_MIN_RNR_NAK), PRM_WHY_VALUE, "opt_param_mask"},
    {INIT2, ADS(vhca_port_num, 9), 0, NULL}, /* not named by the mask: not looked at */
    {RTR, QPC(mtu, 0), PRM_WHY_VALUE, "mtu = 0"},
    {RTR, QPC(mtu, 6), PRM_WHY_VALUE, "mtu = 6"},
    {RTR, QPC(log_msg_max, 31), PRM_WHY_VALUE, "log_msg_max = 31"},
    {RTR, QPC(log_rra_max, 5), PRM_WHY_VALUE, "log_rra_max = 5"},
    {RTR, TOP(qp_state_in, opt_param_mask, PRM_OPT_RAE), 0, NULL},
    {RTR, TOP(qp_state_in, opt_param_mask, PRM_OPT_DSCP), PRM_WHY_VALUE, "opt_param_mask"},
    {RTR, ADS(udp_sport, 0xc000), 0, NULL},
    {RTS, QPC(log_sra_max, 5), PRM_WHY_VALUE, "log_sra_max = 5"},
    {RTS, TOP(qp_state_in, opt_param_mask, PRM_OPT_MIN_RNR_NAK), 0, NULL},
    {RTS, TOP(qp_state_in, opt_param_mask, PRM_OPT_PKEY_INDEX), PRM_WHY_VALUE, "opt_param_mask"},
    {RTS2, TOP(qp_state_in, opt_param_mask, PRM_OPT_DSCP | PRM_OPT_SGID_INDEX), 0, NULL},
    {RTS2, TOP(qp_state_in, opt_param_mask, 1u << 31), PRM_WHY_VALUE, "opt_param_mask"},
    {ERR, TOP(qp_2any_in, qpn, 0x123), 0, NULL},
    {QUERY, {0x60, 8, 1}, PRM_WHY_RESERVED, "byte 0xc"},
    {CAP, TOP(query_hca_cap_in, op_mod, PRM_CAP_ROCE << 1 | 1), 0, NULL},
    {CAP, TOP(query_hca_cap_in, op_mod, PRM_CAP_GENERAL_2 << 1), 0, NULL},
    {CAP, TOP(query_hca_cap_in, op_mod, PRM_CAP_ATOMIC << 1 | 1), 0, NULL},
    {CAP, TOP(query_hca_cap_in, op_mod, 0x5 << 1 | 1), 0, NULL},
    {CAP, TOP(query_hca_cap_in, op_mod, 0x40 << 1 | 1), PRM_WHY_VALUE, "page 0x40"},
};

static void one_change_one_verdict(void **state)
{
    (void)state;
    uint8_t in[512];
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct prm_call call;
        size_t size = build(changes[i].base, in);
        prm_set_bits(in, changes[i].change.bit, changes[i].change.width, changes[i].change.value);
        int rc = parse(changes[i].base, in, size, &call);
        if (!changes[i].why) {
            if (rc)
                fail_msg("row %zu: refused: %s", i, call.text);
            continue;
        }
        if (!rc || (call.syndrome & 0xff) != changes[i].why || !strstr(call.text, changes[i].names) || !call.status)
            fail_msg("row %zu: rc %d, syndrome 0x%x, text '%s', expected '%s'", i, rc, call.syndrome, call.text,
                     changes[i].names);
    }
}

/* The state commands hand on what the mask says, and nothing else. */
static void parameters_and_masks(void **state)
{
    (void)state;
    uint8_t in[512];
    struct prm_state_args a;
    struct prm_call call = {.opcode = PRM_OP_RTS2RTS_QP};
    size_t size = build(RTS2, in);
    prm_set_qp_state_in__qpn(in, 0x0abcde);
    prm_set_qp_state_in__opt_param_mask(in, PRM_OPT_RWE | PRM_OPT_SGID_INDEX);
    prm_set_qpc__rwe(PRM_AT(in, qp_state_in, qpc), 1);
    prm_set_ads__src_addr_index(PRM_AT(PRM_AT(in, qp_state_in, qpc), qpc, primary_address_path), 1);
    assert_int_equal(prm_parse_state(in, size, &a, &call), 0);
    assert_int_equal(a.qpn, 0x0abcde);
    assert_int_equal(a.mask, SN_QPF_RWE);
    assert_true(a.params.rwe);
    assert_true(a.patch_sgid);
    assert_false(a.patch_dscp);
    assert_int_equal(a.params.path.sgid_index, 1);

    size = build(RTR, in);
    uint8_t *qpc = PRM_AT(in, qp_state_in, qpc), *ads = PRM_AT(qpc, qpc, primary_address_path);
    prm_set_qpc__remote_qpn(qpc, 0x55aa11);
    prm_set_qpc__next_rcv_psn(qpc, 0xabcdef);
    prm_set_ads__rmac_47_32(ads, 0x0102);
    prm_set_ads__rmac_31_0(ads, 0x03040506);
    call = (struct prm_call){.opcode = PRM_OP_INIT2RTR_QP};
    assert_int_equal(prm_parse_state(in, size, &a, &call), 0);
    assert_int_equal(a.params.remote_qpn, 0x55aa11);
    assert_int_equal(a.params.rcv_psn, 0xabcdef);
    assert_memory_equal(a.params.path.rmac, "\1\2\3\4\5\6", 6);
    assert_int_equal(a.params.path.dgid[15], 0xfe);
    assert_int_equal(a.from, SN_QP_INIT);
    assert_int_equal(a.to, SN_QP_RTR);
}

/* A DC initiator has an access key; it has no traffic that could be let in by it. */
static void keys_of_initiators(void **state)
{
    (void)state;
    uint8_t in[512];
    struct prm_state_args a;
    struct prm_call call = {.opcode = PRM_OP_RST2INIT_QP};
    size_t size = build(INIT, in);
    prm_set_qpc__dc_access_key(PRM_AT(in, qp_state_in, qpc), 0x5623ceaf);
    assert_int_equal(prm_parse_state_for(SN_SERVICE_DC, in, size, &a, &call), 0);
    assert_int_equal(prm_parse_state_for(SN_SERVICE_UD, in, size, &a, &call), -EREMOTEIO);
}

/* Any bytes: a verdict, no crash, and nothing accepted that has an unknown bit. */
static void random_mailboxes(void **state)
{
    (void)state;
    uint8_t in[512];
    uint64_t x = 88172645463325252ull;
    for (int round = 0; round < 20000; round++) {
        struct prm_call call;
        enum base base = all[round % (int)(sizeof(all) / sizeof(all[0]))];
        size_t size = build(base, in);
        for (int k = 0; k < 3; k++) { /* xorshift: reproducible */
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            if (x % size >= 2) /* the opcode stays */
                in[x % size] ^= (uint8_t)(x >> 32);
        }
        int rc = parse(base, in, (x >> 20) % 7 ? size : (x >> 24) % (size + 1), &call);
        assert_true(rc == 0 || (rc == -EREMOTEIO && call.status && call.text[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_mailboxes_pass),   cmocka_unit_test(common_refusals),
        cmocka_unit_test(one_change_one_verdict), cmocka_unit_test(parameters_and_masks),
        cmocka_unit_test(random_mailboxes),       cmocka_unit_test(keys_of_initiators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
