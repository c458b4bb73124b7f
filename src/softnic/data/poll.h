/* SPDX-License-Identifier: Apache-2.0 */
/* How CQEs are found, read and given back; shared by ibv_poll_cq and the extended calls. All need cq.lock. */
#ifndef SOFTNIC_DATA_POLL_H
#define SOFTNIC_DATA_POLL_H

#include "common/gdaki_wqe.h"
#include "softnic/data/objects.h"

/* The next CQE, or NULL. What it tells of is visible when this returns. Not consumed. */
const struct mlx5_cqe64 *sv_cq_peek(const struct sv_cq *cq);

/* What a CQE says that does not depend on which fields the caller wants. */
struct sv_completion {
    uint64_t wr_id;
    enum ibv_wc_status status;
    uint32_t qpn;
    bool receive;
};

/*
 * Consumes the CQE that sv_cq_peek found: completes the request and those before it, gives its slot back. -EINVAL: it is
 * of a queue pair that this context does not know (made with DEVX); it is consumed, too. The consumer index is announced
 * by sv_cq_announce, once for a batch.
 */
int sv_cq_take(struct sv_cq *cq, const struct mlx5_cqe64 *cqe, struct sv_completion *out);
void sv_cq_announce(struct sv_cq *cq);

/* Fields of a CQE, as ibv_wc has them. */
enum ibv_wc_opcode sv_cqe_opcode(const struct mlx5_cqe64 *cqe);
unsigned sv_cqe_wc_flags(const struct mlx5_cqe64 *cqe);
uint32_t sv_cqe_byte_len(const struct mlx5_cqe64 *cqe);
uint32_t sv_cqe_vendor_err(const struct mlx5_cqe64 *cqe);
uint32_t sv_cqe_imm(const struct mlx5_cqe64 *cqe); /* big-endian immediate, or the invalidated key in host order */
uint8_t sv_cqe_sl(const struct mlx5_cqe64 *cqe);

/*
 * A poll that found nothing: drives the port once, as whoever waits does. Without cq.lock. True: look again.
 */
bool sv_cq_drive(struct sv_cq *cq);

int sv_poll_cq(struct ibv_cq *ibv, int entries, struct ibv_wc *wc);

/* Removes what the queue pair left in a CQ, before its number goes. Takes cq.lock. */
void sv_cq_forget(struct sv_cq *cq, struct sv_qp *qp);

#endif
