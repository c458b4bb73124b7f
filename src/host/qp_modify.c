/* SPDX-License-Identifier: Apache-2.0 */
/* State transitions of a queue pair: which attributes each needs, which it may have, and its command. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "format/prm.h"
#include "host/accessor.h"
#include "host/caps.h"

#define M(name) DOCA_VERBS_QP_ATTR_##name

#define STATE_BITS  (M(CURRENT_STATE) | M(NEXT_STATE))
#define ACCESS_BITS (M(ALLOW_REMOTE_WRITE) | M(ALLOW_REMOTE_READ))
#define PSN_MASK    0xffffffu
#define LOG_MSG_MAX 30u /* 1 GiB a WQE */

enum { RST = DOCA_VERBS_QP_STATE_RST, INIT = DOCA_VERBS_QP_STATE_INIT, RTR = DOCA_VERBS_QP_STATE_RTR,
       RTS = DOCA_VERBS_QP_STATE_RTS, ERR = DOCA_VERBS_QP_STATE_ERR, ANY = -1 };

struct transition {
    int from, to;
    int required, optional; /* STATE_BITS are always allowed */
    enum prm_opcode opcode;
    size_t mailbox;
};

static const struct transition transitions[] = {
    {ANY, RST, 0, 0, PRM_OP_2RST_QP, PRM_SIZE_qp_2any_in},
    {ANY, ERR, 0, 0, PRM_OP_2ERR_QP, PRM_SIZE_qp_2any_in},
    {RST, INIT, M(PKEY_INDEX) | M(PORT_NUM) | ACCESS_BITS, M(ATOMIC_MODE), PRM_OP_RST2INIT_QP, PRM_SIZE_qp_state_in},
    {INIT, INIT, 0, M(PKEY_INDEX) | M(PORT_NUM) | ACCESS_BITS | M(ATOMIC_MODE), PRM_OP_INIT2INIT_QP,
     PRM_SIZE_qp_state_long_in},
    {INIT, RTR, M(RQ_PSN) | M(DEST_QP_NUM) | M(PATH_MTU) | M(AH_ATTR) | M(MIN_RNR_TIMER),
     M(PKEY_INDEX) | ACCESS_BITS | M(MAX_DEST_RD_ATOMIC) | M(ATOMIC_MODE), PRM_OP_INIT2RTR_QP, PRM_SIZE_qp_state_in},
    {RTR, RTS, M(SQ_PSN) | M(ACK_TIMEOUT) | M(RETRY_CNT) | M(RNR_RETRY),
     M(MIN_RNR_TIMER) | M(ALLOW_REMOTE_WRITE) | M(MAX_QP_RD_ATOMIC) | M(ATOMIC_MODE), PRM_OP_RTR2RTS_QP,
     PRM_SIZE_qp_state_in},
    {RTS, RTS, 0, ACCESS_BITS | M(MIN_RNR_TIMER) | M(AH_ATTR) | M(ATOMIC_MODE), PRM_OP_RTS2RTS_QP,
     PRM_SIZE_qp_state_long_in},
};

static const struct transition *find_transition(int from, int to)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
        const struct transition *t = &transitions[i];

        if ((t->from == ANY || t->from == from) && t->to == to)
            return t;
    }
    return NULL;
}

#define REFUSE(qp, text, ...)                                                                                          \
    return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "modifying QP 0x%x: " text, (qp)->qpn, __VA_ARGS__)

/* ---- checks ------------------------------------------------------------------------------------------------------- */

static doca_error_t check_mask(const struct doca_verbs_qp_open *qp, const struct transition *t, int mask)
{
    int missing = t->required & ~mask;
    int surplus = mask & ~(t->required | t->optional | STATE_BITS);

    if (missing != 0)
        REFUSE(qp, "%s needs mask bits 0x%x, which are missing from 0x%x", prm_opcode_name(t->opcode), missing, mask);
    if (surplus != 0)
        REFUSE(qp, "%s does not take mask bits 0x%x of 0x%x", prm_opcode_name(t->opcode), surplus, mask);
    return DOCA_SUCCESS;
}

