/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange that was captured, played to the engine: one side's frames go in, and what the engine sends must be the
 * other side's frames, byte for byte, in order. Once as the responder, once as the requester.
 *
 * Made equal beforehand: addresses, ports, PSNs, path MTU, keys' address ranges and rights, Q_Key, timer codes: all taken
 * from the capture. QP numbers and keys are the engine's own, unpredictable ones; so in frames that go in, destination QP
 * and keys are replaced after the frame has been parsed and its CRC checked. In frames that come out only the source
 * QP of a datagram is replaced. MAC addresses, IPv4 identification and BTH's M bit belong to the wire and are the
 * capture's.
 *
 * The requester sends a frame when the capture shows one, not before: how far it had got when an answer came is the
 * capture's.
 *
 * A frame that was lost, doubled or overtaken behind the point of capture is found by trying: the exchange as it
 * stands, then with each single fault. One of them has to fit to the last byte.
 *
 * Where the specification leaves something to an implementation, or rdma_rxe differs from it, frames may differ in just
 * that: enum replay_liberty, each one counted. Nothing else is passed over.
 */
#ifndef TESTS_WIRE_REPLAY_H
#define TESTS_WIRE_REPLAY_H

#include "story.h"
#include "vector.h"

#include "softnic/harness.h"
#include "softnic/wire/wire.h"

enum replay_fault { FAULT_NONE, FAULT_DROP, FAULT_TWICE, FAULT_SWAP /* with the next */ };

enum replay_liberty {
    /* A first or middle packet asks for an acknowledgement, or does not: the requester's choice (9.7.3.1.3, AckReq). */
    LIBERTY_ASKS,
    /* One acknowledgement for several packets: a later one, a response or a NAK covers what came before (9.7.5.1.2). */
    LIBERTY_COALESCED,
    /*
     * The requester went on for a while after a NAK, or an answer behind a lost one, had passed the point of capture: that takes
     * effect before the first packet that is sent again, or after the last packet of all (9.7.5.2: nothing says how soon).
     */
    LIBERTY_LATE_NAK,
    /*
     * rxe answers packets behind one that it was not ready for with NAK sequence error, once: the responder may be silent
     * on them, as it has said what it waits for (9.7.5.2.8).
     */
    LIBERTY_NAK_BEHIND_RNR,
    /*
     * A SEND that is longer than its receive: NAK invalid request (0x61) where rxe says remote operational error (0x63). The
     * specification stands (9.7.5.2.8, table 58: local length error at the responder).
     */
    LIBERTY_LENGTH_CODE,
    /* A response that the capture lacks, and that is asked for again: it was lost before it could be captured. */
    LIBERTY_NOT_CAPTURED,
    LIBERTIES
};

extern const char *const replay_liberty_name[LIBERTIES];

/* Why an exchange does not fit, or cannot be played. */
enum replay_reason {
    REASON_NONE,
    REASON_CAPTURE,    /* it cannot be told from what was captured */
    REASON_LIMIT,      /* larger than the replay's world: why says which number */
    REASON_FRAME,      /* another frame came out */
    REASON_SILENCE,    /* no frame came out */
    REASON_TALK,       /* a frame too many came out */
    REASON_COMPLETION, /* the frames are right, a completion is not */
    REASON_MEMORY,     /* the frames are right, bytes in memory are not */
    REASONS
};

extern const char *const replay_reason_name[REASONS];

struct replay_sent {
    struct sn_burst b; /* without references */
    uint8_t *payload;
};

/* Remote memory: address ranges of the capture, each with bytes of its own. Nothing is reserved for what nobody touches. */
struct replay_chunk {
    uint64_t low, high;
    uint8_t *bytes, *expected;
};

struct replay_key {
    uint32_t theirs, ours; /* ours 0: none, a stranger's */
    uint64_t low, high;
    uint32_t access;
};

struct replay {
    struct sn_wire wire; /* first: the wire is the replay */
    const struct story *s;
    const struct vector *v;
    struct world w;
    struct end e;
    struct replay_sent *sent;
    unsigned count, read;
    unsigned room; /* frames that the wire takes yet */
    unsigned in;   /* frames that have gone in, or were due to */
    bool asked_for; /* responder: the last packet that went in asked for an acknowledgement */
    unsigned liberty[LIBERTIES];
    uint8_t *mem; /* local: payload, receives */
    size_t mem_bytes;
    uint32_t lkey;
    struct replay_chunk *chunk;
    unsigned chunks;
    struct replay_key *key;
    unsigned keys;
    enum replay_reason reason;
    char why[256]; /* where it did not fit */
};

/* Says why it does not fit; false. */
bool replay_no(struct replay *r, enum replay_reason reason, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A queue pair on a NIC with the address of `local`'s source, up to RTS, connected to its destination. */
void replay_open(struct replay *r, const struct story *s, const struct sn_burst *local, const struct options *o,
                 const struct sn_qp_params *more);
/* `bytes` of zeros for the queue pair's own use, with a key. False: there are not so many. */
bool replay_local(struct replay *r, uint64_t bytes);
void replay_close(struct replay *r);

/* Delivers a packet to the queue pair; `nobody`: to a number that no queue pair has. */
void replay_in(struct replay *r, const struct sn_burst *p, bool nobody);

/* Turns, also while the wire takes nothing. */
void replay_run(struct replay *r);

/* Is what was sent next frame i? r->why says what is different. */
bool replay_out(struct replay *r, unsigned i);
/* Has everything that was sent been looked at? */
bool replay_no_more(struct replay *r);

/* ---- remote memory (replay_memory.c) ---- */

bool replay_names_memory(const struct sn_burst *p);
/* Memory and keys as the capture needs them, and what should become of it. */
bool replay_memory_make(struct replay *r);
/* The engine's key for what frame i names: memory, or a key to invalidate. */
uint32_t replay_key_of(const struct replay *r, unsigned i);
bool replay_memory_check(struct replay *r);
void replay_memory_free(struct replay *r);

/* ---- the two sides, under a fault at the n-th frame that goes in ---- */

bool replay_responder(struct replay *r, const struct story *s, enum replay_fault fault, unsigned at);
bool replay_requester(struct replay *r, const struct story *s, enum replay_fault fault, unsigned at);

/* ---- looking for a fault that fits (replay_find.c) ---- */

struct replay_verdict {
    bool fits;
    enum replay_fault fault;
    unsigned at;
    unsigned liberty[LIBERTIES]; /* frames; of what fits */
    enum replay_reason reason;   /* of the exchange as it stands */
    char why[256];
};

/* As it stands, else the first single fault that fits. */
void replay_find(const struct vector *v, bool responder, struct replay_verdict *out);

#endif
