/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parent domains share the number of the protection domain behind them, so whatever takes a domain takes either kind.
 * Thread domains promise that one thread uses what is made in them; locks that nobody contends for cost next to nothing
 * here, so the promise is noted and changes nothing.
 */
#include "softnic/dv/parent.h"

#include <errno.h>
#include <stdlib.h>

#include "softnic/verbs/log.h"

struct ibv_td *sv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_alloc_td");
    if (!ctx)
        return NULL;
    if (!attr || attr->comp_mask) {
        sv_refuse(attr ? EOPNOTSUPP : EINVAL, "ibv_alloc_td: comp_mask = 0x%x", attr ? attr->comp_mask : 0);
        return NULL;
    }
    struct sv_td *td = calloc(1, sizeof(*td));
    if (!td)
        return NULL;
    td->ibv.context = context;
    sn_port_lock(ctx->port);
    sv_object_link(ctx, &td->object, SV_TD);
    sn_port_unlock(ctx->port);
    return &td->ibv;
}

int sv_dealloc_td(struct ibv_td *ibv)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "ibv_dealloc_td") : NULL;
    if (!ctx)
        return ibv ? errno : EINVAL;
    struct sv_td *td = sv_container(ibv, struct sv_td, ibv);
    sn_port_lock(ctx->port);
    unsigned parents = td->parents;
    if (!parents)
        sv_object_unlink(&td->object);
    sn_port_unlock(ctx->port);
    if (parents)
        return sv_refuse(EBUSY, "ibv_dealloc_td: %u parent domains use it", parents);
    free(td);
    return 0;
}

/* The plain domain that `pd` is, or is the parent of. */
static struct sv_pd *plain(struct sv_pd *pd)
{
    return pd->behind ? pd->behind : pd;
}

static int check_attr(const struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
    static const char what[] = "ibv_alloc_parent_domain";
    uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
    if (!attr || !attr->pd || attr->pd->context != context || (attr->td && attr->td->context != context))
        return sv_refuse(EINVAL, "%s: no protection domain of this context is given", what);
    if (attr->comp_mask & ~known)
        return sv_refuse(EINVAL, "%s: comp_mask = 0x%x", what, attr->comp_mask);
    if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) && (!attr->alloc || !attr->free))
        return sv_refuse(EINVAL, "%s: one of alloc and free is NULL", what);
    return 0;
}

struct ibv_pd *sv_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_alloc_parent_domain");
    if (!ctx || check_attr(context, attr))
        return NULL;
    struct sv_pd *pd = calloc(1, sizeof(*pd));
    if (!pd)
        return NULL;
    pd->behind = plain(sv_container(attr->pd, struct sv_pd, ibv));
    pd->td = attr->td ? sv_container(attr->td, struct sv_td, ibv) : NULL;
    pd->pdn = pd->behind->pdn;
    pd->ibv = (struct ibv_pd){.context = context, .handle = pd->pdn};
    if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
        pd->alloc = attr->alloc;
        pd->free = attr->free;
    }
    if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
        pd->pd_context = attr->pd_context;
    sn_port_lock(ctx->port);
    pd->behind->parents++;
    if (pd->td)
        pd->td->parents++;
    sv_object_link(ctx, &pd->object, SV_PD);
    sn_port_unlock(ctx->port);
    return &pd->ibv;
}

int sv_pd_release(struct sv_context *ctx, struct sv_pd *pd, const char **why)
{
    if (pd->parents || atomic_load_explicit(&pd->buffers, memory_order_acquire)) {
        *why = pd->parents ? "a parent domain names it" : "a queue lies in memory that its allocator gave";
        return -EBUSY;
    }
    int rc = pd->behind ? 0 : sn_pd_destroy(ctx->nic, pd->pdn);
    *why = prm_engine_reason(rc);
    if (rc)
        return rc;
    if (pd->behind)
        pd->behind->parents--;
    if (pd->td)
        pd->td->parents--;
    sv_object_unlink(&pd->object);
    free(pd);
    return 0;
}

void sv_domains_release(struct sv_context *ctx)
{
    while (ctx->objects[SV_PD]) {
        struct sv_pd *pd = sv_container(ctx->objects[SV_PD], struct sv_pd, object);
        if (!pd->behind)
            sn_pd_destroy(ctx->nic, pd->pdn);
        sv_object_unlink(&pd->object);
        free(pd);
    }
    while (ctx->objects[SV_TD]) {
        struct sv_td *td = sv_container(ctx->objects[SV_TD], struct sv_td, object);
        sv_object_unlink(&td->object);
        free(td);
    }
}

int sv_parent_memory(struct ibv_pd *ibv, size_t bytes, size_t alignment, uint64_t resource, void **out)
{
    struct sv_pd *pd = ibv ? sv_container(ibv, struct sv_pd, ibv) : NULL;
    if (!pd || !pd->alloc)
        return 1;
    void *p = pd->alloc(ibv, pd->pd_context, bytes, alignment, resource);
    if (p == IBV_ALLOCATOR_USE_DEFAULT)
        return 1;
    if (!p)
        return -ENOMEM;
    struct sv_memory memory;
    int rc = (uintptr_t)p % alignment ? -EINVAL : sv_memory_of_address(p, bytes, true, &memory);
    if (!rc && memory.span.space != SN_SPACE_HOST)
        rc = -EOPNOTSUPP; /* queues of verbs are written by the CPU */
    if (rc) {
        sv_log(SV_LOG_ERROR, "allocator of a parent domain: %p, %zu bytes, alignment %zu: not host memory of that size", p,
               bytes, alignment);
        pd->free(ibv, pd->pd_context, p, resource);
        return rc;
    }
    atomic_fetch_add_explicit(&pd->buffers, 1, memory_order_relaxed);
    *out = p;
    return 0;
}

void sv_parent_memory_free(struct ibv_pd *ibv, void *memory, uint64_t resource)
{
    struct sv_pd *pd = sv_container(ibv, struct sv_pd, ibv);
    pd->free(ibv, pd->pd_context, memory, resource);
    atomic_fetch_sub_explicit(&pd->buffers, 1, memory_order_release);
}
