/* SPDX-License-Identifier: Apache-2.0 */
/* What the requester makes of acknowledgements and responses (IBTA vol. 1, 9.7.5, 9.7.6). */
#include "softnic/engine.h"
#include "softnic/exec/atomic.h"
#include "softnic/exec/state.h"

/* Oldest read or atomic that has been sent and is not answered in full. */
static struct sn_entry *oldest_read(struct sn_qp *qp)
{
    for (uint32_t n = qp->tx.head; qp->tx.reads != 0 && n != qp->tx.next; n++) {
        struct sn_entry *e = sn_tx_at(qp, n);
        if (e->issued && !e->done)
            return e;
    }
    return NULL;
}

void sn_rc_progress(struct sn_qp *qp, uint32_t una)
{
    qp->tx.una = una;
    qp->tx.gap = false;
    qp->starved_since = 0;
    qp->tx.retries = qp->params.retry_count;
    qp->tx.rnr_retries = qp->params.rnr_retry;
}

/*
 * An acknowledgement of what was sent before the requester went back and has not been sent again: that need not be. Ends
 * at a READ or atomic without its answer, which has to be asked for again. Returns the PSN up to which it counts.
 */
static uint32_t skip_acknowledged(struct sn_qp *qp, uint32_t upto)
{
    struct sn_tx *tx = &qp->tx;

    for (; tx->next != tx->tail; tx->next++) {
        struct sn_entry *e = sn_tx_at(qp, tx->next);
        int32_t d = sn_psn_diff(upto, e->psn);
        if (e->done)
            continue;
        if (e->local)
            break;
        if (e->w.op == SN_OP_READ || e->w.op == SN_OP_ATOMIC)
            return d > (int32_t)e->arrived ? sn_psn_add(e->psn, e->arrived) : upto;
        if (d > (int32_t)e->sent)
            e->sent = (uint32_t)d < e->packets ? (uint32_t)d : e->packets;
        if (e->sent != e->packets)
            break;
    }
    return upto;
}

/*
 * Everything before `upto` is acknowledged, but for reads that have not been answered: an acknowledgement beyond one
 * tells that its response was lost (9.7.6.1.2), and asks for it again. False: not about anything that was sent.
 */
static bool advance(struct sn_qp *qp, uint32_t upto, bool *lost)
{
    struct sn_entry *read = oldest_read(qp);

    *lost = false;
    if (sn_psn_diff(upto, qp->tx.una) < 0 || sn_psn_diff(upto, qp->tx.high) > 0)
        return false;
    if (read != NULL && sn_psn_diff(upto, sn_psn_add(read->psn, read->arrived)) > 0) {
        upto = sn_psn_add(read->psn, read->arrived);
        *lost = true;
    } else if (sn_psn_diff(upto, sn_tx_limit(qp)) > 0) {
        upto = skip_acknowledged(qp, upto);
    }
    if (upto != qp->tx.una)
        sn_rc_progress(qp, upto);
    return true;
}

/* First entry that is not acknowledged: the one a NAK is about. */
static struct sn_entry *entry_at(struct sn_qp *qp, uint32_t psn)
{
    for (uint32_t n = qp->tx.head; n != qp->tx.tail; n++) {
        struct sn_entry *e = sn_tx_at(qp, n);
        int32_t d = sn_psn_diff(psn, e->psn);
        if (e->packets != 0 && d >= 0 && (uint32_t)d < e->packets)
            return e;
    }
    return NULL;
}

static void refused(struct sn_qp *qp, uint32_t psn, uint8_t syndrome)
{
    static const struct {
        uint8_t syndrome, vendor;
    } by_code[] = {
        {SN_SYND_REMOTE_INVALID, SN_VENDOR_REMOTE_INVALID},
        {SN_SYND_REMOTE_ACCESS, SN_VENDOR_REMOTE_ACCESS},
        {SN_SYND_REMOTE_OP, SN_VENDOR_REMOTE_OP},
    };
    unsigned code = syndrome - SN_AETH_NAK_INVALID;
    struct sn_entry *e = entry_at(qp, psn);

    if (code >= sizeof(by_code) / sizeof(by_code[0]) || e == NULL)
        return; /* a PSN in nobody's range: dropped */
    if (syndrome == SN_AETH_NAK_ACCESS)
        qp->nic->counters.req_remote_access_errors++;
    if (syndrome == SN_AETH_NAK_INVALID)
        qp->nic->counters.req_remote_invalid_request++;
    sn_rc_fail(qp, e, by_code[code].syndrome, by_code[code].vendor);
}

/* An answer was skipped. It is asked for again once: the others that are under way already say the same (9.7.5.2.1). */
static void ask_again(struct sn_qp *qp)
{
    qp->nic->counters.implied_nak_seq_err++;
    if (qp->tx.gap)
        return;
    sn_rc_retry(qp);
    qp->tx.gap = true;
}

void sn_rc_acknowledged(struct sn_qp *qp, uint32_t psn, uint8_t syndrome)
{
    bool ack = sn_aeth_is_ack(syndrome), lost;

    if (!sn_state_drains(qp->state))
        return;
    if (!sn_aeth_is_known(syndrome)) { /* reserved: as if it had not come (9.7.5.2) */
        qp->nic->counters.rx_reserved_syndrome++;
        return;
    }
    if (!advance(qp, ack ? sn_psn_add(psn, 1) : psn, &lost))
        return;
    if (lost) {
        sn_rc_complete(qp);
        ask_again(qp);
        return;
    }
    if (ack) {
        sn_rc_complete(qp);
        return;
    }
    if (sn_aeth_is_rnr(syndrome)) {
        qp->nic->counters.rnr_nak_retry_err++;
        sn_rc_complete(qp);
        sn_rc_rnr(qp, syndrome & 0x1f);
    } else if (syndrome == SN_AETH_NAK_SEQUENCE) {
        qp->nic->counters.packet_seq_err++;
        sn_rc_complete(qp);
        /* What a peer that is not ready makes of the packets behind the one that it refused: they come again when the wait ends. */
        if (!qp->tx.rnr_wait)
            sn_rc_retry(qp);
    } else {
        refused(qp, psn, syndrome);
    }
}

