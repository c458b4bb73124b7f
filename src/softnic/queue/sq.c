/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send rings: how far the producer has got, and the fetch of one WQE into a private copy. Knows no transport.
 *
 * A ring or record in GPU memory is never polled: after a doorbell the copy engine brings the record, then the posted
 * part of the ring into a mirror in host memory, and the QP goes on when that is done.
 */
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/doorbell.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"

static const uint8_t *record_send_word(const struct sn_qp *qp)
{
    return (const uint8_t *)qp->attr.record.addr + SN_DBR_SEND;
}

static void copied(struct sn_xfer *xfer)
{
    struct sn_qp *qp = xfer->arg;

    qp->sq.fetching = false;
    if (xfer->error != 0) /* the slots stay as they were and will not match */
        qp->sq.mirrored = qp->sq.fetched;
    sn_xfer_free(xfer);
    sn_qp_activate(qp);
}

static void record_copied(struct sn_xfer *xfer)
{
    struct sn_qp *qp = xfer->arg;

    qp->sq.record_ready = xfer->error == 0;
    copied(xfer);
}

static void fetch_record(struct sn_qp *qp)
{
    struct sn_xfer *xfer = sn_xfer_new(qp->port);

    if (xfer == NULL)
        return;
    qp->sq.fetching = true;
    sn_xfer_add(qp->port, xfer, &qp->sq.record_copy, record_send_word(qp), 4);
    sn_xfer_submit(qp->port, xfer, record_copied, qp);
}

/* Brings [fetched, posted) into the mirror: one piece, or two where the ring wraps. */
static void fetch_ring(struct sn_qp *qp)
{
    struct sn_sq *sq = &qp->sq;
    struct sn_xfer *xfer = sn_xfer_new(qp->port);
    const uint8_t *ring = qp->attr.sq.addr;
    uint32_t first = sq->fetched & (sq->blocks - 1);
    uint32_t count = (uint16_t)(sq->posted - sq->fetched);
    uint32_t head = count < sq->blocks - first ? count : sq->blocks - first;

    if (xfer == NULL)
        return;
    sq->fetching = true;
    sq->mirrored = sq->posted;
    sn_xfer_add(qp->port, xfer, sq->mirror + first * SN_WQE_BB, ring + first * SN_WQE_BB, head * SN_WQE_BB);
    sn_xfer_add(qp->port, xfer, sq->mirror, ring, (count - head) * SN_WQE_BB);
    sn_xfer_submit(qp->port, xfer, copied, qp);
}

int sn_sq_mirror_create(struct sn_qp *qp)
{
    qp->sq.mirror = aligned_alloc(SN_WQE_BB, (size_t)qp->sq.blocks * SN_WQE_BB);
    return qp->sq.mirror == NULL ? -ENOMEM : 0;
}

static void zero_record(struct sn_qp *qp)
{
    static const uint64_t zero;
    struct sn_span *record = &qp->attr.record;

    if (record->length == 0)
        return;
    if (record->space == SN_SPACE_HOST) {
        sn_store_release32((uint8_t *)record->addr + SN_DBR_RECV, 0);
        sn_store_release32((uint8_t *)record->addr + SN_DBR_SEND, 0);
    } else {
        (void)sn_mem_copy_now(qp->port, record->addr, &zero, 8, SN_SPACE_GPU);
    }
}

/* RST to INIT: index 0, nothing posted, whatever the record held before. */
void sn_sq_reset(struct sn_qp *qp)
{
    struct sn_sq *sq = &qp->sq;

    sq->fetched = sq->posted = sq->hint = sq->mirrored = 0;
    sq->has_hint = sq->doorbell = sq->record_ready = false;
    sq->mismatch_since = 0;
    qp->fault_hole = false;
    zero_record(qp);
    if (qp->uar != NULL)
        sn_uar_forget(qp);
}

/* The register's candidate first: it is at hand, while the record costs a cache line that the producer owns. */
static uint32_t candidate(struct sn_qp *qp)
{
    struct sn_sq *sq = &qp->sq;
    uint32_t ahead;

    if (sq->has_hint) {
        ahead = sn_ahead(sq->hint, sq->fetched, sq->blocks);
        if (ahead != 0)
            return ahead;
        sq->has_hint = false;
    }
    if (!sn_state_reads_record(qp->state))
        return 0;
    if (sq->record != NULL)
        return sn_ahead((uint16_t)sn_swap32(sn_load_acquire32(sq->record)), sq->fetched, sq->blocks);
    if (sq->gpu_record && sq->record_ready) {
        sq->record_ready = false;
        sq->doorbell = false; /* looked at since the doorbell */
        return sn_ahead((uint16_t)sn_swap32((uint32_t)sq->record_copy), sq->fetched, sq->blocks);
    }
    if (sq->gpu_record && !sq->fetching)
        fetch_record(qp);
    return 0;
}

