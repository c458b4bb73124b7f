/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that need no queue: files below /sys, types of addresses, what a fork needs, and what order data arrives in. */
#include "softnic/verbs/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/verbs/context.h"
#include "softnic/verbs/log.h"

const char *softnic_ibv_get_sysfs_path(void)
{
    const char *other = secure_getenv("SYSFS_PATH"); /* a convention of libsysfs that rdma-core keeps */
    return other && *other ? other : "/sys";
}

/* First line of a small file, without its newline. Bytes, or -1. */
int softnic_ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
    char path[4096];
    if (!size || snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buf, size);
    close(fd);
    if (n < 0)
        return -1;
    if (n > 0 && buf[n - 1] == '\n')
        n--;
    else if ((size_t)n == size)
        return -1; /* no room for the end of the string */
    buf[n] = '\0';
    return (int)n;
}

int softnic_ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, unsigned *type)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_query_gid_type");
    if (!ctx)
        return -1;
    if (!type || port_num != 1 || index >= ctx->device->identity.gid_count) {
        sv_refuse_quietly(EINVAL, "ibv_query_gid_type: port_num = %u, index = %u", port_num, index);
        return -1;
    }
    *type = ctx->device->link == SN_LINK_ETHERNET ? SV_GID_TYPE_ROCE_V2 : SV_GID_TYPE_IB_ROCE_V1;
    return 0;
}

int softnic_ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
                                        uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
    static const char what[] = "ibv_resolve_eth_l2_from_gid";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx)
        return errno;
    if (!attr || !eth_mac || !vid)
        return sv_refuse(EINVAL, "%s: an argument is NULL", what);
    if (ctx->device->link != SN_LINK_ETHERNET)
        return sv_refuse(EOPNOTSUPP, "%s: the port's link layer is InfiniBand", what);
    if (sv_identity_mac_of_gid(attr->grh.dgid.raw, eth_mac))
        return sv_refuse(EHOSTUNREACH, "%s: no MAC is known for dgid %016llx:%016llx", what,
                         (unsigned long long)be64toh(attr->grh.dgid.global.subnet_prefix),
                         (unsigned long long)be64toh(attr->grh.dgid.global.interface_id));
    *vid = 0xffff; /* none: frames are not tagged */
    return 0;
}

/* Memory is not pinned: a parent may fork as it likes. */
int softnic_ibv_dontfork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}

int softnic_ibv_dofork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}

/* Bytes of a message may appear in any order; a completion says that they are all there. */
int softnic_ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    (void)qp, (void)op, (void)flags;
    return 0;
}

/* Drivers of before rdma-core 17 say who they are with it; none is loaded. */
void softnic_ibv_register_driver(const char *name, void *init)
{
    (void)name, (void)init;
}
