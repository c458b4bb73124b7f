/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices of libsoftnic and a queue pair on each, connected; everything through the calls that a program of verbs makes.
 * Failures end the test (cmocka assertions).
 */
#ifndef TESTS_VERBS_PAIR_H
#define TESTS_VERBS_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "softnic/verbs/exports.h"

enum { PAIR_BYTES = 1 << 20, PAIR_QKEY = 0x11111111 };

struct pair_options {
    enum ibv_qp_type type;     /* 0: RC */
    uint64_t send_ops;         /* not 0: extended queue pairs */
    bool ex_cq;                /* extended completion queues */
    uint64_t wc_flags;
    uint32_t cq_flags;         /* enum ibv_create_cq_attr_flags */
    bool channel;              /* each side has one, for its receive CQ */
    bool srq;
    int cqe;                   /* 0: 64 */
    uint32_t max_wr, max_sge, max_inline; /* 0: 16, 2, 64 */
    unsigned access;           /* of the queue pair; 0: everything remote */
    uint8_t timeout, retry, rnr_retry;    /* 0: patient */
    bool stay_rtr;             /* side 1 stays in RTR */
};

struct side {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *scq, *rcq;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
    struct ibv_qp_ex *ex; /* of an extended queue pair */
    struct ibv_ah *ah;    /* datagrams: of the other side */
    uint8_t *mem;
    struct ibv_mr *mr;
    union ibv_gid gid;
};

struct pair {
    struct pair_options o;
    struct side side[2];
};

/* SOFTNIC_DEVICES and the like, for a process that talks to itself; called once, before any device is opened. */
void pair_environment(void);
struct ibv_context *pair_device(unsigned index);

void pair_open(struct pair *p, const struct pair_options *o);
void pair_close(struct pair *p);
void pair_connect(struct pair *p); /* from RESET; pair_open has done it once */
int pair_move(struct ibv_qp *qp, enum ibv_qp_state state);
enum ibv_qp_state pair_state(struct ibv_qp *qp);

void pair_post_recv(struct side *s, uint64_t wr_id, uint32_t offset, uint32_t length);

/* What a completion says, by whichever way it was polled. */
struct told {
    uint64_t wr_id, completion_ts, wallclock;
    int status, opcode;
    uint32_t vendor_err, byte_len, imm, qp_num, src_qp, slid;
    unsigned wc_flags;
    uint8_t sl, path_bits;
};

/* Polls until there is a completion; a hang ends the test after a minute. */
struct told pair_wait(struct side *s, struct ibv_cq *cq, bool ex);
bool pair_poll(struct side *s, struct ibv_cq *cq, bool ex, struct told *out); /* one look */

#endif
