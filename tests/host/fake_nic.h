/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NIC of the test's own behind the seam: it accepts what it is told, remembers it, counts what lives, and fails the
 * call it is asked to fail. It moves no data.
 */
#ifndef TESTS_HOST_FAKE_NIC_H
#define TESTS_HOST_FAKE_NIC_H

#include "format/prm.h"
#include "host/nic_seam.h"

struct fake_object {
    unsigned opcode; /* of the command that made it */
    uint32_t number;
    uint8_t create[PRM_SIZE_create_qp_in];
    uint8_t modify[PRM_SIZE_qp_state_long_in]; /* last transition */
    unsigned state;                            /* enum prm_qp_state */
    uint32_t producer;                         /* answer of QUERY_CQ */
};

struct fake_nic {
    unsigned calls;    /* that could have failed, so far */
    unsigned fail_at;  /* 1-based; 0: none fails */
    unsigned objects, umems, uars, ahs; /* alive */
    bool answers_query_cq;
    bool ethernet;
    bool no_dbr_ext;
    unsigned query_mtu; /* what QUERY_QP answers */
    struct fake_object *last;
    unsigned wakes, drives;
    uint32_t refused_uar_types; /* bit per type: 0 BF, 1 NC, 2 NC_DEDICATED */
    struct ibv_device_attr attr;
    unsigned max_wqe_sz_sq, max_wqe_sz_rq, log_max_qp_sz;
    struct softnic_qp_error qp_error;
};

extern struct fake_nic fake;
extern struct ibv_context fake_context;
extern struct ibv_pd fake_pd;

/* Back to an untroubled device with nothing alive; puts the table in front of the real backends. */
void fake_nic_install(void);

/* How many objects of all kinds live. */
unsigned fake_nic_alive(void);

#endif
