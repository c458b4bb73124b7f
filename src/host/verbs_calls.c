/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs calls of <gdaki/verbs.h>, each handed to the backend that its object belongs to. */
#define GDAKI_VERBS_NO_RENAME
#include "gdaki/verbs.h"

#include <errno.h>
#include <string.h>

#include "host/hooks.h"
#include "host/log.h"
#include "host/nic_seam.h"

/* Devices come from the chosen backend; contexts and what hangs on them from whoever opened them. */
static const struct gdaki_nic_ops *of(const struct ibv_context *context)
{
    const struct gdaki_nic_ops *nic = context != NULL ? nic_of_context(context) : nic_current(NULL);

    if (nic == NULL)
        errno = ENOSYS;
    return nic;
}

struct ibv_device **gdaki_ibv_get_device_list(int *num_devices)
{
    const struct gdaki_nic_ops *nic = nic_current(NULL);

    hooks_connect();
    if (nic == NULL) {
        errno = ENOSYS;
        if (num_devices != NULL)
            *num_devices = 0;
        return NULL;
    }
    return nic->ibv_get_device_list(num_devices);
}

void gdaki_ibv_free_device_list(struct ibv_device **list)
{
    const struct gdaki_nic_ops *nic = nic_current(NULL);

    if (nic != NULL && list != NULL)
        nic->ibv_free_device_list(list);
}

const char *gdaki_ibv_get_device_name(struct ibv_device *device)
{
    const struct gdaki_nic_ops *nic = nic_current(NULL);

    return nic != NULL && device != NULL ? nic->ibv_get_device_name(device) : NULL;
}

struct ibv_context *gdaki_ibv_open_device(struct ibv_device *device)
{
    const struct gdaki_nic_ops *nic = nic_current(NULL);

    if (nic == NULL || device == NULL) {
        errno = nic == NULL ? ENOSYS : EINVAL;
        return NULL;
    }
    return nic->ibv_open_device(device);
}

/* X_OF(object, its context): errno EINVAL and `failed` for a NULL object. */
#define WITH(object, context_of, failed)                                                                               \
    const struct gdaki_nic_ops *nic;                                                                                   \
    if ((object) == NULL) {                                                                                            \
        errno = EINVAL;                                                                                                \
        return failed;                                                                                                 \
    }                                                                                                                  \
    nic = of(context_of);                                                                                              \
    if (nic == NULL)                                                                                                   \
        return failed;

/* The same for a function that older backends lack. */
#define WITH_OPTIONAL(object, context_of, failed, function)                                                            \
    WITH(object, context_of, failed)                                                                                   \
    if (nic->function == NULL) {                                                                                       \
        errno = EOPNOTSUPP;                                                                                            \
        return failed;                                                                                                 \
    }

int gdaki_ibv_close_device(struct ibv_context *context)
{
    WITH(context, context, EINVAL)
    return nic->ibv_close_device(context);
}

int gdaki_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
    WITH(context, context, EINVAL)
    return nic->ibv_query_device(context, device_attr);
}

/* The exported function fills the old, shorter struct; the long one goes through the context's table. */
int gdaki_ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr)
{
    struct verbs_context *extended;

    WITH(context, context, EINVAL)
    memset(port_attr, 0, sizeof(*port_attr));
    extended = verbs_get_ctx_op(context, query_port);
    if (extended != NULL)
        return extended->query_port(context, port_num, port_attr, sizeof(*port_attr));
    return (nic->ibv_query_port)(context, port_num, (struct _compat_ibv_port_attr *)port_attr);
}

int gdaki_ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
    WITH(context, context, -1)
    return nic->ibv_query_gid(context, port_num, index, gid);
}

struct ibv_pd *gdaki_ibv_alloc_pd(struct ibv_context *context)
{
    WITH(context, context, NULL)
    return nic->ibv_alloc_pd(context);
}

int gdaki_ibv_dealloc_pd(struct ibv_pd *pd)
{
    WITH(pd, pd->context, EINVAL)
    return nic->ibv_dealloc_pd(pd);
}

/* Optional access bits (relaxed ordering) need the newer call, which ignores what it does not know. */
struct ibv_mr *gdaki_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    WITH(pd, pd->context, NULL)
    if ((access & IBV_ACCESS_OPTIONAL_RANGE) != 0 && nic->ibv_reg_mr_iova2 != NULL)
        return nic->ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
    return (nic->ibv_reg_mr)(pd, addr, length, access & ~(int)IBV_ACCESS_OPTIONAL_RANGE);
}

struct ibv_mr *gdaki_ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
    WITH_OPTIONAL(pd, pd->context, NULL, ibv_reg_mr_iova2)
    return nic->ibv_reg_mr_iova2(pd, addr, length, iova, access);
}

struct ibv_mr *gdaki_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
    WITH_OPTIONAL(pd, pd->context, NULL, ibv_reg_dmabuf_mr)
    return nic->ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

int gdaki_ibv_dereg_mr(struct ibv_mr *mr)
{
    WITH(mr, mr->context, EINVAL)
    return nic->ibv_dereg_mr(mr);
}

struct ibv_ah *gdaki_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    WITH(pd, pd->context, NULL)
    return nic->ibv_create_ah(pd, attr);
}

int gdaki_ibv_destroy_ah(struct ibv_ah *ah)
{
    WITH(ah, ah->context, EINVAL)
    return nic->ibv_destroy_ah(ah);
}

struct ibv_cq *gdaki_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                                   int comp_vector)
{
    WITH_OPTIONAL(context, context, NULL, ibv_create_cq)
    return nic->ibv_create_cq(context, cqe, cq_context, channel, comp_vector);
}

int gdaki_ibv_destroy_cq(struct ibv_cq *cq)
{
    WITH_OPTIONAL(cq, cq->context, EINVAL, ibv_destroy_cq)
    return nic->ibv_destroy_cq(cq);
}

struct ibv_srq *gdaki_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    WITH_OPTIONAL(pd, pd->context, NULL, ibv_create_srq)
    return nic->ibv_create_srq(pd, attr);
}

int gdaki_ibv_destroy_srq(struct ibv_srq *srq)
{
    WITH_OPTIONAL(srq, srq->context, EINVAL, ibv_destroy_srq)
    return nic->ibv_destroy_srq(srq);
}

struct ibv_qp *gdaki_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    WITH_OPTIONAL(pd, pd->context, NULL, ibv_create_qp)
    return nic->ibv_create_qp(pd, attr);
}

int gdaki_ibv_destroy_qp(struct ibv_qp *qp)
{
    WITH_OPTIONAL(qp, qp->context, EINVAL, ibv_destroy_qp)
    return nic->ibv_destroy_qp(qp);
}

int gdaki_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
    WITH_OPTIONAL(qp, qp->context, EINVAL, ibv_modify_qp)
    return nic->ibv_modify_qp(qp, attr, attr_mask);
}

int gdaki_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
    WITH_OPTIONAL(qp, qp->context, EINVAL, ibv_query_qp)
    return nic->ibv_query_qp(qp, attr, attr_mask, init_attr);
}
