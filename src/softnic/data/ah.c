/* SPDX-License-Identifier: Apache-2.0 */
/* Address handles: their attributes, where these lead, and how a completion's sender is answered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/roce.h"
#include "format/wqe.h"
#include "softnic/data/path.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

static int resolve_mac(const struct sv_context *ctx, const char *what, const union ibv_gid *gid, uint8_t mac[6])
{
    if (ctx->device->link != SN_LINK_ETHERNET || ctx->device->finds_macs)
        return 0;
    if (!sv_identity_mac_of_gid(gid->raw, mac))
        return 0;
    return sv_refuse(EHOSTUNREACH, "%s: no MAC is known for dgid %016llx:%016llx", what,
                     (unsigned long long)be64toh(gid->global.subnet_prefix),
                     (unsigned long long)be64toh(gid->global.interface_id));
}

static int check(const struct sv_context *ctx, const char *what, const struct ibv_ah_attr *attr)
{
    const struct sn_nic_config *config = sn_nic_get_config(ctx->nic);
    if (attr->port_num > 1) /* 0: not filled in by clients that address a connection, whose port is known */
        return sv_refuse(EINVAL, "%s: port_num = %u, the device has port 1", what, attr->port_num);
    if (config->link == SN_LINK_ETHERNET && !attr->is_global)
        return sv_refuse(EINVAL, "%s: is_global = 0, but Ethernet ports are reached by GID only", what);
    if (attr->is_global && attr->grh.sgid_index >= config->gid_count)
        return sv_refuse(EINVAL, "%s: sgid_index = %u, the table has %u entries", what, attr->grh.sgid_index,
                         config->gid_count);
    return 0;
}

int sv_path_of_ah(const struct sv_context *ctx, const char *what, const struct ibv_ah_attr *attr, struct sn_path *out)
{
    int rc = check(ctx, what, attr);
    if (rc)
        return rc;
    *out = (struct sn_path){.sl = attr->sl & 0xf, .stat_rate = attr->static_rate, .rlid = attr->dlid};
    if (!attr->is_global) {
        if (sv_identity_gid_of_lid(attr->dlid, out->dgid))
            return sv_refuse(EHOSTUNREACH, "%s: dlid = 0x%x: no device of this host has it", what, attr->dlid);
        return 0;
    }
    out->grh = true;
    out->sgid_index = attr->grh.sgid_index;
    out->hop_limit = attr->grh.hop_limit;
    out->traffic_class = attr->grh.traffic_class;
    out->flow_label = attr->grh.flow_label & 0xfffff;
    memcpy(out->dgid, attr->grh.dgid.raw, 16);
    return resolve_mac(ctx, what, &attr->grh.dgid, out->rmac);
}

/*
 * The address vector as a ConnectX has it. Without a GRH (InfiniBand) the device would go by the LID; the engine goes by
 * GID, so that of the LID's owner is there, too.
 */
static int fill_av(const struct sv_context *ctx, const struct ibv_ah_attr *attr, struct mlx5_wqe_av *av)
{
    struct sn_path path;
    int rc = sv_path_of_ah(ctx, "ibv_create_ah", attr, &path);
    if (rc)
        return rc;
    av->stat_rate_sl = (uint8_t)(path.stat_rate << 4 | path.sl);
    if (ctx->device->link == SN_LINK_INFINIBAND)
        av->rlid = htobe16(path.rlid); /* on Ethernet these bits are the UDP source port; 0 leaves it to the wire */
    memcpy(av->rgid, path.dgid, 16);
    memcpy(av->rmac, path.rmac, 6);
    if (!path.grh)
        return 0;
    av->tclass = path.traffic_class;
    av->hop_limit = path.hop_limit;
    av->grh_gid_fl = htobe32(SN_AV_GRH | (uint32_t)path.sgid_index << 20 | path.flow_label);
    return 0;
}

