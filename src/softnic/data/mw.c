/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows of verbs. Binding is a UMR WQE, so it happens in the order of the send queue and is flushed with it; the
 * engine (memory/mw.c) checks it and gives the window its new key. A UMR takes three basic blocks, whatever the size of the
 * queue's other requests.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/wqe.h"
#include "softnic/data/mw.h"
#include "softnic/data/post.h"
#include "softnic/exec/wqe.h"
#include "softnic/prm/parse.h"
#include "softnic/verbs/log.h"

struct sv_mw {
    struct sv_object object;
    struct ibv_mw ibv; /* handle: its first key; the upper 24 bits stay */
};

/* ---- life ---------------------------------------------------------------------------------------------------- */

struct ibv_mw *sv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct sv_context *ctx = pd ? sv_context_check(pd->context, "ibv_alloc_mw") : NULL;
    if (!ctx || (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)) {
        if (!pd || ctx)
            sv_refuse(EINVAL, "ibv_alloc_mw: pd = %p, type = %d (1 or 2)", (void *)pd, (int)type);
        return NULL;
    }
    struct sv_mw *mw = calloc(1, sizeof(*mw));
    if (!mw)
        return NULL;
    sn_port_lock(ctx->port);
    int rc = sn_mw_create(ctx->nic, sv_container(pd, struct sv_pd, ibv)->pdn, type == IBV_MW_TYPE_1 ? 1 : 2, &mw->ibv.rkey);
    if (!rc)
        sv_object_link(ctx, &mw->object, SV_MW);
    sn_port_unlock(ctx->port);
    if (rc) {
        free(mw);
        sv_refuse(-rc, "ibv_alloc_mw: %s", prm_engine_reason(rc));
        return NULL;
    }
    mw->ibv.context = pd->context;
    mw->ibv.pd = pd;
    mw->ibv.type = type;
    mw->ibv.handle = mw->ibv.rkey;
    return &mw->ibv;
}

/* Port lock held. */
static int end(struct sv_context *ctx, struct sv_mw *mw)
{
    uint32_t key;
    int rc = sn_mw_key(ctx->nic, mw->ibv.handle, &key);
    if (!rc)
        rc = sn_mkey_destroy(ctx->nic, key);
    if (!rc)
        sv_object_unlink(&mw->object);
    return rc;
}

int sv_dealloc_mw(struct ibv_mw *ibv)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "ibv_dealloc_mw") : NULL;
    if (!ctx)
        return ibv ? errno : sv_refuse(EINVAL, "ibv_dealloc_mw: mw is NULL");
    struct sv_mw *mw = sv_container(ibv, struct sv_mw, ibv);
    sn_port_lock(ctx->port);
    int rc = end(ctx, mw);
    sn_port_unlock(ctx->port);
    if (rc)
        return sv_refuse(-rc, "ibv_dealloc_mw: key 0x%x: %s", ibv->rkey, prm_engine_reason(rc));
    free(mw);
    return 0;
}

void sv_mws_release(struct sv_context *ctx)
{
    while (ctx->objects[SV_MW]) {
        struct sv_mw *mw = sv_container(ctx->objects[SV_MW], struct sv_mw, object);
        if (end(ctx, mw))
            sv_object_unlink(&mw->object);
        free(mw);
    }
}

/* ---- WQEs ---------------------------------------------------------------------------------------------------- */

static int check(const struct sv_qp *qp, const struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
    const struct ibv_pd *pd = qp->ex.qp_base.pd;
    /* Local writing is a right of the region's; rdma-core's own tests ask for it all the same. */
    const unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE;

    if (qp->service == SN_SERVICE_UD)
        return -sv_refuse(EINVAL, "bind a memory window: QP 0x%x is for datagrams", qp->qpn);
    if (!mw || mw->context != &qp->context->verbs.context || (info->length && !info->mr))
        return -sv_refuse(EINVAL, "bind a memory window: none, of another context, or %llu bytes of no region",
                          (unsigned long long)info->length);
    if (sv_container((void *)(uintptr_t)mw->pd, struct sv_pd, ibv)->pdn !=
        sv_container((void *)(uintptr_t)pd, struct sv_pd, ibv)->pdn)
        return -sv_refuse(EPERM, "bind a memory window: its protection domain is not that of QP 0x%x", qp->qpn);
    if (info->mw_access_flags & ~known)
        return -sv_refuse(EINVAL, "bind a memory window: mw_access_flags = 0x%x: no rights of a window",
                          info->mw_access_flags);
    if (info->length > UINT32_MAX)
        return -sv_refuse(EOPNOTSUPP, "bind a memory window: %llu bytes; 2^32 - 1 is the most",
                          (unsigned long long)info->length);
    return 0;
}

