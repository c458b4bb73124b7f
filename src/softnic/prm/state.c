/* SPDX-License-Identifier: Apache-2.0 */
/* QP state commands and queries. */
#include <errno.h>
#include <string.h>

#include "format/prm.h"
#include "softnic/prm/cmd.h"
#include "softnic/prm/parse.h"

_Static_assert((int)SN_QP_RST == PRM_QP_RST && (int)SN_QP_INIT == PRM_QP_INIT && (int)SN_QP_RTR == PRM_QP_RTR &&
                   (int)SN_QP_RTS == PRM_QP_RTS && (int)SN_QP_SQER == PRM_QP_SQER && (int)SN_QP_SQD == PRM_QP_SQD &&
                   (int)SN_QP_ERR == PRM_QP_ERR,
               "the engine's QP states have the PRM's codes");

/* What QUERY_QP shows as mtu before a path is set: a client may read the field in every state and expects 1..5 or 7. */
enum { MTU_BEFORE_RTR = 1 };

static int resolve_path(const struct prm_env *env, struct sn_path *path, struct prm_call *call)
{
    static const uint8_t zero[16];
    const struct sn_nic_config *config = sn_nic_get_config(env->nic);
    if (path->sgid_index >= config->gid_count)
        return prm_refuse(call, PRM_STATUS_BAD_INDEX, PRM_WHY_RANGE,
                          "src_addr_index = %u, the GID table has %u entries", path->sgid_index, config->gid_count);
    if (memcmp(path->dgid, zero, 16) != 0)
        return 0;
    if (config->link == SN_LINK_ETHERNET)
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE, "rgid_rip is zero");
    if (env->gid_of_lid(env->arg, path->rlid, path->dgid))
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE, "rlid = 0x%x: no device of this host has it",
                          path->rlid);
    return 0;
}

/* RTS2RTS may change the source address or DSCP of a path; the rest of it stays. */
static int patch_path(const struct prm_env *env, struct prm_state_args *a, struct prm_call *call)
{
    if (!a->patch_sgid && !a->patch_dscp)
        return 0;
    struct sn_qp_params now;
    int rc = sn_qp_query(env->nic, a->qpn, NULL, &now, NULL, NULL);
    if (rc)
        return prm_refuse_engine(call, rc, "queue pair");
    if (a->patch_sgid)
        now.path.sgid_index = a->params.path.sgid_index;
    if (a->patch_dscp)
        now.path.dscp = a->params.path.dscp;
    a->params.path = now.path;
    a->mask |= SN_QPF_PATH;
    return 0;
}

static int check_state(const struct prm_env *env, const struct prm_state_args *a, struct prm_call *call)
{
    enum sn_qp_state state;
    int rc = sn_qp_query(env->nic, a->qpn, &state, NULL, NULL, NULL);
    if (rc)
        return prm_refuse_engine(call, rc, "queue pair");
    bool any = a->to == SN_QP_ERR || a->to == SN_QP_RST;
    if (!any && state != a->from)
        return prm_refuse(call, PRM_STATUS_BAD_QP_STATE, PRM_WHY_STATE, "QP 0x%x is in state %d, not %d", a->qpn,
                          (int)state, (int)a->from);
    return 0;
}

static int run_state(const struct prm_env *env, const struct prm_object *object, const void *in, size_t inlen,
                     struct prm_call *call)
{
    struct prm_state_args a;
    struct sn_qp_attr attr;
    int rc = sn_qp_query(env->nic, object->number, NULL, NULL, &attr, NULL);
    if (rc)
        return prm_refuse_engine(call, rc, "queue pair");
    if ((rc = prm_parse_state_for(attr.service, in, inlen, &a, call)))
        return rc;
    if (a.qpn != object->number)
        return prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT, "qpn = 0x%x, but the object is QP 0x%x", a.qpn,
                          object->number);
    if ((rc = check_state(env, &a, call)) || (rc = patch_path(env, &a, call)))
        return rc;
    if (a.mask & SN_QPF_PATH && (rc = resolve_path(env, &a.params.path, call)))
        return rc;
    rc = sn_qp_modify(env->nic, a.qpn, a.to, &a.params, a.mask);
    if (rc == -EINVAL)
        return prm_refuse(call, PRM_STATUS_BAD_QP_STATE, PRM_WHY_STATE, "QP 0x%x: %s", a.qpn, prm_engine_reason(rc));
    return rc ? prm_refuse_engine(call, rc, "queue pair") : 0;
}

