/* SPDX-License-Identifier: Apache-2.0 */
/* ibv_post_send, and the writing of send WQEs that the extended calls share. */
#include "softnic/data/post.h"

#include <errno.h>
#include <string.h>

#include "format/wqe.h"
#include "softnic/data/mw.h"
#include "softnic/exec/order.h"
#include "softnic/exec/wqe.h"
#include "softnic/verbs/log.h"

enum { FENCE_READS = SN_FENCE_READS_SMALL << 5, INLINE_SEG_MAX = SN_WQE_MAX_DS * SN_WQE_SEG };

/* ---- pieces of a WQE ----------------------------------------------------------------------------------------------- */

void sv_wqe_sge(struct sv_wqe *w, uint32_t lkey, uint64_t addr, uint32_t length)
{
    struct gdaki_wqe_image image = {.segs = 0};
    if (!length)
        return;
    gdaki_wqe_data(&image, addr, htobe32(lkey), length);
    sv_wqe_put(w, &image);
}

int sv_wqe_inline(struct sv_wqe *w, size_t count, const struct ibv_data_buf *list)
{
    union {
        uint64_t word[INLINE_SEG_MAX / 8];
        uint8_t byte[INLINE_SEG_MAX];
    } seg;
    size_t total = 0;

    for (size_t i = 0; i < count; i++) {
        if (list[i].length > w->qp->max_inline - total)
            return -EINVAL;
        if (list[i].length)
            memcpy(seg.byte + 4 + total, list[i].addr, list[i].length);
        total += list[i].length;
    }
    if (!total)
        return 0;
    uint32_t header = gdaki_wqe_inline_count((uint32_t)total);
    size_t segs = (4 + total + 15) / 16;
    memcpy(seg.byte, &header, 4);
    memset(seg.byte + 4 + total, 0, segs * 16 - 4 - total);
    for (size_t i = 0; i < segs; i++)
        gdaki_store_seg(sv_wqe_at(w, w->segs++), seg.word[2 * i], seg.word[2 * i + 1]);
    return 0;
}

void sv_wqe_av(struct sv_wqe *w, const struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
    struct mlx5_wqe_av av = sv_container((void *)(uintptr_t)ah, struct sv_ah, ibv)->av;
    uint64_t word[sizeof(av) / 8];

    av.key.qkey.qkey = htobe32(remote_qkey);
    av.dqp_dct = htobe32((remote_qpn & 0xffffff) | SN_AV_EXTENDED);
    memcpy(word, &av, sizeof(av));
    for (unsigned i = 0; i < sizeof(av) / 16; i++)
        gdaki_store_seg(sv_wqe_at(w, w->segs++), word[2 * i], word[2 * i + 1]);
}

/* ---- the ring ------------------------------------------------------------------------------------------------------ */

int sv_sq_room_for(struct sv_qp *qp, uint32_t blocks)
{
    enum ibv_qp_state state = __atomic_load_n(&sv_qp_ibv(qp)->state, __ATOMIC_RELAXED);

    if (!qp->sq.slots || state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR)
        return -EINVAL;
    if (qp->sq.head - atomic_load_explicit(&qp->sq.tail, memory_order_acquire) >= qp->sq.max_post)
        return -ENOMEM;
    uint32_t used = qp->sq_index - atomic_load_explicit(&qp->sq_done, memory_order_relaxed);
    return blocks > qp->sq.slots - used ? -ENOMEM : 0; /* a bind is larger than what the caller asked for */
}

static uint32_t control_flags(const struct sv_qp *qp, unsigned send_flags)
{
    return (qp->signal_all || send_flags & IBV_SEND_SIGNALED ? SN_CE_ALWAYS << 2 : 0) |
           (send_flags & IBV_SEND_SOLICITED ? SN_WQE_SOLICITED : 0) | (send_flags & IBV_SEND_FENCE ? FENCE_READS : 0);
}

