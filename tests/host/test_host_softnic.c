/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host library over softnic: queues connected to themselves, WQEs posted by the CPU with the builders that kernels
 * use; data, completions, the first error, and several lives of a queue over ring wraps.
 */
#include "support.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/gdaki_wqe.h"
#include "gdaki/info.h"
#include "gdaki/verbs.h"
#include "host/export.h"

#define SYS     DOCA_GPUNETIO_VERBS_SYNC_SCOPE_SYS
#define M(name) DOCA_VERBS_QP_ATTR_##name

static struct ibv_context *context;
static struct ibv_pd *pd;
static union ibv_gid gid;
static doca_gpu_t *gpu;
static doca_dev_t *dev;
static uint8_t *data;
static struct ibv_mr *mr;

#define DATA_BYTES 8192u

static int setup(void **state)
{
    struct gdaki_choice choice;
    struct ibv_device **list;
    int count = 0;

    (void)state;
    gdaki_nic_describe(&choice);
    assert_string_equal(choice.name, "softnic");
    list = ibv_get_device_list(&count);
    assert_true(count > 0);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    assert_non_null(context);
    pd = ibv_alloc_pd(context);
    assert_non_null(pd);
    assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
    OK(doca_gpu_create("cpu", &gpu));
    OK(doca_verbs_dev_open(pd, &dev));
    data = aligned_alloc(4096, DATA_BYTES);
    mr = ibv_reg_mr(pd, data, DATA_BYTES,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING);
    assert_non_null(mr);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(ibv_dereg_mr(mr), 0);
    free(data);
    OK(doca_verbs_dev_close(dev));
    OK(doca_gpu_destroy(gpu));
    assert_int_equal(ibv_dealloc_pd(pd), 0); /* refuses while anything of ours is left */
    assert_int_equal(ibv_close_device(context), 0);
    return 0;
}

static void connect_to_itself(doca_verbs_qp_t *qp)
{
    doca_verbs_qp_attr_t *a;
    doca_verbs_ah_attr_t *ah;
    struct doca_verbs_gid to;
    uint32_t qpn;

    memcpy(to.raw, gid.raw, sizeof(to.raw));
    OK(doca_verbs_qp_get_qpn(qp, &qpn));
    OK(doca_verbs_ah_attr_create(dev, &ah));
    OK(doca_verbs_ah_attr_set_gid(ah, to));
    OK(doca_verbs_ah_attr_set_hop_limit(ah, 255));
    OK(doca_verbs_qp_attr_create(&a));
    OK(doca_verbs_qp_attr_set_allow_remote_write(a, 1));
    OK(doca_verbs_qp_attr_set_allow_remote_read(a, 1));
    OK(doca_verbs_qp_attr_set_port_num(a, 1));
    OK(doca_verbs_qp_attr_set_path_mtu(a, DOCA_VERBS_MTU_SIZE_1K_BYTES));
    OK(doca_verbs_qp_attr_set_dest_qp_num(a, qpn));
    OK(doca_verbs_qp_attr_set_ah_attr(a, ah));
    OK(doca_verbs_ah_attr_destroy(ah));
    OK(doca_verbs_qp_attr_set_ack_timeout(a, 14));
    OK(doca_verbs_qp_attr_set_retry_cnt(a, 7));
    OK(doca_verbs_qp_attr_set_rnr_retry(a, 1));
    OK(doca_verbs_qp_attr_set_next_state(a, DOCA_VERBS_QP_STATE_INIT));
    OK(doca_verbs_qp_modify(
        qp, a, M(NEXT_STATE) | M(PKEY_INDEX) | M(PORT_NUM) | M(ALLOW_REMOTE_WRITE) | M(ALLOW_REMOTE_READ)));
    OK(doca_verbs_qp_attr_set_next_state(a, DOCA_VERBS_QP_STATE_RTR));
    OK(doca_verbs_qp_modify(qp, a,
                            M(NEXT_STATE) | M(RQ_PSN) | M(DEST_QP_NUM) | M(PATH_MTU) | M(AH_ATTR) | M(MIN_RNR_TIMER)));
    OK(doca_verbs_qp_attr_set_next_state(a, DOCA_VERBS_QP_STATE_RTS));
    OK(doca_verbs_qp_modify(qp, a, M(NEXT_STATE) | M(SQ_PSN) | M(ACK_TIMEOUT) | M(RETRY_CNT) | M(RNR_RETRY)));
    OK(doca_verbs_qp_attr_destroy(a));
}

static void move_to(doca_verbs_qp_t *qp, enum doca_verbs_qp_state next)
{
    doca_verbs_qp_attr_t *a;

    OK(doca_verbs_qp_attr_create(&a));
    OK(doca_verbs_qp_attr_set_next_state(a, next));
    OK(doca_verbs_qp_modify(qp, a, M(NEXT_STATE)));
    OK(doca_verbs_qp_attr_destroy(a));
}

