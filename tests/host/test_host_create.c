/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, layouts and commands of completion queues and queue pairs, by table; both spellings' error codes. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "fake_nic.h"
#include "host/v2.h"

static doca_dev_t *dev;
static doca_verbs_cq_t *cq;

static int setup(void **state)
{
    doca_verbs_cq_attr_t *attr;

    (void)state;
    fake_nic_install();
    OK(doca_verbs_dev_open(&fake_pd, &dev));
    OK(doca_verbs_cq_attr_create(&attr));
    OK(doca_verbs_cq_attr_set_cq_size(attr, 64));
    OK(doca_verbs_cq_create(dev, attr, &cq));
    OK(doca_verbs_cq_attr_destroy(attr));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(doca_verbs_cq_destroy(cq));
    OK(doca_verbs_dev_close(dev));
    assert_int_equal(fake_nic_alive(), 0);
    return 0;
}

struct buffer {
    void *memory;
    doca_verbs_umem_t *umem;
};

static struct buffer make_buffer(size_t size)
{
    struct buffer b;

    b.memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    assert_non_null(b.memory);
    OK(doca_verbs_umem_create(dev, NULL, b.memory, size, 1, -1, 0, &b.umem));
    return b;
}

static void free_buffer(struct buffer *b)
{
    OK(doca_verbs_umem_destroy(b->umem));
    free(b->memory);
}

/* ---- completion queues --------------------------------------------------------------------------------------------
 */

static void cq_sizes(void **state)
{
    static const struct {
        uint32_t size;
        doca_error_t code; /* inner */
    } table[] = {{0, DOCA_ERROR_INVALID_VALUE},
                 {3, DOCA_ERROR_INVALID_VALUE},
                 {131072, DOCA_ERROR_INVALID_VALUE},
                 {1, DOCA_SUCCESS},
                 {65536, DOCA_SUCCESS}};
    doca_verbs_cq_attr_t *attr;
    doca_verbs_cq_t *out = NULL;

    (void)state;
    OK(doca_verbs_cq_attr_create(&attr));
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        OK(doca_verbs_cq_attr_set_cq_size(attr, table[i].size));
        /* 3.0 reports one code for any failed create, 2.0 the inner one. */
        FAILS(doca_verbs_cq_create(dev, attr, &out),
              table[i].code == DOCA_SUCCESS ? DOCA_SUCCESS : DOCA_ERROR_INITIALIZATION);
        if (table[i].code == DOCA_SUCCESS)
            OK(doca_verbs_cq_destroy(out));
        FAILS(doca_verbs_cq_create_v2(&fake_context, attr, &out), table[i].code);
        if (table[i].code == DOCA_SUCCESS)
            OK(doca_verbs_cq_destroy(out));
    }
    INVALID(doca_verbs_cq_create(NULL, attr, &out));
    INVALID(doca_verbs_cq_create(dev, NULL, &out));
    INVALID(doca_verbs_cq_create(dev, attr, NULL));
    INVALID(doca_verbs_cq_create_v2(NULL, attr, &out));
    INVALID(doca_verbs_cq_destroy(NULL));
    OK(doca_verbs_cq_attr_destroy(attr));
}

/* Internal memory: CQEs start invalid (opcode 15, owner 1), the record lies behind the ring. */
static void cq_internal(void **state)
{
    uint8_t *ring;
    void *ring_void;
    uint32_t entries, *ci, *arm, cqn = 0;
    uint64_t *reg;
    uint8_t size;
    const uint8_t *cqc = PRM_CAT(fake.last->create, create_cq_in, cq_context);

    (void)state;
    OK(doca_verbs_cq_get_wq(cq, &ring_void, &entries, &size));
    OK(doca_verbs_cq_get_dbr_addr(cq, &reg, &ci, &arm));
    OK(doca_verbs_cq_get_cqn(cq, &cqn));
    ring = ring_void;
    assert_int_equal(entries, 64);
    assert_int_equal(size, 64);
    for (uint32_t i = 0; i < entries; i++)
        assert_int_equal(ring[i * 64 + 63], 0xf1);
    assert_ptr_equal(ci, ring + 64 * 64);
    assert_ptr_equal(arm, ci + 1);
    assert_int_equal(cqn, fake.last->number);
    assert_int_equal(doca_verbs_cq_get_cqn_v2(cq), cqn);
    assert_int_equal(prm_get_cqc__log_cq_size(cqc), 6);
    assert_int_equal(prm_get_cqc__dbr_umem_valid(cqc), 1);
    assert_int_equal(prm_get_cqc__dbr_umem_id(cqc), prm_get_create_cq_in__cq_umem_id(fake.last->create));
    assert_int_equal(prm_get_cqc__dbr_addr(cqc), 64 * 64);
    assert_int_equal(prm_get_cqc__oi(cqc), 0);
    INVALID(doca_verbs_cq_get_wq(NULL, &ring_void, &entries, &size));
    INVALID(doca_verbs_cq_get_dbr_addr(NULL, &reg, &ci, &arm));
    INVALID(doca_verbs_cq_get_cqn(NULL, &cqn));
    INVALID(doca_verbs_cq_get_cqn(cq, NULL));
    assert_int_equal(doca_verbs_cq_get_cqn_v2(NULL), 0);
}

