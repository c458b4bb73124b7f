/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind the verbs structures. A device (one per SOFTNIC_DEVICES) has one NIC of the engine while at least
 * one context is open; a context owns every object made through it and frees what is left when it is closed.
 *
 * Locks: the registry lock (device.c) guards devices and the port's life; the port's lock guards the engine, the object
 * lists and the umem tables. Registry before port.
 *
 * Fork: a child must not touch its parent's NIC. Each context carries the process generation it was opened in;
 * sv_context_check refuses calls on an inherited one.
 */
#ifndef SOFTNIC_VERBS_CONTEXT_H
#define SOFTNIC_VERBS_CONTEXT_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/data/source.h"
#include "softnic/nic.h"
#include "softnic/prm/cmd.h"
#include "softnic/verbs/identity.h"

struct sv_device {
    struct ibv_device ibv; /* first: what callers hold */
    unsigned index;
    enum sn_link link;
    struct sv_identity identity;
    uint8_t path_mtu; /* enum ibv_mtu: the largest that the wire carries */
    bool finds_macs;  /* the wire finds MAC addresses: a path needs none */
    /* Below: registry lock. */
    struct sn_nic *nic; /* NULL while no context is open */
    unsigned contexts;
    uint8_t slot;
};

enum sv_kind { SV_PD, SV_TD, SV_MR, SV_AH, SV_UMEM, SV_UAR, SV_DEVX, SV_CQ, SV_SRQ, SV_QP, SV_CHANNEL, SV_MW, SV_DV_CHANNEL, SV_KINDS };

struct sv_object { /* first member of every object; port lock */
    struct sv_object *next, **link;
    enum sv_kind kind;
};

struct sv_qp; /* data/objects.h */
struct sv_qp_page;

struct sv_context {
    struct sv_device *device;
    struct sn_nic *nic;
    struct sn_port *port;
    unsigned generation;
    struct sv_object *objects[SV_KINDS];
    struct sv_uar *nc; /* the context's one register of kind NC, or NULL */
    struct sv_umem **umems;
    uint32_t umem_slots;
    uint32_t umem_first_free; /* no free slot lies before it */
    struct sv_qp_page *_Atomic qps[256]; /* by bits 15..8 of the number; data/qp.c */
    struct sv_evq async;            /* asynchronous events; async.c */
    struct sv_source port_source;
    unsigned registers_shared; /* by queue pairs that found none of their own */
    struct sv_context *next_context; /* all open ones; registry lock */
    struct verbs_context verbs;      /* last: ends in struct ibv_context */
};

/* Memory that a key or umem stands for. */
struct sv_memory {
    struct sn_span span;
    void *mapping; /* ours, of a mappable fd; NULL: none */
    size_t mapping_bytes;
};

struct sv_pd {
    struct sv_object object;
    struct ibv_pd ibv;
    uint32_t pdn;
    unsigned parents;     /* parent domains that name it; port lock */
    struct sv_pd *behind; /* of a parent domain (dv/parent.h); NULL: a plain one, and so is all that follows */
    struct sv_td *td;
    void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment, uint64_t resource_type);
    void (*free)(struct ibv_pd *pd, void *pd_context, void *memory, uint64_t resource_type);
    void *pd_context;
    atomic_uint buffers; /* pieces of memory that alloc gave */
};

struct sv_mr {
    struct sv_object object;
    struct ibv_mr ibv;
    unsigned access; /* what it was registered with */
    uint64_t iova;
    struct sv_memory memory;
};

struct sv_ah {
    struct sv_object object;
    struct ibv_ah ibv;
    struct mlx5_wqe_av av;
};

struct sv_umem {
    struct sv_object object;
    struct mlx5dv_devx_umem dv;
    struct sv_context *context;
    struct sv_memory memory;
    unsigned references; /* queues that use it */
};

struct sv_uar {
    struct sv_object object;
    struct mlx5dv_devx_uar dv;
    struct sv_context *context;
    struct sn_uar uar;
    void *mapping; /* an empty page and the page of its own, or NULL */
    bool shared;   /* NC: freed with the context */
    unsigned queues; /* queue pairs of data/ on it, which made it */
};

struct mlx5dv_devx_obj { /* the name is the API's; the layout is the provider's own */
    struct sv_object object;
    struct sv_context *context;
    struct prm_object prm;
};

#define sv_container(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline struct sv_context *sv_context_of(struct ibv_context *context)
{
    return sv_container(context, struct sv_context, verbs.context);
}

/*
 * A context that `what` may use: NULL with errno EINVAL (NULL pointer), or ENODEV (inherited through fork), the reason
 * logged.
 */
struct sv_context *sv_context_check(struct ibv_context *context, const char *what);

/* The same for a context that our own objects point to. */
bool sv_context_usable(const struct sv_context *ctx, const char *what);

void sv_object_link(struct sv_context *ctx, struct sv_object *object, enum sv_kind kind);
void sv_object_unlink(struct sv_object *object);

/* Commands' view of a context. */
struct prm_env sv_prm_env(struct sv_context *ctx);

/* A UAR of the context, with a page of its own; `packed`: one of very many. Port lock held. */
int sv_uar_create(struct sv_context *ctx, bool shared, bool packed, struct sv_uar **out);

/* Frees one object whatever its kind; used when a context closes. Port lock held. */
void sv_uar_release(struct sv_context *ctx, struct sv_uar *uar);
void sv_umem_release(struct sv_umem *umem);
void sv_mr_release(struct sv_context *ctx, struct sv_mr *mr);

/* True if `address` lies in the 64 bytes of one of the context's registers. Port lock held. */
bool sv_uar_covers(const struct sv_context *ctx, const void *address);

/* True if the bytes touch a page or a register of them. Port lock held. */
bool sv_uar_touches(const struct sv_context *ctx, const void *from, size_t size);

/* Fills the op tables of a new context (ops.c). */
void sv_ops_fill(struct sv_context *ctx);

/*
 * What memory `addr` .. `addr + length` is. Host memory must be mapped, and writable if `writes`: -EFAULT otherwise.
 */
int sv_memory_of_address(void *addr, size_t length, bool writes, struct sv_memory *out);

/* Memory behind a DMA-BUF or a mappable file descriptor. -EBADF no such fd, -EINVAL range, -EOPNOTSUPP unknown kind. */
int sv_memory_of_fd(int fd, uint64_t offset, size_t length, struct sv_memory *out);
void sv_memory_release(struct sv_memory *memory);

/* Around a fork: the child must not inherit the lock of the DMA-BUF notes in the hands of a thread that it lacks. */
void sv_memory_fork_lock(bool lock);

#endif
