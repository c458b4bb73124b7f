/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of libsoftnic as a GPU library is one: DEVX objects, hand-written WQEs, doorbells and CQEs, through the
 * exported softnic_* functions only. Failures end the test (cmocka assertions).
 */
#ifndef TESTS_PRM_RIG_H
#define TESTS_PRM_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/prm.h"
#include "gdaki/softnic.h"
#include "softnic/verbs/exports.h"

enum {
    RIG_LOG_SQ = 4,
    RIG_LOG_CQ = 4,
    RIG_DATA_BYTES = 1 << 21,
    RIG_WRITE = 0x08,
    RIG_WRITE_IMM = 0x09,
    RIG_SEND = 0x0a,
    RIG_READ = 0x10,
    RIG_CAS = 0x11,
    RIG_FETCH_ADD = 0x12,
};

struct rig { /* one device with a PD and a buffer that a key covers */
    struct ibv_context *context;
    struct ibv_pd *pd;
    uint32_t pdn;
    uint8_t *data;
    struct ibv_mr *mr;
};

struct rig_qp {
    struct rig *rig;
    struct mlx5dv_devx_uar *uar;
    uint8_t *ring, *cqes, *records; /* page-aligned; records: QP at 0, CQ at 64 */
    struct mlx5dv_devx_umem *ring_umem, *cq_umem, *record_umem;
    struct mlx5dv_devx_obj *cq, *qp;
    uint32_t cqn, qpn;
    uint32_t log_cq, log_sq;
    uint32_t pi, ci; /* WQEBBs posted; CQEs taken */
    bool no_record;
    unsigned ack_timeout, retries; /* RTR2RTS; patient unless a test wants to see an error soon */
};

struct rig_cqe {
    uint8_t opcode, syndrome, vendor;
    uint16_t wqe_counter;
};

struct rig_address { /* what a peer has to know */
    uint32_t qpn, rkey;
    uint64_t data;
    uint8_t gid[16];
    uint16_t lid;
};

void rig_open(struct rig *r, unsigned device);
void rig_close(struct rig *r);

void rig_qp_create(struct rig_qp *q, struct rig *r);
void rig_qp_create_no_record(struct rig_qp *q, struct rig *r);
void rig_qp_destroy(struct rig_qp *q);
struct rig_address rig_address_of(const struct rig_qp *q);

/* State commands; 0 or errno. rig_connect runs RST to RTS. */
int rig_to_init(struct rig_qp *q);
int rig_to_rtr(struct rig_qp *q, const struct rig_address *peer);
int rig_to_rts(struct rig_qp *q);
int rig_to(struct rig_qp *q, unsigned opcode); /* 2ERR, 2RST */
void rig_connect(struct rig_qp *q, const struct rig_address *peer);
unsigned rig_state(struct rig_qp *q, uint8_t qpc[PRM_SIZE_qpc]); /* QUERY_QP; qpc may be NULL */

/* As WQEs have it: big-endian. */
void rig_put32(uint8_t *p, uint32_t v);
void rig_put64(uint8_t *p, uint64_t v);

/* Posts and rings. */
void rig_post_rdma(struct rig_qp *q, unsigned opcode, const struct rig_address *peer, uint64_t remote_offset,
                   uint64_t local_offset, uint32_t length);
void rig_post_atomic(struct rig_qp *q, unsigned opcode, const struct rig_address *peer, uint64_t remote_offset,
                     uint64_t local_offset, uint64_t swap_add, uint64_t compare);
/* One CQE, driving the NIC meanwhile; fails the test after `seconds`. */
struct rig_cqe rig_wait(struct rig_qp *q, unsigned seconds);
bool rig_poll(struct rig_qp *q, struct rig_cqe *out);

/* Mailboxes as the library writes them, for tests that change one field. */
void rig_mailbox_cq(uint8_t in[PRM_SIZE_create_cq_in], uint32_t ring, uint32_t record, uint32_t uar, unsigned log_size);
void rig_mailbox_qp(uint8_t in[PRM_SIZE_create_qp_in], uint32_t ring, uint32_t record, uint32_t uar, uint32_t pdn,
                    uint32_t cqn, unsigned log_size);
void *rig_pages(size_t bytes);

/* ThreadSanitizer cannot start threads in a child that was forked while others ran. */
#ifdef __SANITIZE_THREAD__
#define RIG_TSAN 1
#else
#define RIG_TSAN 0
#endif

int rig_open_fds(void);

#endif
