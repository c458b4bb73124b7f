/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte ring in memory shared by two processes: one producer, one consumer.
 *
 * Records start on cache lines. A record's first 8 bytes are its commit word, `nonce + position`, written last with
 * release order; positions only grow, so a word from an earlier lap never matches, and payload cannot pass for a commit
 * word because the nonce is secret. The consumer therefore looks at the very line that holds the header, and an 8-byte
 * WRITE crosses between two cores as one cache line: no index is read on that way. The consumer's position goes back on
 * a line of its own, now and then; the producer reads it when it seems to be out of room.
 *
 * Sleeping: the consumer stores `asleep` and then looks at the next commit word; the producer stores the commit word
 * and then looks at `asleep`; between the two each has a sequentially consistent order, so at least one of them sees the other.
 *
 * Nothing read from shared memory is trusted: positions live in private memory, a header is copied out once and judged,
 * and payload is addressed through a mask.
 */
#ifndef SOFTNIC_WIRE_SHM_RING_H
#define SOFTNIC_WIRE_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "softnic/wire/burst.h"
#include "softnic/wire/wire.h"

enum {
    SHM_LINE = 64,
    SHM_INLINE = 8, /* payload bytes that travel in the header's own line */
    SHM_MAX_GIDS = 4,
    SHM_CONTROL_BYTES = 4096, /* struct shm_region, before the rings */
    SHM_BY_REFERENCE = 0x80, /* in a header's flags: the payload lies at `inlined` in the window `msn` (shm_window.c) */
    SHM_WINDOW_BURST = 1 << 20, /* most payload of one such record */
    SHM_ACCEPTED_GID = 0xff,  /* dgid index: the GID that the connection was made to */
};

struct shm_identity { /* who writes into a direction */
    uint8_t slot, gid_count;
    uint8_t reserved[14];
    uint8_t gid[SHM_MAX_GIDS][16];
};

struct shm_direction {                               /* shared */
    _Alignas(SHM_LINE) _Atomic uint64_t head;        /* bytes consumed; written by the consumer */
    _Alignas(SHM_LINE) _Atomic uint32_t asleep;      /* written by the consumer; the producer takes it back to 0 */
    _Atomic uint32_t no_windows;                     /* written by the consumer: send no payload by reference */
    _Alignas(SHM_LINE) struct shm_identity producer; /* written by the producer before its first record */
    _Atomic uint32_t turns; /* written by the consumer: moves whenever it looks. On a line that the producer reads for timers only */
};

struct shm_region { /* shared; rings follow at SHM_CONTROL_BYTES: 0 connector to acceptor, 1 the other way */
    struct shm_direction direction[2];
};

struct shm_header {                             /* the first line of a record, after its commit word */
    uint32_t dqpn;                              /* 24 bits; top 8: index of dgid */
    uint32_t sqpn;                              /* 24 bits; top 8: index of sgid */
    uint8_t kind, flags, mtu_service, syndrome; /* mtu in the low 4 bits */
    uint32_t psn;                               /* 24 bits; top 8: atomic size */
    uint32_t npackets;
    uint32_t length; /* payload bytes */
    uint64_t va;
    uint32_t rkey, dmalen, imm;
    uint32_t msn;     /* 24 bits; top 8: 1 if the 8 bytes below are atomic_orig */
    uint64_t inlined; /* payload of up to 8 bytes, or an atomic's original value */
};
_Static_assert(sizeof(struct shm_header) == SHM_LINE - 8, "a header and its commit word fill a cache line");

/* A header that came, private. A short message, once the indices of GIDs have been taken out, is one of the port's (wire.h). */
union shm_line {
    struct shm_header header;
    struct sn_short message;
};

struct shm_operands { /* second line of an atomic */
    uint64_t swap_add, compare, swap_mask, compare_mask;
};

struct shm_tx {
    struct shm_direction *shared;
    uint8_t *data;
    uint64_t size, nonce; /* size: a power of two */
    uint64_t tail;
    uint64_t head;   /* last seen */
    uint64_t backed; /* the ring's bytes from its begin that are known to have memory: `back` in shm_ring.c */
    bool bad;        /* the consumer's position made no sense */
};

