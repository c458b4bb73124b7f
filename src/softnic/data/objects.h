/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues with a CPU data path: what stands behind struct ibv_cq, ibv_qp and ibv_srq.
 *
 * Rings, records and the doorbell register are the device's own formats, in memory that the engine reads, so the same
 * queue can be used by device code (mlx5dv_init_obj gives it away), and a CQE is the same whoever reads it.
 *
 * Locks. sq.lock, rq.lock and srq.lock serialise producers, cq.lock consumers; each is taken alone, but for two: a poller
 * holds cq.lock and takes srq.lock to give a slot back, and ibv_resize_cq holds cq.lock and takes the port's lock. The
 * port's lock is never held when one of these is taken. What a poller tells a producer (how far a queue is completed) is
 * one atomic counter.
 */
#ifndef SOFTNIC_DATA_OBJECTS_H
#define SOFTNIC_DATA_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "softnic/data/source.h"
#include "softnic/verbs/context.h"

enum { SV_MAX_SGE = 30 /* of a request, either side; as a ConnectX */ };

/* Memory of a queue: pages of our own, or what a parent domain's allocator gave. */
struct sv_buf {
    struct sn_span span; /* .addr is page-aligned */
    void *mapping;       /* ours; NULL: from `allocator` */
    struct ibv_pd *allocator;
    uint64_t resource;   /* MLX5DV_RES_TYPE_*, for the allocator */
};

/* Every slot of a work queue: what the caller called the request that begins there. */
struct sv_wq {
    pthread_mutex_t lock;
    uint64_t *wr_id;   /* by slot */
    uint8_t *ring;
    uint32_t *record;  /* its doorbell word */
    uint32_t slots;    /* power of two; send queue: basic blocks of 64 bytes */
    uint32_t max_post; /* requests that may be outstanding */
    uint32_t max_sge;
    uint32_t stride;   /* bytes of a slot */
    uint32_t head;     /* requests posted, running; under lock */
    atomic_uint tail;  /* requests completed, running; written by pollers */
};

struct sv_srq {
    struct sv_object object;
    struct ibv_srq ibv;
    struct sv_context *context;
    uint32_t srqn;
    struct sv_buf buf, record_buf;
    struct sv_wq wq;    /* head counts what was posted; slots - 1 can be posted */
    uint32_t free_first; /* slot that is posted next; the free list runs through the ring, linked as the device reads it */
    uint32_t free_last;  /* never posted: its link is not known yet */
    uint32_t max_wr, max_sge;
    struct sv_source source; /* events: source.h */
};

struct sv_cq {
    struct sv_object object;
    union { /* an extended CQ begins like a plain one */
        struct ibv_cq ibv;
        struct ibv_cq_ex ex;
    };
    struct sv_context *context;
    uint32_t cqn;
    uint32_t eqn;
    pthread_mutex_t lock;
    struct sv_buf buf, record_buf;
    uint8_t *ring;
    uint32_t *record;   /* word 0 consumer index, word 1 arm */
    uint32_t entries;   /* power of two */
    uint32_t stride;    /* bytes of an entry: 64, or 128 with the CQE in its second half */
    uint32_t consumer;  /* running */
    atomic_uint idle;   /* polls in a row that found nothing */
    struct sv_qp *last; /* of the last CQE; checked before use */
    bool unlocked;      /* extended: the caller promised one thread */
    /* Extended polling: cq_ex.c. */
    const struct mlx5_cqe64 *cqe;
    uint64_t wc_flags;
    /* Events: source.h. */
    struct sv_source source;
    struct sv_completions completions;
};

