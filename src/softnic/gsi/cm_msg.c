/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/gsi/cm_msg.h"

#include <errno.h>
#include <string.h>

enum { MTU_MAX = 5, TIMEOUT_MASK = 31 };
#define QPN_MASK 0xffffffu

static const struct {
    uint16_t attribute;
    uint16_t room;
    const char *name;
} kinds[] = {
    {SN_CM_REQ, SN_CM_REQ_PRIVATE, "REQ"},
    {SN_CM_MRA, SN_CM_MRA_PRIVATE, "MRA"},
    {SN_CM_REJ, SN_CM_REJ_PRIVATE, "REJ"},
    {SN_CM_REP, SN_CM_REP_PRIVATE, "REP"},
    {SN_CM_RTU, SN_CM_RTU_PRIVATE, "RTU"},
    {SN_CM_DREQ, SN_CM_DREQ_PRIVATE, "DREQ"},
    {SN_CM_DREP, SN_CM_DREP_PRIVATE, "DREP"},
    {SN_CM_SIDR_REQ, SN_CM_SIDR_REQ_PRIVATE, "SIDR_REQ"},
    {SN_CM_SIDR_REP, SN_CM_SIDR_REP_PRIVATE, "SIDR_REP"},
    {SN_CM_LAP, 0, "LAP"},
    {SN_CM_APR, SN_CM_APR_PRIVATE, "APR"},
};

int sn_cm_private_room(uint16_t attribute)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].attribute == attribute)
            return kinds[i].room;
    return -1;
}

const char *sn_cm_attribute_name(uint16_t attribute)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].attribute == attribute)
            return kinds[i].name;
    return "unknown";
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static void take_private(struct sn_cm_msg *m, const uint8_t *data)
{
    m->private_length = (uint8_t)sn_cm_private_room(m->attribute);
    memcpy(m->private_data, data, m->private_length);
}

static void take_pair(struct sn_cm_msg *m, const void *data)
{
    const struct sn_cm_pair_bits *b = data;
    m->local_id = sn_get32(b->local_id);
    m->remote_id = sn_get32(b->remote_id);
}

static bool take_info(struct sn_cm_msg *m, uint8_t length, const uint8_t *info)
{
    if (length > SN_CM_INFO_BYTES)
        return false;
    m->info_length = length;
    memcpy(m->info, info, SN_CM_INFO_BYTES);
    return true;
}

static void parse_path(const struct sn_cm_path_bits *b, struct sn_cm_path *p)
{
    p->local_lid = sn_get16(b->local_lid);
    p->remote_lid = sn_get16(b->remote_lid);
    memcpy(p->local_gid, b->local_gid, 16);
    memcpy(p->remote_gid, b->remote_gid, 16);
    p->flow_label = sn_get32(b->flow_rate) >> 12;
    p->rate = sn_get32(b->flow_rate) & 63;
    p->tclass = b->tclass;
    p->hop_limit = b->hop_limit;
    p->sl = b->sl_subnet >> 4;
    p->subnet_local = b->sl_subnet >> 3 & 1;
    p->ack_timeout = b->timeout >> 3;
}

static bool parse_req(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_req_bits *b = data;
    uint32_t service = sn_get32(b->eecn_service), psn = sn_get32(b->psn_timeout);

    m->local_id = sn_get32(b->local_id);
    m->service_id = sn_get64(b->service_id);
    m->ca_guid = sn_get64(b->ca_guid);
    m->qkey = sn_get32(b->qkey);
    m->qpn = sn_get32(b->qpn_resources) >> 8;
    m->responder_resources = (uint8_t)sn_get32(b->qpn_resources);
    m->initiator_depth = (uint8_t)sn_get32(b->eecn_depth);
    m->remote_timeout = service >> 3 & TIMEOUT_MASK;
    m->transport = service >> 1 & 3;
    m->flow_control = service & 1;
    m->psn = psn >> 8;
    m->local_timeout = psn >> 3 & TIMEOUT_MASK;
    m->retry_count = psn & 7;
    m->pkey = sn_get16(b->pkey);
    m->mtu = b->mtu_rnr >> 4;
    m->rnr_retry_count = b->mtu_rnr & 7;
    m->max_cm_retries = b->retries_srq >> 4;
    m->srq = b->retries_srq >> 3 & 1;
    m->extended_transport = b->retries_srq & 7;
    parse_path(&b->primary, &m->primary);
    parse_path(&b->alternate, &m->alternate);
    take_private(m, b->private_data);
    return m->mtu >= 1 && m->mtu <= MTU_MAX && m->qpn > SN_GSI_QPN;
}