struct shm_rx {
    struct shm_direction *shared;
    uint8_t *data;
    uint64_t size, nonce;
    uint64_t head;
    uint64_t published;
    uint32_t turns;
};

size_t shm_region_bytes(uint64_t ring_bytes);
void shm_tx_init(struct shm_tx *tx, void *region, unsigned direction, uint64_t ring_bytes, uint64_t nonce);
void shm_rx_init(struct shm_rx *rx, void *region, unsigned direction, uint64_t ring_bytes, uint64_t nonce);

/* Bytes that a record with this header takes. */
uint64_t shm_record_bytes(const struct shm_header *header);

/* True if `bytes` fit; looks at the consumer's position only if the last one seen leaves too little room. */
bool shm_tx_room(struct shm_tx *tx, uint64_t bytes);

/* Puts payload bytes `from` .. `from + n` of the caller's at dst; 0 or negative errno. */
typedef int (*shm_copy_fn)(void *arg, void *dst, uint64_t from, uint64_t n);

/*
 * Writes and commits a record; room was checked. Returns 1 if the consumer has to be woken, else 0; what `copy`
 * returned if that failed, and then nothing was committed.
 */
int shm_tx_put(struct shm_tx *tx, const struct shm_header *header, const struct shm_operands *operands,
               shm_copy_fn copy, void *arg);

/* The same for a record of one line: its header is written in place, field by field, then committed. */
static inline struct shm_header *shm_tx_line(const struct shm_tx *tx)
{
    return (struct shm_header *)(void *)(tx->data + (tx->tail & (tx->size - 1)) + 8);
}
int shm_tx_commit_line(struct shm_tx *tx);

static inline _Atomic uint64_t *shm_commit_word(uint8_t *data, uint64_t size, uint64_t position)
{
    return (_Atomic uint64_t *)(void *)(data + (position & (size - 1)));
}

/* True if a record is waiting. */
static inline bool shm_rx_ready(const struct shm_rx *rx)
{
    return atomic_load_explicit(shm_commit_word(rx->data, rx->size, rx->head), memory_order_seq_cst) == rx->nonce + rx->head;
}

/* Of the record that is waiting: its header, copied once and not judged. */
static inline void shm_rx_line(const struct shm_rx *rx, union shm_line *out)
{
    memcpy(&out->header, rx->data + (rx->head & (rx->size - 1)) + 8, sizeof(out->header));
}

enum shm_verdict { SHM_NONE = 0, SHM_RECORD = 1, SHM_BAD = -1 };

struct shm_record {
    struct shm_header header;
    struct shm_operands operands;
    uint64_t bytes; /* to be consumed */
    unsigned spans;
    struct {
        const void *addr;
        size_t length;
    } span[2]; /* payload, in the ring or in header.inlined */
};

/* Looks at the next record without consuming it: copies its header once and judges lengths and enumerations. */
enum shm_verdict shm_rx_peek(const struct shm_rx *rx, struct shm_record *out);

/* Consumes a record of one line, or this one; the ring bytes may be overwritten from now on. Positions are published lazily: see shm_rx_publish. */
static inline void shm_rx_consume_line(struct shm_rx *rx)
{
    rx->head += SHM_LINE;
}
void shm_rx_consume(struct shm_rx *rx, const struct shm_record *record);
void shm_rx_publish(struct shm_rx *rx);

/* The consumer has looked; how often it has, as the producer sees it. */
static inline void shm_rx_turn(struct shm_rx *rx)
{
    atomic_store_explicit(&rx->shared->turns, ++rx->turns, memory_order_relaxed);
}
static inline uint32_t shm_tx_turns(const struct shm_tx *tx)
{
    return atomic_load_explicit(&tx->shared->turns, memory_order_relaxed);
}

/* Says whether the consumer sleeps. After `true`, look at shm_rx_ready once more before sleeping. */
void shm_rx_asleep(struct shm_rx *rx, bool asleep);

#endif