/* One 8-byte write from data[from] to data[to]; the doorbell is the caller's or the proxy's. */
static uint64_t post_write(struct doca_gpu_dev_verbs_qp *d, unsigned from, unsigned to, uint32_t rkey)
{
    struct gdaki_wqe_image w;
    uint64_t index = d->sq_rsvd_index++;

    gdaki_wqe_rdma_1(&w, d, (uint16_t)index, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE,
                     DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, 0, (uintptr_t)(data + to), htobe32(rkey),
                     (uintptr_t)(data + from), htobe32(mr->lkey), 8);
    gdaki_wqe_store(gdaki_wqe_slot(d, index), &w);
    d->sq_ready_index = d->sq_wqe_pi = index + 1;
    return index;
}

static void ring(struct doca_gpu_verbs_qp *q, struct doca_gpu_dev_verbs_qp *d)
{
    gdaki_fence_release(SYS); /* orders the WQEs before the record and the doorbell */
    if (q->cpu_proxy) {
        gdaki_store_u64(d->sq_db, d->sq_wqe_pi, SYS);
        OK(doca_gpu_verbs_cpu_proxy_progress(q, NULL));
        return;
    }
    if (d->nic_handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR)
        gdaki_store_u32((uint32_t *)d->sq_dbrec, gdaki_record_value(d->sq_wqe_pi), SYS);
    gdaki_fence_release(SYS); /* orders the record before the doorbell */
    gdaki_store_mmio_u64(d->sq_db, gdaki_doorbell_value(d->sq_num_shift8_be, d->sq_wqe_pi));
    exported_of(q)->soft->wake();
}

/* CQE word of WQE `index`, waiting for it; a hang is ended by the test's time limit. */
static uint32_t wait_cqe(const struct doca_gpu_dev_verbs_qp *d, uint64_t index)
{
    const struct doca_gpu_dev_verbs_cq *cq = &d->cq_sq;
    uint64_t cqe = index + cq->cqe_rsvd;
    const uint8_t *slot =
        cq->gdaki_kind == GDAKI_CQ_KIND_COLLAPSED ? cq->cqe_daddr : cq->cqe_daddr + (cqe & cq->cqe_mask) * 64;

    for (;;) {
        uint32_t word = gdaki_load_u32_sys(slot + GDAKI_CQE_WORD_OFFSET);
        bool there = cq->gdaki_kind == GDAKI_CQ_KIND_COLLAPSED ? gdaki_cqe_collapsed_next(word, cq->cqe_ci) > index
                                                               : gdaki_cqe_is_valid(word, cqe, cq->cqe_num);

        if (there) {
            gdaki_fence_acquire(SYS); /* orders the CQE before the data it announces */
            return word;
        }
        nic_softnic_if_loaded()->drive();
    }
}

static const struct {
    enum doca_gpu_dev_verbs_nic_handler handler;
    enum doca_gpu_verbs_send_dbr_mode_ext mode;
    bool collapsed;
} kinds[] = {
    {DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, false},
    {DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, true},
    {DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, false},
    {DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW, false},
    {DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW, true},
    {DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, false},
};

static struct doca_gpu_verbs_qp_hl *create(size_t kind)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = {.gpu_dev = gpu,
                                               .net_dev = dev,
                                               .ibpd = pd,
                                               .sq_nwqe = 16,
                                               .nic_handler = kinds[kind].handler,
                                               .send_dbr_mode_ext = kinds[kind].mode,
                                               .cq_collapsed = kinds[kind].collapsed};
    struct doca_gpu_verbs_qp_hl *hl;

    OK(doca_gpu_verbs_create_qp_hl(&a, &hl));
    return hl;
}

static void write_and_check(struct doca_gpu_verbs_qp_hl *hl, struct doca_gpu_dev_verbs_qp *d, unsigned count,
                            uint8_t salt)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t index;
        uint32_t word;

        memset(data, salt + (int)i, 8);
        memset(data + 4096, 0, 8);
        index = post_write(d, 0, 4096, mr->rkey);
        ring(hl->qp_gverbs, d);
        word = wait_cqe(d, index);
        assert_false(gdaki_cqe_is_error(word));
        assert_int_equal(gdaki_cqe_counter(word), index & 0xffff);
        assert_memory_equal(data + 4096, data, 8);
        d->cq_sq.cqe_ci = index + 1;
    }
}

