/* SPDX-License-Identifier: Apache-2.0 */
/* An end of a connection: its way to RTS and back, its WQEs, its doorbells. */
#include <stdlib.h>
#include <string.h>

#include "format/doorbell.h"
#include "format/wqe.h"
#include "sim/internal.h"

struct sim_wr *sim_end_wr(struct sim_end *end, uint64_t number)
{
    return &end->wr[number & (end->host->sim->wrs - 1)];
}

/* Addresses are no pointers, so that the same seed gives the same packets. */
uint64_t sim_end_address(const struct sim_end *end, uint32_t offset)
{
    return ((uint64_t)end->number + 1) * 0x100000000ull + offset;
}

/* ---- life ---------------------------------------------------------------------------------------------------------- */

static int create_keys(struct sim_end *end)
{
    struct sn_mkey_attr local = {.pdn = end->host->pdn,
                                 .access = SN_ACCESS_LOCAL_WRITE,
                                 .iova = sim_end_address(end, end->at.tx),
                                 .span = {.addr = end->mem + end->at.tx, .length = end->at.size - 2 * SIM_GUARD}};
    struct sn_mkey_attr remote = local;
    int ret = sn_mkey_create(end->host->nic, &local, &end->lkey);

    if (ret != 0)
        return ret;
    remote.access = SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ | SN_ACCESS_REMOTE_ATOMIC;
    remote.span.length = end->at.words + 8 * SIM_WORDS - end->at.tx;
    return sn_mkey_create(end->host->nic, &remote, &end->rkey);
}

static uint8_t mtu_code(uint64_t bytes)
{
    uint8_t code = 1;

    while (128u << code < bytes)
        code++;
    return code;
}

static uint8_t log2_of(uint64_t n)
{
    uint8_t log = 0;

    while (2ull << log <= n)
        log++;
    return log;
}

static int connect_end(struct sim_end *end, uint32_t first_psn, uint32_t peer_psn)
{
    const struct sim_qp_params *q = &end->host->sim->sc.qp;
    struct sn_nic *nic = end->host->nic;
    struct sn_qp_params p = {.port = 1,
                             .rwe = true,
                             .rre = true,
                             .rae = true,
                             .atomic_mode = 3,
                             .mtu = mtu_code(q->mtu),
                             .log_msg_max = 30,
                             .rcv_psn = peer_psn,
                             .snd_psn = first_psn,
                             .remote_qpn = end->peer->qpn,
                             .min_rnr = (uint8_t)q->min_rnr,
                             .ack_timeout = (uint8_t)q->timeout,
                             .retry_count = (uint8_t)q->retry,
                             .rnr_retry = (uint8_t)q->rnr_retry,
                             .log_sra_max = log2_of(q->rd_atomic),
                             .log_rra_max = log2_of(q->rd_atomic)};
    int ret;

    sim_host_gid(end->peer->host->number, p.path.dgid);
    sim_host_mac(end->peer->host->number, p.path.rmac);
    ret = sn_qp_modify(nic, end->qpn, SN_QP_INIT, &p,
                       SN_QPF_PORT | SN_QPF_RWE | SN_QPF_RRE | SN_QPF_RAE | SN_QPF_PKEY_INDEX);
    if (ret == 0)
        ret = sn_qp_modify(nic, end->qpn, SN_QP_RTR, &p,
                           SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH | SN_QPF_MIN_RNR | SN_QPF_RRA |
                               SN_QPF_MSG_MAX);
    if (ret == 0)
        ret = sn_qp_modify(nic, end->qpn, SN_QP_RTS, &p,
                           SN_QPF_SND_PSN | SN_QPF_ACK_TIMEOUT | SN_QPF_RETRY | SN_QPF_RNR_RETRY | SN_QPF_SRA);
    return ret;
}

int sim_end_open(struct sim_end *end, uint32_t first_psn, uint32_t peer_psn)
{
    int ret = create_keys(end);

    end->pi = end->rq_pi = 0;
    if (ret == 0)
        ret = connect_end(end, first_psn, peer_psn);
    return ret;
}

void sim_end_close(struct sim_end *end)
{
    struct sn_nic *nic = end->host->nic;

    if (sn_qp_modify(nic, end->qpn, SN_QP_RST, NULL, 0) != 0 || sn_mkey_destroy(nic, end->lkey) != 0 ||
        sn_mkey_destroy(nic, end->rkey) != 0)
        sim_violation(end->host->sim, "nic%u QP 0x%x: cannot be taken down", end->host->number, end->qpn);
}

/* ---- WQEs ------------------------------------------------------------------------------------------------------------ */

static uint8_t opcode_of(enum sim_op op)
{
    static const uint8_t opcode[SIM_OPS] = {
        [SIM_OP_WRITE] = SN_OPCODE_RDMA_WRITE,  [SIM_OP_WRITE_IMM] = SN_OPCODE_RDMA_WRITE_IMM,
        [SIM_OP_SEND] = SN_OPCODE_SEND,         [SIM_OP_SEND_IMM] = SN_OPCODE_SEND_IMM,
        [SIM_OP_READ] = SN_OPCODE_RDMA_READ,    [SIM_OP_READ_BACK] = SN_OPCODE_RDMA_READ,
        [SIM_OP_FETCH_ADD] = SN_OPCODE_ATOMIC_FA, [SIM_OP_CMP_SWAP] = SN_OPCODE_ATOMIC_CS,
        [SIM_OP_SHARED_ADD] = SN_OPCODE_ATOMIC_FA,
    };
    return opcode[op];
}

