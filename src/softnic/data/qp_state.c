/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ibv_modify_qp and ibv_query_qp. Which attributes a transition needs and which it takes is the specification's table
 * (IBTA vol. 1, 11.2.5.2 "Modify queue pair", table 91); one that is missing, or that does not belong there, is EINVAL.
 */
#include <errno.h>
#include <string.h>

#include "softnic/data/objects.h"
#include "softnic/data/path.h"
#include "softnic/dv/dc.h"
#include "softnic/prm/parse.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

enum { MAX_RD_ATOMIC = 1 << PRM_MAX_LOG_RD_ATOMIC, QPN_MASK = 0xffffff };

/* ---- the table ----------------------------------------------------------------------------------------------------- */

struct rule {
    enum ibv_qp_state from, to;
    struct {
        int required, optional;
    } of[3]; /* RC, UC, UD */
};

enum {
    INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
    CONNECT = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
    MIGRATE = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE,
    RESEND = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY,
    ACCESS = IBV_QP_ACCESS_FLAGS,
    RTS_ANY = IBV_QP_CUR_STATE | ACCESS | MIGRATE,
    ALWAYS = IBV_QP_STATE | IBV_QP_CUR_STATE, /* may be given with any transition */
};

static const struct rule rules[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, {{INIT | ACCESS, 0}, {INIT | ACCESS, 0}, {INIT | IBV_QP_QKEY, 0}}},
    {IBV_QPS_INIT, IBV_QPS_INIT, {{0, INIT | ACCESS}, {0, INIT | ACCESS}, {0, INIT | IBV_QP_QKEY}}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {{CONNECT | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, IBV_QP_ALT_PATH | ACCESS | IBV_QP_PKEY_INDEX},
      {CONNECT, IBV_QP_ALT_PATH | ACCESS | IBV_QP_PKEY_INDEX},
      {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {{RESEND | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC, RTS_ANY | IBV_QP_MIN_RNR_TIMER},
      {IBV_QP_SQ_PSN, RTS_ANY},
      {IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY}}},
    {IBV_QPS_RTS,
     IBV_QPS_RTS,
     {{0, RTS_ANY | IBV_QP_MIN_RNR_TIMER}, {0, RTS_ANY}, {0, IBV_QP_CUR_STATE | IBV_QP_QKEY}}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {{0, IBV_QP_EN_SQD_ASYNC_NOTIFY}, {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}, {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}}},
    {IBV_QPS_SQD,
     IBV_QPS_RTS,
     {{0, RTS_ANY | IBV_QP_MIN_RNR_TIMER}, {0, RTS_ANY}, {0, IBV_QP_CUR_STATE | IBV_QP_QKEY}}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {{0, IBV_QP_PORT | IBV_QP_AV | RESEND | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | MIGRATE | ACCESS |
              IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER},
      {0, IBV_QP_AV | MIGRATE | ACCESS | IBV_QP_PKEY_INDEX},
      {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}}},
    {IBV_QPS_SQE, IBV_QPS_RTS, {{0, 0}, {0, IBV_QP_CUR_STATE | ACCESS}, {0, IBV_QP_CUR_STATE | IBV_QP_QKEY}}},
};

static const char *state_name(enum ibv_qp_state s)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return (unsigned)s < sizeof(names) / sizeof(names[0]) ? names[s] : "no state";
}

static enum ibv_qp_state to_ibv(enum sn_qp_state s)
{
    return s == SN_QP_SQER ? IBV_QPS_SQE : s == SN_QP_SQD ? IBV_QPS_SQD : (enum ibv_qp_state)s;
}

static enum sn_qp_state to_engine(enum ibv_qp_state s)
{
    return s == IBV_QPS_SQE ? SN_QP_SQER : s == IBV_QPS_SQD ? SN_QP_SQD : (enum sn_qp_state)s;
}

static int refuse_mask(const struct sv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, const char *why, int bits)
{
    return sv_refuse(EINVAL, "ibv_modify_qp: QP 0x%x: %s to %s: attr_mask %s 0x%x", qp->qpn, state_name(from),
                     state_name(to), why, bits);
}

