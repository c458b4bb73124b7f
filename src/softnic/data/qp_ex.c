/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended queue pairs: requests are built by calls between wr_start and wr_complete, and posted as one batch or not at
 * all. A builder begins a WQE, setters add to it, and the next builder or wr_complete ends it: nothing of it counts before.
 * The first error of a batch is kept and is what wr_complete returns.
 */
#include <errno.h>
#include <string.h>

#include "format/wqe.h"
#include "softnic/data/ex.h"
#include "softnic/data/mw.h"
#include "softnic/data/post.h"
#include "softnic/verbs/device.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

static struct sv_qp *qp_of(struct ibv_qp_ex *ex)
{
    return sv_container(ex, struct sv_qp, ex);
}

/* ---- the WQE in hand ----------------------------------------------------------------------------------------- */

static void fail(struct sv_qp *qp, int error)
{
    if (!qp->batch.error)
        qp->batch.error = error;
    qp->batch.segs = 0;
}

static struct sv_wqe in_hand(struct sv_qp *qp, uint32_t segs)
{
    return (struct sv_wqe){.qp = qp, .index = qp->sq_index, .segs = segs};
}

static void append(struct sv_qp *qp, const struct gdaki_wqe_image *image)
{
    struct sv_wqe w = in_hand(qp, qp->batch.segs);

    if (!qp->batch.segs)
        return;
    sv_wqe_put(&w, image);
    qp->batch.segs = w.segs;
}

static void finish(struct sv_qp *qp)
{
    struct sv_wqe w = in_hand(qp, qp->batch.segs);

    if (!qp->batch.segs)
        return;
    if (qp->service == SN_SERVICE_UD && !qp->batch.addressed) {
        fail(qp, sv_refuse(EINVAL, "ibv_wr_*: QP 0x%x: a datagram without ibv_wr_set_ud_addr", qp->qpn));
        return;
    }
    sv_sq_finish(&w, qp->batch.opcode, 0, qp->batch.flags, qp->batch.imm_be, qp->batch.wr_id);
    qp->batch.segs = 0;
}

static bool inherited(const struct sv_qp *qp)
{
    return qp->context->generation != sv_generation(); /* through a fork: its memory is not there */
}

static void begin(struct sv_qp *qp, uint8_t opcode, uint32_t imm_be)
{
    int rc;

    if (inherited(qp))
        return;
    finish(qp);
    if (qp->batch.error)
        return;
    rc = sv_sq_room(qp);
    if (rc) {
        fail(qp, -rc);
        return;
    }
    qp->batch.segs = 1 + (qp->service == SN_SERVICE_UD ? sizeof(struct sn_av_seg) / SN_WQE_SEG : 0);
    qp->batch.addressed = qp->batch.filled = false;
    qp->batch.opcode = opcode;
    qp->batch.imm_be = imm_be;
    qp->batch.flags = qp->ex.wr_flags;
    qp->batch.wr_id = qp->ex.wr_id;
}

static void begin_remote(struct sv_qp *qp, uint8_t opcode, uint32_t imm_be, uint32_t rkey, uint64_t remote_addr)
{
    struct gdaki_wqe_image image = {.segs = 0};

    begin(qp, opcode, imm_be);
    gdaki_wqe_raddr(&image, remote_addr, htobe32(rkey));
    append(qp, &image);
}

/* ---- builders ------------------------------------------------------------------------------------------------ */

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
    begin_remote(qp_of(ex), MLX5_OPCODE_RDMA_WRITE, 0, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
    begin_remote(qp_of(ex), MLX5_OPCODE_RDMA_WRITE_IMM, imm_data, rkey, remote_addr);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
    begin_remote(qp_of(ex), MLX5_OPCODE_RDMA_READ, 0, rkey, remote_addr);
}