/* ---- responses ----------------------------------------------------------------------------------------------- */

static enum sn_fault scatter(struct sn_qp *qp, const struct sn_entry *e, uint32_t offset, struct sn_placing *p,
                             uint32_t length)
{
    struct sn_piece piece;

    for (uint32_t seg = e->w.data_seg; seg < e->w.ds && length != 0; seg = piece.next) {
        uint32_t n;
        enum sn_fault fault = sn_wqe_piece(e->raw, seg, e->w.ds, &piece);
        if (fault != SN_FAULT_NONE)
            return fault;
        if (offset >= piece.length) {
            offset -= piece.length;
            continue;
        }
        n = piece.length - offset < length ? piece.length - offset : length;
        const struct sn_mkey *key = sn_qp_key(qp, &qp->lkey_cache, piece.lkey);
        fault = sn_mkey_check(key, qp->attr.pdn, SN_ACCESS_LOCAL_WRITE, piece.addr, piece.length);
        if (fault != SN_FAULT_NONE)
            return fault;
        sn_place(p, sn_mkey_at(key, piece.addr) + offset, key->space, n);
        offset = 0;
        length -= n;
    }
    return SN_FAULT_NONE;
}

/* Does a READ response say what was asked for? */
static bool response_fits(const struct sn_qp *qp, const struct sn_entry *e, const struct sn_burst *b)
{
    uint32_t offset = e->arrived << (7 + qp->mtu);
    bool last = e->arrived + b->npackets == e->packets;

    if (last != ((b->flags & SN_BURST_LAST) != 0))
        return false;

    if (b->npackets > e->packets - e->arrived || b->length > e->w.length - offset)
        return false;
    if (b->npackets != sn_mtu_packets(b->length, qp->mtu))
        return false;
    return last ? offset + b->length == e->w.length : b->length == b->npackets << (7 + qp->mtu);
}

/*
 * The bytes of a response go to the WQE's scatter list. The old value of an atomic arrives in host order in the burst.
 */
static bool place_response(struct sn_qp *qp, struct sn_entry *e, const struct sn_burst *b, enum sn_fault *fault)
{
    struct sn_placing p;
    struct sn_burst word;

    *fault = SN_FAULT_NONE;
    if (qp->rx_phase != 0) { /* the copy engine has been there */
        *fault = qp->rx_error != 0 ? SN_FAULT_MEMORY : SN_FAULT_NONE;
        return true;
    }
    if (e->w.op == SN_OP_ATOMIC) {
        qp->gpu_word = b->atomic_orig;
        word.iov_count = 1;
        word.length = e->w.atomic_size;
        word.iov[0] = (struct sn_iov){.addr = &qp->gpu_word, .length = e->w.atomic_size, .space = SN_SPACE_HOST};
        bool stays = qp->port->payload_stays;
        qp->port->payload_stays = true; /* gpu_word does */
        sn_place_begin(&p, qp, &word, 0);
        *fault = scatter(qp, e, 0, &p, e->w.atomic_size);
        qp->port->payload_stays = stays;
    } else {
        sn_place_begin(&p, qp, b, 0);
        *fault = scatter(qp, e, e->arrived << (7 + qp->mtu), &p, b->length);
    }
    if (*fault != SN_FAULT_NONE) {
        if (p.xfer != NULL) /* let what was started end; the verdict is the same then */
            return sn_place_end(&p);
        return true;
    }
    return sn_place_end(&p);
}

static bool kind_fits(const struct sn_entry *e, const struct sn_burst *b)
{
    return (e->w.op == SN_OP_READ) == (b->kind == SN_KIND_READ_RESPONSE);
}

bool sn_rc_response(struct sn_qp *qp, const struct sn_burst *b)
{
    struct sn_entry *e = sn_state_drains(qp->state) ? oldest_read(qp) : NULL;
    enum sn_fault fault;
    int32_t d;

    if (e == NULL)
        return true;
    d = sn_psn_diff(b->psn, sn_psn_add(e->psn, e->arrived));
    if (d < 0)
        return true; /* a duplicate */
    if (d > 0) {
        if (sn_psn_diff(b->psn, sn_tx_limit(qp)) < 0)
            ask_again(qp); /* one in between was lost */
        return true;
    }
    if (sn_psn_diff(b->psn, qp->tx.una) > 0)
        sn_rc_progress(qp, b->psn); /* a response acknowledges what came before it (9.7.5.1.2) */
    if (!kind_fits(e, b) || (e->w.op == SN_OP_READ ? !response_fits(qp, e, b) : b->npackets != 1)) {
        sn_rc_fail(qp, e, SN_SYND_BAD_RESPONSE, SN_VENDOR_BAD_RESPONSE);
        return true;
    }
    if (!place_response(qp, e, b, &fault))
        return false;
    e->arrived += b->npackets;
    if (sn_psn_diff(sn_psn_add(e->psn, e->arrived), qp->tx.una) > 0)
        sn_rc_progress(qp, sn_psn_add(e->psn, e->arrived));
    if (fault != SN_FAULT_NONE) {
        sn_rc_fail(qp, e, SN_SYND_LOCAL_PROT, (uint8_t)(SN_VENDOR_FAULT + fault));
        return true;
    }
    if (e->arrived == e->packets) {
        e->done = true;
        qp->tx.reads--;
    }
    sn_rc_complete(qp);
    return true;
}