static doca_error_t check_path(const struct doca_verbs_qp_open *qp, const struct doca_verbs_qp_attr_open *a,
                               const struct nic_caps *caps)
{
    if (!a->ah_given)
        REFUSE(qp, "mask bit AH_ATTR (0x%x) without address attributes", M(AH_ATTR));
    if ((unsigned)a->ah.f.addr_type > DOCA_VERBS_ADDR_TYPE_IB_NO_GRH)
        REFUSE(qp, "address type %d does not exist", (int)a->ah.f.addr_type);
    if (a->ah.f.sgid_index >= caps->gid_table_size)
        REFUSE(qp, "GID index %u, the table has %u entries", a->ah.f.sgid_index, caps->gid_table_size);
    if (a->ah.f.static_rate > 15)
        REFUSE(qp, "static rate code %u does not fit 4 bits", a->ah.f.static_rate);
    return DOCA_SUCCESS;
}

static doca_error_t check_values(const struct doca_verbs_qp_open *qp, const struct doca_verbs_qp_attr_open *a, int mask,
                                 const struct nic_caps *caps)
{
    if ((mask & M(PATH_MTU)) && (unsigned)a->path_mtu > DOCA_VERBS_MTU_SIZE_4K_BYTES)
        REFUSE(qp, "MTU code %d is not one of 256 to 4096 bytes", (int)a->path_mtu);
    if ((mask & M(PKEY_INDEX)) && a->pkey_index > caps->ibv.max_pkeys)
        REFUSE(qp, "P_Key index %u, the table has %u entries", a->pkey_index, caps->ibv.max_pkeys);
    if ((mask & M(PORT_NUM)) && (a->port_num < 1 || a->port_num > caps->ibv.phys_port_cnt))
        REFUSE(qp, "port %u, the device has ports 1 to %u", a->port_num, caps->ibv.phys_port_cnt);
    if ((mask & M(DEST_QP_NUM)) && a->dest_qp_num > PSN_MASK)
        REFUSE(qp, "destination QP number 0x%x does not fit 24 bits", a->dest_qp_num);
    if ((mask & M(MAX_DEST_RD_ATOMIC)) && !is_power_of_two(a->max_dest_rd_atomic))
        REFUSE(qp, "mask bit MAX_DEST_RD_ATOMIC, but the value %u was never set", a->max_dest_rd_atomic);
    if ((mask & M(MAX_QP_RD_ATOMIC)) && !is_power_of_two(a->max_rd_atomic))
        REFUSE(qp, "mask bit MAX_QP_RD_ATOMIC, but the value %u was never set", a->max_rd_atomic);
    return mask & M(AH_ATTR) ? check_path(qp, a, caps) : DOCA_SUCCESS;
}

/* ---- address path --------------------------------------------------------------------------------------------------- */

static bool is_roce(enum doca_verbs_addr_type type)
{
    return type == DOCA_VERBS_ADDR_TYPE_IPv4 || type == DOCA_VERBS_ADDR_TYPE_IPv6;
}

/* The neighbour's MAC, which a short-lived address handle resolves. */
static doca_error_t resolve_mac(const struct doca_verbs_qp_open *qp, const struct ah_fields *f, uint8_t mac[6])
{
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
    struct mlx5dv_ah dv = {0};
    struct mlx5dv_obj obj = {.ah = {.out = &dv}};
    doca_error_t err = DOCA_SUCCESS;
    struct ibv_ah *ah;

    memcpy(attr.grh.dgid.raw, f->gid.raw, sizeof(attr.grh.dgid.raw));
    attr.grh.sgid_index = f->sgid_index;
    attr.grh.hop_limit = f->hop_limit;
    errno = 0;
    ah = qp->nic->ibv_create_ah(qp->init.pd, &attr);
    if (ah == NULL)
        return HOST_ERR(DOCA_ERROR_DRIVER,
                        "QP 0x%x: no path to GID %02x%02x:..:%02x%02x%02x%02x from GID index %u: ibv_create_ah: %s%s", qp->qpn,
                        f->gid.raw[0], f->gid.raw[1], f->gid.raw[12], f->gid.raw[13], f->gid.raw[14], f->gid.raw[15],
                        f->sgid_index, strerror(errno), nic_reason(qp->nic));
    obj.ah.in = ah;
    if (qp->nic->mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH) != 0 || dv.av == NULL)
        err = HOST_ERR(DOCA_ERROR_DRIVER, "QP 0x%x: reading an address handle's MAC failed%s", qp->qpn, nic_reason(qp->nic));
    else
        memcpy(mac, dv.av->rmac, 6);
    qp->nic->ibv_destroy_ah(ah);
    return err;
}

