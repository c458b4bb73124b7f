/* SPDX-License-Identifier: Apache-2.0 */
/* Thread domains, and parent domains: a protection domain with somebody else's memory allocator. */
#ifndef SOFTNIC_DV_PARENT_H
#define SOFTNIC_DV_PARENT_H

#include "softnic/verbs/context.h"

struct sv_td {
    struct sv_object object;
    struct ibv_td ibv;
    unsigned parents; /* parent domains that name it; port lock */
};

struct ibv_td *sv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int sv_dealloc_td(struct ibv_td *td);
struct ibv_pd *sv_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);

/* ibv_dealloc_pd for a domain of either kind: 0 or -errno; *why is set with -EBUSY. Port lock held. */
int sv_pd_release(struct sv_context *ctx, struct sv_pd *pd, const char **why);

/* What a closing context left behind. Port lock held; nothing uses a domain any more. */
void sv_domains_release(struct sv_context *ctx);

/*
 * Queue memory from the domain's allocator. 1: there is none, or it leaves this piece to us; 0: *out is set; -errno.
 * No lock held: the callback is the caller's own code.
 */
int sv_parent_memory(struct ibv_pd *pd, size_t bytes, size_t alignment, uint64_t resource, void **out);
void sv_parent_memory_free(struct ibv_pd *pd, void *memory, uint64_t resource);

#endif
