/* SPDX-License-Identifier: Apache-2.0 */
/* What a modify carries. */
#include <stdlib.h>

#include "host/accessor.h"
#include "host/v2.h"

#define ATTR doca_verbs_qp_attr_t

DEFINE_CREATE(qp, doca_verbs_qp_attr_create, ATTR)
DEFINE_DESTROY(qp, doca_verbs_qp_attr_destroy, ATTR)

DEFINE_SETTER(qp, doca_verbs_qp_attr_set_next_state, ATTR, enum doca_verbs_qp_state, next_state, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_current_state, ATTR, enum doca_verbs_qp_state, current_state, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_path_mtu, ATTR, enum doca_verbs_mtu_size, path_mtu, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_rq_psn, ATTR, uint32_t, rq_psn, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_sq_psn, ATTR, uint32_t, sq_psn, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_dest_qp_num, ATTR, uint32_t, dest_qp_num, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_allow_remote_write, ATTR, int, allow_remote_write, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_allow_remote_read, ATTR, int, allow_remote_read, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_pkey_index, ATTR, uint16_t, pkey_index, true)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_port_num, ATTR, uint16_t, port_num, true)
/* The four below are stored in the width of their wire fields; a value that does not fit is refused, not cut. */
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_ack_timeout, ATTR, uint16_t, ack_timeout, value <= 31)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_retry_cnt, ATTR, uint16_t, retry_cnt, value <= 7)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_rnr_retry, ATTR, uint16_t, rnr_retry, value <= 7)
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_min_rnr_timer, ATTR, uint16_t, min_rnr_timer, value <= 31)
/* Sent to the device as a logarithm. */
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_max_rd_atomic, ATTR, uint8_t, max_rd_atomic, is_power_of_two(value))
DEFINE_SETTER(qp, doca_verbs_qp_attr_set_max_dest_rd_atomic, ATTR, uint8_t, max_dest_rd_atomic, is_power_of_two(value))

static doca_error_t set_atomic(doca_verbs_qp_attr_t *attr, enum doca_verbs_qp_atomic_mode mode, bool needs_no_mask,
                               const char *what)
{
    CHECK_HANDLE(attr, what);
    if (IS_SDK(attr))
        return SDK_CALL(qp, doca_verbs_qp_attr_set_atomic_mode, attr->sdk, mode);
    if ((unsigned)mode > DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_256BYTES)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: atomic mode %d does not exist", what, (int)mode);
    attr->open->atomic_mode = mode;
    attr->open->atomic_needs_no_mask = needs_no_mask;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_attr_set_atomic_mode(doca_verbs_qp_attr_t *qp_attr,
                                                enum doca_verbs_qp_atomic_mode allow_atomic_type)
{
    return set_atomic(qp_attr, allow_atomic_type, false, __func__);
}

doca_error_t doca_verbs_qp_attr_set_allow_remote_atomic(doca_verbs_qp_attr_t *verbs_qp_attr,
                                                        enum doca_verbs_qp_atomic_mode allow_atomic_type)
{
    return set_atomic(verbs_qp_attr, allow_atomic_type, true, __func__);
}

doca_error_t doca_verbs_qp_attr_set_ah_attr(doca_verbs_qp_attr_t *qp_attr, doca_verbs_ah_attr_t *ah_attr)
{
    CHECK_SAME_MAKER(qp_attr, ah_attr, __func__);
    if (IS_SDK(qp_attr))
        return SDK_CALL(qp, doca_verbs_qp_attr_set_ah_attr, qp_attr->sdk, ah_attr->sdk);
    qp_attr->open->ah = *ah_attr->open;
    qp_attr->open->ah_given = true;
    qp_attr->open->ah_user = ah_attr;
    return DOCA_SUCCESS;
}

/* 2.0 returned the pointer it was given; here it is a view of the copy, which a query fills. */
doca_verbs_ah_attr_t *doca_verbs_qp_attr_get_ah_attr(const doca_verbs_qp_attr_t *verbs_qp_attr)
{
    struct doca_verbs_qp_attr_open *attr;

    if (verbs_qp_attr == NULL || IS_SDK(verbs_qp_attr) || verbs_qp_attr->open == NULL || !verbs_qp_attr->open->ah_given)
        return NULL;
    attr = verbs_qp_attr->open;
    attr->ah_handle = (doca_verbs_ah_attr_t){.open = &attr->ah};
    return &attr->ah_handle;
}

doca_error_t doca_verbs_qp_attr_get_current_state(doca_verbs_qp_attr_t *qp_attr, enum doca_verbs_qp_state *current_state)
{
    CHECK_HANDLE(qp_attr, __func__);
    if (current_state == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: current_state is NULL", __func__);
    *current_state = IS_SDK(qp_attr) ? sdk_qp_table.doca_verbs_qp_attr_get_current_state(qp_attr->sdk)
                                     : qp_attr->open->current_state;
    return DOCA_SUCCESS;
}

enum doca_verbs_qp_state doca_verbs_qp_attr_get_current_state_v2(const doca_verbs_qp_attr_t *verbs_qp_attr)
{
    enum doca_verbs_qp_state state = DOCA_VERBS_QP_STATE_RST;

    if (verbs_qp_attr != NULL && verbs_qp_attr->open != NULL)
        doca_verbs_qp_attr_get_current_state((doca_verbs_qp_attr_t *)verbs_qp_attr, &state);
    return state;
}

DEFINE_GETTER(doca_verbs_qp_attr_get_next_state, ATTR, enum doca_verbs_qp_state, next_state, DOCA_VERBS_QP_STATE_RST)
DEFINE_GETTER(doca_verbs_qp_attr_get_path_mtu, ATTR, enum doca_verbs_mtu_size, path_mtu, DOCA_VERBS_MTU_SIZE_256_BYTES)
DEFINE_GETTER(doca_verbs_qp_attr_get_rq_psn, ATTR, uint32_t, rq_psn, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_sq_psn, ATTR, uint32_t, sq_psn, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_dest_qp_num, ATTR, uint32_t, dest_qp_num, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_allow_remote_write, ATTR, int, allow_remote_write, -1)
DEFINE_GETTER(doca_verbs_qp_attr_get_allow_remote_read, ATTR, int, allow_remote_read, -1)
DEFINE_GETTER(doca_verbs_qp_attr_get_allow_remote_atomic, ATTR, enum doca_verbs_qp_atomic_mode, atomic_mode,
              DOCA_VERBS_QP_ATOMIC_MODE_NONE)
DEFINE_GETTER(doca_verbs_qp_attr_get_pkey_index, ATTR, uint16_t, pkey_index, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_port_num, ATTR, uint16_t, port_num, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_ack_timeout, ATTR, uint16_t, ack_timeout, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_retry_cnt, ATTR, uint16_t, retry_cnt, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_rnr_retry, ATTR, uint16_t, rnr_retry, 0)
DEFINE_GETTER(doca_verbs_qp_attr_get_min_rnr_timer, ATTR, uint16_t, min_rnr_timer, 0)
