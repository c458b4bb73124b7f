/* SPDX-License-Identifier: Apache-2.0 */
/* User memory for queues and records. Ids are per context; a queue that uses a umem keeps it from being deregistered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/verbs/context.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

/* Ids start at 1, so that a mailbox that forgot to name one is found out. */
static struct sv_umem *find(const struct sv_context *ctx, uint32_t id)
{
    return id && id <= ctx->umem_slots ? ctx->umems[id - 1] : NULL;
}

/* Port lock held. 0: no memory. */
static uint32_t take_id(struct sv_context *ctx, struct sv_umem *umem)
{
    uint32_t i = ctx->umem_first_free;
    while (i < ctx->umem_slots && ctx->umems[i])
        i++;
    if (i == ctx->umem_slots) {
        uint32_t slots = ctx->umem_slots ? 2 * ctx->umem_slots : 16;
        struct sv_umem **grown = realloc(ctx->umems, slots * sizeof(struct sv_umem *));
        if (!grown)
            return 0;
        memset(grown + ctx->umem_slots, 0, (slots - ctx->umem_slots) * sizeof(struct sv_umem *));
        ctx->umems = grown;
        ctx->umem_slots = slots;
    }
    ctx->umems[i] = umem;
    ctx->umem_first_free = i + 1;
    return i + 1;
}

static struct mlx5dv_devx_umem *make(struct sv_context *ctx, const struct sv_memory *memory)
{
    struct sv_umem *umem = calloc(1, sizeof(*umem));
    if (!umem)
        return NULL;
    umem->context = ctx;
    umem->memory = *memory;
    sn_port_lock(ctx->port);
    umem->dv.umem_id = take_id(ctx, umem);
    if (umem->dv.umem_id)
        sv_object_link(ctx, &umem->object, SV_UMEM);
    sn_port_unlock(ctx->port);
    if (!umem->dv.umem_id) {
        free(umem);
        errno = ENOMEM;
        return NULL;
    }
    return &umem->dv;
}

static int check_umem_access(const char *what, uint32_t access)
{
    uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING;
    return access & ~known ? sv_refuse(EOPNOTSUPP, "%s: access bits 0x%x are not modelled", what, access & ~known) : 0;
}

static struct mlx5dv_devx_umem *reg_address(struct sv_context *ctx, const char *what, void *addr, size_t size)
{
    struct sv_memory memory;
    /* Rings are read and CQEs and records are written: access 0 is what clients pass for either. */
    int rc = sv_memory_of_address(addr, size, false, &memory);
    if (rc) {
        sv_refuse(-rc, "%s: %p, %zu bytes: %s", what, addr, size, strerror(-rc));
        return NULL;
    }
    return make(ctx, &memory);
}

struct mlx5dv_devx_umem *softnic_mlx5dv_devx_umem_reg(struct ibv_context *context, void *addr, size_t size,
                                                      uint32_t access)
{
    static const char what[] = "mlx5dv_devx_umem_reg";
    struct sv_context *ctx = sv_context_check(context, what);
    return ctx && !check_umem_access(what, access) ? reg_address(ctx, what, addr, size) : NULL;
}

struct mlx5dv_devx_umem *softnic_mlx5dv_devx_umem_reg_ex(struct ibv_context *context, struct mlx5dv_devx_umem_in *in)
{
    static const char what[] = "mlx5dv_devx_umem_reg_ex";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx || !in || check_umem_access(what, in->access)) {
        if (ctx && !in)
            sv_refuse(EINVAL, "%s: umem_in is NULL", what);
        return NULL;
    }
    if (in->comp_mask & ~(uint64_t)MLX5DV_UMEM_MASK_DMABUF) {
        sv_refuse(EOPNOTSUPP, "%s: comp_mask = 0x%llx is not modelled (1: DMABUF)", what,
                  (unsigned long long)in->comp_mask);
        return NULL;
    }
    if (!in->pgsz_bitmap) {
        sv_refuse(EINVAL, "%s: pgsz_bitmap is 0", what);
        return NULL;
    }
    if (!(in->comp_mask & MLX5DV_UMEM_MASK_DMABUF))
        return reg_address(ctx, what, in->addr, in->size);
    struct sv_memory memory;
    int rc = sv_memory_of_fd(in->dmabuf_fd, (uintptr_t)in->addr, in->size, &memory);
    if (rc) {
        sv_refuse(-rc, "%s: fd %d, offset %llu, %zu bytes: %s", what, in->dmabuf_fd,
                  (unsigned long long)(uintptr_t)in->addr, in->size, strerror(-rc));
        return NULL;
    }
    struct mlx5dv_devx_umem *umem = make(ctx, &memory);
    if (!umem)
        sv_memory_release(&memory);
    return umem;
}

void sv_umem_release(struct sv_umem *umem)
{
    struct sv_context *ctx = umem->context;
    uint32_t slot = umem->dv.umem_id - 1;
    ctx->umems[slot] = NULL;
    if (slot < ctx->umem_first_free)
        ctx->umem_first_free = slot;
    sv_object_unlink(&umem->object);
    sv_memory_release(&umem->memory);
    free(umem);
}

int softnic_mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *dv)
{
    static const char what[] = "mlx5dv_devx_umem_dereg";
    if (!dv)
        return sv_refuse(EINVAL, "%s: umem is NULL", what);
    struct sv_umem *umem = sv_container(dv, struct sv_umem, dv);
    struct sv_context *ctx = umem->context;
    if (!sv_context_usable(ctx, what))
        return errno;
    sn_port_lock(ctx->port);
    unsigned references = umem->references;
    uint32_t id = dv->umem_id;
    if (!references)
        sv_umem_release(umem);
    sn_port_unlock(ctx->port);
    return references ? sv_refuse(EBUSY, "%s: umem %u is used by %u queues", what, id, references) : 0;
}

/* ---- for prm/ --------------------------------------------------------------------------------------------------- */

static int umem_get(void *arg, uint32_t id, uint64_t offset, uint64_t length, struct sn_span *out, uint64_t *size)
{
    struct sv_umem *umem = find((struct sv_context *)arg, id);
    if (!umem)
        return -ENOENT;
    const struct sn_span *span = &umem->memory.span;
    *size = span->length;
    if (offset > span->length || length > span->length - offset)
        return -ERANGE;
    umem->references++;
    *out = (struct sn_span){(uint8_t *)span->addr + offset, length, span->space};
    return 0;
}

static void umem_put(void *arg, uint32_t id)
{
    struct sv_umem *umem = find((struct sv_context *)arg, id);
    if (umem)
        umem->references--;
}

static int gid_of_lid(void *arg, uint16_t lid, uint8_t gid[16])
{
    (void)arg;
    return sv_identity_gid_of_lid(lid, gid);
}

struct prm_env sv_prm_env(struct sv_context *ctx)
{
    return (struct prm_env){
        .nic = ctx->nic, .arg = ctx, .umem_get = umem_get, .umem_put = umem_put, .gid_of_lid = gid_of_lid};
}