static int check_table(const struct sv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
    const struct rule *r = NULL;
    int service = qp->service == SN_SERVICE_UD ? 2 : qp->service == SN_SERVICE_UC ? 1 : 0;

    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) {
        int more = mask & ~ALWAYS;
        return more ? refuse_mask(qp, from, to, "has what does not belong there:", more) : 0;
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].from == from && rules[i].to == to && !(from == IBV_QPS_SQE && qp->service == SN_SERVICE_RC))
            r = &rules[i];
    if (!r)
        return sv_refuse(EINVAL, "ibv_modify_qp: QP 0x%x: there is no transition from %s to %s", qp->qpn,
                         state_name(from), state_name(to));
    int missing = r->of[service].required & ~mask;
    int more = mask & ~(r->of[service].required | r->of[service].optional | ALWAYS);
    if (missing)
        return refuse_mask(qp, from, to, "lacks", missing);
    return more ? refuse_mask(qp, from, to, "has what does not belong there:", more) : 0;
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

static int refuse_value(const struct sv_qp *qp, const char *field, unsigned value, unsigned low, unsigned high)
{
    return sv_refuse(EINVAL, "ibv_modify_qp: QP 0x%x: %s = %u is outside %u..%u", qp->qpn, field, value, low, high);
}

static int check_values(const struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
    const struct {
        int bit;
        const char *name;
        unsigned value, low, high;
    } fields[] = {
        {IBV_QP_PORT, "port_num", a->port_num, 1, 1},
        {IBV_QP_PKEY_INDEX, "pkey_index", a->pkey_index, 0, 0},
        {IBV_QP_PATH_MTU, "path_mtu", (unsigned)a->path_mtu, IBV_MTU_256, qp->context->device->path_mtu},
        {IBV_QP_TIMEOUT, "timeout", a->timeout, 0, 31},
        {IBV_QP_RETRY_CNT, "retry_cnt", a->retry_cnt, 0, 7},
        {IBV_QP_RNR_RETRY, "rnr_retry", a->rnr_retry, 0, 7},
        {IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", a->min_rnr_timer, 0, 31},
        {IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", a->max_rd_atomic, 0, MAX_RD_ATOMIC},
        {IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", a->max_dest_rd_atomic, 0, MAX_RD_ATOMIC},
        {IBV_QP_DEST_QPN, "dest_qp_num", a->dest_qp_num, 0, QPN_MASK},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (mask & fields[i].bit && (fields[i].value < fields[i].low || fields[i].value > fields[i].high))
            return refuse_value(qp, fields[i].name, fields[i].value, fields[i].low, fields[i].high);
    return 0;
}

/* What softnic does not have. "Migrated" is the state that a path without an alternate is always in. */
static int check_modelled(const struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
    if (mask & IBV_QP_ALT_PATH || (mask & IBV_QP_PATH_MIG_STATE && a->path_mig_state != IBV_MIG_MIGRATED))
        return sv_refuse(EOPNOTSUPP, "ibv_modify_qp: QP 0x%x: path migration is not modelled", qp->qpn);
    if (mask & IBV_QP_RATE_LIMIT)
        return sv_refuse(EOPNOTSUPP, "ibv_modify_qp: QP 0x%x: rate limits are not modelled", qp->qpn);
    if (mask & IBV_QP_CAP)
        return sv_refuse(EINVAL, "ibv_modify_qp: QP 0x%x: a queue pair cannot be resized", qp->qpn);
    return 0;
}

static uint8_t log2_up(unsigned n)
{
    uint8_t log = 0;
    while (1u << log < n)
        log++;
    return log;
}

static const struct {
    int bit;
    uint32_t field;
} fields_of[] = {
    {IBV_QP_PKEY_INDEX, SN_QPF_PKEY_INDEX},
    {IBV_QP_PORT, SN_QPF_PORT},
    {IBV_QP_ACCESS_FLAGS, SN_QPF_RWE | SN_QPF_RRE | SN_QPF_RAE},
    {IBV_QP_QKEY, SN_QPF_QKEY},
    {IBV_QP_AV, SN_QPF_PATH},
    {IBV_QP_PATH_MTU, SN_QPF_MTU},
    {IBV_QP_DEST_QPN, SN_QPF_REMOTE},
    {IBV_QP_RQ_PSN, SN_QPF_RCV_PSN},
    {IBV_QP_SQ_PSN, SN_QPF_SND_PSN},
    {IBV_QP_MAX_DEST_RD_ATOMIC, SN_QPF_RRA},
    {IBV_QP_MAX_QP_RD_ATOMIC, SN_QPF_SRA},
    {IBV_QP_MIN_RNR_TIMER, SN_QPF_MIN_RNR},
    {IBV_QP_TIMEOUT, SN_QPF_ACK_TIMEOUT},
    {IBV_QP_RETRY_CNT, SN_QPF_RETRY},
    {IBV_QP_RNR_RETRY, SN_QPF_RNR_RETRY},
    {IBV_QP_EN_SQD_ASYNC_NOTIFY, SN_QPF_SQD_EVENT},
};

static uint32_t engine_mask(int mask)
{
    uint32_t m = 0;
    for (size_t i = 0; i < sizeof(fields_of) / sizeof(fields_of[0]); i++)
        if (mask & fields_of[i].bit)
            m |= fields_of[i].field;
    return m;
}

static int engine_params(const struct sv_qp *qp, const struct ibv_qp_attr *a, int mask, struct sn_qp_params *p)
{
    *p = (struct sn_qp_params){.pkey_index = a->pkey_index,
                               .port = a->port_num,
                               .rwe = a->qp_access_flags & IBV_ACCESS_REMOTE_WRITE,
                               .rre = a->qp_access_flags & IBV_ACCESS_REMOTE_READ,
                               .rae = a->qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC,
                               .mtu = (uint8_t)a->path_mtu,
                               .rcv_psn = a->rq_psn,
                               .snd_psn = a->sq_psn,
                               .remote_qpn = a->dest_qp_num,
                               .qkey = a->qkey,
                               .min_rnr = a->min_rnr_timer,
                               .ack_timeout = a->timeout,
                               .retry_count = a->retry_cnt,
                               .rnr_retry = a->rnr_retry,
                               .log_sra_max = log2_up(a->max_rd_atomic),
                               .log_rra_max = log2_up(a->max_dest_rd_atomic),
                               .sqd_event = a->en_sqd_async_notify};
    return mask & IBV_QP_AV ? sv_path_of_ah(qp->context, "ibv_modify_qp", &a->ah_attr, &p->path) : 0;
}

/* Remembered for ibv_query_qp: what the engine keeps in another form, or not at all. */
static void remember(struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
    struct ibv_qp_attr *m = &qp->attr;
    if (mask & IBV_QP_AV)
        m->ah_attr = a->ah_attr;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
        m->max_rd_atomic = a->max_rd_atomic;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
        m->max_dest_rd_atomic = a->max_dest_rd_atomic;
    if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
        m->en_sqd_async_notify = a->en_sqd_async_notify;
}

/* ---- the calls ----------------------------------------------------------------------------------------------------- */

static void set_state(struct sv_qp *qp, enum ibv_qp_state state)
{
    __atomic_store_n(&sv_qp_ibv(qp)->state, state, __ATOMIC_RELAXED); /* posting looks at it */
}

static enum ibv_qp_state engine_state(struct sv_qp *qp)
{
    enum sn_qp_state state = SN_QP_RST;
    sn_port_lock(qp->context->port);
    sn_qp_query(qp->context->nic, qp->qpn, &state, NULL, NULL, NULL);
    sn_port_unlock(qp->context->port);
    return to_ibv(state);
}

/* Both queues begin at index 0, and what they left in their CQs is gone. */
void sv_qp_start_afresh(struct sv_qp *qp)
{
    sv_qp_forget(qp);
    pthread_mutex_lock(&qp->sq.lock);
    qp->sq.head = qp->sq_index = 0;
    atomic_store_explicit(&qp->sq_done, 0, memory_order_relaxed);
    atomic_store_explicit(&qp->sq.tail, 0, memory_order_relaxed);
    __atomic_store_n(qp->sq.record, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&qp->sq.lock);
    pthread_mutex_lock(&qp->rq.lock);
    qp->rq.head = 0;
    atomic_store_explicit(&qp->rq.tail, 0, memory_order_relaxed);
    __atomic_store_n(qp->rq.record, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&qp->rq.lock);
    memset(&qp->attr, 0, sizeof(qp->attr));
}

static int run(struct sv_qp *qp, enum ibv_qp_state to, const struct ibv_qp_attr *a, int mask)
{
    struct sn_qp_params params;
    uint32_t fields = engine_mask(mask);
    int rc = engine_params(qp, a, mask, &params);
    if (rc)
        return rc;
    if (qp->service == SN_SERVICE_UD && to == IBV_QPS_RTR) { /* a datagram's limit is the port's (11.2.5.2) */
        params.mtu = qp->context->device->path_mtu;
        fields |= SN_QPF_MTU;
    }
    sn_port_lock(qp->context->port);
    rc = sn_qp_modify(qp->context->nic, qp->qpn, to_engine(to), &params, fields);
    sn_port_unlock(qp->context->port);
    if (rc)
        return sv_refuse(-rc, "ibv_modify_qp: QP 0x%x to %s: %s", qp->qpn, state_name(to), prm_engine_reason(rc));
    remember(qp, a, mask);
    if (to == IBV_QPS_RESET)
        sv_qp_start_afresh(qp);
    set_state(qp, to);
    return 0;
}

int softnic_ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
    static const char what[] = "ibv_modify_qp";
    struct sv_context *ctx = ibv && attr ? sv_context_check(ibv->context, what) : NULL;
    if (!ctx)
        return ibv && attr ? errno : sv_refuse(EINVAL, "%s: qp or attr is NULL", what);
    struct sv_qp *qp = sv_qp_of(ibv);
    if (qp->service == SN_SERVICE_DC)
        return sv_dc_modify(qp, attr, mask);
    enum ibv_qp_state from = engine_state(qp), to = mask & IBV_QP_STATE ? attr->qp_state : from;
    if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != from)
        return sv_refuse(EINVAL, "%s: QP 0x%x is in %s, not in %s", what, qp->qpn, state_name(from),
                         state_name(attr->cur_qp_state));
    int rc = check_modelled(qp, attr, mask);
    if (!rc)
        rc = check_table(qp, from, to, mask);
    if (!rc)
        rc = check_values(qp, attr, mask);
    return rc ? rc : run(qp, to, attr, mask);
}

static void fill_attr(const struct sv_qp *qp, const struct sn_qp_params *p, enum sn_qp_state state, bool draining,
                      struct ibv_qp_attr *a)
{
    *a = qp->attr;
    a->qp_state = a->cur_qp_state = to_ibv(state);
    a->path_mtu = (enum ibv_mtu)p->mtu;
    a->path_mig_state = IBV_MIG_MIGRATED;
    a->qkey = p->qkey;
    a->rq_psn = p->rcv_psn;
    a->sq_psn = p->snd_psn;
    a->dest_qp_num = p->remote_qpn;
    a->qp_access_flags = (p->rwe ? IBV_ACCESS_REMOTE_WRITE : 0) | (p->rre ? IBV_ACCESS_REMOTE_READ : 0) |
                         (p->rae ? IBV_ACCESS_REMOTE_ATOMIC : 0);
    a->cap = qp->init.cap;
    a->pkey_index = p->pkey_index;
    a->sq_draining = draining;
    a->min_rnr_timer = p->min_rnr;
    a->port_num = p->port;
    a->timeout = p->ack_timeout;
    a->retry_cnt = p->retry_count;
    a->rnr_retry = p->rnr_retry;
}

int softnic_ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
    static const char what[] = "ibv_query_qp";
    (void)attr_mask; /* "a hint": everything is filled */
    struct sv_context *ctx = ibv && attr ? sv_context_check(ibv->context, what) : NULL;
    if (!ctx)
        return ibv && attr ? errno : sv_refuse(EINVAL, "%s: qp or attr is NULL", what);
    struct sv_qp *qp = sv_qp_of(ibv);
    struct sn_qp_params params;
    enum sn_qp_state state;
    bool draining = false;
    sn_port_lock(ctx->port);
    int rc = sn_qp_query(ctx->nic, qp->qpn, &state, &params, NULL, NULL);
    if (!rc)
        rc = sn_qp_draining(ctx->nic, qp->qpn, &draining);
    sn_port_unlock(ctx->port);
    if (rc)
        return sv_refuse(-rc, "%s: QP 0x%x: %s", what, qp->qpn, prm_engine_reason(rc));
    fill_attr(qp, &params, state, draining, attr);
    set_state(qp, to_ibv(state));
    if (init_attr)
        *init_attr = qp->init;
    return 0;
}
