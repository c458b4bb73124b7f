/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that are reached through a context's op table. */
#ifndef SOFTNIC_VERBS_QUERY_H
#define SOFTNIC_VERBS_QUERY_H

#include <infiniband/verbs.h>

int sv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size);
int sv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_size);

#endif
