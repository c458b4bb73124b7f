/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynamically connected transport, as control objects only: a DCT and a DCI have numbers and go through their states,
 * because NVSHMEM makes some beside the queue pairs that it uses. They carry nothing: a request that is posted to a DCI is
 * refused, or, where the ring is written directly, ends in an error CQE (0x02); what is sent to a DCT is dropped.
 */
#ifndef SOFTNIC_DV_DC_H
#define SOFTNIC_DV_DC_H

#include <infiniband/mlx5dv.h>

#include "softnic/data/objects.h"

/* NULL: refused, errno and the log say why. */
struct ibv_qp *sv_dc_create(struct sv_context *ctx, struct ibv_qp_init_attr_ex *attr,
                            const struct mlx5dv_dc_init_attr *dc);

/* ibv_modify_qp for one of them. */
int sv_dc_modify(struct sv_qp *qp, const struct ibv_qp_attr *attr, int mask);

#endif
