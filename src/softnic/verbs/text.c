/* SPDX-License-Identifier: Apache-2.0 */
/* Names of codes, the very words that users of rdma-core search for; and fork questions. */
#include <stdbool.h>

#include "softnic/verbs/context.h"
#include "softnic/verbs/exports.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *softnic_ibv_wc_status_str(enum ibv_wc_status status)
{
    static const char *const names[] = {
        [IBV_WC_SUCCESS] = "success",
        [IBV_WC_LOC_LEN_ERR] = "local length error",
        [IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
        [IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
        [IBV_WC_LOC_PROT_ERR] = "local protection error",
        [IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
        [IBV_WC_MW_BIND_ERR] = "memory management operation error",
        [IBV_WC_BAD_RESP_ERR] = "bad response error",
        [IBV_WC_LOC_ACCESS_ERR] = "local access error",
        [IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
        [IBV_WC_REM_ACCESS_ERR] = "remote access error",
        [IBV_WC_REM_OP_ERR] = "remote operation error",
        [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
        [IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
        [IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation error",
        [IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
        [IBV_WC_REM_ABORT_ERR] = "aborted error",
        [IBV_WC_INV_EECN_ERR] = "invalid EE context number",
        [IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
        [IBV_WC_FATAL_ERR] = "fatal error",
        [IBV_WC_RESP_TIMEOUT_ERR] = "response timeout error",
        [IBV_WC_GENERAL_ERR] = "general error",
        [IBV_WC_TM_ERR] = "TM error",
        [IBV_WC_TM_RNDV_INCOMPLETE] = "TM software rendezvous",
    };
    return (unsigned)status < COUNT(names) && names[status] ? names[status] : "unknown";
}

const char *softnic_ibv_node_type_str(enum ibv_node_type node_type)
{
    static const char *const names[] = {
        [IBV_NODE_CA] = "InfiniBand channel adapter",
        [IBV_NODE_SWITCH] = "InfiniBand switch",
        [IBV_NODE_ROUTER] = "InfiniBand router",
        [IBV_NODE_RNIC] = "iWARP NIC",
        [IBV_NODE_USNIC] = "usNIC",
        [IBV_NODE_USNIC_UDP] = "usNIC UDP",
        [IBV_NODE_UNSPECIFIED] = "unspecified",
    };
    return (unsigned)node_type < COUNT(names) && names[node_type] ? names[node_type] : "unknown";
}

const char *softnic_ibv_port_state_str(enum ibv_port_state port_state)
{
    static const char *const names[] = {"no state change (NOP)", "down", "init", "armed", "active", "active defer"};
    return (unsigned)port_state < COUNT(names) ? names[port_state] : "unknown";
}

/* Registered memory is ordinary shared-or-copied memory here: a fork needs no preparation, and a child opens its own
 * NIC. */
int softnic_ibv_fork_init(void)
{
    return 0;
}

enum ibv_fork_status softnic_ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}
