/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of the QP state commands. Each transition has required parameters, taken always, and optional ones, taken when
 * opt_param_mask names them (PRM, "QP state transitions"; IBTA vol. 1, 10.3.1). An opt_param_mask bit that a transition
 * does not know is refused rather than ignored.
 */
#include "softnic/prm/parse.h"

#include <errno.h>
#include <string.h>

#include "format/prm.h"
#include "softnic/prm/check.h"

struct transition {
    uint16_t opcode;
    enum sn_qp_state from, to;
    uint32_t required; /* enum sn_qp_field */
    uint32_t optional; /* enum prm_opt_param */
};

static const struct transition transitions[] = {
    {PRM_OP_RST2INIT_QP, SN_QP_RST, SN_QP_INIT, SN_QPF_PKEY_INDEX | SN_QPF_PORT | SN_QPF_RWE | SN_QPF_RRE | SN_QPF_RAE,
     0},
    {PRM_OP_INIT2INIT_QP, SN_QP_INIT, SN_QP_INIT, 0,
     PRM_OPT_RRE | PRM_OPT_RAE | PRM_OPT_RWE | PRM_OPT_PKEY_INDEX | PRM_OPT_PRI_PORT},
    {PRM_OP_INIT2RTR_QP, SN_QP_INIT, SN_QP_RTR,
     SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_MTU | SN_QPF_MSG_MAX | SN_QPF_PATH | SN_QPF_MIN_RNR | SN_QPF_RRA,
     PRM_OPT_RRE | PRM_OPT_RAE | PRM_OPT_RWE | PRM_OPT_PKEY_INDEX},
    {PRM_OP_RTR2RTS_QP, SN_QP_RTR, SN_QP_RTS,
     SN_QPF_SND_PSN | SN_QPF_ACK_TIMEOUT | SN_QPF_RETRY | SN_QPF_RNR_RETRY | SN_QPF_SRA,
     PRM_OPT_RRE | PRM_OPT_RAE | PRM_OPT_RWE | PRM_OPT_MIN_RNR_NAK},
    {PRM_OP_SQERR2RTS_QP, SN_QP_SQER, SN_QP_RTS, 0, PRM_OPT_RWE | PRM_OPT_MIN_RNR_NAK},
    {PRM_OP_RTS2RTS_QP, SN_QP_RTS, SN_QP_RTS, 0,
     PRM_OPT_RRE | PRM_OPT_RAE | PRM_OPT_RWE | PRM_OPT_MIN_RNR_NAK | PRM_OPT_SGID_INDEX | PRM_OPT_DSCP},
};

static const struct {
    uint32_t bit;
    uint32_t field;
} optional_fields[] = {
    {PRM_OPT_RRE, SN_QPF_RRE},
    {PRM_OPT_RAE, SN_QPF_RAE},
    {PRM_OPT_RWE, SN_QPF_RWE},
    {PRM_OPT_PKEY_INDEX, SN_QPF_PKEY_INDEX},
    {PRM_OPT_Q_KEY, SN_QPF_QKEY},
    {PRM_OPT_MIN_RNR_NAK, SN_QPF_MIN_RNR},
    {PRM_OPT_PRI_PORT, SN_QPF_PORT},
};

/*
 * A datagram queue pair has no peer (nor has a DC initiator), so of a connection's parameters only these count (11.2.5.2);
 * the others may be in the mailbox and say nothing, as on the device. The path MTU may be left out.
 */
static uint32_t required(const struct transition *t, enum sn_service service, uint64_t mtu)
{
    uint32_t datagram = SN_QPF_PKEY_INDEX | SN_QPF_PORT | SN_QPF_SND_PSN | (mtu ? SN_QPF_MTU : 0);

    if (service != SN_SERVICE_UD && service != SN_SERVICE_DC)
        return t->required;
    bool takes_qkey = service == SN_SERVICE_UD && t->opcode == PRM_OP_RST2INIT_QP;
    return (t->required & datagram) | (takes_qkey ? SN_QPF_QKEY : 0);
}

static uint32_t optional(const struct transition *t, enum sn_service service)
{
    if (service != SN_SERVICE_UD)
        return t->optional;
    return (t->optional & (PRM_OPT_PKEY_INDEX | PRM_OPT_PRI_PORT)) |
           (t->opcode == PRM_OP_RST2INIT_QP ? 0 : PRM_OPT_Q_KEY);
}

static const struct transition *find_transition(uint16_t opcode)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
        if (transitions[i].opcode == opcode)
            return &transitions[i];
    return NULL;
}

