/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbell registers. The engine's registers lie in one region; each UAR gets a virtual page of its own onto it, so that a
 * GPU driver can register two of them (it refuses a page that it knows already). Within that page the layout is a
 * ConnectX's relative to base_addr: BlueFlame at +0x800 (reg_addr), the record-less doorbell at +0x600.
 *
 * Under ThreadSanitizer the registers are handed out where the engine sees them: it tracks happens-before by address
 * and would take a doorbell through another mapping for no synchronisation at all.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/verbs/context.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

enum { REG_OFFSET = 0x800, DBRLESS_OFFSET = 0x600 };
#define UAR_TYPE_NC_DEDICATED (1u << 31) /* newer rdma-core: MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED */

#if defined(__SANITIZE_THREAD__)
#define OWN_PAGES 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OWN_PAGES 0
#endif
#endif
#ifndef OWN_PAGES
#define OWN_PAGES 1
#endif

/*
 * Maps the region's page that has both registers once more and points base at it. base_addr + 0x20, where requests for an
 * event are rung (they are found in the CQ's record), may lie before that page: an empty page is there for it. Or it meets
 * another UAR's plain register: behind what is looked at of it, or as one of the writes that a packed one bears.
 */
static int map_page(struct sv_uar *uar)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = uar->uar.offset % page;
    if (!OWN_PAGES || uar->uar.fd < 0) {
        uar->uar.base = (uint8_t *)uar->uar.dbrless - DBRLESS_OFFSET;
        return 0;
    }
    uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return -errno;
    if (mmap(p + page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, uar->uar.fd,
             (off_t)(uar->uar.offset - inside)) == MAP_FAILED) {
        int error = errno;
        munmap(p, 2 * page);
        return -error;
    }
    madvise(p, 2 * page, MADV_DONTFORK); /* a child must not ring its parent's doorbells */
    uar->mapping = p;
    uar->uar.base = p + page + inside - DBRLESS_OFFSET;
    return 0;
}

static void unmap_page(struct sv_uar *uar)
{
    if (uar->mapping)
        munmap(uar->mapping, 2 * (size_t)sysconf(_SC_PAGESIZE));
    uar->mapping = NULL;
}

int sv_uar_create(struct sv_context *ctx, bool shared, bool packed, struct sv_uar **out)
{
    struct sv_uar *uar = calloc(1, sizeof(*uar));
    if (!uar)
        return -ENOMEM;
    int rc = packed ? sn_uar_alloc_packed(ctx->nic, &uar->uar) : sn_uar_alloc(ctx->nic, &uar->uar);
    if (rc) {
        free(uar);
        return rc;
    }
    rc = map_page(uar);
    if (rc) {
        sn_uar_free(ctx->nic, uar->uar.index);
        free(uar);
        return rc;
    }
    uar->context = ctx;
    uar->shared = shared;
    uar->dv.reg_addr = (uint8_t *)uar->uar.base + REG_OFFSET;
    uar->dv.base_addr = uar->uar.base;
    uar->dv.page_id = uar->uar.index;
    sv_object_link(ctx, &uar->object, SV_UAR);
    *out = uar;
    return 0;
}

struct mlx5dv_devx_uar *softnic_mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags)
{
    static const char what[] = "mlx5dv_devx_alloc_uar";
    struct sv_context *ctx = sv_context_check(context, what);
    if (!ctx)
        return NULL;
    if (flags != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && flags != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC &&
        flags != UAR_TYPE_NC_DEDICATED) {
        sv_refuse(EOPNOTSUPP, "%s: flags = 0x%x are not modelled (0 BF, 1 NC, 0x80000000 NC_DEDICATED)", what, flags);
        return NULL;
    }
    bool shared = flags == MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC, packed = flags == UAR_TYPE_NC_DEDICATED;
    struct sv_uar *uar = NULL;
    int rc = 0;
    sn_port_lock(ctx->port);
    if (shared && ctx->nc)
        uar = ctx->nc;
    else if (!(rc = sv_uar_create(ctx, shared, packed, &uar)) && shared)
        ctx->nc = uar;
    sn_port_unlock(ctx->port);
    if (rc) {
        sv_refuse(-rc, "%s: %s", what, prm_engine_reason(rc));
        return NULL;
    }
    return &uar->dv;
}

bool sv_uar_covers(const struct sv_context *ctx, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (const struct sv_object *o = ctx->objects[SV_UAR]; o; o = o->next) {
        const struct sv_uar *uar = sv_container((void *)(uintptr_t)o, struct sv_uar, object);
        uintptr_t reg = (uintptr_t)uar->dv.reg_addr, dbrless = (uintptr_t)uar->dv.base_addr + DBRLESS_OFFSET;
        if (at - reg < 64 || at - dbrless < 64)
            return true;
    }
    return false;
}

static bool touches(uintptr_t from, size_t size, const void *at, size_t length)
{
    uintptr_t to = (uintptr_t)at;
    return at && (from - to < length || to - from < size);
}

bool sv_uar_touches(const struct sv_context *ctx, const void *from, size_t size)
{
    uintptr_t at = (uintptr_t)from;
    for (const struct sv_object *o = ctx->objects[SV_UAR]; o; o = o->next) {
        const struct sv_uar *uar = sv_container((void *)(uintptr_t)o, struct sv_uar, object);
        if (touches(at, size, uar->mapping, 2 * (size_t)sysconf(_SC_PAGESIZE)) ||
            touches(at, size, uar->dv.reg_addr, 64) ||
            touches(at, size, (const uint8_t *)uar->dv.base_addr + DBRLESS_OFFSET, 64))
            return true;
    }
    return false;
}

void sv_uar_release(struct sv_context *ctx, struct sv_uar *uar)
{
    sn_uar_free(ctx->nic, uar->uar.index);
    sv_object_unlink(&uar->object);
    unmap_page(uar);
    free(uar);
}

void softnic_mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *dv)
{
    if (!dv)
        return;
    struct sv_uar *uar = sv_container(dv, struct sv_uar, dv);
    struct sv_context *ctx = uar->context;
    if (uar->shared || !sv_context_usable(ctx, "mlx5dv_devx_free_uar"))
        return; /* NC belongs to the context */
    sn_port_lock(ctx->port);
    sv_uar_release(ctx, uar);
    sn_port_unlock(ctx->port);
}
