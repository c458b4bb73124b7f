/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One queue, two drivers: a queue pair and a completion queue made by verbs and given away by mlx5dv_init_obj are used by
 * device code (on the CPU executor); what device code posted is polled by ibv_poll_cq, and what ibv_post_send posted is
 * waited for by device code.
 */
#include "../prm/rig.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device_test.h"

enum { BYTES = 512, WR = 16, CQE = 63 };

struct queue {
    struct rig *r;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct doca_gpu_dev_verbs_qp *dev;
};

static void connect_to_itself(struct queue *q)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    assert_int_equal(
        softnic_ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = IBV_MTU_1024,
                             .dest_qp_num = q->qp->qp_num,
                             .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}}};
    assert_int_equal(softnic_ibv_query_gid(q->r->context, 1, 0, &a.ah_attr.grh.dgid), 0);
    assert_int_equal(softnic_ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                                          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                                          IBV_QP_MIN_RNR_TIMER),
                     0);
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7};
    assert_int_equal(softnic_ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                                          IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                     0);
}

static uint32_t qpn_ds(uint32_t qpn, uint32_t ds)
{
    return htobe32(qpn << 8 | ds);
}

/* What the library's export does for queues of its own. */
static struct doca_gpu_dev_verbs_qp *for_device(const struct queue *q)
{
    struct mlx5dv_qp dq = {0};
    struct mlx5dv_cq dc = {0};
    struct mlx5dv_obj obj = {.qp = {q->qp, &dq}, .cq = {q->cq, &dc}};
    assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
    struct doca_gpu_dev_verbs_qp *d = calloc(1, sizeof(*d));
    uint32_t n = q->qp->qp_num;
    assert_true(d && dc.cqe_cnt >= dq.sq.wqe_cnt);
    d->sq_num = n;
    d->sq_num_shift8 = n << 8;
    d->sq_num_shift8_be = qpn_ds(n, 0);
    d->sq_num_shift8_be_1ds = qpn_ds(n, 1);
    d->sq_num_shift8_be_2ds = qpn_ds(n, 2);
    d->sq_num_shift8_be_3ds = qpn_ds(n, 3);
    d->sq_num_shift8_be_4ds = qpn_ds(n, 4);
    d->sq_num_shift8_be_5ds = qpn_ds(n, 5);
    d->sq_wqe_num = (uint16_t)dq.sq.wqe_cnt;
    d->sq_wqe_mask = (uint16_t)(dq.sq.wqe_cnt - 1);
    d->sq_wqe_daddr = dq.sq.buf;
    d->sq_dbrec = dq.dbrec + 1;
    d->sq_db = dq.bf.reg;
    d->gdaki_flags = GDAKI_QP_FLAG_HOST_PAYLOAD;
    d->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
    d->mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
    d->cq_sq = (struct doca_gpu_dev_verbs_cq){.cqe_daddr = dc.buf,
                                              .cq_num = dc.cqn,
                                              .cqe_num = dc.cqe_cnt,
                                              .cqe_mask = dc.cqe_cnt - 1,
                                              .cqe_size = (uint8_t)dc.cqe_size,
                                              .dbrec = dc.dbrec,
                                              .mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST};
    return d;
}

static void queue_open(struct queue *q, struct rig *r)
{
    struct ibv_cq_init_attr_ex ca = {.cqe = CQE,
                                     .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
                                     .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}; /* device code gives no consumer index */
    q->r = r;
    q->cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(r->context, &ca));
    assert_non_null(q->cq);
    struct ibv_qp_init_attr qa = {.send_cq = q->cq,
                                  .recv_cq = q->cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = WR, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    q->qp = softnic_ibv_create_qp(r->pd, &qa);
    assert_non_null(q->qp);
    connect_to_itself(q);
    q->dev = for_device(q);
}

static void queue_close(struct queue *q)
{
    assert_int_equal(softnic_ibv_destroy_qp(q->qp), 0);
    assert_int_equal(softnic_ibv_destroy_cq(q->cq), 0);
    free(q->dev);
}

