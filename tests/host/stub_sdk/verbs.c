/* SPDX-License-Identifier: Apache-2.0 */
/* Stub of libdoca_verbs.so: queues and their attributes. Creating functions call others of the same library by name. */
#include "stub.h"

#include <stdlib.h>

struct ibv_pd;
struct ibv_context;
struct doca_verbs_srq;
struct doca_verbs_gid {
    uint8_t raw[16];
};

#define ENTER()                                                                                                        \
    do {                                                                                                               \
        doca_error_t enter_code = stub_enter(__func__);                                                                \
                                                                                                                       \
        if (enter_code != DOCA_SUCCESS)                                                                                \
            return enter_code;                                                                                         \
    } while (0)
#define NEED(object, kind)                                                                                             \
    do {                                                                                                               \
        if (!stub_is(object, kind))                                                                                    \
            return DOCA_ERROR_INVALID_VALUE;                                                                           \
    } while (0)

doca_error_t doca_rdma_bridge_get_dev_pd(void *dev, struct ibv_pd **pd); /* libdoca_common.so's */

/* A ring and a record that the queues of all tests share: nothing moves in a stub. */
static uint8_t ring[1 << 16] __attribute__((aligned(4096)));
static uint64_t record[8] __attribute__((aligned(64)));
static uint64_t page[512] __attribute__((aligned(4096)));

#define CREATE(function, kind)                                                                                         \
    doca_error_t function(void **out);                                                                                 \
    doca_error_t function(void **out)                                                                                  \
    {                                                                                                                  \
        ENTER();                                                                                                       \
        return stub_make(kind, NULL, NULL, out);                                                                       \
    }
#define DESTROY(function, kind)                                                                                        \
    doca_error_t function(void *object);                                                                               \
    doca_error_t function(void *object)                                                                                \
    {                                                                                                                  \
        ENTER();                                                                                                       \
        return stub_drop(object, kind);                                                                                \
    }
/* Setters only count; what they are given must be the stub's own object. */
#define SET(function, kind, type)                                                                                      \
    doca_error_t function(void *object, type value);                                                                   \
    doca_error_t function(void *object, type value)                                                                    \
    {                                                                                                                  \
        ENTER();                                                                                                       \
        NEED(object, kind);                                                                                            \
        (void)value;                                                                                                   \
        return DOCA_SUCCESS;                                                                                           \
    }
#define SET_OBJECT(function, kind, argument_kind)                                                                      \
    doca_error_t function(void *object, void *argument);                                                               \
    doca_error_t function(void *object, void *argument)                                                                \
    {                                                                                                                  \
        ENTER();                                                                                                       \
        NEED(object, kind);                                                                                            \
        NEED(argument, argument_kind);                                                                                 \
        return DOCA_SUCCESS;                                                                                           \
    }
#define SET_UMEM(function, kind)                                                                                       \
    doca_error_t function(void *object, void *umem, uint64_t offset);                                                  \
    doca_error_t function(void *object, void *umem, uint64_t offset)                                                   \
    {                                                                                                                  \
        ENTER();                                                                                                       \
        NEED(object, kind);                                                                                            \
        NEED(umem, STUB_UMEM);                                                                                         \
        (void)offset;                                                                                                  \
        return DOCA_SUCCESS;                                                                                           \
    }

CREATE(doca_verbs_cq_attr_create, STUB_CQ_ATTR)
CREATE(doca_verbs_qp_init_attr_create, STUB_INIT_ATTR)
CREATE(doca_verbs_qp_attr_create, STUB_QP_ATTR)

DESTROY(doca_verbs_cq_attr_destroy, STUB_CQ_ATTR)
DESTROY(doca_verbs_cq_destroy, STUB_CQ)
DESTROY(doca_verbs_qp_init_attr_destroy, STUB_INIT_ATTR)
DESTROY(doca_verbs_qp_attr_destroy, STUB_QP_ATTR)
DESTROY(doca_verbs_ah_attr_destroy, STUB_AH)
DESTROY(doca_verbs_qp_destroy, STUB_QP)

