/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The responder's reads and atomics. The last 1 << log_rra_max of them are kept: a duplicate READ is executed again, a
 * duplicate atomic is answered with the saved value (IBTA vol. 1, 9.7.5.1.4, 9.4.5).
 */
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/atomic.h"
#include "softnic/exec/order.h"

static struct sn_rd_slot *slot_at(struct sn_qp *qp, uint32_t n)
{
    return &qp->rx.rd[n & qp->rx.rd_mask];
}

/*
 * Room for one more. An answer that is only being repeated does not hold it: a peer that keeps to its limit has had that
 * answer when it asks for more.
 */
static bool has_slot(struct sn_qp *qp)
{
    struct sn_rx *rx = &qp->rx;

    if (rx->rd == NULL)
        return false;
    if (rx->rd_tail - rx->rd_next > rx->rd_mask && slot_at(qp, rx->rd_next)->answered)
        rx->rd_next++;
    return rx->rd_tail - rx->rd_next <= rx->rd_mask;
}

static void accept(struct sn_qp *qp, const struct sn_burst *b, uint64_t orig)
{
    struct sn_rx *rx = &qp->rx;

    rx->msn = (rx->msn + 1) & SN_PSN_MASK;
    if (b->kind == SN_KIND_READ_REQUEST)
        qp->nic->counters.rx_read_requests++;
    else
        qp->nic->counters.rx_atomic_requests++;
    rx->rd_around |= (rx->rd_tail & rx->rd_mask) == rx->rd_mask;
    *slot_at(qp, rx->rd_tail++) = (struct sn_rd_slot){.psn = b->psn,
                                                      .packets = b->npackets,
                                                      .kind = b->kind,
                                                      .valid = true,
                                                      .rkey = b->rkey,
                                                      .length = b->dmalen,
                                                      .va = b->va,
                                                      .orig = orig,
                                                      .msn = rx->msn};
    rx->epsn = sn_psn_add(rx->epsn, b->npackets);
    sn_rc_rx_progress(qp);
    sn_rc_respond(qp);
}

bool sn_rc_rx_read(struct sn_qp *qp, const struct sn_burst *b)
{
    enum sn_fault fault = SN_FAULT_NONE;

    if (qp->rx.kind != SN_KIND_COUNT || !qp->params.rre || b->dmalen > SN_MESSAGE_MAX || b->length != 0 ||
        b->npackets != sn_mtu_packets(b->dmalen, qp->mtu) || !has_slot(qp)) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, 0);
        return true;
    }
    if (b->dmalen != 0)
        fault = sn_mkey_check(sn_qp_key(qp, &qp->rkey_cache, b->rkey), qp->attr.pdn, SN_ACCESS_REMOTE_READ, b->va,
                              b->dmalen);
    if (fault != SN_FAULT_NONE)
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_ACCESS, 0);
    else
        accept(qp, b, 0);
    return true;
}

/* ---- atomics ------------------------------------------------------------------------------------------------- */

static uint8_t opcode_of(uint8_t kind)
{
    switch (kind) {
    case SN_KIND_ATOMIC_CS:
        return SN_OPCODE_ATOMIC_CS;
    case SN_KIND_ATOMIC_FA:
        return SN_OPCODE_ATOMIC_FA;
    case SN_KIND_ATOMIC_MASKED_CS:
        return SN_OPCODE_ATOMIC_MASKED_CS;
    default:
        return SN_OPCODE_ATOMIC_MASKED_FA;
    }
}

/*
 * In host memory: atomic beside the CPUs too, although only the NIC's own atomics are promised (IBV_ATOMIC_HCA). Like the
 * payload (sn_dma_copy) it is not judged by TSan, which does not see how kernels' doorbells and CQEs order it; programs
 * that poll the word itself are told.
 */
