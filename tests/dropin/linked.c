/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linked: a program linked against the packaged libibverbs and libmlx5, as anybody's is. Lists the devices; then, on the
 * first one that is softnic's (or none: exit 3), connects a queue pair to itself, moves bytes, and looks at the queue
 * through mlx5dv. Output is for the test that runs it; every failure names the call.
 */
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x)                                                                                                        \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            printf("failed: %s\n", #x);                                                                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { BYTES = 4096 };
static uint8_t memory[2 * BYTES];

static void connect_to_itself(struct ibv_context *context, struct ibv_qp *qp)
{
    struct ibv_port_attr port;
    union ibv_gid gid;
    MUST(!ibv_query_port(context, 1, &port));
    MUST(!ibv_query_gid(context, 1, 0, &gid));
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
    MUST(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = port.active_mtu,
                             .dest_qp_num = qp->qp_num,
                             .max_dest_rd_atomic = 1,
                             .min_rnr_timer = 12,
                             .ah_attr = {.is_global = 1, .dlid = port.lid, .port_num = 1,
                                         .grh = {.dgid = gid, .hop_limit = 64}}};
    MUST(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
    MUST(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                    IBV_QP_MAX_QP_RD_ATOMIC));
}

static void write_and_poll(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_mr *mr)
{
    struct ibv_sge sge = {(uintptr_t)memory, BYTES, mr->lkey};
    struct ibv_send_wr wr = {.wr_id = 77,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {(uintptr_t)memory + BYTES, mr->rkey}},
                       *bad;
    struct ibv_wc wc;
    int n;
    for (int i = 0; i < BYTES; i++)
        memory[i] = (uint8_t)(i * 7 + 1);
    MUST(!ibv_post_send(qp, &wr, &bad));
    while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
        ;
    MUST(n == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == 77 && wc.opcode == IBV_WC_RDMA_WRITE);
    MUST(!memcmp(memory, memory + BYTES, BYTES));
    printf("%s: %d bytes\n", ibv_wc_status_str(wc.status), BYTES);
}

static void look_through_mlx5dv(struct ibv_qp *qp, struct ibv_cq *cq, struct ibv_pd *pd)
{
    struct mlx5dv_qp dq = {0};
    struct mlx5dv_cq dc = {0};
    struct mlx5dv_pd dp = {0};
    struct mlx5dv_obj obj = {.qp = {qp, &dq}, .cq = {cq, &dc}, .pd = {pd, &dp}};
    MUST(mlx5dv_is_supported(qp->context->device));
    MUST(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_PD));
    MUST(dq.sq.stride == 64 && dq.sq.wqe_cnt && dq.bf.reg && dq.dbrec && dc.cqe_size == 64 && dc.cqn && dp.pdn);
    /* The WQE of the write: RDMA_WRITE (8) of this queue pair. */
    const uint8_t *wqe = dq.sq.buf;
    MUST(wqe[3] == 8 && (wqe[4] << 16 | wqe[5] << 8 | wqe[6]) == (int)qp->qp_num);
    printf("wqe: RDMA_WRITE of this queue pair\n");
}

static void exercise(struct ibv_device *device)
{
    struct ibv_context *context = ibv_open_device(device);
    MUST(context);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    MUST(pd);
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    MUST(mr);
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    MUST(cq);
    struct ibv_qp_init_attr qa = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &qa);
    MUST(qp);
    connect_to_itself(context, qp);
    write_and_poll(qp, cq, mr);
    look_through_mlx5dv(qp, cq, pd);
    MUST(!ibv_destroy_qp(qp));
    MUST(!ibv_destroy_cq(cq));
    MUST(!ibv_dereg_mr(mr));
    MUST(!ibv_dealloc_pd(pd));
    MUST(!ibv_close_device(context));
}

int main(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count), *ours = NULL;
    printf("%d devices\n", list ? count : 0);
    for (int i = 0; list && i < count; i++) {
        const char *name = ibv_get_device_name(list[i]);
        printf("device %s\n", name);
        if (!ours && !strncmp(name, "softnic", 7))
            ours = list[i];
    }
    if (ours)
        exercise(ours);
    if (list)
        ibv_free_device_list(list);
    return ours ? 0 : 3;
}