struct ibv_ah *softnic_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    if (!pd || !attr) {
        sv_refuse(EINVAL, "ibv_create_ah: pd = %p, attr = %p", (void *)pd, (void *)attr);
        return NULL;
    }
    struct sv_context *ctx = sv_context_check(pd->context, "ibv_create_ah");
    if (ctx && !attr->port_num) {
        sv_refuse(EINVAL, "ibv_create_ah: port_num = 0, the device has port 1");
        return NULL;
    }
    struct sv_ah *ah = ctx ? calloc(1, sizeof(*ah)) : NULL;
    if (!ah)
        return NULL;
    int rc = fill_av(ctx, attr, &ah->av);
    if (rc) {
        free(ah);
        errno = rc;
        return NULL;
    }
    ah->ibv.context = pd->context;
    ah->ibv.pd = pd;
    sn_port_lock(ctx->port);
    sv_object_link(ctx, &ah->object, SV_AH);
    sn_port_unlock(ctx->port);
    return &ah->ibv;
}

int softnic_ibv_destroy_ah(struct ibv_ah *ibv)
{
    if (!ibv)
        return sv_refuse(EINVAL, "ibv_destroy_ah: ah is NULL");
    struct sv_context *ctx = sv_context_check(ibv->context, "ibv_destroy_ah");
    if (!ctx)
        return errno;
    struct sv_ah *ah = sv_container(ibv, struct sv_ah, ibv);
    sn_port_lock(ctx->port);
    sv_object_unlink(&ah->object);
    sn_port_unlock(ctx->port);
    free(ah);
    return 0;
}

/* ---- an answer to where a datagram came from ----------------------------------------------------------------------- */

static int gid_index(const struct sv_context *ctx, const uint8_t gid[16])
{
    const struct sv_identity *id = &ctx->device->identity;
    for (unsigned i = 0; i < id->gid_count; i++)
        if (!memcmp(id->gid[i], gid, 16))
            return (int)i;
    return -1;
}

/* The network header before the payload: IPv6's layout, or an IPv4 header in its last 20 bytes (A17.4.5). */
static void read_header(const struct ibv_grh *grh, uint8_t sgid[16], uint8_t dgid[16], struct ibv_global_route *out)
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const struct sn_ipv4 *ip = (const struct sn_ipv4 *)(const void *)((const uint8_t *)grh + 20);
    uint32_t word = be32toh(grh->version_tclass_flow);

    if (word >> 28 == 6) {
        memcpy(sgid, grh->sgid.raw, 16);
        memcpy(dgid, grh->dgid.raw, 16);
        out->traffic_class = (uint8_t)(word >> 20);
        out->flow_label = word & 0xfffff;
        return;
    }
    memcpy(sgid, prefix, 12);
    memcpy(sgid + 12, ip->src, 4);
    memcpy(dgid, prefix, 12);
    memcpy(dgid + 12, ip->dst, 4);
    out->traffic_class = ip->tos;
}

int softnic_ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
                                struct ibv_ah_attr *attr)
{
    static const char what[] = "ibv_init_ah_from_wc";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx)
        return errno;
    if (!wc || !attr || port_num != 1 || (wc->wc_flags & IBV_WC_GRH && !grh))
        return sv_refuse(EINVAL, "%s: port_num = %u, wc = %p, grh = %p", what, port_num, (void *)wc, (void *)grh);
    memset(attr, 0, sizeof(*attr));
    attr->dlid = wc->slid;
    attr->sl = wc->sl;
    attr->src_path_bits = wc->dlid_path_bits;
    attr->port_num = port_num;
    if (!(wc->wc_flags & IBV_WC_GRH))
        return 0;
    uint8_t dgid[16];
    attr->is_global = 1;
    read_header(grh, attr->grh.dgid.raw, dgid, &attr->grh); /* its source is where the answer goes */
    attr->grh.hop_limit = 0xff;
    int index = gid_index(ctx, dgid);
    if (index < 0)
        return sv_refuse(EINVAL, "%s: the header's destination is no GID of this port", what);
    attr->grh.sgid_index = (uint8_t)index;
    return 0;
}

struct ibv_ah *softnic_ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
    struct ibv_ah_attr attr;
    if (!pd) {
        sv_refuse(EINVAL, "ibv_create_ah_from_wc: pd is NULL");
        return NULL;
    }
    int rc = softnic_ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr);
    if (rc) {
        errno = rc;
        return NULL;
    }
    return softnic_ibv_create_ah(pd, &attr);
}