/* External memory: 3.0 puts the record behind the ring, 2.0 in a umem of its own; offsets reach the device. */
static void cq_external(void **state)
{
    struct buffer ring = make_buffer(4096 + 16 * 64 + 8), record = make_buffer(128), tight = make_buffer(16 * 64);
    doca_verbs_cq_attr_t *attr;
    doca_verbs_cq_t *out = NULL;
    uint32_t *ci;
    void *where;
    const uint8_t *cqc;

    (void)state;
    OK(doca_verbs_cq_attr_create(&attr));
    OK(doca_verbs_cq_attr_set_cq_size(attr, 16));
    OK(doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN));
    OK(doca_verbs_cq_attr_set_cq_collapsed(attr, 1));
    INVALID(doca_verbs_cq_attr_set_cq_collapsed(attr, 2));
    INVALID(doca_verbs_cq_attr_set_external_umem(attr, NULL, 0));
    INVALID(doca_verbs_cq_attr_set_external_umem(NULL, ring.umem, 0));
    INVALID(doca_verbs_cq_attr_set_external_dbr_umem(attr, NULL, 0));
    INVALID(doca_verbs_cq_attr_set_external_uar(attr, NULL));
    OK(doca_verbs_cq_attr_set_external_umem(attr, tight.umem, 0));
    FAILS(doca_verbs_cq_create(dev, attr, &out), DOCA_ERROR_INITIALIZATION); /* no room for the record */
    OK(doca_verbs_cq_attr_set_external_umem(attr, ring.umem, 64));
    FAILS(doca_verbs_cq_create(dev, attr, &out), DOCA_ERROR_INITIALIZATION); /* offset is not of pages */
    OK(doca_verbs_cq_attr_set_external_umem(attr, ring.umem, 4096));
    OK(doca_verbs_cq_create(dev, attr, &out));
    cqc = PRM_CAT(fake.last->create, create_cq_in, cq_context);
    assert_int_equal(prm_get_create_cq_in__cq_umem_offset(fake.last->create), 4096);
    assert_int_equal(prm_get_cqc__dbr_addr(cqc), 4096 + 16 * 64);
    assert_int_equal(prm_get_cqc__cc(cqc), 1);
    assert_int_equal(prm_get_cqc__oi(cqc), 1);
    OK(doca_verbs_cq_get_wq(out, &where, NULL, NULL));
    assert_ptr_equal(where, (char *)ring.memory + 4096);
    OK(doca_verbs_cq_destroy(out));
    INVALID(doca_verbs_cq_create_v2(&fake_context, attr, &out)); /* 2.0: both or none */
    OK(doca_verbs_cq_attr_set_external_dbr_umem(attr, record.umem, 64));
    OK(doca_verbs_cq_create_v2(&fake_context, attr, &out));
    cqc = PRM_CAT(fake.last->create, create_cq_in, cq_context);
    assert_int_equal(prm_get_cqc__dbr_addr(cqc), 64);
    assert_int_not_equal(prm_get_cqc__dbr_umem_id(cqc), prm_get_create_cq_in__cq_umem_id(fake.last->create));
    OK(doca_verbs_cq_get_dbr_addr(out, NULL, &ci, NULL));
    assert_ptr_equal(ci, (char *)record.memory + 64);
    OK(doca_verbs_cq_destroy(out));
    OK(doca_verbs_cq_attr_set_external_dbr_umem(attr, record.umem, 124));
    INVALID(doca_verbs_cq_create_v2(&fake_context, attr, &out));
    OK(doca_verbs_cq_attr_destroy(attr));
    free_buffer(&ring);
    free_buffer(&record);
    free_buffer(&tight);
}

