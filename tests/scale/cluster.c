/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/cqe.h"
#include "format/doorbell.h"
#include "format/wqe.h"

enum { RING = 1 << CLUSTER_LOG_RING, RING_BYTES = RING * 64, QUEUE_BYTES = 2 * RING_BYTES + 64 };

uint64_t clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int make_nic(struct cluster *c, int side)
{
    struct sn_nic_config config = {.name = side == 0 ? "scale0" : "scale1",
                                   .gid_count = 1,
                                   .slot = (uint8_t)(side + 1),
                                   .max_uars = c->pairs + 8};

    config.gid[0][0] = 0xfe;
    config.gid[0][15] = (uint8_t)(side + 1);
    return sn_nic_create(c->port, &config, &c->nic[side]);
}

static uint8_t *data_of(struct cluster *c, int side)
{
    return c->memory + (size_t)c->pairs * (2 * QUEUE_BYTES + (side == 0 ? 0 : CLUSTER_DATA));
}

static int make_key(struct cluster *c, int side)
{
    struct sn_mkey_attr attr = {.access = SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE};
    int ret = sn_pd_create(c->nic[side], &c->pdn[side]);

    if (ret != 0)
        return ret;
    attr.pdn = c->pdn[side];
    attr.iova = (uintptr_t)data_of(c, side);
    attr.span = (struct sn_span){.addr = data_of(c, side), .length = (size_t)c->pairs * CLUSTER_DATA};
    return sn_mkey_create(c->nic[side], &attr, &c->key[side]);
}

static int make_queue(struct cluster *c, int side, unsigned i)
{
    struct queue *q = &c->queue[side][i];
    uint8_t *at = c->memory + ((size_t)c->pairs * (unsigned)side + i) * QUEUE_BYTES;
    int ret;

    *q = (struct queue){.nic = c->nic[side], .sq = at, .cq = at + RING_BYTES, .key = c->key[side]};
    q->record = (uint32_t *)(void *)(at + 2 * RING_BYTES);
    q->data = data_of(c, side) + (size_t)i * CLUSTER_DATA;
    memset(q->cq, 0xf1, RING_BYTES); /* opcode invalid, owner 1 */
    ret = sn_uar_alloc_packed(q->nic, &q->uar);
    if (ret != 0)
        return ret;
    struct sn_cq_attr cq = {.ring = {.addr = q->cq, .length = RING_BYTES},
                            .log_size = CLUSTER_LOG_RING,
                            .cqe_size = 64,
                            .overrun_ignore = true,
                            .record = {.addr = q->record + 4, .length = 8},
                            .uar = q->uar.index};
    ret = sn_cq_create(q->nic, &cq, &q->cqn);
    if (ret != 0)
        return ret;
    struct sn_qp_attr qp = {.service = SN_SERVICE_RC,
                            .pdn = c->pdn[side],
                            .log_sq_size = CLUSTER_LOG_RING,
                            .sq = {.addr = q->sq, .length = RING_BYTES},
                            .cqn_snd = q->cqn,
                            .rq_kind = SN_RQ_NONE,
                            .cqn_rcv = q->cqn,
                            .record = {.addr = q->record, .length = 8},
                            .uar = q->uar.index};
    return sn_qp_create(q->nic, &qp, &q->qpn);
}

static int connect_queue(struct queue *q, const struct queue *peer)
{
    struct sn_qp_params p = {.port = 1,
                             .rwe = true,
                             .mtu = 3,
                             .log_msg_max = 30,
                             .remote_qpn = peer->qpn,
                             .min_rnr = 12,
                             .ack_timeout = 14,
                             .retry_count = 7,
                             .rnr_retry = 7};
    int ret;

    memcpy(p.path.dgid, sn_nic_get_config(peer->nic)->gid[0], 16);
    ret = sn_qp_modify(q->nic, q->qpn, SN_QP_INIT, &p, SN_QPF_PORT | SN_QPF_RWE | SN_QPF_PKEY_INDEX);
    if (ret == 0)
        ret = sn_qp_modify(q->nic, q->qpn, SN_QP_RTR, &p,
                           SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH | SN_QPF_MIN_RNR | SN_QPF_RRA |
                               SN_QPF_MSG_MAX);
    if (ret == 0)
        ret = sn_qp_modify(q->nic, q->qpn, SN_QP_RTS, &p,
                           SN_QPF_SND_PSN | SN_QPF_ACK_TIMEOUT | SN_QPF_RETRY | SN_QPF_RNR_RETRY | SN_QPF_SRA);
    return ret;
}