bool prm_is_state_command(uint16_t opcode)
{
    return opcode == PRM_OP_2ERR_QP || opcode == PRM_OP_2RST_QP || find_transition(opcode);
}

static void read_path(const uint8_t *ads, struct sn_path *path)
{
    uint64_t high = prm_get_ads__rmac_47_32(ads), low = prm_get_ads__rmac_31_0(ads);
    memcpy(path->dgid, PRM_CAT(ads, ads, rgid_rip), 16);
    path->sgid_index = (uint8_t)prm_get_ads__src_addr_index(ads);
    path->hop_limit = (uint8_t)prm_get_ads__hop_limit(ads);
    path->traffic_class = (uint8_t)prm_get_ads__tclass(ads);
    path->dscp = (uint8_t)prm_get_ads__dscp(ads);
    path->sl = (uint8_t)prm_get_ads__sl(ads);
    path->stat_rate = (uint8_t)prm_get_ads__stat_rate(ads);
    path->flow_label = (uint32_t)prm_get_ads__flow_label(ads);
    path->rlid = (uint16_t)prm_get_ads__rlid(ads);
    path->udp_sport = (uint16_t)prm_get_ads__udp_sport(ads);
    path->grh = prm_get_ads__grh(ads);
    for (int i = 0; i < 2; i++)
        path->rmac[i] = (uint8_t)(high >> (8 - 8 * i));
    for (int i = 0; i < 4; i++)
        path->rmac[2 + i] = (uint8_t)(low >> (24 - 8 * i));
}

static void read_params(const uint8_t *qpc, struct sn_qp_params *p)
{
    const uint8_t *ads = PRM_CAT(qpc, qpc, primary_address_path);
    p->pkey_index = (uint16_t)prm_get_ads__pkey_index(ads);
    p->port = (uint8_t)prm_get_ads__vhca_port_num(ads);
    p->rwe = prm_get_qpc__rwe(qpc);
    p->rre = prm_get_qpc__rre(qpc);
    p->rae = prm_get_qpc__rae(qpc);
    p->atomic_mode = (uint8_t)prm_get_qpc__atomic_mode(qpc);
    p->mtu = (uint8_t)prm_get_qpc__mtu(qpc);
    p->log_msg_max = (uint8_t)prm_get_qpc__log_msg_max(qpc);
    p->rcv_psn = (uint32_t)prm_get_qpc__next_rcv_psn(qpc);
    p->snd_psn = (uint32_t)prm_get_qpc__next_send_psn(qpc);
    p->remote_qpn = (uint32_t)prm_get_qpc__remote_qpn(qpc);
    p->qkey = (uint32_t)prm_get_qpc__q_key(qpc);
    p->min_rnr = (uint8_t)prm_get_qpc__min_rnr_nak(qpc);
    p->ack_timeout = (uint8_t)prm_get_ads__ack_timeout(ads);
    p->retry_count = (uint8_t)prm_get_qpc__retry_count(qpc);
    p->rnr_retry = (uint8_t)prm_get_qpc__rnr_retry(qpc);
    p->log_sra_max = (uint8_t)prm_get_qpc__log_sra_max(qpc);
    p->log_rra_max = (uint8_t)prm_get_qpc__log_rra_max(qpc);
    read_path(ads, &p->path);
}

static int bad(struct prm_call *call, const char *field, unsigned value, const char *allowed)
{
    return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE, "%s = %u is not allowed (%s)", field, value, allowed);
}

static int check_given(const struct sn_qp_params *p, uint32_t mask, struct prm_call *call)
{
    if (mask & SN_QPF_PORT && p->port != 1)
        return bad(call, "vhca_port_num", p->port, "1");
    if (mask & SN_QPF_PKEY_INDEX && p->pkey_index)
        return bad(call, "pkey_index", p->pkey_index, "0: the table has one entry");
    if (mask & SN_QPF_RAE && p->rae && p->atomic_mode != PRM_ATOMIC_MODE_IB &&
        p->atomic_mode != PRM_ATOMIC_MODE_UP_TO_8B)
        return bad(call, "atomic_mode", p->atomic_mode, "with rae = 1: 1 IB, 3 up to 8 bytes");
    if (mask & SN_QPF_MTU && (p->mtu < 1 || p->mtu > 5))
        return bad(call, "mtu", p->mtu, "1..5: 256..4096 bytes");
    if (mask & SN_QPF_MSG_MAX && p->log_msg_max > 30)
        return bad(call, "log_msg_max", p->log_msg_max, "at most 30");
    if (mask & SN_QPF_SRA && p->log_sra_max > PRM_MAX_LOG_RD_ATOMIC)
        return bad(call, "log_sra_max", p->log_sra_max, "at most 4");
    if (mask & SN_QPF_RRA && p->log_rra_max > PRM_MAX_LOG_RD_ATOMIC)
        return bad(call, "log_rra_max", p->log_rra_max, "at most 4");
    return 0;
}