/* ---- queue pairs --------------------------------------------------------------------------------------------------
 */

struct qp_case {
    uint32_t sq_wr, rq_wr, send_sges, receive_sges, inline_data, type;
    doca_error_t code; /* inner */
    uint32_t wqebbs, rq_entries, rwqe_bytes, inline_out;
};

static const struct qp_case qp_cases[] = {
    {100, 0, 1, 0, 0, 0, DOCA_SUCCESS, 128, 0, 0, 0},
    {100, 0, 1, 0, 1, 0, DOCA_SUCCESS, 128, 0, 0, 28},
    {4, 0, 3, 0, 0, 0, DOCA_SUCCESS, 8, 0, 0, 0},      /* 80 bytes: two basic blocks a WQE */
    {5, 0, 1, 0, 100, 0, DOCA_SUCCESS, 16, 0, 0, 156}, /* 144 bytes: three, ring to a power of two */
    {1, 10, 1, 1, 0, 0, DOCA_SUCCESS, 1, 16, 16, 0},
    {1, 1, 1, 1, 0, 0, DOCA_SUCCESS, 1, 4, 16, 0}, /* a receive ring is at least 64 bytes */
    {0, 8, 0, 3, 0, 0, DOCA_SUCCESS, 0, 8, 64, 0},
    {32768, 0, 1, 0, 0, 0, DOCA_SUCCESS, 32768, 0, 0, 0},
    {32769, 0, 1, 0, 0, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0}, /* 2^16 basic blocks */
    {0, 0, 1, 1, 0, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
    {16, 0, 0, 0, 0, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
    {16, 0, 31, 0, 0, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
    {16, 0, 1, 0, 600, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
    {1, 40000, 1, 1, 0, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
    {1, 8, 1, 0, 0, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
    {1, 8, 1, 17, 0, 0, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
    {16, 0, 1, 0, 0, 3, DOCA_ERROR_INVALID_VALUE, 0, 0, 0, 0},
};

static doca_verbs_qp_init_attr_t *make_attr(const struct qp_case *c)
{
    doca_verbs_qp_init_attr_t *a;

    OK(doca_verbs_qp_init_attr_create(&a));
    OK(doca_verbs_qp_init_attr_set_pd(a, dev));
    OK(doca_verbs_qp_init_attr_set_send_cq(a, cq));
    OK(doca_verbs_qp_init_attr_set_receive_cq(a, cq));
    OK(doca_verbs_qp_init_attr_set_sq_wr(a, c->sq_wr));
    OK(doca_verbs_qp_init_attr_set_rq_wr(a, c->rq_wr));
    OK(doca_verbs_qp_init_attr_set_send_max_sges(a, c->send_sges));
    OK(doca_verbs_qp_init_attr_set_receive_max_sges(a, c->receive_sges));
    OK(doca_verbs_qp_init_attr_set_max_inline_data(a, c->inline_data));
    OK(doca_verbs_qp_init_attr_set_qp_type(a, c->type));
    return a;
}

static void check_sizes(doca_verbs_qp_t *qp, const struct qp_case *c)
{
    doca_verbs_qp_attr_t *attr;
    doca_verbs_qp_init_attr_t *init;
    uint32_t wqebbs, entries, bytes;
    void *sq, *rq, *record;

    OK(doca_verbs_qp_get_wq(qp, &sq, &wqebbs, &rq, &entries, &bytes));
    assert_int_equal(wqebbs, c->wqebbs);
    assert_int_equal(entries, c->rq_entries);
    assert_int_equal(bytes, c->rwqe_bytes);
    assert_int_equal((uint8_t *)sq - (uint8_t *)rq, entries * bytes);
    OK(doca_verbs_qp_get_dbr_addr(qp, &record));
    assert_int_equal((uintptr_t)record % 64, 0);
    assert_true((uint8_t *)record >= (uint8_t *)sq + (size_t)wqebbs * 64);
    OK(doca_verbs_qp_attr_create(&attr));
    OK(doca_verbs_qp_init_attr_create(&init));
    OK(doca_verbs_qp_query(qp, attr, init, NULL));
    assert_int_equal(doca_verbs_qp_init_attr_get_max_inline_data(init), c->inline_out);
    OK(doca_verbs_qp_attr_destroy(attr));
    OK(doca_verbs_qp_init_attr_destroy(init));
}

static void qp_sizes(void **state)
{
    doca_verbs_qp_t *qp = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(qp_cases) / sizeof(qp_cases[0]); i++) {
        const struct qp_case *c = &qp_cases[i];
        doca_verbs_qp_init_attr_t *a = make_attr(c);

        FAILS(doca_verbs_qp_create(dev, a, &qp), c->code == DOCA_SUCCESS ? DOCA_SUCCESS : DOCA_ERROR_INITIALIZATION);
        if (c->code == DOCA_SUCCESS) {
            check_sizes(qp, c);
            OK(doca_verbs_qp_destroy(qp));
        }
        FAILS(doca_verbs_qp_create_v2(&fake_context, a, &qp), c->code);
        if (c->code == DOCA_SUCCESS)
            OK(doca_verbs_qp_destroy(qp));
        OK(doca_verbs_qp_init_attr_destroy(a));
    }
}

static void qp_rules(void **state)
{
    struct buffer ring = make_buffer(16 * 64), record = make_buffer(64), small = make_buffer(15 * 64);
    doca_verbs_qp_init_attr_t *a = make_attr(&qp_cases[0]);
    doca_verbs_qp_init_attr_t *bare;
    doca_verbs_qp_t *qp = NULL;
    uint32_t qpn = 0;
    void *address;

    (void)state;
    OK(doca_verbs_qp_init_attr_set_sq_wr(a, 16));
    OK(doca_verbs_qp_init_attr_set_external_umem(a, ring.umem, 0));
    INVALID(doca_verbs_qp_create_v2(&fake_context, a, &qp)); /* ring without record */
    OK(doca_verbs_qp_init_attr_set_external_umem_dbr(a, record.umem, 56));
    OK(doca_verbs_qp_create_v2(&fake_context, a, &qp));
    OK(doca_verbs_qp_get_dbr_addr(qp, &address));
    assert_ptr_equal(address, (char *)record.memory + 56);
    assert_ptr_equal(doca_verbs_qp_get_dbr_addr_v2(qp), address);
    OK(doca_verbs_qp_get_qpn(qp, &qpn));
    assert_int_equal(qpn, fake.last->number);
    assert_int_equal(doca_verbs_qp_get_qpn_v2(qp), qpn);
    assert_int_equal(doca_verbs_qp_get_send_dbr_mode(qp), DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID);
    assert_false(doca_verbs_qp_get_emulate_no_dbr_ext(qp));
    OK(doca_verbs_qp_get_uar_addr(qp, &address));
    assert_int_equal((uintptr_t)address & 0xfff, 0x800);
    assert_ptr_equal(doca_verbs_qp_get_uar_addr_v2(qp), address);
    OK(doca_verbs_qp_destroy(qp));
    OK(doca_verbs_qp_init_attr_set_external_umem_dbr(a, record.umem, 60));
    INVALID(doca_verbs_qp_create_v2(&fake_context, a, &qp));
    OK(doca_verbs_qp_init_attr_set_external_umem_dbr(a, record.umem, 0));
    OK(doca_verbs_qp_init_attr_set_external_umem(a, small.umem, 0));
    INVALID(doca_verbs_qp_create_v2(&fake_context, a, &qp));
    OK(doca_verbs_qp_init_attr_set_external_umem(a, ring.umem, 0));
    /* record-less mode: capability, register, and not together with emulation */
    OK(doca_verbs_qp_init_attr_set_send_dbr_mode(a, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT));
    OK(doca_verbs_qp_create_v2(&fake_context, a, &qp));
    OK(doca_verbs_qp_get_uar_addr(qp, &address));
    assert_int_equal((uintptr_t)address & 0xfff, 0x600);
    assert_int_equal(prm_get_qpc__send_dbr_mode(PRM_CAT(fake.last->create, create_qp_in, qpc)), 1);
    OK(doca_verbs_qp_destroy(qp));
    fake.no_dbr_ext = false;
    FAILS(doca_verbs_qp_create_v2(&fake_context, a, &qp), DOCA_ERROR_NOT_SUPPORTED);
    fake.no_dbr_ext = true;
    OK(doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(a, true));
    INVALID(doca_verbs_qp_create_v2(&fake_context, a, &qp));
    OK(doca_verbs_qp_init_attr_set_send_dbr_mode(a, DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID));
    OK(doca_verbs_qp_create_v2(&fake_context, a, &qp));
    assert_true(doca_verbs_qp_get_emulate_no_dbr_ext(qp));
    OK(doca_verbs_qp_destroy(qp));
    /* the companion's flag is one bit in its place, and nothing else */
    OK(doca_verbs_qp_init_attr_set_core_direct_master(a, 1));
    OK(doca_verbs_qp_create(dev, a, &qp));
    assert_int_equal(prm_get_qpc__cd_master(PRM_CAT(fake.last->create, create_qp_in, qpc)), 1);
    assert_int_equal(prm_get_qpc__next_rcv_psn(PRM_CAT(fake.last->create, create_qp_in, qpc)), 0);
    OK(doca_verbs_qp_destroy(qp));
    /* a device that names no WQE size must not divide by it */
    fake.max_wqe_sz_sq = 0;
    INVALID(doca_verbs_qp_create_v2(&fake_context, a, &qp));
    fake.max_wqe_sz_sq = 512;
    /* no PD, no CQ */
    OK(doca_verbs_qp_init_attr_create(&bare));
    OK(doca_verbs_qp_init_attr_set_sq_wr(bare, 1));
    OK(doca_verbs_qp_init_attr_set_send_max_sges(bare, 1));
    INVALID(doca_verbs_qp_create_v2(&fake_context, bare, &qp));
    OK(doca_verbs_qp_init_attr_set_pd_v2(bare, &fake_pd));
    INVALID(doca_verbs_qp_create_v2(&fake_context, bare, &qp));
    INVALID(doca_verbs_qp_create(NULL, bare, &qp));
    INVALID(doca_verbs_qp_create(dev, NULL, &qp));
    INVALID(doca_verbs_qp_create(dev, bare, NULL));
    INVALID(doca_verbs_qp_destroy(NULL));
    INVALID(doca_verbs_qp_get_qpn(NULL, &qpn));
    INVALID(doca_verbs_qp_get_dbr_addr(NULL, &address));
    INVALID(doca_verbs_qp_get_uar_addr(NULL, &address));
    INVALID(doca_verbs_qp_get_wq(NULL, NULL, NULL, NULL, NULL, NULL));
    assert_int_equal(doca_verbs_qp_get_qpn_v2(NULL), 0);
    OK(doca_verbs_qp_init_attr_destroy(bare));
    OK(doca_verbs_qp_init_attr_destroy(a));
    free_buffer(&ring);
    free_buffer(&record);
    free_buffer(&small);
}

static void qp_with_srq(void **state)
{
    struct doca_verbs_srq_init_attr *sa;
    struct doca_verbs_srq *srq;
    doca_verbs_qp_init_attr_t *a = make_attr(&qp_cases[4]);
    doca_verbs_qp_t *qp;
    const uint8_t *qpc;

    (void)state;
    OK(doca_verbs_srq_init_attr_create(&sa));
    OK(doca_verbs_srq_init_attr_set_srq_wr(sa, 16));
    OK(doca_verbs_srq_init_attr_set_receive_max_sges(sa, 1));
    OK(doca_verbs_srq_init_attr_set_pd(sa, &fake_pd));
    OK(doca_verbs_srq_create(&fake_context, sa, &srq));
    OK(doca_verbs_srq_init_attr_destroy(sa));
    OK(doca_verbs_qp_init_attr_set_srq(a, srq));
    assert_ptr_equal(doca_verbs_qp_init_attr_get_srq(a), srq);
    OK(doca_verbs_qp_create(dev, a, &qp));
    qpc = PRM_CAT(fake.last->create, create_qp_in, qpc);
    assert_int_equal(prm_get_qpc__rq_type(qpc), PRM_RQ_TYPE_SRQ);
    assert_int_equal(prm_get_qpc__srqn_rmpn_xrqn(qpc), doca_verbs_srq_get_srqn(srq));
    OK(doca_verbs_qp_destroy(qp));
    OK(doca_verbs_srq_destroy(srq));
    OK(doca_verbs_qp_init_attr_destroy(a));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(cq_sizes), CASE(cq_internal), CASE(cq_external),
                                       CASE(qp_sizes), CASE(qp_rules),    CASE(qp_with_srq)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
