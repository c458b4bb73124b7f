/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange that was captured, played to the engine: one side's frames go in, and what the engine sends must be the
 * other side's frames, byte for byte, in order. Once as the responder, once as the requester.
 *
 * Made equal beforehand: addresses, ports, PSNs, path MTU, key's address range, Q_Key, timer codes: all taken from the
 * capture. QP numbers and keys are the engine's own, unpredictable ones; so in frames that go in, destination QP and
 * remote key are replaced after the frame has been parsed and its CRC checked. In frames that come out only the source
 * QP of a datagram is replaced. MAC addresses, IPv4 identification and BTH's M bit belong to the wire and are the
 * capture's.
 *
 * The requester sends a frame when the capture shows one, not before: how far it had got when an answer came is the
 * capture's.
 *
 * A frame that was lost, doubled or overtaken behind the point of capture is found by trying: the exchange as it
 * stands, then with each single fault. One of them has to fit to the last byte.
 *
 * Where the specification differs from what rdma_rxe does, the specification stands:
 *   a SEND that is longer than its receive: NAK invalid request (0x61) where rxe says remote operational error (0x63)
 *   (IBTA vol. 1, 9.7.5.2.8, table 58: local length error at the responder)
 */
#ifndef TESTS_WIRE_REPLAY_H
#define TESTS_WIRE_REPLAY_H

#include "vector.h"

#include "softnic/harness.h"
#include "softnic/wire/wire.h"

enum { REPLAY_SENT = 512, REPLAY_RECEIVES = 16, REPLAY_RECEIVE = 65536, REPLAY_REGION = 1 << 24 };

enum replay_fault { FAULT_NONE, FAULT_DROP, FAULT_TWICE, FAULT_SWAP /* with the next */ };

struct replay {
    struct sn_wire wire; /* first: the wire is the replay */
    const struct vector *v;
    struct world w;
    struct end e;
    uint8_t mtu; /* code */
    struct {
        struct sn_burst b; /* without references */
        uint8_t *payload;
    } sent[REPLAY_SENT];
    unsigned count, read;
    unsigned room; /* frames that the wire takes yet */
    /* Responder: remote memory as the capture needs it, and as it should be in the end. */
    uint8_t *region, *expected;
    uint64_t va;
    size_t region_bytes;
    uint32_t rkey;
    char why[256]; /* where it did not fit */
};

bool replay_is_request(const struct vector *v, unsigned i); /* sent by the side that speaks first */

/* A queue pair on a NIC with the address of `local`'s source, up to RTS, connected to its destination. */
void replay_open(struct replay *r, const struct vector *v, const struct sn_burst *local, const struct options *o,
                 const struct sn_qp_params *more);
void replay_close(struct replay *r);

/* Delivers frame i. */
void replay_in(struct replay *r, unsigned i, uint32_t rkey);

/* Turns, also while the wire takes nothing. */
void replay_run(struct replay *r);

/* Is what was sent next frame i? r->why says what is different. */
bool replay_out(struct replay *r, unsigned i);

/* One side of the exchange under a fault at the n-th frame that goes in; false: r->why. */
bool replay_responder(struct replay *r, const struct vector *v, enum replay_fault fault, unsigned at);
bool replay_requester(struct replay *r, const struct vector *v, enum replay_fault fault, unsigned at);

/* Code of the path MTU that a capture shows, or the smallest from 1024 on that its packets fit in. */
uint8_t replay_mtu(const struct vector *v);

#endif