SET(doca_verbs_cq_attr_set_cq_size, STUB_CQ_ATTR, uint32_t)
SET(doca_verbs_cq_attr_set_cq_context, STUB_CQ_ATTR, void *)
SET(doca_verbs_cq_attr_set_external_datapath_en, STUB_CQ_ATTR, uint8_t)
SET(doca_verbs_cq_attr_set_cq_overrun, STUB_CQ_ATTR, int)
SET(doca_verbs_cq_attr_set_cq_collapsed, STUB_CQ_ATTR, uint8_t)
SET(doca_verbs_qp_init_attr_set_sq_sig_all, STUB_INIT_ATTR, int)
SET(doca_verbs_qp_init_attr_set_sq_wr, STUB_INIT_ATTR, uint32_t)
SET(doca_verbs_qp_init_attr_set_rq_wr, STUB_INIT_ATTR, uint32_t)
SET(doca_verbs_qp_init_attr_set_send_max_sges, STUB_INIT_ATTR, uint32_t)
SET(doca_verbs_qp_init_attr_set_receive_max_sges, STUB_INIT_ATTR, uint32_t)
SET(doca_verbs_qp_init_attr_set_max_inline_data, STUB_INIT_ATTR, uint32_t)
SET(doca_verbs_qp_init_attr_set_user_index, STUB_INIT_ATTR, uint32_t)
SET(doca_verbs_qp_init_attr_set_qp_type, STUB_INIT_ATTR, uint32_t)
SET(doca_verbs_qp_init_attr_set_external_datapath_en, STUB_INIT_ATTR, uint8_t)
SET(doca_verbs_qp_init_attr_set_qp_context, STUB_INIT_ATTR, void *)
SET(doca_verbs_qp_init_attr_set_srq, STUB_INIT_ATTR, struct doca_verbs_srq *)
SET(doca_verbs_qp_init_attr_set_core_direct_master, STUB_INIT_ATTR, uint8_t)
SET(doca_verbs_qp_init_attr_set_send_dbr_mode, STUB_INIT_ATTR, int)
#ifndef STUB_WITHOUT_ORDERING
SET(doca_verbs_qp_init_attr_set_ordering_semantic, STUB_INIT_ATTR, int)
#endif
SET(doca_verbs_qp_attr_set_next_state, STUB_QP_ATTR, int)
SET(doca_verbs_qp_attr_set_current_state, STUB_QP_ATTR, int)
SET(doca_verbs_qp_attr_set_path_mtu, STUB_QP_ATTR, int)
SET(doca_verbs_qp_attr_set_rq_psn, STUB_QP_ATTR, uint32_t)
SET(doca_verbs_qp_attr_set_sq_psn, STUB_QP_ATTR, uint32_t)
SET(doca_verbs_qp_attr_set_dest_qp_num, STUB_QP_ATTR, uint32_t)
SET(doca_verbs_qp_attr_set_allow_remote_write, STUB_QP_ATTR, int)
SET(doca_verbs_qp_attr_set_allow_remote_read, STUB_QP_ATTR, int)
SET(doca_verbs_qp_attr_set_atomic_mode, STUB_QP_ATTR, int)
SET(doca_verbs_qp_attr_set_pkey_index, STUB_QP_ATTR, uint16_t)
SET(doca_verbs_qp_attr_set_port_num, STUB_QP_ATTR, uint16_t)
SET(doca_verbs_qp_attr_set_ack_timeout, STUB_QP_ATTR, uint16_t)
SET(doca_verbs_qp_attr_set_retry_cnt, STUB_QP_ATTR, uint16_t)
SET(doca_verbs_qp_attr_set_rnr_retry, STUB_QP_ATTR, uint16_t)
SET(doca_verbs_qp_attr_set_min_rnr_timer, STUB_QP_ATTR, uint16_t)
SET(doca_verbs_qp_attr_set_max_rd_atomic, STUB_QP_ATTR, uint8_t)
SET(doca_verbs_qp_attr_set_max_dest_rd_atomic, STUB_QP_ATTR, uint8_t)
SET(doca_verbs_ah_attr_set_gid, STUB_AH, struct doca_verbs_gid)
SET(doca_verbs_ah_attr_set_addr_type, STUB_AH, int)
SET(doca_verbs_ah_attr_set_dlid, STUB_AH, uint32_t)
SET(doca_verbs_ah_attr_set_sl, STUB_AH, uint8_t)
SET(doca_verbs_ah_attr_set_sgid_index, STUB_AH, uint8_t)
SET(doca_verbs_ah_attr_set_static_rate, STUB_AH, uint8_t)
SET(doca_verbs_ah_attr_set_hop_limit, STUB_AH, uint8_t)
SET(doca_verbs_ah_attr_set_traffic_class, STUB_AH, uint8_t)

SET_OBJECT(doca_verbs_cq_attr_set_external_uar, STUB_CQ_ATTR, STUB_UAR)
SET_OBJECT(doca_verbs_qp_init_attr_set_pd, STUB_INIT_ATTR, STUB_PD)
SET_OBJECT(doca_verbs_qp_init_attr_set_send_cq, STUB_INIT_ATTR, STUB_CQ)
SET_OBJECT(doca_verbs_qp_init_attr_set_receive_cq, STUB_INIT_ATTR, STUB_CQ)
SET_OBJECT(doca_verbs_qp_init_attr_set_external_uar, STUB_INIT_ATTR, STUB_UAR)
SET_OBJECT(doca_verbs_qp_attr_set_ah_attr, STUB_QP_ATTR, STUB_AH)

