/* SPDX-License-Identifier: Apache-2.0 */
/* Memory windows: ops of the context, and the WQEs that plain and extended posting share. */
#ifndef SOFTNIC_DATA_MW_H
#define SOFTNIC_DATA_MW_H

#include "softnic/data/objects.h"

struct ibv_mw *sv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int sv_dealloc_mw(struct ibv_mw *mw);
int sv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
void sv_mws_release(struct sv_context *ctx); /* what is left when the context is closed; port lock held */

/* Each writes a whole request; sq.lock held, nothing is rung. 0 or -errno (-ENOMEM: full). */
int sv_wqe_bind(struct sv_qp *qp, const struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info,
                unsigned send_flags, uint64_t wr_id);
int sv_wqe_local_inv(struct sv_qp *qp, uint32_t rkey, unsigned send_flags, uint64_t wr_id);

#endif