static void operands(struct sv_qp *qp, uint64_t swap_add, uint64_t compare)
{
    struct gdaki_wqe_image image = {.segs = 0};

    gdaki_wqe_seg(&image, htobe64(swap_add), htobe64(compare));
    append(qp, &image);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap)
{
    begin_remote(qp_of(ex), MLX5_OPCODE_ATOMIC_CS, 0, rkey, remote_addr);
    operands(qp_of(ex), swap, compare);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
    begin_remote(qp_of(ex), MLX5_OPCODE_ATOMIC_FA, 0, rkey, remote_addr);
    operands(qp_of(ex), add, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
    begin(qp_of(ex), MLX5_OPCODE_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
    begin(qp_of(ex), MLX5_OPCODE_SEND_IMM, imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
    begin(qp_of(ex), MLX5_OPCODE_SEND_INVAL, htobe32(invalidate_rkey));
}

/* The two below are whole requests: no setter follows. */
static void whole(struct sv_qp *qp, int rc)
{
    if (rc)
        fail(qp, -rc);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
    struct sv_qp *qp = qp_of(ex);

    if (inherited(qp))
        return;
    finish(qp);
    if (!qp->batch.error)
        whole(qp, sv_wqe_bind(qp, mw, rkey, info, ex->wr_flags, ex->wr_id));
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
    struct sv_qp *qp = qp_of(ex);

    if (inherited(qp))
        return;
    finish(qp);
    if (!qp->batch.error)
        whole(qp, sv_wqe_local_inv(qp, invalidate_rkey, ex->wr_flags, ex->wr_id));
}

/* ---- setters ------------------------------------------------------------------------------------------------- */

/* Room for the address vector was left behind the control segment, so it may come before the data or behind it. */
static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
    struct sv_qp *qp = qp_of(ex);
    struct sv_wqe w = in_hand(qp, 1);

    if (!qp->batch.segs)
        return;
    if (qp->service != SN_SERVICE_UD || !ah || ah->context != &qp->context->verbs.context) {
        fail(qp, sv_refuse(EINVAL, "ibv_wr_set_ud_addr: QP 0x%x is no datagram queue, or ah is not of its context", qp->qpn));
        return;
    }
    sv_wqe_av(&w, ah, remote_qpn, remote_qkey);
    qp->batch.addressed = true;
}

/* One data setter a request. */
static bool may_fill(struct sv_qp *qp, const char *what, size_t entries)
{
    if (!qp->batch.segs)
        return false;
    if (qp->batch.filled || entries > qp->sq.max_sge) {
        fail(qp, sv_refuse(EINVAL, "%s: QP 0x%x: %zu entries, it has room for %u, and one such call a request", what,
                           qp->qpn, entries, qp->sq.max_sge));
        return false;
    }
    qp->batch.filled = true;
    return true;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *list)
{
    struct sv_qp *qp = qp_of(ex);

    if (!may_fill(qp, "ibv_wr_set_sge_list", num_sge))
        return;
    struct sv_wqe w = in_hand(qp, qp->batch.segs);
    for (size_t i = 0; i < num_sge; i++) {
        if (list[i].length & SN_INLINE_SEG) {
            fail(qp, sv_refuse(EINVAL, "ibv_wr_set_sge_list: QP 0x%x: length %u of an entry is 2^31 or more", qp->qpn,
                               list[i].length));
            return;
        }
        sv_wqe_sge(&w, list[i].lkey, list[i].addr, list[i].length);
    }
    qp->batch.segs = w.segs;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
    const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

    wr_set_sge_list(ex, 1, &sge);
}

static bool takes_inline(uint8_t opcode)
{
    switch (opcode) {
    case MLX5_OPCODE_RDMA_WRITE:
    case MLX5_OPCODE_RDMA_WRITE_IMM:
    case MLX5_OPCODE_SEND:
    case MLX5_OPCODE_SEND_IMM:
    case MLX5_OPCODE_SEND_INVAL:
        return true;
    default:
        return false;
    }
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_data_buf *list)
{
    struct sv_qp *qp = qp_of(ex);

    if (!may_fill(qp, "ibv_wr_set_inline_data", 0))
        return;
    struct sv_wqe w = in_hand(qp, qp->batch.segs);
    if (!takes_inline(qp->batch.opcode) || sv_wqe_inline(&w, count, list))
        fail(qp, sv_refuse(EINVAL, "ibv_wr_set_inline_data: QP 0x%x: opcode 0x%x takes none, or it is more than %u bytes",
                           qp->qpn, qp->batch.opcode, qp->max_inline));
    else
        qp->batch.segs = w.segs;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
    const struct ibv_data_buf buf = {.addr = addr, .length = length};

    wr_set_inline_data_list(ex, 1, &buf);
}

/* ---- the batch ----------------------------------------------------------------------------------------------- */

static void wr_start(struct ibv_qp_ex *ex)
{
    struct sv_qp *qp = qp_of(ex);

    if (!sv_context_usable(qp->context, "ibv_wr_start"))
        return;
    pthread_mutex_lock(&qp->sq.lock);
    qp->batch.index = qp->sq_index;
    qp->batch.head = qp->sq.head;
    qp->batch.error = 0;
    qp->batch.segs = 0;
}

/* As if nothing had been posted since wr_start; the device has seen nothing of it. */
static void take_back(struct sv_qp *qp)
{
    qp->sq_index = qp->batch.index;
    qp->sq.head = qp->batch.head;
    qp->batch.segs = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
    struct sv_qp *qp = qp_of(ex);
    int error;

    if (inherited(qp))
        return ENODEV;
    finish(qp);
    error = qp->batch.error;
    if (error)
        take_back(qp);
    else if (qp->sq_index != qp->batch.index)
        sv_sq_ring(qp);
    pthread_mutex_unlock(&qp->sq.lock);
    return error;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
    struct sv_qp *qp = qp_of(ex);

    if (inherited(qp))
        return;
    take_back(qp);
    pthread_mutex_unlock(&qp->sq.lock);
}

/* ---- creation ------------------------------------------------------------------------------------------------ */

enum {
    OPS_UD = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
    OPS_UC = OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW |
             IBV_QP_EX_WITH_LOCAL_INV,
    OPS_RC = OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
             IBV_QP_EX_WITH_SEND_WITH_INV,
    QP_MASK = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS,
};

static uint64_t ops_of(enum sn_service service)
{
    return service == SN_SERVICE_RC ? OPS_RC : service == SN_SERVICE_UC ? OPS_UC : OPS_UD;
}

static void fill_builders(struct ibv_qp_ex *ex, uint64_t ops)
{
    if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
        ex->wr_rdma_write = wr_rdma_write;
    if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
        ex->wr_rdma_write_imm = wr_rdma_write_imm;
    if (ops & IBV_QP_EX_WITH_SEND)
        ex->wr_send = wr_send;
    if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
        ex->wr_send_imm = wr_send_imm;
    if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
        ex->wr_send_inv = wr_send_inv;
    if (ops & IBV_QP_EX_WITH_RDMA_READ)
        ex->wr_rdma_read = wr_rdma_read;
    if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
        ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
        ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
    if (ops & IBV_QP_EX_WITH_BIND_MW)
        ex->wr_bind_mw = wr_bind_mw;
    if (ops & IBV_QP_EX_WITH_LOCAL_INV)
        ex->wr_local_inv = wr_local_inv;
}

int sv_qp_ex_fill(struct sv_qp *qp, uint64_t send_ops)
{
    struct ibv_qp_ex *ex = &qp->ex;

    if (send_ops & ~ops_of(qp->service))
        return -EOPNOTSUPP;
    fill_builders(ex, send_ops);
    ex->wr_set_sge = wr_set_sge;
    ex->wr_set_sge_list = wr_set_sge_list;
    ex->wr_set_inline_data = wr_set_inline_data;
    ex->wr_set_inline_data_list = wr_set_inline_data_list;
    if (qp->service == SN_SERVICE_UD)
        ex->wr_set_ud_addr = wr_set_ud_addr;
    ex->wr_start = wr_start;
    ex->wr_complete = wr_complete;
    ex->wr_abort = wr_abort;
    return 0;
}

static int check(const char *what, const struct ibv_qp_init_attr_ex *attr)
{
    if (attr->comp_mask & ~(uint32_t)QP_MASK)
        return sv_refuse(EOPNOTSUPP, "%s: comp_mask = 0x%x, modelled are 0x%x (no XRC, TSO, RSS or source QPN)", what,
                         attr->comp_mask, (unsigned)QP_MASK);
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
        return sv_refuse(EINVAL, "%s: no protection domain is given", what);
    if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)
        return sv_refuse(EOPNOTSUPP, "%s: create_flags = 0x%x are not modelled", what, attr->create_flags);
    return 0;
}

struct ibv_qp *sv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    static const char what[] = "ibv_create_qp_ex";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx || check(what, attr))
        return NULL;
    struct sv_qp *qp = sv_qp_new(ctx, what, attr);
    if (!qp || !(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
        return qp ? sv_qp_ibv(qp) : NULL;
    if (!sv_qp_ex_fill(qp, attr->send_ops_flags))
        return sv_qp_ibv(qp);
    unsigned long long known = ops_of(qp->service);
    softnic_ibv_destroy_qp(sv_qp_ibv(qp));
    sv_refuse(EOPNOTSUPP, "%s: send_ops_flags = 0x%llx, qp_type %d has 0x%llx", what,
              (unsigned long long)attr->send_ops_flags, (int)attr->qp_type, known);
    return NULL;
}

struct ibv_qp_ex *softnic_ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
    struct ibv_qp_ex *ex = &sv_qp_of(ibv)->ex;
    return ex->wr_start ? ex : NULL; /* made without send_ops_flags */
}
