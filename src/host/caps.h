/* SPDX-License-Identifier: Apache-2.0 */
/* What the device can do: verbs limits and DEVX capability pages. */
#ifndef GDAKI_HOST_CAPS_H
#define GDAKI_HOST_CAPS_H

#include "host/object.h"

#pragma GCC visibility push(hidden)

struct nic_caps {
    struct ibv_device_attr ibv;
    bool ethernet;
    bool rc;
    bool rts2rts_dscp;
    bool no_dbr_ext;
    uint32_t gid_table_size;
    uint32_t max_wqe_sz_sq, max_wqe_sz_rq; /* bytes */
    uint32_t log_max_qp_sz;                /* log2 of basic blocks */
    uint16_t min_udp_port, max_udp_port;   /* RoCEv2 source ports; 0, 0 when the device has no range */
};

/* DRIVER when a query fails. */
doca_error_t caps_query(const struct gdaki_nic_ops *nic, struct ibv_context *context, struct nic_caps *out);

#pragma GCC visibility pop
#endif
