/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains and memory keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/dv/parent.h"
#include "softnic/verbs/context.h"
#include "softnic/verbs/exports.h"
#include "softnic/verbs/log.h"

struct ibv_pd *softnic_ibv_alloc_pd(struct ibv_context *context)
{
    struct sv_context *ctx = sv_context_check(context, "ibv_alloc_pd");
    if (!ctx)
        return NULL;
    struct sv_pd *pd = calloc(1, sizeof(*pd));
    if (!pd)
        return NULL;
    sn_port_lock(ctx->port);
    int rc = sn_pd_create(ctx->nic, &pd->pdn);
    if (!rc)
        sv_object_link(ctx, &pd->object, SV_PD);
    sn_port_unlock(ctx->port);
    if (rc) {
        free(pd);
        sv_refuse(-rc, "ibv_alloc_pd: %s", prm_engine_reason(rc));
        return NULL;
    }
    pd->ibv.context = context;
    pd->ibv.handle = pd->pdn;
    return &pd->ibv;
}

int softnic_ibv_dealloc_pd(struct ibv_pd *ibv)
{
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, "ibv_dealloc_pd") : NULL;
    if (!ctx)
        return errno = ibv ? errno : EINVAL;
    struct sv_pd *pd = sv_container(ibv, struct sv_pd, ibv);
    uint32_t pdn = pd->pdn;
    const char *why;
    sn_port_lock(ctx->port);
    int rc = sv_pd_release(ctx, pd, &why);
    sn_port_unlock(ctx->port);
    return rc ? sv_refuse(-rc, "ibv_dealloc_pd: PD %u: %s", pdn, why) : 0;
}

/* ---- memory keys ------------------------------------------------------------------------------------------------ */

enum {
    ACCESS_KNOWN = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB,
    ACCESS_WRITES = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
};

/* Optional bits (relaxed ordering) are hints: any are accepted. Others have to be known. */
static int check_access(const char *what, unsigned access)
{
    unsigned unknown = access & ~(unsigned)ACCESS_KNOWN & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE;
    if (unknown)
        return sv_refuse(EOPNOTSUPP, "%s: access bits 0x%x are not modelled", what, unknown);
    if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) && !(access & IBV_ACCESS_LOCAL_WRITE))
        return sv_refuse(EINVAL, "%s: access 0x%x allows remote writes but not local ones", what, access);
    return 0;
}

static struct ibv_mr *make_mr(struct ibv_pd *pd, struct sv_context *ctx, const char *what, void *addr, uint64_t iova,
                              unsigned access, const struct sv_memory *memory)
{
    struct sv_mr *mr = calloc(1, sizeof(*mr));
    if (!mr)
        return NULL;
    mr->memory = *memory;
    mr->access = access;
    mr->iova = iova;
    struct sn_mkey_attr attr = {.pdn = sv_container(pd, struct sv_pd, ibv)->pdn,
                                .access = access & 0x1f, /* enum sn_access */
                                .iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
                                .span = memory->span};
    uint32_t key = 0;
    sn_port_lock(ctx->port);
    int rc = sn_mkey_create(ctx->nic, &attr, &key);
    if (!rc)
        sv_object_link(ctx, &mr->object, SV_MR);
    sn_port_unlock(ctx->port);
    if (rc) {
        free(mr);
        sv_refuse(-rc, "%s: %p, %zu bytes: %s", what, addr, memory->span.length, prm_engine_reason(rc));
        return NULL;
    }
    mr->ibv = (struct ibv_mr){.context = pd->context,
                              .pd = pd,
                              .addr = addr,
                              .length = memory->span.length,
                              .handle = key,
                              .lkey = key,
                              .rkey = key};
    return &mr->ibv;
}

static struct ibv_mr *reg_address(struct ibv_pd *pd, const char *what, void *addr, size_t length, uint64_t iova,
                                  unsigned access)
{
    if (!pd) {
        sv_refuse(EINVAL, "%s: pd is NULL", what);
        return NULL;
    }
    struct sv_context *ctx = sv_context_check(pd->context, what);
    if (!ctx || check_access(what, access))
        return NULL;
    if (!length) {
        sv_refuse(EINVAL, "%s: length is 0", what);
        return NULL;
    }
    struct sv_memory memory;
    int rc = sv_memory_of_address(addr, length, access & ACCESS_WRITES, &memory);
    if (rc) {
        sv_refuse(-rc, "%s: %p, %zu bytes, access 0x%x: memory is not mapped, or not writable", what, addr, length,
                  access);
        return NULL;
    }
    return make_mr(pd, ctx, what, addr, iova, access, &memory);
}

struct ibv_mr *(softnic_ibv_reg_mr)(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return reg_address(pd, "ibv_reg_mr", addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *softnic_ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
    return reg_address(pd, "ibv_reg_mr_iova", addr, length, iova, (unsigned)access);
}

struct ibv_mr *softnic_ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                        unsigned int access)
{
    return reg_address(pd, "ibv_reg_mr_iova2", addr, length, iova, access);
}

