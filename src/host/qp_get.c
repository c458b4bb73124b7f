/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a queue pair: its addresses and numbers, and the device's view of it. */
#include <errno.h>
#include <string.h>

#include "format/prm.h"
#include "host/accessor.h"
#include "host/v2.h"

/* Each result may be left out. */
doca_error_t doca_verbs_qp_get_wq(const doca_verbs_qp_t *verbs_qp, void **sq_buf, uint32_t *sq_num_entries, void **rq_buf,
                                  uint32_t *rq_num_entries, uint32_t *rwqe_size_bytes)
{
    void *sq = NULL, *rq = NULL;
    uint32_t sq_entries = 0, rq_entries = 0, rwqe = 0;

    CHECK_HANDLE(verbs_qp, __func__);
    if (IS_SDK(verbs_qp)) {
        sdk_qp_table.doca_verbs_qp_get_wq(verbs_qp->sdk, &sq, &sq_entries, &rq, &rq_entries, &rwqe);
    } else {
        sq = verbs_qp->open->sq;
        sq_entries = verbs_qp->open->sq_wqebbs;
        rq = verbs_qp->open->rq;
        rq_entries = verbs_qp->open->rq_entries;
        rwqe = verbs_qp->open->rwqe_bytes;
    }
    if (sq_buf != NULL)
        *sq_buf = sq;
    if (sq_num_entries != NULL)
        *sq_num_entries = sq_entries;
    if (rq_buf != NULL)
        *rq_buf = rq;
    if (rq_num_entries != NULL)
        *rq_num_entries = rq_entries;
    if (rwqe_size_bytes != NULL)
        *rwqe_size_bytes = rwqe;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_get_dbr_addr(const doca_verbs_qp_t *verbs_qp, void **dbr_addr)
{
    CHECK_HANDLE(verbs_qp, __func__);
    if (dbr_addr == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: dbr_addr is NULL", __func__);
    *dbr_addr = IS_SDK(verbs_qp) ? sdk_qp_table.doca_verbs_qp_get_dbr_addr(verbs_qp->sdk) : verbs_qp->open->record;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_get_uar_addr(const doca_verbs_qp_t *verbs_qp, void **uar_addr)
{
    CHECK_HANDLE(verbs_qp, __func__);
    if (uar_addr == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: uar_addr is NULL", __func__);
    *uar_addr = IS_SDK(verbs_qp) ? sdk_qp_table.doca_verbs_qp_get_uar_addr(verbs_qp->sdk) : verbs_qp->open->uar_reg;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_get_qpn(const doca_verbs_qp_t *verbs_qp, uint32_t *qpn)
{
    CHECK_HANDLE(verbs_qp, __func__);
    if (qpn == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: qpn is NULL", __func__);
    *qpn = IS_SDK(verbs_qp) ? sdk_qp_table.doca_verbs_qp_get_qpn(verbs_qp->sdk) : verbs_qp->open->qpn;
    return DOCA_SUCCESS;
}

void *doca_verbs_qp_get_dbr_addr_v2(const doca_verbs_qp_t *verbs_qp)
{
    void *address = NULL;

    doca_verbs_qp_get_dbr_addr(verbs_qp, &address);
    return address;
}

void *doca_verbs_qp_get_uar_addr_v2(const doca_verbs_qp_t *verbs_qp)
{
    void *address = NULL;

    doca_verbs_qp_get_uar_addr(verbs_qp, &address);
    return address;
}

uint32_t doca_verbs_qp_get_qpn_v2(const doca_verbs_qp_t *verbs_qp)
{
    uint32_t qpn = 0;

    doca_verbs_qp_get_qpn(verbs_qp, &qpn);
    return qpn;
}

DEFINE_GETTER(doca_verbs_qp_get_send_dbr_mode, doca_verbs_qp_t, enum doca_verbs_qp_send_dbr_mode, init.send_dbr_mode,
              DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID)
DEFINE_GETTER(doca_verbs_qp_get_emulate_no_dbr_ext, doca_verbs_qp_t, bool, init.emulate_no_dbr_ext, false)

/* ---- query -------------------------------------------------------------------------------------------------------- */

static bool state_of(unsigned device_state, enum doca_verbs_qp_state *out)
{
    switch (device_state) {
    case PRM_QP_RST:
    case PRM_QP_INIT:
    case PRM_QP_RTR:
    case PRM_QP_RTS:
        *out = (enum doca_verbs_qp_state)device_state;
        return true;
    case PRM_QP_ERR:
        *out = DOCA_VERBS_QP_STATE_ERR;
        return true;
    default:
        return false;
    }
}

static bool mtu_of(unsigned device_mtu, enum doca_verbs_mtu_size *out)
{
    if (device_mtu == 7) {
        *out = DOCA_VERBS_MTU_SIZE_RAW_ETHERNET;
        return true;
    }
    if (device_mtu < 1 || device_mtu > 5)
        return false;
    *out = (enum doca_verbs_mtu_size)(device_mtu - 1);
    return true;
}

static doca_error_t query_command(const struct doca_verbs_qp_open *qp, uint8_t out[PRM_SIZE_query_qp_out])
{
    uint8_t in[PRM_SIZE_query_qp_in] = {0};

    memset(out, 0, PRM_SIZE_query_qp_out);
    prm_set_query_qp_in__opcode(in, PRM_OP_QUERY_QP);
    prm_set_query_qp_in__qpn(in, qp->qpn);
    errno = 0;
    if (qp->nic->mlx5dv_devx_obj_query(qp->obj, in, sizeof(in), out, PRM_SIZE_query_qp_out) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "QUERY_QP of QP 0x%x failed: %s, syndrome 0x%x%s", qp->qpn, strerror(errno),
                        (unsigned)prm_get_cmd_out__syndrome(out), nic_reason(qp->nic));
    return DOCA_SUCCESS;
}

static void fill_path(const uint8_t *qpc, struct ah_fields *f)
{
    const uint8_t *path = PRM_CAT(qpc, qpc, primary_address_path);

    f->dlid = (uint32_t)prm_get_ads__rlid(path);
    f->sl = (uint8_t)prm_get_ads__sl(path);
    f->sgid_index = (uint8_t)prm_get_ads__src_addr_index(path);
    f->static_rate = (uint8_t)prm_get_ads__stat_rate(path);
    f->hop_limit = (uint8_t)prm_get_ads__hop_limit(path);
    f->traffic_class = (uint8_t)prm_get_ads__tclass(path);
    memcpy(f->gid.raw, PRM_CAT(path, ads, rgid_rip), sizeof(f->gid.raw));
}

static doca_error_t fill_attr(const struct doca_verbs_qp_open *qp, const uint8_t *qpc, struct doca_verbs_qp_attr_open *a)
{
    const uint8_t *path = PRM_CAT(qpc, qpc, primary_address_path);
    unsigned state = (unsigned)prm_get_qpc__state(qpc), mtu = (unsigned)prm_get_qpc__mtu(qpc);
    enum doca_verbs_qp_state state_out;
    enum doca_verbs_mtu_size mtu_out;

    if (!state_of(state, &state_out) || !mtu_of(mtu, &mtu_out))
        return HOST_ERR(DOCA_ERROR_UNEXPECTED, "QUERY_QP of QP 0x%x answered state %u, MTU code %u", qp->qpn, state, mtu);
    a->next_state = a->current_state = state_out;
    a->path_mtu = mtu_out;
    a->rq_psn = (uint32_t)prm_get_qpc__next_rcv_psn(qpc);
    a->sq_psn = (uint32_t)prm_get_qpc__next_send_psn(qpc);
    a->dest_qp_num = (uint32_t)prm_get_qpc__remote_qpn(qpc);
    a->allow_remote_write = (int)prm_get_qpc__rwe(qpc);
    a->allow_remote_read = (int)prm_get_qpc__rre(qpc);
    a->atomic_mode = prm_get_qpc__rae(qpc) ? (enum doca_verbs_qp_atomic_mode)prm_get_qpc__atomic_mode(qpc)
                                           : DOCA_VERBS_QP_ATOMIC_MODE_NONE;
    a->pkey_index = (uint16_t)prm_get_ads__pkey_index(path);
    a->port_num = (uint16_t)prm_get_ads__vhca_port_num(path);
    a->ack_timeout = (uint8_t)prm_get_ads__ack_timeout(path);
    a->retry_cnt = (uint8_t)prm_get_qpc__retry_count(qpc);
    a->rnr_retry = (uint8_t)prm_get_qpc__rnr_retry(qpc);
    a->min_rnr_timer = (uint8_t)prm_get_qpc__min_rnr_nak(qpc);
    a->max_rd_atomic = (uint8_t)(1u << prm_get_qpc__log_sra_max(qpc));
    a->max_dest_rd_atomic = (uint8_t)(1u << prm_get_qpc__log_rra_max(qpc));
    if (a->ah_given)
        fill_path(qpc, &a->ah.f);
    return DOCA_SUCCESS;
}

/* attr_mask is the SDK's; it is left alone otherwise, as in 3.0. */
doca_error_t doca_verbs_qp_query(doca_verbs_qp_t *verbs_qp, doca_verbs_qp_attr_t *qp_attr,
                                 doca_verbs_qp_init_attr_t *qp_init_attr, int *attr_mask)
{
    uint8_t out[PRM_SIZE_query_qp_out];
    const uint8_t *qpc = PRM_CAT(out, query_qp_out, qpc);
    doca_error_t err;

    CHECK_SAME_MAKER(verbs_qp, qp_attr, __func__);
    CHECK_SAME_MAKER(verbs_qp, qp_init_attr, __func__);
    if (IS_SDK(verbs_qp))
        return SDK_CALL(qp, doca_verbs_qp_query, verbs_qp->sdk, qp_attr->sdk, qp_init_attr->sdk, attr_mask);
    err = query_command(verbs_qp->open, out);
    if (err == DOCA_SUCCESS)
        err = fill_attr(verbs_qp->open, qpc, qp_attr->open);
    if (err != DOCA_SUCCESS)
        return err;
    *qp_init_attr->open = verbs_qp->open->init;
    qp_init_attr->open->user_index = (uint32_t)prm_get_qpc__user_index(qpc);
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_query_v2(doca_verbs_qp_t *verbs_qp, doca_verbs_qp_attr_t *verbs_qp_attr,
                                    doca_verbs_qp_init_attr_t *verbs_qp_init_attr)
{
    doca_error_t err = doca_verbs_qp_query(verbs_qp, verbs_qp_attr, verbs_qp_init_attr, NULL);
    doca_verbs_ah_attr_t *user;

    if (err != DOCA_SUCCESS || IS_SDK(verbs_qp_attr))
        return err;
    user = verbs_qp_attr->open->ah_user;
    if (verbs_qp_attr->open->ah_given && user != NULL)
        user->open->f = verbs_qp_attr->open->ah.f;
    return err;
}
