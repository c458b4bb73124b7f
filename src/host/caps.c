/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caps.h"

#include <errno.h>
#include <string.h>

#include "format/prm.h"

#define CAP_CURRENT 1u /* op_mod bit 0: current values, not maxima */

static doca_error_t query_page(const struct gdaki_nic_ops *nic, struct ibv_context *context, enum prm_cap_page page,
                               uint8_t out[PRM_SIZE_query_hca_cap_out])
{
    uint8_t in[PRM_SIZE_query_hca_cap_in] = {0};

    memset(out, 0, PRM_SIZE_query_hca_cap_out);
    prm_set_query_hca_cap_in__opcode(in, PRM_OP_QUERY_HCA_CAP);
    prm_set_query_hca_cap_in__op_mod(in, (unsigned)page << 1 | CAP_CURRENT);
    errno = 0;
    if (nic->mlx5dv_devx_general_cmd(context, in, sizeof(in), out, PRM_SIZE_query_hca_cap_out) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "QUERY_HCA_CAP page 0x%x failed: %s, syndrome 0x%x%s", (unsigned)page,
                        strerror(errno), (unsigned)prm_get_cmd_out__syndrome(out), nic_reason(nic));
    return DOCA_SUCCESS;
}

/* gid_table_size code: 0 is 8 entries, each step doubles. */
static uint32_t gid_entries(unsigned code)
{
    return code <= 4 ? 8u << code : 0;
}

static doca_error_t query_general(const struct gdaki_nic_ops *nic, struct ibv_context *context, struct nic_caps *caps)
{
    uint8_t out[PRM_SIZE_query_hca_cap_out];
    const uint8_t *cap = PRM_CAT(out, query_hca_cap_out, capability);
    doca_error_t err = query_page(nic, context, PRM_CAP_GENERAL, out);

    if (err != DOCA_SUCCESS)
        return err;
    caps->ethernet = prm_get_cmd_hca_cap__port_type(cap) == PRM_PORT_TYPE_ETH;
    caps->gid_table_size = gid_entries((unsigned)prm_get_cmd_hca_cap__gid_table_size(cap));
    caps->rc = prm_get_cmd_hca_cap__rc(cap) != 0;
    caps->rts2rts_dscp = prm_get_cmd_hca_cap__rts2rts_qp_dscp(cap) != 0;
    caps->max_wqe_sz_sq = (uint32_t)prm_get_cmd_hca_cap__max_wqe_sz_sq(cap);
    caps->max_wqe_sz_rq = (uint32_t)prm_get_cmd_hca_cap__max_wqe_sz_rq(cap);
    caps->log_max_qp_sz = (uint32_t)prm_get_cmd_hca_cap__log_max_qp_sz(cap);
    if (prm_get_cmd_hca_cap__hca_cap_2(cap) == 0)
        return DOCA_SUCCESS;
    err = query_page(nic, context, PRM_CAP_GENERAL_2, out);
    if (err == DOCA_SUCCESS)
        caps->no_dbr_ext = prm_get_cmd_hca_cap_2__send_dbr_mode_no_dbr_ext(cap) != 0;
    return err;
}

static doca_error_t query_roce(const struct gdaki_nic_ops *nic, struct ibv_context *context, struct nic_caps *caps)
{
    uint8_t out[PRM_SIZE_query_hca_cap_out];
    const uint8_t *cap = PRM_CAT(out, query_hca_cap_out, capability);
    doca_error_t err = query_page(nic, context, PRM_CAP_ROCE, out);

    if (err != DOCA_SUCCESS)
        return err;
    if (caps->ethernet)
        caps->gid_table_size = (uint32_t)prm_get_roce_cap__roce_address_table_size(cap);
    caps->min_udp_port = (uint16_t)prm_get_roce_cap__r_roce_min_src_udp_port(cap);
    caps->max_udp_port = (uint16_t)prm_get_roce_cap__r_roce_max_src_udp_port(cap);
    return DOCA_SUCCESS;
}

doca_error_t caps_query(const struct gdaki_nic_ops *nic, struct ibv_context *context, struct nic_caps *out)
{
    doca_error_t err;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = nic->ibv_query_device(context, &out->ibv);
    if (rc != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "ibv_query_device failed: %s", strerror(rc > 0 ? rc : errno));
    err = query_general(nic, context, out);
    return err != DOCA_SUCCESS ? err : query_roce(nic, context, out);
}
