/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of the create and query commands. The QP state commands are in parse_state.c. */
#include "softnic/prm/parse.h"

#include <errno.h>

#include "format/prm.h"
#include "softnic/prm/check.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

uint16_t prm_opcode(const void *in, size_t inlen)
{
    return in && inlen >= 2 ? (uint16_t)(((const uint8_t *)in)[0] << 8 | ((const uint8_t *)in)[1]) : 0;
}

static int refuse_value(struct prm_call *call, const char *field, uint64_t value, const char *allowed)
{
    return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE, "%s = %llu is not modelled (%s)", field,
                      (unsigned long long)value, allowed);
}

static int refuse_range(struct prm_call *call, const char *field, uint64_t value, uint64_t low, uint64_t high)
{
    return prm_refuse(call, PRM_STATUS_EXCEED_LIM, PRM_WHY_RANGE, "%s = %llu is outside %llu..%llu", field,
                      (unsigned long long)value, (unsigned long long)low, (unsigned long long)high);
}

static int check_op_mod(const void *in, struct prm_call *call)
{
    uint64_t op_mod = prm_get_cmd_in__op_mod(in);
    return op_mod ? refuse_value(call, "op_mod", op_mod, "0") : 0;
}

static int check_record(const struct prm_umem_ref *record, bool needed, const char *why, struct prm_call *call)
{
    if (!record->valid && needed)
        return refuse_value(call, "dbr_umem_valid", 0, why);
    if (record->valid && record->offset % 4)
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_ALIGNMENT, "dbr_addr = 0x%llx is not a multiple of 4",
                          (unsigned long long)record->offset);
    return 0;
}

static int check_cq(const uint8_t *cqc, const struct prm_cq_args *a, struct prm_call *call)
{
    uint64_t cqe_sz = prm_get_cqc__cqe_sz(cqc);
    if (cqe_sz > PRM_CQE_SZ_128)
        return refuse_value(call, "cqe_sz", cqe_sz, "0: 64 bytes, 1: 128 bytes");
    if (a->log_size > PRM_MAX_LOG_CQ_SIZE)
        return refuse_range(call, "log_cq_size", a->log_size, 0, PRM_MAX_LOG_CQ_SIZE);
    if (prm_get_cqc__page_offset(cqc))
        return refuse_value(call, "page_offset", prm_get_cqc__page_offset(cqc), "0; use cq_umem_offset");
    if (!a->ring.valid)
        return refuse_value(call, "cq_umem_valid", 0, "1; page lists are not");
    return check_record(&a->record, !a->overrun_ignore, "1 unless oi = 1", call);
}

int prm_parse_create_cq(const void *in, size_t inlen, struct prm_cq_args *out, struct prm_call *call)
{
    static const struct prm_layout layout[] = {{PRM_ID_create_cq_in, 0}, {PRM_ID_cqc, PRM_AT_create_cq_in__cq_context}};
    /* The mailbox ends in a page list, which a umem makes unnecessary: callers leave it out or pass one empty entry. */
    int rc = prm_check_layout(in, inlen, 0x60, layout, COUNT(layout), 0, 0, call);
    if (rc || (rc = check_op_mod(in, call)))
        return rc;
    const uint8_t *cqc = PRM_CAT(in, create_cq_in, cq_context);
    struct prm_cq_args a = {
        .cqe_bytes = prm_get_cqc__cqe_sz(cqc) == PRM_CQE_SZ_128 ? 128 : 64,
        .collapsed = prm_get_cqc__cc(cqc),
        .overrun_ignore = prm_get_cqc__oi(cqc),
        .log_size = (uint8_t)prm_get_cqc__log_cq_size(cqc),
        .eqn = (uint8_t)prm_get_cqc__c_eqn(cqc),
        .uar_page = (uint32_t)prm_get_cqc__uar_page(cqc),
        .ring = {prm_get_create_cq_in__cq_umem_valid(in), (uint32_t)prm_get_create_cq_in__cq_umem_id(in),
                 prm_get_create_cq_in__cq_umem_offset(in)},
        .record = {prm_get_cqc__dbr_umem_valid(cqc), (uint32_t)prm_get_cqc__dbr_umem_id(cqc),
                   prm_get_cqc__dbr_addr(cqc)},
    };
    if ((rc = check_cq(cqc, &a, call)))
        return rc;
    *out = a;
    return 0;
}

static int check_rq(const struct prm_qp_args *a, struct prm_call *call)
{
    if (a->rq_type != PRM_RQ_TYPE_REGULAR && a->rq_type != PRM_RQ_TYPE_SRQ && a->rq_type != PRM_RQ_TYPE_ZERO)
        return refuse_value(call, "rq_type", a->rq_type, "0: regular, 1: SRQ, 3: none");
    if (a->rq_type == PRM_RQ_TYPE_REGULAR && a->log_rq_stride > PRM_MAX_LOG_RQ_STRIDE)
        return refuse_range(call, "log_rq_stride + 4", a->log_rq_stride, 4, PRM_MAX_LOG_RQ_STRIDE);
    return 0;
}