static doca_error_t query_roce_version(const struct doca_verbs_qp_open *qp, uint8_t sgid_index, unsigned *version)
{
    uint8_t in[PRM_SIZE_query_roce_address_in] = {0}, out[PRM_SIZE_query_roce_address_out] = {0};

    prm_set_query_roce_address_in__opcode(in, PRM_OP_QUERY_ROCE_ADDRESS);
    prm_set_query_roce_address_in__roce_address_index(in, sgid_index);
    errno = 0;
    if (qp->nic->mlx5dv_devx_general_cmd(qp->context, in, sizeof(in), out, sizeof(out)) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "QUERY_ROCE_ADDRESS of GID index %u failed: %s, syndrome 0x%x%s", sgid_index,
                        strerror(errno), (unsigned)prm_get_cmd_out__syndrome(out), nic_reason(qp->nic));
    *version = (unsigned)prm_get_roce_addr_layout__roce_version(PRM_CAT(out, query_roce_address_out, roce_address));
    return DOCA_SUCCESS;
}

/* Spreads flows over links and receive queues; any port of the device's range will do. */
static uint16_t pick_udp_source_port(const struct nic_caps *caps)
{
    uint32_t range = caps->max_udp_port >= caps->min_udp_port ? caps->max_udp_port - caps->min_udp_port + 1u : 0;
    uint32_t random = 0;

    if (range == 0 || caps->max_udp_port == 0)
        return 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = 0;
    return (uint16_t)(caps->min_udp_port + random % range);
}

static doca_error_t fill_roce(const struct doca_verbs_qp_open *qp, const struct ah_fields *f, const struct nic_caps *caps,
                              uint8_t *path)
{
    uint8_t mac[6];
    unsigned version = PRM_ROCE_V2;
    doca_error_t err = resolve_mac(qp, f, mac);

    if (err == DOCA_SUCCESS && caps->ethernet)
        err = query_roce_version(qp, f->sgid_index, &version);
    if (err != DOCA_SUCCESS)
        return err;
    prm_set_ads__rmac_47_32(path, (uint64_t)mac[0] << 8 | mac[1]);
    prm_set_ads__rmac_31_0(path, (uint64_t)mac[2] << 24 | (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5]);
    if (version >= PRM_ROCE_V2) {
        prm_set_ads__udp_sport(path, pick_udp_source_port(caps));
        prm_set_ads__dscp(path, f->traffic_class >> 2);
    }
    return DOCA_SUCCESS;
}

static doca_error_t fill_path(const struct doca_verbs_qp_open *qp, const struct ah_fields *f, const struct nic_caps *caps,
                              uint8_t *qpc)
{
    uint8_t *path = PRM_AT(qpc, qpc, primary_address_path);

    prm_set_ads__stat_rate(path, f->static_rate);
    if (f->addr_type != DOCA_VERBS_ADDR_TYPE_IB_NO_GRH) {
        memcpy(PRM_AT(path, ads, rgid_rip), f->gid.raw, sizeof(f->gid.raw));
        prm_set_ads__hop_limit(path, f->hop_limit);
        prm_set_ads__src_addr_index(path, f->sgid_index);
    }
    if (is_roce(f->addr_type))
        return fill_roce(qp, f, caps, path);
    prm_set_ads__tclass(path, f->traffic_class);
    prm_set_ads__rlid(path, f->dlid & 0xffff);
    prm_set_ads__sl(path, f->sl);
    prm_set_ads__grh(path, f->addr_type == DOCA_VERBS_ADDR_TYPE_IB_GRH);
    return DOCA_SUCCESS;
}

