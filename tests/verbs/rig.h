/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends, each a context with a queue pair, made through verbs as a program would. A failure of the rig itself fails the
 * test that called it.
 */
#ifndef TESTS_VERBS_RIG_H
#define TESTS_VERBS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "softnic/verbs/exports.h"

enum { RIG_BYTES = 1 << 20, RIG_QKEY = 0x11223344, RIG_GRH = 40 };

struct rig_options {
    enum ibv_qp_type type; /* 0: RC */
    bool srq, signal_all, one_cq, no_local_write;
    uint32_t cqe, wr, sge, inlines; /* 0: 256, 64, 4, 0 */
    uint32_t srq_wr;                /* 0: as wr */
    int access;                     /* of the queue pairs; 0: everything; < 0: nothing */
    enum ibv_mtu mtu;               /* 0: 1024 */
    uint8_t rnr_retry, retry, timeout; /* 0: 7, 7 and 14 */
    bool fail_fast;                 /* rnr_retry 0, retry 0 */
};

struct rig_end {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *scq, *rcq;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
    struct ibv_ah *ah; /* UD: to the peer */
    uint8_t *mem;
    struct ibv_mr *mr;
    union ibv_gid gid;
    uint16_t lid;
    bool ethernet;
};

struct rig {
    struct rig_options o;
    struct rig_end a, b;
};

/* Environment of a test program; call before anything else. `link`: "eth" or "ib". */
void rig_env(const char *link);

struct ibv_context *rig_context(unsigned device);
void rig_open(struct rig *r, const struct rig_options *o);
void rig_close(struct rig *r);
/* One end only, its queue pair in RESET; `device` is a number. */
void rig_open_end(struct rig_end *e, unsigned device, const struct rig_options *o);
void rig_close_end(struct rig_end *e);
struct ibv_qp *rig_qp(struct rig_end *e, const struct rig_options *o);
void rig_address(const struct rig_end *to, struct ibv_ah_attr *out);

/* To INIT, RTR and RTS; a datagram queue pair needs no peer. */
void rig_init(struct ibv_qp *qp, const struct rig_options *o);
void rig_rtr(struct ibv_qp *qp, const struct rig_options *o, const struct rig_end *peer, uint32_t peer_qpn);
void rig_rts(struct ibv_qp *qp, const struct rig_options *o);
void rig_connect(struct rig *r);
void rig_move(struct ibv_qp *qp, enum ibv_qp_state to); /* RESET or ERR */
enum ibv_qp_state rig_state(struct ibv_qp *qp);
void rig_wait_state(struct ibv_qp *qp, enum ibv_qp_state state);

int rig_recv(struct rig_end *e, uint64_t wr_id, size_t offset, uint32_t length);
struct ibv_send_wr rig_write(struct rig *r, struct ibv_sge *sge, uint64_t wr_id); /* signalled, a to b, sge given */
int rig_post(struct ibv_qp *qp, struct ibv_send_wr *wr);

/* The next completion, waited for. Both ends are driven by it. */
struct ibv_wc rig_poll(struct ibv_cq *cq);
void rig_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status);
void rig_expect_none(struct ibv_cq *cq); /* after what has been posted had its time */

void rig_fill(uint8_t *at, size_t length, uint32_t seed);
bool rig_same(const uint8_t *at, size_t length, uint32_t seed);

#endif