static SN_UNJUDGED uint64_t change_host(const struct sn_atomic_args *op, void *addr)
{
#ifdef SN_TSAN
    __tsan_acquire(addr);
    __tsan_release(addr);
#endif
    if (op->size == 8) {
        uint64_t *word = addr, old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        while (!__atomic_compare_exchange_n(word, &old, sn_atomic_result(op, old), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
        return old;
    }
    uint32_t *word = addr, old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(word, &old, (uint32_t)sn_atomic_result(op, old), 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
    return old;
}

/*
 * In GPU memory: the copy engine brings the word and takes it back, and until then no other atomic of this port goes to
 * GPU memory. Phase 0: fetch; 1: change, store; 2: done. False: goes on later.
 */
static bool change_gpu(struct sn_qp *qp, const struct sn_atomic_args *op, uint8_t *addr, uint64_t *old)
{
    struct sn_port *port = qp->port;
    struct sn_xfer *xfer;

    if (qp->rx_phase == 2) {
        *old = qp->gpu_word;
        port->gpu_atomic = NULL;
        return true;
    }
    xfer = sn_xfer_new(port);
    if (xfer == NULL) {
        qp->rx_error = -ENOMEM;
        return true;
    }
    if (port->gpu_atomic != NULL && port->gpu_atomic != qp) { /* an empty transfer: asks again in the next turn */
        qp->rx_phase = UINT32_MAX;
    } else if (qp->rx_phase == 0) {
        port->gpu_atomic = qp;
        qp->gpu_word = 0;
        sn_xfer_add(port, xfer, &qp->gpu_word, addr, op->size);
    } else {
        xfer->buffer = malloc(8);
        if (xfer->buffer == NULL) {
            xfer->error = -ENOMEM;
        } else {
            uint64_t result = sn_atomic_result(op, qp->gpu_word);
            memcpy(xfer->buffer, &result, 8);
            sn_xfer_add(port, xfer, addr, xfer->buffer, op->size);
        }
    }
    sn_qp_wait_copy(qp, xfer);
    return false;
}

bool sn_rc_rx_atomic(struct sn_qp *qp, const struct sn_burst *b)
{
    struct sn_atomic_args op = {.opcode = opcode_of(b->kind),
                                .size = b->atomic_size,
                                .swap_add = b->swap_add,
                                .compare = b->compare,
                                .swap_mask = b->swap_mask,
                                .compare_mask = b->compare_mask};
    bool masked = b->kind == SN_KIND_ATOMIC_MASKED_CS || b->kind == SN_KIND_ATOMIC_MASKED_FA;
    struct sn_mkey *key;
    uint64_t old = 0;
    uint8_t *addr;

    if (qp->rx.kind != SN_KIND_COUNT || !qp->params.rae || (masked && qp->params.atomic_mode < 3) || b->length != 0 ||
        b->npackets != 1 || (op.size != 8 && !(op.size == 4 && masked)) || (b->va & (op.size - 1)) != 0 || !has_slot(qp)) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, 0);
        return true;
    }
    key = sn_qp_key(qp, &qp->rkey_cache, b->rkey);
    if (sn_mkey_check(key, qp->attr.pdn, SN_ACCESS_REMOTE_ATOMIC, b->va, op.size) != SN_FAULT_NONE) {
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_ACCESS, 0);
        return true;
    }
    addr = sn_mkey_at(key, b->va);
    if (((uintptr_t)addr & (op.size - 1)) != 0) { /* aligned by its key's addresses only */
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_INVALID, 0);
        return true;
    }
    if (key->space == SN_SPACE_HOST)
        old = change_host(&op, addr);
    else if (qp->rx_error == 0 && !change_gpu(qp, &op, addr, &old))
        return false;
    if (qp->rx_error != 0) {
        if (qp->port->gpu_atomic == qp)
            qp->port->gpu_atomic = NULL;
        sn_rc_nak_fatal(qp, b, SN_AETH_NAK_OP, 0);
        return true;
    }
    accept(qp, b, old);
    return true;
}

/* ---- duplicates ---------------------------------------------------------------------------------------------- */

/*
 * Is this the saved request, or a part of it? A requester that asks again for a part of a READ moves address and length with
 * the PSN, and stays inside of what it asked for first (9.4.4, 9.7.5.1.5); anything else is no duplicate of ours. `packets`:
 * from the saved request's first one to where the duplicate begins.
 */
static bool same_request(const struct sn_qp *qp, const struct sn_rd_slot *s, const struct sn_burst *b, uint32_t packets)
{
    uint32_t offset = packets << (7 + qp->mtu);

    if (!s->valid || s->kind != b->kind || s->rkey != b->rkey || b->va != s->va + offset)
        return false;
    if (s->kind != SN_KIND_READ_REQUEST)
        return true;
    return b->dmalen <= s->length - offset && (b->dmalen != 0 || s->length == 0);
}

/*
 * Sends the answer again from packet `from` on, as many bytes as are asked for; then what has not been sent yet, if any. A
 * part that is being repeated makes way for another one: whoever misses it asks again.
 */
static void rewind_answer(struct sn_rd_slot *s, uint32_t from, uint32_t bytes, uint8_t mtu)
{
    uint32_t end = from + sn_mtu_packets(bytes, mtu), reached = s->until != 0 ? s->resume : s->sent;

    if (from >= reached)
        return; /* about to be sent */
    s->sent = from;
    s->until = 0;
    if (s->kind != SN_KIND_READ_REQUEST || (from << (7 + mtu)) + bytes == s->length)
        return;
    s->until = end;
    s->until_bytes = (from << (7 + mtu)) + bytes;
    s->resume = reached < end ? end : reached;
}

/*
 * Answers again, what is asked for. What has been answered since stays answered; a response that is still being sent goes on
 * behind.
 */
