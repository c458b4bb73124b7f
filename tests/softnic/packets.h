/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One queue pair against hand-made packets: what arrives is built here, as a frame's parser would give it, and what the
 * queue pair sends ends in a wire that only remembers. The peer does not exist.
 */
#ifndef TESTS_SOFTNIC_PACKETS_H
#define TESTS_SOFTNIC_PACKETS_H

#include "harness.h"
#include "format/bth.h"
#include "softnic/wire/wire.h"

enum { RIG_SENT = 1024, RIG_PAYLOAD = 8192, RIG_PEER_QPN = 0x990123, RIG_PSN = 0x100 };

struct sent {
    struct sn_burst b; /* without references */
    uint8_t payload[RIG_PAYLOAD];
};

struct rig {
    struct sn_wire wire; /* first: the wire is the rig */
    struct world w;
    struct end e;
    struct sent *sent;
    unsigned count, read; /* sent, looked at */
    bool full;            /* the wire takes nothing */
    unsigned room;        /* it takes this many more, and is full then; 0: no end */
    uint8_t peer_gid[16];
};

/* `o` with its psn for both directions; the queue pair is in RTS. Each packet is a burst of its own. */
void rig_open(struct rig *r, const struct options *o);
void rig_close(struct rig *r);
void rig_run(struct rig *r);
struct sn_counters rig_counters(struct rig *r);

/* A packet from the peer: kind, flags, PSN; RETH and the like are set by the caller. */
struct sn_burst rig_packet(struct rig *r, enum sn_kind kind, unsigned flags, uint32_t psn);
/* Delivers it with `length` bytes of payload, and runs. */
void rig_in(struct rig *r, const struct sn_burst *b, const void *payload, uint32_t length);

/* The next packet that was sent, or NULL. */
const struct sent *rig_out(struct rig *r);
/* The next one is an acknowledgement with this syndrome and PSN, and there is no other. */
void rig_expect_ack(struct rig *r, uint8_t syndrome, uint32_t psn);
void rig_expect_silence(struct rig *r);

/* Requests and answers that most tests need. */
void rig_write(struct rig *r, unsigned flags, uint32_t psn, uint32_t at, uint32_t length, uint32_t dmalen);
void rig_send(struct rig *r, unsigned flags, uint32_t psn, uint32_t length);
void rig_read(struct rig *r, uint32_t psn, uint32_t at, uint32_t length);
void rig_fetch_add(struct rig *r, uint32_t psn, uint32_t at, uint64_t add);
void rig_answer(struct rig *r, uint8_t syndrome, uint32_t psn);

enum { FIRST = SN_BURST_FIRST, LAST = SN_BURST_LAST, MIDDLE = 0, ONLY = SN_BURST_FIRST | SN_BURST_LAST };

extern uint8_t rig_bytes[RIG_PAYLOAD]; /* what every packet carries */

#endif
