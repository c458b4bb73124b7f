/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the device itself: capability pages and the GID table. */
#include <errno.h>
#include <string.h>

#include "format/prm.h"
#include "softnic/prm/cmd.h"
#include "softnic/prm/parse.h"

/* UDP source ports for RoCEv2 (IBTA annex A17 leaves the range to the device): the dynamic ports. */
enum { MIN_UDP_SPORT = 0xc000, MAX_UDP_SPORT = 0xffff };

/*
 * A register is 64 bytes: room for one BlueFlame WQE, and no second buffer to alternate with. Clients map that much of it. The
 * WQE is taken from the ring all the same: only the first 8 bytes of a write are looked at.
 */
enum { LOG_BF_REG_SIZE = 6 };

int prm_begin(struct prm_call *call, const void *in, size_t inlen, void *out, size_t outlen, size_t size)
{
    *call = (struct prm_call){.opcode = prm_opcode(in, inlen)};
    if (out && outlen >= size) {
        memset(out, 0, outlen);
        return 0;
    }
    return prm_refuse(call, PRM_STATUS_BAD_OUTPUT_LEN, PRM_WHY_OUTPUT_LENGTH, "output of %zu bytes, %zu needed",
                      out ? outlen : 0, size);
}

int prm_end(const struct prm_call *call, void *out, size_t outlen, int rc)
{
    if (rc)
        prm_write_status(call, out, outlen);
    return rc;
}

static void fill_general(const struct sn_nic_config *config, uint8_t *cap)
{
    prm_set_cmd_hca_cap__hca_cap_2(cap, 1);
    prm_set_cmd_hca_cap__log_max_qp_sz(cap, PRM_MAX_LOG_QP_SIZE);
    prm_set_cmd_hca_cap__rts2rts_qp_dscp(cap, 1);
    prm_set_cmd_hca_cap__gid_table_size(cap, 0); /* code 0: 8 entries */
    prm_set_cmd_hca_cap__port_type(cap, config->link == SN_LINK_ETHERNET ? PRM_PORT_TYPE_ETH : PRM_PORT_TYPE_IB);
    prm_set_cmd_hca_cap__cqe_version(cap, 1); /* a CQE names its queue pair's user_index */
    prm_set_cmd_hca_cap__compact_address_vector(cap, 1);
    prm_set_cmd_hca_cap__roce(cap, config->link == SN_LINK_ETHERNET);
    prm_set_cmd_hca_cap__atomic(cap, 1);
    prm_set_cmd_hca_cap__bf(cap, 1);
    prm_set_cmd_hca_cap__log_bf_reg_size(cap, LOG_BF_REG_SIZE);
    prm_set_cmd_hca_cap__rc(cap, 1);
    prm_set_cmd_hca_cap__uc(cap, 1);
    prm_set_cmd_hca_cap__ud(cap, 1);
    prm_set_cmd_hca_cap__max_wqe_sz_sq(cap, PRM_MAX_WQE_SIZE_SQ);
    prm_set_cmd_hca_cap__max_wqe_sz_rq(cap, PRM_MAX_WQE_SIZE_RQ);
}

/* As the engine does them: 64-bit words are the host's own, masked ones of 4 and 8 bytes. */
static void fill_atomic(uint8_t *cap)
{
    prm_set_atomic_caps__atomic_req_8B_endianness_mode(cap, PRM_ATOMIC_HOST_ENDIAN);
    prm_set_atomic_caps__supported_atomic_req_8B_endianness_mode_1(cap, 1);
    prm_set_atomic_caps__atomic_operations(cap, PRM_ATOMIC_CMP_SWAP | PRM_ATOMIC_FETCH_ADD |
                                                    PRM_ATOMIC_MASKED_CMP_SWAP | PRM_ATOMIC_MASKED_FETCH_ADD);
    prm_set_atomic_caps__atomic_size_qp(cap, PRM_ATOMIC_SIZE_4 | PRM_ATOMIC_SIZE_8);
    prm_set_atomic_caps__atomic_size_dc(cap, PRM_ATOMIC_SIZE_4 | PRM_ATOMIC_SIZE_8); /* of a DCI, which performs none */
}

