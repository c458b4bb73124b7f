/* SPDX-License-Identifier: Apache-2.0 */
/* What mlx5dv says of device and port, and the registrations that only it has. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "softnic/dv/dv.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

int softnic_mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *attrs)
{
    struct sv_context *ctx = sv_context_check(context, "mlx5dv_query_device");
    if (!ctx)
        return errno;
    if (!attrs)
        return sv_refuse(EINVAL, "mlx5dv_query_device: attrs is NULL");
    uint64_t asked = attrs->comp_mask;
    attrs->version = 0;
    attrs->flags = MLX5DV_CONTEXT_FLAGS_CQE_V1;
    attrs->comp_mask = 0; /* parts that stay out of it are features that there are not */
    if (asked & MLX5DV_CONTEXT_MASK_DYN_BFREGS) {
        attrs->max_dynamic_bfregs = 4096;
        attrs->comp_mask |= MLX5DV_CONTEXT_MASK_DYN_BFREGS;
    }
    if (asked & MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE) {
        attrs->max_clock_info_update_nsec = UINT64_MAX / 2; /* timestamps are nanoseconds: nothing drifts */
        attrs->comp_mask |= MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE;
    }
    if (asked & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS) {
        attrs->num_lag_ports = 1;
        attrs->comp_mask |= MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS;
    }
    return 0;
}

/* The device's clock is CLOCK_MONOTONIC in nanoseconds; what it is translated to is the time of day. */
int softnic_mlx5dv_get_clock_info(struct ibv_context *context, struct mlx5dv_clock_info *info)
{
    struct sv_context *ctx = sv_context_check(context, "mlx5dv_get_clock_info");
    struct timespec cycles, day;
    if (!ctx)
        return errno;
    if (!info)
        return sv_refuse(EINVAL, "mlx5dv_get_clock_info: clock_info is NULL");
    clock_gettime(CLOCK_MONOTONIC, &cycles);
    clock_gettime(CLOCK_REALTIME, &day);
    *info = (struct mlx5dv_clock_info){.nsec = (uint64_t)day.tv_sec * 1000000000 + (uint64_t)day.tv_nsec,
                                       .last_cycles = (uint64_t)cycles.tv_sec * 1000000000 + (uint64_t)cycles.tv_nsec,
                                       .mult = 1,
                                       .mask = UINT64_MAX};
    return 0;
}

int softnic_mlx5dv_set_context_attr(struct ibv_context *context, enum mlx5dv_set_ctx_attr_type type, void *attr)
{
    (void)attr;
    if (!sv_context_check(context, "mlx5dv_set_context_attr"))
        return errno;
    return sv_refuse(EOPNOTSUPP, "mlx5dv_set_context_attr: type = %d is not modelled (a parent domain can have an allocator)",
                     (int)type);
}

/* Vports and steering of an embedded switch: there is none, and no flag says that anything is filled. */
int softnic__mlx5dv_query_port(struct ibv_context *context, uint32_t port_num, struct mlx5dv_port *info, size_t info_len)
{
    if (!sv_context_check(context, "mlx5dv_query_port"))
        return errno;
    if (port_num != 1 || !info || info_len < sizeof(info->flags))
        return sv_refuse(EINVAL, "mlx5dv_query_port: port_num = %u, %zu bytes", port_num, info_len);
    memset(info, 0, info_len);
    return 0;
}

/* A second way into the device, past a switch: not here. Clients take ENODEV for "one device, the one you have". */
int softnic_mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *buf, size_t buf_len)
{
    (void)buf, (void)buf_len;
    if (!sv_context_check(context, "mlx5dv_get_data_direct_sysfs_path"))
        return errno;
    return sv_refuse_quietly(ENODEV, "mlx5dv_get_data_direct_sysfs_path: no data-direct device");
}

struct ibv_mr *softnic_mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                            int access, int mlx5_access)
{
    if (mlx5_access) {
        sv_refuse(EOPNOTSUPP, "mlx5dv_reg_dmabuf_mr: mlx5_access = 0x%x is not modelled (1: data direct)", mlx5_access);
        return NULL;
    }
    return softnic_ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}
