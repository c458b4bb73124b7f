/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libefa.so.1 for programs that name it at link time (perftest): no device of softnic is Amazon's, and each call says
 * so the way the real library does for a device of somebody else.
 */
#include <errno.h>
#include <infiniband/efadv.h>
#include <stddef.h>

#include "gdaki/softnic.h"

static int refuse(const char *name)
{
    return softnic_refuse(name, "softnic is no EFA device");
}

#pragma GCC visibility push(default)

struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, uint32_t driver_qp_type)
{
    (void)pd, (void)attr, (void)driver_qp_type;
    refuse("efadv_create_driver_qp");
    return NULL;
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr_ex,
                                  struct efadv_qp_init_attr *efa_attr, uint32_t inlen)
{
    (void)context, (void)attr_ex, (void)efa_attr, (void)inlen;
    refuse("efadv_create_qp_ex");
    return NULL;
}

int efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr, uint32_t inlen)
{
    (void)context, (void)attr, (void)inlen;
    return refuse("efadv_query_device");
}

int efadv_query_ah(struct ibv_ah *ah, struct efadv_ah_attr *attr, uint32_t inlen)
{
    (void)ah, (void)attr, (void)inlen;
    return refuse("efadv_query_ah");
}

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr_ex,
                                  struct efadv_cq_init_attr *efa_attr, uint32_t inlen)
{
    (void)context, (void)attr_ex, (void)efa_attr, (void)inlen;
    refuse("efadv_create_cq");
    return NULL;
}

struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq)
{
    (void)cq;
    refuse("efadv_cq_from_ibv_cq_ex");
    return NULL;
}

#pragma GCC visibility pop
