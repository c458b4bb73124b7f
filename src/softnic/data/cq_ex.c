/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended completion queues: one CQE at a time, and only the fields that were asked for when the queue was made. From
 * start_poll to end_poll the caller holds cq.lock, unless it promised to be the only thread.
 */
#include <errno.h>
#include <time.h>

#include "softnic/data/ex.h"
#include "softnic/data/poll.h"
#include "softnic/verbs/log.h"

enum {
    WC_FLAGS = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_CVLAN |
               IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
    WC_TIMES = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
    CQ_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
    CQ_MASK = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
};

static struct sv_cq *cq_of(struct ibv_cq_ex *ex)
{
    return sv_container(ex, struct sv_cq, ex);
}

/* ---- polling ------------------------------------------------------------------------------------------------- */

static void lock(struct sv_cq *cq)
{
    if (!cq->unlocked)
        pthread_mutex_lock(&cq->lock);
}

static void unlock(struct sv_cq *cq)
{
    if (!cq->unlocked)
        pthread_mutex_unlock(&cq->lock);
}

/* The next CQE becomes the current one. ENOENT: there is none. Lock held. */
static int advance(struct sv_cq *cq)
{
    struct sv_completion c;

    cq->cqe = sv_cq_peek(cq);
    if (!cq->cqe)
        return ENOENT;
    int rc = sv_cq_take(cq, cq->cqe, &c);
    if (rc)
        return sv_refuse(-rc, "polling CQ 0x%x: a completion of QP 0x%x, which verbs did not make", cq->cqn, c.qpn);
    cq->ex.wr_id = c.wr_id;
    cq->ex.status = c.status;
    return 0;
}

/* What could not be told has been consumed all the same. */
static int start_failed(struct sv_cq *cq, int rc)
{
    if (rc != ENOENT)
        sv_cq_announce(cq);
    unlock(cq);
    return rc;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
    struct sv_cq *cq = cq_of(ex);
    int rc;

    if (attr && attr->comp_mask)
        return sv_refuse(EINVAL, "ibv_start_poll: comp_mask = 0x%x is not known", attr->comp_mask);
    if (!sv_context_usable(cq->context, "ibv_start_poll"))
        return ENODEV;
    lock(cq);
    rc = advance(cq);
    if (rc != ENOENT)
        return rc ? start_failed(cq, rc) : 0;
    unlock(cq);
    if (!sv_cq_drive(cq))
        return ENOENT;
    lock(cq);
    rc = advance(cq);
    return rc ? start_failed(cq, rc) : 0;
}

static int next_poll(struct ibv_cq_ex *ex)
{
    return advance(cq_of(ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
    struct sv_cq *cq = cq_of(ex);

    sv_cq_announce(cq);
    unlock(cq);
}

/* ---- fields of the current CQE ------------------------------------------------------------------------------- */

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
    return sv_cqe_opcode(cq_of(ex)->cqe);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
    return sv_cqe_vendor_err(cq_of(ex)->cqe);
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
    return sv_cqe_wc_flags(cq_of(ex)->cqe);
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
    return sv_cqe_byte_len(cq_of(ex)->cqe);
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
    return sv_cqe_imm(cq_of(ex)->cqe);
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
    return be32toh(cq_of(ex)->cqe->sop_drop_qpn) & 0xffffff;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
    return ex->status == IBV_WC_SUCCESS ? be32toh(cq_of(ex)->cqe->flags_rqpn) & 0xffffff : 0;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
    return ex->status == IBV_WC_SUCCESS ? be16toh(cq_of(ex)->cqe->slid) : 0;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
    return sv_cqe_sl(cq_of(ex)->cqe);
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
    return ex->status == IBV_WC_SUCCESS ? cq_of(ex)->cqe->ml_path & 0x7f : 0;
}

/* The NIC's clock is CLOCK_MONOTONIC in nanoseconds; ibv_query_rt_values_ex shows the same. */
static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
    return ex->status == IBV_WC_SUCCESS ? be64toh(cq_of(ex)->cqe->timestamp) : 0;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* So long ago by the NIC's clock, by the wall clock of now. */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
    uint64_t wall = clock_ns(CLOCK_REALTIME);

    if (ex->status != IBV_WC_SUCCESS)
        return 0;
    return wall - (clock_ns(CLOCK_MONOTONIC) - read_completion_ts(ex));
}