static uint8_t rights(unsigned access)
{
    return (uint8_t)((access & IBV_ACCESS_REMOTE_WRITE ? SN_MKEY_REMOTE_WRITE : 0) |
                     (access & IBV_ACCESS_REMOTE_READ ? SN_MKEY_REMOTE_READ : 0) |
                     (access & IBV_ACCESS_REMOTE_ATOMIC ? SN_MKEY_ATOMIC : 0));
}

/* What follows the control segment. */
struct body {
    struct sn_umr_ctrl_seg umr;
    struct sn_mkey_seg key;
    struct sn_klm_seg klm[4]; /* one, and padding */
};
_Static_assert(sizeof(struct body) == (SN_UMR_DS - 1) * SN_WQE_SEG, "a UMR with one inline entry");

static void describe(struct body *b, const struct sv_qp *qp, const struct ibv_mw *mw, uint32_t rkey,
                     const struct ibv_mw_bind_info *info)
{
    bool two = mw->type == IBV_MW_TYPE_2;

    memset(b, 0, sizeof(*b));
    b->umr.flags = SN_UMR_INLINE | (two ? SN_UMR_CHECK_FREE | SN_UMR_CHECK_QPN : 0);
    b->umr.klm_octowords = sn_put16(4);
    b->umr.mkey_mask = sn_put64(SN_UMR_MASK_BIND);
    b->key.free = info->length ? 0 : SN_MKEY_FREE;
    b->key.access = rights(info->mw_access_flags);
    b->key.qpn_mkey = sn_put32((two ? qp->qpn : SN_MKEY_ANY_QP) << 8 | (rkey & 0xff));
    b->key.start_addr = sn_put64(info->mw_access_flags & IBV_ACCESS_ZERO_BASED ? 0 : info->addr);
    b->key.len = sn_put64(info->length);
    b->klm[0].byte_count = sn_put32((uint32_t)info->length);
    b->klm[0].mkey = sn_put32(info->length ? info->mr->lkey : 0);
    b->klm[0].address = sn_put64(info->addr);
}

int sv_wqe_bind(struct sv_qp *qp, const struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info,
                unsigned send_flags, uint64_t wr_id)
{
    union {
        struct body body;
        uint64_t word[sizeof(struct body) / 8];
    } u;
    int rc = check(qp, mw, info);
    if (!rc)
        rc = sv_sq_room_for(qp, sn_wqe_blocks(SN_UMR_DS));
    if (rc)
        return rc;
    describe(&u.body, qp, mw, rkey, info);
    struct sv_wqe w = sv_sq_begin(qp);
    for (unsigned i = 0; i < sizeof(u.body) / 16; i++)
        gdaki_store_seg(sv_wqe_at(&w, w.segs++), u.word[2 * i], u.word[2 * i + 1]);
    sv_sq_finish(&w, SN_OPCODE_UMR, 0, send_flags, htobe32(mw->handle), wr_id);
    return 0;
}

int sv_wqe_local_inv(struct sv_qp *qp, uint32_t rkey, unsigned send_flags, uint64_t wr_id)
{
    if (qp->service == SN_SERVICE_UD)
        return -sv_refuse(EINVAL, "invalidate a memory window: QP 0x%x is for datagrams", qp->qpn);
    int rc = sv_sq_room(qp);
    if (rc)
        return rc;
    struct sv_wqe w = sv_sq_begin(qp);
    sv_sq_finish(&w, SN_OPCODE_LOCAL_INVAL, 0, send_flags, htobe32(rkey), wr_id);
    return 0;
}

/* Type 1: posted at once, and the window has its new key when this returns. */
int sv_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    struct sv_qp *qp = sv_qp_of(ibv);
    uint32_t rkey = ibv_inc_rkey(mw->rkey);

    if (!sv_context_usable(qp->context, "ibv_bind_mw"))
        return ENODEV;
    if (mw->type != IBV_MW_TYPE_1)
        return sv_refuse(EINVAL, "ibv_bind_mw: the window is of type %d; type 2 is bound by a posted request", (int)mw->type);
    pthread_mutex_lock(&qp->sq.lock);
    int rc = sv_wqe_bind(qp, mw, rkey, &bind->bind_info, bind->send_flags, bind->wr_id);
    if (!rc)
        sv_sq_ring(qp);
    pthread_mutex_unlock(&qp->sq.lock);
    if (rc)
        return errno = -rc;
    mw->rkey = rkey;
    return 0;
}
