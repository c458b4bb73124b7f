/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that are reached through a context's op table. */
#ifndef SOFTNIC_VERBS_QUERY_H
#define SOFTNIC_VERBS_QUERY_H

#include <infiniband/verbs.h>

struct sv_device;

/* What a device says of itself, open or not. */
void sv_device_attr(const struct sv_device *device, struct ibv_device_attr *attr);
void sv_port_attr(const struct sv_device *device, struct ibv_port_attr *attr);

int sv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size);
int sv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
int sv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t attr_size);

#endif