/* 2ERR and 2RST: a QP number and nothing else. */
static int parse_any(const void *in, size_t inlen, struct prm_state_args *out, struct prm_call *call)
{
    static const struct prm_layout layout[] = {{PRM_ID_qp_2any_in, 0}};
    int rc = prm_check_layout(in, inlen, PRM_SIZE_qp_2any_in, layout, 1, 0, 0, call);
    if (rc)
        return rc;
    if (prm_get_qp_2any_in__op_mod(in))
        return bad(call, "op_mod", (unsigned)prm_get_qp_2any_in__op_mod(in), "0");
    *out = (struct prm_state_args){.qpn = (uint32_t)prm_get_qp_2any_in__qpn(in),
                                   .to = call->opcode == PRM_OP_2ERR_QP ? SN_QP_ERR : SN_QP_RST};
    return 0;
}

static int check_mailbox(const void *in, size_t inlen, struct prm_call *call)
{
    enum { QPC = PRM_AT_qp_state_in__qpc, ADS = QPC + PRM_AT_qpc__primary_address_path };
    static const struct prm_layout layout[] = {{PRM_ID_qp_state_in, 0}, {PRM_ID_qpc, QPC}, {PRM_ID_ads, ADS}};
    int rc = prm_check_layout(in, inlen, PRM_SIZE_qp_state_in, layout, 3, ADS + PRM_AT_ads__rgid_rip, 16, call);
    if (rc)
        return rc;
    if (prm_get_qp_state_in__op_mod(in))
        return bad(call, "op_mod", (unsigned)prm_get_qp_state_in__op_mod(in), "0");
    return 0;
}

int prm_parse_state_for(enum sn_service service, const void *in, size_t inlen, struct prm_state_args *out,
                        struct prm_call *call)
{
    const struct transition *t = find_transition(call->opcode);
    if (!t)
        return parse_any(in, inlen, out, call);
    int rc = check_mailbox(in, inlen, call);
    if (rc)
        return rc;
    const uint8_t *qpc = PRM_CAT(in, qp_state_in, qpc);
    uint32_t opt = (uint32_t)prm_get_qp_state_in__opt_param_mask(in);
    uint32_t known = optional(t, service);
    if (opt & ~known)
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE,
                          "opt_param_mask has bits 0x%x, known here are 0x%x", opt & ~known, known);
    if (service != SN_SERVICE_UD && prm_get_qpc__q_key(qpc))
        return bad(call, "q_key", (unsigned)prm_get_qpc__q_key(qpc), "0: this is no datagram queue pair");
    if (service != SN_SERVICE_DC && prm_get_qpc__dc_access_key(qpc)) /* a DCI has no traffic, so its key is nobody's */
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE,
                          "dc_access_key = 0x%llx is not allowed (0: this is no DCI)",
                          (unsigned long long)prm_get_qpc__dc_access_key(qpc));
    if (t->opcode == PRM_OP_RST2INIT_QP && prm_get_qpc__pm_state(qpc) != PRM_PM_MIGRATED)
        return bad(call, "pm_state", (unsigned)prm_get_qpc__pm_state(qpc), "3: no path migration");
    struct prm_state_args a = {
        .qpn = (uint32_t)prm_get_qp_state_in__qpn(in), .from = t->from, .to = t->to,
        .mask = required(t, service, prm_get_qpc__mtu(qpc))};
    for (size_t i = 0; i < sizeof(optional_fields) / sizeof(optional_fields[0]); i++)
        if (opt & optional_fields[i].bit)
            a.mask |= optional_fields[i].field;
    a.patch_sgid = opt & PRM_OPT_SGID_INDEX;
    a.patch_dscp = opt & PRM_OPT_DSCP;
    read_params(qpc, &a.params);
    if ((rc = check_given(&a.params, a.mask, call)))
        return rc;
    *out = a;
    return 0;
}

int prm_parse_state(const void *in, size_t inlen, struct prm_state_args *out, struct prm_call *call)
{
    return prm_parse_state_for(SN_SERVICE_RC, in, inlen, out, call);
}
