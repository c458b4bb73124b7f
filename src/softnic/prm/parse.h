/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One validating parser per command. A parser checks lengths, refuses every set bit that is not modelled, checks values
 * against the device's limits, and only then fills its result; what it accepts needs no second look. Object numbers and
 * umem ranges are resolved later (cmd.c), since they need the device.
 *
 * All return 0 or a negative errno with *call filled.
 */
#ifndef SOFTNIC_PRM_PARSE_H
#define SOFTNIC_PRM_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/nic.h"
#include "softnic/prm/refuse.h"

/* Limits that the parsers enforce and the capability pages report. */
enum prm_limits {
    PRM_MAX_LOG_CQ_SIZE = 22,
    PRM_MAX_LOG_QP_SIZE = 15,
    PRM_MAX_LOG_RQ_STRIDE = 11, /* bytes */
    PRM_MAX_LOG_SRQ_SIZE = 15,
    PRM_MAX_LOG_RD_ATOMIC = 4,
    PRM_MAX_WQE_SIZE_SQ = 1024, /* bytes: 16 basic blocks */
    PRM_MAX_WQE_SIZE_RQ = 512,
};

struct prm_umem_ref {
    bool valid;
    uint32_t id;
    uint64_t offset;
};

struct prm_cq_args {
    uint16_t cqe_bytes;
    bool collapsed, overrun_ignore;
    uint8_t log_size, eqn;
    uint32_t uar_page;
    struct prm_umem_ref ring, record;
};

struct prm_qp_args {
    uint32_t pd, user_index, uar_page;
    enum sn_service service;
    bool no_sq, no_send_record;
    uint8_t log_sq_size;
    uint32_t cqn_snd, cqn_rcv, srqn;
    uint8_t rq_type; /* enum prm_rq_type */
    uint8_t log_rq_size, log_rq_stride;
    struct prm_umem_ref wq, record;
};

struct prm_rmp_args {
    uint32_t pd;
    bool cyclic;
    uint8_t log_size, log_stride;
    struct prm_umem_ref wq, record;
};

/* A state command: where to, which parameters are given. */
struct prm_state_args {
    uint32_t qpn;
    enum sn_qp_state from, to;
    struct sn_qp_params params;
    uint32_t mask;               /* enum sn_qp_field */
    bool patch_sgid, patch_dscp; /* RTS2RTS: only these two of the address path */
};

/* Opcode of a mailbox of any length; 0 if it is too short to have one. */
uint16_t prm_opcode(const void *in, size_t inlen);

/* True for RST2INIT .. RTS2RTS, 2ERR and 2RST. */
bool prm_is_state_command(uint16_t opcode);

int prm_parse_create_cq(const void *in, size_t inlen, struct prm_cq_args *out, struct prm_call *call);
int prm_parse_create_qp(const void *in, size_t inlen, struct prm_qp_args *out, struct prm_call *call);
int prm_parse_create_rmp(const void *in, size_t inlen, struct prm_rmp_args *out, struct prm_call *call);
/* What a command has to say depends on the service; prm_parse_state is that of a reliable connection. */
int prm_parse_state_for(enum sn_service service, const void *in, size_t inlen, struct prm_state_args *out,
                        struct prm_call *call);
int prm_parse_state(const void *in, size_t inlen, struct prm_state_args *out, struct prm_call *call);
int prm_parse_query(const void *in, size_t inlen, uint32_t *number, struct prm_call *call); /* QUERY_QP, QUERY_CQ */
int prm_parse_query_hca_cap(const void *in, size_t inlen, unsigned *page, bool *current, struct prm_call *call);
int prm_parse_query_roce_address(const void *in, size_t inlen, unsigned *index, struct prm_call *call);

#endif