struct ibv_mr *softnic_ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                         int access)
{
    static const char what[] = "ibv_reg_dmabuf_mr";
    if (fd < 0) { /* clients probe with fd -1, also without a PD, and take EBADF for "supported" */
        sv_refuse_quietly(EBADF, "%s: fd = %d", what, fd);
        return NULL;
    }
    if (!pd || !length) {
        sv_refuse(EINVAL, "%s: pd = %p, length = %zu", what, (void *)pd, length);
        return NULL;
    }
    struct sv_context *ctx = sv_context_check(pd->context, what);
    if (!ctx || check_access(what, (unsigned)access))
        return NULL;
    struct sv_memory memory;
    int rc = sv_memory_of_fd(fd, offset, length, &memory);
    if (rc) {
        sv_refuse(-rc, "%s: fd %d, offset %llu, %zu bytes: %s", what, fd, (unsigned long long)offset, length,
                  strerror(-rc));
        return NULL;
    }
    struct ibv_mr *mr = make_mr(pd, ctx, what, NULL, iova, (unsigned)access, &memory);
    if (!mr)
        sv_memory_release(&memory);
    return mr;
}

void sv_mr_release(struct sv_context *ctx, struct sv_mr *mr)
{
    sn_mkey_destroy(ctx->nic, mr->ibv.lkey);
    sv_object_unlink(&mr->object);
    sv_memory_release(&mr->memory);
    free(mr);
}

int softnic_ibv_dereg_mr(struct ibv_mr *ibv)
{
    if (!ibv)
        return sv_refuse(EINVAL, "ibv_dereg_mr: mr is NULL");
    struct sv_context *ctx = sv_context_check(ibv->context, "ibv_dereg_mr");
    if (!ctx)
        return errno;
    struct sv_mr *mr = sv_container(ibv, struct sv_mr, ibv);
    sn_port_lock(ctx->port);
    int rc = sn_mkey_destroy(ctx->nic, ibv->lkey);
    if (!rc)
        sv_object_unlink(&mr->object);
    sn_port_unlock(ctx->port);
    if (rc)
        return sv_refuse(-rc, "ibv_dereg_mr: key 0x%x: %s", ibv->lkey, prm_engine_reason(rc));
    sv_memory_release(&mr->memory);
    free(mr);
    return 0;
}

/* ---- changing a region ---------------------------------------------------------------------------------------------- */

static int refuse_rereg(const struct ibv_mr *mr, int flags)
{
    sv_refuse(EINVAL, "ibv_rereg_mr: mr %p, flags = 0x%x (1: addr and length, 2: pd, 4: access)", (const void *)mr, flags);
    return IBV_REREG_MR_ERR_INPUT;
}

/* `mr` becomes what `fresh` is, under the key that it has. -EBUSY: windows are bound to it. */
static int replace(struct sv_context *ctx, struct sv_mr *mr, struct sv_mr *fresh)
{
    sn_port_lock(ctx->port);
    int rc = sn_mkey_exchange(ctx->nic, mr->ibv.lkey, fresh->ibv.lkey);
    if (!rc) {
        sn_mkey_destroy(ctx->nic, fresh->ibv.lkey);
        sv_object_unlink(&fresh->object);
    }
    sn_port_unlock(ctx->port);
    if (rc)
        return rc;
    sv_memory_release(&mr->memory);
    mr->memory = fresh->memory;
    mr->ibv.pd = fresh->ibv.pd;
    mr->ibv.addr = fresh->ibv.addr;
    mr->ibv.length = fresh->ibv.length;
    mr->access = fresh->access;
    mr->iova = fresh->iova;
    free(fresh);
    return 0;
}

/*
 * The key stays, whatever changes: peers need not be told. If the change is refused, the region is what it was.
 * A region of a DMA-BUF can only become one of plain memory: its descriptor is not there to be asked again.
 */
int softnic_ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
    static const char what[] = "ibv_rereg_mr";
    struct sv_context *ctx = ibv ? sv_context_check(ibv->context, what) : NULL;
    if (!ctx)
        return IBV_REREG_MR_ERR_INPUT;
    struct sv_mr *mr = sv_container(ibv, struct sv_mr, ibv);
    bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION, new_pd = flags & IBV_REREG_MR_CHANGE_PD;
    bool dmabuf = !ibv->addr && !moves;
    if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || (moves && !length) || (new_pd && !pd) || dmabuf)
        return refuse_rereg(ibv, flags);
    struct ibv_mr *fresh = reg_address(new_pd ? pd : ibv->pd, what, moves ? addr : ibv->addr, moves ? length : ibv->length,
                                       moves ? (uintptr_t)addr : mr->iova,
                                       flags & IBV_REREG_MR_CHANGE_ACCESS ? (unsigned)access : mr->access);
    if (!fresh)
        return IBV_REREG_MR_ERR_INPUT;
    int rc = replace(ctx, mr, sv_container(fresh, struct sv_mr, ibv));
    if (!rc)
        return 0;
    softnic_ibv_dereg_mr(fresh);
    sv_refuse(-rc, "%s: key 0x%x: %s", what, ibv->lkey, prm_engine_reason(rc));
    return IBV_REREG_MR_ERR_INPUT;
}