static int fill(struct cluster *c)
{
    uint64_t begun = clock_ns();
    int ret = 0;

    for (int side = 0; side < 2 && ret == 0; side++) {
        ret = make_nic(c, side);
        if (ret == 0)
            ret = make_key(c, side);
        for (unsigned i = 0; i < c->pairs && ret == 0; i++)
            ret = make_queue(c, side, i);
    }
    c->create_ns = clock_ns() - begun;
    begun = clock_ns();
    for (unsigned i = 0; i < c->pairs && ret == 0; i++) {
        ret = connect_queue(&c->queue[0][i], &c->queue[1][i]);
        if (ret == 0)
            ret = connect_queue(&c->queue[1][i], &c->queue[0][i]);
    }
    c->connect_ns = clock_ns() - begun;
    return ret;
}

int cluster_open(struct cluster *c, unsigned pairs, const struct sn_port_config *config)
{
    size_t bytes = (size_t)pairs * 2 * (QUEUE_BYTES + CLUSTER_DATA);
    int ret;

    memset(c, 0, sizeof(*c));
    c->pairs = pairs;
    ret = sn_port_create(config, &c->port);
    if (ret != 0)
        return ret;
    c->memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    c->queue[0] = calloc(pairs, sizeof(*c->queue[0]));
    c->queue[1] = calloc(pairs, sizeof(*c->queue[1]));
    if (c->memory != NULL && c->queue[0] != NULL && c->queue[1] != NULL) {
        memset(c->memory, 0, bytes);
        sn_port_lock(c->port);
        ret = fill(c);
        sn_port_unlock(c->port);
    } else {
        ret = -ENOMEM;
    }
    if (ret != 0)
        cluster_close(c);
    return ret;
}

void cluster_close(struct cluster *c)
{
    sn_port_lock(c->port);
    for (int side = 0; side < 2; side++)
        if (c->nic[side] != NULL)
            sn_nic_destroy(c->nic[side]);
    sn_port_unlock(c->port);
    sn_port_destroy(c->port);
    free(c->memory);
    free(c->queue[0]);
    free(c->queue[1]);
    memset(c, 0, sizeof(*c));
}

void queue_put(struct queue *q, const struct queue *peer, uint64_t value)
{
    uint8_t *wqe = q->sq + (q->pi % RING) * 64;
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)wqe;
    struct sn_raddr_seg *raddr = (struct sn_raddr_seg *)(void *)(wqe + 16);
    struct sn_data_seg *data = (struct sn_data_seg *)(void *)(wqe + 32);

    memcpy(q->data, &value, sizeof(value));
    raddr->raddr = sn_put64((uintptr_t)peer->data);
    raddr->rkey = sn_put32(peer->key);
    data->byte_count = sn_put32(8);
    data->lkey = sn_put32(q->key);
    data->addr = sn_put64((uintptr_t)q->data);
    ctrl->qpn_ds = sn_put32(q->qpn << 8 | 3);
    ctrl->fm_ce_se = 8;
    ctrl->imm = 0;
    ctrl->opmod_idx_opcode = sn_put32((q->pi & 0xffff) << 8 | SN_OPCODE_RDMA_WRITE);
    q->pi++;
    __atomic_store_n(q->record + 1, sn_swap32(q->pi & 0xffff), __ATOMIC_RELEASE);
    __atomic_store_n((uint64_t *)q->uar.reg, sn_doorbell_build(q->qpn, q->pi), __ATOMIC_RELEASE);
}

int queue_poll(struct queue *q)
{
    const uint8_t *op_own = q->cq + (q->ci % RING) * 64 + 63;
    uint8_t v = __atomic_load_n(op_own, __ATOMIC_ACQUIRE);

    if (v >> 4 == 0xf || (v & 1) != (q->ci >> CLUSTER_LOG_RING & 1))
        return 0;
    q->ci++;
    return v >> 4 == SN_CQE_REQ ? 1 : -1;
}