void sv_sq_finish(struct sv_wqe *w, uint8_t opcode, uint8_t opmod, unsigned send_flags, uint32_t imm_be, uint64_t wr_id)
{
    struct sv_qp *qp = w->qp;
    uint32_t slot = w->index & (qp->sq.slots - 1);
    struct gdaki_wqe_image image;

    gdaki_wqe_ctrl(&image, qp->qpn_be8 | htobe32(w->segs), (uint16_t)w->index, (uint32_t)opmod << 24, opcode,
                   control_flags(qp, send_flags), imm_be);
    gdaki_store_seg(sv_wqe_at(w, 0), image.word[0], image.word[1]);
    qp->sq.wr_id[slot] = wr_id;
    qp->sq.head++;
    qp->sq_index = w->index + sn_wqe_blocks(w->segs);
    qp->sent[slot] = (struct sv_sent){qp->sq.head, qp->sq_index};
}

void sv_sq_ring(struct sv_qp *qp)
{
    sn_store_release32(qp->dbr + 1, gdaki_record_value(qp->sq_index)); /* orders the WQEs before the record */
    sn_store_release64(qp->reg, gdaki_doorbell_value(qp->qpn_be8, qp->sq_index)); /* and both before the register */
    sn_port_wake(qp->context->port);
}

/* ---- ibv_post_send ------------------------------------------------------------------------------------------------- */

struct verb {
    uint8_t opcode;   /* of the WQE; 0: not by this call */
    uint8_t services; /* that have it: bits 1 << enum sn_service */
    bool remote, atomic, inlines, imm;
};

enum { RC = 1 << SN_SERVICE_RC, UC = 1 << SN_SERVICE_UC, UD = 1 << SN_SERVICE_UD };

static const struct verb verbs[] = {
    [IBV_WR_RDMA_WRITE] = {MLX5_OPCODE_RDMA_WRITE, RC | UC, .remote = true, .inlines = true},
    [IBV_WR_RDMA_WRITE_WITH_IMM] = {MLX5_OPCODE_RDMA_WRITE_IMM, RC | UC, .remote = true, .inlines = true, .imm = true},
    [IBV_WR_SEND] = {MLX5_OPCODE_SEND, RC | UC | UD, .inlines = true},
    [IBV_WR_SEND_WITH_IMM] = {MLX5_OPCODE_SEND_IMM, RC | UC | UD, .inlines = true, .imm = true},
    [IBV_WR_RDMA_READ] = {MLX5_OPCODE_RDMA_READ, RC, .remote = true},
    [IBV_WR_ATOMIC_CMP_AND_SWP] = {MLX5_OPCODE_ATOMIC_CS, RC, .remote = true, .atomic = true},
    [IBV_WR_ATOMIC_FETCH_AND_ADD] = {MLX5_OPCODE_ATOMIC_FA, RC, .remote = true, .atomic = true},
    [IBV_WR_SEND_WITH_INV] = {MLX5_OPCODE_SEND_INVAL, RC, .inlines = true},
};

static const struct verb *verb_of(const struct sv_qp *qp, const struct ibv_send_wr *wr)
{
    const struct verb *v = (unsigned)wr->opcode < sizeof(verbs) / sizeof(verbs[0]) ? &verbs[wr->opcode] : NULL;
    if (!v || !v->opcode || !(v->services & 1 << qp->service)) {
        sv_refuse(EINVAL, "ibv_post_send: QP 0x%x: opcode %d is not one of its service", qp->qpn, (int)wr->opcode);
        return NULL;
    }
    return v;
}

static int check(const struct sv_qp *qp, const struct verb *v, const struct ibv_send_wr *wr)
{
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->sq.max_sge)
        return -sv_refuse(EINVAL, "ibv_post_send: QP 0x%x: num_sge = %d, it has room for %u", qp->qpn, wr->num_sge,
                          qp->sq.max_sge);
    if (wr->send_flags & IBV_SEND_INLINE && !v->inlines)
        return -sv_refuse(EINVAL, "ibv_post_send: QP 0x%x: opcode %d takes no inline data", qp->qpn, (int)wr->opcode);
    if (qp->service == SN_SERVICE_UD && (!wr->wr.ud.ah || wr->wr.ud.ah->context != &qp->context->verbs.context))
        return -sv_refuse(EINVAL, "ibv_post_send: QP 0x%x: no address handle, or of another context", qp->qpn);
    for (int i = 0; i < wr->num_sge; i++)
        if (wr->sg_list[i].length & SN_INLINE_SEG)
            return -sv_refuse(EINVAL, "ibv_post_send: QP 0x%x: length %u of an entry is 2^31 or more", qp->qpn,
                              wr->sg_list[i].length);
    return 0;
}

