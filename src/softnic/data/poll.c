/* SPDX-License-Identifier: Apache-2.0 */
/* ibv_poll_cq, and the reading of CQEs that the extended calls share. */
#include "softnic/data/poll.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "softnic/exec/cqe.h"
#include "softnic/exec/order.h"
#include "softnic/verbs/device.h"
#include "softnic/verbs/log.h"

enum { YIELD_AFTER = 64 /* polls in a row that found nothing: whoever makes work may be waiting for this very processor */ };

/* ---- fields -------------------------------------------------------------------------------------------------------- */

static uint8_t opcode_of(const struct mlx5_cqe64 *cqe)
{
    return cqe->op_own >> 4;
}

static bool is_error(const struct mlx5_cqe64 *cqe)
{
    return sn_cqe_is_error(opcode_of(cqe));
}

static bool is_receive(const struct mlx5_cqe64 *cqe)
{
    uint8_t opcode = opcode_of(cqe);
    return opcode != MLX5_CQE_REQ && opcode != MLX5_CQE_REQ_ERR;
}

static enum ibv_wc_opcode send_opcode(const struct mlx5_cqe64 *cqe)
{
    switch (be32toh(cqe->sop_drop_qpn) >> 24) {
    case MLX5_OPCODE_RDMA_WRITE:
    case MLX5_OPCODE_RDMA_WRITE_IMM:
        return IBV_WC_RDMA_WRITE;
    case MLX5_OPCODE_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case MLX5_OPCODE_ATOMIC_CS:
    case MLX5_OPCODE_ATOMIC_MASKED_CS:
        return IBV_WC_COMP_SWAP;
    case MLX5_OPCODE_ATOMIC_FA:
    case MLX5_OPCODE_ATOMIC_MASKED_FA:
        return IBV_WC_FETCH_ADD;
    case MLX5_OPCODE_UMR:
        return IBV_WC_BIND_MW;
    case MLX5_OPCODE_LOCAL_INVAL:
        return IBV_WC_LOCAL_INV;
    default:
        return IBV_WC_SEND;
    }
}

enum ibv_wc_opcode sv_cqe_opcode(const struct mlx5_cqe64 *cqe)
{
    if (!is_receive(cqe))
        return send_opcode(cqe);
    return opcode_of(cqe) == MLX5_CQE_RESP_WR_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
}

unsigned sv_cqe_wc_flags(const struct mlx5_cqe64 *cqe)
{
    unsigned flags = 0;
    if (!is_receive(cqe) || is_error(cqe))
        return 0;
    if (opcode_of(cqe) == MLX5_CQE_RESP_WR_IMM || opcode_of(cqe) == MLX5_CQE_RESP_SEND_IMM)
        flags |= IBV_WC_WITH_IMM;
    if (opcode_of(cqe) == MLX5_CQE_RESP_SEND_INV)
        flags |= IBV_WC_WITH_INV;
    if ((be32toh(cqe->flags_rqpn) >> 28) & 3)
        flags |= IBV_WC_GRH;
    return flags;
}

uint32_t sv_cqe_byte_len(const struct mlx5_cqe64 *cqe)
{
    return is_error(cqe) ? 0 : be32toh(cqe->byte_cnt);
}

uint32_t sv_cqe_vendor_err(const struct mlx5_cqe64 *cqe)
{
    return is_error(cqe) ? ((const struct mlx5_err_cqe *)(const void *)cqe)->vendor_err_synd : 0;
}

uint32_t sv_cqe_imm(const struct mlx5_cqe64 *cqe)
{
    if (is_error(cqe))
        return 0;
    return opcode_of(cqe) == MLX5_CQE_RESP_SEND_INV ? be32toh(cqe->imm_inval_pkey) : (uint32_t)cqe->imm_inval_pkey;
}

/* On Ethernet these bits say which network header there was, so no service level is left to tell. */
uint8_t sv_cqe_sl(const struct mlx5_cqe64 *cqe)
{
    return is_error(cqe) ? 0 : (be32toh(cqe->flags_rqpn) >> 24) & 0xf;
}

