/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a reliable connection by plain verbs, as a program that knows nothing of softnic makes it. Used with the
 * drop-in libraries, by tests of what happens to such programs when processes fork, get signals or die.
 */
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_BYTES = 1 << 16, RP_RECEIVES = 32, RP_HALF = RP_BYTES / 2 };

struct rp {
    struct ibv_context *ctx;
    struct ibv_comp_channel *channel; /* NULL: the CQ is polled */
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *memory; /* RP_BYTES: incoming half, then outgoing half */
    uint64_t peer_address;
    uint32_t peer_key, peer_qpn;
    uint8_t timeout, retries; /* of the queue pair: 4.096 us x 2^timeout */
};

struct rp_card { /* what two ends tell each other */
    union ibv_gid gid;
    uint64_t address;
    uint32_t qpn, key;
};

/* 0 or a positive errno; what failed is said on stderr. A failed open leaves nothing. */
int rp_open(struct rp *rp, bool events);
int rp_card_of(const struct rp *rp, struct rp_card *card);
int rp_connect(struct rp *rp, const struct rp_card *peer);
/* Exchanges cards over a stream socket: EPIPE when the other end has gone. */
int rp_connect_by(struct rp *rp, int fd);
int rp_join(struct rp *a, struct rp *b); /* two ends of this process */
void rp_close(struct rp *rp);

int rp_receive(struct rp *rp);
/* One signalled operation of `bytes` between the same offsets of both ends' halves. */
int rp_post(struct rp *rp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset, uint32_t bytes);
/* The next completion, waited for at most `seconds`: 0, ETIMEDOUT or what the library said. */
int rp_complete(struct rp *rp, struct ibv_wc *wc, double seconds);

double rp_now(void);