/* RTS to RTS changes only the source GID and the DSCP. */
static doca_error_t fill_path_rts(const struct doca_verbs_qp_open *qp, const struct ah_fields *f,
                                  const struct nic_caps *caps, uint8_t *qpc, uint32_t *opt)
{
    uint8_t *path = PRM_AT(qpc, qpc, primary_address_path);
    unsigned version = 0;

    prm_set_ads__src_addr_index(path, f->sgid_index);
    *opt |= PRM_OPT_SGID_INDEX;
    if (caps->ethernet) {
        doca_error_t err = query_roce_version(qp, f->sgid_index, &version);

        if (err != DOCA_SUCCESS)
            return err;
    }
    if (caps->rts2rts_dscp && version >= PRM_ROCE_V2) {
        prm_set_ads__dscp(path, f->traffic_class >> 2);
        *opt |= PRM_OPT_DSCP;
    }
    return DOCA_SUCCESS;
}

/* ---- commands ----------------------------------------------------------------------------------------------------- */

static void fill_common(const struct doca_verbs_qp_attr_open *a, int mask, uint8_t *qpc, uint32_t *opt)
{
    uint8_t *path = PRM_AT(qpc, qpc, primary_address_path);
    bool atomic = (mask & M(ATOMIC_MODE)) || a->atomic_needs_no_mask;

    if (mask & M(ALLOW_REMOTE_WRITE)) {
        prm_set_qpc__rwe(qpc, a->allow_remote_write == 1);
        *opt |= PRM_OPT_RWE;
    }
    if (mask & M(ALLOW_REMOTE_READ)) {
        prm_set_qpc__rre(qpc, a->allow_remote_read == 1);
        *opt |= PRM_OPT_RRE;
    }
    if (atomic) {
        prm_set_qpc__rae(qpc, a->atomic_mode != DOCA_VERBS_QP_ATOMIC_MODE_NONE);
        prm_set_qpc__atomic_mode(qpc, a->atomic_mode);
        *opt |= PRM_OPT_RAE;
    }
    if (mask & M(PKEY_INDEX)) {
        prm_set_ads__pkey_index(path, a->pkey_index);
        *opt |= PRM_OPT_PKEY_INDEX;
    }
    if (mask & M(PORT_NUM)) {
        prm_set_ads__vhca_port_num(path, a->port_num);
        *opt |= PRM_OPT_PRI_PORT;
    }
    if (mask & M(MIN_RNR_TIMER)) {
        prm_set_qpc__min_rnr_nak(qpc, a->min_rnr_timer);
        *opt |= PRM_OPT_MIN_RNR_NAK;
    }
}

static void fill_rtr(const struct doca_verbs_qp_attr_open *a, int mask, uint8_t *qpc)
{
    prm_set_qpc__next_rcv_psn(qpc, a->rq_psn & PSN_MASK);
    prm_set_qpc__remote_qpn(qpc, a->dest_qp_num);
    prm_set_qpc__mtu(qpc, (unsigned)a->path_mtu + 1);
    prm_set_qpc__log_msg_max(qpc, LOG_MSG_MAX);
    if (mask & M(MAX_DEST_RD_ATOMIC))
        prm_set_qpc__log_rra_max(qpc, log2_of(a->max_dest_rd_atomic));
}

static void fill_rts(const struct doca_verbs_qp_attr_open *a, int mask, uint8_t *qpc)
{
    uint8_t *path = PRM_AT(qpc, qpc, primary_address_path);

    prm_set_qpc__next_send_psn(qpc, a->sq_psn & PSN_MASK);
    prm_set_ads__ack_timeout(path, a->ack_timeout);
    prm_set_qpc__retry_count(qpc, a->retry_cnt);
    prm_set_qpc__rnr_retry(qpc, a->rnr_retry);
    if (mask & M(MAX_QP_RD_ATOMIC))
        prm_set_qpc__log_sra_max(qpc, log2_of(a->max_rd_atomic));
}

/* Which optional bits a command knows; the others are part of it anyway. */
static uint32_t optional_bits_of(enum prm_opcode opcode)
{
    const uint32_t access = PRM_OPT_RWE | PRM_OPT_RRE | PRM_OPT_RAE;

    switch (opcode) {
    case PRM_OP_INIT2INIT_QP:
        return access | PRM_OPT_PKEY_INDEX | PRM_OPT_PRI_PORT;
    case PRM_OP_INIT2RTR_QP:
        return access | PRM_OPT_PKEY_INDEX;
    case PRM_OP_RTR2RTS_QP:
        return PRM_OPT_RWE | PRM_OPT_RAE | PRM_OPT_MIN_RNR_NAK;
    case PRM_OP_RTS2RTS_QP:
        return access | PRM_OPT_SGID_INDEX | PRM_OPT_DSCP | PRM_OPT_MIN_RNR_NAK;
    default:
        return 0;
    }
}

