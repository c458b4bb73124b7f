/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of device and port. */
#include "softnic/verbs/query.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "softnic/data/objects.h"
#include "softnic/prm/parse.h"
#include "softnic/verbs/context.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

enum {
    VENDOR_MELLANOX = 0x02c9, /* clients decide by it whether mlx5 calls work here */
    PART_CONNECTX7 = 4129,    /* clients that know parts by number take their ConnectX-7 way: softnic has what that needs */
    MAX_QP = 60000, /* of a process; transport/qp.c */
    NIC_CLOCK_KHZ = 1000000, /* times in CQEs are CLOCK_MONOTONIC in nanoseconds */
};

void sv_device_attr(const struct sv_device *d, struct ibv_device_attr *a)
{
    memset(a, 0, sizeof(*a));
    strcpy(a->fw_ver, "3.0.0");
    a->node_guid = a->sys_image_guid = htobe64(d->identity.guid);
    a->max_mr_size = UINT64_MAX;
    a->page_size_cap = ~(uint64_t)0xfff;
    a->vendor_id = VENDOR_MELLANOX;
    a->vendor_part_id = PART_CONNECTX7;
    a->max_qp = MAX_QP;
    a->max_qp_wr = 1 << PRM_MAX_LOG_QP_SIZE;
    a->max_sge = a->max_sge_rd = SV_MAX_SGE;
    a->max_cq = MAX_QP * 2;
    a->max_cqe = (1 << PRM_MAX_LOG_CQ_SIZE) - 1;
    a->max_mr = 1 << 20;
    a->max_pd = 1 << 16;
    a->max_mw = 1 << 20;
    a->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                          IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    a->max_qp_rd_atom = a->max_qp_init_rd_atom = 1 << PRM_MAX_LOG_RD_ATOMIC;
    a->max_res_rd_atom = a->max_qp_rd_atom * MAX_QP;
    a->atomic_cap = IBV_ATOMIC_HCA;
    a->max_ah = 1 << 20;
    a->max_srq = MAX_QP;
    a->max_srq_wr = (1 << PRM_MAX_LOG_SRQ_SIZE) - 1;
    a->max_srq_sge = SV_MAX_SGE;
    a->max_pkeys = 1;
    a->local_ca_ack_delay = 16;
    a->phys_port_cnt = 1;
}

int softnic_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_device");
    if (!ctx || !attr)
        return ctx ? sv_refuse(EINVAL, "ibv_query_device: attr is NULL") : errno;
    sv_device_attr(ctx->device, attr);
    return 0;
}

int sv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_device_ex");
    struct ibv_device_attr_ex a = {0};
    if (!ctx)
        return errno;
    if ((input && input->comp_mask) || !attr || attr_size < sizeof(a.orig_attr))
        return sv_refuse(EINVAL, "ibv_query_device_ex: comp_mask = 0x%x, size %zu", input ? input->comp_mask : 0,
                         attr_size);
    sv_device_attr(ctx->device, &a.orig_attr);
    a.phys_port_cnt_ex = 1; /* everything else in it is a feature that is not modelled: zero says so */
    a.device_cap_flags_ex = a.orig_attr.device_cap_flags;
    a.completion_timestamp_mask = UINT64_MAX;
    a.hca_core_clock = NIC_CLOCK_KHZ;
    memset(attr, 0, attr_size);
    memcpy(attr, &a, attr_size < sizeof(a) ? attr_size : sizeof(a));
    return 0;
}

/* The clock of the times in CQEs; as a ConnectX, in cycles, which here are nanoseconds. */
int sv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    struct timespec now;
    if (!sv_context_check(context, "ibv_query_rt_values_ex"))
        return errno;
    if (!values || values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
        return sv_refuse(EINVAL, "ibv_query_rt_values_ex: comp_mask = 0x%x (1: raw clock)", values ? values->comp_mask : 0);
    if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        values->raw_clock = (struct timespec){.tv_nsec = now.tv_sec * 1000000000 + now.tv_nsec};
    }
    return 0;
}

/* A fault plan may hold the link down. */
static void port_attr_now(struct sv_context *ctx, struct ibv_port_attr *a)
{
    sv_port_attr(ctx->device, a);
    sn_port_lock(ctx->port);
    bool up = sn_nic_link_up(ctx->nic);
    sn_port_unlock(ctx->port);
    if (up)
        return;
    a->state = IBV_PORT_DOWN;
    a->phys_state = 2; /* polling */
}

/* The nominal link: 4 lanes of 25 Gbit/s (here in units of 100 Mbit/s), for clients that rank ports; nothing is throttled. */
enum { LANES = 4, LANE_SPEED = 250, WIDTH_4X = 2, SPEED_25_GBIT = 32 };

static int check_port(const char *what, uint32_t port)
{
    return port == 1 ? 0 : sv_refuse(EINVAL, "%s: port_num = %u, the device has port 1", what, port);
}