static enum sn_service service_of(uint64_t st)
{
    return st == PRM_QP_ST_UD    ? SN_SERVICE_UD
           : st == PRM_QP_ST_UC  ? SN_SERVICE_UC
           : st == PRM_QP_ST_DCI ? SN_SERVICE_DC
                                 : SN_SERVICE_RC;
}

static int check_qp(const void *in, const uint8_t *qpc, const struct prm_qp_args *a, struct prm_call *call)
{
    if (prm_get_qpc__state(qpc))
        return refuse_value(call, "state", prm_get_qpc__state(qpc), "0: a QP is born in RST");
    if (prm_get_qpc__st(qpc) > PRM_QP_ST_UD && prm_get_qpc__st(qpc) != PRM_QP_ST_DCI)
        return refuse_value(call, "st", prm_get_qpc__st(qpc), "0: RC, 1: UC, 2: UD, 5: DCI (without traffic)");
    if (prm_get_qpc__q_key(qpc))
        return refuse_value(call, "q_key", prm_get_qpc__q_key(qpc), "0: RST2INIT_QP gives it");
    if (prm_get_qpc__dc_access_key(qpc) && prm_get_qpc__st(qpc) != PRM_QP_ST_DCI)
        return refuse_value(call, "dc_access_key", prm_get_qpc__dc_access_key(qpc), "0: this is no DCI");
    if (prm_get_qpc__send_dbr_mode(qpc) > 1)
        return refuse_value(call, "send_dbr_mode", prm_get_qpc__send_dbr_mode(qpc), "0: with, 1: without a record");
    int rc = check_rq(a, call);
    if (rc)
        return rc;
    bool has_rq = a->rq_type == PRM_RQ_TYPE_REGULAR;
    if ((!a->no_sq || has_rq) && !prm_get_create_qp_in__wq_umem_valid(in))
        return refuse_value(call, "wq_umem_valid", 0, "1; page lists are not");
    return check_record(&a->record, has_rq || (!a->no_sq && !a->no_send_record),
                        "1 unless there is no receive queue and send_dbr_mode = 1", call);
}

int prm_parse_create_qp(const void *in, size_t inlen, struct prm_qp_args *out, struct prm_call *call)
{
    static const struct prm_layout layout[] = {
        {PRM_ID_create_qp_in, 0},
        {PRM_ID_qpc, PRM_AT_create_qp_in__qpc},
        {PRM_ID_ads, PRM_AT_create_qp_in__qpc + PRM_AT_qpc__primary_address_path},
    };
    int rc = prm_check_layout(in, inlen, PRM_SIZE_create_qp_in, layout, COUNT(layout), 0, 0, call);
    if (rc || (rc = check_op_mod(in, call)))
        return rc;
    const uint8_t *qpc = PRM_CAT(in, create_qp_in, qpc);
    struct prm_qp_args a = {
        .pd = (uint32_t)prm_get_qpc__pd(qpc),
        .service = service_of(prm_get_qpc__st(qpc)),
        .user_index = (uint32_t)prm_get_qpc__user_index(qpc),
        .uar_page = (uint32_t)prm_get_qpc__uar_page(qpc),
        .no_sq = prm_get_qpc__no_sq(qpc),
        .no_send_record = prm_get_qpc__send_dbr_mode(qpc) == 1,
        .log_sq_size = (uint8_t)prm_get_qpc__log_sq_size(qpc),
        .cqn_snd = (uint32_t)prm_get_qpc__cqn_snd(qpc),
        .cqn_rcv = (uint32_t)prm_get_qpc__cqn_rcv(qpc),
        .srqn = (uint32_t)prm_get_qpc__srqn_rmpn_xrqn(qpc),
        .rq_type = (uint8_t)prm_get_qpc__rq_type(qpc),
        .log_rq_size = (uint8_t)prm_get_qpc__log_rq_size(qpc),
        .log_rq_stride = (uint8_t)(prm_get_qpc__log_rq_stride(qpc) + 4),
        .wq = {prm_get_create_qp_in__wq_umem_valid(in), (uint32_t)prm_get_create_qp_in__wq_umem_id(in),
               prm_get_create_qp_in__wq_umem_offset(in)},
        .record = {prm_get_qpc__dbr_umem_valid(qpc), (uint32_t)prm_get_qpc__dbr_umem_id(qpc),
                   prm_get_qpc__dbr_addr(qpc)},
    };
    if ((rc = check_qp(in, qpc, &a, call)))
        return rc;
    *out = a;
    return 0;
}

