/* SPDX-License-Identifier: Apache-2.0 */
/* Extended queues: what the op tables and direct verbs call. NULL: refused, errno and the log say why. */
#ifndef SOFTNIC_DATA_EX_H
#define SOFTNIC_DATA_EX_H

#include "softnic/data/objects.h"

struct ibv_cq_ex *sv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
/* cqe_size: 0 or 64, or 128 with the CQE in its second half. */
struct ibv_cq_ex *sv_cq_ex_new(struct sv_context *ctx, const char *what, const struct ibv_cq_init_attr_ex *attr,
                               uint32_t cqe_size);

struct ibv_qp *sv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* Fills the table of an extended queue pair with the calls that `send_ops` names. -EOPNOTSUPP: one is not modelled. */
int sv_qp_ex_fill(struct sv_qp *qp, uint64_t send_ops);

#endif