static void repeat(struct sn_qp *qp, const struct sn_burst *b)
{
    struct sn_rx *rx = &qp->rx;

    for (uint32_t back = 1; rx->rd != NULL && back <= rx->rd_mask + 1; back++) {
        uint32_t n = rx->rd_tail - back;
        struct sn_rd_slot *s = slot_at(qp, n);
        int32_t d = sn_psn_diff(b->psn, s->psn);
        if (d < 0 || (uint32_t)d >= s->packets || !same_request(qp, s, b, (uint32_t)d))
            continue;
        rewind_answer(s, (uint32_t)d, b->dmalen, qp->mtu);
        s->msn = rx->msn; /* the last message completed, also where that is a later one (9.7.7.1: a duplicate adds none) */
        if ((int32_t)(n - rx->rd_next) < 0)
            rx->rd_next = n;
        qp->header.epoch++;
        sn_rc_respond(qp);
        return;
    }
}

void sn_rc_rx_duplicate(struct sn_qp *qp, const struct sn_burst *b)
{
    if (b->kind == SN_KIND_SEND || b->kind == SN_KIND_WRITE)
        sn_rc_ack_due(qp, SN_AETH_ACK, sn_psn_add(qp->rx.epsn, SN_PSN_MASK));
    else
        repeat(qp, b);
}

/* ---- responses ----------------------------------------------------------------------------------------------- */

static bool answer_atomic(struct sn_qp *qp, struct sn_rd_slot *s)
{
    struct sn_burst *b = sn_port_burst(qp, false);

    if (b == NULL)
        return false;
    b->kind = SN_KIND_ATOMIC_ACK;
    b->flags = SN_BURST_FIRST | SN_BURST_LAST;
    b->psn = s->psn;
    b->npackets = 1;
    b->syndrome = SN_AETH_ACK;
    b->msn = s->msn;
    b->atomic_orig = s->orig;
    b->length = 0;
    b->iov_count = 0;
    if (sn_port_send(qp, b) == SN_SENT_FULL)
        return false;
    s->sent = 1;
    return true;
}

/* The key was checked when the request came; it may have gone since. */
static bool answer_read(struct sn_qp *qp, struct sn_rd_slot *s, uint32_t *bytes)
{
    uint32_t shift = 7 + qp->mtu, offset = s->sent << shift;
    uint32_t end = s->until != 0 ? s->until : s->packets, left = (s->until != 0 ? s->until_bytes : s->length) - offset;
    uint32_t most = qp->port->burst_bytes >> shift << shift, n, packets;
    struct sn_mkey *key = NULL;
    struct sn_burst *b;

    if (left != 0) {
        key = sn_qp_key(qp, &qp->rkey_cache, s->rkey);
        if (sn_mkey_check(key, qp->attr.pdn, SN_ACCESS_REMOTE_READ, s->va, s->length) != SN_FAULT_NONE) {
            struct sn_burst request = {.kind = s->kind};
            qp->rx.rd_next = qp->rx.rd_tail;
            qp->rx.epsn = sn_psn_add(s->psn, s->sent);
            sn_rc_nak_fatal(qp, &request, SN_AETH_NAK_ACCESS, 0);
            return false;
        }
    }
    b = sn_port_burst(qp, false);
    if (b == NULL)
        return false;
    n = most == 0 ? 1u << shift : most;
    n = left < n ? left : n;
    packets = n == left ? end - s->sent : n >> shift;
    b->kind = SN_KIND_READ_RESPONSE;
    b->flags = (s->sent == 0 ? SN_BURST_FIRST : 0) | (n == left ? SN_BURST_LAST : 0);
    b->psn = sn_psn_add(s->psn, s->sent);
    b->npackets = packets;
    b->syndrome = SN_AETH_ACK;
    b->msn = s->msn;
    b->length = n;
    b->iov_count = n != 0;
    if (n != 0)
        b->iov[0] = (struct sn_iov){.addr = sn_mkey_at(key, s->va) + offset, .length = n, .space = key->space};
    if (sn_port_send(qp, b) == SN_SENT_FULL)
        return false;
    s->sent += packets;
    if (s->sent == s->until) {
        s->sent = s->resume;
        s->until = 0;
    }
    *bytes += n;
    qp->port->effort += n >> 4;
    return true;
}

unsigned sn_rc_respond(struct sn_qp *qp)
{
    struct sn_rx *rx = &qp->rx;
    uint32_t bytes = 0;
    unsigned work = 0;

    while (rx->rd_next != rx->rd_tail && bytes < SN_TURN_BYTES) {
        struct sn_rd_slot *s = slot_at(qp, rx->rd_next);
        if (s->sent == s->packets) { /* answered, before an older one was asked for again */
            rx->rd_next++;
            continue;
        }
        if (!sn_rc_acknowledge_before(qp, s->psn))
            break;
        bool sent = s->kind == SN_KIND_READ_REQUEST ? answer_read(qp, s, &bytes) : answer_atomic(qp, s);
        if (!sent)
            break;
        work++;
        if (s->sent == s->packets) {
            s->answered = true;
            rx->rd_next++;
        }
    }
    if (rx->rd_next != rx->rd_tail)
        sn_qp_activate(qp);
    else if (rx->ack_due)
        sn_rc_ack_again(qp); /* it stayed behind these */
    return work;
}