struct sv_qp {
    struct sv_object object;
    struct ibv_qp_ex ex; /* .qp_base is the plain one: sv_qp_ibv */
    struct sv_context *context;
    uint32_t qpn;
    enum sn_service service;
    bool dct; /* service DC: the target */
    bool signal_all;
    uint32_t max_inline;
    uint32_t overhead;   /* bytes of a WQE before its data segments, most */
    uint32_t qpn_be8;    /* QPN << 8, big-endian: a WQE's second word but for the segment count */
    struct sv_buf buf;   /* receive ring, then send ring */
    struct sv_buf record_buf;
    uint32_t *dbr;       /* word 0 receive, word 1 send */
    struct sv_uar *uar;
    uint64_t *reg;       /* its doorbell register */
    struct sv_wq sq, rq; /* slots 0: there is none */
    struct sv_sent {     /* by slot: the counts behind the WQE that begins there */
        uint32_t head, index;
    } *sent;
    uint32_t sq_index;   /* basic blocks posted, running; under sq.lock */
    atomic_uint sq_done; /* basic blocks completed, running; written by pollers */
    uint32_t wqe_blocks; /* of the largest WQE that the caller asked for */
    uint32_t failed;     /* written by the engine: 1 while in ERR */
    struct ibv_qp_attr attr; /* what ibv_modify_qp gave last; the engine knows the rest */
    struct ibv_qp_init_attr init;
    /* Extended posting: qp_ex.c. Under sq.lock from wr_start to wr_complete or wr_abort. */
    struct {
        uint32_t index; /* sq_index at wr_start */
        uint32_t head;  /* sq.head at wr_start */
        int error;      /* the first one */
        uint32_t segs;  /* of the WQE in hand; 0: none */
        bool addressed, filled; /* it has its address vector, its data */
        uint8_t opcode;
        uint32_t imm_be;
        unsigned flags; /* enum ibv_send_flags */
        uint64_t wr_id;
    } batch;
    struct sv_source source; /* events: source.h */
};

static inline struct ibv_qp *sv_qp_ibv(struct sv_qp *qp)
{
    return &qp->ex.qp_base;
}

static inline struct sv_qp *sv_qp_of(struct ibv_qp *ibv)
{
    return sv_container(ibv, struct sv_qp, ex.qp_base);
}

static inline struct sv_cq *sv_cq_of(struct ibv_cq *ibv)
{
    return sv_container(ibv, struct sv_cq, ibv);
}

static inline struct sv_srq *sv_srq_of(struct ibv_srq *ibv)
{
    return sv_container(ibv, struct sv_srq, ibv);
}

/* ---- life: what the plain and the extended calls share. NULL: refused, errno and the log say why ------------------ */

struct sv_cq_args {
    int cqe; /* at least so many; rounded up */
    void *cq_context;
    struct ibv_comp_channel *channel;
    int comp_vector;
    uint32_t cqe_size;    /* 0: 64 */
    bool overrun_ignore;
    bool unlocked;
    bool timestamps;       /* somebody reads the time of a completion */
    struct ibv_pd *parent; /* parent domain whose allocator is asked, or NULL */
};
struct sv_cq *sv_cq_new(struct sv_context *ctx, const char *what, const struct sv_cq_args *args);
struct sv_qp *sv_qp_new(struct sv_context *ctx, const char *what, struct ibv_qp_init_attr_ex *attr);
/* The same for a service that qp_type does not say. */
struct sv_qp *sv_qp_new_as(struct sv_context *ctx, const char *what, struct ibv_qp_init_attr_ex *attr,
                           enum sn_service service);
struct sv_srq *sv_srq_new(struct sv_context *ctx, const char *what, struct ibv_pd *pd, void *srq_context,
                          struct ibv_srq_attr *attr);

/* What the context leaves behind when it is closed. Port lock held; nobody uses the objects any more. */
void sv_qp_release(struct sv_qp *qp);
void sv_cq_release(struct sv_cq *cq);
void sv_srq_release(struct sv_srq *srq);

/* A receive from an SRQ is complete: its name; the slot is free again. Takes wq.lock. */
uint64_t sv_srq_complete(struct sv_srq *srq, uint16_t slot);

/* Queue pairs of a context by number. Readers need no lock: a poller finds a queue pair until it is destroyed. */
struct sv_qp *sv_qp_find(const struct sv_context *ctx, uint32_t qpn);
void sv_qp_pages_free(struct sv_context *ctx);

/* After a move to RESET. No lock held. */
void sv_qp_start_afresh(struct sv_qp *qp);

/* Removes what it left in its CQs; it completes nothing more meanwhile. */
void sv_qp_forget(struct sv_qp *qp);

/* ---- queue memory (buf.c) ------------------------------------------------------------------------------------------ */

int sv_buf_alloc(struct ibv_pd *pd, size_t bytes, uint64_t resource, struct sv_buf *out);
void sv_buf_free(struct sv_buf *buf);

#endif