static enum ibv_wc_status status_of(const struct mlx5_cqe64 *cqe)
{
    switch (((const struct mlx5_err_cqe *)(const void *)cqe)->syndrome) {
    case MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR:
        return IBV_WC_LOC_LEN_ERR;
    case MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR:
        return IBV_WC_LOC_QP_OP_ERR;
    case MLX5_CQE_SYNDROME_LOCAL_PROT_ERR:
        return IBV_WC_LOC_PROT_ERR;
    case MLX5_CQE_SYNDROME_WR_FLUSH_ERR:
        return IBV_WC_WR_FLUSH_ERR;
    case MLX5_CQE_SYNDROME_MW_BIND_ERR:
        return IBV_WC_MW_BIND_ERR;
    case MLX5_CQE_SYNDROME_BAD_RESP_ERR:
        return IBV_WC_BAD_RESP_ERR;
    case MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR:
        return IBV_WC_LOC_ACCESS_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR:
        return IBV_WC_REM_INV_REQ_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR:
        return IBV_WC_REM_ACCESS_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_OP_ERR:
        return IBV_WC_REM_OP_ERR;
    case MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR:
        return IBV_WC_RETRY_EXC_ERR;
    case MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR:
        return IBV_WC_RNR_RETRY_EXC_ERR;
    case MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR:
        return IBV_WC_REM_ABORT_ERR;
    default:
        return IBV_WC_GENERAL_ERR;
    }
}

/* ---- consuming ----------------------------------------------------------------------------------------------------- */

const struct mlx5_cqe64 *sv_cq_peek(const struct sv_cq *cq)
{
    const uint8_t *entry = cq->ring + (size_t)(cq->consumer & (cq->entries - 1)) * cq->stride + cq->stride - 64;
    uint32_t word = sn_load_acquire32(entry + GDAKI_CQE_WORD_OFFSET);

    if (!gdaki_cqe_is_valid(word, cq->consumer, cq->entries))
        return NULL;
    return (const struct mlx5_cqe64 *)(const void *)entry;
}

/* Everything up to the request that begins in this slot is complete. */
static uint64_t complete_send(struct sv_qp *qp, uint16_t counter)
{
    uint32_t slot = counter & (qp->sq.slots - 1);
    uint64_t wr_id = qp->sq.wr_id[slot];
    const struct sv_sent *sent = &qp->sent[slot];
    atomic_store_explicit(&qp->sq_done, sent->index, memory_order_relaxed);
    atomic_store_explicit(&qp->sq.tail, sent->head, memory_order_release);
    return wr_id;
}

static uint64_t complete_receive(struct sv_qp *qp, uint16_t counter)
{
    uint64_t wr_id = qp->rq.wr_id[counter & (qp->rq.slots - 1)];
    uint32_t tail = atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);
    atomic_store_explicit(&qp->rq.tail, tail + 1, memory_order_release);
    return wr_id;
}

static uint64_t complete_request(struct sv_qp *qp, const struct mlx5_cqe64 *cqe, bool receive)
{
    uint16_t counter = be16toh(cqe->wqe_counter);
    if (!receive)
        return complete_send(qp, counter);
    if (sv_qp_ibv(qp)->srq)
        return sv_srq_complete(sv_srq_of(sv_qp_ibv(qp)->srq), counter);
    return complete_receive(qp, counter);
}

static struct sv_qp *owner(struct sv_cq *cq, uint32_t qpn)
{
    if (!cq->last || cq->last->qpn != qpn)
        cq->last = sv_qp_find(cq->context, qpn);
    return cq->last;
}

int sv_cq_take(struct sv_cq *cq, const struct mlx5_cqe64 *cqe, struct sv_completion *out)
{
    out->qpn = be32toh(cqe->sop_drop_qpn) & 0xffffff;
    out->receive = is_receive(cqe);
    out->status = is_error(cqe) ? status_of(cqe) : IBV_WC_SUCCESS;
    out->wr_id = 0;
    cq->consumer++;
    struct sv_qp *qp = owner(cq, out->qpn);
    if (!qp || (out->receive && !qp->rq.slots && !sv_qp_ibv(qp)->srq) || (!out->receive && !qp->sq.slots))
        return -EINVAL;
    out->wr_id = complete_request(qp, cqe, out->receive);
    return 0;
}

void sv_cq_announce(struct sv_cq *cq)
{
    sn_store_release32(cq->record, htobe32(cq->consumer & 0xffffff));
}

bool sv_cq_drive(struct sv_cq *cq)
{
    int work = sn_port_run(cq->context->port);
    if (work > 0) {
        atomic_store_explicit(&cq->idle, 0, memory_order_relaxed);
        return true;
    }
    uint32_t idle = atomic_load_explicit(&cq->idle, memory_order_relaxed) + 1;
    atomic_store_explicit(&cq->idle, idle, memory_order_relaxed);
    if (idle % YIELD_AFTER == 0)
        sched_yield();
    return work < 0; /* somebody else drives, and may have completed something */
}

