/* SPDX-License-Identifier: Apache-2.0 */
/* Linked to libibverbs like any program, run under softnic: what it sends shows in sysfs. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 10000, WRITES = 7 };

static int fail(const char *what)
{
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

static unsigned long long counter(const char *device, const char *name)
{
    char path[256];
    unsigned long long value;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/%s", device, name);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%llu", &value) != 1)
        fail(path);
    fclose(f);
    return value;
}

struct rig {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp[2];
    struct ibv_port_attr port;
    union ibv_gid gid;
    char *memory;
};

static void connect_qp(struct rig *r, struct ibv_qp *qp, uint32_t peer)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        fail("INIT");
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                             .path_mtu = IBV_MTU_1024,
                             .dest_qp_num = peer,
                             .max_dest_rd_atomic = 1,
                             .min_rnr_timer = 12,
                             .ah_attr = {.is_global = 1, .port_num = 1, .dlid = r->port.lid,
                                         .grh = {.dgid = r->gid, .hop_limit = 1, .sgid_index = 0}}};
    if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        fail("RTR");
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
    if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                  IBV_QP_MAX_QP_RD_ATOMIC))
        fail("RTS");
}

static void set_up(struct rig *r)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (!list || !count || !(r->context = ibv_open_device(list[0])))
        fail("ibv_open_device");
    ibv_free_device_list(list);
    r->memory = aligned_alloc(4096, 65536);
    if (!r->memory || !(r->pd = ibv_alloc_pd(r->context)) || !(r->cq = ibv_create_cq(r->context, 16, NULL, NULL, 0)) ||
        !(r->mr = ibv_reg_mr(r->pd, r->memory, 65536, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) ||
        ibv_query_port(r->context, 1, &r->port) || ibv_query_gid(r->context, 1, 0, &r->gid))
        fail("objects");
    for (int i = 0; i < 2; i++) {
        struct ibv_qp_init_attr a = {.send_cq = r->cq, .recv_cq = r->cq, .qp_type = IBV_QPT_RC,
                                     .cap = {.max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
        if (!(r->qp[i] = ibv_create_qp(r->pd, &a)))
            fail("ibv_create_qp");
    }
    connect_qp(r, r->qp[0], r->qp[1]->qp_num);
    connect_qp(r, r->qp[1], r->qp[0]->qp_num);
}

static void write_once(struct rig *r)
{
    struct ibv_sge sge = {.addr = (uintptr_t)r->memory, .length = BYTES, .lkey = r->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {.remote_addr = (uintptr_t)r->memory + 32768, .rkey = r->mr->rkey}},
                       *bad;
    struct ibv_wc wc;
    int n;
    if (ibv_post_send(r->qp[0], &wr, &bad))
        fail("ibv_post_send");
    while (!(n = ibv_poll_cq(r->cq, 1, &wc)))
        ;
    if (n < 0 || wc.status != IBV_WC_SUCCESS)
        fail("completion");
}

static void expect(const char *device, const char *name, unsigned long long before, unsigned long long least)
{
    unsigned long long now = counter(device, name);
    if (now < before + least) {
        fprintf(stderr, "FAILED: %s went from %llu to %llu, not by %llu\n", name, before, now, least);
        exit(1);
    }
}

int main(void)
{
    static const struct {
        const char *name;
        unsigned long long least;
    } moving[] = {{"counters/port_xmit_data", WRITES * BYTES / 4},
                  {"counters/port_rcv_data", WRITES * BYTES / 4},
                  {"counters/port_xmit_packets", WRITES * 10}, /* of 1 KiB, and an acknowledgement */
                  {"counters/port_rcv_packets", WRITES * 10},
                  {"hw_counters/rx_write_requests", WRITES}};
    unsigned long long before[sizeof(moving) / sizeof(moving[0])];
    struct rig r = {0};
    set_up(&r);
    const char *device = ibv_get_device_name(r.context->device);
    for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++)
        before[i] = counter(device, moving[i].name);
    for (int i = 0; i < WRITES; i++)
        write_once(&r);
    for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++)
        expect(device, moving[i].name, before[i], moving[i].least);
    if (ibv_destroy_qp(r.qp[0]) || ibv_destroy_qp(r.qp[1]) || ibv_dereg_mr(r.mr) || ibv_destroy_cq(r.cq) ||
        ibv_dealloc_pd(r.pd) || ibv_close_device(r.context))
        fail("tear-down");
    free(r.memory);
    if (counter(device, "counters/port_xmit_packets")) /* the NIC is gone with the last context */
        fail("counters of no NIC");
    puts("counters move");
    return 0;
}