int prm_object_modify(const struct prm_env *env, const struct prm_object *object, const void *in, size_t inlen,
                      void *out, size_t outlen, struct prm_call *call)
{
    int rc = prm_begin(call, in, inlen, out, outlen, PRM_SIZE_cmd_out);
    if (rc)
        return prm_end(call, out, outlen, rc);
    if (!prm_is_state_command(call->opcode))
        rc = prm_refuse(call, PRM_STATUS_BAD_OP, PRM_WHY_OPCODE, "not modelled as a modifying command");
    else if (object->kind != PRM_OBJECT_QP)
        rc = prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT, "object 0x%x is no queue pair", object->number);
    else
        rc = run_state(env, object, in, inlen, call);
    return prm_end(call, out, outlen, rc);
}

static void write_path(const struct sn_path *path, uint8_t *ads)
{
    memcpy(PRM_AT(ads, ads, rgid_rip), path->dgid, 16);
    prm_set_ads__grh(ads, path->grh);
    prm_set_ads__rlid(ads, path->rlid);
    prm_set_ads__src_addr_index(ads, path->sgid_index);
    prm_set_ads__stat_rate(ads, path->stat_rate);
    prm_set_ads__hop_limit(ads, path->hop_limit);
    prm_set_ads__tclass(ads, path->traffic_class);
    prm_set_ads__flow_label(ads, path->flow_label);
    prm_set_ads__dscp(ads, path->dscp);
    prm_set_ads__udp_sport(ads, path->udp_sport);
    prm_set_ads__sl(ads, path->sl);
    prm_set_ads__rmac_47_32(ads, (uint64_t)path->rmac[0] << 8 | path->rmac[1]);
    prm_set_ads__rmac_31_0(ads, (uint64_t)path->rmac[2] << 24 | (uint64_t)path->rmac[3] << 16 |
                                    (uint64_t)path->rmac[4] << 8 | path->rmac[5]);
}

static void write_attr(const struct sn_qp_attr *attr, uint8_t *qpc)
{
    prm_set_qpc__st(qpc, attr->service == SN_SERVICE_DC   ? PRM_QP_ST_DCI
                         : attr->service == SN_SERVICE_UD ? PRM_QP_ST_UD
                         : attr->service == SN_SERVICE_UC ? PRM_QP_ST_UC
                                                          : PRM_QP_ST_RC);
    prm_set_qpc__pm_state(qpc, PRM_PM_MIGRATED);
    prm_set_qpc__pd(qpc, attr->pdn);
    prm_set_qpc__user_index(qpc, attr->user_index);
    prm_set_qpc__no_sq(qpc, attr->no_sq);
    prm_set_qpc__log_sq_size(qpc, attr->log_sq_size);
    prm_set_qpc__uar_page(qpc, attr->uar);
    prm_set_qpc__cqn_snd(qpc, attr->cqn_snd);
    prm_set_qpc__cqn_rcv(qpc, attr->cqn_rcv);
    prm_set_qpc__send_dbr_mode(qpc, attr->no_send_record);
    prm_set_qpc__srqn_rmpn_xrqn(qpc, attr->srqn);
    prm_set_qpc__rq_type(qpc, attr->rq_kind == SN_RQ_REGULAR ? PRM_RQ_TYPE_REGULAR
                              : attr->rq_kind == SN_RQ_SRQ   ? PRM_RQ_TYPE_SRQ
                                                             : PRM_RQ_TYPE_ZERO);
    if (attr->rq_kind == SN_RQ_REGULAR) {
        prm_set_qpc__log_rq_size(qpc, attr->log_rq_size);
        prm_set_qpc__log_rq_stride(qpc, attr->log_rq_stride - 4u);
    }
}