static void put_remote(struct sv_wqe *w, const struct verb *v, const struct ibv_send_wr *wr)
{
    struct gdaki_wqe_image image = {.segs = 0};
    if (!v->atomic) {
        gdaki_wqe_raddr(&image, wr->wr.rdma.remote_addr, htobe32(wr->wr.rdma.rkey));
    } else {
        gdaki_wqe_raddr(&image, wr->wr.atomic.remote_addr, htobe32(wr->wr.atomic.rkey));
        bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
        gdaki_wqe_seg(&image, htobe64(swap ? wr->wr.atomic.swap : wr->wr.atomic.compare_add),
                      swap ? htobe64(wr->wr.atomic.compare_add) : 0);
    }
    sv_wqe_put(w, &image);
}

static int put_inline(struct sv_wqe *w, const struct ibv_send_wr *wr)
{
    struct ibv_data_buf list[SV_MAX_SGE];
    for (int i = 0; i < wr->num_sge; i++)
        list[i] = (struct ibv_data_buf){(void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length};
    int rc = sv_wqe_inline(w, (size_t)wr->num_sge, list);
    return rc ? -sv_refuse(EINVAL, "ibv_post_send: QP 0x%x: more inline data than max_inline_data = %u", w->qp->qpn,
                           w->qp->max_inline)
              : 0;
}

static int post_one(struct sv_qp *qp, const struct ibv_send_wr *wr)
{
    if (wr->opcode == IBV_WR_BIND_MW)
        return sv_wqe_bind(qp, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info, wr->send_flags, wr->wr_id);
    if (wr->opcode == IBV_WR_LOCAL_INV)
        return sv_wqe_local_inv(qp, wr->invalidate_rkey, wr->send_flags, wr->wr_id);
    const struct verb *v = verb_of(qp, wr);
    if (!v)
        return -EINVAL;
    int rc = check(qp, v, wr);
    if (rc)
        return rc;
    struct sv_wqe w = sv_sq_begin(qp);
    if (qp->service == SN_SERVICE_UD)
        sv_wqe_av(&w, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
    if (v->remote)
        put_remote(&w, v, wr);
    if (wr->send_flags & IBV_SEND_INLINE)
        rc = put_inline(&w, wr);
    else
        for (int i = 0; i < wr->num_sge; i++)
            sv_wqe_sge(&w, wr->sg_list[i].lkey, wr->sg_list[i].addr, wr->sg_list[i].length);
    if (rc)
        return rc;
    uint32_t imm = v->imm ? wr->imm_data : wr->opcode == IBV_WR_SEND_WITH_INV ? htobe32(wr->invalidate_rkey) : 0;
    sv_sq_finish(&w, v->opcode, 0, wr->send_flags, imm, wr->wr_id);
    return 0;
}

int sv_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct sv_qp *qp = sv_qp_of(ibv);
    uint32_t before;
    int rc = 0;

    if (!sv_context_usable(qp->context, "ibv_post_send")) {
        *bad = wr;
        return ENODEV;
    }
    pthread_mutex_lock(&qp->sq.lock);
    before = qp->sq_index;
    for (; wr; wr = wr->next) {
        rc = sv_sq_room(qp);
        if (!rc)
            rc = post_one(qp, wr);
        if (rc)
            break;
    }
    if (qp->sq_index != before)
        sv_sq_ring(qp); /* those before the bad one have been posted */
    pthread_mutex_unlock(&qp->sq.lock);
    if (!rc)
        return 0;
    *bad = wr;
    if (rc == -ENOMEM)
        return ENOMEM; /* full: callers meet it on purpose */
    return -rc;
}
