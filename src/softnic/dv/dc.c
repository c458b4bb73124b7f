/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/dv/dc.h"

#include <errno.h>

#include "softnic/verbs/log.h"

static const char create[] = "mlx5dv_create_qp";

static int check(const struct ibv_qp_init_attr_ex *a, const struct mlx5dv_dc_init_attr *dc)
{
    if (a->qp_type != IBV_QPT_DRIVER)
        return sv_refuse(EINVAL, "%s: qp_type = %d with DC attributes: it is IBV_QPT_DRIVER then", create, (int)a->qp_type);
    if (dc->dc_type != MLX5DV_DCTYPE_DCT && dc->dc_type != MLX5DV_DCTYPE_DCI)
        return sv_refuse(EINVAL, "%s: dc_type = %d (1 DCT, 2 DCI)", create, (int)dc->dc_type);
    if (!(a->comp_mask & IBV_QP_INIT_ATTR_PD))
        return sv_refuse(EINVAL, "%s: no protection domain is given", create);
    if (a->comp_mask & ~(uint32_t)IBV_QP_INIT_ATTR_PD)
        return sv_refuse(EOPNOTSUPP, "%s: comp_mask = 0x%x: a DC queue pair is modelled without traffic", create,
                         a->comp_mask);
    if (dc->dc_type == MLX5DV_DCTYPE_DCT && (!a->srq || !a->recv_cq))
        return sv_refuse(EINVAL, "%s: a DCT has a receive CQ and an SRQ", create);
    return 0;
}

struct ibv_qp *sv_dc_create(struct sv_context *ctx, struct ibv_qp_init_attr_ex *attr,
                            const struct mlx5dv_dc_init_attr *dc)
{
    if (check(attr, dc))
        return NULL;
    bool target = dc->dc_type == MLX5DV_DCTYPE_DCT;
    struct ibv_qp_init_attr_ex a = *attr;
    a.cap.max_recv_wr = a.cap.max_recv_sge = 0; /* receives are the SRQ's */
    if (target) {
        a.send_cq = a.recv_cq; /* nothing is ever sent */
        a.cap.max_send_wr = a.cap.max_send_sge = a.cap.max_inline_data = 0;
    }
    struct sv_qp *qp = sv_qp_new_as(ctx, create, &a, SN_SERVICE_DC);
    if (!qp)
        return NULL;
    qp->dct = target;
    attr->cap = a.cap;
    return sv_qp_ibv(qp);
}

struct rule {
    enum ibv_qp_state from, to;
    int required, optional;
};

static const struct rule dci_rules[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT, IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_PATH_MTU, IBV_QP_AV | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC, 0},
};

static const struct rule dct_rules[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER, IBV_QP_PKEY_INDEX},
};

static const struct rule *find_rule(const struct sv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to)
{
    const struct rule *rules = qp->dct ? dct_rules : dci_rules;
    size_t count = qp->dct ? sizeof(dct_rules) / sizeof(rules[0]) : sizeof(dci_rules) / sizeof(rules[0]);
    for (size_t i = 0; i < count; i++)
        if (rules[i].from == from && rules[i].to == to)
            return &rules[i];
    return NULL;
}

/* Of what is given, the engine needs only to know where the queue pair stands. */
static int move(struct sv_qp *qp, enum ibv_qp_state to, const struct ibv_qp_attr *a)
{
    static const enum sn_qp_state states[] = {[IBV_QPS_RESET] = SN_QP_RST, [IBV_QPS_INIT] = SN_QP_INIT,
                                              [IBV_QPS_RTR] = SN_QP_RTR,   [IBV_QPS_RTS] = SN_QP_RTS,
                                              [IBV_QPS_ERR] = SN_QP_ERR};
    struct sn_qp_params params = {.port = 1, .mtu = (uint8_t)a->path_mtu};
    uint32_t fields = to == IBV_QPS_INIT  ? SN_QPF_PORT | SN_QPF_PKEY_INDEX
                      : to == IBV_QPS_RTR ? SN_QPF_MTU
                      : to == IBV_QPS_RTS ? SN_QPF_SND_PSN
                                          : 0;
    sn_port_lock(qp->context->port);
    int rc = sn_qp_modify(qp->context->nic, qp->qpn, states[to], &params, fields);
    sn_port_unlock(qp->context->port);
    if (rc)
        return sv_refuse(-rc, "ibv_modify_qp: DC QP 0x%x: %s", qp->qpn, prm_engine_reason(rc));
    __atomic_store_n(&sv_qp_ibv(qp)->state, to, __ATOMIC_RELAXED);
    return 0;
}

int sv_dc_modify(struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
    enum ibv_qp_state from = sv_qp_ibv(qp)->state, to = mask & IBV_QP_STATE ? a->qp_state : from;
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
        return move(qp, to, a);
    const struct rule *r = find_rule(qp, from, to);
    int given = mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE);
    if (!r)
        return sv_refuse(EINVAL, "ibv_modify_qp: %s 0x%x: there is no transition from state %d to %d",
                         qp->dct ? "DCT" : "DCI", qp->qpn, (int)from, (int)to);
    if ((r->required & ~given) || (given & ~(r->required | r->optional)))
        return sv_refuse(EINVAL, "ibv_modify_qp: %s 0x%x: attr_mask = 0x%x, required 0x%x, optional 0x%x",
                         qp->dct ? "DCT" : "DCI", qp->qpn, mask, r->required, r->optional);
    if ((given & IBV_QP_PORT && a->port_num != 1) || (given & IBV_QP_PKEY_INDEX && a->pkey_index) ||
        (given & IBV_QP_PATH_MTU && (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096)))
        return sv_refuse(EINVAL, "ibv_modify_qp: DC QP 0x%x: port_num = %u, pkey_index = %u, path_mtu = %d", qp->qpn,
                         a->port_num, a->pkey_index, (int)a->path_mtu);
    if (given & IBV_QP_AV)
        qp->attr.ah_attr = a->ah_attr;
    return move(qp, to, a);
}