static void write_params(const struct sn_qp_params *p, uint8_t *qpc)
{
    uint8_t *ads = PRM_AT(qpc, qpc, primary_address_path);
    prm_set_qpc__mtu(qpc, p->mtu ? p->mtu : MTU_BEFORE_RTR);
    prm_set_qpc__log_msg_max(qpc, p->log_msg_max);
    prm_set_qpc__remote_qpn(qpc, p->remote_qpn);
    prm_set_qpc__q_key(qpc, p->qkey);
    prm_set_qpc__log_sra_max(qpc, p->log_sra_max);
    prm_set_qpc__log_rra_max(qpc, p->log_rra_max);
    prm_set_qpc__retry_count(qpc, p->retry_count);
    prm_set_qpc__rnr_retry(qpc, p->rnr_retry);
    prm_set_qpc__next_send_psn(qpc, p->snd_psn);
    prm_set_qpc__next_rcv_psn(qpc, p->rcv_psn);
    prm_set_qpc__min_rnr_nak(qpc, p->min_rnr);
    prm_set_qpc__rwe(qpc, p->rwe);
    prm_set_qpc__rre(qpc, p->rre);
    prm_set_qpc__rae(qpc, p->rae);
    prm_set_qpc__atomic_mode(qpc, p->atomic_mode);
    prm_set_ads__pkey_index(ads, p->pkey_index);
    prm_set_ads__vhca_port_num(ads, p->port);
    prm_set_ads__ack_timeout(ads, p->ack_timeout);
    write_path(&p->path, ads);
}

static int query_qp(const struct prm_env *env, const struct prm_object *object, void *out, size_t outlen,
                    struct prm_call *call)
{
    enum sn_qp_state state;
    struct sn_qp_params params;
    struct sn_qp_attr attr;
    if (outlen < PRM_SIZE_query_qp_out)
        return prm_refuse(call, PRM_STATUS_BAD_OUTPUT_LEN, PRM_WHY_OUTPUT_LENGTH, "output of %zu bytes, %d needed",
                          outlen, (int)PRM_SIZE_query_qp_out);
    int rc = sn_qp_query(env->nic, object->number, &state, &params, &attr, NULL);
    if (rc)
        return prm_refuse_engine(call, rc, "queue pair");
    uint8_t *qpc = PRM_AT(out, query_qp_out, qpc);
    write_attr(&attr, qpc);
    write_params(&params, qpc);
    prm_set_qpc__state(qpc, state); /* enum sn_qp_state has the PRM's codes */
    return 0;
}

static int query_cq(const struct prm_env *env, const struct prm_object *object, void *out, size_t outlen,
                    struct prm_call *call)
{
    uint32_t count;
    if (outlen < PRM_SIZE_query_cq_out)
        return prm_refuse(call, PRM_STATUS_BAD_OUTPUT_LEN, PRM_WHY_OUTPUT_LENGTH, "output of %zu bytes, %d needed",
                          outlen, (int)PRM_SIZE_query_cq_out);
    int rc = sn_cq_producer(env->nic, object->number, &count);
    if (rc)
        return prm_refuse_engine(call, rc, "completion queue");
    uint8_t *cqc = PRM_AT(out, query_cq_out, cq_context);
    memcpy(cqc, object->context, PRM_SIZE_cqc);
    prm_set_cqc__producer_counter(cqc, count & 0xffffff);
    return 0;
}

int prm_object_query(const struct prm_env *env, const struct prm_object *object, const void *in, size_t inlen,
                     void *out, size_t outlen, struct prm_call *call)
{
    uint32_t number = 0;
    int rc = prm_begin(call, in, inlen, out, outlen, PRM_SIZE_cmd_out);
    if (rc)
        return prm_end(call, out, outlen, rc);
    bool qp = call->opcode == PRM_OP_QUERY_QP, cq = call->opcode == PRM_OP_QUERY_CQ;
    if (!qp && !cq)
        rc = prm_refuse(call, PRM_STATUS_BAD_OP, PRM_WHY_OPCODE, "not modelled as a query");
    else if (object->kind != (qp ? PRM_OBJECT_QP : PRM_OBJECT_CQ))
        rc = prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT, "object 0x%x is of another kind", object->number);
    else if (!(rc = prm_parse_query(in, inlen, &number, call))) {
        if (number != object->number)
            rc = prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT, "number 0x%x, but the object is 0x%x", number,
                            object->number);
        else
            rc = qp ? query_qp(env, object, out, outlen, call) : query_cq(env, object, out, outlen, call);
    }
    return prm_end(call, out, outlen, rc);
}