static bool parse_mra(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_mra_bits *b = data;
    take_pair(m, data);
    m->about = b->about >> 6;
    m->service_timeout = b->timeout >> 3;
    take_private(m, b->private_data);
    return m->about <= SN_CM_ABOUT_OTHER;
}

static bool parse_rej(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_rej_bits *b = data;
    take_pair(m, data);
    m->about = b->about >> 6;
    m->reason = sn_get16(b->reason);
    take_private(m, b->private_data);
    return m->about <= SN_CM_ABOUT_OTHER && take_info(m, b->info_length >> 1, b->info);
}

static bool parse_rep(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_rep_bits *b = data;
    take_pair(m, data);
    m->qkey = sn_get32(b->qkey);
    m->qpn = sn_get32(b->qpn) >> 8;
    m->psn = sn_get32(b->psn) >> 8;
    m->responder_resources = b->resources;
    m->initiator_depth = b->depth;
    m->target_ack_delay = b->delay_flow >> 3;
    m->failover = b->delay_flow >> 1 & 3;
    m->flow_control = b->delay_flow & 1;
    m->rnr_retry_count = b->rnr_srq >> 5;
    m->srq = b->rnr_srq >> 4 & 1;
    m->ca_guid = sn_get64(b->ca_guid);
    take_private(m, b->private_data);
    return m->qpn > SN_GSI_QPN;
}

static bool parse_rtu(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_pair_bits *b = data;
    take_pair(m, data);
    take_private(m, b->private_data);
    return true;
}

static bool parse_dreq(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_dreq_bits *b = data;
    take_pair(m, data);
    m->qpn = sn_get32(b->qpn) >> 8;
    take_private(m, b->private_data);
    return true;
}

static bool parse_lap(const void *data, struct sn_cm_msg *m)
{
    take_pair(m, data); /* it is refused: nothing else of it is looked at */
    return true;
}

static bool parse_apr(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_apr_bits *b = data;
    take_pair(m, data);
    m->status = b->status;
    take_private(m, b->private_data);
    return take_info(m, b->info_length, b->info);
}

static bool parse_sidr_req(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_sidr_req_bits *b = data;
    m->local_id = sn_get32(b->request_id);
    m->pkey = sn_get16(b->pkey);
    m->service_id = sn_get64(b->service_id);
    take_private(m, b->private_data);
    return true;
}

static bool parse_sidr_rep(const void *data, struct sn_cm_msg *m)
{
    const struct sn_cm_sidr_rep_bits *b = data;
    m->local_id = sn_get32(b->request_id);
    m->status = b->status;
    m->qpn = sn_get32(b->qpn) >> 8;
    m->service_id = sn_get64(b->service_id);
    m->qkey = sn_get32(b->qkey);
    take_private(m, b->private_data);
    return (m->status != SN_CM_SIDR_VALID || m->qpn > SN_GSI_QPN) && take_info(m, b->info_length, b->info);
}

static bool (*parser_of(uint16_t attribute))(const void *, struct sn_cm_msg *)
{
    switch (attribute) {
    case SN_CM_REQ:
        return parse_req;
    case SN_CM_MRA:
        return parse_mra;
    case SN_CM_REJ:
        return parse_rej;
    case SN_CM_REP:
        return parse_rep;
    case SN_CM_RTU:
    case SN_CM_DREP:
        return parse_rtu;
    case SN_CM_DREQ:
        return parse_dreq;
    case SN_CM_SIDR_REQ:
        return parse_sidr_req;
    case SN_CM_SIDR_REP:
        return parse_sidr_rep;
    case SN_CM_LAP:
        return parse_lap;
    case SN_CM_APR:
        return parse_apr;
    default:
        return NULL;
    }
}

enum sn_cm_verdict sn_cm_parse(const void *bytes, size_t length, struct sn_cm_msg *out)
{
    const struct sn_mad *mad = bytes;
    struct sn_cm_msg m = {0};

