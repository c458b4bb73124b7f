/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of queues: whole pages, so that a GPU driver can register them. A forked child does not get them: the device
 * belongs to its parent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/data/objects.h"
#include "softnic/dv/parent.h"

enum { HUGE_PAGE = 2 << 20 };

/* libmlx5's own variables; of their values those that ask for huge pages mean something here. */
static const char *wish_for(uint64_t resource)
{
    const char *wish = NULL;
    if (resource == MLX5DV_RES_TYPE_QP || resource == MLX5DV_RES_TYPE_RWQ)
        wish = getenv("MLX_QP_ALLOC_TYPE");
    else if (resource == MLX5DV_RES_TYPE_CQ)
        wish = getenv("MLX_CQ_ALLOC_TYPE");
    else if (resource == MLX5DV_RES_TYPE_SRQ)
        wish = getenv("MLX_SRQ_ALLOC_TYPE");
    return wish ? wish : "ANON";
}

/* NULL with errno. *size is what has been mapped. */
static void *map(uint64_t resource, size_t *size)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS, rights = PROT_READ | PROT_WRITE;
    const char *wish = wish_for(resource);
    bool huge = !strcmp(wish, "HUGE");
    void *p = MAP_FAILED;

    if (huge || !strcmp(wish, "PREFER_HUGE")) {
        size_t rounded = (*size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        p = mmap(NULL, rounded, rights, flags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
        if (p != MAP_FAILED)
            *size = rounded;
    }
    if (p == MAP_FAILED && !huge)
        p = mmap(NULL, *size, rights, flags, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int sv_buf_alloc(struct ibv_pd *pd, size_t bytes, uint64_t resource, struct sv_buf *out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
    void *p;

    *out = (struct sv_buf){.resource = resource};
    int rc = sv_parent_memory(pd, size, page, resource, &p);
    if (rc <= 0) {
        if (rc)
            return rc;
        memset(p, 0, size);
        out->allocator = pd;
        out->span = (struct sn_span){.addr = p, .length = size, .space = SN_SPACE_HOST};
        return 0;
    }
    p = map(resource, &size);
    if (!p)
        return -errno;
    (void)madvise(p, size, MADV_DONTFORK);
    out->mapping = p;
    out->span = (struct sn_span){.addr = p, .length = size, .space = SN_SPACE_HOST};
    return 0;
}

void sv_buf_free(struct sv_buf *buf)
{
    if (buf->allocator)
        sv_parent_memory_free(buf->allocator, buf->span.addr, buf->resource);
    if (buf->mapping)
        munmap(buf->mapping, buf->span.length);
    *buf = (struct sv_buf){0};
}