static void fill_roce(const struct sn_nic_config *config, uint8_t *cap)
{
    if (config->link != SN_LINK_ETHERNET)
        return; /* an InfiniBand port answers with an empty page */
    prm_set_roce_cap__roce_address_table_size(cap, config->gid_count);
    prm_set_roce_cap__r_roce_min_src_udp_port(cap, MIN_UDP_SPORT);
    prm_set_roce_cap__r_roce_max_src_udp_port(cap, MAX_UDP_SPORT);
}

static int query_hca_cap(const struct prm_env *env, const void *in, size_t inlen, void *out, struct prm_call *call)
{
    unsigned page;
    bool current; /* maxima and current values are the same here */
    int rc = prm_parse_query_hca_cap(in, inlen, &page, &current, call);
    if (rc)
        return rc;
    const struct sn_nic_config *config = sn_nic_get_config(env->nic);
    uint8_t *cap = PRM_AT(out, query_hca_cap_out, capability);
    if (page == PRM_CAP_GENERAL)
        fill_general(config, cap);
    else if (page == PRM_CAP_ATOMIC)
        fill_atomic(cap);
    else if (page == PRM_CAP_ROCE)
        fill_roce(config, cap);
    else if (page == PRM_CAP_GENERAL_2)
        prm_set_cmd_hca_cap_2__send_dbr_mode_no_dbr_ext(cap, 1);
    /* The other pages are of features that are not there: all zeros. */
    return 0;
}

static int query_roce_address(const struct prm_env *env, const void *in, size_t inlen, void *out, struct prm_call *call)
{
    unsigned index;
    int rc = prm_parse_query_roce_address(in, inlen, &index, call);
    if (rc)
        return rc;
    const struct sn_nic_config *config = sn_nic_get_config(env->nic);
    if (config->link != SN_LINK_ETHERNET)
        return prm_refuse(call, PRM_STATUS_BAD_OP, PRM_WHY_OPCODE, "the port's link layer is InfiniBand");
    if (index >= config->gid_count)
        return prm_refuse(call, PRM_STATUS_BAD_INDEX, PRM_WHY_RANGE,
                          "roce_address_index = %u, the table has %u entries", index, config->gid_count);
    uint8_t *address = PRM_AT(out, query_roce_address_out, roce_address);
    memcpy(PRM_AT(address, roce_addr_layout, source_l3_address), config->gid[index], 16);
    prm_set_roce_addr_layout__roce_version(address, PRM_ROCE_V2);
    return 0;
}

int prm_general(const struct prm_env *env, const void *in, size_t inlen, void *out, size_t outlen,
                struct prm_call *call)
{
    uint16_t opcode = prm_opcode(in, inlen);
    size_t size = opcode == PRM_OP_QUERY_HCA_CAP        ? PRM_SIZE_query_hca_cap_out
                  : opcode == PRM_OP_QUERY_ROCE_ADDRESS ? PRM_SIZE_query_roce_address_out
                                                        : PRM_SIZE_cmd_out;
    int rc = prm_begin(call, in, inlen, out, outlen, size);
    if (rc)
        return prm_end(call, out, outlen, rc);
    if (opcode == PRM_OP_QUERY_HCA_CAP)
        rc = query_hca_cap(env, in, inlen, out, call);
    else if (opcode == PRM_OP_QUERY_ROCE_ADDRESS)
        rc = query_roce_address(env, in, inlen, out, call);
    else
        rc = prm_refuse(call, PRM_STATUS_BAD_OP, PRM_WHY_OPCODE, "not modelled as a general command");
    return prm_end(call, out, outlen, rc);
}