void sv_port_attr(const struct sv_device *d, struct ibv_port_attr *a)
{
    memset(a, 0, sizeof(*a));
    a->state = IBV_PORT_ACTIVE;
    a->max_mtu = IBV_MTU_4096;
    a->active_mtu = (enum ibv_mtu)d->path_mtu;
    a->gid_tbl_len = (int)d->identity.gid_count;
    a->max_msg_sz = 1u << 30;
    a->pkey_tbl_len = 1;
    a->lid = d->identity.lid;
    a->sm_lid = d->link == SN_LINK_INFINIBAND ? 1 : 0;
    a->max_vl_num = 1;
    a->active_width = WIDTH_4X;
    a->active_speed = SPEED_25_GBIT;
    a->phys_state = 5;    /* link up */
    a->link_layer = d->link == SN_LINK_ETHERNET ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
}

/* Callers of the function (not of the macro) may hold the old, shorter structure: nothing behind `flags` is written. */
int(softnic_ibv_query_port)(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_port");
    if (!ctx)
        return errno;
    if (!port_attr || check_port("ibv_query_port", port_num))
        return EINVAL;
    struct ibv_port_attr a;
    port_attr_now(ctx, &a);
    memcpy(port_attr, &a, offsetof(struct ibv_port_attr, flags) + sizeof(a.flags));
    return 0;
}

int sv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_size)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_port");
    if (!ctx)
        return errno;
    if (!attr || check_port("ibv_query_port", port_num))
        return EINVAL;
    struct ibv_port_attr a;
    port_attr_now(ctx, &a);
    memset(attr, 0, attr_size);
    memcpy(attr, &a, attr_size < sizeof(a) ? attr_size : sizeof(a));
    return 0;
}

/* The bandwidth that active_width and active_speed name, in units of 100 Mb/s; a port that is down has none. */
int softnic_ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
    static const char what[] = "ibv_query_port_speed";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx)
        return errno;
    if (!port_speed || check_port(what, port_num))
        return EINVAL;
    struct ibv_port_attr a;
    port_attr_now(ctx, &a);
    *port_speed = a.state == IBV_PORT_ACTIVE ? LANES * LANE_SPEED : 0;
    return 0;
}

int softnic_ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_gid");
    if (!ctx)
        return -1; /* as rdma-core: -1 with errno */
    if (!gid || check_port("ibv_query_gid", port_num))
        return -1;
    if (index < 0 || (unsigned)index >= ctx->device->identity.gid_count) {
        sv_refuse_quietly(EINVAL, "ibv_query_gid: index = %d, the table has %u entries", index,
                          ctx->device->identity.gid_count); /* clients walk the table to its end */
        return -1;
    }
    memcpy(gid->raw, ctx->device->identity.gid[index], 16);
    return 0;
}

static struct ibv_gid_entry gid_entry(const struct sv_context *ctx, uint32_t index)
{
    struct ibv_gid_entry e = {.gid_index = index,
                              .port_num = 1,
                              .gid_type =
                                  ctx->device->link == SN_LINK_ETHERNET ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB};
    memcpy(e.gid.raw, ctx->device->identity.gid[index], 16);
    return e;
}

int softnic__ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
                              struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_gid_ex");
    if (!ctx)
        return errno;
    if (!entry || flags || entry_size < sizeof(*entry) || check_port("ibv_query_gid_ex", port_num))
        return EINVAL;
    if (gid_index >= ctx->device->identity.gid_count)
        return sv_refuse_quietly(ENODATA, "ibv_query_gid_ex: index = %u, the table has %u entries", gid_index,
                                 ctx->device->identity.gid_count);
    *entry = gid_entry(ctx, gid_index);
    return 0;
}

ssize_t softnic__ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
                                     uint32_t flags, size_t entry_size)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_gid_table");
    if (!ctx)
        return -errno;
    unsigned count = ctx->device->identity.gid_count;
    if (!entries || flags || entry_size < sizeof(*entries) || max_entries < count)
        return -sv_refuse(EINVAL, "ibv_query_gid_table: flags = 0x%x, room for %zu of %u entries", flags, max_entries,
                          count);
    for (unsigned i = 0; i < count; i++) {
        struct ibv_gid_entry e = gid_entry(ctx, i);
        memcpy((uint8_t *)entries + i * entry_size, &e, sizeof(e));
    }
    return (ssize_t)count;
}

int softnic_ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
    if (!sv_context_check(context, "ibv_query_pkey"))
        return -1;
    if (!pkey || index != 0 || check_port("ibv_query_pkey", port_num)) {
        sv_refuse_quietly(EINVAL, "ibv_query_pkey: index = %d, the table has 1 entry", index);
        return -1;
    }
    *pkey = htobe16(0xffff);
    return 0;
}

int softnic_ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
    if (!sv_context_check(context, "ibv_get_pkey_index") || check_port("ibv_get_pkey_index", port_num))
        return -1;
    return pkey == htobe16(0xffff) ? 0 : -1;
}
