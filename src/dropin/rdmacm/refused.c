/* SPDX-License-Identifier: Apache-2.0 */
/* What is not modelled and says so, and the names of events. */
#include <errno.h>

#include "cma.h"

static int refuse(const char *why)
{
    return cma_result(-softnic_cm_refuse(EOPNOTSUPP, why));
}

CMA_API int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
    (void)id, (void)addr, (void)context;
    return refuse("rdma_join_multicast: multicast is not modelled");
}

CMA_API int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
    (void)id, (void)attr, (void)context;
    return refuse("rdma_join_multicast_ex: multicast is not modelled");
}

CMA_API int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
    (void)id, (void)addr;
    return cma_result(-EADDRNOTAVAIL); /* nothing has been joined */
}

CMA_API int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
    (void)id, (void)ece;
    return refuse("rdma_set_local_ece: enhanced connection establishment is not modelled");
}

CMA_API int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
    (void)id, (void)ece;
    return refuse("rdma_get_remote_ece: enhanced connection establishment is not modelled");
}

CMA_API int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
    (void)id, (void)private_data, (void)private_data_len;
    return refuse("rdma_reject_ece: enhanced connection establishment is not modelled");
}

CMA_API const char *rdma_event_str(enum rdma_cm_event_type event)
{
#define NAME(e) [e] = #e
    static const char *const names[] = {
        NAME(RDMA_CM_EVENT_ADDR_RESOLVED),   NAME(RDMA_CM_EVENT_ADDR_ERROR),       NAME(RDMA_CM_EVENT_ROUTE_RESOLVED),
        NAME(RDMA_CM_EVENT_ROUTE_ERROR),     NAME(RDMA_CM_EVENT_CONNECT_REQUEST),  NAME(RDMA_CM_EVENT_CONNECT_RESPONSE),
        NAME(RDMA_CM_EVENT_CONNECT_ERROR),   NAME(RDMA_CM_EVENT_UNREACHABLE),      NAME(RDMA_CM_EVENT_REJECTED),
        NAME(RDMA_CM_EVENT_ESTABLISHED),     NAME(RDMA_CM_EVENT_DISCONNECTED),     NAME(RDMA_CM_EVENT_DEVICE_REMOVAL),
        NAME(RDMA_CM_EVENT_MULTICAST_JOIN),  NAME(RDMA_CM_EVENT_MULTICAST_ERROR),  NAME(RDMA_CM_EVENT_ADDR_CHANGE),
        NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT),
    };
#undef NAME
    return (unsigned)event < sizeof(names) / sizeof(names[0]) ? names[event] : "UNKNOWN EVENT";
}