static doca_error_t fill_command(const struct doca_verbs_qp_open *qp, const struct transition *t,
                                 const struct doca_verbs_qp_attr_open *a, int mask, const struct nic_caps *caps, uint8_t *in)
{
    uint8_t *qpc = PRM_AT(in, qp_state_in, qpc);
    uint32_t opt = 0;
    doca_error_t err = DOCA_SUCCESS;

    prm_set_qp_state_in__opcode(in, t->opcode);
    prm_set_qp_state_in__qpn(in, qp->qpn);
    if (t->from == ANY)
        return DOCA_SUCCESS;
    fill_common(a, mask, qpc, &opt);
    if (t->opcode == PRM_OP_RST2INIT_QP)
        prm_set_qpc__pm_state(qpc, PRM_PM_MIGRATED);
    if (t->opcode == PRM_OP_INIT2RTR_QP) {
        fill_rtr(a, mask, qpc);
        err = fill_path(qp, &a->ah.f, caps, qpc);
    }
    if (t->opcode == PRM_OP_RTR2RTS_QP)
        fill_rts(a, mask, qpc);
    if (t->opcode == PRM_OP_RTS2RTS_QP && (mask & M(AH_ATTR)))
        err = fill_path_rts(qp, &a->ah.f, caps, qpc, &opt);
    prm_set_qp_state_in__opt_param_mask(in, opt & optional_bits_of(t->opcode));
    return err;
}

static doca_error_t run(struct doca_verbs_qp_open *qp, const struct transition *t, struct doca_verbs_qp_attr_open *a, int mask)
{
    uint8_t in[PRM_SIZE_qp_state_long_in] = {0}, out[PRM_SIZE_cmd_out] = {0};
    struct nic_caps caps;
    doca_error_t err = check_mask(qp, t, mask);

    if (err == DOCA_SUCCESS && t->from != ANY)
        err = caps_query(qp->nic, qp->context, &caps);
    if (err == DOCA_SUCCESS && t->from != ANY)
        err = check_values(qp, a, mask, &caps);
    if (err == DOCA_SUCCESS)
        err = fill_command(qp, t, a, mask, &caps, in);
    if (err != DOCA_SUCCESS)
        return err;
    errno = 0;
    if (qp->nic->mlx5dv_devx_obj_modify(qp->obj, in, t->mailbox, out, sizeof(out)) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "%s of QP 0x%x failed: %s, syndrome 0x%x%s", prm_opcode_name(t->opcode), qp->qpn,
                        strerror(errno), (unsigned)prm_get_cmd_out__syndrome(out), nic_reason(qp->nic));
    a->rq_psn &= PSN_MASK; /* the caller sees what the device was given */
    a->sq_psn &= PSN_MASK;
    qp->state = (enum doca_verbs_qp_state)t->to;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_qp_modify(doca_verbs_qp_t *verbs_qp, doca_verbs_qp_attr_t *qp_attr, int attr_mask)
{
    const struct transition *t;
    struct doca_verbs_qp_attr_open *a;
    int from, to;

    CHECK_SAME_MAKER(verbs_qp, qp_attr, __func__);
    if (IS_SDK(verbs_qp))
        return SDK_CALL(qp, doca_verbs_qp_modify, verbs_qp->sdk, qp_attr->sdk, attr_mask);
    a = qp_attr->open;
    from = (int)(attr_mask & M(CURRENT_STATE) ? a->current_state : verbs_qp->open->state);
    to = attr_mask & M(NEXT_STATE) ? (int)a->next_state : from;
    t = from >= RST && from <= ERR ? find_transition(from, to) : NULL;
    if (t == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "modifying QP 0x%x: there is no transition from state %d to state %d",
                        verbs_qp->open->qpn, from, to);
    return run(verbs_qp->open, t, a, attr_mask);
}
