/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How send WQEs get into the ring; shared by ibv_post_send and the extended calls. All need sq.lock.
 *
 * A WQE is written segment by segment behind a cursor that wraps at the end of the ring; nothing of it counts before
 * sv_sq_finish, and the device does not look at it before sv_sq_ring.
 */
#ifndef SOFTNIC_DATA_POST_H
#define SOFTNIC_DATA_POST_H

#include "common/gdaki_wqe.h"
#include "softnic/data/objects.h"

struct sv_wqe {
    struct sv_qp *qp;
    uint32_t index; /* of its first basic block, running */
    uint32_t segs;  /* written so far */
};

/* Room for one request more, of so many basic blocks? -EINVAL: no send queue, or not yet in RTS, -ENOMEM: full. */
int sv_sq_room_for(struct sv_qp *qp, uint32_t blocks);

static inline int sv_sq_room(struct sv_qp *qp)
{
    return sv_sq_room_for(qp, qp->wqe_blocks);
}

static inline struct sv_wqe sv_sq_begin(struct sv_qp *qp)
{
    return (struct sv_wqe){.qp = qp, .index = qp->sq_index, .segs = 1}; /* the control segment is written last */
}

/* Where the next segment goes. */
static inline uint8_t *sv_wqe_at(const struct sv_wqe *w, uint32_t seg)
{
    uint32_t all = w->qp->sq.slots * 4;
    return w->qp->sq.ring + (size_t)((w->index * 4 + seg) & (all - 1)) * 16;
}

/* Appends the image's segments. */
static inline void sv_wqe_put(struct sv_wqe *w, const struct gdaki_wqe_image *image)
{
    for (uint32_t i = 0; i < image->segs; i++)
        gdaki_store_seg(sv_wqe_at(w, w->segs++), image->word[2 * i], image->word[2 * i + 1]);
}

/* Appends a data segment; one of no bytes is left out, as a byte count of 0 means 2^31 to the device. */
void sv_wqe_sge(struct sv_wqe *w, uint32_t lkey, uint64_t addr, uint32_t length);
/* Appends inline data out of several buffers. -EINVAL: beyond max_inline. */
int sv_wqe_inline(struct sv_wqe *w, size_t count, const struct ibv_data_buf *list);
/* Appends the address vector of a datagram. */
void sv_wqe_av(struct sv_wqe *w, const struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey);

/* Writes the control segment (first in the ring, last in time), remembers wr_id and moves head and index. */
void sv_sq_finish(struct sv_wqe *w, uint8_t opcode, uint8_t opmod, unsigned send_flags, uint32_t imm_be, uint64_t wr_id);

/* Announces everything that has been finished: record, register, and the thread's wake-up. */
void sv_sq_ring(struct sv_qp *qp);

int sv_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int sv_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int sv_get_srq_num(struct ibv_srq *ibv, uint32_t *number);
int sv_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
