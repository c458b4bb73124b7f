/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/shm_ring.h"

#include <string.h>
#include <sys/mman.h>

#include "softnic/exec/order.h"
#include "softnic/nic.h"

enum { BACK_FIRST = 16384, BACK_STEP = 262144 /* bytes; most at a time: the caller may hold a lock */ };

_Static_assert(sizeof(struct shm_region) <= SHM_CONTROL_BYTES, "control data fit before the rings");
#define SAME_PLACE(a, b) _Static_assert(offsetof(struct shm_header, a) == offsetof(struct sn_short, b), "a record is a short message: " #a)
SAME_PLACE(dqpn, dqpn);
SAME_PLACE(sqpn, sqpn);
SAME_PLACE(kind, kind);
SAME_PLACE(flags, flags);
SAME_PLACE(mtu_service, mtu);
SAME_PLACE(syndrome, syndrome);
SAME_PLACE(psn, psn);
SAME_PLACE(npackets, npackets);
SAME_PLACE(length, length);
SAME_PLACE(va, va);
SAME_PLACE(rkey, rkey);
SAME_PLACE(dmalen, dmalen);
SAME_PLACE(imm, imm);
SAME_PLACE(msn, msn);
SAME_PLACE(inlined, word);
_Static_assert(sizeof(struct shm_header) == sizeof(struct sn_short), "a record is a short message");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && ATOMIC_LLONG_LOCK_FREE == 2, "positions are shared between processes");

static bool is_atomic(unsigned kind)
{
    return kind >= SN_KIND_ATOMIC_CS && kind <= SN_KIND_ATOMIC_MASKED_FA;
}

size_t shm_region_bytes(uint64_t ring_bytes)
{
    return (size_t)(SHM_CONTROL_BYTES + 2 * ring_bytes);
}

static struct shm_direction *direction_of(void *region, unsigned direction)
{
    return &((struct shm_region *)region)->direction[direction];
}

static uint8_t *data_of(void *region, unsigned direction, uint64_t ring_bytes)
{
    return (uint8_t *)region + SHM_CONTROL_BYTES + direction * ring_bytes;
}

void shm_tx_init(struct shm_tx *tx, void *region, unsigned direction, uint64_t ring_bytes, uint64_t nonce)
{
    *tx = (struct shm_tx){.shared = direction_of(region, direction),
                          .data = data_of(region, direction, ring_bytes),
                          .size = ring_bytes,
                          .nonce = nonce + direction};
}

void shm_rx_init(struct shm_rx *rx, void *region, unsigned direction, uint64_t ring_bytes, uint64_t nonce)
{
    *rx = (struct shm_rx){.shared = direction_of(region, direction),
                          .data = data_of(region, direction, ring_bytes),
                          .size = ring_bytes,
                          .nonce = nonce + direction};
}