static int check_rmp(const uint8_t *rmpc, const uint8_t *wq, const struct prm_rmp_args *a, struct prm_call *call)
{
    uint64_t type = prm_get_wq__wq_type(wq);
    if (prm_get_rmpc__state(rmpc) != PRM_RMP_STATE_READY)
        return refuse_value(call, "state", prm_get_rmpc__state(rmpc), "1: ready");
    if (type > PRM_WQ_TYPE_CYCLIC)
        return refuse_value(call, "wq_type", type, "0: linked list, 1: cyclic");
    if (prm_get_rmpc__basic_cyclic_rcv_wqe(rmpc) != type)
        return refuse_value(call, "basic_cyclic_rcv_wqe", prm_get_rmpc__basic_cyclic_rcv_wqe(rmpc),
                            "the same as wq_type");
    if (prm_get_wq__end_padding_mode(wq) > 1)
        return refuse_value(call, "end_padding_mode", prm_get_wq__end_padding_mode(wq), "0 or 1");
    if (a->log_size > PRM_MAX_LOG_SRQ_SIZE)
        return refuse_range(call, "log_wq_sz", a->log_size, 0, PRM_MAX_LOG_SRQ_SIZE);
    if (a->log_stride < 4 || a->log_stride > PRM_MAX_LOG_RQ_STRIDE)
        return refuse_range(call, "log_wq_stride", a->log_stride, 4, PRM_MAX_LOG_RQ_STRIDE);
    if (!a->wq.valid)
        return refuse_value(call, "wq_umem_valid", 0, "1; page lists are not");
    return check_record(&a->record, true, "1", call);
}

int prm_parse_create_rmp(const void *in, size_t inlen, struct prm_rmp_args *out, struct prm_call *call)
{
    static const struct prm_layout layout[] = {
        {PRM_ID_create_rmp_in, 0},
        {PRM_ID_rmpc, PRM_AT_create_rmp_in__ctx},
        {PRM_ID_wq, PRM_AT_create_rmp_in__ctx + PRM_AT_rmpc__wq},
    };
    int rc = prm_check_layout(in, inlen, PRM_SIZE_create_rmp_in, layout, COUNT(layout), 0, 0, call);
    if (rc || (rc = check_op_mod(in, call)))
        return rc;
    const uint8_t *rmpc = PRM_CAT(in, create_rmp_in, ctx);
    const uint8_t *wq = PRM_CAT(rmpc, rmpc, wq);
    struct prm_rmp_args a = {
        .pd = (uint32_t)prm_get_wq__pd(wq),
        .cyclic = prm_get_wq__wq_type(wq) == PRM_WQ_TYPE_CYCLIC,
        .log_size = (uint8_t)prm_get_wq__log_wq_sz(wq),
        .log_stride = (uint8_t)prm_get_wq__log_wq_stride(wq),
        .wq = {prm_get_wq__wq_umem_valid(wq), (uint32_t)prm_get_wq__wq_umem_id(wq), prm_get_wq__wq_umem_offset(wq)},
        .record = {prm_get_wq__dbr_umem_valid(wq), (uint32_t)prm_get_wq__dbr_umem_id(wq), prm_get_wq__dbr_addr(wq)},
    };
    if ((rc = check_rmp(rmpc, wq, &a, call)))
        return rc;
    *out = a;
    return 0;
}

int prm_parse_query(const void *in, size_t inlen, uint32_t *number, struct prm_call *call)
{
    static const struct prm_layout layout[] = {{PRM_ID_query_qp_in, 0}};
    int rc = prm_check_layout(in, inlen, PRM_SIZE_query_qp_in, layout, COUNT(layout), 0, 0, call);
    if (rc || (rc = check_op_mod(in, call)))
        return rc;
    *number = (uint32_t)prm_get_query_qp_in__qpn(in);
    return 0;
}

int prm_parse_query_hca_cap(const void *in, size_t inlen, unsigned *page, bool *current, struct prm_call *call)
{
    static const struct prm_layout layout[] = {{PRM_ID_query_hca_cap_in, 0}};
    int rc = prm_check_layout(in, inlen, PRM_SIZE_query_hca_cap_in, layout, COUNT(layout), 0, 0, call);
    if (rc)
        return rc;
    unsigned op_mod = (unsigned)prm_get_query_hca_cap_in__op_mod(in);
    unsigned p = op_mod >> 1;
    if (p > PRM_CAP_LAST)
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE,
                          "op_mod = 0x%x: there is no capability page 0x%x (0x0..0x%x)", op_mod, p, PRM_CAP_LAST);
    *page = p;
    *current = op_mod & 1;
    return 0;
}

int prm_parse_query_roce_address(const void *in, size_t inlen, unsigned *index, struct prm_call *call)
{
    static const struct prm_layout layout[] = {{PRM_ID_query_roce_address_in, 0}};
    int rc = prm_check_layout(in, inlen, PRM_SIZE_query_roce_address_in, layout, COUNT(layout), 0, 0, call);
    if (rc || (rc = check_op_mod(in, call)))
        return rc;
    *index = (unsigned)prm_get_query_roce_address_in__roce_address_index(in);
    return 0;
}
