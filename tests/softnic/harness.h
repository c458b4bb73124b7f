/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world for engine tests: one port with virtual time and no thread, NICs on it, and queue pairs with rings in malloc
 * memory. WQEs are built by hand and doorbells rung with plain stores, as a GPU would.
 */
#ifndef TESTS_SOFTNIC_HARNESS_H
#define TESTS_SOFTNIC_HARNESS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "format/cqe.h"
#include "format/doorbell.h"
#include "format/wqe.h"
#include "softnic/errors.h"
#include "softnic/nic.h"
#include "softnic/wire/burst.h"

enum { MEM_SIZE = 1 << 21 };

struct world {
    struct sn_port *port;
    struct sn_nic *nic[2];
    uint64_t now; /* ns; moved by the test */
};

struct options {
    uint8_t log_sq, log_cq, log_rq, log_rq_stride;
    uint16_t cqe_size;
    bool collapsed, overrun; /* overrun: oi = 0 */
    bool no_record;          /* send queue without a doorbell record */
    bool srq, srq_linked, no_rq;
    uint8_t mtu, retry, rnr_retry, ack_timeout, log_sra, log_rra, min_rnr;
    uint32_t psn;            /* first PSN of both directions; 0xfffff0 wraps soon */
    bool no_rwe, no_rre, no_rae;
    uint8_t atomic_mode;
    uint32_t share_uar;      /* use this UAR instead of one of its own */
    uint32_t burst_bytes;    /* of the port */
    enum sn_service service;
    uint32_t qkey;           /* datagrams */
    uint8_t tclass;          /* of a connection's packets; 3: as if congestion had been met on the way */
    const struct gdaki_gpu_ops *gpu;
    bool gpu_queues, gpu_data; /* "in GPU memory": reached by the copy engine only */
};

extern const struct options defaults;

struct end {
    struct world *w;
    struct sn_nic *nic;
    struct options o;
    uint32_t pdn, qpn, cqn, rcqn, srqn, mkey;
    struct sn_uar uar;
    uint8_t *sq, *rq, *cq, *rcq, *mem;
    uint32_t *record, *cq_record, *srq_record;
    uint32_t pi;      /* next send index (basic blocks) */
    uint32_t ci, rci; /* CQEs consumed */
    uint32_t rq_pi;   /* receives posted */
};

void world_open(struct world *w, const struct options *o);
void world_close(struct world *w);
/* Turns until nothing happens; gives up (fails the test) after a great many. Returns the work done. */
int world_run(struct world *w);
/* Moves the clock in steps of at most `step` ns and runs, until `total` ns have passed. */
void world_pass(struct world *w, uint64_t total, uint64_t step);

void end_open(struct end *e, struct world *w, int nic, const struct options *o);
void end_close(struct end *e);
void ends_connect(struct end *a, struct end *b); /* a == b: loopback */
void end_reconnect(struct end *e, struct end *peer); /* RST, then up to RTS again */
uint32_t end_key(struct end *e, void *addr, size_t length, uint64_t iova, uint32_t access);
enum sn_qp_state end_state(struct end *e);

/* ---- WQEs ---- */

struct wr {
    uint8_t opcode, opmod, fm_ce_se; /* default 8: CQE always */
    uint32_t imm;
    uint64_t raddr;
    uint32_t rkey;
    struct {
        uint64_t addr;
        uint32_t lkey, length;
    } sge[8];
    unsigned sges;
    const void *inl;
    uint32_t inl_length;
    uint64_t swap_add, compare, swap_mask, compare_mask;
    uint32_t cqn, index;
    int ds; /* 0: as it has to be */
};

/* Writes the WQE at the producer index and advances it; returns the WQE's index. Nothing is rung. */
uint32_t put_wqe(struct end *e, const struct wr *wr);
void write_record(struct end *e, uint32_t pi);
void write_register(struct end *e, uint32_t pi);
void ring(struct end *e); /* register, record, register: as device code does */
uint32_t post(struct end *e, const struct wr *wr); /* put_wqe and ring */
void post_recv(struct end *e, void *addr, uint32_t length, uint32_t lkey);

/* Simple requests between a's and b's memory (offsets). */
struct wr wr_write(struct end *a, struct end *b, uint32_t from, uint32_t to, uint32_t length);
struct wr wr_read(struct end *a, struct end *b, uint32_t to, uint32_t from, uint32_t length);
struct wr wr_send(struct end *a, uint32_t from, uint32_t length);
struct wr wr_fetch_add(struct end *a, struct end *b, uint32_t result, uint32_t counter, uint64_t add);

/* ---- CQEs ---- */

/* The next CQE of the send (receive) CQ, or NULL. Consumes it. */
const struct sn_cqe64 *next_cqe(struct end *e);
const struct sn_cqe64 *next_rcqe(struct end *e);
static inline uint8_t cqe_opcode(const struct sn_cqe64 *c)
{
    return c->op_own >> 4;
}
static inline uint8_t cqe_syndrome(const struct sn_cqe64 *c)
{
    return ((const struct sn_err_cqe *)(const void *)c)->syndrome;
}
void expect_ok(struct end *e, uint32_t index);
void expect_error(struct end *e, uint32_t index, uint8_t syndrome);
void expect_none(struct end *e);

void fill(uint8_t *p, size_t n, uint32_t seed);

#endif