SET_UMEM(doca_verbs_cq_attr_set_external_umem, STUB_CQ_ATTR)
SET_UMEM(doca_verbs_qp_init_attr_set_external_umem, STUB_INIT_ATTR)
SET_UMEM(doca_verbs_qp_init_attr_set_external_dbr_umem, STUB_INIT_ATTR)
doca_error_t doca_rdma_bridge_open_dev_from_pd(struct ibv_pd *pd, void **dev);
doca_error_t doca_rdma_bridge_open_dev_from_pd(struct ibv_pd *pd, void **dev)
{
    struct ibv_pd *back = NULL;
    doca_error_t code;

    ENTER();
    code = stub_make(STUB_DEV, pd, NULL, dev);
    if (code == DOCA_SUCCESS)
        code = doca_rdma_bridge_get_dev_pd(*dev, &back); /* into libdoca_common.so */
    return code == DOCA_SUCCESS && back != pd ? DOCA_ERROR_UNEXPECTED : code;
}

doca_error_t doca_verbs_bridge_verbs_context_import(struct ibv_context *ibv_ctx, uint32_t flags, void **verbs_context);
doca_error_t doca_verbs_bridge_verbs_context_import(struct ibv_context *ibv_ctx, uint32_t flags, void **verbs_context)
{
    static struct stub_object context = {.magic = STUB_MAGIC, .kind = STUB_CONTEXT};

    ENTER();
    (void)flags;
    context.first = ibv_ctx;
    *verbs_context = &context; /* never released by the caller, so it is no object that counts */
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_bridge_verbs_pd_import(struct ibv_pd *pd, void **verbs_pd);
doca_error_t doca_verbs_bridge_verbs_pd_import(struct ibv_pd *pd, void **verbs_pd)
{
    static struct stub_object imported = {.magic = STUB_MAGIC, .kind = STUB_PD};

    ENTER();
    imported.first = pd;
    *verbs_pd = &imported;
    return DOCA_SUCCESS;
}

/* ---- completion queues --------------------------------------------------------------------------------------------
 */

uint32_t doca_verbs_cq_get_cqn(const void *verbs_cq);
uint32_t doca_verbs_cq_get_cqn(const void *verbs_cq)
{
    stub_enter(__func__);
    return stub_is(verbs_cq, STUB_CQ) ? ((const struct stub_object *)verbs_cq)->value : 0;
}

doca_error_t doca_verbs_cq_create(void *verbs_ctx, void *cq_attr, void **verbs_cq);
doca_error_t doca_verbs_cq_create(void *verbs_ctx, void *cq_attr, void **verbs_cq)
{
    doca_error_t code;

    ENTER();
    NEED(verbs_ctx, STUB_CONTEXT);
    NEED(cq_attr, STUB_CQ_ATTR);
    code = stub_make(STUB_CQ, NULL, NULL, verbs_cq);
    /* A call to our own library's exported name: with another doca_verbs_cq_get_cqn in the global scope it may stray.
     */
    if (code == DOCA_SUCCESS && doca_verbs_cq_get_cqn(*verbs_cq) != ((struct stub_object *)*verbs_cq)->value)
        return DOCA_ERROR_UNEXPECTED;
    return code;
}

void doca_verbs_cq_get_wq(void *verbs_cq, void **cq_buf, uint32_t *cq_num_entries, uint8_t *cq_entry_size);
void doca_verbs_cq_get_wq(void *verbs_cq, void **cq_buf, uint32_t *cq_num_entries, uint8_t *cq_entry_size)
{
    stub_enter(__func__);
    stub_is(verbs_cq, STUB_CQ);
    *cq_buf = ring;
    *cq_num_entries = 64;
    *cq_entry_size = 64;
}

void doca_verbs_cq_get_dbr_addr(void *verbs_cq, uint64_t **uar_db_reg, uint32_t **ci_dbr, uint32_t **arm_dbr);
void doca_verbs_cq_get_dbr_addr(void *verbs_cq, uint64_t **uar_db_reg, uint32_t **ci_dbr, uint32_t **arm_dbr)
{
    stub_enter(__func__);
    stub_is(verbs_cq, STUB_CQ);
    *uar_db_reg = page + 256;
    *ci_dbr = (uint32_t *)record;
    *arm_dbr = (uint32_t *)record + 1;
}

/* ---- attributes ---------------------------------------------------------------------------------------------------
 */

doca_error_t doca_verbs_qp_init_attr_get_external_umem(const void *attr, void **external_umem, uint64_t *offset);
doca_error_t doca_verbs_qp_init_attr_get_external_umem(const void *attr, void **external_umem, uint64_t *offset)
{
    ENTER();
    (void)attr, (void)external_umem, (void)offset;
    return DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t doca_verbs_qp_init_attr_get_external_uar(const void *attr, void **external_uar);
doca_error_t doca_verbs_qp_init_attr_get_external_uar(const void *attr, void **external_uar)
{
    ENTER();
    (void)attr, (void)external_uar;
    return DOCA_ERROR_NOT_SUPPORTED;
}

void *doca_verbs_qp_init_attr_get_qp_context(const void *attr);
void *doca_verbs_qp_init_attr_get_qp_context(const void *attr)
{
    stub_enter(__func__);
    (void)attr;
    return NULL;
}

int doca_verbs_qp_init_attr_get_send_dbr_mode(void *attr);
int doca_verbs_qp_init_attr_get_send_dbr_mode(void *attr)
{
    stub_enter(__func__);
    stub_is(attr, STUB_INIT_ATTR);
    return 0;
}

#ifndef STUB_WITHOUT_ORDERING
int doca_verbs_qp_init_attr_get_ordering_semantic(void *attr);
int doca_verbs_qp_init_attr_get_ordering_semantic(void *attr)
{
    stub_enter(__func__);
    stub_is(attr, STUB_INIT_ATTR);
    return 2;
}
#endif

int doca_verbs_qp_attr_get_current_state(void *attr);
int doca_verbs_qp_attr_get_current_state(void *attr)
{
    stub_enter(__func__);
    stub_is(attr, STUB_QP_ATTR);
    return 3; /* RTS */
}

doca_error_t doca_verbs_ah_attr_create(void *verbs_context, void **verbs_ah_attr);
doca_error_t doca_verbs_ah_attr_create(void *verbs_context, void **verbs_ah_attr)
{
    ENTER();
    NEED(verbs_context, STUB_CONTEXT);
    return stub_make(STUB_AH, NULL, NULL, verbs_ah_attr);
}

/* ---- queue pairs --------------------------------------------------------------------------------------------------
 */

doca_error_t doca_verbs_qp_create(void *verbs_context, void *init_attr, void **verbs_qp);
doca_error_t doca_verbs_qp_create(void *verbs_context, void *init_attr, void **verbs_qp)
{
    ENTER();
    NEED(verbs_context, STUB_CONTEXT);
    NEED(init_attr, STUB_INIT_ATTR);
    return stub_make(STUB_QP, NULL, NULL, verbs_qp);
}

#ifndef STUB_WITHOUT_MODIFY
doca_error_t doca_verbs_qp_modify(void *verbs_qp, void *qp_attr, int attr_mask);
doca_error_t doca_verbs_qp_modify(void *verbs_qp, void *qp_attr, int attr_mask)
{
    ENTER();
    NEED(verbs_qp, STUB_QP);
    NEED(qp_attr, STUB_QP_ATTR);
    (void)attr_mask;
    return DOCA_SUCCESS;
}
#endif

doca_error_t doca_verbs_qp_query(void *verbs_qp, void *qp_attr, void *init_attr, int *attr_mask);
doca_error_t doca_verbs_qp_query(void *verbs_qp, void *qp_attr, void *init_attr, int *attr_mask)
{
    ENTER();
    NEED(verbs_qp, STUB_QP);
    NEED(qp_attr, STUB_QP_ATTR);
    NEED(init_attr, STUB_INIT_ATTR);
    if (attr_mask != NULL)
        *attr_mask = 0x20;
    return DOCA_SUCCESS;
}

void doca_verbs_qp_get_wq(const void *verbs_qp, void **sq_buf, uint32_t *sq_num_entries, void **rq_buf,
                          uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes);
void doca_verbs_qp_get_wq(const void *verbs_qp, void **sq_buf, uint32_t *sq_num_entries, void **rq_buf,
                          uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes)
{
    stub_enter(__func__);
    stub_is(verbs_qp, STUB_QP);
    *sq_buf = ring + 8192;
    *sq_num_entries = 64;
    *rq_buf = NULL;
    *rq_num_entries = 0;
    *rwqe_size_bytes = 0;
}

void *doca_verbs_qp_get_dbr_addr(const void *verbs_qp);
void *doca_verbs_qp_get_dbr_addr(const void *verbs_qp)
{
    stub_enter(__func__);
    stub_is(verbs_qp, STUB_QP);
    return record + 2;
}

void *doca_verbs_qp_get_uar_addr(const void *verbs_qp);
void *doca_verbs_qp_get_uar_addr(const void *verbs_qp)
{
    stub_enter(__func__);
    stub_is(verbs_qp, STUB_QP);
    return page + 256;
}

uint32_t doca_verbs_qp_get_qpn(const void *verbs_qp);
uint32_t doca_verbs_qp_get_qpn(const void *verbs_qp)
{
    stub_enter(__func__);
    return stub_is(verbs_qp, STUB_QP) ? ((const struct stub_object *)verbs_qp)->value : 0;
}
