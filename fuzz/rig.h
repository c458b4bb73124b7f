/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share: a reader of the input, a NIC under attack and the judges of what the attack did.
 *
 * The world: one port in virtual time with two NICs. NIC 0 has queue pairs whose peer is outside (a wire that only looks at
 * what leaves): they are what is attacked. A witness pair joins NIC 0 with NIC 1 inside the port; whatever happens to the
 * others, it has to work afterwards. Memory is one block of areas with guards between them, and each area says who may
 * touch it.
 *
 * A violated invariant prints a line and aborts: under libFuzzer that keeps the input, in a replay it fails the test.
 */
#ifndef FUZZ_RIG_H
#define FUZZ_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/nic.h"
#include "softnic/wire/burst.h"
#include "softnic/wire/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- input: bytes are taken from the front; an exhausted input reads as zeros ---------------------------------- */

struct fuzz_in {
    const uint8_t *at;
    size_t left;
};

uint8_t fuzz_u8(struct fuzz_in *in);
uint16_t fuzz_u16(struct fuzz_in *in);
uint32_t fuzz_u32(struct fuzz_in *in);
uint64_t fuzz_u64(struct fuzz_in *in);
/* Up to n bytes; returns how many were there. */
size_t fuzz_bytes(struct fuzz_in *in, void *out, size_t n);

#define FUZZ_CHECK(cond, ...) ((cond) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #cond, __VA_ARGS__))
void fuzz_fail(const char *file, int line, const char *cond, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/* ---- the world ------------------------------------------------------------------------------------------------- */

enum fuzz_area {
    FUZZ_OPEN,      /* every right */
    FUZZ_READ_ONLY, /* remote read; its addresses end shortly below 2^64 */
    FUZZ_LANDING,   /* local write only: receives and the results of reads */
    FUZZ_SOURCE,    /* local read only */
    FUZZ_FOREIGN,   /* every right, but in another protection domain */
    FUZZ_AREAS,
};

enum { FUZZ_AREA_BYTES = 8192, FUZZ_GUARD_BYTES = 4096, FUZZ_STALE = FUZZ_AREAS, FUZZ_PEER_KEY, FUZZ_KEYS };

enum fuzz_target { FUZZ_RC, FUZZ_RC_SRQ, FUZZ_UC, FUZZ_UD, FUZZ_TARGETS };

enum { FUZZ_LOG_SQ = 4, FUZZ_LOG_RQ = 3, FUZZ_LOG_CQ = 4, FUZZ_RQ_STRIDE = 6, FUZZ_QKEY = 0x11111111 };

struct fuzz_qp {
    struct sn_nic *nic;
    enum sn_service service;
    uint32_t qpn; /* 0: the engine does not model this service */
    uint32_t pdn, cqn, rcqn, srqn;
    struct sn_uar uar;
    uint8_t *sq, *rq, *cq, *rcq;
    uint32_t *record;     /* receive word, send word; 64 bytes */
    uint32_t *srq_record;
    uint32_t pi, rq_pi, ci;
    uint32_t rcv_psn;     /* what an honest peer would send next */
    uint32_t remote_qpn;
    bool gpu;             /* queues are reached by the copy engine only */
};

struct fuzz_world {
    struct sn_port *port;
    struct sn_nic *nic[2];
    struct sn_wire wire;
    uint64_t now;
    uint8_t options; /* enum fuzz_option */
    uint8_t mtu;
    uint32_t pdn, foreign_pdn;
    uint8_t *block, *before; /* areas and guards, and what they held */
    uint64_t iova[FUZZ_AREAS];
    uint32_t key[FUZZ_KEYS];
    struct fuzz_qp qp[FUZZ_TARGETS];
    struct fuzz_qp witness[2];
    uint8_t *witness_memory;
    uint32_t witness_key[2], witness_rounds;
    bool wire_full;
    bool copies;     /* what leaves may be a copy: its place says nothing */
    bool no_witness; /* the target harms everybody on purpose: close does not ask the witness */
    unsigned long sent; /* bursts that left */
    struct sn_burst last; /* the last of them, payload not kept */
    uint32_t last_psn[FUZZ_TARGETS]; /* of the last request of each queue pair */
};

enum fuzz_option {
    FUZZ_GPU_DATA = 1 << 0,
    FUZZ_GPU_QUEUES = 1 << 1,
    FUZZ_MTU_SHIFT = 2, /* two bits: 256, 1024, 2048, 4096 */
    FUZZ_ONE_PACKET = 1 << 4, /* bursts of one packet */
};

extern const uint8_t fuzz_attacker_gid[16];

void fuzz_world_open(struct fuzz_world *w, uint8_t options);
/* Runs the port until it rests, with time moved far enough for every timer; then judges memory and the witness. */
void fuzz_world_close(struct fuzz_world *w);
/* A world for one input: the first byte is its options, the rest is taken in steps. `begin` (NULL: nothing) comes first. */
int fuzz_world_play(const uint8_t *data, size_t size, void (*begin)(struct fuzz_world *w),
                    void (*step)(struct fuzz_world *w, struct fuzz_in *in));
void fuzz_run(struct fuzz_world *w, unsigned turns);
void fuzz_judge(struct fuzz_world *w);   /* memory only; usable at any time */
void fuzz_witness(struct fuzz_world *w); /* the witness pair moves 64 bytes within a bounded number of turns */
void fuzz_witness_post(struct fuzz_world *w); /* only posts a put */
uint8_t *fuzz_area_at(struct fuzz_world *w, unsigned area);
void fuzz_rekey(struct fuzz_world *w, unsigned area); /* the old value becomes FUZZ_STALE */

/* RST, then up to RTS with the outside peer. */
void fuzz_connect(struct fuzz_world *w, struct fuzz_qp *q);
void fuzz_post_recv(struct fuzz_world *w, struct fuzz_qp *q, uint32_t offset, uint32_t length, uint32_t key);
/* Rings both doorbells for everything up to q->pi. */
void fuzz_ring(struct fuzz_qp *q);

/* A packet for queue pair `q`, as an honest peer would address it. */
void fuzz_packet(const struct fuzz_world *w, const struct fuzz_qp *q, struct sn_burst *b);
/* Gives it `length` bytes of payload (at most 64 KiB) in one to three pieces. */
void fuzz_payload(struct sn_burst *b, uint32_t length, unsigned pieces);

#ifdef __cplusplus
}
#endif
#endif