static void fill(struct ibv_wc *wc, const struct mlx5_cqe64 *cqe, const struct sv_completion *c)
{
    wc->wr_id = c->wr_id;
    wc->status = c->status;
    wc->opcode = sv_cqe_opcode(cqe);
    wc->vendor_err = sv_cqe_vendor_err(cqe);
    wc->byte_len = sv_cqe_byte_len(cqe);
    wc->imm_data = sv_cqe_imm(cqe);
    wc->qp_num = c->qpn;
    wc->wc_flags = sv_cqe_wc_flags(cqe);
    wc->pkey_index = 0;
    if (c->receive && c->status == IBV_WC_SUCCESS) {
        wc->src_qp = be32toh(cqe->flags_rqpn) & 0xffffff;
        wc->slid = be16toh(cqe->slid);
        wc->sl = sv_cqe_sl(cqe);
        wc->dlid_path_bits = cqe->ml_path & 0x7f;
    } else {
        wc->src_qp = 0;
        wc->slid = 0;
        wc->sl = wc->dlid_path_bits = 0;
    }
}

/* cq.lock held. Completions, or -1 if the first is nobody's. */
static int poll_ring(struct sv_cq *cq, int entries, struct ibv_wc *wc)
{
    const struct mlx5_cqe64 *cqe;
    struct sv_completion c;
    int n = 0, rc = 0;

    while (n < entries && !rc && (cqe = sv_cq_peek(cq))) {
        rc = sv_cq_take(cq, cqe, &c);
        if (!rc)
            fill(&wc[n++], cqe, &c);
    }
    if (n || rc)
        sv_cq_announce(cq);
    if (rc)
        sv_refuse(EINVAL, "ibv_poll_cq: CQ 0x%x has a completion of QP 0x%x, which verbs did not make", cq->cqn, c.qpn);
    return n || !rc ? n : -1;
}

int sv_poll_cq(struct ibv_cq *ibv, int entries, struct ibv_wc *wc)
{
    struct sv_cq *cq = sv_cq_of(ibv);
    int n;

    if (!sv_context_usable(cq->context, "ibv_poll_cq"))
        return -1;
    pthread_mutex_lock(&cq->lock);
    n = poll_ring(cq, entries, wc);
    pthread_mutex_unlock(&cq->lock);
    if (n || entries <= 0 || !sv_cq_drive(cq))
        return n;
    pthread_mutex_lock(&cq->lock);
    n = poll_ring(cq, entries, wc);
    pthread_mutex_unlock(&cq->lock);
    return n;
}

/* ---- a queue pair goes --------------------------------------------------------------------------------------------- */

static uint8_t *entry_at(const struct sv_cq *cq, uint32_t n)
{
    return cq->ring + (size_t)(n & (cq->entries - 1)) * cq->stride + cq->stride - 64;
}

static uint32_t written(struct sv_cq *cq)
{
    uint32_t n = cq->consumer;
    while (n - cq->consumer < cq->entries &&
           gdaki_cqe_is_valid(sn_load_acquire32(entry_at(cq, n) + GDAKI_CQE_WORD_OFFSET), n, cq->entries))
        n++;
    return n;
}

/*
 * What others left moves up over the gaps, from the newest to the oldest, and the consumer index follows. The device
 * writes behind all of it meanwhile.
 */
void sv_cq_forget(struct sv_cq *cq, struct sv_qp *qp)
{
    uint32_t gaps = 0;

    pthread_mutex_lock(&cq->lock);
    for (uint32_t n = written(cq); n-- != cq->consumer;) {
        uint8_t *from = entry_at(cq, n), *to = entry_at(cq, n + gaps);
        const struct mlx5_cqe64 *cqe = (const struct mlx5_cqe64 *)(const void *)from;
        if ((be32toh(cqe->sop_drop_qpn) & 0xffffff) == qp->qpn) {
            if (is_receive(cqe) && sv_qp_ibv(qp)->srq)
                (void)sv_srq_complete(sv_srq_of(sv_qp_ibv(qp)->srq), be16toh(cqe->wqe_counter));
            gaps++;
        } else if (gaps) {
            uint8_t owner_bit = to[63] & MLX5_CQE_OWNER_MASK;
            memcpy(to, from, 64);
            to[63] = (uint8_t)((to[63] & ~MLX5_CQE_OWNER_MASK) | owner_bit);
        }
    }
    cq->consumer += gaps;
    if (gaps)
        sv_cq_announce(cq);
    if (cq->last == qp)
        cq->last = NULL;
    pthread_mutex_unlock(&cq->lock);
}