/* No packet of softnic's has a VLAN tag: a ConnectX shows 0 then. */
static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
    (void)ex;
    return 0;
}

static void fill_reads(struct ibv_cq_ex *ex, uint64_t flags)
{
    ex->start_poll = start_poll;
    ex->next_poll = next_poll;
    ex->end_poll = end_poll;
    ex->read_opcode = read_opcode;
    ex->read_vendor_err = read_vendor_err;
    ex->read_wc_flags = read_wc_flags;
    if (flags & IBV_WC_EX_WITH_BYTE_LEN)
        ex->read_byte_len = read_byte_len;
    if (flags & IBV_WC_EX_WITH_IMM)
        ex->read_imm_data = read_imm_data;
    if (flags & IBV_WC_EX_WITH_QP_NUM)
        ex->read_qp_num = read_qp_num;
    if (flags & IBV_WC_EX_WITH_SRC_QP)
        ex->read_src_qp = read_src_qp;
    if (flags & IBV_WC_EX_WITH_SLID)
        ex->read_slid = read_slid;
    if (flags & IBV_WC_EX_WITH_SL)
        ex->read_sl = read_sl;
    if (flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
        ex->read_dlid_path_bits = read_dlid_path_bits;
    if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
        ex->read_completion_ts = read_completion_ts;
    if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
        ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
    if (flags & IBV_WC_EX_WITH_CVLAN)
        ex->read_cvlan = read_cvlan;
}

/* ---- creation ------------------------------------------------------------------------------------------------ */

static int check(const struct sv_context *ctx, const char *what, const struct ibv_cq_init_attr_ex *attr)
{
    if (attr->comp_mask & ~(uint32_t)CQ_MASK)
        return sv_refuse(EINVAL, "%s: comp_mask = 0x%x, known are 0x%x", what, attr->comp_mask, (unsigned)CQ_MASK);
    if (attr->wc_flags & ~(uint64_t)WC_FLAGS)
        return sv_refuse(EOPNOTSUPP, "%s: wc_flags = 0x%llx: flow tags and tag matching (0x%llx) are not modelled", what,
                         (unsigned long long)attr->wc_flags, (unsigned long long)(attr->wc_flags & ~(uint64_t)WC_FLAGS));
    if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && attr->flags & ~(uint32_t)CQ_FLAGS)
        return sv_refuse(EOPNOTSUPP, "%s: flags = 0x%x, modelled are 0x%x", what, attr->flags, (unsigned)CQ_FLAGS);
    if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
        (!attr->parent_domain || attr->parent_domain->context != &ctx->verbs.context))
        return sv_refuse(EINVAL, "%s: parent_domain is NULL or of another context", what);
    return 0;
}

struct ibv_cq_ex *sv_cq_ex_new(struct sv_context *ctx, const char *what, const struct ibv_cq_init_attr_ex *attr,
                               uint32_t cqe_size)
{
    if (check(ctx, what, attr))
        return NULL;
    uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
    struct sv_cq_args args = {.cqe = (int)attr->cqe,
                              .cq_context = attr->cq_context,
                              .channel = attr->channel,
                              .comp_vector = (int)attr->comp_vector,
                              .cqe_size = cqe_size,
                              .overrun_ignore = flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
                              .unlocked = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
                              .timestamps = attr->wc_flags & WC_TIMES,
                              .parent = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : NULL};
    if (attr->cqe > INT32_MAX || attr->comp_vector > INT32_MAX) {
        sv_refuse(EINVAL, "%s: cqe = %u, comp_vector = %u", what, attr->cqe, attr->comp_vector);
        return NULL;
    }
    struct sv_cq *cq = sv_cq_new(ctx, what, &args);
    if (!cq)
        return NULL;
    cq->wc_flags = attr->wc_flags;
    fill_reads(&cq->ex, attr->wc_flags);
    return &cq->ex;
}

struct ibv_cq_ex *sv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_create_cq_ex");
    return ctx ? sv_cq_ex_new(ctx, "ibv_create_cq_ex", attr, 0) : NULL;
}