/* A write with a foreign key: the CQE, the QP's state and query_last_error say so, and the next one is flushed. */
static void fail_and_check(struct doca_gpu_verbs_qp_hl *hl, struct doca_gpu_dev_verbs_qp *d)
{
    struct doca_gpu_verbs_qp_error_info info;
    uint64_t bad = post_write(d, 0, 4096, mr->rkey ^ 0x5500), flushed;
    uint32_t word;

    ring(hl->qp_gverbs, d);
    word = wait_cqe(d, bad);
    assert_true(gdaki_cqe_is_error(word));
    d->cq_sq.cqe_ci = bad + 1;
    flushed = post_write(d, 0, 4096, mr->rkey);
    ring(hl->qp_gverbs, d);
    assert_true(gdaki_cqe_is_error(wait_cqe(d, flushed)));
    d->cq_sq.cqe_ci = flushed + 1;
    OK(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
    assert_true(info.has_error);
    assert_int_equal(info.syndrome, 0x13); /* remote access error */
    assert_int_equal(info.wqe_counter, bad & 0xffff);
}

/* Lives of 5, 40, 16 and 21 WQEs on a ring of 16, each ended by an error or by hand. */
static void several_lives(void **state)
{
    static const unsigned lives[] = {5, 40, 16, 21};

    (void)state;
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        struct doca_gpu_verbs_qp_hl *hl = create(kind);
        struct doca_gpu_dev_verbs_qp *d;
        struct doca_gpu_verbs_qp_error_info info;
        uint64_t made = 0;

        OK(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &d));
        connect_to_itself(hl->qp);
        for (size_t life = 0; life < sizeof(lives) / sizeof(lives[0]); life++) {
            write_and_check(hl, d, lives[life], (uint8_t)(life * 64 + kind));
            made += lives[life];
            OK(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
            assert_false(info.has_error);
            if (life % 2 == 1) {
                fail_and_check(hl, d);
                made += 2;
            }
            move_to(hl->qp, DOCA_VERBS_QP_STATE_RST);
            OK(doca_gpu_verbs_reset_tracking_and_memory(hl->qp_gverbs));
            assert_int_equal(d->cq_sq.cqe_rsvd, made);
            OK(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
            assert_false(info.has_error);
            connect_to_itself(hl->qp);
        }
        OK(doca_gpu_verbs_destroy_qp_hl(hl));
    }
}

/* Queues in the library's own memory, made through the low-level calls, exported in every state. */
static void low_level(void **state)
{
    doca_verbs_cq_attr_t *ca;
    doca_verbs_qp_init_attr_t *qa;
    doca_verbs_uar_t *uar;
    doca_verbs_cq_t *cq;
    doca_verbs_qp_t *qp;
    struct doca_gpu_verbs_qp *q;
    struct doca_gpu_dev_verbs_qp *d;
    struct doca_gpu_verbs_qp_hl hl = {0};

    (void)state;
    OK(doca_verbs_uar_create(dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, &uar));
    OK(doca_verbs_cq_attr_create(&ca));
    OK(doca_verbs_cq_attr_set_cq_size(ca, 32));
    OK(doca_verbs_cq_attr_set_cq_overrun(ca, DOCA_VERBS_CQ_ENABLE_OVERRUN));
    OK(doca_verbs_cq_create(dev, ca, &cq));
    OK(doca_verbs_cq_attr_destroy(ca));
    OK(doca_verbs_qp_init_attr_create(&qa));
    OK(doca_verbs_qp_init_attr_set_pd(qa, dev));
    OK(doca_verbs_qp_init_attr_set_send_cq(qa, cq));
    OK(doca_verbs_qp_init_attr_set_receive_cq(qa, cq));
    OK(doca_verbs_qp_init_attr_set_sq_wr(qa, 32));
    OK(doca_verbs_qp_init_attr_set_rq_wr(qa, 8)); /* the receive ring lies first */
    OK(doca_verbs_qp_init_attr_set_send_max_sges(qa, 1));
    OK(doca_verbs_qp_init_attr_set_receive_max_sges(qa, 1));
    OK(doca_verbs_qp_init_attr_set_external_uar(qa, uar));
    OK(doca_verbs_qp_create(dev, qa, &qp));
    OK(doca_verbs_qp_init_attr_destroy(qa));
    FAILS(doca_verbs_cq_destroy(cq), DOCA_ERROR_DRIVER); /* in use; the handle stays */
    OK(doca_gpu_verbs_export_qp(gpu, qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, NULL, cq, 0, &q));
    OK(doca_gpu_verbs_get_qp_dev(q, &d));
    connect_to_itself(qp);
    hl.qp_gverbs = q;
    write_and_check(&hl, d, 70, 9);
    OK(doca_gpu_verbs_unexport_qp(gpu, q));
    OK(doca_verbs_qp_destroy(qp));
    OK(doca_verbs_cq_destroy(cq));
    OK(doca_verbs_uar_destroy(uar));
}

/* The service rings for a queue whose counter a "kernel" moved. */
static void service(void **state)
{
    struct doca_gpu_verbs_qp_hl *hl = create(2);
    struct doca_gpu_dev_verbs_qp *d;
    doca_gpu_verbs_service_t s;

    (void)state;
    OK(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &d));
    connect_to_itself(hl->qp);
    OK(doca_gpu_verbs_create_service(&s));
    OK(doca_gpu_verbs_service_monitor_qp(s, hl->qp_gverbs));
    for (unsigned i = 0; i < 50; i++) {
        uint64_t index = post_write(d, 0, 4096, mr->rkey);

        gdaki_fence_release(SYS); /* orders the WQE before the counter */
        gdaki_store_u64(d->sq_db, index + 1, SYS);
        assert_false(gdaki_cqe_is_error(wait_cqe(d, index)));
    }
    OK(doca_gpu_verbs_destroy_service(s));
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(several_lives), CASE(low_level), CASE(service)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