static struct device_job job_of(const struct queue *q, int count, int wait, int *status)
{
    uint64_t data = (uintptr_t)q->r->data;
    *status = 0;
    return (struct device_job){.qp = q->dev,
                               .to = {data + RIG_DATA_BYTES / 2, htobe32(q->r->mr->rkey)},
                               .from = {data, htobe32(q->r->mr->lkey)},
                               .count = count,
                               .bytes = BYTES,
                               .wait = wait,
                               .status = status};
}

static void fill(struct rig *r, uint8_t seed)
{
    for (int i = 0; i < RIG_DATA_BYTES / 2; i++)
        r->data[i] = (uint8_t)(i * 31 + (i >> 8) + seed);
    memset(r->data + RIG_DATA_BYTES / 2, 0, RIG_DATA_BYTES / 2);
}

/* Several times round both rings. */
static void device_code_reads_a_cq_of_verbs(void **state)
{
    enum { PUTS = 500 };
    (void)state;
    struct rig r;
    struct queue q;
    int status;
    rig_open(&r, 0);
    queue_open(&q, &r);
    fill(&r, 1);
    struct device_job job = job_of(&q, PUTS, 1, &status);
    assert_int_equal(run_put_each(&job), 0);
    assert_memory_equal(r.data + RIG_DATA_BYTES / 2, r.data, PUTS * BYTES);
    queue_close(&q);
    rig_close(&r);
}

static void verbs_poll_what_device_code_posted(void **state)
{
    (void)state;
    struct rig r;
    struct queue q;
    int status;
    rig_open(&r, 0);
    queue_open(&q, &r);
    for (int round = 0; round < 20; round++) {
        fill(&r, (uint8_t)round);
        struct device_job job = job_of(&q, WR / 2, 0, &status);
        assert_int_equal(run_put_each(&job), 0);
        time_t end = time(NULL) + 60;
        for (int got = 0; got < WR / 2;) {
            struct ibv_wc wc;
            int n = ibv_poll_cq(q.cq, 1, &wc);
            assert_true(n >= 0 && time(NULL) < end);
            if (n) {
                assert_int_equal(wc.status, IBV_WC_SUCCESS);
                assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
                assert_int_equal(wc.qp_num, q.qp->qp_num);
            }
            got += n;
        }
        assert_memory_equal(r.data + RIG_DATA_BYTES / 2, r.data, WR / 2 * BYTES);
        q.dev->cq_sq.cqe_ci = q.dev->sq_rsvd_index; /* device code is told what has been polled for it */
    }
    queue_close(&q);
    rig_close(&r);
}

static void device_code_waits_for_what_verbs_posted(void **state)
{
    (void)state;
    struct rig r;
    struct queue q;
    int status;
    rig_open(&r, 0);
    queue_open(&q, &r);
    fill(&r, 7);
    for (int i = 0; i < WR; i++) {
        struct ibv_sge sge = {(uintptr_t)r.data + (uint64_t)i * BYTES, BYTES, r.mr->lkey};
        struct ibv_send_wr wr = {.sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_RDMA_WRITE,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .wr.rdma = {sge.addr + RIG_DATA_BYTES / 2, r.mr->rkey}},
                           *bad;
        assert_int_equal(ibv_post_send(q.qp, &wr, &bad), 0);
    }
    q.dev->sq_rsvd_index = q.dev->sq_ready_index = q.dev->sq_wqe_pi = WR;
    struct device_job job = job_of(&q, 0, 1, &status);
    job.ticket = WR - 1;
    assert_int_equal(run_wait_for(&job), 0);
    assert_memory_equal(r.data + RIG_DATA_BYTES / 2, r.data, WR * BYTES);
    queue_close(&q);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_code_reads_a_cq_of_verbs),
        cmocka_unit_test(verbs_poll_what_device_code_posted),
        cmocka_unit_test(device_code_waits_for_what_verbs_posted),
    };
    setenv("SOFTNIC_WIRE", "none", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