bool sn_sq_may_be_posted(const struct sn_qp *qp)
{
    const struct sn_sq *sq = &qp->sq;

    return sq->has_hint || sq->gpu_ring || sq->record == NULL ||
           sn_ahead((uint16_t)sn_swap32(sn_load_acquire32(sq->record)), sq->fetched, sq->blocks) != 0;
}

bool sn_sq_look(struct sn_qp *qp)
{
    struct sn_sq *sq = &qp->sq;

    if (sq->posted != sq->fetched)
        return true;
    if (!sq->doorbell)
        return false;
    sq->posted = (uint16_t)(sq->fetched + candidate(qp));
    if (sq->posted != sq->fetched)
        return true;
    if (!sq->fetching)
        sq->doorbell = false;
    return false;
}

/*
 * Only the register says that this slot is posted, and the record, which is written after the WQE like it, does not: the
 * register's value was false. The record's stands; should the WQE still come, its own doorbell announces it again.
 */
static bool record_denies(struct sn_qp *qp)
{
    struct sn_sq *sq = &qp->sq;

    if (sq->record == NULL || !sn_state_reads_record(qp->state) ||
        sn_ahead((uint16_t)sn_swap32(sn_load_acquire32(sq->record)), sq->fetched, sq->blocks) != 0)
        return false;
    sq->posted = sq->fetched;
    sq->has_hint = sq->doorbell = false;
    sq->mismatch_since = 0;
    return true;
}

static enum sn_sq_fetch mismatch(struct sn_qp *qp)
{
    uint64_t now = sn_port_now(qp->port);

    qp->sq.mirrored = qp->sq.fetched; /* a mirror is fetched again */
    if (qp->sq.mismatch_since == 0)
        qp->sq.mismatch_since = now == 0 ? 1 : now;
    else if (now - qp->sq.mismatch_since > SN_MISMATCH_NS)
        return record_denies(qp) ? SN_SQ_EMPTY : SN_SQ_MISMATCH;
    return SN_SQ_LATER;
}

/* WQEs of more than one basic block: the rest follows, around the end of the ring. */
static bool copy_rest(struct sn_sq *sq, struct sn_entry *e, uint32_t blocks)
{
    if (e->big == NULL)
        e->big = aligned_alloc(SN_WQE_BB, SN_WQE_MAX_BB * SN_WQE_BB);
    if (e->big == NULL)
        return false;
    memcpy(e->big, e->small, SN_WQE_BB);
    for (uint32_t i = 1; i < blocks; i++)
        sn_fetch(e->big + i * SN_WQE_BB, sq->ring + ((sq->fetched + i) & (sq->blocks - 1)) * SN_WQE_BB, SN_WQE_BB);
    e->raw = e->big;
    return true;
}

/* A candidate that ends within a WQE is none: the other one may reach further. */
static bool announced(struct sn_qp *qp, uint32_t blocks)
{
    struct sn_sq *sq = &qp->sq;
    uint32_t ahead;

    if (blocks <= (uint16_t)(sq->posted - sq->fetched))
        return true;
    sq->has_hint = false;
    ahead = candidate(qp);
    if (ahead < blocks)
        return false;
    sq->posted = (uint16_t)(sq->fetched + ahead);
    return !sq->gpu_ring; /* else the mirror is short of it */
}

/*
 * Copies the next posted WQE into e->raw, once, and matches its identity. SN_SQ_LATER: not there yet (the QP stays
 * active or is woken by the copy engine); SN_SQ_MISMATCH: it did not come within the bound.
 */
enum sn_sq_fetch sn_sq_fetch(struct sn_qp *qp, struct sn_entry *e)
{
    struct sn_sq *sq = &qp->sq;
    const struct sn_ctrl_seg *ctrl = (const struct sn_ctrl_seg *)e->small;
    uint32_t blocks;

    if (!sn_sq_look(qp))
        return sq->fetching ? SN_SQ_LATER : SN_SQ_EMPTY;
    if (sq->gpu_ring) {
        if (!sq->fetching && sq->mirrored == sq->fetched)
            fetch_ring(qp);
        if (sq->fetching)
            return SN_SQ_LATER;
    }
    sn_fetch(e->small, sq->ring + (sq->fetched & (sq->blocks - 1)) * SN_WQE_BB, SN_WQE_BB);
    e->raw = (uint8_t *)e->small;
    if (!sn_ctrl_matches(ctrl, qp->qpn, sq->fetched))
        return mismatch(qp);
    blocks = sn_wqe_blocks(sn_ctrl_ds(ctrl));
    if (blocks > 1 && blocks <= sq->blocks) {
        if (!announced(qp, blocks))
            return mismatch(qp);
        if (!copy_rest(sq, e, blocks))
            return SN_SQ_LATER;
    }
    sq->mismatch_since = 0;
    return SN_SQ_WQE;
}

void sn_sq_advance(struct sn_qp *qp, uint32_t blocks)
{
    uint32_t left = (uint16_t)(qp->sq.posted - qp->sq.fetched);

    qp->sq.fetched = (uint16_t)(qp->sq.fetched + (blocks < left ? blocks : left));
    qp->sq.mismatch_since = 0;
}