static bool is_atomic(enum sim_op op)
{
    return op == SIM_OP_FETCH_ADD || op == SIM_OP_CMP_SWAP || op == SIM_OP_SHARED_ADD;
}

static void put_data(uint8_t *seg, const struct sim_end *end, uint32_t offset, uint32_t length)
{
    struct sn_data_seg *d = (struct sn_data_seg *)(void *)seg;

    d->byte_count = sn_put32(length);
    d->lkey = sn_put32(end->lkey);
    d->addr = sn_put64(sim_end_address(end, offset));
}

/* Payload inline where it fits, else as one piece, or two when there is room for two. */
static uint32_t put_payload(struct sim_end *end, const struct sim_wr *wr, uint8_t *wqe, uint32_t ds)
{
    uint32_t way = (uint32_t)sim_rng_below(&end->rng, 4), part;
    bool source = wr->op != SIM_OP_READ && wr->op != SIM_OP_READ_BACK && !is_atomic(wr->op);

    if (way == 0 && source && wr->length + 4 <= 64 - 16 * ds) {
        ((struct sn_inline_seg *)(void *)(wqe + 16 * ds))->byte_count = sn_put32(wr->length | SN_INLINE_SEG);
        memcpy(wqe + 16 * ds + 4, end->mem + wr->local, wr->length);
        return ds + (wr->length + 4 + 15) / 16;
    }
    if (wr->length == 0)
        return ds;
    part = way == 1 && !is_atomic(wr->op) && wr->length > 1 ? 1 + (uint32_t)sim_rng_below(&end->rng, wr->length - 1) : 0;
    if (part != 0) {
        put_data(wqe + 16 * ds, end, wr->local, part);
        ds++;
    }
    put_data(wqe + 16 * ds, end, wr->local + part, wr->length - part);
    return ds + 1;
}

void sim_end_put_wqe(struct sim_end *end, const struct sim_wr *wr)
{
    uint8_t *wqe = end->sq + (size_t)(end->pi & (end->host->sim->depth - 1)) * 64;
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)wqe;
    bool shared = wr->op == SIM_OP_SHARED_ADD;
    uint32_t ds = 1;

    memset(wqe, 0xcc, 64); /* stale bytes beyond the WQE */
    if (wr->op != SIM_OP_SEND && wr->op != SIM_OP_SEND_IMM) {
        struct sn_raddr_seg *r = (struct sn_raddr_seg *)(void *)(wqe + 16);
        r->raddr = sn_put64(shared ? SIM_SHARED_IOVA : sim_end_address(end->peer, wr->remote));
        r->rkey = sn_put32(shared ? end->peer->host->shared_key : end->peer->rkey);
        ds = 2;
    }
    if (is_atomic(wr->op)) {
        struct sn_atomic_seg *a = (struct sn_atomic_seg *)(void *)(wqe + 32);
        a->swap_add = sn_put64(wr->operand);
        a->compare = sn_put64(wr->compare);
        ds = 3;
    }
    ds = put_payload(end, wr, wqe, ds);
    ctrl->opmod_idx_opcode = sn_put32((end->pi & 0xffff) << 8 | opcode_of(wr->op));
    ctrl->qpn_ds = sn_put32(end->qpn << 8 | ds);
    ctrl->fm_ce_se = (uint8_t)((wr->fenced ? SN_FENCE_READS << 5 : 0) | SN_CE_ALWAYS << 2);
    ctrl->imm = wr->imm;
    end->pi++;
}

/* Record, then register: several queues share the register, and what one of them overwrites the record still tells. */
void sim_end_ring(struct sim_end *end)
{
    uint64_t value = sn_doorbell_build(end->qpn, end->pi);

    end->record[1] = sn_swap32(end->pi & 0xffff);
    __atomic_store_n(end->host->reg, value, __ATOMIC_RELEASE);
    sim_host_run_soon(end->host);
}

void sim_end_put_recv(struct sim_end *end)
{
    const struct sim *sim = end->host->sim;
    uint32_t slot = end->rq_pi % (uint32_t)end->conn->workload->receives;
    uint8_t *wqe = end->rq + (size_t)(end->rq_pi & (sim->receives - 1)) * 32;
    struct sn_data_seg *stop = (struct sn_data_seg *)(void *)(wqe + 16);
    uint32_t size = end->at.recv_size / (uint32_t)end->conn->workload->receives;

    put_data(wqe, end, end->at.recv + slot * size, size);
    stop->byte_count = sn_put32(0);
    stop->lkey = sn_put32(SN_LKEY_END);
    stop->addr = sn_put64(0);
    end->rq_pi++;
    end->record[0] = sn_swap32(end->rq_pi & 0xffff);
}
