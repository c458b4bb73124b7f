/* SPDX-License-Identifier: Apache-2.0 */
/* Exported calls that need no queue. Those at the end have no prototype in a packaged header. */
#ifndef SOFTNIC_VERBS_LOCAL_H
#define SOFTNIC_VERBS_LOCAL_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

enum { SV_GID_TYPE_IB_ROCE_V1 = 0, SV_GID_TYPE_ROCE_V2 = 1 }; /* what ibv_query_gid_type gives (not enum ibv_gid_type) */

#pragma GCC visibility push(default)
extern __typeof__(ibv_rate_to_mult) softnic_ibv_rate_to_mult;
extern __typeof__(mult_to_ibv_rate) softnic_mult_to_ibv_rate;
extern __typeof__(ibv_rate_to_mbps) softnic_ibv_rate_to_mbps;
extern __typeof__(mbps_to_ibv_rate) softnic_mbps_to_ibv_rate;
extern __typeof__(ibv_resolve_eth_l2_from_gid) softnic_ibv_resolve_eth_l2_from_gid;
extern __typeof__(ibv_query_qp_data_in_order) softnic_ibv_query_qp_data_in_order;

const char *softnic_ibv_get_sysfs_path(void);
int softnic_ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int softnic_ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, unsigned *type);
int softnic_ibv_dontfork_range(void *base, size_t size);
int softnic_ibv_dofork_range(void *base, size_t size);
void softnic_ibv_register_driver(const char *name, void *init);
#pragma GCC visibility pop

#endif