static uint64_t round_line(uint64_t n)
{
    return (n + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
}

uint64_t shm_record_bytes(const struct shm_header *h)
{
    uint64_t bytes = SHM_LINE;
    if (is_atomic(h->kind))
        bytes += SHM_LINE;
    if (h->length > SHM_INLINE && !(h->flags & SHM_BY_REFERENCE))
        bytes += round_line(h->length);
    return bytes;
}

/*
 * Memory for the ring up to this position, ahead of the first time that anybody gets there. Without it both ends meet at each new
 * page, where the producer stores and the consumer polls: two page faults that wait for each other, 15 to 40 us, once in 64
 * short records. As much again each time, so that who has little to say needs little. A system that does not do it (pages that are
 * larger than the control data, Linux before 5.14), or has no memory: faults, as ever.
 */
static void back(struct shm_tx *tx, uint64_t position)
{
    uint64_t from = tx->backed, step = from < BACK_FIRST ? BACK_FIRST : from < BACK_STEP ? from : BACK_STEP;
    uint64_t to = position > from + step ? position : from + step;
    to = to < tx->size ? (to + BACK_FIRST - 1) / BACK_FIRST * BACK_FIRST : tx->size;
    tx->backed = to;
#ifdef MADV_POPULATE_WRITE
    (void)madvise(tx->data + from, to - from, MADV_POPULATE_WRITE);
#endif
}

bool shm_tx_room(struct shm_tx *tx, uint64_t bytes)
{
    /* The line behind the record, too: the consumer will wait there. */
    if (tx->backed < tx->size && tx->tail + bytes + SHM_LINE > tx->backed)
        back(tx, tx->tail + bytes + SHM_LINE);
    if (tx->tail + bytes - tx->head <= tx->size)
        return true;
    /* Acquire: the consumer has read everything before the position that it shows. */
    uint64_t head = atomic_load_explicit(&tx->shared->head, memory_order_acquire);
    if (head < tx->head || head > tx->tail || head % SHM_LINE) {
        tx->bad = true;
        return false;
    }
    tx->head = head;
    return tx->tail + bytes - head <= tx->size;
}

static int put_payload(struct shm_tx *tx, uint64_t position, uint64_t length, shm_copy_fn copy, void *arg)
{
    uint64_t at = position & (tx->size - 1), first = tx->size - at;
    if (first > length)
        first = length;
    int rc = copy(arg, tx->data + at, 0, first);
    return rc || first == length ? rc : copy(arg, tx->data, first, length - first);
}

/*
 * The record that has been written at the tail becomes visible: before the look at `asleep` (see the header). A store and a
 * fence: a processor that makes one exchange of them waits until the record's bytes are visible, and a consumer that polls
 * takes the line away in between.
 */
static int commit(struct shm_tx *tx, uint64_t bytes)
{
    uint64_t position = tx->tail;
    tx->tail += bytes;
#if defined(__x86_64__) && !defined(SN_TSAN)
    atomic_store_explicit(shm_commit_word(tx->data, tx->size, position), tx->nonce + position, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
#else
    atomic_store_explicit(shm_commit_word(tx->data, tx->size, position), tx->nonce + position, memory_order_seq_cst);
#endif
    if (!atomic_load_explicit(&tx->shared->asleep, memory_order_seq_cst))
        return 0;
    return atomic_exchange_explicit(&tx->shared->asleep, 0, memory_order_relaxed) != 0;
}

int shm_tx_put(struct shm_tx *tx, const struct shm_header *header, const struct shm_operands *operands,
               shm_copy_fn copy, void *arg)
{
    uint64_t position = tx->tail, payload = position + SHM_LINE;
    uint8_t *line = tx->data + (position & (tx->size - 1));
    struct shm_header h = *header;
    int rc = 0;
    if (is_atomic(h.kind)) {
        memcpy(tx->data + (payload & (tx->size - 1)), operands, sizeof(*operands));
        payload += SHM_LINE;
    }
    if (h.flags & SHM_BY_REFERENCE)
        rc = 0;
    else if (h.length > SHM_INLINE)
        rc = put_payload(tx, payload, h.length, copy, arg);
    else if (h.length)
        rc = copy(arg, &h.inlined, 0, h.length);
    if (rc)
        return rc;
    memcpy(line + 8, &h, sizeof(h));
    return commit(tx, shm_record_bytes(&h));
}

int shm_tx_commit_line(struct shm_tx *tx)
{
    return commit(tx, SHM_LINE);
}

/* Only requests that carry payload refer to it, and not to much: what it is copied into may be memory of ours. */
static bool reference_makes_sense(const struct shm_header *h)
{
    return (h->kind == SN_KIND_SEND || h->kind == SN_KIND_WRITE) && h->length > SHM_INLINE && h->length <= SHM_WINDOW_BURST;
}

/*
 * Without a path MTU it would be taken for a frame, which does not say who sent it (wire/burst.h): only datagrams may come from
 * anybody.
 */
static bool names_sender(const struct shm_header *h)
{
    return (h->mtu_service & 15) != 0 || h->mtu_service >> 4 == SN_SERVICE_UD;
}

static bool header_makes_sense(const struct shm_rx *rx, const struct shm_header *h)
{
    unsigned mtu = h->mtu_service & 15, atomic_size = h->psn >> 24;
    if (h->kind >= SN_KIND_COUNT || h->flags & ~(SN_BURST_FLAGS_ALL | SHM_BY_REFERENCE) || mtu > 5 || !names_sender(h))
        return false;
    if (h->flags & SHM_BY_REFERENCE)
        return reference_makes_sense(h) && !(h->npackets >> 24);
    if (h->npackets >> 24 || h->length > rx->size || shm_record_bytes(h) > rx->size)
        return false;
    return !is_atomic(h->kind) || ((atomic_size == 4 || atomic_size == 8) && !h->length);
}

static void find_payload(const struct shm_rx *rx, uint64_t position, struct shm_record *r)
{
    uint64_t at = position & (rx->size - 1), first = rx->size - at, length = r->header.length;
    if (first > length)
        first = length;
    r->spans = 1;
    r->span[0].addr = rx->data + at;
    r->span[0].length = (size_t)first;
    if (first < length) {
        r->spans = 2;
        r->span[1].addr = rx->data;
        r->span[1].length = (size_t)(length - first);
    }
}

enum shm_verdict shm_rx_peek(const struct shm_rx *rx, struct shm_record *r)
{
    /* Acquire: everything that the producer wrote before the commit word. */
    if (atomic_load_explicit(shm_commit_word(rx->data, rx->size, rx->head), memory_order_acquire) != rx->nonce + rx->head)
        return SHM_NONE;
    uint64_t payload = rx->head + SHM_LINE;
    memcpy(&r->header, rx->data + (rx->head & (rx->size - 1)) + 8, sizeof(r->header));
    if (!header_makes_sense(rx, &r->header))
        return SHM_BAD;
    if (is_atomic(r->header.kind)) {
        memcpy(&r->operands, rx->data + (payload & (rx->size - 1)), sizeof(r->operands));
        payload += SHM_LINE;
    } else {
        r->operands = (struct shm_operands){0};
    }
    r->bytes = shm_record_bytes(&r->header);
    r->spans = 0;
    if (r->header.flags & SHM_BY_REFERENCE) {
        r->spans = 0; /* shm_window_resolve */
    } else if (r->header.length > SHM_INLINE) {
        find_payload(rx, payload, r);
    } else if (r->header.length) {
        r->spans = 1;
        r->span[0].addr = &r->header.inlined;
        r->span[0].length = r->header.length;
    }
    return SHM_RECORD;
}

void shm_rx_consume(struct shm_rx *rx, const struct shm_record *record)
{
    rx->head += record->bytes;
    if (rx->head - rx->published > rx->size / 8)
        shm_rx_publish(rx);
}

void shm_rx_publish(struct shm_rx *rx)
{
    if (rx->published == rx->head)
        return;
    rx->published = rx->head;
    /* Release: our reads of the consumed bytes come before the producer's writes over them. */
    atomic_store_explicit(&rx->shared->head, rx->head, memory_order_release);
}

void shm_rx_asleep(struct shm_rx *rx, bool asleep)
{
    if (asleep)
        shm_rx_publish(rx);
    atomic_store_explicit(&rx->shared->asleep, asleep, memory_order_seq_cst);
}