    if (length != SN_MAD_BYTES)
        return SN_CM_BAD_LENGTH;
    if (mad->hdr.base_version != SN_MAD_BASE_VERSION)
        return SN_CM_BAD_VERSION;
    if (mad->hdr.mgmt_class != SN_MAD_CLASS_CM)
        return SN_CM_OTHER_CLASS;
    if (mad->hdr.class_version != SN_MAD_CM_CLASS_VERSION)
        return SN_CM_BAD_VERSION;
    if (mad->hdr.method != SN_MAD_SEND)
        return SN_CM_BAD_METHOD;
    m.attribute = sn_get16(mad->hdr.attribute);
    m.transaction = sn_get64(mad->hdr.transaction);
    bool (*parse)(const void *, struct sn_cm_msg *) = parser_of(m.attribute);
    if (!parse)
        return SN_CM_BAD_ATTRIBUTE;
    if (!parse(mad->data, &m))
        return SN_CM_BAD_FIELD;
    *out = m;
    return SN_CM_OK;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static void put_private(const struct sn_cm_msg *m, uint8_t *data)
{
    memcpy(data, m->private_data, m->private_length);
}

static void put_pair(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_pair_bits *b = data;
    b->local_id = sn_put32(m->local_id);
    b->remote_id = sn_put32(m->remote_id);
}

static void build_path(const struct sn_cm_path *p, struct sn_cm_path_bits *b)
{
    b->local_lid = sn_put16(p->local_lid);
    b->remote_lid = sn_put16(p->remote_lid);
    memcpy(b->local_gid, p->local_gid, 16);
    memcpy(b->remote_gid, p->remote_gid, 16);
    b->flow_rate = sn_put32(p->flow_label << 12 | (p->rate & 63u));
    b->tclass = p->tclass;
    b->hop_limit = p->hop_limit;
    b->sl_subnet = (uint8_t)(p->sl << 4 | p->subnet_local << 3);
    b->timeout = (uint8_t)(p->ack_timeout << 3);
}

static void build_req(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_req_bits *b = data;
    b->local_id = sn_put32(m->local_id);
    b->service_id = sn_put64(m->service_id);
    b->ca_guid = sn_put64(m->ca_guid);
    b->qkey = sn_put32(m->qkey);
    b->qpn_resources = sn_put32(m->qpn << 8 | m->responder_resources);
    b->eecn_depth = sn_put32(m->initiator_depth);
    b->eecn_service = sn_put32((m->remote_timeout & 31u) << 3 | (m->transport & 3u) << 1 | m->flow_control);
    b->psn_timeout = sn_put32(m->psn << 8 | (m->local_timeout & 31u) << 3 | (m->retry_count & 7u));
    b->pkey = sn_put16(m->pkey);
    b->mtu_rnr = (uint8_t)(m->mtu << 4 | (m->rnr_retry_count & 7));
    b->retries_srq = (uint8_t)(m->max_cm_retries << 4 | m->srq << 3 | (m->extended_transport & 7));
    build_path(&m->primary, &b->primary);
    build_path(&m->alternate, &b->alternate);
    put_private(m, b->private_data);
}

static void build_mra(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_mra_bits *b = data;
    put_pair(m, data);
    b->about = (uint8_t)(m->about << 6);
    b->timeout = (uint8_t)(m->service_timeout << 3);
    put_private(m, b->private_data);
}

static void build_rej(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_rej_bits *b = data;
    put_pair(m, data);
    b->about = (uint8_t)(m->about << 6);
    b->info_length = (uint8_t)(m->info_length << 1);
    b->reason = sn_put16(m->reason);
    memcpy(b->info, m->info, sizeof(b->info));
    put_private(m, b->private_data);
}

static void build_rep(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_rep_bits *b = data;
    put_pair(m, data);
    b->qkey = sn_put32(m->qkey);
    b->qpn = sn_put32(m->qpn << 8);
    b->psn = sn_put32(m->psn << 8);
    b->resources = m->responder_resources;
    b->depth = m->initiator_depth;
    b->delay_flow = (uint8_t)(m->target_ack_delay << 3 | (m->failover & 3) << 1 | m->flow_control);
    b->rnr_srq = (uint8_t)((m->rnr_retry_count & 7) << 5 | m->srq << 4);
    b->ca_guid = sn_put64(m->ca_guid);
    put_private(m, b->private_data);
}

static void build_rtu(const struct sn_cm_msg *m, void *data)
{
    put_pair(m, data);
    put_private(m, ((struct sn_cm_pair_bits *)data)->private_data);
}

static void build_dreq(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_dreq_bits *b = data;
    put_pair(m, data);
    b->qpn = sn_put32(m->qpn << 8);
    put_private(m, b->private_data);
}

static void build_apr(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_apr_bits *b = data;
    put_pair(m, data);
    b->info_length = m->info_length;
    b->status = m->status;
    memcpy(b->info, m->info, sizeof(b->info));
    put_private(m, b->private_data);
}

static void build_sidr_req(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_sidr_req_bits *b = data;
    b->request_id = sn_put32(m->local_id);
    b->pkey = sn_put16(m->pkey);
    b->service_id = sn_put64(m->service_id);
    put_private(m, b->private_data);
}

static void build_sidr_rep(const struct sn_cm_msg *m, void *data)
{
    struct sn_cm_sidr_rep_bits *b = data;
    b->request_id = sn_put32(m->local_id);
    b->status = m->status;
    b->info_length = m->info_length;
    b->qpn = sn_put32(m->qpn << 8);
    b->service_id = sn_put64(m->service_id);
    b->qkey = sn_put32(m->qkey);
    memcpy(b->info, m->info, sizeof(b->info));
    put_private(m, b->private_data);
}

static void (*builder_of(uint16_t attribute))(const struct sn_cm_msg *, void *)
{
    switch (attribute) {
    case SN_CM_REQ:
        return build_req;
    case SN_CM_MRA:
        return build_mra;
    case SN_CM_REJ:
        return build_rej;
    case SN_CM_REP:
        return build_rep;
    case SN_CM_RTU:
    case SN_CM_DREP:
        return build_rtu;
    case SN_CM_DREQ:
        return build_dreq;
    case SN_CM_APR:
        return build_apr;
    case SN_CM_SIDR_REQ:
        return build_sidr_req;
    case SN_CM_SIDR_REP:
        return build_sidr_rep;
    default:
        return NULL;
    }
}

int sn_cm_build(const struct sn_cm_msg *m, struct sn_mad *out)
{
    void (*build)(const struct sn_cm_msg *, void *) = builder_of(m->attribute);

    if (!build || (int)m->private_length > sn_cm_private_room(m->attribute) || m->info_length > SN_CM_INFO_BYTES)
        return -EINVAL;
    memset(out, 0, sizeof(*out));
    out->hdr.base_version = SN_MAD_BASE_VERSION;
    out->hdr.mgmt_class = SN_MAD_CLASS_CM;
    out->hdr.class_version = SN_MAD_CM_CLASS_VERSION;
    out->hdr.method = SN_MAD_SEND;
    out->hdr.transaction = sn_put64(m->transaction);
    out->hdr.attribute = sn_put16(m->attribute);
    build(m, out->data);
    return 0;
}

/* ---- IP addresses -------------------------------------------------------------------------------------------------- */

static void take_ip(unsigned version, const uint8_t from[16], uint8_t to[16])
{
    memset(to, 0, 16);
    if (version == 4)
        memcpy(to, from + 12, 4);
    else
        memcpy(to, from, 16);
}

bool sn_cm_ip_parse(const struct sn_cm_msg *m, struct sn_cm_ip *out)
{
    struct sn_cm_ip_bits b;

    if ((m->service_id & SN_CM_IP_SERVICE_MASK) != SN_CM_IP_SERVICE(0, 0) || m->private_length < sizeof(b))
        return false;
    memcpy(&b, m->private_data, sizeof(b));
    unsigned version = b.ip_version >> 4;
    if (b.version >> 4 != 0 || (version != 4 && version != 6))
        return false;
    out->version = (uint8_t)version;
    out->port = sn_get16(b.port);
    take_ip(version, b.source, out->source);
    take_ip(version, b.destination, out->destination);
    return true;
}

void sn_cm_ip_build(const struct sn_cm_ip *ip, uint8_t out[SN_CM_IP_BYTES])
{
    struct sn_cm_ip_bits b = {.ip_version = (uint8_t)(ip->version << 4), .port = sn_put16(ip->port)};
    unsigned skip = ip->version == 4 ? 12 : 0;
    memcpy(b.source + skip, ip->source, 16 - skip);
    memcpy(b.destination + skip, ip->destination, 16 - skip);
    memcpy(out, &b, sizeof(b));
}
